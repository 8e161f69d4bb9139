"""Stacked two-layer networks: the same as plain torch, alone or together, and the theory of random features."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from genlaws.core.errors import InputError
from genlaws.ensembles import Checkpoint
from genlaws.ensembles.architecture import Layout
from genlaws.ensembles.perceptron import layer_parameters
from genlaws.rules_facts import Kernel, draw_gaussian, solve
from genlaws.rules_facts.networks.runs import MEASURED_COLUMNS
from genlaws.rules_facts.networks.task import DRAW_STREAM
from genlaws.rules_facts.networks.two_layer import train_two_layer

D, P, RATIO, FACTS = 6, 5, 3.0, 0.4
SMALL = {"dimension": D, "sample_ratio": RATIO, "fact_fraction": FACTS, "width": P, "test_count": 50}
ROUNDING = 1e-9  # relative, in double precision, after some dozen steps


def draw_of(seed, dimension=D, ratio=RATIO, facts=FACTS):
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(DRAW_STREAM,)))
    return draw_gaussian(dimension, ratio, facts, test_count=1, seed=rng)


class Plain(nn.Module):
    """f(x) = a·σ(Wx/√d)/√p with W and a as parameters, written down as it is on paper."""

    def __init__(self, seed, readout_scale):
        super().__init__()
        layout = Layout(layer_parameters((D, P, 1), ("first", "readout"), bias=False))
        start = layout.views(layout.start([seed], {"first": math.sqrt(3 * D), "readout": math.sqrt(3 * P)}))
        self.W = nn.Parameter(start["weight_1"][0].T.clone())
        self.a = nn.Parameter(readout_scale * start["weight_2"][0, :, 0].clone())

    def forward(self, x):
        return torch.tanh(x @ self.W.T / math.sqrt(D)) @ self.a / math.sqrt(P)


def plain_loss(name, f, y):
    if name == "square":
        return (f - y).square().mean()
    if name == "hinge":
        return torch.relu(1.0 - y * f).mean()
    return nn.functional.softplus(-y * f).mean()


def plain_training(optimizer, loss, seed, steps, rates):
    """Return loss and memorization error after training with torch's own modules and optimizers."""
    draw = draw_of(seed)
    x, y = torch.tensor(draw.inputs), torch.tensor(draw.labels)
    network = Plain(seed, 0.5)
    eta, factor, decay = rates
    kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam, "sgd": torch.optim.SGD}[optimizer]
    # Decoupled decay is in proportion to the rate of each group, as it is for the networks of a stack.
    groups = [{"params": [network.W], "lr": factor * eta}, {"params": [network.a], "lr": eta}]
    options = {} if optimizer == "sgd" else {"eps": 1e-30}
    updates = kind(groups, weight_decay=decay, **options)
    for _ in range(steps):
        updates.zero_grad()
        plain_loss(loss, network(x), y).backward()
        updates.step()
    with torch.no_grad():
        f = network(x)
    wrong = (torch.where(f >= 0, 1.0, -1.0) != y).numpy()
    return float(plain_loss(loss, f, y)), wrong[draw.is_fact].mean(), network


@pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd"])
@pytest.mark.parametrize("loss", ["logistic", "square", "hinge"])
def test_a_network_is_that_of_plain_torch(optimizer, loss, monkeypatch):
    rates = (0.3, 3.0, 0.2) if optimizer == "sgd" else (0.02, 3.0, 0.2)
    without_epsilon(monkeypatch)
    runs = train_two_layer(
        **SMALL,
        seeds=[4],
        activation="tanh",
        loss=loss,
        optimizer=optimizer,
        learning_rate=rates[0],
        feature_rate=rates[1],
        weight_decay=rates[2],
        readout_scale=0.5,
        steps=20,
        dtype="float64",
    )
    expected, memorization_error, network = plain_training(optimizer, loss, 4, 20, rates)
    assert runs.training_loss[0, -1] == pytest.approx(expected, rel=ROUNDING)
    assert runs.memorization_error[0, -1] == pytest.approx(memorization_error)
    teacher = torch.tensor(draw_of(4).teacher)
    W = network.W.detach()
    share = (W @ teacher).square().sum() / (W.square().sum() * teacher.square().sum())
    assert runs.alignment[0, -1] == pytest.approx(float(share), rel=ROUNDING)
    linear = network.a.detach() @ W
    angle = torch.acos(linear @ teacher / (linear.norm() * teacher.norm())) / math.pi
    assert runs.direction_error[0, -1] == pytest.approx(float(angle), rel=1e-6)


def without_epsilon(monkeypatch):
    """Take the 1e-8 out of Adam's denominator, which is the one thing that depends on how weights are stored."""
    from genlaws.ensembles import Adam, AdamW
    from genlaws.rules_facts.networks import two_layer

    for name, kind in (("adam", Adam), ("adamw", AdamW)):
        monkeypatch.setitem(two_layer.OPTIMIZERS, name, kind(epsilon=1e-30))


def test_a_network_alone_is_the_same_as_in_a_stack():
    settings = {**SMALL, "steps": 30, "dtype": "float64", "activation": "relu", "batch_size": 7}
    together = train_two_layer(**settings, seeds=[3, 8, 3], learning_rate=[0.01, 0.02, 0.05], weight_decay=[0, 0.1, 0])
    for place, (seed, rate, decay) in enumerate(((3, 0.01, 0.0), (8, 0.02, 0.1), (3, 0.05, 0.0))):
        alone = train_two_layer(**settings, seeds=[seed], learning_rate=rate, weight_decay=decay)
        for name in MEASURED_COLUMNS:
            np.testing.assert_allclose(getattr(together, name)[place], getattr(alone, name)[0], rtol=ROUNDING)
    assert together.training_loss[0, -1] != together.training_loss[2, -1]


def test_generalization_error_of_a_known_network(monkeypatch):
    """With identity units the network is a linear map, whose generalization error is its angle to the teacher."""
    runs = train_two_layer(
        **{**SMALL, "test_count": 40_000},
        seeds=[1, 2],
        activation="identity",
        learning_rate=0.05,
        steps=50,
        log_at=[0, 50],
    )
    z = (runs.generalization_error - runs.direction_error) / runs.generalization_error_standard_error
    assert np.abs(z).max() < 4.0
    assert np.abs((runs.choice_error - runs.direction_error) / runs.generalization_error_standard_error).max() < 4.0
    assert (runs.generalization_error[:, 1] < runs.generalization_error[:, 0]).all()


def test_wide_networks_remember_every_fact_and_narrow_ones_cannot():
    settings = {**SMALL, "dimension": 20, "sample_ratio": 4.0, "activation": "tanh", "learning_rate": 0.03}
    wide = train_two_layer(**settings | {"width": 80}, seeds=[0, 1, 2], steps=600)
    assert (wide.memorization_error[:, -1] == 0.0).all()
    assert (wide.rule_sample_error[:, -1] == 0.0).all()
    assert (wide.memorized_log > 0).all()
    assert (wide.at("memorization_error", wide.memorized_log) == 0.0).all()
    assert (wide.at("memorization_error", wide.memorized_log - 1) > 0.0).all()
    narrow = train_two_layer(**settings | {"width": 1}, seeds=[0, 1, 2], steps=600)
    assert (narrow.memorized_log == -1).all()
    assert np.isnan(narrow.at("generalization_error", narrow.memorized_log)).all()
    assert (wide.alignment[:, -1] > 1.3 * wide.alignment[:, 0]).all()


def test_the_best_time_is_chosen_on_other_inputs():
    runs = train_two_layer(**SMALL, seeds=[5, 6], steps=40)
    best = runs.best_log
    assert (runs.at("choice_error", best) == runs.choice_error.min(axis=1)).all()
    frame = runs.to_frame()
    assert len(frame) == 2 * len(runs.steps)
    assert frame.loc[len(runs.steps), "generalization_error"] == runs.generalization_error[1, 0]
    assert not (runs.choice_error == runs.generalization_error).all()


RIDGE = 0.3
# Relative size of what finite dimension changes at d = 60; the scatter of the runs comes on top.
FINITE_SIZE = 0.03


def test_features_that_stay_are_random_features():
    """With the first layer at rest and the square loss, the end of training is ridge regression on random features."""
    d, ratio, width_ratio, facts, count = 60, 3.0, 2.0, 0.2, 12
    runs = train_two_layer(
        dimension=d,
        sample_ratio=ratio,
        fact_fraction=facts,
        width=int(width_ratio * d),
        seeds=range(count),
        activation="tanh",
        loss="square",
        optimizer="adam",
        feature_rate=0.0,
        learning_rate=0.03,
        weight_decay=2.0 * RIDGE / (ratio * d),
        steps=1500,
        log_at=[0, 1000, 1500],
    )
    # Training has come to rest, and the features have not moved.
    np.testing.assert_allclose(runs.training_loss[:, 1], runs.training_loss[:, 2], rtol=1e-3)
    np.testing.assert_array_equal(runs.alignment[:, 0], runs.alignment[:, 2])
    kernel = Kernel.from_activation(np.tanh)
    theory = solve(
        "square", sample_ratio=ratio, fact_fraction=facts, kernel=kernel, regularization=RIDGE, width_ratio=width_ratio
    )
    for name, expected in (
        ("generalization_error", theory.generalization_error),
        ("memorization_error", theory.memorization_error),
    ):
        values = getattr(runs, name)[:, -1]
        error = values.std(ddof=1) / np.sqrt(count)
        assert abs(values.mean() - expected) < 4.0 * error + FINITE_SIZE * expected


def test_a_run_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    settings = {**SMALL, "seeds": [1, 2], "steps": 30, "batch_size": 4}
    whole = train_two_layer(**settings)
    keeping = Checkpoint(tmp_path / "stack.npz", every=10)
    stop_after(monkeypatch, 20)
    with pytest.raises(KeyboardInterrupt):
        train_two_layer(**settings, checkpoint=keeping)
    monkeypatch.undo()
    assert keeping.path.exists()
    resumed = train_two_layer(**settings, checkpoint=keeping)
    for name in MEASURED_COLUMNS:
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))


def stop_after(monkeypatch, updates):
    """Make the training fall over after some updates, as a machine that is switched off does."""
    from genlaws.ensembles.stack import Stack

    original = Stack.update

    def update(self):
        if int(self.step) == updates:
            raise KeyboardInterrupt
        original(self)

    monkeypatch.setattr(Stack, "update", update)


def test_a_draw_without_facts_has_no_memorization_error():
    runs = train_two_layer(**SMALL | {"fact_fraction": 0.0}, seeds=[0], steps=2)
    assert np.isnan(runs.memorization_error).all()
    assert np.isfinite(runs.rule_sample_error).all()
    assert (runs.memorized_log == -1).all()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"dimension": 0}, "dimension must be"),
        ({"width": 0}, "width must be"),
        ({"sample_ratio": -1.0}, "sample_ratio must be"),
        ({"fact_fraction": 1.5}, "fact_fraction must lie"),
        ({"seeds": []}, "seeds must be a sequence"),
        ({"seeds": [0.5]}, "seeds must be a whole number"),
        ({"activation": "cubic"}, "activation must be one of"),
        ({"loss": "squared"}, "loss must be one of"),
        ({"optimizer": "lion"}, "optimizer must be one of"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"learning_rate": [0.1, 0.1, 0.1]}, "learning_rate must be one number or 2"),
        ({"feature_rate": -1.0}, "feature_rate must be"),
        ({"weight_decay": np.inf}, "weight_decay must be"),
        ({"readout_scale": -1.0}, "readout_scale must be"),
        ({"feature_scale": np.nan}, "feature_scale must not"),
        ({"steps": 0}, "steps must be"),
        ({"log_at": [10_000]}, "log_at must be a whole number"),
        ({"log_at": []}, "log_at must name"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"test_count": 0}, "test_count must be"),
        ({"device": "abacus"}, "device must be"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"path": "fused"}, "path must be one of"),
    ],
)
def test_wrong_input_is_refused(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        train_two_layer(**{**SMALL, "seeds": [0, 1], "steps": 5} | arguments)


def test_the_package_does_not_load_torch():
    import subprocess
    import sys

    code = "import sys, genlaws.rules_facts; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
