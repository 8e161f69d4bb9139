r"""Phases of training (generalization, grokking, memorization, confusion) and the boundary of memorization.

A network memorizes if it fits its training set and nothing else. In the plane of the logarithms of both learning rates
the probability of memorization is modeled as a logistic function along one direction,

.. math:: P(\text{memorized}) = \sigma\big(k\,[\cos\varphi\, \log_{10}\eta_{dec} + \sin\varphi\, \log_{10}\eta_{enc}
    - c]\big),

so the boundary is a straight line whose slope follows from :math:`\varphi`. Intervals are those of the profile
likelihood. Along one direction the curve is :math:`P(t) = \sigma(k\,(t - c))` with :math:`k \ge 0`, and its
log-likelihood is concave in :math:`(k, kc)`. So the values of c whose highest likelihood comes within a given distance
of the maximum form an interval, and its ends are found by bracketing. The steepness k is not bounded: if the two kinds
of networks are separated, every c between them is equally likely.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from genlaws.core.arguments import Array, Mask, Whole, positive, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, interval_columns, wilson_interval
from genlaws.core.frames import DataFrame
from genlaws.relations.networks.runs import ACCURACIES, NEVER, RelationRuns

POSITION_TOLERANCE = 1e-9  # positions closer than this are equal
MAX_FIT_STEPS = 200  # a dozen are usual
MIN_LIKELIHOOD_GAIN = 1e-12  # Newton's method stops below this gain
MAX_THRESHOLD_DISTANCE = 1e3  # decades; a threshold farther away counts as infinite
PHASES = ("generalization", "grokking", "memorization", "confusion")
GENERALIZATION, GROKKING, MEMORIZATION, CONFUSION = range(4)
DEFAULT_GROKKING_DELAY = 1000  # steps; Table IV of the paper
HALF_DEVIANCE = 0.5 * 3.841458820694124  # half the 95 % quantile of chi-squared with one degree of freedom
DIRECTION_COUNT = 720  # half a degree apart
DIRECTION_STEP = 2.0 * math.pi / DIRECTION_COUNT  # radians; an interval ends before the next direction
LIKELIHOOD_TIE_TOLERANCE = 1e-9  # directions this close to the best are equal to it
EDGE_TOLERANCE = 1e-6  # relative; a number this close to the smallest or largest one tried lies at it
MAX_EXPONENT = 308.25  # of ten; larger rates count as infinite


@dataclass(frozen=True)
class EventCounts:
    """Numbers of networks by position: with the event, and without it.

    Attributes
    ----------
    place : array of shape (places,)
    hit, missed : arrays of shape (places,)
        Each has at least one positive entry.
    """

    place: Array
    hit: Array
    missed: Array


@dataclass(frozen=True)
class LogisticStep:
    """The logistic curve of highest likelihood.

    Attributes
    ----------
    log_likelihood : float
    steepness : float
        0 if the probability does not rise, infinite for a perfect step.
    threshold : float
        Where the curve is one half; infinite if it does not rise.
    """

    log_likelihood: float
    steepness: float
    threshold: float


def best_step(counts: EventCounts) -> LogisticStep:
    """Return the logistic curve of highest likelihood."""
    place, hit, missed = counts.place, counts.hit, counts.missed
    if _rise(counts) <= POSITION_TOLERANCE or np.ptp(place) <= POSITION_TOLERANCE:
        return LogisticStep(
            _flat_log_likelihood(hit.sum(), missed.sum()), 0.0, math.copysign(math.inf, missed.sum() - hit.sum())
        )
    first_hit, last_missed = float(place[hit > 0].min()), float(place[missed > 0].max())
    if last_missed < first_hit - POSITION_TOLERANCE:
        return LogisticStep(0.0, math.inf, 0.5 * (first_hit + last_missed))
    if last_missed <= first_hit + POSITION_TOLERANCE:  # both kinds at a single position
        there = np.abs(place - first_hit) <= 2.0 * POSITION_TOLERANCE
        return LogisticStep(_flat_log_likelihood(hit[there].sum(), missed[there].sum()), math.inf, first_hit)
    return _maximize(counts)


def threshold_interval(counts: EventCounts, best: LogisticStep, drop: float) -> tuple[float, float]:
    """Return the interval of thresholds whose highest log-likelihood is at most `drop` below the best."""
    level = best.log_likelihood - drop
    start = best.threshold
    if not math.isfinite(start):
        return -math.inf, math.inf
    # Far from its threshold the curve is flat: one probability, below one half if the threshold is above all networks.
    hit, missed = counts.hit.sum(), counts.missed.sum()
    even = -(hit + missed) * math.log(2.0)
    ends = []
    for side in (-1.0, 1.0):
        flat = _flat_log_likelihood(hit, missed) if side * (missed - hit) > 0.0 else even
        ends.append(side * math.inf if flat >= level else _end_of_interval(counts, start, side, level))
    return ends[0], ends[1]


def _rise(counts: EventCounts) -> float:
    """Return the slope of the log-likelihood of one network in k, where the curve is flat."""
    total = counts.hit + counts.missed
    share = counts.hit.sum() / total.sum()
    return float((counts.hit - share * total) @ (counts.place - counts.place.mean()) / total.sum())


def _flat_log_likelihood(hit: float, missed: float) -> float:
    """Return the log-likelihood if the probability is the share of hits everywhere."""
    return float(special.xlogy(hit, hit / (hit + missed)) + special.xlogy(missed, missed / (hit + missed)))


def _maximize(counts: EventCounts) -> LogisticStep:
    """Maximize the likelihood by Newton's method; the maximum is unique if both kinds overlap."""
    hit, missed = counts.hit, counts.missed
    total, center, scale = hit + missed, float(counts.place.mean()), float(np.ptp(counts.place))
    s = (counts.place - center) / scale

    def value(theta: Array) -> float:
        """Return the log-likelihood at (k, kc)."""
        z = theta[0] * s - theta[1]
        return float(hit @ special.log_expit(z) + missed @ special.log_expit(-z))

    theta = np.array([0.0, math.log(missed.sum() / hit.sum())])
    now = value(theta)
    for _ in range(MAX_FIT_STEPS):
        chance = special.expit(theta[0] * s - theta[1])
        gap, weight = hit - total * chance, total * chance * (1.0 - chance)
        up, across = float(gap @ s), -float(gap.sum())
        first, cross, last = float(weight @ (s * s)), -float(weight @ s), float(weight.sum())
        area = first * last - cross * cross
        if area <= 0.0:  # flat to rounding
            break
        step = np.array([last * up - cross * across, first * across - cross * up]) / area
        after = value(theta + step)
        while after < now and np.abs(step).max() > MIN_LIKELIHOOD_GAIN:
            step = 0.5 * step
            after = value(theta + step)
        if after < now + MIN_LIKELIHOOD_GAIN:
            break
        theta, now = theta + step, after
    return LogisticStep(now, float(theta[0]) / scale, center + scale * float(theta[1] / theta[0]))


def _highest_at(counts: EventCounts, threshold: float) -> float:
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


def _end_of_interval(counts: EventCounts, start: float, side: float, level: float) -> float:
    """Return the end of the interval of the threshold on one side."""
    reach = max(float(np.ptp(counts.place)), POSITION_TOLERANCE)
    while _highest_at(counts, start + side * reach) >= level:
        reach *= 2.0
        if reach > MAX_THRESHOLD_DISTANCE:
            return side * math.inf
    exact = MIN_LIKELIHOOD_GAIN * reach

    def above(way: float) -> float:
        """Return how far the likelihood is above the level; it may jump at a position of networks."""
        return _highest_at(counts, start + side * way) - level

    # At the start the likelihood is the highest, despite rounding; the end is rounded outward.
    way = optimize.brentq(lambda one: above(one) if one > 0.0 else 1.0, 0.0, reach, xtol=exact)
    return start + side * (way + exact)


def classify_phases(train_step: ArrayLike, test_step: ArrayLike, grokking_delay: int = DEFAULT_GROKKING_DELAY) -> Whole:
    """Return the phase of each network: 0 generalization, 1 grokking, 2 memorization, 3 confusion.

    Parameters
    ----------
    train_step, test_step : int arrays
        First step at which the accuracy on training and on test entries exceeds its target; -1 for never.
    grokking_delay : int
        From this delay on, generalization counts as grokking.

    References
    ----------
    :cite:p:`baek2024`, Table IV. A network that reaches the target on test entries but never on training entries, a
    case missing in the table, counts as confused.
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
    """Return the delay in steps from training to test accuracy; NaN where either target is never reached."""
    train, test = np.asarray(train_step, dtype=np.float64), np.asarray(test_step, dtype=np.float64)
    return np.where((train == NEVER) | (test == NEVER), np.nan, test - train)


def network_outcomes(runs: RelationRuns, target: float, grokking_delay: int) -> list[dict[str, Any]]:
    """Return for each network the steps at which it reached the target, its phase and its final accuracies."""
    train, test = (runs.steps_to(name, target) for name in ("train_accuracy", "test_accuracy"))
    columns: dict[str, list[Any]] = {
        "train_step": train.tolist(),
        "test_step": test.tolist(),
        "delay": grokking_delays(train, test).tolist(),
        "phase": [PHASES[place] for place in classify_phases(train, test, grokking_delay)],
        **{f"final_{name}": runs.final(name).tolist() for name in ACCURACIES},
        "failed": runs.failed.tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def count_phases(
    train_step: ArrayLike, test_step: ArrayLike, phase: ArrayLike, test_accuracy: ArrayLike, *, patience: float
) -> dict[str, float]:
    """Return how many networks are in each phase and how many are late, with their median times and mean accuracy.

    A network is late if it takes more than `patience` times as many steps to generalize as to fit, or never does.
    """
    train, test = np.asarray(train_step, dtype=np.int64), np.asarray(test_step, dtype=np.int64)
    fitted, found, accuracy = train != NEVER, np.asarray(phase), np.asarray(test_accuracy, dtype=np.float64)
    late = fitted & ((test == NEVER) | (test > patience * np.maximum(train, 1)))
    delays = grokking_delays(train, test)
    return {
        **{name: int((found == name).sum()) for name in PHASES},
        "late": int(late.sum()),
        "count": len(train),
        "median_train_step": _of_known(np.median, train[fitted]),
        "median_delay": _of_known(np.median, delays),
        "mean_test_accuracy": _of_known(np.mean, accuracy),
    }


def _of_known(statistic: Callable[[Array], Any], values: ArrayLike) -> float:
    """Return a statistic of the values that are numbers; NaN if none is."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    return float(statistic(known)) if known.size else math.nan


@dataclass(frozen=True)
class Boundary:
    """The boundary of memorization, in decades of the learning rates.

    Attributes
    ----------
    slope : Estimate
        Of log encoder rate against log decoder rate along the boundary; 1 if the ratio of the rates decides. An end
        of the interval is infinite where the boundary may be vertical.
    slope_message : str
        Why the slope could not be determined; empty if it could.
    agrees_with_unit_slope : bool
        Whether a slope of 1 lies in the 95 % interval.
    critical_ratio : Estimate
        Decoder rate over encoder rate at the boundary, if the slope is 1; 0 or infinite if the ratio has no effect.
        It and its interval may lie outside the ratios of the networks.
    point : tuple of two floats
        Decoder and encoder rate of the point on the fitted line that is nearest, in decades, to the mean of the
        networks. With the slope it defines the line.
    width : float
        Decades across the boundary from probability 1/4 to 3/4 of memorization; 0 if there is no overlap.
    separated : bool
        Whether some line has all memorizing networks on one side.
    log_likelihood, unit_slope_log_likelihood : float
        Of the best line, and of the best with slope 1.
    network_count : int
    """

    slope: Estimate
    slope_message: str
    agrees_with_unit_slope: bool
    critical_ratio: Estimate
    point: tuple[float, float]
    width: float
    separated: bool
    log_likelihood: float
    unit_slope_log_likelihood: float
    network_count: int

    def columns(self) -> dict[str, float | bool]:
        """Return the line as columns of a table."""
        decoder, encoder = self.point
        return {
            **interval_columns("slope", self.slope),
            **interval_columns("critical_ratio", self.critical_ratio),
            "line_decoder_rate": decoder,
            "line_encoder_rate": encoder,
            "width_decades": self.width,
            "slope_may_be_1": self.agrees_with_unit_slope,
        }


def slope_message(slope: float, low: float, high: float) -> str:
    """Return why the slope of a boundary with this interval is not determined; empty if it is."""
    if low == -math.inf and high == math.inf:
        return "boundaries of any direction fit these networks"
    if not math.isfinite(slope):
        return f"the fitted boundary is vertical, so any slope from {low:.3g} on fits"
    return ""


def format_slope(slope: float) -> str:
    """Return a slope as text; the fit tries directions half a degree apart, so that tiny numbers are zero."""
    if math.isinf(slope):
        return "∞" if slope > 0 else "-∞"
    return f"{round(slope, 2) + 0.0:.2f}" if abs(slope) < 10.0 else f"{slope:.3g}"


def fit_boundary(decoder_rate: ArrayLike, encoder_rate: ArrayLike, memorized: ArrayLike) -> Boundary:
    """Fit the boundary of memorization in the plane of learning rates.

    Parameters
    ----------
    decoder_rate, encoder_rate : arrays of shape (networks,)
    memorized : truth values of shape (networks,)
        Or 0 and 1. Leave out networks that did not fit their training set; they belong to neither side.

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
    if min(np.ptp(x), np.ptp(y)) <= POSITION_TOLERANCE:
        raise InputError("decoder_rate and encoder_rate must each take two values or more; got a single one.")
    angles, fits = _all_directions(x, y, failed)
    likelihood = np.array([fit.log_likelihood for fit in fits])
    best, unit = int(np.argmax(likelihood)), int(np.argmin(np.abs(angles + math.pi / 4)))
    if fits[best].steepness == 0.0:
        raise InputError("memorized must change with the rates; it has the same share everywhere.")
    apart = np.mod(angles - angles[best] + math.pi, 2.0 * math.pi) - math.pi
    inside = angles[best] + apart[likelihood >= likelihood[best] - HALF_DEVIANCE]
    middle = angles[best] + float(np.median(apart[likelihood >= likelihood[best] - LIKELIHOOD_TIE_TOLERANCE]))
    low, high = _slopes_between(inside.min() - DIRECTION_STEP, middle, inside.max() + DIRECTION_STEP)
    return Boundary(
        slope=Estimate(_slope(middle), low, high, failed.size),
        slope_message=slope_message(_slope(middle), low, high),
        agrees_with_unit_slope=bool(likelihood[best] - likelihood[unit] <= HALF_DEVIANCE),
        critical_ratio=_threshold(x - y, failed),
        point=_point_across(middle, x, y, failed),
        width=2.0 * math.log(3.0) / fits[best].steepness,
        separated=fits[best].log_likelihood == 0.0,
        log_likelihood=float(likelihood[best]),
        unit_slope_log_likelihood=float(likelihood[unit]),
        network_count=failed.size,
    )


def expand_counts(failed: ArrayLike, others: ArrayLike, *values: ArrayLike) -> tuple[Any, ...]:
    """Return the values of each network and whether it failed, from the numbers of networks at each value."""
    failures, rest = np.asarray(failed, dtype=np.int64), np.asarray(others, dtype=np.int64)
    repeated = (np.concatenate([np.repeat(np.asarray(one), count) for count in (failures, rest)]) for one in values)
    return *repeated, np.arange(failures.sum() + rest.sum()) < failures.sum()


def fitted_counts(table: Mapping[str, ArrayLike] | DataFrame, criterion: str) -> tuple[Whole, Whole]:
    """Return how many of the networks that fitted meet a criterion, and how many do not, for each row of a table."""
    failed, count, confused = (np.asarray(table[name]) for name in (criterion, "count", "confusion"))
    return failed, count - confused - failed


def boundary_of(table: Mapping[str, ArrayLike] | DataFrame, criterion: str) -> Boundary | None:
    """Fit the boundary of a criterion in a table of counts at pairs of rates; None if there is none among them."""
    rates = (table[name] for name in ("decoder_rate", "encoder_rate"))
    try:
        return fit_boundary(*expand_counts(*fitted_counts(table, criterion), *rates))
    except InputError:
        return None


def _truths(name: str, given: ArrayLike) -> Mask:
    """Return truth values, also from 0 and 1."""
    values = np.asarray(given)
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise InputError(f"{name} must be truth values; got {' '.join(repr(given).split())[:80]}.")
    return values.astype(bool)


def _all_directions(x: Array, y: Array, failed: Mask) -> tuple[Array, list[LogisticStep]]:
    """Return the angles of all directions, and the best curve along each."""
    angles = np.linspace(-math.pi, math.pi, DIRECTION_COUNT + 1)[1:]
    points, which = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    hit, missed = _hit_and_missed(which.ravel(), failed)
    along = np.column_stack([np.cos(angles), np.sin(angles)]) @ points.T
    return angles, [best_step(EventCounts(place, hit, missed)) for place in along]


def _counts(place: Array, failed: Mask) -> EventCounts:
    """Return how many networks failed and how many did not at each position."""
    places, which = np.unique(place, return_inverse=True)
    return EventCounts(places, *_hit_and_missed(which, failed))


def _hit_and_missed(which: Whole, failed: Mask) -> tuple[Array, Array]:
    """Return how many networks failed and how many did not, by the number of their position."""
    hit = np.bincount(which, failed.astype(np.float64)).astype(np.float64)
    return hit, np.bincount(which).astype(np.float64) - hit


def _slope(angle: float) -> float:
    """Return the slope of the line perpendicular to the direction of an angle."""
    return math.inf if math.isclose(math.sin(angle), 0.0, abs_tol=1e-12) else -math.cos(angle) / math.sin(angle)


def _slopes_between(lowest: float, middle: float, highest: float) -> tuple[float, float]:
    """Return the ends of the slopes of a range of angles, as far as they are connected to that of the middle.

    Slopes rise with the angle to infinity at 0 and π, where the line is vertical, and start again at minus infinity.
    """
    if highest - lowest >= math.pi - 2.0 * DIRECTION_STEP:  # no direction is left out
        return -math.inf, math.inf
    vertical = math.pi * math.ceil(middle / math.pi - POSITION_TOLERANCE)  # the next one
    low = -math.inf if lowest <= vertical - math.pi else _slope(lowest)
    high = math.inf if highest >= vertical - POSITION_TOLERANCE else _slope(highest)
    return low, high


def _point_across(angle: float, x: Array, y: Array, failed: Mask) -> tuple[float, float]:
    """Return the rates on the line perpendicular to an angle, at the point nearest to the mean of all networks."""
    along = np.array([math.cos(angle), math.sin(angle)])
    middle = np.array([x.mean(), y.mean()])
    away = best_step(_counts(along[0] * x + along[1] * y, failed)).threshold - float(along @ middle)
    decoder, encoder = (middle + away * along).tolist()
    return _power_of_ten(decoder), _power_of_ten(encoder)


def _power_of_ten(exponent: float) -> float:
    """Return 10 to a power that may be too large for a float."""
    return math.inf if exponent > MAX_EXPONENT else 10.0**exponent


def fit_threshold(values: ArrayLike, above: ArrayLike) -> Estimate:
    """Return the value at which an event happens to half of the networks, with its 95 % interval.

    The probability is a logistic curve in the logarithm of the value, which may rise or fall.

    Parameters
    ----------
    values : array of shape (networks,)
        Such as a learning rate or a training fraction.
    above : truth values of shape (networks,)
        Whether the event happened.
    """
    log, happened = np.log10(positive("values", values)), _truths("above", above)
    if log.ndim != 1 or log.shape != happened.shape:
        raise InputError(f"values and above must have one shape; got {log.shape} and {happened.shape}.")
    if happened.all() or not happened.any():
        raise InputError(f"above must be true for some and false for others; got {happened.sum()} of {happened.size}.")
    if np.ptp(log) <= POSITION_TOLERANCE:
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


def side_of(number: float, tried: tuple[float, float]) -> int:
    """Return -1 for a number below the smallest one tried, 1 for one above the largest, else 0."""
    smallest, largest = tried
    return int(number > largest * (1.0 + EDGE_TOLERANCE)) - int(number < smallest * (1.0 - EDGE_TOLERANCE))


def format_within_tried(found: Estimate, tried: tuple[float, float]) -> str:
    """Return an estimate as text, limited to the range of values tried."""
    smallest, largest = (f"{end:.3g}" for end in tried)
    beyond = {-1: f"less than {smallest}", 1: f"more than {largest}"}
    if side := side_of(found.value, tried):
        return f"{beyond[side]}, the {'smallest' if side < 0 else 'largest'} tried"
    low, high = (beyond.get(side_of(end, tried), f"{end:.3g}") for end in (found.low, found.high))
    inside = side_of(found.low, tried) == side_of(found.high, tried) == 0
    return f"{found.value:.3g} [{low}, {high}]" + ("" if inside else f"; tried were {smallest} to {largest}")
