"""How strongly every unit is correlated with itself one site later.

High correlations are no sign of a privileged basis by themselves: where steps are small, they are high in every basis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, Mask, one_of, whole_number, within
from genlaws.residual_stream.curves import ONE_TEXT, Curve, jackknife_interval, named
from genlaws.residual_stream.stream import Site, Stream
from genlaws.residual_stream.unit_sums import UnitSums, unit_sums_of, unit_table

if TYPE_CHECKING:
    import pandas as pd

FEWEST_ROWS = 3  # two points always lie on a line
LARGEST_R = 1.0 - 1e-15  # Fisher's z is finite up to here


@dataclass(frozen=True)
class CorrelationHistogram:
    """How the correlations of each unit, or of each step, are spread.

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

    def to_frame(self) -> pd.DataFrame:
        """Return one row per unit or step and bin."""
        import pandas as pd  # noqa: PLC0415

        rows, bins = self.shares.shape
        columns = {self.per: np.repeat(np.arange(rows), bins), "low": np.tile(self.edges[:-1], rows)}
        return pd.DataFrame({**columns, "high": np.tile(self.edges[1:], rows), "share": self.shares.ravel()})


@dataclass(frozen=True)
class UnitCorrelations:
    """Correlation of every unit with itself one site later.

    Attributes
    ----------
    r, low, high : array (steps, units)
        Pearson's r over the texts with 95 % intervals; NaN where the unit is constant at one of the two sites.
    mean : Curve
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
    mean: Curve
    constant: Mask
    sites: tuple[Site, ...]
    message: str

    def histogram(self, bins: int = 20, *, low: float = -1.0, per: str = "unit") -> CorrelationHistogram:
        """Return the spread of r over the steps of each unit, or over the units of each step.

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

    def to_frame(self) -> pd.DataFrame:
        """Return one row per step and unit; a step has the name of the site it starts from."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(unit_table(self.sites[:-1], {"r": self.r, "low": self.low, "high": self.high}))


def unit_correlations(source: Stream | UnitSums, *, texts: ArrayLike | None = None) -> UnitCorrelations:
    r"""Return Pearson's r over the texts of every unit between each site and the next.

    .. math:: r_l^u = \frac{\sum_b (h_{l,b}-\bar h_l)(h_{l+1,b}-\bar h_{l+1})}
        {\sqrt{\sum_b (h_{l,b}-\bar h_l)^2\,\sum_b (h_{l+1,b}-\bar h_{l+1})^2}}

    Intervals: groups of texts are left out one after the other; for a unit on Fisher's scale, artanh r.

    Parameters
    ----------
    source : Stream or UnitSums
    texts : whole numbers (rows,), optional
        Number of the text of each row of a Stream; without it every row is a text of its own.
    """
    sums = unit_sums_of(source, texts)
    centre, smallest = sums.mean, sums.smallest_square()
    steps = [_correlations_of_step(sums, centre, smallest, site) for site in range(len(sums.sites) - 1)]
    r = np.stack([whole for whole, _ in steps])
    ends = [jackknife_interval(_fisher(whole), _fisher(left_out)) for whole, left_out in steps]
    low, high = (np.tanh(np.stack(end)) for end in zip(*ends, strict=True))
    mean = _mean_over_units(r)
    mean_low, mean_high = jackknife_interval(mean, np.stack([_mean_over_units(left) for _, left in steps], axis=1))
    constant = sums.constant
    message = _correlation_message(sums, constant)
    names = tuple(site.name for site in sums.sites)
    curve = Curve("correlation", names[:-1], mean, mean_low, mean_high, sums.text_count, message)
    return UnitCorrelations(r, low, high, curve, constant, sums.sites, message)


def _correlations_of_step(sums: UnitSums, centre: Array, smallest: Array, site: int) -> tuple[Array, Array]:
    """Return r (units,) of all rows, and r (groups, units) without each group."""
    first, first_squares = sums.about(centre[site], site)
    second, second_squares = sums.about(centre[site + 1], site + 1)
    products = sums.products_about(centre[site], centre[site + 1], site)

    def correlation(x: Array, y: Array, xx: Array, yy: Array, xy: Array, *, rows: Array) -> Array:
        """Return r from sums about the centre; NaN where the spread is no more than rounding."""
        safe = np.maximum(rows, 1)
        x_spread, y_spread = xx - x**2 / safe, yy - y**2 / safe
        varies = (x_spread > rows * smallest[site]) & (y_spread > rows * smallest[site + 1]) & (rows >= FEWEST_ROWS)
        below = np.sqrt(np.where(varies, x_spread, np.nan)) * np.sqrt(np.where(varies, y_spread, np.nan))
        return np.asarray(np.clip((xy - x * y / safe) / below, -1.0, 1.0))  # rounding may lead a little past 1

    groups = (first, second, first_squares, second_squares, products)
    totals = [group_sums.sum(axis=0) for group_sums in groups]
    others = [total - group_sums for total, group_sums in zip(totals, groups, strict=True)]
    rows = sums.counts[:, None]
    return correlation(*totals, rows=rows.sum(axis=0)), correlation(*others, rows=rows.sum(axis=0) - rows)


def _fisher(r: Array) -> Array:
    return np.arctanh(np.clip(r, -LARGEST_R, LARGEST_R))


def _mean_over_units(r: Array) -> Array:
    """Return the mean over the last axis of what is not NaN."""
    finite = np.isfinite(r)
    count = finite.sum(axis=-1)
    return np.asarray(np.where(finite, r, 0.0).sum(axis=-1) / np.where(count > 0, count, np.nan))


def _correlation_message(sums: UnitSums, constant: Mask) -> str:
    if sums.counts.sum() < FEWEST_ROWS:
        return f"A correlation needs at least {FEWEST_ROWS} texts, so r has no value."
    sentences = []
    where = [
        f"{site.name} ({count} of {constant.shape[1]} units)"
        for site, count in zip(sums.sites, constant.sum(axis=1), strict=True)
        if count
    ]
    if where:
        sentences.append(
            f"Constant over the texts, so that r has no value there: {named(where)}. "
            "A first site is constant where all texts end with the same token."
        )
    if sums.text_count == 1:
        sentences.append(ONE_TEXT)
    return " ".join(sentences)
