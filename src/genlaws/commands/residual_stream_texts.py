"""The texts that ``genlaws residual-stream analyse`` reads: lines of a file."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from genlaws.numerics.arguments import whole_number
from genlaws.numerics.errors import InputError


@dataclass(frozen=True)
class Lines:
    """Texts of a file.

    Attributes
    ----------
    texts : list of str
    said : str
        How many of which they are.
    """

    texts: list[str]
    said: str


def read_texts(path: Path, shortest: int, longest: int | None, at_most: int) -> Lines:
    """Return the lines of a file that are not blank and of the lengths asked for.

    Parameters
    ----------
    path : path
        Plain text in UTF-8, or compressed as .gz.
    shortest, longest : int
        A line has more characters than the one and fewer than the other; white space at its ends counts.
    at_most : int
        How many are taken, from the first on.
    """
    least, most = whole_number("shortest", shortest), whole_number("at_most", at_most, at_least=1)
    top = float("inf") if longest is None else whole_number("longest", longest, at_least=least + 2)
    lines = _lines(path)
    filled = [line for line in lines if line.strip()]
    if not filled:
        raise InputError(f"texts: the file {str(path)!r} has no line that is not blank.")
    kept = [line for line in filled if least < len(line) < top]
    if not kept:
        raise InputError(
            f"texts: none of the {len(filled)} lines of {str(path)!r} has more than {least} and fewer than {top:g} "
            f"characters."
        )
    of = f"{len(kept):,} lines of the lengths asked for" if len(kept) < len(filled) else f"{len(kept):,} lines"
    return Lines(kept[:most], f"Reading {min(most, len(kept)):,} of {of} in {path}.")


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        what = "a folder" if path.is_dir() else "not there"
        raise InputError(f"texts must be a file with one text per line; {str(path)!r} is {what}.")
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            return file.readlines()
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError):
        raise InputError(f"texts must be plain text in UTF-8, or that as .gz; {str(path)!r} is not.") from None
