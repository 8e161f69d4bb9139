"""Figures of the papers: an identifier, the table behind the picture, and the picture.

Importing this package loads neither pandas nor matplotlib; drawing does.
"""

from genlaws.figures.drawing import DrawnFigure, draw_figure
from genlaws.figures.figure import Figure
from genlaws.figures.registry import FIGURES, figure_ids, get_figure

__all__ = [
    "FIGURES",
    "DrawnFigure",
    "Figure",
    "draw_figure",
    "figure_ids",
    "get_figure",
]
