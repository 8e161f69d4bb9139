"""One holder of a file at a time, on every system that has file locks; where there are none, nothing is held."""

import errno
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from genlaws.core import locks
from genlaws.core.errors import InputError
from genlaws.core.locks import FolderLock
from genlaws.probes import ReplyStore
from genlaws.sweeps import Store, StoreBusyError, engines, get_experiment, make_sweep, run_sweep


class NoLocks:
    """What filelock does where the system has no locks."""

    def __call__(self, file: int, **_: object) -> bool:
        raise OSError(errno.ENOSYS, "fcntl is unavailable")


@pytest.fixture
def no_locks(monkeypatch):
    monkeypatch.setattr(locks, "lock_descriptor", NoLocks())


def test_one_at_a_time_until_it_is_closed(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"words")
    first, second = (os.open(tmp_path / "file", os.O_RDWR) for _ in range(2))
    try:
        assert locks.hold(first)
        assert not locks.hold(second)
        assert os.read(second, 10) == b"words"
        os.close(first)
        assert locks.hold(second)
    finally:
        os.close(second)
    assert (tmp_path / "file").read_bytes() == b"words"


def test_a_folder_is_held_and_says_by_whom(tmp_path: Path):
    lock = FolderLock(tmp_path)
    assert FolderLock.is_held(tmp_path)
    holder = rf"\(process {os.getpid()} on \S+ since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC\)"
    for _ in range(2):  # being refused changes nothing
        with pytest.raises(StoreBusyError, match=holder):
            FolderLock(tmp_path)
    lock.release()
    lock.release()
    assert not FolderLock.is_held(tmp_path)
    FolderLock(tmp_path).release()


def test_the_first_byte_which_windows_locks_is_not_part_of_the_name(tmp_path: Path):
    lock = FolderLock(tmp_path)
    assert (tmp_path / "driver.lock").read_bytes().startswith(b" process ")
    lock.release()
    assert (tmp_path / "driver.lock").read_bytes() == b""


def test_a_lock_ends_with_its_process(tmp_path: Path):
    program = "import os, sys; from pathlib import Path; from genlaws.core.locks import FolderLock\n"
    program += "lock = FolderLock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StoreBusyError, match=rf"process {process.pid} on "):
            FolderLock(tmp_path)
        process.kill()
    assert not FolderLock.is_held(tmp_path)
    FolderLock(tmp_path).release()


def test_a_full_disk_costs_the_name_and_not_the_lock(tmp_path: Path, monkeypatch):
    def write(file: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", write)
    lock = FolderLock(tmp_path)
    monkeypatch.undo()
    with pytest.raises(StoreBusyError, match=r"\(unknown process\)"):
        FolderLock(tmp_path)
    lock.release()


@pytest.mark.parametrize("held", [True, False])
def test_a_folder_that_cannot_be_written_to_can_be_tested(tmp_path: Path, monkeypatch, held):
    """As on a read-only file system, where every attempt to open a file for writing fails."""
    lock = FolderLock(tmp_path)
    if not held:
        lock.release()
    opened = os.open

    def refuse_writing(path, flags, *more):
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return opened(path, flags, *more)

    monkeypatch.setattr(os, "open", refuse_writing)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert FolderLock.is_held(tmp_path) == held
    lock.release()


def test_two_that_test_a_lock_at_once_do_not_take_each_other_for_a_driver(tmp_path: Path):
    (tmp_path / "driver.lock").touch()
    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(FolderLock.is_held, [tmp_path] * 400))


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
    assert (tmp_path / "driver.lock").exists()
    assert not FolderLock.is_held(tmp_path)


def test_a_sweep_is_read_where_there_are_no_locks(tmp_path: Path, monkeypatch):
    sweep = make_sweep(get_experiment("relations.collisions"), {"draws": 2})
    run_sweep(sweep, folder=tmp_path)
    monkeypatch.setattr(locks, "lock_descriptor", NoLocks())
    with Store(tmp_path) as store:
        assert (store.counts().done, store.counts().running) == (1, False)
    with pytest.raises(InputError, match="no file locks on this system"):
        run_sweep(sweep, folder=tmp_path)


def test_processes_are_started_where_signals_cannot_be_blocked(monkeypatch):
    monkeypatch.setattr(engines, "CAN_BLOCK_SIGNALS", False)
    monkeypatch.delattr(signal, "pthread_sigmask")
    with engines.block_sigint():
        assert not engines.CAN_BLOCK_SIGNALS


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
