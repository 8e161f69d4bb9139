"""Passes of a network over texts with pictures in them, and whether what it has read, of text or picture, can be kept.

A row holds all that a processor of transformers makes of one text and its pictures: tokens, in which each picture has
its places, and the pictures as numbers. Rows of the same shapes are read together, so that none is padded: every
architecture counts the positions of a picture in its own way, and counts them right when it is left to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from genlaws.semanticity.probes.padded_passes import CachedReading, Reading, Row, cache_in, read, run
from genlaws.semanticity.probes.prefix_scoring import Endings, score_endings

PictureRow = Mapping[str, Tensor]
# What runs along the tokens, and what it is for a further token of text; others are repeated.
FURTHER = {"attention_mask": 1, "token_type_ids": 0, "mm_token_type_ids": 0}
ALONG_TOKENS = ("input_ids", *FURTHER, "cross_attention_mask")
# Between log-probabilities of a few tokens with and without kept keys, by the bits of a number. A wrong position or
# mask moves them by more than that.
SAME = 1e-3
SAME_IN_FEW_BITS = {torch.bfloat16: 0.5, torch.float16: 0.1}


class HoldsRow(Protocol):
    """Something that holds a row."""

    @property
    def row(self) -> PictureRow:
        """The tokens and pictures."""


Holder = TypeVar("Holder", bound=HoldsRow)


@dataclass(frozen=True)
class RepeatedReading:
    """A reading of which nothing is kept: to read on is to read everything again, each row in a pass of its own.

    Attributes
    ----------
    network : model of transformers
    rows : tuple of mappings of str to tensors
        What was read.
    log_probabilities : Tensor of shape (rows, kept, vocabulary)
        Of the token after the last one, or after each token that was read on.
    """

    network: Any
    rows: tuple[PictureRow, ...]
    log_probabilities: Tensor

    def read_on(self, rows: Sequence[Row]) -> RepeatedReading:
        """Read the rows with more tokens; keep the log-probabilities of what follows each of those."""
        longer = tuple(extended(one, new) for one, new in zip(self.rows, rows, strict=True))
        told = [run(self.network, row, len(new))[0][0] for row, new in zip(longer, rows, strict=True)]
        return RepeatedReading(self.network, longer, torch.nn.utils.rnn.pad_sequence(told, batch_first=True))

    def selected(self, rows: Sequence[int]) -> RepeatedReading:
        """Return some rows, each as often as it is named."""
        return RepeatedReading(self.network, tuple(self.rows[row] for row in rows), self.log_probabilities[list(rows)])


def read_pictures(network: Any, rows: Sequence[PictureRow]) -> CachedReading:
    """Read rows of the same shapes from their beginning, and keep the keys and values."""
    joined = {name: torch.cat([row[name] for row in rows]) for name in rows[0]}
    told, found = run(network, {**joined, "use_cache": True}, 1)
    mask = joined["attention_mask"].long()
    shift = getattr(found, "rope_deltas", None)  # where positions along a picture's sides are counted
    shift = torch.zeros_like(mask[:, :1]) if shift is None else shift.reshape(-1, 1).to(mask)
    return CachedReading(network, told, cache_in(found, network), mask, shift)


def read_pictures_alone(network: Any, rows: Sequence[PictureRow]) -> RepeatedReading:
    """Read rows from their beginning, each in a pass of its own, and keep nothing."""
    return RepeatedReading(network, tuple(rows), torch.stack([run(network, row, 1)[0][0] for row in rows]))


def read_text_alone(network: Any, rows: Sequence[Row]) -> RepeatedReading:
    """Read rows of tokens from their beginning, each in a pass of its own, and keep nothing."""
    tokens = [torch.tensor([list(row)], device=network.device) for row in rows]
    return read_pictures_alone(network, [{"input_ids": one, "attention_mask": torch.ones_like(one)} for one in tokens])


def keeps_pictures(network: Any, row: PictureRow, endings: Endings) -> bool:
    """Return whether endings after a picture get the same log-probabilities from kept keys as from whole passes.

    Parameters
    ----------
    network : model of transformers
    row : mapping of str to tensors
    endings : sequence of tuples of int
        Some with several tokens.
    """
    return _keeps(network, read_pictures, read_pictures_alone, [row], [endings])


def keeps_text(network: Any, rows: Sequence[Row], endings: Sequence[Endings]) -> bool:
    """Return whether endings after texts get the same log-probabilities from what was kept as from whole passes.

    Parameters
    ----------
    network : model of transformers
    rows : sequence of sequences of int
        Of different lengths, so that padding is tried as well.
    endings : sequence of sequences of tuples of int
        Of each text; some with several tokens.
    """
    return _keeps(network, read, read_text_alone, rows, endings)


def _keeps(
    network: Any,
    reader: Callable[[Any, Sequence[Any]], Reading],
    alone: Callable[[Any, Sequence[Any]], Reading],
    rows: Sequence[Any],
    endings: Sequence[Endings],
) -> bool:
    """Return whether a reader that keeps what it read gives the numbers of whole passes.

    Architectures differ in what must be handed on besides keys and values, and state-space models keep no keys at all;
    where something is missing, the numbers differ or the network refuses.
    """
    expected = score_endings(alone(network, rows), endings, 1)
    try:
        kept = score_endings(reader(network, rows), endings, sum(map(len, endings)))
    except Exception:  # whatever an architecture raises that needs more than keys and values
        return False
    most = max(float(abs(one - other).max()) for one, other in zip(kept, expected, strict=True))
    return most <= SAME_IN_FEW_BITS.get(network.dtype, SAME)


def extended(row: PictureRow, tokens: Row) -> PictureRow:
    """Return a row with further tokens of text."""
    new = torch.tensor([list(tokens)], device=row["input_ids"].device)
    more = {name: torch.full_like(new, value) for name, value in FURTHER.items()} | {"input_ids": new}
    return {
        name: _longer(values, more.get(name), len(tokens)) if name in ALONG_TOKENS else values
        for name, values in row.items()
    }


def _longer(values: Tensor, more: Tensor | None, count: int) -> Tensor:
    further = values[:, -1:].repeat_interleave(count, dim=1) if more is None else more.to(values.dtype)
    return torch.cat([values, further], dim=1)


def shortened(row: PictureRow, count: int) -> PictureRow:
    """Return a row without its last tokens."""
    last = row["input_ids"].shape[1] - count
    return {name: values[:, :last] if name in ALONG_TOKENS else values for name, values in row.items()}


def alike(given: Iterable[Holder], most: int) -> Iterator[list[Holder]]:
    """Yield neighbours whose rows have the same shapes, so many at most; no more are held at once."""
    batch: list[Holder] = []
    for one in given:
        if batch and (len(batch) == most or _shapes(one.row) != _shapes(batch[0].row)):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def _shapes(row: PictureRow) -> dict[str, tuple[int, ...]]:
    return {name: tuple(values.shape[1:]) for name, values in row.items()}
