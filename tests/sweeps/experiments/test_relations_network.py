"""Cells of relation networks: the same in any stack, leaving early or not, and a sweep that survives being killed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from killed_stack import EVERY, kill_sweep
from sweep_trials import contents

from genlaws.core.errors import InputError
from genlaws.relations.networks.network import train_networks
from genlaws.relations.networks.phases import PHASES
from genlaws.relations.networks.runs import ACCURACIES, GPU_STACK_SIZE, STACK_SIZE
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.relation import relation_to_text
from genlaws.sweeps import Axis, get_experiment, make_sweep, run_sweep, stacking
from genlaws.sweeps.engines import InProcess
from genlaws.sweeps.experiment import Procedure
from genlaws.sweeps.experiments import relation_networks as here
from genlaws.sweeps.experiments.relation_networks import (
    PER_RELATION_NETWORK,
    PER_RELATION_NETWORK_ON_GPU,
    RELATION_NETWORK,
    RelationNetworkSettings,
    relation_network_runs,
)
from genlaws.sweeps.tasks import CHECKPOINTS_FOLDER

NAME = "relations.network"
SMALL = {"elements": 12, "width": 8, "depth": 1, "steps": 60, "log_every": 20}
LEARNS = {"width": 20, "depth": 2, "encoder_rate": 1e-2, "decoder_rate": 3e-3, "steps": 1200, "log_every": 20}
NUMBERS = ("train_step", "test_step", "phase", "failed")
FINAL = tuple(f"final_{name}" for name in ACCURACIES)
ENTRY = 1.0 / 144.0  # of a table of 12 elements: rounding may turn one answer that is close to even


def cell(**settings):
    return RelationNetworkSettings(**{**SMALL, **settings})


def one(seed=1, **settings):
    return relation_network_runs([cell(**settings)], [seed])[0]


def test_a_cell_is_the_network_its_settings_say():
    settings = cell(
        relation="less-than",
        train_fraction=0.5,
        label_noise=0.1,
        dimension=3,
        mode="difference",
        activation="relu",
        encoder_rate=2e-2,
        decoder_rate=1e-2,
        encoder_decay=0.1,
        decoder_decay=0.2,
        embedding_scale=0.5,
        decoder_scale=2.0,
        optimizer="adamw",
        batch_size=16,
        precision="double",
        target=0.6,
        keep_course=True,
    )
    (found,) = relation_network_runs([settings], [9])
    runs = train_networks(
        named_relation("less-than", 12),
        seeds=[9],
        train_fraction=0.5,
        label_noise=0.1,
        dimension=3,
        depth=1,
        width=8,
        mode="difference",
        activation="relu",
        encoder_rate=2e-2,
        decoder_rate=1e-2,
        encoder_decay=0.1,
        decoder_decay=0.2,
        embedding_scale=0.5,
        decoder_scale=2.0,
        optimizer="adamw",
        batch_size=16,
        steps=60,
        log_at=[0, 20, 40, 60],
        precision="double",
    )
    assert found["step"].tolist() == [0, 20, 40, 60]
    for name in ACCURACIES:
        np.testing.assert_array_equal(found[name], getattr(runs, name)[0])
        assert found[f"final_{name}"] == getattr(runs, name)[0, -1]
    assert found["train_step"] == runs.steps_to("train_accuracy", 0.6)[0]
    assert found["test_step"] == runs.steps_to("test_accuracy", 0.6)[0]
    assert (found["device"], found["dtype"], found["path"]) == ("cpu", "float64", "eager")
    assert found["majority_accuracy"] == named_relation("less-than", 12).majority_accuracy


@pytest.mark.parametrize("per_network", [PER_RELATION_NETWORK, PER_RELATION_NETWORK_ON_GPU], ids=["processor", "card"])
def test_a_cell_does_not_depend_on_its_stack(per_network, monkeypatch):
    """Also with cells that are shown less than their neighbors and filled up, as on a card."""
    monkeypatch.setattr(here, "PER_RELATION_NETWORK", per_network)
    rng = np.random.default_rng(0)
    cells = [
        cell(
            precision="double",
            train_fraction=(0.2, 0.5, 0.9)[place % 3],
            encoder_rate=10.0 ** rng.uniform(-3, -1),
            decoder_rate=10.0 ** rng.uniform(-3, -1),
            decoder_decay=rng.uniform(0, 0.1),
            embedding_scale=rng.uniform(0.2, 2),
            label_noise=(0.0, 0.2)[place % 2],
        )
        for place in range(STACK_SIZE)
    ]
    seeds = list(range(50, 50 + STACK_SIZE))
    together = relation_network_runs(cells, seeds)
    backwards = relation_network_runs(cells[::-1], seeds[::-1])[::-1]
    for settings, seed, found, again in zip(cells, seeds, together, backwards, strict=True):
        (alone,) = relation_network_runs([settings], [seed])
        assert list(alone) == list(found)
        for name in FINAL:
            np.testing.assert_allclose([found[name], again[name]], alone[name], rtol=0, atol=1e-12)
        assert [found[name] for name in NUMBERS] == [alone[name] for name in NUMBERS]
    assert len({found["final_table_accuracy"] for found in together}) > STACK_SIZE // 2


def test_a_clear_case_has_the_same_phase_and_steps_alone_and_in_a_stack_in_single_precision():
    rates = [(1e-2, 3e-3), (1e-5, 1e-2)] * 2
    cells = [RelationNetworkSettings(**{**LEARNS, "encoder_rate": e, "decoder_rate": d}) for e, d in rates]
    together = relation_network_runs(cells, range(4))
    for settings, seed, found in zip(cells, range(4), together, strict=True):
        (alone,) = relation_network_runs([settings], [seed])
        assert found["phase"] == alone["phase"]
        for name in ("train_step", "test_step"):
            assert found[name] == pytest.approx(alone[name], abs=LEARNS["log_every"])
        for name in FINAL:
            assert found[name] == pytest.approx(alone[name], abs=0.05)
    assert {found["phase"] for found in together[::2]} == {"generalization"}
    assert {found["phase"] for found in together[1::2]} == {"memorization"}


def test_leaving_early_changes_no_step():
    stayed, left = (
        relation_network_runs([RelationNetworkSettings(**LEARNS, stop_at=stop, keep_course=True)] * 6, range(6))
        for stop in (None, 0.9)
    )
    for through, gone in zip(stayed, left, strict=True):
        for name in (*NUMBERS, "delay"):
            np.testing.assert_equal(gone[name], through[name])
        seen = np.isfinite(gone["table_accuracy"])
        assert gone["step"][seen][-1] == max(gone["train_step"], gone["test_step"]) < LEARNS["steps"]
        np.testing.assert_allclose(gone["test_accuracy"][seen], through["test_accuracy"][seen], atol=0.02)
        assert gone["final_test_accuracy"] == gone["test_accuracy"][seen][-1] > 0.9


def test_networks_that_leave_do_not_disturb_those_that_stay():
    fast, slow = (
        RelationNetworkSettings(**LEARNS, stop_at=0.9),
        RelationNetworkSettings(**{**LEARNS, "encoder_rate": 1e-5, "decoder_rate": 1e-3}, stop_at=0.9),
    )
    found = relation_network_runs([fast, slow, fast], [0, 1, 2])[1]
    (alone,) = relation_network_runs([slow], [1])
    assert (found["phase"], found["train_step"]) == (alone["phase"], alone["train_step"])
    assert found["final_table_accuracy"] == pytest.approx(alone["final_table_accuracy"], abs=0.01)


@pytest.mark.parametrize("stop_at", [None, 0.95])
def test_a_matrix_is_the_relation_it_holds(stop_at):
    text = relation_to_text(named_relation("mod3", 12))
    named = one(relation="mod3", stop_at=stop_at, keep_course=True)
    given = one(relation="anything", elements=None, matrix=text, stop_at=stop_at, keep_course=True)
    assert named.keys() == given.keys()
    for name, value in named.items():
        np.testing.assert_array_equal(given[name], value)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("mode", ["concatenate", "difference", "squared_difference"])
@pytest.mark.parametrize("depth", [0, 2])
def test_every_kind_of_network_is_trained(optimizer, mode, depth):
    rate = 1.0 if optimizer == "sgd" else 0.05
    kind = {"relation": "less-than", "optimizer": optimizer, "mode": mode, "depth": depth}
    found = one(**kind, encoder_rate=rate, decoder_rate=rate)
    assert not found["failed"]
    assert found["phase"] in PHASES
    assert all(0.0 <= found[name] <= 1.0 for name in FINAL)
    still = one(**kind, encoder_rate=1e-12, decoder_rate=1e-12)
    assert any(found[name] != still[name] for name in FINAL)


def test_batches_and_noise_change_the_training():
    plain = one(encoder_rate=0.05, decoder_rate=0.05)
    for change in ({"batch_size": 10}, {"label_noise": 0.3}):
        assert one(encoder_rate=0.05, decoder_rate=0.05, **change)["final_table_accuracy"] != pytest.approx(
            plain["final_table_accuracy"], abs=0.1 * ENTRY
        )
    decayed = one(optimizer="adamw", encoder_rate=0.05, decoder_rate=0.05, decoder_decay=10.0)
    assert decayed["final_train_accuracy"] < plain["final_train_accuracy"]


def test_everything_shown_leaves_nothing_to_generalize_to():
    found = one(train_fraction=1.0, stop_at=0.9)
    assert np.isnan(found["final_test_accuracy"])
    assert found["test_step"] == -1


def test_a_broken_network_is_told_from_the_others():
    sound, broken = relation_network_runs(
        [cell(mode="squared_difference", encoder_rate=rate) for rate in (1e-3, 1e30)], [1, 1]
    )
    assert (sound["failed"], broken["failed"]) == (False, True)
    assert broken["phase"] in PHASES


def test_a_stack_is_larger_on_a_card():
    sizes = [RELATION_NETWORK.cells_together(cell(device=name)) for name in ("cpu", "cuda", "cuda:1")]
    assert sizes == [16, GPU_STACK_SIZE, GPU_STACK_SIZE]
    assert STACK_SIZE == 16 < GPU_STACK_SIZE


def test_the_engine_is_given_stacks_of_that_size(tmp_path):
    sizes = []

    class Watched(InProcess):
        def results(self, tasks):
            """Note the size of each task."""

            def noted():
                for task in tasks:
                    sizes.append(len(task.settings))
                    yield task

            return super().results(noted())

    sweep = make_sweep(get_experiment(NAME), {**SMALL, "steps": 2}, [Axis("encoder_rate", (1e-3, 1e-2))], repeats=17)
    assert run_sweep(sweep, folder=tmp_path, engine=Watched()).computed == 34
    assert sizes == [16, 16, 2]


def test_a_plain_number_of_cells_still_serves():
    fixed = Procedure(RelationNetworkSettings, run_batch=relation_network_runs, batch_size=3)
    assert fixed.cells_together(cell()) == 3
    procedure = Procedure(
        RelationNetworkSettings, run_batch=relation_network_runs, batch_size=lambda given: given.steps
    )
    assert procedure.cells_together(cell(steps=7)) == 7


@pytest.mark.parametrize(
    "settings",
    [
        {"elements": 0},
        {"train_fraction": 1.5},
        {"train_fraction": float("nan")},
        {"label_noise": -0.1},
        {"dimension": 0},
        {"depth": -1},
        {"width": 0},
        {"mode": "sum"},
        {"activation": "cubic"},
        {"encoder_rate": 0.0},
        {"decoder_rate": float("inf")},
        {"decoder_decay": -1.0},
        {"embedding_scale": float("nan")},
        {"optimizer": "lion"},
        {"batch_size": 0},
        {"steps": 0},
        {"log_every": 0},
        {"target": 1.1},
        {"grokking_delay": -1},
        {"stop_at": 2.0},
        {"stop_at": 0.8},  # below the target: what leaves then would count as never there
        {"precision": "half"},
        {"path": "fast"},
        {"learning_rate": 0.1},
    ],
    ids=str,
)
def test_wrong_settings_are_refused_before_anything_runs(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}.* is not accepted"):
        make_sweep(get_experiment(NAME), settings)


def test_stopping_at_the_target_is_allowed():
    assert cell(stop_at=0.9, target=0.9).stop_at == 0.9
    with pytest.raises(InputError, match="stop_at must not be below target, 0.95"):
        make_sweep(get_experiment(NAME), {"target": 0.95, "stop_at": 0.9})


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"relation": "nothing", "elements": None}, "There is no relation 'nothing'"),
        ({"relation": "bipartite-2-2"}, "bipartite-2-2 has 4 elements"),
        ({"matrix": "12:nonsense"}, "must hold a table"),
        ({"train_fraction": 0.0}, "must include at least one entry"),
    ],
)
def test_what_only_the_training_can_know_is_refused_in_a_sentence(settings, complaint):
    with pytest.raises(InputError, match=complaint):
        relation_network_runs([cell(**settings)], [1])


def killable_sweep():
    settings = {**SMALL, "batch_size": 16, "stop_at": 0.95, "keep_course": True, "encoder_rate": 0.03}
    return settings, make_sweep(get_experiment(NAME), settings, repeats=3)


def test_a_killed_sweep_goes_on_from_its_checkpoint_bit_for_bit(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(stacking, "CHECKPOINT_EVERY", EVERY)
    settings, sweep = killable_sweep()
    kill_sweep(NAME, tmp_path / "s", settings, repeats=3)
    assert contents(tmp_path / "s") == []
    assert run_sweep(sweep, folder=tmp_path / "s").computed == 3
    run_sweep(sweep, folder=tmp_path / "unbroken")
    assert contents(tmp_path / "s") == contents(tmp_path / "unbroken")
    assert len(contents(tmp_path / "s")) == 3
    assert not (tmp_path / "s" / CHECKPOINTS_FOLDER).exists()
