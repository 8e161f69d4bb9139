"""Any loss or module of a user in a stack, with gradients by torch.autograd.

Small networks train more slowly than those differentiated by hand, with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from genlaws.core.errors import InputError
from genlaws.ensembles.architecture import Layout, ParameterArray, Tensors, Workspace

Losses = Callable[[Tensors, Tensors], Tensor]


class Differentiated:
    """An architecture from a function that gives the loss of every network of a stack.

    Parameters
    ----------
    layout : Layout
        Each parameter starts from the network's seed, by its `start`.
    losses : callable
        ``losses(values, batch)``, both with the network as first axis, returns losses of shape (networks,). The loss of
        a network must depend only on its own parameters and examples.
    """

    def __init__(self, layout: Layout, losses: Losses) -> None:
        self.layout, self.losses = layout, losses

    def loss_and_gradient(self, values: Tensors, batch: Tensors, gradient: Tensors, space: Workspace) -> Tensor:
        """Write the gradient and return the losses; see `Architecture`."""
        leaves = {name: one.detach().requires_grad_(True) for name, one in values.items()}
        with torch.enable_grad():
            losses = self.losses(leaves, batch)
            count = len(next(iter(values.values())))
            if losses.shape != (count,):
                raise InputError(
                    f"losses must return one loss for each of {count} networks; got shape {tuple(losses.shape)}."
                )
            found = torch.autograd.grad(losses.sum(), list(leaves.values()), materialize_grads=True)
        for name, one in zip(leaves, found, strict=True):
            gradient[name].copy_(one)
        return losses.detach()


class Modules:
    """An architecture from any torch module: copies of it with parameters of their own.

    The networks are computed one after the other, which costs nothing if each is large. Each network has running
    averages of its own, as for batch normalization.

    Parameters
    ----------
    module : torch.nn.Module
        The prototype; it is never changed. Initial values come from modules, through `rows` and the argument `start`
        of `train`.
    loss : callable
        ``loss(call, batch)`` returns the loss of one network, a tensor without axes; ``call(inputs)`` applies the
        network, and the tensors of the batch are those of this network, without the network axis.
    part_of : callable, optional
        From the name of a parameter to its part; all belong to ``weights`` if left out.
    """

    def __init__(
        self,
        module: nn.Module,
        loss: Callable[[Callable[..., Any], Tensors], Tensor],
        part_of: Callable[[str], str] | None = None,
    ) -> None:
        self.module, self.loss = module, loss
        trained = [
            ParameterArray(name, tuple(one.shape), part_of(name) if part_of else "weights", "given")
            for name, one in module.named_parameters()
        ]
        # Rows hold fractions; a buffer of whole numbers or truth values is converted back for the module.
        self._averages = {name: None if one.is_floating_point() else one.dtype for name, one in module.named_buffers()}
        buffers = [
            ParameterArray(name, tuple(one.shape), "buffers", trained=False) for name, one in module.named_buffers()
        ]
        self._trained = [one.name for one in trained]
        self.layout = Layout([*trained, *buffers])

    def rows(self, modules: Sequence[nn.Module]) -> Tensor:
        """Return the parameters of several modules of this kind as rows, for `train(start=...)`."""
        rows = torch.empty(len(modules), self.layout.size, dtype=torch.float64)
        views = self.layout.views(rows)
        for place, module in enumerate(modules):
            found = dict([*module.named_parameters(), *module.named_buffers()])
            shapes = {name: tuple(one.shape) for name, one in found.items()}
            if shapes != {one.name: one.shape for one in self.layout.parameters}:
                raise InputError(f"All modules must be of one kind; number {place} has other parameters or shapes.")
            for name, one in found.items():
                views[name][place] = one.detach()
        return rows

    def call(self, values: Tensors, place: int, *inputs: Tensor) -> Any:
        """Apply one network of a stack; its running averages stay as they are."""
        own = {name: values[name][place] for name in self._trained}
        averages = {name: values[name][place].to(kind, copy=True) for name, kind in self._averages.items()}
        return functional_call(self.module, {**own, **averages}, inputs)

    def loss_and_gradient(self, values: Tensors, batch: Tensors, gradient: Tensors, space: Workspace) -> Tensor:
        """Write the gradient and return the losses; see `Architecture`."""
        count = len(next(iter(values.values())))
        return torch.stack([self._one_network(values, batch, gradient, place) for place in range(count)])

    def _one_network(self, values: Tensors, batch: Tensors, gradient: Tensors, place: int) -> Tensor:
        """Write the gradient of one network and return its loss."""
        leaves = {name: values[name][place].detach().requires_grad_(True) for name in self._trained}
        # Copies, because all numbers of a network share one row: autograd would see a change of the parameters.
        averages = {name: values[name][place].to(kind, copy=True) for name, kind in self._averages.items()}
        own = {name: one[place if len(one) > 1 else 0] for name, one in batch.items()}

        def call(*inputs: Tensor) -> Any:
            """Apply this network."""
            return functional_call(self.module, {**leaves, **averages}, inputs)

        with torch.enable_grad():
            loss = self.loss(call, own)
            found = torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True)
        for name, one in averages.items():
            values[name][place] = one
        for name, one in zip(leaves, found, strict=True):
            gradient[name][place].copy_(one)
        return loss.detach()
