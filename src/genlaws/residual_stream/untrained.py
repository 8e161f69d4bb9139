"""A model as it was before any training, for the question what of its stream comes from its shape alone."""

from __future__ import annotations

from typing import TypeVar

from torch import nn

from genlaws.ensembles.untrained import untrained_copy
from genlaws.numerics.arguments import whole_number
from genlaws.numerics.errors import InputError

Model = TypeVar("Model", bound=nn.Module)


def random_weights(model: Model, seed: int) -> Model:
    """Return a model of the same shape with random weights, as it is before any training; the given one is untouched.

    Parameters
    ----------
    model : torch.nn.Module
        Of transformers, with its ``config``.
    seed : int
        Of torch's generator, which is put back afterwards.

    Returns
    -------
    model of the same class, device, precision and mode (training or not)
    """
    whole_number("seed", seed)
    if getattr(model, "config", None) is None:
        raise InputError("model must be one of transformers, which is made anew from its config; it has none.")
    return untrained_copy(model, seed)
