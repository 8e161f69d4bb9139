"""The SQLite index of a sweep's folder: create it, open it, write transactions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from genlaws.core.errors import InputError

LAYOUT_VERSION = 1  # of the folder's layout
INDEX_FILE = "sweep.sqlite"
LOCK_TIMEOUT_SECONDS = 30.0  # while another process reads or writes

CREATE_TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE environments (id INTEGER PRIMARY KEY, document TEXT NOT NULL UNIQUE)",
    """CREATE TABLE cells (
        key TEXT PRIMARY KEY, settings TEXT NOT NULL, repeat INTEGER NOT NULL, seed INTEGER NOT NULL,
        status TEXT NOT NULL, numbers TEXT, arrays TEXT, error TEXT, attempts INTEGER NOT NULL,
        seconds REAL, environment INTEGER REFERENCES environments (id), finished TEXT NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX cells_by_status ON cells (status, attempts)",
)
# A separate table, so that folders without it can still be read and continued.
CREATE_TRACEBACKS = (
    "CREATE TABLE IF NOT EXISTS tracebacks (key TEXT PRIMARY KEY, traceback TEXT NOT NULL) WITHOUT ROWID"
)


def make_index(folder: Path, facts: Iterable[tuple[str, str]]) -> None:
    """Create an empty index under a temporary name and move it into place, so that no partial index is found."""
    part = folder / f".{INDEX_FILE}.part"
    for rest in ("", "-wal", "-shm", "-journal"):
        part.with_name(part.name + rest).unlink(missing_ok=True)
    index = sqlite3.connect(part, isolation_level=None)
    try:
        index.execute("PRAGMA journal_mode = WAL")
        with transaction(index):
            for statement in (*CREATE_TABLES, CREATE_TRACEBACKS, f"PRAGMA user_version = {LAYOUT_VERSION}"):
                index.execute(statement)
            index.executemany("INSERT INTO about VALUES (?, ?)", facts)
    finally:
        index.close()
    os.replace(part, folder / INDEX_FILE)


def open_index(folder: Path, *, write: bool) -> sqlite3.Connection:
    """Return a connection to the index of a folder, or raise an error that states why it is not one."""
    file = (folder / INDEX_FILE).resolve()
    mode = "mode=rw" if write else "mode=ro"
    if not write and not os.access(folder, os.W_OK) and not _has_log(file):
        mode += "&immutable=1"  # SQLite cannot make its lock file there, and needs none
    try:
        index = sqlite3.connect(
            f"{file.as_uri()}?{mode}",
            uri=True,
            timeout=LOCK_TIMEOUT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _check_version(index, folder)
            if write:
                index.execute("PRAGMA synchronous = NORMAL")
                index.execute(CREATE_TRACEBACKS)
        except BaseException:
            index.close()
            raise
    except sqlite3.Error as error:
        raise unreadable(folder, error) from None
    return index


def _has_log(file: Path) -> bool:
    """Return whether there are commits that are not in the index itself yet."""
    log = file.with_name(f"{file.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _check_version(index: sqlite3.Connection, folder: Path) -> None:
    (found,) = index.execute("PRAGMA user_version").fetchone()
    if found > LAYOUT_VERSION:
        raise InputError(
            f"{str(folder)!r} was written by a newer version of genlaws (layout {found}; this one knows up to "
            f"{LAYOUT_VERSION}); use that version to read it."
        )
    if found < 1:
        raise InputError(f"{str(folder / INDEX_FILE)!r} is not the index of a sweep.")


def unreadable(folder: Path, error: sqlite3.Error) -> InputError:
    """Return the error for an index that SQLite cannot use."""
    return InputError(f"The index {str(folder / INDEX_FILE)!r} cannot be used: {error}.")


@contextmanager
def transaction(index: sqlite3.Connection) -> Iterator[None]:
    """All statements inside take effect together, or none."""
    index.execute("BEGIN IMMEDIATE")
    try:
        yield
        index.execute("COMMIT")
    finally:
        if index.in_transaction:  # not if SQLite has rolled back by itself, as on a full disk
            index.execute("ROLLBACK")
