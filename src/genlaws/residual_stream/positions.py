"""Which tokens of a text are looked at, as places counted from its first token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genlaws.numerics.arguments import Whole, one_of, whole_number
from genlaws.numerics.errors import InputError

WORDS = ("last", "all", "sample")


@dataclass(frozen=True)
class Sample:
    """So many tokens of each text at random, without repetition; all of them where a text has fewer.

    Attributes
    ----------
    count : int, at least 1
    seed : int
        The choice in a text depends on this, on the number of the text and on its length, not on the other texts.
    """

    count: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("count", self.count, at_least=1)
        whole_number("seed", self.seed)

    def draw(self, number: int, first: int, length: int) -> Whole:
        """Return places from `first` on, in order, for the text with this number."""
        random = np.random.default_rng([self.seed, number])
        count = min(self.count, length - first)
        return np.sort(first + random.choice(length - first, count, replace=False)).astype(np.int64)


Positions = str | int | Sample | Sequence[int] | Sequence[Sequence[int]]


def places_of(positions: Positions, lengths: Sequence[int], firsts: Sequence[int] | None = None) -> list[Whole]:
    """Return the chosen places in each text.

    Parameters
    ----------
    positions : {"last", "all", "sample"}, int, Sample, or sequence
        One whole number, or several for every text, or a list of them for each text. Negative numbers count from the
        end, -1 being the last token.
    lengths : sequence of int
        Number of tokens of each text, at least 1.
    firsts : sequence of int, optional
        Where the text begins, after what only marks its beginning: ``all`` and ``sample`` leave out what is before it.
        Whole numbers count from the mark all the same.
    """
    starts = [0] * len(lengths) if firsts is None else list(firsts)
    if isinstance(positions, str):
        word = one_of("position", positions, WORDS)
        if word == "last":
            return [np.array([length - 1]) for length in lengths]
        if word == "all":
            return [np.arange(first, length) for first, length in zip(starts, lengths, strict=True)]
        positions = Sample()
    if isinstance(positions, Sample):
        drawn = enumerate(zip(starts, lengths, strict=True))
        return [positions.draw(number, first, length) for number, (first, length) in drawn]
    each = _each(positions, len(lengths))
    return [_inside(number, one, length) for number, (one, length) in enumerate(zip(each, lengths, strict=True))]


def _each(positions: int | Sequence[int] | Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Return a list of whole numbers for each text."""
    whole = int | np.integer
    if isinstance(positions, whole) and not isinstance(positions, bool):
        return [[int(positions)]] * count
    given = list(positions) if isinstance(positions, Sequence | np.ndarray) else []
    if given and all(isinstance(one, whole) and not isinstance(one, bool) for one in given):
        return [[int(one) for one in given if isinstance(one, whole)]] * count
    lists = [list(one) for one in given if isinstance(one, Sequence | np.ndarray) and not isinstance(one, str)]
    if len(lists) != count or len(given) != count or not all(isinstance(one, whole) for row in lists for one in row):
        raise InputError(
            f"position must be {', '.join(WORDS)}, whole numbers, or a list of whole numbers for each of the {count} "
            f"texts; got {str(positions)[:60]}."
        )
    return [[int(one) for one in row] for row in lists]


def _inside(number: int, chosen: Sequence[int], length: int) -> Whole:
    """Return places of one text counted from its first token."""
    for one in chosen:
        if not -length <= one < length:
            raise InputError(
                f"position must lie inside each text; got {one} for text {number}, which has {length} tokens."
            )
    return np.array([one % length for one in chosen], dtype=np.int64)
