r"""Channel averages of any loss from its proximal map alone.

With the pull :math:`f = (\mathrm{prox} - u)/V` and the margin's density p, the three averages are

.. math:: \delta\sqrt{2/\pi}\,E_{\omega\sim N(0,\tau^2)} f, \qquad \int p f^2, \qquad
          -\int p f' = \int p'(u)\,[f(u) - f(0)]\,du .

The last is an integration by parts: no derivative of the proximal map is needed. The integrals run over panels of
Gauss-Legendre nodes, cut where the density changes shape and at the kinks of the proximal map.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, Whole
from genlaws.core.numerics.gaussian import (
    SQRT_2_OVER_PI,
    gauss_legendre,
    normal_density,
    skew_density,
    skew_density_slope,
)
from genlaws.rules_facts.theory.channels import Channel, Moments, Pull
from genlaws.rules_facts.theory.losses import Loss

PANEL_NODES = 16
# Panel edges in standard deviations; beyond ±9.5 the density is below 1e-20 of its peak.
PANEL_EDGES = (-9.5, -7.0, -5.0, -3.5, -2.0, -1.0, 0.0, 1.0, 2.0, 3.5, 5.0, 7.0, 9.5)
# Panel edges in units of 1/a, the width over which the density of the rule changes.
SKEW_EDGES = (-8.0, -3.0, -1.0, 1.0, 3.0, 8.0)
# Relative step of the forward differences for the Jacobian; it affects only the last steps of Newton's method.
DIFFERENCE_STEP = 1e-7
# Points per block: about 25 panels of 16 nodes each make blocks of a few megabytes.
POINTS_PER_BLOCK = 2048


@dataclass(frozen=True)
class ProximalChannel:
    """Channel averages of a loss by quadrature over its proximal map."""

    loss: Loss
    panel_nodes: int = PANEL_NODES

    def finer(self) -> ProximalChannel:
        """Return the same channel with twice the nodes, to check a solution with."""
        return ProximalChannel(self.loss, 2 * self.panel_nodes)

    def averages(self, tau: Array, response: Array, delta: Array, gain: Array) -> tuple[Pull, Moments]:
        """Return the pull, and the moments at m = gain · pull."""
        pull = self.pull(tau, response, delta)
        return pull, self.moments(gain * pull.value, tau, response, delta)

    def pull(self, tau: Array, response: Array, delta: Array) -> Pull:
        r"""Return :math:`\hat m/\alpha` with derivatives by forward differences."""
        value = self._pull(tau, response, delta)
        by_tau = (self._pull(tau * (1.0 + DIFFERENCE_STEP), response, delta) - value) / (DIFFERENCE_STEP * tau)
        by_response = (self._pull(tau, response * (1.0 + DIFFERENCE_STEP), delta) - value) / (
            DIFFERENCE_STEP * response
        )
        return Pull(value, by_tau, by_response)

    def moments(self, m: Array, tau: Array, response: Array, delta: Array) -> Moments:
        r"""Return :math:`\hat q/\alpha`, :math:`\hat V/\alpha` with derivatives by forward differences."""
        square, slope = self._moments(m, tau, response, delta)
        scale = DIFFERENCE_STEP * np.hypot(m, tau)
        square_m, slope_m = self._moments(m + scale, tau, response, delta)
        square_tau, slope_tau = self._moments(m, tau * (1.0 + DIFFERENCE_STEP), response, delta)
        square_v, slope_v = self._moments(m, tau, response * (1.0 + DIFFERENCE_STEP), delta)
        return Moments(
            square,
            (square_m - square) / scale,
            (square_tau - square) / (DIFFERENCE_STEP * tau),
            (square_v - square) / (DIFFERENCE_STEP * response),
            slope,
            (slope_m - slope) / scale,
            (slope_tau - slope) / (DIFFERENCE_STEP * tau),
            (slope_v - slope) / (DIFFERENCE_STEP * response),
        )

    def values(self, m: Array, tau: Array, response: Array, delta: Array) -> tuple[Array, Array, Array]:
        r"""Return :math:`\hat m/\alpha`, :math:`\hat q/\alpha` and :math:`\hat V/\alpha` without derivatives."""
        return (self._pull(tau, response, delta), *self._moments(m, tau, response, delta))

    def _pull(self, tau: Array, response: Array, delta: Array) -> Array:
        return delta * SQRT_2_OVER_PI * mean_force(self, tau, response, self.panel_nodes)

    def _moments(self, m: Array, tau: Array, response: Array, delta: Array) -> tuple[Array, Array]:
        def block(m: Array, tau: Array, response: Array, delta: Array) -> tuple[Array, Array]:
            """Return the mean squared force and its mean slope for some of the points."""
            root_q = np.hypot(m, tau)
            row, z, weight = margin_panels(self, m, tau, response, self.panel_nodes)
            a, share = (m / tau)[row, None], delta[row, None]
            normal = normal_density(z)
            density = (1.0 - share) * normal + share * skew_density(z, a)
            density_slope = share * skew_density_slope(z, a) - (1.0 - share) * z * normal
            pull = self.force(root_q[row, None] * z, response[row, None])
            at_zero = self.force(np.zeros_like(response), response)
            square = sum_by_row(row, weight * density * pull**2, tau.size)
            slope = sum_by_row(row, weight * density_slope * (pull - at_zero[row, None]), tau.size) / root_q
            return square, slope

        square, slope = in_blocks(block, m, tau, response, delta)
        return square, slope

    def force(self, u: Array, response: Array) -> Array:
        r"""Return the pull :math:`f = (\mathrm{prox} - u)/V` at the margin u."""
        return (self.loss.proximal(u, response) - u) / response

    def kinks(self, response: Array) -> list[Array]:
        """Return the margins at which the pull has a kink."""
        return self.loss.breakpoints(response) if self.loss.breakpoints else []


def mean_force(channel: Channel, tau: Array, response: Array, panel_nodes: int = PANEL_NODES) -> Array:
    r"""Return :math:`E_{\omega\sim N(0,\tau^2)} f` by quadrature, for any channel."""

    def block(tau: Array, response: Array) -> tuple[Array]:
        row, z, weight = _cut_panels([kink / tau for kink in channel.kinks(response)], tau.size, panel_nodes)
        pull = channel.force(tau[row, None] * z, response[row, None])
        return (sum_by_row(row, weight * normal_density(z) * pull, tau.size),)

    return in_blocks(block, tau, response)[0]


def margin_panels(
    channel: Channel, m: Array, tau: Array, response: Array, panel_nodes: int = PANEL_NODES
) -> tuple[Whole, Array, Array]:
    """Return row, nodes (in standard deviations) and weights of each panel, for averages over the margins."""
    root_q = np.hypot(m, tau)
    with np.errstate(divide="ignore"):
        skew = [edge * tau / m for edge in SKEW_EDGES]
    return _cut_panels([*skew, *(kink / root_q for kink in channel.kinks(response))], tau.size, panel_nodes)


def _cut_panels(edges: list[Array], count: int, panel_nodes: int) -> tuple[Whole, Array, Array]:
    """Cut each row at the fixed edges and at its own, all in standard deviations.

    Returns
    -------
    row, nodes, weights
        The row each panel belongs to, its nodes in standard deviations, and their weights; no panel is empty.
    """
    fixed = np.broadcast_to(np.array(PANEL_EDGES), (count, len(PANEL_EDGES)))
    extra = [np.clip(np.nan_to_num(edge), PANEL_EDGES[0], PANEL_EDGES[-1])[:, None] for edge in edges]
    cuts = np.sort(np.concatenate([fixed, *extra], axis=1), axis=1)
    row, panel = np.nonzero(np.diff(cuts, axis=1) > 0.0)
    start, stop = cuts[row, panel], cuts[row, panel + 1]
    nodes, weights = gauss_legendre(panel_nodes)
    length = (stop - start)[:, None]
    return row.astype(np.int64), start[:, None] + length * nodes, length * weights


def sum_by_row(row: Whole, values: Array, count: int) -> Array:
    """Return the sum over the panels and nodes of each row."""
    return np.asarray(np.bincount(row, weights=values.sum(axis=1), minlength=count), dtype=np.float64)


def in_blocks(function: Callable[..., tuple[Array, ...]], *arrays: Array) -> tuple[Array, ...]:
    """Apply `function` to blocks of rows and join the results, to bound the memory of the nodes."""
    size = arrays[0].size
    parts = [function(*(array[i : i + POINTS_PER_BLOCK] for array in arrays)) for i in range(0, size, POINTS_PER_BLOCK)]
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
