"""The experiment on two-layer networks with trained features on rules and facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from genlaws.ensembles import Checkpoint
from genlaws.rules_facts.networks.runs import MEASURED_COLUMNS, TwoLayerRuns
from genlaws.rules_facts.networks.two_layer import train_two_layer
from genlaws.sweeps.experiment import CellResult, NonNegative, Positive, Procedure, Settings, Share
from genlaws.sweeps.stacking import how_computed, run_stacks

PER_TWO_LAYER_NETWORK = ("learning_rate", "feature_rate", "weight_decay", "feature_scale", "readout_scale")
STACK_SIZE = 64  # larger stacks gain little on a CPU


class TwoLayerSettings(Settings):
    """One network trained on one Gaussian draw.

    Cells that differ only in rates and scales are trained together.
    """

    dimension: Annotated[int, Field(ge=2, le=20_000)] = 50
    sample_ratio: Positive = 4.0
    fact_fraction: Share = 0.2
    width_ratio: Positive = 4.0
    activation: Literal["tanh", "relu", "sigmoid", "identity"] = "tanh"
    loss: Literal["logistic", "square", "hinge"] = "logistic"
    bias: bool = False
    optimizer: Literal["adamw", "adam", "sgd"] = "adamw"
    learning_rate: Positive = 0.003
    feature_rate: NonNegative = 100.0
    weight_decay: NonNegative = 0.0
    feature_scale: NonNegative = 1.0
    readout_scale: NonNegative = 0.03
    batch_size: Annotated[int, Field(ge=1)] | None = None
    steps: Annotated[int, Field(ge=1, le=100_000_000)] = 3000
    test_count: Annotated[int, Field(ge=1, le=10_000_000)] = 4000
    device: str = "cpu"
    dtype: Literal["float32", "float64"] = "float32"


def two_layer_runs(settings: Sequence[TwoLayerSettings], seeds: Sequence[int]) -> list[CellResult]:
    """Return the measurements of each network along its training, and its final and best errors."""
    return run_stacks(settings, seeds, PER_TWO_LAYER_NETWORK, _train)


def _train(
    settings: Sequence[TwoLayerSettings], seeds: Sequence[int], checkpoint: Checkpoint | None
) -> list[dict[str, Any]]:
    """Train cells that differ only in rates and scales."""
    shared = settings[0].model_dump(exclude={*PER_TWO_LAYER_NETWORK, "width_ratio"})
    rates: dict[str, Any] = {name: [getattr(one, name) for one in settings] for name in PER_TWO_LAYER_NETWORK}
    width = max(1, round(settings[0].width_ratio * settings[0].dimension))
    runs = train_two_layer(**shared, width=width, seeds=seeds, **rates, checkpoint=checkpoint)
    return [_result(runs, network) for network in range(len(runs))]


def _result(runs: TwoLayerRuns, network: int) -> dict[str, Any]:
    """Return the numbers of one network; the best time is that of the smallest choice error."""
    best, memorized = int(runs.best_log[network]), int(runs.memorized_log[network])
    histories = {name: getattr(runs, name)[network] for name in MEASURED_COLUMNS}
    moments = {"final": len(runs.steps) - 1, "best": best, "memorized": memorized}
    numbers = {
        f"{moment}_{name}": float(histories[name][log]) if log >= 0 else float("nan")
        for moment, log in moments.items()
        for name in ("generalization_error", "memorization_error")
    }
    return {
        "step": runs.steps,
        **histories,
        **numbers,
        "best_step": int(runs.steps[best]) if best >= 0 else -1,
        "memorized_step": int(runs.steps[memorized]) if memorized >= 0 else -1,
        "failed": bool(runs.failed[network]),
        **how_computed(runs),
    }


TWO_LAYER = Procedure(TwoLayerSettings, run_batch=two_layer_runs, batch_size=STACK_SIZE, dtype="float32")
