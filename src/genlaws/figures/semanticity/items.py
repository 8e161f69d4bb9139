"""Many items: how both tests collapse, and which resolution then generalizes best."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from pydantic import Field

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import Points, Recipe
from genlaws.figures.semanticity.front import Background, background_colors
from genlaws.render import style
from genlaws.semanticity import (
    best_ball_mass,
    best_generalization,
    collapse_constant,
    generalization_of_many,
    identification_of_many,
)
from genlaws.sweeps.experiment import Settings

Mass = Annotated[float, Field(gt=0, le=1)]
MostItems = Annotated[int, Field(ge=10, le=1_000_000)]

ITEM_LABEL = r"items $n$"
# Limits for many items without background: of n b at the best ball mass b, and of the generalization there.
BEST_LOAD_LIMIT, BEST_GENERALIZATION_LIMIT = 1.50286, 0.51735


class ItemsSettings(Settings):
    """Constant similarity without background, at several ball masses."""

    ball_masses: tuple[Mass, ...] = (0.01, 0.1, 0.3)
    largest_item_count: MostItems = 1000
    points: Points = 121


class ResolutionSettings(Settings):
    """Constant similarity at its best ball mass, at several backgrounds."""

    backgrounds: tuple[Background, ...] = (0.0, 0.01, 0.1)
    largest_item_count: MostItems = 1000
    points: Points = 81


def item_counts(largest: int, points: int) -> NDArray[np.int64]:
    """Return whole numbers from 2 to `largest`, evenly spaced on a logarithmic axis where they are dense enough."""
    return np.unique(np.geomspace(2, largest, points).round().astype(np.int64))


def items_data(settings: ItemsSettings, running: Running) -> pd.DataFrame:
    """Return both probabilities by ball mass and number of items; ``collapse_law`` is 1/(nb)."""
    n = item_counts(settings.largest_item_count, settings.points)
    running.start(len(settings.ball_masses), "ball masses")
    tables = []
    for mass in settings.ball_masses:
        columns = {
            "ball_mass": mass,
            "item_count": n,
            "generalization": generalization_of_many(mass, n),
            "identification": identification_of_many(mass, n),
            "collapse_law": float(collapse_constant(mass)) / n,
        }
        tables.append(pd.DataFrame(columns))
        running.advance(1)
    return pd.concat(tables, ignore_index=True)


def draw_items(frame: pd.DataFrame, settings: ItemsSettings) -> Figure:
    """Draw both probabilities against the number of items, both logarithmic, with the law of the collapse."""
    figure = style.new_figure(style.PAGE, 2.8)
    panels = figure.subplots(1, 2, sharey=True)
    names = [f"$b={mass:g}$" for mass in settings.ball_masses]
    lowest = 0.6 * float(frame[["generalization", "identification"]].min().min())
    drawn = []
    for axes, column, symbol in zip(panels, ("generalization", "identification"), ("S", "I"), strict=True):
        lines = []
        for mass, color in zip(settings.ball_masses, style.ordered_colors(len(names)), strict=True):
            curve = frame[frame["ball_mass"] == mass]
            lines += axes.plot(curve["item_count"], curve[column], color=color)
            law = curve[curve["collapse_law"] <= 1.0]
            axes.plot(law["item_count"], law["collapse_law"], color=style.GRAY, linewidth=0.6, zorder=0)
        drawn.append(lines)
        style.log_axis(axes, "x", 2, settings.largest_item_count)
        style.log_axis(axes, "y", lowest, 1.1)
        axes.set(xlabel=ITEM_LABEL, ylabel=f"{column} $p_{symbol}^n$ (probability)")
        axes.tick_params(labelleft=True)
        axes.set_title("nearest item to a new probe" if symbol == "S" else "original of a copied probe")
    for axes, lines in zip(panels, drawn, strict=True):
        direct_labels(axes, lines, names)
    return figure


def resolution_data(settings: ResolutionSettings, running: Running) -> pd.DataFrame:
    """Return the best ball mass and its generalization, by background and number of items."""
    n = item_counts(settings.largest_item_count, settings.points)
    running.start(len(settings.backgrounds), "backgrounds")
    tables = []
    for background in settings.backgrounds:
        best = best_ball_mass(n, background)
        columns = {
            "background": background,
            "item_count": n,
            "best_ball_mass": best,
            "items_in_ball": n * best,
            "best_generalization": best_generalization(n, background),
            "identification": identification_of_many(best, n, background),
        }
        tables.append(pd.DataFrame(columns))
        running.advance(1)
    return pd.concat(tables, ignore_index=True)


def draw_resolution(frame: pd.DataFrame, settings: ResolutionSettings) -> Figure:
    """Draw the expected number of items in the best ball, and the generalization it gives."""
    figure = style.new_figure(style.PAGE, 2.8)
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        style.log_axis(axes, "x", 2, settings.largest_item_count)
        axes.set_xlabel(ITEM_LABEL)
    left.set(ylabel=r"expected items in the best ball $n\,b$", title="best resolution")
    right.set(ylabel=r"best generalization $p_S^n$ (probability)", title="generalization at the best resolution")
    lines = [
        _draw_curves(axes, frame, column, settings)
        for axes, column in ((left, "items_in_ball"), (right, "best_generalization"))
    ]
    left.set_ylim(0.0, 1.15 * float(frame["items_in_ball"].max()))
    style.log_axis(right, "y", 0.6 * float(frame["best_generalization"].min()), 1.0)
    for axes, limit in ((left, BEST_LOAD_LIMIT), (right, BEST_GENERALIZATION_LIMIT)):
        if 0.0 in settings.backgrounds:
            axes.axhline(limit, color=style.GRAY, linewidth=0.6, zorder=0)
    names = [rf"$\Delta={background:g}$" for background in settings.backgrounds]
    for axes, drawn in zip((left, right), lines, strict=True):
        direct_labels(axes, drawn, names)
    return figure


def _draw_curves(axes: Axes, frame: pd.DataFrame, column: str, settings: ResolutionSettings) -> list[Line2D]:
    lines = []
    for background, color in zip(settings.backgrounds, background_colors(len(settings.backgrounds)), strict=True):
        curve = frame[frame["background"] == background]
        lines += axes.plot(curve["item_count"], curve[column], color=color)
    return lines


ITEMS = Recipe(ItemsSettings, items_data, draw_items)
RESOLUTION_FIGURE = Recipe(ResolutionSettings, resolution_data, draw_resolution)
