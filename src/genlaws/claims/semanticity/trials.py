"""The two tests of semanticity played out by drawing items and probes: a route that knows no formula of the theory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array

PlaceDraw = Callable[[np.random.Generator, tuple[int, int]], Array]
SimilarityFunction = Callable[[Array], Array]
QUICK_TRIALS, FULL_TRIALS = 40_000, 2_000_000  # trials of a quick and of a full simulation
TRIALS_PER_BLOCK = 100_000  # trials in memory
HYPERCUBE_DIMENSIONS = 8  # of the hypercube


@dataclass(frozen=True)
class Place:
    """A space one can draw from.

    Attributes
    ----------
    draw : function
        Points of a shape (trials, items), with their coordinates in one more axis.
    distance : function
        Of two arrays of points, coordinates in the last axis.
    """

    draw: PlaceDraw
    distance: Callable[[Array, Array], Array]


def _round_trip(x: Array, y: Array) -> Array:
    """Return distances on the flat torus of side 1; with one coordinate, on the circle."""
    apart = np.abs(x - y)
    length: Array = np.linalg.norm(np.minimum(apart, 1.0 - apart), axis=-1)
    return length


def _on_sphere(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    points = rng.standard_normal((*shape, 3))
    scaled: Array = points / np.linalg.norm(points, axis=-1, keepdims=True)
    return scaled


TRIAL_PLACES = {
    "circle": Place(lambda rng, shape: rng.random((*shape, 1)), _round_trip),
    "torus": Place(lambda rng, shape: rng.random((*shape, 2)), _round_trip),
    "segment": Place(lambda rng, shape: rng.random((*shape, 1)), lambda x, y: np.abs(x - y)[..., 0]),
    # The square of a uniform number: crowded at one end of a segment.
    "uneven": Place(lambda rng, shape: rng.random((*shape, 1)) ** 2, lambda x, y: np.abs(x - y)[..., 0]),
    "sphere": Place(_on_sphere, lambda x, y: np.arccos(np.clip((x * y).sum(axis=-1), -1.0, 1.0))),
    "hypercube": Place(
        lambda rng, shape: rng.integers(0, 2, (*shape, HYPERCUBE_DIMENSIONS)).astype(np.float64),
        lambda x, y: np.abs(x - y).sum(axis=-1),
    ),
}


@dataclass(frozen=True)
class Played:
    """Both probabilities as they came out, each with its standard error."""

    generalization: float
    generalization_error: float
    identification: float
    identification_error: float

    def departure(self, generalization: ArrayLike, identification: ArrayLike) -> float:
        """Return how many standard errors the farther of two predictions is away."""
        apart = abs(self.generalization - float(np.asarray(generalization))) / max(self.generalization_error, 1e-12)
        other = abs(self.identification - float(np.asarray(identification))) / max(self.identification_error, 1e-12)
        return max(apart, other)


def constant(resolution: float, background: float = 0.0) -> SimilarityFunction:
    """Return the similarity that is 1 up to the resolution and the background beyond it."""
    return lambda d: np.where(d <= resolution, 1.0, background)


def linear(resolution: float) -> SimilarityFunction:
    """Return the similarity that falls linearly to zero at the resolution."""
    return lambda d: np.maximum(0.0, 1.0 - d / resolution)


def exponential(resolution: float, background: float = 0.0) -> SimilarityFunction:
    """Return the exponential similarity on a background."""
    return lambda d: np.exp(-d / resolution) + background


def play(
    place: str, shape: SimilarityFunction, item_count: int = 2, *, trials: int = QUICK_TRIALS, seed: int = 0
) -> Played:
    """Play both tests and return the mean probability of the right choice under Luce's rule.

    Parameters
    ----------
    place : str
        One of `TRIAL_PLACES`.
    shape : function of a distance
    item_count, trials, seed : int
    """
    rng = np.random.default_rng(seed)
    right: list[Array] = []
    named: list[Array] = []
    for start in range(0, trials, TRIALS_PER_BLOCK):
        count = min(TRIALS_PER_BLOCK, trials - start)
        probe, items = (TRIAL_PLACES[place].draw(rng, (count, number)) for number in (1, item_count))
        d = TRIAL_PLACES[place].distance(items, probe)
        nearest = d == d.min(axis=1, keepdims=True)  # one of several equally near ones is right at random
        right.append((luce(shape(d)) * nearest).sum(axis=1) / nearest.sum(axis=1))
        d[:, 0] = 0.0  # the first item is the one that the probe copies
        named.append(luce(shape(d))[:, 0])
    s, i = np.concatenate(right), np.concatenate(named)
    root = np.sqrt(trials)
    return Played(float(s.mean()), float(s.std() / root), float(i.mean()), float(i.std() / root))


def luce(similarity: Array) -> Array:
    """Return the probability of each choice, items in the last axis; equal where all similarities are zero."""
    total = similarity.sum(axis=-1, keepdims=True)
    chance = np.full_like(similarity, 1.0 / similarity.shape[-1])
    share: Array = np.divide(similarity, total, out=chance, where=total > 0)
    return share


def ball_moments(place: str, resolution: float, points: int = 20_000) -> tuple[float, float]:
    """Return mean and variance over probes of the share of a place within the resolution, without the library."""
    if place == "circle":
        return min(1.0, 2.0 * resolution), 0.0
    if place == "torus":
        return np.pi * resolution**2, 0.0  # up to one half
    if place == "sphere":
        return 0.5 * (1.0 - np.cos(resolution)), 0.0
    power = {"segment": 1.0, "uneven": 2.0}[place]
    probe = ((np.arange(points) + 0.5) / points) ** power
    ends = np.minimum(1.0, probe + resolution), np.maximum(0.0, probe - resolution)
    b = ends[0] ** (1.0 / power) - ends[1] ** (1.0 / power)
    return float(b.mean()), float(b.var())


def trial_count(quick: bool) -> int:
    """Return how many trials a simulation of a check has."""
    return QUICK_TRIALS if quick else FULL_TRIALS
