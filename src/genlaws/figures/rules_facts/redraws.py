"""Redraws of a task from labeled data, as figures need them: settings, cells, and means with intervals.

All redraws come from one finite pool of samples, so they share some of them. Intervals over redraws therefore measure
how much a mean varies with further redraws of that pool, which is less than it would vary with other data.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from pydantic import Field, model_validator

from genlaws.core.arguments import Array, Mask
from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.figures.labels import direct_labels
from genlaws.figures.recipe import InnerShare, Points, Ratio
from genlaws.figures.rules_facts.tables import ERROR_COLUMNS, draw_path, pad_error_axis
from genlaws.render import style
from genlaws.rules_facts.labels.data import pools_of, sizes_of
from genlaws.rules_facts.labels.loading import load_labeled
from genlaws.sweeps import Axis, Sweep, get_experiment, make_sweep
from genlaws.sweeps.computing import ComputedCell
from genlaws.sweeps.experiment import Settings
from genlaws.sweeps.experiments.rules_facts import LabeledRunSettings, Loss

# Crosses of intervals along a path; more would hide the curves.
PATH_CROSSES = 8
REDRAW_BAR_WIDTH, BAR_OPACITY = 0.5, 0.6
HALO_WIDTH = 2.0  # points of white around a label on top of bars
MAX_NAME_LENGTH = 18  # characters of a file in the title of a panel
# Ratio of the largest to the smallest error above which the axis is logarithmic.
LOG_AXIS_RATIO = 10.0
MIN_AXIS_HEIGHT = 0.02  # of the axis of memorization errors


class RedrawSettings(Settings):
    """Which labeled data the task is drawn from, how often, and the range of regularizations."""

    data: str = "digits"
    rule_classes: tuple[int | str, int | str] = (3, 8)
    fact_classes: tuple[int | str, ...] | None = None
    sample_ratio: Ratio = 4.0
    fact_fraction: InnerShare = 0.2
    redraws: Annotated[int, Field(ge=2, le=1000)] = 20
    test_count: Annotated[int, Field(ge=2)] | None = None
    loss: Loss = "square"
    smallest_regularization: Ratio = 1e-6
    largest_regularization: Ratio = 1e3
    regularization_count: Points = 50

    @model_validator(mode="after")
    def _range_is_one(self) -> Self:
        if not self.smallest_regularization < self.largest_regularization:
            raise ValueError("smallest_regularization must be below largest_regularization")
        return self


@dataclass(frozen=True)
class Redraws:
    """Errors of R redraws, G kernels and L regularizations.

    Attributes
    ----------
    parameter : array, (G,)
    regularization : array, (L,)
    generalization_error, memorization_error : array, (R, G, L)
    converged : array of bool, (G, L)
        Whether every redraw was solved to its tolerance.
    sample_count : int
        Training samples of one redraw.
    """

    parameter: Array
    regularization: Array
    generalization_error: Array
    memorization_error: Array
    converged: Mask
    sample_count: int

    @classmethod
    def of(cls, cells: Sequence[ComputedCell]) -> Redraws:
        """Stack the cells of one family of kernels, one for each redraw."""
        results = [cell.result for cell in cells]
        errors = {name: np.array([result[name] for result in results]) for name in ERROR_COLUMNS}
        gap = np.max([result["duality_gap"] for result in results], axis=0)
        return cls(
            parameter=np.asarray(results[0]["parameter"]),
            regularization=np.asarray(results[0]["regularization"]),
            **errors,
            converged=gap <= cells[0].settings.tolerance,
            sample_count=int(results[0]["sample_count"]),
        )

    def path_table(self, place: int, **columns: object) -> pd.DataFrame:
        """Return mean errors with intervals along the regularization, for the kernel at a place."""
        errors = {name: getattr(self, name)[:, place] for name in ERROR_COLUMNS}
        means = {key: part for name, values in errors.items() for key, part in mean_path_columns(name, values).items()}
        return pd.DataFrame(
            {**columns, "regularization": self.regularization, **means, "converged": self.converged[place]}
        )


def redraw_sweep(settings: RedrawSettings, *axes: Axis, **fixed: object) -> Sweep:
    """Return one cell for each redraw, and for each value of further axes."""
    shared = [name for name in type(settings).model_fields if name in LabeledRunSettings.model_fields]
    base: dict[str, Any] = {name: getattr(settings, name) for name in shared}
    redraws = Axis("redraw", tuple(range(settings.redraws)))
    return make_sweep(get_experiment("rules-facts.labeled-runs"), {**base, **fixed}, [*axes, redraws])


def mean_path_columns(name: str, values: Array) -> dict[str, Array]:
    """Return the mean over redraws, the first axis, and the ends of its interval by Student's t."""
    count = len(values)
    one = from_standard_error(0.0, 1.0, count).high  # of a standard error of one
    mean, half = values.mean(axis=0), one * values.std(axis=0, ddof=1) / np.sqrt(count)
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}


def task_columns(settings: RedrawSettings, sample_count: int) -> dict[str, int]:
    """Return the sizes of a redraw and of the pool that all redraws come from."""
    data = load_labeled(settings.data)
    pools = pools_of(data, settings.rule_classes, settings.fact_classes, settings.fact_fraction)
    sizes = sizes_of(data, pools, settings.fact_fraction, sample_count=sample_count, test_count=settings.test_count)
    first, second, facts = pools.counts
    return {
        "redraws": settings.redraws,
        "sample_count": sizes[0],
        "test_count": sizes[1],
        "rule_pool": first + second,
        "fact_pool": facts,
    }


def redraw_note(frame: pd.DataFrame) -> str:
    """Return a sentence on the samples behind the intervals."""
    row = frame.iloc[0]
    return (
        f"{row['redraws']} redraws of {row['sample_count']:,} training and {row['test_count']:,} test samples, all "
        f"from one pool ({row['rule_pool']:,} for the rule, {row['fact_pool']:,} for facts), so they share samples"
    )


def format_redraw_estimate(row: Mapping[Hashable, Any] | pd.Series, name: str) -> str:
    """Return a number of a table with the ends of its interval as figures print it."""
    value, low, high = (float(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return str(Estimate(value, low, high)).replace("-", "−")


def data_title(settings: RedrawSettings) -> str:
    """Return the name of the data and of the rule's classes, for the title of a panel."""
    name = Path(settings.data).stem
    short = name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 1]}…"
    first, second = settings.rule_classes
    return f"{short}, {first} against {second}"


def draw_measured_path(axes: Axes, table: pd.DataFrame, color: Any, width: float = 1.2) -> Line2D:
    """Draw the mean path of redraws with intervals of both errors at some of its points, and return the line."""
    line = draw_path(axes, table, color, width)
    for _, row in table.iloc[:: max(1, len(table) // PATH_CROSSES)].iterrows():
        center, (across, along) = (
            [row[name] for name in ERROR_COLUMNS],
            [row[[f"{n}_low", f"{n}_high"]] for n in ERROR_COLUMNS],
        )
        # Separate lines, which labels of curves avoid.
        axes.plot(across, [center[1]] * 2, color=color, linewidth=REDRAW_BAR_WIDTH, alpha=BAR_OPACITY)
        axes.plot([center[0]] * 2, along, color=color, linewidth=REDRAW_BAR_WIDTH, alpha=BAR_OPACITY)
    return line


def label_paths(axes: Axes, lines: Sequence[Line2D], labels: Sequence[str]) -> None:
    """Label paths directly; where wide intervals leave no room, a label covers them and stays readable."""
    direct_labels(axes, lines, labels)
    for text in axes.texts:
        text.set_path_effects([withStroke(linewidth=HALO_WIDTH, foreground="white")])


def error_axes(axes: Axes, table: pd.DataFrame) -> None:
    """Give a panel of paths its labels and limits; errors over more than a decade are on a logarithmic axis."""
    x, y = (table[name] for name in ERROR_COLUMNS)
    low, high = float(x.min()), float(x.max())
    if low > 0.0 and high > LOG_AXIS_RATIO * low:
        style.log_axis(axes, "x", low / 1.3, high * 1.15)
    else:
        pad_error_axis(axes, low, high)
    tallest = max(MIN_AXIS_HEIGHT, float(y.max()))
    axes.set_ylim(-0.03 * tallest, 1.08 * tallest)
    axes.set_xlabel(style.GENERALIZATION_ERROR_LABEL)
    axes.set_ylabel(style.MEMORIZATION_ERROR_LABEL)
