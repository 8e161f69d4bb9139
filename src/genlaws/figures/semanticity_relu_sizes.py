"""ReLU networks of several widths, and trained with several items: what they reach, also with many items."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
from pydantic import Field, model_validator

from genlaws.experiments.computing import ComputedCell
from genlaws.figures import style
from genlaws.figures.progress import Progress
from genlaws.figures.recipe import Recipe
from genlaws.figures.rules_facts_points import POINT, draw_bars, interval_of, mean_columns
from genlaws.figures.semanticity_relu import ReluFigureSettings, relu_cells

Width = Annotated[int, Field(ge=1, le=10_000)]
Items = Annotated[int, Field(ge=2, le=499)]

VARIED = {"hidden": "hidden width $m$", "item_count": "items in training $n$"}
REACHED = ("peak_generalisation", "final_identification", "mean_circle_distance", "mean_set_distance")
OTHERS = ("final_generalisation", "final_resolution", "peak_identification", "mean_similarity")
MANY = ("many_identification", "many_generalisation")
COLOUR = style.BLUE
APART = {"mean_circle_distance": "o", "mean_set_distance": "s"}
AXES = {
    "peak_generalisation": "peak generalisation $p_S$",
    "final_identification": "final identification $p_I$",
    "mean_circle_distance": "distance from the front",
}


class SizeSettings(ReluFigureSettings):
    """Widths with two items in training, and numbers of items at one width; all tested with many items in the end."""

    hidden_widths: Annotated[tuple[Width, ...], Field(min_length=2, max_length=12)] = (2, 3, 5, 10, 20, 50)
    item_counts: Annotated[tuple[Items, ...], Field(min_length=2, max_length=8)] = (2, 3, 4, 8)
    many_items: Annotated[tuple[Items, ...], Field(min_length=2, max_length=12)] = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
    log_every: Annotated[int, Field(ge=1)] = 50

    @model_validator(mode="after")
    def _check_items(self) -> SizeSettings:
        if max(*self.item_counts, *self.many_items) >= self.stimulus_count:
            raise ValueError(
                "item_counts and many_items must be below stimulus_count, as items and probe are different"
            )
        return self

    def varied(self) -> list[tuple[str, int, dict[str, int]]]:
        """Return what is varied, its value and the settings of the network; a network that comes twice is one."""
        widths = [("hidden", one, {"hidden": one, "item_count": 2}) for one in self.hidden_widths]
        items = [("item_count", one, {"hidden": self.hidden, "item_count": one}) for one in self.item_counts]
        return [*widths, *items]


def sizes_data(settings: SizeSettings, progress: Progress) -> pd.DataFrame:
    """Return what networks of each size reach, and both tests with many items after training."""
    different = {tuple(chosen.values()): chosen for _, _, chosen in settings.varied()}
    progress.start(len(different) * settings.repeats, "networks")
    cells = {
        key: relu_cells(
            {"stimuli": "circle", "hidden": chosen["hidden"], "item_count": chosen["item_count"]},
            settings,
            progress,
            many_items=settings.many_items,
        )
        for key, chosen in different.items()
    }
    tables = [
        table.assign(varied=varied, size=size, **chosen)
        for varied, size, chosen in settings.varied()
        for table in _tables(cells[tuple(chosen.values())], settings)
    ]
    return pd.concat(tables, ignore_index=True).assign(run_count=settings.repeats)


def _tables(cells: list[ComputedCell], settings: SizeSettings) -> list[pd.DataFrame]:
    """Return the means of what networks of one size reach, and of both tests with each number of items."""
    reached: dict[str, Any] = {"series": "reached"}
    for name in (*REACHED, *OTHERS):
        reached |= mean_columns(name, np.array([cell.result[name] for cell in cells]))
    many = [
        {"series": "many", "tested_items": count, "collapse_law": 1.0 / (count * reached["mean_similarity"])}
        | {
            key: value
            for name in MANY
            for key, value in mean_columns(name, np.array([cell.result[name][place] for cell in cells])).items()
        }
        for place, count in enumerate(settings.many_items)
    ]
    return [pd.DataFrame([reached]), pd.DataFrame(many)]


def sizes_summary(frame: pd.DataFrame, settings: SizeSettings) -> pd.DataFrame:
    """Return what networks of each size reach."""
    return frame[frame["series"] == "reached"].dropna(axis=1, how="all").drop(columns="series").reset_index(drop=True)


def draw_sizes(frame: pd.DataFrame, settings: SizeSettings) -> Figure:
    """Draw three results against the size, and identification against the items of the test; a row for each size."""
    figure = style.new_figure(style.PAGE, 3.9)
    panels = figure.subplots(2, 4)
    for row, (varied, label) in enumerate(VARIED.items()):
        table = frame[frame["varied"] == varied]
        reached = table[table["series"] == "reached"].sort_values("size")
        for column, (name, title) in enumerate(AXES.items()):
            axes = panels[row, column]
            for one in APART if name in APART else [name]:
                _draw_points(axes, reached, one)
            _size_axis(axes, reached["size"].tolist(), label)
            if row == 0:
                axes.set_title(title)
        panels[row, 0].set_ylabel("probability")
        panels[row, 2].set_ylim(bottom=0.0)
        lowest = 0.8 * float(frame["many_identification"].min())
        _draw_many(panels[row, 3], table[table["series"] == "many"], label.split()[-1], lowest)
    panels[0, 3].set_title("identification $p_I^n$")
    _same_heights(panels)
    handles = [
        Line2D([], [], marker=marker, markeredgecolor=COLOUR, **POINT, label=label)
        for marker, label in zip(
            APART.values(), ("after the peak: from the front of the circle", "from that of its stimuli"), strict=True
        )
    ]
    style.legend_below(figure, [*handles, Line2D([], [], **LAW, label=r"law $1/n\bar g$ of many items")])
    return figure


LAW: dict[str, Any] = {"color": style.GREY, "linewidth": 0.6}


def _draw_points(axes: Axes, table: pd.DataFrame, name: str) -> None:
    """Draw means with their intervals against the size, joined by a thin line."""
    x, marker = table["size"].to_numpy(), APART.get(name, "o")
    draw_bars(axes, np.stack([x, x]), interval_of(table, name), COLOUR)
    axes.plot(x, table[name], color=COLOUR, linewidth=0.5, linestyle=":", zorder=1)
    axes.plot(x, table[name], markeredgecolor=COLOUR, marker=marker, **POINT)


def _size_axis(axes: Axes, sizes: list[int], label: str) -> None:
    style.log_axis(axes, "x", min(sizes) / 1.25, max(sizes) * 1.25)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def _draw_many(axes: Axes, table: pd.DataFrame, letter: str, lowest: float) -> None:
    """Draw identification against the items of the test, a line for each size, over the law of many items."""
    items = np.sort(table["tested_items"].unique())
    sizes = sorted(table["size"].unique())
    for size, colour in zip(sizes, style.ordered_colours(len(sizes)), strict=True):
        rows = table[table["size"] == size].sort_values("tested_items")
        axes.plot(rows["tested_items"], rows["collapse_law"], **LAW, zorder=0)
        axes.plot(rows["tested_items"], rows["many_identification"], color=colour, label=f"{size:g}", linewidth=1.0)
    style.log_axis(axes, "x", items[0] / 1.1, items[-1] * 1.1)
    axes.xaxis.set_major_locator(FixedLocator([one for one in (2, 4, 8, 16, 32, 64, 128) if one <= items[-1]]))
    style.log_axis(axes, "y", lowest, 1.1)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("items in the test $n$")
    axes.legend(title=letter, loc="lower left", ncols=1, borderaxespad=0.1, labelspacing=0.15, handlelength=1.2)


def _same_heights(panels: Any) -> None:
    """Give both panels of a quantity the same limits."""
    for column in range(len(AXES)):
        limits = np.array([axes.get_ylim() for axes in panels[:, column]])
        low = 0.0 if column == len(AXES) - 1 else limits[:, 0].min()
        for axes in panels[:, column]:
            axes.set_ylim(low, limits[:, 1].max())


SIZES = Recipe(SizeSettings, sizes_data, draw_sizes, sizes_summary)
