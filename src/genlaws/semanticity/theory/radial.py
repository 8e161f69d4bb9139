"""How far away the rest of a space lies from one probe, and integrals over it.

The distances are cut into panels on which their density and the similarity are polynomials to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.core.numerics.gaussian import legendre_integrals
from genlaws.semanticity.theory.similarity import Similarity

NODES_PER_PANEL = 20  # per panel
MAX_PANELS = 4000
# On one panel the logarithm of the similarity changes by at most this much, and so does the expected number of items.
MAX_NATS_PER_PANEL = 3.0
CERTAIN_ITEM_COUNT = 45.0  # with this many items expected nearer, none being there has probability exp(-45)
# A panel whose last two Legendre coefficients are below this share of the whole is fine enough.
COEFFICIENT_TOLERANCE = 1e-13
MIN_HALF_WIDTH = 1e-16  # half of a panel's width in units of the largest distance; thinner ones are not halved
# First panels: none is so wide that a peak one resolution wide falls between its nodes, and toward the end of a
# similarity they shrink, which halving would do too, in more rounds.
_PANEL_GROWTH = 8.0 ** np.arange(30)
_PANEL_SHRINKAGE = 8.0 ** -np.arange(1.0, 13.0)


@dataclass(frozen=True)
class RadialDensity:
    """Density of the distance from a probe to a random point.

    Attributes
    ----------
    density : callable
        Integrates to 1 from 0 to `reach`.
    reach : float
        Largest distance.
    kinks : tuple of float
        Distances at which the density jumps or has a corner.
    """

    density: Callable[[Array], Array]
    reach: float
    kinks: tuple[float, ...] = ()


@dataclass(frozen=True)
class RadialNodes:
    """Nodes of distance, with the weights of three integrals.

    Attributes
    ----------
    distance, mass : arrays of shape (panels, nodes)
        ``sum(mass * f(distance))`` is the mean of f.
    density : array of shape (panels, nodes)
    half_width : array of shape (panels,)
    """

    distance: Array
    mass: Array
    density: Array
    half_width: Array

    def tail(self, values: Array) -> Array:
        """Return the integral of `values` times the density beyond each node; the last two axes are panel and node."""
        weighted = values * self.density * self.half_width[:, None]
        within = weighted @ _TAIL_WEIGHTS.T
        whole = weighted @ _WEIGHTS
        beyond = np.cumsum(whole[..., ::-1], axis=-1)[..., ::-1] - whole
        return within + beyond[..., None]

    def head(self) -> Array:
        """Return the mass within each node."""
        weighted = self.density * self.half_width[:, None]
        whole = weighted @ _WEIGHTS
        return weighted @ _HEAD_WEIGHTS.T + (np.cumsum(whole) - whole)[:, None]


_NODES, _WEIGHTS, _COEFFICIENTS, _TAIL_WEIGHTS = legendre_integrals(NODES_PER_PANEL)
_HEAD_WEIGHTS = _WEIGHTS - _TAIL_WEIGHTS


def radial_nodes(
    measure: RadialDensity, similarity: Similarity, item_counts: tuple[int, ...], faint: float = 0.0
) -> RadialNodes:
    """Cut the distances into panels fine enough for the similarity and for the nearest of many items.

    A panel is halved while the logarithm of the similarity, plus `faint`, changes too much on it; while it holds
    several of the items and the nearest may be among them; or while density or similarity is no polynomial on it.
    """
    edges = _first_edges(measure, similarity)
    counts = np.array(item_counts, dtype=np.float64)[:, None]
    while True:
        nodes = _nodes(measure, edges)
        level = similarity(nodes.distance) + max(faint, np.finfo(np.float64).tiny)
        steep = np.log(level.max(axis=1) / level.min(axis=1)) > MAX_NATS_PER_PANEL
        items = counts * nodes.mass.sum(axis=1)
        crowded = ((items > MAX_NATS_PER_PANEL) & (np.cumsum(items, axis=1) - items < CERTAIN_ITEM_COUNT)).any(axis=0)
        rough = _roughness(nodes, level) > COEFFICIENT_TOLERANCE
        halve = (steep | crowded | rough) & (nodes.half_width > MIN_HALF_WIDTH * measure.reach)
        if not halve.any():
            return nodes
        if halve.sum() + edges.size > MAX_PANELS:
            raise InputError(
                f"resolution is too fine for this similarity without a background: more than {MAX_PANELS:,} panels of "
                "distance would be needed. Use a background above zero, a cut, or a coarser resolution."
            )
        edges = np.sort(np.concatenate([edges, 0.5 * (edges[:-1] + edges[1:])[halve]]))


def _first_edges(measure: RadialDensity, similarity: Similarity) -> Array:
    """Return 0, kinks, multiples of the resolution, steps toward the end of the similarity, the largest distance."""
    end = similarity.support
    toward_end = end * (1.0 - _PANEL_SHRINKAGE) if end < measure.reach else np.empty(0)
    kinks = np.array([*measure.kinks, *similarity.kinks])
    inner = np.concatenate([kinks, similarity.resolution * _PANEL_GROWTH, toward_end])
    return np.unique(np.concatenate([[0.0], inner[(inner > 0) & (inner < measure.reach)], [measure.reach]]))


def _roughness(nodes: RadialNodes, level: Array) -> Array:
    """Return the mass of each panel that its polynomials may miss, as an order of magnitude."""
    last = _COEFFICIENTS[-2:].T
    of_density: Array = np.abs(nodes.density @ last).max(axis=1) * nodes.half_width
    of_level: Array = np.abs(level @ last).max(axis=1) / level.max(axis=1) * nodes.mass.sum(axis=1)
    return np.maximum(of_density, of_level)


def _nodes(measure: RadialDensity, edges: Array) -> RadialNodes:
    half = 0.5 * np.diff(edges)
    distance = edges[:-1, None] + half[:, None] * (1.0 + _NODES)
    density = measure.density(distance)
    return RadialNodes(distance, density * half[:, None] * _WEIGHTS, density, half)
