"""Relations of a real knowledge graph: how much of each a network must see, against the bits that describe it."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import Bbox
from pydantic import Field
from scipy import stats

from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_replicates, interval_columns
from genlaws.core.running import Running
from genlaws.figures.recipe import Recipe
from genlaws.figures.relations import cells
from genlaws.figures.relations.learning import Shares
from genlaws.relations.inference.bound_curve import crossing
from genlaws.relations.structure.description_length import description_length_exact
from genlaws.relations.structure.knowledge_graph import read_knowledge_graph
from genlaws.relations.structure.relation import Relation, relation_to_text
from genlaws.render import style

GRAPH_BOOTSTRAP_REPLICATES = 2000
NETWORK_TARGET = 0.9  # of the networks, part of their seeds; the figure's own target is a balanced accuracy
NEEDED_COLUMN = "train_fraction_needed"
CORRELATED_COLUMNS = {"bits": "description_length", "pairs": "pairs"}
NOT_REACHED_FACTOR = 1.3  # height of relations that were not learned, in units of the largest training fraction
SHARE_AXIS_FACTOR = 1.12
PAIR_COUNT_COLORS = style.angle_colors()
DOT_AREA = 16.0  # of a dot, in square points
NAME_FONT_SIZE = 5.5  # type of the names
NAME_GAP = 3.0  # points between a dot and its name
# Sides on which a name may stand: how far from the dot, and which part of the name is there.
NAME_SIDES: tuple[tuple[float, float, str, str], ...] = (
    (NAME_GAP, 0.0, "left", "center"),
    (-NAME_GAP, 0.0, "right", "center"),
    (0.0, NAME_GAP, "center", "bottom"),
    (0.0, -NAME_GAP, "center", "top"),
)


class GraphSettings(cells.NetworkFigureSettings):
    """A knowledge-graph file, and the training fractions of each relation.

    Accuracy is balanced: relations of a graph are rare, and always answering no would be right almost everywhere.
    """

    file: str = ""
    fewest_pairs: Annotated[int, Field(ge=1)] = 100
    train_fractions: Shares = (0.05, 0.2, 0.5, 0.8)
    dimension: Annotated[int, Field(ge=1, le=1000)] = 6
    width: Annotated[int, Field(ge=1, le=10_000)] = 20
    learning_rate: cells.Rate = 1e-2
    target: Annotated[float, Field(gt=0.5, lt=1)] = 0.75
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 3
    steps: cells.Steps = 300


def graph_data(settings: GraphSettings, running: Running) -> pd.DataFrame:
    """Return accuracies on test entries, by relation and train fraction, with the bits of the relation."""
    rows = []
    for relation in _read_relations(settings):
        base = {
            "relation": relation.label,
            "matrix": relation_to_text(relation),
            "encoder_rate": settings.learning_rate,
            "decoder_rate": settings.learning_rate,
            "log_every": settings.steps,
            "target": NETWORK_TARGET,
        }
        table = cells.networks(settings, base, {"train_fraction": settings.train_fractions}, running)
        about = {
            "elements": relation.element_count,
            "pairs": len(relation.pairs),
            "description_length": description_length_exact(relation),
            "majority_accuracy": relation.majority_accuracy,
        }
        for place, group in cells.grouped(table, ["relation", "train_fraction"]):
            accuracies = cells.mean_accuracy_columns("balanced_accuracy", group["balanced_accuracy"])
            accuracies |= cells.mean_accuracy_columns("test_accuracy", group["test_accuracy"])
            rows.append({**place, **about, **accuracies, "networks": len(group)})
    return pd.DataFrame(rows)


def _read_relations(settings: GraphSettings) -> list[Relation]:
    if not settings.file:
        raise InputError("file must name a knowledge graph: lines of head, relation and tail (.tsv, .csv, .txt, .gz).")
    graph = read_knowledge_graph(settings.file)
    found = [name for name, count in graph.counts.items() if count >= settings.fewest_pairs]
    if not found:
        raise InputError(
            f"fewest_pairs must leave some relation of {settings.file}; the largest has {max(graph.counts.values())}."
        )
    return [graph.relation(name, "all") for name in found]


def graph_summary(frame: pd.DataFrame, settings: GraphSettings) -> pd.DataFrame:
    """Return the share each relation needs for the target, and its rank correlation with the bits."""
    rows: list[dict[str, Any]] = []
    for place, group in cells.grouped(frame, ["relation", "pairs", "description_length"]):
        bits_share = place["description_length"] / float(group["elements"].iloc[0]) ** 2
        rows.append(place | {"bits_per_entry": bits_share} | _needed_columns(group, settings.target))
    table = pd.DataFrame(rows)
    return table.assign(**_correlation_columns(table, "description_length"), **_correlation_columns(table, "pairs"))


def _needed_columns(group: pd.DataFrame, target: float) -> dict[str, float]:
    """Return where the mean accuracy reaches the target, and where the ends of its interval do.

    Infinity means at none of the training fractions; a share equal to the smallest of them may in truth be smaller.
    """
    known = group.dropna(subset="balanced_accuracy").sort_values("train_fraction")
    found = {}
    for end, column in (("", ""), ("_low", "_high"), ("_high", "_low")):
        curve = known[f"balanced_accuracy{column}"].fillna(known["balanced_accuracy"])
        name = f"train_fraction_needed{end}"
        found[name] = crossing(known["train_fraction"], curve, target) if len(known) > 1 else float("nan")
    return found


def _correlation_columns(table: pd.DataFrame, name: str) -> dict[str, float]:
    """Return Spearman's correlation of a column with the share needed, with a bootstrap interval over relations.

    A relation whose target is never reached needs the most; one without accuracies is left out.
    """
    table = table.dropna(subset="train_fraction_needed")
    x, y = table[name].to_numpy(), table["train_fraction_needed"].replace(np.inf, 2.0).to_numpy()
    column = f"rank_correlation_with_{name}"
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return interval_columns(column, Estimate(math.nan))
    generator = np.random.default_rng(0)
    draws = generator.integers(len(x), size=(GRAPH_BOOTSTRAP_REPLICATES, len(x)))
    ranks = [stats.rankdata(one[draws], axis=1) for one in (x, y)]
    first, second = (one - one.mean(axis=1, keepdims=True) for one in ranks)
    spread = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    defined = spread > 0
    replicates = (first * second).sum(axis=1)[defined] / spread[defined]
    return interval_columns(column, from_replicates(float(stats.spearmanr(x, y).statistic), replicates, len(x)))


def draw_graph(frame: pd.DataFrame, settings: GraphSettings) -> Figure:
    """Draw one dot for each relation: the share it needs against its bits; arrows lie outside the fractions."""
    table = graph_summary(frame, settings).dropna(subset=NEEDED_COLUMN)
    shares = sorted(set(frame["train_fraction"]))
    figure = style.new_figure(style.PAGE, 3.6)
    axes = figure.subplots()
    top = NOT_REACHED_FACTOR * shares[-1]
    _share_axis(axes, shares, top, float(table[f"{NEEDED_COLUMN}_low"].min()))
    _draw_intervals(axes, table, top)
    _draw_dots(figure, axes, table, shares[0], top)
    axes.set_xlabel("description length of the relation $b$ (bits)")
    axes.set_ylabel(f"share of entries needed for\nbalanced accuracy {settings.target:g} on the others")
    axes.set_title(_format_title(table, int(frame["elements"].iloc[0])))
    _name_dots(figure, axes, table, top)
    return figure


def _share_axis(axes: Axes, shares: list[float], top: float, lowest: float) -> None:
    """Give the y axis a tick for each training fraction from the last below all relations, and one for the rest."""
    first = max([one for one in shares if one <= lowest], default=shares[-2])
    ticks = [one for one in shares if one >= first]
    style.log_axis(axes, "y", first / SHARE_AXIS_FACTOR, top * SHARE_AXIS_FACTOR)
    axes.yaxis.set_major_locator(FixedLocator([*ticks, top]))
    axes.yaxis.set_minor_locator(NullLocator())
    names = [f"≤ {one:g}" if one == shares[0] else f"{one:g}" for one in ticks]
    axes.set_yticklabels([*names, "not reached"])


def _draw_dots(figure: Figure, axes: Axes, table: pd.DataFrame, least: float, top: float) -> None:
    """Draw the relations, those outside the training fractions as arrows, colored by their number of pairs."""
    pairs = table["pairs"]
    # A single number of pairs has no range of colors.
    norm = LogNorm(pairs.min() / (1.0 + (np.ptp(pairs) == 0)), pairs.max())
    needed = table[NEEDED_COLUMN]
    for chosen, marker in ((np.isinf(needed), "^"), (needed <= least, "v"), ((needed > least) & (needed <= top), "o")):
        part = table[chosen]
        x, y = part["description_length"], part[NEEDED_COLUMN].clip(upper=top)
        axes.scatter(
            x,
            y,
            s=DOT_AREA,
            c=part["pairs"],
            cmap=PAIR_COUNT_COLORS,
            norm=norm,
            marker=marker,
            linewidths=0.0,
            zorder=3,
            clip_on=False,
        )
    bar = figure.colorbar(ScalarMappable(norm, PAIR_COUNT_COLORS), ax=axes, pad=0.01, aspect=30)
    bar.set_label("pairs that are related")
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    bar.ax.yaxis.set_minor_locator(NullLocator())


def _draw_intervals(axes: Axes, table: pd.DataFrame, top: float) -> None:
    """Draw between which shares the interval of the mean accuracy crosses the target."""
    low, high = (table[f"{NEEDED_COLUMN}{end}"].clip(upper=top) for end in ("_low", "_high"))
    axes.vlines(table["description_length"], low, high, color=style.LIGHT_GRAY, linewidth=0.7, zorder=1)


def _format_title(table: pd.DataFrame, elements: int) -> str:
    """Return how the share correlates with the bits and with the pairs, if there are enough relations."""
    heading = f"{len(table)} relations of {elements} entities"
    found = [(name, _format_correlation(table, column)) for name, column in CORRELATED_COLUMNS.items()]
    known = [f"with {name} {text}" for name, text in found if text]
    return f"{heading}: rank correlation {', '.join(known)}" if known else heading


def _format_correlation(table: pd.DataFrame, column: str) -> str:
    ends = [float(table[f"rank_correlation_with_{column}{end}"].iloc[0]) for end in ("", "_low", "_high")]
    value, low, high = (f"${one:.2f}$" for one in ends)
    if math.isnan(ends[0]):
        return ""
    return value if math.isnan(ends[1]) else f"{value} [{low}, {high}]"


def _name_dots(figure: Figure, axes: Axes, table: pd.DataFrame, top: float) -> None:
    """Write the names of relations next to their dots, the most isolated first; names without room are left out."""
    figure.draw_without_rendering()
    bits, needed = table["description_length"].to_numpy(), table[NEEDED_COLUMN].clip(upper=top).to_numpy()
    pixels = axes.transData.transform(np.column_stack([bits, needed]))
    distance = np.hypot(*(pixels[:, None] - pixels).T) + np.where(np.eye(len(pixels)), np.inf, 0.0)
    taken, frame = _mark_boxes(figure, axes, table, top), axes.get_window_extent()
    for place in np.argsort(-distance.min(axis=1, initial=np.inf), kind="stable").tolist():
        label = str(table["relation"].iloc[place])
        for x, y, ha, va in NAME_SIDES:
            near = pixels - pixels[place] - np.array([x, y]) * figure.dpi / 72.0
            if np.argmin(np.hypot(*near.T)) != place:  # the name would stand by another dot
                continue
            about: dict[str, Any] = {"ha": ha, "va": va, "fontsize": NAME_FONT_SIZE, "color": style.DARK_GRAY}
            where = (float(bits[place]), float(needed[place]))
            text = axes.annotate(label, where, (x, y), textcoords="offset points", in_layout=False, **about)
            box = text.get_window_extent()
            if _inside(box, frame) and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()


def _mark_boxes(figure: Figure, axes: Axes, table: pd.DataFrame, top: float) -> list[Bbox]:
    """Return the boxes, in pixels, of dots and intervals."""
    boxes = []
    for ends, half in (((NEEDED_COLUMN, NEEDED_COLUMN), 1.8), ((f"{NEEDED_COLUMN}_low", f"{NEEDED_COLUMN}_high"), 0.2)):
        air = half * figure.dpi / 72.0
        corners = [np.column_stack([table["description_length"], table[name].clip(upper=top)]) for name in ends]
        low, high = (axes.transData.transform(one) for one in corners)
        boxes += [Bbox([one - air, other + air]) for one, other in zip(low, high, strict=True)]
    return boxes


def _inside(box: Bbox, frame: Bbox) -> bool:
    return bool(frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1)


GRAPH = Recipe(GraphSettings, graph_data, draw_graph, graph_summary)
