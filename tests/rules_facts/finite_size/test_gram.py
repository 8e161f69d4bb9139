"""Gram matrices: the same whatever the blocks, exactly symmetric, and errors for invalid inputs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size.gram import blocks, gram_matrix, inner_products

KERNELS = ["linear", "sign", "erf", "relu", "gaussian:1.5", "exponential:0.5", "polynomial:3,0.5", "quadratic:1.0"]
SPHERE_KERNELS = ["geometric:0.5", "nngp-relu:2", "ntk-erf:3", "nngp-sign:2"]
# Sums of up to a hundred products, each rounded.
ROUNDING = 1e-13


def draw(count, dimension, seed=0):
    return np.random.default_rng(seed).normal(size=(count, dimension))


@given(
    kernel=st.sampled_from([*KERNELS, *SPHERE_KERNELS]),
    count=st.integers(1, 70),
    others=st.none() | st.integers(1, 70),
    dimension=st.integers(1, 5),
    block_size=st.integers(1, 80),
    seed=st.integers(0, 1000),
)
def test_the_entries_do_not_depend_on_the_blocks(kernel, count, others, dimension, block_size, seed):
    inputs = draw(count, dimension, seed)
    second = None if others is None else draw(others, dimension, seed + 1)
    options = {"normalize": kernel in SPHERE_KERNELS}
    whole = gram_matrix(kernel, inputs, second, block_size=10_000, **options)
    assert np.array_equal(gram_matrix(kernel, inputs, second, block_size=block_size, **options), whole)


@pytest.mark.parametrize("kernel", [*KERNELS, *SPHERE_KERNELS])
@pytest.mark.parametrize("count", [1, 2, 3, 31, 300])
def test_the_matrix_is_exactly_symmetric(kernel, count):
    gram = gram_matrix(kernel, draw(count, 7), normalize=True)
    assert np.array_equal(gram, gram.T)
    if kernel not in SPHERE_KERNELS:
        gram = gram_matrix(kernel, draw(count, 7))
        assert np.array_equal(gram, gram.T)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_entry_is_the_kernel_of_one_pair(kernel):
    inputs, others = draw(9, 4), draw(6, 4, seed=1)
    gram = gram_matrix(kernel, inputs, others)
    assert gram.shape == (9, 6)
    for i, j in ((0, 0), (8, 5), (3, 2)):
        assert gram[i, j] == pytest.approx(gram_matrix(kernel, inputs[i : i + 1], others[j : j + 1])[0, 0], rel=1e-12)


def test_a_set_with_itself_is_close_to_the_set_with_its_copy():
    inputs = draw(50, 20)
    alone, paired = inner_products(inputs), inner_products(inputs, inputs.copy())
    assert alone.symmetric
    assert not paired.symmetric
    np.testing.assert_allclose(alone.products, paired.products, rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(np.diagonal(alone.products), alone.left)


def test_products_are_shared_by_kernels():
    inputs = draw(20, 6)
    products = inner_products(inputs)
    for kernel in KERNELS:
        assert np.array_equal(products.gram(kernel), gram_matrix(kernel, inputs))


def test_normalizing_leaves_directions_alone_and_gives_unit_lengths():
    inputs = draw(30, 5)
    products = inner_products(inputs, normalize=True)
    assert products.of_unit_length
    cosines = inputs @ inputs.T / np.outer(np.linalg.norm(inputs, axis=1), np.linalg.norm(inputs, axis=1))
    np.testing.assert_allclose(products.products, cosines, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e-9, 1e9, 1e200, 1e300])
def test_normalizing_takes_inputs_of_any_size(factor):
    inputs = draw(10, 5)
    expected = gram_matrix("relu", inputs, normalize=True)
    np.testing.assert_allclose(gram_matrix("relu", factor * inputs, normalize=True), expected, rtol=1e-9)


def test_whole_numbers_and_lists_are_inputs():
    assert gram_matrix("linear", [[1, 2], [3, 4]]).tolist() == [[2.5, 5.5], [5.5, 12.5]]


@given(count=st.integers(0, 50), size=st.integers(1, 60))
def test_blocks_cover_every_row_once(count, size):
    rows = [row for part in blocks(count, size) for row in range(part.start, part.stop)]
    assert rows == list(range(count))
    assert all(part.stop - part.start <= size for part in blocks(count, size))


@pytest.mark.parametrize("kernel", [*SPHERE_KERNELS, np.exp])
def test_a_kernel_of_correlations_needs_inputs_on_the_sphere(kernel):
    with pytest.raises(InputError, match="needs inputs of squared length d; use normalize=True"):
        gram_matrix(kernel, draw(4, 3))
    on_sphere = draw(4, 3)
    on_sphere *= np.sqrt(3 / np.sum(on_sphere**2, axis=1, keepdims=True))
    with pytest.raises(InputError, match="squared length d"):
        gram_matrix(kernel, on_sphere, 1.001 * on_sphere)
    assert np.isfinite(gram_matrix(kernel, on_sphere)).all()


@pytest.mark.parametrize(
    ("inputs", "others", "options", "sentence"),
    [
        (np.ones(3), None, {}, r"inputs must be a matrix with a row per sample; got shape \(3,\)"),
        (np.ones((0, 3)), None, {}, "inputs must be a matrix"),
        (np.ones((3, 0)), None, {}, "inputs must be a matrix"),
        (np.ones((2, 2, 2)), None, {}, "inputs must be a matrix"),
        ([[1.0, np.nan], [1.0, 2.0]], None, {}, "inputs must be finite; 1 rows are not"),
        ([[1.0, np.inf], [np.nan, 2.0]], None, {}, "inputs must be finite; 2 rows are not"),
        (np.ones((2, 2)), [[np.inf, 1.0]], {}, "others must be finite"),
        (np.ones((2, 2)), np.ones((2, 3)), {}, "must have the same features; got 2 and 3"),
        ([[0.0, 0.0], [1.0, 2.0]], None, {"normalize": True}, "inputs must have a direction; 1 rows are zero"),
        ([[1.0, 0.0]], [[0.0, 0.0]], {"normalize": True}, "others must have a direction"),
        (np.full((2, 2), 1e200), None, {}, "squared lengths overflow"),
        (np.ones((2, 2)), None, {"block_size": 0}, "block_size must be a whole number, at least 1"),
    ],
)
def test_inputs_without_products_are_refused(inputs, others, options, sentence):
    with pytest.raises(InputError, match=sentence):
        gram_matrix("linear", inputs, others, **options)


@pytest.mark.parametrize("kernel", ["exponential:1.5", "polynomial:200,1"])
def test_a_kernel_that_overflows_is_refused(kernel):
    with pytest.raises(InputError, match="overflows at inputs this long"):
        gram_matrix(kernel, np.full((3, 2), 100.0))
