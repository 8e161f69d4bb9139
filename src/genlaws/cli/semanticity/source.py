"""Where the items of ``genlaws semanticity front`` come from: a space, an even finite set, or a set of stimuli.

From a space items are drawn independently; from a finite set each stimulus is drawn at most once. All three
have the same interface, so that the command need not distinguish them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy.optimize import minimize_scalar

from genlaws import semanticity
from genlaws.core.arguments import Array, fraction, within
from genlaws.core.errors import InputError
from genlaws.core.tables import read_matrix
from genlaws.figures.semanticity.front import even_ball_masses, smooth_resolutions
from genlaws.semanticity import Front, FrontPoint, Similarity
from genlaws.semanticity.theory.many_items import finite_generalization, finite_identification
from genlaws.semanticity.theory.spaces import DiscreteSpace, Space, check_distances, resolution_of_ball

FRONT_POINTS = 61  # of a front
MAX_SET_SIZE = 1_000_000  # beyond, drawing a stimulus twice makes no difference
MIN_SIMILARITY = 1e-140  # of the farthest item, for a similarity without an end
ZOOM_POINTS = 9  # of each refinement of the peak among many steps
BALL_MASS_TOLERANCE = 1e-6  # a typed ball mass this close to a possible one means that one
PEAK_MESSAGE, NO_PEAK_MESSAGE = (
    "generalization is largest at the peak",
    "generalization has no peak inside these resolutions",
)
BALL_MASS_HINT = "It is a share of the space, not a radius."


class Source(Protocol):
    """The interface of a source of items."""

    @property
    def name(self) -> str:
        """The space in one word, such as ``circle``."""

    def resolution_of(self, ball_mass: float) -> float:
        """Return the resolution at which a ball has this mass, or raise for a mass that no ball has."""

    def at(self, similarity: Similarity, item_count: int) -> FrontPoint:
        """Return both probabilities at the resolution of the similarity."""

    def front(self, similarity: Similarity, item_count: int) -> Front:
        """Return both probabilities from fine to coarse, and the peak."""


@dataclass(frozen=True)
class Drawn:
    """Items drawn independently from a space."""

    space: Space
    ties: str

    @property
    def name(self) -> str:
        """Name of the space."""
        return self.space.name

    def resolution_of(self, ball_mass: float) -> float:
        """Return the radius of a ball of this mean mass."""
        within("ball_mass", ball_mass, 0.0, 1.0, open_low=True, hint=BALL_MASS_HINT)
        return resolution_of_ball(self.space, ball_mass)

    def at(self, similarity: Similarity, item_count: int) -> FrontPoint:
        """Return both probabilities at the resolution of the similarity."""
        return semanticity.probabilities(self.space, similarity, item_count, self.ties)

    def front(self, similarity: Similarity, item_count: int) -> Front:
        """Return both probabilities from fine to coarse, and the peak."""
        return semanticity.front(
            self.space, similarity, item_count, self._resolutions(similarity, item_count), self.ties
        )

    def _resolutions(self, similarity: Similarity, item_count: int) -> Array | None:
        """Return resolutions around the peak; none, for the library to choose, where there is no peak or only steps."""
        if similarity.shape.name != "constant":
            endless = similarity.background == 0 and similarity.support == math.inf
            return None if endless else smooth_resolutions(self.space.reach, item_count, FRONT_POINTS)
        if isinstance(self.space, DiscreteSpace):
            return None
        masses = even_ball_masses(item_count, FRONT_POINTS).tolist()
        return np.array([resolution_of_ball(self.space, mass) for mass in masses])


@dataclass(frozen=True)
class EvenSet:
    """Different items from N stimuli that all have the same number of neighbors; constant similarity.

    Such a set has no distances. What stands in for the resolution of the similarity is the number of stimuli within it,
    the probe included; in the result the resolution is NaN.
    """

    name: str
    size: int

    def resolution_of(self, ball_mass: float) -> float:
        """Return the number of stimuli in a ball, if the share of the others among them makes it a whole number."""
        fraction("ball_mass", ball_mass, BALL_MASS_HINT)
        others = self.size - 1
        count = ball_mass * others
        if abs(count - round(count)) > BALL_MASS_TOLERANCE * others:
            below, above = math.floor(count), math.ceil(count)
            raise InputError(
                f"ball_mass must be a whole number of the {others} other stimuli; got {ball_mass:g} ({count:g}). "
                f"The nearest possible are {below / others:.8g} ({below} of them) and {above / others:.8g} ({above})."
            )
        return round(count) + 1.0

    def at(self, similarity: Similarity, item_count: int) -> FrontPoint:
        """Return both probabilities with the number of stimuli that stands in for the resolution."""
        _check_count(item_count, self.size)
        delta, neighbors = similarity.background, round(similarity.resolution) - 1
        alike = 1.0 + neighbors + (self.size - 1 - neighbors) * delta
        generalization = float(finite_generalization(neighbors, self.size, item_count, delta))
        identification = float(finite_identification(neighbors, self.size, item_count, delta))
        share = neighbors / (self.size - 1)
        return FrontPoint(item_count, math.nan, share, 0.0, generalization, identification, self.size / alike)

    def front(self, similarity: Similarity, item_count: int) -> Front:
        """Return both probabilities from no neighbors to all of them, and the peak."""
        return _front_of_steps(
            np.arange(1.0, self.size + 1.0), lambda r: self.at(similarity.at_resolution(r), item_count)
        )


@dataclass(frozen=True)
class StimulusSet:
    """Different items from the stimuli of a distance matrix; any similarity."""

    distances: Array
    ties: str
    name: str = "matrix"

    def resolution_of(self, ball_mass: float) -> float:
        """Return the radius within which a stimulus has, on average, this share of the others."""
        fraction("ball_mass", ball_mass, BALL_MASS_HINT)
        radii = self._radii()
        apart = np.sort(self._between())
        masses = np.searchsorted(apart, radii, side="right") / apart.size
        nearest = int(np.argmin(np.abs(masses - ball_mass)))
        if abs(masses[nearest] - ball_mass) > BALL_MASS_TOLERANCE:
            raise InputError(
                f"ball_mass must be one these stimuli have; got {ball_mass:g}. The nearest is {masses[nearest]:.8g}, "
                f"at resolution {radii[nearest]:.6g}."
            )
        return float(radii[nearest])

    def at(self, similarity: Similarity, item_count: int) -> FrontPoint:
        """Return both probabilities at the resolution of the similarity."""
        size = len(self.distances)
        _check_count(item_count, size)
        neighbors = (self.distances <= similarity.resolution).sum(axis=1) - 1.0
        if self.ties == "split" and similarity.shape.name == "constant" and math.isinf(similarity.cut):
            # The number of neighbors is all that counts; the general route gives the same, more slowly.
            counted = (neighbors, size, item_count, similarity.background)
            both = finite_generalization(*counted).mean(), finite_identification(*counted).mean()
        else:
            averaged = semanticity.finite_set_probabilities(self.distances, similarity, (item_count,), self.ties)
            both = averaged[0][0], averaged[1][0]
        g, share = similarity(self.distances), neighbors / (size - 1)
        return FrontPoint(
            item_count=item_count,
            resolution=similarity.resolution,
            ball_mass=float(share.mean()),
            ball_mass_variance=float(share.var()),
            generalization=float(both[0]),
            identification=float(both[1]),
            collapse_constant=float((np.diagonal(g) / g.mean(axis=1)).mean()),
        )

    def front(self, similarity: Similarity, item_count: int) -> Front:
        """Return both probabilities from fine to coarse, and the peak."""

        def at(resolution: float) -> FrontPoint:
            return self.at(similarity.at_resolution(resolution), item_count)

        if similarity.shape.name == "constant":
            return _front_of_steps(self._radii(), at)
        reach = float(self.distances.max())
        radii = smooth_resolutions(reach, item_count, FRONT_POINTS)
        if similarity.background == 0 and math.isinf(similarity.support):
            radii = np.array([radius for radius in radii if similarity.at_resolution(radius)(reach) > MIN_SIMILARITY])
        return _front_of_curve(radii, at)

    def _between(self) -> Array:
        """Return the distances between different stimuli, each twice."""
        return self.distances[~np.eye(len(self.distances), dtype=bool)]

    def _radii(self) -> Array:
        """Return the distances at which a ball gains a stimulus, and before them one at which it has none."""
        radii = np.unique(self._between())
        radii = radii[radii > 0]
        return np.concatenate([[0.5 * radii[0]], radii])


def _check_count(item_count: int, size: int) -> None:
    if item_count > size - 1:
        raise InputError(
            f"items must be at most {size - 1}, one less than the {size} stimuli, so that a probe is left; "
            f"got {item_count}."
        )


def _front_of_steps(resolutions: Array, at: Callable[[float], FrontPoint]) -> Front:
    """Return a front that changes at these resolutions alone; of very many it holds a selection, but finds the peak."""
    low, high, count = 0, len(resolutions) - 1, FRONT_POINTS
    shown: tuple[FrontPoint, ...] = ()
    while True:
        places = np.unique(np.linspace(low, high, count).round().astype(int)).tolist()
        points = [at(float(resolutions[place])) for place in places]
        shown = shown or tuple(points)
        top = _top(points)
        if top is None:
            return Front(shown, None, NO_PEAK_MESSAGE)
        if len(places) == high - low + 1:
            return Front(shown, points[top], PEAK_MESSAGE)
        low, high, count = places[max(top - 1, 0)], places[min(top + 1, len(places) - 1)], ZOOM_POINTS


def _front_of_curve(resolutions: Array, at: Callable[[float], FrontPoint]) -> Front:
    """Return a front that changes smoothly, with the peak between two of its points."""
    points = tuple(at(resolution) for resolution in resolutions.tolist())
    top = _top(points)
    if top in {None, 0, len(points) - 1}:
        return Front(points, None, NO_PEAK_MESSAGE)
    low, high = (math.log(points[place].resolution) for place in (top - 1, top + 1))
    found = minimize_scalar(lambda x: -at(math.exp(x)).generalization, bounds=(low, high), method="bounded")
    return Front(points, at(math.exp(float(found.x))), PEAK_MESSAGE)


def _top(points: Sequence[FrontPoint]) -> int | None:
    heights = np.array([point.generalization for point in points])
    return int(np.nanargmax(heights)) if np.isfinite(heights).any() else None


def choose_source(
    space: str | None,
    *,
    dimension: int | None,
    branching: int | None,
    depth: int | None,
    distances: Path | None,
    weights: Path | None,
    set_size: int | None,
    ties: str,
) -> Source:
    """Return the source the options name; contradictory options raise."""
    if distances is None:
        if weights is not None:
            raise InputError("weights must come with --distances, one weight for each of its rows; got no --distances.")
        named = semanticity.space(space or "circle", dimension=dimension, branching=branching, depth=depth)
        return Drawn(named, ties) if set_size is None else _even_set(named, set_size, ties)
    given = {"--space": space, "--dimension": dimension, "--branching": branching, "--depth": depth}
    for option, value in given.items():
        if value is not None:
            raise InputError(f"distances are a space of their own; leave out {option} or --distances.")
    matrix = check_distances(read_matrix("distances", distances))
    if not matrix.any():
        raise InputError("distances must not all be zero; the stimuli would be one and the same.")
    if set_size is None:
        masses = None if weights is None else read_matrix("weights", weights).ravel()
        return Drawn(semanticity.from_distances(matrix, masses), ties)
    if weights is not None:
        raise InputError("weights must be left out with --set-size: each stimulus is drawn at most once, all alike.")
    if set_size != len(matrix):
        raise InputError(f"set_size must be {len(matrix)}, the number of rows of distances; got {set_size}.")
    return StimulusSet(matrix, ties)


def _even_set(space: Space, set_size: int, ties: str) -> EvenSet:
    if not space.homogeneous:
        raise InputError(
            f"set_size needs a homogeneous space, in which all stimuli have as many neighbors; got the {space.name}. "
            "Give the distances of the stimuli with --distances."
        )
    if not 3 <= set_size <= MAX_SET_SIZE:
        raise InputError(f"set_size must lie between 3, two items and a probe, and {MAX_SET_SIZE:,}; got {set_size}.")
    if ties != "split":
        raise InputError("ties must be split with --set-size unless --distances says which stimuli are equally near.")
    return EvenSet(space.name, set_size)
