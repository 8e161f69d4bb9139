"""Pictures of dimensions: paths along two principal components, explained variance, participation ratios."""

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

from genlaws.figures import residual_stream_drawing as drawing
from genlaws.figures import style
from genlaws.residual_stream.dimensions import ExplainedVariance

if TYPE_CHECKING:
    from genlaws.residual_stream.analysis_results import Analysis

MOST_PATHS = 200
POOLED, OWN = style.PURPLE, style.GREEN
CURVES = 9
BASES = {
    "explained_pooled": ("D", POOLED, "of all sites pooled"),
    "explained_site": ("^", OWN, "of each site"),
    "explained_normalised": ("v", style.SKY_BLUE, "pooled, states of equal length"),
}


def draw_pca_paths(analysis: Analysis) -> Figure:
    """Draw the paths of texts along the first two pooled principal components, and their mean (Figure 4A)."""
    drawing.need(analysis.projected, "paths along principal components")
    found = analysis.projected
    assert found is not None
    test = analysis.path_test
    count = 0 if test is None else len(test.against)
    figure = style.new_figure(drawing.WIDTH, 3.2 + (0.5 + 0.16 * count if count else 0.0))
    grid = figure.subplots(1 + bool(count), 1, height_ratios=(1.0, *([0.08 + 0.06 * count] if count else [])))
    axes = grid[0] if count else grid
    paths = found.coordinates[:MOST_PATHS, :, :2]
    colours = drawing.layer_colours(found.sites)
    pieces = np.stack([paths[:, :-1], paths[:, 1:]], axis=2).reshape(-1, 2, 2)
    shades = np.tile(colours.to_rgba(drawing.step_places(found.sites)), (len(paths), 1))
    figure.set_dpi(drawing.RASTER)
    lines = LineCollection(list(pieces), colors=list(shades), linewidths=0.4, alpha=0.35, rasterized=True)
    axes.add_collection(lines)
    mean = found.mean[:, :2]
    axes.plot(*mean.T, color=style.BLACK, linewidth=1.0, zorder=4)
    places = np.array([site.place for site in found.sites])
    for place, marker in (("attention", "o"), ("mlp", "s"), ("block", "D")):
        at = mean[places == place]
        axes.plot(*at.T, color=style.BLACK, marker=marker, markersize=2.2, linestyle="none", zorder=5)
    _named_end(axes, mean, 0, "first site")
    _named_end(axes, mean, -1, "last site")
    axes.margins(x=0.16, y=0.08)
    axes.autoscale_view()
    for name, number, share in zip(("x", "y"), ("first", "second"), found.axes.share, strict=False):
        label = f"{number} component ({100 * share:.0f} % of the variance)"
        getattr(axes, f"set_{name}label")(label)
    drawing.layer_bar(figure, colours, axes)
    if test is not None:
        drawing.draw_against(grid[1], test, "share of the mean path along two components")
    drawing.legend(
        figure, [Line2D([], [], color=style.BLACK, linewidth=1.0, label="mean over the texts, and its share")]
    )
    return figure


def _named_end(axes: Axes, mean: np.ndarray, place: int, name: str) -> None:
    """Write the name of an end of the mean path beside it, on the side away from the path."""
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
    known = [one for one in map(partial(getattr, analysis), BASES) if one is not None]
    drawing.need(known, "explained variance")
    above = known[:2]
    figure = style.new_figure(drawing.WIDTH, 4.9)
    whole = figure.add_gridspec(2, len(above), height_ratios=(1.0, 1.2))
    colours = drawing.layer_colours(analysis.sites)
    upper = [figure.add_subplot(whole[0, column]) for column in range(len(above))]
    for axes, one in zip(upper, above, strict=True):
        _by_components(axes, analysis, one, colours)
    upper[0].set_ylabel("explained share of\nthe variance")
    lower = figure.add_subplot(whole[1, :])
    count = _middle(known[0])
    handles: list[Artist] = []
    names: dict[str, None] = {}
    for attribute, (marker, colour, label) in BASES.items():
        for name, one in analysis.references.items():
            other = getattr(one, attribute)
            if attribute != "explained_normalised" and other is not None and count in other.components:
                curve = other.curve(count)
                at = drawing.places_of_labels(curve.labels, one.sites)
                lower.plot(at, curve.value, marker=marker, markersize=1.6, **drawing.surrogate_look(name))
                names[name] = None
        found = getattr(analysis, attribute)
        if found is not None and count in found.components:
            line = drawing.draw_sites(lower, analysis.sites, found.curve(count), colour, marker=marker)
            line.set_label(f"{label}, other texts" if found.held_out else label)
            handles.append(line)
    lower.set_ylim(0.0, min(1.02, lower.get_ylim()[1]))
    lower.set_ylabel(f"explained by {count} component{'s' if count > 1 else ''}")
    drawing.layer_axis(lower, analysis.sites)
    drawing.layer_bar(figure, colours, upper)
    drawing.legend(figure, [*handles, *drawing.surrogate_handles(names)])
    return figure


def _middle(found: ExplainedVariance) -> int:
    """Return the number of components whose curve is drawn along the layers: 10, or the nearest there is."""
    numbers = found.components
    return int(numbers[np.abs(np.log(numbers / 10.0)).argmin()])


def _by_components(axes: Axes, analysis: Analysis, found: ExplainedVariance, colours: ScalarMappable) -> None:
    """Draw the share against the number of components, for some sites."""
    at = drawing.places_of_labels(found.labels, analysis.sites)
    shades = colours.to_rgba(at)
    chosen = np.unique(np.linspace(0, len(at) - 1, min(CURVES, len(at))).round().astype(int))
    for site in chosen.tolist():
        axes.plot(found.components, found.share[site], color=shades[site], linewidth=0.9)
    axes.set_xscale("log")
    style.log_axis(axes, "x", 0.9, 1.15 * max(float(found.components[-1]), 2.0))
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("number of components")
    title = "of all sites pooled" if found.basis == "pooled" else "of each site"
    axes.set_title(title, fontsize=style.SMALL_TYPE + 0.5, pad=3.0)


def draw_participation(analysis: Analysis) -> Figure:
    """Draw in how many directions the texts differ at every site."""
    drawing.need(analysis.participation, "participation ratios")
    found = analysis.participation
    assert found is not None
    figure = style.new_figure(drawing.WIDTH, 2.5)
    axes = figure.subplots()
    references = {
        name: (one.sites, one.participation.curve)
        for name, one in analysis.references.items()
        if one.participation is not None
    }
    drawing.draw_reference_sites(axes, references)
    line = drawing.draw_sites(axes, analysis.sites, found.curve, OWN, marker="^")
    line.set_label("this model")
    handles = [line]
    if analysis.participation_normalised is not None:
        curve = analysis.participation_normalised.curve
        handles.append(drawing.draw_sites(axes, analysis.sites, curve, style.SKY_BLUE, marker="v"))
        handles[-1].set_label("this model, states of equal length")
    drawn = [np.asarray(one.get_ydata(), dtype=np.float64) for one in axes.get_lines()]
    drawing.log_if_wide(axes, np.concatenate(drawn), ratio=20.0)
    drawing.layer_axis(axes, analysis.sites)
    axes.set_ylabel("participation ratio\n(directions)")
    drawing.legend(figure, [*handles, *drawing.surrogate_handles(references)])
    return figure
