"""Figures of the papers: an identifier, the table behind the picture, and the picture.

Importing this package loads neither pandas nor matplotlib; drawing does.
"""

from typing import TYPE_CHECKING

from genlaws.core.imports import loaded_on_access
from genlaws.figures.figure import Figure
from genlaws.figures.registry import FIGURES, figure_ids, get_figure

if TYPE_CHECKING:
    from genlaws.figures.drawing import DrawnFigure as DrawnFigure
    from genlaws.figures.drawing import DrawnFigures as DrawnFigures
    from genlaws.figures.drawing import FigureList as FigureList
    from genlaws.figures.drawing import ListedFigure as ListedFigure
    from genlaws.figures.drawing import draw_figures as draw_figures
    from genlaws.figures.drawing import list_figures as list_figures

__all__ = [
    "FIGURES",
    "DrawnFigure",
    "DrawnFigures",
    "Figure",
    "FigureList",
    "ListedFigure",
    "draw_figures",
    "figure_ids",
    "get_figure",
    "list_figures",
]

__getattr__, __dir__ = loaded_on_access(__name__)
