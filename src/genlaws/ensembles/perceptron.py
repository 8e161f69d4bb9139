r"""Stacked perceptrons: layers :math:`h_l = \sigma(h_{l-1} W_l + b_l)`, differentiated by hand.

The products of all networks are one batched call for each layer, forward and backward. Gradients are written by hand,
because autograd on small layers costs as much as computing them. Activations are computed in place.

:class:`PairPerceptron` is the relation network of :cite:t:`baek2024`: an embedding :math:`E_i` for each element, and a
decoder on the pair :math:`(E_i, E_j)`, on :math:`E_i - E_j` or on its square. The gradient of the embeddings is summed
in the same order every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from genlaws.core.errors import InputError
from genlaws.ensembles.architecture import Layout, ParameterArray, Tensors, Workspace, linear_start
from genlaws.ensembles.losses import STACK_LOSSES, loss_and_derivative

ACTIVATIONS = ("tanh", "relu", "sigmoid", "identity")
MAX_NARROW_OUTPUTS = 2  # up to here sums of products are faster than the matrix product of a library
PAIR_MODES = ("concatenate", "difference", "squared_difference")


def activate(name: str, z: Tensor) -> Tensor:
    r"""Apply an activation to `z` in place and return it.

    In single precision on a CPU, tanh is computed as :math:`2\sigma(2z) - 1`: three times as fast, and within
    2e-7 of the hyperbolic tangent.
    """
    if name == "tanh":
        if z.is_cuda or z.dtype != torch.float32:
            return z.tanh_()
        return z.mul_(2.0).sigmoid_().mul_(2.0).sub_(1.0)
    if name == "relu":
        return z.relu_()
    if name == "sigmoid":
        return z.sigmoid_()
    if name == "identity":
        return z
    raise InputError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {name!r}.")


def back_through(name: str, h: Tensor, gradient: Tensor) -> Tensor:
    """Multiply a gradient, in place, by the derivative of the activation where the activation is `h`."""
    if name == "tanh":
        torch.ops.aten.tanh_backward.grad_input(gradient, h, grad_input=gradient)
    elif name == "relu":
        torch.ops.aten.threshold_backward.grad_input(gradient, h, 0.0, grad_input=gradient)
    elif name == "sigmoid":
        torch.ops.aten.sigmoid_backward.grad_input(gradient, h, grad_input=gradient)
    return gradient


def look_up(table: Tensor, index: Tensor) -> Tensor:
    """Return rows of each network's table.

    Parameters
    ----------
    table : tensor of shape (networks, entries, width)
    index : integer tensor of shape (networks or 1, rows)

    Returns
    -------
    tensor of shape (networks, rows, width)
    """
    networks, _, width = table.shape
    return torch.gather(table, 1, index.unsqueeze(2).expand(networks, index.shape[1], width))


def sum_by_entry(
    values: Tensor, index: Tensor, entries: int, space: Workspace | None = None, name: str = "index"
) -> Tensor:
    """Return the sum of the rows that belong to each entry, (networks, entries, width).

    On a GPU rows are summed by a product with a matrix of zeros and ones: atomic additions come in a
    different order each time, and a training could not be repeated bit for bit.

    Parameters
    ----------
    values : tensor of shape (networks, rows, width)
    index : integer tensor of shape (networks or 1, rows)
    entries : int
    space : Workspace, optional
        Caches the matrix for the same index tensor.
    name : str
        Key of the cached matrix.
    """
    networks, rows, width = values.shape
    if values.is_cuda:

        def members(found: Tensor) -> Tensor:
            """Return 1 where a row belongs to an entry."""
            return (found.unsqueeze(1) == torch.arange(entries, device=found.device)[:, None]).to(values.dtype)

        matrix = members(index) if space is None else space.cached(name, index, members)
        return matrix.expand(networks, entries, rows) @ values
    first = torch.arange(networks, device=index.device).unsqueeze(1) * entries
    flat = (index + first).reshape(-1)
    total = torch.zeros(networks * entries, width, dtype=values.dtype)
    return total.index_add_(0, flat, values.reshape(-1, width)).view(networks, entries, width)


def sum_by_pair(values: Tensor, row: Tensor, column: Tensor, entries: int) -> Tensor:
    """Return the sum of the numbers that belong to each pair of entries, (networks, entries, entries).

    Parameters
    ----------
    values : tensor of shape (networks, numbers)
    row, column : integer tensors of shape (networks, numbers)
    """
    if values.is_cuda:
        every = torch.arange(entries, device=values.device)
        rows = (row.unsqueeze(2) == every) * values.unsqueeze(2)
        columns = (column.unsqueeze(2) == every).to(values.dtype)
        return rows.transpose(1, 2) @ columns
    first = torch.arange(len(values)).unsqueeze(1) * entries**2
    flat = (first + row * entries + column).reshape(-1)
    total = torch.zeros(len(values) * entries**2, dtype=values.dtype)
    return total.index_add_(0, flat, values.reshape(-1)).view(len(values), entries, entries)


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
            raise InputError(f"parts must name {self.depth} layers; got {len(names)}.")
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
            if width <= MAX_NARROW_OUTPUTS and not z.is_cuda:
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
        """Write the gradient of every layer, given that of the outputs; return that of the sums of the first layer."""
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
        """Write the gradient of a layer's weights, given its inputs and the derivative with respect to its sums."""
        if delta.shape[2] <= MAX_NARROW_OUTPUTS and not h.is_cuda:
            for column in range(delta.shape[2]):
                torch.sum(h * delta[:, :, column, None], 1, out=out[:, :, column])
        else:
            torch.bmm(h.transpose(1, 2), delta, out=out)


def check_layers(sizes: Sequence[int], activation: str, loss: str) -> None:
    """Raise an error for invalid sizes, activations and losses."""
    if len(sizes) < 2 or min(sizes) < 1:
        raise InputError(f"sizes must be at least two whole numbers above 0; got {tuple(sizes)}.")
    if activation not in ACTIVATIONS:
        raise InputError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {activation!r}.")
    if loss not in STACK_LOSSES:
        raise InputError(f"loss must be one of {', '.join(STACK_LOSSES)}; got {loss!r}.")


def layer_parameters(sizes: Sequence[int], parts: Sequence[str], *, bias: bool) -> list[ParameterArray]:
    """Return weights and biases of all layers, which start as those of torch.nn.Linear."""
    parameters = []
    for layer, (fan_in, fan_out) in enumerate(pairwise(sizes), start=1):
        start = linear_start(fan_in)
        parameters.append(ParameterArray(f"weight_{layer}", (fan_in, fan_out), parts[layer - 1], **start))
        if bias:
            parameters.append(ParameterArray(f"bias_{layer}", (fan_out,), parts[layer - 1], **start))
    return parameters


def back_through_weights(delta: Tensor, weight: Tensor, out: Tensor) -> Tensor:
    """Return the derivative with respect to a layer's inputs, given that with respect to its sums."""
    if weight.shape[2] == 1:
        return torch.mul(delta, weight.transpose(1, 2), out=out)
    return torch.bmm(delta, weight.transpose(1, 2), out=out)


def _narrow_product(h: Tensor, weight: Tensor, out: Tensor) -> None:
    """Write the product with a matrix of one or two columns, column by column."""
    for column in range(weight.shape[2]):
        torch.sum(h * weight[:, None, :, column], 2, out=out[:, :, column])


class PairPerceptron:
    """Embeddings of elements, and a perceptron on pairs of them.

    A batch holds ``first`` and ``second``, whole numbers of shape (networks or 1, rows), ``target``,
    (networks or 1, rows, outputs), and perhaps ``weight``. Parts are ``embedding`` and ``decoder``; embeddings start
    as standard normal numbers.

    Parameters
    ----------
    elements, dimension : int
        Size of the table.
    hidden : sequence of int
        Widths of the decoder's hidden layers; none makes it linear.
    outputs : int
    mode : {"concatenate", "difference", "squared_difference"}
    activation, loss : str
        As in `Perceptron`.
    """

    def __init__(
        self,
        elements: int,
        dimension: int,
        hidden: Sequence[int] = (50, 50, 50),
        outputs: int = 1,
        *,
        mode: str = "concatenate",
        activation: str = "tanh",
        loss: str = "logistic",
    ) -> None:
        if mode not in PAIR_MODES:
            raise InputError(f"mode must be one of {', '.join(PAIR_MODES)}; got {mode!r}.")
        self.elements, self.dimension, self.mode = elements, dimension, mode
        inputs = 2 * dimension if mode == "concatenate" else dimension
        self.decoder = Perceptron([inputs, *hidden, outputs], activation, loss)
        table = ParameterArray("embedding", (elements, dimension), "embedding", "normal", high=1.0)
        self.layout = Layout([table, *self.decoder.layout.parameters])

    def outputs(self, values: Tensors, first: Tensor, second: Tensor) -> Tensor:
        """Return the outputs for pairs of elements, (networks, rows, outputs)."""
        inputs, _ = self._inputs(values["embedding"], first, second, Workspace())
        return self.decoder.outputs(values, inputs)

    def loss_and_gradient(self, values: Tensors, batch: Tensors, gradient: Tensors, space: Workspace) -> Tensor:
        """Write the gradient and return the losses; see `Architecture`."""
        table = values["embedding"]
        inputs, difference = self._inputs(table, batch["first"], batch["second"], space)
        layers = self.decoder.forward(values, inputs, space)
        losses, delta = loss_and_derivative(self.decoder.loss, layers[-1], batch["target"], batch.get("weight"))
        delta = self.decoder.backward(values, layers, delta, gradient, space)
        by_input = space.empty("delta_0", tuple(inputs.shape), inputs)
        back_through_weights(delta, values["weight_1"], by_input)
        if difference is None:
            by_first, by_second = by_input[..., : self.dimension], by_input[..., self.dimension :]
        else:
            if self.mode == "squared_difference":
                by_input.mul_(difference).mul_(2.0)
            by_first, by_second = by_input, -by_input
        torch.add(
            sum_by_entry(by_first, batch["first"], self.elements, space, "first"),
            sum_by_entry(by_second, batch["second"], self.elements, space, "second"),
            out=gradient["embedding"],
        )
        return losses

    def _inputs(self, table: Tensor, first: Tensor, second: Tensor, space: Workspace) -> tuple[Tensor, Tensor | None]:
        """Return what goes into the decoder, and the difference of the embeddings where the mode needs it."""
        one, other = look_up(table, first), look_up(table, second)
        if self.mode == "concatenate":
            pair = space.empty("input", (*one.shape[:2], 2 * self.dimension), table)
            return torch.cat([one, other], dim=2, out=pair), None
        difference = one.sub_(other)
        return (difference.square() if self.mode == "squared_difference" else difference), difference
