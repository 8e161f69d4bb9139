"""Recorded choices as arrays.

A trial shows a few options, each at a distance from a probe, and records which one was chosen. An answer that could not
be read is kept and counted, not dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, Mask, Whole, non_negative, real, whole_number
from genlaws.numerics.errors import InputError

FEWEST_OPTIONS = 2
# Probabilities may be rounded to two decimals, so each may be half of this too high.
ROUNDED_TO = 0.01
MOST_SHOWN = 8  # scores of a trial that a refusal quotes


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
        Probabilities recorded for the options, summing to 1 in a trial that has them and 0 in one that has not.
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
            Index of the chosen option, counted from 0; None or -1 for an answer that could not be read. Left out,
            no trial has an answer.
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

    @property
    def trial_count(self) -> int:
        """Number of trials, read or not."""
        return int(self.chosen.size)

    @property
    def option_counts(self) -> Whole:
        """Number of options of each trial."""
        counts: Whole = self.present.sum(axis=1)
        return counts

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
    if array.ndim != 1 or array.size < FEWEST_OPTIONS:
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
        refusal = "" if given is None else score_refusal(values)
        if refusal:
            raise InputError(f"scores of trial {number} {refusal}")
        checked.append(values / (values.sum() if given is not None else 1.0))
    return checked


def score_refusal(scores: Array) -> str:
    """Say why these numbers cannot be the probabilities of the options of a trial; empty if they can be."""
    shown = f"got {', '.join(f'{score:.6g}' for score in scores[:MOST_SHOWN])}{', …' * (scores.size > MOST_SHOWN)}"
    if not scores.any():
        return f"must not all be zero; {shown}."
    total = sum(scores.tolist())
    if scores.min() >= 0 and total <= 1.0 + 0.5 * ROUNDED_TO * scores.size:
        return ""
    return (
        f"must be probabilities: zero or positive, with a sum of at most 1; {shown}, with the sum {total:.6g}. "
        "Replace logits or log-probabilities by their softmax over the options of the trial, "
        "exp(score) / sum of exp(score). Divide percentages by 100. Write counts as one trial per choice."
    )
