"""Let a language model write on: the likeliest token each time, or tokens drawn at a temperature.

Draws depend on the seed and on the text alone, not on the texts beside it or on the order of questions, so a run that
was stopped and resumed gives the same words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from genlaws.semanticity.probes.padded_passes import Reading, Row

Done = Callable[[list[int]], bool]


def write_on(
    reading: Reading,
    *,
    draws: Sequence[np.random.Generator],
    ends: Collection[int],
    done: Sequence[Done],
    most: int,
    temperature: float = 0.0,
) -> list[list[int] | None]:
    """Return the new tokens of each row, without the token that ends it; none where the network gave no numbers.

    Parameters
    ----------
    reading : Reading
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
    """Return the next token of each row; none where the log-probabilities are not numbers."""
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
    """Return the random numbers of one text, bound to its tokens and its pictures."""
    digest = hashlib.sha256(np.asarray(row, dtype=np.int64).tobytes() + b"".join(images)).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])
