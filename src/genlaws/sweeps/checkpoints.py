"""Where a task may keep unfinished work, so that a sweep that was killed goes on in the middle of a long cell.

The driver names a folder for each task; it lies in the folder of the sweep and is removed when the task's cells are
committed. A worker on a machine that does not see the sweep's folder starts its task anew.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

UNFINISHED = "unfinished"

_FOLDER: ContextVar[Path | None] = ContextVar("halfway", default=None)


def folder_for(sweep_folder: Path, keys: Iterable[str]) -> Path:
    """Return the folder of the task with these cells; it depends on them alone, so a restart finds it again."""
    return sweep_folder / UNFINISHED / hashlib.sha256("".join(keys).encode()).hexdigest()[:20]


@contextmanager
def working_in(folder: str) -> Iterator[None]:
    """Let what is computed inside keep unfinished work in a folder; none if the text is empty."""
    path = Path(folder) if folder else None
    token = _FOLDER.set(path if path is not None and path.parent.parent.is_dir() else None)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def halfway_folder() -> Path | None:
    """Return the folder for unfinished work of the task that is being computed, or nothing; it may not exist yet."""
    return _FOLDER.get()


def forget(folder: Path) -> None:
    """Remove unfinished work, and the folder around it when it is the last."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.parent.rmdir()
    except OSError:
        return
