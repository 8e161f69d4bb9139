r"""The interpolation threshold: the number of samples up to which every label can be fitted.

The interpolation threshold :math:`\alpha_c` is the largest sample ratio at which the training error vanishes as
:math:`\lambda\to0`. A kernel with :math:`\mu_* > 0` has none: it fits any number of labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from genlaws.core.arguments import Array, Elementwise, broadcast
from genlaws.core.errors import InputError
from genlaws.core.result import Result, Row, Summary, question
from genlaws.rules_facts.kernels.kernel import read_kernel
from genlaws.rules_facts.parameters import FACT_FRACTION, FactFraction, KernelChoice, LossChoice, WidthRatio
from genlaws.rules_facts.theory.losses import Loss, get_loss
from genlaws.rules_facts.theory.problem import in_shape, read_inverse_width

MAX_THRESHOLD_STEPS = 200
# From here on 1 - a·arctan(1/a) is summed as a series in 1/a², which loses no digits.
MIN_SERIES_OVERLAP = 30.0


class ThresholdPoints(NamedTuple):
    r"""The threshold :math:`\alpha_c` and the ratio :math:`a = m/\tau` at which the solution diverges there."""

    sample_ratio: Array
    overlap_ratio: Array


@dataclass(frozen=True, eq=False, repr=False)
class Threshold(Result):
    """The interpolation threshold of a learner, element by element.

    Attributes
    ----------
    sample_ratio : float or array
        The largest at which every label can be fitted; infinite where any number of labels can be.
    """

    sample_ratio: Elementwise

    def summary(self) -> Summary:
        """Return the threshold and what it means, or a table where there are several."""
        if np.ndim(self.sample_ratio):
            return Summary(table=self.table())
        if np.isinf(self.sample_ratio):
            return Summary([Row("sample ratio", "inf")], ["This learner can fit any number of labels."])
        meaning = "Up to this many samples per dimension every label, rule or fact, can be fitted."
        return Summary([Row("sample ratio", f"{self.sample_ratio:.6f}")], [meaning])


@question
def threshold(
    loss: LossChoice = "hinge",
    *,
    fact_fraction: FactFraction,
    kernel: KernelChoice = None,
    width_ratio: WidthRatio = None,
) -> Threshold:
    """Find the largest sample ratio at which a learner can fit every label.

    Parameters
    ----------
    loss, fact_fraction, kernel, width_ratio
        As :func:`~genlaws.rules_facts.interpolation_threshold` takes them, which gives the number alone.
    """
    return Threshold(interpolation_threshold(loss, fact_fraction=fact_fraction, kernel=kernel, width_ratio=width_ratio))


def interpolation_threshold(
    loss: LossChoice = "hinge",
    *,
    fact_fraction: FactFraction,
    kernel: KernelChoice = None,
    width_ratio: WidthRatio = None,
) -> Array | float:
    r"""Largest sample ratio at which the learner can fit every label.

    For the linear model and the hinge loss it solves :math:`\alpha M_0(a) = 1` with :math:`a = \alpha\delta/\pi` and
    :math:`M_0(a) = \tfrac12 - \tfrac{\delta}{\pi}\arctan a`, which is the same as
    :math:`1/\alpha_c = \min_t E[(Z - tY)_+^2]`; for the square loss it is 1 at every fact fraction. Random features
    of width κ reach κ with the square loss and exceed it with the hinge loss.

    Parameters
    ----------
    loss : str or Loss
        Losses that fit labels exactly (square, Huber) share one threshold, margin losses (hinge, squared hinge,
        logistic) the other.
    fact_fraction : array_like in [0, 1]
        Share of random labels.
    kernel : Kernel or str, optional
        The linear model if not given.
    width_ratio : array_like, positive, optional
        Random features per input dimension, κ; infinite width if not given.

    Returns
    -------
    float or array
        ``inf`` where every number of labels can be fitted.

    References
    ----------
    :cite:t:`farne2026`, Eq. 37 and Appendix C.1.1; :cite:t:`gardner1988` for ε = 1, where it is 2.

    Notes
    -----
    The finite-width margin threshold is not in the paper. It is where the λ → 0 equations of
    :mod:`genlaws.rules_facts.theory.random_features` lose their finite solution.
    """
    loss = get_loss(loss)
    epsilon = FACT_FRACTION.checked("fact_fraction", fact_fraction)
    gamma = read_inverse_width(width_ratio)
    if loss.limit == "unknown":
        raise InputError(f"The loss '{loss.name}' has no known λ → 0 limit; give it as Loss(limit=…).")
    found = read_kernel(kernel)
    with np.errstate(divide="ignore"):
        share = np.asarray(np.divide(found.mu_star, found.mu_1) ** 2)
    epsilon, share, gamma = broadcast(fact_fraction=epsilon, kernel=share, width_ratio=gamma)
    return in_shape(solve_threshold(loss, epsilon.ravel(), share.ravel(), gamma.ravel()).sample_ratio, epsilon.shape)


def solve_threshold(loss: Loss, fact_fraction: Array, nonlinear_share: Array, inverse_width: Array) -> ThresholdPoints:
    r"""Return the threshold of one-dimensional arrays of learners; `nonlinear_share` is R = μ*²/μ1².

    A learner can use as many directions as its rank r, the smaller of 1 and κ for the linear model and κ
    otherwise. Label losses use all of them at :math:`\alpha_c = r`. Margin losses need them only for the samples
    that fall below the margin, :math:`\alpha_c M_0(a) = r`, with :math:`a M_0(a) = \delta h/\pi` and h the gain of
    the rule at vanishing ridge, :math:`\gamma h^2 - (1 + \gamma + \gamma R)h + 1 = 0`.
    """
    epsilon, R, gamma = fact_fraction, nonlinear_share, inverse_width
    with np.errstate(divide="ignore"):
        width = np.where(gamma > 0.0, 1.0 / gamma, np.inf)
    rank = np.where(R > 0.0, width, np.minimum(width, 1.0))
    if loss.limit == "label":
        return ThresholdPoints(rank, np.zeros_like(rank))
    a = np.full(epsilon.shape, np.inf)
    rest = 1.0 + gamma + gamma * np.where(np.isfinite(R), R, 0.0)
    h = np.where(np.isfinite(R), 2.0 / (rest + np.sqrt(np.maximum(rest * rest - 4.0 * gamma, 0.0))), 0.0)
    some = epsilon > np.finfo(float).tiny  # a subnormal share counts as zero
    finite = np.isfinite(rank) & (some | (h < 1.0))
    a[finite] = _overlap_ratio(h[finite], epsilon[finite])
    with np.errstate(invalid="ignore", divide="ignore"):
        return ThresholdPoints(np.where(finite, rank / half_mass(a, epsilon), np.inf), a)


def half_mass(a: Array, fact_fraction: Array) -> Array:
    r"""Return the share of samples with margin below zero, :math:`M_0 = \tfrac12 - \tfrac{\delta}{\pi}\arctan a`.

    Written with :math:`\arctan(1/a)`, so that nothing cancels when nearly all labels follow the rule.
    """
    return 0.5 * fact_fraction + (1.0 - fact_fraction) / np.pi * np.arctan2(1.0, a)


def _overlap_ratio(h: Array, epsilon: Array) -> Array:
    r"""Solve :math:`a M_0(a) = \delta h/\pi` by Newton's method; the left side is concave, so it climbs to the root."""
    delta = 1.0 - epsilon
    a = _below_the_root(h, epsilon)
    for _ in range(MAX_THRESHOLD_STEPS):
        gap = delta / np.pi * ((h - 1.0) + _angle_deficit(a)) - 0.5 * epsilon * a
        slope = 0.5 * epsilon + delta / np.pi * _angle_slope(a)
        step = gap / slope
        a = a + step
        if (np.abs(step) <= 1e-15 * a).all():
            break
    return a


def _below_the_root(h: Array, epsilon: Array) -> Array:
    r"""Return a start below the root: half of :math:`(3(1-h))^{-1/2}` and :math:`(2\delta/3\pi\varepsilon)^{1/3}`.

    These are the roots without facts and without a loss of gain where a is large. Elsewhere :math:`M_0 \le \tfrac12`.
    """
    delta = 1.0 - epsilon
    with np.errstate(divide="ignore"):
        without_facts = (3.0 * np.maximum(1.0 - h, 0.0)) ** -0.5
        without_loss = np.cbrt(delta / (1.5 * np.pi)) / np.cbrt(epsilon)
    large = 0.5 * np.minimum(without_facts, without_loss)
    return np.where(large > MIN_SERIES_OVERLAP, large, 2.0 * delta * h / np.pi)


def _angle_deficit(a: Array) -> Array:
    r"""Return :math:`1 - a \arctan(1/a) = \tfrac13 a^{-2} - \tfrac15 a^{-4} + \dots`."""
    inverse = np.maximum(a, MIN_SERIES_OVERLAP) ** -1.0
    square = inverse * inverse
    series = square * (1.0 / 3.0 - square * (1.0 / 5.0 - square * (1.0 / 7.0 - square * (1.0 / 9.0 - square / 11.0))))
    return np.where(a > MIN_SERIES_OVERLAP, series, 1.0 - a * np.arctan2(1.0, a))


def _angle_slope(a: Array) -> Array:
    r"""Return :math:`\arctan(1/a) - a/(1 + a^2) = \tfrac23 a^{-3} - \tfrac45 a^{-5} + \dots`."""
    inverse, small = np.maximum(a, MIN_SERIES_OVERLAP) ** -1.0, np.minimum(a, MIN_SERIES_OVERLAP)
    square = inverse * inverse
    series = (2 / 3 - square * (4 / 5 - square * (6 / 7 - square * (8 / 9 - square * 10 / 11)))) * square * inverse
    return np.where(a > MIN_SERIES_OVERLAP, series, np.arctan2(1.0, small) - small / (1.0 + small * small))
