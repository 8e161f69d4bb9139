"""The interface of what shows how far a long piece of work is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Advance = Callable[[int], object]
"""Receives the number of steps just done."""


class Progress(Protocol):
    """Receives the number of steps once, then the steps as they are done."""

    def start(self, total: int | None, label: str) -> None:
        """Announce `total` steps of the work called `label`; their number may be unknown."""

    def advance(self, n: int = 1) -> None:
        """Report `n` more steps done."""


class NoProgress:
    """Progress that reports nothing."""

    def start(self, total: int | None, label: str) -> None:
        """Do nothing."""

    def advance(self, n: int = 1) -> None:
        """Do nothing."""
