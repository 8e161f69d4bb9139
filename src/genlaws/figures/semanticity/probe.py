"""Pictures of a probe: the two-anchor test, both tests by items, distance and template, and preferences for answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate
from genlaws.figures.semanticity import measurement
from genlaws.figures.semanticity.layers import layer_pictures
from genlaws.probes.collapse import ITEMS_LAW
from genlaws.probes.probe import ProbeResult, TemplateResult
from genlaws.probes.rates import Rates
from genlaws.probes.resolution import AnchorPoint
from genlaws.render import style

RATE_POINT_STYLE: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 3.0}
GUIDE_STYLE: dict[str, Any] = {"color": style.LIGHT_GRAY, "linewidth": 0.6, "zorder": 0}
KIND_COLORS = {"similarity": measurement.GENERALIZATION_COLOR, "identification": measurement.IDENTIFICATION_COLOR}
KIND_NAMES = {"similarity": "generalization $p_S^n$", "identification": "identification $p_I^n$"}
TEST_SHIFT_FACTOR = 1.025  # between the points of the two tests
LOG_AXIS_RATIO = 20.0  # of shifts or distances, above which their axis is logarithmic
MAX_TICKS = 7
PANEL_HEIGHT = 1.15
TEMPLATE_COLORS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY_BLUE, style.BLACK)
TEMPLATE_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
TEMPLATE_SPREAD = 0.6  # of the templates, as a share of the gap between two numbers of items
ANSWER_ROW_HEIGHT = 0.22  # inches for one answer


def template_drawings(result: TemplateResult) -> dict[str, Callable[[TemplateResult], Figure]]:
    """Return how the pictures of one template are drawn, by name: those that it has numbers for."""
    every: dict[str, tuple[Any, Callable[[TemplateResult], Figure]]] = {
        "anchors": (result.curve is not None and result.curve.points, draw_resolution_curve),
        "items": (any(result.rates.of(kind) for kind in KIND_NAMES), draw_items),
        "distances": (result.distances.points, draw_distances),
        "preferences": (result.resolution.offsets, draw_options),
    }
    return {name: draw for name, (available, draw) in every.items() if available}


def probe_pictures(result: ProbeResult) -> dict[str, Figure]:
    """Return the pictures of every template, and of all of them together."""
    several = len(result.templates) > 1
    drawn = {"templates": draw_templates(result.ordered)} if several else {}
    for number, one in enumerate(result.ordered, start=1):
        last = f"-{number}" if several else ""
        drawn |= {f"{name}{last}": draw(one) for name, draw in template_drawings(one).items()}
        if one.layers is not None:
            drawn |= {f"{name}{last}": picture for name, picture in layer_pictures(one.layers).items()}
    return drawn


def with_unit(text: str, unit: str) -> str:
    """Return the label of an axis with its unit in brackets, where there is one."""
    return f"{text} ({style.literal(unit)})" if unit else text


def draw_interval(
    axes: Axes, x: float, given: Estimate, color: Any, *, floor: float = -np.inf, faint: bool = False, **how: Any
) -> None:
    """Draw a value with its interval; a value at or below `floor` is an open triangle there, as on a log axis."""
    if not np.isfinite(given.value):
        return
    if np.isfinite(given.low + given.high):
        ends = max(given.low, floor), max(given.high, floor)
        axes.vlines(x, *ends, color=color, linewidth=0.9, alpha=0.4 if faint else 1.0)
    if given.value > floor:
        axes.plot(x, given.value, color=color, **{**RATE_POINT_STYLE, **how})
    else:
        axes.plot(
            x, floor, color=color, clip_on=False, **{**RATE_POINT_STYLE, "marker": "v", "markerfacecolor": "white"}
        )


def draw_resolution_curve(result: TemplateResult) -> Figure:
    """Draw how the answer changes from the lower to the upper anchor, one panel for each half separation.

    Points are the mean probability of the upper anchor, in text mode its share among the readable answers. The line is
    the fitted choice, drawn only where the answers determine it. Thin gray: chance, and the places of the anchors.
    """
    curve = result.curve
    if curve is None or not curve.points:
        raise InputError("This probe has no two-anchor test; there is no curve to draw.")
    halves = curve.half_separations
    columns = min(2, len(halves))
    rows = -(-len(halves) // columns)
    figure = style.new_figure(measurement.FIGURE_WIDTH, 0.55 + PANEL_HEIGHT * max(rows, 2 if columns == 1 else 1))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    shifts = np.array([point.shift for point in curve.points])
    unit = result.resolution.unit
    for number, (axes, half) in enumerate(zip(grid.flat, halves, strict=False)):
        _draw_anchors(axes, result, half, curve.at(half), shifts)
        axes.set_title(f"$D$ = {half:g} {style.literal(unit)}".rstrip(), fontsize=style.SMALL_TYPE + 0.5, pad=3.0)
        if number + columns >= len(halves):
            axes.tick_params(labelbottom=True)
    for axes in grid.flat[len(halves) :]:
        axes.set_visible(False)
    figure.supxlabel(with_unit(r"shift of the question $\delta$", unit), fontsize=7.5)
    quantity = "probability of" if result.rates.mode == "probability" else "answers naming"
    figure.supylabel(f"{quantity} the upper item", fontsize=7.5)
    if not result.resolution.determined:
        figure.suptitle("The answers do not determine a resolution: no fit.", fontsize=7.5, color=style.DARK_GRAY)
    return figure


def _draw_anchors(
    axes: Axes, result: TemplateResult, half: float, points: Sequence[AnchorPoint], shifts: Array
) -> None:
    axes.axhline(0.5, **GUIDE_STYLE)
    for place in (-half, half):
        axes.axvline(place, **{**GUIDE_STYLE, "linestyle": (0, (1, 2))})
    _shift_axis(axes, shifts)
    if result.resolution.determined:
        at = np.unique(np.concatenate([_dense_shifts(shifts), [-half, half]]))
        at = at[np.abs(at) <= np.abs(shifts).max()]
        axes.plot(at, result.resolution.upper_probability(half, at), color=style.GREEN, linewidth=1.1)
    for point in points:
        given = point.probability if np.isfinite(point.probability.value) else point.upper
        draw_interval(axes, point.shift, given, style.BLACK, markersize=2.6)
    axes.set_ylim(-0.05, 1.05)
    axes.yaxis.set_major_locator(FixedLocator([0.0, 0.5, 1.0]))


def _dense_shifts(shifts: Array) -> Array:
    """Return shifts close together, as dense near zero as far away on a logarithmic axis."""
    most, least = float(np.abs(shifts).max()), float(np.abs(shifts[shifts != 0]).min())
    far = np.geomspace(0.02 * least, most, 150)
    return np.concatenate([-far[::-1], [0.0], far, np.linspace(-most, most, 101)])


def _shift_axis(axes: Axes, shifts: Array) -> None:
    """Give shifts over more than a decade an axis that is logarithmic on both sides of zero."""
    away = np.abs(shifts[shifts != 0])
    most, least = float(away.max()), float(away.min())
    if most <= LOG_AXIS_RATIO * least:
        axes.set_xlim(-1.08 * most, 1.08 * most)
        return
    axes.set_xscale("symlog", linthresh=least, linscale=0.45)
    axes.set_xlim(-1.25 * most, 1.25 * most)
    powers = 10.0 ** np.arange(np.ceil(np.log10(least)), np.floor(np.log10(most)) + 1.0)
    powers = powers[:: max(1, -(-len(powers) // 2))]
    axes.xaxis.set_major_locator(FixedLocator([*(-powers[::-1]), 0.0, *powers]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))


def draw_items(result: TemplateResult) -> Figure:
    """Draw both tests against the number of items, with chance, the fitted c/n law and the law of n items.

    The points of the two tests are slightly shifted. A share of zero, which a logarithmic axis does not have, is an
    open triangle at the lower edge.
    """
    rates = [one for kind in KIND_COLORS for one in result.rates.of(kind)]
    if not rates:
        raise InputError("This probe has no test of similarity or identification; there is nothing to draw.")
    figure, axes = style.one_panel(measurement.FIGURE_WIDTH, measurement.FIGURE_HEIGHT + 0.25)
    counts = sorted({one.item_count for one in rates})
    low = _lower_limit(rates)
    style.log_axis(axes, "y", low, 1.15)
    item_axis(axes, counts)
    span = np.arange(counts[0], max(counts[-1], counts[0] + 1) + 1.0)
    handles = _draw_laws(axes, result, span)
    for kind, color in KIND_COLORS.items():
        given = result.rates.of(kind)
        side = TEST_SHIFT_FACTOR if kind == "identification" else 1.0 / TEST_SHIFT_FACTOR
        for one in given:
            draw_interval(axes, one.item_count * side, one.best, color, floor=low)
        if given:
            handles.append(Line2D([], [], color=color, label=KIND_NAMES[kind], **RATE_POINT_STYLE))
    axes.set(xlabel="items at once $n$", ylabel="probability of the right item")
    figure.legend(handles=handles[::-1], loc="outside lower center", ncols=2, columnspacing=1.5)
    return figure


def _lower_limit(rates: Sequence[Rates]) -> float:
    drawn = [value for one in rates for value in (one.best.value, one.best.low, one.chance)]
    above = [value for value in drawn if np.isfinite(value) and value > 0]
    return 0.75 * max(min(above), 0.3 * min(one.chance for one in rates))


def _draw_laws(axes: Axes, result: TemplateResult, span: Array) -> list[Line2D]:
    """Draw chance and the fitted laws; below the numbers of items they were fitted to they are thinner."""
    handles = axes.plot(span, 1.0 / span, color=style.GRAY, linewidth=0.7, label="chance $1/n$", zorder=1)
    laws, first = result.collapse.laws, result.collapse.from_items
    if not laws:
        return handles
    c = result.collapse.constant.value
    fine = np.geomspace(span[0], span[-1], 200)
    fine = fine[c / fine <= 1.0]
    drawn = (
        (span, laws[ITEMS_LAW].predict(span), "law of $n$ items", (0, (1, 1.5))),
        (fine, c / fine, rf"${c:.3g}/n$, fitted from $n={first}$", (0, (4, 2))),
    )
    for n, p, label, dashes in drawn:
        how: dict[str, Any] = {"color": measurement.IDENTIFICATION_COLOR, "linestyle": dashes, "zorder": 2}
        handles += axes.plot(n[n >= first], p[n >= first], linewidth=1.1, label=label, **how)
        axes.plot(n[n <= first], p[n <= first], linewidth=0.5, **how)
    return handles


def item_axis(axes: Axes, counts: Sequence[int]) -> None:
    """Make the x axis logarithmic with ticks at the tested numbers of items, thinned out if there are many."""
    axes.set_xscale("log")
    axes.set_xlim(counts[0] / 1.15, max(counts[-1], counts[0] + 1) * 1.15)
    step = -(-len(counts) // MAX_TICKS)
    style.set_ticks(axes.xaxis, counts[::step])


def draw_distances(result: TemplateResult) -> Figure:
    """Draw right answers against the distance of the right item, one curve for each number of items, with chance."""
    curve = result.distances
    if not curve.points:
        raise InputError("No similarity test was answered in this probe; there are no distances to draw.")
    counts = curve.item_counts
    figure, axes = style.one_panel(measurement.FIGURE_WIDTH, measurement.FIGURE_HEIGHT)
    handles = []
    for count, color in zip(counts, style.ordered_colors(len(counts)), strict=True):
        axes.axhline(1.0 / count, **GUIDE_STYLE)
        axes.annotate(
            f"1/{count}",
            (1.005, 1.0 / count),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=5.5,
            color=style.GRAY,
        )
        points = curve.of(count)
        estimates = [one.probability if np.isfinite(one.probability.value) else one.accuracy for one in points]
        away = [one.distance for one in points]
        handles += axes.plot(away, [one.value for one in estimates], color=color, linewidth=0.9, label=f"$n={count}$")
        for x, value in zip(away, estimates, strict=True):
            draw_interval(axes, x, value, color, faint=True, markersize=2.6)
    _distance_axis(axes, np.array([one.distance for one in curve.points]))
    axes.set_ylim(0.0, 1.03)
    axes.set_xlabel(with_unit("distance of the right item", result.resolution.unit))
    axes.set_ylabel("probability of the right item" if result.rates.mode == "probability" else "share of right answers")
    figure.legend(handles=handles, loc="outside lower center", ncols=min(5, len(handles)), columnspacing=1.5)
    return figure


def _distance_axis(axes: Axes, away: Array) -> None:
    """Make the axis of distances logarithmic where they span more than a decade, none of them being zero."""
    least, most = float(away.min()), float(away.max())
    if 0.0 < least < most / LOG_AXIS_RATIO:
        style.log_axis(axes, "x", 0.8 * least, 1.25 * most)
    else:
        axes.set_xlim(0.0, 1.08 * most)


def draw_options(result: TemplateResult) -> Figure:
    """Draw the preference for each answer with its interval: the logarithm of the factor by which it is named too
    often.

    The first answer in alphabetical order is the reference and has none.
    """
    preferences = result.resolution.offsets
    if not preferences:
        raise InputError("No preferences for answers were fitted in this probe; there is nothing to draw.")
    names = sorted(preferences, key=lambda name: (len(name), name) if name.isdigit() else (0, name))[::-1]
    figure, axes = style.one_panel(measurement.FIGURE_WIDTH, 0.75 + ANSWER_ROW_HEIGHT * max(len(names), 4))
    axes.axvline(0.0, **{**GUIDE_STYLE, "color": style.GRAY})
    for row, name in enumerate(names):
        given = preferences[name]
        if np.isfinite(given.low + given.high):
            axes.hlines(row, given.low, given.high, color=style.BLACK, linewidth=0.9)
        axes.plot(given.value, row, color=style.BLACK, **RATE_POINT_STYLE)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.yaxis.set_major_locator(FixedLocator(range(len(names))))
    axes.set_yticklabels([style.literal(name) for name in names])
    axes.tick_params(axis="y", length=0)
    most = max(
        1.0, *(abs(end) for one in preferences.values() for end in (one.value, one.low, one.high) if np.isfinite(end))
    )
    axes.set_xlim(-1.1 * most, 1.1 * most)
    axes.set_xlabel(f"preference over {style.literal(min(preferences))} (natural logarithm)")
    return figure


def draw_templates(results: Sequence[TemplateResult]) -> Figure:
    """Draw both tests at each number of items for several templates side by side, with chance."""
    if not results:
        raise InputError("results must hold at least one probe; got none.")
    kinds = [kind for kind in KIND_NAMES if any(one.rates.of(kind) for one in results)]
    if not kinds:
        raise InputError("These probes have no test of similarity or identification; there is nothing to draw.")
    rows = -(-len(results) // 3)
    figure = style.new_figure(measurement.FIGURE_WIDTH, measurement.FIGURE_HEIGHT + 0.15 * rows)
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for axes, kind in zip(panels, kinds, strict=True):
        _draw_templates(axes, results, kind)
        axes.set(title=KIND_NAMES[kind], xlabel="items at once $n$")
    panels[0].set_ylabel("probability of the right item")
    handles = [
        Line2D([], [], label=style.literal(one.template), **{**RATE_POINT_STYLE, **_template_style(place)})
        for place, one in enumerate(results)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)), columnspacing=1.5)
    return figure


def _template_style(place: int) -> dict[str, str]:
    return {
        "color": TEMPLATE_COLORS[place % len(TEMPLATE_COLORS)],
        "marker": TEMPLATE_MARKERS[(place + place // len(TEMPLATE_COLORS)) % len(TEMPLATE_MARKERS)],
    }


def _draw_templates(axes: Axes, results: Sequence[TemplateResult], kind: str) -> None:
    counts = sorted({one.item_count for result in results for one in result.rates.of(kind)})
    aside = TEMPLATE_SPREAD * (np.arange(len(results)) - 0.5 * (len(results) - 1)) / max(len(results), 2)
    for place, count in enumerate(counts):
        axes.hlines(1.0 / count, place - 0.45, place + 0.45, color=style.GRAY, linewidth=0.7, zorder=0)
    for number, result in enumerate(results):
        look = _template_style(number)
        for one in result.rates.of(kind):
            at = counts.index(one.item_count) + float(aside[number])
            draw_interval(axes, at, one.best, look["color"], marker=look["marker"])
    axes.set(xlim=(-0.6, len(counts) - 0.4), ylim=(0.0, 1.03))
    axes.xaxis.set_major_locator(FixedLocator(range(len(counts))))
    axes.set_xticklabels([str(count) for count in counts])
