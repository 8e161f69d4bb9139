"""Pictures of disturbed streams: teleports in a plane, disturbances that grow or decay, Lyapunov exponents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from genlaws.figures.residual_stream import drawing
from genlaws.render import style

if TYPE_CHECKING:
    from genlaws.residual_stream.results import Analysis, Perturbation, Teleport

TELEPORT_COLUMNS = 3
MAX_CURVES = 7
ARROW_FACTORS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
NEARER_COLOR, FARTHER_COLOR = style.GREEN, style.PURPLE
MARK: dict[str, Any] = {"markersize": 3.0, "linestyle": "none"}
RETURN_STYLES: dict[str, dict[str, Any]] = {
    "returned": {**MARK, "color": style.BLACK, "marker": "o", "label": "distance left"},
    "returned_relative": {**MARK, "color": style.GRAY, "marker": "^", "label": "distance left / length of the state"},
}
CONTROL_STYLE: dict[str, Any] = {"color": style.GRAY, "linewidth": 0.8, "zorder": 2}


def draw_teleports(analysis: Analysis, *, keep_rest: bool = False) -> Figure:
    """Draw the movement of states placed elsewhere in a plane, and the path of the text itself (Figure 4D).

    The last panel has the distance from the path in the plane after the movement as a share of the first, as it is and
    in units of the length of the undisturbed state: medians over the grid, and the middle 80 %.

    Parameters
    ----------
    analysis : Analysis
    keep_rest : bool
        Whether to draw the teleports that retain the part outside the plane, or those that lose it, as in the paper.
    """
    shown = drawing.required(
        [one for one in analysis.teleports if one.keep_rest == keep_rest], "teleports of this kind"
    )
    columns = min(TELEPORT_COLUMNS, len(shown) + 1)
    rows = -(-(len(shown) + 1) // columns)
    figure = style.new_figure(style.PAGE * columns / TELEPORT_COLUMNS, 0.6 + 2.1 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, one in zip(grid.flat, shown, strict=False):
        _draw_teleport(axes, one)
    drawing.outer_labels(grid, len(shown) + 1, "first component", "second component")
    _draw_returns(grid.flat[len(shown)], shown)
    arrow: dict[str, Any] = {"linestyle": "none", "marker": r"$\rightarrow$", "markersize": 8.0, "markeredgewidth": 0.2}
    handles = [
        Line2D([], [], color=NEARER_COLOR, label="ends nearer to the path", **arrow),
        Line2D([], [], color=FARTHER_COLOR, label="ends farther away", **arrow),
        Line2D([], [], label="path of the text itself", **CONTROL_STYLE),
        Line2D([], [], color=style.BLACK, marker="X", markersize=5.0, linestyle="none", label="where it was"),
    ]
    handles += [Line2D([], [], **look) for look in RETURN_STYLES.values()]
    drawing.legend(figure, handles, 3)
    return figure


def _draw_teleport(axes: Axes, one: Teleport) -> None:
    """Draw the arrows of one site."""
    start, moved = one.coordinates[:, 0, :2], one.movement[:, :2]
    factor = _arrow_factor(start, moved)
    axes.plot(*one.control[:, :2].T, **CONTROL_STYLE)
    shades = [NEARER_COLOR if share < 1.0 else FARTHER_COLOR for share in one.returned.tolist()]
    how: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": float(factor), "width": 0.007, "zorder": 3}
    axes.quiver(*start.T, *moved.T, color=shades, headwidth=4.0, headlength=4.0, headaxislength=3.6, **how)
    place = one.control_sites.index(one.site)
    here = one.control[place : place + 1, :2]
    axes.plot(*here[0], color=style.BLACK, marker="X", markersize=5.0, zorder=5)
    ends = np.concatenate([start, start + moved / factor, here])
    low, high = ends.min(axis=0), ends.max(axis=0)
    pad = 0.05 * (high - low)
    axes.set(xlim=(low[0] - pad[0], high[0] + pad[0]), ylim=(low[1] - pad[1], high[1] + pad[1]))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
    shortened = f", arrows ÷ {factor}" if factor > 1 else ""
    steps = "1 site later" if one.steps == 1 else f"{one.steps} sites later"
    drawing.small_title(axes, f"{one.site}, {steps}{shortened}")


def _draw_returns(axes: Axes, shown: Sequence[Teleport]) -> None:
    """Draw how much of the first distance in the plane is left, by the site of the teleport."""
    axes.axhline(1.0, **drawing.GUIDE_STYLE)
    at = np.arange(len(shown))
    drawn = []
    for aside, (measure, look) in zip((-0.12, 0.12), RETURN_STYLES.items(), strict=True):
        shares = [getattr(one, measure) for one in shown]
        low, middle, high = np.array([np.nanpercentile(share, (10, 50, 90)) for share in shares]).T
        axes.vlines(at + aside, low, high, color=look["color"], linewidth=0.9)
        axes.plot(at + aside, middle, **look)
        drawn += [low, high]
    drawing.log_if_wide(axes, ratio=4.0, values=np.concatenate([*drawn, [1.0]]))
    axes.set_xticks(at, [one.site.split(".")[0] for one in shown])
    axes.set_xlim(-0.5, len(shown) - 0.5)
    drawing.small_title(axes, "share of the distance left")
    axes.set(xlabel="layer of the teleport", ylabel="")


def _arrow_factor(start: np.ndarray, moved: np.ndarray) -> int:
    """Return the smallest factor by which most arrows are no longer than an eighth of the grid."""
    span = float(np.ptp(start, axis=0).max()) or 1.0
    long = float(np.percentile(np.linalg.norm(moved, axis=1), 90))
    return next((factor for factor in ARROW_FACTORS if long <= factor * span / 8.0), ARROW_FACTORS[-1])


def draw_perturbation(analysis: Analysis) -> Figure:
    """Draw how small disturbances evolve: their distance, the same in units of the state, and the rate of growth."""
    found = drawing.required(analysis.perturbation, "perturbations")
    figure = style.new_figure(drawing.FIGURE_WIDTH, 5.3)
    grid = figure.subplots(3, 1, sharex=True)
    colors = drawing.layer_colors(analysis.sites)
    chosen = drawing.spread_over(len(found.sites), MAX_CURVES)
    at = drawing.places_of_labels(found.sites, analysis.sites)
    shades = colors.to_rgba(at)
    others = {name: one.perturbation for name, one in analysis.references.items() if one.perturbation is not None}
    for axes, measure in zip(grid, ("distance", "relative"), strict=False):
        for name, other in others.items():
            curve = getattr(other, measure)[0]
            places = drawing.places_of_labels(curve.labels, analysis.sites)
            axes.plot(places, curve.value, **drawing.surrogate_style(name))
        for number in chosen.tolist():
            curve = getattr(found, measure)[number]
            drawing.draw_sites(axes, analysis.sites, curve, shades[number], markersize=1.6)
        drawing.log_if_wide(axes, ratio=4.0)
    grid[0].set_ylabel("distance from the\nundisturbed state")
    grid[1].set_ylabel("distance /\nlength of the state")
    _draw_rates(grid[2], analysis, found, others)
    drawing.layer_axis(grid[2], analysis.sites)
    drawing.layer_bar(figure, colors, list(grid[:2]))
    relative = Line2D(
        [], [], color=style.BLACK, marker="^", markersize=2.8, linewidth=0.9, label="rate of the distance / length"
    )
    gray = [
        Line2D([], [], label=f"{style.literal(name)} (above: from {other.sites[0]})", **drawing.surrogate_style(name))
        for name, other in others.items()
    ]
    plain = Line2D([], [], color=style.PURPLE, marker="o", markersize=2.8, linewidth=0.9, label="rate of the distance")
    drawing.legend(figure, [plain, relative, *gray], 1)
    return figure


def _draw_rates(axes: Axes, analysis: Analysis, found: Perturbation, others: Mapping[str, Perturbation]) -> None:
    """Draw the rates of growth by the site that was disturbed; of surrogates, those in units of the state."""
    axes.axhline(0.0, **drawing.GUIDE_STYLE)
    for name, other in others.items():
        places = drawing.places_of_labels(other.relative_rate.labels, analysis.sites)
        look = {**drawing.surrogate_style(name), "marker": "^", "markersize": 1.8}
        axes.plot(places, other.relative_rate.value, **look)
    drawing.draw_sites(axes, analysis.sites, found.rate, style.PURPLE)
    drawing.draw_sites(axes, analysis.sites, found.relative_rate, style.BLACK, marker="^")
    axes.set_ylabel("growth rate\n(1/site)")


def draw_lyapunov(analysis: Analysis) -> Figure:
    """Draw the finite-time Lyapunov exponents to the end of the stream, of each site they start from."""
    shown = drawing.required(analysis.lyapunov, "Lyapunov exponents")
    figure = style.new_figure(drawing.FIGURE_WIDTH, 2.7)
    axes = figure.subplots()
    axes.axhline(0.0, **drawing.GUIDE_STYLE)
    handles = []
    for one, color in zip(shown, style.ordered_colors(len(shown)), strict=True):
        curve = one.exponents
        rank = np.arange(1, len(curve.labels) + 1)
        axes.fill_between(rank, curve.low, curve.high, color=color, **drawing.BAND_STYLE)
        handles += axes.plot(rank, curve.value, color=color, linewidth=1.1, label=f"from {one.site} to {one.to}")
        axes.plot(rank, one.relative_exponents.value, color=color, linewidth=0.7, linestyle=(0, (2, 1.5)))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.set_xlabel("rank of the exponent")
    axes.set_ylabel("Lyapunov exponent (1/site)")
    dashed = Line2D(
        [], [], color=style.DARK_GRAY, linewidth=0.7, linestyle=(0, (2, 1.5)), label="relative to the length"
    )
    drawing.legend(figure, [*handles, dashed])
    return figure
