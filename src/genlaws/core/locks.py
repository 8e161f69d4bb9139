"""A file that one process at a time can hold, until it lets go or ends, however it ends."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import Any

from genlaws.core.errors import InputError

LOCKED_BYTE = 2**30  # what is locked on Windows, beyond all that is written: a locked byte cannot be read by others


def _module(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


POSIX: Any = _module("fcntl")
WINDOWS: Any = None if POSIX else _module("msvcrt")


def hold(file: int) -> bool:
    """Take an open file if no other process holds it, and return whether that worked.

    Raises
    ------
    InputError
        If the system has no file locks. Nothing may then be written, since a second writer would not be noticed.
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
            _on_windows(file, WINDOWS.LK_NBLCK)
    except (BlockingIOError, PermissionError):  # as POSIX and Windows say it
        return False
    return True


def release(file: int) -> None:
    """Let go of a file that is held."""
    if POSIX:
        POSIX.flock(file, POSIX.LOCK_UN)
    else:
        _on_windows(file, WINDOWS.LK_UNLCK)


def is_held(file: int) -> bool:
    """Return whether a process holds the file; where there are no locks, none can."""
    if POSIX:
        try:
            POSIX.flock(file, POSIX.LOCK_SH | POSIX.LOCK_NB)  # shared: those who ask do not disturb one another
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


def _on_windows(file: int, what: int) -> None:
    before = os.lseek(file, 0, os.SEEK_CUR)
    os.lseek(file, LOCKED_BYTE, os.SEEK_SET)
    try:
        WINDOWS.locking(file, what, 1)
    finally:
        os.lseek(file, before, os.SEEK_SET)
