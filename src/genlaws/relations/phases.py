r"""What became of a training: generalisation, grokking, memorisation or confusion; and the line between the phases.

A network memorises if it fits what it was shown and nothing else. In the plane of the logarithms of both learning rates
the chance of that is taken to change along one direction,

.. math:: P(\text{memorised}) = \sigma\big(k\,[\cos\varphi\, \log_{10}\eta_{dec} + \sin\varphi\, \log_{10}\eta_{enc}
    - c]\big),

so that the boundary is a straight line whose slope follows from :math:`\varphi`. Intervals are those of the profile
likelihood with any steepness: if the two sides are cleanly separated, all that lies between them is possible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, Mask, Whole, positive, whole_number
from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import Estimate, wilson_interval
from genlaws.relations.logistic_step import TIE, Counts, LogisticStep, best_step, threshold_interval

PHASES = ("generalisation", "grokking", "memorisation", "confusion")
GENERALISATION, GROKKING, MEMORISATION, CONFUSION = range(4)
NEVER = -1
GROKKING_DELAY = 1000  # of the paper, Table IV
HALF_DEVIANCE = 0.5 * 3.841458820694124  # of one parameter at 95 %
DIRECTIONS = 720  # tried, half a degree apart
STEP = 2.0 * math.pi / DIRECTIONS  # an interval ends before the next direction
AS_GOOD = 1e-9  # of the log-likelihood: directions this close to the best are equal to it
LARGEST_EXPONENT = 308.25  # a rate beyond 10 to this is infinite


def classify(train_step: ArrayLike, test_step: ArrayLike, grokking_delay: int = GROKKING_DELAY) -> Whole:
    """Return the phase of each network: 0 generalisation, 1 grokking, 2 memorisation, 3 confusion.

    Parameters
    ----------
    train_step, test_step : int arrays
        First step at which the accuracy on shown and on other entries exceeds its target; -1 for never.
    grokking_delay : int
        From this many steps between the two on, generalisation counts as grokking.

    References
    ----------
    :cite:p:`baek2024`, Table IV. A network that is right on the other entries but never on those it was shown, which
    the table leaves out, counts as confused.
    """
    train, test = np.asarray(train_step, dtype=np.int64), np.asarray(test_step, dtype=np.int64)
    if train.shape != test.shape:
        raise InputError(f"train_step and test_step must have one shape; got {train.shape} and {test.shape}.")
    delay = whole_number("grokking_delay", grokking_delay)
    late = np.where(test - train >= delay, GROKKING, GENERALISATION)
    fitted = np.where(test == NEVER, MEMORISATION, late)
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
    """The line between memorising and not, in decades of the learning rates.

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
        Decades from one to three quarters of memorising, across the boundary; 0 if there is no overlap.
    separated : bool
        Whether some line has all memorising networks on one side.
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


def fit_boundary(decoder_rate: ArrayLike, encoder_rate: ArrayLike, memorised: ArrayLike) -> Boundary:
    """Fit the line in the plane of learning rates beyond which networks memorise.

    Parameters
    ----------
    decoder_rate, encoder_rate : arrays of shape (networks,)
    memorised : truth values of shape (networks,)
        0 and 1 will do. Leave out networks that fitted nothing at all; they belong to neither side.

    Raises
    ------
    InputError
        If all networks or none memorised, or a rate is the same for all: there is no boundary among them.
    """
    x, y = (
        np.log10(positive(name, one)) for name, one in (("decoder_rate", decoder_rate), ("encoder_rate", encoder_rate))
    )
    failed = _truths("memorised", memorised)
    if not x.shape == y.shape == failed.shape or x.ndim != 1:
        raise InputError(f"Rates and memorised must have one shape; got {x.shape}, {y.shape} and {failed.shape}.")
    if failed.all() or not failed.any():
        raise InputError(
            f"memorised must be true for some networks and false for others; got {failed.sum()} of {failed.size}."
        )
    if min(np.ptp(x), np.ptp(y)) <= TIE:
        raise InputError("decoder_rate and encoder_rate must each take two values or more; got a single one.")
    angles, fits = _all_directions(x, y, failed)
    likelihood = np.array([fit.log_likelihood for fit in fits])
    best, unit = int(np.argmax(likelihood)), int(np.argmin(np.abs(angles + math.pi / 4)))
    if fits[best].steepness == 0.0:
        raise InputError("memorised must change with the rates; it has the same share everywhere.")
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
