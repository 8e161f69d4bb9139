"""Turn texts into tokens, with the marks at either end, cut to the context or shuffled; and make example texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Whole, one_of, whole_number
from genlaws.core.errors import InputError

BOS_CHOICES = ("tokenizer", "add", "drop")
TOO_LONG_CHOICES = ("cut_end", "cut_start", "refuse")
SUBJECTS = (
    *("The old bridge", "A young painter", "The second battalion", "Her first album", "The village church"),
    *("A storm from the west", "The night train", "His younger sister", "A letter from the coast", "The new road"),
)
EVENTS = (
    *("was last seen near the", "had little to do with the", "changed what people thought of the"),
    *("came long before the", "is still remembered for the", "was hidden behind the"),
)
ENDS = (
    *("harbour", "market", "river", "library", "garden", "castle", "station", "forest", "school", "factory", "museum"),
    *("island", "palace", "bakery", "tower", "valley", "prison", "hospital", "theatre", "stadium", "temple", "lake"),
    *("desert", "farm", "mill", "cave", "square", "hotel", "border", "canal", "mountain", "cottage", "kitchen"),
    *("king", "doctor", "soldier", "teacher", "sailor", "poet", "judge", "farmer", "queen", "writer", "singer"),
    *("war", "winter", "flood", "harvest", "election", "concert", "wedding", "trial", "strike", "parade", "fire"),
    *("horse", "wolf", "clock", "ship", "piano"),
)
MAX_EXAMPLE_TEXTS = len(SUBJECTS) * len(EVENTS) * len(ENDS)
# Lines of Python that write the first `count` of them to a file, for a command that reads it.
WRITE_EXAMPLES_CODE = (
    "import pathlib, sys; from genlaws.models.texts import example_texts; "
    'pathlib.Path(sys.argv[1]).write_text("\\n".join(example_texts({count})))'
)


@dataclass(frozen=True)
class Tokens:
    """The tokens of some texts.

    Attributes
    ----------
    ids : tuple of arrays of int
        Of each text, with the marks that the tokenizer puts at its ends.
    heads, tails : tuple of int
        How many tokens at the beginning and at the end of each text are marks (such as a beginning-of-text token, or
        ``[CLS]`` and ``[SEP]``).
    messages : tuple of str
        What was done to the texts.
    """

    ids: tuple[Whole, ...]
    heads: tuple[int, ...]
    tails: tuple[int, ...]
    messages: tuple[str, ...] = ()

    @property
    def ends(self) -> tuple[int, ...]:
        """Number of tokens of each text, the marks at its end not counted."""
        return tuple(len(ids) - tail for ids, tail in zip(self.ids, self.tails, strict=True))

    def shuffled(self, seed: int) -> Tokens:
        """Return the same tokens in random order, the marks left in place; each text has an order of its own."""
        ids = (
            shuffled_tokens(row, [whole_number("seed", seed), number], first=head, last=tail)
            for number, (row, head, tail) in enumerate(zip(self.ids, self.heads, self.tails, strict=True))
        )
        return replace(self, ids=tuple(ids))


def shuffled_tokens(ids: ArrayLike, seed: int | Sequence[int], *, first: int = 1, last: int = 0) -> Whole:
    r"""Return the tokens of one text in random order, all but those that mark its beginning and its end.

    .. math:: x' = [t_0, t_{\pi(1)}, \dots, t_{\pi(n)}]

    Parameters
    ----------
    ids : array_like of int
        One text.
    seed : int or sequence of int
    first, last : int
        How many tokens stay in place at the beginning and at the end; one at the beginning by default.
    """
    given = np.asarray(ids)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InputError(f"ids must be the whole numbers of one text; got an array of shape {given.shape}.")
    low = whole_number("first", first, at_most=given.size)
    high = given.size - whole_number("last", last, at_most=given.size - low)
    tokens = given.astype(np.int64)
    tokens[low:high] = np.random.default_rng(seed).permutation(tokens[low:high])
    return tokens


def tokenize(
    tokenizer: Any,
    texts: Sequence[str],
    *,
    strip: bool = False,
    bos: str = "tokenizer",
    max_tokens: int | None = None,
    context: int | None = None,
    too_long: str = "cut_end",
) -> Tokens:
    """Return the tokens of texts.

    Parameters
    ----------
    tokenizer : object
        Of transformers.
    texts : sequence of str
        None of them empty.
    strip : bool
        Whether white space at the end of each text is left out.
    bos : {"tokenizer", "add", "drop"}
        Whether the mark at the beginning is what the tokenizer sets, is added where it sets none, or is left out.
    max_tokens : int, optional
        The most tokens of a text, marks included.
    context : int, optional
        The most tokens the model can read.
    too_long : {"cut_end", "cut_start", "refuse"}
        What is done with a longer text. What is left of a text cut at its end has, in a causal model, the same states
        as in the whole text. Marks are never cut.
    """
    if isinstance(texts, str) or not texts or not all(isinstance(text, str) for text in texts):
        raise InputError("texts must be a list of at least one text.")
    one_of("bos", bos, BOS_CHOICES)
    one_of("too_long", too_long, TOO_LONG_CHOICES)
    limits = [limit for limit in (max_tokens, context) if limit is not None]
    limit = min(whole_number("max_tokens", one, at_least=1) for one in limits) if limits else None
    given = [text.rstrip() for text in texts] if strip else list(texts)
    bare = _encoded(tokenizer, given, marks=False)
    for number, tokens in enumerate(bare):
        if not tokens:
            raise InputError(f"texts must not be empty; text {number}, counted from 0, has no tokens. Leave it out.")
    marked = bare if bos == "drop" else _encoded(tokenizer, given, marks=True)
    parts = [_parts(tokenizer, whole, inner, bos) for whole, inner in zip(marked, bare, strict=True)]
    fitted = [_fitted(number, part, limit, too_long) for number, part in enumerate(parts)]
    cut = sum(len(new[1]) < len(old[1]) for new, old in zip(fitted, parts, strict=True))
    end = "end" if too_long == "cut_end" else "beginning"
    message = f"{cut} of {len(parts)} texts had more than {limit} tokens and were cut at the {end}."
    return Tokens(
        tuple(np.array([*head, *inner, *tail], dtype=np.int64) for head, inner, tail in fitted),
        tuple(len(head) for head, _, _ in fitted),
        tuple(len(tail) for _, _, tail in fitted),
        (message,) if cut else (),
    )


Parts = tuple[list[int], list[int], list[int]]


def _encoded(tokenizer: Any, texts: list[str], *, marks: bool) -> list[list[int]]:
    found = tokenizer(texts, add_special_tokens=marks, verbose=False)["input_ids"]
    return [list(map(int, one)) for one in found]


def _parts(tokenizer: Any, whole: list[int], inner: list[int], bos: str) -> Parts:
    """Return the marks before a text, its own tokens, and the marks after it."""
    starts = range(len(whole) - len(inner) + 1)
    head = next((start for start in starts if whole[start : start + len(inner)] == inner), None)
    if head is None:
        return [], whole, []  # the tokenizer changed the text itself, so no token is known to be a mark
    marks = whole[:head]
    if bos == "add" and not marks:
        first = getattr(tokenizer, "bos_token_id", None)
        if first is None:
            raise InputError("bos cannot be add: the tokenizer has no token for the beginning of a text.")
        marks = [int(first)]
    return marks, inner, whole[head + len(inner) :]


def _fitted(number: int, parts: Parts, limit: int | None, too_long: str) -> Parts:
    """Return the parts of a text cut to the limit."""
    head, inner, tail = parts
    length = len(head) + len(inner) + len(tail)
    if limit is None or length <= limit:
        return parts
    if too_long == "refuse":
        raise InputError(f"Text {number} has {length} tokens and at most {limit} can be read; cut it, or set too_long.")
    room = limit - len(head) - len(tail)
    if room < 1:
        raise InputError(f"max_tokens must leave room for a token and {len(head) + len(tail)} marks; got {limit}.")
    return head, inner[:room] if too_long == "cut_end" else inner[-room:], tail


def example_texts(count: int = 120) -> tuple[str, ...]:
    """Return different sentences without a full stop; 60 in a row end with 60 different words.

    Parameters
    ----------
    count : int in [1, 3600]
    """
    whole_number("count", count, at_least=1, at_most=MAX_EXAMPLE_TEXTS)
    ways = len(SUBJECTS) * len(EVENTS)
    found = []
    for number in range(count):
        round_, end = divmod(number, len(ENDS))
        way = (number * 7 + round_) % ways  # 7 and the 60 ways have no common factor
        subject, event = SUBJECTS[way % len(SUBJECTS)], EVENTS[way // len(SUBJECTS)]
        found.append(f"{subject} {event} {ENDS[end]}")
    return tuple(found)
