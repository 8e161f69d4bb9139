"""The experiment on images: extractors of features fine-tuned on classes and on how far the classes are apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from genlaws.ensembles import Checkpoint
from genlaws.experiments.experiment import Procedure, Result
from genlaws.experiments.settings import Settings
from genlaws.experiments.stacking import run_stacks
from genlaws.semanticity.class_trees import read_leaf_names
from genlaws.semanticity.convolutional import fine_tune
from genlaws.semanticity.fine_tuned import QUANTITIES, FineTuned
from genlaws.semanticity.labelled_images import LabelledImages, load_images

STACK = 5  # networks trained together; large enough each to fill a core
IDENTIFICATION = np.round(np.linspace(1.0, 0.5, 101), 6)  # at which generalisation is recorded


class ConvolutionalSettings(Settings):
    """One network on one set of images.

    Cells that differ in nothing but the similarity weight start from the same values and see the same batches, those
    of `network` and not of the cell's seed, so that differences are paired.
    """

    extractor: str = Field(default="small", description="small, resnet, or a source of a trained network")
    data: str = "digits"
    image_size: Annotated[int, Field(ge=4, le=1024)] = Field(
        default=64, description="side to which the images of a folder are scaled"
    )
    tree: str | None = Field(default=None, description="Newick text or file; clustering of the images if left out")
    leaf_table: str | None = Field(default=None, description="table from the classes' names to the tree's leaves")
    similarity_weight: Annotated[float, Field(ge=0, le=1)] = 0.5
    network: Annotated[int, Field(ge=0)] = 0
    epochs: Annotated[int, Field(ge=0, le=100_000)] = 30
    batch_size: Annotated[int, Field(ge=2, le=100_000)] = 64
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-3
    most_stimuli: Annotated[int, Field(ge=3, le=5000)] = 600
    device: str = "cpu"


def convolutional_runs(settings: Sequence[ConvolutionalSettings], seeds: Sequence[int]) -> list[Result]:
    """Return the results of several networks; those that differ in the similarity weight alone are trained together."""
    return run_stacks(settings, seeds, ("similarity_weight",), _train)


def _train(group: Sequence[ConvolutionalSettings], _: Sequence[int], checkpoint: Checkpoint | None) -> list[Result]:
    one = group[0]
    weights = sorted({each.similarity_weight for each in group})
    found = fine_tune(
        one.extractor,
        _loaded(one.data, one.image_size),
        tree=one.tree,
        leaf_names=None if one.leaf_table is None else read_leaf_names(one.leaf_table),
        similarity_weight=weights,
        seeds=[one.network],
        epochs=one.epochs,
        batch_size=one.batch_size,
        learning_rate=one.learning_rate,
        most_stimuli=one.most_stimuli,
        device=one.device,
        checkpoint=checkpoint,
    )
    return [_result(found, weights.index(each.similarity_weight)) for each in group]


@lru_cache(maxsize=2)
def _loaded(source: str, image_size: int) -> LabelledImages:
    return load_images(source, image_size=image_size)


def _result(found: FineTuned, place: int) -> dict[str, Any]:
    """Return the numbers of one network and its curve, beside that of features which match the tree."""
    tests, best = found.tests[place], found.tree_tests
    computed = found.training.computed
    return {
        **{name: float(found.values(name)[place]) for name in QUANTITIES},
        "identification": IDENTIFICATION,
        "generalisation": tests.generalisation_at(IDENTIFICATION),
        "tree_identification": best.curve.identification,
        "tree_generalisation": best.curve.generalisation,
        "tree_peak_generalisation": best.peak_generalisation,
        "tree_peak_identification": best.peak_identification,
        "tied_fraction": best.tied_fraction,
        "stimulus_count": best.stimulus_count,
        "failed": bool(found.failed[place]),
        "device": computed.device,
        "dtype": computed.dtype,
        "path": computed.path,
    }


CONVOLUTIONAL = Procedure(ConvolutionalSettings, run_batch=convolutional_runs, batch_size=STACK, dtype="float32")
