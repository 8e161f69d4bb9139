r"""A chance that rises along a line from 0 to 1: the best logistic curve, and where it may be one half.

.. math:: P(t) = \sigma\big(k\,(t - c)\big), \qquad k \ge 0

The log-likelihood is concave in :math:`(k, kc)`. So the values of c whose highest likelihood comes within a given
distance of the best of all are an interval, and its ends are found by bracketing. Nothing bounds the steepness k: if
no network of one kind lies among the other, every c between the two kinds is as good as any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from genlaws.numerics.arguments import Array

TIE = 1e-9  # places closer than this are one place
MOST_STEPS = 200  # of Newton's method; a dozen are usual
SMALL_GAIN = 1e-12  # of the log-likelihood, with which it ends
FARTHEST = 1e3  # a threshold further away than this counts as infinite


@dataclass(frozen=True)
class Counts:
    """Networks by place: to how many of them something happened, and to how many not.

    Attributes
    ----------
    place : array of shape (places,)
    hit, missed : arrays of shape (places,)
        Each has one entry above zero at least.
    """

    place: Array
    hit: Array
    missed: Array


@dataclass(frozen=True)
class LogisticStep:
    """The best curve.

    Attributes
    ----------
    log_likelihood : float
    steepness : float
        0 if the chance does not rise, infinite for a clean step.
    threshold : float
        Where the curve is one half; infinite if it does not rise.
    """

    log_likelihood: float
    steepness: float
    threshold: float


def best_step(counts: Counts) -> LogisticStep:
    """Return the logistic curve of highest likelihood."""
    place, hit, missed = counts.place, counts.hit, counts.missed
    if _rise(counts) <= TIE or np.ptp(place) <= TIE:
        return LogisticStep(
            _of_one_share(hit.sum(), missed.sum()), 0.0, math.copysign(math.inf, missed.sum() - hit.sum())
        )
    first_hit, last_missed = float(place[hit > 0].min()), float(place[missed > 0].max())
    if last_missed < first_hit - TIE:
        return LogisticStep(0.0, math.inf, 0.5 * (first_hit + last_missed))
    if last_missed <= first_hit + TIE:  # both kinds at one place alone
        there = np.abs(place - first_hit) <= 2.0 * TIE
        return LogisticStep(_of_one_share(hit[there].sum(), missed[there].sum()), math.inf, first_hit)
    return _newton(counts)


def threshold_interval(counts: Counts, best: LogisticStep, drop: float) -> tuple[float, float]:
    """Return the ends of the places whose highest log-likelihood is at most `drop` below the best."""
    level = best.log_likelihood - drop
    start = best.threshold
    if not math.isfinite(start):
        return -math.inf, math.inf
    # Far away the curve is flat there: one share for all networks, below one half if the threshold lies above them.
    hit, missed = counts.hit.sum(), counts.missed.sum()
    even = -(hit + missed) * math.log(2.0)
    flat = {1.0: _of_one_share(hit, missed) if missed > hit else even}
    flat[-1.0] = _of_one_share(hit, missed) if hit > missed else even
    low, high = (side * math.inf if flat[side] >= level else _end(counts, start, side, level) for side in (-1.0, 1.0))
    return low, high


def _rise(counts: Counts) -> float:
    """Return the slope of the log-likelihood of one network in k, where the curve is flat."""
    total = counts.hit + counts.missed
    share = counts.hit.sum() / total.sum()
    return float((counts.hit - share * total) @ (counts.place - counts.place.mean()) / total.sum())


def _of_one_share(hit: float, missed: float) -> float:
    """Return the log-likelihood if the chance is the share of hits everywhere."""
    return float(special.xlogy(hit, hit / (hit + missed)) + special.xlogy(missed, missed / (hit + missed)))


def _newton(counts: Counts) -> LogisticStep:
    """Climb to the one summit there is if both kinds overlap."""
    hit, missed = counts.hit, counts.missed
    total, centre, scale = hit + missed, float(counts.place.mean()), float(np.ptp(counts.place))
    s = (counts.place - centre) / scale

    def value(theta: Array) -> float:
        """Return the log-likelihood at (k, kc)."""
        z = theta[0] * s - theta[1]
        return float(hit @ special.log_expit(z) + missed @ special.log_expit(-z))

    theta = np.array([0.0, math.log(missed.sum() / hit.sum())])
    now = value(theta)
    for _ in range(MOST_STEPS):
        chance = special.expit(theta[0] * s - theta[1])
        gap, weight = hit - total * chance, total * chance * (1.0 - chance)
        up, across = float(gap @ s), -float(gap.sum())
        first, cross, last = float(weight @ (s * s)), -float(weight @ s), float(weight.sum())
        area = first * last - cross * cross
        if area <= 0.0:  # flat to rounding
            break
        step = np.array([last * up - cross * across, first * across - cross * up]) / area
        after = value(theta + step)
        while after < now and np.abs(step).max() > SMALL_GAIN:
            step = 0.5 * step
            after = value(theta + step)
        if after < now + SMALL_GAIN:
            break
        theta, now = theta + step, after
    return LogisticStep(now, float(theta[0]) / scale, centre + scale * float(theta[1] / theta[0]))


def _highest_at(counts: Counts, threshold: float) -> float:
    """Return the highest log-likelihood of a curve that is one half at a threshold."""
    s, hit, missed = counts.place - threshold, counts.hit, counts.missed
    even = -float(hit.sum() + missed.sum()) * math.log(2.0)
    if float((hit - missed) @ s) <= 0.0:
        return even
    if not ((hit > 0) & (s < 0) | (missed > 0) & (s > 0)).any():
        return -float((hit + missed)[s == 0].sum()) * math.log(2.0)

    def climb(k: float) -> float:
        """Return the derivative of the log-likelihood in k."""
        z = k * s
        return float(hit @ (s * special.expit(-z)) - missed @ (s * special.expit(z)))

    steep = 1.0 / float(np.abs(s).max())
    while climb(steep) > 0.0:
        steep *= 2.0
    k = optimize.brentq(climb, 0.0, steep, rtol=1e-10)
    return float(hit @ special.log_expit(k * s) + missed @ special.log_expit(-k * s))


def _end(counts: Counts, start: float, side: float, level: float) -> float:
    """Return how far to one side the threshold may lie."""
    reach = max(float(np.ptp(counts.place)), TIE)
    while _highest_at(counts, start + side * reach) >= level:
        reach *= 2.0
        if reach > FARTHEST:
            return side * math.inf
    exact = SMALL_GAIN * reach

    def above(way: float) -> float:
        """Return how far the likelihood is above the level; it may jump at a place of networks."""
        return _highest_at(counts, start + side * way) - level

    # Where it starts it is the best, which rounding must not deny; the end is given away generously.
    way = optimize.brentq(lambda one: above(one) if one > 0.0 else 1.0, 0.0, reach, xtol=exact)
    return start + side * (way + exact)
