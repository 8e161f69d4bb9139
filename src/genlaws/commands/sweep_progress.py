"""How a sweep shows itself: a bar in a terminal, a line now and then anywhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

EVERY = 5.0  # seconds between two lines where there is no terminal


def watch(*, quiet: bool) -> SweepBar | SweepLines:
    """Return progress on standard error that suits where it goes."""
    if sys.stderr.isatty() and not quiet:
        return SweepBar()
    return SweepLines(quiet=quiet)


class _Counting:
    """Counts cells; what is shown is up to the subclass."""

    def __init__(self) -> None:
        self.total = self.done = self.failed = self.computed = 0
        self.label, self.begun = "", time.monotonic()

    @property
    def rate(self) -> float:
        """Cells computed in a second."""
        spent = time.monotonic() - self.begun
        return self.computed / spent if spent > 0 else 0.0

    def start(self, total: int, label: str) -> None:
        """Begin."""
        self.total, self.label, self.begun = total, label, time.monotonic()

    def skip(self, n: int) -> None:
        """Count cells that were done before."""
        self.done += n

    def advance(self, n: int = 1) -> None:
        """Count cells just committed."""
        self.done += n
        self.computed += n

    def fail(self, n: int, error: str) -> None:
        """Count failures; a cell that is tried again may fail again."""
        self.failed += n


class SweepBar(_Counting):
    """A bar with the rate, the time left and the failures."""

    def __init__(self) -> None:
        super().__init__()
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[told]}"),
        )
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._task: TaskID | None = None

    def __enter__(self) -> SweepBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._show()
        self._bar.stop()

    def start(self, total: int, label: str) -> None:
        """Draw the bar."""
        super().start(total, label)
        self._task = self._bar.add_task(label, total=total, told="")

    def skip(self, n: int) -> None:
        """Move the bar over cells that were done before."""
        super().skip(n)
        self._show()

    def advance(self, n: int = 1) -> None:
        """Move the bar."""
        super().advance(n)
        self._show()

    def fail(self, n: int, error: str) -> None:
        """Show the number of failures."""
        super().fail(n, error)
        self._show()

    def _show(self) -> None:
        if self._task is not None:
            told = f"{self.rate:.3g} cells/s" + (f", failures: {self.failed}" if self.failed else "")
            self._bar.update(self._task, completed=self.done, told=told)


class SweepLines(_Counting):
    """A plain line on standard error every few seconds, and one at the end."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet
        self._latest = time.monotonic()

    def __enter__(self) -> SweepLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line()

    def advance(self, n: int = 1) -> None:
        """Write a line if the last one is some time ago."""
        super().advance(n)
        self._now_and_then()

    def fail(self, n: int, error: str) -> None:
        """Count, and write a line if the last one is some time ago."""
        super().fail(n, error)
        self._now_and_then()

    def _now_and_then(self) -> None:
        if time.monotonic() - self._latest >= EVERY:
            self._line()

    def _line(self) -> None:
        self._latest = time.monotonic()
        if self._quiet or not self.total:
            return
        left = (
            f", about {(self.total - self.done) / self.rate:.0f} s left" if self.rate and self.done < self.total else ""
        )
        failed = f", failures: {self.failed}" if self.failed else ""
        print(
            f"{self.label}: {self.done}/{self.total} cells, {self.rate:.3g} cells/s{left}{failed}",
            file=sys.stderr,
            flush=True,
        )
