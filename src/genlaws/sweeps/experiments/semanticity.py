"""Experiments on semanticity: ReLU networks, networks for compositional stimuli, and networks on images.

All record generalization and identification. ReLU networks add the profile and the distance from the front along their
training. Networks for compositional stimuli have one map per feature, or one map for all. Networks on images are
fine-tuned on classes and on the distances between classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from genlaws.ensembles import Checkpoint
from genlaws.semanticity.networks.convolutional import QUANTITIES, FineTuned, fine_tune
from genlaws.semanticity.networks.images import LabeledImages, load_images, read_leaf_names
from genlaws.semanticity.networks.relu import train_relu_networks
from genlaws.semanticity.networks.relu_runs import ReluRuns, linear_front, set_front
from genlaws.semanticity.networks.slots import SlotRuns, train_slot_networks
from genlaws.semanticity.theory.finite_sets import stimulus_distances
from genlaws.semanticity.theory.tradeoff import PlaneCurve
from genlaws.sweeps.experiment import CellResult, NonNegative, Positive, Procedure, Settings, Share
from genlaws.sweeps.stacking import how_computed, run_stacks

RELU_STACK_SIZE = 20  # networks trained together; larger stacks are hardly faster on one core
PER_RELU_NETWORK = ("learning_rate",)

ItemCount = Annotated[int, Field(ge=2, le=1999)]
SLOT_MEASURED = ("generalization", "identification", "above_circle", "above_set")
SLOT_STACK_SIZE = 20  # networks trained together
CONVOLUTIONAL_STACK_SIZE = 5  # networks trained together; each is large enough to fill a core
IDENTIFICATION_GRID = np.round(np.linspace(1.0, 0.5, 101), 6)  # at which generalization is recorded


class ReluSettings(Settings):
    """One network: its stimuli, its goal and its training."""

    stimuli: Literal["circle", "segment"] = "circle"
    goal: Literal["similarity", "reconstruction", "both"] = "similarity"
    stimulus_count: Annotated[int, Field(ge=3, le=2000)] = 50
    hidden: Annotated[int, Field(ge=1, le=10_000)] = 10
    item_count: Annotated[int, Field(ge=2, le=1999)] = Field(default=2, description="items of a training trial")
    steps: Annotated[int, Field(ge=1, le=10_000_000)] = 7500
    batch_size: Annotated[int, Field(ge=1, le=100_000)] = 128
    learning_rate: Positive = 7e-3
    similarity_weight: NonNegative = 0.1
    reconstruction_weight: NonNegative = 1.0
    log_every: Annotated[int, Field(ge=1)] = 15
    many_items: tuple[ItemCount, ...] = Field(
        default=(), description="numbers of items, in addition to two, with which the trained network is tested"
    )
    device: str = "cpu"

    @model_validator(mode="after")
    def _check_items(self) -> ReluSettings:
        if max(self.item_count, *self.many_items, 0) >= self.stimulus_count:
            raise ValueError("item_count and many_items must be below stimulus_count: items and probe are different")
        return self


def relu_runs(settings: Sequence[ReluSettings], seeds: Sequence[int]) -> list[CellResult]:
    """Return the results of several networks; those that differ only in their learning rate are trained together."""
    return run_stacks(settings, seeds, PER_RELU_NETWORK, _train_relu)


def _train_relu(group: Sequence[ReluSettings], seeds: Sequence[int], checkpoint: Checkpoint | None) -> list[CellResult]:
    given = group[0].model_dump(exclude={"many_items", *PER_RELU_NETWORK})
    rates = [one.learning_rate for one in group]
    runs = train_relu_networks(seeds=list(seeds), learning_rate=rates, checkpoint=checkpoint, **given)
    courses = {
        "generalization": runs.generalization,
        "identification": runs.identification,
        "circle_distance": runs.distance_to(linear_front()),
        "set_distance": runs.distance_to(_empirical_front(group[0].stimuli, group[0].stimulus_count)),
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
            "many_generalization": many[0][place],
            "many_identification": many[1][place],
        }
        for place in range(len(group))
    ]


def _summary(course: dict[str, Any], runs: ReluRuns, place: int) -> dict[str, Any]:
    """Return the start of one network, its best generalization, its course from there and its end."""
    after = runs.after_peak()[place]
    peak = int(np.argmax(after))
    return {
        **{f"first_{name}": float(course[name][0]) for name in ("generalization", "identification")},
        **{f"peak_{name}": float(course[name][peak]) for name in ("generalization", "identification", "resolution")},
        "peak_step": int(runs.steps[peak]),
        **{f"final_{name}": float(values[-1]) for name, values in course.items()},
        **{f"mean_{name}": float(np.abs(course[name][after]).mean()) for name in ("circle_distance", "set_distance")},
        "mean_similarity": _mean_similarity(runs.similarity[place]),
        "failed": bool(runs.failed[place]),
        **how_computed(runs),
    }


def _mean_similarity(similarity: Any) -> float:
    """Return the mean similarity with another stimulus, relative to that with a copy."""
    relative = similarity / np.diagonal(similarity)[:, None]
    return float(relative[~np.eye(len(relative), dtype=bool)].mean())


@lru_cache(maxsize=8)
def _empirical_front(stimuli: str, count: int) -> PlaneCurve:
    return set_front(stimulus_distances(stimuli, count))


RELU_NETWORK = Procedure(ReluSettings, run_batch=relu_runs, batch_size=RELU_STACK_SIZE, dtype="float32")


class SlotSettings(Settings):
    """One network: its kind, its features and its training."""

    slots: Annotated[int, Field(ge=1, le=100)] = 3
    ring_size: Annotated[int, Field(ge=3, le=1000)] = 10
    kind: Literal["slots", "shared"] = "slots"
    combine: Literal["max", "mean", "product"] = "max"
    truth: Literal["mean", "min"] = "mean"
    width: Annotated[int, Field(ge=1, le=10_000)] = 10
    width_of: Literal["map", "all"] = Field(
        default="map", description="whether a map has this width, or this width times the number of slots"
    )
    steps: Annotated[int, Field(ge=0, le=10_000_000)] = 3000
    batch_size: Annotated[int, Field(ge=1, le=100_000)] = 128
    learning_rate: Positive = 7e-3
    reconstruction_weight: NonNegative = 0.0
    stimulus_count: Annotated[int, Field(ge=3, le=2000)] = 150
    log_at: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    device: str = "cpu"


def slot_runs(settings: Sequence[SlotSettings], seeds: Sequence[int]) -> list[CellResult]:
    """Return the results of several networks; those of the same settings are trained together."""
    return run_stacks(settings, seeds, (), _train_slot)


def _train_slot(group: Sequence[SlotSettings], seeds: Sequence[int], checkpoint: Checkpoint | None) -> list[CellResult]:
    given = group[0].model_dump(exclude={"width_of"})
    if group[0].width_of == "all":
        given["width"] = group[0].width * group[0].slots
    runs = train_slot_networks(seeds=list(seeds), checkpoint=checkpoint, **given)
    return [_slot_result(runs, place) for place in range(len(seeds))]


def _slot_result(runs: SlotRuns, place: int) -> dict[str, Any]:
    """Return the course of one network, its final values and its largest values."""
    course = {name: np.asarray(getattr(runs, name)[place]) for name in SLOT_MEASURED}
    return {
        "step": runs.steps,
        **course,
        **{f"final_{name}": float(values[-1]) for name, values in course.items()},
        **{f"largest_{name}": float(course[name].max()) for name in ("generalization", "above_circle", "above_set")},
        "peak_above_set": float(runs.excess_at_peak[place]),
        "failed": bool(runs.failed[place]),
        "stimulus_count": runs.stimulus_count,
        **how_computed(runs),
    }


SLOT_NETWORK = Procedure(SlotSettings, run_batch=slot_runs, batch_size=SLOT_STACK_SIZE, dtype="float32")


class ConvolutionalSettings(Settings):
    """One network on one set of images.

    Cells that differ only in the similarity weight start from the same values and see the same batches: these depend on
    `network`, not on the cell's seed, so that differences are paired.
    """

    extractor: str = Field(default="small", description="small, resnet, or a source of a trained network")
    data: str = "digits"
    image_size: Annotated[int, Field(ge=4, le=1024)] = Field(
        default=64, description="side to which the images of a folder are scaled"
    )
    tree: str | None = Field(default=None, description="Newick text or file; clustering of the images if left out")
    leaf_table: str | None = Field(default=None, description="table from the classes' names to the tree's leaves")
    similarity_weight: Share = 0.5
    network: Annotated[int, Field(ge=0)] = 0
    epochs: Annotated[int, Field(ge=0, le=100_000)] = 30
    batch_size: Annotated[int, Field(ge=2, le=100_000)] = 64
    learning_rate: Positive = 1e-3
    most_stimuli: Annotated[int, Field(ge=3, le=5000)] = 600
    device: str = "cpu"


def convolutional_runs(settings: Sequence[ConvolutionalSettings], seeds: Sequence[int]) -> list[CellResult]:
    """Return the results of several networks; those that differ only in the similarity weight are trained together."""
    return run_stacks(settings, seeds, ("similarity_weight",), _train_convolutional)


def _train_convolutional(
    group: Sequence[ConvolutionalSettings], _: Sequence[int], checkpoint: Checkpoint | None
) -> list[CellResult]:
    one = group[0]
    weights = sorted({each.similarity_weight for each in group})
    found = fine_tune(
        one.extractor,
        data=_load_images(one.data, one.image_size),
        leaf_names=None if one.leaf_table is None else read_leaf_names(one.leaf_table),
        similarity_weight=weights,
        seeds=[one.network],
        checkpoint=checkpoint,
        **one.model_dump(include={"tree", "epochs", "batch_size", "learning_rate", "most_stimuli", "device"}),
    )
    return [_convolutional_result(found, weights.index(each.similarity_weight)) for each in group]


@lru_cache(maxsize=2)
def _load_images(source: str, image_size: int) -> LabeledImages:
    return load_images(source, image_size=image_size)


def _convolutional_result(found: FineTuned, place: int) -> dict[str, Any]:
    """Return the numbers of one network and its curve, with the curve of features that match the tree."""
    tests, best = found.tests[place], found.tree_tests
    return {
        **{name: float(found.values(name)[place]) for name in QUANTITIES},
        "identification": IDENTIFICATION_GRID,
        "generalization": tests.generalization_at(IDENTIFICATION_GRID),
        "tree_identification": best.curve.identification,
        "tree_generalization": best.curve.generalization,
        "tree_peak_generalization": best.peak_generalization,
        "tree_peak_identification": best.peak_identification,
        "tied_fraction": best.tied_fraction,
        "stimulus_count": best.stimulus_count,
        "failed": bool(found.failed[place]),
        **how_computed(found),
    }


CONVOLUTIONAL = Procedure(
    ConvolutionalSettings, run_batch=convolutional_runs, batch_size=CONVOLUTIONAL_STACK_SIZE, dtype="float32"
)
