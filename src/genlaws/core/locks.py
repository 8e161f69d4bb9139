"""Locks by which one process at a time writes to a file or a folder, until it releases the lock or ends."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from errno import ENOSYS
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from genlaws.core.errors import InputError

LOCK_FILE = "driver.lock"
DRIVER_WAIT_SECONDS = 0.5  # a process that tests the lock holds it for an instant
TEST_WAIT_SECONDS = 0.05
POLL_SECONDS = 0.01


class StoreBusyError(InputError):
    """Another driver is writing to the folder."""


def hold(file: int, *, wait_seconds: float = 0.0) -> bool:
    """Lock an open file unless another process holds it, and return whether that worked.

    Raises
    ------
    InputError
        If the system has no file locks, so that a second writer would not be noticed.
    """
    until = time.monotonic() + wait_seconds
    try:
        while not lock_descriptor(file, blocking=False):
            if time.monotonic() >= until:
                return False
            time.sleep(POLL_SECONDS)
    except OSError as error:
        if error.errno != ENOSYS:
            raise
        raise InputError(
            "There are no file locks on this system or disk, so two processes could write to the same file at once; "
            "use one that has them."
        ) from None
    return True


class FolderLock:
    """Holds a folder for one writer until it is released or the process ends."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if not hold(self._file, wait_seconds=DRIVER_WAIT_SECONDS):
                raise StoreBusyError(
                    f"Another sweep is writing to {str(folder)!r} ({self._holder()}); wait for it, stop it, or use "
                    "another folder."
                )
        except BaseException:
            os.close(self._file)
            raise
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        with suppress(OSError):  # the name informs others; on a full disk the lock holds without it
            os.ftruncate(self._file, 0)
            os.write(self._file, f" process {os.getpid()} on {socket.gethostname()} since {now}".encode())

    def _holder(self) -> str:
        os.lseek(self._file, 1, os.SEEK_SET)  # on Windows other processes cannot read the first byte, which is locked
        return os.read(self._file, 200).decode(errors="replace").strip() or "unknown process"

    def release(self) -> None:
        """Release the folder."""
        if self._file >= 0:
            os.ftruncate(self._file, 0)
            unlock_descriptor(self._file)  # a forked process may have the file open too
            os.close(self._file)
            self._file = -1

    @staticmethod
    def is_held(folder: Path) -> bool:
        """Return whether some process holds the folder; false where locks are unknown."""
        path = folder / LOCK_FILE
        try:  # network file systems lock only what is open for writing; a read-only one can be tested all the same
            file = os.open(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            return not hold(file, wait_seconds=TEST_WAIT_SECONDS)
        except (OSError, InputError):
            return False
        finally:
            os.close(file)
