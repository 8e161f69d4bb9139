"""Turns of phase portraits: paths with a known count, and the random processes that turn by themselves."""

from itertools import pairwise

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.models.stream import Stream
from genlaws.residual_stream.dynamics.portraits import centered_winding, portraits, rotations, tangent_rotations
from genlaws.residual_stream.surrogates.comparison import against_permuted_points, against_surrogates

SITES, UNITS = 64, 8192
# Fig. 1F of the paper, read off the picture: size of the attention's and of the MLP's write.
ATTENTION_WRITES = """.6 .6 .6 .7 1.0 1.4 1.6 2.1 2.1 2.2 2.1 1.9 2.8 2.4 2.5 2.1 3.2 3.1 2.2 1.7 2.4 2.8 3.4 3.0 3.9
    3.7 7.8 7.2 8.7 10.2 13.9 19.2"""
MLP_WRITES = """.6 .7 1.2 1.5 2.3 2.8 2.8 3.2 3.2 3.3 3.5 3.7 4.0 4.5 4.7 4.9 5.1 5.1 5.5 4.9 5.3 5.5 5.8 5.2 6.2 6.0
    6.6 8.2 9.4 13.4 24.2"""
ROUNDING = 1e-12
# Standard errors of a mean, and of a standard deviation, that a true value stays within.
LARGEST_Z = 4.0


def velocities():
    sizes = np.empty(SITES - 1)
    sizes[0::2] = [float(word) for word in ATTENTION_WRITES.split()]
    sizes[1::2] = [float(word) for word in MLP_WRITES.split()]
    return sizes


def noise(seed, count=SITES):
    return np.random.default_rng(seed).standard_normal((count, UNITS))


def walk_of(steps):
    return np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])


def autoregressive(persistence, seed, count=SITES):
    drawn = noise(seed, count)
    drawn[0] /= np.sqrt(1 - persistence**2)
    for site in range(1, count):
        drawn[site] += persistence * drawn[site - 1]
    return drawn


# Means and standard deviations over 200,000 units (standard error .004), and what is quoted to fewer digits:
# 10.93 ± 1.68, 10.62 ± 1.67, 14.9, 11.4.
PROCESSES = {
    "random walk": (lambda: walk_of(noise(0, SITES - 1)), 10.944, 1.673),
    "walk with the paper's velocities": (lambda: walk_of(velocities()[:, None] * noise(1, SITES - 1)), 10.597, 1.661),
    "white noise": (lambda: noise(2), 14.847, 1.666),
    "autoregressive, .9": (lambda: autoregressive(0.9, 3), 11.393, 1.637),
    "persistent steps, .4": (lambda: walk_of(autoregressive(0.4, 4, SITES - 1)), 8.489, 1.603),
}


@pytest.mark.parametrize("name", PROCESSES)
def test_random_processes_turn_by_themselves(name):
    make, mean, deviation = PROCESSES[name]
    counts = rotations(make()).as_printed
    assert abs(counts.mean() - mean) < LARGEST_Z * deviation / np.sqrt(UNITS)
    assert abs(counts.std() - deviation) < LARGEST_Z * deviation / np.sqrt(2 * UNITS)


def test_a_random_walk_winds_about_its_mean():
    winding = rotations(walk_of(noise(5, SITES - 1))).centered_winding
    # -2.575 ± 1.590 over 200,000 units; the count is skewed, so the error of its deviation is larger than for a bell.
    assert abs(winding.mean() + 2.575) < LARGEST_Z * 1.59 / np.sqrt(UNITS)
    assert winding.std() == pytest.approx(1.59, rel=0.05)


def test_layer_shuffle_takes_the_gradient_anew():
    stream = Stream.from_states(walk_of(velocities()[:, None] * noise(6, SITES - 1)[:, :512])[None])
    test = against_surrogates(
        stream, lambda one: rotations(one).as_printed, surrogates=["layer shuffle"], draws=100, seed=0
    )
    means = test.of_mean().against["layer shuffle"]
    # 14.746 ± 1.633 over 200,000 units with orders of their own; here 100 orders are shared by all units.
    assert abs(means.mean - 14.746) < LARGEST_Z * means.standard_deviation / np.sqrt(100)
    assert means.standard_deviation < 1.0
    assert means.mean > rotations(stream).as_printed.mean() + 3


def test_permuted_points_turn_neither_way():
    stream = Stream.from_states(walk_of(noise(7, SITES - 1)[:, :512])[None])
    control = against_permuted_points(stream, draws=40, seed=0).against["permuted points"]
    assert abs(control.draws.mean()) < LARGEST_Z * 3.25 / np.sqrt(control.draws.size)
    assert control.draws.std() == pytest.approx(3.25, rel=0.02)  # 3.248 over 200,000 units


def test_backwards_a_path_has_the_opposite_count():
    drawn = portraits(noise(8)[:, :100])
    forwards = tangent_rotations(drawn.activation, drawn.gradient)
    backwards = tangent_rotations(drawn.activation[::-1], drawn.gradient[::-1])
    np.testing.assert_allclose(backwards, -forwards, atol=ROUNDING)


def test_counts_are_the_definition_written_out():
    a = noise(9)[:, :5]
    slope = np.gradient(a, axis=0)
    x, y = a - a[0], slope - slope[0]
    for unit in range(5):
        total = 0.0
        theta = [np.arctan2(y[k + 1, unit] - y[k, unit], x[k + 1, unit] - x[k, unit]) for k in range(SITES - 1)]
        for one, following in pairwise(theta):
            change = following - one
            while change > np.pi:
                change -= 2 * np.pi
            while change <= -np.pi:
                change += 2 * np.pi
            total += change
        assert rotations(a).tangent_rotations[unit] == pytest.approx(total / (2 * np.pi), abs=ROUNDING)


def test_one_period_of_a_sinusoid_is_one_turn_clockwise():
    phase = np.array([0.0, 0.8, 2.0])
    one = rotations(np.sin(2 * np.pi * np.arange(SITES)[:, None] / (SITES - 1) + phase))
    # The tangents are secants, and the gradient at both ends is one-sided.
    np.testing.assert_allclose(one.tangent_rotations, -1.0, atol=0.01)
    np.testing.assert_allclose(one.centered_winding, -1.0, atol=0.01)


def test_circles_count_with_their_sign():
    angle = 2 * np.pi * 3 * np.arange(61)[:, None] / 60 * np.array([1.0, -1.0])
    x, y = np.cos(angle), np.sin(angle)
    # The mean of the points lies a little off the middle, and one tangent is missing at the end.
    np.testing.assert_allclose(centered_winding(x, y), [3.0, -3.0], atol=0.01)
    np.testing.assert_allclose(tangent_rotations(x, y), [3 - 3 / 60, -3 + 3 / 60], atol=ROUNDING)


def test_a_reversal_counts_as_half_a_turn_counterclockwise():
    x = np.array([0.0, 1.0, 0.0, 1.0])[:, None]
    assert tangent_rotations(x, np.zeros((4, 1)))[0] == pytest.approx(1.0, abs=ROUNDING)


def test_straight_and_still_units_do_not_turn():
    sites = np.arange(10.0)
    np.testing.assert_array_equal(rotations(np.stack([sites, 0 * sites], axis=1)).tangent_rotations, [0.0, 0.0])


def test_a_stream_is_averaged_over_texts():
    states = np.random.default_rng(10).standard_normal((4, 12, 3)).astype(np.float32)
    of_stream, of_means = rotations(Stream.from_states(states)), rotations(states.mean(axis=0, dtype=np.float64))
    np.testing.assert_array_equal(of_stream.tangent_rotations, of_means.tangent_rotations)
    np.testing.assert_array_equal(of_stream.to_frame()["centered_winding"], of_means.centered_winding)
    assert "over 3 units" in str(of_stream)
    table = portraits(states.mean(axis=0)).to_frame()
    np.testing.assert_allclose(table.query("unit == 2")["activation"], states.mean(axis=0)[:, 2])


def test_too_few_sites_are_named():
    with pytest.raises(InputError, match="at least 3 sites"):
        rotations(np.zeros((2, 5)))
