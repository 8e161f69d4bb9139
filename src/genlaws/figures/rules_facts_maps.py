"""Figures 7 and 16: the generalisation error over samples and facts."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from genlaws.figures import style
from genlaws.figures.progress import Progress
from genlaws.figures.recipe import Points, Ratio, Recipe, Settings
from genlaws.figures.rules_facts_tables import LOSSES, errors_table
from genlaws.rules_facts import bayes_optimal

LEVELS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45)
SHORTEST_LABELLED = 0.25  # of the side of the map


class MapSettings(Settings):
    """The fact fraction runs from 0 to 1."""

    smallest_sample_ratio: Ratio = 0.1
    largest_sample_ratio: Ratio = 100.0
    sample_points: Points = 121
    fact_points: Points = 101

    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return sample ratios as a row and fact fractions as a column."""
        ratios = np.geomspace(self.smallest_sample_ratio, self.largest_sample_ratio, self.sample_points)
        return ratios[None, :], np.linspace(0.0, 1.0, self.fact_points)[:, None]


class LinearMapSettings(MapSettings):
    """The hinge loss is solved numerically at every point, so the grid is coarser."""

    sample_points: Points = 81
    fact_points: Points = 51


def bayes_data(settings: MapSettings, progress: Progress) -> pd.DataFrame:
    """Return the Bayes-optimal error on the grid."""
    ratios, shares = settings.axes()
    progress.start(1, "map")
    found = bayes_optimal(sample_ratio=ratios, fact_fraction=shares).to_frame()
    shape = (settings.fact_points, settings.sample_points)
    found.insert(0, "sample_ratio", np.ravel(np.broadcast_to(ratios, shape)))
    found.insert(1, "fact_fraction", np.ravel(np.broadcast_to(shares, shape)))
    progress.advance(1)
    return found[["sample_ratio", "fact_fraction", "generalisation_error", "converged"]]


def linear_data(settings: LinearMapSettings, progress: Progress) -> pd.DataFrame:
    """Return the error of the linear model at its optimal regularisation, by loss, on the grid."""
    ratios, shares = settings.axes()
    progress.start(len(LOSSES) * settings.fact_points, "map rows")
    tables = []
    for loss in LOSSES:
        for share in shares[:, 0]:
            tables.append(
                errors_table(
                    loss, sample_ratio=ratios[0], fact_fraction=share, regularisation="optimal", kernel="linear"
                )
            )
            progress.advance(1)
    return pd.concat(tables, ignore_index=True)


def draw_bayes(frame: pd.DataFrame, settings: MapSettings) -> Figure:
    """Draw one map."""
    figure = style.new_figure(style.COLUMN, 2.7)
    axes = figure.subplots()
    mesh = _map(axes, frame, settings)
    axes.set_ylabel(style.FACTS)
    axes.set_title("Bayes-optimal learner")
    _bar(figure, mesh, [axes])
    return figure


def draw_linear(frame: pd.DataFrame, settings: LinearMapSettings) -> Figure:
    """Draw one map per loss, in common colours."""
    figure = style.new_figure(style.PAGE, 2.8)
    panels = figure.subplots(1, len(LOSSES), sharey=True)
    for axes, loss in zip(panels, LOSSES, strict=True):
        mesh = _map(axes, frame[frame["loss"] == loss], settings)
        axes.set_title(rf"linear model, {loss} loss, best $\lambda$")
    panels[0].set_ylabel(style.FACTS)
    _bar(figure, mesh, list(panels))
    return figure


def _map(axes: Axes, frame: pd.DataFrame, settings: MapSettings) -> QuadMesh:
    table = frame.pivot(index="fact_fraction", columns="sample_ratio", values="generalisation_error")
    x, y, values = table.columns.to_numpy(), table.index.to_numpy(), table.to_numpy()
    # Smooth shading, as pixels in the PDF: a mesh of triangles shows seams in viewers.
    mesh = axes.pcolormesh(x, y, values, cmap=style.MAP_COLOURS, vmin=0.0, vmax=0.5, shading="gouraud", rasterized=True)
    style.log_axis(axes, "x", settings.smallest_sample_ratio, settings.largest_sample_ratio)
    axes.set_ylim(0.0, 1.0)
    axes.set_xlabel(style.SAMPLES)
    for level in LEVELS:
        if not np.nanmin(values) < level < np.nanmax(values):
            continue
        colour = "white" if level < 0.25 else "black"
        line = axes.contour(x, y, values, levels=[level], colors=colour, linewidths=0.7)
        places = _middle(line.allsegs[0], settings)
        if places:
            axes.clabel(line, fmt="%g", fontsize=style.SMALL_TYPE, inline_spacing=2, manual=places)
        else:
            line.remove()
    return mesh


def _middle(segments: list[np.ndarray], settings: MapSettings) -> list[tuple[float, float]]:
    """Return the middle of the longest piece of a contour, if it is long enough on paper to carry a number."""
    decades = np.log10(settings.largest_sample_ratio / settings.smallest_sample_ratio)
    found: list[tuple[float, float]] = []
    longest = SHORTEST_LABELLED
    for points in segments:
        on_paper = np.stack([np.log10(points[:, 0]) / decades, points[:, 1]], axis=1)
        length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(on_paper, axis=0).T))])
        if length[-1] > longest:
            longest = length[-1]
            x, y = points[int(np.searchsorted(length, longest / 2))]
            found = [(float(x), float(y))]
    return found


def _bar(figure: Figure, mesh: QuadMesh, panels: list[Axes]) -> None:
    bar = figure.colorbar(mesh, ax=panels, pad=0.02, aspect=22)
    bar.set_label(style.GENERALISATION)
    bar.set_ticks([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])


BAYES = Recipe(MapSettings, bayes_data, draw_bayes)
LINEAR = Recipe(LinearMapSettings, linear_data, draw_linear)
