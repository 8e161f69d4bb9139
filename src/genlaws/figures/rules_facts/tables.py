"""Long tables of the rules-and-facts theory, and of learners of finite size: means over repeats with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.core.running import Running
from genlaws.figures.recipe import InnerShare, Ratio
from genlaws.render import style
from genlaws.rules_facts import Kernel, solve
from genlaws.rules_facts.finite_size import read_input_kernel
from genlaws.sweeps import Axis, get_experiment, make_sweep
from genlaws.sweeps.computing import ComputedCell, compute_cells
from genlaws.sweeps.experiment import Settings

Repeats = Annotated[int, Field(ge=0, le=10_000)]
Dimension = Annotated[int, Field(ge=10, le=20_000)]
Seed = Annotated[int, Field(ge=0)]
Angle = Annotated[float, Field(gt=0, le=np.pi / 2)]
# The hinge loss has no run at regularization zero: a small one is that limit.
Strengths = Annotated[tuple[Ratio, ...], Field(min_length=1, max_length=50)]
# Values of the fields of a run; every combination of them is run.
Group = Mapping[str, Sequence[Any]]
PathLearner = tuple[str, Kernel | str, dict[str, Any]]  # loss, kernel, and arguments of errors_table

PAPER_LOSSES = ("square", "hinge")
REGULARIZATIONS: dict[str, float | str] = {"zero": 0.0, "optimal": "optimal"}
MIN_REGULARIZATION, MAX_REGULARIZATION = 1e-7, 1e4  # beyond these a path is indistinguishable from its ends on paper
LEARNER_COLUMNS = ("loss", "kernel", "width_ratio", "matched", "sample_ratio", "fact_fraction", "regularization")
ERROR_COLUMNS = ("generalization_error", "memorization_error")
PARTS = ("", "_low", "_high", "_standard_error")
RUN_COLUMNS = (*(f"run_{name}{part}" for name in ERROR_COLUMNS for part in PARTS), "run_count")
RUN_POINT_STYLE: dict[str, Any] = {
    "linestyle": "none",
    "markersize": 3.2,
    "markeredgewidth": 0.7,
    "markerfacecolor": "white",
    "zorder": 4,
}
BAR_WIDTH = 0.7
INTERCEPT_TOLERANCE = 1e-12
AXIS_MARGIN = 0.06  # of an axis beyond the data


def errors_table(
    loss: str,
    *,
    sample_ratio: ArrayLike,
    fact_fraction: ArrayLike,
    regularization: ArrayLike | str,
    kernel: Kernel | str | None = None,
    about: Mapping[str, object] | None = None,
    **columns: ArrayLike,
) -> pd.DataFrame:
    """Solve over broadcast arguments; one row per point.

    The columns of `about` come after the loss. Further `columns` are broadcast along; one named ``width_ratio`` is also
    the width that is solved for, infinite for a kernel. A point that could not be solved has NaN errors and
    ``converged`` false.
    """
    width = columns.get("width_ratio", np.inf)
    solution = solve(
        loss,
        sample_ratio=sample_ratio,
        fact_fraction=fact_fraction,
        kernel=kernel,
        regularization=regularization,
        width_ratio=None if np.isinf(width).all() else width,
    )
    axes = {"sample_ratio": sample_ratio, "fact_fraction": fact_fraction, **columns}
    length = int(np.prod(solution.shape))
    frame = {name: np.full(length, value) for name, value in {"loss": loss, **(about or {})}.items()}
    frame |= {name: np.ravel(np.broadcast_to(np.asarray(value), solution.shape)) for name, value in axes.items()}
    for name in ("regularization", "generalization_error", "memorization_error", "converged"):
        frame[name] = np.ravel(getattr(solution, name))
    return pd.DataFrame(frame)


def regularization_path(points: int) -> NDArray[np.float64]:
    """Return λ from exactly zero through `points` values, evenly spaced in log λ, to infinity."""
    return np.concatenate([[0.0], np.geomspace(MIN_REGULARIZATION, MAX_REGULARIZATION, points), [np.inf]])


class PointSettings(Settings):
    """Runs at a few regularizations along each curve; no repeats draw the theory alone."""

    dimension: Dimension = 200
    repeats: Repeats = 20
    run_regularizations: Strengths = (0.01, 0.1, 0.3, 1.0, 3.0)
    seed: Seed = 0


class TaskSettings(PointSettings):
    """A task of one sample ratio and fact fraction, and the runs on it.

    A kernel that is not zero at zero correlation has an intercept, which the theory does not include: the variance of
    its noise is (1 - Dλ/μ1²)⁻²/d of that of the output, with D = V - μ*²/λ. With strong regularization that is not
    small, so runs of such kernels end early.
    """

    sample_ratio: Ratio = 2.0
    fact_fraction: InnerShare = 0.2
    strongest_with_intercept: Ratio = 0.5


def task_errors(
    settings: Any, loss: str, kernel: Kernel | str, regularization: ArrayLike | str, **columns: Any
) -> pd.DataFrame:
    """Return the errors on the task of a figure, of one sample ratio and fact fraction; see `errors_table`."""
    task = {name: getattr(settings, name) for name in ("sample_ratio", "fact_fraction")}
    return errors_table(loss, **task, regularization=regularization, kernel=kernel, **columns)


def learner_groups(
    settings: TaskSettings,
    losses: Sequence[str],
    kernels: Sequence[str],
    widths: Sequence[float | None] = (None,),
    matched: Sequence[bool] = (False,),
) -> list[Group]:
    """Return the runs of every combination of loss, kernel and width on the task of a figure."""
    names: dict[tuple[float, ...], list[str]] = {}
    for kernel in kernels:
        limit = settings.strongest_with_intercept if has_intercept(kernel) else np.inf
        names.setdefault(tuple(one for one in settings.run_regularizations if one <= limit), []).append(kernel)
    return [
        {
            "loss": losses,
            "kernel": alike,
            "width_ratio": widths,
            "matched": matched,
            "dimension": (settings.dimension,),
            "sample_ratio": (settings.sample_ratio,),
            "fact_fraction": (settings.fact_fraction,),
            "regularizations": (strengths,),
        }
        for strengths, alike in names.items()
        if strengths
    ]


def has_intercept(kernel: str) -> bool:
    """Return whether a kernel, or the kernel of an activation, is not zero at zero correlation."""
    zero, one = np.zeros(1), np.ones(1)
    return bool(abs(read_input_kernel(kernel).function(zero, one, one)[0]) > INTERCEPT_TOLERANCE)


def cell_count(groups: Sequence[Group], repeats: int) -> int:
    """Return how many runs there are."""
    return repeats * sum(math.prod(len(values) for values in group.values()) for group in groups)


def run_cells(groups: Sequence[Group], repeats: int, seed: int, running: Running) -> list[ComputedCell]:
    """Run learners on Gaussian draws, each repeat on its own; the caller has announced the steps.

    All groups must name the same fields, so that one folder can hold their cells.
    """
    experiment, cells = get_experiment("rules-facts.gaussian-runs"), list[ComputedCell]()
    for group in groups if repeats else ():
        axes = [Axis(field, tuple(values)) for field, values in group.items()]
        cells += compute_cells(make_sweep(experiment, axes=axes, repeats=repeats, seed=seed), running)
    return cells


def averaged(cells: Iterable[ComputedCell]) -> pd.DataFrame:
    """Return one row for each learner and regularization: means over its runs, with intervals.

    The width of a kernel is ``inf``. A run without a single fact has no memorization error and is left out of its mean.
    """
    runs: dict[Any, list[Mapping[str, Any]]] = {}
    for cell in cells:
        runs.setdefault(cell.settings, []).append(cell.result)
    rows = []
    for settings, results in runs.items():
        about = settings.model_dump(exclude={"regularizations", "test_count"})
        about["width_ratio"] = np.inf if settings.width_ratio is None else settings.width_ratio
        for place, strength in enumerate(settings.regularizations):
            row = {**about, "regularization": strength, "run_count": len(results)}
            for name in ERROR_COLUMNS:
                row |= mean_columns(f"run_{name}", np.array([result[name][place] for result in results]))
            rows.append({**row, "run_converged": all(result["converged"] for result in results)})
    return pd.DataFrame(rows)


def mean_columns(name: str, values: NDArray[np.float64]) -> dict[str, float]:
    """Return the mean of independent runs under `name`, its Student interval and its standard error."""
    finite = values[np.isfinite(values)]
    mean = float(finite.mean()) if finite.size else math.nan
    error = float(finite.std(ddof=1) / np.sqrt(finite.size)) if finite.size > 1 else math.nan
    found = from_standard_error(mean, error, finite.size)
    return dict(zip((name + part for part in PARTS), (mean, found.low, found.high, error), strict=True))


def interval_columns(name: str, estimate: Estimate) -> dict[str, float]:
    """Return a number and the ends of its interval under its name."""
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def samples_table(cells: Iterable[ComputedCell]) -> pd.DataFrame:
    """Return the results of the experiment along the samples, with the learner and the fact fraction of each cell."""
    rows = [{**cell.settings.model_dump(include={"learner", "fact_fraction"}), **cell.result} for cell in cells]
    return pd.concat(map(pd.DataFrame, rows), ignore_index=True)


def join_runs(theory: pd.DataFrame, points: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the theory with the runs in further columns, empty at regularizations without runs."""
    if points.empty:
        return theory.assign(**dict.fromkeys(RUN_COLUMNS, np.nan))
    on = [name for name in LEARNER_COLUMNS if name in theory]
    return theory.merge(points[[*on, *RUN_COLUMNS]], how="left", on=on, validate="one_to_one")


def paths_and_runs(
    settings: Any, learners: Sequence[PathLearner], groups: Sequence[Group], running: Running, label: str
) -> pd.DataFrame:
    """Return the path of every learner, through the regularizations of the runs, with the means of the runs."""
    running.start(len(learners) + cell_count(groups, settings.repeats), label)
    path = regularization_path(settings.path_points)
    path = np.union1d(path, settings.run_regularizations) if settings.repeats else path
    tables = []
    for loss, kernel, columns in learners:
        tables.append(task_errors(settings, loss, kernel, path, **columns))
        running.advance(1)
    points = averaged(run_cells(groups, settings.repeats, settings.seed, running))
    return join_runs(pd.concat(tables, ignore_index=True), points)


def pad_error_axis(axes: Axes, low: float, high: float) -> None:
    """Give the axis of generalization errors a margin on either side and few ticks."""
    margin = AXIS_MARGIN * (high - low)
    axes.set_xlim(low - margin, high + margin)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))


def draw_path(axes: Axes, path: pd.DataFrame, color: object, width: float = 1.4, markers: bool = True) -> Line2D:
    """Draw memorization against generalization error along the regularization, with its two ends marked."""
    x, y = (path[name].to_numpy() for name in ERROR_COLUMNS)
    (line,) = axes.plot(x, y, color=color, linewidth=width)
    if markers:
        style.mark_path_ends(axes, x, y)
    return line


def draw_points(axes: Axes, table: pd.DataFrame, color: Any, marker: str = "o") -> None:
    """Draw memorization against generalization error of the runs, with both intervals."""
    rows = table[table["run_generalization_error"].notna()]
    x, y = (rows[f"run_{name}"].to_numpy() for name in ERROR_COLUMNS)
    draw_bars(axes, interval_of(rows, f"run_{ERROR_COLUMNS[0]}"), np.stack([y, y]), color)
    draw_bars(axes, np.stack([x, x]), interval_of(rows, f"run_{ERROR_COLUMNS[1]}"), color)
    # A point on the axis is not clipped.
    axes.plot(x, y, markeredgecolor=color, marker=marker, clip_on=False, in_layout=False, **RUN_POINT_STYLE)


def draw_bars(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], color: Any) -> None:
    """Draw intervals as separate thin lines, which labels avoid."""
    axes.plot(x, y, color=color, linewidth=BAR_WIDTH, zorder=2)


def interval_of(rows: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """Return both ends of the intervals, shape (2, rows); NaN where there is none."""
    return rows[[f"{name}_low", f"{name}_high"]].to_numpy(dtype=np.float64).T


def path_handles(settings: PointSettings) -> list[Line2D]:
    """Return the legend entries of a path with runs along it."""
    return [*style.path_end_handles(), *([point_handle(settings)] if settings.repeats else [])]


def point_handle(
    settings: PointSettings, color: str = style.DARK_GRAY, name: str = "runs", marker: str = "o"
) -> Line2D:
    """Return the legend entry of the points."""
    label = rf"{name}, $d={settings.dimension}$, means of {settings.repeats}"
    return Line2D([], [], label=label, markeredgecolor=color, marker=marker, **RUN_POINT_STYLE)
