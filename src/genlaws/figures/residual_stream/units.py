"""Pictures of single units and of the path along the layers: means, correlations, angles, speeds, information."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from genlaws.core.arguments import Array
from genlaws.figures.residual_stream import drawing
from genlaws.models.stream import Site
from genlaws.render import style
from genlaws.residual_stream.measures.curves import SiteCurve
from genlaws.residual_stream.measures.information import Information

if TYPE_CHECKING:
    from genlaws.residual_stream.results import Analysis

HEAT_MAP_HEIGHT = 2.5
UNIT_ORDER_LABEL = "unit, ordered by its mean at the end"
NO_VALUE_LABEL = "no value: the unit is the same in all texts"
COLOR_PERCENTILE = 98.0  # of the sizes, at which the colors of means end
HISTOGRAM_BINS = 20
ESTIMATOR_NAMES = {
    "copula": "Gaussian copula",
    "neighbors": "nearest neighbors",
    "binned": "binned",
    "kernel": "kernel density, as in the paper",
}
GAUSSIAN_LABEL = "Gaussian with the same $r$"
GAUSSIAN_STYLE: dict[str, Any] = {"color": style.BLACK, "linewidth": 0.7, "linestyle": (0, (1, 1.2)), "zorder": 4}
PERMUTED_LABEL = "texts permuted at the next site"
MAX_CORRELATION = 1.0 - 1e-12


def draw_means(analysis: Analysis) -> Figure:
    """Draw the mean activation of every unit along the layers, units ordered by the last of them (Figure 1B)."""
    means = drawing.required(analysis.means, "means of units")
    values = means.ordered
    figure = style.new_figure(drawing.FIGURE_WIDTH, HEAT_MAP_HEIGHT)
    axes = figure.subplots()
    end = max(float(np.percentile(np.abs(values), COLOR_PERCENTILE)), 1e-12)
    x = drawing.cell_edges(drawing.site_places(means.sites))
    y = np.arange(values.shape[1] + 1) - 0.5
    mesh = drawing.heat_map(axes, x, y, values, low=-end, high=end, colors=drawing.SIGNED_MAP)
    drawing.layer_axis(axes, means.sites)
    axes.set_xlim(float(x[0]), float(x[-1]))
    drawing.unit_axis(axes, values.shape[1], UNIT_ORDER_LABEL)
    drawing.color_bar(axes, mesh, "mean activation", values)
    return figure


def draw_correlations(analysis: Analysis) -> Figure:
    """Draw the correlation of every unit with itself one site later, and the mean over units (Figure 1C)."""
    found = drawing.required(analysis.correlations, "correlations of units")
    values = found.r[:, _unit_order(analysis, found.r.shape[1])]
    figure = style.new_figure(drawing.FIGURE_WIDTH, 4.3)
    upper, lower = figure.subplots(2, 1, height_ratios=(1.5, 1.0))
    least = float(np.nanpercentile(values, 100.0 - COLOR_PERCENTILE)) if np.isfinite(values).any() else 0.0
    low = max(-1.0, np.floor(10.0 * min(least, 0.9)) / 10.0)
    _draw_unit_steps(upper, found.sites, values, low=low, high=1.0, label="correlation $r$")
    references = {
        name: (one.correlations.sites, one.correlations.mean)
        for name, one in analysis.references.items()
        if one.correlations is not None
    }
    names = list(references)
    if analysis.correlation_test is not None:
        names += drawing.draw_test_steps(lower, found.sites, analysis.correlation_test)
    drawing.draw_reference_steps(lower, references)
    drawing.draw_steps(lower, found.sites, found.mean)
    drawing.layer_axis(lower, found.sites, air=0.0)
    lower.set_ylabel("correlation $r$,\nmean over units")
    handles = [*drawing.write_handles(found.sites), *drawing.surrogate_handles(names)]
    drawing.legend(figure, [*handles, *drawing.no_value_handles(values, NO_VALUE_LABEL)])
    return figure


def draw_correlation_histogram(analysis: Analysis) -> Figure:
    """Draw how the correlations of each unit spread over the steps, and those of all units together (Figure 1D)."""
    found = drawing.required(analysis.correlations, "correlations of units")
    histogram = found.histogram(HISTOGRAM_BINS, low=0.0)
    values = histogram.shares[_unit_order(analysis, found.r.shape[1])].T
    figure = style.new_figure(drawing.FIGURE_WIDTH, 3.6)
    upper, lower = figure.subplots(2, 1, height_ratios=(1.0, 1.9), sharex=True)
    edges = histogram.edges
    others = {name: one.correlations for name, one in analysis.references.items() if one.correlations is not None}
    for name, one in others.items():
        upper.stairs(_pooled_shares(one.r, edges), edges, **drawing.surrogate_style(name))
    upper.stairs(_pooled_shares(found.r, edges), edges, color=style.BLACK, linewidth=1.1)
    upper.set_ylabel("share of all\ncorrelations")
    upper.set_ylim(bottom=0.0)
    below = float((found.r < 0).sum() / max(np.isfinite(found.r).sum(), 1))
    if below:
        upper.set_title(f"{100 * below:.1g} % of them lie below 0", fontsize=style.SMALL_TYPE, loc="left", pad=3.0)
    y = np.arange(values.shape[1] + 1) - 0.5
    high = max(float(np.nanmax(values, initial=0.0)), 1e-9)
    mesh = drawing.heat_map(lower, edges, y, values, low=0.0, high=high, colors=style.MAP_COLORS)
    drawing.unit_axis(lower, values.shape[1], UNIT_ORDER_LABEL)
    lower.set_xlabel("correlation $r$ of a unit with itself one site later")
    drawing.color_bar(lower, mesh, "share of the unit's steps", values)
    handles: list[Artist] = [Line2D([], [], color=style.BLACK, linewidth=1.1, label="this model")]
    handles += drawing.surrogate_handles(others)
    drawing.legend(figure, [*handles, *drawing.no_value_handles(values, NO_VALUE_LABEL)], 3)
    return figure


def _pooled_shares(r: Array, edges: Array) -> Array:
    """Return the shares of all correlations that have a value in bins."""
    finite = r[np.isfinite(r)]
    return np.histogram(finite, edges)[0] / max(finite.size, 1)


def draw_cosine(analysis: Analysis) -> Figure:
    """Draw the cosine of the angle between a state and the next (Figure 1E)."""
    figure = style.new_figure(drawing.FIGURE_WIDTH, 2.5)
    _path_panels(figure, analysis, {"cosine": "cosine of a state\nwith the next"})
    return figure


def draw_velocity(analysis: Analysis) -> Figure:
    """Draw the length of the steps, as it is and in units of the state it is added to (Figure 1F)."""
    panels = {"speed": "step length\n(units of the stream)", "relative_speed": "step length /\nlength of the state"}
    figure = style.new_figure(drawing.FIGURE_WIDTH, 4.0)
    for axes in _path_panels(figure, analysis, panels):
        drawing.log_if_wide(axes)
    return figure


def _path_panels(figure: Figure, analysis: Analysis, panels: dict[str, str]) -> list[Axes]:
    """Draw measures of the path below each other, with those of the surrogates."""
    found = drawing.required(analysis.paths, "measures of the path")
    others = {name: one for name, one in analysis.references.items() if one.paths is not None}
    grid = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0])
    for axes, (measure, label) in zip(grid, panels.items(), strict=True):
        references = {name: (one.sites, getattr(one.paths, measure)) for name, one in others.items()}
        drawing.draw_reference_steps(axes, references)
        drawing.draw_steps(axes, analysis.sites, getattr(found, measure))
        drawing.layer_axis(axes, analysis.sites, label=axes is grid[-1])
        axes.set_ylabel(label)
    drawing.legend(figure, [*drawing.write_handles(analysis.sites), *drawing.surrogate_handles(others)])
    return grid


def draw_information(analysis: Analysis) -> Figure:
    """Draw the information of every unit about itself one site later, and the mean over units (Figures 1G and 1H).

    The heat map is that of the first estimator; each estimator has a panel of means. Dotted is what the correlations
    alone imply, the mean over units of −½ ln(1 − r²).
    """
    estimators = list(drawing.required(analysis.information, "mutual information"))
    first = analysis.information[estimators[0]]
    values = first.values[:, _unit_order(analysis, first.values.shape[1])]
    figure = style.new_figure(drawing.FIGURE_WIDTH, 2.6 + 1.45 * len(estimators))
    grid = figure.subplots(1 + len(estimators), 1, height_ratios=(1.6, *[1.0] * len(estimators)))
    finite = values[np.isfinite(values)]
    high = max(float(np.percentile(finite, COLOR_PERCENTILE)) if finite.size else 1.0, 1e-3)
    label = f"information (nats),\n{ESTIMATOR_NAMES[first.estimator]}"
    _draw_unit_steps(grid[0], first.sites, values, low=0.0, high=high, label=label)
    references: dict[str, None] = {}
    for axes, name in zip(grid[1:], estimators, strict=True):
        references |= dict.fromkeys(_information_panel(axes, analysis, name))
        drawing.layer_axis(axes, first.sites, label=name == estimators[-1], air=0.0)
        drawing.small_title(axes, ESTIMATOR_NAMES[name])
        axes.set_ylabel("information (nats),\nmean over units")
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    handles = [*drawing.write_handles(first.sites), *drawing.surrogate_handles([*references, PERMUTED_LABEL])]
    if analysis.correlations is not None:
        handles.append(Line2D([], [], label=GAUSSIAN_LABEL, **GAUSSIAN_STYLE))
    drawing.legend(figure, [*handles, *drawing.no_value_handles(values, NO_VALUE_LABEL)])
    return figure


def _information_panel(axes: Axes, analysis: Analysis, estimator: str) -> list[str]:
    """Draw the means of one estimator with their comparisons; return the names of the surrogates."""
    found = analysis.information[estimator]
    references = {
        name: (one.information[estimator].sites, _mean_curve(one.information[estimator]))
        for name, one in analysis.references.items()
        if estimator in one.information
    }
    drawing.draw_reference_steps(axes, references)
    at = drawing.step_places(found.sites)
    axes.plot(at, [one.value for one in found.baselines], **drawing.surrogate_style(PERMUTED_LABEL))
    if analysis.correlations is not None:
        r = np.clip(np.abs(analysis.correlations.r), 0.0, MAX_CORRELATION)
        implied = np.ma.masked_invalid(-0.5 * np.log1p(-(r**2))).mean(axis=1).filled(np.nan)
        for place, mask in drawing.kinds_of_steps(found.sites).items():
            axes.plot(at[mask], implied[mask], **{**GAUSSIAN_STYLE, "color": drawing.WRITE_COLORS[place]})
    drawing.draw_steps(axes, found.sites, _mean_curve(found))
    return list(references)


def _mean_curve(found: Information) -> SiteCurve:
    """Return the means over units as a curve."""
    value, low, high = (np.array([getattr(one, end) for one in found.means]) for end in ("value", "low", "high"))
    names = tuple(site.name for site in found.sites[:-1])
    return SiteCurve.from_arrays("information", names, (value, low, high), found.means[0].count)


def _draw_unit_steps(axes: Axes, sites: Sequence[Site], values: Array, *, low: float, high: float, label: str) -> None:
    """Draw values of steps and units (steps, units) as a heat map."""
    x = drawing.site_places(sites)
    y = np.arange(values.shape[1] + 1) - 0.5
    mesh = drawing.heat_map(axes, x, y, values, low=low, high=high, colors=style.MAP_COLORS)
    drawing.layer_axis(axes, sites, label=False, air=0.0)
    drawing.unit_axis(axes, values.shape[1], "unit, ordered as\nin the means")
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    drawing.color_bar(axes, mesh, label, values)


def _unit_order(analysis: Analysis, units: int) -> Array:
    """Return the order of the units in the picture of means, or their own where there is none for these units."""
    known = analysis.means is not None and analysis.means.order.size == units
    return np.asarray(analysis.means.order if known and analysis.means is not None else np.arange(units))
