r"""Both probabilities at many resolutions and numbers of items in milliseconds, by one fixed quadrature.

:func:`~genlaws.semanticity.theory.exact.probabilities` integrates each resolution to nearly the last digit.
Here all resolutions and item counts share one quadrature, which is tested to be accurate to ``ACCURACY``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, positive, whole_number
from genlaws.core.errors import InputError
from genlaws.semanticity.theory.luce import probabilities_from_masses
from genlaws.semanticity.theory.many_items import generalization_of_many, identification_of_many
from genlaws.semanticity.theory.quadrature import Rows, mean_similarity_of_rows, probabilities_of_rows
from genlaws.semanticity.theory.similarity import Similarity
from genlaws.semanticity.theory.spaces import ContinuousSpace, DiscreteSpace, Space

# Of both probabilities, in every space and for up to a thousand items; among 10,000 random settings the largest error
# was 5e-6, the median 1e-8; on the segment the largest seen was 6e-6.
ACCURACY = 1e-5
MAX_ITEMS = 1000
PANEL_EDGES = (1 / 3, 2 / 3)  # of the largest distance, where panels end unless the density of distances is constant
MASS_TABLE_SIZE = 400  # in the table of distances that hold a share of the space
# Probes on the segment: a Gauss rule between cuts, which grow by this factor from one resolution on.
SEGMENT_PROBE_NODES = 5
CUT_GROWTH = 3.5
BACKGROUND_LEVELS = (10.0, 0.5, 0.03)  # levels of the similarity, in units of the background, at which there are cuts
EXPECTED_ITEMS_AT_CUTS = (1.2, 5.0)  # expected number of items within further cuts
_GAUSS = np.polynomial.legendre.leggauss(SEGMENT_PROBE_NODES)


def fixed_rule(
    where: Space, similarity: Similarity, resolutions: ArrayLike, item_counts: Sequence[int] = (2,)
) -> tuple[Array, Array]:
    """Return generalization and identification at all resolutions for all numbers of items, accurate to `ACCURACY`.

    Some 2 to 10 ms for forty resolutions in a homogeneous space, where
    :func:`~genlaws.semanticity.theory.exact.probabilities` takes about 2 ms for each, to nearly the last digit;
    some 10 to 50 ms on the segment.

    Parameters
    ----------
    where : Space
        In a discrete space equally near items are split, and the answer is exact.
    similarity : Similarity
        Its own resolution does not matter.
    resolutions : array_like > 0
    item_counts : sequence of int from 1 to 1,000

    Returns
    -------
    generalization, identification : arrays of shape (resolutions, counts)

    References
    ----------
    :cite:p:`nurisso2026`, Theorems 1 to 3 and Proposition 1, extended to any similarity and space.
    """
    radii = np.atleast_1d(positive("resolutions", resolutions)).ravel()
    counts = [whole_number("item_counts", n, at_least=1, at_most=MAX_ITEMS) for n in item_counts]
    if not radii.size or not counts:
        raise InputError("resolutions and item_counts must name at least one of each; got none.")
    n = np.array(counts, dtype=np.float64)
    if similarity.is_constant and where.homogeneous:
        both = _constant(where.ball(np.minimum(radii, similarity.cut))[0][:, None], n, similarity.background)
    elif isinstance(where, DiscreteSpace):
        both = _discrete(where, similarity, radii, tuple(counts))
    else:
        probes = _probes(where, similarity, radii, float(n.max()))
        both = _of_probes(probes, similarity, n)
    generalization, identification = (np.clip(part, 0.0, 1.0) for part in both)
    return generalization, identification


def collapse_constants(where: Space, similarity: Similarity, resolutions: Array) -> Array:
    """Return the similarity at no distance over the mean similarity at each resolution, averaged over probes."""
    if isinstance(where, DiscreteSpace):
        each = [similarity.at_resolution(radius) for radius in resolutions.tolist()]
        mean = np.concatenate([(one(where.distance) * where.mass).sum(axis=1) for one in each])
        weights, first = np.tile(where.probe_mass, len(each)), np.arange(len(each)) * len(where.probe_mass)
    else:
        probes = _probes(where, similarity, resolutions, 1.0)
        mean, weights, first = mean_similarity_of_rows(probes.rows, similarity), probes.weights, probes.first
    with np.errstate(divide="ignore"):
        constants: Array = np.add.reduceat(weights * (float(similarity(0.0)) / mean), first)
    return constants


def _constant(ball_mass: Array, n: Array, background: float) -> tuple[Array, Array]:
    return generalization_of_many(ball_mass, n, background), identification_of_many(ball_mass, n, background)


def _discrete(
    where: DiscreteSpace, similarity: Similarity, radii: Array, counts: tuple[int, ...]
) -> tuple[Array, Array]:
    """Return the exact answer; without a cut all resolutions in one go, as distances scaled by them."""
    if similarity.cut < np.inf:
        each = [similarity.at_resolution(radius) for radius in radii.tolist()]
        found = [probabilities_from_masses(where.distance, where.mass, one, counts) for one in each]
        s, i = (np.stack([where.probe_mass @ part for part in test]) for test in zip(*found, strict=True))
        return s, i
    shape = (radii.size, *where.distance.shape)
    distance = (where.distance / radii[:, None, None]).reshape(-1, shape[-1])
    mass = np.broadcast_to(where.mass, shape).reshape(-1, shape[-1])
    both = probabilities_from_masses(distance, mass, similarity.at_resolution(1.0), counts)
    s, i = (np.einsum("p,rpn->rn", where.probe_mass, part.reshape(*shape[:2], -1)) for part in both)
    return s, i


@dataclass(frozen=True)
class _Probes:
    """Rows for each resolution and probe: `first` row of each resolution, and the weights of its probes."""

    rows: Rows
    weights: Array
    first: Whole
    places: Array | None = None


def _probes(where: ContinuousSpace, similarity: Similarity, radii: Array, most: float) -> _Probes:
    """Return one row for each resolution of a homogeneous space, several probes for each on the segment."""
    if not where.homogeneous:
        return _on_segment(similarity, radii, most)
    ((_, measure),) = where.probes(())
    r = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, MASS_TABLE_SIZE) * where.reach])
    mass = where.ball(r)[0]
    kinks = np.array(measure.kinks)
    rows = Rows(
        radii,
        np.full(radii.shape, where.reach),
        lambda distance, _: measure.density(distance),
        np.broadcast_to(kinks, (radii.size, kinks.size)),
        lambda share: np.interp(share, mass, r),
        () if where.name == "circle" else PANEL_EDGES,
    )
    return _Probes(rows, np.ones(radii.size), np.arange(radii.size))


def _on_segment(similarity: Similarity, radii: Array, most: float) -> _Probes:
    """Return probes of the segment; each sees two sides up to its nearer end, one up to the farther."""
    scaled = _scaled_cuts(similarity)
    sets = [_segment_probes(similarity, scaled, radius, most) for radius in radii.tolist()]
    sizes = np.array([one.size for one, _ in sets])
    places, weights = (np.concatenate(part) for part in zip(*sets, strict=True))

    def density(distance: Array, chosen: Whole) -> Array:
        """Return 2 up to the nearer end of the segment and 1 beyond."""
        return np.where(distance < places[chosen][:, None, None], 2.0, 1.0)

    rows = Rows(np.repeat(radii, sizes), 1.0 - places, density, places[:, None], lambda share: share)
    return _Probes(rows, weights, np.cumsum(sizes) - sizes, places)


def _of_probes(probes: _Probes, similarity: Similarity, n: Array) -> tuple[Array, Array]:
    """Average both tests over the probes of each resolution."""
    if similarity.is_constant and probes.places is not None:
        radius = np.minimum(probes.rows.resolution, similarity.cut)
        seen = np.minimum(probes.places, radius) + np.minimum(1.0 - probes.places, radius)
        both = _constant(seen[:, None], n, similarity.background)
    else:
        both = probabilities_of_rows(probes.rows, similarity, n)
    s, i = (np.add.reduceat(probes.weights[:, None] * part, probes.first, axis=0) for part in both)
    return s, i


def _scaled_cuts(similarity: Similarity) -> Array:
    """Return scaled distances from an end of the segment beyond which a probe sees it differently.

    They grow from one resolution on, up to where the similarity has sunk into its background; there they lie closer.
    """
    growing = CUT_GROWTH ** np.arange(12.0)
    if similarity.background == 0:
        return growing
    x = np.concatenate([np.linspace(0.0, 8.0, 400), np.geomspace(8.0, 1e6, 400)])
    level = similarity.shape.profile(x)
    sinking = np.interp(-similarity.background * np.array(BACKGROUND_LEVELS), -level, x)
    return np.concatenate([growing[growing < sinking[-1]], sinking])


def _segment_probes(similarity: Similarity, scaled: Array, resolution: float, most: float) -> tuple[Array, Array]:
    """Return places in the nearer half of the segment and weights that add up to 1."""
    end = min(similarity.cut, resolution * similarity.shape.support)
    growing = resolution * scaled
    cuts = np.concatenate([growing[growing < end], np.array(EXPECTED_ITEMS_AT_CUTS) / most, [end, 1.0 - end]])
    edges = np.unique(np.concatenate([[0.0], cuts[(cuts > 0.0) & (cuts < 0.5)], [0.5]]))
    x, w = _GAUSS
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + x)).ravel(), (2.0 * half * w).ravel()
