"""Generalization and identification along a residual stream: both against depth, and their path in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from genlaws.core.errors import InputError
from genlaws.figures.residual_stream.drawing import WRITE_COLORS, WRITE_NAMES, layer_axis, site_places
from genlaws.probes.parameters import PERMUTED, UNTRAINED
from genlaws.probes.stream.changes import TESTS, WriteChange
from genlaws.probes.stream.result import StreamSemanticity
from genlaws.render import style
from genlaws.semanticity.measurement.empirical_front import EmpiricalFront

TEST_LABELS = {"generalization": "generalization $p_S$", "identification": "identification $p_I$"}
CLEAR, UNCLEAR = 2.0, 0.7  # widths of a write whose change stands after Holm's procedure, and of any other
CONTROL_STYLES: dict[str, dict[str, Any]] = {
    PERMUTED: {"color": style.GRAY, "linewidth": 0.8, "linestyle": (0, (1, 1.5))},
    UNTRAINED: {"color": style.GRAY, "linewidth": 0.8, "linestyle": "-"},
}
CHANCE_STYLE: dict[str, Any] = {"color": style.LIGHT_GRAY, "linewidth": 0.6, "zorder": 0}
END_STYLE: dict[str, Any] = {"color": style.BLACK, "marker": "s", "markersize": 3.6, "linestyle": "none", "zorder": 6}
START_STYLE: dict[str, Any] = {**END_STYLE, "marker": "o", "markerfacecolor": "white"}


def draw_stream_semanticity(result: StreamSemanticity) -> Figure:
    """Draw both tests at every site, with 95 % bands over stimuli, and the path of the network in their plane.

    The line from a site to the next has the color of what writes in between; it is wide where the change stands after
    Holm's procedure over all writes and both tests. In the plane it is wide where either does. Controls are gray; the
    permuted one has the identification of the network itself and is left out where identification is drawn.

    Parameters
    ----------
    result : StreamSemanticity
        As :func:`~genlaws.probes.stream.semanticity.stream_semanticity` returns it.
    """
    if not isinstance(result, StreamSemanticity):
        raise InputError(f"result must be a StreamSemanticity; got {type(result).__name__}.")
    figure = style.new_figure(style.PAGE, 3.6)
    panels = figure.subplot_mosaic([["generalization", "plane"], ["identification", "plane"]], width_ratios=[1.25, 1.0])
    for test in TESTS:
        _draw_depth(panels[test], result, test)
    panels["identification"].sharex(panels["generalization"])
    layer_axis(panels["generalization"], result.sites, label=False)
    panels["generalization"].tick_params(labelbottom=False)
    layer_axis(panels["identification"], result.sites)
    panels["generalization"].set_title(f"{result.model}: {result.stimulus_count} {result.stimuli}")
    _draw_plane(panels["plane"], result)
    figure.legend(handles=_handles(result), loc="outside lower center", ncols=4, columnspacing=1.5)
    return figure


def stream_semanticity_pictures(result: StreamSemanticity) -> dict[str, Figure]:
    """Return the picture of a result by its name."""
    with style.house_style():
        return {"stream-semanticity": draw_stream_semanticity(result)}


def _last_front(result: StreamSemanticity) -> EmpiricalFront | None:
    """Return the front of the constant similarity at the last site, if it was found and is still there."""
    return result.measurements[-1].constant_front if result.measurements else None


def _site_values(result: StreamSemanticity, condition: str, test: str) -> np.ndarray:
    """Return value and both ends of the interval at each site: (3, sites)."""
    found = [getattr(one, test) for one in result.conditions[condition].tests]
    return np.array([[one.value for one in found], [one.low for one in found], [one.high for one in found]])


def _draw_depth(axes: Axes, result: StreamSemanticity, test: str) -> None:
    """Draw one test against the layer."""
    at = site_places(result.sites)
    value, low, high = _site_values(result, "as loaded", test)
    axes.fill_between(at, low, high, color=style.LIGHT_GRAY, alpha=0.5, linewidth=0.0, zorder=1)
    for name, look in CONTROL_STYLES.items():
        if name in result.conditions and not (name == PERMUTED and test == "identification"):
            axes.plot(at, _site_values(result, name, test)[0], zorder=2, **look)
    _draw_writes(axes, result, np.column_stack([at, value]), lambda one: getattr(one, test).direction != "unclear")
    axes.set_ylabel(TEST_LABELS[test])
    if test == "generalization":
        axes.axhline(0.5, **CHANCE_STYLE)
    axes.autoscale_view()


def _draw_writes(axes: Axes, result: StreamSemanticity, points: np.ndarray, is_clear: Any) -> None:
    """Draw the line from each site to the next in the color of what writes in between."""
    place = {site: number for number, site in enumerate(result.sites)}

    def line(one: WriteChange) -> np.ndarray:
        """Return both ends of the line of a write."""
        ends: np.ndarray = points[[place[one.site], place[one.after]]]
        return ends

    writes = result.writes
    axes.add_collection(
        LineCollection(
            [line(one) for one in writes],
            colors=[WRITE_COLORS[one.site.place] for one in writes],
            linewidths=[CLEAR if is_clear(one) else UNCLEAR for one in writes],
            capstyle="round",
            zorder=4,
        )
    )
    axes.plot(*points.T, linestyle="none", marker=".", markersize=2.0, color=style.DARK_GRAY, zorder=5)


def _draw_plane(axes: Axes, result: StreamSemanticity) -> None:
    """Draw the path of the network in the plane of both tests, with its controls and a front of the stimuli."""
    x, y = (_site_values(result, "as loaded", test)[0] for test in reversed(TESTS))
    for name, look in CONTROL_STYLES.items():
        if name in result.conditions:
            axes.plot(*(_site_values(result, name, test)[0] for test in reversed(TESTS)), zorder=2, **look)
    _draw_writes(
        axes,
        result,
        np.column_stack([x, y]),
        lambda one: any(getattr(one, test).direction != "unclear" for test in TESTS),
    )
    axes.plot(x[0], y[0], **START_STYLE)
    axes.plot(x[-1], y[-1], **END_STYLE)
    axes.margins(0.06)
    axes.autoscale_view()
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    front = _last_front(result)
    if front is not None:
        axes.plot(front.identification, front.generalization, color=style.BLACK, linewidth=0.8, zorder=3)
        inside = (front.identification >= left) & (front.identification <= right)
        top = max(top, float(np.max(front.generalization, where=inside, initial=0.0)) + 0.03 * (top - bottom))
    axes.axhline(0.5, **CHANCE_STYLE)
    axes.set_xlim(left, right)
    axes.set_ylim(min(bottom, 0.49), top)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.set_xlabel("identification $p_I$ (probability)")
    axes.set_ylabel("generalization $p_S$ (probability)")


def _handles(result: StreamSemanticity) -> list[Line2D]:
    """Return the entries of the legend."""
    kinds = dict.fromkeys(one.site.place for one in result.writes)
    handles = [Line2D([], [], color=WRITE_COLORS[kind], linewidth=CLEAR, label=WRITE_NAMES[kind]) for kind in kinds]
    handles.append(Line2D([], [], color=style.DARK_GRAY, linewidth=UNCLEAR, label="change unclear (Holm, 5 %)"))
    handles += [
        Line2D([], [], label=f"control: {name}", **look)
        for name, look in CONTROL_STYLES.items()
        if name in result.conditions
    ]
    if _last_front(result) is not None:
        handles.append(Line2D([], [], color=style.BLACK, linewidth=0.8, label="constant similarity, no bound"))
    return [*handles, Line2D([], [], label="first site", **START_STYLE), Line2D([], [], label="end", **END_STYLE)]
