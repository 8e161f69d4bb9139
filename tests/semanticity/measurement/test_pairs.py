"""Two items over all triples: both routes, enumeration, and the sum over tuples of two."""

import itertools

import numpy as np
import pytest

from genlaws.semanticity.measurement import pairs
from genlaws.semanticity.measurement.pairs import pair_generalization, pair_sums
from genlaws.semanticity.theory.finite_sets import Others, sort_others, tuple_probabilities

# Sums of a few hundred probabilities.
ROUNDING = 1e-12


def stimuli(size, seed=0, *, levels=0, zeros=0.0, decades=1.0):
    """Return the others of random stimuli; `levels` distances only, a share of `zeros`, similarities over `decades`."""
    rng = np.random.default_rng(seed)
    g = 10.0 ** (-decades * rng.random((size, size)))
    g[rng.random((size, size)) < zeros] = 0.0
    d = rng.integers(1, levels + 1, (size, size)).astype(float) if levels else rng.random((size, size))
    return sort_others(g, d, np.ones(size)), d


KINDS = {
    "plain": {},
    "ties": {"levels": 4},
    "zeros": {"zeros": 0.5},
    "ties and zeros": {"levels": 3, "zeros": 0.7},
    "decades": {"decades": 30.0},
    "all tied": {"levels": 1},
    "no similarity": {"zeros": 1.0},
}


def enumerated(others, distance, ties):
    """Go through every pair of each probe and add its probability and its count at both items."""
    shape = others.similarity.shape
    right, trials, tied = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for p, (i, j) in itertools.product(range(shape[0]), itertools.combinations(range(shape[1]), 2)):
        nearer, farther = others.similarity[p, [i, j]]
        equal = distance[p, others.order[p, i]] == distance[p, others.order[p, j]]
        chance = nearer / (nearer + farther) if nearer + farther > 0 else 0.5
        for item in (i, j):
            tied[p, item] += equal
            if ties == "split" or not equal:
                right[p, item] += 0.5 if equal else chance
                trials[p, item] += 1
    return right, trials, tied


@pytest.mark.parametrize("ties", ["split", "drop"])
@pytest.mark.parametrize("cost", [0, 10**9], ids=["by rates", "one by one"])
@pytest.mark.parametrize("kind", KINDS)
def test_both_routes_count_every_pair(kind, cost, ties, monkeypatch):
    monkeypatch.setattr(pairs, "RATE_COST", cost)
    others, distance = stimuli(9, **KINDS[kind])
    found = pair_sums(others, ties)
    for part, expected in zip((found.right, found.trials, found.tied), enumerated(others, distance, ties), strict=True):
        np.testing.assert_allclose(part, expected, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("kind", KINDS)
def test_the_routes_agree_on_a_large_set(kind, monkeypatch):
    others, _ = stimuli(700, seed=3, **KINDS[kind])
    some = Others(*(part[:20] for part in (others.similarity, others.own, others.tied_with_next, others.order)))
    monkeypatch.setattr(pairs, "RATE_COST", 0)
    by_rates = pair_sums(some)
    monkeypatch.setattr(pairs, "RATE_COST", 10**9)
    one_by_one = pair_sums(some)
    np.testing.assert_allclose(by_rates.right, one_by_one.right, rtol=ROUNDING)
    np.testing.assert_array_equal(by_rates.trials, one_by_one.trials)


def test_the_cheaper_route_is_taken(monkeypatch):
    taken = []
    for name in ("_by_rates", "_divide"):
        plain = getattr(pairs, name)
        monkeypatch.setattr(pairs, name, lambda *args, name=name, plain=plain: taken.append(name) or plain(*args))
    pair_sums(stimuli(20)[0])
    pair_sums(stimuli(600)[0])
    assert (taken[0], taken[-1]) == ("_divide", "_by_rates")


@pytest.mark.parametrize("ties", ["split", "drop"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_means_are_those_of_tuples_of_two(kind, ties, monkeypatch):
    others, _ = stimuli(11, seed=1, **KINDS[kind])
    expected = tuple_probabilities(others, (2,), ties)[0][:, 0]
    sums = pair_sums(others, ties)
    total, trials = sums.right.sum(axis=1), sums.trials.sum(axis=1)
    mean = np.divide(total, trials, out=np.full(total.shape, np.nan), where=trials > 0)
    np.testing.assert_allclose(mean, expected, rtol=ROUNDING)
    for cost in (0, 10**9):
        monkeypatch.setattr(pairs, "RATE_COST", cost)
        np.testing.assert_allclose(pair_generalization(others, ties), expected, rtol=ROUNDING)


def tied_without(tied, item):
    """Return the ties with the next of a row without one of its items."""
    group = np.concatenate([np.zeros((len(tied), 1)), np.cumsum(~tied[:, :-1], axis=1)], axis=1)
    rest = np.delete(group, item, axis=1)
    last = np.zeros((len(tied), 1), dtype=bool)
    return np.concatenate([rest[:, :-1] == rest[:, 1:], last], axis=1)


def test_a_stimulus_can_be_left_out():
    # What is left without one item is the sum over the others, each pair counted at both of its items.
    others, _ = stimuli(8, levels=3, zeros=0.3)
    sums = pair_sums(others)
    for item in range(7):
        rest = np.delete(np.arange(7), item)
        without = sums.right.sum(axis=1) - 2 * sums.right[:, item]
        smaller = Others(
            others.similarity[:, rest], others.own, tied_without(others.tied_with_next, item), others.order[:, rest]
        )
        np.testing.assert_allclose(without, pair_sums(smaller).right.sum(axis=1), rtol=ROUNDING, atol=ROUNDING)


def test_the_size_of_the_blocks_does_not_matter(monkeypatch):
    for size, kind in ((12, "ties and zeros"), (600, "ties")):
        others, _ = stimuli(size, **KINDS[kind])
        monkeypatch.setattr(pairs, "BLOCK_SIZE", 1 << 18)
        whole = pair_sums(others)
        monkeypatch.setattr(pairs, "BLOCK_SIZE", 5000)
        np.testing.assert_allclose(pair_sums(others).right, whole.right, rtol=ROUNDING)


@pytest.mark.parametrize("size", [2, 3])
def test_the_smallest_sets(size):
    others, distance = stimuli(size)
    found = pair_sums(others)
    np.testing.assert_allclose(found.right, enumerated(others, distance, "split")[0], rtol=ROUNDING)
