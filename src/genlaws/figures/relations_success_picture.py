"""Pictures of how often networks generalise against the ratio of their learning rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from genlaws.figures import style
from genlaws.figures.recipe import Recipe
from genlaws.figures.relations_success import (
    PAPER_SHARES,
    ControlSettings,
    SuccessSettings,
    control_data,
    control_summary,
    first_layer_outputs,
    laws,
    success_data,
    success_summary,
)
from genlaws.figures.rules_facts_points import POINT, draw_bars, interval_of

RATIO = r"encoder rate over decoder rate $\eta_{\mathrm{enc}}/\eta_{\mathrm{dec}}$"
PAPER_RATIO = r"the paper's $x=\sqrt{\eta_{\mathrm{enc}}/(2\,\eta_{\mathrm{dec}})}$"
SUCCESS_SHARE = "share of networks that generalise"
OPTIMISERS = {"adam": "Adam", "adamw": "AdamW", "sgd": "gradient descent"}
OPTIMISER_MARKERS = {"adam": "o", "adamw": "s", "sgd": "^"}
SCALE_COLOURS = (style.VERMILLION, style.BLUE, style.GREEN, style.PURPLE)
VARIANT_COLOURS = (
    *(style.BLUE, style.SKY_BLUE, style.PURPLE, style.GREEN),
    *(style.VERMILLION, style.ORANGE, style.BLACK),
)
LAW_LINES: dict[str, Any] = {"eq12": "-", "sign_law": (0, (4, 1.5)), "first_layer": ":"}
LAW_NAMES = {
    "eq12": "Eq. 12, gradient flow on a line",
    "sign_law": "the same with sign updates",
    "first_layer": "first layer, exact in two dimensions",
}
LAW_WIDTH, LAW_POINTS = 1.0, 200
BEYOND = 1.6  # what the axis shows beyond the outermost ratio
APART = 1.06  # factor between points at the same ratio, which are moved apart
WITHOUT_THRESHOLD = {1.0: "all do at every ratio", 0.0: "none does at any ratio"}
PAPER_MARK: dict[str, Any] = {**POINT, "marker": "D", "markersize": 3.4}


def draw_success(frame: pd.DataFrame, settings: SuccessSettings) -> Figure:
    """Draw a panel for each optimiser: shares with intervals, the three laws, and the paper's own shares."""
    columns = len(settings.optimisers)
    figure = style.new_figure(style.PAGE if columns > 1 else style.COLUMN, 3.5 if columns > 1 else 3.9)
    panels = figure.subplots(1, columns, sharey=True, squeeze=False)[0]
    shifts = _shifts(len(settings.scales))
    for axes, optimiser in zip(panels, settings.optimisers, strict=True):
        table = frame[frame["optimiser"] == optimiser]
        low, high = _share_axis(axes, _known_ratios(settings))
        grid = np.geomspace(low, high, LAW_POINTS)
        for scale, colour, shift in zip(settings.scales, SCALE_COLOURS, shifts, strict=False):
            for name, chance in laws(grid, scale, first_layer_outputs(settings)).items():
                axes.plot(grid, chance, color=colour, linestyle=LAW_LINES[name], linewidth=LAW_WIDTH, zorder=1)
            _draw_shares(axes, table[table["embedding_scale"] == scale], colour, "o", shift)
            _draw_paper(axes, scale, colour)
        _paper_axis(axes)
        rate = settings.sgd_rate if optimiser == "sgd" else settings.adam_rate
        axes.set_title(f"{OPTIMISERS.get(optimiser, optimiser)}, decoder rate {rate:g}")
    panels[0].set_ylabel(SUCCESS_SHARE)
    handles = _success_handles(settings)
    figure.legend(handles=handles, loc="outside lower center", ncols=3 if columns > 1 else 1, columnspacing=2.0)
    return figure


def _known_ratios(settings: SuccessSettings) -> list[float]:
    """Return the ratios that were run and those of the paper."""
    read = [ratio for scale in settings.scales for ratio, _ in PAPER_SHARES.get(scale, ())]
    return [*settings.ratios, *read]


def _shifts(count: int) -> NDArray[np.float64]:
    """Return the factors that keep bars at the same ratio apart."""
    return np.asarray(APART ** (np.arange(count) - 0.5 * (count - 1)), dtype=np.float64)


def _share_axis(axes: Axes, ratios: list[float]) -> tuple[float, float]:
    """Give a panel the ratio of the rates and the share of networks, and return the limits of the former."""
    low, high = min(ratios) / BEYOND, max(ratios) * BEYOND
    style.log_axis(axes, "x", low, high)
    axes.set_xlabel(RATIO)
    axes.set_ylim(-0.03, 1.03)
    return low, high


def _paper_axis(axes: Axes) -> None:
    """Write the paper's variable along the top."""
    low, high = axes.get_xlim()
    top = axes.secondary_xaxis("top", functions=(_to_paper, _from_paper))
    wanted = [one * 10.0**power for power in range(-6, 7) for one in (1.0, 3.0)]
    shown = [one for one in wanted if _to_paper(low) <= one <= _to_paper(high)]
    top.xaxis.set_major_locator(FixedLocator(shown))
    top.xaxis.set_minor_locator(NullLocator())
    top.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.plain_power(value)))
    top.set_xlabel(PAPER_RATIO, fontsize=style.SMALL_TYPE, color=style.DARK_GREY)
    top.tick_params(labelsize=style.SMALL_TYPE, colors=style.DARK_GREY, width=0.4, length=2.0)
    top.spines["top"].set(visible=True, linewidth=0.4, color=style.DARK_GREY)


def _to_paper(ratio: Any) -> Any:
    return np.sqrt(np.maximum(ratio, 0.0) / 2.0)


def _from_paper(x: Any) -> Any:
    return 2.0 * np.square(x)


def _draw_shares(axes: Axes, table: pd.DataFrame, colour: Any, marker: str, shift: float = 1.0) -> None:
    """Draw shares with Wilson's intervals; a point on the edge is seen whole."""
    rows = table.sort_values("ratio")
    x = shift * rows["ratio"].to_numpy()
    draw_bars(axes, np.stack([x, x]), interval_of(rows, "success"), colour)
    mark = {**POINT, "markerfacecolor": colour, "markeredgecolor": colour, "marker": marker}
    axes.plot(x, rows["success"], clip_on=False, in_layout=False, **mark)


def _draw_paper(axes: Axes, scale: float, colour: Any) -> None:
    """Draw what the paper measured with this factor, if it did."""
    points = PAPER_SHARES.get(scale)
    if points is not None:
        ratios, shares = zip(*points, strict=True)
        axes.plot(ratios, shares, markeredgecolor=colour, clip_on=False, in_layout=False, **PAPER_MARK)


def _success_handles(settings: SuccessSettings) -> list[Line2D]:
    """Return the legend: laws in grey, then the colours of the scales, then the paper's points."""
    lines = [
        Line2D([], [], color=style.DARK_GREY, linestyle=LAW_LINES[name], linewidth=LAW_WIDTH, label=LAW_NAMES[name])
        for name in LAW_LINES
    ]
    scales = [
        Line2D([], [], color=colour, marker="o", markersize=3.2, linewidth=0.7, label=f"embeddings × {scale:g}")
        for scale, colour in zip(settings.scales, SCALE_COLOURS, strict=False)
    ]
    if not set(settings.scales) & set(PAPER_SHARES):
        return [*lines, *scales]
    return [*lines, *scales, Line2D([], [], label="read from the paper", markeredgecolor=style.DARK_GREY, **PAPER_MARK)]


def draw_controls(frame: pd.DataFrame, settings: ControlSettings) -> Figure:
    """Draw the share of networks that generalise (left) and the ratio at which half of them do (right)."""
    figure = style.new_figure(style.PAGE, 3.1)
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    limits = _share_axis(left, list(settings.ratios))
    left.set_ylabel(SUCCESS_SHARE)
    left.axhline(0.5, color=style.LIGHT_GREY, linewidth=0.6, zorder=0)
    names, colours = [], []
    table = control_summary(frame, settings)
    style.log_axis(right, "x", *limits)
    for place, (variant, colour, shift) in enumerate(
        zip(settings.variants, VARIANT_COLOURS, _shifts(len(settings.variants)), strict=False)
    ):
        rows = _of_variant(frame, variant)
        marker = OPTIMISER_MARKERS.get(variant[0], "o")
        left.plot(shift * rows["ratio"], rows["success"], color=colour, linewidth=0.8, zorder=1)
        _draw_shares(left, rows, colour, marker, shift)
        _draw_threshold(right, place, _of_variant(table, variant).iloc[0], (colour, marker))
        names.append(_variant_name(variant))
        colours.append(colour)
    right.set_ylim(len(names) - 0.5, -0.5)
    right.set_yticks(range(len(names)), names)
    for label, colour in zip(right.get_yticklabels(), colours, strict=True):
        label.set_color(style.text_colour(colour))
    right.set_xlabel(r"ratio $\eta_{\mathrm{enc}}/\eta_{\mathrm{dec}}$ at which half of them do")
    return figure


def _of_variant(frame: pd.DataFrame, variant: tuple[str, int | None, float]) -> pd.DataFrame:
    optimiser, batch_size, decay = variant
    chosen = (frame["optimiser"] == optimiser) & (frame["batch_size"] == (batch_size or 0))
    return frame[chosen & np.isclose(frame["weight_decay"], decay)]


def _variant_name(variant: tuple[str, int | None, float]) -> str:
    optimiser, batch_size, decay = variant
    batch = "all entries" if batch_size is None else f"batches of {batch_size}"
    return f"{OPTIMISERS.get(optimiser, optimiser)}\n{batch}" + (f", decay {decay:g}" if decay else "")


def _draw_threshold(axes: Axes, place: int, row: pd.Series, look: tuple[str, str]) -> None:
    """Draw where half of the networks generalise; say so where all or none do, and point where it is off the axis."""
    (colour, marker), limits, value = look, axes.get_xlim(), float(row["half_ratio"])
    if np.isnan(value):
        text = WITHOUT_THRESHOLD.get(float(row["success"]), "the share does not change")
        middle = float(np.sqrt(limits[0] * limits[1]))
        about: dict[str, Any] = {"fontsize": style.SMALL_TYPE, "color": style.text_colour(colour)}
        axes.text(middle, place, text, ha="center", va="center", **about)
        return
    ends = np.clip([row["half_ratio_low"], row["half_ratio_high"]], *limits)
    axes.plot(ends, [place, place], color=colour, linewidth=1.0, zorder=2)
    beyond = (row["half_ratio_low"] < limits[0], row["half_ratio_high"] > limits[1])
    for end, hidden, arrow in zip(limits, beyond, "<>", strict=True):
        if hidden:
            axes.plot(end, place, marker=arrow, color=colour, markersize=3.5, clip_on=False, in_layout=False)
    if limits[0] <= value <= limits[1]:
        axes.plot(value, place, marker=marker, color=colour, markersize=4.0, zorder=4)


SUCCESS = Recipe(SuccessSettings, success_data, draw_success, success_summary)
CONTROLS = Recipe(ControlSettings, control_data, draw_controls, control_summary)
