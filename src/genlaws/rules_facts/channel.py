r"""What the training labels tell the learner: the channel averages of the state equations.

On a training point the learner's output before that point is used is a Gaussian field :math:`\omega`
of variance :math:`q = m^2 + \tau^2`, of which :math:`m` follows the rule. Multiplied by the label it
is the margin :math:`u = y\omega`, with density

.. math:: p(u) = \mathcal N(u; 0, q)\,\bigl[1 + \delta\, \mathrm{erf}(a u/\sqrt{2q})\bigr],
          \qquad a = m/\tau, \quad \delta = 1 - \varepsilon .

A loss enters through its pull :math:`f(u, V) = (\mathrm{prox}(u, V) - u)/V`, and the state equations
need three averages of it, here divided by the sample ratio :math:`\alpha`:

.. math:: \hat m/\alpha = \delta \sqrt{2/\pi}\; E_{\omega \sim N(0,\tau^2)} f(\omega, V), \qquad
          \hat q/\alpha = E_u f^2, \qquad \hat V/\alpha = -E_u \partial_u f .

The first depends on :math:`(\tau, V)` alone, the other two on :math:`(m, \tau, V)`. That is what makes
the whole system two-dimensional (see :mod:`genlaws.rules_facts.state_equations`).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from genlaws.numerics.arguments import Array


class Pull(NamedTuple):
    r"""The average pull towards the rule, :math:`\hat m/\alpha`, and its derivatives."""

    value: Array
    by_tau: Array
    by_response: Array


class Moments(NamedTuple):
    r"""The averages :math:`\hat q/\alpha` and :math:`\hat V/\alpha` with their derivatives by m, τ and V."""

    square: Array
    square_by_m: Array
    square_by_tau: Array
    square_by_response: Array
    slope: Array
    slope_by_m: Array
    slope_by_tau: Array
    slope_by_response: Array


class Averages(NamedTuple):
    r"""Everything one evaluation of the state equations needs of the channel, at m = gain · pull."""

    pull: Pull
    m: Array
    moments: Moments


class Channel(Protocol):
    """The channel averages of one loss; every argument is a one-dimensional array of the same length."""

    def pull(self, tau: Array, response: Array, delta: Array) -> Pull:
        r"""Return :math:`\hat m/\alpha` at (τ, V)."""

    def averages(self, tau: Array, response: Array, delta: Array, gain: Array) -> Averages:
        r"""Return the pull at (τ, V) and the moments at (m, τ, V), where m is the pull times `gain`."""

    def force(self, u: Array, response: Array) -> Array:
        r"""Return the pull f(u, V) itself, elementwise on arrays that broadcast together."""

    def bends(self, response: Array) -> list[Array]:
        """Return the margins at which the pull bends, so that quadrature can be cut there."""
