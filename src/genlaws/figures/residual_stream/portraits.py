"""Pictures of rotations: phase portraits of units, rotations of a unit, and linear dynamics of the whole stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch
from matplotlib.ticker import MaxNLocator

from genlaws.core.arguments import Array
from genlaws.figures.residual_stream import drawing
from genlaws.models.stream import Stream
from genlaws.render import style
from genlaws.residual_stream.dynamics.linear import Modes
from genlaws.residual_stream.dynamics.portraits import Portraits, Rotations, portraits, rotations
from genlaws.residual_stream.surrogates.comparison import SurrogateTest
from genlaws.residual_stream.surrogates.kinds import step_signs

if TYPE_CHECKING:
    from genlaws.residual_stream.results import Analysis

MAX_PORTRAITS = 8
MAX_COLUMNS = 4
WALK_STYLE: dict[str, Any] = {"color": style.LIGHT_GRAY, "linewidth": 0.7, "zorder": 1}
HISTOGRAM_SURROGATES = ("random walk", "step signs", "layer shuffle")
BAND_SURROGATES = ("random walk", "step signs")
MAX_BINS, MIN_BINS, UNITS_PER_BIN = 24, 8, 6
EXPLAINED_LABEL = "share of the mean path's steps that\none rotation explains"
MIN_EIGENVALUE_SPAN = 0.3  # of the plane of eigenvalues


def draw_portraits(analysis: Analysis) -> Figure:
    """Draw eight units, from the one that rotates least to the one that rotates most (Figure 2A).

    Gray is each unit with the sizes of its own steps and random signs, drawn once.
    """
    found = drawing.required(analysis.portraits, "phase portraits")
    counts = rotations(found.activation).as_printed
    order = np.argsort(counts, kind="stable")
    chosen = order[drawing.spread_over(order.size, MAX_PORTRAITS)]
    stream = Stream(found.activation[None], analysis.sites)
    walk = portraits(step_signs(stream, np.random.default_rng(analysis.seed)))
    columns = min(MAX_COLUMNS, chosen.size)
    rows = -(-chosen.size // columns)
    figure = style.new_figure(style.PAGE, 0.7 + 1.45 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    colors = drawing.layer_colors(analysis.sites)
    for axes, unit in zip(grid.flat, chosen.tolist(), strict=False):
        axes.plot(walk.activation[:, unit], walk.gradient[:, unit], **WALK_STYLE)
        _draw_portrait(axes, found, unit, colors.to_rgba(drawing.site_places(analysis.sites)))
        drawing.small_title(axes, f"unit {unit}: {counts[unit]:.1f} rotations".replace("-", "−"))
    drawing.outer_labels(grid, chosen.size, "mean activation", "its gradient (per site)")
    drawing.layer_bar(figure, colors, grid)
    drawing.legend(figure, [Line2D([], [], label="the same steps with random signs", **WALK_STYLE)])
    return figure


def _draw_portrait(axes: Axes, found: Portraits, unit: int, colors: Array) -> None:
    """Draw the path of one unit, colored by layer, starting at an open ring."""
    points = np.column_stack([found.activation[:, unit], found.gradient[:, unit]])
    pieces = np.stack([points[:-1], points[1:]], axis=1)
    axes.add_collection(LineCollection(list(pieces), colors=colors[:-1], linewidths=1.1, zorder=3))
    axes.scatter(points[:, 0], points[:, 1], c=colors, s=4.0, zorder=4, linewidths=0.0)
    axes.plot(*points[0], marker="o", markersize=4.0, markerfacecolor="white", color=colors[0], zorder=5)
    axes.axhline(0.0, **drawing.GUIDE_STYLE)
    axes.margins(0.08)
    axes.autoscale_view()
    axes.xaxis.set_major_locator(MaxNLocator(nbins=3))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=3))


def draw_rotations(analysis: Analysis) -> Figure:
    """Draw the rotations of units and of surrogates: all units, their mean, and one by one (Figures 2B and 2C)."""
    found, test = drawing.required(analysis.rotations, "rotations of units"), analysis.rotation_test
    counts = found.as_printed
    sign = _sign(found, test)
    tested = {} if test is None else {name: sign * one.draws for name, one in test.against.items()}
    by_unit = {name: draws for name, draws in tested.items() if draws.shape[1:] == counts.shape}
    figure = style.new_figure(drawing.FIGURE_WIDTH, 3.9 + (0.7 + 0.13 * len(tested) if tested else 0.0))
    heights = [1.0, *([0.25 + 0.12 * len(tested)] if tested else []), 1.1]
    grid = figure.subplots(len(heights), 1, height_ratios=heights)
    shown = {name: by_unit[name] for name in HISTOGRAM_SURROGATES if name in by_unit}
    _draw_histogram(grid[0], counts, shown)
    if test is not None:
        drawing.draw_against(grid[1], test.of_mean(), "clockwise rotations, mean over units", sign=sign)
    band = next((name for name in BAND_SURROGATES if name in by_unit), None)
    _draw_by_unit(grid[-1], counts, by_unit[band] if band else None)
    own = Line2D([], [], color=style.BLACK, linewidth=1.1, label="this model")
    patches = (
        [] if band is None else [Patch(facecolor=style.LIGHT_GRAY, alpha=0.6, label=f"central 95 % of the {band}")]
    )
    drawing.legend(figure, [own, *drawing.surrogate_handles(shown), *patches])
    return figure


def _sign(found: Rotations, test: SurrogateTest | None) -> float:
    """Return the sign that makes the rotations of a test clockwise; a test of the tangent has the other sign."""
    if test is None:
        return 1.0
    own = float(test.observed.mean())
    printed = float(found.as_printed.mean())
    return -1.0 if abs(own - printed) > abs(own + printed) else 1.0


def _draw_histogram(axes: Axes, counts: Array, surrogates: dict[str, Array]) -> None:
    """Draw the shares of the units, and of the units of all draws of a surrogate."""
    everything = np.concatenate([counts, *(draws.ravel() for draws in surrogates.values())])
    bins = int(np.clip(counts.size // UNITS_PER_BIN, MIN_BINS, MAX_BINS))
    edges = np.linspace(float(everything.min()) - 1e-9, float(everything.max()) + 1e-9, bins + 1)
    for name, draws in surrogates.items():
        axes.stairs(np.histogram(draws, edges)[0] / draws.size, edges, **drawing.surrogate_style(name))
    axes.stairs(np.histogram(counts, edges)[0] / counts.size, edges, color=style.BLACK, linewidth=1.1)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("clockwise rotations of a unit")
    axes.set_ylabel("share of units")


def _draw_by_unit(axes: Axes, counts: Array, draws: Array | None) -> None:
    """Draw the rotations of every unit in their order, over the spread of as many units of a surrogate."""
    rank = np.arange(counts.size)
    if draws is not None:
        low, high = np.percentile(np.sort(draws, axis=1), drawing.CENTRAL_PERCENTILES, axis=0)
        axes.fill_between(rank, low, high, color=style.LIGHT_GRAY, alpha=0.6, linewidth=0.0)
    axes.plot(rank, np.sort(counts), color=style.BLACK, linewidth=1.1)
    axes.set_xlabel("unit, ordered by its rotations")
    axes.set_ylabel("clockwise rotations")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.margins(x=0.02)


def draw_dynamics(analysis: Analysis) -> Figure:
    """Draw the modes of one linear map for all steps, and the share a rotation explains, compared with surrogates."""
    modes, test = drawing.required(analysis.modes, "dynamic modes"), analysis.dynamics_test
    count = 0 if test is None else len(test.against)
    figure = style.new_figure(drawing.FIGURE_WIDTH, 2.9 + (0.6 + 0.16 * count if test else 0.0))
    if test is None:
        _draw_modes(figure.subplots(), modes)
        return figure
    upper, lower = figure.subplots(2, 1, height_ratios=(2.6, 0.35 + 0.16 * count))
    _draw_modes(upper, modes)
    drawing.draw_against(lower, test if test.observed.size == 1 else test.of_mean(), EXPLAINED_LABEL)
    handles = [
        Line2D([], [], color=style.GREEN, marker="o", markersize=4.0, linestyle="none", label="modes"),
        Line2D([], [], color=style.GRAY, linewidth=0.7, label="modulus 1: neither grows nor decays"),
        Line2D([], [], color=style.BLACK, linewidth=1.1, label="this model"),
        Line2D([], [], color=style.LIGHT_GRAY, linewidth=5.0, label="central 95 % of surrogates"),
    ]
    drawing.legend(figure, handles)
    return figure


def _draw_modes(axes: Axes, modes: Modes) -> None:
    """Draw eigenvalues in the complex plane with the circle on which a mode neither grows nor decays."""
    axes.add_patch(Circle((0.0, 0.0), 1.0, fill=False, edgecolor=style.GRAY, linewidth=0.7))
    axes.axhline(0.0, **drawing.GUIDE_STYLE)
    axes.axvline(0.0, **drawing.GUIDE_STYLE)
    axes.plot(modes.eigenvalues.real, modes.eigenvalues.imag, color=style.GREEN, marker="o", markersize=4.0, ls="none")
    real = np.append(modes.eigenvalues.real, 1.0)
    middle, half = 0.5 * (real.min() + real.max()), 0.6 * max(float(np.ptp(real)), MIN_EIGENVALUE_SPAN)
    half = max(half, 1.2 * float(np.abs(modes.eigenvalues.imag).max()))
    axes.set(xlim=(middle - half, middle + half), ylim=(-half, half), aspect="equal")
    axes.set_xlabel("real part of the eigenvalue")
    axes.set_ylabel("imaginary part")
