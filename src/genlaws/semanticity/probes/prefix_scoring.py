"""Exact log-probabilities of several endings of one text: the text is read once, then the short endings.

With n endings of s tokens after a text of p tokens this reads p + n (s − 1) tokens instead of n (p + s − 1). The last
token of an ending is never read: its probability is known before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from genlaws.numerics.arguments import Array, whole_number
from genlaws.numerics.errors import InputError
from genlaws.semanticity.probes.padded_passes import Reading, Row, read

Endings = Sequence[tuple[int, ...]]
Reader = Callable[[Any, Sequence[Row]], Reading]


@dataclass(frozen=True)
class Continuations:
    """One beginning and several endings, as tokens.

    Attributes
    ----------
    shared : tuple of int
        What is read once; at least one token.
    endings : tuple of tuples of int
        What is scored; each at least one token.
    """

    shared: tuple[int, ...]
    endings: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.shared or not self.endings or not all(self.endings):
            raise InputError("A prompt and every option must have at least one token; one of them is empty.")


def split_continuations(prompt: Sequence[int], whole: Sequence[Sequence[int]]) -> Continuations:
    """Split texts that were turned into tokens as a whole where they leave the tokens of their prompt.

    A tokenizer may merge the end of the prompt with the beginning of an answer. The split is then after the last token
    that the prompt alone has in common with all the whole texts, so that all endings are given the same beginning.

    Parameters
    ----------
    prompt : sequence of int
        Tokens of the prompt alone.
    whole : sequence of sequences of int
        Tokens of the prompt followed by each option.
    """
    place = min((_in_common(prompt, tokens) for tokens in whole), default=0)
    return Continuations(tuple(prompt[:place]), tuple(tuple(tokens[place:]) for tokens in whole))


def _in_common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two rows begin with in common."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(map(len, (one, other)))
    )


def score_continuations(
    network: Any, asked: Sequence[Continuations], batch_size: int = 16, reader: Reader = read
) -> list[Array]:
    """Return the log-probability of every ending given its beginning.

    Parameters
    ----------
    network : causal language model of transformers
    asked : sequence of Continuations
        In any order; those of similar length are read together.
    batch_size : int
        Rows of one pass, at most; bounds the memory.
    reader : callable
        How beginnings are read: `read`, which keeps what was read, or one that reads it again.

    Returns
    -------
    list of arrays of shape (endings,)
    """
    size = whole_number("batch_size", batch_size, at_least=1)
    scores: dict[int, Array] = {}
    for batch in _by_length(asked, size):
        reading = reader(network, [asked[place].shared for place in batch])
        found = score_endings(reading, [asked[place].endings for place in batch], size)
        scores.update(zip(batch, found, strict=True))
    return [scores[place] for place in range(len(asked))]


def _by_length(asked: Sequence[Continuations], size: int) -> Iterator[list[int]]:
    """Yield places of beginnings of similar length, longest first, so that too little memory shows at once."""
    order = sorted(range(len(asked)), key=lambda place: -len(asked[place].shared))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def score_endings(reading: Reading, endings: Sequence[Endings], size: int) -> list[Array]:
    """Return the log-probabilities of all endings of beginnings that were read.

    Parameters
    ----------
    reading : Reading
        Of the beginnings, one in a row.
    endings : sequence of sequences of tokens
        Of each beginning.
    size : int
        Rows of one pass, at most.
    """
    scores = [
        reading.log_probabilities[row, -1, [ending[0] for ending in of_row]].double().cpu().numpy()
        for row, of_row in enumerate(endings)
    ]
    longer = [
        (row, option) for row, of_row in enumerate(endings) for option, ending in enumerate(of_row) if len(ending) > 1
    ]
    longer.sort(key=lambda place: -len(endings[place[0]][place[1]]))
    for start in range(0, len(longer), size):
        part = longer[start : start + size]
        rest = _rest(reading.selected([row for row, _ in part]), [endings[row][option] for row, option in part])
        for (row, option), value in zip(part, rest, strict=True):
            scores[row][option] += value
    return scores


def _rest(reading: Reading, endings: Endings) -> list[float]:
    """Return the log-probabilities of all tokens of endings but the first."""
    found = reading.read_on([ending[:-1] for ending in endings]).log_probabilities
    return [
        float(found[row, list(range(len(ending) - 1)), list(ending[1:])].double().sum())
        for row, ending in enumerate(endings)
    ]
