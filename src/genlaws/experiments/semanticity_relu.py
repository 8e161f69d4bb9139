"""The experiment on ReLU networks: both tests, the profile and the distance from the front along their training."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from genlaws.ensembles import Checkpoint
from genlaws.experiments.experiment import Procedure, Result
from genlaws.experiments.settings import Settings
from genlaws.experiments.stacking import run_stacks
from genlaws.semanticity.relu_network import train_relu_networks
from genlaws.semanticity.relu_runs import PlaneCurve, ReluRuns, linear_front, set_front
from genlaws.semanticity.stimulus_sets import stimulus_distances

STACK = 20  # networks trained together; larger stacks are hardly faster on a core
PER_NETWORK = ("learning_rate",)

ItemCount = Annotated[int, Field(ge=2, le=1999)]


class ReluSettings(Settings):
    """One network: its stimuli, its goal and its training."""

    stimuli: Literal["circle", "segment"] = "circle"
    goal: Literal["similarity", "reconstruction", "both"] = "similarity"
    stimulus_count: Annotated[int, Field(ge=3, le=2000)] = 50
    hidden: Annotated[int, Field(ge=1, le=10_000)] = 10
    item_count: Annotated[int, Field(ge=2, le=1999)] = Field(default=2, description="items of a training trial")
    steps: Annotated[int, Field(ge=1, le=10_000_000)] = 7500
    batch_size: Annotated[int, Field(ge=1, le=100_000)] = 128
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 7e-3
    similarity_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.1
    reconstruction_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    log_every: Annotated[int, Field(ge=1)] = 15
    many_items: tuple[ItemCount, ...] = Field(
        default=(), description="numbers of items with which the trained network is tested besides two"
    )
    device: str = "cpu"

    @model_validator(mode="after")
    def _check_items(self) -> ReluSettings:
        if max(self.item_count, *self.many_items, 0) >= self.stimulus_count:
            raise ValueError("item_count and many_items must be below stimulus_count: items and probe are different")
        return self


def relu_runs(settings: Sequence[ReluSettings], seeds: Sequence[int]) -> list[Result]:
    """Return the results of several networks; those that differ in their learning rate alone are trained together."""
    return run_stacks(settings, seeds, PER_NETWORK, _train)


def _train(group: Sequence[ReluSettings], seeds: Sequence[int], checkpoint: Checkpoint | None) -> list[Result]:
    given = group[0].model_dump(exclude={"many_items", *PER_NETWORK})
    rates = [one.learning_rate for one in group]
    runs = train_relu_networks(seeds=list(seeds), learning_rate=rates, checkpoint=checkpoint, **given)
    courses = {
        "generalisation": runs.generalisation,
        "identification": runs.identification,
        "circle_distance": runs.distance_to(linear_front()),
        "set_distance": runs.distance_to(_own_front(group[0].stimuli, group[0].stimulus_count)),
        "resolution": runs.resolution(),
        "cut": runs.cut(),
    }
    many = runs.many_items(group[0].many_items) if group[0].many_items else (np.empty((len(group), 0)),) * 2
    return [
        {
            "step": runs.steps,
            **{name: values[place] for name, values in courses.items()},
            **_summary({name: values[place] for name, values in courses.items()}, runs, place),
            "profile_distance": runs.profile_distance,
            "profile": runs.profile[place].astype(np.float32),
            "many_generalisation": many[0][place],
            "many_identification": many[1][place],
        }
        for place in range(len(group))
    ]


def _summary(course: dict[str, Any], runs: ReluRuns, place: int) -> dict[str, Any]:
    """Return where one network starts, where it generalises best, how it moves from there and where it ends."""
    after = runs.after_peak()[place]
    peak = int(np.argmax(after))
    return {
        **{f"first_{name}": float(course[name][0]) for name in ("generalisation", "identification")},
        **{f"peak_{name}": float(course[name][peak]) for name in ("generalisation", "identification", "resolution")},
        "peak_step": int(runs.steps[peak]),
        **{f"final_{name}": float(values[-1]) for name, values in course.items()},
        **{f"mean_{name}": float(np.abs(course[name][after]).mean()) for name in ("circle_distance", "set_distance")},
        "mean_similarity": _mean_similarity(runs.similarity[place]),
        "failed": bool(runs.failed[place]),
        "device": runs.device,
        "dtype": runs.dtype,
        "path": runs.path,
    }


def _mean_similarity(similarity: Any) -> float:
    """Return the mean similarity with another stimulus, in units of that with a copy; its inverse rules many items."""
    relative = similarity / np.diagonal(similarity)[:, None]
    return float(relative[~np.eye(len(relative), dtype=bool)].mean())


@lru_cache(maxsize=8)
def _own_front(stimuli: str, count: int) -> PlaneCurve:
    return set_front(stimulus_distances(stimuli, count))


RELU_NETWORK = Procedure(ReluSettings, run_batch=relu_runs, batch_size=STACK, dtype="float32")
