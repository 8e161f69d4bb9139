r"""Channel averages of the state equations, and their closed forms for the hinge loss.

On a training point, before that point is used, the learner's output is a Gaussian field :math:`\omega` of variance
:math:`q = m^2 + \tau^2`, of which :math:`m` follows the rule. Multiplied by the label it is the margin
:math:`u = y\omega`, with density

.. math:: p(u) = \mathcal N(u; 0, q)\,\bigl[1 + \delta\, \mathrm{erf}(a u/\sqrt{2q})\bigr],
          \qquad a = m/\tau, \quad \delta = 1 - \varepsilon .

A loss enters through its pull :math:`f(u, V) = (\mathrm{prox}(u, V) - u)/V`. The state equations need three averages
of the pull, here divided by the sample ratio :math:`\alpha`:

.. math:: \hat m/\alpha = \delta \sqrt{2/\pi}\; E_{\omega \sim N(0,\tau^2)} f(\omega, V), \qquad
          \hat q/\alpha = E_u f^2, \qquad \hat V/\alpha = -E_u \partial_u f .

The first depends on :math:`(\tau, V)` alone, the other two on :math:`(m, \tau, V)`. This makes the system
two-dimensional (see :mod:`genlaws.rules_facts.theory.state_equations`).

The pull of the hinge loss :math:`\max(0, 1-u)` is constant, linear and zero in turn:

.. math:: f(u, V) = 1 \;(u < 1-V), \quad (1-u)/V \;(1-V < u < 1), \quad 0 \;(u > 1).

Every average is a difference of partial moments between the edges :math:`u_1 = 1-V` and :math:`u_2 = 1` of the
linear branch. With :math:`b = u/\sqrt q`, :math:`c = u/\tau` and :math:`a = m/\tau` the margin's density is a mixture
of facts and rules, :math:`g = \varepsilon\,\varphi(b) + \delta\,2\varphi(b)\Phi(ab)`. Its partial moments up to b are

.. math::
    M_0 &= \varepsilon\,\Phi(b) + \delta\,[\Phi(b) - 2T(b, a)] \\
    M_1 &= -g + \delta\sqrt{2/\pi}\,\tfrac{a}{\sqrt{1+a^2}}\,\Phi(c) \\
    M_2 &= M_0 - b\,g - \delta\sqrt{2/\pi}\,\tfrac{a}{1+a^2}\,\varphi(c)

with T Owen's function; note :math:`b\sqrt{1+a^2} = c`. In the limit of vanishing regularization with zero training
error only the linear branch survives, :math:`f = (1-u)_+/V`: the margin constraint, ``HingeChannel(hard=True)``.

References
----------
:cite:t:`farne2026`, Appendix B.4; the closed forms replace the paper's quadrature.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import ndtr

from genlaws.core.arguments import Array, Mask
from genlaws.core.numerics.gaussian import (
    SQRT_2_OVER_PI,
    gauss_legendre,
    normal_density,
    skew_density,
    skew_distribution,
)

# On an interval shorter than this (in standard deviations) the closed forms lose digits like 1e-16/width³, and a
# Gauss rule is used instead: with 16 nodes per panel it is exact to rounding up to width 1.
MIN_CLOSED_FORM_WIDTH = 0.7
PANEL_NODES = 16
# Panels are cut at these multiples of 1/a, the width over which Φ(az) rises; it is zero below the first and one
# above the last, to rounding.
SKEW_EDGES = (-9.0, -4.0, 0.0, 4.0, 9.0)


class Pull(NamedTuple):
    r"""The average pull toward the rule, :math:`\hat m/\alpha`, and its derivatives."""

    value: Array
    by_tau: Array
    by_response: Array


class Moments(NamedTuple):
    r"""The averages :math:`\hat q/\alpha` and :math:`\hat V/\alpha`, and their derivatives in m, τ and V."""

    square: Array
    square_by_m: Array
    square_by_tau: Array
    square_by_response: Array
    slope: Array
    slope_by_m: Array
    slope_by_tau: Array
    slope_by_response: Array


class Channel(Protocol):
    """The channel averages of one loss; every argument is a one-dimensional array of the same length."""

    def pull(self, tau: Array, response: Array, delta: Array) -> Pull:
        r"""Return :math:`\hat m/\alpha` at (τ, V)."""

    def averages(self, tau: Array, response: Array, delta: Array, gain: Array) -> tuple[Pull, Moments]:
        r"""Return the pull at (τ, V) and the moments at (m, τ, V), where m is the pull times `gain`."""

    def force(self, u: Array, response: Array) -> Array:
        r"""Return the pull f(u, V) itself, elementwise on arrays that broadcast together."""

    def kinks(self, response: Array) -> list[Array]:
        """Return the margins at which the pull has a kink; quadrature is cut there."""


class _FieldEdge(NamedTuple):
    """One edge of the linear branch in the field of the rule: c = u/τ, φ(c) and Φ(c)."""

    c: Array
    density: Array
    distribution: Array

    @classmethod
    def at(cls, c: Array) -> _FieldEdge:
        """Return the edge at c."""
        return cls(c, normal_density(c), ndtr(c))


class _MarginEdge(NamedTuple):
    """One edge in the distribution of the margins: b = u/√q, φ(b), Φ(b), density g, its slope, partial moments."""

    b: Array
    normal: Array
    below: Array
    density: Array
    slope: Array
    zeroth: Array
    first: Array
    second: Array


@dataclass(frozen=True)
class HingeChannel:
    """Channel averages of the hinge loss, or of the margin constraint u ≥ 1 when ``hard`` is true."""

    hard: bool = False

    def averages(self, tau: Array, response: Array, delta: Array, gain: Array) -> tuple[Pull, Moments]:
        r"""Return the pull, and the moments at m = gain · pull; shared terms are computed once."""
        field = self._field(tau, response)
        pull = _pull(response, delta, *field)
        return pull, self._moments(gain * pull.value, tau, response, delta, field)

    def pull(self, tau: Array, response: Array, delta: Array) -> Pull:
        r"""Return :math:`\hat m/\alpha`.

        The average of f over the field of the rule is
        :math:`\Phi(c_1) + [\Phi(c_2) - \Phi(c_1) + \tau(\varphi(c_2) - \varphi(c_1))]/V`.
        """
        return _pull(response, delta, *self._field(tau, response))

    def moments(self, m: Array, tau: Array, response: Array, delta: Array) -> Moments:
        r"""Return :math:`\hat q/\alpha` and :math:`\hat V/\alpha`."""
        return self._moments(m, tau, response, delta, self._field(tau, response))

    def force(self, u: Array, response: Array) -> Array:
        """Return the pull f(u, V)."""
        return np.clip((1.0 - u) / response, 0.0, np.inf if self.hard else 1.0)

    def kinks(self, response: Array) -> list[Array]:
        """Return the edges of the linear branch."""
        upper = np.ones_like(response)
        return [upper] if self.hard else [1.0 - response, upper]

    def _field(self, tau: Array, response: Array) -> tuple[Array, _FieldEdge, _FieldEdge]:
        """Return the linear branch's part of E f over the field of the rule, and the edges of the branch."""
        nothing = np.zeros_like(tau)
        lower = _FieldEdge(nothing, nothing, nothing) if self.hard else _FieldEdge.at((1.0 - response) / tau)
        upper = _FieldEdge.at(1.0 / tau)
        mass, tilt = upper.distribution - lower.distribution, upper.density - lower.density
        linear = np.asarray((mass + tau * tilt) / response)
        narrow = np.flatnonzero(response < MIN_CLOSED_FORM_WIDTH * tau)
        if narrow.size and not self.hard:
            nodes, weights = gauss_legendre(PANEL_NODES)
            width = (response[narrow] / tau[narrow])[:, None]
            density = normal_density(lower.c[narrow, None] + width * nodes)
            linear[narrow] = width[:, 0] * (density @ (weights * (1.0 - nodes)))
        return linear, lower, upper

    def _moments(
        self, m: Array, tau: Array, response: Array, delta: Array, field: tuple[Array, _FieldEdge, _FieldEdge]
    ) -> Moments:
        r"""Return the moments; `field` holds the linear pull and its two edges.

        The derivatives with respect to m and τ follow from Gaussian integration by parts: for a function h of the
        margin, :math:`\partial_\tau E_u h = \tau E_u h''` and
        :math:`\partial_m E_u h = m E_u h'' + \delta\sqrt{2/\pi}\,E_{\omega\sim N(0,\tau^2)} h'`.
        """
        linear, field_lower, field_upper = field
        root_q, a = np.sqrt(m * m + tau * tau), m / tau
        upper = _margin_edge(1.0 / root_q, a, delta, tau / root_q, field_upper)
        if self.hard:  # at minus infinity every density and moment is zero; b is never used
            lower = _MarginEdge(*(np.zeros_like(part) for part in upper))
        else:
            lower = _margin_edge((1.0 - response) / root_q, a, delta, tau / root_q, field_lower)
        mass, square = self._linear_branch(lower, upper, a, delta)
        square *= (root_q / response) ** 2
        slope = mass / response
        rule = delta * SQRT_2_OVER_PI
        square_curvature = 2.0 * (slope - lower.density / root_q) / response
        slope_curvature = (upper.slope - lower.slope) / (root_q**2 * response)
        slope_slope = rule * (field_lower.density - field_upper.density) / (tau * response)
        return Moments(
            square=lower.zeroth + square,
            square_by_m=m * square_curvature - 2.0 * rule * linear / response,
            square_by_tau=tau * square_curvature,
            square_by_response=-2.0 * square / response,
            slope=slope,
            slope_by_m=m * slope_curvature + slope_slope,
            slope_by_tau=tau * slope_curvature,
            slope_by_response=(lower.density / root_q - slope) / response,
        )

    def _linear_branch(self, lower: _MarginEdge, upper: _MarginEdge, a: Array, delta: Array) -> tuple[Array, Array]:
        r"""Return :math:`\int g\,db` and :math:`\int (b_2-b)^2 g\,db` over the linear branch."""
        # The partial moments are the last three fields of an edge.
        zeroth, first, second = (high - low for high, low in zip(upper[-3:], lower[-3:], strict=True))
        square = second - 2.0 * upper.b * first + upper.b**2 * zeroth
        with np.errstate(divide="ignore"):
            carried = np.where(a > 0.0, SKEW_EDGES[0] / a, -np.inf)
        start = carried if self.hard else np.maximum(lower.b, carried)
        short = np.flatnonzero(upper.b - start < MIN_CLOSED_FORM_WIDTH)
        if short.size:
            rule = _short_interval(start[short], upper.b[short], a[short])
            fact = self._facts(*(_MarginEdge(*(part[short] for part in edge)) for edge in (lower, upper)))
            share = delta[short]
            zeroth[short] = (1.0 - share) * fact[0] + share * rule[0]
            square[short] = (1.0 - share) * fact[1] + share * rule[1]
        return zeroth, square

    def _facts(self, lower: _MarginEdge, upper: _MarginEdge) -> tuple[Array, Array]:
        """Return the same two integrals for the facts alone, whose density is the plain normal one."""
        zeroth, first = upper.below - lower.below, lower.normal - upper.normal
        second = zeroth - upper.b * upper.normal + lower.b * lower.normal
        square = second - 2.0 * upper.b * first + upper.b**2 * zeroth
        if not self.hard:
            short: Mask = upper.b - lower.b < MIN_CLOSED_FORM_WIDTH
            plain = np.zeros(int(short.sum()))
            zeroth[short], square[short] = _short_interval(lower.b[short], upper.b[short], plain)
        return zeroth, square


def _pull(response: Array, delta: Array, linear: Array, lower: _FieldEdge, upper: _FieldEdge) -> Pull:
    scale = delta * SQRT_2_OVER_PI
    return Pull(
        value=scale * (lower.distribution + linear),
        by_tau=scale * (upper.density - lower.density) / response,
        by_response=-scale * linear / response,
    )


def _margin_edge(b: Array, a: Array, delta: Array, cosine: Array, field: _FieldEdge) -> _MarginEdge:
    r"""Return the density and the partial moments at b; `cosine` is :math:`1/\sqrt{1+a^2} = \tau/\sqrt q`."""
    normal, below, tilt = normal_density(b), ndtr(b), ndtr(a * b)
    epsilon = 1.0 - delta
    density = normal * (epsilon + 2.0 * delta * tilt)
    rule = delta * SQRT_2_OVER_PI * a * cosine
    zeroth = epsilon * below + delta * skew_distribution(b, a, below, tilt)
    first = rule * field.distribution - density
    second = zeroth - b * density - rule * cosine * field.density
    slope = delta * SQRT_2_OVER_PI * a * field.density - b * density
    return _MarginEdge(b, normal, below, density, slope, zeroth, first, second)


def _short_interval(lower: Array, upper: Array, a: Array) -> tuple[Array, Array]:
    """Return the two integrals for the skew-normal density, by Gauss-Legendre panels cut where Φ(az) rises."""
    nodes, weights = gauss_legendre(PANEL_NODES)
    mass, square = np.zeros_like(upper), np.zeros_like(upper)
    edges = [lower, *(np.clip(edge / np.maximum(a, 1e-300), lower, upper) for edge in SKEW_EDGES[1:]), upper]
    for start, stop in pairwise(edges):
        panel = np.flatnonzero(stop > start)
        if not panel.size:
            continue
        length = (stop - start)[panel]
        z = start[panel, None] + length[:, None] * nodes
        density = skew_density(z, a[panel, None])
        mass[panel] += length * (density @ weights)
        square[panel] += length * ((density * (upper[panel, None] - z) ** 2) @ weights)
    return mass, square
