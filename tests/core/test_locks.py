"""One holder of a file at a time, on every system that has file locks; where there are none, nothing is held."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from genlaws.core import locks
from genlaws.core.errors import InputError
from genlaws.probes import ReplyStore
from genlaws.sweeps import Store, StoreBusyError, get_experiment, make_sweep, processes, run_sweep
from genlaws.sweeps.lock import FolderLock


class Msvcrt(SimpleNamespace):
    """The locks of Windows, by byte: held by one descriptor until it is unlocked or closed."""

    LK_UNLCK, LK_NBLCK = 0, 2

    def __init__(self) -> None:
        super().__init__(held={})

    def locking(self, file: int, mode: int, count: int) -> None:
        assert count == 1
        byte = os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR)
        holder = self.held.get(byte)
        if mode == self.LK_UNLCK:
            if holder != file:
                raise PermissionError(13, "Permission denied")
            del self.held[byte]
        elif holder is not None:
            raise PermissionError(13, "Permission denied")
        else:
            self.held[byte] = file


@pytest.fixture(params=["here", "Windows"])
def system(request, monkeypatch):
    """Use the locks of this system, and those of Windows."""
    if request.param == "Windows":
        monkeypatch.setattr(locks, "POSIX", None)
        monkeypatch.setattr(locks, "WINDOWS", Msvcrt())


@pytest.fixture
def no_locks(monkeypatch):
    monkeypatch.setattr(locks, "POSIX", None)
    monkeypatch.setattr(locks, "WINDOWS", None)


@pytest.mark.usefixtures("system")
def test_one_at_a_time_until_it_is_released(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"words")
    first, second = (os.open(tmp_path / "file", os.O_RDWR) for _ in range(2))
    try:
        assert not locks.is_held(second)
        assert locks.hold(first)
        assert not locks.hold(second)
        assert locks.is_held(second)
        assert os.read(second, 10) == b"words"
        locks.release(first)
        assert not locks.is_held(second)
        assert locks.hold(second)
    finally:
        os.close(first)
        os.close(second)
    assert (tmp_path / "file").read_bytes() == b"words"


@pytest.mark.usefixtures("system")
def test_a_folder_is_held_and_says_by_whom(tmp_path: Path):
    lock = FolderLock(tmp_path)
    assert FolderLock.is_held(tmp_path)
    with pytest.raises(StoreBusyError, match=rf"process {os.getpid()} on "):
        FolderLock(tmp_path)
    lock.release()
    assert not FolderLock.is_held(tmp_path)
    FolderLock(tmp_path).release()


@pytest.mark.usefixtures("system")
def test_a_file_of_answers_has_one_writer(tmp_path: Path):
    with ReplyStore(tmp_path / "answers"), pytest.raises(InputError, match="Another process is writing answers"):
        ReplyStore(tmp_path / "answers")


@pytest.mark.usefixtures("no_locks")
def test_without_locks_nothing_is_written_and_all_can_be_read(tmp_path: Path):
    sentence = "no file locks on this system .* two processes could write"
    with pytest.raises(InputError, match=sentence):
        FolderLock(tmp_path)
    with pytest.raises(InputError, match=sentence):
        ReplyStore(tmp_path / "answers")
    assert not FolderLock.is_held(tmp_path)


def test_a_sweep_is_read_where_there_are_no_locks(tmp_path: Path, monkeypatch):
    sweep = make_sweep(get_experiment("relations.collisions"), {"draws": 2})
    run_sweep(sweep, tmp_path)
    monkeypatch.setattr(locks, "POSIX", None)
    monkeypatch.setattr(locks, "WINDOWS", None)
    with Store(tmp_path) as store:
        assert (store.counts().done, store.counts().running) == (1, False)
    with pytest.raises(InputError, match="no file locks on this system"):
        run_sweep(sweep, tmp_path)


def test_processes_are_started_where_signals_cannot_be_blocked(monkeypatch):
    monkeypatch.setattr(processes, "CAN_BLOCK_SIGNALS", False)
    monkeypatch.delattr(signal, "pthread_sigmask")
    with processes.block_sigint():
        assert not processes.CAN_BLOCK_SIGNALS


WITHOUT_FCNTL = """
import asyncio, importlib, pkgutil, sys

sys.modules["fcntl"] = None  # asyncio, which needs it here, is loaded before
import genlaws

for module in pkgutil.walk_packages(genlaws.__path__, "genlaws."):
    if module.name != "genlaws.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name == "fcntl":
                print(module.name)
        else:
            assert module.name in sys.modules
print("all tried")
"""


def test_every_module_is_imported_where_there_is_no_fcntl():
    done = subprocess.run([sys.executable, "-c", WITHOUT_FCNTL], capture_output=True, text=True, check=False)
    assert done.stdout == "all tried\n", done.stdout + done.stderr
