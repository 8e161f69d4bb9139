"""Parts side by side and one after another: the same law as counting the whole through its ideals."""

from fractions import Fraction
from math import comb, lgamma, log

import numpy as np
import pytest
from scipy import stats

from genlaws.relations.inference.ideals import count_extensions, find_ideals, order_probabilities
from genlaws.relations.inference.orders import order_posterior, overtaken, transitive_closure

ROUNDING = 1e-12  # sums of a few thousand terms of order one
LOGARITHMS = 1e-11  # relative: differences of log-gamma functions of some thousands
SMALLEST_P = 1e-4  # of a chi-square test with a fixed seed


def random_poset(n, rng):
    """Return an order that often falls apart: blocks side by side or one after another, and links at random."""
    table = np.triu(rng.random((n, n)) < rng.uniform(0, 0.4), 1)
    cut = int(rng.integers(0, n + 1))
    table[:cut, cut:] = rng.choice([0, 1, 2]) == 1
    shuffle = rng.permutation(n)
    return transitive_closure(table)[np.ix_(shuffle, shuffle)]


@pytest.mark.parametrize("seed", range(60))
def test_taking_apart_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    below = random_poset(int(rng.integers(2, 13)), rng)
    law = order_posterior(below)
    lattice = find_ideals(below)
    counts = count_extensions(lattice)
    before, rank = order_probabilities(lattice, counts)
    back = np.argsort(law.elements)
    assert law.log2_count == pytest.approx(counts.log2_count, abs=ROUNDING)
    np.testing.assert_allclose(law.before[np.ix_(back, back)], before, atol=ROUNDING)
    np.testing.assert_allclose(law.rank[back], rank, atol=ROUNDING)


@pytest.mark.parametrize("seed", range(20))
def test_probabilities_add_up_and_what_is_known_is_certain(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    below = random_poset(n, rng)
    law = order_posterior(below)
    known = below[np.ix_(law.elements, law.elements)]
    np.testing.assert_allclose(law.before + law.before.T, 1 - np.eye(n), atol=ROUNDING)
    np.testing.assert_allclose(law.rank.sum(axis=0), 1, atol=ROUNDING)
    np.testing.assert_allclose(law.rank.sum(axis=1), 1, atol=ROUNDING)
    assert law.before.min() >= 0
    assert law.before.max() <= 1
    open_pairs = ~(known | known.T | np.eye(n, dtype=bool))
    assert (law.before[known] == 1).all()
    assert (law.before[known.T] == 0).all()
    assert ((law.before[open_pairs] > 0) & (law.before[open_pairs] < 1)).all()


@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 7), (4, 3), (12, 9)])
def test_overtaking_is_drawing_without_replacement(a, b):
    exact = [
        [Fraction(comb(r + t, t) * comb(a - 1 - r + b - t, b - t), comb(a + b, b)) for t in range(b + 1)]
        for r in range(a)
    ]
    assert all(sum(row) == 1 for row in exact)
    np.testing.assert_allclose(overtaken(a, b), np.array(exact, dtype=float), atol=ROUNDING)


def log2_factorial(n):
    return lgamma(n + 1) / log(2)


def test_hundreds_of_elements_without_comparisons():
    law = order_posterior(np.zeros((500, 500), dtype=bool))
    assert law.log2_count == pytest.approx(log2_factorial(500), rel=LOGARITHMS)
    np.testing.assert_allclose(law.before, 0.5 * (1 - np.eye(500)), atol=1e-10)
    np.testing.assert_allclose(law.rank, 1 / 500, atol=1e-12)


def test_two_long_chains():
    n = 200
    below = np.zeros((2 * n, 2 * n), dtype=bool)
    below[:n, :n] = below[n:, n:] = np.triu(np.ones((n, n), dtype=bool), 1)
    law = order_posterior(below)
    assert law.log2_count == pytest.approx(np.log2(float(comb(2 * n, n))), rel=LOGARITHMS)
    back = np.argsort(law.elements)
    # The first of one chain before the first of the other is a coin flip; before the second, 3/4 and a little more.
    before = law.before[np.ix_(back, back)]
    assert before[0, n] == pytest.approx(0.5, abs=ROUNDING)
    assert before[0, n + 1] == pytest.approx(1 - n * (n - 1) / (2 * n * (2 * n - 1)), abs=ROUNDING)
    assert np.isfinite(law.rank).all()
    # The last of one before the first of the other has probability 1e-119: open, if hardly.
    assert 0 < before[n - 1, n] < 1e-15
    assert 0 < 1 - before[n, n - 1] < 1e-15


def test_what_is_open_in_a_part_without_splits_never_rounds_to_certainty():
    # Two chains of 30 with a bridge: the part cannot be split, and 1e-17 is lost in its sums.
    n = 30
    table = np.zeros((2 * n, 2 * n), dtype=bool)
    table[np.arange(n - 1), np.arange(1, n)] = table[np.arange(n, 2 * n - 1), np.arange(n + 1, 2 * n)] = True
    table[0, 2 * n - 1] = True
    below = transitive_closure(table)
    law = order_posterior(below)
    open_pairs = ~(below | below.T | np.eye(2 * n, dtype=bool))
    assert ((law.before[open_pairs] > 0) & (law.before[open_pairs] < 1)).all()
    assert (law.before[below] == 1).all()


def test_one_chain_is_certain():
    law = order_posterior(np.triu(np.ones((300, 300), dtype=bool), 1))
    assert law.log2_count == 0.0
    assert set(np.unique(law.before)) == {0.0, 1.0}
    assert law.draw(3, np.random.default_rng(0)).tolist() == [list(range(300))] * 3


def test_parts_may_be_nested_a_hundred_deep():
    # In turn a free element and one above all before it: the free one has as many places as there are elements.
    n = 200
    below = np.zeros((n, n), dtype=bool)
    for top in range(1, n, 2):
        below[:top, top] = True
    law = order_posterior(below)
    assert law.log2_count == pytest.approx(sum(np.log2(i + 1) for i in range(0, n, 2)), rel=LOGARITHMS)
    assert law.draw(2, np.random.default_rng(0)).shape == (2, n)


def test_draws_through_both_kinds_of_parts_are_uniform():
    # (a, b side by side with c < d), then e and f above, in either order.
    below = np.zeros((6, 6), dtype=bool)
    below[2, 3] = True
    below[:4, 4:] = True
    found = [tuple(row) for row in order_posterior(below).draw(4800, np.random.default_rng(1)).tolist()]
    kinds = sorted(set(found))
    assert len(kinds) == 12 * 2
    assert stats.chisquare([found.count(kind) for kind in kinds]).pvalue > SMALLEST_P


def test_too_many_ideals_are_refused():
    rng = np.random.default_rng(3)
    below = transitive_closure(np.triu(rng.random((14, 14)) < 0.15, 1))
    assert order_posterior(below, most_ideals=20) is None
    assert order_posterior(below) is not None


@pytest.mark.parametrize("twins", [2, 5, 40])
def test_elements_that_are_alike_have_the_same_chances(twins):
    """Twins and b below c, b below d: m!(m+1)(m+4)/2 extensions, and d comes before c in (m+2)/(m+4) of them."""
    b, c, d = twins, twins + 1, twins + 2
    below = np.zeros((twins + 3, twins + 3), dtype=bool)
    below[: b + 1, c] = below[b, d] = True
    law = order_posterior(below)
    expected = log2_factorial(twins) + np.log2((twins + 1) * (twins + 4) / 2)
    assert law.log2_count == pytest.approx(expected, rel=LOGARITHMS)
    before = law.before[np.ix_(np.argsort(law.elements), np.argsort(law.elements))]
    assert before[d, c] == pytest.approx((twins + 2) / (twins + 4), abs=ROUNDING)
    np.testing.assert_array_equal(before[:twins, :twins], 0.5 * (1 - np.eye(twins)))
    drawn = np.argsort(law.draw(3000, np.random.default_rng(5)), axis=1)
    first, second = np.nonzero(below)
    assert (drawn[:, first] < drawn[:, second]).all()
    shares = (drawn[:, :, None] < drawn[:, None]).mean(axis=0)
    error = np.sqrt(before * (1 - before) / 3000)
    assert (np.abs(shares - before) <= 5 * error + ROUNDING).all()


def test_draws_with_twins_are_uniform():
    below = np.zeros((5, 5), dtype=bool)
    below[:3, 3] = below[2, 4] = True
    found = [tuple(row) for row in order_posterior(below).draw(4000, np.random.default_rng(1)).tolist()]
    kinds = sorted(set(found))
    assert len(kinds) == 2 * 3 * 6 / 2
    assert stats.chisquare([found.count(kind) for kind in kinds]).pvalue > SMALLEST_P
