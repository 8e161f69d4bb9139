r"""What remains of the errors at very many samples and at very strong regularisation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, broadcast, fraction
from genlaws.rules_facts.bayes_optimal import channel_integral
from genlaws.rules_facts.kernels import Kernel
from genlaws.rules_facts.losses import get_loss
from genlaws.rules_facts.point_solver import solve_points
from genlaws.rules_facts.problem import SHARE_HINT, in_shape, read_problem, read_sample_ratio
from genlaws.rules_facts.square_loss import rule_signal


class Errors(NamedTuple):
    """Generalisation and memorisation error of a limit."""

    generalisation_error: Array | float
    memorisation_error: Array | float


def large_sample_error(*, sample_ratio: ArrayLike, fact_fraction: ArrayLike) -> Array | float:
    r"""Leading generalisation error of ridge regression at many samples.

    .. math:: \varepsilon_{gen} \simeq \frac{1}{\pi\sqrt\alpha}\sqrt{\frac{1-\rho^2}{\rho^2}},
              \qquad \rho = (1-\varepsilon)\sqrt{2/\pi},

    whatever the kernel and the regularisation. Relative corrections are of order 1/α. Infinite at ε = 1, where
    nothing is learned and the expansion does not hold.

    References
    ----------
    :cite:t:`farne2026`, Eq. 42.
    """
    alpha, epsilon = _task(sample_ratio, fact_fraction)
    rho = rule_signal(epsilon)
    with np.errstate(divide="ignore"):
        error = np.sqrt(1.0 - rho**2) / (np.pi * rho * np.sqrt(alpha))
    return in_shape(np.ravel(error), alpha.shape)


def large_sample_bayes_error(*, sample_ratio: ArrayLike, fact_fraction: ArrayLike) -> Array | float:
    r"""Leading Bayes-optimal generalisation error at many samples.

    .. math:: \varepsilon_{gen} \simeq \frac{(2\pi)^{3/2}}{4\pi\,\delta^2\,I(1)}\,\frac1\alpha ,

    with I the integral of :func:`~genlaws.rules_facts.bayes_optimal`; 0.4417/α at ε = 0.

    References
    ----------
    :cite:t:`farne2026`, Eq. 201.
    """
    alpha, epsilon = _task(sample_ratio, fact_fraction)
    integral = channel_integral(np.full(epsilon.size, np.inf), np.ravel(epsilon)).reshape(epsilon.shape)
    with np.errstate(divide="ignore"):
        error = (2.0 * np.pi) ** 1.5 / (4.0 * np.pi * (1.0 - epsilon) ** 2 * integral * alpha)
    return in_shape(np.ravel(error), alpha.shape)


def infinite_regularisation(
    *,
    sample_ratio: ArrayLike,
    fact_fraction: ArrayLike,
    kernel: Kernel | str | None = None,
    width_ratio: ArrayLike | None = None,
) -> Errors:
    r"""Errors in the limit λ → ∞, the same for every loss.

    For a kernel

    .. math:: \varepsilon_{gen} = \frac1\pi\arccos\frac{\rho\sqrt\alpha}{\sqrt{1+\rho^2\alpha}}, \qquad
              \varepsilon_{mem} = \tfrac12\,\mathrm{erfc}\frac{1+\mu_*^2/\mu_1^2}{\sqrt{2(\alpha+\rho^2\alpha^2)}} .

    Every sample then pulls with the same force and the learner is Hebb's rule.

    References
    ----------
    :cite:t:`farne2026`, Appendix C.2; the finite-width form is not in the paper.
    """
    problem = read_problem(sample_ratio, fact_fraction, kernel, width_ratio, np.inf)
    points = solve_points(get_loss("square"), problem.task, problem.learner())
    return Errors(
        in_shape(points.generalisation_error, problem.shape), in_shape(points.memorisation_error, problem.shape)
    )


def _task(sample_ratio: ArrayLike, fact_fraction: ArrayLike) -> tuple[Array, Array]:
    alpha = read_sample_ratio(sample_ratio)
    epsilon = fraction("fact_fraction", fact_fraction, SHARE_HINT)
    alpha, epsilon = broadcast(sample_ratio=alpha, fact_fraction=epsilon)
    return alpha, epsilon
