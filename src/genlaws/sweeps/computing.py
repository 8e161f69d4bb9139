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
from typing import Any, Protocol

from genlaws.core.errors import ConvergenceError
from genlaws.sweeps.engines import Engine
from genlaws.sweeps.experiment import Result, Settings
from genlaws.sweeps.grid import Sweep
from genlaws.sweeps.runner import compute_here, run_sweep
from genlaws.sweeps.store import Store


class Steps(Protocol):
    """Progress of a figure: the number of cells, and each finished cell."""

    def start(self, total: int, label: str) -> None:
        """Announce the number of cells."""

    def advance(self, n: int = 1) -> None:
        """Report cells done."""


@dataclass(frozen=True)
class ComputedCell:
    """Settings and result of one cell, numbers and arrays together."""

    settings: Any
    result: Result


@dataclass(frozen=True)
class _Place:
    engine: Engine | None = None
    folder: Path | None = None


_PLACE: ContextVar[_Place] = ContextVar("place", default=_Place())  # noqa: B039 - it is frozen


@contextmanager
def computing(engine: Engine | None = None, folder: Path | None = None) -> Iterator[None]:
    """Compute the cells requested inside with an engine, and store each sweep in a subfolder of `folder`."""
    token = _PLACE.set(_Place(engine, folder))
    try:
        yield
    finally:
        _PLACE.reset(token)


def compute_cells(sweep: Sweep, steps: Steps, label: str) -> list[ComputedCell]:
    """Return every cell of a sweep, in the order of its axes; a cell that fails is an error."""
    place = _PLACE.get()
    steps.start(sweep.total, label)
    if place.engine is None and place.folder is None:
        return list(_compute_in_process(sweep, steps))
    if place.folder is not None:
        return _compute_in_folder(sweep, place, place.folder / sweep.experiment.name, steps)
    with tempfile.TemporaryDirectory(prefix="genlaws-") as folder:
        return _compute_in_folder(sweep, place, Path(folder), steps)


def _compute_in_process(sweep: Sweep, steps: Steps) -> Iterator[ComputedCell]:
    for cell, result in compute_here(sweep):
        steps.advance(1)
        yield ComputedCell(cell.settings, result)


def _compute_in_folder(sweep: Sweep, place: _Place, folder: Path, steps: Steps) -> list[ComputedCell]:
    report = run_sweep(sweep, folder, engine=place.engine, progress=_Relay(steps))
    with Store(folder) as store:
        if report.failed:
            settings, _, error = store.failures()[0]
            raise ConvergenceError(f"{report.failed} cells of {sweep.experiment.name} failed, {settings}: {error}")
        wanted: dict[str, Settings] = {cell.key: cell.settings for cell in sweep.cells()}
        found = {cell.key: {**cell.numbers, **cell.arrays} for cell in store.cells() if cell.key in wanted}
    return [ComputedCell(settings, found[key]) for key, settings in wanted.items()]


class _Relay:
    """Passes the progress of a sweep on to a figure, which only counts cells."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def start(self, total: int, label: str) -> None:
        """Do nothing: the figure has announced its cells."""

    def skip(self, n: int) -> None:
        """Count cells that were done before."""
        self._steps.advance(n)

    def advance(self, n: int = 1) -> None:
        """Count cells just committed."""
        self._steps.advance(n)

    def fail(self, n: int, error: str) -> None:
        """Do nothing: the failure is raised at the end."""
