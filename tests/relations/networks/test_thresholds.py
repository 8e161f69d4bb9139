"""Where something begins to happen: known thresholds found again, intervals that hold them, and what is refused."""

import math

import numpy as np
import pytest
from scipy import optimize, special

from genlaws.core.errors import InputError
from genlaws.relations.networks.phases import (
    HALF_DEVIANCE,
    EventCounts,
    best_step,
    fit_boundary,
    fit_threshold,
    threshold_interval,
)

VALUES = np.logspace(-5, -2, 10)
GAP = 1.0 / 3.0  # decades between two of them
TRIALS = 100
FEWEST_COVERED = 0.87  # of intervals of 95 %: fewer of 100 has a probability below 1e-3


def outcomes(critical, steepness, networks, rng, sign=1.0, values=VALUES):
    """Return values of networks and what happened to them, by a logistic curve in decades."""
    given = np.repeat(values, networks)
    z = sign * steepness * np.log10(given / critical)
    return given, rng.random(given.size) < special.expit(z)


def covered(steepness, networks, sign=1.0, values=VALUES, trials=TRIALS):
    """Return the share of data sets whose interval holds the threshold, which may lie anywhere inside the values."""
    rng = np.random.default_rng(5)
    held = []
    for _ in range(trials):
        critical = 10.0 ** rng.uniform(*np.log10(values[[2, -3]]))
        found = fit_threshold(*outcomes(critical, steepness, networks, rng, sign, values))
        assert found.low <= found.value <= found.high
        held.append(found.low <= critical <= found.high)
    return np.mean(held)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["rises", "falls"])
@pytest.mark.parametrize("critical", [1.3e-4, 7e-4])
def test_a_known_threshold_is_found_again(critical, sign):
    found = fit_threshold(*outcomes(critical, 8.0, 400, np.random.default_rng(0), sign))
    assert found.value == pytest.approx(critical, rel=0.1)
    assert found.low < critical < found.high
    assert found.high / found.low < 1.3
    assert found.count == 4000


@pytest.mark.parametrize(("steepness", "networks"), [(6.0, 10), (20.0, 50)])
def test_intervals_cover_the_threshold_as_often_as_they_say(steepness, networks):
    assert covered(steepness, networks) >= FEWEST_COVERED


@pytest.mark.parametrize("values", [VALUES, np.linspace(0.30, 0.40, 10)], ids=["wide", "narrow"])
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["rises", "falls"])
def test_a_step_anywhere_between_separated_networks_is_covered(sign, values):
    assert covered(1e9, 40, sign, values, trials=30) == 1.0


@pytest.mark.parametrize("networks", [3, 10, 1000])
def test_separated_networks_leave_the_gap_between_them_however_many_there_are(networks):
    values, happened = np.repeat(VALUES, networks), np.repeat(VALUES > 1.1e-4, networks)
    found = fit_threshold(values, happened)
    assert found.value == pytest.approx(math.sqrt(VALUES[3] * VALUES[4]))
    assert (found.low, found.high) == pytest.approx((VALUES[3], VALUES[4]))
    assert fit_threshold(values, ~happened) == found


def test_few_separated_networks_leave_more_than_the_gap():
    found = fit_threshold(VALUES, VALUES > 1.1e-4)
    assert found.low < VALUES[3] / 1.2
    assert found.high > VALUES[4] * 1.2
    assert math.log10(found.high / found.low) < 3.0 * GAP


def test_the_ends_are_where_the_likelihood_has_fallen_by_half_the_deviance():
    given, happened = outcomes(3e-4, 5.0, 20, np.random.default_rng(2))
    sign = np.where(happened, 1.0, -1.0)

    def highest(critical):
        """Return the highest log-likelihood at a threshold, by another optimizer."""
        away = sign * np.log10(given / critical)
        at_best = optimize.minimize_scalar(lambda k: -special.log_expit(k * away).sum(), (0.0, 5.0))
        return -at_best.fun

    found = fit_threshold(given, happened)
    fall = [highest(found.value) - highest(one) for one in (found.low, found.high)]
    assert fall == pytest.approx([HALF_DEVIANCE] * 2, abs=1e-4)
    assert highest(found.value) > max(highest(found.value * 1.02), highest(found.value / 1.02))


def test_one_value_with_both_outcomes_between_separated_ones():
    found = fit_threshold([1.0] * 20 + [2.0] * 20 + [4.0] * 20, [False] * 20 + [False, True] * 10 + [True] * 20)
    assert found.value == pytest.approx(2.0)
    assert 1.7 < found.low < 2.0 < found.high < 2.4


@pytest.mark.parametrize(
    ("happened", "low_is_open", "high_is_open"),
    [
        ([0, 1], True, True),  # two networks: even may be the chance everywhere
        ([0] * 30 + [0] * 29 + [1], False, True),  # rare: the threshold may lie far above all values
        ([0] + [1] * 29 + [1] * 30, True, False),
    ],
)
def test_an_end_that_nothing_bounds_is_open(happened, low_is_open, high_is_open):
    values = np.repeat([1.0, 10.0], len(happened) // 2)
    found = fit_threshold(values, happened)
    assert (found.low == 0.0) == low_is_open
    assert (found.high == math.inf) == high_is_open
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize("factor", [1e-300, 1e-12, 1e12, 1e300])
def test_the_unit_of_the_values_does_not_matter(factor):
    given, happened = outcomes(3e-4, 6.0, 20, np.random.default_rng(3))
    plain, scaled = fit_threshold(given, happened), fit_threshold(given * factor, happened)
    for name in ("value", "low", "high"):
        assert getattr(scaled, name) == pytest.approx(getattr(plain, name) * factor, rel=1e-6)


def test_values_at_the_ends_of_the_numbers():
    values = np.repeat([1e-307, 1e308], 20)
    found = fit_threshold(values, values > 1.0)
    assert found.value == pytest.approx(math.sqrt(10.0))
    assert (found.low, found.high) == pytest.approx((1e-307, 1e308))


def test_order_and_repetition_of_the_networks_do_not_matter():
    given, happened = outcomes(3e-4, 6.0, 5, np.random.default_rng(4))
    order = np.random.default_rng(0).permutation(given.size)
    mixed, plain = fit_threshold(given[order], happened[order]), fit_threshold(given, happened.astype(int))
    for name in ("value", "low", "high"):
        assert getattr(mixed, name) == pytest.approx(getattr(plain, name), rel=1e-9)


@pytest.mark.parametrize(
    ("values", "above", "complaint"),
    [
        ([1.0, 2.0], [True, True], "true for some and false for others; got 2 of 2"),
        ([1.0, 2.0], [False, False], "got 0 of 2"),
        ([], [], "got 0 of 0"),
        ([3.0, 3.0, 3.0], [True, False, True], "values must differ between networks; got 3"),
        ([1.0, 1.0, 2.0, 2.0], [True, False, True, False], "its share does not change"),
        ([1.0, 2.0, 1.0, 2.0, 1.0, 2.0], [1, 1, 0, 0, 0, 0], "its share does not change"),
        ([math.nan, 1.0], [True, False], "values must not contain NaN"),
        ([math.inf, 1.0], [True, False], "values must be positive and finite"),
        ([0.0, 1.0], [True, False], "values must be positive"),
        ([1.0, 2.0, 3.0], [True, False], "one shape"),
        ([[1.0, 2.0]], [[True, False]], "one shape"),
        (1.0, True, "one shape"),
        ([1.0, 2.0], [0.0, math.nan], "above must be truth values"),
        ([1.0, 2.0], [0, 2], "above must be truth values"),
        ([1.0, 2.0], ["yes", "no"], "above must be truth values"),
    ],
)
def test_what_has_no_threshold_is_refused(values, above, complaint):
    with pytest.raises(InputError, match=complaint):
        fit_threshold(values, above)


@pytest.mark.parametrize(
    ("memorized", "complaint"),
    [([0, 1, 1, 0], "same share everywhere"), ([0.0, 1.0, math.nan, 0.0], "memorized must be truth values")],
)
def test_what_has_no_boundary_is_refused(memorized, complaint):
    with pytest.raises(InputError, match=complaint):
        fit_boundary([1.0, 1.0, 10.0, 10.0], [1.0, 10.0, 1.0, 10.0], memorized)


def test_one_encoder_rate_has_no_slope():
    with pytest.raises(InputError, match="must each take two values"):
        fit_boundary(VALUES, np.full(10, 1e-3), VALUES > 1e-4)


@pytest.mark.parametrize("angle", np.radians([-170, -135, -90, -45, -20, 30, 45, 90, 120]), ids=lambda a: f"{a:.2f}")
def test_a_clean_boundary_of_any_direction_is_found(angle):
    x, y = (one.ravel() for one in np.meshgrid(np.logspace(-5, -2, 16), np.logspace(-5, -2, 16)))
    across = math.cos(angle) * (np.log10(x) + 3.44) + math.sin(angle) * (np.log10(y) + 3.53)
    fit = fit_boundary(x, y, across > 0)
    assert fit.separated
    assert fit.width == 0.0
    assert fit.log_likelihood == 0.0
    slope = -math.cos(angle) / math.sin(angle)
    assert fit.slope.low <= slope <= fit.slope.high
    assert fit.slope.low <= fit.slope.value <= fit.slope.high
    assert math.atan(fit.slope.value) == pytest.approx(math.atan(slope), abs=0.1)


def test_a_step_in_the_ratio_anywhere_between_the_networks_is_covered():
    x, y = (np.repeat(one.ravel(), 30) for one in np.meshgrid(VALUES, VALUES))
    for shift in np.linspace(0.01, GAP - 0.01, 5):
        found = fit_boundary(x, y, x > y * 10.0 ** (GAP + shift)).critical_ratio
        assert found.low <= 10.0 ** (GAP + shift) <= found.high
        assert math.log10(found.high / found.low) == pytest.approx(GAP, abs=1e-6)


def test_a_clean_line_between_many_networks_is_covered():
    x, y = (np.repeat(one.ravel(), 40) for one in np.meshgrid(VALUES, VALUES))
    rng = np.random.default_rng(0)
    for _ in range(12):
        slope, shift = math.tan(rng.uniform(0.5, 1.07)), rng.uniform(-0.5, 0.5)
        fit = fit_boundary(x, y, slope * (np.log10(x) + 3.5) - (np.log10(y) + 3.5) > shift)
        assert fit.slope.low <= slope <= fit.slope.high


def test_no_boundary_leaves_every_slope_possible():
    x, y = (one.ravel() for one in np.meshgrid(VALUES, VALUES))
    fit = fit_boundary(x, y, np.random.default_rng(1).random(x.size) < 0.5)
    assert (fit.slope.low, fit.slope.high) == (-math.inf, math.inf)
    assert "any direction" in fit.slope_message
    assert fit.agrees_with_unit_slope


def test_the_best_curve_has_no_slope_left_to_climb():
    rng = np.random.default_rng(8)
    for _ in range(50):
        place = np.sort(rng.normal(size=12))
        hit = rng.binomial(6, special.expit(3.0 * place)).astype(float)
        counts = EventCounts(place, hit, 6.0 - hit)
        best = best_step(counts)
        assert 0.0 < best.steepness < math.inf
        left = hit - 6.0 * special.expit(best.steepness * (place - best.threshold))
        assert left.sum() == pytest.approx(0.0, abs=1e-4)
        assert left @ place == pytest.approx(0.0, abs=1e-4)
        low, high = threshold_interval(counts, best, HALF_DEVIANCE)
        assert low < best.threshold < high
