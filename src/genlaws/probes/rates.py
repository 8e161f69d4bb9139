"""How often a model was right: for each test and number of items, and by the distance of the right item."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, Mask, Whole, one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import (
    NO_VALUE,
    Estimate,
    bootstrap_mean,
    format_estimate,
    format_percent,
    interval_columns,
    wilson_interval,
)
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Row, Summary, text_table
from genlaws.probes.outcomes import DISTANCE_KINDS, RecordedTrials

TEST_LABELS = {"similarity": "generalization p_S", "identification": "identification p_I"}
MAX_REASONS = 3  # named in the sentence on failed trials


@dataclass(frozen=True)
class Rates:
    """Rates of one kind of trial with one number of items.

    Attributes
    ----------
    kind : str
    item_count : int
    sent, failed : int
        Trials sent to the model, and those without a reply; the latter are not part of any rate.
    unparsed : Estimate
        Share of the replies that could not be read, with Wilson's interval.
    accuracy : Estimate
        Share of the replies that are right, unparsed ones counting as wrong, with Wilson's interval; :math:`p_S^n` or
        :math:`p_I^n` of a model that must answer.
    accuracy_if_parsed : Estimate
        Share of the readable replies that are right.
    probability : Estimate
        Mean probability of the right answer with its bootstrap interval; :math:`p_S^n` or :math:`p_I^n` as the theory
        has them. NaN in text mode.
    first, last : Estimate
        Share of the readable replies that name the first and the last item shown: 1/n each without such a preference.
    chance : float
        1/n.
    """

    kind: str
    item_count: int
    sent: int
    failed: int
    unparsed: Estimate
    accuracy: Estimate
    accuracy_if_parsed: Estimate
    probability: Estimate
    first: Estimate
    last: Estimate
    chance: float

    @property
    def best(self) -> Estimate:
        """The mean probability where there is one, else the accuracy."""
        return self.probability if math.isfinite(self.probability.value) else self.accuracy


@dataclass(frozen=True)
class TrialRates:
    """Rates for each kind and number of items.

    Attributes
    ----------
    mode : str
    rates : tuple of Rates
    failed : int
        Trials without a reply, all together.
    unparsed : Estimate
        Share of all replies that could not be read.
    errors : dict of str to int
        Reasons why trials failed, and how many failed for each.
    """

    mode: str
    rates: tuple[Rates, ...]
    failed: int
    unparsed: Estimate
    errors: dict[str, int]

    @property
    def failure(self) -> str:
        """How many trials got no answer, and why, in one sentence; empty if all got one."""
        if not self.failed:
            return ""
        why = sorted(self.errors.items(), key=lambda pair: -pair[1])
        more = f" Other reasons: {len(why) - MAX_REASONS}." if len(why) > MAX_REASONS else ""
        reasons = " ".join(f"{number:,} × {reason}" for reason, number in why[:MAX_REASONS])
        total = sum(one.sent for one in self.rates)
        return f"{self.failed:,} of {total:,} trials got no answer and are not counted in any number: {reasons}{more}"

    def of(self, kind: str) -> tuple[Rates, ...]:
        """Return the rates of one kind, by number of items."""
        return tuple(one for one in self.rates if one.kind == kind)

    def to_frame(self) -> DataFrame:
        """Return one row for each kind and number of items; every rate has columns for its value and both ends."""
        names = ("accuracy", "accuracy_if_parsed", "probability", "unparsed", "first", "last")
        rows = []
        for one in self.rates:
            row = {name: getattr(one, name) for name in ("kind", "item_count", "sent", "failed")}
            for name in names:
                row |= interval_columns(name, getattr(one, name))
            rows.append(row | {"chance": one.chance})
        return frame_of(rows)

    def both_tests(self) -> list[tuple[str, ...]]:
        """Return both tests and chance as text, one row for each number of items."""
        found = {(one.kind, one.item_count): format_estimate(one.best) for one in self.rates}
        counts = sorted({count for kind, count in found if kind in TEST_LABELS})
        return [
            (str(count), *(found.get((kind, count), NO_VALUE) for kind in TEST_LABELS), f"{1 / count:.3g}")
            for count in counts
        ]

    def __str__(self) -> str:
        heads = ("items", *TEST_LABELS.values(), "chance")
        return str(Summary(self.rows(), table=text_table([heads, *self.both_tests()])))

    def rows(self) -> list[Row]:
        """Return how often replies were unread, or lost, or named the first item."""
        meaning = "share of the replies that name no item, or several; they count as errors"
        if self.mode == "probability":
            meaning = "share of the trials whose probabilities are not numbers; they count as errors"
        lost = f"{self.failed} of {sum(one.sent for one in self.rates):,}"
        rows = [
            Row("unread replies", format_percent(self.unparsed), meaning),
            Row("failed", lost, "trials without any reply; not in any rate"),
        ]
        shown = [one for one in self.rates if math.isfinite(one.first.value)]
        if shown:
            one = min(shown, key=lambda rate: (rate.item_count, rate.kind != "similarity"))
            preference = "" if one.first.low <= one.chance <= one.first.high else ": this is one for a place"
            share = f"share of the readable answers; {100 * one.chance:.3g} % without a preference{preference}"
            rows.append(Row(f"first item named (n = {one.item_count})", format_percent(one.first), share))
        return rows


def rates_of(given: RecordedTrials) -> TrialRates:
    """Return accuracy, mean probability and unparsed rate for each kind and number of items, with 95 % intervals."""
    sizes, kinds = given.item_counts, np.array(given.kinds, dtype=object)
    order = dict.fromkeys(sorted(zip(given.kinds, sizes.tolist(), strict=True)))
    rates = [_rates(kind, count, given.take((kinds == kind) & (sizes == count))) for kind, count in order]
    reasons = [error for error in given.errors if error]
    return TrialRates(
        given.mode,
        tuple(rates),
        int(given.failed.sum()),
        _share(given.unparsed[~given.failed]),
        {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
    )


def above_chance(given: RecordedTrials) -> Estimate:
    """Return how far the answers are above guessing on average, all trials together, with its bootstrap interval."""
    replied = given.take(~given.failed)
    hits = replied.probability if replied.mode == "probability" else replied.correct.astype(np.float64)
    return bootstrap_mean(hits - 1.0 / np.maximum(replied.item_counts, 1))


def _rates(kind: str, count: int, group: RecordedTrials) -> Rates:
    replied = ~group.failed
    parsed = replied & ~group.unparsed
    probability = group.probability[replied] if group.mode == "probability" else np.empty(0)
    return Rates(
        kind,
        count,
        sent=len(group.trials),
        failed=int(group.failed.sum()),
        unparsed=_share(group.unparsed[replied]),
        accuracy=_share(group.correct[replied]),
        accuracy_if_parsed=_share(group.correct[parsed]),
        probability=bootstrap_mean(probability),
        first=_share(group.chosen[parsed] == 0),
        last=_share(group.chosen[parsed] == count - 1),
        chance=1.0 / count,
    )


def _share(hits: Mask) -> Estimate:
    """Return the share of hits with Wilson's interval; NaN if there are none."""
    return wilson_interval(int(hits.sum()), hits.size) if hits.size else Estimate(math.nan)


@dataclass(frozen=True)
class DistancePoint:
    """Answers to trials with the probe about equally far from the right item.

    Attributes
    ----------
    item_count : int
    nearest, farthest : float
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
    nearest: float
    farthest: float
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
        columns = ["item_count", "nearest", "farthest", "distance", "answered"]
        columns += ["accuracy", "accuracy_low", "accuracy_high"]
        columns += ["probability", "probability_low", "probability_high", "chance"]
        rows = [
            (
                *(point.item_count, point.nearest, point.farthest, point.distance, point.accuracy.count),
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
            nearest=float(away[rows].min()),
            farthest=float(away[rows].max()),
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
