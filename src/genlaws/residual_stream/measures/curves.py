"""A quantity along the layers with its interval, from independent texts or from groups of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from genlaws.core.arguments import Array, Whole, whole_number
from genlaws.core.estimate import CONFIDENCE, MAX_DRAWS_AT_ONCE, Estimate
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.seeds import generator_of

TEXT_BOOTSTRAP_REPLICATES = 1000
ONE_TEXT = "There is one text only, so the values have no intervals."
TAIL_PROBABILITY = 0.5 * (1.0 - CONFIDENCE)


def no_numbers() -> Array:
    """Return the empty array that stands for numbers which are in the tables of a result, but not in its JSON."""
    return np.empty(0)


@dataclass(frozen=True)
class SiteCurve:
    """A quantity at sites, or at steps between them, with 95 % intervals over the texts.

    Attributes
    ----------
    name : str
    labels : tuple of str
        Names of the sites; a step has the name of the site it starts from, an angle between two steps that of the site
        between.
    estimates : tuple of Estimate
        One for each label; NaN where there is no value or no interval.
    message : str
        Where and why there is no value or no interval; empty if there is nothing to report.
    """

    name: str
    labels: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    message: str = ""

    @classmethod
    def from_arrays(
        cls, name: str, labels: Sequence[str], ends: Iterable[Array], count: int, message: str = ""
    ) -> SiteCurve:
        """Return the curve of three arrays: values, and the ends of their intervals over `count` texts."""
        value, low, high = (end.tolist() for end in ends)
        rows = zip(value, low, high, strict=True)
        return cls(name, tuple(labels), tuple(Estimate(*row, count) for row in rows), message)

    def __getitem__(self, point: int) -> Estimate:
        """Return the value at one point, with its interval."""
        return self.estimates[point]

    def __iter__(self) -> Iterator[Estimate]:
        """Yield the value at each point, with its interval."""
        return iter(self.estimates)

    def __str__(self) -> str:
        """Return the first and the last number that has a value."""
        known = [one for one in self.estimates if not math.isnan(one.value)]
        if not known:
            return "no value"
        counted = f" (n = {known[-1].count})" if known[-1].count else ""
        return f"{str(known[0]).removesuffix(counted)} at first, {known[-1]} at last"

    @property
    def value(self) -> Array:
        """Values at the points."""
        return np.array([one.value for one in self.estimates])

    @property
    def low(self) -> Array:
        """Lower ends of the intervals."""
        return np.array([one.low for one in self.estimates])

    @property
    def high(self) -> Array:
        """Upper ends of the intervals."""
        return np.array([one.high for one in self.estimates])

    @property
    def count(self) -> int:
        """Number of texts."""
        return max((one.count for one in self.estimates), default=0)

    def to_frame(self) -> DataFrame:
        """Return one row per point."""
        columns = {"measure": self.name, "site": self.labels, "value": self.value, "low": self.low, "high": self.high}
        return frame_of(columns)


def mean_curve(name: str, labels: Sequence[str], values: Array, texts: Whole, *, seed: int = 0) -> SiteCurve:
    """Return the means of columns (rows, points) over rows that have a value, with bootstrap intervals over texts."""
    return SiteCurve.from_arrays(name, labels, bootstrap_means(values, texts, seed=seed), int(np.unique(texts).size))


def curve_of(name: str, labels: Sequence[str], values: Array, texts: Whole, *, seed: int = 0) -> SiteCurve:
    """Return the same as `mean_curve`, with a message where lengths or intervals are missing."""
    found = mean_curve(name, labels, values, texts, seed=seed)
    message = ONE_TEXT if found.count == 1 else ""
    empty = [label for label, number in zip(labels, found.value, strict=True) if np.isnan(number)]
    if empty:
        message = " ".join([f"{name} has no value at {named(empty)}, where a length is zero in all texts.", message])
    return replace(found, message=message.strip())


def named(labels: Sequence[str], most: int = 3) -> str:
    """Return names separated by commas, at most the first few."""
    shown = ", ".join(labels[:most])
    return shown if len(labels) <= most else f"{shown} and {len(labels) - most} more"


def bootstrap_means(
    values: Array, texts: Whole, *, replicates: int = TEXT_BOOTSTRAP_REPLICATES, seed: int | np.random.Generator = 0
) -> tuple[Array, Array, Array]:
    r"""Return the means of columns with bootstrap intervals over texts: whole texts are drawn, with all their rows.

    The interval runs between the quantiles of the drawn means at :math:`\Phi(\mp\sqrt{n/(n-1)}\;t_{n-1})`, which for
    many texts is 2.5 % and 97.5 %; for few texts the plain quantiles would be too narrow (Hesterberg 2015).

    Parameters
    ----------
    values : array (rows, points)
        NaN is left out.
    texts : array of int (rows,)
        Number of the text of each row.
    replicates : int >= 20
    seed : int or Generator

    Returns
    -------
    value, low, high : arrays (points,)
        The ends are NaN for a point with fewer than two texts.
    """
    whole_number("replicates", replicates, at_least=20)
    generator = generator_of(seed)
    sums, counts = _by_text(values, texts)
    n = sums.shape[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        value = sums.sum(axis=0) / counts.sum(axis=0)
        missing = np.full_like(value, np.nan)
        if n == 1:
            return value, missing, missing
        rows = max(1, min(replicates, MAX_DRAWS_AT_ONCE // n))
        blocks = [min(rows, replicates - start) for start in range(0, replicates, rows)]
        drawn = [generator.multinomial(n, np.full(n, 1.0 / n), size).astype(np.float64) for size in blocks]
        means = np.concatenate([(weights @ sums) / (weights @ counts) for weights in drawn])
    level = float(special.ndtr(np.sqrt(n / (n - 1.0)) * special.stdtrit(n - 1, TAIL_PROBABILITY)))
    low, high = np.nanquantile(np.where(counts.any(axis=0), means, 0.0), [level, 1.0 - level], axis=0)
    enough = (counts > 0).sum(axis=0) >= 2
    return value, np.where(enough, low, np.nan), np.where(enough, high, np.nan)


def _by_text(values: Array, texts: Whole) -> tuple[Array, Array]:
    """Return sums of the finite values of each text, and how many there are, both (texts, points)."""
    finite = np.isfinite(values)
    known, present = np.where(finite, values, 0.0), finite.astype(np.float64)
    if np.unique(texts).size == texts.size:
        return known, present
    return sums_by_text(known, texts), sums_by_text(present, texts)


def sums_by_text(values: Array, texts: Whole) -> Array:
    """Return the sum over the rows of each text, (texts, ...), texts in the order of their numbers."""
    numbers, members = np.unique(texts, return_inverse=True)
    sums = np.zeros((numbers.size, *values.shape[1:]))
    np.add.at(sums, members, values)
    return sums


def finite_mean(values: Array) -> Array:
    """Return the mean over the last axis of the finite values, NaN where there are none."""
    finite = np.isfinite(values)
    count = finite.sum(axis=-1)
    return np.asarray(np.where(finite, values, 0.0).sum(axis=-1) / np.where(count > 0, count, np.nan))


def jackknife_interval(value: Array, left_out: Array) -> tuple[Array, Array]:
    r"""Return the ends of the interval of a statistic from its values without each group, (groups, ...).

    .. math:: \hat\theta \mp t_{G-1}\sqrt{\tfrac{G-1}{G}\textstyle\sum_g (\hat\theta_{-g}-\bar\theta)^2}

    NaN where a value without a group is missing, or with a single group.
    """
    groups = left_out.shape[0]
    if groups < 2:
        return np.full_like(value, np.nan), np.full_like(value, np.nan)
    spread = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    half = float(special.stdtrit(groups - 1, 1.0 - TAIL_PROBABILITY)) * np.sqrt((groups - 1.0) / groups * spread)
    return value - half, value + half
