"""Pictures of a measured representation, of the layers of an encoder, and of a fit of choices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from genlaws.figures.labels import direct_labels
from genlaws.probes.layers.embeddings import AS_LOADED, LayerMeasurements
from genlaws.render import style
from genlaws.semanticity.choices.result import ChoiceFit
from genlaws.semanticity.measurement.empirical_front import EmpiricalFront
from genlaws.semanticity.measurement.result import Measurement

GENERALIZATION_COLOR, IDENTIFICATION_COLOR = style.VERMILLION, style.BLUE
FITTED_COLOR, CONSTANT_COLOR = style.GREEN, style.GRAY
FIGURE_WIDTH, FIGURE_HEIGHT = 3.6, 2.9
MEASURED_POINT_STYLE: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 3.5}
ENCODER_WIDTH, ENCODER_HEIGHT = 4.6, 3.0
MAX_NAMES = 10  # of layers on the axis
CHOICE_REACH = 4.0  # of the distance axis, in units of the resolution
CONTROL_DASHES: dict[str, Any] = {"permuted": (0, (1, 1.5)), "random weights": (0, (4, 1.5))}
TEST_COLORS = {"generalization": GENERALIZATION_COLOR, "identification": IDENTIFICATION_COLOR}
SYMBOLS = {"generalization": "$p_S$", "identification": "$p_I$"}


def measurement_pictures(measured: Measurement) -> dict[str, Figure]:
    """Return the pictures of a measurement by name."""
    draws = {"profile": draw_profile, "front": draw_empirical_front, "items": draw_items}
    if measured.threshold_curve is not None:
        draws["thresholds"] = draw_thresholds
    with style.house_style():
        return {name: draw(measured) for name, draw in draws.items()}


def draw_profile(measured: Measurement) -> Figure:
    """Draw similarity against true distance: mean and spread of each bin, and the fitted shape."""
    figure, axes = style.one_panel(FIGURE_WIDTH, FIGURE_HEIGHT)
    profile, fit = measured.profile, measured.fit
    low, high = profile.similarity - profile.spread, profile.similarity + profile.spread
    axes.fill_between(profile.distance, np.maximum(low, 0.0), high, color=style.LIGHT_GRAY, alpha=0.5, linewidth=0.0)
    axes.plot(profile.distance, profile.similarity, color=style.BLACK, **{**MEASURED_POINT_STYLE, "markersize": 2.2})
    if np.isfinite(fit.resolution.value):
        d = np.linspace(0.0, float(profile.upper.max()), 400)
        fitted = fit.similarity()
        axes.plot(d, fit.amplitude * fitted(d), color=FITTED_COLOR)
        axes.axvline(fit.resolution.value, color=FITTED_COLOR, linewidth=0.6, linestyle=(0, (3, 2)))
        axes.set_title(f"{fit.shape} shape, resolution ε = {fit.resolution.value:.3g}")
    axes.set_xlim(left=0.0)
    axes.set_ylim(bottom=0.0)
    axes.set(xlabel="true distance $d$", ylabel="similarity, own copy = 1")
    return figure


def draw_empirical_front(measured: Measurement) -> Figure:
    """Draw the measured point over the fronts that this set of stimuli allows."""
    figure, axes = style.one_panel(FIGURE_WIDTH, FIGURE_HEIGHT)
    axes.plot([0.5, 1.0], [0.5, 1.0], color=style.LIGHT_GRAY, linewidth=0.6, zorder=0)
    lines: list[Line2D] = []
    labels: list[str] = []
    for front, color in ((measured.constant_front, CONSTANT_COLOR), (measured.front, FITTED_COLOR)):
        if front is not None and not (front is measured.front and labels == [_front_label(front)]):
            lines.append(axes.plot(front.identification, front.generalization, color=color)[0])
            labels.append(_front_label(front))
    _draw_measured_point(axes, measured)
    heights = [float(np.nanmax(np.asarray(line.get_ydata()))) for line in lines]
    top = max(measured.generalization.value, *heights, 0.5)
    bottom = min(0.5, measured.generalization.value)
    axes.set_xlim(min(0.49, measured.identification.value - 0.01), 1.01)
    axes.set_ylim(bottom - 0.015, top + 0.25 * (top - bottom) + 0.02)
    axes.set(title="measured point and fronts of this set, 2 items", **style.PLANE_LABELS)
    if lines:
        direct_labels(axes, lines, labels)
    return figure


def draw_items(measured: Measurement) -> Figure:
    """Draw both probabilities against the number of items, with the 1/n law and chance."""
    figure, axes = style.one_panel(FIGURE_WIDTH, FIGURE_HEIGHT)
    items = measured.items
    n = items.item_count.astype(np.float64)
    lines = []
    values = {test: [one.value for one in getattr(items, test)] for test in TEST_COLORS}
    for test, color in TEST_COLORS.items():
        found = getattr(items, test)
        lines.append(axes.plot(n, values[test], color=color, marker="o", markersize=3.0)[0])
        axes.vlines(n, [one.low for one in found], [one.high for one in found], color=color, linewidth=0.9)
    span = np.geomspace(float(n.min()), float(n.max()) if n.size > 1 else 2.0 * float(n.min()), 50)
    guides = [axes.plot(span, 1.0 / span, color=style.GRAY, linewidth=0.7, linestyle=(0, (1, 2)))[0]]
    names = ["chance $1/n$"]
    if np.isfinite(items.collapse_constant):
        law = items.collapse_constant / span
        guides += axes.plot(
            span[law < 1], law[law < 1], color=IDENTIFICATION_COLOR, linewidth=0.7, linestyle=(0, (3, 2))
        )
        names.append(f"${items.collapse_constant:.3g}/n$")
    low = min(*(float(np.nanmin(one)) for one in values.values()), 1.0 / float(n.max()))
    style.log_axis(axes, "x", 0.9 * float(n.min()), 1.1 * float(span.max()))
    style.log_axis(axes, "y", 0.8 * low, 1.1)
    axes.set(xlabel="items at once $n$", ylabel="probability of the right item", title="many items")
    axes.legend([*lines, *guides], ["generalization $p_S^n$", "identification $p_I^n$", *names], loc="lower left")
    return figure


def draw_thresholds(measured: Measurement) -> Figure:
    """Draw both probabilities against the threshold between embeddings."""
    figure, axes = style.one_panel(FIGURE_WIDTH, FIGURE_HEIGHT)
    curve = measured.threshold_curve
    assert curve is not None
    lines = [
        axes.step(curve.threshold, getattr(curve, test), where="post", color=color)[0]
        for test, color in TEST_COLORS.items()
    ]
    axes.plot(
        curve.threshold[curve.best],
        curve.generalization[curve.best],
        color=GENERALIZATION_COLOR,
        **MEASURED_POINT_STYLE,
    )
    axes.set(xlabel=r"threshold between embeddings $\varepsilon$", ylabel="probability of the right item")
    axes.set_title("every threshold, 2 items")
    direct_labels(axes, lines, ["generalization $p_S$", "identification $p_I$"])
    return figure


def _front_label(front: EmpiricalFront) -> str:
    background = rf", $\Delta={front.background:.2g}$" if front.background > 0 else ""
    return front.shape + background + (f", $A={front.amplitude:.2g}$" if front.copies_stand_out else "")


def _draw_measured_point(axes: Axes, measured: Measurement) -> None:
    """Draw the measured point with both intervals."""
    x, y = measured.identification, measured.generalization
    if np.isfinite(x.low + x.high + y.low + y.high):
        axes.hlines(y.value, x.low, x.high, color=style.BLACK, linewidth=0.9, zorder=5)
        axes.vlines(x.value, y.low, y.high, color=style.BLACK, linewidth=0.9, zorder=5)
    axes.plot(x.value, y.value, color=style.BLACK, zorder=6, **MEASURED_POINT_STYLE)
    axes.annotate("measured", (x.value, y.value), (4, 5), textcoords="offset points", fontsize=style.SMALL_TYPE)


def encoder_pictures(found: LayerMeasurements) -> dict[str, Figure]:
    """Return the pictures of the layers, and of the one that generalizes best."""
    best = found.measurements[found.layers.index(found.best)]
    return {"layers": draw_encoder(found), "profile": draw_profile(best), "front": draw_empirical_front(best)}


def draw_encoder(found: LayerMeasurements) -> Figure:
    """Draw generalization and identification against the layer, with 95 % bands; controls are gray."""
    table = found.to_frame()
    figure, axes = style.one_panel(ENCODER_WIDTH, ENCODER_HEIGHT)
    axes.axhline(0.5, color=style.GRAY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=0)
    for test, color in TEST_COLORS.items():
        _draw_test(axes, table, test, color)
    places = np.unique(np.linspace(0, len(found.layers) - 1, min(MAX_NAMES, len(found.layers))).round().astype(int))
    axes.xaxis.set_major_locator(FixedLocator(places.tolist()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([found.layers[place] for place in places], rotation=35, ha="right", rotation_mode="anchor")
    axes.set(xlabel="layer", ylabel="probability of the right one of two")
    handles = [Line2D([], [], color=color, label=f"{test} {SYMBOLS[test]}") for test, color in TEST_COLORS.items()]
    handles += [
        Line2D([], [], color=style.GRAY, linewidth=0.9, linestyle=CONTROL_DASHES[name], label=name)
        for name in found.controls
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, columnspacing=1.5)
    return figure


def _draw_test(axes: Axes, table: pd.DataFrame, test: str, color: str) -> None:
    for condition, own in table.groupby("condition", sort=False):
        x = np.arange(len(own))
        if condition == AS_LOADED:
            axes.fill_between(x, own[f"{test}_low"], own[f"{test}_high"], color=color, alpha=0.2, linewidth=0)
            axes.plot(x, own[test], color=color, marker="o", markersize=2.6, linewidth=1.0)
        elif not (condition == "permuted" and test == "identification"):  # which permuting does not change
            axes.plot(x, own[test], color=style.GRAY, linewidth=0.9, linestyle=CONTROL_DASHES[str(condition)], zorder=1)


def choice_pictures(found: ChoiceFit) -> dict[str, Figure]:
    """Return the fitted similarity, and the comparison of the shapes if there was one."""
    with style.house_style():
        drawn = {"similarity": _draw_similarity(found)}
        return drawn if found.comparison is None else drawn | {"shapes": _draw_shapes(found)}


def _draw_similarity(found: ChoiceFit) -> Figure:
    """Draw the fitted similarity against distance, with the interval of the resolution."""
    figure, axes = style.one_panel(FIGURE_WIDTH, FIGURE_HEIGHT)
    resolution, fitted = found.resolution, found.model.similarity
    d = np.linspace(0.0, CHOICE_REACH * resolution.value, 400)
    axes.plot(d, fitted(d) / fitted(0.0), color=FITTED_COLOR)
    axes.axvline(resolution.value, color=FITTED_COLOR, linewidth=0.6, linestyle=(0, (3, 2)))
    if np.isfinite(resolution.low + resolution.high):
        axes.axvspan(resolution.low, resolution.high, color=FITTED_COLOR, alpha=0.15, linewidth=0.0)
    axes.set(xlim=(0.0, d[-1]), ylim=(0.0, 1.05), xlabel="distance $d$", ylabel="similarity, own copy = 1")
    axes.set_title(f"{found.shape} shape, resolution ε = {resolution.value:.3g}")
    return figure


def _draw_shapes(found: ChoiceFit) -> Figure:
    """Draw by how much each shape predicts worse than the best, with standard errors."""
    figure, axes = style.one_panel(FIGURE_WIDTH, FIGURE_HEIGHT)
    assert found.comparison is not None
    table = found.comparison.to_frame()
    table = table[np.isfinite(table["difference"])]
    axes.errorbar(
        table["difference"], table["shape"], xerr=table["standard_error"], color=style.BLACK, **MEASURED_POINT_STYLE
    )
    axes.axvline(0.0, color=style.GRAY, linewidth=0.7, linestyle=(0, (1, 2)))
    axes.set(xlabel="log-likelihood per trial of unseen choices, less the best", title="shapes compared")
    return figure
