"""The residual stream as data: states of texts at the sites of a network, and the tokens at which they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, one_of, whole_number
from genlaws.core.errors import InputError

PLACES = ("attention", "mlp", "block", "end")
MIN_SITES = 2  # one step
TEXT_BLOCK_SIZE = 256  # texts checked at once; the states may be in a file larger than the memory
POSITION_NAMES = ("last", "all", "sample")


@dataclass(frozen=True)
class Site:
    """A place of the network where the stream is read, before any norm.

    Attributes
    ----------
    layer : int
        Number of the block, from 0; for the end, the number of blocks.
    place : {"attention", "mlp", "block", "end"}
        What reads the stream here and then adds to it: the attention or the MLP of the block; the whole block where
        both read the same state; nothing, after the last block.
    """

    layer: int
    place: str

    def __post_init__(self) -> None:
        if self.place not in PLACES:
            raise InputError(f"place of a site must be one of {', '.join(PLACES)}; got {self.place!r}.")

    @property
    def name(self) -> str:
        """Such as ``3.mlp``, or ``end``."""
        return "end" if self.place == "end" else f"{self.layer}.{self.place}"


@dataclass(frozen=True)
class Stream:
    """States of texts at sites.

    Attributes
    ----------
    states : array of shape (texts, sites, units)
        Finite numbers; one token of each text, or one row for each recorded token.
    sites : tuple of Site
        In the order in which the network passes them.
    """

    states: Array
    sites: tuple[Site, ...]

    def __post_init__(self) -> None:
        shape = self.states.shape
        if self.states.ndim != 3 or shape[1] != len(self.sites) or shape[1] < MIN_SITES or 0 in shape:
            raise InputError(
                f"states must have the shape (texts, sites, units) with at least two sites, one for each of the "
                f"{len(self.sites)} that are named; got {shape}."
            )
        finite = np.ones(shape[1], dtype=bool)
        for start in range(0, shape[0], TEXT_BLOCK_SIZE):
            finite &= np.isfinite(self.states[start : start + TEXT_BLOCK_SIZE]).all(axis=(0, 2))
        if not finite.all():
            first = self.sites[int(np.flatnonzero(~finite)[0])].name
            raise InputError(f"states must be finite numbers; the first that are not are at the site {first}.")

    @classmethod
    def from_states(cls, states: ArrayLike, sites: Sequence[Site] | None = None) -> Stream:
        """Return the stream of an array (texts, sites, units); without sites they alternate, attention first."""
        given = np.asarray(states, dtype=np.float64) if not isinstance(states, np.ndarray) else states
        if not np.issubdtype(given.dtype, np.floating):
            given = given.astype(np.float64)
        count = given.shape[1] if given.ndim == 3 else 0
        halves = ("attention", "mlp")
        named = [Site(place // 2, halves[place % 2]) for place in range(count)] if sites is None else sites
        return cls(given, tuple(named))

    @property
    def writes(self) -> tuple[str, ...]:
        """What is added between each site and the next: ``attention``, ``mlp`` or ``block``."""
        return tuple(site.place for site in self.sites[:-1])

    @property
    def text_count(self) -> int:
        """Number of texts."""
        return int(self.states.shape[0])

    @property
    def unit_count(self) -> int:
        """Number of units, the width of the network."""
        return int(self.states.shape[2])

    def steps(self) -> Array:
        """Return what is added between successive sites, (texts, sites - 1, units)."""
        return np.diff(self.states, axis=1)

    def take(self, texts: Sequence[int] | Array) -> Stream:
        """Return the stream of the texts with these numbers, or where a mask is true."""
        return Stream(self.states[np.asarray(texts)], self.sites)


@dataclass(frozen=True)
class TokenSample:
    """Random tokens of each text, without repetition; all of them where a text has fewer.

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


Positions = str | int | TokenSample | Sequence[int] | Sequence[Sequence[int]]


def places_of(positions: Positions, lengths: Sequence[int], firsts: Sequence[int] | None = None) -> list[Whole]:
    """Return the chosen places in each text.

    Parameters
    ----------
    positions : {"last", "all", "sample"}, int, TokenSample, or sequence
        One whole number, or several for every text, or a list of them for each text. Negative numbers count from the
        end, -1 being the last token.
    lengths : sequence of int
        Number of tokens of each text, at least 1.
    firsts : sequence of int, optional
        Where the text begins, after what only marks its beginning: ``all`` and ``sample`` leave out what is before it.
        Whole numbers still count from the mark.
    """
    starts = [0] * len(lengths) if firsts is None else list(firsts)
    if isinstance(positions, str):
        word = one_of("position", positions, POSITION_NAMES)
        if word == "last":
            return [np.array([length - 1]) for length in lengths]
        if word == "all":
            return [np.arange(first, length) for first, length in zip(starts, lengths, strict=True)]
        positions = TokenSample()
    if isinstance(positions, TokenSample):
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
            f"position must be {', '.join(POSITION_NAMES)}, whole numbers, or a list of whole numbers for each of the "
            f"{count} texts; got {str(positions)[:60]}."
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
