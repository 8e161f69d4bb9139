"""Generalization errors with known and unknown facts, and unbiased differences between choices."""

import numpy as np
import pytest

from genlaws.core.estimate import Estimate, wilson_interval
from genlaws.rules_facts.labels.kernel_trials import GeneralizationErrors

NONE = Estimate(0.0)
# Standard errors that a mean may be away.
DEVIATIONS = 4.0


def coins(rng, shape, rate):
    return (rng.random(shape) < rate).astype(float)


def least(errors):
    row, column = np.unravel_index(errors.argmin(), errors.shape)
    return int(row), int(column)


def least_of_the_first(errors):
    return 0, int(errors[0].argmin())


def test_known_facts_leave_a_count():
    wrong = np.zeros((2, 50, 3))
    wrong[1, :7, 2] = 1.0
    counted = GeneralizationErrors(wrong, NONE)
    assert counted.against_rule[1, 2] == 0.14
    low, high = counted.interval()
    expected = wilson_interval(7, 50)
    assert (low[1, 2], high[1, 2]) == pytest.approx((expected.low, expected.high))
    assert str(counted.estimate((1, 2))) == str(expected)


def test_hidden_facts_are_taken_off():
    wrong = np.zeros((1, 100, 1))
    wrong[0, :30] = 1.0
    counted = GeneralizationErrors(wrong, Estimate(0.2, 0.1, 0.4))
    assert counted.against_labels[0, 0] == 0.3
    assert counted.against_rule[0, 0] == pytest.approx((0.3 - 0.1) / 0.8)
    found, plain = counted.estimate((0, 0)), wilson_interval(30, 100)
    # The interval is that of the count at the worse end of the share.
    assert found.low == pytest.approx((plain.low - 0.2) / 0.6)
    assert found.high == pytest.approx((plain.high - 0.05) / 0.9)


def test_a_generalization_error_is_not_negative():
    counted = GeneralizationErrors(np.zeros((1, 40, 1)), Estimate(0.2, 0.1, 0.3))
    found = counted.estimate((0, 0))
    assert found.value == found.low == 0.0
    assert 0.0 <= found.high < 0.1


def test_an_error_set_to_zero_is_called_clipped():
    wrong = np.zeros((1, 100, 3))
    wrong[0, :5, 0] = wrong[0, :10, 1] = wrong[0, :20, 2] = 1.0
    counted = GeneralizationErrors(wrong, Estimate(0.2, 0.1, 0.3))
    assert counted.against_rule[0].tolist() == pytest.approx([0.0, 0.0, 0.125])
    # At ten of a hundred the facts explain every contradiction, and nothing is cut off.
    assert counted.clipped.tolist() == [[True, False, False]]


def test_nested_cross_validation_is_not_too_low():
    rng = np.random.default_rng(4)
    nested, least_seen = [], []
    for _ in range(100):
        counted = GeneralizationErrors(coins(rng, (6, 120, 5), 0.25), NONE)
        found = counted.nested(least, 0)
        assert found.wrong.shape == (1, 120, 1)
        nested.append(found.estimate().value)
        least_seen.append(counted.against_labels.min())
    error = np.std(nested) / np.sqrt(len(nested))
    assert abs(np.mean(nested) - 0.25) < DEVIATIONS * error
    assert np.mean(least_seen) < 0.25 - 10 * error
    # A choice that does not look at the errors is counted as it is.
    assert counted.nested(lambda _: (2, 1), 0).estimate() == counted.estimate((2, 1))


def test_the_same_choice_has_no_price_but_an_interval():
    wrong = coins(np.random.default_rng(0), (3, 80, 2), 0.2)
    price = GeneralizationErrors(wrong, NONE).excess(least, least, 0)
    assert price.value == 0.0
    assert price.high == -price.low == pytest.approx(1.959964 / 82)


def test_a_fixed_difference_is_that_of_the_samples():
    wrong = coins(np.random.default_rng(1), (2, 300, 1), np.array([0.3, 0.1])[:, None, None])
    price = GeneralizationErrors(wrong, NONE).excess(lambda _: (0, 0), lambda _: (1, 0), 0)
    assert price.value == pytest.approx(wrong[0].mean() - wrong[1].mean())
    assert price.low < 0.2 < price.high
    scaled = GeneralizationErrors(wrong, Estimate(0.5)).excess(lambda _: (0, 0), lambda _: (1, 0), 0)
    assert scaled.value == pytest.approx(2 * price.value)
    assert (scaled.low, scaled.high) == pytest.approx((2 * price.low, 2 * price.high))
    unsure = GeneralizationErrors(wrong, Estimate(0.5, 0.0, 0.75)).excess(lambda _: (0, 0), lambda _: (1, 0), 0)
    assert (unsure.low, unsure.high) == pytest.approx((price.low, 4 * price.high))


def test_the_best_of_many_has_no_advantage_by_luck():
    rng = np.random.default_rng(2)
    prices, lucky = [], []
    for _ in range(150):
        wrong = coins(rng, (6, 120, 5), 0.25)
        counted = GeneralizationErrors(wrong, NONE)
        prices.append(counted.excess(least_of_the_first, least, 0).value)
        lucky.append(wrong[0].mean(axis=0).min() - wrong.mean(axis=1).min())
    error = np.std(prices) / np.sqrt(len(prices))
    assert abs(np.mean(prices)) < DEVIATIONS * error
    assert np.mean(lucky) > 10 * error / DEVIATIONS


def test_intervals_cover_a_true_difference():
    rng = np.random.default_rng(3)
    rates = np.array([0.15, 0.1])[:, None, None]
    found = [GeneralizationErrors(coins(rng, (2, 150, 1), rates), NONE) for _ in range(300)]
    prices = [one.excess(lambda _: (0, 0), lambda _: (1, 0), 0) for one in found]
    # Of 300 draws 91 % is three standard errors below 95 %.
    assert np.mean([one.low <= 0.05 <= one.high for one in prices]) >= 0.91
