"""Both tests in every layer of a language model: their trade-off, and how they change with depth.

The tests use the states of the residual stream at the items and at the question of a prompt.
"""

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
from pydantic import Field

from genlaws.core.arguments import whole_number
from genlaws.core.errors import InputError
from genlaws.core.running import Running
from genlaws.figures.recipe import Recipe
from genlaws.figures.semanticity import measurement
from genlaws.figures.semanticity.years import SIMULATED, ModelSettings, load_figure_model
from genlaws.probes.layers.results import LayerTests
from genlaws.render import style
from genlaws.semanticity.theory.many_items import generalization_of_many, identification_of_many

TRAINED, RANDOM = "trained", "random weights"
CURVE, LAYER = "curve", "layer"
CURVE_COLUMNS = (
    *("layer", "name", "threshold", "ball_mass", "generalization", "generalization_low", "generalization_high"),
    *("identification", "identification_low", "identification_high"),
    *("control_generalization", "control_identification"),
)
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
OFFSET = 0.15  # layers between the points of the read-out and the others
CHANCE_STYLE: dict[str, Any] = {"color": style.GRAY, "linewidth": 0.7, "linestyle": (0, (1, 2))}
CHANCE_POINT_STYLE: dict[str, Any] = {"color": style.GRAY, "marker": "s", "markersize": 4.0, "linestyle": "none"}
EXCHANGED_STYLE: dict[str, Any] = {"color": style.LIGHT_GRAY, "linewidth": 0.6, "zorder": 1}
TEST_COLUMNS = ("identification", "generalization")
DRAWN_COLUMNS = ("layer", "threshold", *TEST_COLUMNS, *(f"control_{test}" for test in TEST_COLUMNS))
PROFILE_COLUMNS = (
    ("best_generalization", "read_generalization", "generalization $p_S$", measurement.GENERALIZATION_COLOR),
    ("best_identification", "read_identification", "identification $p_I$", measurement.IDENTIFICATION_COLOR),
)


class LayersSettings(ModelSettings):
    """Settings of the figure.

    Attributes
    ----------
    item_count, trials : int
        Items of a trial; trials of each test.
    by_role : bool
        Whether the states at items and at questions are centered separately.
    replicates : int
        Of the bootstrap over trials.
    """

    templates: tuple[str, ...] = Field(default=("list",), min_length=1)
    item_count: int = Field(default=2, ge=2, le=100)
    trials: int = Field(default=60, ge=4, le=10_000)
    by_role: bool = True
    replicates: int = Field(default=200, ge=20)


def layers_data(settings: LayersSettings, running: Running) -> pd.DataFrame:
    """Return the numbers of each layer, of the model and of one with random weights, and the curves of the model.

    Curves are those of the first template.
    """
    if settings.model == SIMULATED:
        raise InputError("model must be one with layers; a simulated one has none.")
    from genlaws.probes.layers.states import randomized  # noqa: PLC0415, needs torch
    from genlaws.probes.layers.tests import layer_tests  # noqa: PLC0415

    model = load_figure_model(settings)
    running.start(4 * settings.trials * len(settings.templates), "layers")
    parts = []
    for weights, network in ((TRAINED, model), (RANDOM, randomized(model, settings.seed))):
        for template in settings.templates:
            given = settings.model_dump(include={"item_count", "seed", "by_role", "replicates"})
            given |= {"domain": settings.task, "template": template, "trial_count": settings.trials}
            found = layer_tests(network, **given, running=running.part())
            tables = {LAYER: found.to_frame()}
            if weights == TRAINED and template == settings.templates[0]:
                tables[CURVE] = found.curves_frame()[[*CURVE_COLUMNS]]
            parts += [_with_labels(table, weights, template, what) for what, table in tables.items()]
    return pd.concat(parts, ignore_index=True)


def _with_labels(table: pd.DataFrame, weights: str, template: str, what: str) -> pd.DataFrame:
    """Return a table with weights, template and kind of row as its first columns."""
    return pd.concat(
        [pd.DataFrame({"weights": weights, "template": template, "what": what}, table.index), table], axis=1
    )


def draw_layers(frame: pd.DataFrame, settings: LayersSettings) -> Figure:
    """Draw the trade-off of every layer, the nearest item in representation, and the read-out of every layer."""
    figure = style.new_figure(style.PAGE, 3.0)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.15, 1, 1))
    colors = draw_curves(left, frame[frame["what"] == CURVE], 1.0 / settings.item_count)
    draw_front(left, settings.item_count)
    left.set(xlabel="identification $p_I$", ylabel="generalization $p_S$", title="trade-off of each layer")
    bar = figure.colorbar(colors, ax=left, pad=0.02, aspect=30, location="top")
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
    """Draw both tests against the layer, with bands, and gray for random weights."""
    axes.axhline(1.0 / settings.item_count, zorder=0, **CHANCE_STYLE)
    for test, color in measurement.TEST_COLORS.items():
        column = f"{name}_{test}"
        for number, template in enumerate(settings.templates):
            own = rows[rows["template"] == template].sort_values("layer")
            line: dict[str, Any] = {"linestyle": DASHES[number % len(DASHES)], "linewidth": 1.0}
            style.plot_with_band(axes, own[own["weights"] == TRAINED], "layer", column, color, **line)
            random = own[own["weights"] == RANDOM]
            axes.plot(random["layer"], random[column], color=style.LIGHT_GRAY, zorder=1, **line)
    axes.set_xlabel("layer (0: embeddings)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    axes.set_ylim(None, 1.02)


def _handles(settings: LayersSettings) -> list[Line2D]:
    tests = [
        Line2D([], [], color=color, label=f"{test} {measurement.SYMBOLS[test]}")
        for test, color in measurement.TEST_COLORS.items()
    ]
    templates = [
        Line2D([], [], color=style.DARK_GRAY, linestyle=DASHES[number % len(DASHES)], linewidth=1.0, label=template)
        for number, template in enumerate(settings.templates)
    ]
    controls = [
        Line2D([], [], color=style.LIGHT_GRAY, label="control: exchanged (left), random weights"),
        Line2D([], [], color=style.BLACK, label=f"Theorem {1 if settings.item_count == 2 else 3}"),
        Line2D([], [], label=f"chance 1/{settings.item_count}", **CHANCE_STYLE),
    ]
    return [*tests, *(templates if len(templates) > 1 else []), *controls]


def layers_summary(frame: pd.DataFrame, settings: LayersSettings) -> pd.DataFrame:
    """Return for each template the layer whose states generalize best, and the last layer."""
    rows = frame[frame["what"] == LAYER].sort_values("layer")
    groups = rows.groupby(["weights", "template"], sort=False)
    chosen = {"best": rows.loc[groups["nearest_generalization"].idxmax()], "last": groups.tail(1)}
    table = pd.concat([part.assign(which=name) for name, part in chosen.items()], ignore_index=True)
    tests = [f"{name}_{test}" for name in ("nearest", "read") for test in measurement.TEST_COLORS]
    columns = [test + end for test in tests for end in ("", "_low", "_high")]
    return table[["weights", "template", "which", "layer", *columns]]


LAYERS = Recipe(LayersSettings, layers_data, draw_layers, layers_summary)


def layer_pictures(found: LayerTests) -> dict[str, Figure]:
    """Return the pictures of both tests in every layer."""
    return {
        "layer-tradeoff": draw_layer_tradeoff(found.curves_frame(), found.item_count),
        "layer-profile": draw_layer_profile(found.to_frame()),
    }


def draw_layer_tradeoff(curves: pd.DataFrame, item_count: int = 2) -> Figure:
    """Draw generalization against identification of every layer, over all thresholds.

    Black is the front of the constant similarity on a homogeneous space, Theorem 1 for two items and Theorem 3 for
    more; it is no bound on every system. Gray are the same layers with the probes exchanged between trials. The cross
    is as long as the median 95 % interval of all points.

    Parameters
    ----------
    curves : DataFrame
        As :meth:`~genlaws.probes.layers.results.LayerTests.curves_frame` returns it.
    item_count : int
        Items of a trial.
    """
    _check_columns(curves, DRAWN_COLUMNS)
    count = whole_number("item_count", item_count, at_least=2)
    figure, axes = style.one_panel(measurement.FIGURE_WIDTH, 3.2)
    colors = draw_curves(axes, curves, 1.0 / count)
    draw_front(axes, count)
    axes.set(**style.PLANE_LABELS)
    axes.margins(0.04)
    bar = figure.colorbar(colors, ax=axes, pad=0.02, aspect=30)
    bar.set_label("layer")
    bar.locator = MaxNLocator(integer=True, nbins=6)
    bar.update_ticks()
    bar.outline.set_linewidth(0.4)
    _draw_typical_interval(axes, curves)
    handles = [
        Line2D([], [], color=style.BLACK, label=f"constant similarity, Theorem {1 if count == 2 else 3}"),
        Line2D([], [], label="probes exchanged", **EXCHANGED_STYLE),
        Line2D([], [], label=f"chance 1/{count}", **CHANCE_POINT_STYLE),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, columnspacing=1.5)
    return figure


def draw_front(axes: Axes, count: int) -> None:
    """Draw the front of the constant similarity on a homogeneous space, and the point of chance."""
    mass = np.linspace(0.0, 1.0, 301)
    axes.plot(identification_of_many(mass, count), generalization_of_many(mass, count), color=style.BLACK, zorder=4)
    axes.plot(1.0 / count, 1.0 / count, zorder=5, **CHANCE_POINT_STYLE)


def draw_curves(axes: Axes, curves: pd.DataFrame, chance: float) -> ScalarMappable:
    """Draw the curve of each layer and of its control, and return which color is which layer.

    At threshold 0 no two states are alike and both tests are at chance; a line from there to the next threshold would
    have no meaning.
    """
    at_chance = (curves["threshold"] == 0) & np.isclose(curves["identification"], chance)
    curves = curves[~at_chance]
    layers = sorted(curves["layer"].unique().tolist())
    shades = ListedColormap(mpl.colormaps[style.ORDERED_MAP](np.linspace(*style.ORDERED_RANGE, 256)))
    colors = ScalarMappable(Normalize(layers[0], max(layers[-1], layers[0] + 1)), shades)
    for layer in layers:
        one = curves[curves["layer"] == layer].sort_values("threshold")
        axes.plot(one["control_identification"], one["control_generalization"], **EXCHANGED_STYLE)
        axes.plot(one["identification"], one["generalization"], color=colors.to_rgba(layer), linewidth=0.9, zorder=3)
    return colors


def _draw_typical_interval(axes: Axes, curves: pd.DataFrame) -> None:
    """Draw a cross as long as the median interval of both tests, in the upper left corner."""
    if not {f"{test}_{end}" for test in TEST_COLUMNS for end in ("low", "high")} <= set(curves.columns):
        return
    x, y = (float((curves[f"{test}_high"] - curves[f"{test}_low"]).median()) for test in TEST_COLUMNS)
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top + 0.6 * y + 0.06 * (top - bottom))
    at = left + 0.03 * (right - left) + 0.5 * x, axes.get_ylim()[1] - 0.55 * y
    axes.errorbar(*at, 0.5 * y, 0.5 * x, color=style.DARK_GRAY, elinewidth=0.8, zorder=6)
    axes.annotate(
        "typical 95 % interval",
        (at[0] + 0.5 * x, at[1]),
        (4, 0),
        textcoords="offset points",
        va="center",
        fontsize=style.SMALL_TYPE,
        color=style.DARK_GRAY,
    )


def draw_layer_profile(table: pd.DataFrame) -> Figure:
    """Draw both tests against the layer: at the best threshold, in the read-out, and with the probes exchanged.

    Parameters
    ----------
    table : DataFrame
        As :meth:`~genlaws.probes.layers.results.LayerTests.to_frame` returns it.
    """
    _check_columns(table, ("layer", "chance", *(name for best, read, _, _ in PROFILE_COLUMNS for name in (best, read))))
    figure = style.new_figure(measurement.FIGURE_WIDTH, 3.9)
    panels = figure.subplots(2, 1, sharex=True)
    layers = table["layer"].to_numpy(dtype=np.float64)
    for axes, (best, read, name, color) in zip(panels, PROFILE_COLUMNS, strict=True):
        axes.axhline(float(table["chance"].iloc[0]), zorder=0, **CHANCE_STYLE)
        axes.plot(layers, table[f"control_{best}"], color=style.GRAY, linewidth=0.8)
        axes.plot(layers, table[f"control_{read}"], color=style.LIGHT_GRAY, linewidth=0.8)
        for column, look, at in ((read, _read_look(), layers + OFFSET), (best, _best_look(color), layers - OFFSET)):
            low, high = table[f"{column}_low"], table[f"{column}_high"]
            axes.vlines(at, low, high, color=look["color"], linewidth=0.8)
            axes.plot(at, table[column], **look)
        axes.set_ylabel(name)
    panels[-1].set_xlabel("layer (0: embeddings)")
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    handles = [
        Line2D([], [], label="within the best threshold", **_best_look(style.BLACK)),
        Line2D([], [], label="read-out of the layer", **_read_look()),
        Line2D([], [], color=style.GRAY, linewidth=0.8, label="probes exchanged"),
        Line2D([], [], color=style.LIGHT_GRAY, linewidth=0.8, label="read-out, answers exchanged"),
        Line2D([], [], label="chance $1/n$", **CHANCE_STYLE),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, columnspacing=1.5)
    return figure


def _best_look(color: str) -> dict[str, Any]:
    return {"color": color, "linewidth": 0.9, "marker": "o", "markersize": 2.6}


def _read_look() -> dict[str, Any]:
    shared = {"color": style.GREEN, "linewidth": 0.7, "marker": "s", "markersize": 2.6}
    return {**shared, "markerfacecolor": "white", "markeredgewidth": 0.7}


def _check_columns(table: pd.DataFrame, columns: tuple[str, ...]) -> None:
    missing = [name for name in columns if name not in table.columns]
    if missing or not len(table):
        raise InputError(f"table must have rows and the columns {', '.join(columns)}; got {', '.join(table.columns)}.")
