"""One row of numbers from the many a network has for a text or a picture."""

from __future__ import annotations

import torch
from torch import Tensor

from genlaws.numerics.errors import InputError

POOLINGS = ("mean", "last", "first", "max")


def pool(states: Tensor, mask: Tensor, how: str) -> Tensor:
    r"""Return one row for each text from the states of its tokens.

    .. math:: \bar h = \frac{\sum_t m_t h_t}{\sum_t m_t}

    for ``mean``, with :math:`m_t` 1 for a token and 0 for padding; padding never counts.

    Parameters
    ----------
    states : Tensor of shape (texts, tokens, width)
    mask : Tensor of shape (texts, tokens)
        1 for a token, 0 for padding.
    how : str
        ``mean``, ``last``, ``first``, ``max``; or, as some sentence encoders do, ``mean_sqrt_len`` (the sum over the
        root of the number of tokens) and ``weightedmean`` (later tokens weigh more, in proportion to their place).
    """
    given = states.float()
    there = mask.to(given.dtype).unsqueeze(-1)
    if how in {"first", "last"}:
        places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
        hidden = mask == 0
        at = places.masked_fill(hidden, mask.shape[1]).argmin(1) if how == "first" else (places * mask).argmax(1)
        return given[torch.arange(len(given), device=given.device), at]
    if how == "max":
        return given.masked_fill(there == 0, -torch.inf).amax(1)
    if how == "weightedmean":
        there = there * there.cumsum(1)
    total, weight = (given * there).sum(1), there.sum(1)
    return total / (weight.sqrt() if how == "mean_sqrt_len" else weight)


def pool_places(states: Tensor, how: str) -> Tensor:
    """Return one row for each picture from states of its patches, (N, patches, width), or maps, (N, width, y, x)."""
    if states.ndim == 2:
        return states.float()
    if states.ndim == 4:
        if how not in {"mean", "max"}:
            raise InputError(f"pooling must be mean or max for a network whose layers are maps; got {how!r}.")
        states = states.flatten(2).transpose(1, 2)
    return pool(states, torch.ones(states.shape[:2], dtype=torch.long, device=states.device), how)
