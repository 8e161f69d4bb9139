"""Where figures compute their cells: in this process, or with the engine and the folder that the caller chose.

A figure requests the cells of a sweep. Inside :func:`computing` an engine computes them and a folder stores them, so
that a figure that was stopped resumes where it was.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genlaws.core.errors import ConvergenceError
from genlaws.core.progress import Progress
from genlaws.sweeps.engines import Engine
from genlaws.sweeps.experiment import Result, Settings
from genlaws.sweeps.grid import Sweep
from genlaws.sweeps.runner import Silent, compute_here, run_sweep
from genlaws.sweeps.store import Store


@dataclass(frozen=True)
class ComputedCell:
    """Settings and result of one cell, numbers and arrays together."""

    settings: Any
    result: Result


_PLACE: ContextVar[tuple[Engine | None, Path | None]] = ContextVar("engine and folder", default=(None, None))


@contextmanager
def computing(engine: Engine | None = None, folder: Path | None = None) -> Iterator[None]:
    """Compute the cells requested in this context with an engine, and store each sweep in a subfolder of `folder`."""
    token = _PLACE.set((engine, folder))
    try:
        yield
    finally:
        _PLACE.reset(token)


def compute_cells(sweep: Sweep, progress: Progress, label: str) -> list[ComputedCell]:
    """Return every cell of a sweep, in the order of its axes; a cell that fails is an error."""
    engine, folder = _PLACE.get()
    progress.start(sweep.total, label)
    if engine is None and folder is None:
        return list(_compute_in_process(sweep, progress))
    if folder is not None:
        return _compute_in_folder(sweep, engine, folder / sweep.experiment.name, progress)
    with tempfile.TemporaryDirectory(prefix="genlaws-") as temporary:
        return _compute_in_folder(sweep, engine, Path(temporary), progress)


def _compute_in_process(sweep: Sweep, progress: Progress) -> Iterator[ComputedCell]:
    for cell, result in compute_here(sweep):
        progress.advance(1)
        yield ComputedCell(cell.settings, result)


def _compute_in_folder(sweep: Sweep, engine: Engine | None, folder: Path, progress: Progress) -> list[ComputedCell]:
    report = run_sweep(sweep, folder, engine=engine, progress=_Relay(progress))
    with Store(folder) as store:
        if report.failed:
            settings, _, error = store.failures()[0]
            raise ConvergenceError(f"{report.failed} cells of {sweep.experiment.name} failed, {settings}: {error}")
        wanted: dict[str, Settings] = {cell.key: cell.settings for cell in sweep.cells()}
        found = {cell.key: {**cell.numbers, **cell.arrays} for cell in store.cells() if cell.key in wanted}
    return [ComputedCell(settings, found[key]) for key, settings in wanted.items()]


class _Relay(Silent):
    """Counts the cells of a sweep for a figure, which has announced them and raises the failures at the end."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def advance(self, n: int = 1) -> None:
        """Count cells just committed."""
        self._progress.advance(n)

    skip = advance  # cells that were done before
