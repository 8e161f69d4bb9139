"""Activations of stacked layers, computed in place, and their derivatives from the activation itself."""

from __future__ import annotations

import torch
from torch import Tensor

ACTIVATIONS = ("tanh", "relu", "sigmoid", "identity")


def activate(name: str, z: Tensor) -> Tensor:
    r"""Apply an activation to `z` in place and return it.

    In single precision on a processor, tanh is computed as :math:`2\sigma(2z) - 1`: three times as fast, and within
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
    raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {name!r}.")


def back_through(name: str, h: Tensor, gradient: Tensor) -> Tensor:
    """Multiply a gradient, in place, by the derivative of the activation where the activation is `h`."""
    if name == "tanh":
        torch.ops.aten.tanh_backward.grad_input(gradient, h, grad_input=gradient)
    elif name == "relu":
        torch.ops.aten.threshold_backward.grad_input(gradient, h, 0.0, grad_input=gradient)
    elif name == "sigmoid":
        torch.ops.aten.sigmoid_backward.grad_input(gradient, h, grad_input=gradient)
    return gradient
