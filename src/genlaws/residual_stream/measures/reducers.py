"""Base class of reducers, which take in the states of some texts at a time, accumulate sums, and can be merged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole
from genlaws.core.errors import InputError
from genlaws.models.stream import Site, Stream

NUMBERS_PER_BLOCK = 250_000  # numbers converted to double precision at once; they stay in a fast cache
SUM_ROUNDING = 32 * float(np.finfo(np.float64).eps)  # relative error of our own sums, generously


class StreamReducer(ABC):
    """Takes batches of states and accumulates sums; memory does not grow with the number of texts.

    A text may have several rows, one for each of its tokens; `texts` then names the text of each row, so that
    intervals rest on the texts, which are independent, and not on the tokens, which are not.

    Parameters
    ----------
    sites : sequence of Site, optional
        Where the states were read; without it as in `Stream.from_states`, from the first batch.
    """

    def __init__(self, sites: Sequence[Site] | None = None) -> None:
        self.sites: tuple[Site, ...] = () if sites is None else tuple(sites)
        self.unit_count = 0
        self.text_count = 0  # also the number that the next text gets
        self.precision = SUM_ROUNDING  # relative, of the coarsest numbers so far

    def update(self, states: ArrayLike | Stream, texts: ArrayLike | None = None) -> Self:
        """Take in a batch of rows and return this reducer.

        Parameters
        ----------
        states : array (rows, sites, units) or Stream
        texts : whole numbers (rows,), optional
            Number of the text of each row, counted from 0; without it every row is a further text.
        """
        batch = states if isinstance(states, Stream) else Stream.from_states(states, self.sites or None)
        self._fit(batch.sites, batch.unit_count)
        numbers = text_numbers(texts, batch.text_count, self.text_count)
        rows = max(1, NUMBERS_PER_BLOCK // (len(self.sites) * self.unit_count))
        for first in range(0, batch.text_count, rows):
            part = slice(first, first + rows)
            self._absorb(batch.states[part].astype(np.float64), numbers[part])
        self.text_count = max(self.text_count, int(numbers.max()) + 1)
        self.precision = max(self.precision, precision_of(batch.states))
        return self

    def merge(self, other: Self) -> Self:
        """Take in what another reducer saw, as further texts, and return this one; the other stays as it was."""
        if not other.unit_count:
            return self
        self._fit(other.sites, other.unit_count)
        self._join(other)
        self.text_count += other.text_count
        self.precision = max(self.precision, other.precision)
        return self

    def _fit(self, sites: tuple[Site, ...], unit_count: int) -> None:
        if self.sites and sites != self.sites:
            raise InputError(
                f"sites must be the same in all batches of a reducer, {len(self.sites)} from {self.sites[0].name} to "
                f"{self.sites[-1].name}; got {len(sites)} from {sites[0].name} to {sites[-1].name}."
            )
        if not self.unit_count:
            self.sites, self.unit_count = sites, unit_count
            self._begin()
        elif unit_count != self.unit_count:
            raise InputError(
                f"units must be the same in all batches of a reducer, {self.unit_count}; got {unit_count}."
            )

    def _need_texts(self) -> None:
        if not self.text_count:
            raise InputError("a reducer must have seen at least one text; got none. Call update first.")

    @abstractmethod
    def _begin(self) -> None:
        """Set up empty sums for the sites and units."""

    @abstractmethod
    def _absorb(self, states: Array, texts: Whole) -> None:
        """Take in rows in double precision, which may be overwritten, with the number of the text of each."""

    @abstractmethod
    def _join(self, other: Self) -> None:
        """Take in the sums of another reducer of the same sites and units."""


def refuse_texts(texts: ArrayLike | None) -> None:
    """Raise if numbers of texts come with the result of a reducer, which has them already."""
    if texts is not None:
        raise InputError("texts must not be given with the result of a reducer; give them to its update.")


def precision_of(states: Array) -> float:
    """Return the relative size below which differences of these numbers are rounding."""
    return max(float(np.finfo(states.dtype).eps), SUM_ROUNDING)


def text_numbers(texts: ArrayLike | None, rows: int, first: int = 0) -> Whole:
    """Return the number of the text of each row; without `texts` every row is a further text, from `first` on."""
    if texts is None:
        return np.arange(first, first + rows, dtype=np.int64)
    given = np.asarray(texts)
    if given.shape != (rows,) or given.dtype.kind not in "iu" or (given < 0).any():
        raise InputError(
            f"texts must be one whole number from 0 on for each of the {rows} rows; got an array of "
            f"{given.dtype} with the shape {given.shape}" + (", some negative." if given.shape == (rows,) else ".")
        )
    return given.astype(np.int64)


def merged_scatter(
    counts: Array | float, means: Array, more_counts: Array | float, more_means: Array
) -> tuple[Array, Array, Array]:
    r"""Return the mean of two samples together, and what the sum of products needs in addition to the two sums.

    .. math:: \bar x = \bar x_a + \delta\,\frac{n_b}{n_a+n_b}, \qquad
        S_{xy} = S_{xy,a} + S_{xy,b} + \delta_x\delta_y\,\frac{n_a n_b}{n_a+n_b}, \qquad \delta = \bar x_b - \bar x_a

    Sums about the mean, never of squares themselves: no digits are lost where the mean is large (Chan, Golub and
    LeVeque 1983). Shapes broadcast; one of the counts may be zero.

    Returns
    -------
    mean, difference, weight : arrays
        The mean :math:`\bar x`, :math:`\delta`, and :math:`n_a n_b/(n_a+n_b)`.
    """
    together = np.maximum(np.asarray(counts + more_counts), 1.0)
    difference = more_means - means
    return means + difference * (more_counts / together), difference, counts * more_counts / together
