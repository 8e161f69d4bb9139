"""A training that is interrupted and goes on is the unbroken one, bit for bit."""

from functools import partial

import numpy as np
import pytest
import torch
from sign_task import sign_batches, sign_examples

from genlaws.ensembles import (
    Adam,
    AdamW,
    Checkpoint,
    Differentiated,
    Layout,
    Minibatches,
    Modules,
    PairPerceptron,
    ParameterArray,
    Perceptron,
    Sgd,
    WholeSet,
    train,
)

SEEDS = list(range(6))
NETWORK = Perceptron((3, 6, 1))
STEPS, EVERY, LOGS = 100, 30, [0, 7, 30, 45, 60, 70, 95, 100]
RATES = [0.2, 0.001, 0.08, 0.01, 0.02, 0.04]


class CrashError(Exception):
    """Stands for a power cut."""


BATCHES = sign_batches(SEEDS, fresh_rows=10)


def measured(live, crash_at=None):
    if live.step == crash_at:
        raise CrashError
    return {"loss": live.loss, "norm": live.values["weight_1"].square().sum((1, 2))}


def leaves(found):
    return found["loss"] < 0.3


def run(batches="whole", *, crash_at=None, network=NETWORK, **settings):
    given = {"seeds": SEEDS, "steps": STEPS, "log_at": LOGS, "learning_rate": RATES, **settings}
    return train(network, BATCHES[batches](), measure=partial(measured, crash_at=crash_at), **given)


def crash(file, crash_at, *, every=EVERY, batches="whole", **settings):
    """Train until the measurement at a step fails; return whether a checkpoint was left."""
    with pytest.raises(CrashError):
        run(batches, crash_at=crash_at, checkpoint=Checkpoint(file, every), **settings)
    return file.exists()


def assert_same(first, second):
    np.testing.assert_array_equal(first.rows.numpy(), second.rows.numpy())
    assert first.measured.keys() == second.measured.keys()
    for name, values in first.measured.items():
        np.testing.assert_array_equal(values, second.measured[name])
        assert values.dtype == second.measured[name].dtype
    for name in ("steps", "updates", "finished_at", "failed_at"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.computed == second.computed


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("finished", [None, leaves], ids=["all stay", "some leave"])
@pytest.mark.parametrize("optimizer", [Sgd(), Sgd(0.9), AdamW()], ids=["sgd", "momentum", "adamw"])
def test_resumed_is_unbroken(tmp_path, batches, finished, optimizer):
    settings = {"finished": finished, "optimizer": optimizer, "weight_decay": 0.01}
    if isinstance(optimizer, Sgd):
        settings["learning_rate"] = [20 * rate for rate in RATES]
    unbroken = run(batches, **settings)
    assert finished is None or unbroken.finished.any()
    file = tmp_path / "folder" / "training.npz"
    for crash_at in (45, 60, 95):  # between savings, where one is due, and after the last
        if finished is None or (unbroken.updates >= crash_at).any():
            assert crash(file, crash_at, batches=batches, **settings)
    resumed = run(batches, checkpoint=Checkpoint(file, EVERY), **settings)
    assert_same(resumed, unbroken)
    assert list(file.parent.iterdir()) == []


@pytest.mark.parametrize("every", [1, 7, 99, 1000])
@pytest.mark.parametrize("crash_at", [0, 7, 30, 100])
def test_any_interval(tmp_path, every, crash_at):
    file = tmp_path / "training.npz"
    assert crash(file, crash_at, every=every) == (every < crash_at)
    assert_same(run(checkpoint=Checkpoint(file, every)), run())


def test_another_interval_when_resumed(tmp_path):
    file = tmp_path / "training.npz"
    crash(file, 70, every=20)
    assert_same(run(checkpoint=Checkpoint(file, 11)), run())


def test_many_crashes(tmp_path):
    file = tmp_path / "training.npz"
    for crash_at in LOGS[1:]:
        crash(file, crash_at, batches="epochs", finished=leaves)
    assert_same(run("epochs", finished=leaves, checkpoint=Checkpoint(file, EVERY)), run("epochs", finished=leaves))


@pytest.mark.parametrize("finished", [None, leaves], ids=["stays", "leaves"])
def test_a_broken_network_is_found_at_the_same_step(tmp_path, finished):
    start = NETWORK.layout.start(SEEDS)
    start[2, 0] = np.nan
    settings = {"start": start, "log_at": [45, 70, 100], "finished": finished}
    file = tmp_path / "training.npz"
    assert crash(file, 70, **settings)
    found = run(checkpoint=Checkpoint(file, EVERY), **settings)
    assert found.failed_at[2] == 45
    assert_same(found, run(**settings))


def test_everyone_has_left_when_it_crashes(tmp_path):
    """The last networks leave at step 45; nothing is left to be saved or done after that."""
    settings = {"finished": lambda found: torch.full_like(found["loss"], True, dtype=bool), "log_at": [45, 70]}
    file = tmp_path / "training.npz"
    assert crash(file, 45, **settings)
    found = run(checkpoint=Checkpoint(file, EVERY), **settings)
    assert found.updates.tolist() == [45] * 6
    assert_same(found, run(**settings))


def test_running_averages_are_kept(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(3, 4, bias=False), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    network = Modules(module, lambda call, batch: (call(batch["input"]) - batch["target"]).square().mean())

    def train_modules(crash_at=None, **settings):
        def measure(live):
            if live.step == crash_at:
                raise CrashError
            return {"mean": live.values["1.running_mean"]}

        start = network.rows([module] * 6)
        batches = Minibatches(sign_examples(len(SEEDS)), 6, SEEDS)
        return train(network, batches, seeds=SEEDS, steps=20, start=start, log_at=[15, 20], measure=measure, **settings)

    unbroken = train_modules()
    file = tmp_path / "training.npz"
    with pytest.raises(CrashError):
        train_modules(15, checkpoint=Checkpoint(file, 8))
    assert_same(train_modules(checkpoint=Checkpoint(file, 8)), unbroken)
    assert unbroken.values["1.num_batches_tracked"].tolist() == [20.0] * 6


OTHERS = {
    "seeds": {"seeds": [0, 1, 2, 3, 4, 9]},
    "rates": {"learning_rate": 0.01},
    "decay": {"weight_decay": 0.01},
    "steps": {"steps": 101},
    "logs": {"log_at": [0, 100]},
    "optimizer": {"optimizer": Sgd()},
    "settings of the optimizer": {"optimizer": Adam(0.8)},
    "precision": {"dtype": torch.float64},
    "initial scale": {"initial_scale": 0.5},
    "start": {"start": torch.zeros(6, NETWORK.layout.size)},
    "batches": {"batches": "epochs"},
    "order": {"batches": "random"},
    "draws": {"batches": "fresh"},
    "activation": {"network": Perceptron((3, 6, 1), "relu")},
    "loss": {"network": Perceptron((3, 6, 1), loss="squared")},
    "layers": {"network": Perceptron((3, 3, 3, 1))},
    "parts": {"network": Perceptron((3, 6, 1), parts=("a", "b"))},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_the_checkpoint_of_another_training_is_refused_and_kept(tmp_path, other):
    file = tmp_path / "training.npz"
    assert crash(file, 70)
    before = file.read_bytes()
    with pytest.raises(ValueError, match="training.npz belongs to another training: settings, seeds or data differ"):
        run(checkpoint=Checkpoint(file, EVERY), **other)
    assert file.read_bytes() == before


def loss_of_one(values, batch):
    return (values["w"] - 1.0).square().sum(1)


def loss_of_another(values, batch):
    return (values["w"] + 1.0).square().sum(1)


def test_settings_that_the_layout_does_not_show_tell_architectures_apart(tmp_path):
    layout = Layout([ParameterArray("w", (2,), start="normal")])
    modules = [torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Dropout(rate)) for rate in (0.0, 0.5)]
    data = {"first": torch.zeros(1, 4, dtype=torch.int64), "second": torch.ones(1, 4, dtype=torch.int64)}
    data |= {"target": torch.ones(1, 4, 1), "input": torch.ones(1, 4, 3)}

    def squares(call, batch):
        return (call(batch["input"]) - batch["target"]).square().mean()

    for number, (first, second) in enumerate(
        [
            tuple(PairPerceptron(4, 2, (3,), mode=mode) for mode in ("difference", "squared_difference")),
            (Differentiated(layout, loss_of_one), Differentiated(layout, loss_of_another)),
            (Modules(modules[0], squares), Modules(modules[1], squares)),
        ]
    ):
        file = tmp_path / f"{number}.npz"

        def crashing(live):
            raise CrashError

        settings = {"seeds": [0, 1], "steps": 9, "log_at": [6], "checkpoint": Checkpoint(file, 3)}
        if isinstance(first, Modules):
            settings["start"] = first.rows([modules[0]] * 2)
        with pytest.raises(CrashError):
            train(first, WholeSet(data), measure=crashing, **settings)
        with pytest.raises(ValueError, match="belongs to another training"):
            train(second, WholeSet(data), **settings)
        assert train(first, WholeSet(data), **settings).updates.tolist() == [9, 9]


def test_half_written_files_are_not_picked_up(tmp_path):
    file = tmp_path / "training.npz"
    assert crash(file, 70)
    whole = file.read_bytes()
    file.unlink()
    half = tmp_path / "training.npz.1234.half"
    half.write_bytes(whole[: len(whole) // 2])
    assert_same(run(checkpoint=Checkpoint(file, EVERY)), run())
    assert half.exists()


def test_a_crash_while_saving_leaves_the_last_whole_file(tmp_path, monkeypatch):
    file = tmp_path / "training.npz"
    savez, calls = np.savez, []

    def failing(target, **arrays):
        calls.append(1)
        if len(calls) == 2:
            target.write(b"PK half of it")
            raise CrashError
        savez(target, **arrays)

    monkeypatch.setattr(np, "savez", failing)
    with pytest.raises(CrashError):
        run(checkpoint=Checkpoint(file, EVERY))
    assert [one.name for one in tmp_path.iterdir()] == ["training.npz"]
    assert_same(run(checkpoint=Checkpoint(file, EVERY)), run())


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "changed"])
def test_a_file_that_cannot_be_read(tmp_path, damage):
    file = tmp_path / "training.npz"
    assert crash(file, 70)
    whole = file.read_bytes()
    middle = len(whole) // 2
    changed = whole[:middle] + bytes(255 - one for one in whole[middle : middle + 50]) + whole[middle + 50 :]
    file.write_bytes({"empty": b"", "text": b"not a checkpoint", "cut": whole[:middle], "changed": changed}[damage])
    with pytest.raises(ValueError, match="training.npz cannot be read; delete it to start again"):
        run(checkpoint=Checkpoint(file, EVERY))


@pytest.mark.parametrize("name", ["other.npz", "other.npy"])
def test_a_file_that_is_no_checkpoint(tmp_path, name):
    file = tmp_path / name
    (np.savez if name.endswith("z") else np.save)(file, np.arange(3))
    with pytest.raises(ValueError, match="is not a checkpoint; name another file|cannot be read; delete it"):
        run(checkpoint=Checkpoint(file, EVERY))
    assert file.exists()


def test_settings_and_the_end(tmp_path):
    with pytest.raises(ValueError, match="every must be a whole number; got 2.6"):
        Checkpoint("somewhere.npz", every=2.6)
    with pytest.raises(ValueError, match="every must be at least 1; got 0"):
        Checkpoint("training.npz", 0)
    run(checkpoint=Checkpoint(str(tmp_path / "deep" / "training.npz"), 10))
    assert list((tmp_path / "deep").iterdir()) == []
