"""Two repons on a line: the exact solution against an integrator, against mpmath, and by its symmetries."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from genlaws.core.errors import InputError
from genlaws.relations import (
    decoder_pull,
    gain_shrink_time,
    pair_invariant,
    pair_limit,
    pair_path,
    separation_shrink_time,
)

INTEGRATED = 1e-9  # what the integrator keeps over these times
ROUNDING = 2e-13  # a few operations, next to numbers of order one
CASES = 300

rates = st.floats(0.05, 20.0)
sizes = st.floats(-4.0, 4.0)
times = st.one_of(st.floats(0.0, 50.0), st.just(np.inf))


@pytest.fixture(scope="module")
def integrated():
    """Random starts of every sign, followed as one system by an integrator of order eight."""
    rng = np.random.default_rng(3)
    gain, separation = rng.normal(size=(2, CASES)) * 1.5
    eta_x, eta_a = np.exp(rng.normal(size=(2, CASES)) * 0.7)
    cluster = rng.choice([1.0, 2.0, 7.0, np.inf], size=CASES)
    pull = 4.0 / (1.0 + 1.0 / cluster)
    gain[:10], separation[5:15] = 0.0, 0.0

    def velocity(_, state):
        a, c = state.reshape(2, -1)
        return np.concatenate([-pull * eta_a * c**2 * a, -eta_x * a**2 * c])

    t = np.array([0.0, 0.01, 0.3, 1.0, 5.0])
    start = np.concatenate([gain, separation])
    found = solve_ivp(velocity, (0, t[-1]), start, method="DOP853", t_eval=t, rtol=1e-12, atol=1e-14)
    a, c = found.y.reshape(2, CASES, -1)
    return gain, separation, t, {"encoder_rate": eta_x, "decoder_rate": eta_a, "cluster": cluster}, a, c


def test_the_solution_is_that_of_the_integrator(integrated):
    gain, separation, t, given_rates, a, c = integrated
    column = {name: value[:, None] for name, value in given_rates.items()}
    path = pair_path(gain[:, None], separation[:, None], t, **column)
    np.testing.assert_allclose(path.decoder_gain, a, atol=INTEGRATED)
    np.testing.assert_allclose(path.half_separation, c, atol=INTEGRATED)
    merges = {bool(path.merges[i, 0]) for i in range(CASES)}
    assert merges == {True, False}


def test_the_invariant_is_constant_along_integrated_and_exact_paths(integrated):
    gain, separation, t, given_rates, a, c = integrated
    column = {name: value[:, None] for name, value in given_rates.items()}
    start = pair_invariant(gain, separation, **given_rates)[:, None]
    size = 1.0 + np.abs(start)
    np.testing.assert_allclose((pair_invariant(a, c, **column) - start) / size, 0.0, atol=1e-10)
    path = pair_path(gain[:, None], separation[:, None], t, **column)
    again = pair_invariant(path.decoder_gain, path.half_separation, **column)
    np.testing.assert_allclose((again - start) / size, 0.0, atol=ROUNDING)


def exact(a0, c0, t, eta_x, eta_a, pull=2):
    """The logistic law at 60 digits."""
    with mpmath.workdps(60):
        a0, c0, t, eta_x, eta_a = (mpmath.mpf(value) for value in (a0, c0, t, eta_x, eta_a))
        rate = 2 * eta_x * a0**2 - 2 * pull * eta_a * c0**2
        grown = 1 + 2 * pull * eta_a * c0**2 * (t if rate == 0 else (1 - mpmath.exp(-rate * t)) / rate)
        return float(a0 / mpmath.sqrt(grown)), float(c0 * mpmath.exp(-rate * t / 2) / mpmath.sqrt(grown))


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("exponent", [1, 3, 5, 7, 9, 11, 13, 15, 17])
@pytest.mark.parametrize("t", [1e-12, 0.1, 3.0, 100.0])
def test_the_solution_is_smooth_through_the_boundary(side, exponent, t):
    c0 = 0.5 * (1.0 + side * 10.0**-exponent)
    path = pair_path(1.0, c0, t, encoder_rate=0.5, decoder_rate=1.0)
    a, c = exact(1.0, c0, t, 0.5, 1.0)
    assert float(path.decoder_gain) == pytest.approx(a, rel=1e-12)
    assert float(path.half_separation) == pytest.approx(c, rel=1e-12)


def test_on_the_boundary_both_vanish_by_a_power_law():
    t = np.array([0.0, 1.0, 1e3, 1e12, np.inf])
    path = pair_path(1.0, 0.5, t, encoder_rate=0.5, decoder_rate=1.0)
    np.testing.assert_array_equal(path.rate, 0.0)
    np.testing.assert_allclose(path.decoder_gain, 1.0 / np.sqrt(1.0 + t), rtol=1e-14)
    np.testing.assert_allclose(path.half_separation, 0.5 / np.sqrt(1.0 + t), rtol=1e-14)
    assert path.merges.all()


def test_ends_and_starts():
    start = {"encoder_rate": 1.5, "decoder_rate": 0.5}
    gain, separation = np.array([2.0, -2.0, 0.3, 0.0, 1.0, 0.0]), np.array([0.5, 0.5, -2.0, -1.0, 0.0, 0.0])
    first = pair_path(gain, separation, 0.0, **start)
    np.testing.assert_array_equal(first.decoder_gain, gain)
    np.testing.assert_array_equal(first.half_separation, separation)
    last = pair_limit(gain, separation, **start)
    c = pair_invariant(gain, separation, **start)
    expected_gain = np.sign(gain) * np.sqrt(np.maximum(0.0, 2 * 0.5 * c))
    np.testing.assert_allclose(last.decoder_gain, expected_gain, atol=1e-15)
    np.testing.assert_allclose(last.half_separation, np.sign(separation) * np.sqrt(np.maximum(0, -1.5 * c)), atol=1e-15)
    np.testing.assert_array_equal(last.merges, [True, True, False, False, True, True])
    late = pair_path(gain, separation, 1e300, **start)
    np.testing.assert_allclose(late.decoder_gain, last.decoder_gain, atol=1e-15)


def test_what_vanishes_decays_at_half_the_rate():
    for gain, separation, name in ((1.0, 0.2, "half_separation"), (0.2, 1.0, "decoder_gain")):
        path = pair_path(gain, separation, [40.0, 41.0], encoder_rate=0.5, decoder_rate=0.4)
        before, after = getattr(path, name)
        assert np.log(before / after) == pytest.approx(abs(path.rate[0]) / 2, rel=1e-9)


@given(sizes, sizes, times, rates, rates, st.sampled_from([1, 2, 10, np.inf]))
def test_symmetries(a, c, t, eta_x, eta_a, cluster):
    given_rates = {"encoder_rate": eta_x, "decoder_rate": eta_a, "cluster": cluster}
    path = pair_path(a, c, t, **given_rates)
    mirrored = pair_path(-a, c, t, **given_rates)
    assert mirrored.decoder_gain == -path.decoder_gain
    assert mirrored.half_separation == path.half_separation
    # Neither grows, neither changes sign.
    assert abs(path.decoder_gain) <= abs(a)
    assert abs(path.half_separation) <= abs(c)
    assert path.decoder_gain * a >= 0
    assert path.half_separation * c >= 0
    # Time is measured in inverse rates: both faster, and the same happens sooner.
    sooner = pair_path(a, c, t / 4.0, encoder_rate=4 * eta_x, decoder_rate=4 * eta_a, cluster=cluster)
    assert sooner.decoder_gain == pytest.approx(path.decoder_gain, rel=1e-12, abs=1e-300)
    # Lengths may be rescaled with the time.
    scaled = pair_path(2 * a, 2 * c, t / 4.0, **given_rates)
    assert scaled.half_separation == pytest.approx(2 * path.half_separation, rel=1e-12, abs=1e-300)
    # Gain and separation exchange their roles with their rates.
    pull = float(decoder_pull(cluster))
    swapped = pair_path(c, a, t, encoder_rate=pull * eta_a, decoder_rate=eta_x / 2.0)
    assert swapped.decoder_gain == pytest.approx(path.half_separation, rel=1e-9, abs=1e-12)


@given(sizes, sizes, st.floats(0.0, 5.0), st.floats(0.0, 5.0), rates, rates)
def test_two_steps_are_one(a, c, first, second, eta_x, eta_a):
    given_rates = {"encoder_rate": eta_x, "decoder_rate": eta_a}
    middle = pair_path(a, c, first, **given_rates)
    end = pair_path(middle.decoder_gain, middle.half_separation, second, **given_rates)
    whole = pair_path(a, c, first + second, **given_rates)
    # The invariant of the middle is rounded next to its terms, and the second time multiplies that.
    slack = 1e-14 * (1.0 + 40.0 * (eta_x * a**2 + 4 * eta_a * c**2) * second)
    assert end.decoder_gain == pytest.approx(whole.decoder_gain, rel=slack, abs=1e-150)
    assert end.half_separation == pytest.approx(whole.half_separation, rel=slack, abs=1e-150)


@given(st.floats(0.1, 3.0), st.floats(0.1, 3.0), st.floats(1e-6, 1.0), rates, rates)
def test_times_to_shrink_are_put_back_into_the_path(a, c, factor, eta_x, eta_a):
    given_rates = {"encoder_rate": eta_x, "decoder_rate": eta_a, "cluster": 3}
    end = pair_limit(a, c, **given_rates)
    for name, time, start, last in (
        ("half_separation", separation_shrink_time(a, c, factor, **given_rates), c, end.half_separation),
        ("decoder_gain", gain_shrink_time(a, c, factor, **given_rates), a, end.decoder_gain),
    ):
        if np.isfinite(time):
            reached = getattr(pair_path(a, c, time, **given_rates), name)
            assert reached == pytest.approx(factor * start, rel=1e-6)
        else:
            assert factor * start <= last * (1 + 1e-9)


def test_times_to_shrink_at_their_ends():
    given_rates = {"encoder_rate": 1.0, "decoder_rate": 1.0}
    assert separation_shrink_time(1.0, 0.3, 1.0, **given_rates) == 0.0
    assert separation_shrink_time(1.0, 0.3, 0.0, **given_rates) == np.inf
    assert separation_shrink_time(0.0, 0.3, 0.5, **given_rates) == np.inf
    assert separation_shrink_time(1.0, 0.0, 0.5, **given_rates) == 0.0
    assert separation_shrink_time(0.1, 3.0, 0.5, **given_rates) == np.inf
    assert gain_shrink_time(1.0, 0.3, 0.5, **given_rates) == np.inf
    assert separation_shrink_time(1.0, 0.5**0.5, 0.1, **given_rates) == pytest.approx(99 / 2)
    small, smaller = separation_shrink_time(1.0, 0.3, [1e-90, 1e-110], **given_rates)
    rate = 2.0 - 4 * 0.09
    assert smaller - small == pytest.approx(2 * np.log(1e20) / rate, rel=1e-12)


def test_the_pull_of_a_cluster():
    np.testing.assert_allclose(decoder_pull([1, 3, np.inf]), [2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: pair_path(1.0, 1.0, -1.0, encoder_rate=1, decoder_rate=1), "time must be zero, positive or infinite"),
        (lambda: pair_path(1.0, 1.0, 1.0, encoder_rate=0, decoder_rate=1), "encoder_rate must be positive"),
        (lambda: pair_path(1.0, 1.0, 1.0, encoder_rate=1, decoder_rate=-2), "decoder_rate must be positive"),
        (lambda: pair_path(np.nan, 1.0, 1.0, encoder_rate=1, decoder_rate=1), "decoder_gain must not contain NaN"),
        (lambda: pair_path(np.inf, 1.0, 1.0, encoder_rate=1, decoder_rate=1), "must be finite"),
        (lambda: pair_path(1e200, 1.0, 1.0, encoder_rate=1, decoder_rate=1), "must be finite"),
        (lambda: pair_path([1, 2], [1, 2, 3], 1.0, encoder_rate=1, decoder_rate=1), "broadcast together"),
        (lambda: pair_path([1, 2], 1, [1, 2, 3], encoder_rate=1, decoder_rate=1), "broadcast together"),
        (lambda: decoder_pull(0.5), "cluster must lie in [1, inf]"),
        (lambda: separation_shrink_time(1, 1, 1.5, encoder_rate=1, decoder_rate=1), "factor must lie in [0, 1]"),
    ],
)
def test_wrong_input_is_refused(call, complaint):
    with pytest.raises(InputError) as caught:
        call()
    assert complaint in str(caught.value)


def test_two_hundred_single_starts_against_a_stiff_integrator():
    rng = np.random.default_rng(8)
    t = np.array([0.0, 0.3, 2.0, 10.0])
    for gain, separation, *logs in rng.normal(size=(200, 4)):
        eta_x, eta_a = np.exp(0.7 * np.array(logs))

        def velocity(_, state, eta_x=eta_x, eta_a=eta_a):
            a, c = state
            return [-2.0 * eta_a * c**2 * a, -eta_x * a**2 * c]

        found = solve_ivp(velocity, (0, 10), [gain, separation], method="LSODA", t_eval=t, rtol=1e-12, atol=1e-14).y
        path = pair_path(gain, separation, t, encoder_rate=eta_x, decoder_rate=eta_a)
        np.testing.assert_allclose([path.decoder_gain, path.half_separation], found, atol=INTEGRATED)
