"""Batches of a stack at each step: all examples, some of them, or fresh draws.

A batch is a mapping from names to tensors whose first axis is the network; an axis of length 1 there means that all
networks share it. The entry ``weight``, (networks or 1, rows), is the weight of each row, 0 for rows that only fill
the stack.
"""

from __future__ import annotations

import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from genlaws.core.errors import InputError
from genlaws.ensembles import streams
from genlaws.ensembles.architecture import Tensors

MAX_STEP = sys.maxsize
STEPS_PER_BLOCK = 64  # drawn at once; below about ten the calls cost more than the numbers
WEIGHT_KEY = "weight"
BATCH_PURPOSE = 1  # of the random numbers; initial values have another


class Batches(ABC):
    """Batches by step. Between two calls of `prepare` no work of the host is needed.

    Attributes
    ----------
    networks : int or None
        Number of networks; None if all share the same examples.
    """

    networks: int | None = None

    @abstractmethod
    def prepare(self, step: int) -> int:
        """Prepare the batches from this step on; return the first step that is not prepared."""

    @abstractmethod
    def at(self, step: Tensor) -> Tensors:
        """Return the batch of a step, an integer tensor without axes."""

    @abstractmethod
    def select(self, chosen: Tensor) -> Batches:
        """Return the batches of some of the networks."""

    @abstractmethod
    def to(self, device: torch.device, dtype: torch.dtype) -> Batches:
        """Return the same batches on a device; fractions and weights in the given type."""

    @abstractmethod
    def fingerprint(self) -> int:
        """Return a number that changes with the data."""


class WholeSet(Batches):
    """All examples at every step.

    Parameters
    ----------
    examples : mapping of names to tensors of shape (networks or 1, rows, ...)
    """

    def __init__(self, examples: Mapping[str, Tensor]) -> None:
        self.examples = check_examples(examples)
        counts = {values.shape[0] for values in self.examples.values()} - {1}
        self.networks = counts.pop() if counts else None

    def prepare(self, step: int) -> int:
        """Return the largest step: nothing has to be prepared."""
        return MAX_STEP

    def at(self, step: Tensor) -> Tensors:
        """Return all examples."""
        return self.examples

    def select(self, chosen: Tensor) -> WholeSet:
        """Return the examples of some of the networks."""
        return WholeSet(_select_networks(self.examples, chosen))

    def to(self, device: torch.device, dtype: torch.dtype) -> WholeSet:
        """Return the same examples on a device."""
        return WholeSet(_move_examples(self.examples, device, dtype))

    def fingerprint(self) -> int:
        """Return a checksum of the examples."""
        return checksum(self.examples)


class Minibatches(Batches):
    """Some of the examples at each step, chosen for each network by its own seed.

    Parameters
    ----------
    examples : mapping of names to tensors of shape (networks or 1, rows, ...)
        Rows of weight 0 are never chosen; other weights enter the loss and do not affect the choice.
    batch_size : int
    seeds : sequence of int
        One for each network.
    order : {"epochs", "random"}
        ``epochs``: every example once in each epoch, in a new order each time; the last batch of an epoch may be
        smaller. ``random``: drawn independently, with replacement.
    """

    def __init__(
        self, examples: Mapping[str, Tensor], batch_size: int, seeds: Sequence[int], order: str = "epochs"
    ) -> None:
        if order not in {"epochs", "random"}:
            raise InputError(f"order must be epochs or random; got {order!r}.")
        if batch_size < 1:
            raise InputError(f"batch_size must be at least 1; got {batch_size}.")
        if batch_size != int(batch_size):
            raise InputError(f"batch_size must be a whole number; got {batch_size}.")
        self.examples = check_examples(examples)
        self.batch_size, self.seeds, self.order = int(batch_size), [int(one) for one in seeds], order
        self.networks = len(self.seeds)
        given = {values.shape[0] for values in self.examples.values()}
        if not given <= {1, self.networks}:
            raise InputError(f"Examples must be for {self.networks} networks, one for each seed, or shared (1).")
        rows = next(iter(self.examples.values())).shape[1]
        device = next(iter(self.examples.values())).device
        weight = self.examples.get(WEIGHT_KEY)
        some = torch.ones(1, rows, device=device) if weight is None else weight
        self._allowed = (some > 0).expand(len(self.seeds), rows)
        self._counts = self._allowed.sum(1)
        self._keys = streams.keys_of(self.seeds, device, BATCH_PURPOSE)
        self._batches_per_epoch = (self._counts + self.batch_size - 1) // self.batch_size
        self._epoch_lengths: set[int] = set(self._batches_per_epoch.tolist())
        # In fixed memory, so that a captured graph reads the order of a later epoch.
        self._order = self._allowed.to(torch.uint8).argsort(dim=1, descending=True, stable=True)
        block = STEPS_PER_BLOCK if order == "random" else 0
        self._drawn = torch.zeros(block, len(self.seeds), self.batch_size, dtype=torch.int64, device=device)
        self._epoch = torch.full((len(self.seeds),), -1, dtype=torch.int64, device=device)
        self._in_order = self._order.clone()
        self._start = self._ready = -1

    def prepare(self, step: int) -> int:
        """Shuffle where a new epoch begins, or draw the next block of steps."""
        if self.order == "random":
            start = step - step % STEPS_PER_BLOCK
            if start != self._start:
                steps = torch.arange(start, start + STEPS_PER_BLOCK, device=self._keys.device)
                places = streams.whole_numbers(self._keys, steps, self.batch_size, self._counts)
                self._drawn.copy_(torch.gather(self._in_order.expand(STEPS_PER_BLOCK, -1, -1), 2, places))
                self._start = start
            return start + STEPS_PER_BLOCK
        epoch = step // self._batches_per_epoch
        ready = step + min((count - step % count for count in self._epoch_lengths), default=1)
        if self._start <= step < self._ready:
            return ready
        self._start, self._ready = step, ready
        fresh = streams.permutations(self._keys, epoch, self._allowed)
        self._order.copy_(torch.where((epoch != self._epoch)[:, None], fresh, self._order))
        self._epoch.copy_(epoch)
        return ready

    def at(self, step: Tensor) -> Tensors:
        """Return the rows of this step's batch."""
        if self.order == "random":
            chosen = self._drawn.index_select(0, (step % STEPS_PER_BLOCK).view(1)).squeeze(0)
            return {name: _gather_rows(values, chosen) for name, values in self.examples.items()}
        first = (step % self._batches_per_epoch) * self.batch_size
        places = first[:, None] + torch.arange(self.batch_size, device=first.device)
        there = places < self._counts[:, None]
        chosen = torch.gather(self._order, 1, torch.where(there, places, 0))
        batch = {name: _gather_rows(values, chosen) for name, values in self.examples.items()}
        weight = batch.get(WEIGHT_KEY)
        kind = next((one.dtype for one in batch.values() if one.is_floating_point()), torch.get_default_dtype())
        batch[WEIGHT_KEY] = there.to(kind) if weight is None else weight * there
        return batch

    def select(self, chosen: Tensor) -> Minibatches:
        """Return the batches of some of the networks."""
        seeds = [self.seeds[place] for place in chosen.tolist()]
        return Minibatches(_select_networks(self.examples, chosen), self.batch_size, seeds, self.order)

    def to(self, device: torch.device, dtype: torch.dtype) -> Minibatches:
        """Return the same batches on a device."""
        return Minibatches(_move_examples(self.examples, device, dtype), self.batch_size, self.seeds, self.order)

    def fingerprint(self) -> int:
        """Return a checksum of the examples and of how batches are made."""
        return zlib.crc32(repr((self.batch_size, self.seeds, self.order)).encode(), checksum(self.examples))


ExampleDraw = Callable[[Tensor, Tensor], Tensors]


class FreshDraws(Batches):
    """A new random batch at each step, for tasks that can be drawn without end.

    Parameters
    ----------
    draw : callable
        ``draw(keys, steps)``, of shapes (networks,) and (steps,), returns tensors of shape (steps, networks, ...). It
        uses the functions of `streams`, so that the batch of a network depends only on its seed and the step.
    seeds : sequence of int
    device : torch.device
    dtype : torch.dtype, optional
        Of fractions and weights; as they are drawn if left out. `train` sets its own.
    """

    def __init__(
        self,
        draw: ExampleDraw,
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        dtype: torch.dtype | None = None,
    ) -> None:
        self.draw, self.seeds = draw, [int(one) for one in seeds]
        self.device, self.dtype, self.networks = torch.device(device), dtype, len(self.seeds)
        self._keys = streams.keys_of(self.seeds, self.device, BATCH_PURPOSE)
        self._block: Tensors = {}
        self._start = -1

    def prepare(self, step: int) -> int:
        """Draw the block of steps this one lies in."""
        start = step - step % STEPS_PER_BLOCK
        if start == self._start:
            return start + STEPS_PER_BLOCK
        self._start = start
        drawn = self.draw(self._keys, torch.arange(start, start + STEPS_PER_BLOCK, device=self.device))
        if self.dtype is not None:
            drawn = _move_examples(drawn, self.device, self.dtype)
        if not self._block:
            # A copy: the draw may be a view, or share memory that a later block must not share.
            self._block = {name: one.clone(memory_format=torch.contiguous_format) for name, one in drawn.items()}
        else:
            for name, values in drawn.items():
                self._block[name].copy_(values)
        return start + STEPS_PER_BLOCK

    def at(self, step: Tensor) -> Tensors:
        """Return this step's draw."""
        place = (step % STEPS_PER_BLOCK).view(1)
        return {name: values.index_select(0, place).squeeze(0) for name, values in self._block.items()}

    def select(self, chosen: Tensor) -> FreshDraws:
        """Return the draws of some of the networks."""
        return FreshDraws(self.draw, [self.seeds[place] for place in chosen.tolist()], self.device, self.dtype)

    def to(self, device: torch.device, dtype: torch.dtype) -> FreshDraws:
        """Return the same draws on a device."""
        return FreshDraws(self.draw, self.seeds, device, dtype)

    def fingerprint(self) -> int:
        """Return a checksum of the seeds and of the first draw."""
        first = self.draw(self._keys, torch.zeros(1, dtype=torch.int64, device=self.device))
        return zlib.crc32(repr(self.seeds).encode(), checksum(first))


def check_examples(examples: Mapping[str, Tensor]) -> Tensors:
    """Return examples as a dictionary; raise an error if their shapes or weights do not fit."""
    plain = dict(examples)
    if not plain:
        raise InputError("There are no examples.")
    shapes = {name: tuple(values.shape[:2]) for name, values in plain.items()}
    if any(len(shape) < 2 for shape in shapes.values()) or len({rows for _, rows in shapes.values()}) > 1:
        raise InputError(f"Examples must have the shape (networks or 1, rows, ...) with the same rows; got {shapes}.")
    networks = {count for count, _ in shapes.values() if count != 1}
    if len(networks) > 1:
        raise InputError(f"Examples must be for the same number of networks, or shared (1); got {shapes}.")
    weight = plain.get(WEIGHT_KEY)
    if weight is not None:
        if bool((weight < 0).any()) or (weight.is_floating_point() and not bool(weight.isfinite().all())):
            raise InputError("Weights must be finite and not negative.")
        if not bool((weight > 0).any(1).all()):
            raise InputError("Every network needs at least one example with a weight above 0.")
    return plain


def checksum(tensors: Mapping[str, Tensor]) -> int:
    """Return a checksum of names, shapes and bytes."""
    total = 0
    for name in sorted(tensors):
        values = tensors[name].detach().cpu().contiguous()
        total = zlib.crc32(f"{name}{tuple(values.shape)}{values.dtype}".encode(), total)
        total = zlib.crc32(values.numpy().tobytes(), total)
    return total


def _gather_rows(values: Tensor, chosen: Tensor) -> Tensor:
    """Return the chosen rows, (networks, batch), of examples that may be shared."""
    if values.shape[0] == 1:
        return values[0][chosen]
    index = chosen.reshape(*chosen.shape, *[1] * (values.ndim - 2)).expand(*chosen.shape, *values.shape[2:])
    return torch.gather(values, 1, index)


def _select_networks(examples: Tensors, chosen: Tensor) -> Tensors:
    return {name: values if values.shape[0] == 1 else values[chosen] for name, values in examples.items()}


def _move_examples(examples: Tensors, device: torch.device, dtype: torch.dtype) -> Tensors:
    return {
        name: values.to(device, dtype if values.is_floating_point() or name == WEIGHT_KEY else values.dtype)
        for name, values in examples.items()
    }
