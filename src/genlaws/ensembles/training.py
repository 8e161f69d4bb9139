"""Train a stack of networks: one call from seeds to measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from genlaws.core.errors import InputError
from genlaws.core.running import Running, checked_running
from genlaws.ensembles import checkpoint as saving
from genlaws.ensembles.architecture import Architecture, Layout, PerPart, Tensors, per_network
from genlaws.ensembles.batches import Batches, checksum
from genlaws.ensembles.checkpoint import Checkpoint, PartialResult, describe_architecture, training_fingerprint
from genlaws.ensembles.execution import Execution, execution
from genlaws.ensembles.optimizers import Adam, Optimizer, rates_of
from genlaws.ensembles.result import NEVER, Live, Log, TrainedStack, describe_computing
from genlaws.ensembles.stack import Stack

Measure = Callable[[Live], Tensors]
Criterion = Callable[[Tensors], Tensor]
FLOAT_TYPES = (torch.float32, torch.float64)


def train(
    architecture: Architecture,
    batches: Batches,
    *,
    seeds: Sequence[int] | Mapping[str, Sequence[int]],
    steps: int,
    optimizer: Optimizer | None = None,
    learning_rate: PerPart = 1e-3,
    weight_decay: PerPart = 0.0,
    initial_scale: PerPart = 1.0,
    start: Tensor | None = None,
    log_at: Sequence[int] = (),
    measure: Measure | None = None,
    finished: Criterion | None = None,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    path: str = "auto",
    checkpoint: Checkpoint | None = None,
    running: Running | None = None,
) -> TrainedStack:
    """Train many networks of one architecture at once.

    Every network is trained as if it were alone: its initial values and batches come from its own seed, and its
    numbers do not depend on the other networks beyond rounding.

    Parameters
    ----------
    architecture : Architecture
    batches : Batches
        Training examples, for as many networks as there are seeds.
    seeds : sequence of int, or mapping from each part to one
        Of the initial values, one for each network.
    steps : int
        Updates of each network.
    optimizer : Optimizer
        `Adam`, `AdamW` or `Sgd`; Adam with its usual settings if left out.
    learning_rate, weight_decay, initial_scale : per part
        A number, one for each network, or a mapping from part to either.
    start : tensor of shape (networks, size), optional
        Initial rows in place of drawn ones, as for fine-tuning. Then only the number of seeds is used, and there is no
        initial scale.
    log_at : sequence of int
        After how many updates to measure. The device does not wait for it, unless there is a criterion.
    measure : callable, optional
        What to measure: returns numbers by name, (networks, ...), for the networks in the stack. By default the loss.
    finished : callable, optional
        Whether each network is done: returns truth values, (networks,), from what was measured. Finished networks leave
        the stack, and the others continue in a smaller one.
    device, dtype : torch device and float32 or float64
    path : {"auto", "eager", "graph", "fused"}
        How to compute; by default the fastest that fits. They agree within rounding; the page on ensembles has the
        measured tolerance.
    checkpoint : Checkpoint, optional
        Save the training at regular intervals, and continue from there if the file exists. On the same device the
        result is the same bit for bit. The file is removed at the end.
    running : Running, optional
        Its steps are those of the training, reported whenever something is measured or saved.
    """
    for name, given in (("steps", [steps]), ("log_at", log_at)):
        if wrong := [one for one in given if one != int(one)]:
            raise InputError(f"{name} must be a whole number; got {wrong[0]}.")
    plan = _Plan(architecture, sorted({int(one) for one in log_at}), int(steps), measure or _loss, finished)
    if dtype not in FLOAT_TYPES:
        raise InputError(f"dtype must be torch.float32 or torch.float64; got {dtype}.")
    layout, place, shown = architecture.layout, read_device(device), checked_running(running)
    drawn = layout.start(seeds, initial_scale) if start is None else _read_start(start, seeds, initial_scale, layout)
    rows = drawn.to(place, dtype, copy=True)
    count = len(rows)
    if batches.networks not in {None, count}:
        raise InputError(f"There are batches for {batches.networks} networks and seeds for {count}.")
    lr = per_network(learning_rate, "learning_rate", layout.trained_parts, count, layout.parts)
    decay = per_network(weight_decay, "weight_decay", layout.trained_parts, count, layout.parts)
    moved = batches.to(place, dtype)
    stack = Stack(architecture, optimizer or Adam(), moved, rows, rates_of(layout, lr, decay, rows))
    chosen = execution(path, stack)
    progress = PartialResult(Log(count), torch.zeros_like(rows), *(np.full(count, NEVER) for _ in range(3)))
    saver = None if checkpoint is None else _Saver(checkpoint, _fingerprint(plan, stack, chosen), len(plan.log_at))
    if saver is not None:
        saver.load(stack, progress)
    _run(plan, stack, chosen, progress, saver, shown)
    if checkpoint is not None:
        checkpoint.remove()
    progress.log.collect(len(plan.log_at))
    return TrainedStack(
        progress.rows,
        layout,
        np.array(plan.log_at, dtype=np.int64),
        progress.log.arrays,
        progress.updates,
        progress.finished_at,
        progress.failed_at,
        describe_computing(progress.rows, chosen.name),
    )


@dataclass(frozen=True)
class _Plan:
    architecture: Architecture
    log_at: list[int]
    steps: int
    measure: Measure
    finished: Criterion | None

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise InputError(f"steps must not be negative; got {self.steps}.")
        if self.log_at and not 0 <= self.log_at[0] <= self.log_at[-1] <= self.steps:
            raise InputError(
                f"log_at must lie between 0 and steps = {self.steps}; got {self.log_at[0]} to {self.log_at[-1]}."
            )


@dataclass(frozen=True)
class _Saver:
    checkpoint: Checkpoint
    fingerprint: str
    expected_logs: int

    def load(self, stack: Stack, progress: PartialResult) -> None:
        """Continue from the checkpoint, if there is one."""
        saving.load(self.checkpoint, self.fingerprint, stack, progress)

    def save(self, stack: Stack, progress: PartialResult) -> None:
        """Write the checkpoint."""
        saving.save(self.checkpoint, self.fingerprint, stack, progress, self.expected_logs)


def read_device(device: torch.device | str) -> torch.device:
    """Return a device; raise an error if torch cannot use it."""
    try:
        place = torch.device(device)
        torch.empty(0, device=place)
    except (RuntimeError, AssertionError, TypeError):
        raise InputError(f"device must be one that torch can use here, such as cpu; got {str(device)!r}.") from None
    return place


def _read_start(start: Tensor, seeds: Any, scale: PerPart, layout: Layout) -> Tensor:
    """Return the given initial rows; raise an error if other arguments contradict them."""
    count = len(next(iter(seeds.values())) if isinstance(seeds, Mapping) else seeds)
    if start.shape != (count, layout.size):
        raise InputError(f"start must have the shape {(count, layout.size)}; got {tuple(start.shape)}.")
    if isinstance(scale, Mapping) or np.any(np.asarray(scale) != 1.0):
        raise InputError("initial_scale belongs to initial values that are drawn; scale start itself.")
    return start


def _fingerprint(plan: _Plan, stack: Stack, way: Execution) -> str:
    """Return a digest of everything that the training depends on, before its first update."""
    return training_fingerprint(
        layout=plan.architecture.layout.parameters,
        architecture=describe_architecture(plan.architecture),
        optimizer=stack.optimizer,
        rates=[(one.learning_rate.tolist(), one.weight_decay.tolist()) for one in stack.rates],
        steps=plan.steps,
        logs=plan.log_at,
        start=checksum({"rows": stack.rows}),
        data=stack.batches.fingerprint(),
        dtype=str(stack.rows.dtype),
        path=way.name,
    )


def _loss(live: Live) -> Tensors:
    """Measure the loss of the last update."""
    return {"loss": live.loss}


def _run(  # noqa: PLR0917
    plan: _Plan, stack: Stack, way: Execution, progress: PartialResult, saver: _Saver | None, running: Running
) -> None:
    """Make all updates, stopping where something is measured or saved."""
    to_log = set(plan.log_at[len(progress.log.steps) :])
    to_save = set(range(saver.checkpoint.every, plan.steps, saver.checkpoint.every)) if saver else set()
    running.start(plan.steps, "training steps")
    reported = 0
    for stop in sorted({*to_log, *to_save, plan.steps}):
        if stop < stack.made or not len(stack):
            continue
        way.advance(stack, stop)
        if stop in to_log or stop == plan.steps:
            # Not only at a save: the result must not depend on how often the training is saved.
            stack.mark_broken()
        if stop in to_log:
            _measure(plan, stack, progress)
        if saver is not None and stop in to_save:
            saver.save(stack, progress)
        running.advance(stop - reported)
        reported = stop
    running.advance(plan.steps - reported)  # of networks that all finished early
    _leave(stack, progress, torch.ones(len(stack), dtype=torch.bool, device=stack.rows.device))


def _measure(plan: _Plan, stack: Stack, progress: PartialResult) -> None:
    """Log the measurements; if there is a criterion, networks that meet it or are broken leave the stack."""
    measured = plan.measure(stack.live())
    sound = stack.failed == NEVER
    progress.log.add(stack.made, stack.number, {name: _mask_broken(sound, one) for name, one in measured.items()})
    if not stack.rows.is_cuda:
        # There is no device to wait for, and thousands of small tensors would leave holes in the memory.
        progress.log.collect(len(plan.log_at))
    if plan.finished is None:
        return
    done = plan.finished(measured) & sound
    progress.finished_at[stack.number[done].cpu().numpy()] = stack.made
    going = done | ~sound
    if bool(going.any()):
        _leave(stack, progress, going)
        stack.keep((~going).nonzero().squeeze(1))


def _mask_broken(sound: Tensor, measured: Tensor) -> Tensor:
    """Return measurements with NaN for broken networks, whose measurements may be finite."""
    shaped = sound.reshape(-1, *[1] * (measured.ndim - 1))
    values = measured if measured.is_floating_point() else measured.to(torch.float64)
    return torch.where(shaped, values, torch.nan)


def _leave(stack: Stack, progress: PartialResult, going: Tensor) -> None:
    """Store the parameters of networks that leave the stack."""
    number = stack.number[going]
    progress.rows[number] = stack.rows[going]
    places = number.cpu().numpy()
    progress.updates[places] = stack.made
    progress.failed_at[places] = stack.failed[going].cpu().numpy()
