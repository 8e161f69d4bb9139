"""Losses of stacked networks: the mean over each network's rows, and its derivative with respect to the outputs."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from genlaws.core.errors import InputError

STACK_LOSSES = ("squared", "logistic", "hinge")


def loss_and_derivative(name: str, outputs: Tensor, target: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    r"""Return the loss of each network, (networks,), and its derivative with respect to the outputs.

    With weights :math:`w_r` the loss is :math:`\sum_r w_r \ell_r / \sum_r w_r`, where :math:`\ell_r` is the mean over
    the outputs of row r.

    Parameters
    ----------
    name : {"squared", "logistic", "hinge"}
        :math:`(f-y)^2`; :math:`\log(1+e^f) - yf` with y in {0, 1}; or :math:`\max(0, 1-yf)` with y in {-1, 1}.
    outputs, target : tensors of shape (networks, rows, outputs); the target may be shared, (1, rows, outputs)
    weight : tensor of shape (networks or 1, rows), optional
    """
    share = row_shares(outputs, weight)
    if name == "squared":
        derivative = outputs - target
        losses = derivative.square()
        derivative.mul_(2.0)
    elif name == "logistic":
        # Not softplus(f) - yf: a difference of near equals would lose the losses of well-fitted rows.
        losses = (outputs.relu() - target * outputs).add_(functional.softplus(-outputs.abs()))
        derivative = torch.sigmoid(outputs).sub_(target)
    elif name == "hinge":
        losses = (1.0 - target * outputs).clamp_(min=0.0)
        derivative = -(target * (losses > 0))
    else:
        raise InputError(f"loss must be one of {', '.join(STACK_LOSSES)}; got {name!r}.")
    return (losses * share).sum((1, 2)), derivative.mul_(share)


def row_shares(outputs: Tensor, weight: Tensor | None) -> Tensor | float:
    """Return the weight of each output of each row in the mean, (networks or 1, rows, 1)."""
    _, rows, width = outputs.shape
    if weight is None:
        return 1.0 / (rows * width)
    return (weight / weight.sum(1, keepdim=True)).unsqueeze(2) / width
