"""ReLU networks: how the similarity they learn narrows along training, and their tests by width and number of items."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
from pydantic import Field, model_validator

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import Recipe
from genlaws.figures.rules_facts.tables import RUN_POINT_STYLE, draw_bars, interval_of, mean_columns
from genlaws.figures.semanticity import relu
from genlaws.render import style
from genlaws.semanticity import front, similarity, space
from genlaws.sweeps.computing import ComputedCell

Width = Annotated[int, Field(ge=1, le=10_000)]
Items = Annotated[int, Field(ge=2, le=499)]

FITTED, CUT = "resolution", "cut"
DISTANCE_LABELS = {"circle": "distance $d$ (circumferences)", "segment": "distance $d$ (lengths of the segment)"}
MAX_DISTANCES = {"circle": 0.5, "segment": 1.0}
FIRST_DRAWN_STEP = 100  # steps; before, profiles are flat
VARIED_LABELS = {"hidden": "hidden width $m$", "item_count": "items in training $n$"}
REACHED_COLUMNS = ("peak_generalization", "final_identification", "mean_circle_distance", "mean_set_distance")
OTHER_COLUMNS = ("final_generalization", "final_resolution", "peak_identification", "mean_similarity")
MANY_COLUMNS = ("many_identification", "many_generalization")
POINT_COLOR = style.BLUE
DISTANCE_MARKERS = {"mean_circle_distance": "o", "mean_set_distance": "s"}
PANEL_TITLES = {
    "peak_generalization": "peak generalization $p_S$",
    "final_identification": "final identification $p_I$",
    "mean_circle_distance": "distance from the front",
}
FIT_STYLE: dict[str, Any] = {"color": style.DARK_GRAY, "linewidth": 0.8, "linestyle": (0, (3, 1.5))}
LAW_STYLE: dict[str, Any] = {"color": style.GRAY, "linewidth": 0.6}


class ProfileSettings(relu.ReluFigureSettings):
    """Networks on the circle and the segment; profiles are drawn at the marks."""

    marks: tuple[int, ...] = (0, 300, 600, 1000, 2000, 7500)


def profile_data(settings: ProfileSettings, running: Running) -> pd.DataFrame:
    """Return mean profiles at the marks, and resolution and cut along training."""
    running.start(len(relu.TRAINED_ON_SIMILARITY) * settings.repeats, "networks")
    tables = []
    for network in relu.TRAINED_ON_SIMILARITY:
        cells = relu.relu_cells(relu.RELU_NETWORKS[network], settings, running)
        about: dict[str, Any] = {"network": network, "run_count": len(cells)}
        about["best_resolution"] = _best_resolution(network)
        tables += [_profile_rows(cells, settings).assign(**about), _width_rows(cells, settings).assign(**about)]
    return pd.concat(tables, ignore_index=True)


@lru_cache(maxsize=2)
def _best_resolution(name: str) -> float:
    """Return the resolution with which linear decay generalizes best in a space; on the segment this takes seconds."""
    best = front(space(name), similarity=similarity("linear", 1.0)).peak
    return best.resolution if best else math.nan


def _profile_rows(cells: list[ComputedCell], settings: ProfileSettings) -> pd.DataFrame:
    """Return the means over networks of similarity relative to that at distance 0."""
    steps, distance = cells[0].result["step"], cells[0].result["profile_distance"]
    profile = np.array([cell.result["profile"] for cell in cells], dtype=np.float64)
    relative = profile / profile[..., :1]
    return pd.DataFrame(
        [
            {"series": "profile", "step": steps[log], "distance": apart}
            | mean_columns("relative_similarity", relative[:, log, place])
            for log in relu.mark_places(steps, settings.marks)
            for place, apart in enumerate(distance)
        ]
    )


def _width_rows(cells: list[ComputedCell], settings: ProfileSettings) -> pd.DataFrame:
    """Return the means of both widths; a cut where not every network has one is the mean of those that have."""
    steps = cells[0].result["step"]
    widths = {name: np.array([cell.result[name] for cell in cells]) for name in (FITTED, CUT)}
    return pd.DataFrame(
        [
            {"series": "width", "step": steps[log], "cut_share": float(np.isfinite(widths[CUT][:, log]).mean())}
            | {name: value for one, found in widths.items() for name, value in mean_columns(one, found[:, log]).items()}
            for log in relu.drawn_logs(steps, settings.marks)
        ]
    )


def profile_summary(frame: pd.DataFrame, settings: ProfileSettings) -> pd.DataFrame:
    """Return both widths at the marks."""
    widths = frame[frame["series"] == "width"]
    tables = [
        table.iloc[relu.mark_places(table["step"].to_numpy(), settings.marks)]
        for _, table in widths.groupby("network", sort=False)
    ]
    return pd.concat(tables).dropna(axis=1, how="all").drop(columns="series").reset_index(drop=True)


def draw_profile(frame: pd.DataFrame, settings: ProfileSettings) -> Figure:
    """Draw profiles at the marks (top) and both widths against the step (bottom), a column for each kind of stimuli."""
    figure = style.new_figure(style.PAGE, 4.3)
    panels = figure.subplots(2, 2)
    labeled: list[tuple[Axes, list[Line2D], list[str]]] = []
    for column, network in enumerate(relu.TRAINED_ON_SIMILARITY):
        table = frame[frame["network"] == network]
        labeled.append(_draw_profiles(panels[0, column], table, network))
        labeled.append(_draw_widths(panels[1, column], table, network, settings))
    panels[0, 0].set_ylabel("similarity $g(d)/g(0)$")
    panels[1, 0].set_ylabel("width of the profile (distance)")
    steps = sorted(frame[frame["series"] == "profile"]["step"].unique())
    handles = [
        Line2D([], [], color=color, label=f"step {int(step):,}")
        for step, color in zip(steps, style.ordered_colors(len(steps)), strict=True)
    ]
    handles.append(Line2D([], [], **FIT_STYLE, label="linear decay fitted to the last"))
    style.legend_below(figure, handles)
    for axes, lines, names in labeled:
        direct_labels(axes, lines, names)
    return figure


def _draw_profiles(axes: Axes, table: pd.DataFrame, network: str) -> tuple[Axes, list[Line2D], list[str]]:
    """Draw the mean profile at each mark with its band, and the decay that fits the last one."""
    profiles = table[table["series"] == "profile"]
    steps = sorted(profiles["step"].unique())
    for step, color in zip(steps, style.ordered_colors(len(steps)), strict=True):
        rows = profiles[profiles["step"] == step]
        style.plot_with_band(axes, rows, "distance", "relative_similarity", color, alpha=relu.COURSE_BAND_ALPHA)
    last = table[(table["series"] == "width") & (table["step"] == steps[-1])].iloc[0]
    d = np.array([0.0, last[FITTED], MAX_DISTANCES[network]])
    axes.plot(d, np.maximum(0.0, 1.0 - d / d[1]), **FIT_STYLE, zorder=4)
    axes.set(xlim=(0.0, MAX_DISTANCES[network]), xlabel=DISTANCE_LABELS[network], title=network)
    axes.set_ylim(-0.02, max(1.05, 1.03 * float(profiles["relative_similarity_high"].max())))
    return axes, [], []


def _draw_widths(
    axes: Axes, table: pd.DataFrame, network: str, settings: ProfileSettings
) -> tuple[Axes, list[Line2D], list[str]]:
    """Draw the fitted resolution, and the cut once every network has one."""
    rows = table[(table["series"] == "width") & (table["step"] > 0)]
    lines = []
    for name, part, dashes in ((FITTED, rows, "-"), (CUT, rows[rows["cut_share"] == 1.0], (0, (1.2, 1.0)))):
        lines += style.plot_with_band(
            axes, part, "step", name, relu.RELU_NETWORK_COLORS[network], alpha=relu.COURSE_BAND_ALPHA, linestyle=dashes
        )
    best = float(rows["best_resolution"].iloc[0])
    lines += axes.plot([1, settings.steps], [best, best], color=style.GRAY, linewidth=0.6, zorder=0)
    relu.step_axis(axes, min(FIRST_DRAWN_STEP, settings.steps / 2), settings.steps)
    axes.set_ylim(0.0, 1.2 * MAX_DISTANCES[network])
    return axes, lines, ["resolution of the fitted decay", "cut: first below 1 %", "best resolution for generalization"]


PROFILE = Recipe(ProfileSettings, profile_data, draw_profile, profile_summary)


class NetworkSizeSettings(relu.ReluFigureSettings):
    """Widths with two items in training, and numbers of items at one width; all tested with many items in the end."""

    hidden_widths: Annotated[tuple[Width, ...], Field(min_length=2, max_length=12)] = (2, 3, 5, 10, 20, 50)
    item_counts: Annotated[tuple[Items, ...], Field(min_length=2, max_length=8)] = (2, 3, 4, 8)
    many_items: Annotated[tuple[Items, ...], Field(min_length=2, max_length=12)] = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
    log_every: Annotated[int, Field(ge=1)] = 50

    @model_validator(mode="after")
    def _check_items(self) -> NetworkSizeSettings:
        if max(*self.item_counts, *self.many_items) >= self.stimulus_count:
            raise ValueError(
                "item_counts and many_items must be below stimulus_count, as items and probe are different"
            )
        return self

    def varied(self) -> list[tuple[str, int, dict[str, int]]]:
        """Return the varied field, its value and the network's settings; networks that occur twice are trained once."""
        widths = [("hidden", one, {"hidden": one, "item_count": 2}) for one in self.hidden_widths]
        items = [("item_count", one, {"hidden": self.hidden, "item_count": one}) for one in self.item_counts]
        return [*widths, *items]


def sizes_data(settings: NetworkSizeSettings, running: Running) -> pd.DataFrame:
    """Return what networks of each size reach, and both tests with many items after training."""
    different = {tuple(chosen.values()): chosen for _, _, chosen in settings.varied()}
    running.start(len(different) * settings.repeats, "networks")
    cells = {
        key: relu.relu_cells({"stimuli": "circle", **chosen}, settings, running, many_items=settings.many_items)
        for key, chosen in different.items()
    }
    tables = [
        table.assign(varied=varied, size=size, **chosen)
        for varied, size, chosen in settings.varied()
        for table in _size_tables(cells[tuple(chosen.values())], settings)
    ]
    return pd.concat(tables, ignore_index=True).assign(run_count=settings.repeats)


def _size_tables(cells: list[ComputedCell], settings: NetworkSizeSettings) -> list[pd.DataFrame]:
    """Return the means of what networks of one size reach, and of both tests with each number of items."""
    reached: dict[str, Any] = {"series": "reached"}
    for name in (*REACHED_COLUMNS, *OTHER_COLUMNS):
        reached |= mean_columns(name, np.array([cell.result[name] for cell in cells]))
    many = [
        {"series": "many", "tested_items": count, "collapse_law": 1.0 / (count * reached["mean_similarity"])}
        | {
            key: value
            for name in MANY_COLUMNS
            for key, value in mean_columns(name, np.array([cell.result[name][place] for cell in cells])).items()
        }
        for place, count in enumerate(settings.many_items)
    ]
    return [pd.DataFrame([reached]), pd.DataFrame(many)]


def sizes_summary(frame: pd.DataFrame, settings: NetworkSizeSettings) -> pd.DataFrame:
    """Return what networks of each size reach."""
    return frame[frame["series"] == "reached"].dropna(axis=1, how="all").drop(columns="series").reset_index(drop=True)


def draw_sizes(frame: pd.DataFrame, settings: NetworkSizeSettings) -> Figure:
    """Draw three results against the size, and identification against the items of the test; a row for each size."""
    figure = style.new_figure(style.PAGE, 3.9)
    panels = figure.subplots(2, 4)
    for row, (varied, label) in enumerate(VARIED_LABELS.items()):
        table = frame[frame["varied"] == varied]
        reached = table[table["series"] == "reached"].sort_values("size")
        for column, (name, title) in enumerate(PANEL_TITLES.items()):
            axes = panels[row, column]
            for one in DISTANCE_MARKERS if name in DISTANCE_MARKERS else [name]:
                _draw_points(axes, reached, one)
            _size_axis(axes, reached["size"].tolist(), label)
            if row == 0:
                axes.set_title(title)
        panels[row, 0].set_ylabel("probability")
        panels[row, 2].set_ylim(bottom=0.0)
        lowest = 0.8 * float(frame["many_identification"].min())
        _draw_many(panels[row, 3], table[table["series"] == "many"], label.split()[-1], lowest)
    panels[0, 3].set_title("identification $p_I^n$")
    _share_limits(panels)
    handles = [
        Line2D([], [], marker=marker, markeredgecolor=POINT_COLOR, **RUN_POINT_STYLE, label=label)
        for marker, label in zip(
            DISTANCE_MARKERS.values(),
            ("after the peak: from the front of the circle", "from that of its stimuli"),
            strict=True,
        )
    ]
    style.legend_below(figure, [*handles, Line2D([], [], **LAW_STYLE, label=r"law $1/n\bar g$ of many items")])
    return figure


def _draw_points(axes: Axes, table: pd.DataFrame, name: str) -> None:
    """Draw means with their intervals against the size, joined by a thin line."""
    x, marker = table["size"].to_numpy(), DISTANCE_MARKERS.get(name, "o")
    draw_bars(axes, np.stack([x, x]), interval_of(table, name), POINT_COLOR)
    axes.plot(x, table[name], color=POINT_COLOR, linewidth=0.5, linestyle=":", zorder=1)
    axes.plot(x, table[name], markeredgecolor=POINT_COLOR, marker=marker, **RUN_POINT_STYLE)


def _size_axis(axes: Axes, sizes: list[int], label: str) -> None:
    style.log_axis(axes, "x", min(sizes) / 1.25, max(sizes) * 1.25)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def _draw_many(axes: Axes, table: pd.DataFrame, letter: str, lowest: float) -> None:
    """Draw identification against the items of the test, a line for each size, over the law of many items."""
    items = np.sort(table["tested_items"].unique())
    sizes = sorted(table["size"].unique())
    for size, color in zip(sizes, style.ordered_colors(len(sizes)), strict=True):
        rows = table[table["size"] == size].sort_values("tested_items")
        axes.plot(rows["tested_items"], rows["collapse_law"], **LAW_STYLE, zorder=0)
        axes.plot(rows["tested_items"], rows["many_identification"], color=color, label=f"{size:g}", linewidth=1.0)
    style.log_axis(axes, "x", items[0] / 1.1, items[-1] * 1.1)
    axes.xaxis.set_major_locator(FixedLocator([one for one in (2, 4, 8, 16, 32, 64, 128) if one <= items[-1]]))
    style.log_axis(axes, "y", lowest, 1.1)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("items in the test $n$")
    axes.legend(title=letter, loc="lower left", ncols=1, borderaxespad=0.1, labelspacing=0.15, handlelength=1.2)


def _share_limits(panels: Any) -> None:
    """Give both panels of a quantity the same limits."""
    for column in range(len(PANEL_TITLES)):
        limits = np.array([axes.get_ylim() for axes in panels[:, column]])
        low = 0.0 if column == len(PANEL_TITLES) - 1 else limits[:, 0].min()
        for axes in panels[:, column]:
            axes.set_ylim(low, limits[:, 1].max())


NETWORK_SIZES = Recipe(NetworkSizeSettings, sizes_data, draw_sizes, sizes_summary)
