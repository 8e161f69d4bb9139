"""Copies of a network with random weights, as before any training, to see what comes from its architecture alone."""

from __future__ import annotations

import copy
from typing import TypeVar

import torch
from torch import nn

from genlaws.core.arguments import whole_number
from genlaws.core.errors import InputError

Network = TypeVar("Network", bound=nn.Module)


def untrained_copy(network: Network, seed: int) -> Network:
    """Return a network of the same shape with weights as before any training; the one given stays as it is.

    A model of transformers is built again from its configuration. Of any other module a copy is made, and each part of
    it that can set its own weights does so.

    Parameters
    ----------
    network : torch.nn.Module
    seed : int
        Of torch's generator, which is put back afterward.

    Returns
    -------
    module of the same class, device, precision and mode (training or not)
    """
    first = next(network.parameters())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if hasattr(network, "config") and hasattr(network, "init_weights"):
            fresh = type(network)(copy.deepcopy(network.config))
        else:
            fresh = copy.deepcopy(network)
            for name, part in fresh.named_modules():
                _reset(part, f"{type(network).__name__}.{name}".rstrip("."))
    return fresh.to(device=first.device, dtype=first.dtype).train(network.training)


def _reset(part: nn.Module, name: str) -> None:
    """Have a part of a network set the weights that it holds itself."""
    reset = getattr(part, "reset_parameters", None)
    if callable(reset):
        reset()
    elif any(True for _ in part.parameters(recurse=False)):
        raise ValueError(f"{name} holds weights and has no reset_parameters, so they cannot be as before training.")


def random_weights(model: Network, seed: int) -> Network:
    """Return a model of the same shape with random weights, as it is before any training; the given one is untouched.

    Parameters
    ----------
    model : torch.nn.Module
        Of transformers, with its ``config``.
    seed : int
        Of torch's generator, which is put back afterward.

    Returns
    -------
    model of the same class, device, precision and mode (training or not)
    """
    whole_number("seed", seed)
    if getattr(model, "config", None) is None:
        raise InputError("model must be one of transformers, which is built again from its config; it has none.")
    return untrained_copy(model, seed)
