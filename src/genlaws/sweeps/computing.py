"""Compute the cells that a figure requests, in this process or several, and store them where the caller wants.

A figure requests the cells of a sweep. They are computed by as many processes as its `Running` has jobs, and stored in
the folder of it, so that a figure that was stopped resumes where it was.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genlaws.core.errors import ConvergenceError
from genlaws.core.running import Running
from genlaws.sweeps.engines import Processes
from genlaws.sweeps.experiment import CellResult, Settings
from genlaws.sweeps.grid import Axis, Sweep, make_sweep
from genlaws.sweeps.registry import get_experiment
from genlaws.sweeps.runner import compute_here, run_sweep
from genlaws.sweeps.store import Store


@dataclass(frozen=True)
class ComputedCell:
    """Settings and result of one cell, numbers and arrays together."""

    settings: Any
    result: CellResult


def compute_cells(sweep: Sweep, running: Running, label: str | None = None) -> list[ComputedCell]:
    """Return every cell of a sweep, in the order of its axes; a cell that fails is an error.

    Parameters
    ----------
    sweep : Sweep
    running : Running
        Each sweep is stored in a subfolder of its folder.
    label : str, optional
        What the cells are; without it the caller has announced them.
    """
    if label is not None:
        running.start(sweep.total, label)
    if running.folder is not None:
        return _compute_in_folder(sweep, running.folder / sweep.experiment.name, running)
    if running.jobs == 1:
        found = []
        for cell, result in compute_here(sweep):
            running.advance()
            found.append(ComputedCell(cell.settings, result))
        return found
    with tempfile.TemporaryDirectory(prefix="genlaws-") as temporary:
        return _compute_in_folder(sweep, Path(temporary), running)


def compute_experiment(
    experiment: str,
    axes: Mapping[str, Sequence[Any]],
    *,
    settings: Mapping[str, Any],
    repeats: int,
    seed: int,
    running: Running,
    label: str,
) -> list[ComputedCell]:
    """Return every cell of an experiment over axes, in their order, as `compute_cells` does.

    Parameters
    ----------
    experiment : str
        Its name.
    axes : mapping
        The values of each setting that varies.
    settings : mapping
        The other settings.
    repeats, seed : int
        Of each combination, and of all.
    running : Running
    label : str
        What the cells are.
    """
    over = [Axis(name, tuple(values)) for name, values in axes.items()]
    sweep = make_sweep(get_experiment(experiment), settings, over, repeats, seed)
    return compute_cells(sweep, running, label)


def _compute_in_folder(sweep: Sweep, folder: Path, running: Running) -> list[ComputedCell]:
    engine = None if running.jobs == 1 else Processes(running.jobs)
    report = run_sweep(sweep, folder=folder, engine=engine, running=running.part())
    with Store(folder) as store:
        if report.failed:
            settings, _, error = store.failures()[0]
            raise ConvergenceError(f"{report.failed} cells of {sweep.experiment.name} failed, {settings}: {error}")
        wanted: dict[str, Settings] = {cell.key: cell.settings for cell in sweep.cells()}
        found = {cell.key: {**cell.numbers, **cell.arrays} for cell in store.cells() if cell.key in wanted}
    return [ComputedCell(settings, found[key]) for key, settings in wanted.items()]
