"""Passes of a language model over rows of tokens of different lengths, with what it has read kept for the next pass.

Rows are padded on the left when they are first read and on the right when they are read on, so that the places where
the next token is wanted are the same in every row. Padding is masked and takes no position, so a row's numbers do not
depend on the rows beside it. Only ordinary masks over tokens are used, which every decoder of transformers takes.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from genlaws.numerics.errors import InputError

Row = Sequence[int]
PADDING = 0  # any token: it is masked


class Reading(Protocol):
    """What a network has read, and can read on from."""

    @property
    def log_probabilities(self) -> Tensor:
        """Shape (rows, kept, vocabulary): of the token after the last one, or after each that was read on."""

    def read_on(self, rows: Sequence[Row]) -> Reading:
        """Read more tokens of each row; keep the log-probabilities of what follows each of them."""

    def selected(self, rows: Sequence[int]) -> Reading:
        """Return a copy with some rows, each as often as it is named."""


@dataclass(frozen=True)
class CachedReading:
    """A reading whose keys and values are kept, so that the next pass sees new tokens alone.

    Attributes
    ----------
    network : decoder of transformers
    log_probabilities : Tensor of shape (rows, kept, vocabulary)
        Of the token after the last one, or after each token that was read on.
    cache : object
        Keys and values; reading on changes it.
    mask : Tensor of shape (rows, tokens)
        1 for a token, 0 for padding.
    shift : Tensor of shape (rows, 1)
        From the number of tokens before a token to its position: 0, but where the tokens of a picture share positions.
    """

    network: Any
    log_probabilities: Tensor
    cache: Any
    mask: Tensor
    shift: Tensor

    def read_on(self, rows: Sequence[Row]) -> CachedReading:
        """Read more tokens of each row; keep the log-probabilities of what follows each of them."""
        width = max(len(row) for row in rows)
        tokens = [list(row) + [PADDING] * (width - len(row)) for row in rows]
        more = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
        mask = torch.cat([self.mask, torch.tensor(more, device=self.mask.device)], dim=1)
        return _pass(self.network, tokens, mask, self.shift, self.cache, keep=width)

    def selected(self, rows: Sequence[int]) -> CachedReading:
        """Return a copy with some rows, each as often as it is named."""
        index = torch.tensor(list(rows), device=self.mask.device)
        cache = copy.deepcopy(self.cache)
        cache.batch_select_indices(index)
        return CachedReading(self.network, self.log_probabilities[index], cache, self.mask[index], self.shift[index])


def read(network: Any, rows: Sequence[Row]) -> CachedReading:
    """Read rows from their beginning; keep the log-probabilities of what follows each."""
    width = max(len(row) for row in rows)
    tokens = [[PADDING] * (width - len(row)) + list(row) for row in rows]
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=network.device)
    return _pass(network, tokens, mask, torch.zeros_like(mask[:, :1]), None, keep=1)


@torch.inference_mode()
def run(network: Any, given: Mapping[str, Any], keep: int) -> tuple[Tensor, Any]:
    """Return the log-probabilities of what follows each of the last tokens, and all that the network gave.

    Parameters
    ----------
    network : decoder of transformers
    given : mapping of str to tensors
        What the network takes.
    keep : int
        How many places are wanted, from the end.
    """
    takes = inspect.signature(network.forward).parameters
    least = {"logits_to_keep": keep} if "logits_to_keep" in takes else {}
    found = network(**given, **least)
    return found.logits[:, -keep:].float().log_softmax(-1), found


def cache_in(found: Any, network: Any) -> Any:
    """Return the keys and values that a pass kept."""
    kept = getattr(found, "past_key_values", None)
    if kept is None:
        raise InputError(f"source must be a model that keeps keys and values; got {type(network).__name__}.")
    return kept


def _pass(
    network: Any, tokens: list[list[int]], mask: Tensor, shift: Tensor, cache: Any, *, keep: int
) -> CachedReading:
    given = {
        "input_ids": torch.tensor(tokens, device=mask.device),
        "attention_mask": mask,
        "past_key_values": cache,
        "use_cache": True,
    }
    if "position_ids" in inspect.signature(network.forward).parameters:
        given["position_ids"] = ((mask.cumsum(1) - 1).clamp(min=0) + shift)[:, -len(tokens[0]) :]
    told, found = run(network, given, keep)
    return CachedReading(network, told, cache_in(found, network), mask, shift)
