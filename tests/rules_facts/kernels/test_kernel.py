"""Kernels from numbers, angles, activations, functions and names."""

import dataclasses
import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genlaws.core.errors import ConvergenceError, InputError
from genlaws.rules_facts.kernels.deep import NETWORK_FAMILIES
from genlaws.rules_facts.kernels.families import FAMILIES
from genlaws.rules_facts.kernels.kernel import Kernel

# What the Gaussian averages and the interpolated slope promise.
AVERAGE_TOLERANCE = 1e-12
# The values of σ come rounded, so μ* has an error of this size relative to the root mean square of σ.
ROUNDING = 1e-15
SLOPE_TOLERANCE = 1e-11
sizes = st.floats(min_value=1e-6, max_value=1e6)
not_a_size = st.one_of(
    st.floats(max_value=-1e-300),
    st.just(math.nan),
    st.just(math.inf),
    st.text(max_size=3),
    st.booleans(),
    st.none(),
    st.complex_numbers(),
)


@given(sizes, sizes)
def test_a_single_kernel_holds_plain_floats(mu_1, mu_star):
    kernel = Kernel(mu_1, mu_star)
    assert type(kernel.mu_1) is float
    assert type(kernel.mu_star) is float
    assert type(kernel.kernel_angle) is float
    assert (kernel.mu_1, kernel.mu_star, kernel.shape) == (mu_1, mu_star, ())
    assert kernel.kernel_angle == pytest.approx(math.pi / 2 - math.atan(mu_star / mu_1), abs=1e-15)


def test_arrays_broadcast_and_are_fixed():
    mu_1 = np.ones((3, 1))
    kernel = Kernel(mu_1, [0.0, 1.0], name="pair")
    mu_1[0] = 7.0
    assert kernel.shape == (3, 2)
    np.testing.assert_array_equal(kernel.kernel_angle, np.tile([np.pi / 2, np.pi / 4], (3, 1)))
    with pytest.raises(ValueError, match="read-only"):
        kernel.mu_1[0, 0] = 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernel.mu_1 = 1.0
    assert kernel[1, 0].mu_star == 0.0
    assert kernel[:, 1].shape == (3,)
    assert kernel[0].name == "pair"
    with pytest.raises(TypeError, match="single kernel"):
        Kernel.linear()[0]


def test_broadcast_to():
    assert Kernel.linear().broadcast_to((2, 3)).shape == (2, 3)
    assert Kernel([1.0, 2.0], 1.0).broadcast_to(2).shape == (2,)
    with pytest.raises(InputError, match="shape"):
        Kernel([1.0, 2.0], 1.0).broadcast_to((2, 3))


def test_a_kernel_can_be_sent_and_changed():
    kernel = pickle.loads(pickle.dumps(Kernel([1.0, 2.0], 1.0, "two")))
    np.testing.assert_array_equal(kernel.mu_1, [1.0, 2.0])
    assert dataclasses.replace(kernel, name="other").name == "other"


def test_repr_is_readable():
    assert repr(Kernel.linear()) == "Kernel(mu_1=1, mu_star=0, angle=1.5708, name='linear')"
    assert repr(Kernel.from_angle([0.5, 1.0])) == "Kernel(shape=(2,), angle from 0.5 to 1)"
    assert repr(Kernel([], [])) == "Kernel(shape=(0,))"


@given(not_a_size)
def test_bad_numbers_are_refused_by_name(bad):
    with pytest.raises(InputError, match="mu_1"):
        Kernel(bad, 1.0)
    with pytest.raises(InputError, match="mu_star"):
        Kernel(1.0, bad)


@given(st.floats(max_value=-1e-300) | st.just(math.nan) | st.just(math.inf))
def test_one_bad_number_in_an_array_is_found(bad):
    with pytest.raises(InputError, match="mu_1"):
        Kernel([1.0, bad], 1.0)


def test_impossible_kernels_are_refused():
    with pytest.raises(InputError, match="mu_1 and mu_star must not both be zero"):
        Kernel([1.0, 0.0], 0.0)
    with pytest.raises(InputError, match=r"mu_1 \(2,\), mu_star \(3,\)"):
        Kernel([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="name must be text"):
        Kernel(1.0, 1.0, name=3)


@given(st.floats(min_value=1e-9, max_value=np.pi / 2))
def test_from_angle_gives_the_angle_back(angle):
    kernel = Kernel.from_angle(angle)
    assert kernel.kernel_angle == pytest.approx(angle, rel=1e-15)
    assert kernel.mu_1**2 + kernel.mu_star**2 == pytest.approx(1.0, rel=1e-15)


def test_the_right_angle_is_exactly_linear():
    kernel = Kernel.from_angle([np.pi / 2, 1.0])
    assert kernel.mu_1[0] == 1.0
    assert kernel.mu_star[0] == 0.0


@given(st.one_of(st.floats(max_value=0.0), st.floats(min_value=1.5708), st.just(math.nan), st.text(max_size=3)))
def test_bad_angles_are_refused(angle):
    with pytest.raises(InputError, match="angle"):
        Kernel.from_angle(angle)


def precise_moments(activation, points):
    """(μ1, μ*) by mpmath in 30 digits; `points` split the line."""
    with mpmath.workdps(30):
        density = mpmath.npdf
        mu_0 = mpmath.quad(lambda z: activation(z) * density(z), points)
        mu_1 = mpmath.quad(lambda z: z * activation(z) * density(z), points)
        rest = mpmath.quad(lambda z: (activation(z) - mu_0 - mu_1 * z) ** 2 * density(z), points)
        return float(abs(mu_1)), float(mpmath.sqrt(rest))


ACTIVATIONS = {
    "tanh": (np.tanh, mpmath.tanh, ()),
    "tanh, decreasing": (lambda z: -np.tanh(z), mpmath.tanh, ()),
    "softplus": (lambda z: np.logaddexp(0.0, z), lambda z: mpmath.log(1 + mpmath.exp(z)), ()),
    "almost linear": (lambda z: z + 1e-7 * z**2, lambda z: z + mpmath.mpf("1e-7") * z**2, ()),
    "clipped": (lambda z: np.clip(z, -0.3, 0.3), lambda z: max(min(z, 0.3), -0.3), (-0.3, 0.3)),
    "step at 0.7": (lambda z: z > 0.7, lambda z: 1 if z > 0.7 else 0, (0.7,)),
    "one by one": (lambda z: z if z > 0 else math.expm1(z), lambda z: z if z > 0 else mpmath.expm1(z), ()),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_against_mpmath(name):
    activation, precise, kinks = ACTIVATIONS[name]
    expected = precise_moments(precise, sorted({-12, -6, -2, 0, 2, 6, 12, *kinks}))
    for named in ((), kinks):
        found = Kernel.from_activation(activation, kinks=named, name=name)
        np.testing.assert_allclose([found.mu_1, found.mu_star], expected, rtol=AVERAGE_TOLERANCE, atol=ROUNDING)
        assert found.name == name


def test_a_linear_activation_has_no_mu_star():
    kernel = Kernel.from_activation(lambda z: 3.0 * z - 2.0)
    assert kernel.mu_star == 0.0
    assert kernel.mu_1 == pytest.approx(3.0, rel=1e-14)


def test_an_even_activation_has_no_mu_1():
    kernel = Kernel.from_activation(abs)
    assert kernel.mu_1 == 0.0
    assert kernel.mu_star == pytest.approx(math.sqrt(1 - 2 / math.pi), rel=AVERAGE_TOLERANCE)


def test_activations_without_an_average_are_refused():
    random = np.random.default_rng(1)
    for rate in (0.25, 1.0, 2.0):
        with pytest.raises(ConvergenceError, match="grow more slowly"):
            Kernel.from_activation(lambda z, rate=rate: np.exp(rate * z**2))
    with pytest.raises(ConvergenceError, match="settle"):
        Kernel.from_activation(lambda z: random.normal(size=np.shape(z)))
    with pytest.raises(InputError, match="constant"):
        Kernel.from_activation(lambda z: 1.0)


@pytest.mark.parametrize("bad", [3.0, None, "relu", np.log, math.log, lambda z: None, lambda z: 1j * z])
def test_bad_activations_are_refused(bad):
    with pytest.raises(InputError, match="activation"):
        Kernel.from_activation(bad)


@pytest.mark.parametrize("bad", [3.0, None, "relu", lambda t: math.nan, lambda t: None])
def test_bad_functions_are_refused(bad):
    with pytest.raises(InputError, match="function"):
        Kernel.from_function(bad)


@given(st.floats(0.01, 2.0), st.floats(0.01, 2.0), st.floats(0.0, 3.0))
@settings(max_examples=40)
def test_from_function_reads_the_coefficients_of_a_power_series(first, second, constant):
    kernel = Kernel.from_function(lambda t: constant + first * t + second * (t**2 + t**5) / 2)
    assert kernel.mu_1**2 == pytest.approx(first, rel=1e-10)
    assert kernel.mu_star**2 == pytest.approx(second, rel=1e-10)


@pytest.mark.parametrize("rate", [0.01, 1.0, 10.0, 50.0])
def test_from_function_follows_steep_kernels(rate):
    found = Kernel.from_function(lambda t: math.exp(-rate * (1.0 - t)))
    expected = Kernel.from_name(f"gaussian:{rate}")
    np.testing.assert_allclose(found.mu_1, expected.mu_1, rtol=SLOPE_TOLERANCE)
    # μ*² is a difference: its error is one of rounding relative to k(1).
    assert found.mu_star**2 == pytest.approx(expected.mu_star**2, abs=1e-14)


def test_functions_of_special_form():
    assert Kernel.from_function(lambda t: t).mu_star == 0.0
    assert Kernel.from_function(lambda t: t**2).mu_1 == 0.0
    assert Kernel.from_function(lambda t: 1e-9 * t**2).mu_star == pytest.approx(math.sqrt(1e-9), rel=1e-12)


@pytest.mark.parametrize("bad", [lambda t: -t, lambda t: t - t**2 / 2, lambda t: -(t**2)])
def test_functions_that_are_not_kernels_are_refused(bad):
    with pytest.raises(InputError, match="function must be a positive-definite dot-product kernel"):
        Kernel.from_function(bad)


def test_a_function_with_no_slope_at_zero_is_refused():
    with pytest.raises(ConvergenceError, match="smooth around zero"):
        Kernel.from_function(np.cbrt)


NAMES = {
    "relu": (0.25, 0.25 - 0.5 / np.pi),
    "polynomial:2": (2.0, 1.0),
    "polynomial:3,0.5": (0.75, 2.5),
    " gaussian:1.5 ": (1.5 * math.exp(-1.5), 1 - 2.5 * math.exp(-1.5)),
    "nngp-erf:1": (4 / (3 * np.pi), 2 / np.pi * math.asin(2 / 3) - 4 / (3 * np.pi)),
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    kernel = Kernel.from_name(name)
    np.testing.assert_allclose([kernel.mu_1**2, kernel.mu_star**2], NAMES[name], rtol=1e-13)
    assert kernel.name == name.strip()


@pytest.mark.parametrize("name", NETWORK_FAMILIES)
def test_network_names(name):
    kind, activation = name.split("-")
    kernel = Kernel.from_name(f"{name}:2")
    same = Kernel.network(depth=2, activation=activation, kind=kind)
    assert (kernel.mu_1, kernel.mu_star, kernel.name) == (same.mu_1, same.mu_star, f"{name}:2")


REFUSED_NAMES = {
    "gaussian": "gaussian takes rate, for example gaussian:1.5; got none",
    "relu:2": "relu takes no parameter; got 1",
    "gaussian:1,2": "gaussian takes rate.*got 2",
    "gaussian:": "rate must be a number",
    "gaussian:wide": "rate must be a number; got 'wide'",
    "gaussian:-1": "rate must lie in",
    "gaussian:nan": "rate must not contain NaN",
    "polynomial:2.5": "degree must be a whole number",
    "geometric:1": "ratio must lie in",
    "nngp-relu": "nngp-relu takes the depth",
    "ntk-relu:0": "depth must be a whole number, at least 1",
    "ntk-relu:x": "depth must be a whole number; got 'x'",
    "ntk-sign:2": "kernel must be one of linear, sign",
}


@pytest.mark.parametrize("name", REFUSED_NAMES)
def test_bad_names_say_what_is_wrong(name):
    with pytest.raises(InputError, match=REFUSED_NAMES[name]):
        Kernel.from_name(name)


@given(st.one_of(st.text(max_size=12), st.integers(), st.none()))
def test_unknown_names_list_the_known_ones(name):
    if isinstance(name, str) and name.strip().partition(":")[0] in {*FAMILIES, *NETWORK_FAMILIES}:
        return
    with pytest.raises(InputError, match=r"kernel must be one of linear, .*gaussian.*ntk-erf"):
        Kernel.from_name(name)
