"""Relation networks for a figure: settings that its figures share, and one row of a table for each network."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, interval_columns, mean_estimate, wilson_interval
from genlaws.core.running import Running
from genlaws.relations.networks.diagram import EXPERIMENT
from genlaws.relations.networks.phases import expand_counts, fit_threshold
from genlaws.sweeps import get_experiment
from genlaws.sweeps.computing import compute_experiment
from genlaws.sweeps.experiment import Settings

Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Scale = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(gt=0, lt=1)]
Steps = Annotated[int, Field(ge=1, le=10_000_000)]
Repeats = Annotated[int, Field(ge=2, le=10_000)]
Width = Annotated[int, Field(ge=1, le=10_000)]
Depth = Annotated[int, Field(ge=0, le=100)]

RESULT_COLUMNS = ("train_step", "test_step", "delay", "phase", "failed", "majority_accuracy")
FINAL_ACCURACIES = ("train_accuracy", "test_accuracy", "table_accuracy", "balanced_accuracy")


class NetworkFigureSettings(Settings):
    """Networks of one shape, trained several times."""

    depth: Depth = 3
    width: Width = 50
    repeats: Repeats = 10
    device: str = "cpu"
    seed: Annotated[int, Field(ge=0)] = 0


def networks(
    settings: NetworkFigureSettings, base: Mapping[str, Any], axes: Mapping[str, Sequence[Any]], running: Running
) -> pd.DataFrame:
    """Train networks and return one row for each: the fields of the axes and its results.

    A setting that the figure shares with the experiment holds for all networks unless `base` or `axes` says otherwise.
    Every field that any figure may vary is on an axis, if only with one value: one folder can then hold the cells of
    several sweeps.
    """
    known = get_experiment(EXPERIMENT).load().settings.model_fields
    varied = {name: tuple(values) for name, values in axes.items()}
    shared = {name: value for name, value in settings if name in known} | dict(base)
    varied |= {name: (value,) for name, value in shared.items() if name not in varied}
    cells = compute_experiment(
        EXPERIMENT,
        {name: values for name, values in varied.items() if name != "device"},
        settings={"device": settings.device},
        repeats=settings.repeats,
        seed=settings.seed,
        running=running,
        label="networks",
    )
    return pd.DataFrame(
        [
            {
                **{name: getattr(cell.settings, name) for name in varied},
                **{name: cell.result[name] for name in RESULT_COLUMNS},
                **{name: cell.result[f"final_{name}"] for name in FINAL_ACCURACIES},
            }
            for cell in cells
        ]
    )


def grouped(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the values of some columns and the rows that share them, in the order of the table."""
    for place, group in frame.groupby(list(by), sort=False):
        yield dict(zip(by, place, strict=True)), group


def threshold_columns(name: str, group: pd.DataFrame, values: str) -> dict[str, float]:
    """Return where half of the networks succeed, with its interval; not a number if all are on one side."""
    counts = group["networks"].to_numpy()
    right = (group["success"].to_numpy() * counts).round().astype(int)
    try:
        found = fit_threshold(*expand_counts(right, counts - right, group[values]))
    except InputError:
        return interval_columns(name, Estimate(math.nan))
    return interval_columns(name, found)


def share_columns(name: str, truths: pd.Series) -> dict[str, float]:
    """Return a share with its Wilson interval as columns."""
    return interval_columns(name, wilson_interval(int(truths.sum()), len(truths)))


def mean_accuracy_columns(name: str, values: pd.Series) -> dict[str, float]:
    """Return a mean accuracy with Student's interval as columns; networks without the number are left out.

    With few networks a bootstrap is too narrow: from five normal numbers it contains the truth in 84 % of cases.
    """
    found = mean_estimate(values)
    low, high = np.clip([found.low, found.high], 0.0, 1.0).tolist()
    return interval_columns(name, Estimate(found.value, low, high))
