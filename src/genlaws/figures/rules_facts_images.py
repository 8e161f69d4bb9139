"""Figures 5 and 15: the bandwidth of the Gaussian kernel, in the theory and on labelled data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from genlaws.figures import style
from genlaws.figures.recipe import Recipe
from genlaws.figures.rules_facts_bandwidth import (
    BandwidthSettings,
    HingeBandwidthSettings,
    bandwidth_data,
    bandwidth_summary,
    nearest,
    preferred,
)
from genlaws.figures.rules_facts_redraws import (
    ERRORS,
    data_title,
    draw_path,
    error_axes,
    label_paths,
    redraw_note,
    written,
)

HEIGHT = 4.95
PARAMETER = r"bandwidth parameter $\gamma$"
EXCESS = "generalisation error,\nless the lowest"
PLAIN, HIGHLIGHTED = 1.0, 2.4  # widths of a path and of the best one
THEORY_COLOUR = style.BLACK
# Preferred parameters stand below the curves and the legend above, at these shares of the height of the curves.
STRIP = {"measured": -0.1, "theory": -0.22}
FLOOR, CEILING = -0.32, 1.45


def draw_bandwidth(frame: pd.DataFrame, settings: BandwidthSettings) -> Figure:
    """Draw paths of the theory and of the data above, and errors against the bandwidth below."""
    figure = style.new_figure(style.PAGE, HEIGHT)
    panels = figure.subplots(2, 2)
    colours = _colours(settings)
    labelled = _paths(panels[0], frame, settings, colours)
    bar = figure.colorbar(colours, ax=list(panels[0]), pad=0.02, aspect=18)
    bar.set_label(PARAMETER)
    bar.ax.yaxis.set_major_formatter(lambda value, _: style.plain_power(value))
    for axes, choice in zip(panels[1], ("optimal", "zero"), strict=True):
        _curves(axes, frame[frame["regularisation_choice"] == choice], settings)
    panels[1, 0].set_title(r"best $\lambda$ (measured: best on the other redraws)")
    smallest = style.plain_power(settings.smallest_regularisation).strip("$")
    panels[1, 1].set_title(rf"$\lambda\to0$ (measured: $\lambda={smallest}$)")
    _legend(figure, frame, settings)
    for axes, line, parameter in labelled:
        label_paths(axes, [line], [rf"$\gamma={parameter:.2g}$, best at $\lambda\to0$"])
    return figure


def _colours(settings: BandwidthSettings) -> ScalarMappable:
    """Return the colours of bandwidths, the same in every panel."""
    low, high = style.ORDERED_RANGE
    steps = ListedColormap(colormaps[style.ORDERED_MAP](np.linspace(low, high, 256)), "bandwidth")
    return ScalarMappable(LogNorm(settings.parameters[0], settings.parameters[-1]), steps)


def _paths(
    panels: Any, frame: pd.DataFrame, settings: BandwidthSettings, colours: ScalarMappable
) -> list[tuple[Axes, Line2D, float]]:
    """Draw the paths and return the panel, the line and the bandwidth of the best one in each."""
    rows = frame[frame["role"] == "path"]
    shown = rows.loc[rows["series"] == "theory", "parameter"].unique()
    labelled = []
    for axes, series in zip(panels, ("theory", "measured"), strict=True):
        here = rows[(rows["series"] == series) & rows["parameter"].isin(shown)]
        best = shown[nearest(shown, float(preferred(frame, series, "zero")["parameter"]))]
        for parameter in shown:
            path = here[here["parameter"] == parameter]
            width = HIGHLIGHTED if parameter == best else PLAIN
            colour = colours.to_rgba(parameter)
            if series == "measured":
                line = draw_path(axes, path, colour, width)
            else:
                x, y = (path[name].to_numpy() for name in ERRORS)
                (line,) = axes.plot(x, y, color=colour, linewidth=width)
                style.mark_path_ends(axes, x, y)
            if parameter == best:
                labelled.append((axes, line, float(best)))
        error_axes(axes, here)
    where = rf"$\alpha={settings.sample_ratio:g}$, $\varepsilon={settings.fact_fraction:g}$"
    panels[0].set_title(f"theory, {settings.loss} loss, {where}")
    panels[1].set_title(data_title(settings))
    return labelled


def _curves(axes: Axes, frame: pd.DataFrame, settings: BandwidthSettings) -> None:
    """Draw error against bandwidth, each curve less its lowest value, and the preferred bandwidths below."""
    colour = style.LOSS_COLOURS[settings.loss]
    lowest, tables = {}, {}
    for series in ("theory", "measured"):
        table = frame[(frame["series"] == series) & (frame["role"] == "curve")].sort_values("parameter")
        lowest[series] = float(table["generalisation_error"].min())
        tables[series] = table.assign(excess=table["generalisation_error"] - lowest[series])
    theory, measured = tables["theory"], tables["measured"]
    (line,) = axes.plot(theory["parameter"], theory["excess"], color=THEORY_COLOUR)
    half = measured["generalisation_error_high"] - measured["generalisation_error"]
    points = axes.errorbar(
        measured["parameter"], measured["excess"], half, fmt="o", color=colour, markersize=3, elinewidth=0.8
    )
    bottom = float((measured["excess"] - half).min())
    height = max(float((measured["excess"] + half).max()), float(theory["excess"].max())) - bottom
    _preferred_marks(axes, frame, {series: bottom + share * height for series, share in STRIP.items()}, colour)
    low, high = settings.parameters[0], settings.parameters[-1]
    style.log_axis(axes, "x", low / 1.25, high * 1.25)
    axes.set_ylim(bottom + FLOOR * height, bottom + CEILING * height)
    axes.set_xlabel(PARAMETER)
    axes.set_ylabel(EXCESS)
    axes.axhline(0.0, color=style.LIGHT_GREY, linewidth=0.6, zorder=0)
    names = [f"theory, lowest {lowest['theory']:.3f}", f"measured, lowest {lowest['measured']:.3f}"]
    axes.legend([line, points], names, loc="upper left")


def _preferred_marks(axes: Axes, frame: pd.DataFrame, level: dict[str, float], colour: str) -> None:
    rows = frame[frame["role"] == "preferred"]
    for series, row in zip(rows["series"], rows.to_dict("records"), strict=True):
        if series == "theory" and row["at_edge"]:
            continue
        measured = series == "measured"
        ends = [[row["parameter"] - row["parameter_low"]], [row["parameter_high"] - row["parameter"]]]
        axes.errorbar(
            [row["parameter"]],
            [level[series]],
            xerr=ends if measured else None,
            fmt="D",
            color=colour if measured else THEORY_COLOUR,
            markersize=3.5,
            elinewidth=1.0,
            capsize=2.0,
        )


def _legend(figure: Figure, frame: pd.DataFrame, settings: BandwidthSettings) -> None:
    """Explain the marks, and say in words what was measured."""
    mark: dict[str, Any] = {"marker": "D", "markersize": 3.5, "linestyle": "none"}
    handles = [
        *style.path_end_handles((settings.smallest_regularisation, settings.largest_regularisation)),
        Line2D([], [], color=style.LOSS_COLOURS[settings.loss], label="measured best, interval", **mark),
        Line2D([], [], color=THEORY_COLOUR, label="theory's best", **mark),
    ]
    style.legend_below(figure, handles)
    figure.legends[0].set_title("\n".join((measured_sentence(frame), redraw_note(frame))))


def measured_sentence(frame: pd.DataFrame) -> str:
    """Return the sentence on the measured bandwidths and their ratio."""
    rows = {choice: preferred(frame, "measured", choice) for choice in ("zero", "optimal")}
    names = {"zero": r"$\lambda\to0$", "optimal": r"best $\lambda$"}
    edges = [names[choice] for choice, row in rows.items() if row["at_edge"]]
    edge = f"; at the end of the range: {' and '.join(edges)}" if edges else ""
    return (
        rf"measured best $\gamma$: {written(rows['zero'], 'parameter')} at $\lambda\to0$, "
        rf"{written(rows['optimal'], 'parameter')} at the best $\lambda$; "
        rf"logarithm of their ratio {written(rows['zero'], 'log_ratio')}{edge}"
    )


SQUARE = Recipe(BandwidthSettings, bandwidth_data, draw_bandwidth, bandwidth_summary)
HINGE = Recipe(HingeBandwidthSettings, bandwidth_data, draw_bandwidth, bandwidth_summary)
