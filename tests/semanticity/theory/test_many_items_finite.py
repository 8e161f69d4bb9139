"""Items from a finite set: against enumeration, exact fractions and the limit of a large set."""

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity import (
    finite_generalization,
    finite_identification,
    generalization_of_many,
    identification_of_many,
)

# A sum of positive terms, each good to a few units of the last digit.
EXACT = 1e-13
# With thousands of draws the terms are products of as many ratios.
LONG = 1e-11


def hypergeometric(k, total, marked, drawn):
    return Fraction(comb(marked, k) * comb(total - marked, drawn - k), comb(total, drawn))


def exact_generalization(neighbors, size, n, delta):
    def chance(k):
        return Fraction(1, n) if k == 0 else 1 / (k + (n - k) * delta)

    return float(sum(hypergeometric(k, size - 1, neighbors, n) * chance(k) for k in range(n + 1)))


def exact_identification(neighbors, size, n, delta):
    terms = (hypergeometric(k, size - 1, neighbors, n - 1) / (1 + k + (n - 1 - k) * delta) for k in range(n))
    return float(sum(terms))


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 5), Fraction(1)])
@pytest.mark.parametrize("n", [1, 2, 4, 5])
@pytest.mark.parametrize("neighbors", range(6))
def test_every_set_of_items_is_counted(neighbors, n, delta):
    others = [1.0] * neighbors + [float(delta)] * (5 - neighbors)
    sets = np.array(list(itertools.combinations(others, n)))
    best, total = sets.max(axis=1), sets.sum(axis=1)
    right = np.where(best > 0, best / np.where(total > 0, total, 1), 1 / n).mean()
    # With a background as high as the similarity the nearest still has similarity 1.
    assert finite_generalization(neighbors, 6, n, float(delta)) == pytest.approx(right, rel=EXACT)
    rivals = np.array([sum(part) for part in itertools.combinations(others, n - 1)])
    assert finite_identification(neighbors, 6, n, float(delta)) == pytest.approx((1 / (1 + rivals)).mean(), rel=EXACT)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000), Fraction(1, 2)])
@pytest.mark.parametrize(("size", "n"), [(50, 3), (50, 49), (300, 40), (1000, 700)])
def test_large_sets_agree_with_exact_fractions(size, n, delta):
    for neighbors in (0, 1, 7, size // 3, size - 2, size - 1):
        found = finite_generalization(neighbors, size, n, float(delta))
        assert found == pytest.approx(exact_generalization(neighbors, size, n, delta), rel=LONG)
        found = finite_identification(neighbors, size, n, float(delta))
        assert found == pytest.approx(exact_identification(neighbors, size, n, delta), rel=LONG)


@pytest.mark.parametrize(("size", "n"), [(2, 1), (10, 4), (500, 20)])
def test_identification_without_background_has_a_closed_form(size, n):
    for neighbors in range(0, size, max(1, size // 7)):
        missed = Fraction(comb(size - 1 - neighbors, n), comb(size, n))
        closed = Fraction(size, n * (neighbors + 1)) * (1 - missed)
        assert finite_identification(neighbors, size, n) == pytest.approx(float(closed), rel=LONG)


def test_two_items_without_background_have_a_closed_form():
    size = 37
    neighbors = np.arange(size)
    b = neighbors / (size - 1)
    closed = 0.5 + b * (1 - b) * (size - 1) / (size - 2)
    np.testing.assert_allclose(finite_generalization(neighbors, size, 2), closed, rtol=EXACT)


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("n", [2, 6, 30])
def test_a_large_set_is_a_space(n, delta):
    size = 1_000_001
    b = 0.05
    neighbors = round(b * (size - 1))
    # Drawing without replacement changes the chances by n²/N.
    finite_size = n**2 / size
    assert finite_generalization(neighbors, size, n, delta) == pytest.approx(
        generalization_of_many(b, n, delta), rel=finite_size
    )
    assert finite_identification(neighbors, size, n, delta) == pytest.approx(
        identification_of_many(b, n, delta), rel=finite_size
    )


def test_a_hundred_thousand_items_overflow_nothing():
    for neighbors in (0, 10, 500_000, 999_999):
        for found in (
            finite_generalization(neighbors, 1_000_000, 100_000),
            finite_identification(neighbors, 1_000_000, 100_000, 1e-12),
        ):
            assert 0 < found <= 1
    # All items but one: the mean of 1/(k + 1) is N/(n (K + 1)).
    assert finite_identification(299_999, 1_000_000, 999_999) == pytest.approx(1 / 300_000, rel=1e-5)


def test_arrays_broadcast():
    assert finite_generalization(np.zeros((2, 1), dtype=int), 8, 3, [0.0, 0.1, 0.2]).shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (
            lambda: finite_generalization(3, 10, 10),
            "item_count must be a whole number, at least 1 and at most 9; got 10",
        ),
        (lambda: finite_identification(3, 10, 11), "at most 10; got 11"),
        (lambda: finite_generalization(3, 10, 0), "item_count must be a whole number"),
        (lambda: finite_generalization(3, 10, 2.5), "item_count must be a whole number"),
        (lambda: finite_generalization(10, 10, 2), "neighbor_count must be at most set_size - 1 = 9; got 10"),
        (lambda: finite_generalization(-1, 10, 2), "neighbor_count must be whole numbers, at least 0; got -1"),
        (lambda: finite_generalization(2.5, 10, 2), "neighbor_count must be whole numbers"),
        (lambda: finite_generalization(0, 1, 1), "set_size must be a whole number, at least 2"),
        (lambda: finite_generalization(0, 10.5, 2), "set_size must be a whole number"),
        (lambda: finite_identification(1, 10, 2, 1.5), "background must lie in"),
    ],
)
def test_wrong_arguments_are_named(call, complaint):
    with pytest.raises(InputError, match=complaint):
        call()
