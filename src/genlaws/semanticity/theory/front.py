"""The front of a space and a similarity: generalization against identification as the resolution changes.

A front belongs to one similarity shape, one background and Luce's rule. It bounds such a system in this space, not
every system.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.core.arguments import Array, non_negative, one_of, positive, whole_number
from genlaws.core.errors import InputError
from genlaws.semanticity.theory.exact import FrontPoint, Items, probabilities
from genlaws.semanticity.theory.finite_sets import MIN_RELATIVE_SIMILARITY, TIES
from genlaws.semanticity.theory.fixed_rule import ACCURACY, MAX_ITEMS, collapse_constants, fixed_rule
from genlaws.semanticity.theory.many_items import best_ball_mass
from genlaws.semanticity.theory.similarity import Similarity
from genlaws.semanticity.theory.spaces import ContinuousSpace, DiscreteSpace, resolution_of_ball
from genlaws.semanticity.theory.stimulus_sets import EvenSet, StimulusSet

if TYPE_CHECKING:
    import pandas as pd

FRONT_POINTS, MAX_SHOWN = 41, 200  # points of a front at first; steps of a front that are all among them
MAX_CHORD = 0.02  # in the plane of both probabilities; more points are placed between neighbors farther apart
FULL_PRECISION = 1e-12  # tolerance of the exact integrals
FINEST_RESOLUTION, COARSEST_RESOLUTION = 2e-3, 30.0  # resolutions of a front, in units of the largest distance
FINEST_EXPECTED_ITEMS = 0.05  # items expected inside the finest resolution
JUMP_OFFSET = 1e-8  # relative; resolutions just below and just above a distance of a discrete space
# Nats by which a similarity may fall over the whole space; at finer resolutions its ratios are not accurate.
MAX_SIMILARITY_FALL = math.log(1.0 / MIN_RELATIVE_SIMILARITY) / 4.0
# Steps of a front that are all tried, and the same in numbers, steps times distances.
MAX_TRIED, MAX_TRIED_SIZE = 2_000, 20_000_000
ZOOM_POINTS = 13  # steps tried between the neighbors of the best of fewer
MIN_FRONT_RISE = 1e-13  # a front that rises by less has no peak
NOISE_SHARE = 1e-4  # of the tolerance; neighboring resolutions share their errors, so differences are this accurate
# Resolutions between the neighbors of the highest point, and the degree of the polynomial fitted to their heights.
PEAK_POINTS, PEAK_DEGREE = 9, 5
# Error by which the polynomial may miss them, and the same as a share of the tolerance.
MAX_MISFIT, MISFIT_SHARE = 1e-13, 0.03
MAX_IMAGINARY_PART = 1e-8  # a root with a larger imaginary part is not real
# Relative width of the interval around a peak that no polynomial fits, and the same in units of the tolerance.
PEAK_WIDTH, PEAK_WIDTH_SHARE = 1e-9, 1e3


@dataclass(frozen=True)
class Front:
    """Points of a front from fine to coarse, its peak, and the point of the similarity itself.

    Attributes
    ----------
    point : FrontPoint
        At the similarity's own resolution.
    points : tuple of FrontPoint
    peak : FrontPoint or None
        Where generalization is largest; none if it keeps growing toward the finest or the coarsest resolution, or is
        the same at all of them.
    message : str
    """

    point: FrontPoint
    points: tuple[FrontPoint, ...]
    peak: FrontPoint | None
    message: str

    @property
    def resolution(self) -> Array:
        """Resolution of each point."""
        return np.array([point.resolution for point in self.points])

    @property
    def generalization(self) -> Array:
        """Generalization of each point."""
        return np.array([point.generalization for point in self.points])

    @property
    def identification(self) -> Array:
        """Identification of each point."""
        return np.array([point.identification for point in self.points])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per resolution."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame([vars(point) for point in self.points])


def front(
    where: Items,
    similarity: Similarity,
    item_count: int = 2,
    resolutions: ArrayLike | None = None,
    *,
    ties: str = "split",
    tolerance: float = FULL_PRECISION,
) -> Front:
    r"""Return both probabilities at the similarity's resolution, at all others, and where generalization is largest.

    Parameters
    ----------
    where : Space, StimulusSet or EvenSet
        Items are drawn independently from a space; from a set each stimulus is drawn at most once.
    similarity : Similarity
        Its resolution is that of the result's `point`; the front goes through all resolutions.
    item_count : int, at least 2; in a set of N stimuli at most N - 1
    resolutions : array_like or None
        Those of the result's `points`. If not given, so many that the whole front is shown and neighboring points
        lie close to each other. The similarity's own resolution alone is the fastest.
    ties : {"split", "drop"}
        What to do, where there are finitely many distances, with items equally near to the probe.
    tolerance : float
        Largest error of both probabilities. From 1e-5 on one fixed quadrature is used for all resolutions, which takes
        some 10 ms in a homogeneous space and 100 ms on the segment instead of 0.1 to 50 s; with more than a
        thousand items, and below 1e-5, the integrals are computed to nearly the last digit.

    Notes
    -----
    Where the constant similarity meets a homogeneous space, the peak lies on the diagonal: generalization equals
    identification there, for every number of items and every background; see
    :func:`~genlaws.semanticity.theory.many_items.best_ball_mass`. Other similarities usually have their peak off the
    diagonal: with two items and the linear one, identification exceeds generalization by 0.034 at the peak
    of the two-dimensional torus and by 0.031 on the sphere. Exceptions are the similarities
    :math:`(1 - b(d)/b(\varepsilon))^a` without background, with :math:`b(d)` the mass of a ball of radius d and
    :math:`b(\varepsilon) < 1`; on the circle these are :math:`(1-d/\varepsilon)^a`, the linear one among them.
    """
    n = whole_number("item_count", item_count, at_least=2)
    one_of("ties", ties, TIES)
    law = _Law(where, similarity, n, ties, float(non_negative("tolerance", tolerance)))
    if resolutions is None:
        radii = law.resolutions()
        points, peak = law.follow(radii, _spread(radii), all_steps=law.jumps)
        points = law.fill_gaps(points)
    else:
        radii = np.sort(positive("resolutions", resolutions), axis=None)
        if not radii.size:
            raise InputError("resolutions must name at least one resolution; got none.")
        points, peak = law.follow(radii, radii)
    if peak is None:
        message = "generalization has no peak inside these resolutions: there is nothing to trade"
    else:
        message = "generalization is largest at the peak; finer resolution identifies better"
    own = [point for point in points if point.resolution == similarity.resolution]
    point = own[0] if own else law.at(np.array([similarity.resolution]))[0]
    return Front(point, tuple(points), peak, message)


@dataclass(frozen=True, eq=False)
class _Law:
    """Both probabilities as functions of the resolution."""

    where: Items
    similarity: Similarity
    item_count: int
    ties: str
    tolerance: float

    @property
    def jumps(self) -> bool:
        """Whether generalization jumps where the resolution passes a distance, since any similarity beats none."""
        return not isinstance(self.where, ContinuousSpace) and bool(np.isfinite(self.similarity.shape.support))

    def at(self, radii: Array) -> list[FrontPoint]:
        """Return the point of each resolution."""
        where, similarity, n = self.where, self.similarity, self.item_count
        untied = self.ties == "split" or isinstance(where, ContinuousSpace)
        fast = self.tolerance >= ACCURACY and n <= MAX_ITEMS and untied
        if fast and isinstance(where, ContinuousSpace | DiscreteSpace):
            s, i = (part[:, 0] for part in fixed_rule(where, similarity, radii, (n,)))
            columns = (radii, *where.ball(radii), s, i, collapse_constants(where, similarity, radii))
            rows = zip(*(column.tolist() for column in columns), strict=True)
            return [FrontPoint(n, *row) for row in rows]
        return [probabilities(where, similarity.at_resolution(one), n, self.ties) for one in radii.tolist()]

    def resolutions(self) -> Array:
        """Return resolutions from fine to coarse.

        All that differ, or even in ball mass and in its logarithm, for the constant similarity; else even in their own
        logarithm, and those just below and above each distance if generalization jumps there.
        """
        where, constant, jumps = self.where, self.similarity.is_constant, np.empty(0)
        if isinstance(where, EvenSet):
            return where.steps
        reach = where.reach or 1.0
        if isinstance(where, ContinuousSpace):
            share = FINEST_EXPECTED_ITEMS / self.item_count
            if constant:
                half = FRONT_POINTS // 2
                masses = [*np.geomspace(share, 1.0, half, endpoint=False), *np.linspace(0.0, 1.0, half + 2)[1:]]
                return np.unique([resolution_of_ball(where, mass) for mass in masses])
            finest = resolution_of_ball(where, share)
        else:
            finest = 0.5 * float(where.steps.min(initial=reach))
            if constant:
                return np.concatenate([[finest], where.steps])
            if self.jumps:
                jumps = np.concatenate([where.steps * (1.0 - JUMP_OFFSET), where.steps * (1.0 + JUMP_OFFSET)])
        finest = min(FINEST_RESOLUTION * reach, finest)
        finest = max(finest, reach / _steepest(self.similarity, reach / finest))
        return np.unique(np.concatenate([jumps, np.geomspace(finest, COARSEST_RESOLUTION * reach, FRONT_POINTS)]))

    def follow(self, radii: Array, shown: Array, all_steps: bool = False) -> tuple[list[FrontPoint], FrontPoint | None]:
        """Return the points of the resolutions shown, and the peak among all of them.

        With `all_steps` the resolutions are both sides of every jump, so that there is nothing between them.
        """
        points = self.at(shown)
        heights = np.array([point.generalization for point in points])
        if np.isnan(heights).all() or np.nanmax(heights) - np.nanmin(heights) < MIN_FRONT_RISE:
            return points, None
        if all_steps or (self.jumps and self.similarity.is_constant):
            return points, self._best_step(radii, points)
        top = _highest(points)
        if top == 0 and self.jumps:
            return points, points[0]  # finer than every distance, nothing changes any more
        if top in {0, shown.size - 1} or heights[top] - heights[0] < NOISE_SHARE * self.tolerance:
            return points, None
        if self.similarity.is_constant and isinstance(self.where, ContinuousSpace) and self.where.homogeneous:
            mass = float(best_ball_mass(self.item_count, self.similarity.background))
            best = min(resolution_of_ball(self.where, mass), self.similarity.cut)
            return points, self.at(np.array([best]))[0]
        return points, self._refine(shown[top - 1], shown[top + 1])

    def fill_gaps(self, points: list[FrontPoint]) -> list[FrontPoint]:
        """Return the points and others between those that lie far apart, except where the front jumps."""
        if self.jumps and self.similarity.is_constant:
            return points
        radii = np.array([point.resolution for point in points])
        both = np.array([(point.generalization, point.identification) for point in points])
        chords = np.hypot(*np.diff(both, axis=0).T)
        smooth = np.diff(np.log(radii)) > 10.0 * JUMP_OFFSET
        counts = np.where(smooth & np.isfinite(chords), np.ceil(chords / MAX_CHORD), 1.0).astype(int)
        pairs = zip(radii[:-1], radii[1:], counts, strict=True)
        between = [np.geomspace(low, high, count + 1)[1:-1] for low, high, count in pairs if count > 1]
        if not between:
            return points
        return sorted([*points, *self.at(np.concatenate(between))], key=lambda point: point.resolution)

    def _best_step(self, radii: Array, points: Sequence[FrontPoint]) -> FrontPoint:
        """Return the best of many steps; `points` are some of them, spread over their order.

        That is the best of all if they are not too many; otherwise the best of a few of them, then of those next to the
        best of these, and so on, as the constant similarity allows, whose front has one peak.
        """
        distances = self.where.distance.size if isinstance(self.where, DiscreteSpace | StimulusSet) else 1
        few = radii.size <= min(MAX_TRIED, MAX_TRIED_SIZE // distances)
        if few and not self.similarity.is_constant and len(points) < radii.size:
            points = self.at(radii)
        places = _spread(np.arange(radii.size))
        while len(points) < radii.size:
            top = _highest(points)
            radii = radii[places[max(top - 1, 0)] : places[min(top + 1, len(points) - 1)] + 1]
            places = np.unique(np.linspace(0, radii.size - 1, ZOOM_POINTS).astype(int))
            points = self.at(radii[places])
        return points[_highest(points)]

    def _refine(self, finest: float, coarsest: float) -> FrontPoint:
        """Return the peak between two resolutions, that of a polynomial fitted where it is accurate enough."""
        low, high = math.log(finest), math.log(coarsest)
        x = np.linspace(-1.0, 1.0, PEAK_POINTS)
        while True:
            middle, half = 0.5 * (low + high), 0.5 * (high - low)
            points = self.at(np.exp(middle + half * x))
            heights = np.array([point.generalization for point in points])
            fitted = np.polynomial.Polynomial.fit(x, heights, PEAK_DEGREE)
            flat = fitted.deriv().roots()
            inside = flat[(np.abs(flat.imag) < MAX_IMAGINARY_PART) & (np.abs(flat.real) < 1.0)].real
            misfit = float(np.abs(fitted(x) - heights).max())
            if inside.size and misfit < max(MAX_MISFIT, MISFIT_SHARE * self.tolerance):
                best = inside[np.argmax(fitted(inside))]
                return self.at(np.exp(np.array([middle + half * best])))[0]
            top = int(np.argmax(heights))
            if high - low < max(PEAK_WIDTH, PEAK_WIDTH_SHARE * self.tolerance):
                return points[top]
            low, high = (middle + half * x[place] for place in (max(top - 1, 0), min(top + 1, PEAK_POINTS - 1)))


def _highest(points: Sequence[FrontPoint]) -> int:
    """Return which point generalizes best; of equally good ones, as complementary balls are, the finest."""
    heights = np.array([point.generalization for point in points])
    return int(np.argmax(heights > np.nanmax(heights) - MIN_FRONT_RISE))


def _spread(radii: NDArray[Any]) -> NDArray[Any]:
    """Return all resolutions if they are not too many, or as many as a front has points, spread over their order."""
    if radii.size <= MAX_SHOWN:
        return radii
    spread: NDArray[Any] = radii[np.unique(np.linspace(0, radii.size - 1, FRONT_POINTS).astype(int))]
    return spread


def _steepest(similarity: Similarity, largest: float) -> float:
    """Return the scaled distance, up to the largest, within which the similarity falls by `MAX_SIMILARITY_FALL`."""
    if np.isfinite(similarity.shape.support):
        return largest
    x = np.geomspace(1e-2, largest, 800)
    with np.errstate(over="ignore", under="ignore"):
        level = similarity.shape.profile(x) + similarity.background
    return float(x[level >= np.exp(-MAX_SIMILARITY_FALL)].max(initial=x[0]))
