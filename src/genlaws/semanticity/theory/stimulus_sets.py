"""Finite sets of stimuli from which different items are drawn, none of them twice.

`StimulusSet` has a distance matrix; `EvenSet` has none, only a size, and all its stimuli have equally many neighbors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, fraction, whole_number
from genlaws.core.errors import InputError
from genlaws.core.result import fingerprint
from genlaws.semanticity.theory.finite_sets import sort_others, tuple_probabilities
from genlaws.semanticity.theory.luce import distinct_similarities
from genlaws.semanticity.theory.many_items import finite_generalization, finite_identification
from genlaws.semanticity.theory.similarity import Similarity
from genlaws.semanticity.theory.spaces import Space, check_distances
from genlaws.semanticity.theory.ties import merge_ties

MIN_STIMULI, MAX_STIMULI = 3, 1_000_000  # of an even set; in a larger one drawing a stimulus twice makes no difference
BALL_MASS_TOLERANCE = 1e-6  # a ball mass this close to a possible one stands for it


@dataclass(frozen=True, eq=False)
class StimulusSet:
    """Stimuli at given distances, each drawn at most once.

    Attributes
    ----------
    distance : array of shape (N, N)
    name : str
    """

    distance: Array
    name: str = "matrix"

    def call_parts(self) -> dict[str, Any]:
        """Return what a recorded call says about this set."""
        return {"space": self.name, "set_size": len(self.distance), "sha256": fingerprint(self.distance)}

    @property
    def reach(self) -> float:
        """Largest distance."""
        return float(self.distance.max())

    @cached_property
    def steps(self) -> Array:
        """The distances at which a ball gains a stimulus, sorted."""
        return np.unique(self.distance[self.distance > 0])

    @cached_property
    def _between(self) -> Array:
        """The distances between different stimuli, sorted, each twice."""
        return np.sort(self.distance[~np.eye(len(self.distance), dtype=bool)])

    def ball(self, radius: Array) -> tuple[float, float]:
        """Return the mean and the variance over probes of the share of the other stimuli within one radius."""
        share = self._neighbors(float(radius)) / (len(self.distance) - 1)
        return float(share.mean()), float(share.var())

    def probabilities(
        self, similarity: Similarity, item_counts: tuple[int, ...] = (2,), ties: str = "split"
    ) -> tuple[Array, Array]:
        """Return generalization and identification for each number of items.

        Parameters
        ----------
        similarity : Similarity
        item_counts : tuple of int from 2 to N - 1
        ties : {"split", "drop"}
            Among equally near items one is right at random, or sets whose nearest item is tied are left out. Then
            every probe that has other sets counts alike; without any such probe generalization is NaN.
        """
        size = len(self.distance)
        counts = tuple(_checked_items(n, size) for n in item_counts)
        if ties == "split" and similarity.is_constant and math.isinf(similarity.cut):
            # The number of neighbors is all that counts; the general route gives the same, more slowly.
            near = self._neighbors(similarity.resolution), size
            s = [finite_generalization(*near, n, similarity.background).mean() for n in counts]
            i = [finite_identification(*near, n, similarity.background).mean() for n in counts]
            return np.array(s), np.array(i)
        g = distinct_similarities(similarity, self.distance, (1.0 - np.eye(size)) / (size - 1.0), counts)
        per_probe = tuple_probabilities(sort_others(g, self.distance, np.diagonal(g).copy()), counts, ties)
        return mean_over_probes(per_probe[0], np.ones(size)), per_probe[1].mean(axis=0)

    def collapse_constant(self, similarity: Similarity) -> float:
        """Return the similarity at no distance over the mean similarity, averaged over probes."""
        g = similarity(self.distance)
        return float((np.diagonal(g) / g.mean(axis=1)).mean())

    def resolution_of(self, ball_mass: float) -> float:
        """Return the radius within which a stimulus has, on average, this share of the others."""
        b = fraction("ball_mass", ball_mass, "It is a share of the stimuli, not a radius.")
        radii = np.concatenate([[0.5 * self.steps[0]], self.steps])
        masses = np.searchsorted(self._between, radii, side="right") / self._between.size
        nearest = int(np.argmin(np.abs(masses - b)))
        if abs(masses[nearest] - b) > BALL_MASS_TOLERANCE:
            raise InputError(
                f"ball_mass must be one these stimuli have; got {ball_mass:g}. The nearest is {masses[nearest]:.8g}, "
                f"at resolution {radii[nearest]:.6g}."
            )
        return float(radii[nearest])

    def _neighbors(self, radius: float) -> Array:
        """Return how many others lie within the radius of each stimulus."""
        return np.asarray((self.distance <= radius).sum(axis=1) - 1.0)


@dataclass(frozen=True)
class EvenSet:
    """N stimuli that all have the same number of neighbors, each drawn at most once; for the constant similarity.

    Such a set has no distances. The place of a resolution is taken by the number of stimuli within it, the probe
    included.

    Attributes
    ----------
    name : str
    size : int
    """

    name: str
    size: int

    def call_parts(self) -> dict[str, Any]:
        """Return what a recorded call says about this set."""
        return {"space": self.name, "set_size": self.size}

    @property
    def steps(self) -> Array:
        """The numbers of stimuli within a resolution, from the probe alone to all."""
        return np.arange(1.0, self.size + 1.0)

    def ball(self, count: Array) -> tuple[float, float]:
        """Return the share of the other stimuli among `count`, and its variance over probes, which is zero."""
        return (round(float(count)) - 1) / (self.size - 1), 0.0

    def probabilities(
        self, similarity: Similarity, item_counts: tuple[int, ...] = (2,), ties: str = "split"
    ) -> tuple[Array, Array]:
        """Return generalization and identification for each number of items, from 2 to N - 1."""
        if not similarity.is_constant or math.isfinite(similarity.cut):
            raise InputError(
                f"A set without distances needs the constant similarity without a cut; got {similarity.shape.name}. "
                "Give the distances of the stimuli."
            )
        if ties != "split":
            raise InputError("ties must be split in a set without distances, where equally near items are unknown.")
        counts = [_checked_items(n, self.size) for n in item_counts]
        near = round(similarity.resolution) - 1, self.size
        s = [float(finite_generalization(*near, n, similarity.background)) for n in counts]
        i = [float(finite_identification(*near, n, similarity.background)) for n in counts]
        return np.array(s), np.array(i)

    def collapse_constant(self, similarity: Similarity) -> float:
        """Return one over the mean similarity, the probe included."""
        count = round(similarity.resolution)
        return self.size / (count + (self.size - count) * similarity.background)

    def resolution_of(self, ball_mass: float) -> float:
        """Return the number of stimuli in a ball, if the share of the others among them makes it a whole number."""
        b = float(fraction("ball_mass", ball_mass, "It is a share of the stimuli, not a radius."))
        others = self.size - 1
        count = b * others
        if abs(count - round(count)) > BALL_MASS_TOLERANCE * others:
            below, above = math.floor(count), math.ceil(count)
            raise InputError(
                f"ball_mass must be a whole number of the {others} other stimuli; got {b:g} ({count:g}). "
                f"The nearest possible are {below / others:.8g} ({below} of them) and {above / others:.8g} ({above})."
            )
        return round(count) + 1.0


def stimulus_set(distances: ArrayLike) -> StimulusSet:
    """Return the set of the stimuli of a distance matrix; distances that differ by rounding alone become equal.

    Parameters
    ----------
    distances : array_like of shape (N, N), N at least 3
        Not all zero.
    """
    d = check_distances(distances)
    if len(d) < MIN_STIMULI:
        raise InputError(f"distances must be those of at least {MIN_STIMULI} stimuli, two items and a probe.")
    if not d.any():
        raise InputError("distances must not all be zero; the stimuli would be one and the same.")
    return StimulusSet(merge_ties(d))


def even_set(where: Space, size: int) -> EvenSet:
    """Return a set of stimuli spread evenly over a homogeneous space.

    Parameters
    ----------
    where : Space
    size : int from 3 to 1,000,000
    """
    if not where.homogeneous:
        raise InputError(
            "set_size needs a homogeneous space, in which all stimuli have equally many neighbors; got the "
            f"{where.name}. Give the distances of the stimuli."
        )
    return EvenSet(where.name, whole_number("set_size", size, at_least=MIN_STIMULI, at_most=MAX_STIMULI))


def mean_over_probes(values: Array, weights: Array) -> Array:
    """Return the weighted mean of each column over the probes that have a value, NaN where none has."""
    total = np.where(np.isnan(values), 0.0, weights[:, None])
    weighted = np.where(np.isnan(values), 0.0, values) * total
    with np.errstate(invalid="ignore"):
        mean: Array = weighted.sum(axis=0) / total.sum(axis=0)
    return mean


def _checked_items(item_count: int, size: int) -> int:
    hint = f"One of the {size} stimuli is the probe."
    return whole_number("item_count", item_count, at_least=2, at_most=size - 1, hint=hint)
