r"""Stacked networks on pairs: two entries of a learned table go into a perceptron.

The relation network of :cite:t:`baek2024`: an embedding :math:`E_i` for each element, and a decoder on the pair
:math:`(E_i, E_j)`, on :math:`E_i - E_j` or on its square.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from genlaws.ensembles.architecture import Workspace
from genlaws.ensembles.layout import Layout, Parameter, Tensors
from genlaws.ensembles.lookup import look_up, sum_by_entry
from genlaws.ensembles.losses import loss_and_derivative
from genlaws.ensembles.perceptron import Perceptron, back_through_weights

MODES = ("concatenate", "difference", "squared_difference")


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
        if mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}; got {mode!r}.")
        self.elements, self.dimension, self.mode = elements, dimension, mode
        inputs = 2 * dimension if mode == "concatenate" else dimension
        self.decoder = Perceptron([inputs, *hidden, outputs], activation, loss)
        table = Parameter("embedding", (elements, dimension), "embedding", "normal", high=1.0)
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
