"""Phase diagrams of relation networks: shares of the phases, the fitted boundary of memorizing, the grokking delay.

A grid of learning rates, or of weight decays, is drawn as cells. Every cell is divided among the phases its networks
ended in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import ArrayLike
from pydantic import Field

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, interval_columns
from genlaws.core.running import Running
from genlaws.figures.recipe import Recipe
from genlaws.figures.relations.cells import (
    Fraction,
    NetworkFigureSettings,
    Rate,
    Repeats,
    Scale,
    Steps,
    Width,
    grouped,
    networks,
)
from genlaws.relations.networks import phases
from genlaws.relations.networks.diagram import ADAM_RATES, CRITERIA, SGD_RATES, PhaseDiagram
from genlaws.relations.networks.runs import log_every
from genlaws.relations.structure.families import named_relation
from genlaws.render import style

Cells = tuple[ArrayLike, ArrayLike]
Names = Annotated[tuple[str, ...], Field(min_length=1, max_length=3)]
Range = tuple[Rate, Rate]

PHASE_COLORS = {
    "generalization": style.GREEN,
    "grokking": style.YELLOW,
    "memorization": style.PURPLE,
    "confusion": style.DARK_GRAY,
}
STACKED_PHASES = phases.PHASES[::-1]  # from bottom to top: higher encoder rates generalize
FILLED_FRACTION = 0.95  # of the side of a cell; the rest separates it from its neighbors
CASING = 1.3  # points of white on both sides of a line together, so that it is visible on every color
DECODER_RATE_LABEL = r"decoder learning rate $\eta_{\mathrm{dec}}$"
ENCODER_RATE_LABEL = r"encoder learning rate $\eta_{\mathrm{enc}}$"
PLANE_COLUMNS = ["relation", "optimizer", "decoder_rate", "encoder_rate"]
DECAY_COLUMNS = ["relation", "decoder_decay", "decoder_rate", "encoder_rate"]
OPTIMIZER_NAMES = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD"}
CRITERION_VERBS = {"memorization": "memorizes", "late": "is late"}
BOUNDARY_STYLES: dict[str, dict[str, Any]] = {
    "memorization": {"color": style.BLACK, "linewidth": 1.3, "linestyle": "-", "zorder": 4},
    "late": {"color": style.BLACK, "linewidth": 1.1, "linestyle": (0, (4, 1.8)), "zorder": 4},
    "unit": {"color": style.BLACK, "linewidth": 0.8, "linestyle": (0, (1, 1.5)), "zorder": 3},
}
CRITERION_MARKERS = {"memorization": {"marker": "o", "markersize": 4.0}, "late": {"marker": "D", "markersize": 3.4}}
MARKER_FACES = {"memorization": style.BLACK, "late": "white"}
ROW_OFFSETS = {"memorization": 0.2, "late": -0.2}  # of a row, so that the two do not overlap
LINE_REACH = 40.0  # decades from a point of a line to where it is drawn from
DIAGRAM_ROW_HEIGHT, MIN_ROW_HEIGHT, MARGIN_HEIGHT, MAX_HEIGHT = 2.1, 1.9, 0.95, 4.9  # inches
EXTRA_LEGEND_HEIGHT = 0.3  # inches, in a column
NO_DELAY_STYLE: dict[str, Any] = {"facecolor": "#E8E8E8", "edgecolor": style.GRAY, "hatch": "/////", "linewidth": 0.0}


def cell_sides(places: ArrayLike) -> tuple[Array, Array]:
    """Return where the cell of each place begins and ends: halfway to the neighbors."""
    known, which = np.unique(np.asarray(places, dtype=np.float64), return_inverse=True)
    steps = np.diff(known) if len(known) > 1 else np.ones(1)
    edges = np.concatenate([[known[0] - steps[0] / 2], known[:-1] + steps / 2, [known[-1] + steps[-1] / 2]])
    return edges[which], edges[which + 1]


def rate_axis(axes: Axes, which: str, rates: ArrayLike) -> None:
    """Make an axis logarithmic, just wide enough for the cells of these rates."""
    low, high = cell_sides(np.log10(np.asarray(rates, dtype=np.float64)))
    style.log_axis(axes, which, 10.0 ** float(low.min()), 10.0 ** float(high.max()))


def fill_cells(axes: Axes, cells: Cells, low: ArrayLike, high: ArrayLike, **look: Any) -> PolyCollection:
    """Fill each cell between two shares of its height; the scales of the axes must be set.

    Parameters
    ----------
    axes : Axes
    cells : two arrays of shape (cells,)
        The middle of each cell, across and upward.
    low, high : arrays of shape (cells,), in [0, 1]
        Where they are the same nothing is drawn.
    look : keywords of the collection
        `facecolors` may be one for each cell.
    """
    (left, right), (bottom, top) = _inner(cells[0], axes.get_xscale()), _inner(cells[1], axes.get_yscale())
    first, last = (bottom + np.asarray(share, dtype=np.float64) * (top - bottom) for share in (low, high))
    some = last > first
    x = _on_scale(np.stack([left, right, right, left], axis=1), axes.get_xscale())[some]
    y = _on_scale(np.stack([first, first, last, last], axis=1), axes.get_yscale())[some]
    if not isinstance(look.get("facecolors", ""), str):
        look["facecolors"] = np.asarray(look["facecolors"])[some]
    drawn = PolyCollection(list(np.stack([x, y], axis=2)), antialiaseds=False, **look)
    drawn.set_linewidth(0.0)
    axes.add_collection(drawn, autolim=False)
    return drawn


def _inner(places: ArrayLike, scale: str) -> tuple[Array, Array]:
    """Return the sides of cells on an even scale, less the gap between them."""
    even = np.asarray(places, dtype=np.float64)
    low, high = cell_sides(np.log10(even) if scale == "log" else even)
    gap = 0.5 * (1.0 - FILLED_FRACTION) * (high - low)
    return low + gap, high - gap


def _on_scale(even: Array, scale: str) -> Array:
    return np.power(10.0, even) if scale == "log" else even


def draw_mosaic(axes: Axes, table: pd.DataFrame, cells: Cells) -> None:
    """Divide the cell of each row among its phases, from confusion at the bottom to generalization at the top."""
    ends = table[list(STACKED_PHASES)].to_numpy(dtype=np.float64).cumsum(axis=1) / table["count"].to_numpy()[:, None]
    starts = np.concatenate([np.zeros((len(table), 1)), ends[:, :-1]], axis=1)
    for place, phase in enumerate(STACKED_PHASES):
        look = {"facecolors": PHASE_COLORS[phase], "label": phase, "zorder": 1}
        fill_cells(axes, cells, starts[:, place], ends[:, place], **look)


def cased_line(axes: Axes, x: ArrayLike, y: ArrayLike, *, linewidth: float, **look: Any) -> Line2D:
    """Draw a line on a wider white one and return it."""
    axes.plot(x, y, color="white", linewidth=linewidth + CASING, zorder=look["zorder"] - 0.5, solid_capstyle="butt")
    (line,) = axes.plot(x, y, linewidth=linewidth, **look)
    return line


def phase_handles() -> list[Patch]:
    """Return legend entries of the four phases."""
    return [Patch(facecolor=PHASE_COLORS[phase], linewidth=0.0, label=phase) for phase in phases.PHASES]


def legend_of(figure: Figure, first: Sequence[Patch | Line2D], second: Sequence[Patch | Line2D], wide: bool) -> None:
    """Write two groups below the panels: one above the other on a page, side by side in a column."""
    handles: list[Patch | Line2D] = [*first, *second]
    columns = 2
    if wide:
        columns = max(len(first), len(second))
        rows = [[*group, *(_empty_handle() for _ in range(columns - len(group)))] for group in (first, second)]
        handles = [one for pair in zip(*rows, strict=True) for one in pair]
    elif len(second) < len(first):
        handles += [_empty_handle() for _ in range(len(first) - len(second))]
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, handletextpad=0.5, columnspacing=2.0)


def _empty_handle() -> Line2D:
    return Line2D([], [], linestyle="none", label=" ")


def relation_label(name: str) -> str:
    """Return a relation's name as it is written above a panel; a user's relation has its own name."""
    try:
        return named_relation(name).label
    except InputError:
        return name


class NetworkGridSettings(NetworkFigureSettings):
    """A grid of networks for each relation."""

    relations: Names = ("mod3", "less-than", "bipartite-15-15")
    grid: Annotated[int, Field(ge=2, le=100)] = 6
    patience: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 4.0
    train_fraction: Fraction = 0.75
    width: Width = 20
    repeats: Repeats = 3
    steps: Steps = 10_000


class PhaseSettings(NetworkGridSettings):
    """A grid of learning rates for each relation and optimizer.

    The defaults are a reduced size for a CPU. The paper's are 10 × 10 rates from 1e-5 to 1e-2, networks with
    three layers of 50 units, and 100,000 steps; grokking is then a delay of 1,000 steps, a hundredth of them.

    A fixed number of steps favors high rates. In addition to the paper's phases the table therefore counts networks
    that are late: those that take more than `patience` times as long to generalize as to fit, or never do.
    """

    optimizers: Annotated[tuple[str, ...], Field(min_length=1, max_length=3)] = ("adam",)
    adam_decoder_rates: Range = ADAM_RATES["decoder_rates"]
    adam_encoder_rates: Range = ADAM_RATES["encoder_rates"]
    sgd_decoder_rates: Range = SGD_RATES["decoder_rates"]
    sgd_encoder_rates: Range = SGD_RATES["encoder_rates"]
    embedding_scale: Scale = 1.0


class WeightDecaySettings(NetworkGridSettings):
    """A grid of decoder weight decays and decoder rates at one encoder rate, with AdamW.

    The defaults are a reduced size for a CPU; the paper's encoder rate is 1e-5, with 100,000 steps.
    """

    decays: Annotated[tuple[Scale, ...], Field(min_length=1, max_length=30)] = (0.0, 0.1, 1.0, 10.0)
    decoder_rates: Range = (1e-4, 1e-1)
    encoder_rate: Rate = 1e-4


def phase_data(settings: PhaseSettings, running: Running) -> pd.DataFrame:
    """Return how many networks are in each phase, by relation, optimizer and both rates."""
    tables = []
    for optimizer in settings.optimizers:
        kind = "sgd" if optimizer == "sgd" else "adam"
        ranges: dict[str, Range] = {part: getattr(settings, f"{kind}_{part}_rates") for part in ("encoder", "decoder")}
        axes: dict[str, Sequence[Any]] = {"relation": settings.relations}
        for part, (low, high) in ranges.items():
            axes[f"{part}_rate"] = np.geomspace(low, high, settings.grid).tolist()
        tables.append(networks(settings, {**_base(settings), "optimizer": optimizer}, axes, running))
    return counted(pd.concat(tables, ignore_index=True), PLANE_COLUMNS, settings.patience)


def decay_data(settings: WeightDecaySettings, running: Running) -> pd.DataFrame:
    """Return how many networks are in each phase, by relation, weight decay and decoder rate."""
    axes = {
        "relation": settings.relations,
        "decoder_decay": settings.decays,
        "decoder_rate": tuple(np.geomspace(*settings.decoder_rates, settings.grid).tolist()),
    }
    table = networks(settings, {**_base(settings), "optimizer": "adamw"}, axes, running)
    return counted(table, DECAY_COLUMNS, settings.patience)


def _base(settings: NetworkGridSettings) -> dict[str, object]:
    """Return settings of the experiment that follow from the number of steps, and where networks stop."""
    steps = settings.steps
    return {"log_every": log_every(steps), "grokking_delay": max(1, steps // 100), "stop_at": 0.9}


def counted(table: pd.DataFrame, by: list[str], patience: float) -> pd.DataFrame:
    """Return networks in each phase for each point, with the median times of those that reached it."""
    columns = ("train_step", "test_step", "phase", "test_accuracy")
    rows = [
        {**place, **phases.count_phases(*(group[name] for name in columns), patience=patience)}
        for place, group in grouped(table, by)
    ]
    return pd.DataFrame(rows)


def phase_summary(frame: pd.DataFrame, settings: PhaseSettings) -> pd.DataFrame:
    """Return the boundaries over all rates, and over the lower and the upper half of the decoder rates alone.

    A law of gradient flow can only hold for small steps.
    """
    lower = lower_rates(frame)
    parts = {"all": frame, "lower": lower, "upper": frame.drop(lower.index)}
    return pd.concat([boundaries(part).assign(rates=name) for name, part in parts.items()], ignore_index=True)


def lower_rates(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the lower half of each optimizer's decoder rates, in their logarithm."""
    rates = frame.groupby("optimizer")["decoder_rate"]
    return frame[frame["decoder_rate"] <= np.sqrt(rates.transform("min") * rates.transform("max"))]


def boundaries(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the boundary of each relation and optimizer, of memorized and of late networks."""
    rows = [
        {**place, "criterion": criterion, **_boundary(group, criterion)}
        for place, group in grouped(frame, ["relation", "optimizer"])
        for criterion in CRITERIA
    ]
    return pd.DataFrame(rows)


def _boundary(group: pd.DataFrame, criterion: str) -> dict[str, Any]:
    """Return the fitted line of one criterion as columns; the counts alone if all networks are on one side."""
    row = _fitted_counts(group)
    found = phases.boundary_of(group, criterion)
    return row if found is None else row | found.columns()


def decay_summary(frame: pd.DataFrame, settings: WeightDecaySettings) -> pd.DataFrame:
    """Return the decoder rate beyond which networks memorize, or are late, for each relation and weight decay."""
    rows = []
    for place, group in grouped(frame, ["relation", "decoder_decay"]):
        for criterion in CRITERIA:
            row = {**place, "criterion": criterion, **_fitted_counts(group)}
            enough = 2 * row["networks"] >= group["count"].sum()  # at least half of the networks fit
            rows.append(row | (_critical_rate(group, criterion) if enough else {}))
    return pd.DataFrame(rows)


def _critical_rate(group: pd.DataFrame, criterion: str) -> dict[str, float]:
    """Return the rate beyond which half of the networks fail; NaN if none is found within those tried."""
    nowhere = interval_columns("critical_decoder_rate", Estimate(math.nan))
    rates, failed = phases.expand_counts(*phases.fitted_counts(group, criterion), group["decoder_rate"])
    if failed.all() or not failed.any() or np.log(rates[failed]).mean() <= np.log(rates[~failed]).mean():
        return nowhere
    with suppress(InputError):
        found = phases.fit_threshold(rates, failed)
        if rates.min() / 2 <= found.value <= 2 * rates.max():
            return interval_columns("critical_decoder_rate", found)
    return nowhere


def _fitted_counts(group: pd.DataFrame) -> dict[str, Any]:
    """Return how many networks fitted their training entries, and how many did not."""
    confused = int(group["confusion"].sum())
    return {"networks": int(group["count"].sum()) - confused, "confused": confused}


def draw_phases(frame: pd.DataFrame, settings: PhaseSettings | None = None) -> Figure:
    """Draw one panel for each relation and optimizer: shares of the phases, and the fitted boundaries."""
    figure, panels = _make_panels(frame)
    summary = boundaries(frame)
    for place, (axes, table) in panels.items():
        draw_mosaic(axes, table, (table["decoder_rate"], table["encoder_rate"]))
        rows = _boundary_rows(summary, place)
        for criterion, row in rows.items():
            _draw_line(axes, row, criterion)
        _draw_unit_line(axes, rows["memorization"])
        texts = [_format_boundary(row, table, criterion) for criterion, row in rows.items()]
        _draw_title(axes, f"{relation_label(place[0])}, {OPTIMIZER_NAMES[place[1]]}", "\n".join(texts))
    lines = [Line2D([], [], label=f"boundary of {CRITERIA[one]}", **BOUNDARY_STYLES[one]) for one in CRITERIA]
    lines.append(Line2D([], [], label="slope 1", **BOUNDARY_STYLES["unit"]))
    legend_of(figure, phase_handles(), lines, wide=figure.get_figwidth() > style.COLUMN)
    return figure


def phase_pictures(found: PhaseDiagram) -> dict[str, Figure]:
    """Return the picture of a phase diagram by its name."""
    return {"phases": draw_phases(found.to_frame())}


def draw_delays(frame: pd.DataFrame, settings: PhaseSettings) -> Figure:
    """Draw one panel for each relation and optimizer: the median delay where any network generalized."""
    figure, panels = _make_panels(frame)
    summary = boundaries(frame)
    shortest = float(log_every(settings.steps))
    norm = LogNorm(shortest, np.nanmax([10.0 * shortest, frame["median_delay"].max()]))
    for place, (axes, table) in panels.items():
        cells, nowhere = (table["decoder_rate"], table["encoder_rate"]), np.zeros(len(table))
        delay = table["median_delay"].to_numpy(dtype=np.float64)
        known = np.isfinite(delay)
        fill_cells(axes, cells, nowhere, ~known, label="none", **NO_DELAY_STYLE)
        colors = colormaps[style.ORDERED_MAP](norm(np.where(known, np.maximum(delay, shortest), shortest)))
        fill_cells(axes, cells, nowhere, known, label="delay", facecolors=colors)
        _draw_line(axes, _boundary_rows(summary, place)["memorization"], "memorization")
        _draw_title(axes, f"{relation_label(place[0])}, {OPTIMIZER_NAMES[place[1]]}")
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
        Patch(label="no network generalizes", **NO_DELAY_STYLE),
        Line2D([], [], label=f"boundary of {CRITERIA['memorization']}", **BOUNDARY_STYLES["memorization"]),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), columnspacing=2.0)
    return figure


def _make_panels(frame: pd.DataFrame) -> tuple[Figure, dict[tuple[str, str], tuple[Axes, pd.DataFrame]]]:
    """Return a figure with one panel for each relation (columns) and optimizer (rows), and the rows of each."""
    relations, optimizers = (list(dict.fromkeys(frame[name])) for name in ("relation", "optimizer"))
    figure = _make_figure(len(relations), len(optimizers))
    grid = figure.subplots(len(optimizers), len(relations), sharex="row", sharey="row", squeeze=False)
    panels = {}
    for place, table in grouped(frame, ["relation", "optimizer"]):
        axes = grid[optimizers.index(place["optimizer"]), relations.index(place["relation"])]
        rate_axis(axes, "x", table["decoder_rate"])
        rate_axis(axes, "y", table["encoder_rate"])
        axes.set_xlabel(DECODER_RATE_LABEL)
        if axes in grid[:, 0]:
            axes.set_ylabel(ENCODER_RATE_LABEL)
        panels[place["relation"], place["optimizer"]] = axes, table
    return figure, panels


def _make_figure(columns: int, rows: int) -> Figure:
    """Return a figure for so many panels: a page, or a column with a longer legend."""
    wide = columns > 1
    height = DIAGRAM_ROW_HEIGHT * rows + (MARGIN_HEIGHT if wide else MARGIN_HEIGHT + EXTRA_LEGEND_HEIGHT)
    return style.new_figure(style.PAGE if wide else style.COLUMN, min(height, max(MAX_HEIGHT, MIN_ROW_HEIGHT * rows)))


def _boundary_rows(summary: pd.DataFrame, place: tuple[str, str]) -> dict[str, pd.Series]:
    """Return what was fitted in one panel, by criterion."""
    here = summary[(summary["relation"] == place[0]) & (summary["optimizer"] == place[1])]
    return {criterion: here[here["criterion"] == criterion].iloc[0] for criterion in CRITERIA}


def _draw_line(axes: Axes, row: pd.Series, criterion: str) -> None:
    """Draw a fitted boundary over the whole panel, if there is one."""
    rates = np.array([row.get("line_decoder_rate", math.nan), row.get("line_encoder_rate", math.nan)], dtype=np.float64)
    if not (np.isfinite(rates) & (rates > 0)).all():
        return
    slope = float(row["slope"])
    along = np.array([0.0, 1.0]) if math.isinf(slope) else np.array([1.0, slope]) / math.hypot(1.0, slope)
    ends = np.log10(rates) + np.array([[-LINE_REACH], [LINE_REACH]]) * along
    cased_line(axes, *np.power(10.0, ends).T, label=criterion, **BOUNDARY_STYLES[criterion])


def _draw_unit_line(axes: Axes, row: pd.Series) -> None:
    """Draw the line of slope 1 on which the rates have the critical ratio."""
    ratio = row.get("critical_ratio", math.nan)
    if np.isfinite(ratio) and ratio > 0:
        decoder = np.array(axes.get_xlim())
        cased_line(axes, decoder, decoder / ratio, label="unit", **BOUNDARY_STYLES["unit"])


def _format_boundary(row: pd.Series, table: pd.DataFrame, criterion: str) -> str:
    """Return the slope with its interval, or on which side all networks are."""
    name = CRITERIA[criterion]
    if not math.isnan(row.get("slope", math.nan)):
        found = [float(row[f"slope{end}"]) for end in ("", "_low", "_high")]
        if phases.slope_message(*found):
            return f"{name}: slope not determined"
        slope, low, high = (phases.format_slope(one) for one in found)
        return f"{name}: slope {slope} [{low}, {high}]"
    share = table[criterion].sum() / row["networks"] if row["networks"] else math.nan
    why = {0.0: f", no network {CRITERION_VERBS[criterion]}", 1.0: f", every network {CRITERION_VERBS[criterion]}"}
    return f"{name}: no boundary{', no network fits' if math.isnan(share) else why.get(share, '')}"


def _draw_title(axes: Axes, title: str, below: str = "") -> None:
    """Write a title and, in small type between it and the panel, the fitted numbers."""
    lines = len(below.split("\n")) if below else 0
    axes.set_title(title, pad=4.0 + 1.35 * style.SMALL_TYPE * lines)
    if below:
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
        axes.annotate(below, (0.5, 1.0), (0.0, 3.0), ha="center", va="bottom", fontsize=style.SMALL_TYPE, **place)


def draw_decay(frame: pd.DataFrame, settings: WeightDecaySettings) -> Figure:
    """Draw one panel for each relation: shares by decoder rate and decay, and the critical rate in each row."""
    relations, decays = list(dict.fromkeys(frame["relation"])), sorted(set(frame["decoder_decay"]))
    figure = _make_figure(len(relations), 1)
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
        axes.set_xlabel(DECODER_RATE_LABEL)
        axes.set_yticks(range(len(decays)), [f"{one:g}" for one in decays])
        axes.tick_params(axis="y", length=0)
        rate = style.plain_power(float(table["encoder_rate"].iloc[0])).strip("$")
        axes.set_title(rf"{relation_label(name)}, $\eta_{{\mathrm{{enc}}}}={rate}$")
    panels[0].set_ylabel(r"decoder weight decay $\lambda_{\mathrm{dec}}$")
    marks = [Line2D([], [], label=f"critical rate of {CRITERIA[one]}", **_marker_style(one)) for one in CRITERIA]
    legend_of(figure, phase_handles(), marks, wide=len(relations) > 1)
    return figure


def _marker_style(criterion: str) -> dict[str, Any]:
    look = {"color": style.BLACK, "linewidth": 1.0, "markerfacecolor": MARKER_FACES[criterion], "markeredgewidth": 0.8}
    return look | CRITERION_MARKERS[criterion]


def _draw_critical(axes: Axes, row: pd.Series, level: int) -> None:
    """Draw a critical decoder rate with its interval near the middle of a row, if there is one."""
    value, low, high = (row.get(f"critical_decoder_rate{end}", math.nan) for end in ("", "_low", "_high"))
    if math.isnan(value):
        return
    height = level + ROW_OFFSETS[row["criterion"]]
    left, right = axes.get_xlim()
    bar = np.clip([low, high], left, right)
    cased_line(axes, bar, [height, height], color=style.BLACK, linewidth=1.0, zorder=4)
    if left <= value <= right:
        axes.plot(value, height, zorder=5, clip_on=False, label=row["criterion"], **_marker_style(row["criterion"]))


PHASE_DIAGRAM = Recipe(PhaseSettings, phase_data, draw_phases, phase_summary)
DELAYS = Recipe(PhaseSettings, phase_data, draw_delays, phase_summary)
WEIGHT_DECAY = Recipe(WeightDecaySettings, decay_data, draw_decay, decay_summary)
