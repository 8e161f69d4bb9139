"""Networks on relations: what they are shown, what is measured, and what gradient flow conserves."""

import numpy as np
import pytest

from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.ensembles import Checkpoint
from genlaws.ensembles.optimizers import OPTIMIZERS
from genlaws.ensembles.perceptron import ACTIVATIONS, PAIR_MODES
from genlaws.relations import Relation, parameters
from genlaws.relations.networks.network import PRECISIONS, train_networks

FEW = {"width": 10, "depth": 1, "log_at": [0, 50, 100], "steps": 100}


def test_shown_entries_follow_the_fraction_and_the_seed():
    runs = train_networks("mod3", seeds=[3, 4, 3], train_fraction=[0.25, 0.5, 0.5], **FEW)
    assert runs.training_mask.sum(axis=(1, 2)).tolist() == [225, 450, 450]
    assert not (runs.training_mask[1] == runs.training_mask[2]).all()
    assert runs.training_mask[2][runs.training_mask[0]].all()  # the same order of entries, more of them
    alone = train_networks("mod3", seeds=[4], train_fraction=0.5, **FEW)
    assert (alone.training_mask[0] == runs.training_mask[1]).all()
    np.testing.assert_allclose(alone.final_embeddings[0], runs.final_embeddings[1], atol=1e-5)


def test_accuracies_are_those_of_the_outputs():
    relation = Relation.from_matrix(np.random.default_rng(0).random((6, 6)) < 0.4)
    runs = train_networks(relation, seeds=range(3), train_fraction=0.5, keep_embeddings=True, **FEW)
    assert runs.embeddings.shape == (3, 3, 6, 2)
    assert (runs.embeddings[:, -1] == runs.final_embeddings).all()
    shown = runs.training_mask.mean(axis=(1, 2))[:, None]
    table = shown * runs.train_accuracy + (1.0 - shown) * runs.test_accuracy
    np.testing.assert_allclose(runs.table_accuracy, table, atol=1e-12)
    assert runs.majority_accuracy == relation.majority_accuracy


def test_everything_shown_leaves_no_test():
    runs = train_networks("mod3", train_fraction=1.0, **FEW)
    assert np.isnan(runs.test_accuracy).all()
    assert runs.steps_to("test_accuracy").tolist() == [-1]


def test_a_small_relation_is_learned_and_the_networks_leave():
    settings = {"seeds": range(4), "encoder_rate": 1e-2, "decoder_rate": 3e-3, "steps": 1500, "width": 30, "depth": 2}
    runs = train_networks("mod3", log_at=range(0, 1501, 50), stop_at=0.95, **settings)
    assert (runs.steps_to("test_accuracy", 0.95) > 0).all()
    lowest = np.minimum(runs.train_accuracy, runs.test_accuracy)
    for course in lowest:
        there = course[~np.isnan(course)]
        assert len(there) < len(course)  # it left before the end
        assert there[-1] > 0.95
        assert (there[:-1] <= 0.95).all()


def test_noise_flips_training_labels():
    settings = {"seeds": [0], "train_fraction": 0.3, "encoder_rate": 2e-2, "decoder_rate": 2e-2, "steps": 1500}
    clean = train_networks("mod3", width=60, depth=2, log_at=[], **settings)
    noisy = train_networks("mod3", width=60, depth=2, log_at=[], label_noise=0.2, **settings)
    assert clean.train_accuracy[0, -1] == 1.0
    assert noisy.train_accuracy[0, -1] == pytest.approx(0.8, abs=0.03)  # the noise is fitted, so truth is missed


def test_the_choices_are_those_of_the_trainer():
    assert parameters.DECODER_INPUTS == PAIR_MODES
    assert parameters.ACTIVATIONS == ACTIVATIONS
    assert set(parameters.OPTIMIZERS) == set(OPTIMIZERS)
    assert set(parameters.PRECISIONS) == set(PRECISIONS)


@pytest.mark.parametrize("mode", PAIR_MODES)
def test_what_gradient_flow_conserves_drifts_with_the_step(mode):
    drift = []
    for rate in (0.4, 0.2, 0.1):
        runs = train_networks(
            "mod3",
            seeds=range(3),
            mode=mode,
            width=12,
            depth=1,
            optimizer="sgd",
            precision="double",
            encoder_rate=rate,
            decoder_rate=rate / 2,
            steps=round(120 / rate),
            log_at=[],
        )
        drift.append(runs.invariant_drift[:, -1])
    assert (drift[0] < 5e-3).all()
    np.testing.assert_allclose(drift[0] / drift[1], 2.0, rtol=0.1)
    np.testing.assert_allclose(drift[1] / drift[2], 2.0, rtol=0.1)


def test_adam_conserves_nothing():
    runs = train_networks("mod3", seeds=range(3), encoder_rate=1e-2, decoder_rate=1e-2, steps=300, log_at=[])
    assert (runs.invariant_drift[:, -1] > 0.01).all()


@pytest.mark.parametrize("batch_size", [None, 32])
def test_a_stopped_training_goes_on_bit_for_bit(tmp_path, monkeypatch, batch_size):
    settings = {**FEW, "seeds": range(2), "batch_size": batch_size, "log_at": range(0, 101, 10)}
    whole = train_networks("mod3", **settings)
    from genlaws.relations.networks import network as relation_network

    class StoppedError(Exception):
        pass

    original = relation_network._Measure.__call__

    def stop(self, live):
        if live.step == 70:
            raise StoppedError
        return original(self, live)

    checkpoint = Checkpoint(tmp_path / "half.npz", every=25)
    with monkeypatch.context() as patch:
        patch.setattr(relation_network._Measure, "__call__", stop)
        with pytest.raises(StoppedError):
            train_networks("mod3", checkpoint=checkpoint, **settings)
    assert checkpoint.path.exists()
    resumed = train_networks("mod3", checkpoint=checkpoint, **settings)
    assert (resumed.final_embeddings == whole.final_embeddings).all()
    for name in ("train_accuracy", "test_accuracy", "loss", "invariant_drift"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))


def test_table_has_a_row_for_each_network_and_log():
    frame = train_networks("mod3", seeds=range(2), **FEW).to_frame()
    assert len(frame) == 6
    assert list(frame.columns[:3]) == ["network", "step", "train_accuracy"]


def test_progress_adds_up_to_the_steps_and_changes_nothing():
    steps = CountedSteps()
    watched = train_networks("mod3", running=steps.running, **FEW)
    assert steps.reported == [[0, 50, 50, 0]]
    steps.check_complete()
    assert (watched.final_embeddings == train_networks("mod3", **FEW).final_embeddings).all()


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"train_fraction": 1.5}, "train_fraction must"),
        ({"train_fraction": 0.0}, "at least one entry"),
        ({"train_fraction": [0.5, 0.5]}, "one for each network"),
        ({"label_noise": -0.1}, "label_noise must"),
        ({"seeds": []}, "at least one network"),
        ({"seeds": [-1]}, "seeds must"),
        ({"mode": "sum"}, "mode must"),
        ({"optimizer": "newton"}, "optimizer must"),
        ({"precision": "half"}, "precision must"),
        ({"encoder_rate": 0.0}, "encoder_rate must"),
        ({"decoder_decay": -1.0}, "decoder_decay must"),
        ({"depth": -1}, "depth must"),
        ({"width": 0}, "width must"),
        ({"dimension": 0}, "dimension must"),
        ({"steps": 0}, "steps must"),
        ({"log_at": [200]}, "log_at must"),
        ({"batch_size": 0}, "batch_size must"),
        ({"stop_at": 2.0}, "stop_at must"),
    ],
)
def test_wrong_input_is_refused(wrong, complaint):
    with pytest.raises(InputError, match=complaint):
        train_networks("mod3", **{**FEW, **wrong})


def test_no_hidden_layer_is_a_linear_decoder():
    runs = train_networks("mod3", mode="squared_difference", depth=0, steps=400, encoder_rate=2e-2, decoder_rate=2e-2)
    assert runs.train_accuracy[0, -1] > runs.majority_accuracy
