"""The plane of a pair of representations: which starts merge, which stay apart, and along which lines (figure 4)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray
from pydantic import Field

from genlaws.experiments.settings import Settings
from genlaws.figures import style
from genlaws.figures.progress import Progress
from genlaws.figures.recipe import Points, Ratio, Recipe
from genlaws.relations.repon_pair import (
    decoder_pull,
    gain_shrink_time,
    pair_limit,
    pair_path,
    separation_shrink_time,
)
from genlaws.relations.repon_probability import collision_probability

Cluster = Annotated[float, Field(ge=1)]
Lines = Annotated[int, Field(ge=1, le=40)]

MERGE_COLOUR, APART_COLOUR = style.GREEN, style.VERMILLION
MERGE_FILL, APART_FILL = "#D9F0E8", "#FBE5D6"  # the same two, thinned until the lines stand out
EXTENT = 2.5  # half the length of each axis, in widths of the start
LAST = 1e-3  # share of the start at which a flow line is drawn to its end
OPEN = 2.0  # a sector at least half as wide as the box gets all its lines
SHORT = 0.12  # of half an axis: a line too short for a head that can be seen


class PlaneSettings(Settings):
    """Rates and widths of a pair; equal ones draw the paper's figure."""

    encoder_rate: Ratio = 1.0
    decoder_rate: Ratio = 1.0
    encoder_scale: Ratio = 1.0
    decoder_scale: Ratio = 1.0
    cluster: Cluster = 1.0
    lines_per_axis: Lines = 5
    points: Points = 81


def plane_data(settings: PlaneSettings, progress: Progress) -> pd.DataFrame:
    """Return flow lines from the edge of the plane to rest, and the two lines between the outcomes.

    ``series`` is "flow" or "boundary". Along a flow line what vanishes shrinks in equal steps; along a boundary both
    vanish together, so it is given by its ends and never left.
    """
    progress.start(1, "flow lines")
    rates = {"encoder_rate": settings.encoder_rate, "decoder_rate": settings.decoder_rate, "cluster": settings.cluster}
    gain, separation = (start[:, None] for start in _edge_starts(settings))
    left = np.linspace(1.0, LAST, settings.points)
    times = np.where(
        pair_limit(gain, separation, **rates).merges,
        separation_shrink_time(gain, separation, left, **rates),
        gain_shrink_time(gain, separation, left, **rates),
    )
    path = pair_path(gain, separation, times, **rates)
    flow = pd.DataFrame(
        {
            "series": "flow",
            "line": np.repeat(np.arange(gain.size), settings.points),
            "time": path.time.ravel(),
            "decoder_gain": path.decoder_gain.ravel(),
            "half_separation": path.half_separation.ravel(),
            "invariant": path.invariant.ravel(),
            "merges": path.merges.ravel(),
        }
    )
    progress.advance(1)
    return pd.concat([flow, _boundaries(settings)], ignore_index=True)


def plane_summary(frame: pd.DataFrame, settings: PlaneSettings) -> pd.DataFrame:
    """Return the slope of the boundary and the share of random starts inside the merging sector."""
    probability = collision_probability(
        settings.encoder_rate,
        settings.decoder_rate,
        settings.encoder_scale,
        settings.decoder_scale,
        cluster=settings.cluster,
    )
    return pd.DataFrame({"boundary_slope": [_slope(settings)], "collision_probability": [float(probability)]})


def draw_plane(frame: pd.DataFrame, settings: PlaneSettings) -> Figure:
    """Draw the two sectors, the flow lines with their direction, the boundary and the lines where all is at rest."""
    figure = style.new_figure(style.COLUMN, 3.7)
    axes = figure.subplots()
    width, height = EXTENT * settings.decoder_scale, EXTENT * settings.encoder_scale
    size = np.array([width, height])
    _fill_sectors(axes, _slope(settings), width)
    flow = frame[frame["series"] == "flow"]
    for _, line in flow.groupby("line"):
        colour = MERGE_COLOUR if line["merges"].iloc[0] else APART_COLOUR
        path = line[["decoder_gain", "half_separation"]].to_numpy().T
        axes.plot(*path, color=colour, linewidth=0.8, zorder=2)
        _arrow(axes, path / size[:, None], size, colour)
    for _, line in frame[frame["series"] == "boundary"].groupby("line"):
        axes.plot(line["decoder_gain"], line["half_separation"], color=style.BLACK, linestyle="--", linewidth=1.0)
    axes.plot([-width, width], [0.0, 0.0], color=MERGE_COLOUR, linewidth=2.4, zorder=3, solid_capstyle="butt")
    axes.plot([0.0, 0.0], [-height, height], color=APART_COLOUR, linewidth=2.4, zorder=3, solid_capstyle="butt")
    axes.set(xlim=(-width, width), ylim=(-height, height))
    axes.set_xlabel(r"decoder gain $a_2$")
    axes.set_ylabel(r"half the separation $c$")
    axes.set_title(_title(frame, settings))
    figure.legend(handles=_handles(), loc="outside lower center", ncols=2, handletextpad=0.5, columnspacing=1.2)
    return figure


def _edge_starts(settings: PlaneSettings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where the hyperbolae that end in equal steps along the two axes enter the plane, in all four quadrants."""
    width, height = EXTENT * settings.decoder_scale, EXTENT * settings.encoder_scale
    # On a merging line a² - (c/slope)² stays what it is at the end, where c = 0; on the others c² - (slope a)² does.
    merging = _entry(settings.lines_per_axis, width, height / _slope(settings))
    apart = _entry(settings.lines_per_axis, height, width * _slope(settings))
    gain = np.concatenate([merging[0], apart[1] / _slope(settings)])
    separation = np.concatenate([merging[1] * _slope(settings), apart[0]])
    signs = np.array([(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
    return np.outer(signs[:, 0], gain).ravel(), np.outer(signs[:, 1], separation).ravel()


def _entry(lines: int, longest: float, highest: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points of hyperbolae x² - y² = end² on the edge of the box x <= longest, y <= highest.

    A sector that opens less than the box gets fewer of them, at least one.
    """
    count = max(1, round(lines * min(1.0, OPEN * longest / highest)))
    end = longest * (np.arange(count) + 1.0) / (count + 0.5)
    x = np.minimum(longest, np.hypot(end, highest))
    return x, np.sqrt((x - end) * (x + end))


def _slope(settings: PlaneSettings) -> float:
    """Return |c/a| on the boundary between merging and staying apart."""
    pull = float(decoder_pull(settings.cluster)) * settings.decoder_rate
    return float(np.sqrt(settings.encoder_rate / pull))


def _boundaries(settings: PlaneSettings) -> pd.DataFrame:
    width, height = EXTENT * settings.decoder_scale, EXTENT * settings.encoder_scale
    reach = min(width, height / _slope(settings))
    gain = np.array([-reach, reach, -reach, reach])
    return pd.DataFrame(
        {
            "series": "boundary",
            "line": [0, 0, 1, 1],
            "time": 0.0,
            "decoder_gain": gain,
            "half_separation": _slope(settings) * gain * np.array([1.0, 1.0, -1.0, -1.0]),
            "invariant": 0.0,
            "merges": True,
        }
    )


def _fill_sectors(axes: Axes, slope: float, width: float) -> None:
    axes.set_facecolor(APART_FILL)
    x = np.array([-width, 0.0, width])
    axes.fill_between(x, -slope * np.abs(x), slope * np.abs(x), color=MERGE_FILL, linewidth=0.0, zorder=1)


def _arrow(axes: Axes, path: NDArray[np.float64], size: NDArray[np.float64], colour: str) -> None:
    """Put an arrow head in the middle of a path of shape (2, points), given in units of `size`."""
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=1)))])
    if length[-1] < SHORT:
        return
    at = (0.5 + np.array([0.0, 0.02 / length[-1]])) * length[-1]
    (x0, x1), (y0, y1) = (np.interp(at, length, one) * scale for one, scale in zip(path, size, strict=True))
    head = {"arrowstyle": "-|>", "color": colour, "linewidth": 0.0, "mutation_scale": 6.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x1, y1), (x0, y0), arrowprops=head, zorder=2)


def _title(frame: pd.DataFrame, settings: PlaneSettings) -> str:
    probability = plane_summary(frame, settings)["collision_probability"].iloc[0]
    ratio = settings.encoder_rate / settings.decoder_rate
    against = "" if settings.cluster == 1.0 else f", one against {settings.cluster:g}"
    return rf"$\eta_x/\eta_A={ratio:.3g}${against}: {probability:.3g} of starts merge"


def _handles() -> list[Patch | Line2D]:
    boundary = Line2D([], [], color=style.BLACK, linestyle="--", linewidth=1.0, label=r"boundary, $C=0$")
    return [
        Patch(facecolor=MERGE_FILL, edgecolor=MERGE_COLOUR, linewidth=0.6, label="merge: generalisation"),
        Patch(facecolor=APART_FILL, edgecolor=APART_COLOUR, linewidth=0.6, label="stay apart: memorisation"),
        Line2D([], [], color=style.DARK_GREY, linewidth=2.4, label="at rest"),
        boundary,
    ]


PLANE = Recipe(PlaneSettings, plane_data, draw_plane, plane_summary)
