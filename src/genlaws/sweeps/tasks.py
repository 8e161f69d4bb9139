"""Tasks and outcomes: what is sent to a worker, and what it returns.

The driver gives each task a folder for checkpoints inside the folder of the sweep and removes it when the task's cells
are committed, so that a sweep that was killed resumes in the middle of a long cell. A worker on a machine without
access to the sweep's folder starts its task again.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import socket
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from genlaws.core.errors import ConvergenceError
from genlaws.core.imports import installed_versions
from genlaws.sweeps.experiment import CellResult, Procedure, Settings, load_procedure, writable

RECORDED_PACKAGES = ("genlaws", "numpy", "scipy", "torch", "scikit-learn", "transformers")
CHECKPOINTS_FOLDER = "unfinished"
_FOLDER: ContextVar[Path | None] = ContextVar("checkpoint_folder", default=None)


class SweepStoppedError(ConvergenceError):
    """The sweep ended before all cells were done; finished cells are stored."""


@dataclass(frozen=True)
class CellTask:
    """Cells that are computed in one call.

    Attributes
    ----------
    procedure : str or Procedure
    settings : tuple of Settings
    seeds : tuple of int
    checkpoint_folder : str
        Folder for checkpoints; empty for none.
    """

    procedure: str | Procedure
    settings: tuple[Settings, ...]
    seeds: tuple[int, ...]
    checkpoint_folder: str = ""


@dataclass(frozen=True)
class CellOutcome:
    """The outcome of one cell.

    Attributes
    ----------
    result : mapping
        Empty if it failed.
    error : str or None
        Type and message of the exception.
    seconds : float
        Time of the call, shared by the cells of a batch.
    finished : str
        UTC, with milliseconds.
    environment : mapping
        Versions, type of numbers, device and host.
    trace : str
        The traceback, if it failed.
    """

    result: CellResult
    error: str | None
    seconds: float
    finished: str
    environment: Mapping[str, Any]
    trace: str = ""


def utc_now() -> str:
    """Return the time as text that sorts correctly and that SQLite understands."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def compute(task: CellTask) -> list[CellOutcome]:
    """Compute a task and return an outcome for each of its cells; an exception becomes a failed outcome."""
    start = time.perf_counter()
    try:
        procedure = load_procedure(task.procedure)
        with working_in(task.checkpoint_folder):
            results = [_plain_result(result) for result in procedure.compute(task.settings, task.seeds)]
    except (Exception, SystemExit) as raised:  # recorded with the cell
        error = f"{type(raised).__name__}: {raised}"
        return failed(task, error, time.perf_counter() - start, traceback.format_exc())
    seconds = (time.perf_counter() - start) / len(task.settings)
    finished, environment = utc_now(), environment_of(procedure)
    return [CellOutcome(result, None, seconds, finished, environment) for result in results]


def failed(task: CellTask, error: str, seconds: float = 0.0, trace: str = "") -> list[CellOutcome]:
    """Return a failed outcome for each cell of a task."""
    try:
        environment = environment_of(load_procedure(task.procedure))
    except Exception:  # the experiment cannot be loaded, as the error states
        environment = dict(_describe_machine())
    share = seconds / len(task.settings)
    return [CellOutcome({}, writable(error), share, utc_now(), environment, writable(trace)) for _ in task.settings]


def environment_of(procedure: Procedure) -> dict[str, Any]:
    """Return the software, machine, number type and device of a cell."""
    return {**_describe_machine(), "dtype": procedure.dtype, "device": procedure.device}


def _plain_result(result: CellResult) -> CellResult:
    """Return a result as a plain dictionary that can be sent and stored, or raise an error."""
    numbers, arrays = split_result(result)
    json.dumps(numbers)
    return {**numbers, **arrays}


@cache
def _describe_machine() -> Mapping[str, Any]:
    versions = installed_versions(RECORDED_PACKAGES)
    return {"python": platform.python_version(), "host": socket.gethostname(), "versions": versions}


def split_result(result: CellResult) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the plain values and the arrays of a result, or raise an error that names a wrong entry."""
    numbers: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    if not isinstance(result, Mapping):
        raise TypeError(f"A result must be a mapping of names to values; got {type(result).__name__}.")
    for name, value in result.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"The names in a result must be text; got {name!r}.")
        if isinstance(value, np.ndarray) and value.ndim:
            if value.dtype.kind not in "biufcUS":
                raise TypeError(f"The array {name!r} has entries of type {value.dtype}, which cannot be stored.")
            if isinstance(value, np.ma.MaskedArray):
                raise TypeError(f"The array {name!r} is masked, and the mask cannot be stored; fill it with NaN.")
            arrays[name] = np.asarray(value)
        else:
            numbers[name] = _to_plain_value(name, value)
    return numbers, arrays


def _to_plain_value(name: str, value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"The entry {name!r} is {type(value).__name__}; a result holds numbers, text and arrays.")


def folder_for(sweep_folder: Path, keys: Iterable[str]) -> Path:
    """Return the folder of the task with these cells; it depends only on them, so a restart finds it again."""
    return sweep_folder / CHECKPOINTS_FOLDER / hashlib.sha256("".join(keys).encode()).hexdigest()[:20]


@contextmanager
def working_in(folder: str) -> Iterator[None]:
    """Let computations inside save checkpoints in a folder; none if the text is empty."""
    path = Path(folder) if folder else None
    token = _FOLDER.set(path if path is not None and path.parent.parent.is_dir() else None)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def checkpoint_folder() -> Path | None:
    """Return the checkpoint folder of the task that is being computed, or None; it may not exist yet."""
    return _FOLDER.get()


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a task, and the folder around them if it is empty."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()
