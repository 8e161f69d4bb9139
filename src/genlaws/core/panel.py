"""Panels and curves: a plot as plain numbers, with the kind of each curve and the axis labels."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate

# The kind of a curve decides how it is drawn: theory as a line, runs as points with intervals, chance as a thin gray
# line, the paper's form as a dashed line, the point chosen with the sliders as one large marker.
KINDS = ("theory", "run", "chance", "paper", "mark")
# Okabe and Ito's colors by name; the script that draws has a light and a dark form of ink and gray.
COLORS = ("ink", "orange", "sky", "green", "yellow", "blue", "vermillion", "purple", "gray")
NAME_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
CSV_COLUMNS = ("curve", "kind", "x", "y", "low", "high")


@dataclass(frozen=True)
class Curve:
    """One curve or one set of points.

    Attributes
    ----------
    name : str
        What the reader sees in the legend.
    kind : {"theory", "run", "chance", "paper", "mark"}
    x, y : sequence of float
        A value that is not finite leaves a gap.
    color : str
        One of `COLORS`.
    low, high : sequence of float, optional
        Ends of the interval of each y.
    notes : sequence of str, optional
        An extra line in the tooltip of each point.
    """

    name: str
    kind: str
    x: Sequence[float]
    y: Sequence[float]
    color: str = "blue"
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    notes: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.color not in COLORS:
            raise InputError(
                f"kind of a curve must be one of {', '.join(KINDS)} and its color one of {', '.join(COLORS)}; "
                f"got {self.kind!r} and {self.color!r}."
            )
        lengths = {len(part) for part in (self.x, self.y, self.low, self.high, self.notes) if part is not None}
        if len(lengths) != 1 or (self.low is None) != (self.high is None):
            raise InputError(f"x, y, low, high and notes of the curve {self.name!r} must have one length.")


def curve_of_estimates(
    name: str, x: Iterable[float], estimates: Iterable[Estimate], color: str, notes: Sequence[str] | None = None
) -> Curve:
    """Return what runs gave as points with intervals; arguments as the attributes of `Curve`."""
    found = list(estimates)
    value, low, high = ([getattr(one, end) for one in found] for end in ("value", "low", "high"))
    return Curve(name, "run", list(x), value, color, low, high, notes)


@dataclass(frozen=True)
class Panel:
    """One picture.

    Attributes
    ----------
    name : str
        Lowercase letters, digits and hyphens; unique on the page, and the name of its files.
    title : str
        What the picture shows.
    x_label, y_label : str
        Words followed by the symbol.
    curves : tuple of Curve
    x_log, y_log : bool
    x_range, y_range : pair of float, optional
        In the units of the axis, also for a logarithmic axis; fitted to the curves by default.
    caption : str
        What the picture shows; also read out by screen readers.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    x_log: bool = False
    y_log: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    caption: str = ""

    def __post_init__(self) -> None:
        if not NAME_PATTERN.fullmatch(self.name):
            raise InputError(f"name of a panel must be lowercase letters, digits and hyphens; got {self.name!r}.")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values for the script that draws; a number that is not finite becomes null."""
        return {
            "name": self.name,
            "title": self.title,
            "x": {"label": self.x_label, "log": self.x_log, "range": _range_to_json(self.x_range)},
            "y": {"label": self.y_label, "log": self.y_log, "range": _range_to_json(self.y_range)},
            "caption": self.caption,
            "curves": [_curve_to_json(one) for one in self.curves],
        }

    def to_csv(self) -> str:
        """Return the numbers behind the picture as a table, one row per point."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(CSV_COLUMNS)
        for one in self.curves:
            absent = (math.nan,) * len(one.x)
            ends = (absent if end is None else end for end in (one.low, one.high))
            rows = zip(one.x, one.y, *ends, strict=True)
            table.writerows((one.name, one.kind, *map(_format_cell, row)) for row in rows)
        return text.getvalue()


def _curve_to_json(curve: Curve) -> dict[str, Any]:
    numbers = {"x": curve.x, "y": curve.y, "low": curve.low, "high": curve.high}
    return {
        "name": curve.name,
        "kind": curve.kind,
        "color": curve.color,
        **{name: None if values is None else _none_if_not_finite(values) for name, values in numbers.items()},
        "notes": None if curve.notes is None else list(curve.notes),
    }


def _range_to_json(ends: tuple[float, float] | None) -> list[float] | None:
    return None if ends is None else [float(ends[0]), float(ends[1])]


def _none_if_not_finite(values: Iterable[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _format_cell(value: float) -> str:
    return f"{float(value):.10g}" if math.isfinite(value) else ""
