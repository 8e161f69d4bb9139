"""What the residual stream is to the statistics: states of many texts at the places of a network where it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError

PLACES = ("attention", "mlp", "block", "end")
FEWEST_SITES = 2  # one step
TEXTS_AT_ONCE = 256  # when states are checked, which may lie in a file larger than the memory


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
        Finite numbers; one token of each text, or one row for each token that was kept.
    sites : tuple of Site
        In the order in which the network passes them.
    """

    states: Array
    sites: tuple[Site, ...]

    def __post_init__(self) -> None:
        shape = self.states.shape
        if self.states.ndim != 3 or shape[1] != len(self.sites) or shape[1] < FEWEST_SITES or 0 in shape:
            raise InputError(
                f"states must have the shape (texts, sites, units) with at least two sites, one for each of the "
                f"{len(self.sites)} that are named; got {shape}."
            )
        finite = np.ones(shape[1], dtype=bool)
        for start in range(0, shape[0], TEXTS_AT_ONCE):
            finite &= np.isfinite(self.states[start : start + TEXTS_AT_ONCE]).all(axis=(0, 2))
        if not finite.all():
            first = self.sites[int(np.flatnonzero(~finite)[0])].name
            raise InputError(f"states must be finite numbers; the first that are not stand at the site {first}.")

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
