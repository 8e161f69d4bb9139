"""Both tests for constant similarity by counting how many items fall inside the ball: sums of a binomial law."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
from scipy import stats

from genlaws.numerics.arguments import Array


def by_counting(ball_mass: Array, item_count: int, background: float = 0.0) -> tuple[Array, Array]:
    r"""Return generalisation and identification of n items, for each ball mass.

    With k of the items inside the ball, each of those is chosen with :math:`1/(k+(n-k)\Delta)`; with none inside all
    are alike.
    """
    n, b = item_count, np.asarray(ball_mass, dtype=np.float64)[..., None]
    k = np.arange(n + 1)
    with np.errstate(divide="ignore"):
        chance = np.where(k > 0, 1.0 / (k + (n - k) * background), 1.0 / n)
    others = np.arange(n)
    named = 1.0 / (1.0 + others + (n - 1 - others) * background)
    p_s: Array = (stats.binom.pmf(k, n, b) * chance).sum(axis=-1)
    p_i: Array = (stats.binom.pmf(others, n - 1, b) * named).sum(axis=-1)
    return p_s, p_i


def identification_in_fractions(ball_mass: Fraction, item_count: int) -> Fraction:
    """Return the identification of n items without background as an exact fraction."""
    b, q, m = ball_mass, 1 - ball_mass, item_count - 1
    return sum((Fraction(comb(m, k), k + 1) * b**k * q ** (m - k) for k in range(m + 1)), Fraction(0))


def generalisation_in_fractions(ball_mass: Fraction, item_count: int) -> Fraction:
    """Return the generalisation of n items without background as an exact fraction."""
    b, q, n = ball_mass, 1 - ball_mass, item_count
    some = (Fraction(comb(n, k), k) * b**k * q ** (n - k) for k in range(1, n + 1))
    return q**n / n + sum(some, Fraction(0))
