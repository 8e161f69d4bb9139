r"""The two tests on images, whose truth is how far apart their classes are.

Stimuli are single images, not means of classes: identification asks which *image* was copied, and the scatter within
a class is what a threshold has to pay for. Three different images make a trial of generalization: a probe and two
items; the right one is of the class that is nearer to the probe's, the probe's own class being at distance 0. Trials
whose items are equally far, as two of one class are, have no right answer and are left out. In a trial of
identification the probe is a copy of one of two images. Items count as alike when their features lie within
:math:`\varepsilon` of each other, and all trials count: nothing is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from genlaws.core.arguments import Array, Whole, fraction, real, whole_number
from genlaws.core.errors import InputError
from genlaws.semanticity.measurement.pairs import ThresholdCurve, threshold_curve, tied_fraction
from genlaws.semanticity.measurement.sets import curve_at
from genlaws.semanticity.measurement.tests import MeasuredSet
from genlaws.semanticity.theory.spaces import check_distances
from genlaws.semanticity.theory.ties import merge_ties

THRESHOLD_CURVE_POINTS = 401
PROBABILITY_TOLERANCE = 1e-12  # of a probability


@dataclass(frozen=True)
class ImageTests:
    r"""Generalization :math:`p_S(\varepsilon)` and identification :math:`p_I(\varepsilon)` of images, two items each.

    Attributes
    ----------
    curve : ThresholdCurve
        Exact, at thresholds chosen so that :math:`p_I` falls in even steps.
    peak_generalization, peak_identification, peak_threshold : float
        The largest :math:`p_S` over all thresholds, :math:`p_I` and :math:`\varepsilon` there.
    mean_generalization, mean_identification : float
        Means over :math:`\varepsilon` from 0 to the largest distance between two images; independent of the unit.
    tied_fraction : float
        Share of triples left out because both items are equally far from the probe.
    stimulus_count : int
    """

    curve: ThresholdCurve
    peak_generalization: float
    peak_identification: float
    peak_threshold: float
    mean_generalization: float
    mean_identification: float
    tied_fraction: float
    stimulus_count: int

    def generalization_at(self, identification: ArrayLike) -> Array:
        """Return the generalization at the coarsest threshold of the curve that identifies at least this well.

        NaN where no threshold does, because different images have the same features.
        """
        wanted = np.atleast_1d(fraction("identification", identification))
        place = np.searchsorted(-self.curve.identification, -wanted + PROBABILITY_TOLERANCE, side="right") - 1
        found: Array = np.where(place >= 0, self.curve.generalization[np.maximum(place, 0)], np.nan)
        return found.reshape(np.shape(identification))


def image_tests(
    features: ArrayLike, classes: ArrayLike, distances: ArrayLike, *, points: int = THRESHOLD_CURVE_POINTS
) -> ImageTests:
    """Return both tests for every threshold between features.

    Parameters
    ----------
    features : array_like of shape (N, width)
        Of at least three images.
    classes : whole numbers of shape (N,)
        Rows of `distances`.
    distances : array_like of shape (classes, classes)
    points : int
        Of the returned curve; the peak is that of all thresholds.
    """
    z = real("features", features)
    if z.ndim != 2 or len(z) < 3 or not z.shape[1] or not np.isfinite(z).all():
        raise InputError(f"features must be a table of finite numbers, three rows or more; got shape {z.shape}.")
    return _tests(cdist(z, z), _truth(classes, distances, len(z)), whole_number("points", points, at_least=2))


def tree_tests(classes: ArrayLike, distances: ArrayLike, *, points: int = THRESHOLD_CURVE_POINTS) -> ImageTests:
    """Return both tests of features whose distances are exactly those of the classes."""
    count = len(np.atleast_1d(np.asarray(classes)))
    truth = _truth(classes, distances, count)
    return _tests(truth, truth, whole_number("points", points, at_least=2))


def no_tests(stimulus_count: int) -> ImageTests:
    """Return the tests of a network that has broken down: nothing but NaN."""
    nan = np.full(1, np.nan)
    none = float("nan")
    return ImageTests(ThresholdCurve(nan, nan, nan, nan, nan), none, none, none, none, none, none, stimulus_count)


def _truth(classes: ArrayLike, distances: ArrayLike, count: int) -> Array:
    """Return the true distances between the images."""
    between = merge_ties(check_distances(distances))
    y = np.asarray(classes)
    if y.shape != (count,) or y.dtype.kind not in "iu" or count < 3 or y.min() < 0 or y.max() >= len(between):
        raise InputError(
            f"classes must be one row of distances, from 0 to {len(between) - 1}, for each of at least three images; "
            f"got shape {y.shape} of type {y.dtype} for {count} images."
        )
    return np.asarray(between[np.ix_(y, y)])


def _tests(apart: Array, truth: Array, points: int) -> ImageTests:
    others = MeasuredSet(np.ones_like(truth), truth, "drop", 0.0).others()
    tied = tied_fraction(others)
    if tied >= 1.0:
        raise InputError("classes must leave a trial with a right answer; here all items are equally far.")
    curve = threshold_curve(others, apart, "drop")
    largest = float(curve.threshold[-1])
    share = np.diff(curve.threshold) / largest if largest > 0 else np.full(1, np.nan)
    before = slice(0, len(share))
    return ImageTests(
        _thinned(curve, points),
        float(curve.generalization[curve.best]),
        float(curve.identification[curve.best]),
        float(curve.threshold[curve.best]),
        float(curve.generalization[before] @ share),
        float(curve.identification[before] @ share),
        tied,
        len(truth),
    )


def _thinned(curve: ThresholdCurve, points: int) -> ThresholdCurve:
    """Return a curve at the coarsest threshold up to each of some evenly spaced ball masses."""
    steps = np.linspace(0.0, 1.0, points) + PROBABILITY_TOLERANCE
    place: Whole = np.unique(np.maximum(np.searchsorted(curve.ball_mass, steps, side="right") - 1, 0))
    return curve_at(curve, curve.threshold[place])
