r"""Stacked perceptrons: layers :math:`h_l = \sigma(h_{l-1} W_l + b_l)`, differentiated by hand.

The products of all networks are one batched call for each layer, forward and backward. By hand, because recording and
replaying the operations of small layers costs as much as computing them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from genlaws.ensembles.activations import ACTIVATIONS, activate, back_through
from genlaws.ensembles.architecture import Workspace
from genlaws.ensembles.layout import Layout, Parameter, Tensors, linear_start
from genlaws.ensembles.losses import LOSSES, loss_and_derivative

NARROW = 2  # outputs; up to here sums of products beat the matrix product of a library


class Perceptron:
    """A fully connected network on vectors.

    A batch holds ``input``, (networks or 1, rows, inputs), ``target``, (networks or 1, rows, outputs), and perhaps
    ``weight``, (networks or 1, rows).

    Parameters
    ----------
    sizes : sequence of int
        Inputs, hidden layers, outputs; no hidden layer makes a linear map.
    activation : {"tanh", "relu", "sigmoid", "identity"}
        After each layer but the last.
    loss : {"squared", "logistic", "hinge"}
    bias : bool
    parts : sequence of str, optional
        The part each layer belongs to; all are ``decoder`` if left out.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: str = "tanh",
        loss: str = "logistic",
        *,
        bias: bool = True,
        parts: Sequence[str] | None = None,
    ) -> None:
        check_layers(sizes, activation, loss)
        self.sizes, self.activation, self.loss, self.bias = tuple(sizes), activation, loss, bias
        self.depth = len(self.sizes) - 1
        names = ["decoder"] * self.depth if parts is None else list(parts)
        if len(names) != self.depth:
            raise ValueError(f"parts must name {self.depth} layers; got {len(names)}.")
        self.layout = Layout(layer_parameters(self.sizes, names, bias=bias))

    def outputs(self, values: Tensors, inputs: Tensor) -> Tensor:
        """Return the outputs, (networks, rows, outputs), for inputs of shape (networks or 1, rows, inputs)."""
        return self.forward(values, inputs, Workspace())[-1]

    def loss_and_gradient(self, values: Tensors, batch: Tensors, gradient: Tensors, space: Workspace) -> Tensor:
        """Write the gradient and return the losses; see `Architecture`."""
        layers = self.forward(values, batch["input"], space)
        losses, delta = loss_and_derivative(self.loss, layers[-1], batch["target"], batch.get("weight"))
        self.backward(values, layers, delta, gradient, space)
        return losses

    def forward(self, values: Tensors, inputs: Tensor, space: Workspace) -> list[Tensor]:
        """Return the inputs, each hidden layer's activations and the outputs, all (networks, rows, width)."""
        networks, rows = len(values["weight_1"]), inputs.shape[1]
        layers = [inputs.expand(networks, -1, -1)]
        for layer, width in enumerate(self.sizes[1:], start=1):
            z = space.empty(f"layer_{layer}", (networks, rows, width), values["weight_1"])
            weight = values[f"weight_{layer}"]
            if width <= NARROW and not z.is_cuda:
                _narrow_product(layers[-1], weight, z)
                if self.bias:
                    z.add_(values[f"bias_{layer}"].unsqueeze(1))
            elif self.bias:
                torch.baddbmm(values[f"bias_{layer}"].unsqueeze(1), layers[-1], weight, out=z)
            else:
                torch.bmm(layers[-1], weight, out=z)
            layers.append(z if layer == self.depth else activate(self.activation, z))
        return layers

    def backward(
        self, values: Tensors, layers: list[Tensor], delta: Tensor, gradient: Tensors, space: Workspace
    ) -> Tensor:
        """Write the gradient of every layer, given that by the outputs; return that by the sums of the first layer."""
        for layer in range(self.depth, 0, -1):
            self._weight_gradient(layers[layer - 1], delta, gradient[f"weight_{layer}"])
            if self.bias:
                torch.sum(delta, 1, out=gradient[f"bias_{layer}"])
            if layer > 1:
                h, weight = layers[layer - 1], values[f"weight_{layer}"]
                below = space.empty(f"delta_{layer - 1}", tuple(h.shape), h)
                delta = back_through(self.activation, h, back_through_weights(delta, weight, below))
        return delta

    def _weight_gradient(self, h: Tensor, delta: Tensor, out: Tensor) -> None:
        """Write the gradient of a layer's weights, given its inputs and the derivative by its sums."""
        if delta.shape[2] <= NARROW and not h.is_cuda:
            for column in range(delta.shape[2]):
                torch.sum(h * delta[:, :, column, None], 1, out=out[:, :, column])
        else:
            torch.bmm(h.transpose(1, 2), delta, out=out)


def check_layers(sizes: Sequence[int], activation: str, loss: str) -> None:
    """Refuse sizes, activations and losses that do not exist."""
    if len(sizes) < 2 or min(sizes) < 1:
        raise ValueError(f"sizes must be at least two whole numbers above 0; got {tuple(sizes)}.")
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {activation!r}.")
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}; got {loss!r}.")


def layer_parameters(sizes: Sequence[int], parts: Sequence[str], *, bias: bool) -> list[Parameter]:
    """Return weights and biases of all layers, which start as those of torch.nn.Linear."""
    parameters = []
    for layer, (fan_in, fan_out) in enumerate(pairwise(sizes), start=1):
        start = linear_start(fan_in)
        parameters.append(Parameter(f"weight_{layer}", (fan_in, fan_out), parts[layer - 1], **start))
        if bias:
            parameters.append(Parameter(f"bias_{layer}", (fan_out,), parts[layer - 1], **start))
    return parameters


def back_through_weights(delta: Tensor, weight: Tensor, out: Tensor) -> Tensor:
    """Return the derivative by a layer's inputs, given that by its sums."""
    if weight.shape[2] == 1:
        return torch.mul(delta, weight.transpose(1, 2), out=out)
    return torch.bmm(delta, weight.transpose(1, 2), out=out)


def _narrow_product(h: Tensor, weight: Tensor, out: Tensor) -> None:
    """Write the product with a matrix of one or two columns, column by column."""
    for column in range(weight.shape[2]):
        torch.sum(h * weight[:, None, :, column], 2, out=out[:, :, column])
