"""The folder of a sweep: what it keeps exactly, what it refuses, and how it reads while others write."""

from __future__ import annotations

import json
import math
import os
import re
import socket
import sqlite3
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from sweep_trials import BATCH, ODD, ODDITY, TRIAL, Trial, alike, calls, contents, trial_sweep

from genlaws.core.errors import InputError
from genlaws.core.locks import FolderLock
from genlaws.sweeps import Axis, Experiment, Procedure, Store, StoreBusyError, make_sweep, run_sweep
from genlaws.sweeps.index import LAYOUT_VERSION

VALUES = {
    "nan": math.nan,
    "inf": math.inf,
    "minus_inf": -math.inf,
    "minus_zero": -0.0,
    "third": 1 / 3,
    "tiny": 5e-324,
    "true": True,
    "numpy_false": np.bool_(False),
    "text": "α 'quoted' \"twice\"\n\x00 \ud800",
    "numpy_text": np.str_("x"),
    "empty": "",
    "nothing": None,
    "large": 2**53 + 1,
    "int64": np.int64(-(2**63)),
    "uint64": np.uint64(2**64 - 1),
    "beyond": 2**100,
    "float32": np.float32(0.1),
    "float16": np.float16(0.1),
    "zero_dimensions": np.array(2.5),
    "zero_dimensions_int": np.array(2**60, dtype=np.int64),
}
ARRAYS = {
    "floats": np.array([1 / 3, np.nan, np.inf, -0.0]),
    "single": np.float32([[0.1, 0.2]]),
    "half": np.float16([0.1]),
    "big": np.array([2**63 - 1, -(2**63)]),
    "unsigned": np.array([2**64 - 1], dtype=np.uint64),
    "truth": np.array([[True], [False]]),
    "complex": np.array([1j, np.nan]),
    "texts": np.array(["ä", "longer"]),
    "bytes": np.array([b"a", b"bc"]),
    "none": np.zeros((0, 3)),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": np.arange(10)[::3],
    "file": np.arange(2),  # names that numpy's writer keeps for itself
    "allow_pickle": np.arange(3),
    "x.npy": np.arange(4),
    "with/slash": np.arange(5),
}


def one_result(result):
    return Experiment("trial.one", "", "", "", Procedure(Trial, lambda settings, seed: dict(result)))


def test_numbers_and_arrays_come_back_exactly(tmp_path: Path):
    run_sweep(make_sweep(one_result({**VALUES, **ARRAYS})), folder=tmp_path / "s", retries=0)
    with Store(tmp_path / "s") as store:
        assert store.failures() == []
        (cell,) = store.cells()
    for name, value in VALUES.items():
        plain = value.item() if isinstance(value, np.generic | np.ndarray) else value
        assert alike(cell.numbers[name], plain), name
        assert type(cell.numbers[name]) is type(plain), name
    assert math.copysign(1, cell.numbers["minus_zero"]) == -1
    assert set(cell.arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert cell.arrays[name].dtype == array.dtype, name
        assert cell.arrays[name].shape == array.shape, name
        assert cell.arrays[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("kind", ODD)
def test_a_result_that_cannot_be_stored_fails_its_cell_alone(tmp_path: Path, kind):
    report = run_sweep(make_sweep(ODDITY, {}, [Axis("label", ("fine", kind))]), folder=tmp_path / "s", retries=0)
    assert (report.computed, report.failed) == (1, 1)
    with Store(tmp_path / "s") as store:
        ((settings, _, error),) = store.failures()
    assert settings["label"] == kind
    assert re.match(r"TypeError: (The (array|entry|names)|A result must)|ValueError: Exceeds", error), error


def test_an_error_text_that_no_file_can_hold_does_no_harm(tmp_path: Path):
    def fail(settings, seed):
        raise ValueError("name \udcff")

    experiment = Experiment("trial.text", "", "", "", Procedure(Trial, fail))
    assert run_sweep(make_sweep(experiment), folder=tmp_path / "s", retries=0).failed == 1
    with Store(tmp_path / "s") as store:
        assert store.failures()[0][2] == "ValueError: name \\udcff"
        assert store.tracebacks()[0].endswith("ValueError: name \\udcff\n")


def test_a_traceback_is_kept_as_long_as_its_cell_fails(tmp_path: Path, notes: Path):
    sweep = make_sweep(TRIAL, {}, [Axis("deed", ("raise", "compute", "raise-once"))])
    run_sweep(sweep, folder=tmp_path / "s", retries=0)
    with Store(tmp_path / "s") as store:
        assert [settings["deed"] for settings, _, _ in store.failures()] == ["raise", "raise-once"]
        assert all(re.search(r"^ +raise ValueError\(", text, re.MULTILINE) for text in store.tracebacks())
        assert "this cell fails the first time" in store.tracebacks()[1]
    run_sweep(sweep, folder=tmp_path / "s", retries=1)
    with Store(tmp_path / "s") as store:
        (text,) = store.tracebacks()
        assert "this cell cannot be computed" in text
        assert store._index.execute("SELECT COUNT(*) FROM tracebacks").fetchone() == (1,)


def test_a_folder_made_without_tracebacks_is_read_and_continued(tmp_path: Path, notes: Path):
    sweep = make_sweep(TRIAL, {}, [Axis("deed", ("raise", "compute"))])
    run_sweep(sweep, folder=tmp_path / "s", retries=0)
    index = sqlite3.connect(tmp_path / "s" / "sweep.sqlite")
    index.execute("DROP TABLE tracebacks")
    index.commit()
    index.close()
    with Store(tmp_path / "s") as store:
        assert len(store.failures()) == 1
        assert store.tracebacks() == [""]
        assert store.counts().done == 1
    assert run_sweep(sweep, folder=tmp_path / "s", retries=1).reused == 1
    with Store(tmp_path / "s") as store:
        assert "this cell cannot be computed" in store.tracebacks()[0]


def test_each_cell_is_kept_with_what_it_was_computed_with(tmp_path: Path):
    run_sweep(trial_sweep(2, 1, BATCH), folder=tmp_path / "s")
    with Store(tmp_path / "s") as store:
        frame = store.to_frame(provenance=True)
        plain = store.to_frame()
    assert set(frame.host) == {socket.gethostname()}
    assert set(frame.dtype) == {"float32"}
    assert set(frame.device) == {"imagined"}
    assert set(frame.python) == {".".join(map(str, sys.version_info[:3]))}
    for name in ("genlaws", "numpy", "scipy"):
        assert set(frame[f"version_{name}"]) == {version(name)}
    assert (frame.seconds >= 0).all()
    assert sorted(frame.seed) == sorted(cell.seed for cell in trial_sweep(2, 1, BATCH).cells())
    assert not set(plain) & {"host", "dtype", "device", "seconds", "finished", "seed"}


def test_a_folder_without_a_sweep_and_a_file_are_refused(tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    for place in ("", "file", "missing"):
        with pytest.raises(InputError, match="There is no sweep in"):
            Store(tmp_path / place)
    with pytest.raises(InputError, match="out must be a folder; .* is a file"):
        run_sweep(trial_sweep(), folder=tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        run_sweep(trial_sweep(), folder=tmp_path / "file" / "below")


def test_a_folder_of_a_newer_layout_is_refused_and_left_alone(tmp_path: Path):
    run_sweep(trial_sweep(), folder=tmp_path / "s")
    index = sqlite3.connect(tmp_path / "s" / "sweep.sqlite")
    index.execute(f"PRAGMA user_version = {LAYOUT_VERSION + 1}")
    index.close()
    sentence = rf"newer version of genlaws \(layout {LAYOUT_VERSION + 1}; this one knows up to {LAYOUT_VERSION}\)"
    with pytest.raises(InputError, match=sentence):
        Store(tmp_path / "s")
    with pytest.raises(InputError, match=sentence):
        run_sweep(trial_sweep(), folder=tmp_path / "s")
    assert not FolderLock.is_held(tmp_path / "s")


def damaged(folder: Path, how: str) -> None:
    file = folder / "sweep.sqlite"
    whole = file.read_bytes()
    file.write_bytes({"empty": b"", "text": b"not a database" * 100, "cut": whole[: len(whole) // 2]}[how])


@pytest.mark.parametrize("how", ["empty", "text", "cut"])
def test_a_damaged_index_is_refused_in_one_sentence(tmp_path: Path, how):
    run_sweep(trial_sweep(30, 5), folder=tmp_path / "s")
    damaged(tmp_path / "s", how)
    with pytest.raises(
        InputError, match=r"is not the index of a sweep|cannot be used: (file is not|database disk image)"
    ):
        contents(tmp_path / "s")
    with pytest.raises(InputError, match=r"is not the index of a sweep|cannot be used"):
        run_sweep(trial_sweep(30, 6), folder=tmp_path / "s")
    assert not FolderLock.is_held(tmp_path / "s")


def test_a_half_made_index_is_made_anew(tmp_path: Path):
    folder = tmp_path / "s"
    folder.mkdir()
    for name in (".sweep.sqlite.part", ".sweep.sqlite.part-wal", ".sweep.sqlite.part-shm"):
        (folder / name).write_bytes(b"left by a killed driver")
    with pytest.raises(InputError, match="There is no sweep in"):
        Store(folder)
    assert run_sweep(trial_sweep(), folder=folder).computed == 12
    assert sorted(file.name for file in folder.iterdir()) == ["arrays", "driver.lock", "sweep.sqlite"]


def test_an_index_that_does_not_say_what_it_is_for_is_refused(tmp_path: Path):
    run_sweep(trial_sweep(), folder=tmp_path / "s")
    index = sqlite3.connect(tmp_path / "s" / "sweep.sqlite")
    index.execute("DELETE FROM about")
    index.commit()
    index.close()
    with Store(tmp_path / "s") as store, pytest.raises(InputError, match="does not state which sweep"):
        store.counts()


@pytest.mark.parametrize(
    ("name", "value"),
    [("experiment", "rules-facts.labelled-runs"), ("settings", {"regularisation": 0.1, "n": 3})],
)
def test_a_sweep_of_the_first_version_is_recognized_and_can_be_exported(tmp_path: Path, name, value):
    folder = tmp_path / "s"
    run_sweep(trial_sweep(2, 1), folder=folder)
    index = sqlite3.connect(folder / "sweep.sqlite")
    index.execute("UPDATE about SET value = ? WHERE name = ?", (json.dumps(value), name))
    index.commit()
    index.close()
    with pytest.raises(InputError, match=r"was made by genlaws 0\.1, .* spelled differently \((rules|regul)"):
        run_sweep(trial_sweep(3, 1), folder=folder)
    with Store(folder) as store:
        assert len(store.to_frame()) == 2


def test_arrays_that_are_gone_are_named(tmp_path: Path):
    run_sweep(trial_sweep(1, 2), folder=tmp_path / "s")
    first, second = sorted((tmp_path / "s" / "arrays").rglob("*.npz"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:50])
    with Store(tmp_path / "s") as store:
        assert len(store.to_frame()) == 2
        with pytest.raises(InputError, match=r"arrays of a finished cell cannot be read from .* Run the same sweep"):
            list(store.cells())
    first.write_bytes(b"")
    with Store(tmp_path / "s") as store, pytest.raises(InputError, match="cannot be read"):
        list(store.cells())


DAMAGE = {
    "missing": None,
    "empty": lambda whole: b"",
    "cut": lambda whole: whole[:-30],
    "changed": lambda whole: whole[:200] + bytes([whole[200] ^ 1]) + whole[201:],
}


@pytest.mark.parametrize("widened", [False, True])
@pytest.mark.parametrize("how", DAMAGE)
def test_a_cell_without_its_arrays_is_not_done_and_is_computed_again(tmp_path: Path, notes: Path, how, widened):
    folder = tmp_path / "s"
    if widened:
        run_sweep(trial_sweep(3, 1), folder=folder)
    run_sweep(trial_sweep(2, 2), folder=folder)
    before, computed = contents(folder), calls(notes)
    cell = next(iter(trial_sweep(2, 2).cells()))
    file = folder / "arrays" / cell.key[:2] / f"{cell.key}.npz"
    harm = DAMAGE[how]
    if harm is None:
        file.unlink()
    else:
        assert harm(file.read_bytes()) != file.read_bytes()
        file.write_bytes(harm(file.read_bytes()))
    with Store(folder) as store:
        counts = store.counts()
        assert (counts.total, counts.done, counts.damaged, counts.failed) == (4, 3, 1, 0)
        assert not store.is_done(cell.key)
    report = run_sweep(trial_sweep(2, 2), folder=folder)
    assert (report.computed, report.reused) == (1, 3)
    assert (calls(notes) - computed).total() == 1
    assert contents(folder) == before
    with Store(folder) as store:
        assert (store.counts().done, store.counts().damaged) == (4, 0)


def test_what_a_killed_driver_left_of_an_array_is_no_cell_and_does_not_stay(tmp_path: Path):
    sweep = trial_sweep(1, 1)
    (cell,) = sweep.cells()
    rest = tmp_path / "s" / "arrays" / cell.key[:2] / f".{cell.key}.part"
    rest.parent.mkdir(parents=True)
    rest.write_bytes(b"half an array")
    assert run_sweep(sweep, folder=tmp_path / "s").computed == 1
    assert [file.name for file in rest.parent.iterdir()] == [f"{cell.key}.npz"]


@pytest.mark.parametrize("name", ["with spaces", "a#b?c%20d&mode=memory", "ü;'\"", "%00"])
def test_the_folder_may_have_any_name(tmp_path: Path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert run_sweep(trial_sweep(2, 1), folder=name).computed == 2
    assert run_sweep(trial_sweep(3, 1), folder=tmp_path / name).reused == 2
    assert len(contents(Path(name))) == 3
    assert os.listdir(tmp_path) == [name]


def test_a_second_writer_is_refused_and_readers_are_not(tmp_path: Path):
    with Store.create(tmp_path / "s", trial_sweep()) as first:
        with pytest.raises(StoreBusyError, match=rf"Another sweep is writing to .* \(process {os.getpid()} on "):
            Store(tmp_path / "s", write=True)
        with pytest.raises(StoreBusyError, match="wait for it, stop it, or use another folder"):
            run_sweep(trial_sweep(), folder=tmp_path / "s")
        with Store(tmp_path / "s") as reader:
            assert reader.counts().running
        assert first.counts().total == 12
    assert not FolderLock.is_held(tmp_path / "s")
    assert run_sweep(trial_sweep(), folder=tmp_path / "s").computed == 12


def test_asking_whether_a_folder_is_held_does_not_keep_a_driver_out(tmp_path: Path):
    testing = "import sys, time; from pathlib import Path; from genlaws.core.locks import FolderLock\n"
    testing += "print('testing', flush=True)\nwhile True: FolderLock.is_held(Path(sys.argv[1]))"
    (tmp_path / "driver.lock").touch()
    command = [sys.executable, "-c", testing, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            for _ in range(200):
                FolderLock(tmp_path).release()
        finally:
            process.kill()


def test_a_reader_sees_one_moment_while_a_driver_writes(tmp_path: Path):
    sweep = trial_sweep(4, 1)
    cells = list(sweep.cells())
    run_sweep(trial_sweep(2, 1), folder=tmp_path / "s")
    with Store(tmp_path / "s") as reader:
        with reader.snapshot():
            before = len(list(reader.cells()))
            assert run_sweep(sweep, folder=tmp_path / "s").computed == 2
            assert len(list(reader.cells())) == before == 2
        assert len(list(reader.cells())) == len(cells)


def test_a_commit_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch):
    sweep = trial_sweep(2, 1)
    run_sweep(sweep, folder=tmp_path / "done")
    with Store.create(tmp_path / "s", sweep) as store:
        from genlaws.sweeps.tasks import CellTask, compute

        cells = list(sweep.cells())
        outcomes = compute(CellTask(TRIAL.procedure, tuple(c.settings for c in cells), tuple(c.seed for c in cells)))
        write = store._write_row
        monkeypatch.setattr(store, "_write_row", lambda cell, *rest: write(cell, *rest) if cell is cells[0] else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.commit(cells, outcomes)
        assert not any(store.is_done(cell.key) for cell in cells)
        monkeypatch.undo()
        store.commit(cells, outcomes)
    assert contents(tmp_path / "s") == contents(tmp_path / "done")


READ_ONLY = """
import sys
from genlaws.sweeps import Store, run_sweep
from genlaws.core.errors import InputError
from sweep_trials import trial_sweep
try:
    run_sweep(trial_sweep(3, 1), folder=sys.argv[1])
except (OSError, InputError) as error:
    print(error)
with Store(sys.argv[1]) as store:
    print(len(list(store.cells())), store.counts().done, store.counts().running)
"""


def test_a_read_only_folder_can_be_read_and_says_why_it_is_not_written_to(tmp_path: Path):
    run_sweep(trial_sweep(2, 1), folder=tmp_path / "s")
    python = f'"{sys.executable}" -c "$0" "$1"'
    if os.geteuid() == 0:
        script = f'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && {python}'
        command = ["unshare", "--mount", "sh", "-c", script, READ_ONLY, str(tmp_path / "s")]
        if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode:
            pytest.skip("root can write anywhere, and mounting is not permitted here")
    else:
        (tmp_path / "s").chmod(0o555)
        command = ["sh", "-c", python, READ_ONLY, str(tmp_path / "s")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert answer.returncode == 0, answer.stderr
    refusal, counted = answer.stdout.splitlines()
    assert re.search("Read-only file system|Permission denied", refusal)
    assert str(tmp_path / "s") in refusal
    assert counted == "2 2 False"


def test_the_index_is_in_write_ahead_mode(tmp_path: Path):
    with Store.create(tmp_path / "s", trial_sweep()) as store:
        assert store._index.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert (tmp_path / "s" / "sweep.sqlite-wal").exists()


def test_axes_are_kept_as_the_settings_hold_them(tmp_path: Path):
    axes = [Axis("x", np.arange(2)), Axis("widths", ((1,), [2, 3])), Axis("size", (None, 4))]
    run_sweep(make_sweep(TRIAL, {}, axes), folder=tmp_path / "s")
    with Store(tmp_path / "s") as store:
        assert store.about()["axes"] == [["x", [0.0, 1.0]], ["widths", [[1], [2, 3]]], ["size", [None, 4]]]
        assert json.dumps(store.about())
