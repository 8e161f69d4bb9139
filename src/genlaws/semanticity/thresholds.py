r"""Things count as alike when their embeddings lie within a threshold: both tests for every threshold at once.

With two items the probability of the nearer one is :math:`\frac12 + \frac12(1_i - 1_j)`, with :math:`1_i` whether item
i lies within the threshold of the probe: linear in which items are inside. So each (probe, item) carries one weight,
the number of second items that are truly farther less the number truly nearer, and one sort of the embedding distances
gives the whole curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.semanticity.finite_sets import Others
from genlaws.semanticity.pairs import group_ends, group_sizes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ThresholdCurve:
    """Both tests with two items against the threshold, exact at every threshold at which anything changes.

    Attributes
    ----------
    threshold : array
        Distance between embeddings, increasing; between two of them nothing changes.
    generalisation, identification : arrays
    ball_mass, ball_mass_variance : arrays
        Share of the other stimuli within the threshold of a probe: mean and variance over probes.
    """

    threshold: Array
    generalisation: Array
    identification: Array
    ball_mass: Array
    ball_mass_variance: Array

    @property
    def best(self) -> int:
        """Index of the threshold with the largest generalisation."""
        return int(np.argmax(self.generalisation))

    def at(self, threshold: float) -> int:
        """Return the index that holds at a threshold."""
        return max(int(np.searchsorted(self.threshold, threshold, side="right")) - 1, 0)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per threshold."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(vars(self))


def threshold_curve(others: Others, apart: Array, ties: str) -> ThresholdCurve:
    """Return both tests for all thresholds.

    Parameters
    ----------
    others : Others
        The truth: each probe's others, nearest first. Their similarities do not matter.
    apart : array of shape (N, N)
        Distances between embeddings.
    ties : {"split", "drop"}
        What to do with items truly equally near.
    """
    n, count = others.order.shape
    inside = np.take_along_axis(apart, others.order, axis=1)
    size, end = group_sizes(others.tied_with_next), group_ends(others.tied_with_next)
    lead = (count - end) - (end - size)
    pairs = 0.5 * (count - size).sum(axis=1) if ties == "drop" else np.full(n, 0.5 * count * (count - 1.0))
    judged = pairs > 0
    weight = np.where(judged[:, None], 0.5 * lead / np.where(judged, pairs, 1.0)[:, None], 0.0) / max(judged.sum(), 1)
    place = np.empty(inside.shape)
    np.put_along_axis(place, np.argsort(inside, axis=1), np.arange(float(count))[None], axis=1)
    order = np.argsort(inside, axis=None)
    threshold = inside.ravel()[order]
    last = np.append(threshold[1:] > threshold[:-1], True)
    mass = np.arange(1.0, threshold.size + 1.0)[last] / (n * float(count))
    square = np.cumsum((2.0 * place.ravel() + 1.0)[order])[last] / (n * float(count) ** 2)
    generalisation = 0.5 + np.cumsum(weight.ravel()[order])[last]
    start = [] if threshold[0] == 0 else [0.0]
    b = np.concatenate([start, mass])
    return ThresholdCurve(
        np.concatenate([start, threshold[last]]),
        np.concatenate([[0.5] * len(start), generalisation]),
        1.0 - 0.5 * b,
        b,
        np.maximum(np.concatenate([start, square]) - b**2, 0.0),
    )
