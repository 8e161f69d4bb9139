"""The sums for any similarity in finite sets and discrete spaces: against enumeration, and in blocks."""

import itertools

import mpmath
import numpy as np
import pytest

from genlaws.semanticity import from_distances, hypercube, similarity, torus, tree
from genlaws.semanticity.theory import luce
from genlaws.semanticity.theory.exact import probabilities
from genlaws.semanticity.theory.luce import probabilities_from_density, probabilities_from_masses
from luce_cases import MANY, ROUNDING


def tied_matrix():
    return np.array(
        [
            [0, 1, 1, 2, 0],
            [1, 0, 2, 1, 1],
            [1, 2, 0, 3, 1],
            [2, 1, 3, 0, 2],
            [0, 1, 1, 2, 0],
        ],
        dtype=float,
    )


def enumerated(d, w, g, n, ties):
    """Go through every probe and every list of n items drawn with replacement."""
    right, selected, named = np.zeros(len(d)), np.zeros(len(d)), np.zeros(len(d))
    for p, items in itertools.product(range(len(d)), itertools.product(range(len(d)), repeat=n)):
        chance = np.prod(w[list(items)])
        seen, similar = d[p, list(items)], g(d[p, list(items)])
        nearest = np.flatnonzero(seen == seen.min())
        luce_choice = similar / similar.sum() if similar.sum() > 0 else np.full(n, 1 / n)
        if ties == "split" or nearest.size == 1:
            right[p] += chance * luce_choice[nearest].mean()
            selected[p] += chance
    for p, items in itertools.product(range(len(d)), itertools.product(range(len(d)), repeat=n - 1)):
        rivals = g(d[p, list(items)]).sum()
        named[p] += np.prod(w[list(items)]) * g(0.0) / (g(0.0) + rivals)
    there = selected > 0
    return (right[there] / selected[there]) @ w[there] / w[there].sum(), named @ w


@pytest.mark.parametrize("ties", ["split", "drop"])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    "g",
    [
        similarity("exponential", 0.7),
        similarity("linear", 1.5),
        similarity("constant", 1.0, background=0.1),
        similarity("linear", 0.5, cut=0.2),
    ],
    ids=["exponential", "linear with zeros", "constant", "only itself"],
)
def test_a_matrix_with_weights_is_its_enumeration(g, n, ties):
    d, w = tied_matrix(), np.array([0.1, 0.3, 0.2, 0.15, 0.25])
    expected = enumerated(d, w, g, n, ties)
    found = probabilities(from_distances(d, w), g, n, ties)
    assert found.generalization == pytest.approx(expected[0], rel=ROUNDING)
    assert found.identification == pytest.approx(expected[1], rel=ROUNDING)


def test_points_without_weight_change_nothing():
    d, w = tied_matrix(), np.array([0.4, 0.0, 0.35, 0.25, 0.0])
    there = w > 0
    g = similarity("exponential", 0.7)
    for ties in ("split", "drop"):
        found = probabilities(from_distances(d, w), g, 3, ties)
        expected = enumerated(d[np.ix_(there, there)], w[there], g, 3, ties)
        assert found.generalization == pytest.approx(expected[0], rel=ROUNDING)
        assert found.identification == pytest.approx(expected[1], rel=ROUNDING)


def test_where_every_set_is_tied_nothing_is_left():
    where = from_distances(np.zeros((3, 3)))
    assert np.isnan(probabilities(where, similarity("linear", 1.0), 2, "drop").generalization)
    assert probabilities(where, similarity("linear", 1.0), 2).generalization == pytest.approx(0.5, rel=ROUNDING)


@pytest.mark.parametrize("resolution", [100.0, 400.0])
@pytest.mark.parametrize("shape", ["exponential", "gaussian", "power-law"])
def test_two_items_on_a_large_hypercube_are_a_double_sum(shape, resolution):
    where, g = hypercube(1000), similarity(shape, resolution)
    m, s = where.mass[0], g(where.distance[0])
    chance = np.maximum.outer(s, s) / np.add.outer(s, s)
    found = probabilities(where, g)
    assert found.generalization == pytest.approx(m @ chance @ m, rel=ROUNDING)
    assert found.identification == pytest.approx(m @ (1 / (1 + s)), rel=ROUNDING)


@pytest.mark.parametrize("shape", ["linear", "exponential"])
def test_a_million_leaves_of_a_deep_tree(shape):
    where, g = tree(3, 30), similarity(shape, 12.0)
    with mpmath.workdps(25):
        m = [mpmath.mpf(3) ** (k - 30) - (mpmath.mpf(3) ** (k - 31) if k else 0) for k in range(31)]
        s = [mpmath.mpf(float(value)) for value in g(where.distance[0])]

        def integrand(x):
            t = mpmath.exp(x)
            y = [a * mpmath.exp(-t * b) for a, b in zip(m, s, strict=True)]
            tails = [mpmath.fsum(y[i:]) for i in range(len(y) + 1)]
            return t * mpmath.fsum(s[i] * (tails[i] ** MANY - tails[i + 1] ** MANY) for i in range(len(y)) if s[i])

        zero = mpmath.fsum(a for a, b in zip(m, s, strict=True) if not b)
        expected = mpmath.quad(integrand, np.linspace(-42, 9, 12).tolist(), maxdegree=4) + zero**MANY / MANY
    assert probabilities(where, g, MANY).generalization == pytest.approx(float(expected), rel=1e-11)


def test_the_size_of_the_blocks_does_not_matter(monkeypatch):
    d = tied_matrix()
    g = similarity("exponential", 0.7, background=0.01)
    calls = [
        lambda: probabilities_from_masses(np.sort(d, axis=1), np.full(d.shape, 0.2), g, (2, 4), "split"),
        lambda: probabilities_from_masses(np.sort(d, axis=1), np.full(d.shape, 0.2), g, (2, 4), "drop"),
        lambda: probabilities_from_density(torus(2).probes(())[0][1], g, (2, 4)),
    ]
    whole = [call() for call in calls]
    monkeypatch.setattr(luce, "BLOCK_SIZE", 1)
    for before, after in zip(whole, [call() for call in calls], strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-13)
