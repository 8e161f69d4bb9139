"""States at one site as a cloud of points: its covariance, its main axes, and how much of it lies along given axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from genlaws.numerics.arguments import Array, Whole
from genlaws.numerics.errors import InputError
from genlaws.residual_stream.reducers import merged_scatter, precision_of, refuse_texts, text_numbers
from genlaws.residual_stream.second_moments import HALVES, SecondMoments, root_mean_square_normalised
from genlaws.residual_stream.stream import Stream

SMALLEST = 1e-13  # axes with less variance than this share of the largest are rounding


class Sample(ABC):
    """A cloud of points, known by its rows or by their products.

    Attributes
    ----------
    count : float
        Number of rows.
    mean : array (units,)
    """

    count: float
    mean: Array

    @property
    @abstractmethod
    def total(self) -> float:
        """Sum of squared distances from the mean."""

    @abstractmethod
    def scatter(self) -> Array:
        """Return the sum of products about the mean, (units, units)."""

    @abstractmethod
    def axes(self, count: int) -> Array:
        """Return the `count` main axes, (units, count); columns are zero where the points span fewer."""

    @abstractmethod
    def along(self, axes: Array, counts: Whole) -> Array:
        """Return the sum of squares along the first so many of the axes, for each of `counts`."""

    @abstractmethod
    def squared_overlap(self) -> float:
        """Return the sum of the squared elements of the scatter."""

    def varies(self, precision: float) -> bool:
        """Say whether the points differ by more than rounding."""
        size = float(self.mean @ self.mean) + self.total / max(self.count, 1)
        return self.count >= HALVES and self.total > self.count * precision**2 * size


class RowSample(Sample):
    """Known by its rows (rows, units), with the number of the text of each."""

    def __init__(self, rows: Array, texts: Whole) -> None:
        self.count = float(rows.shape[0])
        self.mean = rows.mean(axis=0) if rows.size else np.zeros(rows.shape[1])
        self.rows = rows - self.mean
        self.texts = texts
        self.squares = np.einsum("bu,bu->b", self.rows, self.rows)

    @property
    def total(self) -> float:
        """Sum of squared distances from the mean."""
        return float(self.squares.sum())

    def scatter(self) -> Array:
        """Return the sum of products about the mean."""
        return np.asarray(self.rows.T @ self.rows)

    def axes(self, count: int) -> Array:
        """Return the main axes, from the smaller of the two products of the rows."""
        rows, units = self.rows.shape
        if rows >= units:
            return main_axes(self.scatter(), count)
        kept = min(count, rows)
        vectors = main_axes(self.rows @ self.rows.T, kept)
        axes = self.rows.T @ vectors
        lengths = np.sqrt((axes**2).sum(axis=0))
        axes = np.divide(axes, lengths, out=np.zeros_like(axes), where=lengths > 0)
        return np.pad(axes, ((0, 0), (0, count - kept)))

    def row_squares(self, axes: Array, counts: Whole) -> Array:
        """Return the squared length of each row along the first so many axes, (rows, counts)."""
        return np.asarray(np.cumsum((self.rows @ axes) ** 2, axis=1)[:, counts - 1])

    def along(self, axes: Array, counts: Whole) -> Array:
        """Return the sum over the rows of their squares along the axes."""
        return np.asarray(self.row_squares(axes, counts).sum(axis=0))

    def squared_overlap(self) -> float:
        """Return the sum of squares of the smaller of the two products of the rows, which is the same."""
        rows, units = self.rows.shape
        product = self.rows @ self.rows.T if rows < units else self.scatter()
        return float(np.vdot(product, product))


class MomentSample(Sample):
    """Known by the sum of products about its mean."""

    def __init__(self, count: float, mean: Array, products: Array) -> None:
        self.count, self.mean, self.products = count, mean, products

    @property
    def total(self) -> float:
        """Sum of squared distances from the mean."""
        return float(np.trace(self.products))

    def scatter(self) -> Array:
        """Return the sum of products about the mean."""
        return self.products

    def axes(self, count: int) -> Array:
        """Return the main axes."""
        return main_axes(self.products, count)

    def along(self, axes: Array, counts: Whole) -> Array:
        """Return the sum of squares along the axes."""
        return np.asarray(np.cumsum(((self.products @ axes) * axes).sum(axis=0))[counts - 1])

    def squared_overlap(self) -> float:
        """Return the sum of the squared products."""
        return float(np.vdot(self.products, self.products))


def main_axes(products: Array, count: int) -> Array:
    """Return the eigenvectors of a symmetric matrix with the `count` largest eigenvalues, largest first.

    Those whose eigenvalue is rounding are zero.
    """
    size = products.shape[0]
    values, vectors = linalg.eigh(products, subset_by_index=(size - count, size - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    return np.asarray(np.where(values > SMALLEST * max(values[0], 0.0), vectors, 0.0))


def combined(first: Sample, second: Sample) -> MomentSample:
    """Return the sample of two samples together."""
    mean, apart, weight = merged_scatter(first.count, first.mean, second.count, second.mean)
    products = first.scatter() + second.scatter() + np.outer(weight * apart, apart)
    return MomentSample(first.count + second.count, mean, products)


class Clouds:
    """The samples of every site: of all texts, and of those with even and odd number.

    Parameters
    ----------
    source : Stream or SecondMoments
    normalise : bool
    texts : whole numbers (rows,), optional
    """

    def __init__(
        self, source: Stream | SecondMoments, *, normalise: bool = False, texts: ArrayLike | None = None
    ) -> None:
        if isinstance(source, SecondMoments):
            refuse_texts(texts)
            if normalise and not source.normalised:
                raise InputError("normalise must be given to the reducer of second moments, which kept states as is.")
            self.labels, self.text_count, self.precision = source.labels, source.text_count, source.precision
            self.unit_count = source.means.shape[2]
        else:
            self.numbers = text_numbers(texts, source.text_count)
            self.labels = tuple(site.name for site in source.sites)
            self.text_count = int(np.unique(self.numbers).size)
            self.unit_count, self.precision = source.unit_count, precision_of(source.states)
        self.source, self.normalise = source, normalise

    def halves(self, site: int) -> tuple[Sample, Sample]:
        """Return the samples of the texts with even and with odd number."""
        if isinstance(self.source, SecondMoments):
            given = self.source
            even, odd = (
                MomentSample(float(given.counts[half]), given.means[half, site], given.scatters[half, site])
                for half in range(HALVES)
            )
            return even, odd
        rows, which = self._rows(site), self.numbers % HALVES
        first, second = (RowSample(rows[which == half], self.numbers[which == half]) for half in range(HALVES))
        return first, second

    def whole(self, site: int) -> Sample:
        """Return the sample of all texts."""
        if isinstance(self.source, SecondMoments):
            return combined(*self.halves(site))
        return RowSample(self._rows(site), self.numbers)

    def pooled(self, half: int | None = None) -> Sample:
        """Return the sample of all sites together, of all texts or of one half; by its rows where they are few."""
        if isinstance(self.source, Stream) and self.numbers.size * len(self.labels) < self.unit_count:
            chosen = np.ones(self.numbers.size, dtype=bool) if half is None else self.numbers % HALVES == half
            rows = np.concatenate([self._rows(site)[chosen] for site in range(len(self.labels))])
            return RowSample(rows, np.tile(self.numbers[chosen], len(self.labels)))
        pool: MomentSample | None = None
        for sample in self._each(half):
            if pool is None:
                pool = MomentSample(sample.count, sample.mean, sample.scatter().copy())
                continue
            mean, apart, weight = merged_scatter(pool.count, pool.mean, sample.count, sample.mean)
            pool.products += sample.scatter()
            pool.products += np.outer(weight * apart, apart)
            pool.mean, pool.count = mean, pool.count + sample.count
        assert pool is not None  # a stream has sites
        return pool

    def _each(self, half: int | None) -> Iterator[Sample]:
        for site in range(len(self.labels)):
            yield self.whole(site) if half is None else self.halves(site)[half]

    def _rows(self, site: int) -> Array:
        """Return the states at a site in double precision, (rows, units)."""
        assert isinstance(self.source, Stream)  # moments have no rows
        rows = self.source.states[:, site].astype(np.float64)
        return root_mean_square_normalised(rows) if self.normalise else rows
