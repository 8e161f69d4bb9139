"""Read an answer strictly: it must name one of the options, as a word of its own, and no other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from genlaws.numerics.errors import InputError


def parse_answer(text: str, options: Sequence[str]) -> int | None:
    """Return which option a reply names, counted from 0; none if it names none or several.

    Case, accents written in different ways and white space do not matter; a name inside a longer word does not count.

    Parameters
    ----------
    text : str
    options : sequence of str
        At least two, all different.
    """
    plain = [_plain(option) for option in options]
    if len(plain) < 2 or len(set(plain)) < len(plain) or not all(plain):
        raise InputError(f"options must be at least two different names; got {list(options)!r}.")
    reply = _plain(text)
    named = [place for place, option in enumerate(plain) if re.search(rf"(?<!\w){re.escape(option)}(?!\w)", reply)]
    return named[0] if len(named) == 1 else None


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())
