"""How the similarity that ReLU networks learn narrows: profiles at several steps, and the resolution along training."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from genlaws.experiments.computing import ComputedCell
from genlaws.figures import style
from genlaws.figures.labels import direct_labels
from genlaws.figures.progress import Progress
from genlaws.figures.recipe import Recipe
from genlaws.figures.rules_facts_points import interval_of, mean_columns
from genlaws.figures.semanticity_relu import (
    BAND,
    COLOURS,
    NETWORKS,
    TRAINED_ON_SIMILARITY,
    ReluFigureSettings,
    mark_places,
    relu_cells,
    shown_logs,
    step_axis,
)
from genlaws.semanticity import best_resolution, similarity, space

FITTED, CUT = "resolution", "cut"
UNITS = {"circle": "distance $d$ (circumferences)", "segment": "distance $d$ (lengths of the segment)"}
WIDEST = {"circle": 0.5, "segment": 1.0}
FIRST_SHOWN = 100  # steps; before, profiles are flat


class ProfileSettings(ReluFigureSettings):
    """Networks on the circle and the segment; profiles are drawn at the marks."""

    marks: tuple[int, ...] = (0, 300, 600, 1000, 2000, 7500)


def profile_data(settings: ProfileSettings, progress: Progress) -> pd.DataFrame:
    """Return mean profiles at the marks, and resolution and cut along training."""
    progress.start(len(TRAINED_ON_SIMILARITY) * settings.repeats, "networks")
    tables = []
    for network in TRAINED_ON_SIMILARITY:
        cells = relu_cells(NETWORKS[network], settings, progress)
        about: dict[str, Any] = {
            "network": network,
            "run_count": len(cells),
            "best_resolution": _best_resolution(network),
        }
        tables += [_profiles(cells, settings).assign(**about), _widths(cells, settings).assign(**about)]
    return pd.concat(tables, ignore_index=True)


@lru_cache(maxsize=2)
def _best_resolution(name: str) -> float:
    """Return the resolution with which linear decay generalises best in a space; on the segment this takes seconds."""
    best = best_resolution(space(name), similarity("linear", 1.0))
    return best.resolution if best else math.nan


def _profiles(cells: list[ComputedCell], settings: ProfileSettings) -> pd.DataFrame:
    """Return the means over networks of similarity relative to that at distance 0."""
    steps, distance = cells[0].result["step"], cells[0].result["profile_distance"]
    profile = np.array([cell.result["profile"] for cell in cells], dtype=np.float64)
    relative = profile / profile[..., :1]
    return pd.DataFrame(
        [
            {"series": "profile", "step": steps[log], "distance": apart}
            | mean_columns("relative_similarity", relative[:, log, place])
            for log in mark_places(steps, settings.marks)
            for place, apart in enumerate(distance)
        ]
    )


def _widths(cells: list[ComputedCell], settings: ProfileSettings) -> pd.DataFrame:
    """Return the means of both widths; a cut where not every network has one is the mean of those that have."""
    steps = cells[0].result["step"]
    widths = {name: np.array([cell.result[name] for cell in cells]) for name in (FITTED, CUT)}
    return pd.DataFrame(
        [
            {"series": "width", "step": steps[log], "cut_share": float(np.isfinite(widths[CUT][:, log]).mean())}
            | {name: value for one, found in widths.items() for name, value in mean_columns(one, found[:, log]).items()}
            for log in shown_logs(steps, settings.marks)
        ]
    )


def profile_summary(frame: pd.DataFrame, settings: ProfileSettings) -> pd.DataFrame:
    """Return both widths at the marks."""
    widths = frame[frame["series"] == "width"]
    tables = [
        table.iloc[mark_places(table["step"].to_numpy(), settings.marks)]
        for _, table in widths.groupby("network", sort=False)
    ]
    return pd.concat(tables).dropna(axis=1, how="all").drop(columns="series").reset_index(drop=True)


def draw_profile(frame: pd.DataFrame, settings: ProfileSettings) -> Figure:
    """Draw profiles at the marks (top) and both widths against the step (bottom), a column for each kind of stimuli."""
    figure = style.new_figure(style.PAGE, 4.3)
    panels = figure.subplots(2, 2)
    labelled: list[tuple[Axes, list[Line2D], list[str]]] = []
    for column, network in enumerate(TRAINED_ON_SIMILARITY):
        table = frame[frame["network"] == network]
        labelled.append(_draw_profiles(panels[0, column], table, network))
        labelled.append(_draw_widths(panels[1, column], table, network, settings))
    panels[0, 0].set_ylabel("similarity $g(d)/g(0)$")
    panels[1, 0].set_ylabel("width of the profile (distance)")
    steps = sorted(frame[frame["series"] == "profile"]["step"].unique())
    handles = [
        Line2D([], [], color=colour, label=f"step {int(step):,}")
        for step, colour in zip(steps, style.ordered_colours(len(steps)), strict=True)
    ]
    handles.append(Line2D([], [], **THEORY, label="linear decay fitted to the last"))
    style.legend_below(figure, handles)
    for axes, lines, names in labelled:
        direct_labels(axes, lines, names)
    return figure


THEORY: dict[str, Any] = {"color": style.DARK_GREY, "linewidth": 0.8, "linestyle": (0, (3, 1.5))}


def _draw_profiles(axes: Axes, table: pd.DataFrame, network: str) -> tuple[Axes, list[Line2D], list[str]]:
    """Draw the mean profile at each mark with its band, and the decay that fits the last one."""
    profiles = table[table["series"] == "profile"]
    steps = sorted(profiles["step"].unique())
    for step, colour in zip(steps, style.ordered_colours(len(steps)), strict=True):
        rows = profiles[profiles["step"] == step]
        low, high = interval_of(rows, "relative_similarity")
        axes.fill_between(rows["distance"], low, high, color=colour, alpha=BAND, linewidth=0)
        axes.plot(rows["distance"], rows["relative_similarity"], color=colour)
    last = table[(table["series"] == "width") & (table["step"] == steps[-1])].iloc[0]
    d = np.array([0.0, last[FITTED], WIDEST[network]])
    axes.plot(d, np.maximum(0.0, 1.0 - d / d[1]), **THEORY, zorder=4)
    axes.set_xlim(0.0, WIDEST[network])
    axes.set_ylim(-0.02, max(1.05, 1.03 * float(profiles["relative_similarity_high"].max())))
    axes.set_xlabel(UNITS[network])
    axes.set_title(network)
    return axes, [], []


def _draw_widths(
    axes: Axes, table: pd.DataFrame, network: str, settings: ProfileSettings
) -> tuple[Axes, list[Line2D], list[str]]:
    """Draw the fitted resolution, and the cut from where on every network has one."""
    rows = table[(table["series"] == "width") & (table["step"] > 0)]
    lines = []
    for name, part, look in (
        (FITTED, rows, {"linestyle": "-"}),
        (CUT, rows[rows["cut_share"] == 1.0], {"linestyle": (0, (1.2, 1.0))}),
    ):
        low, high = interval_of(part, name)
        axes.fill_between(part["step"], low, high, color=COLOURS[network], alpha=BAND, linewidth=0)
        lines += axes.plot(part["step"], part[name], color=COLOURS[network], **look)
    best = float(rows["best_resolution"].iloc[0])
    lines += axes.plot([1, settings.steps], [best, best], color=style.GREY, linewidth=0.6, zorder=0)
    step_axis(axes, min(FIRST_SHOWN, settings.steps / 2), settings.steps)
    axes.set_ylim(0.0, 1.2 * WIDEST[network])
    return axes, lines, ["resolution of the fitted decay", "cut: first below 1 %", "best resolution for generalisation"]


PROFILE = Recipe(ProfileSettings, profile_data, draw_profile, profile_summary)
