"""Phases of a training, and the line fitted between them."""

import math

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.networks.phases import (
    CONFUSION,
    GENERALIZATION,
    GROKKING,
    MEMORIZATION,
    classify_phases,
    fit_boundary,
    grokking_delays,
    phase_fractions,
)

GRID = np.logspace(-5, -2, 8)
TRIALS = 10
FEWEST_COVERED = 7  # of 10 intervals of 95 %: fewer has a probability of 1e-3


def draw(slope, steepness, seed, networks=4):
    """Return rates and outcomes around a line of a slope through the middle of the grid."""
    x, y = (np.repeat(one.ravel(), networks) for one in np.meshgrid(GRID, GRID))
    across = (slope * (np.log10(x) + 3.5) - (np.log10(y) + 3.5)) / math.hypot(1.0, slope)
    chance = 1.0 / (1.0 + np.exp(-np.clip(steepness * across, -500, 500)))
    return x, y, np.random.default_rng(seed).random(x.size) < chance


def test_the_table_of_phases():
    train = [100, 100, 100, 100, -1, -1]
    test = [100, 1099, 1100, -1, -1, 50]
    wanted = [GENERALIZATION, GENERALIZATION, GROKKING, MEMORIZATION, CONFUSION, CONFUSION]
    assert classify_phases(train, test).tolist() == wanted
    assert classify_phases(train, test, grokking_delay=10).tolist()[1] == GROKKING
    assert classify_phases([200], [100]).tolist() == [GENERALIZATION]


def test_delays_need_both_steps():
    np.testing.assert_array_equal(grokking_delays([10, 10, -1], [30, -1, 5]), [20.0, np.nan, np.nan])


def test_fractions_carry_wilson_intervals():
    found = phase_fractions([0, 0, 0, 2])
    assert found["generalization"].value == 0.75
    assert found["grokking"].value == 0.0
    assert found["grokking"].high == pytest.approx(0.4899, abs=1e-4)  # Wilson, 0 of 4
    assert sum(one.value for one in found.values()) == 1.0


@pytest.mark.parametrize(("slope", "steepness"), [(1.0, 6.0), (1.0, 1000.0), (0.5, 6.0), (2.0, 6.0)])
def test_intervals_cover_the_true_slope(slope, steepness):
    fits = [fit_boundary(*draw(slope, steepness, seed)) for seed in range(TRIALS)]
    assert sum(fit.slope.low <= slope <= fit.slope.high for fit in fits) >= FEWEST_COVERED
    assert np.mean([fit.slope.value for fit in fits]) == pytest.approx(slope, rel=0.1)
    if slope == 1.0:
        assert sum(fit.critical_ratio.low <= 1.0 <= fit.critical_ratio.high for fit in fits) >= FEWEST_COVERED
        assert sum(fit.agrees_with_unit_slope for fit in fits) >= FEWEST_COVERED
    else:
        assert not any(fit.agrees_with_unit_slope for fit in fits)


def test_clean_separation_leaves_what_the_grid_allows():
    x, y = (one.ravel() for one in np.meshgrid(GRID, GRID))
    fit = fit_boundary(x, y, x > 1.5 * y)
    assert fit.separated
    assert fit.width == 0.0
    step = 3.0 / 7.0  # decades between neighbors of the grid
    assert math.log10(fit.critical_ratio.high / fit.critical_ratio.low) == pytest.approx(step, abs=0.25)
    assert 0.5 < fit.slope.low < 1.0 < fit.slope.high < 2.0
    assert fit.agrees_with_unit_slope


@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
def test_the_point_lies_on_the_true_line(slope):
    fit = fit_boundary(*draw(slope, 6.0, 2, networks=40))
    decoder, encoder = np.log10(fit.point) + 3.5  # the line passes through the middle of the grid
    assert abs(slope * decoder - encoder) / math.hypot(1.0, slope) < 0.05
    assert math.hypot(decoder, encoder) < 0.05


def test_point_and_slope_separate_what_can_be_separated():
    x, y = (one.ravel() for one in np.meshgrid(GRID, GRID))
    failed = np.log10(x) > 0.7 * np.log10(y) - 1.3
    fit = fit_boundary(x, y, failed)
    beyond = fit.slope.value * np.log10(x / fit.point[0]) - np.log10(y / fit.point[1])
    assert ((beyond > 0) == failed).all()


def test_overlap_has_a_width():
    x, y, memorized = draw(1.0, 6.0, 1, networks=40)
    assert fit_boundary(x, y, memorized).width == pytest.approx(2.0 * math.log(3.0) / 6.0, rel=0.15)


def test_a_vertical_boundary_has_an_infinite_end():
    x, y = (one.ravel() for one in np.meshgrid(GRID, GRID))
    found = fit_boundary(x, y, x > 1e-4)
    assert found.slope.high == math.inf
    assert bool(found.slope_message) == math.isinf(found.slope.value)
    assert fit_boundary(x, y, x > 1.5 * y).slope_message == ""


@pytest.mark.parametrize(
    ("failed", "separated"),
    [
        (lambda x, y: x * y > 2e-7, True),  # leans back
        (lambda x, y: x * y < 2e-7, True),  # the other way round: nothing changes with the ratio
        (lambda x, y: x < 1e-4, True),
        (lambda x, y: np.arange(x.size) % 5 == 0, False),
    ],
)
def test_intervals_hold_their_values_whichever_way_the_boundary_leans(failed, separated):
    x, y = (one.ravel() for one in np.meshgrid(GRID, GRID))
    fit = fit_boundary(x, y, failed(x, y))
    assert fit.separated == separated
    for one in (fit.slope, fit.critical_ratio):
        assert one.low <= one.value <= one.high
    if separated and math.isfinite(fit.slope.value):
        assert fit.slope.low < -1.0 < fit.slope.high < 0.0


def test_a_flat_curve_has_no_finite_threshold():
    found = fit_boundary([1.0, 1.0, 10.0, 10.0], [1.0, 10.0, 1.0, 10.0], [False, True, False, False])
    assert found.critical_ratio.value == math.inf


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (([1e-3, 1e-3], [1e-3, 1e-3], [True, True]), "some networks"),
        (([1e-3, 1e-3], [1e-3, 1e-3], [False, False]), "some networks"),
        (([1e-3, 0.0], [1e-3, 1e-3], [True, False]), "decoder_rate must"),
        (([1e-3], [1e-3, 1e-3], [True, False]), "one shape"),
    ],
)
def test_wrong_input_is_refused(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        fit_boundary(*arguments)


def test_wrong_phases_are_refused():
    with pytest.raises(InputError, match="whole numbers from 0 to 3"):
        phase_fractions([4])
    with pytest.raises(InputError, match="one shape"):
        classify_phases([1, 2], [1])
