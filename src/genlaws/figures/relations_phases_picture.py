"""Phase diagrams of relation networks: shares in every cell, the fitted boundary over them, and the grokking delay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator

from genlaws.figures import style
from genlaws.figures.recipe import Recipe
from genlaws.figures.relations_cells import grouped, log_every
from genlaws.figures.relations_mosaic import (
    DECODER,
    ENCODER,
    cased_line,
    cell_sides,
    draw_mosaic,
    fill_cells,
    legend_of,
    phase_handles,
    rate_axis,
    relation_label,
)
from genlaws.figures.relations_phases import (
    CRITERIA,
    DecaySettings,
    PhaseSettings,
    boundaries,
    decay_data,
    decay_summary,
    phase_data,
    phase_summary,
)
from genlaws.relations.phases import slope_message

OPTIMISERS = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD"}
CALLED = {"memorisation": "memorising", "late": "being late"}
VERBS = {"memorisation": "memorises", "late": "is late"}
LINES: dict[str, dict[str, Any]] = {
    "memorisation": {"color": style.BLACK, "linewidth": 1.3, "linestyle": "-", "zorder": 4},
    "late": {"color": style.BLACK, "linewidth": 1.1, "linestyle": (0, (4, 1.8)), "zorder": 4},
    "unit": {"color": style.BLACK, "linewidth": 0.8, "linestyle": (0, (1, 1.5)), "zorder": 3},
}
MARKERS = {"memorisation": {"marker": "o", "markersize": 4.0}, "late": {"marker": "D", "markersize": 3.4}}
FACES = {"memorisation": style.BLACK, "late": "white"}
BESIDE = {"memorisation": 0.2, "late": -0.2}  # of a row, so that the two do not meet
FAR = 40.0  # decades from a point of a line to where it is drawn from
ROW, LOWEST_ROW, AROUND, TALLEST = 2.1, 1.9, 0.95, 4.9  # inches: of a row of panels, what is around them, the page
TALLER_LEGEND = 0.3  # inches, in a column
NO_DELAY: dict[str, Any] = {"facecolor": "#E8E8E8", "edgecolor": style.GREY, "hatch": "/////", "linewidth": 0.0}


def draw_phases(frame: pd.DataFrame, settings: PhaseSettings) -> Figure:
    """Draw one panel for each relation and optimiser: shares of the phases, and the fitted boundaries."""
    figure, panels = _plane(frame)
    summary = boundaries(frame)
    for place, (axes, table) in panels.items():
        draw_mosaic(axes, table, (table["decoder_rate"], table["encoder_rate"]))
        rows = _rows_of(summary, place)
        for criterion, row in rows.items():
            _draw_line(axes, row, criterion)
        _draw_unit_line(axes, rows["memorisation"])
        told = [_boundary_text(row, table, criterion) for criterion, row in rows.items()]
        _head(axes, f"{relation_label(place[0])}, {OPTIMISERS[place[1]]}", "\n".join(told))
    lines = [Line2D([], [], label=f"boundary of {CALLED[one]}", **LINES[one]) for one in CRITERIA]
    lines.append(Line2D([], [], label="slope 1", **LINES["unit"]))
    legend_of(figure, phase_handles(), lines, wide=figure.get_figwidth() > style.COLUMN)
    return figure


def draw_delays(frame: pd.DataFrame, settings: PhaseSettings) -> Figure:
    """Draw one panel for each relation and optimiser: the median delay where any network generalised."""
    figure, panels = _plane(frame)
    summary = boundaries(frame)
    shortest = float(log_every(settings.steps))
    norm = LogNorm(shortest, np.nanmax([10.0 * shortest, frame["median_delay"].max()]))
    for place, (axes, table) in panels.items():
        cells, nowhere = (table["decoder_rate"], table["encoder_rate"]), np.zeros(len(table))
        delay = table["median_delay"].to_numpy(dtype=np.float64)
        known = np.isfinite(delay)
        fill_cells(axes, cells, nowhere, ~known, label="none", **NO_DELAY)
        colours = colormaps[style.ORDERED_MAP](norm(np.where(known, np.maximum(delay, shortest), shortest)))
        fill_cells(axes, cells, nowhere, known, label="delay", facecolors=colours)
        _draw_line(axes, _rows_of(summary, place)["memorisation"], "memorisation")
        _head(axes, f"{relation_label(place[0])}, {OPTIMISERS[place[1]]}")
    bar = figure.colorbar(
        ScalarMappable(norm, colormaps[style.ORDERED_MAP]),
        ax=[axes for axes, _ in panels.values()],
        label="median grokking delay (steps)",
        extend="min",
        format=FuncFormatter(lambda value, _: style.plain_power(value)),
        aspect=30,
    )
    bar.ax.yaxis.set_minor_locator(NullLocator())
    handles = [
        Patch(label="no network generalises", **NO_DELAY),
        Line2D([], [], label=f"boundary of {CALLED['memorisation']}", **LINES["memorisation"]),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), columnspacing=2.0)
    return figure


def _plane(frame: pd.DataFrame) -> tuple[Figure, dict[tuple[str, str], tuple[Axes, pd.DataFrame]]]:
    """Return a figure with one panel for each relation (columns) and optimiser (rows), and the rows of each."""
    relations, optimisers = (list(dict.fromkeys(frame[name])) for name in ("relation", "optimiser"))
    figure = _sheet(len(relations), len(optimisers))
    grid = figure.subplots(len(optimisers), len(relations), sharex="row", sharey="row", squeeze=False)
    panels = {}
    for place, table in grouped(frame, ["relation", "optimiser"]):
        axes = grid[optimisers.index(place["optimiser"]), relations.index(place["relation"])]
        rate_axis(axes, "x", table["decoder_rate"])
        rate_axis(axes, "y", table["encoder_rate"])
        axes.set_xlabel(DECODER)
        if axes in grid[:, 0]:
            axes.set_ylabel(ENCODER)
        panels[place["relation"], place["optimiser"]] = axes, table
    return figure, panels


def _sheet(columns: int, rows: int) -> Figure:
    """Return a figure for so many panels: a page, or a column with a longer legend."""
    wide = columns > 1
    height = ROW * rows + (AROUND if wide else AROUND + TALLER_LEGEND)
    return style.new_figure(style.PAGE if wide else style.COLUMN, min(height, max(TALLEST, LOWEST_ROW * rows)))


def _rows_of(summary: pd.DataFrame, place: tuple[str, str]) -> dict[str, pd.Series]:
    """Return what was fitted in one panel, by criterion."""
    here = summary[(summary["relation"] == place[0]) & (summary["optimiser"] == place[1])]
    return {criterion: here[here["criterion"] == criterion].iloc[0] for criterion in CRITERIA}


def _draw_line(axes: Axes, row: pd.Series, criterion: str) -> None:
    """Draw a fitted boundary over the whole panel, if there is one."""
    rates = np.array([row.get("line_decoder_rate", math.nan), row.get("line_encoder_rate", math.nan)], dtype=np.float64)
    if not (np.isfinite(rates) & (rates > 0)).all():
        return
    slope = float(row["slope"])
    along = np.array([0.0, 1.0]) if math.isinf(slope) else np.array([1.0, slope]) / math.hypot(1.0, slope)
    ends = np.log10(rates) + np.array([[-FAR], [FAR]]) * along
    cased_line(axes, *np.power(10.0, ends).T, label=criterion, **LINES[criterion])


def _draw_unit_line(axes: Axes, row: pd.Series) -> None:
    """Draw the line of slope 1 on which the rates have the critical ratio."""
    ratio = row.get("critical_ratio", math.nan)
    if np.isfinite(ratio) and ratio > 0:
        decoder = np.array(axes.get_xlim())
        cased_line(axes, decoder, decoder / ratio, label="unit", **LINES["unit"])


def _boundary_text(row: pd.Series, table: pd.DataFrame, criterion: str) -> str:
    """Return the slope with its interval, or on which side all networks are."""
    name = CALLED[criterion]
    if not math.isnan(row.get("slope", math.nan)):
        found = [float(row[f"slope{end}"]) for end in ("", "_low", "_high")]
        if slope_message(*found):
            return f"{name}: slope not determined"
        slope, low, high = (_number(one) for one in found)
        return f"{name}: slope {slope} [{low}, {high}]"
    share = table[criterion].sum() / row["networks"] if row["networks"] else math.nan
    why = {0.0: f", no network {VERBS[criterion]}", 1.0: f", every network {VERBS[criterion]}"}
    return f"{name}: no boundary{', no network fits' if math.isnan(share) else why.get(share, '')}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{round(value, 2) + 0.0:.2f}" if abs(value) < 10.0 else f"{value:.3g}"


def _head(axes: Axes, title: str, below: str = "") -> None:
    """Write a title and, in small type between it and the panel, what was found."""
    lines = len(below.split("\n")) if below else 0
    axes.set_title(title, pad=4.0 + 1.35 * style.SMALL_TYPE * lines)
    if below:
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
        axes.annotate(below, (0.5, 1.0), (0.0, 3.0), ha="center", va="bottom", fontsize=style.SMALL_TYPE, **place)


def draw_decay(frame: pd.DataFrame, settings: DecaySettings) -> Figure:
    """Draw one panel for each relation: shares by decoder rate and decay, and the critical rate in each row."""
    relations, decays = list(dict.fromkeys(frame["relation"])), sorted(set(frame["decoder_decay"]))
    figure = _sheet(len(relations), 1)
    panels = figure.subplots(1, len(relations), sharey=True, squeeze=False)[0]
    summary = decay_summary(frame, settings)
    for axes, name in zip(panels, relations, strict=True):
        table = frame[frame["relation"] == name]
        rate_axis(axes, "x", table["decoder_rate"])
        level = [decays.index(one) for one in table["decoder_decay"]]
        axes.set_ylim(float(cell_sides(level)[0].min()), float(cell_sides(level)[1].max()))
        draw_mosaic(axes, table, (table["decoder_rate"], level))
        for _, row in summary[summary["relation"] == name].iterrows():
            _draw_critical(axes, row, decays.index(row["decoder_decay"]))
        axes.set_xlabel(DECODER)
        axes.set_yticks(range(len(decays)), [f"{one:g}" for one in decays])
        axes.tick_params(axis="y", length=0)
        rate = style.plain_power(float(table["encoder_rate"].iloc[0])).strip("$")
        axes.set_title(rf"{relation_label(name)}, $\eta_{{\mathrm{{enc}}}}={rate}$")
    panels[0].set_ylabel(r"decoder weight decay $\lambda_{\mathrm{dec}}$")
    marks = [Line2D([], [], label=f"critical rate of {CALLED[one]}", **_mark(one)) for one in CRITERIA]
    legend_of(figure, phase_handles(), marks, wide=len(relations) > 1)
    return figure


def _mark(criterion: str) -> dict[str, Any]:
    look = {"color": style.BLACK, "linewidth": 1.0, "markerfacecolor": FACES[criterion], "markeredgewidth": 0.8}
    return look | MARKERS[criterion]


def _draw_critical(axes: Axes, row: pd.Series, level: int) -> None:
    """Draw a critical decoder rate with its interval beside the middle of a row, if there is one."""
    value, low, high = (row.get(f"critical_decoder_rate{end}", math.nan) for end in ("", "_low", "_high"))
    if math.isnan(value):
        return
    height = level + BESIDE[row["criterion"]]
    left, right = axes.get_xlim()
    bar = np.clip([low, high], left, right)
    cased_line(axes, bar, [height, height], color=style.BLACK, linewidth=1.0, zorder=4)
    if left <= value <= right:
        axes.plot(value, height, zorder=5, clip_on=False, label=row["criterion"], **_mark(row["criterion"]))


PHASES = Recipe(PhaseSettings, phase_data, draw_phases, phase_summary)
DELAYS = Recipe(PhaseSettings, phase_data, draw_delays, phase_summary)
DECAY = Recipe(DecaySettings, decay_data, draw_decay, decay_summary)
