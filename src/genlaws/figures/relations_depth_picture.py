"""The picture of networks between too shallow and too deep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from genlaws.figures import style
from genlaws.figures.recipe import Recipe
from genlaws.figures.relations_depth import (
    PAPER_BAND,
    PAPER_POINTS,
    PAPER_WIDTH,
    DepthSettings,
    depth_data,
    depth_summary,
)
from genlaws.figures.rules_facts_points import POINT, draw_bars, interval_of

LAYERS = "hidden layers"
SHOWN_COLOUR, OTHER_COLOUR, SHARE_COLOUR = style.ORANGE, style.BLUE, style.GREEN
ACCURACIES = {"train_accuracy": SHOWN_COLOUR, "test_accuracy": OTHER_COLOUR}
APART = 0.14  # hidden layers between the points of the two accuracies
RANGE: dict[str, Any] = {"color": OTHER_COLOUR, "linewidth": 0.5, "alpha": 0.55, "zorder": 1}
CROSS: dict[str, Any] = {"marker": "x", "linestyle": "none", "markersize": 4.0, "markeredgewidth": 0.9, "zorder": 5}
PAPER_SHADE: dict[str, Any] = {"color": style.LIGHT_GREY, "alpha": 0.3, "linewidth": 0}
BAND_LINE: dict[str, Any] = {"color": SHARE_COLOUR, "linewidth": 2.5, "solid_capstyle": "butt"}
BAND_PLACE = 1.06  # where the band of half the networks is drawn, above every share


def draw_depth(frame: pd.DataFrame, settings: DepthSettings) -> Figure:
    """Draw accuracies (top) and the share of networks that generalise (bottom), a column for each width."""
    columns = len(settings.widths)
    figure = style.new_figure(style.PAGE if columns > 1 else style.COLUMN, 4.3)
    panels = figure.subplots(
        2, columns, sharex=True, sharey="row", squeeze=False, gridspec_kw={"height_ratios": (1.4, 1.0)}
    )
    bands = depth_summary(frame, settings)
    lowest = np.nanmin([*frame["test_accuracy_worst"], *frame["train_accuracy_low"], *(one[2] for one in PAPER_POINTS)])
    for (top, bottom), width in zip(panels.T, settings.widths, strict=True):
        table = frame[frame["width"] == width].sort_values("depth")
        _draw_accuracies(top, table, with_paper=width == PAPER_WIDTH)
        _draw_share(bottom, table, bands[bands["width"] == width].iloc[0])
        top.set_ylim(lowest - 0.03, 1.02)
        bottom.set_ylim(-0.04, BAND_PLACE + 0.06)
        bottom.set_xlabel(LAYERS)
        top.set_title(f"{width} units in each layer")
    panels[0, 0].set_ylabel("accuracy")
    panels[1, 0].set_ylabel("share of networks\nthat generalise")
    panels[0, 0].xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, steps=(1, 2, 5, 10)))
    shown = [*settings.depths, *(layers for layers, _, _ in PAPER_POINTS if PAPER_WIDTH in settings.widths)]
    panels[0, 0].set_xlim(min(shown) - 0.7, max(shown) + 0.7)
    columns_of_legend = 3 if columns > 1 else 2
    figure.legend(handles=_handles(settings), loc="outside lower center", ncols=columns_of_legend, columnspacing=1.5)
    return figure


def _draw_accuracies(axes: Axes, table: pd.DataFrame, *, with_paper: bool) -> None:
    """Draw means with their intervals, the range of the networks, and the single networks of the paper."""
    axes.axvspan(PAPER_BAND[0], PAPER_BAND[1], **PAPER_SHADE)
    axes.axhline(float(table["majority_accuracy"].iloc[0]), color=style.GREY, linewidth=0.6, zorder=0)
    depth = table["depth"].to_numpy(dtype=np.float64)
    axes.plot(
        np.stack([depth, depth]) + APART, table[["test_accuracy_worst", "test_accuracy_best"]].to_numpy().T, **RANGE
    )
    for (name, colour), shift in zip(ACCURACIES.items(), (-APART, APART), strict=True):
        x = depth + shift
        axes.plot(x, table[name], color=colour, linewidth=0.8, zorder=1)
        draw_bars(axes, np.stack([x, x]), interval_of(table, name), colour)
        mark = {**POINT, "marker": "o", "markerfacecolor": colour, "markeredgecolor": colour}
        axes.plot(x, table[name], clip_on=False, in_layout=False, **mark)
    if with_paper:
        layers, *accuracies = np.array(PAPER_POINTS).T
        for accuracy, colour, shift in zip(accuracies, ACCURACIES.values(), (-APART, APART), strict=True):
            axes.plot(layers + shift, accuracy, markeredgecolor=style.text_colour(colour), clip_on=False, **CROSS)


def _draw_share(axes: Axes, table: pd.DataFrame, band: pd.Series) -> None:
    """Draw the share that generalises with Wilson's intervals, and above it where it is surely more than half."""
    axes.axvspan(PAPER_BAND[0], PAPER_BAND[1], **PAPER_SHADE)
    axes.axhline(0.5, color=style.LIGHT_GREY, linewidth=0.6, zorder=0)
    x = table["depth"].to_numpy(dtype=np.float64)
    axes.plot(x, table["success"], color=SHARE_COLOUR, linewidth=0.8, zorder=1)
    draw_bars(axes, np.stack([x, x]), interval_of(table, "success"), SHARE_COLOUR)
    mark = {**POINT, "marker": "o", "markerfacecolor": SHARE_COLOUR, "markeredgecolor": SHARE_COLOUR}
    axes.plot(x, table["success"], **mark)
    if np.isfinite(band["band_low"]):
        # A band of one depth is seen too.
        ends = [band["band_low"] - APART, band["band_high"] + APART]
        axes.plot(ends, [BAND_PLACE, BAND_PLACE], **BAND_LINE)
    axes.set_yticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])


def _handles(settings: DepthSettings) -> list[Line2D | Patch]:
    """Return the legend."""
    point: dict[str, Any] = {"marker": "o", "markersize": 3.2, "linewidth": 0.8}
    found: list[Line2D | Patch] = [
        Line2D([], [], color=SHOWN_COLOUR, label="entries shown, mean", **point),
        Line2D([], [], color=OTHER_COLOUR, label="other entries, mean", **point),
        Line2D([], [], **RANGE, label="other entries, worst to best"),
        Line2D([], [], color=style.GREY, linewidth=0.6, label="commoner answer"),
        Line2D([], [], **BAND_LINE, label="surely more than half generalise"),
        Patch(**PAPER_SHADE, label="the paper's band"),
    ]
    if PAPER_WIDTH in settings.widths:
        found.append(Line2D([], [], markeredgecolor=style.DARK_GREY, label="networks of the paper", **CROSS))
    return found


DEPTH = Recipe(DepthSettings, depth_data, draw_depth, depth_summary)
