r"""How a verdict follows from a number, its interval and the surrogates beside it.

One rule for all. A claim is a number on one side of a limit.

- *not tested here*: the number was not measured, or has no interval;
- *undecided*: its interval has the limit inside;
- *does not hold*: its interval lies on the other side;
- *holds, but so it does for the surrogate*: a surrogate is on the claim's side of the limit as well, and the interval
  of the number is not wholly beyond the surrogate's;
- *holds*: otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.intervals import Estimate, from_replicates
from genlaws.residual_stream.analysis_results import (
    DOES_NOT_HOLD,
    HOLDS,
    NOT_TESTED,
    SO_DOES_THE_SURROGATE,
    UNDECIDED,
    Claim,
)
from genlaws.residual_stream.curves import Curve
from genlaws.residual_stream.surrogates import LEVEL, Comparison, SurrogateTest

WALKS = ("random walk", "step signs")  # surrogates of a path that goes nowhere in particular
NONE = "none asked for"


def verdict_of(observed: Estimate, surrogates: Mapping[str, Estimate], limit: float) -> tuple[str, str]:
    """Return the verdict on a claim that a number lies above a limit, and the name of the surrogate it rests on.

    Parameters
    ----------
    observed : Estimate
    surrogates : mapping from name to Estimate
        Those without a value are left out; one without an interval counts as a point.
    limit : float
    """
    if math.isnan(observed.value) or not math.isfinite(observed.low + observed.high):
        return NOT_TESTED, ""
    if observed.high <= limit:
        return DOES_NOT_HOLD, ""
    if observed.low <= limit:
        return UNDECIDED, ""
    for name, one in surrogates.items():
        low, high = (one.value if math.isnan(end) else end for end in (one.low, one.high))
        if low > limit and not observed.low > high:
            return SO_DOES_THE_SURROGATE, name
    return HOLDS, ""


def mean_over_steps(curve: Curve) -> Estimate:
    """Return the mean over the points that have a value; its interval is the mean of theirs, so rather too wide."""
    known = np.isfinite(curve.value)
    if not known.any():
        return Estimate(math.nan)
    value, low, high = (float(np.mean(one[known])) for one in (curve.value, curve.low, curve.high))
    return Estimate(value, low, high, curve.count)


def change_over(value: Array, low: Array, high: Array, pairs: list[tuple[int, int]], count: int) -> Estimate:
    """Return the mean change over pairs of steps, errors added as if independent."""
    change = float(np.mean([value[late] - value[early] for early, late in pairs]))
    half = 0.5 * (high - low)
    width = math.sqrt(sum(float(half[one]) ** 2 for pair in pairs for one in pair)) / len(pairs)
    return Estimate(change, change - width, change + width, count)


def walks_of(test: SurrogateTest | None) -> dict[str, Comparison]:
    """Return the comparisons of the mean over entries with walks."""
    if test is None:
        return {}
    return {name: one for name, one in test.of_mean().against.items() if name in WALKS}


def above_surrogate(one: Comparison, apart: float = 0.0, sign: float = 1.0) -> bool:
    """Say whether the observed value is larger than the surrogate's by so much, and at half the usual level."""
    return bool(sign * (one.observed - one.mean) > apart and one.p_value <= 0.5 * LEVEL)


def estimate_of(one: Comparison) -> Estimate:
    """Return the mean of a surrogate with the interval of its draws."""
    return from_replicates(float(one.mean), one.draws.ravel(), len(one.draws))


def minus(one: Estimate) -> Estimate:
    """Return a number with the other sign."""
    return replace(one, value=-one.value, low=-one.high, high=-one.low)


def listed(surrogates: Mapping[str, Estimate], before: str = "") -> str:
    """Return numbers in a row, each after its name."""
    return "; ".join(f"{name} {before}{one}" for name, one in surrogates.items()) or NONE


def untested(name: str, says: str, why: str) -> Claim:
    """Return a claim that was not tested."""
    return Claim(name, says, "", "", NOT_TESTED, why)


def straddles(limit: float) -> str:
    """Return why an interval decides nothing."""
    return f"The interval has {limit:g} inside: more texts would decide."
