"""Many items: Theorem 3 with and without background, the best resolution, the collapse and the peak identity."""

import mpmath
import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity import (
    best_ball_mass,
    best_generalization,
    collapse_constant,
    generalization_of_many,
    generalization_probability,
    identification_of_many,
    identification_probability,
)
from genlaws.semanticity.theory import many_items

# The rule for the reciprocal is good to a few units of the last digit.
CLOSED = 1e-12
# n (p_I - p_S) at a million items carries a million times the rounding of each.
IDENTITY = 1e-9
MASSES = [0.0, 1e-12, 1e-4, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0]
BACKGROUNDS = [0.0, 1e-12, 1e-3, 0.3, 1 - 1e-9, 1.0]
MANY = 10**6


@pytest.fixture(autouse=True)
def _forty_digits():
    with mpmath.workdps(40):
        yield


def similarity_sum(k, n, delta):
    return k + (n - k) * delta


def generalization_sum(b, n, delta):
    b, delta = mpmath.mpf(b), mpmath.mpf(delta)
    return (1 - b) ** n / n + mpmath.fsum(
        mpmath.binomial(n, k) * b**k * (1 - b) ** (n - k) / similarity_sum(k, n, delta) for k in range(1, n + 1)
    )


def identification_sum(b, n, delta):
    b, delta = mpmath.mpf(b), mpmath.mpf(delta)
    return mpmath.fsum(
        mpmath.binomial(n - 1, k) * b**k * (1 - b) ** (n - 1 - k) / similarity_sum(k + 1, n, delta) for k in range(n)
    )


def slope_sum(b, n, delta):
    """Return the derivative of the generalization sum by b, term by term; b inside (0, 1)."""
    b, delta = mpmath.mpf(b), mpmath.mpf(delta)
    terms = (
        mpmath.binomial(n, k) * b ** (k - 1) * (1 - b) ** (n - k - 1) * (k - n * b) / similarity_sum(k, n, delta)
        for k in range(1, n + 1)
    )
    return mpmath.fsum(terms) - (1 - b) ** (n - 1)


def slope_integral(b, n, delta):
    """Return the same derivative from the integral over t, for many items; t = eˣ/n."""
    b, delta = mpmath.mpf(b), mpmath.mpf(delta)
    q = 1 - b

    def integrand(x):
        t = mpmath.exp(x) / n
        inside, outside = mpmath.exp(-t), mpmath.exp(-t * delta)
        phi = b * inside + q * outside
        return t * n * (phi ** (n - 1) * (inside - outside) + (q * outside) ** (n - 1) * outside)

    with mpmath.workdps(20):
        return mpmath.quad(integrand, np.linspace(-50, float(np.log(100 * n)), 20).tolist()) - q ** (n - 1)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 20, 150])
@pytest.mark.parametrize("delta", BACKGROUNDS)
def test_theorem_3_is_its_binomial_sum(n, delta):
    found = generalization_of_many(MASSES, n, delta), identification_of_many(MASSES, n, delta)
    for column, b in enumerate(MASSES):
        assert found[0][column] == pytest.approx(float(generalization_sum(b, n, delta)), rel=CLOSED)
        assert found[1][column] == pytest.approx(float(identification_sum(b, n, delta)), rel=CLOSED)


@pytest.mark.parametrize("n", [2, 7, 1000])
def test_the_stable_sum_of_the_theory_is_the_same(n):
    for b in (0.003, 0.2, 0.8):
        q, j = 1 - b, np.arange(1, n + 1)
        stable = q**n / n + np.sum((q ** (n - j) - q**n) / j)
        assert generalization_of_many(b, n) == pytest.approx(stable, rel=CLOSED)
        assert identification_of_many(b, n) == pytest.approx((1 - q**n) / (n * b), rel=CLOSED)


def test_two_items_are_theorems_1_and_2():
    b, delta = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 11))
    np.testing.assert_allclose(
        generalization_of_many(b, 2, delta), generalization_probability(b, 0, delta), rtol=CLOSED
    )
    np.testing.assert_allclose(identification_of_many(b, 2, delta), identification_probability(b, delta), rtol=CLOSED)


@pytest.mark.parametrize("delta", [0.0, 0.2, 1.0])
def test_limits(delta):
    n = np.array([1, 2, 10, 1000, MANY])
    # Nothing inside: a guess, and identification against the background alone.
    np.testing.assert_allclose(generalization_of_many(0.0, n, delta), 1 / n, rtol=CLOSED)
    np.testing.assert_allclose(identification_of_many(0.0, n, delta), 1 / (1 + (n - 1) * delta), rtol=CLOSED)
    # Everything inside, or a background as high as the similarity: a guess.
    for probability in (generalization_of_many, identification_of_many):
        np.testing.assert_allclose(probability(1.0, n, delta), 1 / n, rtol=CLOSED)
        np.testing.assert_allclose(probability(0.3, n, 1.0), 1 / n, rtol=CLOSED)
    assert generalization_of_many(0.3, 1, delta) == pytest.approx(1.0, abs=CLOSED)
    assert identification_of_many(0.3, 1, delta) == pytest.approx(1.0, abs=CLOSED)


def test_a_million_items_overflow_nothing():
    b = np.concatenate([[0.0, 5e-324, 1e-300], np.geomspace(1e-12, 1, 30)])
    for delta in (0.0, 1e-300, 1e-12, 1e-3, 0.5, 1.0):
        for n in (MANY, 10**9, 10**15):
            for found in (generalization_of_many(b, n, delta), identification_of_many(b, n, delta)):
                assert np.isfinite(found).all()
                assert (found >= (1 - CLOSED) / n).all()
                assert (found <= 1 + CLOSED).all()


def test_generalization_is_not_monotone_in_the_number_of_items():
    n = np.arange(1, 2001)
    curve = generalization_of_many(0.01, n)
    turns = n[1:-1][np.diff(np.sign(np.diff(curve))) != 0]
    np.testing.assert_array_equal(turns, [11, 148])
    assert curve[10] == pytest.approx(0.183, abs=5e-4)
    assert curve[147] == pytest.approx(0.520, abs=5e-4)


def test_published_best_ball_masses():
    np.testing.assert_allclose(best_ball_mass([2, 3, 5, 10]), [0.5, 0.377, 0.252, 0.137], atol=5e-4)
    assert best_generalization(2) == pytest.approx(0.75, abs=CLOSED)


def test_many_items_tend_to_the_poisson_limit():
    def poisson(x):
        return mpmath.exp(-x) * mpmath.fsum(x**k / (mpmath.factorial(k) * k) for k in range(1, 80))

    best = mpmath.findroot(lambda x: mpmath.diff(poisson, x), 1.5)
    assert float(best) == pytest.approx(1.50286, abs=5e-6)
    assert float(poisson(best)) == pytest.approx(0.51735, abs=5e-6)
    # Corrections are of order 1/n.
    assert MANY * best_ball_mass(MANY) == pytest.approx(float(best), abs=3 / MANY)
    assert best_generalization(MANY) == pytest.approx(float(poisson(best)), abs=3 / MANY)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.05, 0.6, 1 - 1e-6, 1 - 1e-13])
def test_the_best_ball_mass_is_where_the_slope_vanishes(delta):
    for n in (2, 3, 12, 60):
        b = float(best_ball_mass(n, delta))
        with mpmath.workdps(60):
            exact = mpmath.findroot(lambda x, n=n: slope_sum(x, n, delta), (0.9 * b, 1.1 * b), solver="secant")
        assert b == pytest.approx(float(exact), rel=CLOSED)


@pytest.mark.parametrize("delta", [0.0, 0.1, 0.9])
def test_no_ball_mass_beats_the_best(delta):
    b = np.concatenate([np.geomspace(1e-9, 1, 4001), np.linspace(0.001, 1, 2000)])
    for n in (2, 5, 40, 5000, MANY):
        assert generalization_of_many(b, n, delta).max() <= best_generalization(n, delta) * (1 + CLOSED)


@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.2, 0.95])
@pytest.mark.parametrize("n", [2, 3, 10, 100, 300])
def test_peak_identity(n, delta):
    for b in (1e-6, 0.02, 0.3, 0.5, 0.97):
        slope = float((1 - mpmath.mpf(b)) * slope_sum(b, n, delta))
        gap = n * (identification_of_many(b, n, delta) - generalization_of_many(b, n, delta))
        assert gap == pytest.approx(slope, rel=IDENTITY, abs=IDENTITY)


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.3])
@pytest.mark.parametrize("n", [300, 10_000, MANY])
def test_peak_identity_of_very_many_items(n, delta):
    for scaled in (0.2, 1.5, 8.0):
        b = scaled / n
        slope = float((1 - mpmath.mpf(b)) * slope_integral(b, n, delta))
        gap = n * (identification_of_many(b, n, delta) - generalization_of_many(b, n, delta))
        assert gap == pytest.approx(slope, rel=IDENTITY, abs=IDENTITY)
    if n == 300:
        assert float(slope_integral(b, n, delta)) == pytest.approx(float(slope_sum(b, n, delta)), rel=CLOSED)


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.5])
def test_identification_collapses_like_one_over_n(delta):
    b = np.array([1e-3, 0.2, 0.9])
    constant = collapse_constant(b, delta)
    np.testing.assert_allclose(constant, 1 / (b + (1 - b) * delta), rtol=1e-15)
    once, twice = (n * identification_of_many(b, n, delta) for n in (MANY, 2 * MANY))
    # c + a/n: a is removed by the second number of items; what is left is of order 1/(b n)².
    np.testing.assert_allclose(2 * twice - once, constant, rtol=1e-7)
    assert collapse_constant(0.0, 0.0) == np.inf


def test_the_size_of_the_blocks_does_not_matter(monkeypatch):
    rng = np.random.default_rng(1)
    b, delta = rng.random((2, 7, 11))
    n = rng.integers(1, 50, (7, 11))
    whole = generalization_of_many(b, n, delta), identification_of_many(b, n, delta)
    monkeypatch.setattr(many_items, "BLOCK_SIZE", 1)
    parts = generalization_of_many(b, n, delta), identification_of_many(b, n, delta)
    np.testing.assert_allclose(parts, whole, rtol=1e-15)


def test_arrays_of_any_shape():
    assert generalization_of_many(np.zeros((0, 3)), 5).shape == (0, 3)
    assert identification_of_many(np.full((2, 1), 0.1), [2, 3, 4], 0.1).shape == (2, 3)
    assert best_ball_mass(np.array([[2, 3]]), 0.1).shape == (1, 2)
    mixed = identification_of_many(0.3, 7, [0.0, 0.2])
    assert mixed[0] == identification_of_many(0.3, 7)
    assert mixed[1] == pytest.approx(identification_of_many(0.3, 7, 0.2), rel=1e-15)


@pytest.mark.parametrize("law", [generalization_of_many, identification_of_many])
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((1.5, 2), "ball_mass must lie in .0, 1.; got 1.5. It is a share of the space"),
        ((0.5, 0), "item_count must be whole numbers, at least 1; got 0"),
        ((0.5, [3, 2.5]), "item_count must be whole numbers, at least 1; got 2.5"),
        ((0.5, np.inf), "item_count must be whole numbers"),
        ((0.5, np.nan), "item_count must not contain NaN"),
        ((0.5, "two"), "item_count must be a real number"),
        ((0.5, 2, -0.1), "background must lie in"),
        ((0.5, [[1, 2], [3]]), "rectangular array"),
        (([0.5, 0.1], [2, 3, 4]), "shapes that broadcast"),
    ],
)
def test_wrong_arguments_are_named(law, arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        law(*arguments)


def test_a_best_resolution_needs_two_items_and_a_contrast():
    with pytest.raises(InputError, match="item_count must be whole numbers, at least 2; got 1"):
        best_ball_mass(1)
    with pytest.raises(InputError, match="background must be below 1; at 1 every item looks alike"):
        best_ball_mass(3, [0.1, 1.0])
    with pytest.raises(InputError, match="ball_mass must lie in"):
        collapse_constant(2.0)
