"""Finite sets of stimuli by name: equally spaced on a circle or a segment, or any distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, one_of, whole_number
from genlaws.numerics.errors import InputError
from genlaws.semanticity.metrics import merge_ties
from genlaws.semanticity.spaces import check_distances

NAMED = ("circle", "segment")
FEWEST = 3  # a probe and two items
SAME = 12  # decimals of the largest distance; later ones may differ between rows


def stimulus_distances(stimuli: str | ArrayLike, count: int = 50) -> Array:
    """Return the distances between stimuli, (stimuli, stimuli).

    Parameters
    ----------
    stimuli : {"circle", "segment"} or array_like of shape (stimuli, stimuli)
        A circle of length 1 or the segment [0, 1] with `count` equally spaced stimuli, in the units of
        :mod:`~genlaws.semanticity.spaces`; or distances, in which those that rounding alone keeps apart become equal.
    count : int from 3
    """
    if not isinstance(stimuli, str):
        d = check_distances(stimuli)
        largest = float(d.max())
        if len(d) < FEWEST or not largest > 0:
            raise InputError("stimuli must be at least three, not all at the same place, for a test to have an answer.")
        rounded: Array = np.round(merge_ties(0.5 * (d + d.T)) / largest, SAME) * largest
        return rounded
    one_of("stimuli", stimuli, NAMED)
    number = whole_number("stimulus_count", count, at_least=FEWEST)
    places = np.arange(number)
    steps: Array = np.abs(places[:, None] - places).astype(np.float64)
    on_circle: Array = np.minimum(steps, number - steps) / number
    on_segment: Array = steps / (number - 1.0)
    return on_circle if stimuli == "circle" else on_segment
