"""Networks along a training: the last measurement and the first step, also of networks that left or broke."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations import modulo
from genlaws.relations.networks.network import train_networks
from genlaws.relations.networks.runs import ACCURACIES, MEASURED, NEVER, RelationRuns

NAN = np.nan
LOGS = 4


def runs_of(train, test, table=None, steps=(0, 10, 20, 30)):
    """Return runs with given accuracies and nothing else."""
    train, test = np.array(train, dtype=float), np.array(test, dtype=float)
    table = 0.5 * (train + test) if table is None else np.array(table, dtype=float)
    networks = len(train)
    return RelationRuns(
        relation=modulo(2, 2),
        steps=np.array(steps),
        train_accuracy=train,
        test_accuracy=test,
        table_accuracy=table,
        balanced_accuracy=test,
        loss=np.zeros_like(train),
        invariant_drift=np.zeros_like(train),
        embeddings=np.empty((networks, 0, 2, 2)),
        final_embeddings=np.zeros((networks, 2, 2)),
        training_mask=np.zeros((networks, 2, 2), dtype=bool),
        majority_accuracy=0.5,
        failed=np.zeros(networks, dtype=bool),
        device="cpu",
        dtype="float32",
        path="eager",
    )


def test_the_last_measurement_is_that_before_a_network_left():
    runs = runs_of(
        [[0.5, 0.6, 0.7, 0.8], [0.5, 0.95, NAN, NAN], [0.96, NAN, NAN, NAN]],
        [[0.4, 0.5, 0.6, 0.7], [0.3, 0.92, NAN, NAN], [0.91, NAN, NAN, NAN]],
    )
    assert runs.final("train_accuracy").tolist() == [0.8, 0.95, 0.96]
    assert runs.final("test_accuracy").tolist() == [0.7, 0.92, 0.91]
    assert runs.steps_to("train_accuracy").tolist() == [NEVER, 10, 0]
    assert runs.steps_to("test_accuracy").tolist() == [NEVER, 10, 0]


def test_without_other_entries_the_last_measurement_of_them_is_none_at_all():
    runs = runs_of([[0.5, 0.6, 0.9, 1.0]], [[NAN] * LOGS], table=[[0.5, 0.6, 0.9, 1.0]])
    assert np.isnan(runs.final("test_accuracy")).all()
    assert runs.final("train_accuracy").tolist() == [1.0]
    assert runs.steps_to("test_accuracy").tolist() == [NEVER]


def test_a_network_that_was_never_measured_has_no_last_measurement():
    runs = runs_of([[NAN] * LOGS, [0.1] * LOGS], [[NAN] * LOGS, [0.2] * LOGS])
    np.testing.assert_array_equal(runs.final("test_accuracy"), [NAN, 0.2])
    assert runs.steps_to("test_accuracy", 0.0).tolist() == [NEVER, 0]


def test_a_target_is_exceeded_not_met():
    runs = runs_of([[0.1, 0.9, 0.9 + 1e-9, 0.2]], [[0.0, 0.0, 0.0, 0.0]])
    assert runs.steps_to("train_accuracy", 0.9).tolist() == [20]
    assert runs.steps_to("train_accuracy", 1.0).tolist() == [NEVER]
    assert runs.steps_to("test_accuracy", 0.0).tolist() == [NEVER]


@pytest.mark.parametrize("target", [-0.1, 1.1, NAN, [0.5, 0.6]])
def test_a_wrong_target_is_refused(target):
    with pytest.raises(InputError, match="target must"):
        runs_of([[0.0] * LOGS], [[0.0] * LOGS]).steps_to("train_accuracy", target)


@pytest.mark.parametrize("name", ["accuracy", "loss", "relation"])
def test_a_wrong_accuracy_is_refused(name):
    with pytest.raises(InputError, match=f"accuracy must be one of {', '.join(ACCURACIES)}; got '{name}'"):
        runs_of([[0.0] * LOGS], [[0.0] * LOGS]).steps_to(name)


@pytest.mark.parametrize("name", ["accuracy", "relation", "shown"])
def test_what_is_not_measured_has_no_last_measurement(name):
    with pytest.raises(InputError, match=f"measured must be one of .*; got '{name}'"):
        runs_of([[0.0] * LOGS], [[0.0] * LOGS]).final(name)


@pytest.mark.parametrize("stop_at", [None, 0.99])
def test_a_network_that_breaks_keeps_what_it_was_before(stop_at):
    runs = train_networks(
        "mod3",
        seeds=[1, 1],
        encoder_rate=[1e-3, 1e30],
        mode="squared_difference",
        width=10,
        depth=1,
        steps=60,
        log_at=range(0, 61, 10),
        stop_at=stop_at,
    )
    assert runs.failed.tolist() == [False, True]
    assert np.isnan(runs.table_accuracy[1, -1])
    last = np.flatnonzero(np.isfinite(runs.table_accuracy[1]))[-1]
    for name in MEASURED:
        course = getattr(runs, name)
        np.testing.assert_array_equal(runs.final(name), [course[0, -1], course[1, last]])
    assert runs.steps_to("test_accuracy", 1.0).tolist() == [NEVER, NEVER]


def test_networks_that_leave_have_the_last_numbers_they_were_seen_with():
    runs = train_networks(
        "mod3",
        seeds=range(4),
        encoder_rate=1e-2,
        decoder_rate=3e-3,
        steps=1000,
        width=20,
        depth=2,
        log_at=range(0, 1001, 50),
        stop_at=0.95,
    )
    left = np.isnan(runs.table_accuracy[:, -1])
    assert left.any()
    assert (runs.final("train_accuracy")[left] > 0.95).all()
    assert (runs.final("test_accuracy")[left] > 0.95).all()
    np.testing.assert_array_equal(runs.final("test_accuracy")[~left], runs.test_accuracy[~left, -1])
    assert (runs.steps_to("test_accuracy", 0.95)[left] > 0).all()
