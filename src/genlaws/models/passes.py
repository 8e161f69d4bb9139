"""Passes of a language model over texts and pictures: score endings of a text, or write new tokens after it.

Rows of tokens are padded on the left when they are first read and on the right when more is read, so that the next
token is at the same place in every row. Padding is masked and takes no position, so a row's numbers do not depend on
the other rows. Only ordinary masks over tokens are used, which every decoder of transformers takes.

A row with pictures holds all that a processor of transformers makes of one text and its pictures. Rows of the same
shapes are read together, without padding, because each architecture counts the positions of a picture in its own way.

Scores are exact log-probabilities of several endings of one text. The text is read once, then the short endings: with n
endings of s tokens after a text of p tokens this reads p + n (s − 1) tokens instead of n (p + s − 1). The last token of
an ending is never read: its probability is known before it. Some networks cannot continue from cached keys and values;
this is tested, and they read the text again.

New tokens are the likeliest ones, or drawn at a temperature. Draws depend on the seed and on the text alone, so a run
that was stopped and resumed gives the same text.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from genlaws.core.arguments import Array, whole_number
from genlaws.core.errors import InputError

Row = Sequence[int]
PADDING = 0  # any token: it is masked
PictureRow = Mapping[str, Tensor]
# Inputs with a value for each token, and the value for a further token of text; other inputs are repeated.
TEXT_TOKEN_VALUES = {"attention_mask": 1, "token_type_ids": 0, "mm_token_type_ids": 0}
PER_TOKEN_FIELDS = ("input_ids", *TEXT_TOKEN_VALUES, "cross_attention_mask")
# Largest difference of log-probabilities of a few tokens with and without cached keys, by the bits of a number. A wrong
# position or mask moves them by more than that.
CACHE_TOLERANCE = 1e-3
HALF_PRECISION_TOLERANCE = {torch.bfloat16: 0.5, torch.float16: 0.1}
StopTest = Callable[[list[int]], bool]


class ContinuableReading(Protocol):
    """What a network has read and can continue from."""

    @property
    def log_probabilities(self) -> Tensor:
        """Shape (rows, places, vocabulary): of the token after the last one, or after each that was read on."""

    def read_on(self, rows: Sequence[Row]) -> ContinuableReading:
        """Read more tokens of each row; the log-probabilities are those of what follows each of them."""

    def selected(self, rows: Sequence[int]) -> ContinuableReading:
        """Return a copy with some rows, each as often as it is named."""


@dataclass(frozen=True)
class CachedReading:
    """A reading with cached keys and values, so that the next pass sees new tokens alone.

    Attributes
    ----------
    network : decoder of transformers
    log_probabilities : Tensor of shape (rows, places, vocabulary)
        Of the token after the last one, or after each token that was read on.
    cache : object
        Keys and values; reading on changes it.
    mask : Tensor of shape (rows, tokens)
        1 for a token, 0 for padding.
    shift : Tensor of shape (rows, 1)
        From the number of tokens before a token to its position: 0, unless the tokens of a picture share positions.
    """

    network: Any
    log_probabilities: Tensor
    cache: Any
    mask: Tensor
    shift: Tensor

    def read_on(self, rows: Sequence[Row]) -> CachedReading:
        """Read more tokens of each row; the log-probabilities are those of what follows each of them."""
        tokens, more = padded(rows, self.mask.device)
        mask = torch.cat([self.mask, more], dim=1)
        return _pass(self.network, tokens, mask, self.shift, self.cache, keep=tokens.shape[1])

    def selected(self, rows: Sequence[int]) -> CachedReading:
        """Return a copy with some rows, each as often as it is named."""
        index = torch.tensor(list(rows), device=self.mask.device)
        cache = copy.deepcopy(self.cache)
        cache.batch_select_indices(index)
        return CachedReading(self.network, self.log_probabilities[index], cache, self.mask[index], self.shift[index])


def padded(
    rows: Sequence[Row], device: torch.device, *, width: int | None = None, filling: int = PADDING
) -> tuple[Tensor, Tensor]:
    """Return tokens padded on the right, and a mask with 1 for a token; the padding is never read."""
    wide = max(map(len, rows)) if width is None else width
    tokens = [[*row, *[filling] * (wide - len(row))] for row in rows]
    mask = [[1] * len(row) + [0] * (wide - len(row)) for row in rows]
    return torch.tensor(tokens, device=device), torch.tensor(mask, device=device)


def read(network: Any, rows: Sequence[Row]) -> CachedReading:
    """Read rows from their beginning; the log-probabilities are those of what follows each."""
    width = max(len(row) for row in rows)
    tokens = torch.tensor([[PADDING] * (width - len(row)) + list(row) for row in rows], device=network.device)
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
    """Return the keys and values that a pass cached."""
    cache = getattr(found, "past_key_values", None)
    if cache is None:
        raise InputError(f"source must be a model that caches keys and values; got {type(network).__name__}.")
    return cache


def _pass(network: Any, tokens: Tensor, mask: Tensor, shift: Tensor, cache: Any, *, keep: int) -> CachedReading:
    given = {"input_ids": tokens, "attention_mask": mask, "past_key_values": cache, "use_cache": True}
    if "position_ids" in inspect.signature(network.forward).parameters:
        given["position_ids"] = ((mask.cumsum(1) - 1).clamp(min=0) + shift)[:, -tokens.shape[1] :]
    log_probabilities, found = run(network, given, keep)
    return CachedReading(network, log_probabilities, cache_in(found, network), mask, shift)


class HoldsRow(Protocol):
    """Something that holds a row."""

    @property
    def row(self) -> PictureRow:
        """The tokens and pictures."""


Holder = TypeVar("Holder", bound=HoldsRow)


@dataclass(frozen=True)
class RepeatedReading:
    """A reading without a cache: to read on is to read everything again, each row in a pass of its own.

    Attributes
    ----------
    network : model of transformers
    rows : tuple of mappings of str to tensors
        What was read.
    log_probabilities : Tensor of shape (rows, places, vocabulary)
        Of the token after the last one, or after each token that was read on.
    """

    network: Any
    rows: tuple[PictureRow, ...]
    log_probabilities: Tensor

    def read_on(self, rows: Sequence[Row]) -> RepeatedReading:
        """Read the rows with more tokens; the log-probabilities are those of what follows each of those."""
        longer = tuple(extended(one, new) for one, new in zip(self.rows, rows, strict=True))
        found = [run(self.network, row, len(new))[0][0] for row, new in zip(longer, rows, strict=True)]
        return RepeatedReading(self.network, longer, torch.nn.utils.rnn.pad_sequence(found, batch_first=True))

    def selected(self, rows: Sequence[int]) -> RepeatedReading:
        """Return some rows, each as often as it is named."""
        return RepeatedReading(self.network, tuple(self.rows[row] for row in rows), self.log_probabilities[list(rows)])


def read_pictures(network: Any, rows: Sequence[PictureRow]) -> CachedReading:
    """Read rows of the same shapes from their beginning, and cache the keys and values."""
    joined = {name: torch.cat([row[name] for row in rows]) for name in rows[0]}
    log_probabilities, found = run(network, {**joined, "use_cache": True}, 1)
    mask = joined["attention_mask"].long()
    shift = getattr(found, "rope_deltas", None)  # where positions along a picture's sides are counted
    shift = torch.zeros_like(mask[:, :1]) if shift is None else shift.reshape(-1, 1).to(mask)
    return CachedReading(network, log_probabilities, cache_in(found, network), mask, shift)


def read_pictures_alone(network: Any, rows: Sequence[PictureRow]) -> RepeatedReading:
    """Read rows from their beginning, each in a pass of its own, without a cache."""
    return RepeatedReading(network, tuple(rows), torch.stack([run(network, row, 1)[0][0] for row in rows]))


def read_text_alone(network: Any, rows: Sequence[Row]) -> RepeatedReading:
    """Read rows of tokens from their beginning, each in a pass of its own, without a cache."""
    tokens = [torch.tensor([list(row)], device=network.device) for row in rows]
    return read_pictures_alone(network, [{"input_ids": one, "attention_mask": torch.ones_like(one)} for one in tokens])


def caches_pictures(network: Any, row: PictureRow, endings: Endings) -> bool:
    """Return whether endings after a picture get the same log-probabilities from cached keys as from whole passes.

    Parameters
    ----------
    network : model of transformers
    row : mapping of str to tensors
    endings : sequence of tuples of int
        Some with several tokens.
    """
    return _cache_agrees(network, read_pictures, read_pictures_alone, [row], [endings])


def caches_text(network: Any, rows: Sequence[Row], endings: Sequence[Endings]) -> bool:
    """Return whether endings after texts get the same log-probabilities from the cache as from whole passes.

    Parameters
    ----------
    network : model of transformers
    rows : sequence of sequences of int
        Of different lengths, so that padding is tried as well.
    endings : sequence of sequences of tuples of int
        Of each text; some with several tokens.
    """
    return _cache_agrees(network, read, read_text_alone, rows, endings)


def _cache_agrees(
    network: Any,
    reader: Callable[[Any, Sequence[Any]], ContinuableReading],
    alone: Callable[[Any, Sequence[Any]], ContinuableReading],
    rows: Sequence[Any],
    endings: Sequence[Endings],
) -> bool:
    """Return whether a reader with a cache gives the numbers of whole passes.

    Architectures differ in what must be handed on besides keys and values, and state-space models have no keys at all.
    Where something is missing, the numbers differ or the network raises an error.
    """
    expected = score_endings(alone(network, rows), endings, 1)
    try:
        cached = score_endings(reader(network, rows), endings, sum(map(len, endings)))
    except Exception:  # whatever an architecture raises that needs more than keys and values
        return False
    most = max(float(abs(one - other).max()) for one, other in zip(cached, expected, strict=True))
    return most <= HALF_PRECISION_TOLERANCE.get(network.dtype, CACHE_TOLERANCE)


def extended(row: PictureRow, tokens: Row) -> PictureRow:
    """Return a row with further tokens of text."""
    new = torch.tensor([list(tokens)], device=row["input_ids"].device)
    more = {name: torch.full_like(new, value) for name, value in TEXT_TOKEN_VALUES.items()} | {"input_ids": new}
    return {
        name: _longer(values, more.get(name), len(tokens)) if name in PER_TOKEN_FIELDS else values
        for name, values in row.items()
    }


def _longer(values: Tensor, more: Tensor | None, count: int) -> Tensor:
    further = values[:, -1:].repeat_interleave(count, dim=1) if more is None else more.to(values.dtype)
    return torch.cat([values, further], dim=1)


def shortened(row: PictureRow, count: int) -> PictureRow:
    """Return a row without its last tokens."""
    last = row["input_ids"].shape[1] - count
    return {name: values[:, :last] if name in PER_TOKEN_FIELDS else values for name, values in row.items()}


def batches_of_same_shape(given: Iterable[Holder], most: int) -> Iterator[list[Holder]]:
    """Yield batches of neighbors whose rows have the same shapes; only one batch is held at once."""
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


Endings = Sequence[tuple[int, ...]]
Reader = Callable[[Any, Sequence[Row]], ContinuableReading]


@dataclass(frozen=True)
class Continuations:
    """One beginning and several endings, as tokens.

    Attributes
    ----------
    shared : tuple of int
        What is read once; at least one token.
    endings : tuple of tuples of int
        What is scored; each at least one token.
    """

    shared: tuple[int, ...]
    endings: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.shared or not self.endings or not all(self.endings):
            raise InputError("A prompt and every option must have at least one token; one of them is empty.")


def split_continuations(prompt: Sequence[int], whole: Sequence[Sequence[int]]) -> Continuations:
    """Split texts that were tokenized as a whole where they depart from the tokens of their prompt.

    A tokenizer may merge the end of the prompt with the beginning of an answer. The split is then after the last token
    that the prompt alone has in common with all the whole texts, so that all endings are given the same beginning.

    Parameters
    ----------
    prompt : sequence of int
        Tokens of the prompt alone.
    whole : sequence of sequences of int
        Tokens of the prompt followed by each option.
    """
    place = min((_in_common(prompt, tokens) for tokens in whole), default=0)
    return Continuations(tuple(prompt[:place]), tuple(tuple(tokens[place:]) for tokens in whole))


def _in_common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two rows begin with in common."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(map(len, (one, other)))
    )


def score_continuations(
    network: Any, continuations: Sequence[Continuations], batch_size: int = 16, reader: Reader = read
) -> list[Array]:
    """Return the log-probability of every ending given its beginning.

    Parameters
    ----------
    network : causal language model of transformers
    continuations : sequence of Continuations
        In any order; those of similar length are read together.
    batch_size : int
        Rows of one pass, at most; bounds the memory.
    reader : callable
        How beginnings are read: `read`, which caches what was read, or one that reads it again.

    Returns
    -------
    list of arrays of shape (endings,)
    """
    size = whole_number("batch_size", batch_size, at_least=1)
    scores: dict[int, Array] = {}
    for batch in longest_first({place: len(one.shared) for place, one in enumerate(continuations)}, size):
        reading = reader(network, [continuations[place].shared for place in batch])
        found = score_endings(reading, [continuations[place].endings for place in batch], size)
        scores.update(zip(batch, found, strict=True))
    return [scores[place] for place in range(len(continuations))]


def longest_first(lengths: Mapping[int, int], size: int) -> Iterator[list[int]]:
    """Yield numbers of texts of similar length, longest first, so that a lack of memory shows at once."""
    order = sorted(lengths, key=lambda number: -lengths[number])
    for start in range(0, len(order), size):
        yield order[start : start + size]


def score_endings(reading: ContinuableReading, endings: Sequence[Endings], size: int) -> list[Array]:
    """Return the log-probabilities of all endings of beginnings that were read.

    Parameters
    ----------
    reading : ContinuableReading
        Of the beginnings, one in a row.
    endings : sequence of sequences of tokens
        Of each beginning.
    size : int
        Rows of one pass, at most.
    """
    scores = [
        reading.log_probabilities[row, -1, [ending[0] for ending in of_row]].double().cpu().numpy()
        for row, of_row in enumerate(endings)
    ]
    longer = [
        (row, option) for row, of_row in enumerate(endings) for option, ending in enumerate(of_row) if len(ending) > 1
    ]
    longer.sort(key=lambda place: -len(endings[place[0]][place[1]]))
    for start in range(0, len(longer), size):
        part = longer[start : start + size]
        rest = _rest(reading.selected([row for row, _ in part]), [endings[row][option] for row, option in part])
        for (row, option), value in zip(part, rest, strict=True):
            scores[row][option] += value
    return scores


def _rest(reading: ContinuableReading, endings: Endings) -> list[float]:
    """Return the log-probabilities of all tokens of endings but the first."""
    found = reading.read_on([ending[:-1] for ending in endings]).log_probabilities
    return [
        float(found[row, list(range(len(ending) - 1)), list(ending[1:])].double().sum())
        for row, ending in enumerate(endings)
    ]


def write_on(
    reading: ContinuableReading,
    *,
    draws: Sequence[np.random.Generator],
    ends: Collection[int],
    done: Sequence[StopTest],
    most: int,
    temperature: float = 0.0,
) -> list[list[int] | None]:
    """Return the new tokens of each row, without the token that ends it; None where the network gave NaN.

    Parameters
    ----------
    reading : ContinuableReading
        Of the texts, one in a row.
    draws : sequence of Generator
        Of each row, as `draws_for` makes them.
    ends : collection of int
        Tokens that end a text.
    done : sequence of callables
        Whether the new tokens of a row are enough.
    most : int
        New tokens of a row, at most.
    temperature : float
        0 for the likeliest token.
    """
    written: list[list[int]] = [[] for _ in draws]
    failed, open_rows = set[int](), set(range(len(written)))
    while True:
        tokens = _choose(reading.log_probabilities[:, -1], temperature, draws)
        for row in sorted(open_rows):
            if tokens[row] is None:
                failed.add(row)
            elif tokens[row] not in ends:
                written[row].append(tokens[row])
            if tokens[row] is None or tokens[row] in ends or len(written[row]) >= most or done[row](written[row]):
                open_rows.discard(row)
        if not open_rows:
            return [None if row in failed else new for row, new in enumerate(written)]
        reading = reading.read_on([[token or 0] for token in tokens])


def _choose(log_probabilities: Tensor, temperature: float, generators: Sequence[np.random.Generator]) -> list[Any]:
    """Return the next token of each row; None where the log-probabilities are not numbers."""
    broken = torch.isnan(log_probabilities).any(-1).tolist()
    if temperature == 0:
        likeliest = log_probabilities.argmax(-1).tolist()
        return [None if bad else token for bad, token in zip(broken, likeliest, strict=True)]
    weights = (log_probabilities.double() / temperature).softmax(-1).cumsum(-1).cpu().numpy()
    drawn = [generator.random() for generator in generators]
    return [
        None if bad else min(int(np.searchsorted(row, value * row[-1], side="right")), len(row) - 1)
        for bad, row, value in zip(broken, weights, drawn, strict=True)
    ]


def draws_for(seed: int, row: Row, images: Sequence[bytes] = ()) -> np.random.Generator:
    """Return the random generator of one text, from the seed, its tokens and its pictures."""
    digest = hashlib.sha256(np.asarray(row, dtype=np.int64).tobytes() + b"".join(images)).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])
