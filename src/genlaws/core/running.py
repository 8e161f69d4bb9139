"""What every long computation takes: who sees its progress, who may stop it, and with what means it runs."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from genlaws.core.arguments import whole_number
from genlaws.core.errors import InputError, StoppedError
from genlaws.core.imports import load_named

MAX_JOBS = 1024
CELLS_BY = "genlaws.sweeps.computing:compute_experiment"  # by name: sweeps run what the systems compute


class Progress(Protocol):
    """Receives the number of steps, then the steps as they are done; each new start begins another part of the work."""

    def start(self, total: int | None, label: str) -> None:
        """Announce `total` steps of the work called `label`; their number may be unknown."""

    def advance(self, n: int = 1) -> None:
        """Report `n` more steps done."""


class Running:
    """How one long computation runs. Functions that take long have it as the argument ``running``.

    A function names in its docstring what it uses besides progress and cancellation, and refuses the rest.

    Parameters
    ----------
    progress : object with ``start(total, label)`` and ``advance(n)``, optional
        Shows how far the work is; nothing is shown without it.
    jobs : int
        Processes on this machine.
    folder : path, optional
        Where finished parts are stored, so that the work resumes where it was stopped.
    """

    def __init__(
        self, progress: Progress | None = None, *, jobs: int = 1, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.progress = progress
        self.jobs = whole_number("jobs", jobs, at_least=1, at_most=MAX_JOBS)
        self.folder = None if folder is None else Path(folder)
        self._announces = True
        self._stopped = threading.Event()

    def start(self, total: int | None, label: str) -> None:
        """Announce the steps of the work, or raise if it was cancelled."""
        self.check()
        if self.progress is not None and self._announces:
            self.progress.start(total, label)

    def advance(self, n: int = 1) -> None:
        """Report `n` more steps done, and raise if the work was cancelled."""
        if self.progress is not None:
            self.progress.advance(n)
        self.check()

    def note(self, sentence: str) -> None:
        """Show a sentence on the work, where the progress has a method ``note`` for it."""
        show = getattr(self.progress, "note", None)
        if show is not None:
            show(sentence)

    def cancel(self) -> None:
        """Stop the work at its next step; for another thread, or for what shows the progress."""
        self._stopped.set()

    def check(self) -> None:
        """Raise `StoppedError` if the work was cancelled."""
        if self._stopped.is_set():
            raise StoppedError("The computation was cancelled.")

    def within(self, name: str) -> Running:
        """Return the same with a folder inside its own, for one of several computations."""
        inner = copy.copy(self)  # cancelled together
        inner.folder = None if self.folder is None else self.folder / name
        return inner

    def cells(self, experiment: str, axes: Mapping[str, Sequence[Any]], **given: Any) -> list[Any]:
        """Return every cell of an experiment over axes, computed by these jobs and stored in this folder.

        What else is given is described at :func:`~genlaws.sweeps.computing.compute_experiment`.
        """
        found: list[Any] = load_named(CELLS_BY)(experiment, axes, running=self, **given)
        return found

    def part(self) -> Running:
        """Return what a part of the work gets: its steps count, but were announced with the rest."""
        part = copy.copy(self)  # cancelled together
        part.jobs, part.folder, part._announces = 1, None, False
        return part


def checked_running(running: Running | None, *uses: str) -> Running:
    """Return `running`, or one that shows nothing; raise if it has jobs or a folder that are not among `uses`."""
    found = Running() if running is None else running
    if not isinstance(found, Running):
        raise InputError(f"running must be a Running, such as Running(progress); got {running!r}.")
    for name, unset in (("jobs", 1), ("folder", None)):
        given = getattr(found, name)
        if name not in uses and given != unset:
            raise InputError(f"running must leave out {name}, which this computation does not use; got {given}.")
    return found
