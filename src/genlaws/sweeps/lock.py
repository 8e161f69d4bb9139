"""The lock that allows one driver per folder."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from genlaws.core import locks
from genlaws.core.errors import InputError

LOCK_FILE = "driver.lock"
LOCK_WAIT_SECONDS = 0.5


class StoreBusyError(InputError):
    """Another driver is writing to the folder."""


class FolderLock:
    """Holds a folder for one writer until it is released or the process ends."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_FILE
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            taken = self._try_to_lock()
        except InputError:
            os.close(self._file)
            raise
        if not taken:
            holder = os.read(self._file, 200).decode(errors="replace").strip()
            os.close(self._file)
            raise StoreBusyError(
                f"Another sweep is writing to {str(folder)!r} ({holder or 'unknown process'}); wait for it, stop it, "
                "or use another folder."
            )
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        with suppress(OSError):  # the name informs others; on a full disk the lock holds without it
            os.ftruncate(self._file, 0)
            os.write(self._file, f"process {os.getpid()} on {socket.gethostname()} since {now}".encode())

    def _try_to_lock(self) -> bool:
        """Try to take the lock for a short time, because a process that tests it holds it for an instant."""
        until = time.monotonic() + LOCK_WAIT_SECONDS
        while not locks.hold(self._file):
            if time.monotonic() > until:
                return False
            time.sleep(LOCK_WAIT_SECONDS / 20)
        return True

    def release(self) -> None:
        """Release the folder."""
        if self._file >= 0:
            os.ftruncate(self._file, 0)
            locks.release(self._file)
            os.close(self._file)
            self._file = -1

    @staticmethod
    def is_held(folder: Path) -> bool:
        """Return whether some process holds the folder."""
        try:
            file = os.open(folder / LOCK_FILE, os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            return locks.is_held(file)
        finally:
            os.close(file)
