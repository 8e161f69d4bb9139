"""Bring inputs of any unit to the scale of Gaussian ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError

# Up to this many inputs the median distance is that of all pairs, beyond it that of PAIRS drawn ones, whose rank is
# then within 0.5/√PAIRS, a tenth of a percent, of the middle.
ALL_PAIRS_UP_TO = 2000
PAIRS = 200_000
PAIR_STREAM = 2026
BLOCK = 2**22  # numbers held at once while distances are taken
# Squared distances come out of products of inputs; below this share of the largest square they are rounding.
ROUNDING = 1e-12


def standardised(chosen: NDArray[Any], fresh: NDArray[Any]) -> tuple[Array, Array]:
    """Return both tables in features of mean 0 and variance 1 over the first; its constant features as 0."""
    inputs, others = chosen.astype(np.float64), fresh.astype(np.float64)
    constant = inputs.max(axis=0) == inputs.min(axis=0)
    if constant.all():
        raise InputError(
            f"At least one feature must vary over the training inputs; all {constant.size} are constant over the "
            f"{len(inputs)} drawn."
        )
    # A power of two is taken out of each feature, so that no square overflows or vanishes.
    exponent = -np.frexp(np.abs(inputs).max(axis=0))[1]
    for table in (inputs, others):
        np.ldexp(table, exponent, out=table)
    mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
    deviation[constant] = 1.0
    for table in (inputs, others):
        np.subtract(table, mean, out=table)
        np.divide(table, deviation, out=table)
        table[:, constant] = 0.0
    return inputs, others


def median_squared_distance(inputs: Array) -> float:
    """Return the median of |x - x'|² over pairs of rows; the same rows give the same number."""
    n, d = inputs.shape
    squares: Array = np.einsum("ij,ij->i", inputs, inputs)
    if n <= ALL_PAIRS_UP_TO:
        products = inputs @ inputs.T
        one, other = np.triu_indices(n, 1)
        distances = squares[one] + squares[other] - 2.0 * products[one, other]
    else:
        rng = np.random.default_rng(PAIR_STREAM)
        one = rng.integers(n, size=PAIRS)
        other = (one + 1 + rng.integers(n - 1, size=PAIRS)) % n
        distances = np.empty(PAIRS)
        step = max(1, BLOCK // d)
        for start in range(0, PAIRS, step):
            block = slice(start, start + step)
            apart = inputs[one[block]] - inputs[other[block]]
            np.einsum("ij,ij->i", apart, apart, out=distances[block])
    median = float(np.median(distances))
    if median <= ROUNDING * squares.max():
        raise InputError("More than half of the pairs of training inputs are equal; there is no distance to scale by.")
    return median
