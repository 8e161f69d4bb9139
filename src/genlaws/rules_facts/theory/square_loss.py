r"""Ridge regression on rules and facts, in closed form.

A kernel acts on Gaussian inputs like :math:`\mu_1^2 XX^\top/d + \mu_*^2 I`, so the learner is linear ridge
regression with the effective ridge :math:`L = (\lambda + \mu_*^2)/\mu_1^2`, and the labels are a linear signal of
strength :math:`\rho = (1-\varepsilon)\sqrt{2/\pi}` plus noise of variance :math:`1-\rho^2`.

References
----------
:cite:t:`farne2026`, Eqs. 35, 142-144 and Appendix B.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.numerics.elementwise import find_roots
from genlaws.core.numerics.gaussian import SQRT_2_OVER_PI
from genlaws.rules_facts.theory.random_features import Learner, learner_side

# The share of the rank in use is a logistic function of the unknown; beyond this it is 0 or 1 to rounding.
MAX_RANK_LOGIT = 100.0


class SquareSolution(NamedTuple):
    r"""The overlap m, the spread :math:`\tau = \sqrt{q - m^2}`, the response V and the rigidity K.

    In the limit λ → 0 with all labels fitted V diverges; then the last two are :math:`\ell V` and :math:`K/\ell`.
    """

    m: Array
    tau: Array
    response: Array
    rigidity: Array
    residual: Array


def rule_signal(fact_fraction: Array) -> Array:
    r"""Return :math:`\rho = (1-\varepsilon)\sqrt{2/\pi}`, the linear part of the rule in the labels."""
    return (1.0 - fact_fraction) * SQRT_2_OVER_PI


def solve_square(sample_ratio: Array, fact_fraction: Array, learner: Learner) -> SquareSolution:
    r"""Return the exact order parameters of kernel ridge regression at infinite width and λ > 0.

    With X the positive root of :math:`X^2 + (\alpha - L - 1)X - L\alpha = 0` and
    :math:`y = X/(X+\alpha)`, the share of the rule that is *not* learned,

    .. math:: m = \rho(1-y), \qquad \tau^2 = \frac{c}{1-c}\,[1 - \rho^2 + \rho^2y^2], \qquad
              c = \frac{\alpha}{(X+\alpha)^2}, \qquad V = \frac{y + R}{\ell}, \qquad K = \frac{\ell}{y} .

    The case λ = 0 is :func:`solve_square_limit`.

    Notes
    -----
    X is :math:`\ell(1+V)` of the paper. Written this way no difference of nearly equal numbers is left:
    :math:`(X+\alpha)^2 - \alpha = \alpha(\alpha-1) + L(X+\alpha) + (1+\alpha)X`.
    """
    m, tau, y_per_ridge = _effective_ridge(sample_ratio, fact_fraction, learner.ridge + learner.nonlinear_share)
    y = y_per_ridge * (learner.ridge + learner.nonlinear_share)
    V = (y + learner.nonlinear_share) / learner.ridge
    K = learner.ridge / y
    rho = rule_signal(fact_fraction)
    noise = 1.0 - rho**2 + (rho - m) ** 2 + tau**2
    rigidity_residual = np.abs(np.log((learner.ridge + sample_ratio / (1.0 + V)) / K))
    spread_residual = np.abs(0.5 * np.log(sample_ratio * noise) - np.log(K * (1.0 + V) * tau))
    return SquareSolution(m, tau, V, K, np.maximum(rigidity_residual, spread_residual))


def solve_square_limit(sample_ratio: Array, fact_fraction: Array, learner: Learner) -> SquareSolution:
    """Return the limit λ → 0 at infinite width; the response is ℓV where it diverges and V where it does not.

    The response diverges, and every label is fitted, for a kernel with μ* > 0 at any sample ratio and for the
    linear model below one sample per dimension.
    """
    R = learner.nonlinear_share
    m, tau, y_per_ridge = _effective_ridge(sample_ratio, fact_fraction, R)
    linear_overloaded = (R == 0.0) & (sample_ratio > 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        y = np.where(R > 0.0, R * y_per_ridge, np.maximum(1.0 - sample_ratio, 0.0))
        response = np.where(linear_overloaded, 1.0 / (sample_ratio - 1.0), y + R)
        rigidity = np.where(linear_overloaded, sample_ratio - 1.0, 1.0 / y)
    return SquareSolution(m, tau, response, rigidity, np.zeros_like(m))


def _effective_ridge(alpha: Array, fact_fraction: Array, L: Array) -> tuple[Array, Array, Array]:
    """Return m, τ and y/L of linear ridge regression with ridge L."""
    rho = rule_signal(fact_fraction)
    half = 0.5 * (L + 1.0 - alpha)
    root = np.sqrt(half * half + L * alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        X = np.where(half < 0.0, L * alpha / (root - half), half + root)
        y_per_ridge = np.where(half < 0.0, alpha / (root - half), X / L) / (X + alpha)
        y = X / (X + alpha)
        residual_share = (alpha * (alpha - 1.0) + L * (X + alpha) + (1.0 + alpha) * X) / alpha
        tau = np.sqrt((1.0 - rho**2 + (rho * y) ** 2) / residual_share)
    return rho * alpha / (X + alpha), tau, y_per_ridge


def solve_square_features(
    sample_ratio: Array, fact_fraction: Array, learner: Learner, *, fits_labels: bool
) -> SquareSolution:
    r"""Return the order parameters of ridge regression on random features of finite width.

    The stiffness solves :math:`\hat V(1 + V) = \alpha`. In terms of :math:`\tilde\alpha = \hat V V` it is
    :math:`\hat V = \ell h/[(1-h)(1-\gamma\tilde\alpha)]` with
    :math:`h^2 - (1 + R + \tilde\alpha)h + \tilde\alpha = 0`, and
    :math:`\hat V + \tilde\alpha = \alpha` increases with :math:`\tilde\alpha`, which leaves one root.

    Parameters
    ----------
    fits_labels : bool
        True for the limit λ → 0 below the threshold: then :math:`\tilde\alpha = \alpha`, the ridge counts as one
        and the response returned is :math:`\ell V`.
    """
    alpha, gamma = sample_ratio, learner.inverse_width
    if fits_labels:
        stiffness, one = _stiffness(alpha, 1.0 - gamma * alpha, np.maximum(1.0 - alpha, 0.0), learner), 0.0
    else:
        stiffness, one = _solve_stiffness(alpha, learner), 1.0
    K = learner.ridge + learner.weight * stiffness
    V, D, A, B = learner_side(learner, K)
    rho = rule_signal(fact_fraction)
    m_hat = alpha * rho / (one + V)
    m = D * m_hat
    gain = B * alpha / (one + V) ** 2
    tau = np.sqrt((A * m_hat**2 + gain * (1.0 - rho**2 + (rho - m) ** 2)) / (1.0 - gain))
    residual = np.abs(np.log((learner.ridge + learner.weight * alpha / (one + V)) / K))
    return SquareSolution(m, tau, V, K, residual)


def _stiffness(used: Array, spare: Array, linear_left: Array, learner: Learner) -> Array:
    r"""Return :math:`\hat V` at :math:`\tilde\alpha` = `used`, given :math:`1 - \gamma\tilde\alpha` = `spare`."""
    R = learner.nonlinear_share
    root = np.sqrt((1.0 + R - used) ** 2 + 4.0 * R * used)
    h = 2.0 * used / (1.0 + R + used + root)
    left = 1.0 - R - used
    with np.errstate(invalid="ignore", divide="ignore"):
        one_minus_h = np.where(left > 0.0, 0.5 * (left + root), 2.0 * R / (root - left))
        one_minus_h = np.where(R > 0.0, one_minus_h, linear_left)
        return learner.ridge * h / (one_minus_h * spare)


def _solve_stiffness(alpha: Array, learner: Learner) -> Array:
    """Return the stiffness at which V̂ + α̃ = α; without ridge the whole rank is in use."""
    ell, R, gamma = learner
    rank = np.where(R > 0.0, 1.0 / gamma, np.minimum(1.0 / gamma, 1.0))
    stiffness = alpha - rank
    ridge = ell > 0.0
    if ridge.any():
        arguments = (alpha[ridge], np.minimum(alpha, rank)[ridge], *learner.take(ridge))
        bound = np.full(arguments[0].shape, MAX_RANK_LOGIT)
        logit = find_roots(_stiffness_excess, -bound, bound, *arguments)
        stiffness[ridge] = _stiffness_at(logit, arguments[1], Learner(*arguments[2:]))[0]
    return stiffness


def _stiffness_at(logit: Array, top: Array, learner: Learner) -> tuple[Array, Array]:
    """Return V̂ when the share 1/(1 + e^-logit) of the reachable rank `top` is in use, and the rank left of it."""
    used, gap = top / (1.0 + np.exp(-logit)), top / (1.0 + np.exp(logit))
    spare = learner.inverse_width * ((1.0 / learner.inverse_width - top) + gap)
    return _stiffness(used, spare, (1.0 - top) + gap, learner), gap


def _stiffness_excess(logit: Array, alpha: Array, top: Array, *learner: Array) -> Array:
    stiffness, gap = _stiffness_at(logit, top, Learner(*learner))
    return np.log(stiffness) - np.log((alpha - top) + gap)
