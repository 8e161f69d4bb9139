"""Passes of a language model over rows of tokens of different lengths, with what it has read kept for the next pass.

Rows are padded on the left when they are first read and on the right when they are read on, so that the places where
the next token is wanted are the same in every row. Padding is masked and takes no position, so a row's numbers do not
depend on the rows beside it. Only ordinary masks over tokens are used, which every decoder of transformers takes.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from genlaws.numerics.errors import InputError

Row = Sequence[int]
PADDING = 0  # any token: it is masked


@dataclass(frozen=True)
class Reading:
    """What a network holds after it has read rows of tokens.

    Attributes
    ----------
    log_probabilities : Tensor of shape (rows, kept, vocabulary)
        Of the token after the last one, or after each token that was read on.
    cache : object
        Keys and values; reading on changes it.
    mask : Tensor of shape (rows, tokens)
        1 for a token, 0 for padding.
    """

    log_probabilities: Tensor
    cache: Any
    mask: Tensor


def read(network: Any, rows: Sequence[Row]) -> Reading:
    """Read rows from their beginning; keep the log-probabilities of what follows each."""
    width = max(len(row) for row in rows)
    tokens = [[PADDING] * (width - len(row)) + list(row) for row in rows]
    mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
    return _pass(network, tokens, torch.tensor(mask, device=network.device), None, 1)


def read_on(network: Any, before: Reading, rows: Sequence[Row]) -> Reading:
    """Read more tokens of each row; keep the log-probabilities of what follows each of them."""
    width = max(len(row) for row in rows)
    tokens = [list(row) + [PADDING] * (width - len(row)) for row in rows]
    more = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
    mask = torch.cat([before.mask, torch.tensor(more, device=before.mask.device)], dim=1)
    return _pass(network, tokens, mask, before.cache, width)


def selected(reading: Reading, rows: Sequence[int]) -> Reading:
    """Return a copy with some rows, each as often as it is named."""
    index = torch.tensor(list(rows), device=reading.mask.device)
    cache = copy.deepcopy(reading.cache)
    cache.batch_select_indices(index)
    return Reading(reading.log_probabilities[index], cache, reading.mask[index])


@torch.inference_mode()
def _pass(network: Any, tokens: list[list[int]], mask: Tensor, cache: Any, keep: int) -> Reading:
    given = {
        "input_ids": torch.tensor(tokens, device=mask.device),
        "attention_mask": mask,
        "past_key_values": cache,
        "use_cache": True,
    }
    takes = inspect.signature(network.forward).parameters
    if "position_ids" in takes:
        given["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)[:, -len(tokens[0]) :]
    if "logits_to_keep" in takes:
        given["logits_to_keep"] = keep
    found = network(**given)
    kept = getattr(found, "past_key_values", None)
    if kept is None:
        raise InputError(f"source must be a model that keeps keys and values; got {type(network).__name__}.")
    return Reading(found.logits[:, -keep:].float().log_softmax(-1), kept, mask)
