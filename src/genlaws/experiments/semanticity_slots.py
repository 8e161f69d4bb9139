"""The experiment on compositional codes: networks with a map for each feature, or with one for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from genlaws.ensembles import Checkpoint
from genlaws.experiments.experiment import Procedure, Result
from genlaws.experiments.settings import Settings
from genlaws.experiments.stacking import run_stacks
from genlaws.semanticity.slot_network import SlotRuns, train_slot_networks

MEASURED = ("generalisation", "identification", "above_circle", "above_set")
STACK = 20  # networks trained together


class SlotSettings(Settings):
    """One network: its kind, its features and its training."""

    slots: Annotated[int, Field(ge=1, le=100)] = 3
    ring_size: Annotated[int, Field(ge=3, le=1000)] = 10
    kind: Literal["slots", "shared"] = "slots"
    combine: Literal["max", "mean", "product"] = "max"
    truth: Literal["mean", "min"] = "mean"
    width: Annotated[int, Field(ge=1, le=10_000)] = 10
    width_of: Literal["map", "all"] = Field(
        default="map", description="whether each map has this width, or each as many as that for every slot together"
    )
    steps: Annotated[int, Field(ge=0, le=10_000_000)] = 3000
    batch_size: Annotated[int, Field(ge=1, le=100_000)] = 128
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 7e-3
    reconstruction_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    stimulus_count: Annotated[int, Field(ge=3, le=2000)] = 150
    log_at: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    device: str = "cpu"


def slot_runs(settings: Sequence[SlotSettings], seeds: Sequence[int]) -> list[Result]:
    """Return the results of several networks; those of the same settings are trained together."""
    return run_stacks(settings, seeds, (), _train)


def _train(group: Sequence[SlotSettings], seeds: Sequence[int], checkpoint: Checkpoint | None) -> list[Result]:
    given = group[0].model_dump(exclude={"width_of"})
    if group[0].width_of == "all":
        given["width"] = group[0].width * group[0].slots
    runs = train_slot_networks(seeds=list(seeds), checkpoint=checkpoint, **given)
    return [_result(runs, place) for place in range(len(seeds))]


def _result(runs: SlotRuns, place: int) -> dict[str, Any]:
    """Return the course of one network, its end and the best it reached on the way."""
    course = {name: np.asarray(getattr(runs, name)[place]) for name in MEASURED}
    return {
        "step": runs.steps,
        **course,
        **{f"final_{name}": float(values[-1]) for name, values in course.items()},
        **{f"largest_{name}": float(course[name].max()) for name in ("generalisation", "above_circle", "above_set")},
        "peak_above_set": float(runs.excess_at_peak[place]),
        "failed": bool(runs.failed[place]),
        "stimulus_count": runs.stimulus_count,
        "device": runs.device,
        "dtype": runs.dtype,
        "path": runs.path,
    }


SLOT_NETWORK = Procedure(SlotSettings, run_batch=slot_runs, batch_size=STACK, dtype="float32")
