"""File locks: one process at a time holds a file, until it releases the file or ends."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import Any

from genlaws.core.errors import InputError

LOCKED_BYTE_OFFSET = 2**30  # on Windows; behind the content, because other processes cannot read a locked byte


def _import_or_none(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


POSIX: Any = _import_or_none("fcntl")
WINDOWS: Any = None if POSIX else _import_or_none("msvcrt")


def hold(file: int) -> bool:
    """Lock an open file unless another process holds it, and return whether that worked.

    Raises
    ------
    InputError
        If the system has no file locks, so that a second writer would not be noticed.
    """
    if not (POSIX or WINDOWS):
        raise InputError(
            "Python has no file locks on this system (neither fcntl nor msvcrt), so two processes could write to the "
            "same file at once; use a system that has them."
        )
    try:
        if POSIX:
            POSIX.flock(file, POSIX.LOCK_EX | POSIX.LOCK_NB)
        else:
            _lock_on_windows(file, WINDOWS.LK_NBLCK)
    except (BlockingIOError, PermissionError):  # raised by POSIX and by Windows
        return False
    return True


def release(file: int) -> None:
    """Release a locked file."""
    if POSIX:
        POSIX.flock(file, POSIX.LOCK_UN)
    else:
        _lock_on_windows(file, WINDOWS.LK_UNLCK)


def is_held(file: int) -> bool:
    """Return whether a process holds the file; always false on a system without locks."""
    if POSIX:
        try:
            POSIX.flock(file, POSIX.LOCK_SH | POSIX.LOCK_NB)  # shared, so that several processes can test at once
        except OSError:
            return True
        POSIX.flock(file, POSIX.LOCK_UN)
        return False
    if not WINDOWS:
        return False
    if hold(file):
        release(file)
        return False
    return True


def _lock_on_windows(file: int, mode: int) -> None:
    before = os.lseek(file, 0, os.SEEK_CUR)
    os.lseek(file, LOCKED_BYTE_OFFSET, os.SEEK_SET)
    try:
        WINDOWS.locking(file, mode, 1)
    finally:
        os.lseek(file, before, os.SEEK_SET)
