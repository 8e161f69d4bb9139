"""Checks of the gradients of the relations paper, Eqs. 6 to 8 and Appendix C, by central differences."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import integrate

from genlaws.claims.claim import Finding
from genlaws.claims.verdict_rules import corrected_if, holds_if
from genlaws.numerics.arguments import Array

ETA_X, ETA_A = 0.7, 0.4  # rates of the repons and of the decoder
STEP = 1e-5  # of a central difference
DIFFERENCE = 1e-7  # what its error may be
AT_REST = 1e-4


class Pair(NamedTuple):
    """Two repons, their decoder and the target."""

    decoder: Array
    bias: Array
    first: Array
    second: Array
    target: Array


def loss(pair: Pair) -> float:
    """Return Eq. 6."""
    misses = (pair.decoder @ one + pair.bias - pair.target for one in (pair.first, pair.second))
    return 0.5 * float(sum(miss @ miss for miss in misses))


def gradient(pair: Pair, name: str) -> Array:
    """Return the derivative of Eq. 6 with respect to one part, by central differences."""
    value: Array = getattr(pair, name)
    slope = np.empty_like(value)
    for place in np.ndindex(value.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = value.copy()
            moved[place] += sign * STEP
            ends.append(loss(pair._replace(**{name: moved})))
        slope[place] = (ends[0] - ends[1]) / (2.0 * STEP)
    return slope


def draw_pair(seed: int, dimension: int = 3) -> Pair:
    """Return standard normal parts."""
    rng = np.random.default_rng(seed)
    shapes = ((dimension, dimension), dimension, dimension, dimension, dimension)
    return Pair(*(rng.standard_normal(shape) for shape in shapes))


def check_eq_8(quick: bool) -> Finding:
    """Differentiate Eq. 6 numerically where the bias is at its best value, and compare with Eq. 8."""
    worst = 0.0
    for seed in range(3 if quick else 30):
        pair = _fitted(draw_pair(seed))
        r = 0.5 * (pair.first - pair.second)
        decoder = gradient(pair, "decoder") - 2.0 * np.outer(pair.decoder @ r, r)
        moves = 0.5 * (gradient(pair, "first") - gradient(pair, "second"))
        worst = max(worst, np.abs(decoder).max(), np.abs(moves - pair.decoder.T @ pair.decoder @ r).max())
    numbers = {"largest difference": worst, "allowed": DIFFERENCE}
    return holds_if(
        bool(worst < DIFFERENCE), numbers, "Eq. 8 is the gradient of Eq. 6 with the bias at its best value."
    )


def _fitted(pair: Pair) -> Pair:
    """Return the pair with the bias at its best value."""
    return pair._replace(bias=pair.target - pair.decoder @ (pair.first + pair.second) / 2.0)


def check_bias_equation(quick: bool) -> Finding:
    """Differentiate Eq. 6 with respect to the bias and compare with Eq. C1."""
    pair = draw_pair(3)
    found, both = gradient(pair, "bias"), pair.decoder @ (pair.first + pair.second)
    printed = np.abs(found - (both + pair.bias - pair.target)).max()
    right = np.abs(found - (both + 2.0 * (pair.bias - pair.target))).max()
    numbers = {"difference from the printed form": printed, "from the form with 2(b - y)": right}
    return corrected_if(
        bool(printed < DIFFERENCE),
        bool(right < DIFFERENCE),
        numbers,
        "db/dt = -η_A (A(x1 + x2) + 2(b - y)); the solution the paper goes on with needs the 2.",
    )


def check_centre(quick: bool) -> Finding:
    """Start with x1 + x2 = 0 and a bias of zero, and see whether the centre stays where it was."""

    def velocity(_: float, state: Array) -> list[float]:
        """Return the whole flow of Eq. 7 in one dimension."""
        a, b, x1, x2 = state
        miss = a * x1 + b - 1.0, a * x2 + b - 1.0
        moves = [miss[0] * x1 + miss[1] * x2, miss[0] + miss[1], miss[0] * a, miss[1] * a]
        return [-rate * move for rate, move in zip((ETA_A, ETA_A, ETA_X, ETA_X), moves, strict=True)]

    end = integrate.solve_ivp(velocity, (0.0, 50.0), [0.8, 0.0, 0.5, -0.5], rtol=1e-9, atol=1e-11).y[:, -1]
    pair = _fitted(draw_pair(4))  # any centre, the bias at its best value
    r = 0.5 * (pair.first - pair.second)
    exact = np.abs(gradient(pair, "decoder") - 2.0 * np.outer(pair.decoder @ r, r)).max()
    numbers = {"centre at the end, from 0": 0.5 * (end[2] + end[3]), "Eq. 8 with the best bias, difference": exact}
    return corrected_if(
        abs(0.5 * (end[2] + end[3])) < AT_REST,
        bool(exact < DIFFERENCE),
        numbers,
        "The centre moves while the bias is not at its best value, so it cannot be chosen to be zero. Eq. 8 holds for "
        "any centre if the bias always is, as when it learns much faster than the rest.",
    )
