"""Accuracy against distance: how the answers of a model fall to chance as the right item gets farther away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, Whole, one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, bootstrap_mean, wilson_interval
from genlaws.core.frames import DataFrame, frame_of
from genlaws.probes.outcomes import DISTANCE_KINDS, RecordedTrials


@dataclass(frozen=True)
class DistancePoint:
    """Answers to trials with the probe about equally far from the right item.

    Attributes
    ----------
    item_count : int
    low, high : float
        Smallest and largest distance of the trials from the probe to the right item, in units of the trials.
    distance : float
        Their mean.
    accuracy : Estimate
        Share of the replies that are right, unparsed ones counting as wrong, with Wilson's interval.
    probability : Estimate
        Mean probability of the right answer with its bootstrap interval; NaN in text mode.
    chance : float
        1/n.
    """

    item_count: int
    low: float
    high: float
    distance: float
    accuracy: Estimate
    probability: Estimate
    chance: float


@dataclass(frozen=True)
class DistanceCurve:
    """Right answers by distance, for each number of items.

    Attributes
    ----------
    points : tuple of DistancePoint
        By number of items and distance, both increasing.
    failed : int
        Trials without a reply, which are in no point.
    """

    points: tuple[DistancePoint, ...]
    failed: int

    @property
    def item_counts(self) -> tuple[int, ...]:
        """The numbers of items, increasing."""
        return tuple(dict.fromkeys(point.item_count for point in self.points))

    def of(self, item_count: int) -> tuple[DistancePoint, ...]:
        """Return the curve of one number of items, by distance."""
        return tuple(point for point in self.points if point.item_count == item_count)

    def to_frame(self) -> DataFrame:
        """Return one row for each number of items and range of distances."""
        columns = ["item_count", "low", "high", "distance", "answered", "accuracy", "accuracy_low", "accuracy_high"]
        columns += ["probability", "probability_low", "probability_high", "chance"]
        rows = [
            (
                *(point.item_count, point.low, point.high, point.distance, point.accuracy.count),
                *(point.accuracy.value, point.accuracy.low, point.accuracy.high),
                *(point.probability.value, point.probability.low, point.probability.high, point.chance),
            )
            for point in self.points
        ]
        return frame_of(rows, columns=columns)


def distance_curve(given: RecordedTrials, *, kinds: Sequence[str] = DISTANCE_KINDS, bins: int = 8) -> DistanceCurve:
    """Return the share of right answers by the distance from the probe to the right item.

    A model that sees differences only within a resolution is right near an item and guesses beyond some distance.
    Trials are sorted by distance and cut into ranges with about equally many in each; trials at the same distance stay
    together, so there may be fewer ranges than requested.

    Parameters
    ----------
    given : RecordedTrials
        Trials of one domain or one task, so that distances have one unit.
    kinds : sequence of {"similarity", "resolution"}
        Which trials to use; in an identification the distance is always 0.
    bins : int
        Ranges for each number of items, at most.
    """
    if isinstance(kinds, str) or not kinds:
        raise InputError(f"kinds must be a sequence of one or more of {', '.join(DISTANCE_KINDS)}; got {kinds!r}.")
    for kind in kinds:
        one_of("kinds", kind, DISTANCE_KINDS)
    count = whole_number("bins", bins, at_least=1)
    chosen = given.of_kinds(kinds)
    replied = chosen.take(~chosen.failed)
    if not replied.trials:
        raise InputError(f"No trial of {' or '.join(kinds)} got a reply.")
    tasks = sorted({str(getattr(trial, "task", "")) for trial in replied.trials})
    if len(tasks) > 1:
        raise InputError(f"given must hold trials of one task, whose distances have one unit; got {', '.join(tasks)}.")
    points = [
        point
        for item_count in np.unique(replied.item_counts).tolist()
        for point in _points(replied.take(replied.item_counts == item_count), item_count, count)
    ]
    return DistanceCurve(tuple(points), int(chosen.failed.sum()))


def _points(group: RecordedTrials, item_count: int, bins: int) -> Iterator[DistancePoint]:
    """Yield the points of the curve of one number of items."""
    away = np.array([trial.distances[trial.right] for trial in group.trials], dtype=np.float64)
    for rows in _ranges(away, bins):
        probability = group.probability[rows] if group.mode == "probability" else np.empty(0)
        yield DistancePoint(
            item_count,
            low=float(away[rows].min()),
            high=float(away[rows].max()),
            distance=float(away[rows].mean()),
            accuracy=wilson_interval(int(group.correct[rows].sum()), rows.size),
            probability=bootstrap_mean(probability),
            chance=1.0 / item_count,
        )


def _ranges(away: Array, bins: int) -> list[Whole]:
    """Return the numbers of the trials in each range of distances, nearest first; equal distances share a range."""
    order = np.argsort(away, kind="stable")
    cuts = np.linspace(0, away.size, bins + 1)[1:-1].round().astype(np.int64)
    begins = np.searchsorted(away[order], away[order][cuts[cuts < away.size]])
    return [part for part in np.split(order, np.unique(begins)) if part.size]
