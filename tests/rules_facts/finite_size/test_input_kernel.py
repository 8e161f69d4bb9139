"""Kernels of two inputs of any length: against wide layers, against the families on the sphere, and that bad ones fail.

Nothing is shared with the library but the names: layers are drawn and averaged here.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import erf

from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size.gram import gram_matrix
from genlaws.rules_facts.finite_size.input_kernel import (
    INTERPOLATION_TOLERANCE,
    InputKernel,
    quadratic_match,
    read_input_kernel,
)
from genlaws.rules_facts.kernels.deep import NETWORK_FAMILIES, network_kernel
from genlaws.rules_facts.kernels.families import FAMILIES
from genlaws.rules_facts.kernels.kernel import Kernel

# Standard errors an average over a drawn layer may be away: 60 of them are looked at.
DEVIATIONS = 4.5
WIDTH = 200_000
# A correlation is rounded by 1e-16; where arcsin or arccos are steep, next to one, that becomes 1e-8.
STEEP_ROUNDING = 1e-7
ROUNDING = 1e-13
# Interpolation is checked between its nodes; elsewhere the error may be somewhat larger than in the middle of two.
OFF_MIDDLE = 2.0

LAYERS = {
    "linear": lambda z: z,
    "sign": np.sign,
    "erf": erf,
    "relu": lambda z: np.maximum(z, 0),
}
NAMES = [
    f"{name}:{','.join(f'{p.example:g}' for p in family.parameters)}".rstrip(":") for name, family in FAMILIES.items()
]
ANY_LENGTH = [name for name in NAMES if not name.startswith("geometric")]


def value(kernel, p, a, b):
    return read_input_kernel(kernel).function(np.asarray(p, dtype=float), np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("name", LAYERS)
def test_a_wide_layer_has_the_kernel_at_inputs_of_any_length(name):
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(5, 4)) * np.array([0.05, 0.6, 1.0, 2.0, 30.0])[:, None]
    features = LAYERS[name](rng.normal(size=(WIDTH, 4)) @ inputs.T / 2.0)
    for i in range(5):
        for j in range(i, 5):
            products = features[:, i] * features[:, j]
            found = gram_matrix(name, inputs)[i, j]
            error = products.std() / np.sqrt(WIDTH)
            assert abs(products.mean() - found) <= DEVIATIONS * error + ROUNDING
            # The layer must be wide enough: to 1 % of the geometric mean of the diagonal.
            assert error <= 0.01 * np.sqrt(gram_matrix(name, inputs)[i, i] * gram_matrix(name, inputs)[j, j])


@pytest.mark.parametrize("name", NAMES)
def test_on_the_sphere_it_is_the_function_of_the_family(name):
    label, _, text = name.partition(":")
    t = np.linspace(-1, 1, 101)
    parameters = [float(part) for part in text.split(",")] if text else []
    if label == "polynomial":
        parameters[0] = int(parameters[0])
    expected = FAMILIES[label].evaluate(t, *parameters)
    np.testing.assert_allclose(value(name, t, np.ones(101), np.ones(101)), expected, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("label", NETWORK_FAMILIES)
@pytest.mark.parametrize("depth", [1, 2, 3, 30, 300])
def test_networks_are_interpolated_closely(label, depth):
    kind, activation = label.split("-")
    exact = network_kernel(depth, activation, kind).function
    # Even in angle, and crowded toward t = 1, where deep kernels curve.
    t = np.concatenate([np.cos(np.linspace(0, np.pi, 9973)), 1 - np.geomspace(1e-12, 1, 997)])
    found = value(f"{label}:{depth}", t, np.ones_like(t), np.ones_like(t))
    np.testing.assert_allclose(found, exact(t), rtol=0, atol=OFF_MIDDLE * INTERPOLATION_TOLERANCE * float(exact(1.0)))


@given(
    arrays.arrays(float, st.tuples(st.integers(1, 7), st.integers(1, 4)), elements=st.floats(-3, 3, width=16)),
    st.sampled_from(ANY_LENGTH),
)
def test_kernels_are_positive_semi_definite_also_with_copies_opposites_and_zeros(inputs, name):
    inputs = np.concatenate([inputs, inputs[:1], -inputs[-1:], np.zeros_like(inputs[:1])])
    gram = gram_matrix(name, inputs)
    eigenvalues = np.linalg.eigvalsh(gram)
    assert eigenvalues[0] >= -STEEP_ROUNDING * max(eigenvalues[-1], 1e-300)


@pytest.mark.parametrize("name", [*NAMES, *(f"{label}:2" for label in NETWORK_FAMILIES)])
def test_kernels_are_positive_semi_definite_on_the_sphere(name):
    inputs = np.random.default_rng(0).normal(size=(60, 3))
    inputs = np.concatenate([inputs, inputs[:3], -inputs[:3]])
    eigenvalues = np.linalg.eigvalsh(gram_matrix(name, inputs, normalize=True))
    assert eigenvalues[0] >= -STEEP_ROUNDING * eigenvalues[-1]


@pytest.mark.parametrize("name", ["linear", "sign", "erf", "relu"])
def test_an_input_of_zero_has_a_silent_layer(name):
    inputs = np.array([[0.0, 0.0], [1.0, -2.0]])
    gram = gram_matrix(name, inputs)
    np.testing.assert_array_equal(gram[0], 0.0)
    assert gram[1, 1] > 0


def test_the_gaussian_kernel_is_that_of_the_distance_and_never_above_one():
    rng = np.random.default_rng(3)
    inputs = rng.normal(size=(20, 5)) * 3
    inputs[10:] = inputs[:10] * (1 + 1e-15)
    squared = np.sum((inputs[:, None] - inputs) ** 2, axis=-1)
    gram = gram_matrix("gaussian:0.7", inputs)
    np.testing.assert_allclose(gram, np.exp(-0.7 * squared / 10), rtol=ROUNDING, atol=ROUNDING)
    assert gram.max() <= 1.0
    np.testing.assert_array_equal(np.diagonal(gram), 1.0)


def test_relu_and_linear_scale_with_the_lengths_and_sign_does_not():
    inputs = np.random.default_rng(1).normal(size=(6, 3))
    factors = np.array([1e-3, 0.1, 1.0, 2.0, 50.0, 1e4])
    scaled = inputs * factors[:, None]
    for name, power in (("linear", 1), ("relu", 1), ("sign", 0)):
        expected = gram_matrix(name, inputs) * np.outer(factors, factors) ** power
        np.testing.assert_allclose(gram_matrix(name, scaled), expected, rtol=STEEP_ROUNDING)


def test_no_name_is_the_linear_kernel():
    t = np.linspace(-3, 3, 7)
    np.testing.assert_array_equal(value(None, t, 1.0, 1.0), t)
    assert read_input_kernel(None).name == "linear"


def test_two_numbers_are_the_quadratic_kernel():
    t = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(value(Kernel(0.5, 2.0), t, 1.0, 1.0), 0.25 * t + 4 * t**2, rtol=ROUNDING)
    assert read_input_kernel(Kernel(1.0, 1.0)).name == "quadratic of angle 0.7854"


def test_kernel_made_from_a_name_is_the_named_one():
    t = np.array([-0.5, 0.0, 0.3, 1.0])
    for name in ("relu", "gaussian:1.5", "ntk-relu:2"):
        np.testing.assert_array_equal(value(Kernel.from_name(name), t, 1.0, 1.0), value(name, t, 1.0, 1.0))
    assert read_input_kernel(Kernel(1.0, 1.0, "relu")).name == "quadratic like relu"


@pytest.mark.parametrize("function", [np.exp, math.exp])
def test_a_function_is_taken_with_or_without_arrays_and_asks_for_the_sphere(function):
    kernel = read_input_kernel(function)
    assert not kernel.any_length
    t = np.array([[-1.0, 0.3], [0.0, 1.0 + 1e-13]])
    np.testing.assert_allclose(kernel.function(t, np.ones(2), np.ones(2)), np.exp(t), rtol=ROUNDING)


def test_an_input_kernel_is_returned_as_it_is():
    kernel = InputKernel("own", lambda p, a, b: p)
    assert read_input_kernel(kernel) is kernel


@pytest.mark.parametrize("name", ["gaussian:1.5", "relu", "polynomial:3,0.5", "ntk-relu:2"])
def test_the_quadratic_match_has_the_same_two_numbers(name):
    match = quadratic_match(name)
    found = Kernel.from_function(lambda t: match.function(t, 1.0, 1.0))
    expected = Kernel.from_name(name)
    # Through an interpolant of the slope, which is good to 1e-12.
    assert (found.mu_1, found.mu_star) == pytest.approx((expected.mu_1, expected.mu_star), rel=1e-9)
    ends = np.array([0.0, 1.0])
    np.testing.assert_allclose(match.function(ends, 1.0, 1.0), value(name, ends, np.ones(2), np.ones(2)), rtol=1e-8)


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        ("cosine", "kernel must be one of linear, sign"),
        ("", "kernel must be one of"),
        ("gaussian", "takes rate, for example gaussian:1.5; got none"),
        ("gaussian:wide", "rate must be a number; got 'wide'"),
        ("gaussian:-1", r"rate must lie in \(0, inf\)"),
        ("gaussian:nan", "rate must not contain NaN"),
        ("relu:2", "takes no parameter"),
        ("ntk-relu", "takes the depth"),
        ("ntk-relu:0", "depth must be a whole number, at least 1"),
        ("ntk-relu:1.5", "depth must be a whole number; got '1.5'"),
        ("ntk-sign:1", "kernel must be one of"),
        (3.0, "kernel must be a name such as 'relu'"),
        (Kernel([1.0, 2.0], 1.0), r"must be a single kernel; got an array of shape \(2,\)"),
    ],
)
def test_what_is_not_a_kernel_is_refused(kernel, sentence):
    with pytest.raises(InputError, match=sentence):
        read_input_kernel(kernel)
