r"""Whole fronts and their best resolution in milliseconds, by one fixed quadrature.

:func:`~genlaws.semanticity.front` integrates each resolution to nearly the last digit and takes seconds. Here all
resolutions and item counts share one quadrature, which is declared, and tested, to be right to ``ACCURACY``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, positive, whole_number
from genlaws.core.errors import InputError
from genlaws.semanticity.theory.finite_sets import MIN_RELATIVE_SIMILARITY
from genlaws.semanticity.theory.front import (
    COARSEST_RESOLUTION,
    FINEST_EXPECTED_ITEMS,
    FINEST_RESOLUTION,
    JUMP_OFFSET,
    MIN_FRONT_RISE,
    FrontPoint,
)
from genlaws.semanticity.theory.luce import probabilities_from_masses
from genlaws.semanticity.theory.many_items import best_ball_mass, generalization_of_many, identification_of_many
from genlaws.semanticity.theory.quadrature import Rows, mean_similarity_of_rows, probabilities_of_rows
from genlaws.semanticity.theory.similarity import Similarity
from genlaws.semanticity.theory.spaces import ContinuousSpace, DiscreteSpace, Space, resolution_of_ball

if TYPE_CHECKING:
    import pandas as pd

# Of both probabilities, in every space and for up to a thousand items; among 10,000 random settings the largest error
# was 5e-6, the median 1e-8; on the segment the largest seen was 6e-6.
ACCURACY = 1e-5
MAX_CURVE_ITEMS = 1000
PANEL_EDGES = (1 / 3, 2 / 3)  # of the largest distance, where panels end unless the density of distances is constant
MASS_TABLE_SIZE = 400  # in the table of distances that hold a share of the space
# Probes on the segment: a Gauss rule between cuts, which grow by this factor from one resolution on.
SEGMENT_PROBE_NODES = 5
CUT_GROWTH = 3.5
BACKGROUND_LEVELS = (10.0, 0.5, 0.03)  # levels of the similarity, in units of the background, at which there are cuts
EXPECTED_ITEMS_AT_CUTS = (1.2, 5.0)  # expected number of items within further cuts
_GAUSS = np.polynomial.legendre.leggauss(SEGMENT_PROBE_NODES)
COARSE_POINTS = 31  # resolutions of the first pass
# Resolutions of the second pass, between the neighbors of the best, and the degree of the polynomial fitted to them.
PEAK_POINTS, PEAK_DEGREE = 9, 5
MAX_POLYNOMIAL_ERROR = 3e-7  # by which the polynomial may miss them
# In nats over the whole space; finer resolutions are skipped.
MAX_SIMILARITY_FALL = math.log(1.0 / MIN_RELATIVE_SIMILARITY) / 4.0
MAX_IMAGINARY_PART = 1e-8  # a root with a larger imaginary part is not real
PEAK_TOLERANCE = 0.01  # relative; accuracy of a peak that no polynomial fits
MIN_PEAK_RISE = 1e-9  # generalization above that of the finest resolution; a smaller rise is no peak


@dataclass(frozen=True)
class FrontCurve:
    """Both probabilities at several resolutions and numbers of items, to `ACCURACY`.

    Attributes
    ----------
    resolution : array of shape (resolutions,)
    item_count : array of shape (counts,)
    generalization, identification : arrays of shape (resolutions, counts)
    """

    resolution: Array
    item_count: Whole
    generalization: Array
    identification: Array

    def to_frame(self) -> pd.DataFrame:
        """Return one row per resolution and number of items."""
        import pandas as pd  # noqa: PLC0415

        resolutions, counts = self.generalization.shape
        return pd.DataFrame(
            {
                "resolution": np.repeat(self.resolution, counts),
                "item_count": np.tile(self.item_count, resolutions),
                "generalization": self.generalization.ravel(),
                "identification": self.identification.ravel(),
            }
        )


def front_curve(
    where: Space, similarity: Similarity, resolutions: ArrayLike, item_counts: Sequence[int] = (2,)
) -> FrontCurve:
    """Return both probabilities at all resolutions for all numbers of items, right to `ACCURACY`.

    Some 2 to 10 ms for forty resolutions in a homogeneous space, where :func:`~genlaws.semanticity.probabilities`
    takes about 2 ms for each, to nearly the last digit; some 10 to 50 ms on the segment.

    Parameters
    ----------
    where : Space
        In a discrete space equally near items are split, and the answer is exact.
    similarity : Similarity
        Its own resolution does not matter.
    resolutions : array_like > 0
    item_counts : sequence of int from 1 to 1,000

    References
    ----------
    :cite:p:`nurisso2026`, Theorems 1 to 3 and Proposition 1, extended to any similarity and space.
    """
    radii = np.atleast_1d(positive("resolutions", resolutions)).ravel()
    counts = [whole_number("item_counts", n, at_least=1, at_most=MAX_CURVE_ITEMS) for n in item_counts]
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
    return FrontCurve(radii, np.array(counts, dtype=np.int64), generalization, identification)


def point_on_curve(where: Space, similarity: Similarity, item_count: int = 2) -> FrontPoint:
    """Return both probabilities at one resolution, right to `ACCURACY`, with the ball mass and the collapse constant.

    Faster than :func:`~genlaws.semanticity.probabilities` on the segment and for steep similarities.
    """
    curve = front_curve(where, similarity, similarity.resolution, (item_count,))
    radius = np.array([similarity.resolution])
    if isinstance(where, DiscreteSpace):
        mean, weights = (similarity(where.distance) * where.mass).sum(axis=1), where.probe_mass
    else:
        probes = _probes(where, similarity, radius, 1.0)
        mean, weights = mean_similarity_of_rows(probes.rows, similarity), probes.weights
    with np.errstate(divide="ignore"):
        constant = float((float(similarity(0.0)) / mean) @ weights)
    ball_mass, variance = (float(part[0]) for part in where.ball(radius))
    chances = float(curve.generalization[0, 0]), float(curve.identification[0, 0])
    return FrontPoint(item_count, similarity.resolution, ball_mass, variance, *chances, constant)


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


@dataclass(frozen=True)
class WholeCurve:
    """A front from fine to coarse, closer together around its peak, and the peak.

    Attributes
    ----------
    curve : FrontCurve
        For one number of items.
    best : FrontPoint or None
        Where generalization is largest; none if it keeps growing toward the finest or the coarsest resolution, or is
        the same at all of them.
    """

    curve: FrontCurve
    best: FrontPoint | None


def whole_curve(
    where: Space, similarity: Similarity, item_count: int = 2, resolutions: ArrayLike | None = None
) -> WholeCurve:
    """Return a front and its peak by one fixed quadrature; see :func:`~genlaws.semanticity.theory.curves.front_curve`.

    Both probabilities are right to its accuracy, the best resolution to about 0.01 %. It takes 5 to 15 ms in a
    homogeneous space and 20 to 100 ms on the segment, instead of seconds.

    Parameters
    ----------
    where : Space
        In a discrete space equally near items are split.
    similarity : Similarity
        Its own resolution does not matter.
    item_count : int from 2 to 1,000
    resolutions : array_like or None
        About 31 of them, spread over all that differ, if not given; around the peak points are added.
    """
    n = whole_number("item_count", item_count, at_least=2, at_most=MAX_CURVE_ITEMS)
    chosen = resolutions_of_curve(where, similarity, n) if resolutions is None else np.sort(resolutions, axis=None)
    curve = front_curve(where, similarity, chosen, (n,))
    radii, heights = curve.resolution, curve.generalization[:, 0]
    stepped = isinstance(where, DiscreteSpace) and np.isfinite(similarity.shape.support)
    top = int(np.argmax(heights > heights.max() - MIN_FRONT_RISE))
    low = heights[top] - heights[0] < MIN_PEAK_RISE and not stepped
    if np.ptp(heights) < MIN_FRONT_RISE or top == radii.size - 1 or low:
        return WholeCurve(curve, None)
    if stepped:
        best = float(radii[top])
    elif similarity.is_constant and where.homogeneous:
        best = min(resolution_of_ball(where, float(best_ball_mass(n, similarity.background))), similarity.cut)
    else:
        closer, best = _refine_peak(where, similarity, radii[top - 1 : top + 2], n)
        curve = _merge_curves(curve, closer)
    return WholeCurve(curve, point_on_curve(where, similarity.at_resolution(best), n))


def best_on_curve(where: Space, similarity: Similarity, item_count: int = 2) -> FrontPoint | None:
    """Return the resolution with the largest generalization for n items, or none if there is no best one.

    As :func:`~genlaws.semanticity.best_resolution`, in milliseconds instead of seconds and as accurate as
    :func:`~genlaws.semanticity.theory.curves.whole_curve`.
    """
    return whole_curve(where, similarity, item_count).best


def resolutions_of_curve(
    where: Space, similarity: Similarity, item_count: int = 2, points: int = COARSE_POINTS
) -> Array:
    """Return resolutions from fine to coarse that show all of a front, without those too fine to be computed fast.

    Parameters
    ----------
    where : Space
    similarity : Similarity
    item_count : int
        With more items, finer ones matter.
    points : int
        In a discrete space the resolutions at which a distance comes within reach are added.
    """
    reach, steps = where.reach, np.empty(0)
    if isinstance(where, DiscreteSpace):
        seen = np.unique(where.distance[where.distance > 0])
        if similarity.is_constant:
            return np.concatenate([0.5 * seen[:1], seen])
        finest = min(FINEST_RESOLUTION * reach, 0.5 * float(seen[0]))
        if np.isfinite(similarity.shape.support):
            steps = np.concatenate([seen * (1.0 - JUMP_OFFSET), seen * (1.0 + JUMP_OFFSET)])
    else:
        finest = min(FINEST_RESOLUTION * reach, resolution_of_ball(where, FINEST_EXPECTED_ITEMS / item_count))
        if similarity.is_constant and where.homogeneous:
            return np.geomspace(finest, reach, points)
    finest = max(finest, reach / _steepest(similarity, reach / finest))
    return np.unique(np.concatenate([np.geomspace(finest, COARSEST_RESOLUTION * reach, points), steps]))


def _steepest(similarity: Similarity, largest: float) -> float:
    """Return the scaled distance, up to the largest, within which the similarity falls by `MAX_SIMILARITY_FALL`."""
    if np.isfinite(similarity.shape.support):
        return largest
    x = np.geomspace(1e-2, largest, 800)
    with np.errstate(over="ignore", under="ignore"):
        level = similarity.shape.profile(x) + similarity.background
    return float(x[level >= np.exp(-MAX_SIMILARITY_FALL)].max(initial=x[0]))


def _merge_curves(curve: FrontCurve, closer: FrontCurve) -> FrontCurve:
    """Return the points of both in the order of their resolutions."""
    radii, places = np.unique(np.concatenate([curve.resolution, closer.resolution]), return_index=True)
    s, i = (
        np.concatenate([getattr(one, name) for one in (curve, closer)])[places]
        for name in ("generalization", "identification")
    )
    return FrontCurve(radii, curve.item_count, s, i)


def _refine_peak(where: Space, similarity: Similarity, around: Array, n: int) -> tuple[FrontCurve, float]:
    """Sample again between three resolutions; the peak is that of a fitted polynomial if it is accurate enough."""
    low, high = math.log(around[0]), math.log(around[-1])
    x = np.linspace(-1.0, 1.0, PEAK_POINTS)
    curve = front_curve(where, similarity, np.exp(0.5 * (low + high) + 0.5 * (high - low) * x), (n,))
    heights = curve.generalization[:, 0]
    fitted = np.polynomial.Polynomial.fit(x, heights, PEAK_DEGREE)
    flat = fitted.deriv().roots()
    inside = flat[(np.abs(flat.imag) < MAX_IMAGINARY_PART) & (np.abs(flat.real) < 1.0)].real
    if inside.size and np.abs(fitted(x) - heights).max() < MAX_POLYNOMIAL_ERROR:
        best = inside[np.argmax(fitted(inside))]
        return curve, math.exp(0.5 * (low + high) + 0.5 * (high - low) * best)
    top = int(np.argmax(heights))
    if high - low < PEAK_TOLERANCE:
        return curve, float(curve.resolution[top])
    return curve, _refine_peak(where, similarity, curve.resolution[max(top - 1, 0) : top + 2], n)[1]
