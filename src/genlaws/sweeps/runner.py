"""Run a sweep: compute the missing cells, commit each one, and report."""

from __future__ import annotations

import errno
import shlex
import signal
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, runtime_checkable

from genlaws.core.arguments import Elementwise
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.running import Progress, Running, checked_running
from genlaws.sweeps.engines import Engine, InProcess
from genlaws.sweeps.experiment import CellResult
from genlaws.sweeps.grid import Cell, Sweep
from genlaws.sweeps.parameters import Folder, Retries, StopAfter
from genlaws.sweeps.store import Store
from genlaws.sweeps.tables import row_of, table_of
from genlaws.sweeps.tasks import CellTask, SweepStoppedError, folder_for, remove_checkpoints, split_result, utc_now

DEFAULT_RETRIES = 1
DEFAULT_STOP_AFTER = 10
INTERRUPTED = "Stopped. Finished cells are stored; run the same sweep again to continue."
DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@runtime_checkable
class SweepProgress(Progress, Protocol):
    """Progress that tells the cells just computed from those that were done before and those that failed."""

    def skip(self, n: int) -> None:
        """Report cells that were done before."""

    def fail(self, n: int, error: str) -> None:
        """Report cells that failed."""


@dataclass(frozen=True, eq=False, repr=False)
class SweepReport(Result):
    """What a run of a sweep has done.

    Attributes
    ----------
    experiment : str
    folder : str
    total : int
        Cells of the sweep.
    computed : int
        Cells finished by this run.
    reused : int
        Cells that the folder already held.
    failed : int
        Cells that failed in every attempt.
    message : str
        How the run ended.
    """

    experiment: str
    folder: str
    total: int
    computed: int
    reused: int
    failed: int
    message: str

    @property
    def unanswered(self) -> str:
        """Whether every cell failed."""
        if self.computed or self.reused:
            return ""
        return f"Every cell of {self.experiment} failed; genlaws sweep status shows the errors."

    def summary(self) -> Summary:
        """Return how many cells are done, and what can be done next."""
        done, folder = self.computed + self.reused, shlex.quote(self.folder)
        following = f"genlaws sweep export {folder} --to csv" if done else f"genlaws sweep status {folder}"
        return Summary(
            [
                Row("cells done", f"{done} of {self.total} ({self.computed} now, {self.reused} before)"),
                Row("failed", str(self.failed)),
                Row("state", self.message),
                Row("folder", self.folder),
                Row("next", following),
            ]
        )


@question
def run_sweep(
    sweep: Sweep,
    *,
    folder: Folder,
    retries: Retries = DEFAULT_RETRIES,
    stop_after: StopAfter = DEFAULT_STOP_AFTER,
    engine: Engine | None = None,
    running: Running | None = None,
) -> SweepReport:
    """Compute every cell of a sweep that is not in its folder yet, and store it there.

    Results do not depend on the engine. A sweep that was stopped continues with the same call.

    Parameters
    ----------
    sweep : Sweep
        Made by :func:`~genlaws.sweeps.make_sweep`, or :func:`~genlaws.sweeps.stored_sweep` of a folder.
    folder : path
        Created if missing. Only one run at a time may write to it.
    retries : int
        How often a failed cell is tried again, over all runs.
    stop_after : int
        Stop when this many cells in a row fail with the same error.
    engine : Engine
        This process by default.
    running : Running, optional
        Its steps are the cells that are done; its progress may be a `SweepProgress`. The engine has the processes.

    Raises
    ------
    SweepStoppedError
        If identical failures pile up or the disk is full.
    StoreBusyError
        If another run is writing to the folder.
    """
    shown = checked_running(running)
    with _full_disk_stops():
        opened = Store.create(folder, sweep)
    with opened as store, _clean_stop() as guard, engine or InProcess() as workers:
        run = _Run(sweep, store, guard, shown, stop_after)
        message = "stopped"
        try:
            with _full_disk_stops():
                store.note(started=utc_now(), message="running")
                run.all_cells(workers, retries)
            message = "finished" if not run.failed else f"finished, cells failed: {run.failed}"
        except SweepStoppedError as stopped:
            message = str(stopped)
            raise
        finally:
            with suppress(sqlite3.Error, OSError):  # such as a full disk
                store.note(message=message)
    return SweepReport(
        experiment=sweep.experiment.name,
        folder=str(folder),
        total=sweep.total,
        computed=run.computed,
        reused=run.reused,
        failed=run.failed,
        message=message,
    )


@contextmanager
def _full_disk_stops() -> Iterator[None]:
    """Turn the errors of SQLite and the system about a full disk into one message."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        if not _is_disk_full(error):
            raise
        what = "cannot be written to" if "disk I/O" in str(error) else "is full"
        raise SweepStoppedError(
            f"The disk {what} ({error}). Finished cells are stored; free space and run the same command again."
        ) from error


class _Run:
    """One pass over the missing cells, then one over the failed ones for each retry."""

    def __init__(self, sweep: Sweep, store: Store, guard: _Guard, running: Running, stop_after: int) -> None:
        self.sweep, self.store, self.guard, self.running = sweep, store, guard, running
        self.stop_after = stop_after
        self.computed = self.reused = 0
        self._same_error, self._last_error = 0, ""
        self._out: dict[int, tuple[list[Cell], int]] = {}

    @property
    def failed(self) -> int:
        """Cells that are still missing; once all have been tried, those that failed."""
        return self.sweep.total - self.reused - self.computed

    def all_cells(self, workers: Engine, retries: int) -> None:
        """Compute missing cells, then failed cells, up to the allowed number of retries."""
        self.running.start(self.sweep.total, self.sweep.experiment.name)
        self._one_pass(workers, self._tasks(first=True, most_attempts=retries))
        for _ in range(retries):
            if not self.failed:
                return
            self._one_pass(workers, self._tasks(first=False, most_attempts=retries))

    def _tasks(self, *, first: bool, most_attempts: int) -> Iterator[CellTask]:
        """Yield the tasks to compute.

        Batches are cut from the list of all cells, so they are the same after a restart. In a batch with finished
        cells, because the sweep was widened, only the other cells are computed.
        """
        procedure = self.sweep.experiment.load()
        number = 0
        for batch in _batches(self.sweep.cells(), procedure.cells_together(self.sweep.settings)):
            missing = [cell for cell in batch if not self.store.is_done(cell.key)]
            if first and len(missing) < len(batch):
                self.reused += len(batch) - len(missing)
                self._skip(len(batch) - len(missing))
            attempts = max((self.store.attempts(cell.key) for cell in missing), default=0)
            if not missing or attempts > most_attempts:
                continue
            self._out[number] = missing, attempts
            number += 1
            yield CellTask(
                self.sweep.experiment.procedure,
                tuple(cell.settings for cell in missing),
                tuple(cell.seed for cell in missing),
                str(self._checkpoint_folder(missing)),
            )

    def _skip(self, n: int) -> None:
        """Report cells that were done before."""
        if isinstance(self.running.progress, SweepProgress):
            self.running.progress.skip(n)
        else:
            self.running.advance(n)

    def _checkpoint_folder(self, cells: list[Cell]) -> Path:
        """Return the checkpoint folder of these cells."""
        return folder_for(self.store.folder, (cell.key for cell in cells))

    def _one_pass(self, workers: Engine, tasks: Iterator[CellTask]) -> None:
        for number, outcomes in workers.results(tasks):
            cells, attempts = self._out.pop(number)
            with self.guard.undisturbed():
                self.store.commit(cells, outcomes)
                remove_checkpoints(self._checkpoint_folder(cells))
            error = outcomes[0].error
            if error is None:
                self.computed += len(cells)
                self._same_error = 0
                self.running.advance(len(cells))
            else:
                if isinstance(self.running.progress, SweepProgress):
                    self.running.progress.fail(len(cells), error)
                self.running.check()
                self._count_error(error, attempts)

    def _count_error(self, error: str, attempts: int) -> None:
        """Stop when failures pile up; cells that failed in an earlier run do not count."""
        if attempts:
            return
        self._same_error = self._same_error + 1 if error == self._last_error else 1
        self._last_error = error
        if self._same_error >= self.stop_after:
            raise SweepStoppedError(
                f"{self._same_error} cells in a row failed with the same error, so the sweep was stopped: {error}"
            )


def _is_disk_full(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in DISK_FULL_ERRORS
    return "full" in str(error) or "disk I/O" in str(error)


def _batches(cells: Iterator[Cell], size: int) -> Iterator[list[Cell]]:
    while batch := list(islice(cells, size)):
        yield batch


class _Guard:
    """Turns Ctrl-C and SIGTERM into an exception, but never in the middle of a commit."""

    def __init__(self) -> None:
        self._busy = False
        self._pending: int | None = None

    def receive(self, number: int, frame: FrameType | None) -> None:
        self._pending = number  # remembered for an experiment that catches every exception
        if not self._busy:
            raise KeyboardInterrupt

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Delay signals until the block is done."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._pending is not None:
            raise KeyboardInterrupt


@contextmanager
def _clean_stop() -> Iterator[_Guard]:
    """Listen for Ctrl-C and SIGTERM while a sweep runs in the main thread."""
    guard = _Guard()
    if threading.current_thread() is not threading.main_thread():
        yield guard
        return
    before = {number: signal.signal(number, guard.receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield guard
    except KeyboardInterrupt:
        raise KeyboardInterrupt(INTERRUPTED) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def compute_here(sweep: Sweep) -> Iterator[tuple[Cell, CellResult]]:
    """Yield every cell with its result, computed in this process and not stored; exceptions propagate."""
    procedure = sweep.experiment.load()
    for batch in _batches(sweep.cells(), procedure.cells_together(sweep.settings)):
        results = procedure.compute([cell.settings for cell in batch], [cell.seed for cell in batch])
        yield from zip(batch, results, strict=True)


@dataclass(frozen=True, eq=False, repr=False)
class SweepTable(Result):
    """The cells of a sweep that was computed without a folder.

    Attributes
    ----------
    rows : tuple of dict
        Settings, repeat and numbers of each cell.
    """

    rows: tuple[Mapping[str, Elementwise], ...]

    def summary(self) -> Summary:
        """Return the table."""
        return Summary(table=self.table())

    def columns(self) -> dict[str, Any]:
        """Return settings, repeat and numbers, with one element for each cell."""
        return {str(name): column for name, column in table_of(self.rows).items()}


@question
def compute_sweep(sweep: Sweep, *, running: Running | None = None) -> SweepTable:
    """Compute a sweep in this process, without a folder: settings, repeat and numbers of every cell.

    Arrays are omitted; exceptions propagate.

    Parameters
    ----------
    sweep : Sweep
    running : Running, optional
        Its steps are the cells.
    """
    shown = checked_running(running)
    shown.start(sweep.total, sweep.experiment.name)
    rows = []
    for cell, result in compute_here(sweep):
        rows.append(row_of(cell.settings.model_dump(), cell.repeat, split_result(result)[0]))
        shown.advance()
    return SweepTable(tuple(rows))
