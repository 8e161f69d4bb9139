"""Runs of finite size against the theory: two kernels with the same two numbers (Figure 13), and extrapolated runs."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field
from scipy import special

from genlaws.core.estimate import from_standard_error
from genlaws.core.running import Running
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import InnerShare, Points, Ratio, Recipe
from genlaws.figures.rules_facts import tables
from genlaws.figures.rules_facts.tradeoff import loss_panels
from genlaws.render import style
from genlaws.rules_facts import Kernel, optimal_angle, parameter_for_angle
from genlaws.rules_facts.finite_size.extrapolation import extrapolate
from genlaws.sweeps.experiment import Settings

BANDWIDTH_DIGITS = 4  # significant digits, so that it is the same on every machine and in every cell
MATCHED_KERNELS = {"Gaussian": False, "quadratic": True}  # whether the kernel is the match of the Gaussian one
LOOKS: dict[str, dict[str, Any]] = {
    "Gaussian": {"color": style.KERNEL_COLORS["gaussian"], "marker": "o"},
    "quadratic": {"color": style.DARK_GRAY, "marker": "s"},
}
Task = tuple[Ratio, InnerShare, Ratio]
Learner = tuple[str, Ratio | None]

TESTS_PER_DIMENSION = 10  # in proportion, so that the variance of every error goes as 1/d
# A memorization error is compared if the theory expects this many wrong facts among the runs of each dimension: with
# fewer, the mean is too skewed for its standard error to be valid.
MIN_WRONG_FACTS = 10.0
SETTING_COLUMNS = ["loss", "kernel", "width_ratio", "sample_ratio", "fact_fraction", "regularization"]
FIT_COLUMNS = ("limit", "limit_error", "correction", "correction_error", "chi_square", "z_score")
ERROR_MARKERS = {"generalization": "o", "memorization": "s"}


class AgreementSettings(tables.TaskSettings):
    """One bandwidth for each loss, that of least generalization error as the regularization vanishes.

    The square loss allows stronger regularization than the hinge loss before the noise of the intercept shows.
    """

    sample_ratio: Ratio = 3.0
    dimension: tables.Dimension = 400
    run_regularizations: tables.Strengths = (0.01, 0.3, 0.6, 1.0, 2.0)
    strongest_with_intercept: Ratio = 2.0
    strongest_hinge: Ratio = 1.0
    path_points: Points = 400


def agreement_data(settings: AgreementSettings, running: Running) -> pd.DataFrame:
    """Return the path of the theory for either kernel under both losses, with the means of the runs."""
    names = {loss: f"gaussian:{_best_rate(loss, settings)!r}" for loss in tables.PAPER_LOSSES}
    weaker = settings.model_copy(update={"strongest_with_intercept": settings.strongest_hinge})
    groups = [
        group
        for chosen, (loss, name) in zip((settings, weaker), names.items(), strict=True)
        for group in tables.learner_groups(chosen, (loss,), (name,), matched=tuple(MATCHED_KERNELS.values()))
    ]
    learners: list[tables.PathLearner] = []
    for loss, name in names.items():
        solved = Kernel.from_name(name)
        for family, matched in MATCHED_KERNELS.items():
            about = {"family": family, "kernel": name, "matched": matched, "kernel_angle": solved.kernel_angle}
            learners.append((loss, solved, {"about": about}))
    return tables.paths_and_runs(settings, learners, groups, running, "kernels and runs")


def _best_rate(loss: str, settings: AgreementSettings) -> float:
    angle = optimal_angle(loss, fact_fraction=settings.fact_fraction, sample_ratio=settings.sample_ratio)
    return float(f"{float(parameter_for_angle('gaussian', angle)):.{BANDWIDTH_DIGITS}g}")


def agreement_summary(frame: pd.DataFrame, settings: AgreementSettings) -> pd.DataFrame:
    """Return how far apart the two kernels are at each regularization, and each of them from the theory.

    The kernels have draws of their own, so the difference has the errors of both; its interval is Welch's. At finite
    size there is a difference of about α/2d at weak regularization: the d²/2 features of the quadratic kernel's
    non-linear part are not many more than the samples.
    """
    rows = []
    runs = frame[frame["run_count"].notna()]
    for (loss, strength), table in runs.groupby(["loss", "regularization"], sort=False):
        pair = [table[table["family"] == family].iloc[0] for family in MATCHED_KERNELS]
        row: dict[str, Any] = {"loss": loss, "kernel": pair[0]["kernel"], "regularization": strength}
        for name in tables.ERROR_COLUMNS:
            row |= _difference_columns(name, *pair)
        rows.append(row)
    return pd.DataFrame(rows)


def _difference_columns(name: str, first: pd.Series[Any], second: pd.Series[Any]) -> dict[str, float]:
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
            for family, one in zip(MATCHED_KERNELS, (first, second), strict=True)
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
        lines.append((axes, tables.draw_path(axes, here[here["family"] == "Gaussian"], style.BLACK)))
        for family, look in LOOKS.items():
            tables.draw_points(axes, here[here["family"] == family], **look)
    handles = [
        tables.point_handle(settings, look["color"], family, marker=look["marker"]) for family, look in LOOKS.items()
    ]
    style.legend_below(figure, [*style.path_end_handles(), *(handles if settings.repeats else [])])
    for axes, line in lines:
        direct_labels(axes, [line], ["theory of both kernels"])
    return figure


AGREEMENT = Recipe(AgreementSettings, agreement_data, draw_agreement, agreement_summary)


class LimitSettings(Settings):
    """Every learner with both losses on every task: sample ratio, fact fraction and regularization."""

    dimensions: Annotated[tuple[tables.Dimension, ...], Field(min_length=3, max_length=10)] = (80, 160, 320)
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 16
    tasks: Annotated[tuple[Task, ...], Field(min_length=1)] = ((1.0, 0.2, 0.1), (2.0, 0.4, 0.3), (3.0, 0.2, 0.3))
    learners: Annotated[tuple[Learner, ...], Field(min_length=1)] = (
        ("linear", None),
        ("erf", None),
        ("relu", None),
        ("gaussian:1.5", None),
        ("erf", 2.0),
        ("relu", 2.0),
        ("relu", 0.5),
    )
    seed: tables.Seed = 0


def limit_data(settings: LimitSettings, running: Running) -> pd.DataFrame:
    """Return one row for each learner, task and error: means by dimension, their limit, the theory and the z-score.

    The variance of an error goes as 1/d. The standard errors of the fit therefore come from one variance, that of the
    runs of all dimensions times d, which does not vary with the mean of a single dimension. The standard
    errors of the columns are those of each dimension alone.
    """
    groups = _groups(settings)
    running.start(tables.cell_count(groups, settings.repeats), "runs")
    points = tables.averaged(tables.run_cells(groups, settings.repeats, settings.seed, running))
    rows = []
    for key, table in points.groupby(SETTING_COLUMNS, sort=False):
        setting: dict[str, Any] = dict(zip(SETTING_COLUMNS, key, strict=True))
        theory = tables.errors_table(**setting).iloc[0]
        rows += [{**setting, **_comparison_row(name, table, theory[name], settings)} for name in tables.ERROR_COLUMNS]
    return pd.DataFrame(rows)


def _groups(settings: LimitSettings) -> list[tables.Group]:
    kernels: dict[float | None, list[str]] = {}
    for kernel, width in settings.learners:
        kernels.setdefault(width, []).append(kernel)
    return [
        {
            "loss": tables.PAPER_LOSSES,
            "kernel": names,
            "width_ratio": (width,),
            "dimension": (dimension,),
            "test_count": (TESTS_PER_DIMENSION * dimension,),
            "sample_ratio": (alpha,),
            "fact_fraction": (epsilon,),
            "regularizations": ((strength,),),
        }
        for alpha, epsilon, strength in settings.tasks
        for width, names in kernels.items()
        for dimension in settings.dimensions
    ]


def _comparison_row(name: str, table: pd.DataFrame, theory: float, settings: LimitSettings) -> dict[str, Any]:
    """Return the limit of one error and the theory; empty where errors are too rare to be compared."""
    table = table.sort_values("dimension")
    dimension, runs = table["dimension"].to_numpy(), table["run_count"].to_numpy()
    means, errors = table[f"run_{name}"].to_numpy(), table[f"run_{name}_standard_error"].to_numpy()
    row: dict[str, Any] = {"quantity": name.removesuffix("_error"), "theory": theory}
    for d, mean, error in zip(dimension, means, errors, strict=True):
        row |= {f"mean_{d}": mean, f"standard_error_{d}": error}
    facts = table["fact_fraction"].to_numpy() * table["sample_ratio"].to_numpy() * dimension * runs
    enough = name != "memorization_error" or float((theory * facts).min()) >= MIN_WRONG_FACTS
    row |= {"compared": bool(enough), **dict.fromkeys(FIT_COLUMNS, np.nan)}
    if enough:
        variance = float((errors**2 * runs * dimension).mean())
        fit = extrapolate(dimension, means, np.sqrt(variance / (runs * dimension)))
        values = (fit.value, fit.error, fit.correction, fit.correction_error, fit.chi_square, fit.z_score(theory))
        row |= dict(zip(FIT_COLUMNS, values, strict=True))
    return row


def limit_summary(frame: pd.DataFrame, settings: LimitSettings) -> pd.DataFrame:
    """Return count, mean, standard deviation and largest of the z-scores, with the setting of the largest."""
    rows = []
    used = frame[frame["compared"]]
    for quantity in ("generalization", "memorization", "both"):
        table = used if quantity == "both" else used[used["quantity"] == quantity]
        if table.empty:
            continue
        z = table["z_score"]
        worst = table.iloc[int(z.abs().argmax())][SETTING_COLUMNS]
        rows.append(
            {
                "quantity": quantity,
                "count": len(z),
                "mean_z": z.mean(),
                "deviation_z": z.std(ddof=0),
                "largest_z": z.abs().max(),
                "median_correction": table["correction"].abs().median(),
                "mean_chi_square": table["chi_square"].mean(),
                **{f"worst_{name}": value for name, value in worst.items()},
            }
        )
    return pd.DataFrame(rows)


def draw_limit(frame: pd.DataFrame, settings: LimitSettings) -> Figure:
    """Draw the limits against the theory (left) and the quantiles of the z-scores against the normal ones (right)."""
    figure = style.new_figure(style.PAGE, 3.2)
    left, right = figure.subplots(1, 2)
    used = frame[frame["compared"]].copy()
    order = used["z_score"].rank(method="first").to_numpy()
    used["normal"] = special.ndtri((order - 0.5) / len(used))
    for (loss, quantity), table in used.groupby(["loss", "quantity"], sort=False):
        look = {"marker": ERROR_MARKERS[str(quantity)], "color": style.LOSS_COLORS[str(loss)], **tables.RUN_POINT_STYLE}
        left.errorbar(table["theory"], table["limit"], yerr=table["limit_error"], elinewidth=0.6, **look)
        right.plot(table["normal"], table["z_score"], **look)
    _draw_diagonal(left, 0.0, 1.06 * max(used["theory"].max(), used["limit"].max()))
    _draw_diagonal(right, *np.array([-1.0, 1.0]) * (0.3 + max(2.5, used["normal"].max(), used["z_score"].abs().max())))
    sizes = ", ".join(f"{d}" for d in settings.dimensions)
    left.set_title(f"runs at d = {sizes}, {settings.repeats} each, extrapolated")
    left.set_xlabel("error of the theory")
    left.set_ylabel(r"error of the runs as $d\to\infty$")
    z = used["z_score"]
    right.set_title(f"{len(z)} z-scores: deviation {z.std(ddof=0):.2f}, largest {z.abs().max():.1f}")
    right.set_xlabel("quantile of the normal distribution")
    right.set_ylabel("z-score, (runs less theory)/standard error")
    # Colors are losses, shapes are errors.
    handles = [
        Line2D(
            [],
            [],
            color=style.LOSS_COLORS[loss],
            marker=marker,
            label=f"{loss} loss, {quantity}",
            **tables.RUN_POINT_STYLE,
        )
        for quantity, marker in ERROR_MARKERS.items()
        for loss in tables.PAPER_LOSSES
    ]
    style.legend_below(figure, handles)
    return figure


def _draw_diagonal(axes: Axes, low: float, high: float) -> None:
    axes.plot([low, high], [low, high], color=style.BLACK, linewidth=0.8, zorder=1)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_aspect("equal")


LIMIT = Recipe(LimitSettings, limit_data, draw_limit, limit_summary)
