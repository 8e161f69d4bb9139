"""Representations that merge: the plane of a pair (Figure 4), and the probability of merging by the ratio of rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray
from pydantic import Field

from genlaws.core.running import Running
from genlaws.figures.recipe import Points, Ratio, Recipe
from genlaws.relations.repons.ensemble import simulate_repons
from genlaws.relations.repons.merging import MergingCase, MergingProbability
from genlaws.relations.repons.pair import decoder_pull, gain_shrink_time, pair_limit, pair_path, separation_shrink_time
from genlaws.relations.repons.probability import collision_probability
from genlaws.render import style
from genlaws.sweeps.experiment import Settings

Cluster = Annotated[float, Field(ge=1)]
Lines = Annotated[int, Field(ge=1, le=40)]
Draws = Annotated[int, Field(ge=10, le=1_000_000)]

MERGE_COLOR, APART_COLOR = style.GREEN, style.VERMILLION
MERGE_FILL, APART_FILL = "#D9F0E8", "#FBE5D6"  # the same two colors, pale enough for the lines to stand out
HALF_EXTENT = 2.5  # half the length of each axis, in widths of the start
END_FRACTION = 1e-3  # share of the start at which a flow line ends
FULL_SECTOR_RATIO = 2.0  # a sector at least half as wide as the box gets all its lines
MIN_ARROW_LENGTH = 0.12  # of half an axis: shorter lines get no arrow head
RATE_RATIO_LABEL = r"encoder rate over decoder rate $\eta_x/\eta_A$"
PAIR, CLASS = "pair", "class"
PATH_COLUMNS = ("time", "decoder_gain", "half_separation", "invariant", "merges")
MAX_SIMULATION_STEPS = 1000  # a draw too near the boundary to finish in these is counted as it is


class PairPlaneSettings(Settings):
    """Rates and widths of a pair; equal ones draw the paper's figure."""

    encoder_rate: Ratio = 1.0
    decoder_rate: Ratio = 1.0
    encoder_scale: Ratio = 1.0
    decoder_scale: Ratio = 1.0
    cluster: Cluster = 1.0
    lines_per_axis: Lines = 5
    points: Points = 81


def plane_data(settings: PairPlaneSettings, running: Running) -> pd.DataFrame:
    """Return flow lines from the edge of the plane to rest, and the two lines between the outcomes.

    ``series`` is "flow" or "boundary". Along a flow line the quantity that vanishes shrinks in equal steps; along a
    boundary both vanish together, so it is given by its ends.
    """
    running.start(1, "flow lines")
    rates = {"encoder_rate": settings.encoder_rate, "decoder_rate": settings.decoder_rate, "cluster": settings.cluster}
    gain, separation = (start[:, None] for start in _edge_starts(settings))
    left = np.linspace(1.0, END_FRACTION, settings.points)
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
            **{name: getattr(path, name).ravel() for name in PATH_COLUMNS},
        }
    )
    running.advance(1)
    return pd.concat([flow, _boundaries(settings)], ignore_index=True)


def plane_summary(frame: pd.DataFrame, settings: PairPlaneSettings) -> pd.DataFrame:
    """Return the slope of the boundary and the share of random starts inside the merging sector."""
    probability = collision_probability(
        settings.encoder_rate,
        settings.decoder_rate,
        settings.encoder_scale,
        settings.decoder_scale,
        cluster=settings.cluster,
    )
    return pd.DataFrame({"boundary_slope": [_slope(settings)], "collision_probability": [float(probability)]})


def draw_plane(frame: pd.DataFrame, settings: PairPlaneSettings) -> Figure:
    """Draw the two sectors, the flow lines with their direction, the boundary and the lines where all is at rest."""
    figure = style.new_figure(style.COLUMN, 3.7)
    axes = figure.subplots()
    width, height = HALF_EXTENT * settings.decoder_scale, HALF_EXTENT * settings.encoder_scale
    size = np.array([width, height])
    _fill_sectors(axes, _slope(settings), width)
    flow = frame[frame["series"] == "flow"]
    for _, line in flow.groupby("line"):
        color = MERGE_COLOR if line["merges"].iloc[0] else APART_COLOR
        path = line[["decoder_gain", "half_separation"]].to_numpy().T
        axes.plot(*path, color=color, linewidth=0.8, zorder=2)
        _arrow(axes, path / size[:, None], size, color)
    for _, line in frame[frame["series"] == "boundary"].groupby("line"):
        axes.plot(line["decoder_gain"], line["half_separation"], color=style.BLACK, linestyle="--", linewidth=1.0)
    axes.plot([-width, width], [0.0, 0.0], color=MERGE_COLOR, linewidth=2.4, zorder=3, solid_capstyle="butt")
    axes.plot([0.0, 0.0], [-height, height], color=APART_COLOR, linewidth=2.4, zorder=3, solid_capstyle="butt")
    axes.set(xlim=(-width, width), ylim=(-height, height))
    axes.set_xlabel(r"decoder gain $a_2$")
    axes.set_ylabel(r"half the separation $c$")
    axes.set_title(_format_title(frame, settings))
    figure.legend(handles=_handles(), loc="outside lower center", ncols=2, handletextpad=0.5, columnspacing=1.2)
    return figure


def _edge_starts(settings: PairPlaneSettings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where the hyperbolae that end in equal steps along the two axes enter the plane, in all four quadrants."""
    width, height = HALF_EXTENT * settings.decoder_scale, HALF_EXTENT * settings.encoder_scale
    # On a merging line a² - (c/slope)² keeps its value at the end, where c = 0; on the others c² - (slope a)² does.
    merging = _edge_points(settings.lines_per_axis, width, height / _slope(settings))
    apart = _edge_points(settings.lines_per_axis, height, width * _slope(settings))
    gain = np.concatenate([merging[0], apart[1] / _slope(settings)])
    separation = np.concatenate([merging[1] * _slope(settings), apart[0]])
    signs = np.array([(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
    return np.outer(signs[:, 0], gain).ravel(), np.outer(signs[:, 1], separation).ravel()


def _edge_points(lines: int, longest: float, highest: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points of hyperbolae x² - y² = end² on the edge of the box x <= longest, y <= highest.

    A sector that opens less than the box gets fewer of them, at least one.
    """
    count = max(1, round(lines * min(1.0, FULL_SECTOR_RATIO * longest / highest)))
    end = longest * (np.arange(count) + 1.0) / (count + 0.5)
    x = np.minimum(longest, np.hypot(end, highest))
    return x, np.sqrt((x - end) * (x + end))


def _slope(settings: PairPlaneSettings) -> float:
    """Return |c/a| on the boundary between merging and staying apart."""
    pull = float(decoder_pull(settings.cluster)) * settings.decoder_rate
    return float(np.sqrt(settings.encoder_rate / pull))


def _boundaries(settings: PairPlaneSettings) -> pd.DataFrame:
    width, height = HALF_EXTENT * settings.decoder_scale, HALF_EXTENT * settings.encoder_scale
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


def _arrow(axes: Axes, path: NDArray[np.float64], size: NDArray[np.float64], color: str) -> None:
    """Put an arrow head in the middle of a path of shape (2, points), given in units of `size`."""
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=1)))])
    if length[-1] < MIN_ARROW_LENGTH:
        return
    at = (0.5 + np.array([0.0, 0.02 / length[-1]])) * length[-1]
    (x0, x1), (y0, y1) = (np.interp(at, length, one) * scale for one, scale in zip(path, size, strict=True))
    head = {"arrowstyle": "-|>", "color": color, "linewidth": 0.0, "mutation_scale": 6.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x1, y1), (x0, y0), arrowprops=head, zorder=2)


def _format_title(frame: pd.DataFrame, settings: PairPlaneSettings) -> str:
    probability = plane_summary(frame, settings)["collision_probability"].iloc[0]
    ratio = settings.encoder_rate / settings.decoder_rate
    against = "" if settings.cluster == 1.0 else f", one against {settings.cluster:g}"
    return rf"$\eta_x/\eta_A={ratio:.3g}${against}: {probability:.3g} of starts merge"


def _handles() -> list[Patch | Line2D]:
    return [
        Patch(facecolor=MERGE_FILL, edgecolor=MERGE_COLOR, linewidth=0.6, label="merge: generalization"),
        Patch(facecolor=APART_FILL, edgecolor=APART_COLOR, linewidth=0.6, label="stay apart: memorization"),
        Line2D([], [], color=style.DARK_GRAY, linewidth=2.4, label="at rest"),
        Line2D([], [], color=style.BLACK, linestyle="--", linewidth=1.0, label=r"boundary, $C=0$"),
    ]


def merging_pictures(found: MergingProbability) -> dict[str, Figure]:
    """Return the plane of a pair on a line under gradient flow, with one rate and scale; none for any other answer."""
    if not found.case.on_a_line or found.case.update != "flow" or np.ndim(found.collision_probability):
        return {}
    settings = PairPlaneSettings(
        encoder_rate=found.encoder_rate,
        decoder_rate=found.decoder_rate,
        encoder_scale=found.encoder_scale * found.case.repon_width / np.sqrt(2.0),
        decoder_scale=found.decoder_scale,
        cluster=found.case.cluster,
    )
    with style.house_style():
        return {"plane": draw_plane(plane_data(settings, Running()), settings)}


PLANE = Recipe(PairPlaneSettings, plane_data, draw_plane, plane_summary)


class CollisionFigureSettings(Settings):
    """Simulated ratios and draws; the laws run over the whole axis, all widths are 1."""

    smallest_ratio: Ratio = 1e-3
    largest_ratio: Ratio = 1e3
    points: Points = 121
    simulated_ratios: tuple[Ratio, ...] = (0.03, 0.3, 3.0, 30.0)
    draws: Draws = 400
    seed: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True)
class _Curve:
    """One law, how it is simulated, and how it is drawn."""

    panel: str
    name: str
    label: str
    color: str
    case: MergingCase


COLLISION_CURVES = (
    _Curve(PAIR, "pair, d=1, k=1", "$d=k=1$", style.BLUE, MergingCase()),
    _Curve(PAIR, "pair, d=2, k=2", "$d=k=2$", style.ORANGE, MergingCase(dimension=2, outputs=2)),
    _Curve(PAIR, "pair, d=2, k=20", "$d=2$, $k=20$", style.PURPLE, MergingCase(dimension=2, outputs=20)),
    _Curve(PAIR, "pair, sign updates", "$d=k=1$, sign updates", style.BLACK, MergingCase(update="sign")),
    _Curve(CLASS, "class of 2", "$m=2$, $d=k=1$", style.BLUE, MergingCase(class_size=2)),
    _Curve(CLASS, "class of 3", "$m=3$, $d=k=1$", style.GREEN, MergingCase(class_size=3)),
    _Curve(CLASS, "class of 10", "$m=10$, $d=k=1$", style.VERMILLION, MergingCase(class_size=10)),
    _Curve(
        CLASS,
        "class of 10, d=2, k=5",
        "$m=10$, $d=2$, $k=5$",
        style.PURPLE,
        MergingCase(class_size=10, dimension=2, outputs=5),
    ),
)


def collision_data(settings: CollisionFigureSettings, running: Running) -> pd.DataFrame:
    """Return every law over the ratios, and the simulated shares with Wilson's intervals.

    ``series`` is "law" or "simulation"; the width of each repon and of the decoder's entries is 1.
    """
    ratios = np.geomspace(settings.smallest_ratio, settings.largest_ratio, settings.points)
    running.start(len(COLLISION_CURVES), "laws")
    tables = []
    for number, curve in enumerate(COLLISION_CURVES):
        columns = {"panel": curve.panel, "curve": curve.name, "rate_ratio": ratios}
        tables.append(
            pd.DataFrame({"series": "law", **columns, "collision_probability": curve.case.probability(ratios)})
        )
        rng = np.random.default_rng([settings.seed, number])
        rows = [_simulate_point(curve, ratio, settings.draws, rng) for ratio in settings.simulated_ratios]
        tables.append(pd.DataFrame(rows))
        running.advance(1)
    return pd.concat(tables, ignore_index=True)


def draw_collisions(frame: pd.DataFrame, settings: CollisionFigureSettings) -> Figure:
    """Draw a panel for pairs and one for classes: laws as lines, simulations as points with intervals."""
    figure = style.new_figure(style.PAGE, 3.0)
    panels = figure.subplots(1, 2, sharey=True)
    # The curves cross too often for direct labels; each panel has one empty corner.
    for axes, panel in zip(panels, (PAIR, CLASS), strict=True):
        curves = [curve for curve in COLLISION_CURVES if curve.panel == panel]
        lines: list[Line2D] = []
        for curve in curves:
            here = frame[frame["curve"] == curve.name]
            law, points = here[here["series"] == "law"], here[here["series"] == "simulation"]
            lines += axes.plot(law["rate_ratio"], law["collision_probability"], color=curve.color)
            value = points["collision_probability"]
            axes.errorbar(
                points["rate_ratio"],
                value,
                yerr=[value - points["low"], points["high"] - value],
                fmt="o",
                color=curve.color,
                markersize=3.0,
                elinewidth=0.8,
            )
        style.log_axis(axes, "x", settings.smallest_ratio, settings.largest_ratio)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel(RATE_RATIO_LABEL)
        axes.set_ylabel("probability of merging $p$")
        axes.tick_params(labelleft=True)
        axes.set_title("two repons" if panel == PAIR else "all $m$ repons of a class")
        axes.legend(lines, [curve.label for curve in curves], loc="lower right" if panel == PAIR else "upper left")
    return figure


def _simulate_point(curve: _Curve, ratio: float, draws: int, rng: np.random.Generator) -> dict[str, Any]:
    system = curve.case.system(ratio)
    found = simulate_repons(system, draws=draws, seed=rng, tolerance=1e-7, most_steps=MAX_SIMULATION_STEPS).collision
    return {
        "series": "simulation",
        "panel": curve.panel,
        "curve": curve.name,
        "rate_ratio": ratio,
        "collision_probability": found.value,
        "low": found.low,
        "high": found.high,
        "draws": found.count,
    }


COLLISION_FIGURE = Recipe(CollisionFigureSettings, collision_data, draw_collisions)
