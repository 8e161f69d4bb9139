"""Figure 13: two kernels with the same two numbers, run at finite size, on the one curve of the theory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from genlaws.figures import style
from genlaws.figures.labels import direct_labels
from genlaws.figures.progress import Progress
from genlaws.figures.recipe import Points, Ratio, Recipe
from genlaws.figures.rules_facts_points import (
    ERRORS,
    Dimension,
    Strengths,
    TaskSettings,
    add_runs,
    cell_count,
    draw_points,
    learner_groups,
    point_handle,
    with_runs,
)
from genlaws.figures.rules_facts_tables import LOSSES, regularisation_path
from genlaws.figures.rules_facts_tradeoff import draw_path, kernel_path, loss_panels
from genlaws.numerics.intervals import from_standard_error
from genlaws.rules_facts import Kernel, optimal_angle, parameter_for_angle

DIGITS = 4  # of the bandwidth: the same on every machine, and in every cell
KERNELS = {"Gaussian": False, "quadratic": True}  # whether the kernel is the match of the Gaussian one
LOOKS: dict[str, dict[str, Any]] = {
    "Gaussian": {"colour": style.KERNEL_COLOURS["gaussian"], "marker": "o"},
    "quadratic": {"colour": style.DARK_GREY, "marker": "s"},
}


class AgreementSettings(TaskSettings):
    """One bandwidth for each loss, that of least generalisation error as the regularisation vanishes.

    The square loss bears stronger regularisation than the hinge loss before the noise of the intercept is seen.
    """

    sample_ratio: Ratio = 3.0
    dimension: Dimension = 400
    run_regularisations: Strengths = (0.01, 0.3, 0.6, 1.0, 2.0)
    strongest_with_intercept: Ratio = 2.0
    strongest_hinge: Ratio = 1.0
    path_points: Points = 400


def agreement_data(settings: AgreementSettings, progress: Progress) -> pd.DataFrame:
    """Return the path of the theory for either kernel under both losses, and the runs beside it."""
    names = {loss: f"gaussian:{_best_rate(loss, settings)!r}" for loss in LOSSES}
    weaker = settings.model_copy(update={"strongest_with_intercept": settings.strongest_hinge})
    groups = [
        group
        for chosen, (loss, name) in zip((settings, weaker), names.items(), strict=True)
        for group in learner_groups(chosen, (loss,), (name,), matched=tuple(KERNELS.values()))
    ]
    progress.start(len(LOSSES) * len(KERNELS) + cell_count(groups, settings.repeats), "kernels and runs")
    strengths = with_runs(regularisation_path(settings.path_points), settings)
    tables = []
    for loss, name in names.items():
        solved = Kernel.from_name(name)
        for family, matched in KERNELS.items():
            about: dict[str, Any] = {"family": family, "kernel": name, "matched": matched}
            angle = float(solved.kernel_angle)
            tables.append(kernel_path(settings, loss, solved, strengths, **about, kernel_angle=angle))
            progress.advance(1)
    return add_runs(pd.concat(tables, ignore_index=True), groups, settings, progress)


def _best_rate(loss: str, settings: AgreementSettings) -> float:
    angle = optimal_angle(loss, fact_fraction=settings.fact_fraction, sample_ratio=settings.sample_ratio)
    return float(f"{float(parameter_for_angle('gaussian', angle)):.{DIGITS}g}")


def agreement_summary(frame: pd.DataFrame, settings: AgreementSettings) -> pd.DataFrame:
    """Return how far apart the two kernels are at each regularisation, and each of them from the theory.

    The kernels have draws of their own, so the difference has the errors of both; its interval is Welch's. At finite
    size there is a difference of about α/2d at weak regularisation: the d²/2 features of the quadratic kernel's
    non-linear part are not many more than the samples.
    """
    rows = []
    runs = frame[frame["run_count"].notna()]
    for (loss, strength), table in runs.groupby(["loss", "regularisation"], sort=False):
        pair = [table[table["family"] == family].iloc[0] for family in KERNELS]
        row: dict[str, Any] = {"loss": loss, "kernel": pair[0]["kernel"], "regularisation": strength}
        for name in ERRORS:
            row |= _difference(name, *pair)
        rows.append(row)
    return pd.DataFrame(rows)


def _difference(name: str, first: pd.Series[Any], second: pd.Series[Any]) -> dict[str, float]:
    squares = np.array([one[f"run_{name}_standard_error"] ** 2 for one in (first, second)])
    counts = np.array([one["run_count"] for one in (first, second)])
    error = float(np.sqrt(squares.sum()))
    freedom = float(squares.sum() ** 2 / (squares**2 / (counts - 1)).sum()) if error > 0.0 else 1.0
    value = float(first[f"run_{name}"] - second[f"run_{name}"])
    found = from_standard_error(value, error, int(counts.sum()), freedom=freedom)
    short = name.removesuffix("_error")
    return {
        f"{short}_difference": value,
        f"{short}_difference_low": found.low,
        f"{short}_difference_high": found.high,
        **{
            f"{short}_{family}_less_theory": float(one[f"run_{name}"] - one[name])
            for family, one in zip(KERNELS, (first, second), strict=True)
        },
    }


def draw_agreement(frame: pd.DataFrame, settings: AgreementSettings) -> Figure:
    """Draw one panel per loss: the path of the theory, and the runs of both kernels on it."""
    figure, panels = loss_panels(frame, settings)
    lines = []
    for loss, axes in panels.items():
        here = frame[frame["loss"] == loss]
        rate = str(here["kernel"].iloc[0]).split(":")[1]
        axes.set_title(rf"{axes.get_title()}, $\gamma={float(rate):.3g}$")
        lines.append((axes, draw_path(axes, here[here["family"] == "Gaussian"], style.BLACK)))
        for family, look in LOOKS.items():
            draw_points(axes, here[here["family"] == family], **look)
    handles = [point_handle(settings, look["colour"], family, marker=look["marker"]) for family, look in LOOKS.items()]
    style.legend_below(figure, [*style.path_end_handles(), *(handles if settings.repeats else [])])
    for axes, line in lines:
        direct_labels(axes, [line], ["theory of both kernels"])
    return figure


AGREEMENT = Recipe(AgreementSettings, agreement_data, draw_agreement, agreement_summary)
