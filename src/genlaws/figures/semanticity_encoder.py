"""Picture of an encoder measured layer by layer: both tests and their trade-off, beside the controls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from genlaws.figures import style
from genlaws.figures.semanticity_measure import GENERALISATION_COLOUR, IDENTIFICATION_COLOUR
from genlaws.semanticity.probes.layer_measurements import AS_LOADED, LayerMeasurements

WIDTH, HEIGHT = 4.6, 3.0
MOST_NAMES = 10  # of layers on the axis
CONTROL_STYLES: dict[str, Any] = {"permuted": (0, (1, 1.5)), "random weights": (0, (4, 1.5))}
TESTS = {"generalisation": GENERALISATION_COLOUR, "identification": IDENTIFICATION_COLOUR}
SYMBOLS = {"generalisation": "$p_S$", "identification": "$p_I$"}


def draw_encoder(found: LayerMeasurements) -> Figure:
    """Draw generalisation and identification against the layer, with 95 % bands; controls are grey."""
    table = found.to_frame()
    figure = style.new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    axes.axhline(0.5, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=0)
    for test, colour in TESTS.items():
        _draw_test(axes, table, test, colour)
    places = np.unique(np.linspace(0, len(found.layers) - 1, min(MOST_NAMES, len(found.layers))).round().astype(int))
    axes.xaxis.set_major_locator(FixedLocator(places.tolist()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([found.layers[place] for place in places], rotation=35, ha="right", rotation_mode="anchor")
    axes.set_xlabel("layer")
    axes.set_ylabel("probability of the right one of two")
    handles = [Line2D([], [], color=colour, label=f"{test} {SYMBOLS[test]}") for test, colour in TESTS.items()]
    handles += [
        Line2D([], [], color=style.GREY, linewidth=0.9, linestyle=CONTROL_STYLES[name], label=name)
        for name in found.controls
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, columnspacing=1.5)
    return figure


def _draw_test(axes: Axes, table: pd.DataFrame, test: str, colour: str) -> None:
    for condition, own in table.groupby("condition", sort=False):
        x = np.arange(len(own))
        if condition == AS_LOADED:
            axes.fill_between(x, own[f"{test}_low"], own[f"{test}_high"], color=colour, alpha=0.2, linewidth=0)
            axes.plot(x, own[test], color=colour, marker="o", markersize=2.6, linewidth=1.0)
        elif not (condition == "permuted" and test == "identification"):  # which permuting does not change
            axes.plot(x, own[test], color=style.GREY, linewidth=0.9, linestyle=CONTROL_STYLES[str(condition)], zorder=1)
