"""Pictures of networks that learned one relation: learning curves, final embeddings, and the key of colors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from genlaws.core.arguments import Array
from genlaws.figures.labels import direct_labels
from genlaws.relations import LearnedRelation
from genlaws.relations.networks.runs import ElementGroups, element_groups, principal_plane
from genlaws.render import style

CLASS_COLORS = (style.BLUE, style.ORANGE, style.GREEN, style.VERMILLION, style.PURPLE, style.SKY_BLUE, style.YELLOW)
ACCURACY_CURVES = {
    "train_accuracy": ("training entries", style.ORANGE, "-"),
    "test_accuracy": ("test entries", style.BLUE, "-"),
    "balanced_accuracy": ("test entries, balanced", style.SKY_BLUE, (0, (4, 1.5))),
}
LEARNED_ACCURACY = 0.9  # accuracy from which on a network counts as having learned
MIN_LEVEL_GAP = 0.08  # of the axis: nearer levels have their labels above and below
AXES_WIDTH = 190.0  # about the width of the axes in a picture of one column
MAX_NAMES = 40  # elements; more names would cover one another
NOTE_STYLE: dict[str, Any] = {"fontsize": style.SMALL_TYPE, "color": style.DARK_GRAY}
GROUP_KIND_NAMES = {
    "class": "class",
    "side": "side",
    "position": "elements before it",
    "degree": "elements related to it",
}


def learned_pictures(found: LearnedRelation) -> dict[str, Figure]:
    """Return the accuracies along the training, and the final embeddings of one network if one did not fail."""
    runs, network = found.runs, found.shown_network
    if runs is None:
        return {}
    pictures = {"curves": draw_courses(runs.to_frame(), found.majority_accuracy)}
    if network is not None:
        test = found.networks[network].test_accuracy
        shown = f", {test:.3f} on other entries" if np.isfinite(test) else ""
        title = f"{found.relation} after {int(runs.steps[-1]):,} steps{shown}"
        final = runs.final_embeddings[network]
        places = principal_plane(final[None])[0]
        pictures["embeddings"] = draw_places(
            places, element_groups(runs.relation), runs.relation.names, title, final.shape[1]
        )
    return pictures


def element_colors(groups: ElementGroups) -> list[str]:
    """Return the color of every element: one for each class, or dark to light with the amount."""
    places = groups.value - groups.value.min()
    if groups.separate:
        values, places = np.unique(groups.value, return_inverse=True)
        if len(values) <= len(CLASS_COLORS):
            return [CLASS_COLORS[place] for place in places]
    shades = style.ordered_colors(int(places.max()) + 1)
    return [to_hex(shades[place]) for place in places]


def color_key(groups: ElementGroups) -> list[tuple[str, str]]:
    """Return a few values as text with their colors: every class if they are few, else the two ends."""
    colors = element_colors(groups)
    values, first = np.unique(groups.value, return_index=True)
    shown = range(len(values))
    if not groups.separate or len(values) > len(CLASS_COLORS):
        shown = range(0, len(values), max(1, len(values) - 1))
    label = GROUP_KIND_NAMES[groups.kind]
    if groups.separate:
        return [(f"{label} {int(values[place]) + 1}", colors[int(first[place])]) for place in shown]
    return [(f"{int(values[place])} {label}", colors[int(first[place])]) for place in shown]


def draw_courses(frame: pd.DataFrame, majority: float) -> Figure:
    """Draw accuracies and loss against the step: every network thin, and their mean.

    Parameters
    ----------
    frame : DataFrame
        As :meth:`~genlaws.relations.networks.runs.RelationRuns.to_frame` gives it.
    majority : float
        Accuracy of always giving the majority answer.
    """
    figure = style.new_figure(style.PAGE, 2.7)
    accuracy, loss = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    after = frame[frame["step"] > 0]
    lines = {name: _draw_curve(accuracy, after, name, *look[1:]) for name, look in ACCURACY_CURVES.items()}
    _draw_curve(loss, after, "loss", style.BLACK, "-")
    last = float(after["step"].max())
    for axes in (accuracy, loss):
        style.log_axis(axes, "x", float(after["step"].min()), max(last, 1.01 * float(after["step"].min())))
        axes.set_xlabel("step")
    lowest = float(np.nanmin([after[name].min() for name in ACCURACY_CURVES] + [majority]))
    accuracy.set(ylim=(max(0.0, lowest - 0.06), 1.03), ylabel="accuracy", title="accuracy")
    loss.set(ylabel="loss on training entries", title="loss", ylim=(0.0, None))
    _draw_levels(accuracy, {"90 %": LEARNED_ACCURACY, "majority\nanswer": majority})
    drawn = {name: line for name, line in lines.items() if line is not None}
    direct_labels(accuracy, list(drawn.values()), [ACCURACY_CURVES[name][0] for name in drawn])
    return figure


def _draw_levels(axes: Axes, levels: dict[str, float]) -> None:
    """Draw level lines with their labels on the right of the axes, separate even where the levels are close."""
    (low, high), lift = axes.get_ylim(), dict.fromkeys(levels, "center")
    if np.ptp(list(levels.values())) < MIN_LEVEL_GAP * (high - low):
        ordered = sorted(levels, key=lambda name: levels[name])
        lift = {ordered[0]: "top", ordered[-1]: "bottom"}
    for label, level in levels.items():
        axes.axhline(level, color=style.GRAY, linewidth=0.6, zorder=0)
        offset: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "va": lift[label]}
        axes.annotate(label, (1.0, level), xycoords=("axes fraction", "data"), **offset, **NOTE_STYLE)


def _draw_curve(axes: Axes, frame: pd.DataFrame, name: str, color: str, dashes: object) -> Line2D | None:
    """Draw one quantity of all networks and return the line of their mean; nothing where it was never measured."""
    table = frame.pivot(index="step", columns="network", values=name).dropna(axis=1, how="all")
    if table.empty:
        return None
    if table.shape[1] > 1 and dashes == "-":
        axes.plot(table.index, table, color=color, linewidth=0.5, alpha=0.45, zorder=1)
    mean = table.mean(axis=1)
    (line,) = axes.plot(mean.index, mean, color=color, linestyle=dashes, zorder=3)
    return line


def draw_places(places: Array, groups: ElementGroups, names: Sequence[str], title: str, dimension: int) -> Figure:
    """Draw where the elements lie, of shape (elements, 2), with their names if these are few."""
    figure = style.new_figure(style.COLUMN, 3.3)
    axes = figure.subplots()
    scatter_elements(axes, places, groups, size=16.0)
    label = "embedding" if dimension <= places.shape[1] else "principal axis"
    axes.set(xlabel=f"{label} 1", ylabel=f"{label} 2", title=title)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.1)
    if len(names) <= MAX_NAMES:
        for place, label in _merge_close_names(places, [_shorten(name) for name in names]):
            axes.annotate(label, (place[0], place[1]), xytext=(2.5, 2.5), textcoords="offset points", **NOTE_STYLE)
    style.legend_below(figure, key_handles(groups))
    return figure


def _merge_close_names(places: Array, names: Sequence[str]) -> list[tuple[Array, str]]:
    """Return the names that fit next to their dots; where several would overlap, one with how many more there are."""
    unit = AXES_WIDTH / max(1.2 * float(np.ptp(places, axis=0).max()), 1e-12)
    height, letter = 1.2 * style.SMALL_TYPE, 0.65 * style.SMALL_TYPE
    written: list[list[Any]] = []
    for place, name in zip(places * unit, names, strict=True):
        wide = letter * (len(name) + 3)
        near = (one for one in written if abs(one[0][1] - place[1]) < height and abs(one[0][0] - place[0]) < one[1])
        first = next(near, None)
        if first is None:
            written.append([place, wide, name, 0])
        else:
            first[3] += 1
    return [(place / unit, f"{name} +{more}" if more else name) for place, _, name, more in written]


def scatter_elements(axes: Axes, places: Array, groups: ElementGroups, size: float) -> None:
    """Draw one dot for each element in its color."""
    axes.scatter(
        places[:, 0], places[:, 1], c=element_colors(groups), s=size, linewidths=0.4, edgecolors="white", zorder=2
    )


def key_handles(groups: ElementGroups) -> list[Line2D]:
    """Return legend entries of the colors."""
    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4.0}
    return [Line2D([], [], color=color, label=label, **dot) for label, color in color_key(groups)]


def _shorten(name: str) -> str:
    """Return a name short enough to stand next to a dot, with nothing that matplotlib would typeset."""
    clean = "".join(one if one.isprintable() else " " for one in name).replace("$", r"\$")
    return clean if len(clean) <= 14 else clean[:13] + "…"
