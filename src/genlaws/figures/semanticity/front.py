r"""Fronts, generalization against identification as the resolution changes: the figure and single pictures.

A front is sampled densely around its peak. With x evenly spaced between 0 and 1 the odds :math:`x/(1-x)` run from near
zero to very large, half of them below 1. The peak lies where a ball holds one or two items, so the odds are scaled by
one over n. With many items both tests collapse; another figure shows which resolution then generalizes best.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from pydantic import Field

from genlaws import semanticity
from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import Points, Ratio, Recipe
from genlaws.render import style
from genlaws.semanticity.theory.front import format_place
from genlaws.sweeps.experiment import Settings

Background = Annotated[float, Field(ge=0, lt=1)]
ItemCount = Annotated[int, Field(ge=2, le=1000)]
EDGE_OFFSET = 0.005  # distance of the first and the last x from 0 and 1
PEAK_RADIUS = 0.6  # rough place of the peak: resolution over reach, times n
PEAK_ITEMS = 2.0  # rough odds of the peak's ball mass, times n
SIMILARITY_COLORS = {
    "constant": style.BLUE,
    "linear": style.VERMILLION,
    "exponential": style.GREEN,
    "gaussian": style.PURPLE,
    "power-law": style.ORANGE,
}
GENERALIZATION_COLUMN, IDENTIFICATION_COLUMN = "generalization", "identification"
PEAK_STYLE: dict[str, Any] = {"marker": "o", "markersize": 4.0, "linestyle": "none", "zorder": 5}
FRONT_AXIS_MARGIN = 0.02
MIN_FULL_AXIS = 0.6  # largest identification from which the axis ends at 1
MIN_LINE_POINTS = 40
MARK: dict[str, Any] = {"marker": "x", "markersize": 5.0, "markeredgewidth": 1.3, "linestyle": "none", "zorder": 6}
Mass = Annotated[float, Field(gt=0, le=1)]
MostItems = Annotated[int, Field(ge=10, le=1_000_000)]
ITEM_LABEL = r"items $n$"
# Limits for many items without background: of n b at the best ball mass b, and of the generalization there.
BEST_LOAD_LIMIT, BEST_GENERALIZATION_LIMIT = 1.50286, 0.51735


def smooth_resolutions(reach: float, item_count: int, points: int) -> NDArray[np.float64]:
    """Return resolutions from fine to coarse for a similarity that changes smoothly with its resolution.

    Parameters
    ----------
    reach : float
        Largest distance of the space.
    item_count : int
    points : int
    """
    return PEAK_RADIUS * reach / item_count * _odds(points)


def even_ball_masses(item_count: int, points: int) -> NDArray[np.float64]:
    """Return ball masses from near 0 to near 1; for two items they are evenly spaced."""
    scaled = PEAK_ITEMS / item_count * _odds(points)
    return scaled / (1.0 + scaled)


def _odds(points: int) -> NDArray[np.float64]:
    x = np.linspace(EDGE_OFFSET, 1.0 - EDGE_OFFSET, points)
    return x / (1.0 - x)


class FrontFigureSettings(Settings):
    """Constant similarity at each background on the circle, three other fronts, and the number of items."""

    item_count: ItemCount = 2
    backgrounds: tuple[Background, ...] = (0.0, 0.05, 0.2)
    exponential_background: Ratio = 0.05
    points: Points = 121


def plot_front(axes: Axes, table: pd.DataFrame, **look: Any) -> Line2D:
    """Draw one front and the dot of its peak, and return the line."""
    points, peak = table[table["series"] == "front"], table[table["series"] == "peak"]
    (line,) = axes.plot(points[IDENTIFICATION_COLUMN], points[GENERALIZATION_COLUMN], **look)
    axes.plot(peak[IDENTIFICATION_COLUMN], peak[GENERALIZATION_COLUMN], color=line.get_color(), **PEAK_STYLE)
    return line


def front_axes(axes: Axes, table: pd.DataFrame, room: float = 0.15) -> None:
    """Label the axes, draw the diagonal, and set limits from guessing to a little beyond the points of the table.

    The share `room` of the height of the points is left free above them. Identification is shown up to 1 unless all
    points lie far below.
    """
    count = int(table["item_count"].iloc[0])
    chance, height, width = (
        1.0 / count,
        float(table[GENERALIZATION_COLUMN].max()),
        float(table[IDENTIFICATION_COLUMN].max()),
    )
    right = 1.0 if width > MIN_FULL_AXIS else width + 0.1 * (width - chance)
    top = min(1.0, height + room * (height - chance))
    aside, above = FRONT_AXIS_MARGIN * (right - chance), FRONT_AXIS_MARGIN * (top - chance)
    axes.set_xlim(chance - aside, right + aside)
    axes.set_ylim(chance - above, top + above)
    many = "" if count == 2 else f"^{{{count}}}"
    axes.set_xlabel(f"identification $p_I{many}$ (probability)")
    axes.set_ylabel(f"generalization $p_S{many}$ (probability)")
    axes.plot([chance, 1.0], [chance, 1.0], color=style.GRAY, linewidth=0.6, zorder=0)


def front_data(settings: FrontFigureSettings, running: Running) -> pd.DataFrame:
    """Return every front with its peak; ``curve`` numbers them."""
    masses = even_ball_masses(settings.item_count, settings.points)
    smooth = smooth_resolutions(semanticity.circle().reach, settings.item_count, settings.points)
    curves: list[tuple[Any, str, float, NDArray[np.float64]]] = [
        (semanticity.circle(), "constant", background, 0.5 * masses) for background in settings.backgrounds
    ]
    curves += [
        (semanticity.segment(), "constant", 0.0, 1.0 - np.sqrt(1.0 - masses)),
        (semanticity.circle(), "linear", 0.0, smooth),
        (semanticity.circle(), "exponential", settings.exponential_background, smooth),
    ]
    running.start(len(curves), "fronts")
    tables = []
    for number, (where, name, background, resolutions) in enumerate(curves):
        found = semanticity.front(
            where,
            similarity=semanticity.similarity(name, 1.0, background=background),
            item_count=settings.item_count,
            resolutions=resolutions,
        )
        columns = {"curve": number, "space": where.name, "similarity": name, "background": background}
        table = found.to_frame()
        tables.append(table.assign(**columns)[[*columns, *table]])
        running.advance(1)
    return pd.concat(tables, ignore_index=True)


def front_summary(frame: pd.DataFrame, settings: FrontFigureSettings) -> pd.DataFrame:
    """Return the peak of each front and its distance from the diagonal."""
    peaks = frame[frame["series"] == "peak"].drop(columns=["series", "curve"])
    return peaks.assign(diagonal_gap=peaks[IDENTIFICATION_COLUMN] - peaks[GENERALIZATION_COLUMN]).reset_index(drop=True)


def background_colors(count: int) -> list[Any]:
    """Return the colors of the constant similarity without background and with increasing background."""
    return style.shades(SIMILARITY_COLORS["constant"], count, darkest=0.4)[::-1]


def draw_front(frame: pd.DataFrame, settings: FrontFigureSettings) -> Figure:
    """Draw the fronts over the diagonal."""
    figure = style.new_figure(style.COLUMN, 3.3)
    axes = figure.subplots()
    front_axes(axes, frame, room=0.35)
    blues = iter(background_colors(len(settings.backgrounds)))
    lines, labels = [], []
    for _, table in frame.groupby("curve", sort=False):
        space, name, background = (table[column].iloc[0] for column in ("space", "similarity", "background"))
        floor = rf", $\Delta={background:g}$"
        if space == "segment":
            look, label = {"color": style.SKY_BLUE, "linestyle": (0, (4, 1.5))}, f"{name}, on the segment"
        elif name == "constant":
            look, label = {"color": next(blues)}, f"{name}{floor}"
        else:
            look, label = {"color": SIMILARITY_COLORS[name]}, f"{name}{floor}"
        lines.append(plot_front(axes, table, **look))
        labels.append(label)
    axes.set_title(f"{settings.item_count} items; each front belongs to its similarity")
    axes.legend(lines, labels, loc="upper left", borderaxespad=0.2)
    return figure


FRONT = Recipe(FrontFigureSettings, front_data, draw_front, front_summary)


def draw_sweep(table: pd.DataFrame, title: str, color: str = style.BLUE) -> Figure:
    """Draw one front with its peak and the marked points.

    Parameters
    ----------
    table : DataFrame
        Of :meth:`genlaws.semanticity.Front.to_frame`.
    title : str
    color : str
    """
    figure = style.new_figure(style.COLUMN, 3.1)
    axes = figure.subplots()
    front_axes(axes, table)
    # Few points are the steps of a discrete space: the points are the front, and the line only joins them.
    few = (table["series"] == "front").sum() < MIN_LINE_POINTS
    plot_front(axes, table, color=color, marker="." if few else None)
    marked = table[table["series"] == "marked"]
    axes.plot(marked["identification"], marked["generalization"], color=style.BLACK, **MARK)
    axes.set_title(title)
    return figure


def front_pictures(found: semanticity.Front) -> dict[str, Figure]:
    """Return the picture of a front by its name."""
    given = {} if found.call is None else found.call.arguments
    drawn, where = given.get("similarity", {}), given.get("where", {})
    name = drawn.get("similarity", "user").partition(" ")[0]
    floor = f", background {drawn['background']:g}" if drawn.get("background") else ""
    title = f"{name} similarity{floor}\n{found.point.item_count} items {format_place(where)}"
    return {"front": draw_sweep(found.to_frame(), title, SIMILARITY_COLORS.get(name, style.BLUE))}


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
            "generalization": semanticity.generalization_of_many(mass, n),
            "identification": semanticity.identification_of_many(mass, n),
            "collapse_law": float(semanticity.collapse_constant(mass)) / n,
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
        best = semanticity.best_ball_mass(n, background)
        columns = {
            "background": background,
            "item_count": n,
            "best_ball_mass": best,
            "items_in_ball": n * best,
            "best_generalization": semanticity.best_generalization(n, background),
            "identification": semanticity.identification_of_many(best, n, background),
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
