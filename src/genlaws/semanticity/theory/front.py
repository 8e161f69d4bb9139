"""The front of a space and a similarity: generalization against identification as the resolution changes.

A front belongs to one similarity shape, one background and Luce's rule. It bounds such a system in this space, not
every system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from genlaws.core.arguments import Array, one_of, positive, whole_number
from genlaws.core.errors import InputError
from genlaws.semanticity.theory.finite_sets import MIN_RELATIVE_SIMILARITY, TIES, sort_others, tuple_probabilities
from genlaws.semanticity.theory.luce import (
    distinct_similarities,
    mean_similarities,
    probabilities_from_density,
    probabilities_from_masses,
)
from genlaws.semanticity.theory.many_items import best_ball_mass, generalization_of_many, identification_of_many
from genlaws.semanticity.theory.similarity import Similarity
from genlaws.semanticity.theory.spaces import DiscreteSpace, Space, check_distances, resolution_of_ball
from genlaws.semanticity.theory.ties import tie_tolerance

if TYPE_CHECKING:
    import pandas as pd

FRONT_POINTS = 61
FINEST_RESOLUTION, COARSEST_RESOLUTION = 2e-3, 30.0  # resolutions of a front, in units of the largest distance
FINEST_EXPECTED_ITEMS = 0.05  # items expected inside the finest resolution
MIN_EDGE_DISTANCE = 1e-12  # distance from an edge; closer to it there are too few probes to matter
JUMP_OFFSET = 1e-8  # relative; resolutions just below and just above a distance of a discrete space
MIN_FRONT_RISE = 1e-13  # a front that rises by less has no peak


@dataclass(frozen=True)
class FrontPoint:
    r"""Both probabilities at one resolution.

    Attributes
    ----------
    item_count : int
    resolution : float
    ball_mass, ball_mass_variance : float
        Mean and variance over probes of the share of the space within the resolution.
    generalization, identification : float
        :math:`p_S^n` and :math:`p_I^n`.
    collapse_constant : float
        c in :math:`p_I^n \to c/n`: the similarity at no distance over the mean similarity, averaged over probes.
    """

    item_count: int
    resolution: float
    ball_mass: float
    ball_mass_variance: float
    generalization: float
    identification: float
    collapse_constant: float

    @property
    def diagonal_gap(self) -> float:
        """Identification minus generalization; zero where the front crosses the diagonal."""
        return self.identification - self.generalization


@dataclass(frozen=True)
class Front:
    """Points of a front from fine to coarse, and its peak.

    Attributes
    ----------
    points : tuple of FrontPoint
    peak : FrontPoint or None
        Where generalization is largest; none if it keeps growing toward the finest or the coarsest resolution, or is
        the same at all of them.
    message : str
    """

    points: tuple[FrontPoint, ...]
    peak: FrontPoint | None
    message: str

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


def probabilities(where: Space, similarity: Similarity, item_count: int = 2, ties: str = "split") -> FrontPoint:
    """Return both probabilities of a space and a similarity, for items drawn independently.

    Closed form for the constant similarity, otherwise one integral; nothing is sampled.

    Parameters
    ----------
    where : Space
    similarity : Similarity
    item_count : int, at least 1
    ties : {"split", "drop"}
        What to do, in a discrete space, with items equally near to the probe.

    References
    ----------
    :cite:p:`nurisso2026`, Theorems 1 to 3 and Proposition 1, extended to any similarity and space.
    """
    n = whole_number("item_count", item_count, at_least=1)
    one_of("ties", ties, TIES)
    discrete = isinstance(where, DiscreteSpace)
    if similarity.is_constant and where.homogeneous and (ties == "split" or not discrete):
        b = where.ball(np.array(similarity.support))[0]
        generalization = float(generalization_of_many(b, n, similarity.background).squeeze())
        identification = float(identification_of_many(b, n, similarity.background).squeeze())
    elif isinstance(where, DiscreteSpace):
        s, i = probabilities_from_masses(where.distance, where.mass, similarity, (n,), ties)
        generalization, identification = (float(_mean_over_probes(part, where.probe_mass)[0]) for part in (s, i))
    else:
        weights, measures = zip(*where.probes(_probe_kinks(similarity, n)), strict=True)
        values = [probabilities_from_density(measure, similarity, (n,)) for measure in measures]
        generalization, identification = (float(part) for part in np.array(weights) @ np.array(values)[..., 0])
    constant = _collapse_constant(where, similarity)
    mean, variance = (float(moment) for moment in where.ball(np.array(similarity.resolution)))
    chances = (min(generalization, 1.0), min(identification, 1.0))  # rounding may lift them above 1
    return FrontPoint(n, similarity.resolution, mean, variance, *chances, constant)


def finite_set_probabilities(
    distances: ArrayLike, similarity: Similarity, item_counts: tuple[int, ...] = (2,), ties: str = "split"
) -> tuple[Array, Array]:
    """Return both probabilities for different stimuli drawn from a finite set, for each item count.

    Parameters
    ----------
    distances : array_like of shape (N, N)
    similarity : Similarity
    item_counts : tuple of int from 2 to N - 1
    ties : {"split", "drop"}
        Among equally near items one is right at random, or sets whose nearest item has an equal are left out. Then
        every probe that has another set counts alike; without any such probe generalization is NaN.

    Returns
    -------
    generalization, identification : arrays of the length of `item_counts`
    """
    d = check_distances(distances)
    counts = tuple(whole_number("item_counts", n, at_least=2, at_most=len(d) - 1) for n in item_counts)
    share = (1.0 - np.eye(len(d))) / (len(d) - 1.0)
    g = distinct_similarities(similarity, d, share, counts)
    generalization, identification = tuple_probabilities(
        sort_others(g, d, np.diagonal(g).copy(), tolerance=tie_tolerance(d)), counts, ties
    )
    return _mean_over_probes(generalization, np.ones(len(d))), identification.mean(axis=0)


def front(
    where: Space, similarity: Similarity, item_count: int = 2, resolutions: ArrayLike | None = None, ties: str = "split"
) -> Front:
    r"""Return the front: both probabilities from fine to coarse resolution, and the peak of generalization.

    Parameters
    ----------
    where : Space
    similarity : Similarity
        Its own resolution does not matter.
    item_count : int, at least 2
    resolutions : array_like or None
        About 61 of them, spread over all that differ, if not given.
    ties : {"split", "drop"}

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

    def at(resolution: float) -> FrontPoint:
        return probabilities(where, similarity.at_resolution(resolution), n, ties)

    radii = _resolutions(where, similarity, n, at) if resolutions is None else positive("resolutions", resolutions)
    if not radii.size:
        raise InputError("resolutions must name at least one resolution; got none.")
    radii = np.sort(radii.ravel())
    points = tuple(at(float(resolution)) for resolution in (_spread(radii) if resolutions is None else radii))
    heights = np.array([point.generalization for point in points])
    if np.isnan(heights).all() or np.nanmax(heights) - np.nanmin(heights) < MIN_FRONT_RISE:
        peak = None
    elif similarity.is_constant and isinstance(where, DiscreteSpace):
        peak = _best_step(radii, at)
    elif resolutions is None and _has_jumps(where, similarity):
        tried = [at(float(radius)) for radius in radii]
        peak = tried[_highest(tried)]
    else:
        peak = _peak(where, similarity, points, at)
    if peak is None:
        return Front(points, None, "generalization has no peak inside these resolutions: there is nothing to trade")
    return Front(points, peak, "generalization is largest at the peak; finer resolution identifies better")


def best_resolution(where: Space, similarity: Similarity, item_count: int = 2) -> FrontPoint | None:
    """Return the resolution with the largest generalization for n items, or none if there is no best one."""
    return front(where, similarity, item_count).peak


def _probe_kinks(similarity: Similarity, n: int) -> tuple[float, ...]:
    """Return distances from an edge of the space between which the view of a probe changes smoothly.

    It changes at the kinks, over the resolution, where the similarity sinks into its background, and over the distance
    of the nearest item, which is followed down to 0.001; a similarity that goes to zero adds a weak singularity at its
    end.
    """
    finest = max(min(similarity.resolution, max(1.0 / n, 1e-3)), MIN_EDGE_DISTANCE)
    doubling = finest * 2.0 ** np.arange(max(0.0, np.ceil(-np.log2(finest))))
    before_end = similarity.support * (1.0 - 4.0 ** -np.arange(1.0, 4.0))
    sinking = _distances_of(similarity, similarity.background * (1.0 + 10.0 ** np.arange(2.0, -3.0, -1.0)))
    return (*similarity.kinks, *doubling[doubling < similarity.support].tolist(), *before_end.tolist(), *sinking)


def _distances_of(similarity: Similarity, levels: Array) -> list[float]:
    """Return the distances up to 1 at which the similarity sinks through each level, by bisection."""
    low, high = np.zeros(levels.shape), np.ones(levels.shape)
    for _ in range(40):
        middle = 0.5 * (low + high)
        above = similarity(middle) > levels
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return [float(distance) for distance in np.unique(high[(low > 0) & (high < 1)])]


def _collapse_constant(where: Space, similarity: Similarity) -> float:
    if isinstance(where, DiscreteSpace):
        mean = (similarity(where.distance) * where.mass).sum(axis=1)
        weights = where.probe_mass
    else:
        probes = where.probes(_probe_kinks(similarity, 1))
        mean = mean_similarities([measure for _, measure in probes], similarity)
        weights = np.array([weight for weight, _ in probes])
    with np.errstate(divide="ignore", over="ignore"):
        return float((float(similarity(0.0)) / mean) @ weights)


def _mean_over_probes(values: Array, weights: Array) -> Array:
    """Return the weighted mean of each column over the probes that have a value, NaN where none has."""
    total = np.where(np.isnan(values), 0.0, weights[:, None])
    weighted = np.where(np.isnan(values), 0.0, values) * total
    with np.errstate(invalid="ignore"):
        mean: Array = weighted.sum(axis=0) / total.sum(axis=0)
    return mean


def _spread(radii: Array) -> Array:
    """Return all radii, or as many as a front has points, spread evenly over their order."""
    spread: Array = radii[np.unique(np.linspace(0, radii.size - 1, FRONT_POINTS).astype(int))]
    return spread


def _resolutions(where: Space, similarity: Similarity, n: int, at: Callable[[float], FrontPoint]) -> Array:
    """Return resolutions from fine to coarse.

    All that differ, or even in ball mass and in its logarithm, for the constant similarity; else even in their own
    logarithm.
    """
    if isinstance(where, DiscreteSpace):
        radii = np.unique(where.distance[where.distance > 0])
        reach = float(radii.max(initial=0.0)) or 1.0
        rare = 0.5 * float(radii.min(initial=reach))
        if similarity.is_constant:
            return np.concatenate([[rare], radii])
        if _has_jumps(where, similarity):
            jumps = [radii * (1.0 - JUMP_OFFSET), radii * (1.0 + JUMP_OFFSET)]
            finest = min(FINEST_RESOLUTION * reach, rare)
            return np.concatenate([*jumps, np.geomspace(finest, COARSEST_RESOLUTION * reach, FRONT_POINTS)])
    else:
        reach, rare = where.reach, resolution_of_ball(where, FINEST_EXPECTED_ITEMS / n)
        if similarity.is_constant:
            half = FRONT_POINTS // 2
            fine = np.geomspace(FINEST_EXPECTED_ITEMS / n, 1.0, half, endpoint=False)
            return np.unique([resolution_of_ball(where, b) for b in [*fine, *np.linspace(0.0, 1.0, half + 2)[1:]]])
    finest, coarsest = min(FINEST_RESOLUTION * reach, rare), COARSEST_RESOLUTION * reach
    while finest < coarsest and not _can_be_computed(where, similarity.at_resolution(finest), at):
        finest *= 1.25
    return np.geomspace(finest, coarsest, FRONT_POINTS)


def _has_jumps(where: Space, similarity: Similarity) -> bool:
    """Return whether generalization jumps where the resolution passes a distance: any similarity beats none."""
    return isinstance(where, DiscreteSpace) and np.isfinite(similarity.shape.support)


def _can_be_computed(where: Space, similarity: Similarity, at: Callable[[float], FrontPoint]) -> bool:
    """Return whether the similarity spans few enough decades over the space."""
    if similarity.support == np.inf and 0.0 <= float(similarity(where.reach)) < MIN_RELATIVE_SIMILARITY**0.5:
        return False
    try:
        at(similarity.resolution)
    except InputError:
        return False
    return True


def _highest(points: Sequence[FrontPoint]) -> int:
    """Return which point generalizes best; of equally good ones, as complementary balls are, the finest."""
    heights = np.array([point.generalization for point in points])
    return int(np.argmax(heights > np.nanmax(heights) - MIN_FRONT_RISE))


def _best_step(radii: Array, at: Callable[[float], FrontPoint]) -> FrontPoint:
    """Return the best of many steps: of a few of them, then of those next to the best of these, and so on."""
    while True:
        chosen = _spread(radii)
        points = [at(float(radius)) for radius in chosen]
        top = _highest(points)
        if chosen.size == radii.size:
            return points[top]
        radii = radii[(radii >= chosen[max(top - 1, 0)]) & (radii <= chosen[min(top + 1, chosen.size - 1)])]


def _peak(
    where: Space, similarity: Similarity, points: tuple[FrontPoint, ...], at: Callable[[float], FrontPoint]
) -> FrontPoint | None:
    """Return the largest generalization between the neighbors of the highest point."""
    top = _highest(points)
    if top == 0 and isinstance(where, DiscreteSpace) and np.isfinite(similarity.shape.support):
        return points[0]  # finer than every distance, nothing changes any more
    if top in {0, len(points) - 1}:
        return None
    low, high = points[top - 1].resolution, points[top + 1].resolution
    if similarity.is_constant and where.homogeneous:
        best = resolution_of_ball(where, float(best_ball_mass(points[0].item_count, similarity.background)))
        return at(min(best, similarity.cut))
    found = minimize_scalar(
        lambda x: -at(float(np.exp(x))).generalization,
        bounds=(np.log(low), np.log(high)),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return max(at(float(np.exp(found.x))), points[top], key=lambda point: point.generalization)
