"""Random features: reproducible, independent of how inputs are batched, and tending to their kernel like 1/√p."""

import math

import numpy as np
import pytest
from scipy.special import erf

from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size.features import INPUTS_PER_BLOCK, FeatureLayer, read_activation
from genlaws.rules_facts.finite_size.gram import gram_matrix
from genlaws.rules_facts.kernels.families import FAMILIES

# Standard errors an average may be away; about 170 entries are looked at.
DEVIATIONS = 4.5
ROUNDING = 1e-12  # of a sum of 40,000 products, where nothing is left to chance: sign² is one
ON_SPHERE = [
    "linear",
    "sign",
    "erf",
    "relu",
    "polynomial:3,0.5",
    "exponential:0.5",
    "gaussian:0.5",
    "quadratic:1.0",
]


def on_sphere(count, dimension, seed=0):
    inputs = np.random.default_rng(seed).normal(size=(count, dimension))
    return inputs * np.sqrt(dimension / np.sum(inputs**2, axis=1, keepdims=True))


@pytest.mark.parametrize("name", ON_SPHERE)
def test_a_wide_layer_has_the_kernel_of_its_name(name):
    inputs, width = on_sphere(6, 8), 40_000
    features = FeatureLayer.draw(name, width, 8, seed=1)(inputs)
    products = width * features[:, None] * features
    error = products.std(axis=-1) / np.sqrt(width)
    kernel = gram_matrix(name, inputs)
    assert (np.abs(features @ features.T - kernel) <= DEVIATIONS * error + ROUNDING).all()
    assert (error < 0.05 * kernel.max()).all()


@pytest.mark.parametrize("name", ["erf", "relu"])
def test_the_distance_from_the_kernel_falls_like_one_over_the_root_of_the_width(name):
    inputs = on_sphere(30, 50)
    kernel = gram_matrix(name, inputs)
    distances = []
    for width in (50, 800):
        drawn = [FeatureLayer.draw(name, width, 50, seed)(inputs) for seed in range(80)]
        distances.append(np.sqrt(np.mean([np.mean((f @ f.T - kernel) ** 2) for f in drawn])))
    # Sixteen times the width, a quarter of the distance; 80 layers fix each to about 8 %.
    assert distances[0] / distances[1] == pytest.approx(4, rel=0.3)


@pytest.mark.parametrize("name", ["erf", "relu", "sign"])
def test_the_kernel_holds_for_inputs_of_any_length(name):
    inputs = on_sphere(5, 6) * np.array([0.1, 0.5, 1.0, 3.0, 10.0])[:, None]
    width = 40_000
    features = FeatureLayer.draw(name, width, 6, seed=3)(inputs)
    error = (width * features[:, None] * features).std(axis=-1) / np.sqrt(width)
    assert (np.abs(features @ features.T - gram_matrix(name, inputs)) <= DEVIATIONS * error + ROUNDING).all()


def test_features_are_the_formula():
    layer = FeatureLayer.draw("erf", 7, 3, seed=2)
    inputs = np.random.default_rng(0).normal(size=(4, 3))
    np.testing.assert_allclose(layer(inputs), erf(inputs @ layer.weights.T / np.sqrt(3)) / np.sqrt(7), rtol=1e-14)
    assert layer.weights.shape == (7, 3)
    assert layer.name == "erf"


def test_an_input_has_the_same_features_in_any_batch():
    layer = FeatureLayer.draw("relu", 5, 4)
    inputs = np.random.default_rng(0).normal(size=(2 * INPUTS_PER_BLOCK + 3, 4))
    together = layer(inputs)
    for start, stop in (
        (0, 1),
        (INPUTS_PER_BLOCK - 1, INPUTS_PER_BLOCK + 1),
        (2 * INPUTS_PER_BLOCK, 2 * INPUTS_PER_BLOCK + 3),
    ):
        np.testing.assert_allclose(layer(inputs[start:stop]), together[start:stop], rtol=1e-12, atol=1e-14)
    assert layer(inputs[:0]).shape == (0, 5)


def test_the_seed_settles_the_weights_and_a_generator_moves_on():
    first, again, other = (FeatureLayer.draw("relu", 6, 3, seed).weights for seed in (4, 4, 5))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    generator = np.random.default_rng(4)
    np.testing.assert_array_equal(FeatureLayer.draw("relu", 6, 3, generator).weights, first)
    assert not np.array_equal(FeatureLayer.draw("relu", 6, 3, generator).weights, first)


def test_every_activation_of_the_families_has_a_name():
    for label, family in FAMILIES.items():
        text = ",".join(f"{parameter.example:g}" for parameter in family.parameters)
        name = f"{label}:{text}" if text else label
        if family.activation is None:
            with pytest.raises(InputError, match="activation must be a function or one of"):
                read_activation(name)
        else:
            assert read_activation(f" {name} ")[1] == name
            assert np.isfinite(read_activation(name)[0](np.linspace(-2, 2, 5))).all()


@pytest.mark.parametrize("function", [np.tanh, math.tanh])
def test_an_activation_may_be_a_function_of_numbers_or_arrays(function):
    layer = FeatureLayer.draw(function, 4, 2)
    inputs = np.array([[0.3, -1.0], [2.0, 0.0]])
    np.testing.assert_allclose(layer(inputs), np.tanh(inputs @ layer.weights.T / np.sqrt(2)) / 2, rtol=1e-14)
    assert layer.name == "tanh"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("swish", 3, 2), "activation must be a function or one of linear, sign"),
        (("polynomial", 3, 2), "takes degree"),
        (("relu:2", 3, 2), "takes no parameter"),
        ((None, 3, 2), "activation must be a function"),
        (("relu", 0, 2), "width must be a whole number, at least 1; got 0"),
        (("relu", 2.5, 2), "width must be a whole number"),
        (("relu", 3, 0), "dimension must be a whole number, at least 1"),
        (("relu", 3, 2, -1), "seed must be a whole number"),
        (("relu", 3, 2, None), "seed must be a whole number"),
    ],
)
def test_a_layer_that_cannot_be_drawn_is_refused(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        FeatureLayer.draw(*arguments)


@pytest.mark.parametrize("inputs", [np.ones(3), np.ones((2, 4)), np.ones((2, 2, 3))])
def test_inputs_of_another_shape_are_refused(inputs):
    with pytest.raises(InputError, match="inputs must have 3 features"):
        FeatureLayer.draw("relu", 5, 3)(inputs)


def test_an_activation_that_is_not_finite_is_refused():
    layer = FeatureLayer.draw(np.log, 5, 3)
    with pytest.raises(InputError, match="activation must return finite real numbers"):
        layer(np.ones((2, 3)))
