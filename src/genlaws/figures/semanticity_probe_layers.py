"""Pictures of both tests in every layer of a language model: the trade-off of each, and how they change with depth."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from genlaws.figures import style
from genlaws.figures.semanticity_measure import GENERALISATION_COLOUR, IDENTIFICATION_COLOUR
from genlaws.numerics.arguments import whole_number
from genlaws.numerics.errors import InputError
from genlaws.semanticity.many_items import generalisation_of_many, identification_of_many

WIDTH = 3.6
ASIDE = 0.15  # layers by which the points of the read-out stand beside the others
CHANCE: dict[str, Any] = {"color": style.GREY, "linewidth": 0.7, "linestyle": (0, (1, 2))}
CHANCE_POINT: dict[str, Any] = {"color": style.GREY, "marker": "s", "markersize": 4.0, "linestyle": "none"}
EXCHANGED: dict[str, Any] = {"color": style.LIGHT_GREY, "linewidth": 0.6, "zorder": 1}
TESTS = ("identification", "generalisation")
CURVE_COLUMNS = ("layer", "threshold", *TESTS, *(f"control_{test}" for test in TESTS))
PROFILES = (
    ("best_generalisation", "read_generalisation", "generalisation $p_S$", GENERALISATION_COLOUR),
    ("best_identification", "read_identification", "identification $p_I$", IDENTIFICATION_COLOUR),
)


def draw_layer_tradeoff(curves: pd.DataFrame, item_count: int = 2) -> Figure:
    """Draw generalisation against identification of every layer, over all thresholds.

    Black is the front of the constant similarity on a homogeneous space, Theorem 1 for two items and Theorem 3 for
    more; it is no bound on every system. Grey are the same layers with the probes exchanged between trials. The cross
    is as long as the median 95 % interval of all points.

    Parameters
    ----------
    curves : DataFrame
        As :meth:`~genlaws.semanticity.probes.layer_results.LayerTests.curves_frame` returns it.
    item_count : int
        Items of a trial.
    """
    _checked(curves, CURVE_COLUMNS)
    count = whole_number("item_count", item_count, at_least=2)
    figure = style.new_figure(WIDTH, 3.2)
    axes = figure.subplots()
    colours = draw_curves(axes, curves, 1.0 / count)
    draw_front(axes, count)
    axes.set_xlabel("identification $p_I$ (probability)")
    axes.set_ylabel("generalisation $p_S$ (probability)")
    axes.margins(0.04)
    bar = figure.colorbar(colours, ax=axes, pad=0.02, aspect=30)
    bar.set_label("layer")
    bar.locator = MaxNLocator(integer=True, nbins=6)
    bar.update_ticks()
    bar.outline.set_linewidth(0.4)
    _typical(axes, curves)
    handles = [
        Line2D([], [], color=style.BLACK, label=f"constant similarity, Theorem {1 if count == 2 else 3}"),
        Line2D([], [], label="probes exchanged", **EXCHANGED),
        Line2D([], [], label=f"chance 1/{count}", **CHANCE_POINT),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, columnspacing=1.5)
    return figure


def draw_front(axes: Axes, count: int) -> None:
    """Draw the front of the constant similarity on a homogeneous space, and the point of chance."""
    mass = np.linspace(0.0, 1.0, 301)
    axes.plot(identification_of_many(mass, count), generalisation_of_many(mass, count), color=style.BLACK, zorder=4)
    axes.plot(1.0 / count, 1.0 / count, zorder=5, **CHANCE_POINT)


def draw_curves(axes: Axes, curves: pd.DataFrame, chance: float) -> ScalarMappable:
    """Draw the curve of each layer and of its control, and return which colour is which layer.

    At threshold 0 nothing is alike and both tests are at chance; a line from there to the next threshold would stand
    for nothing.
    """
    nothing = (curves["threshold"] == 0) & np.isclose(curves["identification"], chance)
    curves = curves[~nothing]
    layers = sorted(curves["layer"].unique().tolist())
    shades = ListedColormap(mpl.colormaps[style.ORDERED_MAP](np.linspace(*style.ORDERED_RANGE, 256)))
    colours = ScalarMappable(Normalize(layers[0], max(layers[-1], layers[0] + 1)), shades)
    for layer in layers:
        one = curves[curves["layer"] == layer].sort_values("threshold")
        axes.plot(one["control_identification"], one["control_generalisation"], **EXCHANGED)
        axes.plot(one["identification"], one["generalisation"], color=colours.to_rgba(layer), linewidth=0.9, zorder=3)
    return colours


def _typical(axes: Axes, curves: pd.DataFrame) -> None:
    """Draw a cross as long as the median interval of both tests, in the upper left corner."""
    if not {f"{test}_{end}" for test in TESTS for end in ("low", "high")} <= set(curves.columns):
        return
    x, y = (float((curves[f"{test}_high"] - curves[f"{test}_low"]).median()) for test in TESTS)
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top + 0.6 * y + 0.06 * (top - bottom))
    at = left + 0.03 * (right - left) + 0.5 * x, axes.get_ylim()[1] - 0.55 * y
    axes.errorbar(*at, 0.5 * y, 0.5 * x, color=style.DARK_GREY, elinewidth=0.8, zorder=6)
    axes.annotate(
        "typical 95 % interval",
        (at[0] + 0.5 * x, at[1]),
        (4, 0),
        textcoords="offset points",
        va="center",
        fontsize=style.SMALL_TYPE,
        color=style.DARK_GREY,
    )


def draw_layer_profile(table: pd.DataFrame) -> Figure:
    """Draw both tests against the layer: at the best threshold, in the read-out, and with the probes exchanged.

    Parameters
    ----------
    table : DataFrame
        As :meth:`~genlaws.semanticity.probes.layer_results.LayerTests.to_frame` returns it.
    """
    _checked(table, ("layer", "chance", *(name for best, read, _, _ in PROFILES for name in (best, read))))
    figure = style.new_figure(WIDTH, 3.9)
    panels = figure.subplots(2, 1, sharex=True)
    layers = table["layer"].to_numpy(dtype=np.float64)
    for axes, (best, read, name, colour) in zip(panels, PROFILES, strict=True):
        axes.axhline(float(table["chance"].iloc[0]), zorder=0, **CHANCE)
        axes.plot(layers, table[f"control_{best}"], color=style.GREY, linewidth=0.8)
        axes.plot(layers, table[f"control_{read}"], color=style.LIGHT_GREY, linewidth=0.8)
        for column, look, at in ((read, _read_look(), layers + ASIDE), (best, _best_look(colour), layers - ASIDE)):
            low, high = table[f"{column}_low"], table[f"{column}_high"]
            axes.vlines(at, low, high, color=look["color"], linewidth=0.8)
            axes.plot(at, table[column], **look)
        axes.set_ylabel(name)
    panels[-1].set_xlabel("layer (0: embeddings)")
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    handles = [
        Line2D([], [], label="within the best threshold", **_best_look(style.BLACK)),
        Line2D([], [], label="read-out of the layer", **_read_look()),
        Line2D([], [], color=style.GREY, linewidth=0.8, label="probes exchanged"),
        Line2D([], [], color=style.LIGHT_GREY, linewidth=0.8, label="read-out, answers exchanged"),
        Line2D([], [], label="chance $1/n$", **CHANCE),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, columnspacing=1.5)
    return figure


def _best_look(colour: str) -> dict[str, Any]:
    return {"color": colour, "linewidth": 0.9, "marker": "o", "markersize": 2.6}


def _read_look() -> dict[str, Any]:
    shared = {"color": style.GREEN, "linewidth": 0.7, "marker": "s", "markersize": 2.6}
    return {**shared, "markerfacecolor": "white", "markeredgewidth": 0.7}


def _checked(table: pd.DataFrame, columns: tuple[str, ...]) -> None:
    missing = [name for name in columns if name not in table.columns]
    if missing or not len(table):
        raise InputError(f"table must have rows and the columns {', '.join(columns)}; got {', '.join(table.columns)}.")
