"""The best resolution from whole fronts at once, in milliseconds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, whole_number
from genlaws.semanticity.finite_sets import FAINTEST
from genlaws.semanticity.front import BESIDE, COARSEST, FINEST, FLAT, RARE, FrontPoint
from genlaws.semanticity.many_items import best_ball_mass
from genlaws.semanticity.quick_front import MOST_ITEMS, FrontCurve, front_curve, point_on_curve
from genlaws.semanticity.similarity import Similarity
from genlaws.semanticity.spaces import DiscreteSpace, Space, resolution_of_ball

POINTS = 31  # of the first look
CLOSER, DEGREE = 9, 5  # points of the second look between the neighbours of the best, and the polynomial through them
MISFIT = 3e-7  # by which the polynomial may miss them
STEEPEST = math.log(1.0 / FAINTEST) / 4.0  # nats over the whole space; finer resolutions are not looked at
REAL = 1e-8  # imaginary part of a root that is none
CLOSE = 0.01  # relative; a peak that no polynomial fits is found to that
AS_GOOD = 1e-9  # a generalisation that exceeds that of the finest resolution by less is no peak


@dataclass(frozen=True)
class WholeCurve:
    """A front from fine to coarse, closer together around its peak, and the peak.

    Attributes
    ----------
    curve : FrontCurve
        For one number of items.
    best : FrontPoint or None
        Where generalisation is largest; none if it keeps growing towards the finest or the coarsest resolution, or is
        the same at all of them.
    """

    curve: FrontCurve
    best: FrontPoint | None


def whole_curve(
    where: Space, similarity: Similarity, item_count: int = 2, resolutions: ArrayLike | None = None
) -> WholeCurve:
    """Return a front and its peak by one fixed quadrature; see :func:`~genlaws.semanticity.quick_front.front_curve`.

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
    n = whole_number("item_count", item_count, at_least=2, at_most=MOST_ITEMS)
    looked_at = resolutions_of_curve(where, similarity, n) if resolutions is None else np.sort(resolutions, axis=None)
    curve = front_curve(where, similarity, looked_at, (n,))
    radii, heights = curve.resolution, curve.generalisation[:, 0]
    stepped = isinstance(where, DiscreteSpace) and np.isfinite(similarity.shape.support)
    top = int(np.argmax(heights > heights.max() - FLAT))
    if np.ptp(heights) < FLAT or top == radii.size - 1 or (heights[top] - heights[0] < AS_GOOD and not stepped):
        return WholeCurve(curve, None)
    if stepped:
        best = float(radii[top])
    elif similarity.is_constant and where.homogeneous:
        best = min(resolution_of_ball(where, float(best_ball_mass(n, similarity.background))), similarity.cut)
    else:
        closer, best = _closer(where, similarity, radii[top - 1 : top + 2], n)
        curve = _joined(curve, closer)
    return WholeCurve(curve, point_on_curve(where, similarity.at_resolution(best), n))


def best_on_curve(where: Space, similarity: Similarity, item_count: int = 2) -> FrontPoint | None:
    """Return the resolution with the largest generalisation for n items, or none if there is no best one.

    As :func:`~genlaws.semanticity.best_resolution`, in milliseconds instead of seconds and as accurate as
    :func:`~genlaws.semanticity.quick_peak.whole_curve`.
    """
    return whole_curve(where, similarity, item_count).best


def resolutions_of_curve(where: Space, similarity: Similarity, item_count: int = 2, points: int = POINTS) -> Array:
    """Return resolutions from fine to coarse that show all of a front, without those too fine to be computed fast.

    Parameters
    ----------
    where : Space
    similarity : Similarity
    item_count : int
        With more items, finer ones matter.
    points : int
        In a discrete space those at which a distance comes into sight are added.
    """
    reach, steps = where.reach, np.empty(0)
    if isinstance(where, DiscreteSpace):
        seen = np.unique(where.distance[where.distance > 0])
        if similarity.is_constant:
            return np.concatenate([0.5 * seen[:1], seen])
        finest = min(FINEST * reach, 0.5 * float(seen[0]))
        if np.isfinite(similarity.shape.support):
            steps = np.concatenate([seen * (1.0 - BESIDE), seen * (1.0 + BESIDE)])
    else:
        finest = min(FINEST * reach, resolution_of_ball(where, RARE / item_count))
        if similarity.is_constant and where.homogeneous:
            return np.geomspace(finest, reach, points)
    finest = max(finest, reach / _steepest(similarity, reach / finest))
    return np.unique(np.concatenate([np.geomspace(finest, COARSEST * reach, points), steps]))


def _steepest(similarity: Similarity, largest: float) -> float:
    """Return the scaled distance, up to the largest, within which the similarity falls by at most `STEEPEST` nats."""
    if np.isfinite(similarity.shape.support):
        return largest
    x = np.geomspace(1e-2, largest, 800)
    with np.errstate(over="ignore", under="ignore"):
        level = similarity.shape.profile(x) + similarity.background
    return float(x[level >= np.exp(-STEEPEST)].max(initial=x[0]))


def _joined(curve: FrontCurve, closer: FrontCurve) -> FrontCurve:
    """Return the points of both in the order of their resolutions."""
    radii, places = np.unique(np.concatenate([curve.resolution, closer.resolution]), return_index=True)
    s, i = (
        np.concatenate([getattr(one, name) for one in (curve, closer)])[places]
        for name in ("generalisation", "identification")
    )
    return FrontCurve(radii, curve.item_count, s, i)


def _closer(where: Space, similarity: Similarity, around: Array, n: int) -> tuple[FrontCurve, float]:
    """Look again between three resolutions, and take the top of the polynomial through the points if it fits them."""
    low, high = math.log(around[0]), math.log(around[-1])
    x = np.linspace(-1.0, 1.0, CLOSER)
    curve = front_curve(where, similarity, np.exp(0.5 * (low + high) + 0.5 * (high - low) * x), (n,))
    heights = curve.generalisation[:, 0]
    fitted = np.polynomial.Polynomial.fit(x, heights, DEGREE)
    flat = fitted.deriv().roots()
    inside = flat[(np.abs(flat.imag) < REAL) & (np.abs(flat.real) < 1.0)].real
    if inside.size and np.abs(fitted(x) - heights).max() < MISFIT:
        best = inside[np.argmax(fitted(inside))]
        return curve, math.exp(0.5 * (low + high) + 0.5 * (high - low) * best)
    top = int(np.argmax(heights))
    if high - low < CLOSE:
        return curve, float(curve.resolution[top])
    return curve, _closer(where, similarity, curve.resolution[max(top - 1, 0) : top + 2], n)[1]
