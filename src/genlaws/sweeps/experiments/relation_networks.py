"""The experiment on relation networks: one network that learns a relation from some of its entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from genlaws.ensembles import Checkpoint
from genlaws.relations.networks.network import train_networks
from genlaws.relations.networks.phases import network_outcomes
from genlaws.relations.networks.runs import ACCURACIES, RelationRuns, networks_together
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.relation import Relation, relation_from_text
from genlaws.sweeps.experiment import CellResult, NonNegative, Positive, Procedure, Settings, Share
from genlaws.sweeps.stacking import how_computed, run_stacks

PER_RELATION_NETWORK = (
    *("encoder_rate", "decoder_rate", "encoder_decay", "decoder_decay"),
    *("embedding_scale", "decoder_scale", "label_noise"),
)
# Networks with smaller training sets are padded to the largest. That is cheap on a GPU and slow on a CPU.
PER_RELATION_NETWORK_ON_GPU = (*PER_RELATION_NETWORK, "train_fraction")
NON_TRAINING_FIELDS = {"matrix", "elements", "log_every", "target", "grokking_delay", "keep_course"}


class RelationNetworkSettings(Settings):
    """One network, its training set, and its training.

    `matrix` is any relation as text (``relation_to_text``); `relation` is then only its label. A network stops when
    both its accuracies exceed `stop_at`.
    """

    relation: str = "mod3"
    elements: Annotated[int, Field(ge=1, le=2000)] | None = None
    matrix: str | None = None
    train_fraction: Share = 0.75
    label_noise: Share = 0.0
    dimension: Annotated[int, Field(ge=1, le=1000)] = 2
    depth: Annotated[int, Field(ge=0, le=100)] = 3
    width: Annotated[int, Field(ge=1, le=10_000)] = 50
    mode: Literal["concatenate", "difference", "squared_difference"] = "concatenate"
    activation: Literal["tanh", "relu", "sigmoid", "identity"] = "tanh"
    encoder_rate: Positive = 1e-3
    decoder_rate: Positive = 1e-3
    encoder_decay: NonNegative = 0.0
    decoder_decay: NonNegative = 0.0
    embedding_scale: NonNegative = 1.0
    decoder_scale: NonNegative = 1.0
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    batch_size: Annotated[int, Field(ge=1)] | None = None
    steps: Annotated[int, Field(ge=1, le=100_000_000)] = 10_000
    log_every: Annotated[int, Field(ge=1)] = 100
    target: Share = 0.9
    grokking_delay: Annotated[int, Field(ge=0)] = 1000
    stop_at: Share | None = None
    keep_course: bool = False
    precision: Literal["single", "double"] = "single"
    device: str = "cpu"
    path: Literal["auto", "eager", "graph", "fused"] = "auto"

    @field_validator("stop_at")
    @classmethod
    def _not_before_the_target(cls, stop_at: float | None, info: ValidationInfo) -> float | None:
        """A network that stopped before its target would count as one that never reached it."""
        target = info.data.get("target", 0.0)
        if stop_at is not None and stop_at < target:
            raise ValueError(f"stop_at must not be below target, {target:g}")
        return stop_at


def on_gpu(settings: RelationNetworkSettings) -> bool:
    """Return whether a cell is computed on a GPU."""
    return settings.device.startswith("cuda")


def stack_size(settings: RelationNetworkSettings) -> int:
    """Return how many networks to train together; on a GPU, as many as fit with their outputs on whole tables."""
    return networks_together(settings.device, relation_of(settings).element_count, settings.width)


def relation_of(settings: RelationNetworkSettings) -> Relation:
    """Return the relation that the settings name or hold."""
    if settings.matrix is not None:
        return relation_from_text(settings.matrix, settings.relation)
    return named_relation(settings.relation, settings.elements)


def relation_network_runs(settings: Sequence[RelationNetworkSettings], seeds: Sequence[int]) -> list[CellResult]:
    """Return the results of several networks; networks that can share a stack are trained together."""
    return run_stacks(
        settings, seeds, PER_RELATION_NETWORK_ON_GPU if on_gpu(settings[0]) else PER_RELATION_NETWORK, _train
    )


def _train(
    group: Sequence[RelationNetworkSettings], seeds: Sequence[int], checkpoint: Checkpoint | None
) -> list[CellResult]:
    shared = group[0]
    given = shared.model_dump(exclude={*NON_TRAINING_FIELDS, *PER_RELATION_NETWORK_ON_GPU, "relation"})
    own: dict[str, Any] = {name: [getattr(one, name) for one in group] for name in PER_RELATION_NETWORK_ON_GPU}
    runs = train_networks(
        relation_of(shared),
        seeds=list(seeds),
        log_at=range(0, shared.steps + 1, shared.log_every),
        checkpoint=checkpoint,
        **given,
        **own,
    )
    outcomes = network_outcomes(runs, shared.target, shared.grokking_delay)
    return [_result(runs, place, outcome, shared) for place, outcome in enumerate(outcomes)]


def _result(
    runs: RelationRuns, place: int, outcome: dict[str, Any], settings: RelationNetworkSettings
) -> dict[str, Any]:
    """Return the outcome of one network, how it was computed, and its course if requested."""
    course = {"step": runs.steps, **{name: getattr(runs, name)[place] for name in ACCURACIES}}
    return {
        **outcome,
        **(course if settings.keep_course else {}),
        "majority_accuracy": runs.majority_accuracy,
        **how_computed(runs),
    }


RELATION_NETWORK = Procedure(
    RelationNetworkSettings, run_batch=relation_network_runs, batch_size=stack_size, dtype="float32"
)
