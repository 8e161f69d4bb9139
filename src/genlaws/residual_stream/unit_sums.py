"""Means, variances and products of successive sites of every unit, in groups of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, Mask, Whole, whole_number
from genlaws.residual_stream.reducers import Reducer, merged_scatter, refuse_texts
from genlaws.residual_stream.stream import Site, Stream

GROUPS = 20  # 19 degrees of freedom: intervals 7 % wider than with endless texts


@dataclass(frozen=True)
class UnitSums:
    r"""Sums of every unit over the texts of each group, about the means of the group.

    Attributes
    ----------
    sites : tuple of Site
    counts : array (groups,)
        Number of rows in each group that has any.
    means : array (groups, sites, units)
    squares : array (groups, sites, units)
        :math:`\sum_b (h_l - \bar h_l)^2`.
    products : array (groups, sites - 1, units)
        :math:`\sum_b (h_l - \bar h_l)(h_{l+1} - \bar h_{l+1})`.
    text_count : int
    precision : float
        Relative size below which differences of the states are rounding.
    """

    sites: tuple[Site, ...]
    counts: Array
    means: Array
    squares: Array
    products: Array
    text_count: int
    precision: float

    @property
    def mean(self) -> Array:
        """Mean over all rows, (sites, units)."""
        return np.tensordot(self.counts / self.counts.sum(), self.means, 1)

    def about(self, centre: Array, site: int) -> tuple[Array, Array]:
        """Return sums of deviations from a centre (units,) and of their squares at a site, both (groups, units)."""
        deviation = self.means[:, site] - centre
        weight = self.counts[:, None]
        return weight * deviation, self.squares[:, site] + weight * deviation**2

    def products_about(self, centre: Array, next_centre: Array, site: int) -> Array:
        """Return sums of products of deviations from two centres (units,) at a site and the next, (groups, units)."""
        deviations = (self.means[:, site] - centre) * (self.means[:, site + 1] - next_centre)
        return self.products[:, site] + self.counts[:, None] * deviations

    @property
    def variance(self) -> Array:
        """Variance over all rows, (sites, units); NaN for a single row."""
        rows = self.counts.sum()
        return self._squares() / (rows - 1 if rows > 1 else np.nan)

    def smallest_square(self) -> Array:
        """Return the square, per row, below which the deviations of a unit are rounding, (sites, units)."""
        rows = self.counts.sum()
        spread = self.squares.sum(axis=0) / rows
        return np.asarray(self.precision**2 * (np.tensordot(self.counts / rows, self.means**2, 1) + spread))

    @property
    def constant(self) -> Mask:
        """Where a unit is the same in all rows, up to rounding, (sites, units)."""
        return np.asarray(self._squares() <= self.counts.sum() * self.smallest_square())

    def _squares(self) -> Array:
        """Return the sums of squared deviations from the mean over all rows, (sites, units)."""
        mean = self.mean
        return np.stack([self.about(mean[site], site)[1].sum(axis=0) for site in range(len(self.sites))])


class UnitReducer(Reducer):
    """Keeps `UnitSums`: three numbers per unit, site and group.

    Parameters
    ----------
    sites : sequence of Site, optional
    groups : int >= 2
        Texts are dealt to this many groups in turn. An interval comes from leaving out one group after the other: the
        groups' sums suffice for it, and with Student's t for their number it holds for few groups, where a bootstrap
        over the groups would be too narrow.
    """

    def __init__(self, sites: Sequence[Site] | None = None, *, groups: int = GROUPS) -> None:
        super().__init__(sites)
        self.groups = whole_number("groups", groups, at_least=2)

    def _begin(self) -> None:
        shape = (self.groups, len(self.sites), self.unit_count)
        self._counts = np.zeros(self.groups)
        self._means, self._squares = np.zeros(shape), np.zeros(shape)
        self._products = np.zeros((shape[0], shape[1] - 1, shape[2]))

    def _absorb(self, states: Array, texts: Whole) -> None:
        groups, members = np.unique(texts % self.groups, return_inverse=True)
        belongs = (members == np.arange(groups.size)[:, None]).astype(np.float64)
        counts = belongs.sum(axis=1)
        means = np.tensordot(belongs, states, 1) / counts[:, None, None]
        states -= means[members]
        products = np.tensordot(belongs, states[:, :-1] * states[:, 1:], 1)
        squares = np.tensordot(belongs, np.square(states, out=states), 1)
        self._add(groups, counts, means, squares, products)

    def _join(self, other: UnitReducer) -> None:
        groups = np.arange(other.groups) % self.groups
        for group in range(other.groups):  # one at a time: two groups of the other may meet in one of ours
            one = slice(group, group + 1)
            self._add(groups[one], other._counts[one], other._means[one], other._squares[one], other._products[one])

    def _add(self, groups: Whole, counts: Array, means: Array, squares: Array, products: Array) -> None:
        before = self._counts[groups][:, None, None]
        mean, apart, weight = merged_scatter(before, self._means[groups], counts[:, None, None], means)
        self._means[groups] = mean
        self._products[groups] += products + apart[:, :-1] * apart[:, 1:] * weight
        self._squares[groups] += squares + apart**2 * weight
        self._counts[groups] += counts

    def result(self) -> UnitSums:
        """Return the sums so far; the reducer can take more."""
        self._need_texts()
        full = self._counts > 0
        kept = (self._counts[full], self._means[full], self._squares[full], self._products[full])
        return UnitSums(self.sites, *kept, self.text_count, self.precision)


def unit_sums_of(source: Stream | UnitSums, texts: ArrayLike | None = None) -> UnitSums:
    """Return the sums of a stream; what a reducer returned stays as it is."""
    if isinstance(source, UnitSums):
        refuse_texts(texts)
        return source
    return UnitReducer().update(source, texts).result()


def unit_table(sites: Sequence[Site], columns: dict[str, Array]) -> dict[str, Array]:
    """Return the columns of a table with one row per site and unit, from arrays (sites, units)."""
    units = next(iter(columns.values())).shape[1]
    names = np.repeat(np.array([site.name for site in sites], dtype=object), units)
    flat = {name: values.ravel() for name, values in columns.items()}
    return {"site": names, "unit": np.tile(np.arange(units), len(sites)), **flat}
