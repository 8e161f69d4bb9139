"""Fronts: what generalisation goes with what identification as the resolution changes."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from pydantic import Field

from genlaws.experiments.settings import Settings
from genlaws.figures import style
from genlaws.figures.progress import Progress
from genlaws.figures.recipe import Points, Ratio, Recipe
from genlaws.figures.semanticity_grid import even_ball_masses, smooth_resolutions
from genlaws.semanticity import Front, circle, front, segment, similarity

Background = Annotated[float, Field(ge=0, lt=1)]
ItemCount = Annotated[int, Field(ge=2, le=1000)]

SIMILARITY_COLOURS = {
    "constant": style.BLUE,
    "linear": style.VERMILLION,
    "exponential": style.GREEN,
    "gaussian": style.PURPLE,
    "power-law": style.ORANGE,
}
GENERALISATION, IDENTIFICATION = "generalisation", "identification"
PEAK: dict[str, Any] = {"marker": "o", "markersize": 4.0, "linestyle": "none", "zorder": 5}
MARGIN = 0.02
FAR_BELOW = 0.6  # identification up to which a picture need not show all of it


class FrontSettings(Settings):
    """Constant similarity at each background on the circle, three other fronts, and the number of items."""

    item_count: ItemCount = 2
    backgrounds: tuple[Background, ...] = (0.0, 0.05, 0.2)
    exponential_background: Ratio = 0.05
    points: Points = 121


def front_table(found: Front, **columns: str | float) -> pd.DataFrame:
    """Return the points of a front, then its peak; ``series`` says which, and `columns` are the same in every row."""
    table = found.to_frame()
    table.insert(0, "series", "front")
    if found.peak is not None:
        table.loc[len(table)] = {"series": "peak", **vars(found.peak)}
    for place, (name, value) in enumerate(columns.items()):
        table.insert(place, name, value)
    return table.astype({"item_count": int})


def plot_front(axes: Axes, table: pd.DataFrame, **look: Any) -> Line2D:
    """Draw one front and the dot of its peak, and return the line."""
    points, peak = table[table["series"] == "front"], table[table["series"] == "peak"]
    (line,) = axes.plot(points[IDENTIFICATION], points[GENERALISATION], **look)
    axes.plot(peak[IDENTIFICATION], peak[GENERALISATION], color=line.get_color(), **PEAK)
    return line


def front_axes(axes: Axes, table: pd.DataFrame, room: float = 0.15) -> None:
    """Label the axes, draw the diagonal, and set limits from guessing to a little beyond the points of the table.

    The share `room` of the height of the points is left free above them. Identification is shown up to 1 unless all
    points lie far below.
    """
    count = int(table["item_count"].iloc[0])
    chance, height, width = 1.0 / count, float(table[GENERALISATION].max()), float(table[IDENTIFICATION].max())
    right = 1.0 if width > FAR_BELOW else width + 0.1 * (width - chance)
    top = min(1.0, height + room * (height - chance))
    aside, above = MARGIN * (right - chance), MARGIN * (top - chance)
    axes.set_xlim(chance - aside, right + aside)
    axes.set_ylim(chance - above, top + above)
    many = "" if count == 2 else f"^{{{count}}}"
    axes.set_xlabel(f"identification $p_I{many}$ (probability)")
    axes.set_ylabel(f"generalisation $p_S{many}$ (probability)")
    axes.plot([chance, 1.0], [chance, 1.0], color=style.GREY, linewidth=0.6, zorder=0)


def front_data(settings: FrontSettings, progress: Progress) -> pd.DataFrame:
    """Return every front with its peak; ``curve`` numbers them."""
    masses = even_ball_masses(settings.item_count, settings.points)
    smooth = smooth_resolutions(circle().reach, settings.item_count, settings.points)
    curves: list[tuple[Any, str, float, NDArray[np.float64]]] = [
        (circle(), "constant", background, 0.5 * masses) for background in settings.backgrounds
    ]
    curves += [
        (segment(), "constant", 0.0, 1.0 - np.sqrt(1.0 - masses)),
        (circle(), "linear", 0.0, smooth),
        (circle(), "exponential", settings.exponential_background, smooth),
    ]
    progress.start(len(curves), "fronts")
    tables = []
    for number, (where, name, background, resolutions) in enumerate(curves):
        found = front(where, similarity(name, 1.0, background=background), settings.item_count, resolutions)
        columns = {"curve": number, "space": where.name, "similarity": name, "background": background}
        tables.append(front_table(found, **columns))
        progress.advance(1)
    return pd.concat(tables, ignore_index=True)


def front_summary(frame: pd.DataFrame, settings: FrontSettings) -> pd.DataFrame:
    """Return the peak of each front and its distance from the diagonal."""
    peaks = frame[frame["series"] == "peak"].drop(columns=["series", "curve"])
    return peaks.assign(diagonal_gap=peaks[IDENTIFICATION] - peaks[GENERALISATION]).reset_index(drop=True)


def background_colours(count: int) -> list[Any]:
    """Return the colours of the constant similarity without background and with more and more of it."""
    return style.shades(SIMILARITY_COLOURS["constant"], count, darkest=0.4)[::-1]


def draw_front(frame: pd.DataFrame, settings: FrontSettings) -> Figure:
    """Draw the fronts over the diagonal."""
    figure = style.new_figure(style.COLUMN, 3.3)
    axes = figure.subplots()
    front_axes(axes, frame, room=0.35)
    blues = iter(background_colours(len(settings.backgrounds)))
    lines, labels = [], []
    for _, table in frame.groupby("curve", sort=False):
        space, name, background = (table[column].iloc[0] for column in ("space", "similarity", "background"))
        floor = rf", $\Delta={background:g}$"
        if space == "segment":
            look, label = {"color": style.SKY_BLUE, "linestyle": (0, (4, 1.5))}, f"{name}, on the segment"
        elif name == "constant":
            look, label = {"color": next(blues)}, f"{name}{floor}"
        else:
            look, label = {"color": SIMILARITY_COLOURS[name]}, f"{name}{floor}"
        lines.append(plot_front(axes, table, **look))
        labels.append(label)
    axes.set_title(f"{settings.item_count} items; each front belongs to its similarity")
    axes.legend(lines, labels, loc="upper left", borderaxespad=0.2)
    return figure


FRONT = Recipe(FrontSettings, front_data, draw_front, front_summary)
