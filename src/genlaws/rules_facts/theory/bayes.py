"""The least generalization error that any learner can reach.

The Bayes-optimal learner knows how the data were made (a Gaussian teacher, the fact fraction) but neither the teacher
nor which labels are facts. No learner has a smaller generalization error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from genlaws.core.arguments import Array, Elementwise
from genlaws.core.numerics.elementwise import find_roots
from genlaws.core.numerics.gaussian import gauss_legendre, normal_density
from genlaws.core.result import Result, Row, Summary, question
from genlaws.rules_facts.parameters import FactFraction, SampleRatio
from genlaws.rules_facts.theory.problem import in_shape, read_task

# The integrand is analytic with features no narrower than 1; 12 panels of 16 nodes on ±10 are exact to rounding.
PANELS, PANEL_NODES, HALF_RANGE = 12, 16, 10.0
MAX_OVERLAP_LOGIT = 120.0
RESIDUAL_TOLERANCE = 1e-10
POINTS_PER_BLOCK = 4096


@dataclass(frozen=True, eq=False, repr=False)
class BayesSolution(Result):
    """The least possible generalization error, element by element.

    Attributes
    ----------
    generalization_error : float or array
    teacher_overlap : float or array
        q_b, the squared correlation of the posterior mean with the rule, in [0, 1).
    converged : bool or array
    residual : float or array
        Relative change of q̂_b under one more application of the equations.
    """

    generalization_error: Elementwise
    teacher_overlap: Elementwise
    converged: Elementwise
    residual: Elementwise

    def summary(self) -> Summary:
        """Return the error and the overlap, or a table where there are several points."""
        if np.ndim(self.generalization_error):
            return Summary(table=self.table())
        rows = [
            Row("generalization error", f"{self.generalization_error:.6f}"),
            Row("teacher overlap q", f"{self.teacher_overlap:.6g}"),
        ]
        sentence = f"No learner does better with this many samples and facts; residual {self.residual:.1e}."
        return Summary(rows, [sentence])


@question
def bayes_optimal(*, sample_ratio: SampleRatio, fact_fraction: FactFraction) -> BayesSolution:
    r"""Least generalization error any learner can reach.

    The overlap solves, with :math:`\delta = 1-\varepsilon`,

    .. math:: \frac{q_b}{\sqrt{1-q_b}} = \frac{4\delta^2\alpha}{(2\pi)^{3/2}}\,I(q_b), \qquad
              I(q) = \int \frac{e^{-(1+q)s^2/2}}{1 + \delta\,\mathrm{erf}(\sqrt q\, s/\sqrt2)}\,ds,

    and :math:`\varepsilon_{gen} = \arccos(\sqrt{q_b})/\pi`.

    Parameters
    ----------
    sample_ratio : array_like, positive
        α = n/d, up to 1e6 and beyond.
    fact_fraction : array_like in [0, 1]

    References
    ----------
    :cite:t:`farne2026`, Eqs. 16-18; the integral is over :math:`s = t/\sqrt{1-q_b}`, which removes the singular
    scale.
    """
    alpha, epsilon = read_task(sample_ratio, fact_fraction)
    logit, residual = _solve_overlap(np.ravel(alpha), np.ravel(epsilon))
    overlap, missing = 1.0 / (1.0 + np.exp(-logit)), 1.0 / (1.0 + np.exp(logit))
    error = np.arctan2(np.sqrt(missing), np.sqrt(overlap)) / np.pi
    converged = residual <= RESIDUAL_TOLERANCE
    columns = (np.where(converged, error, np.nan), np.where(converged, overlap, np.nan), converged, residual)
    return BayesSolution(*(in_shape(column, alpha.shape) for column in columns))


def channel_integral(logit: Array, fact_fraction: Array) -> Array:
    r"""Return :math:`I(q)` at :math:`q = 1/(1 + e^{-\mathrm{logit}})`.

    The integrand is written as :math:`2\pi\,\varphi(s)\,\varphi(x)/[\varepsilon + 2\delta\,\Phi(x)]` with
    :math:`x = \sqrt q s`; for ε = 0 and large negative x the ratio tends to :math:`|x|/2` and is taken from Mills'
    ratio rather than from 0/0.
    """
    nodes, weights = _quadrature_rule()
    parts = []
    for i in range(0, logit.size, POINTS_PER_BLOCK):
        root_q = np.sqrt(1.0 / (1.0 + np.exp(-logit[i : i + POINTS_PER_BLOCK])))[:, None]
        x = root_q * nodes
        epsilon = fact_fraction[i : i + POINTS_PER_BLOCK, None]
        ratio = normal_density(x) / (epsilon + 2.0 * (1.0 - epsilon) * ndtr(x))
        parts.append(2.0 * np.pi * np.sum(weights * normal_density(nodes) * ratio, axis=1))
    return np.concatenate(parts)


def _quadrature_rule() -> tuple[Array, Array]:
    nodes, weights = gauss_legendre(PANEL_NODES)
    width = 2.0 * HALF_RANGE / PANELS
    left = -HALF_RANGE + width * np.arange(PANELS)
    return np.ravel(left[:, None] + width * nodes), np.tile(width * weights, PANELS)


def _log_excess(logit: Array, alpha: Array, epsilon: Array) -> Array:
    r"""Return :math:`\log[q/\sqrt{1-q}]` minus the logarithm of the right-hand side, in terms of logit q."""
    left = logit - 0.5 * np.logaddexp(0.0, logit)
    prefactor = 4.0 * (1.0 - epsilon) ** 2 * alpha / (2.0 * np.pi) ** 1.5
    return np.asarray(left - np.log(prefactor * channel_integral(logit, epsilon)))


def _solve_overlap(alpha: Array, epsilon: Array) -> tuple[Array, Array]:
    logit, residual = np.full(alpha.shape, -np.inf), np.zeros(alpha.shape)
    rule = epsilon < 1.0
    if rule.any():
        bound = np.full(int(rule.sum()), MAX_OVERLAP_LOGIT)
        logit[rule] = find_roots(_log_excess, -bound, bound, alpha[rule], epsilon[rule])
        residual[rule] = np.abs(_log_excess(logit[rule], alpha[rule], epsilon[rule]))
    return logit, residual
