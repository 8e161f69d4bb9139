"""The draws that two-layer networks are trained on, and the measurements of a stack of networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from genlaws.core.arguments import whole_number
from genlaws.ensembles import Live, Minibatches, Perceptron, WholeSet
from genlaws.ensembles.architecture import Tensors
from genlaws.ensembles.losses import loss_and_derivative
from genlaws.rules_facts.labels.task import Draw, draw_gaussian

# Random streams: those of the initial values have the spawn keys 0 and 1.
DRAW_STREAM, TEST_ENTROPY = 100, 20_260_325
MAX_ACTIVATIONS = 2**26  # held at once in a measurement


@dataclass(frozen=True)
class Placement:
    """Device and type of the tensors."""

    device: torch.device
    dtype: torch.dtype


@dataclass(frozen=True)
class StackedTask:
    """The draws of all networks, on the device; inputs are divided by √d.

    Attributes
    ----------
    seeds : list of int
    inputs, labels, target, is_fact, teacher : tensors, (networks, ...)
        `target` is the argument of the loss; teachers have length 1.
    test_inputs : tensor, (1, rows, d)
        Shared by all networks; the first half serves to choose a time to stop, the second to measure.
    loss : str
        As named in ensembles.
    """

    seeds: list[int]
    inputs: Tensor
    labels: Tensor
    target: Tensor
    is_fact: Tensor
    teacher: Tensor
    test_inputs: Tensor
    loss: str

    @classmethod
    def draw(
        cls, seeds: list[int], task: tuple[int, float, float], test_count: int, loss: str, where: Placement
    ) -> StackedTask:
        """Draw the task of each seed once, and fresh inputs for all, twice as many as one test takes."""
        different = list(dict.fromkeys(seeds))
        draws = [_draw_task(*task, seed) for seed in different]
        own = torch.tensor([different.index(seed) for seed in seeds], device=where.device)

        def stacked(name: str) -> Tensor:
            """Return one array of all draws, one for each network."""
            parts = torch.from_numpy(np.stack([np.asarray(getattr(one, name)) for one in draws]))
            kind = where.dtype if parts.is_floating_point() else parts.dtype
            return parts.to(where.device, kind)[own]

        rng, root = np.random.default_rng([TEST_ENTROPY, task[0]]), math.sqrt(task[0])
        fresh = torch.from_numpy(rng.standard_normal((1, 2 * test_count, task[0])) / root).to(where.device, where.dtype)
        labels, teacher = stacked("labels"), stacked("teacher")
        return cls(
            seeds,
            stacked("inputs").div_(root),
            labels,
            0.5 * (labels + 1.0) if loss == "logistic" else labels,
            stacked("is_fact"),
            teacher / torch.linalg.vector_norm(teacher, dim=1, keepdim=True),
            fresh,
            loss,
        )

    @property
    def test_count(self) -> int:
        """Number of fresh inputs on which the generalization error is counted."""
        return self.test_inputs.shape[1] // 2

    def batches(self, batch_size: int | None) -> WholeSet | Minibatches:
        """Return the training batches of a stack."""
        examples = {"input": self.inputs, "target": self.target[:, :, None]}
        if batch_size is None:
            return WholeSet(examples)
        return Minibatches(examples, whole_number("batch_size", batch_size, at_least=1), self.seeds)

    def measurement(self, network: Perceptron) -> Callable[[Live], Tensors]:
        """Return the function that measures a stack."""
        rule = _signs(torch.einsum("smd,kd->km", self.test_inputs, self.teacher))

        def measure(live: Live) -> Tensors:
            """Measure the networks as they are now."""
            broken = _signs(_outputs(network, live.values, self.test_inputs)) != rule
            choice, test = torch.split(broken.double(), self.test_count, 1)
            f = _outputs(network, live.values, self.inputs)
            wrong = (_signs(f) != self.labels).double()
            loss, _ = loss_and_derivative(self.loss, f[:, :, None], self.target[:, :, None], None)
            return {
                "generalization_error": test.mean(1),
                "choice_error": choice.mean(1),
                "memorization_error": _mean_where(self.is_fact, wrong),
                "rule_sample_error": _mean_where(~self.is_fact, wrong),
                "training_loss": loss,
                **_alignment(live.values, self.teacher),
            }

        return measure


def _draw_task(dimension: int, sample_ratio: float, fact_fraction: float, seed: int) -> Draw:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(DRAW_STREAM,)))
    return draw_gaussian(dimension, sample_ratio, fact_fraction, test_count=1, seed=rng)


def _outputs(network: Perceptron, values: Tensors, inputs: Tensor) -> Tensor:
    """Return the outputs of all networks, (networks, rows), some rows at a time."""
    rows = max(1, MAX_ACTIVATIONS // (len(values["weight_1"]) * network.sizes[1]))
    return torch.cat([network.outputs(values, part)[:, :, 0] for part in torch.split(inputs, rows, 1)], dim=1)


def _alignment(values: Tensors, teacher: Tensor) -> Tensors:
    """Return how much of the first layer lies along the rule, and the angle of the linear part to it over π."""
    first = values["weight_1"].double()
    along = (first * teacher.double()[:, :, None]).sum(1)
    linear = torch.bmm(first, values["weight_2"].double())[:, :, 0]
    overlap = (linear * teacher.double()).sum(1)
    across = (linear.square().sum(1) - overlap.square()).clamp(min=0.0).sqrt()
    return {
        "alignment": along.square().sum(1) / first.square().sum((1, 2)),
        "direction_error": torch.atan2(across, overlap) / math.pi,
    }


def _signs(values: Tensor) -> Tensor:
    return torch.where(values >= 0.0, 1.0, -1.0).to(values.dtype)


def _mean_where(chosen: Tensor, values: Tensor) -> Tensor:
    """Return the mean over the chosen samples of each network; NaN where there are none."""
    return (values * chosen).sum(1) / chosen.sum(1)
