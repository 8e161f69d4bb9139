"""Optimizers of stacks: their settings, and rates that are each network's and part's own."""

import numpy as np
import pytest
import torch

from genlaws.ensembles import Adam, AdamW, Differentiated, Layout, ParameterArray, Sgd, WholeSet, train
from genlaws.ensembles.optimizers import PartRates, Portion, rates_of

EXACT = 1e-12  # relative; a few roundings in double precision
OPTIMIZERS = [Sgd(), Sgd(0.9), Adam(), AdamW()]
LAYOUT = Layout([ParameterArray("a", (2,), "first", "normal"), ParameterArray("b", (3,), "second", "normal")])
SEEDS = [1, 2, 3, 4]

every_optimizer = pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)


def bowl():
    """Return networks whose loss is a sum of squares around 1."""
    return Differentiated(LAYOUT, lambda values, _: sum((one - 1.0).square().sum(1) for one in values.values()))


def nothing():
    return WholeSet({"input": torch.zeros(1, 1)})


def trained(optimizer, seeds=SEEDS, steps=20, **settings):
    return train(bowl(), nothing(), seeds=seeds, steps=steps, optimizer=optimizer, dtype=torch.float64, **settings)


@pytest.mark.parametrize("value", [-0.1, 1.0, 2.0, np.nan])
@pytest.mark.parametrize(
    ("kind", "name"),
    [(Sgd, "momentum"), (Adam, "first_decay"), (Adam, "second_decay"), (Adam, "epsilon"), (AdamW, "second_decay")],
)
def test_settings_lie_between_0_and_1(kind, name, value):
    with pytest.raises(ValueError, match=f"{name} must lie in \\[0, 1\\); got"):
        kind(**{name: value})


@every_optimizer
def test_rate_0_leaves_a_part_of_a_network_alone(optimizer):
    start = LAYOUT.start(SEEDS)
    rate = {"first": [0.1, 0.0, 0.1, 0.0], "second": [0.1, 0.1, 0.0, 0.0]}
    moved = trained(optimizer, learning_rate=rate).rows != start
    assert moved[:, :2].all(1).tolist() == [True, False, True, False]
    assert moved[:, :2].any(1).tolist() == [True, False, True, False]
    assert moved[:, 2:].all(1).tolist() == [True, True, False, False]
    assert moved[:, 2:].any(1).tolist() == [True, True, False, False]


@every_optimizer
def test_rates_are_those_of_the_network(optimizer):
    rates = {"first": [0.01, 0.02, 0.03, 0.04], "second": [0.04, 0.03, 0.02, 0.01]}
    decay = {"first": 0.1, "second": [0.0, 0.5, 0.0, 0.2]}
    together = trained(optimizer, learning_rate=rates, weight_decay=decay)
    for place, seed in enumerate(SEEDS):
        alone = trained(
            optimizer,
            [seed],
            learning_rate={part: one[place] for part, one in rates.items()},
            weight_decay={"first": 0.1, "second": decay["second"][place]},
        )
        torch.testing.assert_close(alone.rows[0], together.rows[place], rtol=EXACT, atol=EXACT)


@every_optimizer
def test_decay_of_one_network_does_not_reach_another(optimizer):
    without, some = (trained(optimizer, weight_decay=one) for one in (0.0, [0.0, 1.0, 0.0, 0.0]))
    same = (without.rows == some.rows).all(1)
    assert same.tolist() == [True, False, True, True]


def test_plain_descent_by_hand():
    found = trained(Sgd(), steps=1, learning_rate=0.25, weight_decay=0.5)
    start = LAYOUT.start(SEEDS)
    torch.testing.assert_close(found.rows, start - 0.25 * (2.0 * (start - 1.0) + 0.5 * start), rtol=EXACT, atol=EXACT)


def test_decoupled_decay_by_hand():
    """Adam's first step has the size of the rate; decay comes before it, and is not scaled."""
    found = trained(AdamW(epsilon=0.0), steps=1, learning_rate=0.25, weight_decay=0.5)
    start = LAYOUT.start(SEEDS)
    expected = start * (1.0 - 0.125) - 0.25 * torch.sign(start - 1.0)
    torch.testing.assert_close(found.rows, expected, rtol=EXACT, atol=EXACT)


@every_optimizer
def test_nothing_outside_the_part_is_touched(optimizer):
    rows, gradient, spare = (torch.ones(2, 6, dtype=torch.float64) for _ in range(3))
    moments = [torch.zeros(2, 6, dtype=torch.float64) for _ in optimizer.moments]
    own = slice(1, 4)
    part = Portion(rows[:, own], gradient[:, own], [one[:, own] for one in moments], spare[:, own])
    rate = torch.full((2, 1), 0.1, dtype=torch.float64)
    optimizer.update(part, PartRates(own, rate, rate, True), torch.tensor(1.0, dtype=torch.float64))
    assert (rows[:, own] != 1.0).all()
    assert torch.equal(gradient, torch.ones_like(gradient))
    for one in (rows, spare):
        assert (one[:, [0, 4, 5]] == 1.0).all()
    for one in moments:
        assert not one[:, [0, 4, 5]].any()


def test_rates_of_untrained_parts_are_left_out():
    layout = Layout([ParameterArray("w", (2,)), ParameterArray("mean", (2,), "buffers", trained=False)])
    numbers = {"weights": np.array([1.0, 2.0])}
    (rates,) = rates_of(layout, numbers, {"weights": np.zeros(2)}, torch.zeros(2, 4))
    assert rates.columns == slice(0, 2)
    assert rates.learning_rate.tolist() == [[1.0], [2.0]]
    assert not rates.decays
    assert rates.select(torch.tensor([1])).learning_rate.tolist() == [[2.0]]


def test_corrections_are_computed_in_double_precision():
    """In single precision 1 - 0.999 is wrong by 5e-5, and so would be the first steps."""
    rows = torch.zeros(1, 1)
    moments = [torch.zeros(1, 1), torch.zeros(1, 1)]
    rate = torch.full((1, 1), 1.0)
    part = Portion(rows, torch.full((1, 1), 1e-3), moments, torch.empty(1, 1))
    Adam(epsilon=0.0).update(
        part, PartRates(slice(0, 1), rate, 0 * rate, False), torch.tensor(1.0, dtype=torch.float64)
    )
    assert rows.item() == pytest.approx(-1.0, rel=3e-7)
