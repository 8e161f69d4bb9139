"""A driver that is killed at any moment: the resumed table is that of an unbroken run, bit for bit."""

from __future__ import annotations

import random
import signal
import time
from functools import cache
from pathlib import Path

import psutil
import pytest
from sweep_cluster import cluster_of
from sweep_trials import BATCH, TRIAL, contents, trial_sweep, wait_until

from genlaws.sweeps import Store, run_sweep

QUICK, LONG = 4, 20  # kills
CELLS = {QUICK: 120, LONG: 600}
REPEATS, PAUSE = 2, 0.01
AT_MOST_NEW = 10  # cells a driver finishes before it is killed, so that there are enough for all
EXPERIMENTS = {experiment.name: experiment for experiment in (TRIAL, BATCH)}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory):
    """Return a function that gives the contents of an unbroken run."""
    folder = tmp_path_factory.mktemp("unbroken")

    @cache
    def computed(name: str, cells: int) -> list:
        sweep = trial_sweep(cells // REPEATS, REPEATS, EXPERIMENTS[name], pause=PAUSE)
        run_sweep(sweep, folder=folder / f"{name} {cells}")
        return contents(folder / f"{name} {cells}")

    return computed


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory):
    with cluster_of(tmp_path_factory.mktemp("cluster"), 2) as started:
        yield started


def command(name: str, folder: Path, *engine: str, cells: int = CELLS[QUICK]) -> list[str | Path]:
    axis = f"x=1:{cells // REPEATS}:{cells // REPEATS}"
    options = ["--axis", axis, "--set", f"pause={PAUSE}", "--repeats", str(REPEATS)]
    return ["sweep", "run", name, "--folder", folder, *options, *engine]


def done_in(folder: Path) -> int:
    """Return the number of finished cells, after reading each with its arrays."""
    return len(contents(folder)) if (folder / "sweep.sqlite").exists() else 0


def kill_and_resume(drive, folder: Path, kills: int, name: str, *engine: str) -> None:
    """Kill drivers at random moments: while they start, between cells, within a commit; then let one finish."""
    rng = random.Random(f"{name} {engine[0]} {kills}")
    arguments = command(name, folder, *engine, cells=CELLS[kills])
    for number in range(kills):
        before = done_in(folder)
        driver = drive(*arguments)
        if number == 0:
            time.sleep(rng.uniform(0, 1))  # perhaps before there is a folder
        else:
            goal = before + rng.randint(0, AT_MOST_NEW)
            wait_until(lambda driver=driver, goal=goal: driver.ended or driver.reported >= goal, "progress")
            time.sleep(rng.uniform(0, 2 * PAUSE))
        driver.process.send_signal(signal.SIGKILL)
        assert driver.wait() == -signal.SIGKILL, driver.said
        assert done_in(folder) >= max(driver.reported, before)
    driver = drive(*arguments)
    assert driver.wait() == 0, driver.said
    assert driver.reported == CELLS[kills]


@pytest.mark.parametrize("kills", [QUICK, pytest.param(LONG, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_driver_resumes_to_the_unbroken_table(tmp_path: Path, drive, unbroken, kills, name, jobs):
    kill_and_resume(drive, tmp_path / "s", kills, name, "--jobs", jobs)
    assert contents(tmp_path / "s") == unbroken(name, CELLS[kills])


@pytest.mark.parametrize("kills", [QUICK, pytest.param(LONG, marks=pytest.mark.long)])
def test_a_killed_driver_resumes_on_a_cluster_that_lives_on(tmp_path: Path, drive, unbroken, cluster, kills):
    kill_and_resume(drive, tmp_path / "s", kills, TRIAL.name, "--scheduler", cluster.address)
    assert contents(tmp_path / "s") == unbroken(TRIAL.name, CELLS[kills])


@pytest.mark.parametrize("engine", [("--jobs", "2"), ("--scheduler", "local")], ids=["processes", "local cluster"])
def test_no_worker_outlives_a_killed_driver_even_in_the_middle_of_a_cell(tmp_path: Path, drive, engine):
    driver = drive(
        "sweep", "run", TRIAL.name, "--folder", tmp_path / "s", "--axis", "x=1:10:10", "--set", "deed=wait", *engine
    )
    wait_until(lambda: driver.ended or driver.reported == 5, "the cells that do not wait")
    children = psutil.Process(driver.process.pid).children(recursive=True)
    assert len(children) >= 2
    driver.process.kill()
    driver.wait()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


def test_a_worker_process_that_is_killed_from_outside_does_not_end_the_sweep(tmp_path: Path, drive, unbroken):
    driver = drive(*command(TRIAL.name, tmp_path / "s", "--jobs", "2", "--retries", "0"))
    for goal in (5, 30, 60):
        wait_until(lambda goal=goal: driver.ended or driver.reported >= goal, "progress")
        workers = [
            one for one in psutil.Process(driver.process.pid).children() if "spawn_main" in " ".join(one.cmdline())
        ]
        workers[goal % len(workers)].kill()
    assert driver.wait() == 0, driver.said
    assert contents(tmp_path / "s") == unbroken(TRIAL.name, CELLS[QUICK])


def test_a_killed_driver_is_shown_as_stopped_and_its_folder_is_free(tmp_path: Path, drive):
    driver = drive(*command(TRIAL.name, tmp_path / "s"))
    wait_until(lambda: driver.ended or driver.reported > 2, "the first cells")
    driver.process.kill()
    driver.wait()
    with Store(tmp_path / "s") as store:
        counts = store.counts()
    assert not counts.running
    assert counts.message == "running"
    assert 2 < counts.done < CELLS[QUICK]
    status = drive("sweep", "status", tmp_path / "s")
    assert status.wait() == 0
    assert "stopped (killed)" in status.said
    resumed = drive("sweep", "run", "--resume", "--folder", tmp_path / "s")
    assert resumed.wait() == 0, resumed.said
    assert f"{CELLS[QUICK]} of {CELLS[QUICK]}" in resumed.said
