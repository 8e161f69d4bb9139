"""Running a sweep: nothing is computed twice, failures are counted over all runs, and wrong reuse is refused."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sweep_trials import BATCH, TRIAL, calls, contents, deeds, trial_sweep

from genlaws.core.errors import InputError
from genlaws.core.running import Running
from genlaws.sweeps import (
    Axis,
    Experiment,
    Procedure,
    Settings,
    Store,
    SweepStoppedError,
    compute_sweep,
    make_sweep,
    run_sweep,
)


class RecordedProgress:
    """Progress that records its calls."""

    def __init__(self) -> None:
        self.calls_made: list[tuple] = []

    def start(self, total: int, label: str) -> None:
        self.calls_made.append(("start", total, label))

    def skip(self, n: int) -> None:
        self.calls_made.append(("skip", n))

    def advance(self, n: int = 1) -> None:
        self.calls_made.append(("advance", n))

    def fail(self, n: int, error: str) -> None:
        self.calls_made.append(("fail", n, error))

    def count(self, kind: str) -> int:
        return sum(one[1] for one in self.calls_made if one[0] == kind)


def test_a_finished_sweep_computes_nothing_again(tmp_path: Path, notes: Path):
    first = run_sweep(trial_sweep(), folder=tmp_path / "s")
    assert (first.total, first.computed, first.reused, first.failed, first.message) == (12, 12, 0, 0, "finished")
    before = contents(tmp_path / "s")
    recorded = RecordedProgress()
    again = run_sweep(trial_sweep(), folder=tmp_path / "s", running=Running(recorded))
    assert (again.computed, again.reused) == (0, 12)
    assert set(calls(notes).values()) == {1}
    assert contents(tmp_path / "s") == before
    assert (recorded.count("start"), recorded.count("skip"), recorded.count("advance")) == (12, 12, 0)


def test_a_wider_sweep_computes_the_new_cells_alone_and_leaves_the_old_as_they_are(tmp_path: Path, notes: Path):
    run_sweep(trial_sweep(3, repeats=1), folder=tmp_path / "s")
    old = contents(tmp_path / "s")
    with Store(tmp_path / "s") as store:
        times = {key: finished for key, _, _, finished, _ in store.provenance()}
    wider = run_sweep(trial_sweep(5, repeats=2), folder=tmp_path / "s")
    assert (wider.computed, wider.reused) == (7, 3)
    assert set(calls(notes).values()) == {1}
    new = contents(tmp_path / "s")
    assert [cell for cell in new if cell in old] == old
    with Store(tmp_path / "s") as store:
        later = {key: finished for key, _, _, finished, _ in store.provenance()}
    assert {key: later[key] for key in times} == times
    run_sweep(trial_sweep(5, repeats=2), folder=tmp_path / "fresh")
    assert contents(tmp_path / "fresh") == new


def test_a_narrower_sweep_needs_nothing_and_the_status_counts_its_cells_alone(tmp_path: Path, notes: Path):
    run_sweep(trial_sweep(6, repeats=3), folder=tmp_path / "s")
    report = run_sweep(trial_sweep(2, repeats=2), folder=tmp_path / "s")
    assert (report.total, report.computed, report.reused) == (4, 0, 4)
    assert set(calls(notes).values()) == {1}
    with Store(tmp_path / "s") as store:
        counts = store.counts()
        assert (counts.total, counts.done) == (4, 4)
        assert len(store.to_frame()) == 18
    run_sweep(trial_sweep(7, repeats=1), folder=tmp_path / "s")
    with Store(tmp_path / "s") as store:
        assert (store.counts().total, store.counts().done) == (7, 7)


def test_an_axis_may_become_a_fixed_value_and_a_fixed_value_an_axis(tmp_path: Path, notes: Path):
    run_sweep(make_sweep(TRIAL, {"n": 2}, [Axis("x", (1, 2))]), folder=tmp_path / "s")
    fixed = run_sweep(make_sweep(TRIAL, {"n": 2, "x": 2}), folder=tmp_path / "s")
    assert (fixed.computed, fixed.reused) == (0, 1)
    other = run_sweep(make_sweep(TRIAL, {"n": 2, "x": 3}), folder=tmp_path / "s")
    assert (other.computed, other.reused) == (1, 0)
    axis = run_sweep(make_sweep(TRIAL, {"x": 1}, [Axis("n", (2, 3))]), folder=tmp_path / "s")
    assert (axis.computed, axis.reused) == (1, 1)
    with Store(tmp_path / "s") as store:
        assert store.about()["fields"] == ["x", "n"]
        assert (store.counts().total, store.counts().done) == (2, 2)
        assert store.to_frame()[["x", "n"]].to_numpy().tolist() == [[1, 2], [1, 3], [2, 2], [3, 2]]


def test_another_sweep_in_the_same_folder_is_refused_by_what_differs(tmp_path: Path):
    run_sweep(trial_sweep(2, n=2), folder=tmp_path / "s")
    before = contents(tmp_path / "s")
    other = replace(TRIAL, name="trial.other")
    for sweep, sentence in (
        (trial_sweep(2, n=3, label="b"), r"other settings: n \(2 there, 3 now\), label \('a' there, 'b' now\)"),
        (trial_sweep(2, experiment=other, n=2), "experiment 'trial.plain', and this one has 'trial.other'"),
        (trial_sweep(2, experiment=replace(TRIAL, schema=2), n=2), "schema 1, and this one has 2"),
        (replace(trial_sweep(2, n=2), seed=5), "seed 0, and this one has 5"),
    ):
        with pytest.raises(InputError, match=sentence):
            run_sweep(sweep, folder=tmp_path / "s")
    assert contents(tmp_path / "s") == before
    assert run_sweep(trial_sweep(2, n=2), folder=tmp_path / "s").reused == 4


def test_a_fixed_setting_that_is_nan_does_not_differ_from_itself(tmp_path: Path):
    sweep = make_sweep(TRIAL, {"x": float("nan")}, [Axis("n", (1, 2))])
    run_sweep(sweep, folder=tmp_path / "s")
    assert run_sweep(sweep, folder=tmp_path / "s").reused == 2


def test_settings_that_lost_a_field_are_refused(tmp_path: Path):
    class Before(Settings):
        x: float = 0.0
        gone: int = 1

    class After(Settings):
        x: float = 0.0

    for number, kind in enumerate((Before, After)):
        sweep = make_sweep(Experiment("trial.changing", "", "", "", Procedure(kind, lambda settings, seed: {"a": 1})))
        if number == 0:
            run_sweep(sweep, folder=tmp_path / "s")
        else:
            with pytest.raises(InputError, match=r"gone \(1 there, None now\)"):
                run_sweep(sweep, folder=tmp_path / "s")


def test_a_batch_that_was_partly_done_keeps_what_is_there(tmp_path: Path, notes: Path):
    run_sweep(trial_sweep(5, 1, BATCH), folder=tmp_path / "s")
    old = contents(tmp_path / "s")
    report = run_sweep(trial_sweep(10, 1, BATCH), folder=tmp_path / "s")
    assert (report.computed, report.reused) == (5, 5)
    assert set(calls(notes).values()) == {1}
    assert [cell for cell in contents(tmp_path / "s") if cell in old] == old


def test_a_cell_that_fails_is_recorded_and_the_others_are_done(tmp_path: Path, notes: Path):
    recorded = RecordedProgress()
    report = run_sweep(deeds("compute", "raise", "leave"), folder=tmp_path / "s", retries=0, running=Running(recorded))
    assert (report.computed, report.failed, report.message) == (1, 2, "finished, cells failed: 2")
    with Store(tmp_path / "s") as store:
        failures = {settings["deed"]: error for settings, _, error in store.failures()}
        assert (store.counts().done, store.counts().failed) == (1, 2)
        assert store.counts().message == "finished, cells failed: 2"
    assert failures == {"raise": "ValueError: this cell cannot be computed", "leave": "SystemExit: 3"}
    assert ("fail", 1, "ValueError: this cell cannot be computed") in recorded.calls_made


def test_a_cell_that_fails_once_is_done_in_the_end(tmp_path: Path, notes: Path):
    report = run_sweep(deeds("compute", "raise-once"), folder=tmp_path / "s", retries=1)
    assert (report.computed, report.failed, report.message) == (2, 0, "finished")
    assert sorted(calls(notes).values()) == [1, 2]
    with Store(tmp_path / "s") as store:
        assert store.failures() == []


def test_retries_count_over_all_runs(tmp_path: Path, notes: Path):
    sweep = deeds("raise", "compute")
    tried = []
    for retries in (0, 0, 2, 2, 3):
        report = run_sweep(sweep, folder=tmp_path / "s", retries=retries)
        assert report.failed == 1
        tried.append(max(calls(notes).values()))
    assert tried == [1, 1, 3, 3, 4]


def test_identical_failures_in_a_row_stop_the_sweep_and_keep_what_is_done(tmp_path: Path, notes: Path):
    good = make_sweep(TRIAL, {"deed": "compute"}, [Axis("x", (1, 2, 3)), Axis("deed", ("compute",))])
    run_sweep(good, folder=tmp_path / "s")
    before = contents(tmp_path / "s")
    bad = make_sweep(TRIAL, {}, [Axis("x", tuple(range(1, 40))), Axis("deed", ("compute", "raise"))][::-1])
    with pytest.raises(SweepStoppedError, match="5 cells in a row failed with the same error.*cannot be computed"):
        run_sweep(bad, folder=tmp_path / "s", stop_after=5)
    after = contents(tmp_path / "s")
    assert len(after) == 39
    assert [cell for cell in after if cell in before] == before
    with Store(tmp_path / "s") as store:
        assert store.counts().failed == 5
        assert store.counts().message.startswith("5 cells in a row failed")


def test_failures_that_differ_or_lie_apart_do_not_stop_the_sweep(tmp_path: Path):
    axes = [Axis("x", tuple(range(12)))]
    report = run_sweep(make_sweep(TRIAL, {"deed": "raise-its-own"}, axes), folder=tmp_path / "differ", stop_after=3)
    assert report.failed == 12
    apart = make_sweep(TRIAL, {}, [*axes, Axis("deed", ("raise", "compute"))])
    report = run_sweep(apart, folder=tmp_path / "apart", stop_after=3, retries=2)
    assert (report.failed, report.computed) == (12, 12)


@pytest.mark.parametrize(("option", "value"), [("retries", -1), ("retries", 1.5), ("stop_after", 0)])
def test_wrong_options_are_refused(tmp_path: Path, option, value):
    with pytest.raises(InputError, match=f"{option} must be a whole number"):
        run_sweep(trial_sweep(), folder=tmp_path / "s", **{option: value})
    assert not (tmp_path / "s").exists()


def test_an_experiment_that_changes_the_folder_it_works_in_does_no_harm(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def wander(settings, seed):
        os.chdir("/")
        return {"a": np.arange(3)}

    sweep = trial_sweep(3, 1, Experiment("trial.wander", "", "", "", Procedure(type(trial_sweep().settings), wander)))
    assert run_sweep(sweep, folder="relative").computed == 3
    assert len(contents(tmp_path / "relative")) == 3


def test_a_sweep_runs_in_a_thread_that_hears_no_signals(tmp_path: Path):
    reports = []
    thread = threading.Thread(target=lambda: reports.append(run_sweep(trial_sweep(), folder=tmp_path / "s")))
    thread.start()
    thread.join()
    assert reports[0].computed == 12


def test_an_experiment_that_cannot_be_loaded_is_an_error_before_anything_is_written(tmp_path: Path):
    missing = Experiment("trial.missing", "", "", "", "sweep_trials:NOTHING")
    with pytest.raises(AttributeError, match="NOTHING"):
        run_sweep(make_sweep(missing), folder=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_the_table_computed_without_a_folder_is_that_of_the_store(tmp_path: Path):
    for experiment in (TRIAL, BATCH):
        sweep = trial_sweep(5, 2, experiment)
        run_sweep(sweep, folder=tmp_path / experiment.name)
        with Store(tmp_path / experiment.name) as store:
            stored = store.to_frame()
        computed = compute_sweep(sweep).to_frame()
        computed["widths"] = computed["widths"].map(list)
        assert computed[stored.columns].to_csv() == stored.to_csv()


def test_a_procedure_has_one_way_to_compute():
    for given in ({}, {"run": lambda settings, seed: {}, "run_batch": lambda settings, seeds: []}):
        with pytest.raises(TypeError, match="either run or run_batch"):
            Procedure(Settings, **given)


def test_a_batch_with_too_few_results_fails_as_a_whole(tmp_path: Path):
    short = Procedure(type(trial_sweep().settings), run_batch=lambda settings, seeds: [{"a": 1}], batch_size=3)
    experiment = Experiment("trial.short", "", "", "", short)
    report = run_sweep(trial_sweep(4, 1, experiment), folder=tmp_path / "s", retries=0)
    assert (report.computed, report.failed) == (1, 3)
    with Store(tmp_path / "s") as store:
        assert {error for _, _, error in store.failures()} == {"ValueError: run_batch returned 1 results for 3 cells."}
