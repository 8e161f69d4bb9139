"""The picture of the layers of a language model: their trade-off, what their states know, and what is read out."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from genlaws.figures import style
from genlaws.figures.recipe import Recipe
from genlaws.figures.semanticity_layers import CURVE, LAYER, RANDOM, TRAINED, LayersSettings, layers_data
from genlaws.figures.semanticity_measure import GENERALISATION_COLOUR, IDENTIFICATION_COLOUR
from genlaws.figures.semanticity_probe_layers import CHANCE, draw_curves, draw_front

TESTS = {"generalisation": GENERALISATION_COLOUR, "identification": IDENTIFICATION_COLOUR}
SYMBOLS = {"generalisation": "$p_S$", "identification": "$p_I$"}
STYLES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))


def draw_layers(frame: pd.DataFrame, settings: LayersSettings) -> Figure:
    """Draw the trade-off of every layer, the nearest item in representation, and the read-out of every layer."""
    figure = style.new_figure(style.PAGE, 3.0)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.15, 1, 1))
    colours = draw_curves(left, frame[frame["what"] == CURVE], 1.0 / settings.item_count)
    draw_front(left, settings.item_count)
    left.set_xlabel("identification $p_I$")
    left.set_ylabel("generalisation $p_S$")
    left.set_title("trade-off of each layer")
    bar = figure.colorbar(colours, ax=left, pad=0.02, aspect=30, location="top")
    bar.ax.tick_params(pad=1)
    bar.set_label("layer", labelpad=2)
    rows = frame[frame["what"] == LAYER]
    _draw_profile(middle, rows, "nearest", settings)
    middle.set_title("nearest in representation")
    _draw_profile(right, rows, "read", settings)
    right.set_title("read-out of the answer")
    right.sharey(middle)
    middle.set_ylabel("probability of the right item")
    figure.legend(handles=_handles(settings), loc="outside lower center", ncols=6, columnspacing=1.2)
    return figure


def _draw_profile(axes: Axes, rows: pd.DataFrame, name: str, settings: LayersSettings) -> None:
    """Draw both tests against the layer, with bands, and grey for random weights."""
    axes.axhline(1.0 / settings.item_count, zorder=0, **CHANCE)
    for test, colour in TESTS.items():
        column = f"{name}_{test}"
        for number, template in enumerate(settings.templates):
            own = rows[rows["template"] == template].sort_values("layer")
            line: dict[str, Any] = {"linestyle": STYLES[number % len(STYLES)], "linewidth": 1.0}
            trained = own[own["weights"] == TRAINED]
            axes.fill_between(
                trained["layer"], trained[f"{column}_low"], trained[f"{column}_high"], color=colour, alpha=0.2, lw=0
            )
            axes.plot(trained["layer"], trained[column], color=colour, **line)
            random = own[own["weights"] == RANDOM]
            axes.plot(random["layer"], random[column], color=style.LIGHT_GREY, zorder=1, **line)
    axes.set_xlabel("layer (0: embeddings)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    axes.set_ylim(None, 1.02)


def _handles(settings: LayersSettings) -> list[Line2D]:
    tests = [Line2D([], [], color=colour, label=f"{test} {SYMBOLS[test]}") for test, colour in TESTS.items()]
    words = [
        Line2D([], [], color=style.DARK_GREY, linestyle=STYLES[number % len(STYLES)], linewidth=1.0, label=template)
        for number, template in enumerate(settings.templates)
    ]
    controls = [
        Line2D([], [], color=style.LIGHT_GREY, label="control: exchanged (left), random weights"),
        Line2D([], [], color=style.BLACK, label=f"Theorem {1 if settings.item_count == 2 else 3}"),
        Line2D([], [], label=f"chance 1/{settings.item_count}", **CHANCE),
    ]
    return [*tests, *(words if len(words) > 1 else []), *controls]


def layers_summary(frame: pd.DataFrame, settings: LayersSettings) -> pd.DataFrame:
    """Return for each template the layer whose states generalise best, and the last layer."""
    rows = frame[frame["what"] == LAYER].sort_values("layer")
    groups = rows.groupby(["weights", "template"], sort=False)
    chosen = {"best": rows.loc[groups["nearest_generalisation"].idxmax()], "last": groups.tail(1)}
    table = pd.concat([part.assign(which=name) for name, part in chosen.items()], ignore_index=True)
    columns = [f"{name}_{test}{end}" for name in ("nearest", "read") for test in TESTS for end in ("", "_low", "_high")]
    return table[["weights", "template", "which", "layer", *columns]]


LAYERS = Recipe(LayersSettings, layers_data, draw_layers, layers_summary)
