"""A number with its interval, and how it is printed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from genlaws.core.arguments import Array, whole_number
from genlaws.core.seeds import generator_of

CONFIDENCE = 0.95
INTERVAL_MEANING = f"± is half the width of a {100 * CONFIDENCE:g} % interval, written [low, high] if not symmetric."
MAX_DRAWS_AT_ONCE = 4_000_000  # random numbers in memory
MAX_DIGITS = 6
NO_VALUE = "–"
ZERO_TOLERANCE = 1e-6  # smaller numbers with smaller ends are printed as 0
NARROW_INTERVAL = 1e-5  # relative width below the printed digits
FIXED_POINT_MIN, FIXED_POINT_MAX = 1e-4, 1e6  # other sizes are printed with a power of ten


@dataclass(frozen=True)
class Estimate:
    """A value with an interval.

    Attributes
    ----------
    value : float
    low, high : float
        Ends of the interval; NaN if there is none.
    count : int
        Number of independent samples (stimuli, batches, trials) behind it.
    level : float
        How often such intervals contain the true value.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    count: int = 0
    level: float = CONFIDENCE

    def __str__(self) -> str:
        level = [f"{100 * self.level:.3g} %"] * math.isfinite(self.low + self.high)
        known = ", ".join([*level, *[f"n = {self.count}"] * bool(self.count)])
        return f"{self.brief} ({known})" if known else self.brief

    @property
    def brief(self) -> str:
        """The value and its interval without the level and the count, for a text that states them once."""
        if not math.isfinite(self.low + self.high):
            return f"{self.value:.4g}"
        half = 0.5 * (self.high - self.low)
        form = _format_spec(max(abs(self.low), abs(self.high)), half)
        if abs((self.high - self.value) - (self.value - self.low)) <= 0.1 * half:
            return f"{self.value:{form}} ± {half:{form if form.endswith('f') else '.1e'}}"
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"


def _format_spec(size: float, half: float) -> str:
    """Return the format specification for numbers of this size: two digits of the interval's half width."""
    if size == 0 or FIXED_POINT_MIN <= size < FIXED_POINT_MAX:
        digits = 1 - math.floor(math.log10(half)) if half > 0 else MAX_DIGITS
        return f".{min(max(0, digits), MAX_DIGITS)}f"
    digits = math.floor(math.log10(size)) - math.floor(math.log10(half)) + 1 if half > 0 else MAX_DIGITS
    return f".{min(max(1, digits), MAX_DIGITS)}e"


def format_estimate(given: Estimate, unit: str = "") -> str:
    """Return a value with its interval and unit; open ends are printed as infinite."""
    if not math.isfinite(given.value):
        return NO_VALUE
    ends = (given.low, given.high)
    if max(abs(given.value), *(abs(end) for end in ends)) < ZERO_TOLERANCE:
        text = "0"
    elif any(math.isinf(end) for end in ends) and not any(math.isnan(end) for end in ends):
        low, high = (f"{end:.3g}".replace("inf", "∞").replace("-", "−") for end in ends)
        text = f"{given.value:.3g} [{low}, {high}]"
    elif 0.0 <= given.high - given.low < NARROW_INTERVAL * abs(given.value):
        text = f"{given.value:.5g}"
    else:
        text = re.sub(r"-?\b0\.0+(?![0-9])", "0", given.brief)
    return f"{text} {unit}".rstrip()


def format_percent(given: Estimate) -> str:
    """Return a share with its interval in per cent."""
    if not math.isfinite(given.value):
        return NO_VALUE
    value, low, high = (f"{100.0 * end:.1f}" for end in (given.value, given.low, given.high))
    return f"{value} %" if math.isnan(given.low + given.high) else f"{value} % [{low}, {high}]"


def interval_columns(name: str, found: Estimate) -> dict[str, float]:
    """Return an estimate as three columns of a table: the value, and the ends of its interval."""
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def from_standard_error(value: float, error: float, count: int, freedom: float | None = None) -> Estimate:
    """Return the interval of Student's t around `value`, with `count` - 1 degrees of freedom by default."""
    degrees = count - 1 if freedom is None else freedom
    if not math.isfinite(error) or degrees < 1:
        return Estimate(value, count=count)
    half = float(special.stdtrit(degrees, 0.5 * (1.0 + CONFIDENCE))) * error
    return Estimate(value, value - half, value + half, count)


def mean_estimate(values: ArrayLike) -> Estimate:
    """Return the mean of independent values with Student's interval.

    Values that are not finite are ignored. Fewer than two values have no interval.
    """
    given = np.asarray(values, dtype=np.float64).ravel()
    finite = given[np.isfinite(given)]
    if finite.size < 2:
        return Estimate(float(finite[0]) if finite.size else math.nan, count=finite.size)
    return from_standard_error(float(finite.mean()), float(finite.std(ddof=1) / np.sqrt(finite.size)), finite.size)


def mean_estimates(values: Array) -> list[Estimate]:
    """Return the mean of each column of independent rows, at least two of them, with Student's interval."""
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return [
        from_standard_error(float(mean), float(error), len(values))
        for mean, error in zip(values.mean(axis=0), errors, strict=True)
    ]


def from_replicates(value: float, replicates: ArrayLike, count: int) -> Estimate:
    """Return the percentile interval of bootstrap replicates; replicates that are not finite are ignored."""
    given = np.asarray(replicates, dtype=np.float64)
    finite = given[np.isfinite(given)]
    if finite.size < 0.5 * given.size or finite.size < 20:
        return Estimate(value, count=count)
    low, high = np.quantile(finite, [0.5 * (1.0 - CONFIDENCE), 0.5 * (1.0 + CONFIDENCE)])
    return Estimate(value, float(low), float(high), count)


def bootstrap_mean(values: ArrayLike, *, replicates: int = 2000, seed: int | np.random.Generator = 0) -> Estimate:
    """Return the mean of independent values with its percentile bootstrap interval.

    Values that are not finite are ignored. Fewer than two values have no interval. The replicates are drawn in blocks
    to limit memory.
    """
    given = np.asarray(values, dtype=np.float64).ravel()
    finite = given[np.isfinite(given)]
    if finite.size < 2:
        return Estimate(float(finite.mean()) if finite.size else math.nan, count=finite.size)
    generator = generator_of(seed)
    whole_number("replicates", replicates, at_least=20)
    rows = max(1, min(replicates, MAX_DRAWS_AT_ONCE // finite.size))
    means = [
        finite[generator.integers(0, finite.size, (min(rows, replicates - start), finite.size))].mean(axis=1)
        for start in range(0, replicates, rows)
    ]
    return from_replicates(float(finite.mean()), np.concatenate(means), finite.size)


def jackknife_error(left_out: Array) -> float:
    r"""Return the jackknife standard error from leave-one-out estimates.

    .. math:: \sqrt{\tfrac{N-1}{N}\textstyle\sum_i (U_{-i}-\bar U)^2}
    """
    finite = left_out[np.isfinite(left_out)]
    if finite.size < 2:
        return math.nan
    return float(np.sqrt((finite.size - 1.0) / finite.size * ((finite - finite.mean()) ** 2).sum()))


def wilson_interval(successes: int, count: int) -> Estimate:
    r"""Return the fraction of successes among independent runs with Wilson's 95 % interval.

    .. math:: \frac{\hat p + \frac{z^2}{2n} \pm z\sqrt{\frac{\hat p(1-\hat p)}{n} + \frac{z^2}{4n^2}}}{1 + z^2/n}

    Parameters
    ----------
    successes : int in [0, count]
    count : int >= 1
    """
    n = whole_number("count", count, at_least=1)
    k = whole_number("successes", successes, at_most=n)
    z = float(special.ndtri(0.5 * (1.0 + CONFIDENCE)))
    share, widening = k / n, z**2 / n
    middle = (share + 0.5 * widening) / (1.0 + widening)
    half = np.sqrt(share * (1.0 - share) * widening + 0.25 * widening**2) / (1.0 + widening)
    low, high = float(middle - half), float(middle + half)
    return Estimate(share, 0.0 if k == 0 else low, 1.0 if k == n else high, n)
