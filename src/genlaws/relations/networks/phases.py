r"""What became of a training: generalization, grokking, memorization or confusion; and the line between the phases.

A network memorizes if it fits what it was shown and nothing else. In the plane of the logarithms of both learning rates
the chance of that is taken to change along one direction,

.. math:: P(\text{memorized}) = \sigma\big(k\,[\cos\varphi\, \log_{10}\eta_{dec} + \sin\varphi\, \log_{10}\eta_{enc}
    - c]\big),

so that the boundary is a straight line whose slope follows from :math:`\varphi`. Intervals are those of the profile
likelihood with any steepness: if the two sides are cleanly separated, all that lies between them is possible.

A chance that rises along a line from 0 to 1: the best logistic curve, and where it may be one half.

.. math:: P(t) = \sigma\big(k\,(t - c)\big), \qquad k \ge 0

The log-likelihood is concave in :math:`(k, kc)`. So the values of c whose highest likelihood comes within a given
distance of the best of all are an interval, and its ends are found by bracketing. Nothing bounds the steepness k: if
no network of one kind lies among the other, every c between the two kinds is as good as any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from genlaws.core.arguments import Array, Mask, Whole, positive, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, wilson_interval

TIE = 1e-9  # places closer than this are one place
MOST_STEPS = 200  # of Newton's method; a dozen are usual
SMALL_GAIN = 1e-12  # of the log-likelihood, with which it ends
FARTHEST = 1e3  # a threshold further away than this counts as infinite
PHASES = ("generalization", "grokking", "memorization", "confusion")
GENERALIZATION, GROKKING, MEMORIZATION, CONFUSION = range(4)
NEVER = -1
GROKKING_DELAY = 1000  # of the paper, Table IV
HALF_DEVIANCE = 0.5 * 3.841458820694124  # of one parameter at 95 %
DIRECTIONS = 720  # tried, half a degree apart
STEP = 2.0 * math.pi / DIRECTIONS  # an interval ends before the next direction
AS_GOOD = 1e-9  # of the log-likelihood: directions this close to the best are equal to it
LARGEST_EXPONENT = 308.25  # a rate beyond 10 to this is infinite


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
    total, center, scale = hit + missed, float(counts.place.mean()), float(np.ptp(counts.place))
    s = (counts.place - center) / scale

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
    return LogisticStep(now, float(theta[0]) / scale, center + scale * float(theta[1] / theta[0]))


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


def classify(train_step: ArrayLike, test_step: ArrayLike, grokking_delay: int = GROKKING_DELAY) -> Whole:
    """Return the phase of each network: 0 generalization, 1 grokking, 2 memorization, 3 confusion.

    Parameters
    ----------
    train_step, test_step : int arrays
        First step at which the accuracy on shown and on other entries exceeds its target; -1 for never.
    grokking_delay : int
        From this many steps between the two on, generalization counts as grokking.

    References
    ----------
    :cite:p:`baek2024`, Table IV. A network that is right on the other entries but never on those it was shown, which
    the table leaves out, counts as confused.
    """
    train, test = np.asarray(train_step, dtype=np.int64), np.asarray(test_step, dtype=np.int64)
    if train.shape != test.shape:
        raise InputError(f"train_step and test_step must have one shape; got {train.shape} and {test.shape}.")
    delay = whole_number("grokking_delay", grokking_delay)
    late = np.where(test - train >= delay, GROKKING, GENERALIZATION)
    fitted = np.where(test == NEVER, MEMORIZATION, late)
    return np.where(train == NEVER, CONFUSION, fitted)


def phase_fractions(phases: ArrayLike) -> dict[str, Estimate]:
    """Return the share of each phase among networks, with its Wilson interval."""
    found = np.asarray(phases, dtype=np.int64).ravel()
    if not found.size or found.min() < 0 or found.max() >= len(PHASES):
        raise InputError(f"phases must be whole numbers from 0 to {len(PHASES) - 1}, at least one of them.")
    return {name: wilson_interval(int((found == place).sum()), found.size) for place, name in enumerate(PHASES)}


def grokking_delays(train_step: ArrayLike, test_step: ArrayLike) -> Array:
    """Return how many steps the other entries come after the shown ones; NaN where either never comes."""
    train, test = np.asarray(train_step, dtype=np.float64), np.asarray(test_step, dtype=np.float64)
    return np.where((train == NEVER) | (test == NEVER), np.nan, test - train)


@dataclass(frozen=True)
class Boundary:
    """The line between memorizing and not, in decades of the learning rates.

    Attributes
    ----------
    slope : Estimate
        Of log encoder rate against log decoder rate along the boundary; 1 if the ratio of the rates decides. An end
        of the interval is infinite where the boundary may be upright, or lean beyond it; `slope_message` then says
        whether it is determined at all.
    critical_ratio : Estimate
        Decoder rate over encoder rate at the boundary, if the slope is 1; 0 or infinite if nothing changes with it.
        It and its interval may lie beyond the ratios of the networks, which then say nothing about such ratios.
    point : tuple of two floats
        Decoder and encoder rate of the point of the fitted line that is nearest to the middle of the networks, in
        decades. With the slope it gives the line.
    width : float
        Decades from one to three quarters of memorizing, across the boundary; 0 if there is no overlap.
    separated : bool
        Whether some line has all memorizing networks on one side.
    log_likelihood, unit_slope_log_likelihood : float
        Of the best line, and of the best with slope 1.
    network_count : int
    """

    slope: Estimate
    critical_ratio: Estimate
    point: tuple[float, float]
    width: float
    separated: bool
    log_likelihood: float
    unit_slope_log_likelihood: float
    network_count: int

    @property
    def slope_message(self) -> str:
        """Why the slope could not be determined; empty if it could."""
        return slope_message(self.slope.value, self.slope.low, self.slope.high)

    @property
    def agrees_with_unit_slope(self) -> bool:
        """Whether a slope of 1 lies in the 95 % interval."""
        return self.log_likelihood - self.unit_slope_log_likelihood <= HALF_DEVIANCE


def slope_message(slope: float, low: float, high: float) -> str:
    """Return why the slope of a boundary, with the ends of its interval, is not determined; empty if it is."""
    if low == -math.inf and high == math.inf:
        return "boundaries of any direction fit these networks"
    if not math.isfinite(slope):
        return f"the fitted boundary is upright, so that any slope from {low:.3g} on fits"
    return ""


def fit_boundary(decoder_rate: ArrayLike, encoder_rate: ArrayLike, memorized: ArrayLike) -> Boundary:
    """Fit the line in the plane of learning rates beyond which networks memorize.

    Parameters
    ----------
    decoder_rate, encoder_rate : arrays of shape (networks,)
    memorized : truth values of shape (networks,)
        0 and 1 will do. Leave out networks that fitted nothing at all; they belong to neither side.

    Raises
    ------
    InputError
        If all networks or none memorized, or a rate is the same for all: there is no boundary among them.
    """
    x, y = (
        np.log10(positive(name, one)) for name, one in (("decoder_rate", decoder_rate), ("encoder_rate", encoder_rate))
    )
    failed = _truths("memorized", memorized)
    if not x.shape == y.shape == failed.shape or x.ndim != 1:
        raise InputError(f"Rates and memorized must have one shape; got {x.shape}, {y.shape} and {failed.shape}.")
    if failed.all() or not failed.any():
        raise InputError(
            f"memorized must be true for some networks and false for others; got {failed.sum()} of {failed.size}."
        )
    if min(np.ptp(x), np.ptp(y)) <= TIE:
        raise InputError("decoder_rate and encoder_rate must each take two values or more; got a single one.")
    angles, fits = _all_directions(x, y, failed)
    likelihood = np.array([fit.log_likelihood for fit in fits])
    best, unit = int(np.argmax(likelihood)), int(np.argmin(np.abs(angles + math.pi / 4)))
    if fits[best].steepness == 0.0:
        raise InputError("memorized must change with the rates; it has the same share everywhere.")
    apart = np.mod(angles - angles[best] + math.pi, 2.0 * math.pi) - math.pi
    inside = angles[best] + apart[likelihood >= likelihood[best] - HALF_DEVIANCE]
    middle = angles[best] + float(np.median(apart[likelihood >= likelihood[best] - AS_GOOD]))
    return Boundary(
        Estimate(_slope(middle), *_slopes_between(inside.min() - STEP, middle, inside.max() + STEP), failed.size),
        _threshold(x - y, failed),
        _point_across(middle, x, y, failed),
        2.0 * math.log(3.0) / fits[best].steepness,
        fits[best].log_likelihood == 0.0,
        float(likelihood[best]),
        float(likelihood[unit]),
        failed.size,
    )


def _truths(name: str, given: ArrayLike) -> Mask:
    """Return truth values, also from 0 and 1."""
    values = np.asarray(given)
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise InputError(f"{name} must be truth values; got {' '.join(repr(given).split())[:80]}.")
    return values.astype(bool)


def _all_directions(x: Array, y: Array, failed: Mask) -> tuple[Array, list[LogisticStep]]:
    """Return directions all around, as angles, and the best curve along each."""
    angles = np.linspace(-math.pi, math.pi, DIRECTIONS + 1)[1:]
    points, which = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    hit, missed = _hit_and_missed(which.ravel(), failed)
    along = np.column_stack([np.cos(angles), np.sin(angles)]) @ points.T
    return angles, [best_step(Counts(place, hit, missed)) for place in along]


def _counts(place: Array, failed: Mask) -> Counts:
    """Return how many failed and how many did not at each place."""
    places, which = np.unique(place, return_inverse=True)
    return Counts(places, *_hit_and_missed(which, failed))


def _hit_and_missed(which: Whole, failed: Mask) -> tuple[Array, Array]:
    """Return how many networks at each numbered place failed, and how many did not."""
    hit = np.bincount(which, failed.astype(np.float64)).astype(np.float64)
    return hit, np.bincount(which).astype(np.float64) - hit


def _slope(angle: float) -> float:
    """Return the slope of the line across which the direction of an angle leads."""
    return math.inf if math.isclose(math.sin(angle), 0.0, abs_tol=1e-12) else -math.cos(angle) / math.sin(angle)


def _slopes_between(lowest: float, middle: float, highest: float) -> tuple[float, float]:
    """Return the ends of the slopes of a range of angles, as far as they are joined to that of the middle.

    Slopes rise with the angle to infinity at 0 and π, where the line is upright, and from minus infinity beyond it.
    """
    if highest - lowest >= math.pi - 2.0 * STEP:  # no direction is left out
        return -math.inf, math.inf
    upright = math.pi * math.ceil(middle / math.pi - TIE)  # the next one
    low = -math.inf if lowest <= upright - math.pi else _slope(lowest)
    high = math.inf if highest >= upright - TIE else _slope(highest)
    return low, high


def _point_across(angle: float, x: Array, y: Array, failed: Mask) -> tuple[float, float]:
    """Return the rates on the line across the direction of an angle, nearest to the middle of all networks."""
    along = np.array([math.cos(angle), math.sin(angle)])
    middle = np.array([x.mean(), y.mean()])
    away = best_step(_counts(along[0] * x + along[1] * y, failed)).threshold - float(along @ middle)
    decoder, encoder = (middle + away * along).tolist()
    return _power_of_ten(decoder), _power_of_ten(encoder)


def _power_of_ten(exponent: float) -> float:
    """Return 10 to a power that a curve without a threshold may leave very large."""
    return math.inf if exponent > LARGEST_EXPONENT else 10.0**exponent


def fit_threshold(values: ArrayLike, above: ArrayLike) -> Estimate:
    """Return the value beyond which something happens to every other network, with its 95 % interval.

    The chance is a logistic curve in the logarithm of the value, which may rise or fall.

    Parameters
    ----------
    values : array of shape (networks,)
        Such as a learning rate or a share of entries.
    above : truth values of shape (networks,)
        Whether it happened.
    """
    log, happened = np.log10(positive("values", values)), _truths("above", above)
    if log.ndim != 1 or log.shape != happened.shape:
        raise InputError(f"values and above must have one shape; got {log.shape} and {happened.shape}.")
    if happened.all() or not happened.any():
        raise InputError(f"above must be true for some and false for others; got {happened.sum()} of {happened.size}.")
    if np.ptp(log) <= TIE:
        raise InputError(f"values must differ between networks; got {10.0 ** log[0]:g} for all of them.")
    rises = best_step(_counts(log, happened)).steepness > 0.0
    falls = best_step(_counts(log, ~happened)).steepness > 0.0
    if not rises and not falls:
        raise InputError("above must become more or less frequent along values; its share does not change.")
    return _threshold(log, happened if rises else ~happened)


def _threshold(logarithms: Array, failed: Mask) -> Estimate:
    """Return where the logistic curve is one half, with the interval of its profile likelihood."""
    counts = _counts(logarithms, failed)
    best = best_step(counts)
    low, high = threshold_interval(counts, best, HALF_DEVIANCE)
    value, low, high = (_power_of_ten(one) for one in (best.threshold, low, high))
    return Estimate(value, low, high, failed.size)
