"""Heat maps of units along the layers; what has no value is hatched."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from genlaws.figures import style
from genlaws.figures.residual_stream_drawing import RASTER
from genlaws.numerics.arguments import Array

SIGNED_MAP = "RdBu_r"
NO_VALUE: dict[str, Any] = {"facecolor": "#f2f2f2", "edgecolor": style.GREY, "hatch": "//////", "linewidth": 0.0}


def heat_map(axes: Axes, x: Array, y: Array, values: Array, *, low: float, high: float, colours: str) -> QuadMesh:
    """Draw values (x, y) as colours between edges; what has no value is hatched.

    Parameters
    ----------
    axes : Axes
    x, y : array
        Edges, one more than the values have rows and columns.
    values : array
    low, high : float
        Ends of the colours.
    colours : str
        Name of a colour map.
    """
    if np.isnan(values).any():
        axes.patch.set(**NO_VALUE)
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.set_dpi(RASTER)
    shown = np.ma.masked_invalid(np.where(np.isposinf(values), high, values)).T
    mesh = axes.pcolormesh(x, y, shown, cmap=colours, vmin=low, vmax=high, rasterized=True, antialiased=False)
    axes.set_xlim(float(x[0]), float(x[-1]))
    axes.set_ylim(float(y[0]), float(y[-1]))
    return mesh


def colour_bar(axes: Axes, mesh: ScalarMappable, label: str, values: Array) -> Colorbar:
    """Write a colour bar with words; its ends are pointed where values lie beyond them."""
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    assert mesh.norm.vmin is not None
    assert mesh.norm.vmax is not None
    finite = values[~np.isnan(values)]
    below, above = bool((finite < mesh.norm.vmin).any()), bool((finite > mesh.norm.vmax).any())
    ends: Any = "both" if below and above else "min" if below else "max" if above else "neither"
    bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=22, extend=ends, extendfrac=0.04)
    bar.set_label(label)
    bar.locator = MaxNLocator(nbins=5)
    bar.update_ticks()
    bar.outline.set_linewidth(0.4)
    return bar


def no_value_handles(values: Array, words: str) -> list[Artist]:
    """Return the legend entry of hatched cells, if there are any."""
    if not np.isnan(values).any():
        return []
    return [Patch(label=words, **NO_VALUE)]


def unit_axis(axes: Axes, units: int, label: str) -> None:
    """Give the y axis the units in an order."""
    axes.set_ylim(-0.5, units - 0.5)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.set_ylabel(label)
