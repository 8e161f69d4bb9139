"""Networks with trained features: how their generalization error falls with samples, and their memorization error."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator
from pydantic import Field

from genlaws.core.running import Running
from genlaws.figures.recipe import InnerShare, Points, Ratio, Recipe
from genlaws.figures.rules_facts import tables
from genlaws.render import style
from genlaws.rules_facts import Kernel, bayes_optimal, fit_decay, optimal_angle, solve
from genlaws.sweeps import Axis, get_experiment, make_sweep
from genlaws.sweeps.computing import ComputedCell, compute_cells
from genlaws.sweeps.experiment import Settings

NETWORK_LEARNER, MOMENTS = "network", {"final": "at the end", "best": "best stop"}
THEORY = {
    "bayes": ("Bayes-optimal", style.BAYES_COLOR),
    "ridge": ("ridge", style.LOSS_COLORS["square"]),
    "hinge": ("hinge loss", style.LOSS_COLORS["hinge"]),
}
NETWORK_COLORS = (style.GREEN, style.PURPLE, style.ORANGE, style.SKY_BLUE)
EXPONENT_COLUMNS = ("exponent", "exponent_low", "exponent_high")
SAMPLE_RATIO_AXIS_FACTOR = 1.25  # by which the axis exceeds the sample ratios
CHANCE, MIN_ERROR = 0.5, 1e-9  # limits of an error, whatever its interval
LINE = 0.13  # height of a label of two lines, as a share of the panel
NETWORK_SHIFT_FACTOR = 1.06  # factor between the first and the middle of the points of one sample ratio

Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Rates = tuple[Ratio, Rate, Rate]


class TwoLayerFigureSettings(Settings):
    """Networks of one shape at every sample ratio, trained with several choices of rates.

    `rates` holds the learning rate, the factor on it for the first layer and the weight decay of each choice.
    """

    fact_fraction: InnerShare = 0.2
    sample_ratios: Annotated[tuple[Ratio, ...], Field(min_length=2, max_length=30)] = (2.0, 4.0, 8.0, 16.0, 32.0)
    rates: Annotated[tuple[Rates, ...], Field(min_length=1, max_length=4)] = ((0.01, 1.0, 0.0), (0.003, 100.0, 0.03))
    dimension: tables.Dimension = 50
    width_ratio: Ratio = 4.0
    activation: str = "tanh"
    loss: str = "logistic"
    readout_scale: Rate = 0.03
    steps: Annotated[int, Field(ge=1, le=10_000_000)] = 3000
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 6
    test_count: Annotated[int, Field(ge=1, le=10_000_000)] = 4000
    device: str = "cpu"
    points: Points = 25
    seed: tables.Seed = 0


def two_layer_data(settings: TwoLayerFigureSettings, running: Running) -> pd.DataFrame:
    """Return both errors by sample ratio, of the theory and of networks at two moments of their training."""
    running.start(len(settings.rates) * len(settings.sample_ratios) * settings.repeats, "networks")
    parts = [_theory(settings)]
    for rates in settings.rates:
        parts += _networks(rates, _cells(rates, settings, running), settings)
    return pd.concat(parts, ignore_index=True).assign(fact_fraction=settings.fact_fraction)


def _cells(rates: Rates, settings: TwoLayerFigureSettings, running: Running) -> list[ComputedCell]:
    names = ("dimension", "fact_fraction", "width_ratio", "activation", "loss", "readout_scale", "steps", "device")
    base = {name: getattr(settings, name) for name in (*names, "test_count")}
    axes = [Axis(name, (one,)) for name, one in _named(rates).items()]
    axes.append(Axis("sample_ratio", settings.sample_ratios))
    sweep = make_sweep(get_experiment("rules-facts.two-layer"), base, axes, settings.repeats, settings.seed)
    return compute_cells(sweep, running)


def _named(rates: Rates) -> dict[str, float]:
    return dict(zip(("learning_rate", "feature_rate", "weight_decay"), rates, strict=True))


def _networks(rates: Rates, cells: list[ComputedCell], settings: TwoLayerFigureSettings) -> list[pd.DataFrame]:
    """Return means over the runs at each moment, with the exponent fitted to the runs."""
    runs: dict[float, list[Any]] = {}
    for cell in cells:
        runs.setdefault(cell.settings.sample_ratio, []).append(cell.result)
    parts = []
    for moment in MOMENTS:
        errors = {
            name: np.array([[one[f"{moment}_{name}"] for one in results] for results in runs.values()])
            for name in tables.ERROR_COLUMNS
        }
        rows = [
            {
                "sample_ratio": ratio,
                **tables.mean_columns("generalization_error", rule),
                **tables.mean_columns("memorization_error", fact),
                "remembering_share": float(np.mean([one["memorized_step"] >= 0 for one in results])),
            }
            for (ratio, results), rule, fact in zip(runs.items(), *errors.values(), strict=True)
        ]
        found = fit_decay(list(runs), errors["generalization_error"], seed=settings.seed)
        about = tables.interval_columns("exponent", found.exponent) | {
            "misfit": found.misfit,
            "run_count": settings.repeats,
        }
        parts.append(pd.DataFrame(rows).assign(learner=NETWORK_LEARNER, moment=moment, **_named(rates), **about))
    return parts


def _theory(settings: TwoLayerFigureSettings) -> pd.DataFrame:
    """Return the curves; the exponent of each is fitted at the sample ratios of the runs."""
    low, high = min(settings.sample_ratios), max(settings.sample_ratios)
    ratios = np.union1d(
        np.geomspace(low / SAMPLE_RATIO_AXIS_FACTOR, high * SAMPLE_RATIO_AXIS_FACTOR, settings.points),
        settings.sample_ratios,
    )
    task: dict[str, Any] = {"sample_ratio": ratios, "fact_fraction": settings.fact_fraction}
    angle = optimal_angle("hinge", **task, regularization="optimal")
    curves = {
        "bayes": bayes_optimal(**task).generalization_error,
        "ridge": solve("square", **task).generalization_error,
        "hinge": solve("hinge", **task, kernel=Kernel.from_angle(angle)).generalization_error,
    }
    run = np.isin(ratios, settings.sample_ratios)
    parts = []
    for learner, error in curves.items():
        fitted = tables.interval_columns("exponent", fit_decay(ratios[run], error[run]).exponent)
        parts.append(
            pd.DataFrame({"learner": learner, "sample_ratio": ratios, "generalization_error": error}).assign(**fitted)
        )
    return pd.concat(parts, ignore_index=True)


def two_layer_summary(frame: pd.DataFrame, settings: TwoLayerFigureSettings) -> pd.DataFrame:
    """Return the exponents, and the errors at the largest sample ratio that was run."""
    last = frame[frame["sample_ratio"] == max(settings.sample_ratios)]
    names = ["learner", "moment", "learning_rate", "feature_rate", "weight_decay", *EXPONENT_COLUMNS, "misfit"]
    errors = [f"{name}{end}" for name in tables.ERROR_COLUMNS for end in ("", "_low", "_high")]
    table = last[[*names, "sample_ratio", *errors, "remembering_share"]].reset_index(drop=True)
    return table.assign(fitted_from=min(settings.sample_ratios), fitted_to=max(settings.sample_ratios))


def draw_two_layer(frame: pd.DataFrame, settings: TwoLayerFigureSettings) -> Figure:
    """Draw the generalization error (left) and the memorization error (right) against the samples."""
    figure = style.new_figure(style.PAGE, 3.3)
    left, right = figure.subplots(1, 2)
    for learner, (_, color) in THEORY.items():
        table = frame[frame["learner"] == learner]
        left.plot(table["sample_ratio"], table["generalization_error"], color=color, linewidth=1.0)
    handles = _draw_networks(left, right, frame, settings)
    _finish(left, right, frame, settings)
    _label_curves(left, frame)
    figure.legend(handles=handles, loc="outside lower center", ncols=2, handletextpad=0.5, columnspacing=2.0)
    return figure


def _label_curves(axes: Axes, frame: pd.DataFrame) -> None:
    """Write the name and exponent of each curve next to its right end, apart from one another."""
    ends = frame[frame["learner"].isin(THEORY)].groupby("learner").last().sort_values("generalization_error")
    low, high = np.log(axes.get_ylim())
    place = -np.inf
    for learner, row in ends.iterrows():
        place = max((np.log(row["generalization_error"]) - low) / (high - low), place + LINE)
        name, color = THEORY[str(learner)]
        axes.annotate(
            f"{name}\n" + rf"$\gamma={row['exponent']:.2f}$",
            (1.0, place),
            (3, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            fontsize=style.SMALL_TYPE,
            color=style.text_color(color),
        )


def _draw_networks(left: Axes, right: Axes, frame: pd.DataFrame, settings: TwoLayerFigureSettings) -> list[Line2D]:
    """Draw both errors of every choice of rates, side by side where sample ratios are the same; return the legend."""
    handles: list[Line2D] = []
    shifts = np.geomspace(1.0 / NETWORK_SHIFT_FACTOR, NETWORK_SHIFT_FACTOR, len(settings.rates) * len(MOMENTS)).tolist()
    for color, rates in zip(NETWORK_COLORS, settings.rates, strict=False):
        for moment, when in MOMENTS.items():
            table, shift = _rows(frame, rates, moment), shifts[len(handles)]
            inside = color if moment == "final" else "white"
            mark: dict[str, Any] = {
                **tables.RUN_POINT_STYLE,
                "marker": "o",
                "markerfacecolor": inside,
                "markeredgecolor": color,
            }
            for axes, name in zip((left, right), tables.ERROR_COLUMNS, strict=True):
                x, y = table["sample_ratio"].to_numpy() * shift, table[name].to_numpy()
                axes.plot(x, y, color=color, linewidth=0.5, linestyle=":", zorder=1)
                low, high = tables.interval_of(table, name)
                tables.draw_bars(
                    axes, np.stack([x, x]), np.stack([low.clip(min=MIN_ERROR), high.clip(max=CHANCE)]), color
                )
                axes.plot(x, y, clip_on=False, in_layout=False, **mark)
            handles.append(Line2D([], [], label=rf"{_label(rates)}, {when}: $\gamma=${_exponent(table)}", **mark))
    return handles


def _rows(frame: pd.DataFrame, rates: Rates, moment: str) -> pd.DataFrame:
    chosen = (frame["learner"] == NETWORK_LEARNER) & (frame["moment"] == moment)
    for name, one in _named(rates).items():
        chosen &= frame[name] == one
    return frame[chosen]


def _label(rates: Rates) -> str:
    _, factor, decay = rates
    about = {0.0: "fixed random features", 1.0: "equal rates"}.get(factor, f"first layer {factor:g}× faster")
    return about + (f", decay {decay:g}" if decay else "")


def _exponent(table: pd.DataFrame) -> str:
    value, low, high = (float(table[name].iloc[0]) for name in EXPONENT_COLUMNS)
    return f"{value:.2f}" if math.isnan(low) else f"{value:.2f} [{low:.2f}, {high:.2f}]"


def _finish(left: Axes, right: Axes, frame: pd.DataFrame, settings: TwoLayerFigureSettings) -> None:
    for axes in (left, right):
        ratios = settings.sample_ratios
        style.log_axis(axes, "x", min(ratios) / SAMPLE_RATIO_AXIS_FACTOR, max(ratios) * SAMPLE_RATIO_AXIS_FACTOR)
        axes.xaxis.set_major_locator(FixedLocator(sorted(ratios)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(style.SAMPLE_RATIO_LABEL)
    style.log_axis(left, "y", 0.8 * frame["generalization_error"].min(), CHANCE)
    left.set_ylabel(style.GENERALIZATION_ERROR_LABEL)
    right.set_ylim(-0.01, CHANCE + 0.02)
    right.axhline(CHANCE, color=style.GRAY, linewidth=0.6, zorder=0)
    right.annotate(
        "chance",
        (0.0, CHANCE),
        (3, -2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="top",
        fontsize=style.SMALL_TYPE,
        color=style.DARK_GRAY,
    )
    right.set_ylabel(style.MEMORIZATION_ERROR_LABEL)
    left.set_title(rf"rule, $\varepsilon={settings.fact_fraction:g}$; lines: theory at the best $\lambda$ and angle")
    width = settings.width_ratio * settings.dimension
    right.set_title(rf"facts; $d={settings.dimension}$, {width:g} {settings.activation} units, {settings.loss} loss")


TWO_LAYER_FIGURE = Recipe(TwoLayerFigureSettings, two_layer_data, draw_two_layer, two_layer_summary)
