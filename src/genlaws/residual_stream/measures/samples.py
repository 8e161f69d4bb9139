"""States as clouds of points: averages over texts, covariances, main axes, and variance along axes or reconstructed.

Covariances are summed in two halves of the texts, because a covariance of few texts looks lower-dimensional than it is:
directions found in one half are judged by the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, special

from genlaws.core.arguments import Array, Whole
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.models.stream import Site, Stream
from genlaws.residual_stream.measures.curves import (
    TAIL_PROBABILITY,
    TEXT_BOOTSTRAP_REPLICATES,
    SiteCurve,
    named,
    sums_by_text,
)
from genlaws.residual_stream.measures.reducers import (
    StreamReducer,
    merged_scatter,
    precision_of,
    refuse_texts,
    text_numbers,
)

HALVES = 2
MIN_BUFFERED_ROWS = 32  # rows collected before they are multiplied out
MIN_RELATIVE_VARIANCE = 1e-13  # axes with less variance than this share of the largest are rounding


@dataclass(frozen=True)
class SecondMoments:
    r"""Products of the units at every site, about the means, for texts of even and of odd number.

    Attributes
    ----------
    sites : tuple of Site
    counts : array (2,)
        Number of rows in each half; where the sites are pooled, every site of a text is a row.
    means : array (2, sites, units)
    scatters : array (2, sites, units, units)
        :math:`\sum_b (h_b-\bar h)(h_b-\bar h)^\top`.
    text_count : int
    precision : float
        Relative size below which differences of the states are rounding.
    normalized : bool
        Whether every state was divided by its root mean square.
    pooled : bool
        Whether all sites are taken together; the axis of the sites then has one place.
    """

    sites: tuple[Site, ...]
    counts: Array
    means: Array
    scatters: Array
    text_count: int
    precision: float
    normalized: bool
    pooled: bool

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the sites, or of all together."""
        return ("all",) if self.pooled else tuple(site.name for site in self.sites)


class SecondMomentReducer(StreamReducer):
    """Accumulates `SecondMoments`: two square matrices of the units per site, or two in all.

    For 61 sites of 576 units that is 0.3 GB; for 64 of 4096 it is 17 GB, and 0.3 GB with the sites pooled. Rows are
    buffered until there are half as many as units, which adds at most a quarter of that.

    Parameters
    ----------
    sites : sequence of Site, optional
    normalize : bool
        Divide every state by its root mean square, as the norms of the network do.
    pooled : bool
        Take all sites together.
    """

    def __init__(self, sites: Sequence[Site] | None = None, *, normalize: bool = False, pooled: bool = False) -> None:
        super().__init__(sites)
        self.normalize, self.pooled = normalize, pooled

    def _begin(self) -> None:
        places = 1 if self.pooled else len(self.sites)
        self._counts = np.zeros(HALVES)
        self._means = np.zeros((HALVES, places, self.unit_count))
        self._scatters = np.zeros((HALVES, places, self.unit_count, self.unit_count))
        self._held: list[tuple[Array, Whole]] = []

    def _absorb(self, states: Array, texts: Whole) -> None:
        if self.normalize:
            states = root_mean_square_normalized(states)
        if self.pooled:
            texts = np.repeat(texts, states.shape[1])
            states = states.reshape(-1, 1, self.unit_count)
        self._held.append((states, texts % HALVES))
        if sum(halves.size for _, halves in self._held) >= max(MIN_BUFFERED_ROWS, self.unit_count // 2):
            self._multiply_out()

    def _multiply_out(self) -> None:
        """Add the buffered rows to the sums."""
        if not self._held:
            return
        halves = np.concatenate([half for _, half in self._held])
        for half in range(HALVES):
            rows = np.concatenate([states[which == half] for states, which in self._held])
            if not len(rows):
                continue
            means = rows.mean(axis=0)
            rows -= means
            self._shift(half, float((halves == half).sum()), means)
            for site in range(rows.shape[1]):
                self._scatters[half, site] += rows[:, site].T @ rows[:, site]
        self._held = []

    def _shift(self, half: int, count: float, means: Array) -> None:
        """Move the mean of a half by that of further rows, with what the products need for it."""
        mean, apart, weight = merged_scatter(float(self._counts[half]), self._means[half], count, means)
        self._means[half] = mean
        self._counts[half] += count
        if weight > 0:
            for site, difference in enumerate(apart):
                self._scatters[half, site] += np.outer(weight * difference, difference)

    def _join(self, other: SecondMomentReducer) -> None:
        if (other.normalize, other.pooled) != (self.normalize, self.pooled):
            raise InputError("Reducers that are merged must agree on normalize and pooled; these do not.")
        self._multiply_out()
        known = other.result()
        for half in range(HALVES):
            if known.counts[half]:
                self._shift(half, float(known.counts[half]), known.means[half])
                self._scatters[half] += known.scatters[half]

    def result(self) -> SecondMoments:
        """Return the sums so far, not copied; the reducer can take more, which changes them."""
        self._need_texts()
        self._multiply_out()
        sums = (self._counts.copy(), self._means, self._scatters)
        return SecondMoments(self.sites, *sums, self.text_count, self.precision, self.normalize, self.pooled)


def root_mean_square_normalized(states: Array) -> Array:
    """Return states divided by their root mean square over the units; a state of zeros is refused."""
    scale = np.sqrt(np.mean(states**2, axis=-1, keepdims=True))
    if not scale.all():
        raise InputError("states must not be zero in all units where they are normalized; got one that is.")
    return np.asarray(states / scale)


def mean_path(stream: Stream) -> Stream:
    """Return the stream of one text whose states are the means over texts."""
    return Stream(stream.states.mean(axis=0, keepdims=True, dtype=np.float64), stream.sites)


def group_means(stream: Stream, groups: Sequence[Hashable]) -> Stream:
    """Return the stream of the mean states of groups of texts, in the order in which the groups first appear."""
    names = list(groups)
    if len(names) != stream.text_count:
        raise InputError(f"groups must name one group for each of the {stream.text_count} texts; got {len(names)}.")
    members = [np.array([name == group for name in names]) for group in dict.fromkeys(names)]
    means = [stream.states[member].mean(axis=0, dtype=np.float64) for member in members]
    return Stream(np.stack(means), stream.sites)


def without_mean_path(stream: Stream) -> Stream:
    """Return the stream less its mean over texts at every site: how texts differ, without common drift."""
    if stream.text_count < 2:
        raise InputError("stream must have at least two texts for its mean path to be subtracted; got 1.")
    return Stream(stream.states - stream.states.mean(axis=0, dtype=np.float64), stream.sites)


def explained_shares(
    states: Array, missed: Array, texts: Whole, rounding: Array, *, name: str, labels: tuple[str, ...]
) -> tuple[SiteCurve, Estimate]:
    r"""Return the explained share of the variance at every site, and of all sites together.

    .. math:: 1 - \frac{\sum_b \lVert x_b - f(x_b)\rVert^2}{\sum_b \lVert x_b - \bar x\rVert^2}

    Symbols: :math:`x_b` is the state of row :math:`b`, :math:`f` the reconstruction, :math:`\bar x` the mean over the
    rows, at one site or over all sites.

    Parameters
    ----------
    states, missed : arrays (rows, sites, units)
        The states to reconstruct, and the errors of the reconstruction.
    texts : array of int (rows,)
        Number of the text of each row; intervals rest on texts.
    rounding : array (sites,)
        Distance below which states of a site do not differ.
    name : str
        Of the curve.
    labels : tuple of str
        Names of the sites.
    """
    lost, varied = _sums_by_text(states, missed, texts)
    n = lost.shape[0]
    constant = varied.sum(axis=0)[:-1] <= len(states) * rounding**2
    varied[:, :-1][:, constant] = np.nan
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1.0 / n), TEXT_BOOTSTRAP_REPLICATES)
    value = 1.0 - lost.sum(axis=0) / varied.sum(axis=0)
    low, high = np.full_like(value, np.nan), np.full_like(value, np.nan)
    if n > 1:
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = 1.0 - (weights @ lost) / (weights @ varied)
        level = float(special.ndtr(np.sqrt(n / (n - 1.0)) * special.stdtrit(n - 1, TAIL_PROBABILITY)))
        known = ~np.isnan(value)
        low[known], high[known] = np.quantile(drawn[:, known], [level, 1.0 - level], axis=0)
    empty = [label for label, gone in zip(labels, constant, strict=True) if gone]
    message = (
        f"The states of the test texts do not vary at {named(empty)}, so there is no value there." if empty else ""
    )
    curve = SiteCurve.from_arrays(name, labels, (value[:-1], low[:-1], high[:-1]), n, message)
    return curve, Estimate(float(value[-1]), float(low[-1]), float(high[-1]), n)


def _sums_by_text(states: Array, missed: Array, texts: Whole) -> tuple[Array, Array]:
    """Return squared errors and squared deviations summed over the rows of each text, (texts, sites and all)."""
    lost = sums_by_text((missed**2).sum(axis=2), texts)
    varied = sums_by_text(((states - states.mean(axis=0)) ** 2).sum(axis=2), texts)
    in_all = sums_by_text(((states - states.mean(axis=(0, 1))) ** 2).sum(axis=(1, 2)), texts)
    return np.column_stack([lost, lost.sum(axis=1)]), np.column_stack([varied, in_all])


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
        """Return the sum of squares along the first axes, for each number of axes in `counts`."""

    @abstractmethod
    def squared_overlap(self) -> float:
        """Return the sum of the squared elements of the scatter."""

    def varies(self, precision: float) -> bool:
        """Return whether the points differ by more than rounding."""
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
        spanned = min(count, rows)
        vectors = main_axes(self.rows @ self.rows.T, spanned)
        axes = self.rows.T @ vectors
        lengths = np.sqrt((axes**2).sum(axis=0))
        axes = np.divide(axes, lengths, out=np.zeros_like(axes), where=lengths > 0)
        return np.pad(axes, ((0, 0), (0, count - spanned)))

    def row_squares(self, axes: Array, counts: Whole) -> Array:
        """Return the squared length of each row along the first axes, (rows, counts)."""
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
    return np.asarray(np.where(values > MIN_RELATIVE_VARIANCE * max(values[0], 0.0), vectors, 0.0))


def combined(first: Sample, second: Sample) -> MomentSample:
    """Return the sample of two samples together."""
    mean, apart, weight = merged_scatter(first.count, first.mean, second.count, second.mean)
    products = first.scatter() + second.scatter()
    products += np.outer(weight * apart, apart)
    return MomentSample(first.count + second.count, mean, products)


class Clouds:
    """The samples of every site: of all texts, and of those with even and odd numbers.

    Parameters
    ----------
    source : Stream or SecondMoments
    normalize : bool
    texts : whole numbers (rows,), optional
    """

    def __init__(
        self, source: Stream | SecondMoments, *, normalize: bool = False, texts: ArrayLike | None = None
    ) -> None:
        if isinstance(source, SecondMoments):
            refuse_texts(texts)
            if normalize and not source.normalized:
                raise InputError(
                    "normalize must be given to the reducer of second moments, which took the states as they are."
                )
            self.labels, self.text_count, self.precision = source.labels, source.text_count, source.precision
            self.unit_count = source.means.shape[2]
        else:
            self.numbers = text_numbers(texts, source.text_count)
            self.labels = tuple(site.name for site in source.sites)
            self.text_count = int(np.unique(self.numbers).size)
            self.unit_count, self.precision = source.unit_count, precision_of(source.states)
        self.source, self.normalize = source, normalize

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
        sites = range(len(self.labels))
        return reduce(combined, (self.whole(site) if half is None else self.halves(site)[half] for site in sites))

    def _rows(self, site: int) -> Array:
        """Return the states at a site in double precision, (rows, units)."""
        assert isinstance(self.source, Stream)  # moments have no rows
        rows = self.source.states[:, site].astype(np.float64)
        return root_mean_square_normalized(rows) if self.normalize else rows
