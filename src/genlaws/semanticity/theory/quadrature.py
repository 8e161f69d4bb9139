r"""One fixed quadrature for both tests at many resolutions at once.

With :math:`\varphi_{>r}(t) = E\big[e^{-t g(d)};\, d > r\big]` as in :mod:`genlaws.semanticity.theory.luce`, all
integrals are sums over one set of rates and one set of distances, in arrays with a row for each resolution and probe.
The distances are cut where the similarity has fallen by a few nats, where a few items are expected nearer, and at
kinks; on each panel a Gauss rule of eight nodes stands for the integral.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, Whole
from genlaws.core.errors import InputError
from genlaws.core.numerics.gaussian import legendre_integrals
from genlaws.core.numerics.reciprocal import reciprocal_rule
from genlaws.semanticity.theory.finite_sets import MIN_RELATIVE_SIMILARITY
from genlaws.semanticity.theory.similarity import Similarity

NODES_PER_PANEL = 8  # per panel
RATE_SPACING = 0.5  # of the rule for the reciprocal; its relative error is 1e-7
BLOCK_SIZE = 1 << 15  # numbers held at once; they fit into a processor's cache
MAX_NATS_PER_PANEL = 3.0  # fall of the logarithm of the similarity on one panel
MAX_LOG_STRETCH = np.log(3.0)  # growth of the logarithm of 1 + distance/resolution on one panel
END_MARGIN = 1e-7  # relative; so close to the end of a similarity there is too little mass to matter
NEGLIGIBLE_BACKGROUND_SHARE = 0.01  # of the background; a similarity below that is not followed any further
CERTAIN_ITEM_COUNT = 20.0  # expected items; that none of them is there has probability exp(-20)
ITEM_GROWTH_PER_PANEL = 2.2  # growth of the expected number of nearer items on one panel
# With the smallest numbers of all a processor is up to forty times slower. So exponents stop this far below what the
# largest rate could still lift to something, and powers stop at the second.
EXPONENT_MARGIN, MIN_POWER = 36.0, 1e-120
MIN_PANEL_WIDTH = 1e-12  # thinner panels, in units of the largest distance, do not count


@dataclass(frozen=True)
class Rows:
    """What each row integrates over.

    Attributes
    ----------
    resolution, reach : arrays of shape (rows,)
        The largest distance from the probe is `reach`.
    density : callable
        ``density(distance, chosen)`` for distances of shape (chosen rows, panels, nodes).
    kinks : array of shape (rows, kinks)
        Distances at which the density jumps or has a corner; beyond it may go like a square root.
    mass_radii : callable
        ``mass_radii(shares)`` gives distances within which about these shares of the space lie.
    cuts : tuple of float
        Further edges of panels, in units of the reach, for a density that curves between its kinks.
    """

    resolution: Array
    reach: Array
    density: Callable[[Array, Whole], Array]
    kinks: Array
    mass_radii: Callable[[Array], Array]
    cuts: tuple[float, ...] = ()


def _rule() -> tuple[Array, Array, Array]:
    """Return nodes and weights of the Gauss rule on [0, 1], and the matrix of integrals from each node to 1."""
    x, w, _, to_end = legendre_integrals(NODES_PER_PANEL)
    return 0.5 * (1.0 + x), 0.5 * w, 0.5 * to_end.T


_PLACES, _WEIGHTS, _TO_END = _rule()


def probabilities_of_rows(rows: Rows, similarity: Similarity, item_counts: Array) -> tuple[Array, Array]:
    """Return generalization and identification, each of shape (rows, item counts).

    Parameters
    ----------
    rows : Rows
    similarity : Similarity
        Its own resolution does not matter; each row has one.
    item_counts : float array of whole numbers, at least 1
    """
    edges = _edges(rows, similarity, item_counts)
    panels = (edges < rows.reach[:, None] * (1.0 - MIN_PANEL_WIDTH)).sum(axis=1)
    lowest = _lowest(rows, similarity, item_counts)
    largest = float(item_counts.max()) * float(similarity(0.0))
    order = np.argsort(panels)[::-1]
    generalization, identification = np.empty((2, len(order), len(item_counts)))
    start = 0
    while start < len(order):
        rates = reciprocal_rule(float(lowest[order[start:]].min()), largest, RATE_SPACING)
        width = int(panels[order[start]])
        chosen = order[start : start + max(1, BLOCK_SIZE // (rates[0].size * width * NODES_PER_PANEL))]
        nodes = _nodes(rows, similarity, chosen, edges[chosen, : width + 1])
        generalization[chosen], identification[chosen] = _block(nodes, float(similarity(0.0)), item_counts, *rates)
        start += len(chosen)
    return generalization, identification


def mean_similarity_of_rows(rows: Rows, similarity: Similarity) -> Array:
    """Return the mean similarity seen in each row."""
    edges = _edges(rows, similarity, np.ones(1))
    nodes = _nodes(rows, similarity, np.arange(len(edges)), edges)
    mean: Array = ((nodes.similarity * nodes.density) @ _WEIGHTS).sum(axis=1)
    return mean


@dataclass(frozen=True)
class _Nodes:
    """Similarity and mass per unit of the panel, arrays of shape (rows, panels, nodes)."""

    similarity: Array
    density: Array


def _similarities(similarity: Similarity, distance: Array, resolution: Array) -> Array:
    """Return the similarity at each distance and resolution."""
    with np.errstate(over="ignore"):
        s = np.where(distance <= similarity.cut, similarity.shape.profile(distance / resolution), 0.0)
    return np.maximum(s, similarity.background) if similarity.is_constant else s + similarity.background


def _lowest(rows: Rows, similarity: Similarity, item_counts: Array) -> Array:
    """Return the similarity of the farthest item that may be the nearest, or of one just before the end."""
    share = np.array([min(CERTAIN_ITEM_COUNT / float(item_counts.min()), 1.0)])
    farthest = np.minimum(rows.mass_radii(share)[0], rows.reach)
    if similarity.background == 0:
        farthest = np.minimum(farthest, np.minimum(similarity.cut, rows.resolution * similarity.shape.support))
    lowest = _similarities(similarity, (1.0 - END_MARGIN) * farthest, rows.resolution)
    faint = lowest < MIN_RELATIVE_SIMILARITY * float(similarity(0.0))
    if faint.any():
        raise InputError(
            f"resolution must be coarser than {rows.resolution[faint].max():.3g} for the {similarity.shape.name} "
            "similarity: where the nearest items may lie it is too small for a computer. Or give a background or a cut."
        )
    return lowest


def _edges(rows: Rows, similarity: Similarity, item_counts: Array) -> Array:
    """Return where the panels of each row begin and end, shape (rows, edges); the last may all be the largest."""
    scaled = _scaled_edges(similarity, float((rows.reach / rows.resolution).max()))
    crowded = 1.5 / item_counts.max() * ITEM_GROWTH_PER_PANEL ** np.arange(60.0)
    near = rows.mass_radii(crowded[crowded < min(1.0, CERTAIN_ITEM_COUNT / item_counts.min())])
    count = len(rows.resolution)
    fixed = np.concatenate([near, [similarity.cut] * bool(similarity.cut < np.inf)])
    parts = [
        np.zeros((count, 1)),
        rows.resolution[:, None] * scaled,
        rows.kinks,
        np.broadcast_to(fixed, (count, len(fixed))),
        rows.reach[:, None] * np.array([*rows.cuts, 1.0]),
    ]
    return np.sort(np.minimum(np.concatenate(parts, axis=1), rows.reach[:, None]), axis=1)


def _scaled_edges(similarity: Similarity, largest: float) -> Array:
    """Return scaled distances up to `largest` between which the similarity is smooth and does not fall too far."""
    shape = similarity.shape
    x = np.concatenate([np.linspace(0.0, 8.0, 200), np.geomspace(1e-3, largest, 600)])
    below = NEGLIGIBLE_BACKGROUND_SHARE * similarity.background
    if shape.support < np.inf:
        x = np.concatenate([x, shape.support * (1.0 - np.geomspace(1.0, 0.5 * END_MARGIN, 200))])
        below = max(below, float(shape.profile(np.array([shape.support * (1.0 - END_MARGIN)]))[0]))
    x = np.unique(np.minimum(x, min(largest, shape.support)))
    with np.errstate(over="ignore", under="ignore"):
        fall = -np.log(np.maximum(shape.profile(x) + below, MIN_RELATIVE_SIMILARITY))
    panels = (fall - fall[0]) / MAX_NATS_PER_PANEL + np.log1p(x) / MAX_LOG_STRETCH
    at_levels = np.interp(np.arange(1.0, panels[-1]), panels, x)
    return np.concatenate([at_levels, shape.kinks])


def _nodes(rows: Rows, similarity: Similarity, chosen: Whole, edges: Array) -> _Nodes:
    """Return the nodes on each panel; beyond a kink they lie even in the square root of the distance from it."""
    kinks = rows.kinks[chosen][:, None, :]
    kink = np.where(kinks <= edges[:, :-1, None], kinks, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf)
    beyond = np.isfinite(kink)
    kink = np.where(beyond, kink, 0.0)
    start, end = edges[:, :-1, None], edges[:, 1:, None]
    low, high = (np.where(beyond, np.sqrt(np.maximum(edge - kink, 0.0)), edge) for edge in (start, end))
    place = low + (high - low) * _PLACES
    distance = np.where(beyond, kink + place**2, place)
    density = rows.density(distance, chosen) * (high - low) * np.where(beyond, 2.0 * place, 1.0)
    density /= (density @ _WEIGHTS).sum(axis=1)[:, None, None]
    return _Nodes(_similarities(similarity, distance, rows.resolution[chosen][:, None, None]), density)


def _block(nodes: _Nodes, at_zero: float, item_counts: Array, t: Array, w: Array) -> tuple[Array, Array]:
    """Return both tests of some rows."""
    g, mass = nodes.similarity, nodes.density * _WEIGHTS
    exponent = -t[:, None, None] * g[:, None]
    np.maximum(exponent, -np.log(t[-1] * at_zero) - EXPONENT_MARGIN, out=exponent)
    weighted = np.exp(exponent, out=exponent)
    weighted *= nodes.density[:, None]
    within = (weighted.reshape(-1, NODES_PER_PANEL) @ _TO_END).reshape(weighted.shape)
    whole = weighted @ _WEIGHTS
    beyond = np.cumsum(whole[..., ::-1], axis=-1)[..., ::-1]
    left = within
    left += (beyond - whole)[..., None]
    weighted *= w[:, None, None]
    weighted *= (g * _WEIGHTS)[:, None]
    named = w * at_zero * np.exp(-t * at_zero)
    none_similar = np.where(g > 0, 0.0, mass).sum(axis=(1, 2))
    right = [n * np.einsum("rqpk,rqpk->r", weighted, _power(left, n - 1.0)) + none_similar**n / n for n in item_counts]
    found = [_power(beyond[..., 0], n - 1.0) @ named for n in item_counts]
    return np.stack(right, axis=1), np.stack(found, axis=1)


def _power(base: Array, power: float) -> Array:
    """Return a whole power by squaring, which is faster than a logarithm up to about a thousand."""
    left = int(power)
    answer = np.ones(base.shape) if left == 0 else base
    if left <= 1:
        return answer
    square = np.maximum(base, MIN_POWER ** (1.0 / power))
    answer = square if left % 2 else np.ones(1)
    while left := left // 2:
        square = square * square
        answer = answer * square if left % 2 else answer
    return answer
