r"""Forces on the representations and on the decoder: the loss of a shared linear decoder and its gradient.

The loss is :math:`L = \tfrac12\sum_i w_i |A x_i + b - y_i|^2`. A state is one array with the draws along the last axis:
first the decoder, then the bias if it is trained, then the positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import (
    FLOAT_BYTES,
    MAX_COUNT,
    Array,
    fits_memory,
    one_of,
    positive,
    real,
    scalar,
    whole_number,
)
from genlaws.core.errors import InputError
from genlaws.core.plain import UNWRITTEN

BIASES = ("instant", "trained", "none")
UPDATES = ("flow", "sign")


@dataclass(frozen=True, eq=False)
class ReponSystem:
    """Which repons there are, and how they and their decoder learn.

    Attributes
    ----------
    encoder_rate, decoder_rate : float > 0
        Rates of the repons and of the decoder.
    dimension, outputs : int >= 1
        Of the space of the repons, and of the decoder's output.
    class_sizes : tuple of int >= 1
        Number of repons of each class, numbered consecutively.
    targets : array, shape (classes, outputs), or anything that broadcasts to it
        Target output for each class.
    weights : array, shape (repons,), or anything that broadcasts to it
        How many coincident repons each one stands for; they pull the decoder together but move as one.
    bias : {"instant", "trained", "none"}
        Whether the decoder's bias is always at its best value, learns at `bias_rate`, or is zero.
    bias_rate : float > 0, optional
        By default that of the decoder.
    update : {"flow", "sign"}
        Gradient flow, or each number moving at its rate against the sign of its gradient.
    """

    encoder_rate: float
    decoder_rate: float
    dimension: int = 1
    outputs: int = 1
    class_sizes: tuple[int, ...] = (2,)
    targets: ArrayLike = 0.0
    weights: ArrayLike = 1.0
    bias: str = "instant"
    bias_rate: float | None = None
    update: str = "flow"
    _targets: Array = field(init=False, repr=False, metadata=UNWRITTEN)
    _weights: Array = field(init=False, repr=False, metadata=UNWRITTEN)

    def __post_init__(self) -> None:
        for name in ("encoder_rate", "decoder_rate"):
            scalar(name, positive(name, getattr(self, name)))
        if self.bias_rate is not None:
            scalar("bias_rate", positive("bias_rate", self.bias_rate))
            if self.bias != "trained":
                raise InputError(f"bias_rate needs bias 'trained'; got {self.bias!r}.")
        for name in ("dimension", "outputs"):
            whole_number(name, getattr(self, name), at_least=1, at_most=MAX_COUNT)
        if not isinstance(self.class_sizes, tuple | list) or not self.class_sizes:
            raise InputError(f"class_sizes must list the repons of each class, like (2, 3); got {self.class_sizes!r}.")
        for size in self.class_sizes:
            whole_number("class_sizes", size, at_least=1, at_most=MAX_COUNT)
        stored = self.dimension * self.outputs + self.repons * (self.dimension + self.outputs)
        fits_memory("dimension, outputs and class_sizes", FLOAT_BYTES * stored, "Take a smaller system.")
        one_of("bias", self.bias, BIASES)
        one_of("update", self.update, UPDATES)
        targets = _fitted("targets", real("targets", self.targets), (len(self.class_sizes), self.outputs))
        if not np.isfinite(targets).all():
            raise InputError("targets must be finite.")
        object.__setattr__(self, "_targets", targets)
        weights = positive("weights", self.weights, "They count coincident repons.")
        object.__setattr__(self, "_weights", _fitted("weights", weights, (self.repons,)))

    @property
    def repons(self) -> int:
        """Number of repons in all classes."""
        return sum(self.class_sizes)

    @property
    def target_of_each(self) -> Array:
        """Target of each repon, shape (repons, outputs)."""
        return np.repeat(self._targets, self.class_sizes, axis=0)

    @property
    def weight_of_each(self) -> Array:
        """Weight of each repon, shape (repons,)."""
        return self._weights

    @property
    def class_slices(self) -> list[slice]:
        """Where the repons of each class are."""
        ends = np.cumsum(self.class_sizes)
        return [slice(int(end) - size, int(end)) for end, size in zip(ends, self.class_sizes, strict=True)]


@dataclass(frozen=True)
class Forces:
    """Loss, gradient and velocity of states of shape (variables, draws).

    Attributes
    ----------
    system : ReponSystem
    rates : array, shape (variables,)
        Learning rate of each variable.
    counts : array, shape (variables,)
        Repons each variable stands for: one for decoder and bias.
    """

    system: ReponSystem
    rates: Array
    counts: Array

    @classmethod
    def of(cls, system: ReponSystem) -> Forces:
        """Return the forces of a system."""
        biases = system.outputs if system.bias == "trained" else 0
        bias_rate = system.decoder_rate if system.bias_rate is None else system.bias_rate
        parts = (system.outputs * system.dimension, biases, system.repons * system.dimension)
        rates = np.repeat([system.decoder_rate, bias_rate, system.encoder_rate], parts)
        ones = np.ones(parts[0] + parts[1])
        counts = np.concatenate([ones, np.repeat(system.weight_of_each, system.dimension)])
        return cls(system, rates.astype(np.float64), counts)

    def pack(self, decoder: Array, bias: Array, positions: Array) -> Array:
        """Return one state from arrays with the draws first."""
        draws = len(decoder)
        parts = [decoder.reshape(draws, -1), positions.reshape(draws, -1)]
        if self.system.bias == "trained":
            parts.insert(1, bias)
        return np.ascontiguousarray(np.concatenate(parts, axis=1).T)

    def unpack(self, state: Array) -> tuple[Array, Array, Array]:
        """Return decoder (outputs, dimension, draws), bias (outputs, draws), positions (repons, dimension, draws)."""
        k, d, n = self.system.outputs, self.system.dimension, self.system.repons
        draws = state.shape[1]
        decoder, positions = state[: k * d].reshape(k, d, draws), state[-n * d :].reshape(n, d, draws)
        if self.system.bias == "trained":
            return decoder, state[k * d : k * d + k], positions
        if self.system.bias == "none":
            return decoder, np.zeros((k, draws)), positions
        wanted = self.system.target_of_each[:, :, None] - np.einsum("kdb,ndb->nkb", decoder, positions)
        weights = self.system.weight_of_each
        return decoder, np.einsum("n,nkb->kb", weights / weights.sum(), wanted), positions

    def errors(self, state: Array) -> Array:
        """Return the outputs minus the targets, shape (repons, outputs, draws)."""
        decoder, bias, positions = self.unpack(state)
        outputs = np.einsum("kdb,ndb->nkb", decoder, positions) + bias
        return np.asarray(outputs - self.system.target_of_each[:, :, None])

    def loss(self, state: Array) -> Array:
        """Return the loss of each draw."""
        return np.asarray(0.5 * np.einsum("n,nkb->b", self.system.weight_of_each, self.errors(state) ** 2))

    def velocity(self, state: Array) -> Array:
        """Return the rate of change under gradient flow."""
        decoder, _, positions = self.unpack(state)
        error = self.errors(state)
        weighted = self.system.weight_of_each[:, None, None] * error
        parts = [
            np.einsum("nkb,ndb->kdb", weighted, positions).reshape(-1, state.shape[1]),
            np.einsum("nkb,kdb->ndb", error, decoder).reshape(-1, state.shape[1]),
        ]
        if self.system.bias == "trained":
            parts.insert(1, weighted.sum(axis=0))
        return np.asarray(-self.rates[:, None] * np.concatenate(parts))

    def fastest(self, state: Array) -> Array:
        """Return a bound on the rates at which errors can decay, one for each draw."""
        decoder, _, positions = self.unpack(state)
        weights = self.system.weight_of_each
        inputs = weights.sum() + np.einsum("n,ndb->b", weights, positions**2)
        slope = (decoder**2).sum(axis=(0, 1))
        decoder_rate = max(self.system.decoder_rate, self.system.bias_rate or 0.0)
        return np.asarray(self.system.encoder_rate * slope + decoder_rate * inputs)

    def invariant(self, state: Array) -> tuple[Array, Array]:
        """Return the two terms of the conserved matrix, each of shape (draws, dimension, dimension)."""
        decoder, _, positions = self.unpack(state)
        gram = np.einsum("kdb,keb->bde", decoder, decoder) / self.system.decoder_rate
        spread = np.einsum("n,ndb,neb->bde", self.system.weight_of_each, positions, positions)
        return gram, np.asarray(spread / self.system.encoder_rate)


def _fitted(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise InputError(f"{name} must have shape {shape}, or broadcast to it; got {array.shape}.") from None
