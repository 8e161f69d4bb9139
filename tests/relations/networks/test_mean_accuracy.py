"""The interval of a mean accuracy: within [0, 1], and it holds the mean often enough."""

import math

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.networks import runs
from genlaws.relations.networks.runs import mean_accuracy

QUANTILE_ERROR = 0.005  # of an end, from the random weights
TRIALS = 300
SMALLEST_SHARE = 0.95 - 2.6 * math.sqrt(0.95 * 0.05 / TRIALS)
# Most networks generalize, and the others stay at chance; Student's interval of 5 holds the mean in 42 % of cases.
LAWS = {
    "coin": lambda rng, count: (rng.random(count) < 0.9).astype(float),
    "two kinds": lambda rng, count: np.where(rng.random(count) < 0.9, 1.0, rng.uniform(0.5, 0.7, count)),
    "one kind": lambda rng, count: rng.beta(5, 1, count),
}


@pytest.mark.parametrize("values", [[0.3, 1.0], [1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0], [0.98, 0.99, 1.0, 0.97]])
def test_the_interval_lies_between_0_and_1_around_the_mean(values):
    found = mean_accuracy(values)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.value == pytest.approx(np.mean(values))
    assert found.count == len(values)


@pytest.mark.parametrize("count", [2, 5, 30])
def test_equal_accuracies_have_the_interval_of_a_beta_variable(count):
    """The weights of the networks add up to a power of a uniform number."""
    right, wrong = mean_accuracy(np.ones(count)), mean_accuracy(np.zeros(count))
    assert right.low == pytest.approx(0.025 ** (1.0 / count), abs=QUANTILE_ERROR)
    assert wrong.high == pytest.approx(1.0 - 0.025 ** (1.0 / count), abs=QUANTILE_ERROR)
    assert (right.high, wrong.low) == (1.0, 0.0)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("count", [2, 5, 20])
def test_it_holds_the_mean_often_enough(monkeypatch, law, count):
    monkeypatch.setattr(runs, "WEIGHT_DRAWS", 4000)
    rng = np.random.default_rng(3)
    mean = LAWS[law](rng, 1_000_000).mean()
    found = [mean_accuracy(LAWS[law](rng, count)) for _ in range(TRIALS)]
    assert np.mean([one.low <= mean <= one.high for one in found]) > SMALLEST_SHARE


def test_one_network_has_no_interval_and_failed_ones_are_left_out():
    assert math.isnan(mean_accuracy([0.7]).low)
    assert math.isnan(mean_accuracy([math.nan]).value)
    assert mean_accuracy([0.5, math.nan, 0.7]) == mean_accuracy([0.5, 0.7])


def test_many_networks_are_weighted_in_blocks(monkeypatch):
    values = np.random.default_rng(0).random(50)
    whole = mean_accuracy(values)
    monkeypatch.setattr(runs, "MAX_NUMBERS_AT_ONCE", 1000)
    assert mean_accuracy(values).low == pytest.approx(whole.low, abs=QUANTILE_ERROR)


def test_what_is_no_accuracy_is_rejected():
    with pytest.raises(InputError, match="accuracies must lie in"):
        mean_accuracy([0.5, 1.2])
