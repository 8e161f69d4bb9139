"""The interface of a trainable network: its parameters, their layout in a stack, and the gradient of the losses.

A stack holds one row of numbers for each network. All optimizers, checkpoints and compactions work on whole rows; the
architectures see the rows as named tensors with the network as first axis, without a copy.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from genlaws.core.errors import InputError

Tensors = dict[str, Tensor]
# A number, one number for each network, or a mapping from the part's name to either.
PerPart = Any


class Workspace:
    """Memory that is used again at every step.

    The activations of a stack are large; allocating them at each step costs as much as computing them.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Tensor] = {}
        self._cache: dict[str, tuple[Tensor, Tensor]] = {}

    def empty(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Return a tensor of a shape, in the type and on the device of another; its content is arbitrary."""
        found = self._buffers.get(name)
        if found is None or found.shape != shape or found.dtype != like.dtype or found.device != like.device:
            found = torch.empty(shape, dtype=like.dtype, device=like.device)
            self._buffers[name] = found
        return found

    def cached(self, name: str, source: Tensor, make: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``make(source)``, computed once for the same tensor object, as in a whole set."""
        found = self._cache.get(name)
        if found is None or found[0] is not source:
            found = (source, make(source))
            self._cache[name] = found
        return found[1]

    def clear(self) -> None:
        """Release all memory, when the stack has become smaller."""
        self._buffers.clear()
        self._cache.clear()


class Architecture(Protocol):
    """A kind of network that can be trained in a stack."""

    layout: Layout

    def loss_and_gradient(self, values: Tensors, batch: Tensors, gradient: Tensors, space: Workspace) -> Tensor:
        """Write the gradient of each network's loss and return the losses, (networks,).

        Parameters
        ----------
        values : parameters by name, (networks, ...)
        batch : examples by name, (networks or 1, rows, ...)
        gradient : tensors of the shapes of `values`
            Written to; every number must be set at every call.
        space : Workspace
        """


START_DISTRIBUTIONS = ("linear", "uniform", "normal", "zeros", "given")


@dataclass(frozen=True)
class ParameterArray:
    """One named tensor of a network.

    Attributes
    ----------
    name : str
    shape : tuple of int
        Of one network.
    part : str
        Parameters of one part share learning rate, weight decay, initial scale and seed.
    start : {"linear", "uniform", "normal", "zeros", "given"}, optional
        Distribution of the initial values. ``linear`` is that of a layer of `Perceptron`: uniform within one over the
        square root of the number of inputs, which is the product of all axes but the last (the length of a vector).
        ``uniform`` is on [low, high], ``normal`` has mean 0 and standard deviation `high`; ``given`` values are not
        drawn but given to `train`. If left out, ``linear``, or ``zeros`` for a parameter that is not trained.
    low, high : float
    trained : bool
        Whether the optimizer changes it; running averages of a layer are not trained.
    """

    name: str
    shape: tuple[int, ...]
    part: str = "weights"
    start: str = ""
    low: float = 0.0
    high: float = 1.0
    trained: bool = True

    def __post_init__(self) -> None:
        if not self.start:
            object.__setattr__(self, "start", "linear" if self.trained else "zeros")
        if self.start not in START_DISTRIBUTIONS:
            raise InputError(f"start must be one of {', '.join(START_DISTRIBUTIONS)}; got {self.start!r}.")

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def fan_in(self) -> int:
        """Number of inputs, if it is the matrix (inputs, outputs) of a layer; at least 1."""
        return max(1, math.prod(self.shape[:-1] if len(self.shape) > 1 else self.shape))


def linear_start(fan_in: int) -> dict[str, Any]:
    """Return the start of a linear layer as torch.nn has it: uniform within one over the square root of the fan-in."""
    bound = 1.0 / math.sqrt(fan_in)
    return {"start": "uniform", "low": -bound, "high": bound}


class Layout:
    """The parameters of a network in one row; those of a part are contiguous.

    Parameters
    ----------
    parameters : sequence of ParameterArray
        Names must differ, and a part is either trained or not.
    """

    def __init__(self, parameters: Sequence[ParameterArray]) -> None:
        names = [one.name for one in parameters]
        if not names or len(set(names)) < len(names):
            raise InputError("A layout needs at least one parameter, each with a name of its own.")
        self.parts = tuple(dict.fromkeys(one.part for one in parameters))
        self.parameters = tuple(one for part in self.parts for one in parameters if one.part == part)
        ends = np.cumsum([one.size for one in self.parameters]).tolist()
        self.places = {one.name: slice(end - one.size, end) for one, end in zip(self.parameters, ends, strict=True)}
        self.size = ends[-1]
        self.columns = {part: self._span(part) for part in self.parts}
        self.trained_parts = tuple(part for part in self.parts if self._is_trained(part))

    def _span(self, part: str) -> slice:
        own = [self.places[one.name] for one in self.parameters if one.part == part]
        return slice(own[0].start, own[-1].stop)

    def _is_trained(self, part: str) -> bool:
        trained = {one.trained for one in self.parameters if one.part == part}
        if len(trained) > 1:
            raise InputError(
                f"The part {part!r} holds both trained and other parameters; give them parts of their own."
            )
        return trained.pop()

    def views(self, rows: Tensor) -> Tensors:
        """Return rows, (networks, size), as named tensors of shape (networks, ...) that share their memory."""
        return {one.name: rows[:, self.places[one.name]].view(len(rows), *one.shape) for one in self.parameters}

    def start(self, seeds: Sequence[int] | Mapping[str, Sequence[int]], scale: PerPart = 1.0) -> Tensor:
        """Return the initial rows, in double precision.

        Each part of each network is drawn from the network's seed for that part, so it does not depend on which other
        networks are in the stack.

        Parameters
        ----------
        seeds : sequence of int, or mapping from each part to one
        scale : per part
            Factor on all initial values of the part.
        """
        per_part = seeds if isinstance(seeds, Mapping) else dict.fromkeys(self.parts, seeds)
        if set(per_part) != set(self.parts):
            raise InputError(f"seeds must name the parts {', '.join(self.parts)}; got {', '.join(per_part)}.")
        lengths = {len(one) for one in per_part.values()}
        if len(lengths) > 1:
            raise InputError("Every part needs one seed for each network.")
        rows = np.empty((lengths.pop(), self.size))
        for number, part in enumerate(self.parts):
            own = [one for one in self.parameters if one.part == part]
            for row, seed in zip(rows, map(_read_seed, per_part[part]), strict=True):
                rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
                for one in own:
                    row[self.places[one.name]] = _draw_values(one, rng)
        factors = per_network(scale, "initial_scale", self.parts, len(rows))
        for part, factor in factors.items():
            rows[:, self.columns[part]] *= factor[:, None]
        return torch.from_numpy(rows)


def _read_seed(given: Any) -> int:
    """Return a seed as a whole number; raise an error if it is not one."""
    try:
        seed = operator.index(given)
    except TypeError:
        raise InputError(f"seeds must be whole numbers; got {given!r}.") from None
    if seed < 0:
        raise InputError(f"seeds must not be negative; got {seed}.")
    return seed


def _draw_values(one: ParameterArray, rng: np.random.Generator) -> Any:
    if one.start == "linear":
        bound = linear_start(one.fan_in)["high"]
        return rng.uniform(-bound, bound, one.size)
    if one.start == "uniform":
        return rng.uniform(one.low, one.high, one.size)
    if one.start == "normal":
        return one.high * rng.standard_normal(one.size)
    if one.start == "given":
        raise InputError(f"The initial values of {one.name!r} are not drawn; give them to train as start.")
    return np.zeros(one.size)


def per_network(
    value: PerPart, name: str, parts: Sequence[str], count: int, without: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """Return one number for each part and network; arrays of shape (networks,).

    A mapping may also name the parts in `without`, which do not need the number.
    """
    if isinstance(value, Mapping):
        unknown = set(value) - {*parts, *without}
        missing = set(parts) - set(value)
        if unknown or missing:
            raise InputError(f"{name} must name the parts {', '.join(parts)}; got {', '.join(map(str, value))}.")
        given = dict(value)
    else:
        given = dict.fromkeys(parts, value)
    numbers = {}
    for part in parts:
        one = np.asarray(given[part], dtype=np.float64)
        if one.shape not in {(), (count,)}:
            raise InputError(
                f"{name} must be a number or {count} numbers, one for each network; got shape {one.shape}."
            )
        if not np.isfinite(one).all() or (one < 0).any():
            raise InputError(f"{name} must be finite and not negative; got {one.min()} to {one.max()}.")
        numbers[part] = np.broadcast_to(one, (count,)).copy()
    return numbers
