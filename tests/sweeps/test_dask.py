"""Dask clusters, really started: the same table, lost workers, poisonous cells, and nobody at the address."""

from __future__ import annotations

import signal
import socket
import threading
import time
from pathlib import Path

import psutil
import pytest
from sweep_cluster import cluster_of
from sweep_trials import BATCH, TRIAL, calls, contents, deeds, trial_sweep, wait_until

from genlaws.core.errors import InputError
from genlaws.sweeps import Axis, DaskCluster, Experiment, Store, SweepStoppedError, engines, make_sweep, run_sweep


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory):
    with cluster_of(tmp_path_factory.mktemp("cluster"), 2) as started:
        yield started


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list]:
    folder = tmp_path_factory.mktemp("reference")
    for experiment in (TRIAL, BATCH):
        run_sweep(trial_sweep(8, 3, experiment, pause=0.01), folder=folder / experiment.name)
    return {experiment.name: contents(folder / experiment.name) for experiment in (TRIAL, BATCH)}


@pytest.mark.parametrize("experiment", [TRIAL, BATCH], ids=["cells", "batches"])
def test_a_cluster_gives_the_same_table_bit_for_bit(tmp_path: Path, cluster, reference, experiment):
    sweep = trial_sweep(8, 3, experiment, pause=0.01)
    assert run_sweep(sweep, folder=tmp_path / "s", engine=DaskCluster(cluster.address)).computed == 24
    assert contents(tmp_path / "s") == reference[experiment.name]
    assert run_sweep(sweep, folder=tmp_path / "s", engine=DaskCluster(cluster.address)).reused == 24


def test_failures_on_a_cluster_are_recorded_with_their_cells(tmp_path: Path, cluster):
    report = run_sweep(
        deeds("compute", "raise", "raise-once"), folder=tmp_path / "s", engine=DaskCluster(cluster.address), retries=1
    )
    assert (report.computed, report.failed) == (2, 1)
    with Store(tmp_path / "s") as store:
        assert store.failures()[0][2] == "ValueError: this cell cannot be computed"


def test_workers_that_lack_the_experiment_say_so(tmp_path: Path, cluster, monkeypatch):
    here_alone = tmp_path / "path"
    here_alone.mkdir()
    (here_alone / "only_here.py").write_text("from sweep_trials import PLAIN\n")
    monkeypatch.syspath_prepend(here_alone)
    sweep = trial_sweep(2, 1, Experiment("trial.here", "", "", "", "only_here:PLAIN"))
    report = run_sweep(sweep, folder=tmp_path / "s", engine=DaskCluster(cluster.address), retries=0)
    assert report.failed == 2
    with Store(tmp_path / "s") as store:
        assert store.failures()[0][2] == "ModuleNotFoundError: No module named 'only_here'"


def test_a_worker_that_is_killed_does_not_end_the_sweep(tmp_path: Path, cluster):
    sweep = trial_sweep(40, 1, pause=0.1)
    done = threading.Event()

    def kill_one() -> None:
        wait_until(lambda: sum(calls(cluster.folder).values()) > before + 8, "some cells")
        cluster.workers[0].send_signal(signal.SIGKILL)
        done.set()

    before = sum(calls(cluster.folder).values())
    killer = threading.Thread(target=kill_one)
    killer.start()
    report = run_sweep(sweep, folder=tmp_path / "s", engine=DaskCluster(cluster.address), retries=0)
    killer.join()
    cluster.workers.pop(0).wait()
    cluster.start_worker()
    assert done.is_set()
    assert (report.computed, report.failed) == (40, 0)
    run_sweep(sweep, folder=tmp_path / "unbroken")
    assert contents(tmp_path / "s") == contents(tmp_path / "unbroken")


def test_a_local_cluster_survives_a_cell_that_always_kills_its_worker(tmp_path: Path, notes: Path, reference):
    others = tuple(f"other {number}" for number in range(12))
    sweep = deeds(*others[:4], "kill", *others[4:])
    before = set(psutil.Process().children(recursive=True))
    report = run_sweep(sweep, folder=tmp_path / "s", engine=DaskCluster(jobs=2), retries=0)
    assert (report.computed, report.failed) == (12, 1)
    with Store(tmp_path / "s") as store:
        ((settings, _, error),) = store.failures()
    assert settings["deed"] == "kill"
    assert error == "WorkerDied: dask lost several workers over this task."
    left = set(psutil.Process().children(recursive=True)) - before
    assert not [child for child in left if "spawn" in " ".join(child.cmdline())]


def test_a_scheduler_that_is_lost_stops_the_sweep_and_fails_no_cell(tmp_path: Path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    with cluster_of(folder, 1) as own:

        def kill_scheduler() -> None:
            wait_until(lambda: done_in(tmp_path / "s") > 3, "some cells")
            own.scheduler.send_signal(signal.SIGKILL)

        killer = threading.Thread(target=kill_scheduler)
        killer.start()
        with pytest.raises(SweepStoppedError, match="connection to the dask scheduler at 'tcp://.*' was lost"):
            run_sweep(trial_sweep(40, 1, pause=0.1), folder=tmp_path / "s", engine=DaskCluster(own.address))
        killer.join()
    with Store(tmp_path / "s") as store:
        assert store.failures() == []
        assert 3 < store.counts().done < 40
    assert run_sweep(trial_sweep(40, 1, pause=0.1), folder=tmp_path / "s").failed == 0


def done_in(folder: Path) -> int:
    if not (folder / "sweep.sqlite").exists():
        return 0
    with Store(folder) as store:
        return store.counts().done


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:{free}", "nonsense://here", "127.0.0.1:port"])
def test_nobody_at_the_address_is_said_in_good_time(tmp_path: Path, monkeypatch, address):
    assert engines.CONNECT_TIMEOUT_SECONDS <= 10
    monkeypatch.setattr(engines, "CONNECT_TIMEOUT_SECONDS", 2)
    address = address.format(free=free_port())
    start = time.monotonic()
    with pytest.raises(InputError, match=f"There is no dask scheduler at '{address}'"):
        run_sweep(make_sweep(TRIAL, {}, [Axis("x", (1,))]), folder=tmp_path / "s", engine=DaskCluster(address))
    assert time.monotonic() - start < 10
