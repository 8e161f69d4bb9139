"""What the trainer asks of a network: its parameters, and the gradient of a whole stack's losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from genlaws.ensembles.layout import Layout, Tensors


class Workspace:
    """Memory that is used again at every step.

    The activations of a stack are large; asking the system for them anew at each step costs as much as computing them.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Tensor] = {}
        self._kept: dict[str, tuple[Tensor, Tensor]] = {}

    def empty(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """Return a tensor of a shape, in the type and on the device of another; its content is whatever was there."""
        found = self._buffers.get(name)
        if found is None or found.shape != shape or found.dtype != like.dtype or found.device != like.device:
            found = torch.empty(shape, dtype=like.dtype, device=like.device)
            self._buffers[name] = found
        return found

    def kept(self, name: str, source: Tensor, make: Callable[[Tensor], Tensor]) -> Tensor:
        """Return what is made from a tensor; made once as long as it is the very same tensor, as in a whole set."""
        found = self._kept.get(name)
        if found is None or found[0] is not source:
            found = (source, make(source))
            self._kept[name] = found
        return found[1]

    def clear(self) -> None:
        """Forget all memory, when the stack has become smaller."""
        self._buffers.clear()
        self._kept.clear()


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
