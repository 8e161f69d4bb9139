"""Write advice about one data set as a table and a picture, as ``genlaws rules-facts advise`` does in its folder."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from scipy.interpolate import PchipInterpolator

from genlaws.core.estimate import wilson_interval
from genlaws.figures.rules_facts.tables import regularization_path
from genlaws.render import style
from genlaws.rules_facts import Kernel, solve
from genlaws.rules_facts.labels.result import ALL, CONTRADICTED, FACTS, Advice, Choice

ADVICE_CAPTION = (
    "Left: generalization error against the kernel parameter without regularization and at the best one. Right: "
    "memorization error against generalization error as the regularization of the chosen kernels grows. Points are "
    "cross-validated, with 95 % intervals; the best regularization is the best of many and so optimistic. Green marks "
    "the theory's choice of kernel and purple the best found, solid for perfect memory and dashed for the rule alone."
)
THEORY_NOTE = "Lines are the theory at the measured kernel numbers, for Gaussian inputs and a linear rule."
NO_THEORY_NOTE = (
    "The theory, for Gaussian inputs and a linear rule, is not drawn: it does not describe these data, because"
)
CLIPPED_NOTE = "A generalization error below zero after the correction for the share of facts is drawn at zero."
DASHED = (0, (4, 2))
MARKS: dict[str, dict[str, Any]] = {
    "theory_memory": {"label": "theory's choice, for memory", "color": style.GREEN, "linestyle": "-"},
    "theory_rule": {"label": "theory's choice, for the rule", "color": style.GREEN, "linestyle": DASHED},
    "found_memory": {"label": "best found, for memory", "color": style.PURPLE, "linestyle": "-"},
    "found_rule": {"label": "best found, for the rule", "color": style.PURPLE, "linestyle": DASHED},
}
ZERO_COLOR, BEST_COLOR = style.BLUE, style.ORANGE
MEMORY_LABEL_SUFFIXES = {FACTS: "", CONTRADICTED: ", contradicted labels", ALL: ", all labels"}
ADVICE_POINT_STYLE: dict[str, Any] = {
    "marker": "o",
    "markersize": 3.0,
    "markeredgewidth": 0.8,
    "linestyle": "none",
    "zorder": 3,
}
INTERVAL_STYLE: dict[str, Any] = {"linewidth": 0.6, "alpha": 0.35, "zorder": 2}
MEASURED_COLUMNS = (
    *("regularization", "generalization_error", "generalization_low", "generalization_high"),
    "generalization_clipped",
)
# Points of a theory curve, and the smallest angle it is solved at: below, the linear part of a kernel is negligible.
ADVICE_CURVE_POINTS, ADVICE_PATH_POINTS = 120, 300
MIN_SOLVED_ANGLE = 1e-4
# Factors: between the points of the two curves, so that both are visible, and beyond the ends of the axis.
CURVE_SHIFT_FACTOR, PARAMETER_AXIS_FACTOR = 1.03, 1.35
TITLE_WIDTH = 100  # characters of a line
# If half of the errors are below this share of the largest, their axis has a square-root scale.
ROOT_SCALE_RATIO, MIN_ERROR_RANGE, ROOT_TICKS = 0.25, 0.02, (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5)


def advice_table(advice: Advice) -> pd.DataFrame:
    """Return the data of the picture, one row per point.

    ``series`` is measured_zero, measured_best, theory_zero or theory_best for the left panel, measured_path or
    theory_path for the right one, and the name of a choice for the marks. The theory is left out where it does not
    describe the data, and its path where memory is not that of facts.
    """
    first = np.zeros(len(advice.parameter), dtype=np.int64)
    best = advice.generalization_error.argmin(axis=1)
    rows = np.arange(len(first))
    parts = [_measured_rows("measured_zero", advice, rows, first), _measured_rows("measured_best", advice, rows, best)]
    if advice.theory_fits:
        parts += _theory_curves(advice)
    columns = np.arange(advice.regularization.shape[1])
    chosen = [getattr(advice, name).parameter for name in MARKS]
    for row in np.flatnonzero(np.isin(advice.parameter, chosen)).tolist():
        parts.append(_measured_rows("measured_path", advice, np.full_like(columns, row), columns))
        if advice.theory_fits and advice.memory_samples == FACTS:
            parts.append(_theory_path(advice, row))
    parts.append(pd.DataFrame([_choice_row(name, getattr(advice, name)) for name in MARKS]))
    return pd.concat(parts, ignore_index=True)


def _choice_row(name: str, choice: Choice) -> dict[str, str | float]:
    error = choice.generalization_error
    columns = {"generalization_error": error.value, "generalization_low": error.low, "generalization_high": error.high}
    same = ("parameter", "kernel_angle", "regularization", "memorization_error")
    return {"series": name, **columns, **{column: getattr(choice, column) for column in same}}


def _measured_rows(series: str, advice: Advice, rows: np.ndarray, columns: np.ndarray) -> pd.DataFrame:
    forgotten = advice.memorization_error[rows, columns]
    counted = [wilson_interval(round(share * advice.memory_count), advice.memory_count) for share in forgotten]
    return pd.DataFrame(
        {
            "series": series,
            "parameter": advice.parameter[rows],
            "kernel_angle": advice.kernel_angle[rows],
            **{name: getattr(advice, name)[rows, columns] for name in MEASURED_COLUMNS},
            "memorization_error": forgotten,
            "memorization_low": [one.low for one in counted],
            "memorization_high": [one.high for one in counted],
        }
    )


def _theory_curves(advice: Advice) -> list[pd.DataFrame]:
    """Return the theory without regularization and at the best, which depends on the angle alone."""
    parameter, angle = advice.parameter, advice.kernel_angle
    if len(parameter) > 1:
        # Between the kernels that were tried the angle is interpolated.
        parameter = np.geomspace(parameter[0], parameter[-1], ADVICE_CURVE_POINTS)
        angle = PchipInterpolator(np.log(advice.parameter), angle)(np.log(parameter))
    kernel = Kernel.from_angle(np.clip(angle, MIN_SOLVED_ANGLE, np.pi / 2))
    return [
        _theory_rows(name, advice, kernel, at, parameter=parameter, kernel_angle=angle)
        for name, at in (("theory_zero", 0.0), ("theory_best", "optimal"))
    ]


def _theory_path(advice: Advice, row: int) -> pd.DataFrame:
    mu_1, mu_star = float(advice.mu_1[row]), float(advice.mu_star[row])
    path = regularization_path(ADVICE_PATH_POINTS) * (mu_1**2 + mu_star**2)
    columns = {"parameter": advice.parameter[row], "kernel_angle": advice.kernel_angle[row]}
    return _theory_rows("theory_path", advice, Kernel(mu_1, mu_star), path, **columns)


def _theory_rows(series: str, advice: Advice, kernel: Kernel, regularization: Any, **columns: Any) -> pd.DataFrame:
    left_out, fitted = (
        solve(
            advice.loss,
            sample_ratio=share * advice.effective_sample_ratio,
            fact_fraction=advice.fact_fraction.value,
            kernel=kernel,
            regularization=regularization,
        )
        for share in (advice.trained_share, 1.0)
    )
    return pd.DataFrame(
        {
            "series": series,
            **columns,
            # At a given angle the size of the kernel, and with it that of λ, is arbitrary.
            "regularization": regularization if series == "theory_path" else np.nan,
            "generalization_error": left_out.generalization_error,
            "memorization_error": fitted.memorization_error,
        }
    )


def draw_advice(table: pd.DataFrame, title: str, family: str, memory_samples: str) -> Figure:
    """Draw the table of :func:`advice_table`: the kernels on the left, the paths of the chosen ones on the right."""
    figure = style.new_figure(style.PAGE, 3.5)
    left, right = figure.subplots(1, 2)
    figure.suptitle(textwrap.fill(title, TITLE_WIDTH), fontsize=8.0)
    _draw_kernels(left, table, family)
    _draw_paths(right, table)
    right.set_ylabel(style.MEMORIZATION_ERROR_LABEL + MEMORY_LABEL_SUFFIXES[memory_samples])
    return figure


def _draw_kernels(axes: Axes, table: pd.DataFrame, family: str) -> None:
    for name, mark in MARKS.items():
        at = table.loc[table["series"] == name, "parameter"].iloc[0]
        axes.axvline(at, zorder=1, **_weight(name), **mark)
    for place, (which, color) in enumerate((("zero", ZERO_COLOR), ("best", BEST_COLOR))):
        theory, run = (table[table["series"] == f"{kind}_{which}"] for kind in ("theory", "measured"))
        # Both stay visible where the two curves coincide.
        axes.plot(theory["parameter"], theory["generalization_error"], color=color, linewidth=2.2 - place)
        x = run["parameter"] * CURVE_SHIFT_FACTOR ** (2 * place - 1)
        axes.vlines(x, run["generalization_low"], run["generalization_high"], color=color, linewidth=0.8, zorder=2)
        axes.plot(x, run["generalization_error"], color=color, **ADVICE_POINT_STYLE)
    tried = table.loc[table["series"] == "measured_zero", "parameter"]
    style.log_axis(axes, "x", float(tried.min()) / PARAMETER_AXIS_FACTOR, float(tried.max()) * PARAMETER_AXIS_FACTOR)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(f"parameter of the {style.kernel_label(family)} kernel")
    axes.set_ylabel(style.GENERALIZATION_ERROR_LABEL)
    handles = [
        Line2D([], [], color=ZERO_COLOR, marker="o", markersize=3.0, label=r"$\lambda\to0$"),
        Line2D([], [], color=BEST_COLOR, marker="o", markersize=3.0, label=r"best $\lambda$"),
    ]
    handles += [Line2D([], [], **_weight(name), **mark) for name, mark in MARKS.items()]
    _draw_legend(axes, handles, 3)


def _draw_paths(axes: Axes, table: pd.DataFrame) -> None:
    drawn: set[float] = set()
    for name, mark in MARKS.items():
        parameter = float(table.loc[table["series"] == name, "parameter"].iloc[0])
        if parameter in drawn:
            continue
        drawn.add(parameter)
        theory, run = (
            table[(table["series"] == f"{kind}_path") & (table["parameter"] == parameter)]
            for kind in ("theory", "measured")
        )
        if len(theory):
            x, y = theory["generalization_error"].to_numpy(), theory["memorization_error"].to_numpy()
            axes.plot(x, y, **mark)
            style.mark_path_ends(axes, x, y)
        x, y, color = run["generalization_error"].to_numpy(), run["memorization_error"].to_numpy(), mark["color"]
        axes.hlines(y, run["generalization_low"], run["generalization_high"], color=color, **INTERVAL_STYLE)
        axes.vlines(x, run["memorization_low"], run["memorization_high"], color=color, **INTERVAL_STYLE)
        axes.plot(x, y, color=color, fillstyle="full" if "memory" in name else "none", **ADVICE_POINT_STYLE)
        style.mark_path_ends(axes, x, y)
    _error_axis(axes, table)
    axes.set_ylim(bottom=0.0)
    theory_line = [Line2D([], [], color=style.GRAY, label="theory")] if "theory_path" in set(table["series"]) else []
    handles = [
        *theory_line,
        Line2D([], [], color=style.GRAY, label="measured", **ADVICE_POINT_STYLE),
        Line2D([], [], label=r"no regularization, $\lambda\to0$", **style.ZERO_MARKER),
        Line2D([], [], label=r"$\lambda\to\infty$, or the largest tried", **style.INFINITE_MARKER),
    ]
    _draw_legend(axes, handles, 2)


def _weight(name: str) -> dict[str, Any]:
    """Return width and opacity of a vertical mark: the one of the theory stays visible below the one of the data."""
    return {"linewidth": 2.0, "alpha": 0.5} if name.startswith("theory") else {"linewidth": 0.8, "alpha": 1.0}


def _error_axis(axes: Axes, table: pd.DataFrame) -> None:
    """Start the horizontal axis at zero; where most errors are far below the largest, give them room."""
    paths = table[table["series"].isin(["measured_path", "theory_path"])]
    largest = max(float(paths["generalization_error"].max()), MIN_ERROR_RANGE)
    root = table.loc[table["series"] == "measured_path", "generalization_error"].median() < ROOT_SCALE_RATIO * largest
    if root:
        axes.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0.0)), np.square))
        axes.set_xticks([tick for tick in ROOT_TICKS if tick < 1.1 * largest])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(0.0, 1.15 * largest)
    axes.set_xlabel(style.GENERALIZATION_ERROR_LABEL + (", square-root scale" if root else ""))


def _draw_legend(axes: Axes, handles: list[Line2D], columns: int) -> None:
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=columns, columnspacing=1.2)


def _format_caption(advice: Advice) -> str:
    """Return the caption: what is drawn, on which samples memory is measured, and whether the theory is drawn."""
    memory = f"The memorization error is that on {advice.memory_samples_text}."
    corrected = [] if advice.memory_samples == FACTS else [CLIPPED_NOTE]
    theory = THEORY_NOTE if advice.theory_fits else f"{NO_THEORY_NOTE} {'; '.join(advice.theory_misfits)}."
    return " ".join([ADVICE_CAPTION, memory, *corrected, theory])


def advice_pictures(advice: Advice) -> dict[str, Figure]:
    """Return the picture of an advice."""
    name = advice.call.arguments["name"] if advice.call else "data"
    title = f"{name}: {advice.loss} loss, n = {advice.sample_count}, ε = {advice.fact_fraction.value:.2g}"
    return {"advice": draw_advice(advice_table(advice), title, advice.family, advice.memory_samples)}


def advice_files(advice: Advice) -> dict[str, str]:
    """Return the table and the caption of the picture."""
    return {"advice.csv": advice_table(advice).to_csv(index=False), "advice.txt": _format_caption(advice) + "\n"}
