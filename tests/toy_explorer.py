"""A small view with a setting of every kind, and arrays as files."""

from __future__ import annotations

import io
from typing import Literal

import numpy as np

from genlaws.core.errors import ConvergenceError, InputError
from genlaws.render import Curve, Panel
from genlaws.web.view import Answer, Number, View, ViewSettings, choice, slider, switch

ADDRESS = "http://127.0.0.1:8765"


class LineSettings(ViewSettings):
    slope: float = slider(1.0, -2.0, 2.0, "slope a")
    points: int = slider(3, 2, 50, "points")
    shape: Literal["line", "square"] = choice("line", "shape")
    dotted: bool = switch(False, "dotted")


def draw_line(settings: LineSettings) -> Answer:
    """Return a line; some settings do not go together, one cannot be solved, and one was never thought of."""
    if settings.dotted and settings.shape == "square":
        raise InputError("dotted must be false for a square; got true.")
    if settings.slope == 1.25:
        raise ConvergenceError("The line did not converge within 3 rounds.")
    if settings.slope == 1.7431:
        raise ZeroDivisionError("secret inside")
    x = np.linspace(0.0, 1.0, settings.points)
    y = settings.slope * (x if settings.shape == "line" else x**2)
    panel = Panel("the-line", "A line", "x", "y", (Curve("line", "theory", x.tolist(), y.tolist()),))
    return Answer((panel,), (Number("slope", f"{settings.slope:g}"),), "A line.", "print(1)", "genlaws --help")


LINE = View("a-line", "A line", "How steep is a line?", "As steep as its slope.", LineSettings, draw_line)


def npy(array, **options) -> bytes:
    """Return an array as the bytes of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()
