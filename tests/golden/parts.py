"""The parts of the golden record, by name; each gives its cases by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from golden.store import Case

PARTS = ("names", "seeds", "tables", "commands", "figures", "explorer", "claims")


def cases_of(part: str) -> Mapping[str, Case]:
    """Return the cases of one part by key."""
    cases: Callable[[], Mapping[str, Case]] = import_module(f"golden.{part}").cases
    return cases()
