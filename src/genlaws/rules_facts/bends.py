r"""Where does a proximal map bend? Quadrature must be cut there, and a user should not have to know.

A corner or a jump of curvature of the loss at z, where it pulls with force p, shows in the proximal map at
:math:`u = z - Vp`, for every response V. So it is enough to find the bends at V = 1: there the slope of the map jumps,
and goes on jumping by the same amount however closely one looks, while the slope of a smooth piece does not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genlaws.numerics.arguments import Array

# Margins searched at V = 1, and the spacing at which the search starts.
REACH, SPACING = 40.0, 0.02
# A jump of the slope below this is left to the check of the solution with a finer rule.
SMALLEST_JUMP = 1e-4
ZOOM, ZOOMS = 16, 4
# Tangents are taken this many final spacings aside of a bend.
ASIDE = 32.0
# The jump must keep at least this share of its size from one zoom to the next.
KEPT = 0.6


def find_bends(proximal: Callable[[Array, Array], Array]) -> Array:
    """Return the bends as rows (z, p): where the map lands, and the pull there."""
    count = round(2.0 * REACH / SPACING) + 1
    grid = np.linspace(-REACH, REACH, count)
    places, jumps = grid[1:-1], _jumps(proximal, grid[None, :])[0]
    seen = jumps > SMALLEST_JUMP
    places, jumps = places[seen], jumps[seen]
    spacing = SPACING
    for _ in range(ZOOMS):
        if not places.size:
            break
        around = places[:, None] + spacing * np.linspace(-1.5, 1.5, 3 * ZOOM + 1)
        closer = _jumps(proximal, around)
        at = np.argmax(closer, axis=1)
        sharpest = closer[np.arange(places.size), at]
        kept = sharpest > KEPT * jumps
        places, jumps = around[np.arange(places.size), at + 1][kept], sharpest[kept]
        spacing /= ZOOM
    places = places[np.diff(places, prepend=-np.inf) > 4.0 * spacing]
    if places.size:
        places = _where_tangents_meet(proximal, places, ASIDE * spacing)
    landing = proximal(places, np.ones_like(places))
    return np.stack([landing, landing - places], axis=1)


def _where_tangents_meet(proximal: Callable[[Array, Array], Array], places: Array, aside: float) -> Array:
    """Return where the lines through two points on either side of each bend meet; exact for straight pieces."""
    ones = np.ones_like(places)
    far_left, left, right, far_right = (proximal(places + step * aside, ones) for step in (-2.0, -1.0, 1.0, 2.0))
    slope_left, slope_right = (left - far_left) / aside, (far_right - right) / aside
    gap = (right - slope_right * aside) - (left + slope_left * aside)
    return places + np.clip(gap / (slope_left - slope_right), -aside, aside)


def _jumps(proximal: Callable[[Array, Array], Array], margins: Array) -> Array:
    """Return by how much the slope changes at each inner point of each row, over two neighbouring intervals."""
    values = np.asarray(proximal(margins.ravel(), np.ones(margins.size)), dtype=np.float64).reshape(margins.shape)
    slope = np.diff(values, axis=1) / np.diff(margins, axis=1)
    change = np.abs(np.diff(slope, axis=1))
    # A bend between two grid points splits its jump over both; together they have all of it.
    neighbour = np.zeros_like(change)
    neighbour[:, :-1] = change[:, 1:]
    return change + neighbour
