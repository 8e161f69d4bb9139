"""A grid of networks as a picture: every cell is divided among the phases its networks ended in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from genlaws.figures import style
from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError
from genlaws.relations.families import named_relation
from genlaws.relations.phases import PHASES

PHASE_COLOURS = {
    "generalisation": style.GREEN,
    "grokking": style.YELLOW,
    "memorisation": style.PURPLE,
    "confusion": style.DARK_GREY,
}
UPWARDS = PHASES[::-1]  # higher encoder rates generalise: so do higher bands
FILLED = 0.95  # of the side of a cell; the rest parts it from its neighbours
CASING = 1.3  # points of white beside a line, both sides together, so that it is seen on every colour
Cells = tuple[ArrayLike, ArrayLike]
DECODER = r"decoder learning rate $\eta_{\mathrm{dec}}$"
ENCODER = r"encoder learning rate $\eta_{\mathrm{enc}}$"


def cell_sides(places: ArrayLike) -> tuple[Array, Array]:
    """Return where the cell of each place begins and ends: half way to the neighbours."""
    known, which = np.unique(np.asarray(places, dtype=np.float64), return_inverse=True)
    steps = np.diff(known) if len(known) > 1 else np.ones(1)
    edges = np.concatenate([[known[0] - steps[0] / 2], known[:-1] + steps / 2, [known[-1] + steps[-1] / 2]])
    return edges[which], edges[which + 1]


def rate_axis(axes: Axes, which: str, rates: ArrayLike) -> None:
    """Make an axis logarithmic, just wide enough for the cells of these rates."""
    low, high = cell_sides(np.log10(np.asarray(rates, dtype=np.float64)))
    style.log_axis(axes, which, 10.0 ** float(low.min()), 10.0 ** float(high.max()))


def fill_cells(axes: Axes, cells: Cells, low: ArrayLike, high: ArrayLike, **look: Any) -> PolyCollection:
    """Fill each cell between two shares of its height; the scales of the axes must be set.

    Parameters
    ----------
    axes : Axes
    cells : two arrays of shape (cells,)
        The middle of each cell, across and upwards.
    low, high : arrays of shape (cells,), in [0, 1]
        Where they are the same nothing is drawn.
    look : keywords of the collection
        `facecolors` may be one for each cell.
    """
    (left, right), (bottom, top) = _inner(cells[0], axes.get_xscale()), _inner(cells[1], axes.get_yscale())
    first, last = (bottom + np.asarray(share, dtype=np.float64) * (top - bottom) for share in (low, high))
    some = last > first
    x = _on_scale(np.stack([left, right, right, left], axis=1), axes.get_xscale())[some]
    y = _on_scale(np.stack([first, first, last, last], axis=1), axes.get_yscale())[some]
    if not isinstance(look.get("facecolors", ""), str):
        look["facecolors"] = np.asarray(look["facecolors"])[some]
    drawn = PolyCollection(list(np.stack([x, y], axis=2)), antialiaseds=False, **look)
    drawn.set_linewidth(0.0)
    axes.add_collection(drawn, autolim=False)
    return drawn


def _inner(places: ArrayLike, scale: str) -> tuple[Array, Array]:
    """Return the sides of cells on an even scale, less the gap between them."""
    even = np.asarray(places, dtype=np.float64)
    low, high = cell_sides(np.log10(even) if scale == "log" else even)
    gap = 0.5 * (1.0 - FILLED) * (high - low)
    return low + gap, high - gap


def _on_scale(even: Array, scale: str) -> Array:
    return np.power(10.0, even) if scale == "log" else even


def draw_mosaic(axes: Axes, table: pd.DataFrame, cells: Cells) -> None:
    """Divide the cell of each row among its phases, from confusion at the bottom to generalisation at the top."""
    ends = table[list(UPWARDS)].to_numpy(dtype=np.float64).cumsum(axis=1) / table["count"].to_numpy()[:, None]
    starts = np.concatenate([np.zeros((len(table), 1)), ends[:, :-1]], axis=1)
    for place, phase in enumerate(UPWARDS):
        look = {"facecolors": PHASE_COLOURS[phase], "label": phase, "zorder": 1}
        fill_cells(axes, cells, starts[:, place], ends[:, place], **look)


def cased_line(axes: Axes, x: ArrayLike, y: ArrayLike, *, linewidth: float, **look: Any) -> Line2D:
    """Draw a line on a wider white one and return it."""
    axes.plot(x, y, color="white", linewidth=linewidth + CASING, zorder=look["zorder"] - 0.5, solid_capstyle="butt")
    (line,) = axes.plot(x, y, linewidth=linewidth, **look)
    return line


def phase_handles() -> list[Patch]:
    """Return legend entries of the four phases."""
    return [Patch(facecolor=PHASE_COLOURS[phase], linewidth=0.0, label=phase) for phase in PHASES]


def legend_of(figure: Figure, first: Sequence[Patch | Line2D], second: Sequence[Patch | Line2D], wide: bool) -> None:
    """Write two groups below the panels: one above the other on a page, side by side in a column."""
    handles: list[Patch | Line2D] = [*first, *second]
    columns = 2
    if wide:
        columns = max(len(first), len(second))
        rows = [[*group, *(_nothing() for _ in range(columns - len(group)))] for group in (first, second)]
        handles = [one for pair in zip(*rows, strict=True) for one in pair]
    elif len(second) < len(first):
        handles += [_nothing() for _ in range(len(first) - len(second))]
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, handletextpad=0.5, columnspacing=2.0)


def _nothing() -> Line2D:
    return Line2D([], [], linestyle="none", label=" ")


def relation_label(name: str) -> str:
    """Return a relation's name as it is written above a panel; a relation of the reader's keeps its own."""
    try:
        return named_relation(name).label
    except InputError:
        return name
