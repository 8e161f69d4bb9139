"""A progress bar on standard error for whatever follows the library's two-method progress protocol."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


class ProgressBar:
    """Shows ``start(total, label)`` and ``advance(n)`` as a bar; a context manager.

    Parameters
    ----------
    quiet : bool
        Show nothing: for ``--json``.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), disable=quiet)
        self._task: TaskID | None = None

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def start(self, total: int | None, label: str) -> None:
        """Begin a new line of the bar; without a total it only shows that something is going on."""
        self._task = self._progress.add_task(label, total=total)

    def advance(self, n: int = 1) -> None:
        """Move the current line on."""
        if self._task is not None:
            self._progress.advance(self._task, n)
