"""The experiment on relation networks: one network that learns a relation from some of its entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from genlaws.ensembles import Checkpoint
from genlaws.relations.networks.network import learn_relation
from genlaws.relations.networks.phases import PHASES, classify, grokking_delays
from genlaws.relations.networks.runs import ACCURACIES, RelationRuns
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.relation import Relation, relation_from_text
from genlaws.sweeps.experiment import Procedure, Result, Settings
from genlaws.sweeps.stacking import run_stacks

PER_NETWORK = (
    *("encoder_rate", "decoder_rate", "encoder_decay", "decoder_decay"),
    *("embedding_scale", "decoder_scale", "label_noise"),
)
# Networks that are shown less are filled up to those that are shown most. A card does not mind; a processor does.
ON_A_CARD = (*PER_NETWORK, "train_fraction")
STACK, STACK_ON_A_CARD = 16, 2048  # networks; measured in benchmarks/README.md
ACTIVATIONS_ON_A_CARD = 2_000_000_000  # numbers of one layer when whole tables are answered; 8 GB
ABOUT = {"matrix", "elements", "log_every", "target", "grokking_delay", "keep_course"}

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Factor = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]


class RelationNetworkSettings(Settings):
    """One network, what it is shown, and how it is trained.

    `matrix` is any relation as text (``relation_to_text``); `relation` is then only what to call it. A network leaves
    the training when both its accuracies exceed `stop_at`.
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
    encoder_decay: Factor = 0.0
    decoder_decay: Factor = 0.0
    embedding_scale: Factor = 1.0
    decoder_scale: Factor = 1.0
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
        """A network that left before its target would count as one that never reached it."""
        target = info.data.get("target", 0.0)
        if stop_at is not None and stop_at < target:
            raise ValueError(f"stop_at must not be below target, {target:g}")
        return stop_at


def on_a_card(settings: RelationNetworkSettings) -> bool:
    """Return whether a cell is computed on a graphics card."""
    return settings.device.startswith("cuda")


def stack_size(settings: RelationNetworkSettings) -> int:
    """Return how many networks to train together: on a card as many as it can answer whole tables at once for."""
    if not on_a_card(settings):
        return STACK
    table = relation_of(settings).element_count ** 2
    return min(STACK_ON_A_CARD, ACTIVATIONS_ON_A_CARD // (table * settings.width))


def relation_of(settings: RelationNetworkSettings) -> Relation:
    """Return the relation that the settings name or hold."""
    if settings.matrix is not None:
        return relation_from_text(settings.matrix, settings.relation)
    return named_relation(settings.relation, settings.elements)


def relation_network_runs(settings: Sequence[RelationNetworkSettings], seeds: Sequence[int]) -> list[Result]:
    """Return what became of several networks; those that may share a stack are trained together."""
    return run_stacks(settings, seeds, ON_A_CARD if on_a_card(settings[0]) else PER_NETWORK, _train)


def _train(
    group: Sequence[RelationNetworkSettings], seeds: Sequence[int], checkpoint: Checkpoint | None
) -> list[Result]:
    shared = group[0]
    given = shared.model_dump(exclude={*ABOUT, *ON_A_CARD, "relation"})
    own: dict[str, Any] = {name: [getattr(one, name) for one in group] for name in ON_A_CARD}
    runs = learn_relation(
        relation_of(shared),
        seeds=list(seeds),
        log_at=range(0, shared.steps + 1, shared.log_every),
        checkpoint=checkpoint,
        **given,
        **own,
    )
    return [_result(runs, place, shared) for place in range(len(group))]


def _result(runs: RelationRuns, place: int, settings: RelationNetworkSettings) -> dict[str, Any]:
    """Return when one network reached the targets, its phase and where it ended."""
    train_step, test_step = (
        int(runs.steps_to(name, settings.target)[place]) for name in ("train_accuracy", "test_accuracy")
    )
    phase = int(classify(train_step, test_step, settings.grokking_delay))
    course = {"step": runs.steps, **{name: getattr(runs, name)[place] for name in ACCURACIES}}
    return {
        "train_step": train_step,
        "test_step": test_step,
        "delay": float(grokking_delays(train_step, test_step)),
        "phase": PHASES[phase],
        **{f"final_{name}": float(runs.final(name)[place]) for name in ACCURACIES},
        **(course if settings.keep_course else {}),
        "majority_accuracy": runs.majority_accuracy,
        "failed": bool(runs.failed[place]),
        "device": runs.device,
        "dtype": runs.dtype,
        "path": runs.path,
    }


RELATION_NETWORK = Procedure(
    RelationNetworkSettings, run_batch=relation_network_runs, batch_size=stack_size, dtype="float32"
)
