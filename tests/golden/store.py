"""Golden answers: what is frozen, how it is written to disk, and how a new answer is compared with it.

An answer is a JSON value. Strings with a space in them are sentences: they stand in a file of their own, because a
sentence may be improved while numbers, names, structure and exit codes must not change. Numbers are compared with the
tolerance of their kind.
"""

from __future__ import annotations

import gzip
import json
import math
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded"
SENTENCE = "<sentence>"
# Relative and absolute tolerance of a number, by how it came about.
TOLERANCES = {
    "exact": 0.0,  # counts, names, verdicts
    "closed": 1e-10,  # closed forms
    "solved": 1e-8,  # roots of state equations, fits
    "place": 1e-5,  # where an optimum is; its value is compared as "closed"
    "trained": 1e-6,  # trained networks, on the platform that recorded them only
}


@dataclass(frozen=True)
class Case:
    """One frozen answer: how to make it, and what tolerance its numbers have.

    Attributes
    ----------
    kind : key of `TOLERANCES`
    answer : makes the answer anew
    places : names of the keys that say where an optimum lies; they get the tolerance "place"
    quick : whether the test suite makes it, or only ``compare.py``
    """

    kind: str
    answer: Callable[[], object]
    places: frozenset[str] = field(default_factory=frozenset)
    quick: bool = True


def this_platform() -> dict[str, str]:
    """Return what the last digits of a trained network depend on."""
    return {"machine": platform.machine(), "system": platform.system(), **{name: _version(name) for name in LIBRARIES}}


LIBRARIES = ("numpy", "scipy", "torch", "transformers", "scikit-learn")


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "missing"


def split_sentences(value: object, path: str = "") -> tuple[object, dict[str, str]]:
    """Return `value` with its sentences replaced by a mark, and the sentences by their path."""
    sentences: dict[str, str] = {}

    def visit(part: object, here: str) -> object:
        if isinstance(part, Mapping):
            return {str(key): visit(inner, f"{here}/{key}") for key, inner in part.items()}
        if isinstance(part, list | tuple):
            return [visit(inner, f"{here}/{place}") for place, inner in enumerate(part)]
        if isinstance(part, str) and " " in part:
            sentences[here] = part
            return SENTENCE
        return part

    return visit(value, path), sentences


def rounded(value: object, digits: int = 13) -> object:
    """Return `value` with numbers of at most `digits` digits: what is below every tolerance need not be stored."""
    if isinstance(value, Mapping):
        return {key: rounded(inner, digits) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner, digits) for inner in value]
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{digits}g}")
    return value


def write(name: str, content: object) -> Path:
    """Write one compressed JSON file; the same content gives the same bytes."""
    RECORDED.mkdir(exist_ok=True)
    path = RECORDED / f"{name}.json.gz"
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    read.cache_clear()
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    return path


@cache
def read(name: str) -> dict:
    """Return the content of one recorded file, or nothing if it was never recorded."""
    path = RECORDED / f"{name}.json.gz"
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}


def differences(
    expected: object, found: object, kind: str, places: frozenset[str] = frozenset(), numbers: bool = True
) -> Iterator[str]:
    """Yield one line per difference; with ``numbers=False`` only structure, names and counts are compared."""

    def visit(old: object, new: object, path: str, key: str) -> Iterator[str]:
        if isinstance(old, dict) and isinstance(new, dict):
            if missing := sorted(old.keys() - new.keys()):
                yield f"{path}: missing {', '.join(missing)}"
            if extra := sorted(new.keys() - old.keys()):
                yield f"{path}: new {', '.join(extra)}"
            for name in sorted(old.keys() & new.keys()):
                yield from visit(old[name], new[name], f"{path}/{name}", name)
        elif isinstance(old, list) and isinstance(new, list):
            if len(old) != len(new):
                yield f"{path}: {len(old)} entries were recorded, {len(new)} found"
            for place, (one, other) in enumerate(zip(old, new, strict=False)):
                yield from visit(one, other, f"{path}/{place}", key)
        elif isinstance(old, float) or isinstance(new, float):
            tolerance = TOLERANCES["place" if key in places else kind]
            if numbers and not _close(old, new, tolerance):
                yield f"{path}: {old!r} was recorded, {new!r} found (tolerance {tolerance:g})"
        elif old != new and (numbers or not isinstance(old, int | str)):
            yield f"{path}: {old!r} was recorded, {new!r} found"

    yield from visit(expected, found, "", "")


def _close(old: object, new: object, tolerance: float) -> bool:
    if not isinstance(old, float | int) or not isinstance(new, float | int):
        return False
    if math.isnan(old) or math.isnan(new):
        return math.isnan(old) and math.isnan(new)
    return old == new or math.isclose(old, new, rel_tol=tolerance, abs_tol=tolerance)
