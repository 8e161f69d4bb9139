"""Figures 3 and 12: errors against the kernel angle, at vanishing and at optimal regularization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import InnerShare, Points, Ratio, Recipe
from genlaws.figures.rules_facts.tables import PAPER_LOSSES, REGULARIZATIONS
from genlaws.render import style
from genlaws.rules_facts import Kernel, bayes_optimal, optimal_angle, solve
from genlaws.sweeps import Axis, Sweep, get_experiment, make_sweep
from genlaws.sweeps.computing import compute_cells
from genlaws.sweeps.experiment import Settings

# The hinge loss jumps at π/2 when the linear model cannot fit every label, so the curve stops just short of it.
MIN_DRAWN_ANGLE, MAX_DRAWN_ANGLE = 0.02, np.pi / 2 - 0.004
ERROR_MARGIN = 0.004  # of the vertical axes, in units of the error


class AnglesFigureSettings(Settings):
    """Sample ratios of the paper's table, at which its numbers are those of ε = 0.2."""

    fact_fraction: InnerShare = 0.2
    sample_ratios: tuple[Ratio, ...] = (2.0, 4.0, 10.0, 20.0)
    angle_points: Points = 240


class MoreFactsSettings(AnglesFigureSettings):
    """Twice the facts of figure 3, our choice of a second value."""

    fact_fraction: InnerShare = 0.4


def angles_data(settings: AnglesFigureSettings, running: Running) -> pd.DataFrame:
    """Return both errors over the angles, for both losses and both regularizations.

    ``reference_error`` is the generalization error of ridge regression at its best angle, which the picture subtracts.
    The last angle, π/2, is the linear model itself.
    """
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    ratios = np.array(settings.sample_ratios)
    reference = solve(
        "square",
        sample_ratio=ratios,
        fact_fraction=settings.fact_fraction,
        kernel=Kernel.from_angle(best),
        regularization=0.0,
    ).generalization_error
    errors = dict(zip(settings.sample_ratios, reference.tolist(), strict=True))
    choices = {value: choice for choice, value in REGULARIZATIONS.items()}
    tables = []
    for cell in compute_cells(_sweep(settings), running, "kernel angles"):
        about = {
            "loss": cell.settings.loss,
            "regularization_choice": choices[cell.settings.regularization],
            "sample_ratio": cell.settings.sample_ratio,
            "fact_fraction": cell.settings.fact_fraction,
            "reference_error": errors[cell.settings.sample_ratio],
        }
        tables.append(pd.DataFrame({**about, **cell.result}))
    return pd.concat(tables, ignore_index=True)


def _sweep(settings: AnglesFigureSettings) -> Sweep:
    """Return one cell for each loss, regularization and sample ratio."""
    base = {
        "fact_fraction": settings.fact_fraction,
        "smallest_angle": MIN_DRAWN_ANGLE,
        "largest_angle": MAX_DRAWN_ANGLE,
        "points": settings.angle_points,
    }
    axes = [
        Axis("loss", PAPER_LOSSES),
        Axis("regularization", tuple(REGULARIZATIONS.values())),
        Axis("sample_ratio", settings.sample_ratios),
    ]
    return make_sweep(get_experiment("rules-facts.angles"), base, axes)


def angles_summary(frame: pd.DataFrame, settings: AnglesFigureSettings) -> pd.DataFrame:
    """Return the numbers printed below the paper's figure, with the angles at which they are reached.

    For many samples the hinge loss has no best angle: its error at the optimal regularization falls all the way to
    π/2 and jumps up at π/2 itself. The value given is then that at the last angle of the search.
    """
    ratios = np.array(settings.sample_ratios)
    task: dict[str, Any] = {"sample_ratio": ratios, "fact_fraction": settings.fact_fraction}
    errors, angles = {"bayes_error": bayes_optimal(**task).generalization_error}, {}
    for error, name, loss, regularization in (
        ("ridge_best_angle_error", "ridge_best_angle", "square", 0.0),
        ("hinge_best_error", "hinge_best_angle", "hinge", "optimal"),
        ("hinge_interpolating_best_error", "hinge_interpolating_best_angle", "hinge", 0.0),
    ):
        angles[name] = optimal_angle(loss, **task, regularization=regularization)
        kernel = Kernel.from_angle(angles[name])
        errors[error] = solve(loss, **task, kernel=kernel, regularization=regularization).generalization_error
    return pd.DataFrame({**task, **errors, **angles})


def draw_angles(frame: pd.DataFrame, settings: AnglesFigureSettings) -> Figure:
    """Draw losses as rows and the three quantities as columns."""
    figure = style.new_figure(style.PAGE, 4.2)
    grid = figure.subplots(len(PAPER_LOSSES), 3, sharex=True)
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    frame = frame.assign(excess=frame["generalization_error"] - frame["reference_error"])
    excess = "generalization error, less\nthat of ridge at $\\theta_{\\mathrm{opt}}$"
    columns = (
        ("zero", "excess", r"$\lambda\to0$", excess),
        ("optimal", "excess", r"best $\lambda$", ""),
        ("optimal", "memorization_error", r"best $\lambda$", style.MEMORIZATION_ERROR_LABEL),
    )
    names = [rf"$\alpha={ratio:g}$" for ratio in settings.sample_ratios]
    memorization_panels = []
    for row, loss in zip(grid, PAPER_LOSSES, strict=True):
        for axes, (choice, column, title, label) in zip(row, columns, strict=True):
            here = frame[(frame["loss"] == loss) & (frame["regularization_choice"] == choice)]
            axes.axvline(best, color=style.BLACK, linewidth=0.8, linestyle="--", zorder=1)
            lines = _draw_curves(axes, here, column, mark_lowest=loss == "hinge" and column == "excess")
            axes.set_title(f"{loss} loss, {title}")
            style.angle_axis(axes)
            axes.label_outer()
            axes.tick_params(labelleft=True)
            axes.set_ylabel(label)
            if column == "excess":
                axes.axhline(0.0, color=style.LIGHT_GRAY, linewidth=0.6, zorder=0)
                axes.set_ylim(frame["excess"].min() - ERROR_MARGIN, frame["excess"].max() + ERROR_MARGIN)
            else:
                axes.set_ylim(-0.01, 0.5)
                memorization_panels.append((axes, lines))
            if (loss, choice, column) == ("square", "optimal", "excess"):
                axes.legend(lines, names, loc="upper right")
    for axes, lines in memorization_panels:
        direct_labels(axes, lines, names)
    return figure


def _draw_curves(axes: Axes, here: pd.DataFrame, column: str, mark_lowest: bool) -> list[Line2D]:
    ratios = here["sample_ratio"].unique()
    lines = []
    for ratio, color in zip(ratios, style.ordered_colors(len(ratios)), strict=True):
        curve = here[(here["sample_ratio"] == ratio) & (here["kernel_angle"] < np.pi / 2)]
        linear = here[(here["sample_ratio"] == ratio) & (here["kernel_angle"] == np.pi / 2)]
        lines += axes.plot(curve["kernel_angle"], curve[column], color=color)
        axes.plot(
            linear["kernel_angle"],
            linear[column],
            "o",
            color=color,
            markersize=3,
            fillstyle="none",
            markeredgewidth=0.8,
        )
        if mark_lowest:
            lowest = curve.loc[curve[column].idxmin()]
            axes.plot(lowest["kernel_angle"], lowest[column], "x", color=color, markersize=4, markeredgewidth=1.0)
    return lines


ANGLES = Recipe(AnglesFigureSettings, angles_data, draw_angles, angles_summary)
ANGLES_MORE_FACTS = Recipe(MoreFactsSettings, angles_data, draw_angles, angles_summary)
