"""What every command has: the option ``--json``, and a progress bar on standard error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from genlaws.core.errors import InputError
from genlaws.core.running import Running

Json = Annotated[bool, Parameter(help="Print one JSON object and nothing else.", negative="", show_default=False)]


def bar_on_stderr(*columns: TextColumn, quiet: bool = False) -> Progress:
    """Return a bar on standard error with more columns at its end; a quiet one shows nothing."""
    usual = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*usual, *columns, console=Console(stderr=True), disable=quiet)


class ProgressBar:
    """A progress bar on standard error; a context manager that gives the `Running` of what it shows.

    Nothing is shown before `start`.

    Parameters
    ----------
    quiet : bool
        Show nothing: for ``--json``.
    jobs, folder :
        Of the `Running`.
    """

    def __init__(self, *, quiet: bool = False, jobs: int = 1, folder: Path | None = None) -> None:
        self._progress = bar_on_stderr(quiet=quiet)
        self._task: TaskID | None = None
        self._running = Running(self, jobs=jobs, folder=folder)

    def __enter__(self) -> Running:
        return self._running

    def __exit__(self, *error: object) -> None:
        if self._task is not None:
            self._progress.live.transient = isinstance(error[1], InputError)  # no bar above the reason for a refusal
            self._progress.stop()

    def start(self, total: int | None, label: str) -> None:
        """Begin a new line of the bar; without a total it only shows activity."""
        self._progress.start()
        self._task = self._progress.add_task(label, total=total)

    def advance(self, n: int = 1) -> None:
        """Move the current line on."""
        if self._task is not None:
            self._progress.advance(self._task, n)

    def note(self, sentence: str) -> None:
        """Print a sentence, also where no bar is shown."""
        print(sentence, file=sys.stderr)
