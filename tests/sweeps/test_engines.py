"""Every engine gives the same table bit for bit, whatever the number of workers and the order they finish in."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from sweep_trials import BATCH, HERE, LARGE, TRIAL, Trial, calls, contents, deeds, trial_sweep

from genlaws.core.errors import InputError
from genlaws.sweeps import Axis, Experiment, InProcess, Procedure, Processes, Store, make_sweep, run_sweep
from genlaws.sweeps.engines import TASKS_PER_WORKER

PAUSE = 0.01  # seconds at most, drawn anew in every call, so that cells finish in another order each time


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list]:
    """Return what the two sweeps hold when computed here, one cell after the other."""
    folder = tmp_path_factory.mktemp("reference")
    for experiment in (TRIAL, BATCH):
        run_sweep(trial_sweep(8, 3, experiment, pause=PAUSE), folder=folder / experiment.name)
    return {experiment.name: contents(folder / experiment.name) for experiment in (TRIAL, BATCH)}


@pytest.mark.parametrize("jobs", [1, 2, 3])
@pytest.mark.parametrize("experiment", [TRIAL, BATCH], ids=["cells", "batches"])
def test_processes_give_the_same_table_bit_for_bit(tmp_path: Path, reference, jobs, experiment):
    report = run_sweep(trial_sweep(8, 3, experiment, pause=PAUSE), folder=tmp_path / "s", engine=Processes(jobs))
    assert (report.computed, report.failed) == (24, 0)
    assert contents(tmp_path / "s") == reference[experiment.name]


def test_a_procedure_may_be_given_as_an_object(tmp_path: Path, reference):
    from sweep_trials import PLAIN

    by_object = Experiment(TRIAL.name, "", "", "", PLAIN)
    run_sweep(trial_sweep(8, 3, by_object, pause=PAUSE), folder=tmp_path / "s", engine=Processes(2))
    assert contents(tmp_path / "s") == reference[TRIAL.name]


def test_an_engine_serves_one_sweep_after_the_other(tmp_path: Path):
    engine = Processes(2)
    for name in ("a", "b"):
        assert run_sweep(trial_sweep(2, 1), folder=tmp_path / name, engine=engine).computed == 2


def test_a_sweep_with_nothing_to_do_ends_at_once(tmp_path: Path):
    run_sweep(trial_sweep(2, 1), folder=tmp_path / "s")
    assert run_sweep(trial_sweep(2, 1), folder=tmp_path / "s", engine=Processes(2)).reused == 2


@pytest.mark.parametrize("deed", ["die-once", "kill-once"])
def test_a_worker_that_dies_once_does_not_fail_its_cell(tmp_path: Path, notes: Path, deed):
    sweep = make_sweep(TRIAL, {"deed": deed}, [Axis("x", (1, 2, 3))])
    report = run_sweep(sweep, folder=tmp_path / "s", engine=Processes(2), retries=0)
    assert (report.computed, report.failed) == (3, 0)
    assert set(calls(notes).values()) == {2}


@pytest.mark.parametrize(("deed", "how"), [("die", "exited with 7"), ("kill", "was ended by signal 9")])
def test_a_cell_that_always_kills_its_worker_fails_alone(tmp_path: Path, notes: Path, deed, how):
    others = tuple(f"other {number}" for number in range(2 * TASKS_PER_WORKER * 2))
    sweep = deeds(*others[:6], deed, *others[6:])
    report = run_sweep(sweep, folder=tmp_path / "s", engine=Processes(2), retries=0)
    assert (report.computed, report.failed) == (len(others), 1)
    with Store(tmp_path / "s") as store:
        ((settings, _, error),) = store.failures()
    assert settings["deed"] == deed
    assert error == f"WorkerDied: the worker process {how}."
    counted = calls(notes)
    assert [count for cell, count in counted.items() if f" {deed} " in cell] == [2]
    assert {count for cell, count in counted.items() if " other " in cell} == {1}


def test_cells_that_kill_every_worker_stop_the_sweep(tmp_path: Path, notes: Path):
    from genlaws.sweeps import SweepStoppedError

    sweep = make_sweep(TRIAL, {"deed": "kill"}, [Axis("x", tuple(range(20)))])
    with pytest.raises(SweepStoppedError, match="2 cells in a row .* WorkerDied"):
        run_sweep(sweep, folder=tmp_path / "s", engine=Processes(2), stop_after=2)


def test_large_tasks_and_large_results_do_not_block_each_other(tmp_path: Path):
    # Both are far larger than a pipe holds, and several tasks wait at each worker.
    sweep = make_sweep(LARGE, {"widths": tuple(range(100_000))}, [Axis("x", tuple(range(12)))])
    assert run_sweep(sweep, folder=tmp_path / "s", engine=Processes(2)).computed == 12


STUCK = """
import sys
sys.path.insert(0, sys.argv[1])
from genlaws.sweeps import Processes, run_sweep
from sweep_trials import trial_sweep
run_sweep(trial_sweep(3, 1), folder=sys.argv[2], engine=Processes(2))
"""


def test_a_script_that_starts_itself_again_in_every_worker_is_told_so(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(STUCK)
    command = [sys.executable, script, HERE, tmp_path / "s"]
    answer = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 1
    assert "SweepStoppedError: Worker processes end while they start (exit code 1)" in answer.stderr
    assert "if __name__ == '__main__':" in answer.stderr
    with Store(tmp_path / "s") as store:
        assert store.failures() == []


def test_an_experiment_that_cannot_be_sent_is_an_error_in_one_sentence(tmp_path: Path):
    local = Experiment("trial.local", "", "", "", Procedure(Trial, lambda settings, seed: {}))
    with pytest.raises(InputError, match="cannot be sent to another process .* at the top of a module"):
        run_sweep(trial_sweep(2, 1, local), folder=tmp_path / "s", engine=Processes(2))


def test_failures_in_workers_are_recorded_like_those_here(tmp_path: Path, notes: Path):
    errors = {}
    for name, engine in (("here", InProcess()), ("there", Processes(2))):
        run_sweep(deeds("compute", "raise", "leave"), folder=tmp_path / name, engine=engine, retries=0)
        with Store(tmp_path / name) as store:
            errors[name] = store.failures()
    assert len(errors["here"]) == 2
    assert errors["there"] == errors["here"]


@pytest.mark.parametrize("jobs", [0, -1, 1025, 1.5, True])
def test_a_wrong_number_of_processes_is_refused(jobs):
    with pytest.raises(InputError, match="jobs must be a whole number, at least 1 and at most 1024"):
        Processes(jobs)


def test_workers_use_one_thread_each(tmp_path: Path, monkeypatch):
    import os

    from genlaws.sweeps.tasks import CellTask

    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with Processes(1) as engine:
        ((_, (outcome,)),) = engine.results(iter([CellTask("sweep_threads:THREADS", (Trial(),), (0,))]))
    assert outcome.result == {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    assert os.environ["OMP_NUM_THREADS"] == "5"
    assert "MKL_NUM_THREADS" not in os.environ


def peak_of(folder: Path, cells: int) -> int:
    quick = Experiment("trial.quick", "", "", "", Procedure(Trial, lambda settings, seed: {"a": settings.x}))
    sweep = make_sweep(quick, {}, [Axis("n", range(cells // 100))], repeats=100)
    tracemalloc.start()
    try:
        assert run_sweep(sweep, folder=folder).computed == cells
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_memory_of_a_driver_does_not_grow_with_the_number_of_cells(tmp_path: Path):
    peak_of(tmp_path / "warm", 100)
    # pathlib interns names in a table that grows by megabytes now and then, which happens in one of the runs at most.
    small, large = (min(peak_of(tmp_path / f"{cells} {n}", cells) for n in range(2)) for cells in (1_000, 10_000))
    axis = 200 * 100  # bytes: the longer axis itself is held, about 200 bytes for each of its 100 values
    assert large - small < axis, (small, large)
