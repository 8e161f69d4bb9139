"""Trained ReLU networks: their paths relative to the front, their profiles, and their resolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from genlaws.core.arguments import Array, Mask, Whole, scalar, whole_number, within
from genlaws.core.estimate import bootstrap_mean
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Summary, text_table
from genlaws.semanticity.theory.exact import FrontPoint, probabilities
from genlaws.semanticity.theory.finite_sets import sort_others, tuple_probabilities
from genlaws.semanticity.theory.similarity import similarity
from genlaws.semanticity.theory.spaces import Space
from genlaws.semanticity.theory.stimulus_sets import stimulus_set
from genlaws.semanticity.theory.ties import GRID_STEP, round_distances
from genlaws.semanticity.theory.tradeoff import PlaneCurve, linear_on_circle

FRONT_CURVE_POINTS = 401  # of the circle's front; the chords between them leave it by less than 1.5e-6
# Finest and coarsest resolution of a front, in units of the largest distance, and their number.
FINEST_FRONT_RESOLUTION, COARSEST_FRONT_RESOLUTION, FRONT_RESOLUTIONS = 0.02, 4.0, 45
FIRST_COARSE_RESOLUTION = 1.05  # in the same units, where the front of a finite set continues
FITTED_RESOLUTIONS = 400  # tried when a linear decay is fitted to a profile


def linear_front() -> PlaneCurve:
    """Return the front of linear decay on the circle, up to the resolution that covers it (Proposition 1)."""
    return PlaneCurve(*linear_on_circle(np.linspace(0.0, 1.0, FRONT_CURVE_POINTS)))


def space_front(where: Space, shape: str = "linear") -> PlaneCurve:
    """Return the front of one shape of similarity in a space, from fine to coarser than the space."""
    resolutions = np.geomspace(FINEST_FRONT_RESOLUTION, COARSEST_FRONT_RESOLUTION, FRONT_RESOLUTIONS) * where.reach
    return _smooth_curve(resolutions, [probabilities(where, similarity(shape, one)) for one in resolutions.tolist()])


def set_front(distances: Array, shape: str = "linear") -> PlaneCurve:
    """Return the front of one shape of similarity on a finite set of stimuli; triples with a tie are left out.

    It goes through resolutions in the middle between two distances that occur. In between, generalization jumps where
    the resolution passes a distance, because any similarity beats none.
    """
    largest = float(distances.max())
    occurring = np.unique(round_distances(distances[distances > 0], GRID_STEP * largest))
    between = 0.5 * (occurring[1:] + occurring[:-1])
    if len(between) > FRONT_RESOLUTIONS:
        between = between[np.round(np.linspace(0, len(between) - 1, FRONT_RESOLUTIONS)).astype(int)]
    coarse = largest * np.geomspace(FIRST_COARSE_RESOLUTION, COARSEST_FRONT_RESOLUTION, 12)
    resolutions = np.array([0.5 * occurring[0], *between, *coarse])
    stimuli = stimulus_set(distances)
    points = [probabilities(stimuli, similarity(shape, one), 2, "drop") for one in resolutions.tolist()]
    return _smooth_curve(resolutions, points)


def _smooth_curve(resolutions: Array, points: Sequence[FrontPoint]) -> PlaneCurve:
    """Return a smooth curve through the points of growing resolutions."""
    at = np.log(resolutions)
    both = np.array([(point.generalization, point.identification) for point in points])
    return PlaneCurve(*CubicSpline(at, both)(np.linspace(at[0], at[-1], FRONT_CURVE_POINTS)).T)


@dataclass(frozen=True, eq=False, repr=False)
class ReluRuns(Result):
    """ReLU networks along their training.

    Attributes
    ----------
    distances : array of shape (stimuli, stimuli)
    steps : int array of shape (logs,)
    generalization, identification : arrays of shape (networks, logs)
        With two items, over all triples without a tie.
    profile_distance, profile_count : arrays of shape (distances,)
        Distances that occur, and how often.
    profile : array of shape (networks, logs, distances)
        Mean similarity at each distance.
    similarity : array of shape (networks, stimuli, stimuli)
        After training.
    failed : mask of shape (networks,)
        Whether a network's weights are no longer finite.
    device, dtype, path : str
        What it was computed with.
    """

    distances: Array
    steps: Whole
    generalization: Array
    identification: Array
    profile_distance: Array
    profile_count: Array
    profile: Array
    similarity: Array
    failed: Mask
    device: str
    dtype: str
    path: str

    def distance_to(self, front: PlaneCurve) -> Array:
        """Return how far each network lies from a front at each log; positive above."""
        return front.distance(self.generalization, self.identification)

    def after_reaching(self, generalization: float) -> Mask:
        """Return at which logs each network has reached a generalization, then or before."""
        return np.maximum.accumulate(self.generalization >= generalization, axis=1)

    def after_peak(self) -> Mask:
        """Return which logs come with or after a network's largest generalization."""
        known = np.where(np.isnan(self.generalization), -np.inf, self.generalization)
        return np.asarray(np.arange(len(self.steps)) >= np.argmax(known, axis=1)[:, None])

    def resolution(self) -> Array:
        """Return the resolution at which linear decay fits each profile best, (networks, logs).

        Least squares over all pairs of stimuli with free height, among resolutions up to four times the largest
        distance; a flat profile gives the coarsest of them.
        """
        largest = float(self.profile_distance.max())
        smallest = self.profile_distance[self.profile_distance > 0].min()
        tried = np.geomspace(0.5 * smallest, 4.0 * largest, FITTED_RESOLUTIONS)
        shapes = np.maximum(0.0, 1.0 - self.profile_distance / tried[:, None])
        weight = self.profile_count / self.profile_count.sum()
        explained = (self.profile @ (shapes * weight).T) ** 2 / (shapes**2 @ weight)
        return np.where(self.failed[:, None], np.nan, tried[np.argmax(explained, axis=-1)])

    def cut(self, level: float = 0.01) -> Array:
        """Return the first distance at which the profile is below a level of its height at 0, (networks, logs).

        Infinite where it never is.
        """
        share = float(scalar("level", within("level", level, 0.0, 1.0, open_low=True)))
        below = self.profile < share * self.profile[..., :1]
        first = np.argmax(below, axis=-1)
        found = np.where(below.any(axis=-1), self.profile_distance[first], np.inf)
        return np.where(self.failed[:, None], np.nan, found)

    def many_items(self, item_counts: tuple[int, ...]) -> tuple[Array, Array]:
        """Return generalization and identification after training with several items, (networks, item counts).

        Over all sets of different stimuli; sets whose nearest item is tied are left out, and every probe with
        other sets counts alike.
        """
        counts = tuple(
            whole_number("item_counts", one, at_least=2, at_most=len(self.distances) - 1) for one in item_counts
        )
        found = np.full((2, len(self.similarity), len(counts)), np.nan)
        for place in np.flatnonzero(~self.failed):
            g = self.similarity[place]
            both = tuple_probabilities(sort_others(g, self.distances, np.diagonal(g).copy()), counts, "drop")
            found[:, place] = [_mean_of_known(one) for one in both]
        return found[0], found[1]

    def summary(self) -> Summary:
        """Return both tests at the end and where generalization is largest."""
        rows = np.arange(len(self.generalization))
        known = np.where(np.isnan(self.generalization), -np.inf, self.generalization)
        moments = {"at the end": np.full(len(rows), len(self.steps) - 1), "at the peak": np.argmax(known, axis=1)}
        table = [("", "generalization p_S", "identification p_I")] + [
            (label, *(str(bootstrap_mean(one[rows, log])) for one in (self.generalization, self.identification)))
            for label, log in moments.items()
        ]
        failed = [f"{self.failed.sum()} of {len(rows)} networks became infinite."] if self.failed.any() else []
        return Summary(table=text_table(table), warnings=failed)

    def to_frame(self) -> DataFrame:
        """Return one row for each network and log."""
        networks, logs = self.generalization.shape
        return frame_of(
            {
                "network": np.repeat(np.arange(networks), logs),
                "step": np.tile(self.steps, networks),
                "generalization": self.generalization.ravel(),
                "identification": self.identification.ravel(),
                "resolution": self.resolution().ravel(),
            }
        )


def _mean_of_known(values: Array) -> Array:
    """Return the mean over the first axis without NaN; NaN where there is nothing else."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: Array = np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)
    return mean
