"""The pictures of the view on the residual stream: a walk as lines, a model or a drawn walk as points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from genlaws.explorer.residual_stream_kept import Points
from genlaws.numerics.arguments import Array
from genlaws.panels import Curve, Panel
from genlaws.panels.walk_panels import neighbours_panel, shares_panel, sizes_panel, turns_panel
from genlaws.residual_stream.beside_walk import NORMAL
from genlaws.residual_stream.walks import Walk

COMPONENTS = 2  # of the paper's plane
COLOURS = {
    "correlation": "blue",
    "correlation_turned": "sky",
    "cosine": "orange",
    "size": "blue",
    "step_size": "orange",
    "shares": "blue",
    "turns": "blue",
}
WORDS = {
    "correlation": "r over texts",
    "correlation_turned": "r, random axes",
    "cosine": "cosine",
    "size": "state",
    "step_size": "step",
    "shares": "share",
    "turns": "turns",
}


@dataclass(frozen=True)
class Shown:
    """What is drawn.

    Attributes
    ----------
    walk : Walk
    units : int
    points : mapping from measure to Points
    label : str
        Whose points they are.
    measures : tuple of str
        Of which the walk has lines.
    """

    walk: Walk
    units: int
    points: Mapping[str, Points]
    label: str
    measures: tuple[str, ...] = ("correlation", "cosine", "size", "step_size", "shares", "turns")

    @property
    def middle(self) -> int:
        """The step in the middle."""
        return (self.walk.site_count - 1) // 2


def panels_of(shown: Shown) -> tuple[Panel, ...]:
    """Return correlation and cosine, sizes, shares and turns."""
    walk = shown.walk
    sites = np.arange(walk.site_count, dtype=np.float64)
    steps, middle = sites[:-1] + 0.5, shown.middle
    first = "correlation" if "correlation" in shown.measures else "cosine"
    values = {"correlation": walk.correlation, "cosine": walk.cosine}
    mark = Curve("walk, middle", "mark", (float(steps[middle]),), (float(values[first][middle]),), COLOURS[first])
    near = [*(_line(shown, name, steps, values[name]) for name in values), mark]
    sizes = [_line(shown, "size", sites, walk.size), _line(shown, "step_size", steps, walk.step_size)]
    turns = [_line(shown, "turns", sites[1:-1], walk.turns)]
    return (
        neighbours_panel(_with_points(shown, near, ("correlation", "correlation_turned", "cosine"))),
        sizes_panel(_with_points(shown, sizes, ("size", "step_size"))),
        shares_panel(_with_points(shown, _shares(shown), ("shares",))),
        turns_panel(_with_points(shown, turns, ("turns",))),
    )


def _line(shown: Shown, measure: str, x: Array, y: Array) -> Curve | None:
    if measure not in shown.measures:
        return None
    return Curve(f"walk: {WORDS[measure]}", "theory", x.tolist(), y.tolist(), COLOURS[measure])


def _shares(shown: Shown) -> list[Curve | None]:
    """Return the line of the walk with the band of 95 % of walks, and the place of the plane."""
    value, half = shown.walk.path_shares(shown.units), NORMAL * shown.walk.path_share_deviations(shown.units)
    x = np.arange(1, value.size + 1).tolist()
    ends = {"low": (value - half).tolist(), "high": np.minimum(value + half, 1.0).tolist()}
    line = Curve("walk, and 95 % of walks", "theory", x, value.tolist(), COLOURS["shares"], **ends)
    plane = float(value[COMPONENTS - 1])
    return [line, Curve("walk, in a plane", "mark", (COMPONENTS,), (plane,), COLOURS["shares"])]


def _with_points(shown: Shown, lines: list[Curve | None], measures: tuple[str, ...]) -> list[Curve]:
    drawn = [line for line in lines if line is not None]
    for measure in measures:
        if measure in shown.points:
            several = len(measures) > 1
            name = f"{shown.label}: {WORDS[measure]}" if several else shown.label
            drawn.insert(
                len(drawn) - sum(one.kind == "mark" for one in drawn),
                _points(shown.points[measure], name, COLOURS[measure]),
            )
    return drawn


def _points(points: Points, name: str, colour: str) -> Curve:
    """Return points, with intervals where they have any."""
    ends = {} if np.isnan(points.low).all() else {"low": points.low.tolist(), "high": points.high.tolist()}
    return Curve(name, "run", points.x.tolist(), points.value.tolist(), colour, **ends)
