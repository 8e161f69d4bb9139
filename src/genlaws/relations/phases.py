r"""What became of a training: generalisation, grokking, memorisation or confusion; and the line between the phases.

A network memorises if it fits what it was shown and nothing else. In the plane of the logarithms of both learning rates
the chance of that is taken to change along one direction,

.. math:: P(\text{memorised}) = \sigma\big(k\,[\cos\varphi\, \log_{10}\eta_{dec} + \sin\varphi\, \log_{10}\eta_{enc}
    - c]\big),

so that the boundary is a straight line whose slope follows from :math:`\varphi`. Intervals are those of the profile
likelihood: they hold as well when the two sides are cleanly separated, where the grid alone limits what is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from genlaws.numerics.arguments import Array, Mask, Whole, positive, whole_number
from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import Estimate, wilson_interval

PHASES = ("generalisation", "grokking", "memorisation", "confusion")
GENERALISATION, GROKKING, MEMORISATION, CONFUSION = range(4)
NEVER = -1
GROKKING_DELAY = 1000  # of the paper, Table IV
HALF_DEVIANCE = 0.5 * 3.841458820694124  # of one parameter at 95 %
DIRECTIONS = 361  # tried, half a degree apart
STEEPEST = 60.0  # per decade: a boundary sharper than a thirtieth of a decade counts as a step
OFFSETS = 201


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
        of the interval may be infinite: the boundary may be upright.
    critical_ratio : Estimate
        Decoder rate over encoder rate at the boundary, if the slope is 1.
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
    width: float
    separated: bool
    log_likelihood: float
    unit_slope_log_likelihood: float
    network_count: int

    @property
    def agrees_with_unit_slope(self) -> bool:
        """Whether a slope of 1 lies in the 95 % interval."""
        return self.log_likelihood - self.unit_slope_log_likelihood <= HALF_DEVIANCE


def fit_boundary(decoder_rate: ArrayLike, encoder_rate: ArrayLike, memorised: ArrayLike) -> Boundary:
    """Fit the line in the plane of learning rates beyond which networks memorise.

    Parameters
    ----------
    decoder_rate, encoder_rate : arrays of shape (networks,)
    memorised : truth values of shape (networks,)
        Leave out networks that fitted nothing at all; they belong to neither side.

    Raises
    ------
    InputError
        If all networks or none memorised: there is no boundary among them.
    """
    x, y = (
        np.log10(positive(name, one)) for name, one in (("decoder_rate", decoder_rate), ("encoder_rate", encoder_rate))
    )
    failed: Mask = np.asarray(memorised, dtype=bool)
    if not x.shape == y.shape == failed.shape or x.ndim != 1:
        raise InputError(f"Rates and memorised must have one shape; got {x.shape}, {y.shape} and {failed.shape}.")
    if failed.all() or not failed.any():
        raise InputError(
            f"memorised must be true for some networks and false for others; got {failed.sum()} of {failed.size}."
        )
    angles = np.linspace(-math.pi / 2, math.pi / 2, DIRECTIONS)[1:]
    fits = [_across(math.cos(angle) * x + math.sin(angle) * y, failed) for angle in angles]
    likelihood = np.array([fit.log_likelihood for fit in fits])
    best = int(np.argmax(likelihood))
    unit = int(np.argmin(np.abs(angles + math.pi / 4)))
    inside = angles[likelihood >= likelihood[best] - HALF_DEVIANCE]
    middle = float(np.median(angles[likelihood >= likelihood[best] - 1e-9]))
    slopes = sorted(_slope(angle) for angle in (inside.min(), inside.max()))
    low, high = slopes if inside.max() < 0 else (min(slopes), math.inf)
    steep = fits[best].steepness
    return Boundary(
        Estimate(_slope(middle), low, high, failed.size),
        _critical_ratio(x - y, failed),
        0.0 if steep >= STEEPEST else 2.0 * math.log(3.0) / max(steep, 1e-12),
        bool(likelihood[best] > -1e-3 * failed.size),
        float(likelihood[best]),
        float(likelihood[unit]),
        failed.size,
    )


@dataclass(frozen=True)
class _Across:
    """The best logistic curve along one direction."""

    log_likelihood: float
    steepness: float
    offset: float


def _across(t: Array, failed: Mask, offset: float | None = None) -> _Across:
    """Fit P = σ(k (t - c)) with 0 ≤ k ≤ STEEPEST; the offset c may be fixed."""
    sign = np.where(failed, 1.0, -1.0)
    centre = float(t.mean()) if offset is None else offset

    def minus(theta: Array) -> tuple[float, Array]:
        """Return minus the log-likelihood and its gradient in (k, k c)."""
        z = sign * (theta[0] * (t - centre) - (theta[1] if offset is None else 0.0))
        away = special.expit(-z) * sign
        gradient = np.array([-(away * (t - centre)).sum(), away.sum() if offset is None else 0.0])
        return -float(special.log_expit(z).sum()), gradient

    found = optimize.minimize(
        minus, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0.0, STEEPEST), (None, None)]
    )
    steep = float(found.x[0])
    where = centre if offset is not None else centre + float(found.x[1]) / max(steep, 1e-12)
    return _Across(-float(found.fun), steep, where)


def _slope(angle: float) -> float:
    """Return the slope of the line across which the direction of an angle leads."""
    return math.inf if math.isclose(math.sin(angle), 0.0, abs_tol=1e-12) else -math.cos(angle) / math.sin(angle)


def _critical_ratio(log_ratio: Array, failed: Mask) -> Estimate:
    """Return the ratio of rates at the boundary of slope 1, with the interval of its profile likelihood."""
    best = _across(log_ratio, failed)
    offsets = np.linspace(log_ratio.min() - 0.5, log_ratio.max() + 0.5, OFFSETS)
    likelihood = np.array([_across(log_ratio, failed, float(one)).log_likelihood for one in offsets])
    inside = offsets[likelihood >= best.log_likelihood - HALF_DEVIANCE]
    low, high = (float(inside.min()), float(inside.max())) if inside.size else (best.offset, best.offset)
    return Estimate(10.0**best.offset, 10.0 ** min(low, best.offset), 10.0 ** max(high, best.offset), failed.size)
