"""The data files that come with the library: columns or structure, rows, and hashes of the data.

Words are counted by name and hashed by the order in which they first appear, so that a word that is renamed everywhere
keeps every hash.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable

from golden.store import Case

DATA = (".csv", ".json")
MOST_WORDS = 40  # of a column that are counted by name
VARYING = ("seconds", "date", "versions")  # of the run that made a document


def cases() -> Mapping[str, Case]:
    """Return one case for each data file, by its place in the package."""
    found = sorted(_data_files(files("genlaws"), ""), key=lambda one: one[0])
    return {place: Case("exact", partial(_answer, file)) for place, file in found}


def _data_files(folder: Traversable, place: str) -> Iterator[tuple[str, Traversable]]:
    for one in folder.iterdir():
        inside = f"{place}{one.name}"
        if one.is_dir() and one.name != "__pycache__":
            yield from _data_files(one, f"{inside}/")
        elif one.name.endswith(DATA):
            yield inside, one


def _answer(file: Traversable) -> dict[str, object]:
    content = file.read_text(encoding="utf-8")
    return _table(content) if file.name.endswith(".csv") else _document(json.loads(content))


def _table(content: str) -> dict[str, object]:
    header, *rows = list(csv.reader(io.StringIO(content)))
    columns = [_column(cells) for cells in zip(*rows, strict=True)]
    return {"columns": header, "row_count": len(rows), "data": columns}


def _column(cells: Sequence[str]) -> object:
    """Return the hash of a column; of words by their order, with how often each of them occurs."""
    if all(_is_number(one) for one in cells):
        return _hash("\n".join(cells))
    counts = Counter(cells)
    codes = {word: str(number) for number, word in enumerate(counts)}
    found = {"words": len(counts), "hash": _hash("\n".join(codes[one] for one in cells))}
    return found | ({"counts": dict(counts)} if len(counts) <= MOST_WORDS else {})


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return False
    return True


def _document(document: object) -> dict[str, object]:
    numbers: list[str] = []
    words: list[str] = []
    structure = _structure(document, numbers, words)
    return {
        "structure": structure,
        "number_count": len(numbers),
        "number_hash": _hash("\n".join(numbers)),
        "word_count": len(words),
    }


def _structure(value: object, numbers: list[str], words: list[str]) -> object:
    """Return names with the kinds of what they hold, and collect numbers and words in the order of the file."""
    if isinstance(value, Mapping):
        return {
            str(name): "varies" if name in VARYING else _structure(inner, numbers, words)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        kinds = [_structure(inner, numbers, words) for inner in value]
        return {"entries": len(kinds), "of": kinds[0] if kinds and all(one == kinds[0] for one in kinds) else kinds}
    if isinstance(value, bool | int | float) or value is None:
        numbers.append(repr(value))
    else:
        words.append(str(value))
    return type(value).__name__


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
