"""Networks of different depth on few entries: at which depths they generalize."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from pydantic import Field

from genlaws.core.running import Running
from genlaws.figures.recipe import Recipe
from genlaws.figures.relations import cells
from genlaws.figures.rules_facts.tables import RUN_POINT_STYLE, draw_bars, interval_of
from genlaws.relations.networks.runs import log_every
from genlaws.render import style

# Read from the paper's Figure 7: hidden layers, train and test accuracy of what looks like one network each.
PAPER_POINTS = (
    *((0, 0.76, 0.465), (2, 0.97, 0.84), (3, 1.0, 0.985), (5, 1.0, 0.855)),
    *((8, 1.0, 1.0), (10, 1.0, 0.955), (15, 1.0, 0.71), (20, 0.985, 0.555)),
)
PAPER_WIDTH = 10
PAPER_BAND = (3, 10)  # hidden layers shaded in the figure
LAYERS_LABEL = "hidden layers"
TRAIN_COLOR, TEST_COLOR, SHARE_COLOR = style.ORANGE, style.BLUE, style.GREEN
ACCURACY_COLORS = {"train_accuracy": TRAIN_COLOR, "test_accuracy": TEST_COLOR}
OFFSET = 0.14  # hidden layers between the points of the two accuracies
RANGE: dict[str, Any] = {"color": TEST_COLOR, "linewidth": 0.5, "alpha": 0.55, "zorder": 1}
CROSS: dict[str, Any] = {"marker": "x", "linestyle": "none", "markersize": 4.0, "markeredgewidth": 0.9, "zorder": 5}
PAPER_BAND_STYLE: dict[str, Any] = {"color": style.LIGHT_GRAY, "alpha": 0.3, "linewidth": 0}
BAND_LINE_STYLE: dict[str, Any] = {"color": SHARE_COLOR, "linewidth": 2.5, "solid_capstyle": "butt"}
BAND_HEIGHT = 1.06  # where the band of half the networks is drawn, above every share


class DepthSettings(cells.NetworkFigureSettings):
    """Hidden layers, and a few widths; the paper has one network of width 10 at each depth, on 30 % of the entries."""

    relation: str = "mod3"
    depths: Annotated[tuple[cells.Depth, ...], Field(min_length=1, max_length=30)] = (0, 1, 2, 3, 5, 8, 10, 15, 20)
    widths: Annotated[tuple[cells.Width, ...], Field(min_length=1, max_length=4)] = (10,)
    train_fraction: cells.Fraction = 0.3
    learning_rate: cells.Rate = 3e-3
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 20
    target: cells.Fraction = 0.9
    steps: cells.Steps = 3000


def depth_data(settings: DepthSettings, running: Running) -> pd.DataFrame:
    """Return mean accuracies and the share of networks that generalize, by width and depth."""
    base = dict.fromkeys(("encoder_rate", "decoder_rate"), settings.learning_rate)
    axes = {"width": settings.widths, "depth": settings.depths}
    table = cells.networks(settings, {**base, "log_every": log_every(settings.steps)}, axes, running)
    rows = [
        place
        | cells.mean_accuracy_columns("train_accuracy", group["train_accuracy"])
        | cells.mean_accuracy_columns("test_accuracy", group["test_accuracy"])
        | {"test_accuracy_worst": group["test_accuracy"].min(), "test_accuracy_best": group["test_accuracy"].max()}
        | cells.share_columns("success", group["test_accuracy"] > settings.target)
        | cells.share_columns("fitted", group["train_accuracy"] > settings.target)
        | {"majority_accuracy": group["majority_accuracy"].iloc[0], "networks": len(group)}
        for place, group in cells.grouped(table, ["width", "depth"])
    ]
    return pd.DataFrame(rows)


def depth_summary(frame: pd.DataFrame, settings: DepthSettings) -> pd.DataFrame:
    """Return for each width the depths at which more than half of the networks generalize.

    A depth is inside the band if the whole Wilson interval of its share lies above one half, outside if all of it lies
    below, and open otherwise. ``band_low`` and ``band_high`` are the ends of the longest run of measured depths
    that are all inside (the shallower of two equal runs; not a number if no depth is inside), and ``inside``,
    ``open`` and ``outside`` count the depths, so that a hole in the band is visible. The paper's band is
    ``"contained"`` if every measured depth of it is in the measured band, ``"contradicted"`` if one of them is outside,
    and ``"open"`` if too few networks were trained to decide.
    """
    rows = []
    for place, group in cells.grouped(frame, ["width"]):
        table = group.sort_values("depth")
        depth = table["depth"].to_numpy()
        inside, outside = table["success_low"].to_numpy() > 0.5, table["success_high"].to_numpy() < 0.5
        low, high = _longest_run(depth, inside)
        of_paper = (depth >= PAPER_BAND[0]) & (depth <= PAPER_BAND[1])
        contained = bool(of_paper.any() and ((depth >= low) & (depth <= high))[of_paper].all())
        contradicted = bool(outside[of_paper].any())
        rows.append(
            place
            | {"band_low": low, "band_high": high}
            | {"inside": int(inside.sum()), "open": int((~inside & ~outside).sum()), "outside": int(outside.sum())}
            | {"paper_band": "contained" if contained else "contradicted" if contradicted else "open"}
            | {"best_depth": int(depth[table["success"].to_numpy().argmax()]), "success": table["success"].max()}
        )
    return pd.DataFrame(rows)


def _longest_run(depth: NDArray[np.int64], inside: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the first and last depth of the longest run of neighbors that are inside."""
    runs = [list(run) for is_inside, run in groupby(range(len(depth)), key=lambda place: inside[place]) if is_inside]
    if not runs:
        return float("nan"), float("nan")
    longest = max(runs, key=len)
    return float(depth[longest[0]]), float(depth[longest[-1]])


def draw_depth(frame: pd.DataFrame, settings: DepthSettings) -> Figure:
    """Draw accuracies (top) and the share of networks that generalize (bottom), a column for each width."""
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
        bottom.set_ylim(-0.04, BAND_HEIGHT + 0.06)
        bottom.set_xlabel(LAYERS_LABEL)
        top.set_title(f"{width} units in each layer")
    panels[0, 0].set_ylabel("accuracy")
    panels[1, 0].set_ylabel("share of networks\nthat generalize")
    panels[0, 0].xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, steps=(1, 2, 5, 10)))
    all_depths = [*settings.depths, *(layers for layers, _, _ in PAPER_POINTS if PAPER_WIDTH in settings.widths)]
    panels[0, 0].set_xlim(min(all_depths) - 0.7, max(all_depths) + 0.7)
    columns_of_legend = 3 if columns > 1 else 2
    figure.legend(handles=_handles(settings), loc="outside lower center", ncols=columns_of_legend, columnspacing=1.5)
    return figure


def _draw_accuracies(axes: Axes, table: pd.DataFrame, *, with_paper: bool) -> None:
    """Draw means with their intervals, the range of the networks, and the single networks of the paper."""
    axes.axvspan(PAPER_BAND[0], PAPER_BAND[1], **PAPER_BAND_STYLE)
    axes.axhline(float(table["majority_accuracy"].iloc[0]), color=style.GRAY, linewidth=0.6, zorder=0)
    depth = table["depth"].to_numpy(dtype=np.float64)
    axes.plot(
        np.stack([depth, depth]) + OFFSET, table[["test_accuracy_worst", "test_accuracy_best"]].to_numpy().T, **RANGE
    )
    for (name, color), shift in zip(ACCURACY_COLORS.items(), (-OFFSET, OFFSET), strict=True):
        x = depth + shift
        axes.plot(x, table[name], color=color, linewidth=0.8, zorder=1)
        draw_bars(axes, np.stack([x, x]), interval_of(table, name), color)
        mark = {**RUN_POINT_STYLE, "marker": "o", "markerfacecolor": color, "markeredgecolor": color}
        axes.plot(x, table[name], clip_on=False, in_layout=False, **mark)
    if with_paper:
        layers, *accuracies = np.array(PAPER_POINTS).T
        for accuracy, color, shift in zip(accuracies, ACCURACY_COLORS.values(), (-OFFSET, OFFSET), strict=True):
            axes.plot(layers + shift, accuracy, markeredgecolor=style.text_color(color), clip_on=False, **CROSS)


def _draw_share(axes: Axes, table: pd.DataFrame, band: pd.Series) -> None:
    """Draw the share that generalizes with Wilson's intervals, and above it where it is surely more than half."""
    axes.axvspan(PAPER_BAND[0], PAPER_BAND[1], **PAPER_BAND_STYLE)
    axes.axhline(0.5, color=style.LIGHT_GRAY, linewidth=0.6, zorder=0)
    x = table["depth"].to_numpy(dtype=np.float64)
    axes.plot(x, table["success"], color=SHARE_COLOR, linewidth=0.8, zorder=1)
    draw_bars(axes, np.stack([x, x]), interval_of(table, "success"), SHARE_COLOR)
    mark = {**RUN_POINT_STYLE, "marker": "o", "markerfacecolor": SHARE_COLOR, "markeredgecolor": SHARE_COLOR}
    axes.plot(x, table["success"], **mark)
    if np.isfinite(band["band_low"]):
        # A band of one depth stays visible.
        ends = [band["band_low"] - OFFSET, band["band_high"] + OFFSET]
        axes.plot(ends, [BAND_HEIGHT, BAND_HEIGHT], **BAND_LINE_STYLE)
    axes.set_yticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])


def _handles(settings: DepthSettings) -> list[Line2D | Patch]:
    """Return the legend."""
    point: dict[str, Any] = {"marker": "o", "markersize": 3.2, "linewidth": 0.8}
    found: list[Line2D | Patch] = [
        Line2D([], [], color=TRAIN_COLOR, label="training entries, mean", **point),
        Line2D([], [], color=TEST_COLOR, label="test entries, mean", **point),
        Line2D([], [], **RANGE, label="test entries, worst to best"),
        Line2D([], [], color=style.GRAY, linewidth=0.6, label="majority answer"),
        Line2D([], [], **BAND_LINE_STYLE, label="surely more than half generalize"),
        Patch(**PAPER_BAND_STYLE, label="the paper's band"),
    ]
    if PAPER_WIDTH in settings.widths:
        found.append(Line2D([], [], markeredgecolor=style.DARK_GRAY, label="networks of the paper", **CROSS))
    return found


DEPTH = Recipe(DepthSettings, depth_data, draw_depth, depth_summary)
