"""All tuples of a finite set: against going through every tuple, closed forms and the limit of a large set."""

import itertools

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.core.numerics.reciprocal import TEN_DIGIT_SPACING
from genlaws.semanticity import circle, finite_generalization, finite_identification, similarity
from genlaws.semanticity.theory import finite_sets
from genlaws.semanticity.theory.exact import probabilities
from genlaws.semanticity.theory.finite_sets import sort_others, subset_share, tuple_probabilities
from genlaws.semanticity.theory.stimulus_sets import stimulus_set

# Sums over at most a few thousand sets of numbers good to the last digits.
ROUNDING = 1e-12
DISTANT_CUT = 10.0  # beyond every distance: changes no number, but the closed form is not used
COUNTS = (1, 2, 3, 5, 6)


def luce(similar):
    total = similar.sum()
    return similar / total if total > 0 else np.full(similar.size, 1 / similar.size)


def groups(distance, tolerance):
    """Return a number for each item; neighbors in distance that differ by no more than the tolerance share it."""
    order = np.argsort(distance, kind="stable")
    label = np.empty(distance.size, dtype=int)
    label[order] = np.concatenate([[0], np.cumsum(np.diff(distance[order]) > tolerance)])
    return label


def enumerated(g, d, n, ties, tolerance=0.0):
    """Go through every probe and every set of n others; return both probabilities of each probe."""
    size = len(g)
    generalization, identification = np.full((2, size), np.nan)
    for p in range(size):
        others = np.delete(np.arange(size), p)
        label = dict(zip(others.tolist(), groups(d[p, others], tolerance).tolist(), strict=True))
        right = []
        for items in itertools.combinations(others.tolist(), n):
            near = np.array([label[item] for item in items])
            nearest = np.flatnonzero(near == near.min())
            if ties == "split" or nearest.size == 1:
                right.append(luce(g[p, list(items)])[nearest].mean())
        generalization[p] = np.mean(right) if right else np.nan
        rivals = itertools.combinations(others.tolist(), n - 1)
        identification[p] = np.mean([luce(g[p, [p, *items]])[0] for items in rivals])
    return generalization, identification


def stimuli(kind, size=7):
    """Return similarities, not a function of distance, and distances with few, many or no equals."""
    rng = np.random.default_rng(5)
    g = rng.random((size, size)) ** 3 + 1e-3
    d = rng.random((size, size))
    if kind == "pairs":
        d = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
        d = np.minimum(d, size - d)
    elif kind == "many ties":
        d = rng.integers(1, 3, (size, size)).astype(float)
    elif kind == "all tied":
        d = np.ones((size, size))
    elif kind == "zeros":
        g[rng.random((size, size)) < 0.6] = 0.0
        d = rng.integers(1, 4, (size, size)).astype(float)
    elif kind == "own zeros":
        g[rng.random((size, size)) < 0.5] = 0.0
        np.fill_diagonal(g, [0.0, 0.5, 0.0, 1.0, 0.0, 0.2, 0.0])
    elif kind == "nothing":
        g[:] = 0.0
        g[0, 1] = 0.3
    elif kind == "decades":
        g = 10.0 ** -rng.integers(0, 12, (size, size))
    d = (d + d.T) / 2 if kind in ("plain", "own zeros", "nothing", "decades") else np.triu(d) + np.triu(d, 1).T
    np.fill_diagonal(d, 0.0)
    return g, d


KINDS = ["plain", "pairs", "many ties", "all tied", "zeros", "own zeros", "nothing", "decades"]


@pytest.mark.parametrize("ties", ["split", "drop"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_tuple_is_counted(kind, ties):
    g, d = stimuli(kind)
    found = tuple_probabilities(sort_others(g, d, np.diagonal(g).copy()), COUNTS, ties)
    for column, n in enumerate(COUNTS):
        expected = enumerated(g, d, n, ties)
        np.testing.assert_allclose(found[0][:, column], expected[0], rtol=ROUNDING)
        np.testing.assert_allclose(found[1][:, column], expected[1], rtol=ROUNDING)


@pytest.mark.parametrize("ties", ["split", "drop"])
def test_distances_within_the_tolerance_are_tied(ties):
    g, d = stimuli("many ties")
    shaken = d + 1e-9 * np.random.default_rng(1).random(d.shape)
    shaken = (shaken + shaken.T) / 2
    np.fill_diagonal(shaken, 0.0)
    others = sort_others(g, shaken, np.diagonal(g).copy(), tolerance=1e-8)
    found = tuple_probabilities(others, (2, 4), ties)
    for column, n in enumerate((2, 4)):
        np.testing.assert_allclose(found[0][:, column], enumerated(g, d, n, ties)[0], rtol=ROUNDING)
    untied = tuple_probabilities(sort_others(g, shaken, np.diagonal(g).copy()), (2, 4), ties)
    assert np.nanmax(np.abs(untied[0] - found[0])) > 0.01


def test_ties_of_two_and_of_three_agree_where_both_apply():
    # Tied pairs take a shorter way; a probe with three equals next to them takes all the longer one.
    g, d = stimuli("pairs")
    apart = tuple_probabilities(sort_others(g, d, np.diagonal(g).copy()), COUNTS)
    more_g, more_d = np.vstack([g, g[:1]]), np.vstack([d, [[0, 1, 1, 1, 2, 2, 3]]])
    probes = np.array([*range(7), 0])
    together = tuple_probabilities(sort_others(more_g, more_d, np.diagonal(g)[probes], probes), COUNTS)
    np.testing.assert_allclose(together[0][:7], apart[0], rtol=ROUNDING)


def test_some_probes_only():
    g, d = stimuli("zeros")
    own, chosen = np.diagonal(g).copy(), np.array([4, 1])
    whole = tuple_probabilities(sort_others(g, d, own), (2, 3))
    some = tuple_probabilities(sort_others(g[chosen], d[chosen], own[chosen], chosen), (2, 3))
    np.testing.assert_allclose(some, np.array(whole)[:, chosen], rtol=ROUNDING)


def test_the_order_points_back_to_the_columns():
    g, d = stimuli("plain")
    others = sort_others(g, d, np.diagonal(g).copy())
    for p in range(len(g)):
        assert sorted([*others.order[p].tolist(), p]) == list(range(len(g)))
        assert (np.diff(d[p, others.order[p]]) >= 0).all()
        scale = g[p].max()
        np.testing.assert_allclose(others.similarity[p] * scale, g[p, others.order[p]], rtol=ROUNDING)
        assert others.own[p] * scale == pytest.approx(g[p, p], rel=ROUNDING)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_the_unit_of_similarity_does_not_matter(unit):
    g, d = stimuli("pairs")
    found = tuple_probabilities(sort_others(g * unit, d, np.diagonal(g) * unit), (2, 4))
    np.testing.assert_allclose(found, tuple_probabilities(sort_others(g, d, np.diagonal(g).copy()), (2, 4)), rtol=1e-13)


@pytest.mark.parametrize("tiny", [1e-285, 1e-300, 5e-324])
def test_a_similarity_too_small_for_ratios_counts_as_none(tiny):
    g, d = stimuli("plain")
    g[:, 2:5], nothing = tiny, g.copy()
    nothing[:, 2:5] = 0.0
    found, expected = (
        tuple_probabilities(sort_others(part, d, np.diagonal(part).copy()), (2, 4)) for part in (g, nothing)
    )
    np.testing.assert_allclose(found, expected, rtol=ROUNDING)


def test_the_size_of_the_blocks_does_not_matter(monkeypatch):
    for kind, ties in itertools.product(("plain", "pairs", "zeros"), ("split", "drop")):
        g, d = stimuli(kind)
        others = sort_others(g, d, np.diagonal(g).copy())
        monkeypatch.setattr(finite_sets, "BLOCK_SIZE", 1 << 18)
        whole = tuple_probabilities(others, (2, 5), ties)
        monkeypatch.setattr(finite_sets, "BLOCK_SIZE", 1)
        np.testing.assert_allclose(tuple_probabilities(others, (2, 5), ties), whole, rtol=ROUNDING)


def test_ten_digits_are_ten_digits():
    g, d = stimuli("many ties")
    others = sort_others(g, d, np.diagonal(g).copy())
    coarse = tuple_probabilities(others, (2, 5), "split", TEN_DIGIT_SPACING)
    np.testing.assert_allclose(coarse, tuple_probabilities(others, (2, 5)), rtol=1e-10)


def ring(size):
    """Return the distances of `size` points on the circle of length 1, counted in steps so that ties are exact."""
    steps = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return np.minimum(steps, size - steps) / size


@pytest.mark.parametrize("delta", [0.0, 0.07])
@pytest.mark.parametrize("n", [2, 3, 7, 39])
def test_the_constant_similarity_has_hypergeometric_closed_forms(n, delta):
    d = ring(41)
    g = similarity("constant", 0.2, background=delta, cut=DISTANT_CUT)
    generalization, identification = stimulus_set(d).probabilities(g, (n,))
    neighbors = (d[0] <= 0.2).sum() - 1
    assert generalization[0] == pytest.approx(float(finite_generalization(neighbors, 41, n, delta)), rel=ROUNDING)
    assert identification[0] == pytest.approx(float(finite_identification(neighbors, 41, n, delta)), rel=ROUNDING)


def test_an_irregular_set_averages_its_probes():
    points = np.random.default_rng(2).random((30, 2))
    d = np.linalg.norm(points[:, None] - points, axis=-1)
    neighbors = (d <= 0.3).sum(axis=1) - 1
    found = stimulus_set(d).probabilities(similarity("constant", 0.3, background=0.1, cut=DISTANT_CUT), (2, 5))
    for column, n in enumerate((2, 5)):
        assert found[0][column] == pytest.approx(finite_generalization(neighbors, 30, n, 0.1).mean(), rel=ROUNDING)
        assert found[1][column] == pytest.approx(finite_identification(neighbors, 30, n, 0.1).mean(), rel=ROUNDING)


def test_ties_are_two_per_cent_of_the_triples_of_fifty_points_on_a_circle():
    others = sort_others(ring(50), ring(50), np.ones(50))
    # 24 pairs of equally near points among 49 · 48 / 2.
    share = others.tied_with_next.sum(axis=1) / (49 * 48 / 2)
    np.testing.assert_allclose(share, 24 / 1176)
    np.testing.assert_allclose(share, 0.02, atol=1e-3)


@pytest.mark.parametrize("shape", ["linear", "exponential"])
@pytest.mark.parametrize("n", [2, 4])
def test_a_large_ring_approaches_the_circle(shape, n):
    g = similarity(shape, 0.15)
    law = probabilities(circle(), g, n)
    once, twice = (
        np.array(stimulus_set(ring(size)).probabilities(g, (n,)))[:, 0] - [law.generalization, law.identification]
        for size in (201, 401)
    )
    # The finite-size term is of order n²/N; what is left after halving it away is of the order of its square.
    assert (np.abs(twice) < n**2 / 401).all()
    assert (np.abs(twice) > 1e-5).all()
    assert (np.abs(2 * twice - once) < (n**2 / 401) ** 2).all()


def test_without_any_untied_set_generalization_is_undefined():
    found = stimulus_set(np.ones((4, 4)) - np.eye(4)).probabilities(similarity("linear", 2.0), (2,), "drop")
    assert np.isnan(found[0][0])
    assert found[1][0] == pytest.approx(1 / 1.5, rel=ROUNDING)


def test_many_items_overflow_nothing():
    points = np.random.default_rng(0).random(100)
    d = np.abs(np.subtract.outer(points, points))
    found = stimulus_set(d).probabilities(similarity("exponential", 0.02), (2, 40, 99))
    for part in found:
        assert np.isfinite(part).all()
        assert (part > 0).all()
        assert (part <= 1 + ROUNDING).all()


@pytest.mark.parametrize(
    ("marked", "total", "size", "share"), [(3, 5, 2, 3 / 10), (1, 5, 2, 0.0), (5, 5, 5, 1.0), (0, 4, 0, 1.0)]
)
def test_the_share_of_subsets(marked, total, size, share):
    assert subset_share(marked, total, size) == pytest.approx(share, rel=ROUNDING)


LINEAR = similarity("linear", 0.3)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (
            lambda: stimulus_set(ring(5)).probabilities(LINEAR, (5,)),
            "item_count must be a whole number, .* at most 4; got 5",
        ),
        (lambda: stimulus_set(ring(5)).probabilities(LINEAR, (1,)), "at least 2 and at most 4; got 1"),
        (lambda: stimulus_set(ring(5)).probabilities(LINEAR, (2.5,)), "item_count must be a whole number"),
        (lambda: stimulus_set(ring(5)).probabilities(LINEAR, ()), "item_counts must name at least one"),
        (
            lambda: stimulus_set(ring(5)).probabilities(LINEAR, (2,), "keep"),
            "ties must be one of split, drop; got 'keep'",
        ),
        (lambda: stimulus_set(np.ones((2, 3))), "must be a square matrix"),
        (lambda: stimulus_set([[0, 1, 1], [2, 0, 1], [1, 1, 0]]), "must be symmetric"),
        (
            lambda: stimulus_set(ring(30)).probabilities(similarity("exponential", 1e-4)),
            "resolution must be coarser than 0.0001 for the exponential similarity",
        ),
        (
            lambda: tuple_probabilities(sort_others(np.eye(3), ring(3), np.ones(3)), (3,)),
            "item_counts must be a whole number, at least 1 and at most 2; got 3. The probe is none of the items",
        ),
    ],
)
def test_wrong_arguments_are_named(call, complaint):
    with pytest.raises(InputError, match=complaint):
        call()
