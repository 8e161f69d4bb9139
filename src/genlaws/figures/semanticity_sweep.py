"""Write one front as a table and a picture: what ``genlaws semanticity front --sweep`` leaves in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from genlaws.figures import style
from genlaws.figures.semanticity_front import SIMILARITY_COLOURS, front_axes, front_table, plot_front
from genlaws.figures.writing import made_folder, save_picture, write_together
from genlaws.semanticity import Front, FrontPoint

NAME = "front"
CAPTION = (
    "Generalisation against identification as the resolution runs from fine (right) to coarse (lower left), with the "
    "peak as a dot, marked points as crosses, and a grey line where both are equal; a front belongs to its similarity "
    "and to Luce's choice rule and is no bound on every system."
)
FEW = 40
MARK: dict[str, Any] = {"marker": "x", "markersize": 5.0, "markeredgewidth": 1.3, "linestyle": "none", "zorder": 6}


def draw_sweep(table: pd.DataFrame, title: str, colour: str = style.BLUE) -> Figure:
    """Draw one front with its peak and the marked points.

    Parameters
    ----------
    table : DataFrame
        Of :func:`~genlaws.figures.semanticity_front.front_table`; rows with ``series`` "marked" become crosses.
    title : str
    colour : str
    """
    with style.house_style():
        figure = style.new_figure(style.COLUMN, 3.1)
        axes = figure.subplots()
        front_axes(axes, table)
        # Few points are steps of a discrete space; they are the front, and the line only joins them.
        few = (table["series"] == "front").sum() < FEW
        plot_front(axes, table, color=colour, marker="." if few else None)
        marked = table[table["series"] == "marked"]
        axes.plot(marked["identification"], marked["generalisation"], color=style.BLACK, **MARK)
        axes.set_title(title)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def write_front(
    found: Front, marked: Sequence[FrontPoint], folder: Path, title: str, settings: Mapping[str, object]
) -> dict[str, Path]:
    """Write ``front.csv``, ``front.txt`` (the caption), ``front.pdf`` and ``front.png``; all of them or none.

    Parameters
    ----------
    found : Front
    marked : sequence of FrontPoint
    folder : Path
        Made if it does not exist.
    title : str
        Head of the picture.
    settings : mapping
        What the front belongs to, written below the caption; ``similarity`` gives the colour.

    Returns
    -------
    dict
        Path by kind: csv, txt, pdf, png.
    """
    made_folder("out", folder)
    table = front_table(found)
    for point in marked:
        table.loc[len(table)] = {"series": "marked", **vars(point)}
    picture = draw_sweep(table, title, SIMILARITY_COLOURS[str(settings["similarity"])])

    def write(work: Path) -> dict[str, Path]:
        """Make every file in a folder of its own."""
        made = {kind: work / f"{NAME}.{kind}" for kind in ("csv", "txt", "pdf", "png")}
        table.to_csv(made["csv"], index=False)
        made["txt"].write_text(_caption(title, settings), encoding="utf-8")
        for kind in ("pdf", "png"):
            save_picture(picture, made[kind], kind, _one_line(title), CAPTION)
        return made

    return write_together(folder, NAME, write)


def _caption(title: str, settings: Mapping[str, object]) -> str:
    lines = [f"{name} = {value}" for name, value in settings.items() if value is not None]
    return "\n".join([_one_line(title), "", CAPTION, "", *lines, ""])


def _one_line(title: str) -> str:
    return title.replace("\n", ", ")
