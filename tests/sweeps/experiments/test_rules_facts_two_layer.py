"""Cells of two-layer networks: the same alone and in a batch, the network their settings say, resumed unchanged."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.rules_facts.networks.runs import MEASURED_COLUMNS
from genlaws.rules_facts.networks.two_layer import train_two_layer
from genlaws.sweeps import Axis, get_experiment, make_sweep
from genlaws.sweeps.experiments.two_layer import TwoLayerSettings, two_layer_runs
from genlaws.sweeps.runner import run_sweep
from genlaws.sweeps.store import Store

SMALL = {"dimension": 8, "sample_ratio": 3.0, "width_ratio": 2.0, "steps": 40, "test_count": 100, "dtype": "float64"}
ROUNDING = 1e-9


def test_a_batch_gives_each_cell_its_own_result():
    different = [
        TwoLayerSettings(**SMALL, learning_rate=0.01, feature_rate=1.0),
        TwoLayerSettings(**{**SMALL, "sample_ratio": 2.0}),
        TwoLayerSettings(**SMALL, weight_decay=0.3, loss="logistic"),
        TwoLayerSettings(**SMALL, loss="hinge"),
    ]
    seeds = [11, 12, 13, 14]
    together = two_layer_runs(different, seeds)
    for settings, seed, found in zip(different, seeds, together, strict=True):
        (alone,) = two_layer_runs([settings], [seed])
        assert set(alone) == set(found)
        for name in MEASURED_COLUMNS:
            np.testing.assert_allclose(found[name], alone[name], rtol=ROUNDING)
    assert len({found["final_generalization_error"] for found in together}) > 1


def test_a_cell_is_the_network_its_settings_say():
    settings = TwoLayerSettings(**SMALL, activation="relu", learning_rate=0.02, feature_rate=3.0, readout_scale=0.5)
    (found,) = two_layer_runs([settings], [9])
    runs = train_two_layer(
        dimension=8,
        sample_ratio=3.0,
        fact_fraction=0.2,
        width=16,
        seeds=[9],
        activation="relu",
        learning_rate=0.02,
        feature_rate=3.0,
        readout_scale=0.5,
        steps=40,
        test_count=100,
        dtype="float64",
    )
    for name in MEASURED_COLUMNS:
        np.testing.assert_array_equal(found[name], getattr(runs, name)[0])
    assert found["final_generalization_error"] == runs.generalization_error[0, -1]
    best = runs.best_log[0]
    assert (found["best_generalization_error"], found["best_step"]) == (
        runs.generalization_error[0, best],
        runs.steps[best],
    )
    assert (found["device"], found["dtype"], found["path"]) == ("cpu", "float64", "eager")
    assert found["failed"] is False


def test_a_sweep_that_was_stopped_goes_on(tmp_path, monkeypatch):
    sweep = make_sweep(
        get_experiment("rules-facts.two-layer"),
        {**SMALL, "steps": 60},
        [Axis("sample_ratio", (2.0, 3.0)), Axis("learning_rate", (0.003, 0.01))],
        repeats=2,
    )
    monkeypatch.setattr("genlaws.sweeps.stacking.CHECKPOINT_EVERY", 20)
    run_sweep(sweep, folder=tmp_path / "whole")
    fall_after(monkeypatch, 100)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, folder=tmp_path / "stopped")
    assert list((tmp_path / "stopped").rglob("stack-*.npz"))
    monkeypatch.undo()
    monkeypatch.setattr("genlaws.sweeps.stacking.CHECKPOINT_EVERY", 20)
    assert run_sweep(sweep, folder=tmp_path / "stopped").failed == 0
    whole, resumed = stored(tmp_path / "whole"), stored(tmp_path / "stopped")
    assert set(whole) == set(resumed)
    assert len(whole) == 8
    for key, (numbers, arrays) in whole.items():
        np.testing.assert_equal(resumed[key][0], numbers)
        for name, array in arrays.items():
            np.testing.assert_array_equal(resumed[key][1][name], array)


def stored(folder):
    with Store(folder) as store:
        return {cell.key: (cell.numbers, cell.arrays) for cell in store.cells()}


def fall_after(monkeypatch, updates):
    """Make the training fall over after some updates in all."""
    from genlaws.ensembles.stack import Stack

    original, made = Stack.update, [0]

    def update(self):
        made[0] += 1
        if made[0] > updates:
            raise KeyboardInterrupt
        original(self)

    monkeypatch.setattr(Stack, "update", update)


@pytest.mark.parametrize(
    "settings",
    [
        {"dimension": 1},
        {"sample_ratio": 0.0},
        {"fact_fraction": 1.2},
        {"width_ratio": 0.0},
        {"activation": "cubic"},
        {"loss": "squared"},
        {"optimizer": "lion"},
        {"learning_rate": 0.0},
        {"feature_rate": -1.0},
        {"steps": 0},
        {"batch_size": 0},
        {"dtype": "float16"},
    ],
)
def test_wrong_settings_are_refused_before_anything_runs(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}.* is not accepted"):
        make_sweep(get_experiment("rules-facts.two-layer"), settings)


def test_a_device_that_is_not_there_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="device must be one that torch can use here"):
        two_layer_runs([TwoLayerSettings(**SMALL, device="abacus")], [1])
