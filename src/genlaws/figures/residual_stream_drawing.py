"""What the pictures of a residual stream share: the axis of layers, curves by what writes, surrogates.

A layer is one unit of the axis. The state before its attention stands at the number of the layer, the state before its
MLP half a unit later, and a write between the two states it leads from and to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from genlaws.figures import style
from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError
from genlaws.residual_stream.curves import Curve
from genlaws.residual_stream.stream import Site
from genlaws.residual_stream.surrogates import SurrogateTest

WIDTH = 3.6  # inches; two pictures stand side by side on a page
RASTER = 220  # dots per inch of what is not drawn as lines in a vector picture
WRITE_COLOURS = {"attention": style.VERMILLION, "mlp": style.BLUE, "block": style.BLACK}
WRITE_NAMES = {"attention": "attention writes", "mlp": "MLP writes", "block": "whole blocks write"}
WRITE_MARKERS = {"attention": "o", "mlp": "s", "block": "D"}
BAND: dict[str, Any] = {"alpha": 0.22, "linewidth": 0.0}
GUIDE: dict[str, Any] = {"color": style.LIGHT_GREY, "linewidth": 0.6, "zorder": 0}
SURROGATE_DASHES: dict[str, Any] = {
    "random weights": "-",
    "shuffled tokens": (0, (4, 1.5)),
    "random walk": (0, (1, 1)),
    "step signs": (0, (5, 1.5, 1, 1.5)),
    "basis rotation": (0, (1, 1)),
}
OTHER_DASHES = (0, (2, 2))
CENTRAL = (2.5, 97.5)  # per cent, of the draws of a surrogate


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
    """Return the edges of cells around places, half-way between neighbours."""
    if len(at) == 1:
        return np.array([at[0] - 0.25, at[0] + 0.25])
    between = 0.5 * (at[:-1] + at[1:])
    return np.concatenate([[2 * at[0] - between[0]], between, [2 * at[-1] - between[-1]]])


def layer_axis(axes: Axes, sites: Sequence[Site], *, label: bool = True, air: float = 0.02) -> None:
    """Give the x axis the range of the layers, with this share of it beyond the ends, and ticks at whole ones."""
    at = site_places(sites)
    pad = air * max(float(at[-1] - at[0]), 1.0)
    axes.set_xlim(float(at[0]) - pad, float(at[-1]) + pad)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True, steps=[1, 2, 4, 5, 8, 10], min_n_ticks=2))
    if label:
        axes.set_xlabel("layer")


def need(found: object, what: str) -> None:
    """Refuse to draw what an analysis does not have."""
    if not found:
        raise InputError(f"This analysis has no {what}; there is nothing to draw.")


def draw_steps(axes: Axes, sites: Sequence[Site], curve: Curve) -> None:
    """Draw a curve over steps, one line with its interval for each kind of write."""
    at = step_places(sites)
    for place, mask in kinds_of_steps(sites).items():
        colour = WRITE_COLOURS[place]
        low, high = curve.low[mask], curve.high[mask]
        axes.fill_between(at[mask], low, high, color=colour, zorder=2, **BAND)
        axes.plot(
            at[mask],
            curve.value[mask],
            color=colour,
            marker=WRITE_MARKERS[place],
            markersize=marker_size(len(at)),
            linewidth=0.9,
            zorder=3,
        )


def draw_reference_steps(axes: Axes, references: Mapping[str, tuple[Sequence[Site], Curve]]) -> None:
    """Draw the same curves of surrogates, thin and grey, one line for each kind of write."""
    for name, (sites, curve) in references.items():
        at = step_places(sites)
        for place, mask in kinds_of_steps(sites).items():
            size = 0.6 * marker_size(len(at))
            look = {**surrogate_look(name), "marker": WRITE_MARKERS[place], "markersize": size}
            axes.plot(at[mask], curve.value[mask], **look)


def draw_test_steps(axes: Axes, sites: Sequence[Site], test: SurrogateTest) -> list[str]:
    """Draw the means of surrogates of a curve over steps, thin and grey; return the names of those drawn."""
    at = step_places(sites)
    drawn = [name for name, one in test.against.items() if one.mean.shape == at.shape]
    for name in drawn:
        for place, mask in kinds_of_steps(sites).items():
            size = 0.6 * marker_size(len(at))
            look = {**surrogate_look(name), "marker": WRITE_MARKERS[place], "markersize": size}
            axes.plot(at[mask], test.against[name].mean[mask], **look)
    return drawn


def draw_sites(axes: Axes, sites: Sequence[Site], curve: Curve, colour: Any, **how: Any) -> Line2D:
    """Draw a curve over sites with its interval."""
    at = places_of_labels(curve.labels, sites)
    axes.fill_between(at, curve.low, curve.high, color=colour, zorder=2, **BAND)
    look = {"marker": "o", "markersize": marker_size(len(at)), "linewidth": 0.9, "zorder": 3, **how}
    (line,) = axes.plot(at, curve.value, color=colour, **look)
    return line


def draw_reference_sites(axes: Axes, references: Mapping[str, tuple[Sequence[Site], Curve]]) -> None:
    """Draw the same curves of surrogates, thin and grey."""
    for name, (sites, curve) in references.items():
        axes.plot(places_of_labels(curve.labels, sites), curve.value, **surrogate_look(name))


def words(text: str) -> str:
    """Return a text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")


def surrogate_look(name: str) -> dict[str, Any]:
    """Return how the line of a surrogate is drawn."""
    return {
        "color": style.GREY,
        "linewidth": 0.7,
        "linestyle": SURROGATE_DASHES.get(name, OTHER_DASHES),
        "zorder": 1,
    }


def outer_labels(grid: NDArray[Any], shown: int, x: str, y: str) -> None:
    """Name the axes once along the left and the lower edge of panels, and hide the panels that nothing is drawn in."""
    columns = grid.shape[1]
    for number, axes in enumerate(grid.flat):
        axes.set_visible(number < shown)
        if number + columns >= shown:
            axes.set_xlabel(x)
        if number % columns == 0:
            axes.set_ylabel(y)


def marker_size(count: int) -> float:
    """Return the size of the markers of a curve of so many points."""
    return 2.8 if count <= 24 else 1.8 if count <= 80 else 1.0


def write_handles(sites: Sequence[Site]) -> list[Artist]:
    """Return legend entries of the kinds of writes a stream has."""
    return [
        Line2D(
            [],
            [],
            color=WRITE_COLOURS[place],
            marker=WRITE_MARKERS[place],
            markersize=2.8,
            linewidth=0.9,
            label=WRITE_NAMES[place],
        )
        for place in kinds_of_steps(sites)
    ]


def surrogate_handles(names: Iterable[str]) -> list[Artist]:
    """Return legend entries of surrogates."""
    return [Line2D([], [], label=words(name), **surrogate_look(name)) for name in names]


def legend(figure: Figure, handles: Sequence[Artist], columns: int = 2) -> None:
    """Write a legend below the panels; without entries there is none."""
    if handles:
        ncols = min(columns, len(handles))
        figure.legend(handles=list(handles), loc="outside lower center", ncols=ncols, columnspacing=1.5)


def layer_colours(sites: Sequence[Site]) -> ScalarMappable:
    """Return which colour stands for which layer, dark to light."""
    at = site_places(sites)
    shades = ListedColormap(mpl.colormaps[style.ORDERED_MAP](np.linspace(*style.ORDERED_RANGE, 256)))
    return ScalarMappable(Normalize(float(at[0]), max(float(at[-1]), float(at[0]) + 0.5)), shades)


def layer_bar(figure: Figure, colours: ScalarMappable, axes: Any) -> None:
    """Write the colour bar of layers beside panels."""
    bar = figure.colorbar(colours, ax=axes, pad=0.02, aspect=26)
    bar.set_label("layer")
    bar.locator = MaxNLocator(nbins=6, integer=True)
    bar.update_ticks()
    bar.outline.set_linewidth(0.4)


def log_if_wide(axes: Axes, values: Array, ratio: float = 10.0) -> None:
    """Make the y axis logarithmic where positive values span more than a ratio."""
    positive = values[np.isfinite(values) & (values > 0)]
    if positive.size and positive.size == np.isfinite(values).sum() and positive.max() > ratio * positive.min():
        style.log_axis(axes, "y", 0.8 * float(positive.min()), 1.25 * float(positive.max()))


def kinds_of_steps(sites: Sequence[Site]) -> dict[str, Any]:
    """Return which steps are writes of each kind."""
    writes = np.array([site.place for site in sites[:-1]])
    return {place: writes == place for place in WRITE_COLOURS if (writes == place).any()}


def draw_against(axes: Axes, test: SurrogateTest, label: str, *, sign: float = 1.0) -> None:
    """Draw a number as a black line across the central 95 % of its surrogates, one grey bar with its name for each.

    A surrogate that was drawn once, such as another model, is a grey point.
    """
    observed = sign * float(test.observed.ravel()[0])
    axes.axvline(observed, color=style.BLACK, linewidth=1.1)
    for row, one in enumerate(test.against.values()):
        draws = sign * one.draws.ravel()
        draws = draws[np.isfinite(draws)]
        if draws.size > 1:
            axes.hlines(row, *np.percentile(draws, CENTRAL), color=style.LIGHT_GREY, linewidth=5.0)
        if draws.size:
            axes.plot(float(draws.mean()), row, color=style.GREY, marker="o", markersize=2.8, linestyle="none")
    axes.set_yticks(range(len(test.against)), list(map(words, test.against)))
    axes.tick_params(axis="y", length=0.0)
    axes.set_ylim(len(test.against) - 0.4, -0.6)
    axes.set_xlabel(label)
