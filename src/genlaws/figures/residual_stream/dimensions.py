"""Pictures of dimensions: paths along principal components, explained variance, the bottleneck of an autoencoder."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from genlaws.figures.residual_stream import drawing
from genlaws.render import style
from genlaws.residual_stream.measures.dimensions import ExplainedVariance

if TYPE_CHECKING:
    from genlaws.residual_stream.results import Analysis, Compression

MAX_PATHS = 200
POOLED_COLOR, SITE_COLOR = style.PURPLE, style.GREEN
MAX_SITE_CURVES = 9
VARIANCE_BASES = {
    "explained_pooled": ("D", POOLED_COLOR, "of all sites pooled"),
    "explained_site": ("^", SITE_COLOR, "of each site"),
    "explained_normalized": ("v", style.SKY_BLUE, "pooled, states of equal length"),
}
NETWORK_COLOR = style.GREEN


def draw_pca_paths(analysis: Analysis) -> Figure:
    """Draw the paths of texts along the first two pooled principal components, and their mean (Figure 4A)."""
    found = drawing.required(analysis.projected, "paths along principal components")
    test = analysis.path_test
    count = 0 if test is None else len(test.against)
    figure = style.new_figure(drawing.FIGURE_WIDTH, 3.2 + (0.5 + 0.16 * count if count else 0.0))
    grid = figure.subplots(1 + bool(count), 1, height_ratios=(1.0, *([0.08 + 0.06 * count] if count else [])))
    axes = grid[0] if count else grid
    paths = found.coordinates[:MAX_PATHS, :, :2]
    colors = drawing.layer_colors(found.sites)
    pieces = np.stack([paths[:, :-1], paths[:, 1:]], axis=2).reshape(-1, 2, 2)
    shades = np.tile(colors.to_rgba(drawing.step_places(found.sites)), (len(paths), 1))
    figure.set_dpi(drawing.RASTER_DPI)
    lines = LineCollection(list(pieces), colors=list(shades), linewidths=0.4, alpha=0.35, rasterized=True)
    axes.add_collection(lines)
    mean = found.mean[:, :2]
    axes.plot(*mean.T, color=style.BLACK, linewidth=1.0, zorder=4)
    places = np.array([site.place for site in found.sites])
    for place, marker in (("attention", "o"), ("mlp", "s"), ("block", "D")):
        at = mean[places == place]
        axes.plot(*at.T, color=style.BLACK, marker=marker, markersize=2.2, linestyle="none", zorder=5)
    _label_end(axes, mean, 0, "first site")
    _label_end(axes, mean, -1, "last site")
    axes.margins(x=0.16, y=0.08)
    axes.autoscale_view()
    for name, number, share in zip(("x", "y"), ("first", "second"), found.axes.share, strict=False):
        label = f"{number} component ({100 * share:.0f} % of the variance)"
        getattr(axes, f"set_{name}label")(label)
    drawing.layer_bar(figure, colors, axes)
    if test is not None:
        drawing.draw_against(grid[1], test, "share of the mean path along two components")
    drawing.legend(
        figure, [Line2D([], [], color=style.BLACK, linewidth=1.0, label="mean over the texts, and its share")]
    )
    return figure


def _label_end(axes: Axes, mean: np.ndarray, place: int, name: str) -> None:
    """Write the name of an end of the mean path next to it, on the side away from the path."""
    ahead = mean[1 if place == 0 else -2] - mean[place]
    right, up = -np.sign(ahead[0] or 1.0), -np.sign(ahead[1] or 1.0)
    axes.plot(*mean[place], color=style.BLACK, marker="o", markersize=4.5, markerfacecolor="white", zorder=6)
    axes.annotate(
        name,
        mean[place],
        (5 * right, 6 * up),
        textcoords="offset points",
        ha="left" if right > 0 else "right",
        va="center",
        fontsize=style.SMALL_TYPE,
        zorder=7,
        bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0.0, "pad": 0.8},
    )


def draw_explained(analysis: Analysis) -> Figure:
    """Draw the share of the variance that components explain, pooled and of each site (Figures 4B and 4C)."""
    measured = map(partial(getattr, analysis), VARIANCE_BASES)
    known = drawing.required([one for one in measured if one is not None], "explained variance")
    above = known[:2]
    figure = style.new_figure(drawing.FIGURE_WIDTH, 4.9)
    whole = figure.add_gridspec(2, len(above), height_ratios=(1.0, 1.2))
    colors = drawing.layer_colors(analysis.sites)
    upper = [figure.add_subplot(whole[0, column]) for column in range(len(above))]
    for axes, one in zip(upper, above, strict=True):
        _draw_components(axes, analysis, one, colors)
    upper[0].set_ylabel("explained share of\nthe variance")
    lower = figure.add_subplot(whole[1, :])
    count = _nearest_ten(known[0])
    handles: list[Artist] = []
    names: dict[str, None] = {}
    for attribute, (marker, color, label) in VARIANCE_BASES.items():
        for name, one in analysis.references.items():
            other = getattr(one, attribute)
            if attribute != "explained_normalized" and other is not None and count in other.components:
                curve = other.curve(count)
                at = drawing.places_of_labels(curve.labels, one.sites)
                lower.plot(at, curve.value, marker=marker, markersize=1.6, **drawing.surrogate_style(name))
                names[name] = None
        found = getattr(analysis, attribute)
        if found is not None and count in found.components:
            line = drawing.draw_sites(lower, analysis.sites, found.curve(count), color, marker=marker)
            line.set_label(f"{label}, other texts" if found.held_out else label)
            handles.append(line)
    lower.set_ylim(0.0, min(1.02, lower.get_ylim()[1]))
    lower.set_ylabel(f"explained by {count} component{'s' if count > 1 else ''}")
    drawing.layer_axis(lower, analysis.sites)
    drawing.layer_bar(figure, colors, upper)
    drawing.legend(figure, [*handles, *drawing.surrogate_handles(names)])
    return figure


def _nearest_ten(found: ExplainedVariance) -> int:
    """Return the number of components whose curve is drawn along the layers: 10, or the nearest available."""
    numbers = found.components
    return int(numbers[np.abs(np.log(numbers / 10.0)).argmin()])


def _draw_components(axes: Axes, analysis: Analysis, found: ExplainedVariance, colors: ScalarMappable) -> None:
    """Draw the share against the number of components, for some sites."""
    at = drawing.places_of_labels(found.curves[0].labels, analysis.sites)
    shades = colors.to_rgba(at)
    chosen = drawing.spread_over(len(at), MAX_SITE_CURVES)
    for site in chosen.tolist():
        axes.plot(found.components, found.share[site], color=shades[site], linewidth=0.9)
    axes.set_xscale("log")
    style.log_axis(axes, "x", 0.9, 1.15 * max(float(found.components[-1]), 2.0))
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("number of components")
    title = "of all sites pooled" if found.basis == "pooled" else "of each site"
    drawing.small_title(axes, title)


def draw_participation(analysis: Analysis) -> Figure:
    """Draw the number of directions in which the texts differ at every site."""
    found = drawing.required(analysis.participation, "participation ratios")
    figure = style.new_figure(drawing.FIGURE_WIDTH, 2.5)
    axes = figure.subplots()
    references = {
        name: (one.sites, one.participation.curve)
        for name, one in analysis.references.items()
        if one.participation is not None
    }
    drawing.draw_reference_sites(axes, references)
    line = drawing.draw_sites(axes, analysis.sites, found.curve, SITE_COLOR, marker="^")
    line.set_label("this model")
    handles = [line]
    if analysis.participation_normalized is not None:
        curve = analysis.participation_normalized.curve
        handles.append(drawing.draw_sites(axes, analysis.sites, curve, style.SKY_BLUE, marker="v"))
        handles[-1].set_label("this model, states of equal length")
    drawing.log_if_wide(axes, ratio=20.0)
    drawing.layer_axis(axes, analysis.sites)
    axes.set_ylabel("participation ratio\n(directions)")
    drawing.legend(figure, [*handles, *drawing.surrogate_handles(references)])
    return figure


def draw_compression_path(analysis: Analysis) -> Figure:
    """Draw the mean path in the bottleneck, colored by layer, with its intervals (Figure 3B)."""
    figure, panels = _compression_panels(analysis, 2.1)
    colors = drawing.layer_colors(analysis.sites)
    for axes, one in panels:
        x = one.path[0]
        y = one.path[1] if len(one.path) > 1 else None
        at = drawing.places_of_labels(x.labels, analysis.sites)
        if y is None:
            drawing.draw_sites(axes, analysis.sites, x, NETWORK_COLOR)
            axes.set(xlabel="layer", ylabel="bottleneck unit")
        else:
            shades = colors.to_rgba(at)
            axes.plot(x.value, y.value, color=style.GRAY, linewidth=0.7, zorder=1)
            for k, shade in enumerate(shades):
                axes.hlines(y.value[k], x.low[k], x.high[k], color=shade, linewidth=0.8, zorder=2)
                axes.vlines(x.value[k], y.low[k], y.high[k], color=shade, linewidth=0.8, zorder=2)
            axes.scatter(x.value, y.value, c=shades, s=12.0, zorder=3, linewidths=0.0)
            axes.plot(x.value[0], y.value[0], color=shades[0], marker="o", markersize=5.0, markerfacecolor="white")
            axes.set(xlabel="first bottleneck unit", ylabel="second bottleneck unit")
        axes.margins(0.08)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    drawing.layer_bar(figure, colors, [axes for axes, _ in panels])
    return figure


def draw_compression_steps(analysis: Analysis) -> Figure:
    """Draw the distance in the bottleneck from each site to the next (Figure 3C)."""
    figure, panels = _compression_panels(analysis, 1.5, sharex=True)
    for axes, one in panels:
        drawing.draw_steps(axes, analysis.sites, one.step_length)
        drawing.layer_axis(axes, analysis.sites, label=axes is panels[-1][0])
        axes.set_ylim(bottom=0.0)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.set_ylabel("step length\nin the bottleneck")
    drawing.legend(figure, drawing.write_handles(analysis.sites))
    return figure


def draw_compression_explained(analysis: Analysis) -> Figure:
    """Draw the variance that the autoencoder and equally many principal components reconstruct (Figure 3D)."""
    figure, panels = _compression_panels(analysis, 1.5, sharex=True)
    width = panels[0][1].sizes[-1]
    lines = []
    for axes, one in panels:
        axes.axhline(0.0, **drawing.GUIDE_STYLE)
        look = {"linestyle": (0, (3, 1.5)), "marker": "", "linewidth": 0.8}
        linear = drawing.draw_sites(axes, analysis.sites, one.components_explained, style.GRAY, **look)
        own = drawing.draw_sites(axes, analysis.sites, one.explained, NETWORK_COLOR)
        drawing.layer_axis(axes, analysis.sites, label=axes is panels[-1][0])
        values = np.concatenate([one.explained.low, one.explained.value, one.components_explained.value])
        low = float(np.nanmin(values, initial=0.0))
        axes.set_ylim(max(low, -1.0) - 0.03, 1.02)
        axes.set_ylabel("explained share\nof the variance")
        own.set_label(f"autoencoder of {width} units")
        linear.set_label(f"{width} principal components")
        lines = [own, linear]
    drawing.legend(figure, lines)
    return figure


def _compression_panels(
    analysis: Analysis, height: float, *, sharex: bool = False
) -> tuple[Figure, list[tuple[Axes, Compression]]]:
    """Return a picture with a panel for each available compression: of states as they are, and normalized."""
    both = (analysis.compression, analysis.compression_normalized)
    shown = drawing.required([one for one in both if one is not None], "compression")
    figure = style.new_figure(drawing.FIGURE_WIDTH, 0.9 + height * len(shown))
    grid = figure.subplots(len(shown), 1, squeeze=False, sharex=sharex)[:, 0]
    for axes, one in zip(grid, shown, strict=True):
        kind = "states divided by their root mean square" if one.normalized else "states as they are"
        drawing.small_title(axes, kind)
    return figure, list(zip(grid, shown, strict=True))
