"""Pictures of the stream in the bottleneck of an autoencoder: its path, its steps, and what comes out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from genlaws.figures import residual_stream_drawing as drawing
from genlaws.figures import style

if TYPE_CHECKING:
    from genlaws.residual_stream.analysis_results import Analysis
    from genlaws.residual_stream.compression import Compression

NETWORK = style.GREEN


def draw_compression_path(analysis: Analysis) -> Figure:
    """Draw the mean path in the bottleneck, coloured by layer, with its intervals (Figure 3B)."""
    shown = _known(analysis)
    figure = style.new_figure(drawing.WIDTH, 0.9 + 2.1 * len(shown))
    grid = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    colours = drawing.layer_colours(analysis.sites)
    for axes, one in zip(grid, shown, strict=True):
        x = one.path[0]
        y = one.path[1] if len(one.path) > 1 else None
        at = drawing.places_of_labels(x.labels, analysis.sites)
        if y is None:
            drawing.draw_sites(axes, analysis.sites, x, NETWORK)
            axes.set(xlabel="layer", ylabel="bottleneck unit")
        else:
            shades = colours.to_rgba(at)
            axes.plot(x.value, y.value, color=style.GREY, linewidth=0.7, zorder=1)
            for k, shade in enumerate(shades):
                axes.hlines(y.value[k], x.low[k], x.high[k], color=shade, linewidth=0.8, zorder=2)
                axes.vlines(x.value[k], y.low[k], y.high[k], color=shade, linewidth=0.8, zorder=2)
            axes.scatter(x.value, y.value, c=shades, s=12.0, zorder=3, linewidths=0.0)
            axes.plot(x.value[0], y.value[0], color=shades[0], marker="o", markersize=5.0, markerfacecolor="white")
            axes.set(xlabel="first bottleneck unit", ylabel="second bottleneck unit")
        axes.set_title(_kind(one), fontsize=style.SMALL_TYPE + 0.5, pad=3.0)
        axes.margins(0.08)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    drawing.layer_bar(figure, colours, list(grid))
    return figure


def draw_compression_steps(analysis: Analysis) -> Figure:
    """Draw the distance in the bottleneck from each site to the next (Figure 3C)."""
    shown = _known(analysis)
    figure = style.new_figure(drawing.WIDTH, 0.9 + 1.5 * len(shown))
    grid = figure.subplots(len(shown), 1, squeeze=False, sharex=True)[:, 0]
    for axes, one in zip(grid, shown, strict=True):
        drawing.draw_steps(axes, analysis.sites, one.step_length)
        drawing.layer_axis(axes, analysis.sites, label=axes is grid[-1])
        axes.set_ylim(bottom=0.0)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.set_ylabel("step length\nin the bottleneck")
        axes.set_title(_kind(one), fontsize=style.SMALL_TYPE + 0.5, pad=3.0)
    drawing.legend(figure, drawing.write_handles(analysis.sites))
    return figure


def draw_compression_explained(analysis: Analysis) -> Figure:
    """Draw what comes out of the autoencoder again, beside as many principal components (Figure 3D)."""
    shown = _known(analysis)
    figure = style.new_figure(drawing.WIDTH, 0.9 + 1.5 * len(shown))
    grid = figure.subplots(len(shown), 1, squeeze=False, sharex=True)[:, 0]
    width = shown[0].sizes[-1]
    lines = []
    for axes, one in zip(grid, shown, strict=True):
        axes.axhline(0.0, **drawing.GUIDE)
        look = {"linestyle": (0, (3, 1.5)), "marker": "", "linewidth": 0.8}
        linear = drawing.draw_sites(axes, analysis.sites, one.components_explained, style.GREY, **look)
        own = drawing.draw_sites(axes, analysis.sites, one.explained, NETWORK)
        drawing.layer_axis(axes, analysis.sites, label=axes is grid[-1])
        values = np.concatenate([one.explained.low, one.explained.value, one.components_explained.value])
        low = float(np.nanmin(values, initial=0.0))
        axes.set_ylim(max(low, -1.0) - 0.03, 1.02)
        axes.set_ylabel("explained share\nof the variance")
        axes.set_title(_kind(one), fontsize=style.SMALL_TYPE + 0.5, pad=3.0)
        own.set_label(f"autoencoder of {width} units")
        linear.set_label(f"{width} principal components")
        lines = [own, linear]
    drawing.legend(figure, lines)
    return figure


def _known(analysis: Analysis) -> list[Compression]:
    """Return the compressions there are: of states as they are, and normalised."""
    found = [one for one in (analysis.compression, analysis.compression_normalised) if one is not None]
    drawing.need(found, "compression")
    return found


def _kind(one: Compression) -> str:
    return "states divided by their root mean square" if one.normalised else "states as they are"
