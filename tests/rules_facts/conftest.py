"""The state equations as they are written on paper, by plain quadrature: what an answer is put back into.

Nothing here comes from the library: the pulls are written out once more, and every average is a sum over many panels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from scipy import special
from scipy.optimize import brentq

# Beyond 12 standard deviations the density is below 1e-31.
REACH, PANEL_WIDTH, PANEL_NODES = 12.0, 0.5, 30
# The density of a rule's margin changes within a few 1/a; panels are cut there in steps of one.
SKEW_EDGES = np.arange(-12.0, 13.0)
# Each bisection halves an interval of at most 1e9; 90 of them reach the spacing of numbers.
BISECTIONS = 90
# The published finite-width formulas cancel, and divide by V̂, which underflows where no margin lies in the curved
# part of the loss.
# With this many digits and so small a V̂ nothing is lost.
DIGITS = 200
SMALLEST_STIFFNESS = 1e-30


@dataclass(frozen=True)
class PaperLoss:
    """Pull f(u, V), minus its slope by u, and the margins where it has kinks."""

    pull: Callable
    stiffness: Callable
    kinks: Callable


def _inside(u, low, high):
    return ((u > low) & (u < high)).astype(float)


def _logistic_output(u, V):
    """Solve z = u + V/(1 + eᶻ) by bisection."""
    low, high = u, u + V
    for _ in range(BISECTIONS):
        z = 0.5 * (low + high)
        above = z - u > V * special.expit(-z)
        low, high = np.where(above, low, z), np.where(above, z, high)
    return 0.5 * (low + high)


def _logistic_stiffness(u, V):
    z = _logistic_output(u, V)
    curvature = special.expit(z) * special.expit(-z)
    return curvature / (1.0 + V * curvature)


def _exponential_pull(u, V):
    return np.real(special.wrightomega(np.log(V) - u)) / V


LOGISTIC_BENDS = np.arange(-40.0, 41.0, 2.0)

PAPER_LOSSES = {
    "square": PaperLoss(lambda u, V: (1 - u) / (1 + V), lambda u, V: np.full_like(u, 1 / (1 + V)), lambda V: []),
    "hinge": PaperLoss(
        lambda u, V: np.clip((1 - u) / V, 0, 1), lambda u, V: _inside(u, 1 - V, 1) / V, lambda V: [1 - V, 1]
    ),
    "hard_margin": PaperLoss(
        lambda u, V: np.maximum(1 - u, 0) / V, lambda u, V: _inside(u, -np.inf, 1) / V, lambda V: [1]
    ),
    "squared_hinge": PaperLoss(
        lambda u, V: np.maximum(1 - u, 0) / (1 + V), lambda u, V: _inside(u, -np.inf, 1) / (1 + V), lambda V: [1]
    ),
    "huber": PaperLoss(
        lambda u, V: np.clip((1 - u) / (1 + V), -0.5, 0.5),
        lambda u, V: _inside(np.abs(1 - u), -1, 0.5 * (1 + V)) / (1 + V),
        lambda V: [1 - 0.5 * (1 + V), 1 + 0.5 * (1 + V)],
    ),
    "logistic": PaperLoss(
        lambda u, V: special.expit(-_logistic_output(u, V)),
        _logistic_stiffness,
        lambda V: LOGISTIC_BENDS - V * special.expit(-LOGISTIC_BENDS),
    ),
    "exponential": PaperLoss(
        _exponential_pull,
        lambda u, V: _exponential_pull(u, V) / (1 + V * _exponential_pull(u, V)),
        lambda V: np.arange(-40.0, 41.0) + np.log(V),
    ),
}


def _average(function, deviation, density, cuts):
    """Return ∫ function(u) density(u/deviation) du/deviation over panels cut at `cuts`."""
    cuts = np.clip(np.asarray(cuts, dtype=float) / deviation, -REACH, REACH)
    edges = np.unique(np.concatenate([np.arange(-REACH, REACH + PANEL_WIDTH, PANEL_WIDTH), cuts]))
    nodes, weights = np.polynomial.legendre.leggauss(PANEL_NODES)
    half, middle = 0.5 * np.diff(edges)[:, None], 0.5 * (edges[1:] + edges[:-1])[:, None]
    z = (middle + half * nodes).ravel()
    return float(np.sum((half * weights).ravel() * density(z) * function(deviation * z)))


def channel_averages(loss, epsilon, m, tau, V):
    """Return (m̂, q̂, V̂)/α of a named loss; q = m² + τ²."""
    loss = PAPER_LOSSES[loss]
    root_q = np.hypot(m, tau)

    def normal(z):
        return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)

    def margin(z):
        # 1 + (1-ε) erf(x) without the cancellation at large negative x.
        return normal(z) * (epsilon + (1 - epsilon) * special.erfc(-(m / tau) * z / np.sqrt(2)))

    kinks = list(loss.kinks(V))
    cuts = [*kinks, *(SKEW_EDGES * tau / max(m, 1e-300) * root_q)]
    rule = (1 - epsilon) * np.sqrt(2 / np.pi)
    return (
        rule * _average(lambda u: loss.pull(u, V), tau, normal, kinks),
        _average(lambda u: loss.pull(u, V) ** 2, root_q, margin, cuts),
        _average(lambda u: loss.stiffness(u, V), root_q, margin, cuts),
    )


def kernel_side(mu_1, mu_star, lam, m_hat, q_hat, V_hat):
    """Return (m, τ, V) of a kernel."""
    D = mu_1**2 / (lam + mu_1**2 * V_hat)
    return D * m_hat, D * np.sqrt(q_hat), D + (mu_star**2 / lam if mu_star else 0.0)


def features_side(mu_1, mu_star, lam, kappa, m_hat, q_hat, V_hat):
    """Return (m, τ, V) of random features; the hats are those of α' = α/κ."""
    with mpmath.workdps(DIGITS):
        numbers = [mpmath.mpf(number) for number in (mu_1, mu_star, lam, kappa, m_hat, q_hat)]
        return _features_side(*numbers, mpmath.mpf(max(V_hat, SMALLEST_STIFFNESS)))


def _features_side(mu_1, mu_star, lam, kappa, m_hat, q_hat, V_hat):
    gamma = 1 / kappa
    ms_hat, qs_hat, Vs_hat = kappa * mu_1 * m_hat, kappa * mu_1**2 * q_hat, kappa * mu_1**2 * V_hat
    qw_hat, Vw_hat = mu_star**2 * q_hat, mu_star**2 * V_hat
    z = (lam + Vw_hat) / Vs_hat
    Delta = mpmath.sqrt((1 + gamma + z) ** 2 - 4 * gamma)
    V_s = (z + 1 + gamma - Delta) / (2 * gamma * Vs_hat)
    m_s = ms_hat * V_s
    V_w = (1 - gamma - z + Delta) / (2 * (lam + Vw_hat))
    cross = (z * Delta - z**2 - (gamma + 1) * z) / Delta
    q_s = (ms_hat**2 + qs_hat) * ((2 * z + gamma + 1) * Delta - 2 * z**2 - 3 * (gamma + 1) * z - (gamma - 1) ** 2)
    q_s = q_s / (2 * gamma * Vs_hat**2 * Delta) - qw_hat * cross / (2 * gamma * Vs_hat * (lam + Vw_hat))
    q_w = qw_hat * ((1 - gamma) * Delta + (gamma + 1) * z + (gamma - 1) ** 2) / (2 * (lam + Vw_hat) ** 2 * Delta)
    q_w = q_w - (ms_hat**2 + qs_hat) * cross / (2 * Vs_hat * (lam + Vw_hat))
    m, q, V = mu_1 * m_s, mu_1**2 * q_s + mu_star**2 * q_w, mu_1**2 * V_s + mu_star**2 * V_w
    return m, mpmath.sqrt(q - m**2), V


def one_round(loss, alpha, epsilon, mu_1, mu_star, lam, state, kappa=None):
    """Apply the state equations once to ``state = (m, τ, V)`` and return the new one."""
    ratio = alpha if kappa is None else alpha / kappa
    hats = [ratio * average for average in channel_averages(loss, epsilon, *state)]
    if kappa is None:
        return kernel_side(mu_1, mu_star, lam, *hats)
    return tuple(float(part) for part in features_side(mu_1, mu_star, lam, kappa, *hats))


def fitted_round(alpha, epsilon, mu_1, mu_star, m, tau):
    """Apply the λ → 0 equations of the margin constraint once and return the new (m, τ).

    λV stays finite and is not part of the answer; it follows from the share of samples below the margin.
    """

    def mismatch(V):
        D = mu_1**2 / (1 + mu_1**2 * alpha * mass / V)
        return (D + mu_star**2) / V - 1

    mass = channel_averages("hard_margin", epsilon, m, tau, 1.0)[2]
    V = brentq(mismatch, 1e-12, 2 * (mu_1**2 + mu_star**2), xtol=1e-300, rtol=1e-14)
    return one_round("hard_margin", alpha, epsilon, mu_1, mu_star, 1.0, (m, tau, V))[:2]


def state(solution, index=()):
    """Return (m, τ, V); τ = √q sin(π ε_gen), because the difference q - m² would lose digits."""
    m, q, V, error = (
        np.asarray(part)[index]
        for part in (
            solution.teacher_overlap,
            solution.self_overlap,
            solution.response,
            solution.generalization_error,
        )
    )
    return float(m), float(np.sqrt(q) * np.sin(np.pi * error)), float(V)


@pytest.fixture(scope="session")
def paper():
    """Return the equations above, for tests to call."""
    return SimpleNamespace(
        state=state,
        one_round=one_round,
        fitted_round=fitted_round,
        channel_averages=channel_averages,
        features_side=features_side,
    )
