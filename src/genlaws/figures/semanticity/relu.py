"""ReLU networks over the front: where training leads in both tests, and how far from the front it stays."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter
from pydantic import Field

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import Recipe
from genlaws.figures.rules_facts.tables import Seed, mean_columns
from genlaws.render import style
from genlaws.semanticity.networks.relu_runs import set_front, space_front
from genlaws.semanticity.theory.finite_sets import stimulus_distances
from genlaws.semanticity.theory.spaces import space
from genlaws.semanticity.theory.tradeoff import PlaneCurve
from genlaws.sweeps import Axis, get_experiment, make_sweep
from genlaws.sweeps.computing import ComputedCell, compute_cells
from genlaws.sweeps.experiment import Settings

Step = Annotated[int, Field(ge=0)]

RELU_NETWORKS = {
    "circle": {"stimuli": "circle", "goal": "similarity"},
    "segment": {"stimuli": "segment", "goal": "similarity"},
    "reconstruction": {"stimuli": "circle", "goal": "reconstruction"},
    "both": {"stimuli": "circle", "goal": "both"},
}
TRAINED_ON_SIMILARITY = ("circle", "segment")
RELU_NETWORK_COLORS = {
    "circle": style.BLUE,
    "segment": style.SKY_BLUE,
    "reconstruction": style.ORANGE,
    "both": style.PURPLE,
}
NETWORK_LABELS = {"both": "both goals"}
RELU_COURSE_COLUMNS = ("generalization", "identification", "space_distance", "set_distance")
RELU_END_COLUMNS = (
    *("first_generalization", "first_identification", "peak_generalization", "peak_identification", "peak_step"),
    *("final_generalization", "final_identification", "mean_space_distance", "mean_set_distance"),
)
MAX_DRAWN_LOGS = 90  # of a course, closer together at the beginning
FRONT_STYLE: dict[str, Any] = {"color": style.LIGHT_GRAY, "linewidth": 2.2, "zorder": 1}
FRONT_DASHES = {"circle": "-", "segment": (0, (2.5, 1.2))}
MARK_STYLE: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 2.4, "zorder": 5}
SET_DASHES = (0, (3, 1.5))
COURSE_BAND_ALPHA = 0.25
FIRST_DRAWN_STEP = 100  # steps; before, no network is near a front
MAX_DISTANCE = 0.03  # from a front, limit of the axis
ZOOM_LIMITS = {"x": (0.74, 0.93), "y": (0.685, 0.845)}


class ReluFigureSettings(Settings):
    """Networks in the paper's setting; courses have marks at some steps."""

    stimulus_count: Annotated[int, Field(ge=5, le=500)] = 50
    hidden: Annotated[int, Field(ge=1, le=10_000)] = 10
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 10
    steps: Annotated[int, Field(ge=200, le=10_000_000)] = 7500
    log_every: Annotated[int, Field(ge=1)] = 20
    marks: Annotated[tuple[Step, ...], Field(min_length=1, max_length=12)] = (0, 300, 600, 1000, 2000, 4000, 7500)
    device: str = "cpu"
    seed: Seed = 0


def relu_cells(
    network: Mapping[str, Any], settings: ReluFigureSettings, running: Running, **more: Any
) -> list[ComputedCell]:
    """Train networks of one kind; the caller has announced the steps."""
    same = {name: getattr(settings, name) for name in ("stimulus_count", "hidden", "steps", "log_every", "device")}
    axes = [Axis(name, (value,)) for name, value in network.items()]
    experiment = get_experiment("semanticity.relu-network")
    sweep = make_sweep(experiment, {**same, **more}, axes, settings.repeats, settings.seed)
    return compute_cells(sweep, running)


def drawn_logs(steps: Any, marks: tuple[int, ...] = ()) -> Any:
    """Return the places of the logs that are drawn: closer together at the beginning, and the nearest to each mark."""
    last = len(steps) - 1
    spread = np.round(np.geomspace(1, last, min(MAX_DRAWN_LOGS, last))).astype(int)
    return np.unique([0, *spread, *mark_places(steps, marks)])


def mark_places(steps: Any, marks: tuple[int, ...]) -> list[int]:
    """Return the places of the logs nearest to the marks that the training reached."""
    return [int(np.argmin(np.abs(np.asarray(steps) - mark))) for mark in marks if mark <= steps[-1]]


def fronts_of(stimuli: str, count: int) -> dict[str, PlaneCurve]:
    """Return the fronts of linear decay in the space of the stimuli and on the stimuli themselves."""
    return {"space": _space_front(stimuli), "set": set_front(stimulus_distances(stimuli, count))}


@lru_cache(maxsize=2)
def _space_front(name: str) -> PlaneCurve:
    """Return the front of a space; that of the segment takes seconds."""
    return space_front(space(name))


def network_data(settings: ReluFigureSettings, running: Running) -> pd.DataFrame:
    """Return fronts, the courses of single networks, their means, and where they start, peak and end."""
    running.start(len(RELU_NETWORKS) * settings.repeats, "networks")
    fronts = {name: fronts_of(name, settings.stimulus_count) for name in TRAINED_ON_SIMILARITY}
    tables = [
        pd.DataFrame({"generalization": curve.generalization, "identification": curve.identification}).assign(
            series="front", network=name, front=kind
        )
        for name, curves in fronts.items()
        for kind, curve in curves.items()
    ]
    for network, chosen in RELU_NETWORKS.items():
        cells = relu_cells(chosen, settings, running)
        tables += [
            table.assign(network=network, run_count=len(cells))
            for table in _course_tables(cells, fronts[chosen["stimuli"]], settings)
        ]
    return pd.concat(tables, ignore_index=True)


def _course_tables(
    cells: list[ComputedCell], fronts: Mapping[str, PlaneCurve], settings: ReluFigureSettings
) -> list[pd.DataFrame]:
    """Return the courses of the networks of one kind, their means and their ends."""
    steps = cells[0].result["step"]
    both = {name: np.array([cell.result[name] for cell in cells]) for name in ("generalization", "identification")}
    course = both | {f"{kind}_distance": curve.distance(*both.values()) for kind, curve in fronts.items()}
    drawn = drawn_logs(steps, settings.marks)
    runs = [
        pd.DataFrame({"step": steps[drawn], **{name: values[run, drawn] for name, values in both.items()}}).assign(
            series="run", run=run
        )
        for run in range(len(cells))
    ]
    means = [
        {"series": "mean", "step": steps[log]}
        | {name: value for one in RELU_COURSE_COLUMNS for name, value in mean_columns(one, course[one][:, log]).items()}
        for log in drawn
    ]
    best = np.argmax(both["generalization"], axis=1)
    ends = {name: np.array([cell.result[name] for cell in cells], dtype=float) for name in RELU_END_COLUMNS[:7]}
    for kind in fronts:
        apart = np.abs(course[f"{kind}_distance"])
        ends[f"mean_{kind}_distance"] = np.array([row[peak:].mean() for row, peak in zip(apart, best, strict=True)])
    row = {name: value for one in RELU_END_COLUMNS for name, value in mean_columns(one, ends[one]).items()}
    return [*runs, pd.DataFrame(means), pd.DataFrame([{"series": "ends", **row}])]


def network_summary(frame: pd.DataFrame, settings: ReluFigureSettings) -> pd.DataFrame:
    """Return where networks of each kind start, peak and end, and how far from the fronts they move."""
    return frame[frame["series"] == "ends"].dropna(axis=1, how="all").drop(columns="series").reset_index(drop=True)


def draw_network(frame: pd.DataFrame, settings: ReluFigureSettings) -> Figure:
    """Draw the plane of both tests (left), the part where the fronts peak (middle) and the distances (right)."""
    figure = style.new_figure(style.PAGE, 2.85)
    whole, near, apart = figure.subplots(1, 3)
    for axes in (whole, near):
        _draw_fronts(axes, frame)
    lines = {network: _draw_course(whole, frame, network, settings) for network in RELU_NETWORKS}
    for network in TRAINED_ON_SIMILARITY:
        for _, run in _network_rows(frame, "run", network).groupby("run"):
            near.plot(
                run["identification"],
                run["generalization"],
                color=RELU_NETWORK_COLORS[network],
                linewidth=0.35,
                alpha=0.6,
            )
        _draw_course(near, frame, network, settings)
    whole.set(xlim=(0.49, 1.01), ylim=(0.47, 0.86), title=f"means of {settings.repeats} networks")
    whole.set(**style.PLANE_LABELS)
    near.set(xlim=ZOOM_LIMITS["x"], ylim=ZOOM_LIMITS["y"], title="the same, and single networks")
    near.set_xlabel(style.PLANE_LABELS["xlabel"])
    lines_apart = _draw_distances(apart, frame, settings)
    figure.legend(handles=_handles(), loc="outside lower center", ncols=3, handletextpad=0.5, columnspacing=2.0)
    _write_steps(near, _network_rows(frame, "mean", "circle"), settings)
    direct_labels(whole, list(lines.values()), [NETWORK_LABELS.get(name, name) for name in lines])
    direct_labels(apart, lines_apart, TRAINED_ON_SIMILARITY)
    return figure


def _network_rows(frame: pd.DataFrame, series: str, network: str) -> pd.DataFrame:
    return frame[(frame["series"] == series) & (frame["network"] == network)]


def _draw_fronts(axes: Axes, frame: pd.DataFrame) -> None:
    """Draw the diagonal, the fronts of the spaces and, thin, those of the finite sets."""
    axes.plot([0.5, 1.0], [0.5, 1.0], color=style.GRAY, linewidth=0.6, zorder=0)
    for network in FRONT_DASHES:
        for kind, curve in _network_rows(frame, "front", network).groupby("front"):
            axes.plot(curve["identification"], curve["generalization"], **_front_style(network, str(kind)))


def _handles() -> list[Line2D]:
    """Return the legend of the fronts and of the distances from them, column by column."""
    dark: dict[str, Any] = {"color": style.DARK_GRAY, "linewidth": 1.1}
    names = (("space", "front of linear decay on the {}"), ("set", "on {} equally spaced stimuli"))
    fronts = [
        Line2D([], [], **_front_style(network, kind), label=name.format(network if kind == "space" else "its"))
        for kind, name in names
        for network in FRONT_DASHES
    ]
    return [
        *fronts,
        Line2D([], [], **dark, label="distance from the front of the space"),
        Line2D([], [], **dark, linestyle=SET_DASHES, label="from that of the stimuli"),
    ]


def _front_style(network: str, kind: str) -> dict[str, Any]:
    """Return how a front is drawn: that of a space wide and pale, that of a finite set thin."""
    thin = {"color": style.GRAY, "linewidth": 0.7} if kind == "set" else {}
    return {**FRONT_STYLE, **thin, "linestyle": FRONT_DASHES[network]}


def _draw_course(axes: Axes, frame: pd.DataFrame, network: str, settings: ReluFigureSettings) -> Line2D:
    """Draw the mean course of one kind of network with its marks, and return the line."""
    table = _network_rows(frame, "mean", network)
    (line,) = axes.plot(table["identification"], table["generalization"], color=RELU_NETWORK_COLORS[network], zorder=3)
    marked = table.iloc[mark_places(table["step"].to_numpy(), settings.marks)]
    axes.plot(marked["identification"], marked["generalization"], color=RELU_NETWORK_COLORS[network], **MARK_STYLE)
    return line


def _write_steps(axes: Axes, table: pd.DataFrame, settings: ReluFigureSettings) -> None:
    """Write the steps next to the marks of one course, if they are in the panel."""
    for place in mark_places(table["step"].to_numpy(), settings.marks):
        row = table.iloc[place]
        x, y = row["identification"], row["generalization"]
        if not (ZOOM_LIMITS["x"][0] < x < ZOOM_LIMITS["x"][1] and ZOOM_LIMITS["y"][0] < y < ZOOM_LIMITS["y"][1]):
            continue
        rising = x < ZOOM_LIMITS["x"][0] + 0.35 * (ZOOM_LIMITS["x"][1] - ZOOM_LIMITS["x"][0])
        axes.annotate(
            f"{int(row['step']):,}",
            (x, y),
            (-4, 2) if rising else (5, 3),
            textcoords="offset points",
            ha="right" if rising else "left",
            fontsize=style.SMALL_TYPE,
            color=style.text_color(RELU_NETWORK_COLORS["circle"]),
        )


def _draw_distances(axes: Axes, frame: pd.DataFrame, settings: ReluFigureSettings) -> list[Line2D]:
    """Draw the distance from both fronts against the step with bands of the mean, and return the lines of spaces."""
    axes.axhline(0.0, color=style.GRAY, linewidth=0.6, zorder=0)
    lines = []
    for network in TRAINED_ON_SIMILARITY:
        table = _network_rows(frame, "mean", network)
        table = table[table["step"] > 0]
        for kind, dashes in (("space", "-"), ("set", SET_DASHES)):
            look: dict[str, Any] = {"alpha": COURSE_BAND_ALPHA, "linestyle": dashes, "linewidth": 1.1}
            lines += style.plot_with_band(axes, table, "step", f"{kind}_distance", RELU_NETWORK_COLORS[network], **look)
    step_axis(axes, min(FIRST_DRAWN_STEP, settings.steps / 2), settings.steps)
    axes.set(ylabel="distance from the front (probability)", title="below the front: negative")
    axes.set_ylim(-MAX_DISTANCE, 0.3 * MAX_DISTANCE)
    return lines[::2]


def step_axis(axes: Axes, first: float, last: float) -> None:
    """Give the x axis steps of training on a logarithmic scale, in plain numbers."""
    style.log_axis(axes, "x", first, last * 1.03)
    ticks = [tick * 10**power for power in range(8) for tick in (1, 3) if first <= tick * 10**power <= 0.75 * last]
    axes.xaxis.set_major_locator(FixedLocator([*ticks, last]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("step")


RELU_TRAINING = Recipe(ReluFigureSettings, network_data, draw_network, network_summary)
