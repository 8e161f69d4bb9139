"""Trials together with their replies, and how a reply is read.

Three things can happen to a trial. It *failed*: no reply came, and it says nothing about the model. It is *unparsed*: a
reply came and names no option, or several; this counts as an error and, apart from that, as a rate of its own. Or it
was *answered*: the reply names one of the options, as a word of its own, and no other.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import special

from genlaws.core.arguments import Array, Mask, Whole, one_of
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import fingerprint
from genlaws.models.interface import MODES, Reply
from genlaws.semanticity.choices.trials import Trials

DISTANCE_KINDS = ("similarity", "resolution")  # kinds of trials in which distances decide
NO_CHOICE = -1


def parse_answer(text: str, options: Sequence[str]) -> int | None:
    """Return which option a reply names, counted from 0; none if it names none or several.

    Case, accents written in different ways and white space do not matter; a name inside a longer word does not count.

    Parameters
    ----------
    text : str
    options : sequence of str
        At least two, all different.
    """
    plain = [_normalize(option) for option in options]
    if len(plain) < 2 or len(set(plain)) < len(plain) or not all(plain):
        raise InputError(f"options must be at least two different names; got {list(options)!r}.")
    reply = _normalize(text)
    named = [place for place, option in enumerate(plain) if re.search(rf"(?<!\w){re.escape(option)}(?!\w)", reply)]
    return named[0] if len(named) == 1 else None


def _normalize(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


class AnyTrial(Protocol):
    """What a trial must have to be counted; :class:`~genlaws.probes.trials.ProbeTrial` has it."""

    @property
    def kind(self) -> str:
        """Which test it belongs to."""

    @property
    def items(self) -> tuple[str, ...]:
        """The answers, in the order in which they were shown."""

    @property
    def right(self) -> int:
        """Which of them is right."""

    @property
    def distances(self) -> tuple[float, ...]:
        """From the items to the probe."""


@dataclass(frozen=True)
class RecordedTrials:
    """Trials with their answers; one entry per trial in every field but the first.

    Attributes
    ----------
    mode : {"text", "probability"}
    trials : tuple of trials
    chosen : array of int
        Which item was named, or was the likeliest, counted from 0; -1 if the trial failed or is unparsed.
    failed, unparsed : arrays of bool
    probability : array
        Of the right answer, among the options alone; 0 for an unparsed trial, NaN for a failed one and in text mode.
    scores : tuple of arrays or None
        Probabilities of the options, adding up to 1; None without them.
    errors : tuple of str
        Why trials failed; empty for the others.
    """

    mode: str
    trials: tuple[AnyTrial, ...]
    chosen: Whole
    failed: Mask
    unparsed: Mask
    probability: Array
    scores: tuple[Array | None, ...]
    errors: tuple[str, ...]

    def call_parts(self) -> dict[str, Any]:
        """Return what a call records of the trials: how many, and a digest of their answers."""
        return {"mode": self.mode, "trials": len(self.trials), "sha256": fingerprint(self.chosen, self.probability)}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each trial."""
        return tuple(trial.kind for trial in self.trials)

    @property
    def item_counts(self) -> Whole:
        """Number of items of each trial."""
        return np.array([len(trial.items) for trial in self.trials], dtype=np.int64)

    @property
    def right(self) -> Whole:
        """The right answer of each trial."""
        return np.array([trial.right for trial in self.trials], dtype=np.int64)

    @property
    def correct(self) -> Mask:
        """Which trials were answered correctly; unparsed ones were not."""
        return np.asarray(self.chosen == self.right)

    def take(self, index: Sequence[int] | Mask | Whole) -> RecordedTrials:
        """Return the trials with these numbers, or where a mask is true."""
        rows = np.arange(len(self.trials))[np.asarray(index)] if len(self.trials) else np.empty(0, dtype=np.int64)
        return RecordedTrials(
            self.mode,
            tuple(self.trials[row] for row in rows),
            self.chosen[rows],
            self.failed[rows],
            self.unparsed[rows],
            self.probability[rows],
            tuple(self.scores[row] for row in rows),
            tuple(self.errors[row] for row in rows),
        )

    def of_kinds(self, kinds: Sequence[str]) -> RecordedTrials:
        """Return the trials of these kinds."""
        return self.take(np.array([kind in kinds for kind in self.kinds], dtype=np.bool_))

    def to_frame(self) -> DataFrame:
        """Return one row per trial: its test, what was chosen, and the probability of the right answer."""
        return frame_of(
            {
                "kind": self.kinds,
                "item_count": self.item_counts,
                "distance": [trial.distances[trial.right] for trial in self.trials],
                "right": [trial.items[trial.right] for trial in self.trials],
                "chosen": [
                    "" if choice == NO_CHOICE else trial.items[choice]
                    for trial, choice in zip(self.trials, self.chosen.tolist(), strict=True)
                ],
                "correct": self.correct,
                "unparsed": self.unparsed,
                "failed": self.failed,
                "probability": self.probability,
            }
        )

    def to_trials(self, kinds: Sequence[str] = DISTANCE_KINDS, *, named: bool = False) -> Trials:
        """Return trials for :func:`~genlaws.semanticity.choices.fit.fit_choices`; failed ones are left out.

        Parameters
        ----------
        kinds : sequence of str
            Which to return.
        named : bool
            Whether to pass the names on, so that each gets an offset. Useful where all trials share a few fixed
            answers, such as four shapes; not where names are drawn anew in every trial. Places are always passed on.
        """
        replied = self.of_kinds(kinds)
        replied = replied.take(~replied.failed)
        if not replied.trials:
            raise InputError(f"No trial of {' or '.join(kinds)} got a reply.")
        return Trials.from_lists(
            [trial.distances for trial in replied.trials],
            [None if choice == NO_CHOICE else int(choice) for choice in replied.chosen],
            options=[trial.items for trial in replied.trials] if named else None,
            scores=None if self.mode == "text" else [None if s is None else s.tolist() for s in replied.scores],
        )


def recorded(trials: Sequence[AnyTrial], replies: Sequence[Reply], mode: str) -> RecordedTrials:
    """Return trials together with their answers, however the replies were obtained.

    Parameters
    ----------
    trials : sequence of trials
    replies : sequence of Reply
        One for each trial, in the same order.
    mode : {"text", "probability"}
        Read the text, strictly; or take the probabilities of the options, divided by their sum. In probability mode the
        likeliest option counts as chosen (the first of equals), and scores that are no numbers, or make every option
        impossible, count as unparsed.
    """
    one_of("mode", mode, MODES)
    if len(trials) != len(replies):
        raise InputError(f"replies must be one for each trial; got {len(replies)} for {len(trials)} trials.")
    read = [_read(number, *pair, mode) for number, pair in enumerate(zip(trials, replies, strict=True), start=1)]
    chosen = np.array([choice for choice, _ in read], dtype=np.int64)
    failed = np.array([bool(reply.error) for reply in replies], dtype=np.bool_)
    unparsed = (chosen == NO_CHOICE) & ~failed
    right = [math.nan if s is None else float(s[trial.right]) for trial, (_, s) in zip(trials, read, strict=True)]
    return RecordedTrials(
        mode,
        tuple(trials),
        chosen,
        failed,
        unparsed,
        np.where(unparsed & (mode == "probability"), 0.0, np.array(right, dtype=np.float64)),
        tuple(s for _, s in read),
        tuple(reply.error for reply in replies),
    )


def _read(number: int, trial: AnyTrial, reply: Reply, mode: str) -> tuple[int, Array | None]:
    """Return the choice and the probabilities of the options."""
    if reply.error:
        return NO_CHOICE, None
    if mode == "text":
        if reply.text is None:
            raise InputError(f"The reply to trial {number} holds no text; it was recorded in another mode.")
        named = parse_answer(reply.text, trial.items)
        return (NO_CHOICE if named is None else named), None
    if reply.log_probabilities is None or len(reply.log_probabilities) != len(trial.items):
        raise InputError(
            f"The reply to trial {number} must hold one log-probability for each of its {len(trial.items)} options."
        )
    given = np.asarray(reply.log_probabilities, dtype=np.float64)
    if np.isnan(given).any() or not np.isfinite(given.max()):
        return NO_CHOICE, None
    return int(np.argmax(given)), special.softmax(given)
