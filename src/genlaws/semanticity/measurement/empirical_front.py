"""The empirical front: both tests that one similarity shape gives on a user's stimuli, and the distance from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.frames import DataFrame, frame_of
from genlaws.semanticity.measurement.pairs import pair_generalization, threshold_curve
from genlaws.semanticity.measurement.tests import MeasuredSet, identification_of_two
from genlaws.semanticity.theory.finite_sets import Others
from genlaws.semanticity.theory.similarity import Similarity
from genlaws.semanticity.theory.tradeoff import PlaneCurve

COARSE_FRONT_POINTS, FINE_FRONT_POINTS, MAX_FRONT_POINTS = 36, 12, 400
MAX_PROBES = 96  # of a large set, at random
RATE_SPACING = 0.5  # of the rule for the reciprocal; its relative error is 1e-7
COPY_TOLERANCE = 0.005  # a similarity this close to 1, that of a copy, counts as that of a copy
FINEST_FACTOR, COARSEST_FACTOR = 0.5, 8.0  # resolutions, in units of the smallest and of the largest distance


@dataclass(frozen=True)
class EmpiricalFront:
    """Both tests with two items that a similarity of one shape would give on this set, from fine to coarse resolution.

    Attributes
    ----------
    shape : str
    background : float
    resolution, generalization, identification : arrays
    measured : tuple of two floats
        Generalization and identification of the representation itself, from the same probes.
    probe_count : int
        Probes used; a random part of them in a large set, all other stimuli as items.
    amplitude : float
        What the similarity, background included, is multiplied by to be in units of the similarity with a copy.
    """

    shape: str
    background: float
    resolution: Array
    generalization: Array
    identification: Array
    measured: tuple[float, float]
    probe_count: int
    amplitude: float = 1.0

    @property
    def copies_stand_out(self) -> bool:
        """Whether a copy is more, or less, similar than another stimulus at no distance, so that amplitude matters."""
        nearest = self.amplitude * (1.0 if self.shape == "constant" else 1.0 + self.background)
        return abs(nearest - 1.0) > COPY_TOLERANCE

    @property
    def curve(self) -> PlaneCurve:
        """The front in the plane of both tests."""
        return PlaneCurve(self.generalization, self.identification)

    @property
    def peak(self) -> int:
        """Index of the largest generalization."""
        return int(np.nanargmax(self.generalization))

    def distance(self) -> float:
        """Return the distance of the measured point from the front in the plane of both tests; negative if below.

        Above means more generalization than the front has at the same identification. Point and front share probes and
        items, so that the noise of choosing them cancels.
        """
        return float(self.curve.distance(*self.measured))

    def to_frame(self) -> DataFrame:
        """Return one row per resolution."""
        names = ("resolution", "generalization", "identification")
        return frame_of({name: getattr(self, name) for name in names})


def empirical_front(
    stimuli: MeasuredSet,
    similarity: Similarity,
    rng: np.random.Generator,
    others: Others | None = None,
    amplitude: float | None = None,
) -> EmpiricalFront:
    """Sweep the resolution of a similarity over the true distances of a set.

    The first pass is coarse, the second fine and near the measured point; both use all probes or a random part of them.

    Parameters
    ----------
    stimuli : MeasuredSet
    similarity : Similarity
        Shape and background; its resolution is one of those swept.
    rng : Generator
    others : Others or None
        Those of `stimuli`, if they are known.
    amplitude : float > 0 or None
        What the similarity is multiplied by to be in units of the similarity with a copy. If not given, stimuli at no
        distance are as similar as copies.
    """
    height = 1.0 / float(similarity(0.0)) if amplitude is None else amplitude
    n = len(stimuli.distance)
    probes = np.arange(n) if n <= MAX_PROBES else np.sort(rng.choice(n, MAX_PROBES, replace=False))
    truth = others if others is not None and n <= MAX_PROBES else stimuli.others(probes)
    near = np.take_along_axis(stimuli.distance[probes], truth.order, axis=1)
    measured = _both(truth, stimuli.ties)

    def sweep(resolutions: Array) -> EmpiricalFront:
        """Return both tests of the set at each resolution."""
        judged = (_with_similarity(similarity.at_resolution(one), height, truth, near) for one in resolutions.tolist())
        generalization, identification = np.array([_both(one, stimuli.ties) for one in judged]).T
        about = similarity.shape.name, similarity.background
        return EmpiricalFront(*about, resolutions, generalization, identification, measured, len(probes), height)

    coarse = sweep(_resolutions(stimuli.distance))
    place = coarse.curve.nearest_piece(*measured)
    low, high = coarse.resolution[max(place - 1, 0)], coarse.resolution[min(place + 2, coarse.resolution.size - 1)]
    fine = sweep(np.append(np.geomspace(low, high, FINE_FRONT_POINTS + 2)[1:-1], similarity.resolution))
    return _join(coarse, fine)


def constant_front(
    stimuli: MeasuredSet, others: Others | None = None, measured: tuple[float, float] | None = None
) -> EmpiricalFront:
    """Return the front of the constant similarity without background, exact at every resolution of the set.

    `others`, `measured`: those of `stimuli` and both tests with two items, if they are known.
    """
    truth = stimuli.others() if others is None else others
    curve = threshold_curve(truth, stimuli.distance, stimuli.ties)
    chosen = np.unique(np.linspace(0, curve.threshold.size - 1, MAX_FRONT_POINTS).astype(int))
    return EmpiricalFront(
        "constant",
        0.0,
        curve.threshold[chosen],
        curve.generalization[chosen],
        curve.identification[chosen],
        _both(truth, stimuli.ties) if measured is None else measured,
        len(truth.own),
    )


def _both(others: Others, ties: str) -> tuple[float, float]:
    """Return generalization and identification, averaged over the probes that have a pair."""
    per_probe = pair_generalization(others, ties, RATE_SPACING)
    judged = np.isfinite(per_probe)
    generalization = float(per_probe[judged].mean()) if judged.any() else float("nan")
    return generalization, float(identification_of_two(others).mean())


def _with_similarity(similarity: Similarity, amplitude: float, others: Others, near: Array) -> Others:
    """Return the others with the values of a similarity, a copy having 1 / amplitude, in units of the largest."""
    largest = max(1.0 / amplitude, float(similarity(0.0)))
    own = np.full(len(near), 1.0 / amplitude / largest)
    return Others(similarity(near) / largest, own, others.tied_with_next, others.order)


def _join(coarse: EmpiricalFront, fine: EmpiricalFront) -> EmpiricalFront:
    order = np.argsort(np.append(coarse.resolution, fine.resolution))

    def joined(one: Array, other: Array) -> Array:
        return np.append(one, other)[order]

    return EmpiricalFront(
        coarse.shape,
        coarse.background,
        joined(coarse.resolution, fine.resolution),
        joined(coarse.generalization, fine.generalization),
        joined(coarse.identification, fine.identification),
        coarse.measured,
        coarse.probe_count,
        coarse.amplitude,
    )


def _resolutions(distance: Array) -> Array:
    smallest, largest = float(distance[distance > 0].min()), float(distance.max())
    finest = max(FINEST_FACTOR * smallest, 1e-3 * largest)
    return np.geomspace(finest, COARSEST_FACTOR * largest, COARSE_FRONT_POINTS)
