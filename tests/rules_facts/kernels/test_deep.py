"""Kernels of wide networks: closed forms, chain rule, numerical averages and finite networks agree."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erf

from genlaws.core.errors import ConvergenceError, InputError
from genlaws.rules_facts.kernels.deep import CLOSED_FORMS, network_kernel, vectorized
from genlaws.rules_facts.kernels.families import FAMILIES
from genlaws.rules_facts.kernels.kernel import Kernel

# The chain rule against the interpolated slope of the composed function.
SLOPE_TOLERANCE = 1e-10
# Closed forms against nested quadrature, which agrees with itself to 1e-11.
AVERAGE_TOLERANCE = 1e-10
CORRELATIONS = np.linspace(-1.0, 1.0, 9)


def relu(z):
    return np.maximum(z, 0.0)


def step(z):
    return np.heaviside(z, 0.5)


def erf_slope(z):
    return 2.0 / np.sqrt(np.pi) * np.exp(-(z**2))


CALLABLES = {"relu": (relu, step), "erf": (erf, erf_slope), "sign": (np.sign, None)}
CASES = [
    (activation, kind, depth, weight, bias)
    for activation, kind in [("relu", "nngp"), ("relu", "ntk"), ("erf", "nngp"), ("erf", "ntk"), ("sign", "nngp")]
    for depth, weight, bias in [(1, 1.0, 0.0), (3, None, 0.0), (2, 1.7, 0.3), (6, 1.3, 0.1)]
]


@pytest.mark.parametrize("activation", CLOSED_FORMS)
def test_one_layer_is_the_kernel_of_the_activation(activation):
    network = network_kernel(1, activation, weight_variance=1.0)
    family = FAMILIES[activation]
    np.testing.assert_allclose([network.mu_1_squared, network.mu_star_squared], family.squares(), rtol=1e-13)
    np.testing.assert_allclose(network.function(CORRELATIONS), family.evaluate(CORRELATIONS), atol=1e-15)
    # A scale of the weights changes ReLU and sign kernels by a factor alone, so the default has the same angle.
    if activation != "erf":
        default = Kernel.network(1, activation)
        assert default.kernel_angle == pytest.approx(Kernel.from_name(activation).kernel_angle, rel=1e-14)


@pytest.mark.parametrize(("activation", "kind", "depth", "weight", "bias"), CASES)
def test_the_chain_rule_agrees_with_the_composed_function(activation, kind, depth, weight, bias):
    network = network_kernel(depth, activation, kind, weight_variance=weight, bias_variance=bias)
    found = Kernel.from_function(network.function)
    squares = [found.mu_1**2, found.mu_star**2]
    np.testing.assert_allclose([network.mu_1_squared, network.mu_star_squared], squares, rtol=SLOPE_TOLERANCE)


@pytest.mark.parametrize(("activation", "kind", "depth", "weight", "bias"), [case for case in CASES if case[2] < 6])
def test_a_callable_agrees_with_the_closed_form(activation, kind, depth, weight, bias):
    function, derivative = CALLABLES[activation]
    weight = weight or (2.0 if activation == "relu" else 1.0)
    exact = network_kernel(depth, activation, kind, weight_variance=weight, bias_variance=bias)
    derivative = derivative if kind == "ntk" else None
    found = network_kernel(depth, function, kind, weight_variance=weight, bias_variance=bias, derivative=derivative)
    assert found.mu_1_squared == pytest.approx(exact.mu_1_squared, rel=AVERAGE_TOLERANCE)
    assert found.mu_star_squared == pytest.approx(exact.mu_star_squared, rel=AVERAGE_TOLERANCE)
    few = CORRELATIONS[::2]
    np.testing.assert_allclose(
        found.function(few), exact.function(few), atol=AVERAGE_TOLERANCE * float(exact.function(1.0))
    )


def test_relu_keeps_its_diagonal_by_default():
    depths = range(1, 6)
    np.testing.assert_allclose([network_kernel(depth).function(1.0) for depth in depths], 2.0, rtol=1e-14)
    # Each of the depth + 1 layers of weights adds the same to the diagonal of the NTK.
    found = [network_kernel(depth, kind="ntk").function(1.0) for depth in depths]
    np.testing.assert_allclose(found, [2.0 * (depth + 1) for depth in depths], rtol=1e-14)


def test_a_linear_network_is_linear_at_any_depth():
    network = network_kernel(4, lambda z: z, "ntk", weight_variance=0.5, derivative=np.ones_like)
    assert network.mu_1_squared == pytest.approx(5 * 0.5**5, rel=AVERAGE_TOLERANCE)
    assert network.mu_star_squared == 0.0


def test_depth_turns_a_relu_network_into_a_memorizer():
    angles = [Kernel.network(depth, kind=kind).kernel_angle for kind in ("nngp", "ntk") for depth in (1, 2, 4, 8)]
    assert np.all(np.diff(angles[:4]) < 0)
    assert np.all(np.diff(angles[4:]) < 0)


DEPTH, WIDTH, RUNS, WEIGHT, BIAS = 3, 300, 600, 1.5, 0.2
# Standard errors allowed for each of the ten kernel values of a case.
LARGEST_Z_SCORE = 4.0
# Declared finite-width term: each layer of a finite network shifts the mean by up to about k(1)/width.
FINITE_WIDTH = DEPTH / WIDTH


def finite_network_kernels(rng, activation, derivative, inputs):
    """NNGP and NTK of one random finite network in the NTK parametrization, for every pair of inputs."""
    weight, bias, width = WEIGHT, BIAS, WIDTH
    layers, hidden = [], inputs
    for _ in range(DEPTH):
        matrix = rng.normal(size=(width, hidden.shape[1])) * np.sqrt(weight / hidden.shape[1])
        before = hidden @ matrix.T + np.sqrt(bias) * rng.normal(size=width)
        layers.append((hidden, matrix, before))
        hidden = activation(before)
    nngp = weight * hidden @ hidden.T / width + bias
    ntk = nngp.copy()
    back = np.sqrt(weight / width) * rng.normal(size=width)
    for hidden, matrix, before in reversed(layers):
        delta = back * derivative(before)
        ntk += (delta @ delta.T) * (weight * hidden @ hidden.T / hidden.shape[1] + bias)
        back = delta @ matrix
    return nngp, ntk


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_wide_finite_networks_have_these_kernels(activation):
    angle = np.arange(4) * np.pi / 4
    inputs = np.sqrt(2.0) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rng = np.random.default_rng(2024)
    draws = np.array([finite_network_kernels(rng, *CALLABLES[activation], inputs) for _ in range(RUNS)])
    means, errors = draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(RUNS)
    for kind, mean, error in zip(("nngp", "ntk"), means, errors, strict=True):
        network = network_kernel(DEPTH, activation, kind, weight_variance=WEIGHT, bias_variance=BIAS)
        difference = np.abs(mean - network.function(inputs @ inputs.T / 2.0))
        assert np.all(difference < LARGEST_Z_SCORE * error + FINITE_WIDTH * network.function(1.0))


def test_the_sign_network_has_no_tangent_kernel():
    with pytest.raises(InputError, match="kind must be nngp for the sign activation"):
        network_kernel(2, "sign", "ntk")


def test_the_tangent_kernel_of_a_callable_needs_its_derivative():
    with pytest.raises(InputError, match="derivative must be given"):
        network_kernel(2, np.tanh, "ntk")
    with pytest.raises(InputError, match="derivative must be left out"):
        network_kernel(2, "relu", "ntk", derivative=step)


def test_a_callable_names_its_kernel():
    assert network_kernel(1, np.tanh).name == "nngp-tanh:1"
    assert network_kernel(1, lambda z: z).name == "nngp-custom:1"
    assert network_kernel(1, math.tanh).mu_1_squared == network_kernel(1, np.tanh).mu_1_squared


def test_averages_that_do_not_settle_are_refused():
    with pytest.raises(ConvergenceError, match="kinks"):
        network_kernel(1, lambda z: np.clip(z, -0.3, 0.3))
    assert network_kernel(1, lambda z: np.clip(z, -0.3, 0.3), kinks=(-0.3, 0.3)).mu_1_squared > 0
    with pytest.raises(ConvergenceError, match="grows fast"):
        network_kernel(3, np.exp)


def test_a_constant_activation_is_refused():
    with pytest.raises(InputError, match="mu_1 and mu_star"):
        Kernel.network(1, lambda z: 1.0)


def test_signals_must_survive():
    with pytest.raises(InputError, match="weight_variance"):
        network_kernel(400, "relu", weight_variance=50.0)
    with pytest.raises(InputError, match="weight_variance"):
        network_kernel(400, "relu", weight_variance=1e-3)


@given(st.one_of(st.floats(max_value=-1e-3), st.just(math.nan), st.just(math.inf), st.text(max_size=3), st.booleans()))
def test_bad_variances_are_refused_by_name(bad):
    with pytest.raises(InputError, match="weight_variance"):
        network_kernel(2, weight_variance=bad)
    with pytest.raises(InputError, match="bias_variance"):
        network_kernel(2, bias_variance=bad)


@given(st.one_of(st.integers(max_value=0), st.floats(), st.text(max_size=3), st.none(), st.booleans()))
def test_bad_depths_are_refused(depth):
    with pytest.raises(InputError, match="depth"):
        network_kernel(depth)


@given(st.one_of(st.text(max_size=5).filter(lambda text: text not in CLOSED_FORMS), st.integers(), st.none()))
def test_bad_activations_and_kinds_are_refused(word):
    with pytest.raises(InputError, match="activation must be one of relu, erf, sign"):
        network_kernel(2, word)
    with pytest.raises(InputError, match="kind must be one of nngp, ntk"):
        network_kernel(2, "relu", word)


def test_other_bad_input():
    with pytest.raises(InputError, match="weight_variance must be a single number"):
        network_kernel(2, weight_variance=[1.0, 2.0])
    with pytest.raises(InputError, match="kinks"):
        network_kernel(1, np.tanh, kinks=("zero",))
    with pytest.raises(InputError, match="correlation"):
        network_kernel(2).function(1.5)
    with pytest.raises(InputError, match="activation must return finite"):
        network_kernel(1, np.log)


def test_vectorized_calls_a_scalar_function_number_by_number():
    function = vectorized("activation", lambda z: max(z, 0.0))
    np.testing.assert_array_equal(function(np.array([[-1.0, 2.0]])), [[0.0, 2.0]])
