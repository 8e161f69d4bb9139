"""Ctrl-C, SIGTERM, a full disk, and two drivers on one folder: a clean end, and a folder that goes on."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from sweep_trials import HERE, TRIAL, contents, trial_sweep, wait_until

from genlaws.sweeps import Store, run_sweep

CELLS = 60
COMMAND = ("--axis", f"x=1:{CELLS}:{CELLS}", "--set", "pause=0.05")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> list:
    folder = tmp_path_factory.mktemp("unbroken")
    run_sweep(trial_sweep(CELLS, 1, pause=0.05), folder=folder)
    return contents(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_stops_the_sweep_cleanly_and_it_goes_on_later(tmp_path: Path, drive, unbroken, number, jobs):
    run = ("sweep", "run", TRIAL.name, "--folder", tmp_path / "s", "--jobs", jobs)
    driver = drive(*run, *COMMAND)
    wait_until(lambda: driver.ended or driver.reported > 3, "the first cells")
    driver.process.send_signal(number)
    assert driver.wait() == 130, driver.said
    assert "genlaws: Stopped." in driver.said
    assert "Traceback" not in driver.said
    assert not list((tmp_path / "s").glob("*-wal"))
    with Store(tmp_path / "s") as store:
        counts = store.counts()
    assert (counts.running, counts.message) == (False, "stopped")
    assert driver.reported <= counts.done < CELLS
    resumed = drive(*run, *COMMAND)
    assert resumed.wait() == 0, resumed.said
    assert contents(tmp_path / "s") == unbroken


@pytest.mark.parametrize("engine", [("--jobs", "2"), ("--scheduler", "local")], ids=["processes", "local cluster"])
def test_ctrl_c_in_a_terminal_reaches_the_workers_too_and_they_say_nothing(tmp_path: Path, drive, engine):
    run = ("sweep", "run", TRIAL.name, "--folder", tmp_path / "s", *engine)
    driver = drive(*run, "--axis", "x=1:500:500", "--set", "pause=0.05", before=os.setsid)
    wait_until(lambda: driver.ended or driver.reported > 3, "the first cells")
    children = psutil.Process(driver.process.pid).children(recursive=True)
    os.killpg(driver.process.pid, signal.SIGINT)
    assert driver.wait() == 130, driver.said
    assert "KeyboardInterrupt" not in driver.said
    assert "genlaws: Stopped." in driver.said
    assert psutil.wait_procs(children, timeout=10)[1] == []


def test_a_batch_system_that_ends_all_processes_at_once_finds_a_clean_folder(tmp_path: Path, drive):
    run = ("sweep", "run", TRIAL.name, "--folder", tmp_path / "s", "--jobs", "2", "--axis", "x=1:500:500")
    driver = drive(*run, "--set", "pause=0.05", "--retries", "0", before=os.setsid)
    wait_until(lambda: driver.ended or driver.reported > 3, "the first cells")
    os.killpg(driver.process.pid, signal.SIGTERM)
    assert driver.wait() == 130, driver.said
    with Store(tmp_path / "s") as store:
        assert store.failures() == []
        assert store.counts().done >= driver.reported


def test_an_experiment_that_catches_everything_is_stopped_after_its_cell(tmp_path: Path, drive):
    driver = drive("sweep", "run", TRIAL.name, "--folder", tmp_path / "s", "--set", "deed=catch", *COMMAND)
    wait_until(lambda: driver.ended or driver.reported > 3, "the first cells")
    driver.process.send_signal(signal.SIGINT)
    assert driver.wait() == 130, driver.said
    with Store(tmp_path / "s") as store:
        assert store.counts().done < CELLS


@pytest.mark.parametrize("ending", ["killed", "finished"])
def test_a_second_driver_is_refused_until_the_first_has_ended(tmp_path: Path, drive, notes: Path, ending):
    run = ("sweep", "run", TRIAL.name, "--folder", tmp_path / "s", "--axis", "x=1:10:10", "--set", "deed=wait")
    first = drive(*run)
    wait_until(lambda: first.ended or first.reported == 5, "the cells that do not wait")
    second = drive(*run)
    assert second.wait() == 2
    assert "genlaws: Another sweep is writing to" in second.said
    assert f"(process {first.process.pid} on " in second.said
    status = drive("sweep", "status", tmp_path / "s")
    assert status.wait() == 0
    assert re.search(r"cells done +5 of 10", status.said)
    assert re.search(r"state +running", status.said)
    assert re.search(r"rate +[\d.e+]+ cells a second, about \d+ s left", status.said)
    if ending == "killed":
        first.process.kill()
    (notes / "go").touch()
    assert first.wait() == (-signal.SIGKILL if ending == "killed" else 0)
    third = drive(*run)
    assert third.wait() == 0, third.said
    assert ("(5 now, 5 before)" if ending == "killed" else "(0 now, 10 before)") in third.said
    assert len(contents(tmp_path / "s")) == 10


def test_two_drivers_that_start_at_once_do_not_spoil_the_folder(tmp_path: Path, drive, unbroken):
    run = ("sweep", "run", TRIAL.name, "--folder", tmp_path / "s", *COMMAND)
    codes = sorted(driver.wait() for driver in [drive(*run) for _ in range(3)])
    assert codes[0] == 0
    assert set(codes) <= {0, 2}
    assert contents(tmp_path / "s") == unbroken


def no_file_above_200_kb() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_file_that_may_not_grow_stops_the_sweep_cleanly(tmp_path: Path, drive, jobs):
    run = ("sweep", "run", TRIAL.name, "--folder", tmp_path / "s", "--axis", "x=1:500:500", "--jobs", jobs)
    driver = drive(*run, before=no_file_above_200_kb)
    assert driver.wait() == 1, driver.said
    assert re.search(r"genlaws: The disk (is full|cannot be written to) \(", driver.said)
    assert "free space and run the same command again" in driver.said
    assert "Traceback" not in driver.said
    done = len(contents(tmp_path / "s"))
    assert 0 < driver.reported <= done < 500
    resumed = drive(*run)
    assert resumed.wait() == 0, resumed.said
    run_sweep(trial_sweep(500, 1), folder=tmp_path / "unbroken")
    assert contents(tmp_path / "s") == contents(tmp_path / "unbroken")


SMALL_DISK = """
mount -t tmpfs -o size=600k tmpfs "$1" || exit 77
"$2" -m sweep_driver sweep run trial.plain --folder "$1/s" --axis x=1:500:500
echo "code $?"
"$2" -m sweep_driver sweep status "$1/s"
echo "code $?"
"$2" -m sweep_driver sweep run --resume --folder "$1/s"
echo "code $?"
cp -r "$1/s" "$3"
"""


def test_a_disk_that_is_truly_full_stops_the_sweep_cleanly(tmp_path: Path, drive):
    (tmp_path / "disk").mkdir()
    command = ["unshare", "--mount", "sh", "-c", SMALL_DISK, "sh", tmp_path / "disk", sys.executable, tmp_path / "s"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    if shutil.which("unshare") is None:
        pytest.skip("a small disk cannot be mounted here: there is no unshare")
    answer = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if answer.returncode and "code" not in answer.stdout:
        pytest.skip(f"a small disk cannot be mounted here: {answer.stderr.strip()}")
    assert [line for line in answer.stdout.splitlines() if line.startswith("code")] == ["code 1", "code 0", "code 1"]
    assert answer.stderr.count("genlaws: The disk is full") == 2
    assert "Traceback" not in answer.stderr
    done = len(contents(tmp_path / "s"))
    assert 0 < done < 500
    resumed = drive("sweep", "run", "--resume", "--folder", tmp_path / "s")
    assert resumed.wait() == 0, resumed.said
    run_sweep(trial_sweep(500, 1), folder=tmp_path / "unbroken")
    assert contents(tmp_path / "s") == contents(tmp_path / "unbroken")
