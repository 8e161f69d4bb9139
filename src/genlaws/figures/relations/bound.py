"""The best accuracy on a relation: against the training fraction, and against the number of queried pairs."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from genlaws.core.estimate import mean_estimates
from genlaws.core.running import Running
from genlaws.figures.recipe import Points, Recipe
from genlaws.relations.inference.bound_curve import paper_accuracy
from genlaws.relations.inference.hypotheses import hypotheses_of
from genlaws.relations.inference.next_pair import query_curve
from genlaws.relations.parameters import QUERY_STRATEGIES
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.relation import Relation
from genlaws.render import style
from genlaws.sweeps import Axis, get_experiment, make_sweep
from genlaws.sweeps.computing import compute_cells
from genlaws.sweeps.experiment import CellResult, Settings

Repeats = Annotated[int, Field(ge=2, le=1000)]
Elements = Annotated[int, Field(ge=2, le=60)]
LargestShare = Annotated[float, Field(gt=0, le=1)]

EXACT_COLOR, PROCEDURE_COLOR, FORMULA_COLOR = style.BLUE, style.ORANGE, style.BLACK
STRATEGY_COLORS = {"best": style.BLUE, "random": style.VERMILLION}
STRATEGY_NAMES = {"best": "the pair worth most bits", "random": "a pair at random"}
ACCURACY_LABEL = "best accuracy on all pairs"


class BoundFigureSettings(Settings):
    """Relations by name, and how many training sets each point is averaged over."""

    relations: tuple[str, ...] = Field(
        default=("mod3", "mod5", "less-than", "bipartite-15-15"), min_length=1, max_length=4
    )
    largest_fraction: LargestShare = 0.3
    points: Points = 31
    repeats: Repeats = 20
    seed: int = Field(default=0, ge=0)


class QuerySettings(Settings):
    """Up to three relations whose pairs are queried one by one."""

    relations: tuple[str, ...] = Field(default=("mod3", "less-than", "bipartite-15-15"), min_length=1, max_length=3)
    queries: Annotated[int, Field(ge=2, le=2000)] = 130
    repeats: Repeats = 5
    seed: int = Field(default=0, ge=0)


def bound_data(settings: BoundFigureSettings, running: Running) -> pd.DataFrame:
    """Return the exact bound, the paper's procedure and Eq. 5 by relation and train fraction."""
    base = {"largest_fraction": settings.largest_fraction, "points": settings.points}
    axes = [Axis("relation", settings.relations)]
    sweep = make_sweep(get_experiment("relations.curve"), base, axes, settings.repeats, settings.seed)
    cells = compute_cells(sweep, running, "training sets")
    tables = []
    for name in settings.relations:
        runs = [cell.result for cell in cells if cell.settings.relation == name]
        tables.append(_average_runs(named_relation(name), runs))
    return pd.concat(tables, ignore_index=True)


def _average_runs(relation: Relation, runs: list[CellResult]) -> pd.DataFrame:
    """Return means over training sets with their intervals, and the columns that need no training set."""
    shares = runs[0]["train_fraction"]
    table: dict[str, Any] = {"relation": relation.label, "train_fraction": shares}
    for name in ("accuracy", "unseen_accuracy", "bits_left", "determined", "paper_procedure"):
        found = mean_estimates(np.array([run[name] for run in runs]))
        table[name] = [estimate.value for estimate in found]
        table[f"{name}_low"], table[f"{name}_high"] = [one.low for one in found], [one.high for one in found]
    table["accuracy_formula"] = paper_accuracy(relation.element_count, hypotheses_of(relation), shares)
    table["exact_share"] = np.mean([run["exact"] for run in runs], axis=0)
    return pd.DataFrame(table).assign(majority_accuracy=relation.majority_accuracy, repeats=len(runs))


def draw_bound(frame: pd.DataFrame, settings: BoundFigureSettings) -> Figure:
    """Draw one panel for each relation: the exact bound, the paper's procedure and its formula."""
    labels = list(dict.fromkeys(frame["relation"]))
    columns = min(2, len(labels))
    rows = -(-len(labels) // columns)
    figure = style.new_figure(style.PAGE if columns > 1 else style.COLUMN, 2.25 * rows + 0.4)
    panels = np.atleast_1d(figure.subplots(rows, columns, sharex=True, squeeze=False).ravel())
    for axes, label in zip(panels, labels, strict=False):
        _bound_panel(axes, frame[frame["relation"] == label], label)
        axes.set_xlim(0.0, settings.largest_fraction)
    for axes in panels[len(labels) :]:
        axes.set_visible(False)
    for axes in panels[len(labels) - columns : len(labels)]:
        axes.set_xlabel("training fraction $p$")
        axes.tick_params(labelbottom=True)
    handles = [
        Line2D([], [], color=EXACT_COLOR, label="exact bound, with interval"),
        Line2D([], [], color=PROCEDURE_COLOR, linestyle=(0, (4, 1.5)), label="the paper's procedure"),
        Line2D([], [], color=FORMULA_COLOR, linestyle=":", linewidth=1.0, label="the paper's Eq. 5"),
        Line2D([], [], color=style.GRAY, linewidth=0.6, label="majority answer"),
    ]
    style.legend_below(figure, handles)
    return figure


def _bound_panel(axes: Axes, table: pd.DataFrame, label: str) -> None:
    share = table["train_fraction"].to_numpy()
    majority = float(table["majority_accuracy"].iloc[0])
    axes.axhline(majority, color=style.GRAY, linewidth=0.6, zorder=0)
    for name, color in (("accuracy", EXACT_COLOR), ("paper_procedure", PROCEDURE_COLOR)):
        axes.fill_between(share, table[f"{name}_low"], table[f"{name}_high"], color=color, alpha=style.BAND_ALPHA, lw=0)
    axes.plot(share, table["paper_procedure"], color=PROCEDURE_COLOR, linestyle=(0, (4, 1.5)))
    axes.plot(share, table["accuracy"], color=EXACT_COLOR)
    axes.plot(share, table["accuracy_formula"], color=FORMULA_COLOR, linestyle=":", linewidth=1.0)
    axes.set_ylim(min(0.95 * majority, 0.98 * float(table["accuracy"].min())), 1.015)
    axes.set_ylabel(ACCURACY_LABEL)
    axes.set_title(label)


def query_data(settings: QuerySettings, running: Running) -> pd.DataFrame:
    """Return accuracy and bits left by relation, query strategy and number of queries."""
    tables = []
    for name in settings.relations:
        relation = named_relation(name)
        for strategy in QUERY_STRATEGIES:
            running.start(settings.repeats * settings.queries, f"{relation.label}, {STRATEGY_NAMES[strategy]}")
            curve = query_curve(
                relation,
                strategies=[strategy],
                queries=settings.queries,
                repeats=settings.repeats,
                seed=settings.seed,
                running=running.part(),
            )
            tables.append(curve.to_frame().assign(relation=relation.label))
    return pd.concat(tables, ignore_index=True)


def draw_queries(frame: pd.DataFrame, settings: QuerySettings) -> Figure:
    """Draw accuracy (top) and bits left (bottom) against the number of queries, one column for each relation."""
    labels = list(dict.fromkeys(frame["relation"]))
    figure = style.new_figure(style.PAGE, 4.2)
    panels = figure.subplots(2, len(labels), sharex=True, squeeze=False)
    for column, label in enumerate(labels):
        for strategy, color in STRATEGY_COLORS.items():
            table = frame[(frame["relation"] == label) & (frame["strategy"] == strategy)]
            panels[0, column].plot(table["queries"], table["accuracy"], color=color)
            panels[1, column].plot(table["queries"], table["bits_left"], color=color)
        bits = float(frame.loc[frame["relation"] == label, "bits_left"].max())
        one_bit_each = np.array([0.0, min(bits, settings.queries)])
        panels[1, column].plot(one_bit_each, bits - one_bit_each, color=style.GRAY, linewidth=0.6, zorder=0)
        panels[0, column].set_title(label)
        panels[1, column].set_xlabel("pairs queried")
        panels[0, column].set_ylim(0.48, 1.02)
        panels[1, column].set_ylim(0.0, None)
    panels[0, 0].set_ylabel(ACCURACY_LABEL)
    panels[1, 0].set_ylabel("bits left")
    handles = [Line2D([], [], color=STRATEGY_COLORS[one], label=STRATEGY_NAMES[one]) for one in QUERY_STRATEGIES]
    limit = Line2D([], [], color=style.GRAY, linewidth=0.6, label="one bit for each answer")
    style.legend_below(figure, [*handles, limit])
    return figure


BOUND = Recipe(BoundFigureSettings, bound_data, draw_bound)
QUERIES = Recipe(QuerySettings, query_data, draw_queries)
