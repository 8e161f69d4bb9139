"""Shared parts of the pictures of a residual stream: the axis of layers, curves, surrogates, heat maps of units.

A layer is one unit of the axis. The state before its attention stands at the number of the layer, the state before its
MLP half a unit later, and a write between the two states it leads from and to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.models.stream import Site
from genlaws.render import style
from genlaws.residual_stream.measures.curves import SiteCurve
from genlaws.residual_stream.surrogates.comparison import SurrogateTest

Found = TypeVar("Found")
FIGURE_WIDTH = 3.6  # inches; two pictures fit side by side on a page
RASTER_DPI = 220  # dots per inch of the rasterized parts of a vector picture
WRITE_COLORS = {"attention": style.VERMILLION, "mlp": style.BLUE, "block": style.BLACK}
WRITE_NAMES = {"attention": "attention writes", "mlp": "MLP writes", "block": "whole blocks write"}
WRITE_MARKERS = {"attention": "o", "mlp": "s", "block": "D"}
BAND_STYLE: dict[str, Any] = {"alpha": 0.22, "linewidth": 0.0}
GUIDE_STYLE: dict[str, Any] = {"color": style.LIGHT_GRAY, "linewidth": 0.6, "zorder": 0}
SURROGATE_DASHES: dict[str, Any] = {
    "random weights": "-",
    "shuffled tokens": (0, (4, 1.5)),
    "random walk": (0, (1, 1)),
    "step signs": (0, (5, 1.5, 1, 1.5)),
    "basis rotation": (0, (1, 1)),
}
OTHER_DASHES = (0, (2, 2))
CENTRAL_PERCENTILES = (2.5, 97.5)  # per cent, of the draws of a surrogate
SIGNED_MAP = "RdBu_r"
NO_VALUE_STYLE: dict[str, Any] = {"facecolor": "#f2f2f2", "edgecolor": style.GRAY, "hatch": "//////", "linewidth": 0.0}


def site_places(sites: Sequence[Site]) -> Array:
    """Return where sites stand on the axis of layers."""
    return np.array([site.layer + (0.5 if site.place == "mlp" else 0.0) for site in sites])


def places_of_labels(labels: Sequence[str], sites: Sequence[Site]) -> Array:
    """Return where sites with these names stand on the axis of layers."""
    known = {site.name: place for site, place in zip(sites, site_places(sites).tolist(), strict=True)}
    return np.array([known[label] for label in labels])


def step_places(sites: Sequence[Site]) -> Array:
    """Return the middles of the steps between successive sites."""
    at = site_places(sites)
    return 0.5 * (at[:-1] + at[1:])


def cell_edges(at: Array) -> Array:
    """Return the edges of cells around places, halfway between neighbors."""
    if len(at) == 1:
        return np.array([at[0] - 0.25, at[0] + 0.25])
    between = 0.5 * (at[:-1] + at[1:])
    return np.concatenate([[2 * at[0] - between[0]], between, [2 * at[-1] - between[-1]]])


def layer_axis(axes: Axes, sites: Sequence[Site], *, label: bool = True, air: float = 0.02) -> None:
    """Give the x axis the range of the layers with this share of it beyond the ends, and ticks at whole layers."""
    at = site_places(sites)
    pad = air * max(float(at[-1] - at[0]), 1.0)
    axes.set_xlim(float(at[0]) - pad, float(at[-1]) + pad)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True, steps=[1, 2, 4, 5, 8, 10], min_n_ticks=2))
    if label:
        axes.set_xlabel("layer")


def required(found: Found | None, what: str) -> Found:
    """Return what is to be drawn; raise an error if an analysis lacks it."""
    if not found:
        raise InputError(f"This analysis has no {what}; there is nothing to draw.")
    return found


def spread_over(count: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` numbers below `count`, evenly spread, including the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(np.int64))


def small_title(axes: Axes, text: str) -> None:
    """Write a small title above a panel."""
    axes.set_title(text, fontsize=style.SMALL_TYPE + 0.5, pad=3.0)


def draw_steps(axes: Axes, sites: Sequence[Site], curve: SiteCurve) -> None:
    """Draw a curve over steps, one line with its interval for each kind of write."""
    at = step_places(sites)
    for place, mask in kinds_of_steps(sites).items():
        color = WRITE_COLORS[place]
        low, high = curve.low[mask], curve.high[mask]
        axes.fill_between(at[mask], low, high, color=color, zorder=2, **BAND_STYLE)
        axes.plot(
            at[mask],
            curve.value[mask],
            color=color,
            marker=WRITE_MARKERS[place],
            markersize=marker_size(len(at)),
            linewidth=0.9,
            zorder=3,
        )


def draw_reference_steps(axes: Axes, references: Mapping[str, tuple[Sequence[Site], SiteCurve]]) -> None:
    """Draw the same curves of surrogates, thin and gray, one line for each kind of write."""
    for name, (sites, curve) in references.items():
        _draw_surrogate_steps(axes, name, sites, curve.value)


def draw_test_steps(axes: Axes, sites: Sequence[Site], test: SurrogateTest) -> list[str]:
    """Draw the means of surrogates of a curve over steps, thin and gray; return the names of those drawn."""
    drawn = [name for name, one in test.against.items() if one.mean.shape == (len(sites) - 1,)]
    for name in drawn:
        _draw_surrogate_steps(axes, name, sites, test.against[name].mean)
    return drawn


def _draw_surrogate_steps(axes: Axes, name: str, sites: Sequence[Site], values: Array) -> None:
    """Draw values of steps of a surrogate, thin and gray, one line for each kind of write."""
    at = step_places(sites)
    for place, mask in kinds_of_steps(sites).items():
        size = 0.6 * marker_size(len(at))
        look = {**surrogate_style(name), "marker": WRITE_MARKERS[place], "markersize": size}
        axes.plot(at[mask], values[mask], **look)


def draw_sites(axes: Axes, sites: Sequence[Site], curve: SiteCurve, color: Any, **how: Any) -> Line2D:
    """Draw a curve over sites with its interval."""
    at = places_of_labels(curve.labels, sites)
    axes.fill_between(at, curve.low, curve.high, color=color, zorder=2, **BAND_STYLE)
    look = {"marker": "o", "markersize": marker_size(len(at)), "linewidth": 0.9, "zorder": 3, **how}
    (line,) = axes.plot(at, curve.value, color=color, **look)
    return line


def draw_reference_sites(axes: Axes, references: Mapping[str, tuple[Sequence[Site], SiteCurve]]) -> None:
    """Draw the same curves of surrogates, thin and gray."""
    for name, (sites, curve) in references.items():
        axes.plot(places_of_labels(curve.labels, sites), curve.value, **surrogate_style(name))


def surrogate_style(name: str) -> dict[str, Any]:
    """Return how the line of a surrogate is drawn."""
    return {
        "color": style.GRAY,
        "linewidth": 0.7,
        "linestyle": SURROGATE_DASHES.get(name, OTHER_DASHES),
        "zorder": 1,
    }


def outer_labels(grid: NDArray[Any], shown: int, x: str, y: str) -> None:
    """Name the axes once along the left and the lower edge of panels, and hide empty panels."""
    columns = grid.shape[1]
    for number, axes in enumerate(grid.flat):
        axes.set_visible(number < shown)
        if number + columns >= shown:
            axes.set_xlabel(x)
        if number % columns == 0:
            axes.set_ylabel(y)


def marker_size(count: int) -> float:
    """Return the size of the markers of a curve with this number of points."""
    return 2.8 if count <= 24 else 1.8 if count <= 80 else 1.0


def write_handles(sites: Sequence[Site]) -> list[Artist]:
    """Return legend entries of the kinds of writes a stream has."""
    return [
        Line2D(
            [],
            [],
            color=WRITE_COLORS[place],
            marker=WRITE_MARKERS[place],
            markersize=2.8,
            linewidth=0.9,
            label=WRITE_NAMES[place],
        )
        for place in kinds_of_steps(sites)
    ]


def surrogate_handles(names: Iterable[str]) -> list[Artist]:
    """Return legend entries of surrogates."""
    return [Line2D([], [], label=style.literal(name), **surrogate_style(name)) for name in names]


def legend(figure: Figure, handles: Sequence[Artist], columns: int = 2) -> None:
    """Write a legend below the panels; without entries there is none."""
    if handles:
        ncols = min(columns, len(handles))
        figure.legend(handles=list(handles), loc="outside lower center", ncols=ncols, columnspacing=1.5)


def layer_colors(sites: Sequence[Site]) -> ScalarMappable:
    """Return which color stands for which layer, dark to light."""
    at = site_places(sites)
    shades = ListedColormap(mpl.colormaps[style.ORDERED_MAP](np.linspace(*style.ORDERED_RANGE, 256)))
    return ScalarMappable(Normalize(float(at[0]), max(float(at[-1]), float(at[0]) + 0.5)), shades)


def layer_bar(figure: Figure, colors: ScalarMappable, axes: Any) -> None:
    """Write the color bar of layers next to panels."""
    bar = figure.colorbar(colors, ax=axes, pad=0.02, aspect=26)
    _finish_bar(bar, "layer", MaxNLocator(nbins=6, integer=True))


def _finish_bar(bar: Colorbar, label: str, locator: MaxNLocator) -> None:
    """Write label and ticks of a color bar."""
    bar.set_label(label)
    bar.locator = locator
    bar.update_ticks()
    bar.outline.set_linewidth(0.4)


def log_if_wide(axes: Axes, ratio: float = 10.0, values: Array | None = None) -> None:
    """Make the y axis logarithmic where positive values, those of the lines if not given, span more than a ratio."""
    if values is None:
        values = np.concatenate([np.asarray(line.get_ydata(), dtype=np.float64) for line in axes.get_lines()])
    positive = values[np.isfinite(values) & (values > 0)]
    if positive.size and positive.size == np.isfinite(values).sum() and positive.max() > ratio * positive.min():
        style.log_axis(axes, "y", 0.8 * float(positive.min()), 1.25 * float(positive.max()))


def kinds_of_steps(sites: Sequence[Site]) -> dict[str, Any]:
    """Return which steps are writes of each kind."""
    writes = np.array([site.place for site in sites[:-1]])
    return {place: writes == place for place in WRITE_COLORS if (writes == place).any()}


def draw_against(axes: Axes, test: SurrogateTest, label: str, *, sign: float = 1.0) -> None:
    """Draw a number as a black line across the central 95 % of its surrogates, one gray bar with its name for each.

    A surrogate that was drawn once, such as another model, is a gray point.
    """
    observed = sign * float(test.observed.ravel()[0])
    axes.axvline(observed, color=style.BLACK, linewidth=1.1)
    for row, one in enumerate(test.against.values()):
        draws = sign * one.draws.ravel()
        draws = draws[np.isfinite(draws)]
        if draws.size > 1:
            axes.hlines(row, *np.percentile(draws, CENTRAL_PERCENTILES), color=style.LIGHT_GRAY, linewidth=5.0)
        if draws.size:
            axes.plot(float(draws.mean()), row, color=style.GRAY, marker="o", markersize=2.8, linestyle="none")
    axes.set_yticks(range(len(test.against)), list(map(style.literal, test.against)))
    axes.tick_params(axis="y", length=0.0)
    axes.set_ylim(len(test.against) - 0.4, -0.6)
    axes.set_xlabel(label)


def heat_map(axes: Axes, x: Array, y: Array, values: Array, *, low: float, high: float, colors: str) -> QuadMesh:
    """Draw values (x, y) as colors between edges; what has no value is hatched.

    Parameters
    ----------
    axes : Axes
    x, y : array
        Edges, one more than the values have rows and columns.
    values : array
    low, high : float
        Ends of the colors.
    colors : str
        Name of a color map.
    """
    if np.isnan(values).any():
        axes.patch.set(**NO_VALUE_STYLE)
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.set_dpi(RASTER_DPI)
    shown = np.ma.masked_invalid(np.where(np.isposinf(values), high, values)).T
    mesh = axes.pcolormesh(x, y, shown, cmap=colors, vmin=low, vmax=high, rasterized=True, antialiased=False)
    axes.set_xlim(float(x[0]), float(x[-1]))
    axes.set_ylim(float(y[0]), float(y[-1]))
    return mesh


def color_bar(axes: Axes, mesh: ScalarMappable, label: str, values: Array) -> Colorbar:
    """Write a color bar with a label; its ends are pointed where values lie beyond them."""
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    assert mesh.norm.vmin is not None
    assert mesh.norm.vmax is not None
    finite = values[~np.isnan(values)]
    below, above = bool((finite < mesh.norm.vmin).any()), bool((finite > mesh.norm.vmax).any())
    ends: Any = "both" if below and above else "min" if below else "max" if above else "neither"
    bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=22, extend=ends, extendfrac=0.04)
    _finish_bar(bar, label, MaxNLocator(nbins=5))
    return bar


def no_value_handles(values: Array, label: str) -> list[Artist]:
    """Return the legend entry of hatched cells, if there are any."""
    if not np.isnan(values).any():
        return []
    return [Patch(label=label, **NO_VALUE_STYLE)]


def unit_axis(axes: Axes, units: int, label: str) -> None:
    """Give the y axis the units in an order."""
    axes.set_ylim(-0.5, units - 0.5)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.set_ylabel(label)
