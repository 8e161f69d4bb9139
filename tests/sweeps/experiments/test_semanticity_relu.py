"""Cells of ReLU networks: those of `train_relu_networks`, and a sweep that goes on in the middle of a training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from killed_stack import EVERY, kill_sweep
from sweep_trials import contents

from genlaws.core.errors import InputError
from genlaws.semanticity.networks.relu import StackedTests, train_relu_networks
from genlaws.semanticity.networks.relu_runs import linear_front, set_front
from genlaws.sweeps import Axis, compute_sweep, get_experiment, make_sweep, run_sweep, stacking
from genlaws.sweeps.experiment import Procedure
from genlaws.sweeps.experiments.semanticity import ReluSettings, relu_runs
from genlaws.sweeps.tasks import CHECKPOINTS_FOLDER, CellTask, checkpoint_folder, compute

NAME = "semanticity.relu-network"
SMALL = {"stimulus_count": 10, "hidden": 4, "steps": 40, "batch_size": 16, "log_every": 10}
STACKED = 1e-5  # single precision: a stack of another size sums in another order
LOGS = 5


def small_sweep(repeats=3, **settings):
    return make_sweep(get_experiment(NAME), {**SMALL, **settings}, [Axis("stimuli", ("circle", "segment"))], repeats)


def test_cells_are_the_networks_of_their_seeds():
    cells = [
        ReluSettings(**SMALL, many_items=(2, 4)),
        ReluSettings(**SMALL, stimuli="segment", goal="both"),
        ReluSettings(**SMALL, many_items=(2, 4), learning_rate=0.02),
    ]
    results = relu_runs(cells, [3, 4, 5])
    circle = train_relu_networks(**SMALL, seeds=[3, 5], learning_rate=[7e-3, 0.02])
    segment = train_relu_networks("segment", **SMALL, goal="both", seeds=[4])
    for result, runs, place in zip(results, (circle, segment, circle), (0, 0, 1), strict=True):
        assert result["step"].tolist() == [0, 10, 20, 30, 40]
        for name in ("generalization", "identification"):
            np.testing.assert_allclose(result[name], getattr(runs, name)[place], rtol=0, atol=STACKED)
        np.testing.assert_allclose(result["profile"], runs.profile[place], rtol=1e-4)
        np.testing.assert_array_equal(result["resolution"], runs.resolution()[place])
        np.testing.assert_array_equal(result["cut"], runs.cut()[place])
        own = runs.distance_to(set_front(runs.distances))[place]
        np.testing.assert_allclose(result["set_distance"], own, rtol=0, atol=STACKED)
        assert result["device"] == "cpu"
        assert result["dtype"] == "float32"
        assert not result["failed"]
    np.testing.assert_allclose(results[2]["many_identification"], circle.many_items((2, 4))[1][1], rtol=0, atol=STACKED)
    assert results[1]["many_identification"].size == 0


def test_summary_follows_from_the_course():
    (result,) = relu_runs([ReluSettings(**{**SMALL, "steps": 600, "log_every": 20})], [1])
    peak = int(result["generalization"].argmax())
    assert 0 < peak < 30
    assert result["peak_generalization"] == result["generalization"][peak]
    assert result["peak_identification"] == result["identification"][peak]
    assert result["peak_step"] == result["step"][peak]
    assert result["first_identification"] == result["identification"][0]
    assert result["final_resolution"] == result["resolution"][-1]
    apart = linear_front().distance(result["generalization"], result["identification"])
    assert result["mean_circle_distance"] == pytest.approx(np.abs(apart[peak:]).mean())
    assert 0 < result["mean_similarity"] < 1


def test_a_sweep_has_networks_of_their_own_and_repeats_itself():
    first, again = compute_sweep(small_sweep()).to_frame(), compute_sweep(small_sweep()).to_frame()
    assert len(first) == 6
    assert first["final_generalization"].nunique() == 6
    assert first["final_generalization"].tolist() == again["final_generalization"].tolist()


def test_a_stopped_sweep_goes_on_in_the_middle_of_a_training(tmp_path: Path, monkeypatch):
    """The first stack is done and the second interrupted at its last log; both are in one task."""
    monkeypatch.setattr(stacking, "CHECKPOINT_EVERY", EVERY)
    run_sweep(small_sweep(), folder=tmp_path / "unbroken")
    assert not (tmp_path / "unbroken" / CHECKPOINTS_FOLDER).exists()
    measured, calls = StackedTests.__call__, []

    def interrupted(self, similarity):
        calls.append(1)
        if len(calls) == 2 * LOGS:
            raise KeyboardInterrupt
        return measured(self, similarity)

    monkeypatch.setattr(StackedTests, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(small_sweep(), folder=tmp_path / "s")
    assert contents(tmp_path / "s") == []
    (checkpoints,) = (tmp_path / "s" / CHECKPOINTS_FOLDER).iterdir()
    assert [file.name for file in checkpoints.iterdir()] == ["stack-1.npz"]
    report = run_sweep(small_sweep(), folder=tmp_path / "s")
    assert report.computed == 6
    # The first stack again in full, of the second the one log after the last checkpoint, at 30 of 40 updates.
    assert len(calls) == 2 * LOGS + LOGS + 1
    assert contents(tmp_path / "s") == contents(tmp_path / "unbroken")
    assert not (tmp_path / "s" / CHECKPOINTS_FOLDER).exists()


def test_a_killed_sweep_goes_on_from_its_checkpoint_bit_for_bit(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(stacking, "CHECKPOINT_EVERY", EVERY)
    kill_sweep(NAME, tmp_path / "s", SMALL, repeats=3)
    assert contents(tmp_path / "s") == []
    sweep = make_sweep(get_experiment(NAME), SMALL, repeats=3)
    calls = counted_measurements(monkeypatch)
    run_sweep(sweep, folder=tmp_path / "s")
    assert len(calls) == 1  # the log at 30 updates is in the checkpoint
    run_sweep(sweep, folder=tmp_path / "unbroken")
    assert contents(tmp_path / "s") == contents(tmp_path / "unbroken")
    assert not (tmp_path / "s" / CHECKPOINTS_FOLDER).exists()


def counted_measurements(monkeypatch) -> list[int]:
    measured, calls = StackedTests.__call__, []

    def counted(self, similarity):
        calls.append(1)
        return measured(self, similarity)

    monkeypatch.setattr(StackedTests, "__call__", counted)
    return calls


def test_a_checkpoint_of_another_training_is_an_error_that_is_forgotten(tmp_path: Path, monkeypatch):
    """A file that does not fit fails the task once; its folder is removed and the retry starts anew."""
    monkeypatch.setattr(stacking, "CHECKPOINT_EVERY", EVERY)
    sweep = make_sweep(get_experiment(NAME), SMALL)
    run_sweep(sweep, folder=tmp_path / "unbroken")
    seen = []

    def spoil(settings, seeds):
        folder = checkpoint_folder()
        if not seen:
            folder.mkdir(parents=True)
            np.savez(folder / "stack-0.npz", fingerprint=np.array("another"))
        seen.append(1)
        return relu_runs(settings, seeds)

    procedure = Procedure(ReluSettings, run_batch=spoil, batch_size=20, dtype="float32")
    spoiled = make_sweep(type(sweep.experiment)(**{**vars(sweep.experiment), "procedure": procedure}), SMALL)
    report = run_sweep(spoiled, folder=tmp_path / "s")
    assert len(seen) == 2
    assert report.computed == 1
    assert contents(tmp_path / "s") == contents(tmp_path / "unbroken")
    assert not (tmp_path / "s" / CHECKPOINTS_FOLDER).exists()


def test_a_task_without_a_folder_for_unfinished_work_is_computed_all_the_same(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(stacking, "CHECKPOINT_EVERY", EVERY)
    monkeypatch.chdir(tmp_path)
    settings = ReluSettings(**SMALL)
    (outcome,) = compute(CellTask(get_experiment(NAME).procedure, (settings,), (7,), ""))
    assert outcome.error is None
    assert checkpoint_folder() is None
    assert list(tmp_path.iterdir()) == []
    (plain,) = relu_runs([settings], [7])
    np.testing.assert_array_equal(outcome.result["generalization"], plain["generalization"])
    (elsewhere,) = compute(
        CellTask(get_experiment(NAME).procedure, (settings,), (7,), str(tmp_path / "no" / "such" / "x"))
    )
    assert elsewhere.error is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"stimuli": "torus"},
        {"goal": "generalize"},
        {"stimulus_count": 2},
        {"hidden": 0},
        {"item_count": 1},
        {"steps": 0},
        {"batch_size": 0},
        {"learning_rate": 0.0},
        {"similarity_weight": -0.1},
        {"reconstruction_weight": -1.0},
        {"log_every": 0},
        {"many_items": (1,)},
        {"color": "red"},
    ],
)
def test_wrong_settings_are_refused_before_anything_runs(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}.* is not accepted"):
        make_sweep(get_experiment(NAME), settings)


def test_what_only_the_training_can_refuse_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="device must be"):
        relu_runs([ReluSettings(**SMALL, device="abacus")], [0])


@pytest.mark.parametrize("settings", [{"item_count": 10}, {"many_items": (2, 10)}])
def test_there_must_be_more_stimuli_than_items(settings):
    with pytest.raises(InputError, match="must be below stimulus_count"):
        make_sweep(get_experiment(NAME), {**SMALL, **settings})
