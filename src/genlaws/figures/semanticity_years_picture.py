"""Pictures of a language model asked about years, for each template that was used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from genlaws.figures import style
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import Recipe
from genlaws.figures.semanticity_years import YearsSettings, years_data
from genlaws.semanticity.probes import domain_of

COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY_BLUE)
MARKERS = ("o", "s", "^", "D", "v", "P")
TESTS = {"similarity": "generalisation $p_S^n$", "identification": "identification $p_I^n$"}
ASIDE = 1.03  # factor by which templates stand beside each other
NUMBERS = ("resolution", "background", "lapse", "excess", "collapse_constant", "collapse_limit", "collapse_exponent")


def draw_items(frame: pd.DataFrame, settings: YearsSettings) -> Figure:
    """Draw both tests against the number of items, one colour for each template."""
    figure = style.new_figure(style.PAGE, 2.9)
    panels = figure.subplots(1, 2, sharey=True)
    templates = list(dict.fromkeys(frame["template"]))
    for axes, (kind, title) in zip(panels, TESTS.items(), strict=True):
        part = frame[frame["what"] == kind]
        counts = sorted(set(part["item_count"].astype(int)))
        lines = [_draw_template(axes, part, name, templates.index(name), len(templates)) for name in templates]
        _item_axis(axes, counts)
        (chance,) = axes.plot(counts, 1.0 / np.array(counts), color=style.LIGHT_GREY, linewidth=0.8, zorder=0)
        axes.set_title(title)
        axes.set_xlabel("items $n$")
        if kind == "identification":
            _draw_collapse(axes, frame, templates, counts)
        direct_labels(axes, [*lines, chance], [*templates, "chance $1/n$"])
    panels[0].set_ylabel("probability of the right answer")
    return figure


def _draw_template(axes: Axes, part: pd.DataFrame, name: str, number: int, of: int):  # type: ignore[no-untyped-def]
    """Draw the points of one template with their intervals, a little beside those of the others."""
    own = part[part["template"] == name].sort_values("item_count")
    x = own["item_count"].to_numpy(float) * ASIDE ** (number - 0.5 * (of - 1))
    colour = COLOURS[number % len(COLOURS)]
    axes.vlines(x, own["low"], own["high"], color=colour, linewidth=0.9)
    marker = MARKERS[number % len(MARKERS)]
    (line,) = axes.plot(x, own["value"], color=colour, marker=marker, markersize=3.0, linewidth=0.9, alpha=0.9)
    return line


def _item_axis(axes: Axes, counts: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator([float(count) for count in counts]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ticks = [tick for tick in (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01) if tick >= 0.5 / counts[-1]]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _draw_collapse(axes: Axes, frame: pd.DataFrame, templates: Sequence[str], counts: Sequence[int]) -> None:
    """Draw the law of n items of the template that identifies best."""
    limits = frame[frame["what"] == "collapse_limit"].set_index("template")["value"]
    best = str(limits.idxmax())
    ball = 1.0 / float(limits[best])
    n = np.geomspace(counts[0], counts[-1], 100)
    colour = COLOURS[templates.index(best) % len(COLOURS)]
    axes.plot(n, (1.0 - (1.0 - ball) ** n) / (n * ball), color=colour, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)


def draw_anchors(frame: pd.DataFrame, settings: YearsSettings) -> Figure:
    """Draw the answer between two anchors, a row for each template and a panel for each half separation."""
    part = frame[frame["what"] == "anchors"]
    templates = list(dict.fromkeys(part["template"]))
    halves = sorted(set(part["half_separation"]))
    figure = style.new_figure(style.PAGE, 0.55 + 1.15 * len(templates))
    grid = figure.subplots(len(templates), len(halves), sharex=True, sharey=True, squeeze=False)
    unit = domain_of(settings.task).unit
    for row, name in zip(grid, templates, strict=True):
        for axes, half in zip(row, halves, strict=True):
            own = part[(part["template"] == name) & (part["half_separation"] == half)].sort_values("shift")
            _draw_panel(axes, own, COLOURS[templates.index(name) % len(COLOURS)])
        row[0].set_ylabel(name)
    for axes, half in zip(grid[0], halves, strict=True):
        axes.set_title(f"$D$ = {half:g}")
    figure.supxlabel(f"question at the middle + δ{f' ({unit})' if unit else ''}; anchors at ± $D$", fontsize=7.5)
    figure.supylabel("probability of the upper anchor", fontsize=7.5)
    return figure


def _draw_panel(axes: Axes, own: pd.DataFrame, colour: str) -> None:
    axes.axhline(0.5, color=style.LIGHT_GREY, linewidth=0.6, zorder=0)
    axes.axvline(0.0, color=style.LIGHT_GREY, linewidth=0.6, zorder=0)
    axes.vlines(own["shift"], own["low"], own["high"], color=colour, linewidth=0.8)
    axes.plot(own["shift"], own["value"], color=colour, linestyle="none", marker="o", markersize=2.2)
    if own["fitted"].notna().any():
        axes.plot(own["shift"], own["fitted"], color=style.DARK_GREY, linewidth=0.8)
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0.0, 0.5, 1.0])
    axes.xaxis.set_major_locator(FixedLocator([float(own["shift"].min()), 0.0, float(own["shift"].max())]))


def years_summary(frame: pd.DataFrame, settings: YearsSettings) -> pd.DataFrame:
    """Return the fitted numbers of each template with their intervals."""
    part = frame[frame["what"].isin(NUMBERS)]
    columns = ["template", "what", "value", "low", "high", "determined", "shape", "best_law"]
    return part[columns].reset_index(drop=True)


ITEMS = Recipe(YearsSettings, years_data, draw_items, years_summary)
ANCHORS = Recipe(YearsSettings, years_data, draw_anchors, years_summary)
