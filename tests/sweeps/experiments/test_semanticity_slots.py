"""Cells of slot networks: those of `train_slot_networks`, whatever batch they are computed in, and checked settings."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity.networks.slots import train_slot_networks
from genlaws.sweeps import Axis, compute_sweep, get_experiment, make_sweep
from genlaws.sweeps.experiments.semanticity import SlotSettings, slot_runs

SMALL = {"slots": 2, "ring_size": 5, "width": 4, "steps": 40, "batch_size": 16, "stimulus_count": 12}
LOGS = {"log_at": (0, 20, 40)}
STACKED = 1e-5  # single precision: a stack of another size sums in another order


def test_cells_are_the_networks_of_their_seeds():
    kinds = [SlotSettings(**SMALL, **LOGS), SlotSettings(**SMALL, **LOGS, kind="shared", width_of="all")]
    results = slot_runs([kinds[0], kinds[1], kinds[0]], [3, 4, 5])
    slots = train_slot_networks(**SMALL, log_at=[0, 20, 40], seeds=[3, 5])
    shared = train_slot_networks(**{**SMALL, "width": 8}, log_at=[0, 20, 40], kind="shared", seeds=[4])
    for result, runs, place in zip(results, (slots, shared, slots), (0, 0, 1), strict=True):
        assert result["step"].tolist() == [0, 20, 40]
        for name in ("generalization", "identification", "above_circle", "above_set"):
            np.testing.assert_allclose(result[name], getattr(runs, name)[place], rtol=0, atol=STACKED)
            assert result[f"final_{name}"] == result[name][-1]
        assert result["largest_generalization"] == result["generalization"].max()
        assert result["peak_above_set"] == result["above_set"][result["generalization"].argmax()]
        assert result["device"] == "cpu"
        assert result["dtype"] == "float32"
        assert not result["failed"]


def test_a_sweep_has_networks_of_their_own_and_repeats_itself():
    sweep = make_sweep(
        get_experiment("semanticity.slot-network"), {**SMALL, **LOGS}, [Axis("combine", ("max", "product"))], repeats=3
    )
    first, again = compute_sweep(sweep).to_frame(), compute_sweep(sweep).to_frame()
    assert len(first) == 6
    assert first["final_generalization"].nunique() == 6
    assert first["final_generalization"].tolist() == again["final_generalization"].tolist()


@pytest.mark.parametrize(
    "settings",
    [
        {"slots": 0},
        {"ring_size": 2},
        {"kind": "both"},
        {"combine": "sum"},
        {"truth": "max"},
        {"width": 0},
        {"width_of": "none"},
        {"steps": -1},
        {"learning_rate": 0.0},
        {"reconstruction_weight": -1.0},
        {"stimulus_count": 2},
        {"log_at": (-1,)},
        {"color": "red"},
    ],
)
def test_wrong_settings_are_refused_before_anything_runs(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}.* is not accepted"):
        make_sweep(get_experiment("semanticity.slot-network"), settings)


def test_what_only_the_training_can_refuse_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="device must be"):
        slot_runs([SlotSettings(**SMALL, device="abacus")], [0])
    with pytest.raises(InputError, match="log_at must be"):
        slot_runs([SlotSettings(**SMALL, log_at=(41,))], [0])
