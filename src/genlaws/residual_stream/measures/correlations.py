"""How strongly every unit is correlated with itself one site later, from sums over groups of texts.

High correlations are no sign of a privileged basis by themselves: where steps are small, they are high in every basis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, Mask, Whole, one_of, whole_number, within
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, question
from genlaws.models.stream import Site, Stream
from genlaws.residual_stream.measures.curves import ONE_TEXT, SiteCurve, finite_mean, jackknife_interval, named
from genlaws.residual_stream.measures.reducers import StreamReducer, merged_scatter, refuse_texts
from genlaws.residual_stream.parameters import (
    TextNumbers,
)

TEXT_GROUPS = 20  # 19 degrees of freedom: intervals 7 % wider than with infinitely many groups
MIN_ROWS = 3  # two points always lie on a line
MAX_CORRELATION = 1.0 - 1e-15  # Fisher's z is finite up to here


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

    def about(self, center: Array, site: int) -> tuple[Array, Array]:
        """Return sums of deviations from a center (units,) and of their squares at a site, both (groups, units)."""
        deviation = self.means[:, site] - center
        weight = self.counts[:, None]
        return weight * deviation, self.squares[:, site] + weight * deviation**2

    def products_about(self, center: Array, next_center: Array, site: int) -> Array:
        """Return sums of products of deviations from two centers (units,) at a site and the next, (groups, units)."""
        deviations = (self.means[:, site] - center) * (self.means[:, site + 1] - next_center)
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


class UnitReducer(StreamReducer):
    """Accumulates `UnitSums`: three numbers per unit, site and group.

    Parameters
    ----------
    sites : sequence of Site, optional
    groups : int >= 2
        Texts are assigned to this many groups in turn. Intervals are from a jackknife over the groups, which needs only
        their sums and is valid for few groups with Student's t, where a bootstrap over the groups would be too narrow.
    """

    def __init__(self, sites: Sequence[Site] | None = None, *, groups: int = TEXT_GROUPS) -> None:
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
        for group in range(other.groups):  # one at a time: two groups of the other may join the same one here
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
        sums = (self._counts[full], self._means[full], self._squares[full], self._products[full])
        return UnitSums(self.sites, *sums, self.text_count, self.precision)


def unit_sums_of(source: Stream | UnitSums, texts: TextNumbers = None) -> UnitSums:
    """Return the sums of a stream; the result of a reducer is returned unchanged."""
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


@dataclass(frozen=True)
class CorrelationHistogram:
    """Histogram of the correlations of each unit, or of each step.

    Attributes
    ----------
    edges : array (bins + 1,)
    shares : array (units, bins) or (steps, bins)
        Of the correlations that have a value; a row that has none is NaN.
    per : {"unit", "step"}
    """

    edges: Array
    shares: Array
    per: str

    def to_frame(self) -> DataFrame:
        """Return one row per unit or step and bin."""
        rows, bins = self.shares.shape
        columns = {self.per: np.repeat(np.arange(rows), bins), "low": np.tile(self.edges[:-1], rows)}
        return frame_of({**columns, "high": np.tile(self.edges[1:], rows), "share": self.shares.ravel()})


@dataclass(frozen=True, eq=False, repr=False)
class UnitCorrelations(Result):
    """Correlation of every unit with itself one site later.

    Attributes
    ----------
    r, low, high : array (steps, units)
        Pearson's r over the texts with 95 % intervals; NaN where the unit is constant at one of the two sites.
    mean : SiteCurve
        Mean over the units that have a value.
    constant : array of bool (sites, units)
        Where a unit is the same in all texts, up to rounding.
    sites : tuple of Site
    message : str
        Where units are constant, or why there are no values or intervals.
    """

    r: Array
    low: Array
    high: Array
    mean: SiteCurve
    constant: Mask
    sites: tuple[Site, ...]
    message: str

    def histogram(self, bins: int = 20, *, low: float = -1.0, per: str = "unit") -> CorrelationHistogram:
        """Return the histogram of r over the steps of each unit, or over the units of each step.

        Parameters
        ----------
        bins : int >= 1
        low : float in [-1, 1)
            Left end of the first bin, 0 in the paper; shares to the left of it are in no bin.
        per : {"unit", "step"}
        """
        count = whole_number("bins", bins, at_least=1)
        left = float(within("low", low, -1.0, 1.0, open_high=True))
        rows = self.r.T if one_of("per", per, ("unit", "step")) == "unit" else self.r
        edges = np.linspace(left, 1.0, count + 1)
        place = np.minimum(np.searchsorted(edges, rows, side="right") - 1, count - 1)  # 1 belongs to the last bin
        valid = np.isfinite(rows)
        inside = valid & (place >= 0)
        flat = (np.arange(rows.shape[0])[:, None] * count + place)[inside]
        counts = np.bincount(flat, minlength=rows.shape[0] * count).reshape(-1, count)
        total = valid.sum(axis=1, keepdims=True)
        return CorrelationHistogram(edges, counts / np.where(total > 0, total, np.nan), per)

    def to_frame(self) -> DataFrame:
        """Return one row per step and unit; a step has the name of the site it starts from."""
        return frame_of(unit_table(self.sites[:-1], {"r": self.r, "low": self.low, "high": self.high}))


@question
def unit_correlations(source: Stream | UnitSums, *, texts: TextNumbers = None) -> UnitCorrelations:
    r"""Return Pearson's r over the texts of every unit between each site and the next.

    .. math:: r_l^u = \frac{\sum_b (h_{l,b}-\bar h_l)(h_{l+1,b}-\bar h_{l+1})}
        {\sqrt{\sum_b (h_{l,b}-\bar h_l)^2\,\sum_b (h_{l+1,b}-\bar h_{l+1})^2}}

    Intervals are from a jackknife over groups of texts; for a unit on Fisher's scale, artanh r.

    Parameters
    ----------
    source : Stream or UnitSums
    texts : whole numbers (rows,), optional
        Number of the text of each row of a Stream; without it every row is a text of its own.
    """
    sums = unit_sums_of(source, texts)
    center, smallest = sums.mean, sums.smallest_square()
    steps = [_correlations_of_step(sums, center, smallest, site) for site in range(len(sums.sites) - 1)]
    r = np.stack([whole for whole, _ in steps])
    ends = [jackknife_interval(_fisher(whole), _fisher(left_out)) for whole, left_out in steps]
    low, high = (np.tanh(np.stack(end)) for end in zip(*ends, strict=True))
    mean = finite_mean(r)
    mean_low, mean_high = jackknife_interval(mean, np.stack([finite_mean(left) for _, left in steps], axis=1))
    constant = sums.constant
    message = _correlation_message(sums, constant)
    names = tuple(site.name for site in sums.sites)
    curve = SiteCurve.from_arrays("correlation", names[:-1], (mean, mean_low, mean_high), sums.text_count, message)
    return UnitCorrelations(r, low, high, curve, constant, sums.sites, message)


def _correlations_of_step(sums: UnitSums, center: Array, smallest: Array, site: int) -> tuple[Array, Array]:
    """Return r (units,) of all rows, and r (groups, units) without each group."""
    first, first_squares = sums.about(center[site], site)
    second, second_squares = sums.about(center[site + 1], site + 1)
    products = sums.products_about(center[site], center[site + 1], site)

    def correlation(x: Array, y: Array, xx: Array, yy: Array, xy: Array, *, rows: Array) -> Array:
        """Return r from sums about the center; NaN where the spread is no more than rounding."""
        safe = np.maximum(rows, 1)
        x_spread, y_spread = xx - x**2 / safe, yy - y**2 / safe
        varies = (x_spread > rows * smallest[site]) & (y_spread > rows * smallest[site + 1]) & (rows >= MIN_ROWS)
        below = np.sqrt(np.where(varies, x_spread, np.nan)) * np.sqrt(np.where(varies, y_spread, np.nan))
        return np.asarray(np.clip((xy - x * y / safe) / below, -1.0, 1.0))  # rounding may slightly exceed 1

    groups = (first, second, first_squares, second_squares, products)
    totals = [group_sums.sum(axis=0) for group_sums in groups]
    others = [total - group_sums for total, group_sums in zip(totals, groups, strict=True)]
    rows = sums.counts[:, None]
    return correlation(*totals, rows=rows.sum(axis=0)), correlation(*others, rows=rows.sum(axis=0) - rows)


def _fisher(r: Array) -> Array:
    return np.arctanh(np.clip(r, -MAX_CORRELATION, MAX_CORRELATION))


def _correlation_message(sums: UnitSums, constant: Mask) -> str:
    if sums.counts.sum() < MIN_ROWS:
        return f"A correlation needs at least {MIN_ROWS} texts, so r has no value."
    sentences = []
    where = [
        f"{site.name} ({count} of {constant.shape[1]} units)"
        for site, count in zip(sums.sites, constant.sum(axis=1), strict=True)
        if count
    ]
    if where:
        sentences.append(
            f"Constant over the texts, so that r has no value there: {named(where)}. A first site is constant where "
            "all texts end with the same token."
        )
    if sums.text_count == 1:
        sentences.append(ONE_TEXT)
    return " ".join(sentences)
