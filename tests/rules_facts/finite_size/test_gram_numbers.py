"""The effective kernel and dimension of a Gram matrix: recovered from Gaussian inputs of known kernel and dimension.

Apart from sampling, whose size the spread over draws shows, each number has a term of order 1/d, from the next powers
of the correlation; it is declared below as a multiple of 1/d.
"""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size.gram import gram_matrix, gram_numbers, inner_products
from genlaws.rules_facts.kernels.kernel import Kernel

DEVIATIONS = 4.0
DRAWS = 8
# The terms of μ1² and μ*² in units of k(1)/d. Measured with eight draws at d = 250 they are largest for the polynomial
# kernel, 0.84 ± 0.03 and −1.28 ± 0.03, and below 0.5 for the others.
FINITE_SIZE = 2.0
# A bound wider than this, relative to k(1), would test nothing.
COARSEST = 0.02
KERNELS = ["linear", "erf", "relu", "gaussian:1.0", "exponential:1.0", "polynomial:3,0.5", "quadratic:0.8"]


def measure(kernel, dimension, count, normalize, draws=DRAWS):
    found = []
    for seed in range(draws):
        inputs = np.random.default_rng([seed, dimension]).normal(size=(count, dimension))
        products = inner_products(inputs, normalize=normalize)
        numbers = gram_numbers(products.gram(kernel), products)
        found.append([numbers.kernel.mu_1**2, numbers.kernel.mu_star**2, numbers.effective_dimension])
    found = np.array(found)
    return found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(draws)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("normalize", [True, False])
def test_gaussian_inputs_show_the_kernel_of_the_theory(kernel, normalize):
    dimension = 250
    mean, error = measure(kernel, dimension, 400, normalize)
    exact = Kernel.from_name(kernel)
    at_one = gram_matrix(kernel, [[1.0]], normalize=True)[0, 0]
    bound = DEVIATIONS * error[:2] + FINITE_SIZE * at_one / dimension
    assert (np.abs(mean[:2] - [exact.mu_1**2, exact.mu_star**2]) <= bound).all(), (mean, error, exact)
    assert (bound <= COARSEST * at_one).all(), bound


@pytest.mark.parametrize("dimension", [20, 250])
def test_independent_inputs_have_the_dimension_they_live_in(dimension):
    mean, error = measure("linear", dimension, 300, normalize=True, draws=20)
    # The squared correlation averages to exactly 1/d; its inverse is larger by the square of its relative error.
    assert abs(mean[2] - dimension) <= DEVIATIONS * error[2] + 20 * error[2] ** 2 / dimension
    assert error[2] < 0.01 * dimension


def test_unequal_directions_count_by_their_participation_ratio():
    rng = np.random.default_rng(0)
    scales = np.geomspace(1, 0.02, 400)
    inputs = rng.normal(size=(1500, 400)) * scales
    products = inner_products(inputs)
    numbers = gram_numbers(products.gram("linear"), products)
    ratio = np.sum(scales**2) ** 2 / np.sum(scales**4)
    # Dividing by the lengths, which vary by √(2/ratio), changes it by a few times 1/ratio.
    assert numbers.effective_dimension == pytest.approx(ratio, rel=4 / ratio)
    assert numbers.effective_sample_ratio == pytest.approx(1500 / numbers.effective_dimension)
    assert numbers.sample_count == 1500


def test_the_linear_kernel_is_linear_to_the_last_digit():
    inputs = np.random.default_rng(1).normal(size=(50, 20))
    products = inner_products(inputs)
    numbers = gram_numbers(products.gram("linear"), products)
    assert numbers.kernel.mu_1 == pytest.approx(1, rel=1e-12)
    assert numbers.kernel.mu_star == 0
    assert numbers.linear_share == pytest.approx(1, rel=1e-12)


def test_units_of_the_kernel_and_a_constant_change_what_they_should():
    inputs = np.random.default_rng(2).normal(size=(80, 30))
    products = inner_products(inputs)
    gram = products.gram("gaussian:1.0")
    plain, changed = gram_numbers(gram, products), gram_numbers(3 * gram + 5, products)
    assert changed.kernel.mu_1**2 == pytest.approx(3 * plain.kernel.mu_1**2)
    assert changed.kernel.mu_star**2 == pytest.approx(3 * plain.kernel.mu_star**2)
    assert changed.mu_0_squared == pytest.approx(3 * plain.mu_0_squared + 5)
    assert changed.linear_share == pytest.approx(plain.linear_share)
    assert changed.effective_dimension == plain.effective_dimension


def test_the_share_explained_falls_where_the_kernel_is_not_linear():
    inputs = np.random.default_rng(3).normal(size=(200, 4))
    products = inner_products(inputs, normalize=True)
    even = gram_numbers(products.gram(lambda t: t**2), products)
    assert even.linear_share < 0.05
    assert gram_numbers(products.gram("exponential:0.1"), products).linear_share > 0.99


def test_the_arrays_given_are_left_alone():
    inputs = np.random.default_rng(2).normal(size=(10, 3))
    products = inner_products(inputs)
    gram = products.gram("relu")
    before = gram.copy(), products.products.copy()
    gram_numbers(gram, products)
    np.testing.assert_array_equal(gram, before[0])
    np.testing.assert_array_equal(products.products, before[1])


@pytest.mark.parametrize(
    ("inputs", "others", "gram", "sentence"),
    [
        (np.eye(2), None, np.eye(2), "same three or more inputs"),
        (np.eye(4), None, np.eye(3), "same three or more inputs; got shape"),
        (np.eye(4), np.eye(4), np.eye(4), "same three or more inputs"),
        (np.ones((4, 3)), None, np.eye(4), "nothing distinguishes them"),
        ([[0.0, 0.0], [1.0, 2.0], [2.0, -1.0], [1.0, 1.0]], None, np.eye(4), "must not be zero"),
        (np.random.default_rng(0).normal(size=(5, 3)), None, np.ones((5, 5)), "must not both be zero"),
        (np.random.default_rng(0).normal(size=(5, 3)), None, np.full((5, 5), np.nan), "gram must be finite"),
    ],
)
def test_matrices_that_say_nothing_are_refused(inputs, others, gram, sentence):
    with pytest.raises(InputError, match=sentence):
        gram_numbers(gram, inner_products(inputs, others))
