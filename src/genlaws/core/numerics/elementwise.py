"""Bracketed roots and minima of many one-dimensional functions at once, to machine precision.

Roots come from ``scipy.optimize.elementwise``. Its minimizer is not used: it needs a middle point strictly below both
ends, which rounding can prevent where the function is flat.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genlaws.core.arguments import Array, Whole

_ROOT_TOLERANCES = {"xatol": 1e-15, "xrtol": 1e-15, "fatol": 1e-15, "frtol": 0.0}
# Points this close: the vertex of their parabola lies within about PARABOLA_WIDTH² of the minimum. With closer points
# rounding would outweigh the gain.
PARABOLA_WIDTH = 2e-3
MAX_HALVINGS = 100
EQUAL_VALUE_TOLERANCE = 1e-13  # smaller differences between function values are rounding


def find_roots(function: Callable[..., Array], low: Array, high: Array, *arguments: Array) -> Array:
    """Return the root of ``function(x, *arguments)`` between `low` and `high`, element by element."""
    from scipy.optimize import elementwise  # noqa: PLC0415  takes half as long as importing NumPy and SciPy

    found = elementwise.find_root(function, (low, high), args=arguments, tolerances=_ROOT_TOLERANCES)  # type: ignore[call-overload]
    return np.asarray(found.x, dtype=np.float64)


def find_minima(function: Callable[[Array, Whole], Array], bracket: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    """Return where ``function(x, index)`` is lowest inside each bracket (left, middle, right), and its value there.

    Each round adds the midpoints of the two halves and selects the lowest point with its neighbors. The interval halves
    for any shape of the function: every bracket is valid, and rounding noise on a plateau is harmless. Once the
    neighbors are close, the vertex of the parabola through the three points is returned.
    """
    column: Whole = np.arange(bracket[0].size, dtype=np.int64)
    x = np.stack(bracket)
    f = _nan_to_inf(function(x.ravel(), np.tile(column, 3)).reshape(x.shape))
    for _ in range(MAX_HALVINGS):
        if not (x[2] - x[0] > PARABOLA_WIDTH).any():
            break
        halves = 0.5 * (x[:-1] + x[1:])
        values = _nan_to_inf(function(halves.ravel(), np.tile(column, 2)).reshape(halves.shape))
        five = np.stack([x[0], halves[0], x[1], halves[1], x[2]])
        heights = np.stack([f[0], values[0], f[1], values[1], f[2]])
        # On a plateau all points are lowest; choose the leftmost.
        center = np.clip(np.argmax(heights <= heights.min(axis=0) + EQUAL_VALUE_TOLERANCE, axis=0), 1, 3)
        rows = center + np.array([[-1], [0], [1]])
        x, f = five[rows, column], heights[rows, column]
    vertex = _vertex(x, f)
    at_vertex = _nan_to_inf(function(vertex, column))
    lowest = np.argmin(f, axis=0)
    # The vertex is also the better point where rounding hides that it is lower.
    good = at_vertex <= f[lowest, column] + EQUAL_VALUE_TOLERANCE
    return np.where(good, vertex, x[lowest, column]), np.where(good, at_vertex, f[lowest, column])


def _nan_to_inf(values: Array) -> Array:
    """Return the values with NaN replaced by infinity, which is never the lowest."""
    return np.where(np.isnan(values), np.inf, values)


def _vertex(x: Array, f: Array) -> Array:
    """Return the vertex of the parabola through three points, or the middle one where there is none between them."""
    left, right = x[1] - x[0], x[2] - x[1]
    with np.errstate(all="ignore"):
        rise_left, rise_right = (f[1] - f[0]) / left, (f[2] - f[1]) / right
        vertex = 0.5 * (x[0] + x[1]) - 0.5 * rise_left * (x[2] - x[0]) / (rise_right - rise_left)
    middle: Array = np.where((vertex > x[0]) & (vertex < x[2]), vertex, x[1])
    return middle
