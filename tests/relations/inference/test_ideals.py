"""Counting through ideals: posets whose counts are known, plain enumeration, and windows of more than 63 positions."""

from itertools import combinations, permutations, product
from math import comb, factorial, prod

import numpy as np
import pytest
from scipy import stats

from genlaws.relations.inference.ideals import count_extensions, find_ideals, order_probabilities, sample_extensions
from genlaws.relations.inference.orders import known_order, order_posterior, transitive_closure
from genlaws.relations.structure.families import less_than
from genlaws.relations.structure.training_set import draw_training_set

ROUNDING = 1e-12  # sums of a few thousand terms of order one
SMALLEST_P = 1e-4  # of a chi-square test with a fixed seed


def poset(n, pairs):
    table = np.zeros((n, n), dtype=bool)
    for i, j in pairs:
        table[i, j] = True
    return transitive_closure(table)


def fence(n):
    return poset(n, [(i, i + 1) if i % 2 == 0 else (i + 1, i) for i in range(n - 1)])


def subsets(n):
    return poset(2**n, [(a, a | 1 << bit) for a in range(2**n) for bit in range(n) if not a >> bit & 1])


def random_poset(n, rng):
    upper = np.triu(rng.random((n, n)) < rng.uniform(0, 0.6), 1)
    shuffle = rng.permutation(n)
    return transitive_closure(upper)[np.ix_(shuffle, shuffle)]


def extensions(below):
    n = len(below)
    clashes = np.argwhere(below).tolist()
    every = ({e: r for r, e in enumerate(way)} for way in permutations(range(n)))
    return np.array([[rank[e] for e in range(n)] for rank in every if all(rank[i] < rank[j] for i, j in clashes)])


KNOWN = {
    "one element": (poset(1, []), 1),
    "antichain of 9": (poset(9, []), factorial(9)),
    "chain of 20": (poset(20, [(i, i + 1) for i in range(19)]), 1),
    "chains of 4 and 6": (poset(10, [(i, i + 1) for i in range(9) if i != 3]), comb(10, 4)),
    "N": (poset(4, [(0, 2), (1, 2), (1, 3)]), 5),
    # Up-down numbers, A000111 of the OEIS.
    **{f"fence of {n}": (fence(n), count) for n, count in ((2, 1), (5, 16), (8, 1385), (12, 2702765))},
    **{f"subsets of {n}": (subsets(n), count) for n, count in ((1, 1), (2, 2), (3, 48), (4, 1680384))},
}


@pytest.mark.parametrize(("below", "count"), KNOWN.values(), ids=KNOWN.keys())
def test_known_posets_have_their_number_of_extensions(below, count):
    counts = count_extensions(find_ideals(below))
    assert 2**counts.log2_count == pytest.approx(count, rel=ROUNDING)


@pytest.mark.parametrize("seed", range(30))
def test_ideals_probabilities_and_ranks_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    below = random_poset(int(rng.integers(1, 8)), rng)
    n = len(below)
    lattice = find_ideals(below)
    downsets = [
        chosen
        for size in range(n + 1)
        for chosen in combinations(range(n), size)
        if all(set(np.flatnonzero(below[:, e])) <= set(chosen) for e in chosen)
    ]
    assert lattice.size == len(downsets)
    rank = extensions(below)
    counts = count_extensions(lattice)
    assert 2**counts.log2_count == pytest.approx(len(rank), rel=ROUNDING)
    before, of_rank = order_probabilities(lattice, counts)
    np.testing.assert_allclose(before, (rank[:, :, None] < rank[:, None]).mean(axis=0), atol=ROUNDING)
    np.testing.assert_allclose(of_rank, (rank[:, :, None] == np.arange(n)).mean(axis=0), atol=ROUNDING)


@pytest.mark.parametrize("seed", range(5))
def test_drawn_extensions_are_uniform(seed):
    rng = np.random.default_rng(seed)
    below = random_poset(5, rng)
    lattice = find_ideals(below)
    found = sample_extensions(lattice, count_extensions(lattice), 4000, rng)
    ranks = [tuple(rank) for rank in np.argsort(found, axis=1).tolist()]
    every = [tuple(rank) for rank in extensions(below).tolist()]
    assert set(ranks) <= set(every)
    if len(every) > 1:
        assert stats.chisquare([ranks.count(rank) for rank in every]).pvalue > SMALLEST_P


def test_giving_up_is_said_and_not_hidden():
    ten = poset(10, [])
    assert find_ideals(ten, most=1023) is None
    assert find_ideals(ten, most=1024).size == 1024
    assert find_ideals(poset(64, [])) is None  # the window
    assert find_ideals(poset(63, []), most=10_000) is None


def finger_poset(length, fingers):
    """A chain with fingers, each only known to lie after one link of the chain and before another."""
    n = length + len(fingers)
    pairs = [(i, i + 1) for i in range(length - 1)]
    for number, (low, high) in enumerate(fingers, start=length):
        pairs += [(low - 1, number)] * (low > 0) + [(number, high)] * (high < length)
    return poset(n, pairs)


def placements(fingers):
    """Return each way to put the fingers into gaps (gap g lies before link g) and how many orders it stands for."""
    for gaps in product(*(range(low, high + 1) for low, high in fingers)):
        yield gaps, prod(factorial(gaps.count(gap)) for gap in set(gaps))


@pytest.mark.parametrize("length", [100, 150, 197])
@pytest.mark.parametrize("seed", range(4))
def test_orders_of_hundreds_of_elements_fit_a_moving_window(length, seed):
    rng = np.random.default_rng(seed)
    start, fingers = int(rng.integers(0, 20)), []
    while start + 30 < length and len(fingers) < 3:
        fingers.append((start, start + int(rng.integers(8, 28))))
        start += int(rng.integers(3, 8)) if len(fingers) == 1 else int(rng.integers(3, 40))
    below = finger_poset(length, fingers)
    lattice = find_ideals(below)
    counts = count_extensions(lattice)
    ways = list(placements(fingers))
    total = sum(weight for _, weight in ways)
    assert 2**counts.log2_count == pytest.approx(total, rel=ROUNDING)
    before, rank = order_probabilities(lattice, counts)
    for number in range(len(fingers)):
        at_most = np.array([sum(w for gaps, w in ways if gaps[number] <= link) / total for link in range(length)])
        np.testing.assert_allclose(before[length + number, :length], at_most, atol=ROUNDING)
    np.testing.assert_allclose(before + before.T, 1 - np.eye(len(below)), atol=ROUNDING)
    np.testing.assert_allclose(rank.sum(axis=0), 1, atol=ROUNDING)
    np.testing.assert_allclose(rank.sum(axis=1), 1, atol=ROUNDING)


@pytest.mark.parametrize("length", range(55, 135, 7))
def test_a_long_finger_is_counted_or_refused_but_never_miscounted(length):
    lattice = find_ideals(finger_poset(length, [(0, length)]))
    assert lattice is not None or length + 1 > 63
    if lattice is not None:
        assert 2 ** count_extensions(lattice).log2_count == pytest.approx(length + 1, rel=ROUNDING)


@pytest.mark.parametrize("reach", range(20, 101, 5))
def test_a_window_that_leaps_is_never_miscounted(reach):
    # x has to be in exactly when z may come in: then the window leaps from x to z, and what is made at this level
    # spans both.
    middle, length = 100, 200
    x, z, e = length, length + 1, length + 2
    pairs = [(i, i + 1) for i in range(length - 1)]
    pairs += [(x, middle), (middle - 1, z), (x, z), (middle - 3, e), (e, middle + 2)]
    pairs += [(middle - 1 - reach, x)] * (reach < middle) + [(z, middle - 1 + reach)] * (reach < length - middle)
    lattice = find_ideals(poset(length + 3, pairs))
    lowest, highest = max(0, middle - reach), min(length, middle - 1 + reach)
    total = 0
    for gap_x, gap_z, gap_e in product(
        range(lowest, middle + 1), range(middle, highest + 1), range(middle - 2, middle + 3)
    ):
        adjacent = (gap_e == gap_x) + (gap_e == gap_z)
        total += 1 + adjacent  # x before z, so that e alone may change places inside a gap
    assert lattice is not None or reach > 40
    if lattice is not None:
        assert 2 ** count_extensions(lattice).log2_count == pytest.approx(total, rel=ROUNDING)


@pytest.mark.parametrize("p", [0.03, 0.04, 0.05])
def test_the_papers_size_stays_below_the_largest_number_of_ideals(p):
    for seed in range(50):
        below = known_order(draw_training_set(less_than(30), p, seed), reflexive=False)
        assert order_posterior(below) is not None
