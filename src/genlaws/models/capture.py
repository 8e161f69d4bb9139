"""Capture the residual stream of texts in a model: batch by batch into reducers, into memory, or into a file.

The model is one that is already loaded; it is never moved or changed. Texts of similar length are read together, padded
on the right, and their states are stored in the order of the texts. The residual identity is checked in every batch.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, cast

import numpy as np
import torch
from numpy.lib.format import open_memmap
from torch import nn

from genlaws.core.arguments import Array, Whole, whole_number
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.running import Running, checked_running
from genlaws.models.architecture import TransformerArchitecture, architecture_of, chosen_sites
from genlaws.models.passes import longest_first, padded
from genlaws.models.recorder import States, captured, refuse_dropout
from genlaws.models.stream import MIN_SITES, Positions, Site, Stream, places_of
from genlaws.models.texts import Tokens, tokenize

LENGTH_NAMES = ("max_position_embeddings", "n_positions", "n_ctx")
UNLIMITED_LENGTH = 10**9  # a tokenizer that knows no limit gives a number far above this
SAME_TOKEN_SHARE = 0.5  # share of equal last tokens above which a message reports it


class StatesInMemory:
    """One array in memory, made when the first states arrive.

    Attributes
    ----------
    row_count : int
        How many rows there will be.
    """

    def __init__(self, row_count: int) -> None:
        self.row_count = row_count
        self._array: States | None = None

    def __enter__(self) -> StatesInMemory:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is open."""

    def write(self, rows: Whole, states: States) -> None:
        """Store states as these rows."""
        if self._array is None:
            self._array = np.empty((self.row_count, *states.shape[1:]), dtype=np.float32)
        self._array[rows] = states

    def states(self) -> States:
        """Return all rows."""
        assert self._array is not None
        return self._array


class StatesInFile:
    """A file of numpy's format, written row by row, so that no more than a batch is ever in memory.

    Attributes
    ----------
    path : path
        Ends in ``.npy`` and must not exist; it is removed again if the block is left by an error.
    row_count : int
        How many rows there will be.
    """

    def __init__(self, path: Path, row_count: int) -> None:
        if path.suffix != ".npy":
            raise InputError(f"to must be the name of a file that ends in .npy; got {str(path)!r}.")
        if path.exists():
            raise InputError(f"to must be a file that does not exist yet; {str(path)!r} does.")
        if not path.resolve().parent.is_dir():
            raise InputError(f"to must lie in a folder that exists; got {str(path)!r}.")
        self.path, self.row_count = path, row_count
        self._file: IO[bytes] | None = None
        self._begin = 0

    def __enter__(self) -> StatesInFile:
        return self

    def __exit__(self, kind: type | None, *error: object) -> None:
        if self._file is not None:
            self._file.close()
            if kind is not None:
                self.path.unlink()

    def write(self, rows: Whole, states: States) -> None:
        """Write states as these rows; rows that follow one another are written at once."""
        if self._file is None:
            made = open_memmap(self.path, mode="w+", dtype=np.float32, shape=(self.row_count, *states.shape[1:]))
            self._begin = int(made.offset)
            del made
            self._file = self.path.open("r+b")
        size = states[0].nbytes
        breaks = np.flatnonzero(np.diff(rows) != 1) + 1
        for row, run in zip(np.split(rows, breaks), np.split(states, breaks), strict=True):
            self._file.seek(self._begin + int(row[0]) * size)
            self._file.write(np.ascontiguousarray(run).tobytes())

    def states(self) -> States:
        """Return all rows, mapped from the file."""
        mapped: States = np.load(self.path, mmap_mode="r")
        return mapped


class Reducer(Protocol):
    """An object that takes batches of states and stores sums, not states."""

    def update(self, states: Stream, texts: Whole, /) -> object:
        """Take in the states of a batch, and the number of the text of each row."""


@dataclass(frozen=True)
class Reading:
    """Description of the states that were read from texts.

    Attributes
    ----------
    sites : tuple of Site
    text_numbers, positions, token_ids : arrays of int
        Of each row: the text it comes from, the place of its token in it and which token that is.
    identity : str
        What holds between a state and the next, such as ``next = this + write``.
    identity_error : float
        Largest relative distance from it over all sites and rows.
    messages : tuple of str
        What to know before drawing conclusions.
    """

    sites: tuple[Site, ...]
    text_numbers: Whole
    positions: Whole
    token_ids: Whole
    identity: str
    identity_error: float
    messages: tuple[str, ...]

    def to_frame(self) -> DataFrame:
        """Return a table with one line for each row of states."""
        columns = {"text": self.text_numbers, "position": self.positions, "token": self.token_ids}
        return frame_of(columns)


@dataclass(frozen=True)
class Capture(Reading):
    """Stored states, with their description.

    Attributes
    ----------
    stream : Stream
        In the order of the texts; its states are float32, in memory or mapped from a file.
    """

    stream: Stream


@dataclass(frozen=True)
class _Plan:
    """What is to be read: tokens and places of all texts, and the sites."""

    model: nn.Module
    architecture: TransformerArchitecture
    sites: tuple[Site, ...]
    tokens: Tokens
    places: list[Whole]
    messages: tuple[str, ...]

    @property
    def starts(self) -> Whole:
        """First row of each text, and after the last the number of rows, when rows are in the order of the texts."""
        return np.concatenate([[0], np.cumsum([len(one) for one in self.places])]).astype(np.int64)

    def reading(self, order: Sequence[int], identity_error: float) -> Reading:
        """Return the description of what was read, with the texts in this order."""
        return Reading(
            sites=self.sites,
            text_numbers=np.repeat(np.asarray(order, dtype=np.int64), [len(self.places[text]) for text in order]),
            positions=np.concatenate([self.places[text] for text in order]),
            token_ids=np.concatenate([self.tokens.ids[text][self.places[text]] for text in order]),
            identity=self.architecture.identity,
            identity_error=identity_error,
            messages=self.messages,
        )


def stream_texts(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[str] | Tokens,
    reducers: Reducer | Sequence[Reducer],
    *,
    batch_size: int = 8,
    position: Positions = "last",
    sites: Sequence[Site | str] | None = None,
    layers: Sequence[int] | None = None,
    strip: bool = False,
    bos: str = "tokenizer",
    max_tokens: int | None = None,
    too_long: str = "cut_end",
    running: Running | None = None,
) -> Reading:
    """Feed the residual stream of texts to reducers, batch by batch, without storing it.

    Parameters
    ----------
    model : torch.nn.Module
        A decoder or encoder of transformers, on its device, without active dropout.
    tokenizer : object
        Of transformers; not used for texts that are tokens already.
    texts : sequence of str, or Tokens
    reducers : object or sequence of objects
        Each has ``update(states, texts)`` and gets a Stream with states in float32 and the number of the text of each
        row; long texts come first.
    batch_size : int
        Texts of one pass.
    position : {"last", "all", "sample"}, int, TokenSample, or sequence
        Tokens of each text: the last before any closing mark; all but the marks at either end; a random sample;
        or places counted from the first token, which is the mark at the beginning if there is one.
    sites, layers
        As in `captured`.
    strip, bos, max_tokens, too_long
        As in `tokenize`; the context of the model bounds the tokens as well.
    running : Running, optional
        Its steps are the texts.
    """
    given = list(reducers) if isinstance(reducers, Sequence) else [reducers]
    if not all(callable(getattr(one, "update", None)) for one in given):
        raise InputError("reducers must each have a method update(states, texts).")
    options = {"strip": strip, "bos": bos, "max_tokens": max_tokens, "too_long": too_long}
    plan = _planned(model, tokenizer, texts, position, (sites, layers), **options)
    if len(plan.sites) < MIN_SITES:
        raise InputError("sites and layers must leave at least two sites for reducers; they leave one.")
    order, error = [], 0.0
    for batch, states, error in _batches(plan, batch_size, checked_running(running)):  # noqa: B007
        numbers = np.repeat(np.array(batch, dtype=np.int64), [len(plan.places[text]) for text in batch])
        for reducer in given:
            reducer.update(Stream(cast(Array, states), plan.sites), numbers)
        order += batch
    return plan.reading(order, error)


def capture_texts(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[str] | Tokens,
    *,
    to: str | os.PathLike[str] | None = None,
    batch_size: int = 8,
    position: Positions = "last",
    sites: Sequence[Site | str] | None = None,
    layers: Sequence[int] | None = None,
    strip: bool = False,
    bos: str = "tokenizer",
    max_tokens: int | None = None,
    too_long: str = "cut_end",
    running: Running | None = None,
) -> Capture:
    """Return the residual stream of texts, in the order of the texts.

    Parameters
    ----------
    to : path, optional
        A file ``.npy`` that does not exist yet; the states are written there, batch by batch, and the stream is mapped
        from it. In memory if not given.
    model, tokenizer, texts, batch_size, position, sites, layers, strip, bos, max_tokens, too_long, running
        As in `stream_texts`.
    """
    options = {"strip": strip, "bos": bos, "max_tokens": max_tokens, "too_long": too_long}
    plan = _planned(model, tokenizer, texts, position, (sites, layers), **options)
    if len(plan.sites) < MIN_SITES:
        raise InputError("sites and layers must leave at least two sites to capture; they leave one.")
    starts, error = plan.starts, 0.0
    storage = StatesInMemory(int(starts[-1])) if to is None else StatesInFile(Path(to), int(starts[-1]))
    with storage:
        for batch, states, error in _batches(plan, batch_size, checked_running(running)):  # noqa: B007
            storage.write(np.concatenate([np.arange(starts[text], starts[text + 1]) for text in batch]), states)
    stream = Stream(cast(Array, storage.states()), plan.sites)
    return Capture(**vars(plan.reading(range(len(plan.places)), error)), stream=stream)


def _planned(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[str] | Tokens,
    position: Positions,
    requested: tuple[Sequence[Site | str] | None, Sequence[int] | None],
    **options: Any,
) -> _Plan:
    """Check everything that can be checked before the model runs."""
    body = getattr(model, "base_model", model)  # without the head, whose scores are not used
    architecture = architecture_of(body)
    refuse_dropout(model)
    chosen = chosen_sites(architecture.sites, *requested)
    limit = context_length(model, tokenizer)
    tokens = texts if isinstance(texts, Tokens) else tokenize(tokenizer, texts, context=limit, **options)
    longest = max(map(len, tokens.ids))
    if limit is not None and longest > limit:
        raise InputError(f"The model reads at most {limit} tokens; a text has {longest}.")
    places = places_of(position, tokens.ends, tokens.heads)
    if not any(map(len, places)):
        raise InputError("position must choose at least one token; it chooses none.")
    messages = [*architecture.messages, *tokens.messages, *_last_tokens(tokens, position, tokenizer)]
    if len(tokens.ids) == 1:
        messages.append("There is one text only, so nothing can be said about how states vary from text to text.")
    first, last = architecture.sites.index(chosen[0]), architecture.sites.index(chosen[-1])
    if last - first >= len(chosen):
        messages.append("Sites between others were left out, so a step across them is the sum of several writes.")
    return _Plan(body, architecture, chosen, tokens, places, tuple(messages))


def context_length(model: nn.Module, tokenizer: Any) -> int | None:
    """Return how many tokens the model reads at most, if it declares a limit."""
    config = getattr(model, "config", None)
    own = next((getattr(config, name) for name in LENGTH_NAMES if getattr(config, name, None)), None)
    given = (own, getattr(tokenizer, "model_max_length", None))
    limits = [limit for limit in given if limit and limit < UNLIMITED_LENGTH]
    return int(min(limits)) if limits else None


def _last_tokens(tokens: Tokens, position: Positions, tokenizer: Any) -> list[str]:
    """Return a message if the last token is the same in all texts, or in most of them."""
    if position not in ("last", -1) or len(tokens.ids) < 2:
        return []
    last = np.array([ids[end - 1] for ids, end in zip(tokens.ids, tokens.ends, strict=True)])
    kinds, counts = np.unique(last, return_counts=True)
    token, count = int(kinds[counts.argmax()]), int(counts.max())
    if count <= SAME_TOKEN_SHARE * len(last):
        return []
    shown = repr(tokenizer.decode([token])) if hasattr(tokenizer, "decode") else str(token)
    remedy = "If it is white space, strip=True leaves it out; position='sample' reads other tokens."
    if count < len(last):
        return [f"{count} of {len(last)} texts end with the same token {shown}. {remedy}"]
    return [
        f"All {count} texts end with the same token {shown}, so the first state is the same vector for all of them, "
        f"and no comparison of texts is defined there. {remedy}"
    ]


def _batches(plan: _Plan, batch_size: int, running: Running) -> Iterator[tuple[list[int], States, float]]:
    """Yield texts, their states and the largest error of the identity so far, long texts first."""
    size = whole_number("batch_size", batch_size, at_least=1)
    lengths = {text: len(ids) for text, ids in enumerate(plan.tokens.ids) if len(plan.places[text])}
    accepted = inspect.signature(plan.model.forward).parameters
    no_cache = {"use_cache": False} if "use_cache" in accepted else {}
    device = next(plan.model.parameters()).device
    error = 0.0
    running.start(len(lengths), "texts")
    for batch in longest_first(lengths, size):
        ids, mask = padded([plan.tokens.ids[text].tolist() for text in batch], device)
        places = [plan.places[text].tolist() for text in batch]
        with (
            captured(plan.model, sites=plan.sites, positions=places, numbers=batch) as recorder,
            torch.inference_mode(),
        ):
            plan.model(input_ids=ids, attention_mask=mask, **no_cache)
        error = max(error, recorder.identity_error)
        yield batch, recorder.take(), error
        running.advance(len(batch))
