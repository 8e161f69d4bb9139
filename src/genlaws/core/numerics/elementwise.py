"""Roots and minima of many one-dimensional functions at once, bracketed, to rounding.

The roots are those of ``scipy.optimize.elementwise``. Its minimizer is not used: it wants a middle point strictly below
both ends, which rounding on a flat stretch denies it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import elementwise

from genlaws.core.arguments import Array, Whole

_TO_ROUNDING = {"xatol": 1e-15, "xrtol": 1e-15, "fatol": 1e-15, "frtol": 0.0}
# A parabola through points this close (in the unknown) has its vertex within about CLOSE² of the minimum; closer ones
# would lose more to rounding than they gain.
CLOSE = 2e-3
MOST_HALVINGS = 100
# Values closer than this are the same.
FLAT = 1e-13


def find_roots(function: Callable[..., Array], low: Array, high: Array, *arguments: Array) -> Array:
    """Return the root of ``function(x, *arguments)`` between `low` and `high`, element by element."""
    found = elementwise.find_root(function, (low, high), args=arguments, tolerances=_TO_ROUNDING)  # type: ignore[call-overload]
    return np.asarray(found.x, dtype=np.float64)


def find_minima(function: Callable[[Array, Whole], Array], bracket: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    """Return where ``function(x, index)`` is lowest inside each bracket (left, middle, right), and its value there.

    Each round adds the middles of the two halves and keeps the lowest point with its neighbors, so the interval halves
    whatever the shape of the function: no bracket is invalid, and rounding noise on a plateau does no harm. Once the
    neighbors are close, the vertex of the parabola through the three is the answer.
    """
    column: Whole = np.arange(bracket[0].size, dtype=np.int64)
    x = np.stack(bracket)
    f = _lowest(function(x.ravel(), np.tile(column, 3)).reshape(x.shape))
    for _ in range(MOST_HALVINGS):
        if not (x[2] - x[0] > CLOSE).any():
            break
        halves = 0.5 * (x[:-1] + x[1:])
        values = _lowest(function(halves.ravel(), np.tile(column, 2)).reshape(halves.shape))
        five = np.stack([x[0], halves[0], x[1], halves[1], x[2]])
        heights = np.stack([f[0], values[0], f[1], values[1], f[2]])
        # On a plateau all are lowest; the leftmost of them is next to whatever lies to its left.
        center = np.clip(np.argmax(heights <= heights.min(axis=0) + FLAT, axis=0), 1, 3)
        rows = center + np.array([[-1], [0], [1]])
        x, f = five[rows, column], heights[rows, column]
    vertex = _vertex(x, f)
    at_vertex = _lowest(function(vertex, column))
    lowest = np.argmin(f, axis=0)
    # The vertex is the better place also where rounding hides that it is the lower one.
    good = at_vertex <= f[lowest, column] + FLAT
    return np.where(good, vertex, x[lowest, column]), np.where(good, at_vertex, f[lowest, column])


def _lowest(values: Array) -> Array:
    """Return the values with NaN as infinity, so that it is never the lowest."""
    return np.where(np.isnan(values), np.inf, values)


def _vertex(x: Array, f: Array) -> Array:
    """Return the vertex of the parabola through three points, or the middle one where there is none between them."""
    left, right = x[1] - x[0], x[2] - x[1]
    with np.errstate(all="ignore"):
        rise_left, rise_right = (f[1] - f[0]) / left, (f[2] - f[1]) / right
        vertex = 0.5 * (x[0] + x[1]) - 0.5 * rise_left * (x[2] - x[0]) / (rise_right - rise_left)
    middle: Array = np.where((vertex > x[0]) & (vertex < x[2]), vertex, x[1])
    return middle
