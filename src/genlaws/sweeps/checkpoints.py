"""Checkpoint folders of tasks: a sweep that was killed resumes in the middle of a long cell.

The driver assigns each task a folder inside the folder of the sweep and removes it when the task's cells are committed.
A worker on a machine without access to the sweep's folder starts its task again.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

CHECKPOINTS_FOLDER = "unfinished"

_FOLDER: ContextVar[Path | None] = ContextVar("checkpoint_folder", default=None)


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
