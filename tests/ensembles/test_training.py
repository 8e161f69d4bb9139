"""One call from seeds to measurements: logs, criteria, failures and invalid arguments."""

import numpy as np
import pytest
import torch
from sign_task import sign_batches, sign_examples

from genlaws.ensembles import Adam, Modules, Perceptron, Sgd, WholeSet, train

ROUNDING = 1e-10  # of parameters after some dozens of updates in double precision, in a smaller stack
SEEDS = list(range(8))
NETWORK = Perceptron((3, 6, 1), parts=("first", "second"))
LOGS = [0, 10, 20, 30, 40]
# Some networks learn fast and finish, some slowly, one not at all.
RATES = [0.3, 0.001, 0.08, 0.0, 0.03, 0.01, 0.02, 0.04]


BATCHES = sign_batches(SEEDS, fresh_rows=20)
every_batches = pytest.mark.parametrize("batches", BATCHES.values(), ids=BATCHES)


def trained(batches=BATCHES["whole"], **settings):
    given = {"seeds": SEEDS, "steps": 40, "learning_rate": RATES, "dtype": torch.float64, **settings}
    return train(NETWORK, batches(), **given)


def learned(measured):
    return measured["loss"] < 0.3


def norms(live):
    """Measure numbers of several kinds and shapes."""
    return {
        "loss": live.loss,
        "norm": live.values["weight_1"].square().sum(1),
        "large": live.values["weight_2"].abs().amax((1, 2)) > 0.5,
        "number": live.number,
        "step": torch.full_like(live.number, live.step),
    }


def test_logs_at_the_start_in_between_and_at_the_end():
    found = trained(log_at=[40, 0, 10, 10], measure=norms)
    assert found.steps.tolist() == [0, 10, 40]
    assert {name: one.shape for name, one in found.measured.items()} == {
        "loss": (8, 3),
        "norm": (8, 3, 6),
        "large": (8, 3),
        "number": (8, 3),
        "step": (8, 3),
    }
    assert np.isnan(found.measured["loss"][:, 0]).all()
    assert np.isfinite(found.measured["loss"][:, 1:]).all()
    assert (found.measured["step"] == [0, 10, 40]).all()
    assert (found.measured["number"].T == SEEDS).all()
    assert set(np.unique(found.measured["large"])) <= {0.0, 1.0}
    start, end = NETWORK.layout.views(NETWORK.layout.start(SEEDS)), found.values
    np.testing.assert_array_equal(found.measured["norm"][:, 0], start["weight_1"].square().sum(1))
    np.testing.assert_array_equal(found.measured["norm"][:, 2], end["weight_1"].square().sum(1))
    assert found.updates.tolist() == [40] * 8
    assert not found.failed.any()
    assert not found.finished.any()


@every_batches
def test_logging_changes_nothing(batches):
    plain, logged = trained(batches), trained(batches, log_at=range(41), measure=norms)
    assert torch.equal(plain.rows, logged.rows)
    assert plain.measured == {}
    assert plain.steps.size == 0


def test_the_logged_loss_is_that_before_the_last_update():
    one_less, found = trained(steps=9), trained(steps=10, log_at=[10])
    batch = WholeSet(sign_examples(len(SEEDS))).at(torch.tensor(0))
    outputs = NETWORK.outputs(one_less.values, batch["input"])
    losses = torch.nn.functional.binary_cross_entropy_with_logits(outputs, batch["target"], reduction="none")
    np.testing.assert_allclose(found.measured["loss"][:, 0], losses.mean((1, 2)), rtol=1e-12)


def test_no_updates():
    found = trained(steps=0, log_at=[0], measure=norms)
    assert torch.equal(found.rows, NETWORK.layout.start(SEEDS))
    assert found.updates.tolist() == [0] * 8
    assert found.measured["norm"].shape == (8, 1, 6)


def test_no_networks():
    found = train(NETWORK, sign_batches([], 20)["fresh"](), seeds=[], steps=3, log_at=[1], finished=learned)
    assert found.rows.shape == (0, NETWORK.layout.size)


@every_batches
def test_networks_that_meet_the_criterion_leave_and_the_others_go_on(batches):
    whole = trained(batches, log_at=LOGS)
    found = trained(batches, log_at=LOGS, finished=learned)
    losses = whole.measured["loss"]
    assert 0 < found.finished.sum() < 8
    assert len(set(found.finished_at.tolist())) > 2
    for place in range(8):
        met = np.flatnonzero(losses[place] < 0.3)
        last = int(met[0]) if met.size else len(LOGS) - 1
        assert found.finished_at[place] == (LOGS[last] if met.size else -1)
        assert found.updates[place] == LOGS[last]
        own = found.measured["loss"][place]
        np.testing.assert_allclose(own[: last + 1], losses[place, : last + 1], rtol=ROUNDING)
        assert np.isnan(own[last + 1 :]).all()
        expected = trained(batches, steps=LOGS[last]).rows[place]
        torch.testing.assert_close(found.rows[place], expected, rtol=ROUNDING, atol=ROUNDING)


@every_batches
@pytest.mark.parametrize("at_once", [True, False])
def test_all_networks_finish_early(batches, at_once):
    def done(measured):
        return (
            torch.ones(len(measured["number"]), dtype=bool) if at_once else measured["number"] <= measured["step"] / 10
        )

    found = trained(batches, steps=200, log_at=range(10, 201, 10), measure=norms, finished=done)
    expected = [10] * 8 if at_once else [10, 10, 20, 30, 40, 50, 60, 70]
    assert found.finished_at.tolist() == found.updates.tolist() == expected
    assert found.steps.size == 20
    assert np.isnan(found.measured["norm"][:, 7:]).all()
    assert found.rows.isfinite().all()


def test_a_criterion_met_at_the_start_and_at_the_end():
    found = trained(log_at=[0, 40], measure=norms, finished=lambda measured: measured["number"] % 2 == 0)
    assert found.finished_at.tolist() == [0, -1] * 4
    assert torch.equal(found.rows[::2], NETWORK.layout.start(SEEDS)[::2])
    late = trained(log_at=[40], finished=lambda measured: measured["loss"] < np.inf)
    assert late.finished_at.tolist() == late.updates.tolist() == [40] * 8


@pytest.mark.parametrize("finished", [None, lambda measured: measured["loss"] < 0.0], ids=["none", "never met"])
def test_a_network_that_overflows(finished):
    network = Perceptron((3, 6, 1), "relu", "squared")
    rates = [1e200 if place == 2 else 0.01 for place in SEEDS]
    settings = {"seeds": SEEDS, "steps": 40, "optimizer": Sgd(), "dtype": torch.float64, "log_at": LOGS}
    found = train(network, WholeSet(sign_examples(len(SEEDS))), learning_rate=rates, finished=finished, **settings)
    assert found.failed.tolist() == [place == 2 for place in SEEDS]
    assert found.failed_at[2] == 10
    assert found.finished_at[2] == -1
    assert found.updates[2] == (40 if finished is None else 10)
    assert np.isnan(found.measured["loss"][2]).all()
    assert np.isfinite(found.measured["loss"][3, 1:]).all()


def test_a_broken_network_is_never_finished():
    start = NETWORK.layout.start(SEEDS)
    start[5, 0] = np.nan
    always = trained(start=start, log_at=[0, 10], measure=norms, finished=lambda measured: measured["number"] >= 0)
    assert always.finished_at.tolist() == [0, 0, 0, 0, 0, -1, 0, 0]
    assert always.failed_at[5] == 0


def test_found_broken_without_any_log():
    start = NETWORK.layout.start(SEEDS)
    start[5, 0] = np.nan
    assert trained(start=start, steps=7).failed_at.tolist() == [-1, -1, -1, -1, -1, 7, -1, -1]


def test_given_rows_are_the_start_and_stay_as_they_are():
    start = NETWORK.layout.start(SEEDS, 0.5)
    before = start.clone()
    assert torch.equal(trained(start=start).rows, trained(initial_scale=0.5).rows)
    assert torch.equal(start, before)


def test_seeds_of_each_part():
    same = trained(seeds={"first": [1] * 8, "second": SEEDS}, steps=0).values
    assert same["weight_1"].unique(dim=0).shape[0] == 1
    assert same["weight_2"].unique(dim=0).shape[0] == 8


def test_rates_of_each_part():
    found = trained(learning_rate={"first": 0.0, "second": RATES})
    start = NETWORK.layout.views(NETWORK.layout.start(SEEDS))
    assert torch.equal(found.values["weight_1"], start["weight_1"])
    moved = (found.values["weight_2"] != start["weight_2"]).all((1, 2))
    assert moved.tolist() == [rate > 0 for rate in RATES]


def test_parts_without_training_need_no_rate():
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    network = Modules(module, lambda call, batch: (call(batch["input"]) - batch["target"]).square().mean())
    assert network.layout.parts == ("weights", "buffers")
    settings = {"seeds": SEEDS, "steps": 3, "start": network.rows([module] * 8)}
    short, long, plain = (
        train(network, BATCHES["whole"](), learning_rate=rate, **settings)
        for rate in ({"weights": 0.1}, {"weights": 0.1, "buffers": 0.7}, 0.1)
    )
    assert torch.equal(short.rows, long.rows)
    assert torch.equal(short.rows, plain.rows)


def test_shared_examples_serve_any_number_of_networks():
    shared = {name: one[:1] for name, one in sign_examples(len(SEEDS)).items()}
    own = {name: one.repeat(8, 1, 1) for name, one in shared.items()}
    first, second = (trained(lambda one=one: WholeSet(one)) for one in (shared, own))
    torch.testing.assert_close(first.rows, second.rows, rtol=ROUNDING, atol=ROUNDING)


def test_computed_says_what_was_computed_with():
    found = trained(dtype=torch.float32, steps=1).computed
    assert (found.device, found.dtype, found.path, found.threads) == ("cpu", "float32", "eager", 1)
    assert found.torch == torch.__version__
    assert trained(steps=1).computed.dtype == "float64"


def test_adam_is_the_optimizer_if_none_is_named():
    assert torch.equal(trained().rows, trained(optimizer=Adam()).rows)
    assert not torch.equal(trained().rows, trained(optimizer=Sgd()).rows)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"steps": -1}, "steps must not be negative; got -1"),
        ({"steps": 2.6}, "steps must be a whole number; got 2.6"),
        ({"log_at": [3, 6.5]}, "log_at must be a whole number; got 6.5"),
        ({"log_at": [41]}, "log_at must lie between 0 and steps = 40; got 41 to 41"),
        ({"log_at": [-1, 3]}, "log_at must lie between 0 and steps = 40; got -1 to 3"),
        ({"dtype": torch.float16}, "dtype must be torch.float32 or torch.float64; got torch.float16"),
        ({"device": "nowhere"}, "device must be one that torch can use here, such as cpu; got 'nowhere'"),
        ({"path": "fast"}, "path must be one of auto, eager, graph, fused; got 'fast'"),
        ({"seeds": SEEDS[:5], "learning_rate": 0.1}, "There are batches for 8 networks and seeds for 5"),
        ({"learning_rate": [0.1, 0.2]}, "learning_rate must be a number or 8 numbers"),
        ({"learning_rate": -0.1}, "learning_rate must be finite and not negative"),
        ({"learning_rate": {"first": 0.1}}, "learning_rate must name the parts first, second; got first"),
        ({"weight_decay": {"first": 0.1, "third": 1.0}}, "weight_decay must name the parts first, second"),
        ({"weight_decay": np.nan}, "weight_decay must be finite"),
        ({"initial_scale": {"decoder": 1.0}}, "initial_scale must name the parts first, second; got decoder"),
        ({"seeds": {"first": SEEDS}}, "seeds must name the parts first, second; got first"),
        ({"start": torch.zeros(8, 3)}, "start must have the shape \\(8, 31\\); got \\(8, 3\\)"),
        ({"start": torch.zeros(7, 31)}, "start must have the shape \\(8, 31\\); got \\(7, 31\\)"),
        ({"start": torch.zeros(8, 31), "initial_scale": 2.0}, "initial_scale belongs to initial values that are drawn"),
    ],
)
def test_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        trained(**settings)


def test_draws_for_another_number_of_networks_are_refused():
    with pytest.raises(ValueError, match="There are batches for 1 networks and seeds for 8"):
        trained(sign_batches([0], 20)["fresh"])
