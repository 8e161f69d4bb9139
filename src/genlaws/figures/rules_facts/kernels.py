"""Figures 3, 10 and 12: where common kernels lie, and errors against the kernel angle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import InnerShare, Points, Ratio, Recipe
from genlaws.figures.rules_facts.tables import PAPER_LOSSES, REGULARIZATIONS
from genlaws.render import style
from genlaws.rules_facts import Kernel, bayes_optimal, optimal_angle, parameter_for_angle, solve
from genlaws.rules_facts.kernels.families import FAMILIES
from genlaws.sweeps import Axis, Sweep, get_experiment, make_sweep
from genlaws.sweeps.computing import compute_cells
from genlaws.sweeps.experiment import Settings

FIXED_KERNELS = ("linear", "sign", "erf", "relu")
# Family, degree of the polynomial (0 where there is none), label of the curve, dashes.
FAMILY_CURVES = (
    ("polynomial", 2, "degree 2", "-"),
    ("polynomial", 3, "degree 3", "--"),
    ("exponential", 0, "exponential", "-"),
    ("geometric", 0, "geometric", "--"),
    ("gaussian", 0, "Gaussian", "-"),
)
PARAMETER_LABELS = {
    "polynomial": r"offset $c$",
    "geometric": r"ratio $\gamma$",
    "gaussian": r"exponential, rate $\gamma$",
}
ANGLE_RANGE = (0.15, 1.5)  # of the curves in the plane of coefficients
MAX_COEFFICIENT = 2.2  # largest coefficient in the picture
# The hinge loss jumps at π/2 when the linear model cannot fit every label, so the curve stops just short of it.
MIN_DRAWN_ANGLE, MAX_DRAWN_ANGLE = 0.02, np.pi / 2 - 0.004
ERROR_MARGIN = 0.004  # of the vertical axes, in units of the error


class FamiliesSettings(Settings):
    """The ray is drawn at ``fact_fraction``; the parameters run over all fact fractions."""

    fact_fraction: InnerShare = 0.2
    curve_points: Points = 160
    fact_points: Points = 99


def families_data(settings: FamiliesSettings, running: Running) -> pd.DataFrame:
    """Return coefficients and parameters.

    ``series`` is ``fixed`` (kernels without a parameter), ``family`` (a curve in the plane), ``optimal`` (the family at
    the best angle of ``fact_fraction``) or ``matching`` (the same along the fact fraction). A kernel without a
    parameter has parameter 0, one that is no polynomial degree 0.
    """
    shares = np.linspace(0.0, 1.0, settings.fact_points + 2)[1:-1]
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    running.start(len(FAMILY_CURVES), "families")
    tables = [
        _rows("fixed", name, Kernel.from_name(name), degree=0, parameter=0.0, fact_fraction=settings.fact_fraction)
        for name in FIXED_KERNELS
    ]
    for family, degree, _, _ in FAMILY_CURVES:
        series = (
            ("family", np.linspace(*ANGLE_RANGE, settings.curve_points), settings.fact_fraction),
            ("optimal", np.array([best]), settings.fact_fraction),
            ("matching", np.asarray(optimal_angle("square", fact_fraction=shares)), shares),
        )
        for name, angles, share in series:
            parameter = parameter_for_angle(family, angles, **({"degree": degree} if degree else {}))
            kernel = _kernel(family, degree, parameter)
            tables.append(_rows(name, family, kernel, degree=degree, parameter=parameter, fact_fraction=share))
        running.advance(1)
    return pd.concat(tables, ignore_index=True)


def _kernel(family: str, degree: int, parameter: np.ndarray) -> Kernel:
    squares = FAMILIES[family].squares(*([degree] if degree else []), np.ravel(parameter))
    return Kernel(np.sqrt(squares[0]), np.sqrt(squares[1]), family)


def _rows(series: str, family: str, kernel: Kernel, **given: float | np.ndarray) -> pd.DataFrame:
    columns = given | {name: getattr(kernel, name) for name in ("mu_1", "mu_star", "kernel_angle")}
    spread = np.broadcast_arrays(*(np.atleast_1d(np.asarray(value)) for value in columns.values()))
    return pd.DataFrame({"series": series, "kernel": family, **dict(zip(columns, spread, strict=True))})


def draw_families(frame: pd.DataFrame, settings: FamiliesSettings) -> Figure:
    """Draw the plane of coefficients (left) and the matching parameters (right)."""
    figure = style.new_figure(style.PAGE, 3.3)
    left, right = figure.subplots(1, 2)
    plane = _draw_plane(left, frame, settings)
    matching = _draw_matching(right, frame, settings)
    style.legend_below(figure, [line for line in left.get_lines() if not str(line.get_label()).startswith("_")])
    direct_labels(left, *plane)
    direct_labels(right, *matching)
    return figure


def _draw_plane(axes: Axes, frame: pd.DataFrame, settings: FamiliesSettings) -> tuple[list[Line2D], list[str]]:
    best = float(optimal_angle("square", fact_fraction=settings.fact_fraction))
    axes.set_xlim(0.0, MAX_COEFFICIENT)
    axes.set_ylim(0.0, MAX_COEFFICIENT)
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MultipleLocator(0.5))
    lines, labels = [], []
    fixed = frame[frame["series"] == "fixed"]
    for name, mu_1, mu_star in zip(fixed["kernel"], fixed["mu_1"], fixed["mu_star"], strict=True):
        _draw_dot(axes, (mu_star, mu_1), "D", style.KERNEL_COLORS[name], f"{style.kernel_label(name)} kernel")
    for family, degree, label, dashes in FAMILY_CURVES:
        here = frame[(frame["kernel"] == family) & (frame["degree"] == degree)]
        curve, match = here[here["series"] == "family"], here[here["series"] == "optimal"]
        lines += axes.plot(curve["mu_star"], curve["mu_1"], dashes, color=style.KERNEL_COLORS[family])
        labels.append(f"polynomial, {label}" if degree else label)
        _draw_dot(axes, (match["mu_star"].iloc[0], match["mu_1"].iloc[0]), "o", style.KERNEL_COLORS[family])
    _draw_dot(axes, (np.nan, np.nan), "o", "white", "family at the best angle")
    reach = 2.0 * MAX_COEFFICIENT
    lines += axes.plot(
        [0.0, reach * np.cos(best)], [0.0, reach * np.sin(best)], color=style.BLACK, linewidth=0.9, linestyle=":"
    )
    labels.append(rf"$\theta_{{\mathrm{{opt}}}}={best:.3f}$")
    axes.set_xlabel(r"non-linear coefficient $\mu_\star$")
    axes.set_ylabel(r"linear coefficient $\mu_1$")
    axes.set_title(rf"kernels, and the best angle at $\varepsilon={settings.fact_fraction:g}$")
    return lines, labels


def _draw_dot(axes: Axes, place: tuple[float, float], marker: str, color: str, label: str | None = None) -> None:
    (dot,) = axes.plot(*place, marker, color=color, markersize=4.2, clip_on=False, zorder=4, label=label)
    dot.set_markeredgecolor(style.BLACK)
    dot.set_markeredgewidth(0.5)


def _draw_matching(axes: Axes, frame: pd.DataFrame, settings: FamiliesSettings) -> tuple[list[Line2D], list[str]]:
    here = frame[frame["series"] == "matching"]
    lines, labels = [], []
    for family, degree, label, dashes in FAMILY_CURVES:
        if family == "exponential":
            continue
        curve = here[(here["kernel"] == family) & (here["degree"] == degree)]
        lines += axes.plot(curve["fact_fraction"], curve["parameter"], dashes, color=style.KERNEL_COLORS[family])
        labels.append(f"{label}, {PARAMETER_LABELS[family]}")
    axes.axvline(settings.fact_fraction, color=style.BLACK, linewidth=0.8, linestyle=":")
    axes.set_xlim(0.0, 1.0)
    style.log_axis(axes, "y", 0.03, 20.0)
    axes.set_xlabel(style.FACT_FRACTION_LABEL)
    axes.set_ylabel("parameter of the family")
    axes.set_title("parameter that gives the best angle")
    return lines, labels


KERNEL_FAMILIES = Recipe(FamiliesSettings, families_data, draw_families)


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
