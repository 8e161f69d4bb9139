"""Pictures of what else decides an answer of a probed model: likings for certain answers, and the words of the task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from genlaws.figures import style
from genlaws.figures.semanticity_probe import GUIDE, HEIGHT, KIND_NAMES, POINT, WIDTH, draw_interval, words
from genlaws.numerics.errors import InputError
from genlaws.semanticity.probes.probe import ProbeResult

TEMPLATE_COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY_BLUE, style.BLACK)
TEMPLATE_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SPREAD = 0.6  # of the room between two numbers of items that the templates take up
ROW = 0.22  # inches for one answer


def draw_options(result: ProbeResult) -> Figure:
    """Draw the liking for each answer with its interval: the logarithm of the factor by which it is named too often.

    The first answer in alphabetical order is what the others are compared with, and has none.
    """
    likings = result.resolution.offsets
    if not likings:
        raise InputError("No likings for answers were fitted in this probe; there is nothing to draw.")
    names = sorted(likings, key=lambda name: (len(name), name) if name.isdigit() else (0, name))[::-1]
    figure = style.new_figure(WIDTH, 0.75 + ROW * max(len(names), 4))
    axes = figure.subplots()
    axes.axvline(0.0, **{**GUIDE, "color": style.GREY})
    for row, name in enumerate(names):
        given = likings[name]
        if np.isfinite(given.low + given.high):
            axes.hlines(row, given.low, given.high, color=style.BLACK, linewidth=0.9)
        axes.plot(given.value, row, color=style.BLACK, **POINT)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.yaxis.set_major_locator(FixedLocator(range(len(names))))
    axes.set_yticklabels([words(name) for name in names])
    axes.tick_params(axis="y", length=0)
    most = max(
        1.0, *(abs(end) for one in likings.values() for end in (one.value, one.low, one.high) if np.isfinite(end))
    )
    axes.set_xlim(-1.1 * most, 1.1 * most)
    axes.set_xlabel(f"liking against {words(min(likings))} (natural logarithm)")
    return figure


def draw_templates(results: Sequence[ProbeResult]) -> Figure:
    """Draw both tests at each number of items for several templates side by side, with chance."""
    if not results:
        raise InputError("results must hold at least one probe; got none.")
    kinds = [kind for kind in KIND_NAMES if any(one.rates.of(kind) for one in results)]
    if not kinds:
        raise InputError("There is neither a test of similarity nor one of identification in these probes to draw.")
    rows = -(-len(results) // 3)
    figure = style.new_figure(WIDTH, HEIGHT + 0.15 * rows)
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for axes, kind in zip(panels, kinds, strict=True):
        _template_panel(axes, results, kind)
        axes.set_title(KIND_NAMES[kind])
        axes.set_xlabel("items at once $n$")
    panels[0].set_ylabel("probability of the right item")
    handles = [
        Line2D([], [], label=words(one.plan.template.name), **{**POINT, **_look(place)})
        for place, one in enumerate(results)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)), columnspacing=1.5)
    return figure


def _look(place: int) -> dict[str, str]:
    return {
        "color": TEMPLATE_COLOURS[place % len(TEMPLATE_COLOURS)],
        "marker": TEMPLATE_MARKERS[(place + place // len(TEMPLATE_COLOURS)) % len(TEMPLATE_MARKERS)],
    }


def _template_panel(axes: Axes, results: Sequence[ProbeResult], kind: str) -> None:
    counts = sorted({one.item_count for result in results for one in result.rates.of(kind)})
    aside = SPREAD * (np.arange(len(results)) - 0.5 * (len(results) - 1)) / max(len(results), 2)
    for place, count in enumerate(counts):
        axes.hlines(1.0 / count, place - 0.45, place + 0.45, color=style.GREY, linewidth=0.7, zorder=0)
    for number, result in enumerate(results):
        look = _look(number)
        for one in result.rates.of(kind):
            at = counts.index(one.item_count) + float(aside[number])
            draw_interval(axes, at, one.best, look["color"], marker=look["marker"])
    axes.set_xlim(-0.6, len(counts) - 0.4)
    axes.set_ylim(0.0, 1.03)
    axes.xaxis.set_major_locator(FixedLocator(range(len(counts))))
    axes.set_xticklabels([str(count) for count in counts])
