"""Figures 7 and 16: the generalization error over samples and facts."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from genlaws.core.running import Running
from genlaws.figures.recipe import Points, Ratio, Recipe
from genlaws.figures.rules_facts.tables import PAPER_LOSSES, samples_table
from genlaws.render import style
from genlaws.sweeps import Axis, get_experiment, make_sweep
from genlaws.sweeps.computing import compute_cells
from genlaws.sweeps.experiment import Settings

CONTOUR_LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45)
MIN_LABELED_LENGTH = 0.25  # of the side of the map


class MapSettings(Settings):
    """The fact fraction runs from 0 to 1."""

    smallest_sample_ratio: Ratio = 0.1
    largest_sample_ratio: Ratio = 100.0
    sample_points: Points = 121
    fact_points: Points = 101


class LinearMapSettings(MapSettings):
    """The hinge loss is solved numerically at every point, so the grid is coarser."""

    sample_points: Points = 81
    fact_points: Points = 51


def bayes_data(settings: MapSettings, running: Running) -> pd.DataFrame:
    """Return the Bayes-optimal error on the grid."""
    rows = map_rows(settings, running, learner="bayes")
    return rows[["sample_ratio", "fact_fraction", "generalization_error", "converged"]]


def linear_data(settings: LinearMapSettings, running: Running) -> pd.DataFrame:
    """Return the error of the linear model at its optimal regularization, by loss, on the grid."""
    return map_rows(settings, running, Axis("learner", PAPER_LOSSES)).rename(columns={"learner": "loss"})


def map_rows(settings: MapSettings, running: Running, *axes: Axis, **fixed: str) -> pd.DataFrame:
    """Return the errors on the grid, a cell of the sweep being one row of the map."""
    ends = {"smallest_sample_ratio": settings.smallest_sample_ratio, "points": settings.sample_points}
    base = {**ends, "largest_sample_ratio": settings.largest_sample_ratio, **fixed}
    shares = Axis("fact_fraction", tuple(np.linspace(0.0, 1.0, settings.fact_points).tolist()))
    sweep = make_sweep(get_experiment("rules-facts.samples"), base, [*axes, shares])
    return samples_table(compute_cells(sweep, running, "map rows"))


def draw_bayes(frame: pd.DataFrame, settings: MapSettings) -> Figure:
    """Draw one map."""
    figure = style.new_figure(style.COLUMN, 2.7)
    axes = figure.subplots()
    mesh = _draw_map(axes, frame, settings)
    axes.set_ylabel(style.FACT_FRACTION_LABEL)
    axes.set_title("Bayes-optimal learner")
    _draw_color_bar(figure, mesh, [axes])
    return figure


def draw_linear(frame: pd.DataFrame, settings: LinearMapSettings) -> Figure:
    """Draw one map per loss, in common colors."""
    figure = style.new_figure(style.PAGE, 2.8)
    panels = figure.subplots(1, len(PAPER_LOSSES), sharey=True)
    for axes, loss in zip(panels, PAPER_LOSSES, strict=True):
        mesh = _draw_map(axes, frame[frame["loss"] == loss], settings)
        axes.set_title(rf"linear model, {loss} loss, best $\lambda$")
    panels[0].set_ylabel(style.FACT_FRACTION_LABEL)
    _draw_color_bar(figure, mesh, list(panels))
    return figure


def _draw_map(axes: Axes, frame: pd.DataFrame, settings: MapSettings) -> QuadMesh:
    table = frame.pivot(index="fact_fraction", columns="sample_ratio", values="generalization_error")
    x, y, values = table.columns.to_numpy(), table.index.to_numpy(), table.to_numpy()
    # Smooth shading, as pixels in the PDF: a mesh of triangles shows seams in viewers.
    mesh = axes.pcolormesh(x, y, values, cmap=style.MAP_COLORS, vmin=0.0, vmax=0.5, shading="gouraud", rasterized=True)
    style.log_axis(axes, "x", settings.smallest_sample_ratio, settings.largest_sample_ratio)
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel(style.SAMPLE_RATIO_LABEL)
    for level in CONTOUR_LEVELS:
        if not np.nanmin(values) < level < np.nanmax(values):
            continue
        color = "white" if level < 0.25 else "black"
        line = axes.contour(x, y, values, levels=[level], colors=color, linewidths=0.7)
        places = _label_place(line.allsegs[0], settings)
        if places:
            axes.clabel(line, fmt="%g", fontsize=style.SMALL_TYPE, inline_spacing=2, manual=places)
        else:
            line.remove()
    return mesh


def _label_place(segments: list[np.ndarray], settings: MapSettings) -> list[tuple[float, float]]:
    """Return the middle of the longest piece of a contour, if it is long enough on paper to carry a number."""
    decades = np.log10(settings.largest_sample_ratio / settings.smallest_sample_ratio)
    found: list[tuple[float, float]] = []
    longest = MIN_LABELED_LENGTH
    for points in segments:
        on_paper = np.stack([np.log10(points[:, 0]) / decades, points[:, 1]], axis=1)
        length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(on_paper, axis=0).T))])
        if length[-1] > longest:
            longest = length[-1]
            x, y = points[int(np.searchsorted(length, longest / 2))]
            found = [(float(x), float(y))]
    return found


def _draw_color_bar(figure: Figure, mesh: QuadMesh, panels: list[Axes]) -> None:
    bar = figure.colorbar(mesh, ax=panels, pad=0.02, aspect=22)
    bar.set_label(style.GENERALIZATION_ERROR_LABEL)
    bar.set_ticks([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])


BAYES = Recipe(MapSettings, bayes_data, draw_bayes)
LINEAR_MAP = Recipe(LinearMapSettings, linear_data, draw_linear)
