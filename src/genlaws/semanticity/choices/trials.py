"""Recorded choices as arrays, and how to read them from a CSV table.

A trial shows a few options, each at a distance from a probe, and records which one was chosen. An answer that could not
be read is counted as unparsed, not dropped.

Tables come long, with one row per option, or wide, with one row per trial. A cell that is not understood raises an
error with its line, its column and its value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Mask, Whole, non_negative, one_of, positive, real, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.result import fingerprint
from genlaws.core.tables import WORD_SEPARATORS, TextTable

__all__ = ["read_trials"]

MIN_OPTIONS = 2
# Probabilities may be rounded to two decimals, so each may be half of this too high.
SCORE_ROUNDING = 0.01
MAX_QUOTED_SCORES = 8  # scores of a trial in an error message
UNPARSED_WORD = "unparsed"  # stands in the place of a choice that could not be read; an empty cell means the same
CHOICE_METRICS = ("absolute", "circle")
DISTANCE_COLUMNS = ("distance", "item", "position")  # columns that give a distance; the first one present is used


@dataclass(frozen=True)
class Trials:
    """Recorded trials as arrays with one row per trial, padded to the longest trial.

    Attributes
    ----------
    distances : array (trial_count, most_options)
        Distance of each option to the probe; 0 where there is no option.
    present : array of bool, same shape
        Where there is an option.
    chosen : array of int (trial_count,)
        Column of the chosen option, counted from 0; -1 where the answer could not be read.
    options : array of int, shape of `distances`
        Index into `option_names`; -1 where there is no option or no name.
    option_names : tuple of str
        The names of the answer options in alphabetical order; empty if the options have none.
    places : array of int, shape of `distances`
        Place of each option in the list that was shown, counted from 1; 0 where there is no option.
    scores : array, shape of `distances`
        Probabilities recorded for the options, summing to 1 in a trial that has them; 0 in the others.
    unused_columns : tuple of str
        Columns of the table that were not read.
    """

    distances: Array
    present: Mask
    chosen: Whole
    options: Whole
    option_names: tuple[str, ...]
    places: Whole
    scores: Array
    unused_columns: tuple[str, ...] = ()

    @classmethod
    def from_lists(
        cls,
        distances: Sequence[ArrayLike],
        chosen: Sequence[int | None] | None = None,
        *,
        options: Sequence[Sequence[str]] | None = None,
        places: Sequence[Sequence[int]] | None = None,
        scores: Sequence[Sequence[float] | None] | None = None,
    ) -> Trials:
        """Return trials from one list per trial; the lists may differ in length.

        Parameters
        ----------
        distances : list of lists, or a two-dimensional array
            Zero or positive; at least two options per trial.
        chosen : list of int or None
            Index of the chosen option, counted from 0; None or -1 for an answer that could not be read. If left
            out, no trial has an answer.
        options : list of lists of str, or None
            Name of each option.
        places : list of lists of int, or None
            Place of each option in the list, from 1; the order given if left out.
        scores : list of lists, or None
            Probabilities of the options, None for a trial without. A sum below 1, as of the probabilities that a
            language model gives to the options alone, is divided out.
        """
        rows = [_distances_of(number, row) for number, row in enumerate(distances, start=1)]
        if not rows:
            raise InputError("distances must contain at least one trial; got none.")
        counts = [row.size for row in rows]
        orders = [np.arange(1, n + 1) for n in counts] if places is None else _checked_places(places, counts)
        names = _checked_names(options, counts)
        index = {name: i for i, name in enumerate(sorted({name for row in names for name in row}))}
        return cls(
            distances=_pad(rows, counts, 0.0),
            present=np.arange(max(counts)) < np.array(counts)[:, None],
            chosen=_checked_chosen(chosen, counts),
            options=_pad([[index[name] for name in row] or -1 for row in names], counts, -1).astype(np.int64),
            option_names=tuple(index),
            places=_pad(orders, counts, 0).astype(np.int64),
            scores=_pad(_checked_scores(scores, counts), counts, 0.0),
        )

    def call_parts(self) -> dict[str, Any]:
        """Return how a call records the trials."""
        arrays = (self.distances, self.chosen, self.options, self.places, self.scores)
        return {
            "trial_count": self.trial_count,
            "unparsed_count": self.unparsed_count,
            "option_names": self.option_names,
            "sha256": fingerprint(*arrays),
        }

    @property
    def trial_count(self) -> int:
        """Number of trials, read or not."""
        return int(self.chosen.size)

    @property
    def option_counts(self) -> Whole:
        """Number of options of each trial."""
        return np.asarray(self.present.sum(axis=1))

    @property
    def parsed(self) -> Mask:
        """Which trials have an answer: a choice that could be read, or scores."""
        return (self.chosen >= 0) | self.scores.any(axis=1)

    @property
    def unparsed_count(self) -> int:
        """Number of trials without an answer."""
        return int((~self.parsed).sum())

    @property
    def answers(self) -> Array:
        """Weight of each option in the likelihood: the scores where there are any, else 1 at the choice."""
        one_hot = np.arange(self.distances.shape[1]) == self.chosen[:, None]
        return np.where(self.scores.any(axis=1, keepdims=True), self.scores, one_hot)

    def take(self, index: ArrayLike) -> Trials:
        """Return the trials with these numbers, or where a mask is true; the names of the options stay as they are."""
        rows = np.arange(self.trial_count)[np.asarray(index)]
        parts = ("distances", "present", "chosen", "options", "places", "scores")
        return replace(self, **{name: getattr(self, name)[rows] for name in parts})


def _distances_of(number: int, row: ArrayLike) -> Array:
    array = non_negative(f"distances of trial {number}", row)
    if array.ndim != 1 or array.size < MIN_OPTIONS:
        raise InputError(f"distances of trial {number} must be a list of two or more numbers; got {array.tolist()}.")
    return array


def _pad(rows: Sequence[ArrayLike], counts: list[int], fill: float) -> Array:
    padded = np.full((len(rows), max(counts)), fill)
    for row, values, count in zip(padded, rows, counts, strict=True):
        row[:count] = values
    return padded


def _same_lengths(name: str, rows: Sequence[Sequence[object]], counts: list[int]) -> None:
    given = [len(row) for row in rows]
    if given != counts:
        raise InputError(
            f"{name} must have one entry per distance; got {given[:5]} entries for {counts[:5]} distances."
        )


def _checked_names(options: Sequence[Sequence[str]] | None, counts: list[int]) -> list[list[str]]:
    if options is None:
        return [[] for _ in counts]
    _same_lengths("options", options, counts)
    return [[str(name) for name in row] for row in options]


def _checked_places(places: Sequence[Sequence[int]], counts: list[int]) -> list[Whole]:
    _same_lengths("places", places, counts)
    for number, (row, count) in enumerate(zip(places, counts, strict=True), start=1):
        if sorted(row) != list(range(1, count + 1)):
            raise InputError(f"places of trial {number} must be 1 to {count}, each once; got {list(row)}.")
    return [np.array(row, dtype=np.int64) for row in places]


def _checked_chosen(chosen: Sequence[int | None] | None, counts: list[int]) -> Whole:
    given = [None] * len(counts) if chosen is None else list(chosen)
    if len(given) != len(counts):
        raise InputError(f"chosen must have one entry per trial; got {len(given)} for {len(counts)} trials.")
    hint = "It counts from 0; -1 or None stands for an answer that could not be read."
    checked = [
        -1 if choice is None else whole_number(f"chosen of trial {t}", choice, at_least=-1, at_most=n - 1, hint=hint)
        for t, (choice, n) in enumerate(zip(given, counts, strict=True), start=1)
    ]
    return np.array(checked, dtype=np.int64)


def _checked_scores(scores: Sequence[Sequence[float] | None] | None, counts: list[int]) -> list[Array]:
    rows = [None] * len(counts) if scores is None else list(scores)
    filled = [[0.0] * n if row is None else row for row, n in zip(rows, counts, strict=False)]
    _same_lengths("scores", filled if len(rows) == len(counts) else [[] for _ in rows], counts)
    checked = []
    for number, (row, given) in enumerate(zip(filled, rows, strict=True), start=1):
        values = real(f"scores of trial {number}", row)
        fault = "" if given is None else score_error(values)
        if fault:
            raise InputError(f"scores of trial {number} {fault}")
        checked.append(values / (values.sum() if given is not None else 1.0))
    return checked


def score_error(scores: Array) -> str:
    """Return why these numbers cannot be the probabilities of the options of a trial; empty if they can be."""
    more = ", …" * (scores.size > MAX_QUOTED_SCORES)
    shown = f"got {', '.join(f'{score:.6g}' for score in scores[:MAX_QUOTED_SCORES])}{more}"
    if not scores.any():
        return f"must not all be zero; {shown}."
    total = sum(scores.tolist())
    if scores.min() >= 0 and total <= 1.0 + 0.5 * SCORE_ROUNDING * scores.size:
        return ""
    return (
        f"must be probabilities: zero or positive, with a sum of at most 1; {shown}, with the sum {total:.6g}. "
        "Replace logits or log-probabilities by their softmax over the options of the trial, "
        "exp(score) / sum of exp(score). Divide percentages by 100. Write counts as one trial per choice."
    )


def read_trials(path: str | Path, *, metric: str = "absolute", period: float | None = None) -> Trials:
    """Read recorded choices from a CSV file, long or wide.

    *Long*, one row per option: ``trial``; ``distance``, or ``probe`` and ``item`` (also called ``position``);
    ``chosen`` (1 for the chosen option, else 0 or empty); and, if wanted, ``option`` (its name), ``place`` (in the
    list, from 1; else the order of the rows) and ``score`` (its probability). A trial in which nothing is chosen
    counts as unparsed.

    *Wide*, one row per trial: ``distance_1``, ``distance_2``, …, or ``probe`` and ``item_1``, … (also called
    ``position_1``, …); ``chosen`` (the number of the option from 1, or its name); and, if wanted, ``option_1``, … and
    ``score_1``, …. Trials with fewer options leave the last cells empty. An empty ``chosen``, or the word
    ``unparsed``, counts as unparsed.

    Columns of other names are not read; ``unused_columns`` lists them.

    Parameters
    ----------
    path : str or Path
        Text in UTF-8, separated by commas, semicolons or tabs, with the names of the columns in the first line.
    metric : str
        ``absolute``, or ``circle`` for values that return after a `period`; used with ``probe`` and ``item`` alone.
    period : float > 0 or None
        Circumference of the circle, such as 360 for a hue.

    Raises
    ------
    genlaws.core.errors.InputError
        With the line (the header is line 1), the column and the value of the first cell that is not understood.
    """
    one_of("metric", metric, CHOICE_METRICS)
    if (metric == "circle") != (period is not None):
        raise InputError("period belongs to the metric 'circle', and 'circle' needs one, such as 360 for degrees.")
    if period is not None:
        scalar("period", positive("period", period))
    header, rows = _read_rows(Path(path))
    columns = _Columns(header, period)
    shown = [_wide_trial(row, columns) for row in rows] if columns.wide else _long_trials(rows, columns)
    if not shown:
        raise InputError(f"{path} must contain at least one trial below its header; got none.")
    trials = Trials.from_lists(
        [trial.distances for trial in shown],
        [trial.chosen for trial in shown],
        options=[trial.names for trial in shown] if columns.named else None,
        places=[trial.places for trial in shown],
        scores=[trial.scores for trial in shown],
    )
    return replace(trials, unused_columns=tuple(name for name in header if name not in columns.used))


class _Row:
    """The cells of one row, and the error message for one of them."""

    def __init__(self, line: int, cells: dict[str, str]) -> None:
        self.line, self.cells = line, cells

    def refuse(self, column: str, allowed: str) -> InputError:
        return InputError(f"Line {self.line}, column {column}: {allowed}; got {self.cells.get(column, '')!r}.")

    def text(self, column: str) -> str:
        return self.cells.get(column, "")

    def number(self, column: str, *, low: float = -math.inf) -> float:
        """Return the number in a column, or raise an error that states why it is not a number."""
        try:
            value = float(self.text(column))
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= low):
            raise self.refuse(column, "must be a finite number" + ("" if low < 0 else ", zero or positive"))
        return value


@dataclass(frozen=True)
class _Shown:
    """One trial as it was read."""

    distances: list[float]
    names: list[str]
    places: list[int]
    scores: list[float] | None
    chosen: int | None


class _Columns:
    """Which columns the table has, how they give a distance, and which of them are read."""

    def __init__(self, header: list[str], period: float | None) -> None:
        numbered = [match for name in header if (match := re.fullmatch(r"(\w+?)_([1-9]\d*)", name))]
        kinds = {match[1] for match in numbered}
        self.wide = bool(kinds & set(DISTANCE_COLUMNS))
        if self.wide == ("trial" in header and any(name in header for name in DISTANCE_COLUMNS)):
            raise InputError(
                "The table must be long (columns trial, distance, chosen, …) or wide (columns distance_1, distance_2, "
                f"…, chosen), and not both; got the columns {', '.join(header)}."
            )
        kinds = kinds if self.wide else set(header)
        self.period, self.value = period, next(kind for kind in DISTANCE_COLUMNS if kind in kinds)
        self.named, self.scored = "option" in kinds, "score" in kinds
        self.placed = not self.wide and "place" in header
        self.numbers = sorted(int(match[2]) for match in numbered if match[1] == self.value)
        read = {self.value, "option", "score"}
        alone = {"trial", "chosen"} | ({"probe"} if self.value != "distance" else set())
        alone |= set() if self.wide else {*read, "place"}
        self.used = [name for name in header if name in alone]
        self.used += [match[0] for match in numbered if self.wide and match[1] in read]
        self._refuse_what_is_missing(header)

    def _refuse_what_is_missing(self, header: list[str]) -> None:
        if not ("chosen" in header or self.scored):
            raise InputError(f"The table needs a column chosen, or scores; got the columns {', '.join(header)}.")
        if self.value != "distance" and "probe" not in header:
            raise InputError(f"The column {self.value} needs a column probe as well; or give distance instead.")
        if self.value == "distance" and self.period is not None:
            raise InputError("The metric 'circle' needs the columns probe and item; the table gives distances already.")

    def distance(self, row: _Row, ending: str) -> float:
        """Return how far an item is from the probe."""
        if self.value == "distance":
            return row.number(f"distance{ending}", low=0.0)
        apart = abs(row.number(f"{self.value}{ending}") - row.number("probe"))
        if self.period is None:
            return apart
        return min(apart % self.period, self.period - apart % self.period)

    def name(self, row: _Row, ending: str) -> str:
        if self.named and not row.text(f"option{ending}"):
            raise row.refuse(f"option{ending}", "must name the option, since the table names others")
        return row.text(f"option{ending}")


def _read_rows(path: Path) -> tuple[list[str], list[_Row]]:
    """Return the names of the columns and the rows that are not blank."""
    table = TextTable(path.name, path, WORD_SEPARATORS)
    header = table.first
    if not header:
        raise InputError(f"trials must hold names of columns and a row for each trial; {path.name} is empty.")
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise InputError(f"Line 1: each column needs a name of its own; got {', '.join(repeated)}.")
    rows = []
    for line, cells in islice(table.rows(), 1, None):
        if len(cells) > len(header):
            raise InputError(
                f"Line {line}: must have at most {len(header)} cells, one per column; "
                f"got {len(cells)}, the first one too many being {cells[len(header)]!r}."
            )
        if any(cells):
            rows.append(_Row(line, dict(zip(header, cells, strict=False))))
    return header, rows


def _long_trials(rows: list[_Row], columns: _Columns) -> list[_Shown]:
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        name = row.text("trial")
        if not name:
            raise row.refuse("trial", "must name the trial")
        if name in groups and name != next(reversed(groups)):
            line = groups[name][-1].line
            raise row.refuse("trial", f"the rows of a trial must stand together, and this one ended in line {line}")
        groups.setdefault(name, []).append(row)
    return [_long_trial(group, columns) for group in groups.values()]


def _long_trial(group: list[_Row], columns: _Columns) -> _Shown:
    if len(group) < MIN_OPTIONS:
        raise group[0].refuse("trial", "a trial needs at least two rows, one per option")
    places: list[int] = []
    chosen: int | None = None
    for number, row in enumerate(group):
        mark = row.text("chosen")
        if mark.lower() not in ("", "0", "1", UNPARSED_WORD):
            raise row.refuse("chosen", "must be 1 for the chosen option and 0 for the others")
        if mark == "1":
            if chosen is not None:
                raise row.refuse("chosen", f"the trial has a chosen option already, in line {group[chosen].line}")
            chosen = number
        place = row.text("place") if columns.placed else str(number + 1)
        if not place.isdecimal() or not 1 <= int(place) <= len(group) or int(place) in places:
            raise row.refuse("place", f"must be a whole number from 1 to {len(group)}, each once in a trial")
        places.append(int(place))
    return _Shown(
        [columns.distance(row, "") for row in group],
        [columns.name(row, "") for row in group],
        places,
        _scores_of([(row, "score") for row in group]) if columns.scored else None,
        chosen,
    )


def _wide_trial(row: _Row, columns: _Columns) -> _Shown:
    filled = [n for n in columns.numbers if row.text(f"{columns.value}_{n}")]
    if filled != list(range(1, len(filled) + 1)) or len(filled) < MIN_OPTIONS:
        gap = next((n for n in range(1, len(filled) + 1) if n not in filled), len(filled) + 1)
        raise row.refuse(f"{columns.value}_{gap}", "must be filled; a trial has options 1, 2, … without a gap")
    for name in columns.used:
        kind, _, number = name.rpartition("_")
        if kind and row.text(name) and int(number) not in filled:
            raise row.refuse(name, f"must be empty, since {columns.value}_{number} is")
    names = [columns.name(row, f"_{n}") for n in filled]
    return _Shown(
        [columns.distance(row, f"_{n}") for n in filled],
        names,
        filled,
        _scores_of([(row, f"score_{n}") for n in filled]) if columns.scored else None,
        _wide_choice(row, names, len(filled)),
    )


def _wide_choice(row: _Row, names: list[str], count: int) -> int | None:
    """Return the index of the chosen option; a cell that could be a number and another option's name is refused."""
    cell = row.text("chosen")
    if not cell or cell.lower() == UNPARSED_WORD:
        return None
    by_name = [i for i, name in enumerate(names) if name == cell]
    by_number = [int(cell) - 1] if cell.isdecimal() and 1 <= int(cell) <= count else []
    readings = sorted({*by_name, *by_number})
    if len(readings) != 1:
        allowed = f"must be a number from 1 to {count} or the name of one option of this trial, and not fit two options"
        raise row.refuse("chosen", allowed)
    return readings[0]


def _scores_of(cells: list[tuple[_Row, str]]) -> list[float] | None:
    if not any(row.text(column) for row, column in cells):
        return None
    scores = [row.number(column) for row, column in cells]
    fault = score_error(np.array(scores))
    if fault:
        row, column = cells[-1]
        raise InputError(f"Line {row.line}, column {column}: the scores of a trial {fault}")
    return scores
