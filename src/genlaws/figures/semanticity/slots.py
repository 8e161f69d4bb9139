"""Slots against one shared map: training over the front, and how far above one radial similarity it leads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field, model_validator

from genlaws.core.running import Running
from genlaws.figures.recipe import Recipe
from genlaws.figures.rules_facts.tables import RUN_POINT_STYLE, Seed, draw_bars, interval_of, mean_columns
from genlaws.figures.semanticity.relu import FRONT_STYLE
from genlaws.render import style
from genlaws.semanticity.theory.tradeoff import linear_on_circle
from genlaws.sweeps import Axis, get_experiment, make_sweep
from genlaws.sweeps.computing import ComputedCell, compute_cells
from genlaws.sweeps.experiment import Settings

Slots = Annotated[int, Field(ge=1, le=100)]
RingSize = Annotated[int, Field(ge=3, le=1000)]

# Kind of network, how slots are combined and what is truly near: the columns of the picture.
SLOT_NETWORKS = {
    "max": {"kind": "slots", "combine": "max", "truth": "mean"},
    "max-min": {"kind": "slots", "combine": "max", "truth": "min"},
    "product": {"kind": "slots", "combine": "product", "truth": "mean"},
    "shared": {"kind": "shared", "combine": "max", "truth": "mean"},
    "shared-min": {"kind": "shared", "combine": "max", "truth": "min"},
}
NETWORK_TITLES = {
    "max": "slots, largest\nmean distance",
    "max-min": "slots, largest\nleast distance",
    "product": "slots, product\nmean distance",
    "shared": "shared map\nmean distance",
    "shared-min": "shared map\nleast distance",
}
SLOT_COLORS = {"max": style.BLUE, "product": style.SKY_BLUE}
SLOT_NETWORK_COLORS = {
    name: style.ORANGE if chosen["kind"] == "shared" else SLOT_COLORS[chosen["combine"]]
    for name, chosen in SLOT_NETWORKS.items()
}
RING_SIZE_MARKERS = ("o", "s", "^", "D", "v")
SLOT_COURSE_COLUMNS = ("generalization", "identification", "above_circle", "above_set")
SLOT_END_COLUMNS = ("largest_generalization", "final_generalization", "final_identification", "final_above_circle")
EXCESS_COLUMNS = ("peak_above_set", "final_above_set", "largest_above_set")
COURSE_AXIS_MARGIN = 0.02
FIRST_LOG_STEP = 30  # steps; before, little happens


class SlotFigureSettings(Settings):
    """Runs at every number of slots and ring size; those followed step by step are among them.

    Each slot's map has `width` hidden units; the shared one as many as all of them together, or as one of them.
    """

    slots: Annotated[tuple[Slots, ...], Field(min_length=2, max_length=20)] = (1, 2, 4, 8)
    ring_sizes: Annotated[tuple[RingSize, ...], Field(min_length=1, max_length=len(RING_SIZE_MARKERS))] = (5, 10, 20)
    followed: Annotated[tuple[Slots, ...], Field(min_length=1, max_length=4)] = (1, 4, 8)
    followed_ring: RingSize = 20
    width: Annotated[int, Field(ge=1, le=10_000)] = 10
    shared_width: Literal["map", "all"] = "all"
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 10
    steps: Annotated[int, Field(ge=100, le=10_000_000)] = 2000
    logs: Annotated[int, Field(ge=2, le=1000)] = 14
    stimulus_count: Annotated[int, Field(ge=3, le=2000)] = 100
    device: str = "cpu"
    seed: Seed = 0

    @model_validator(mode="after")
    def _check_followed(self) -> SlotFigureSettings:
        if not set(self.followed) <= set(self.slots) or self.followed_ring not in self.ring_sizes:
            raise ValueError("followed must be among slots, and followed_ring among ring_sizes")
        return self


def slots_data(settings: SlotFigureSettings, running: Running) -> pd.DataFrame:
    """Return the course of the followed networks, step by step, and the excess of all of them."""
    running.start(len(SLOT_NETWORKS) * len(settings.slots) * len(settings.ring_sizes) * settings.repeats, "networks")
    same = {name: getattr(settings, name) for name in ("width", "steps", "stimulus_count", "device")}
    same["log_at"] = (0, *sorted(set(np.geomspace(FIRST_LOG_STEP, settings.steps, settings.logs).astype(int).tolist())))
    tables = []
    for network, chosen in SLOT_NETWORKS.items():
        axes = [Axis("ring_size", settings.ring_sizes), Axis("slots", settings.slots)]
        width_of = settings.shared_width if chosen["kind"] == "shared" else "map"
        axes += [Axis(name, (value,)) for name, value in {**chosen, "width_of": width_of}.items()]
        sweep = make_sweep(get_experiment("semanticity.slot-network"), same, axes, settings.repeats, settings.seed)
        runs: dict[Any, list[ComputedCell]] = {}
        for cell in compute_cells(sweep, running):
            runs.setdefault(cell.settings, []).append(cell)
        for about, cells in runs.items():
            key = {"network": network, **about.model_dump(include={"slots", "ring_size", *chosen})}
            tables.append(pd.DataFrame([{"series": "excess", **key, **_end_columns(cells)}]))
            if about.slots in settings.followed and about.ring_size == settings.followed_ring:
                tables.append(_mean_course(cells).assign(series="course", **key))
    return pd.concat(tables, ignore_index=True).assign(run_count=settings.repeats)


def _end_columns(cells: list[ComputedCell]) -> dict[str, float]:
    """Return where networks end and the best they reach, each with its interval."""
    columns: dict[str, float] = {"stimulus_count": cells[0].result["stimulus_count"]}
    for name in (*SLOT_END_COLUMNS, *EXCESS_COLUMNS):
        columns |= mean_columns(name, np.array([cell.result[name] for cell in cells]))
    return columns


def _mean_course(cells: list[ComputedCell]) -> pd.DataFrame:
    """Return the means at each logged step."""
    means = {name: np.mean([cell.result[name] for cell in cells], axis=0) for name in SLOT_COURSE_COLUMNS}
    return pd.DataFrame({"step": cells[0].result["step"], **means})


def slots_summary(frame: pd.DataFrame, settings: SlotFigureSettings) -> pd.DataFrame:
    """Return the excess of every kind of network, without the courses."""
    return frame[frame["series"] == "excess"].dropna(axis=1, how="all").drop(columns="series").reset_index(drop=True)


def draw_slots(frame: pd.DataFrame, settings: SlotFigureSettings) -> Figure:
    """Draw training over the front (top) and the excess against the number of slots (bottom), by network."""
    figure = style.new_figure(style.PAGE, 4.4)
    panels = figure.subplots(2, len(SLOT_NETWORKS), sharey="row", sharex="row")
    for column, network in enumerate(SLOT_NETWORKS):
        table = frame[frame["network"] == network]
        _draw_courses(panels[0, column], table[table["series"] == "course"], network, settings)
        panels[0, column].set_title(NETWORK_TITLES[network])
        _draw_excess(panels[1, column], table[table["series"] == "excess"], network, settings)
    _label_axes(panels, frame, settings)
    front = Line2D([], [], **FRONT_STYLE, label="linear similarity on the circle")
    rings = [
        Line2D(
            [], [], label=f"rings of {size} values", marker=marker, markeredgecolor=style.DARK_GRAY, **RUN_POINT_STYLE
        )
        for size, marker in zip(settings.ring_sizes, RING_SIZE_MARKERS, strict=False)
    ]
    grays = style.shades(style.GRAY, len(settings.followed), darkest=0.0)
    features = [
        Line2D([], [], color=color, marker="o", markersize=4.0, label=f"$S={count}$")
        for count, color in zip(settings.followed, grays, strict=True)
    ]
    style.legend_below(figure, [front, *features, *rings])
    return figure


def _draw_courses(axes: Axes, table: pd.DataFrame, network: str, settings: SlotFigureSettings) -> None:
    """Draw the mean course of the followed networks, a dot where it ends, over the front."""
    generalization, identification = linear_on_circle(np.linspace(0.0, 1.0, 101))
    axes.plot(identification, generalization, **FRONT_STYLE)
    axes.plot([0.5, 1.0], [0.5, 1.0], color=style.GRAY, linewidth=0.6, zorder=0)
    shades = style.shades(SLOT_NETWORK_COLORS[network], len(settings.followed), darkest=0.35)
    for count, color in zip(settings.followed, shades, strict=True):
        course = table[table["slots"] == count]
        x, y = course["identification"].to_numpy(), course["generalization"].to_numpy()
        axes.plot(x, y, color=color)
        axes.plot(x[-1], y[-1], color=color, marker="o", markersize=4.0, linestyle="none", zorder=5, clip_on=False)


def _draw_excess(axes: Axes, table: pd.DataFrame, network: str, settings: SlotFigureSettings) -> None:
    """Draw means with their intervals against the number of slots, one line for each ring size."""
    axes.axhline(0.0, color=style.GRAY, linewidth=0.6, zorder=0)
    shades = style.shades(SLOT_NETWORK_COLORS[network], len(settings.ring_sizes), darkest=0.35)
    for size, color, marker in zip(settings.ring_sizes, shades, RING_SIZE_MARKERS, strict=False):
        rows = table[table["ring_size"] == size].sort_values("slots")
        x = rows["slots"].to_numpy()
        draw_bars(axes, np.stack([x, x]), interval_of(rows, "peak_above_set"), color)
        axes.plot(x, rows["peak_above_set"], color=color, linewidth=0.9)
        axes.plot(x, rows["peak_above_set"], markeredgecolor=color, marker=marker, **RUN_POINT_STYLE)


def _label_axes(panels: Any, frame: pd.DataFrame, settings: SlotFigureSettings) -> None:
    """Set limits and ticks, and name the axes once for each row."""
    course = frame[frame["series"] == "course"]
    for axes in panels[0]:
        axes.set(xlim=(0.49, 1.01), ylim=(0.49, max(0.85, course["generalization"].max() + COURSE_AXIS_MARGIN)))
        axes.set_xticks([0.5, 0.75, 1.0], ["0.5", "0.75", "1"])
        axes.set_xlabel("identification $p_I$")
    for axes in panels[1]:
        axes.set_xticks(settings.slots)
        axes.set_xlabel("features $S$")
    panels[0, 0].set_ylabel("generalization $p_S$ (probability)")
    panels[1, 0].set_ylabel("generalization above the best\nradial similarity, at the peak")


SLOTS = Recipe(SlotFigureSettings, slots_data, draw_slots, slots_summary)
