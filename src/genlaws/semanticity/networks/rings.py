r"""Stimuli with several features, each on a ring of values, and what one radial similarity reaches on a set of them.

A stimulus has S features, each one of V values on a ring. Its true distance from another is the mean over features of
the steps between the values, or the smallest of them. Distances come in few levels, and a radial similarity depends on
the level alone; so one table, how often a probe meets two items at each pair of levels, gives both tests for every
shape and resolution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, fraction, one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.semanticity.theory.exact import probabilities
from genlaws.semanticity.theory.similarity import Similarity, similarity
from genlaws.semanticity.theory.spaces import circle
from genlaws.semanticity.theory.tradeoff import LN2, PlaneCurve, linear_on_circle

TRUTHS = ("mean", "min")
FRONT_SHAPES = ("constant", "linear")
FRONT_RESOLUTIONS = 120  # of a front between and beyond the levels
MAX_LEVELS = 100  # at whose edges a front is computed
EDGE_OFFSET = 1e-6  # an item just inside the resolution is preferred to one outside, and costs next to nothing
COARSEST_RING_RESOLUTION = 200.0  # resolution, in units of the largest distance, at which all is alike
WIDE_RESOLUTIONS = np.geomspace(0.5, 100.0, 60)  # resolutions of the linear similarity wider than the circle


def steps_apart(first: ArrayLike, second: ArrayLike, ring_size: int, truth: str = "mean") -> Whole:
    """Return how many steps lie between stimuli: the sum over features, or the fewest of any feature.

    Whole numbers, so that equal distances are equal exactly; `distance_of_steps` turns them into distances.

    Parameters
    ----------
    first, second : int arrays of shape (..., features)
        Values from 0 to ring_size - 1; the shapes broadcast.
    ring_size : int >= 2
    truth : {"mean", "min"}
    """
    size = whole_number("ring_size", ring_size, at_least=2)
    one_of("truth", truth, TRUTHS)
    apart = np.abs(np.asarray(first, dtype=np.int64) - np.asarray(second, dtype=np.int64))
    steps = np.minimum(apart, size - apart)
    return np.asarray(steps.sum(axis=-1) if truth == "mean" else steps.min(axis=-1))


def distance_of_steps(steps: ArrayLike, slots: int, ring_size: int, truth: str = "mean") -> Array:
    """Return distances on rings of length 1: the mean over features, or the smallest, between 0 and 1/2."""
    scale = ring_size * (slots if truth == "mean" else 1)
    return np.asarray(steps, dtype=np.float64) / scale


def draw_stimuli(slots: int, ring_size: int, count: int, seed: int) -> Whole:
    """Return different stimuli, (stimuli, slots): all there are if they are no more than `count`, else drawn at random.

    `seed`: the set depends on it alone.
    """
    features = whole_number("slots", slots, at_least=1)
    size = whole_number("ring_size", ring_size, at_least=2)
    wanted = whole_number("count", count, at_least=1)
    if features * np.log(size) <= np.log(wanted) + 1e-9:
        return np.indices((size,) * features).reshape(features, -1).T.astype(np.int64)
    rng = np.random.default_rng(np.random.SeedSequence(whole_number("seed", seed), spawn_key=(2,)))
    found = np.empty((0, features), dtype=np.int64)
    while len(found) < wanted:
        both = np.concatenate([found, rng.integers(0, size, (wanted, features))])
        first = np.unique(both, axis=0, return_index=True)[1]
        found = both[np.sort(first)][:wanted]
    return found


@dataclass(frozen=True)
class LevelPairs:
    """How often a probe of a set meets items at each level of distance.

    Attributes
    ----------
    distance : array of shape (levels,)
        Increasing from 0.
    one : array of shape (levels,)
        Share of the other stimuli at each level, averaged over probes.
    two : array of shape (levels, levels)
        Share of the pairs of other stimuli whose nearer item is at the level of the row and whose farther one at that
        of the column, averaged over the probes that have such a pair; ties are left out.
    """

    distance: Array
    one: Array
    two: Array

    def probabilities(self, g: Array) -> tuple[float, float]:
        """Return generalization and identification of the similarities `g`, one for each level, the first largest."""
        both = g[:, None] + g[None, :]
        nearer = np.where(both > 0, g[:, None] / np.where(both > 0, both, 1.0), 0.5)
        return float((self.two * nearer).sum()), float(self.one @ nearer[0])

    def front(self, shape: str) -> PlaneCurve:
        """Return the front of one shape without background, from fine to coarse resolution.

        Generalization jumps where the resolution passes a level, so both sides of each are among the resolutions.
        """
        levels = self.distance[1:][np.unique(np.linspace(0, self.distance.size - 2, MAX_LEVELS).astype(int))]
        radii = np.concatenate([[0.5 * levels[0]], (1.0 - EDGE_OFFSET) * levels, (1.0 + EDGE_OFFSET) * levels])
        if shape != "constant":
            coarsest = COARSEST_RING_RESOLUTION * levels[-1]
            radii = np.concatenate([radii, np.geomspace(levels[0], coarsest, FRONT_RESOLUTIONS)])
        radii.sort()
        form: Similarity = similarity(shape, 1.0)
        found = [self.probabilities(form.at_resolution(float(one))(self.distance)) for one in radii]
        return PlaneCurve(*np.array(found).T)

    def best_generalization(self, identification: ArrayLike) -> Array:
        """Return the most generalization that the constant or the linear similarity reaches at an identification.

        Between two resolutions of a front it is interpolated.
        """
        p = fraction("identification", identification)
        return np.asarray(np.max([front.generalization_at(p) for front in self._fronts], axis=0))

    @cached_property
    def _fronts(self) -> list[PlaneCurve]:
        return [self.front(shape) for shape in FRONT_SHAPES]


def level_pairs(stimuli: ArrayLike, ring_size: int, truth: str = "mean") -> LevelPairs:
    """Count the levels of distance in a set of different stimuli, (stimuli, slots)."""
    given = np.asarray(stimuli, dtype=np.int64)
    if given.ndim != 2 or len(given) < 3:
        raise InputError(f"stimuli must have the shape (stimuli, slots) with at least three; got {given.shape}.")
    steps = steps_apart(given[:, None], given[None, :], ring_size, truth)
    n, levels = len(given), int(steps.max()) + 1
    counts = np.zeros((n, levels))
    np.add.at(counts, (np.arange(n)[:, None], steps), 1.0)
    counts[:, 0] -= 1.0  # the probe itself
    untied = np.triu(np.ones((levels, levels)), 1)
    pairs = np.einsum("pk,kl,pl->p", counts, untied, counts, optimize=True)
    judged = pairs > 0
    if not judged.any():
        raise InputError("All items are equally far from every probe of this set; draw more stimuli or other features.")
    weight = np.where(judged, 1.0 / np.where(judged, pairs, 1.0), 0.0) / judged.sum()
    two = untied * (counts.T @ (weight[:, None] * counts))
    distance = distance_of_steps(np.arange(levels), given.shape[1], ring_size, truth)
    return LevelPairs(distance, counts.mean(axis=0) / (n - 1.0), two)


def circle_generalization(identification: ArrayLike) -> Array:
    r"""Return the generalization of the linear similarity on the circle at an identification between 1/2 and 1.

    Proposition 1 of :cite:p:`nurisso2026` down to :math:`p_I = \ln 2`, where the resolution reaches around the circle;
    below, the integral for wider resolutions, interpolated. Identifications below 1/2 count as 1/2.
    """
    p = fraction("identification", identification)
    narrow, _ = linear_on_circle(np.clip((1.0 - p) / (1.0 - LN2), 0.0, 1.0))
    return np.where(p >= LN2, narrow, _wide_circle().generalization_at(p))


@lru_cache(maxsize=1)
def _wide_circle() -> PlaneCurve:
    """Return the front of the linear similarity wider than the circle, down to guessing."""
    points = [probabilities(circle(), similarity("linear", float(one))) for one in WIDE_RESOLUTIONS]
    both = [(point.generalization, point.identification) for point in points]
    return PlaneCurve(*np.array([*both, (0.5, 0.5)]).T)
