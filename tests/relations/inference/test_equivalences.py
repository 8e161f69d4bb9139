"""Equivalences counted exactly: two classes in closed form, many classes by whole numbers, and both priors."""

from math import comb, factorial, log2

import networkx as nx
import numpy as np
import pytest

from genlaws.core.errors import ConvergenceError, InputError
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.equivalences import class_numbers, known_components
from genlaws.relations.inference.hypotheses import CompleteBipartite, Equivalence
from genlaws.relations.structure.families import complete_bipartite, equivalence, modulo
from genlaws.relations.structure.training_set import TrainingSet, draw_training_set

ROUNDING = 1e-12
CANCELLED = 1e-6  # bits: what alternating counts may lose before they are refused


def nothing_seen(n):
    return TrainingSet(n, [], [])


def stirling(n, k):
    """Partitions of n elements into k classes, on whole numbers."""
    return sum((-1) ** (k - i) * comb(k, i) * i**n for i in range(k + 1)) // factorial(k)


@pytest.mark.parametrize("n", [2, 30, 500])
@pytest.mark.parametrize("links", [0.0, 0.3, 0.8, 1.5, 4.0])
@pytest.mark.parametrize("kind", ["bipartite", "equivalence"])
def test_two_classes_are_percolation(n, links, kind):
    """f = 1/2 + Σ|c|²/(2n²) over the components of the sampled pairs, and one bit less than components."""
    relation = complete_bipartite(n // 2, n - n // 2) if kind == "bipartite" else modulo(n, 2)
    known = draw_training_set(relation, min(1.0, links / n), seed=4)
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(known.pairs.tolist())
    sizes = [len(part) for part in nx.connected_components(graph)]
    law = posterior(known, CompleteBipartite() if kind == "bipartite" else Equivalence(2))
    assert law.method == "exact"
    assert law.accuracy == pytest.approx(0.5 + sum(size**2 for size in sizes) / (2 * n**2), abs=ROUNDING)
    assert law.bits_left == len(sizes) - 1
    assert law.determined == pytest.approx(sum(size**2 for size in sizes) / n**2, abs=ROUNDING)
    tables = law.draw(3, seed=1)
    assert (tables[:, known.pairs[:, 0], known.pairs[:, 1]] == known.values).all()


@pytest.mark.parametrize(("n", "k"), [(1, 1), (6, 6), (30, 30), (12, 1), (30, 2), (30, 3), (30, 5), (9, 7), (30, 10)])
def test_with_nothing_seen_every_partition_counts_once(n, k):
    law = posterior(nothing_seen(n), Equivalence(k, "relations"))
    assert law.method == "exact"
    assert law.bits_left == pytest.approx(log2(stirling(n, k)), abs=CANCELLED)
    if n > 1:
        same = stirling(n - 1, k) / stirling(n, k)
        np.testing.assert_allclose(law.probability[~np.eye(n, dtype=bool)], same, atol=CANCELLED)
    assert (law.determined == 1.0) == (stirling(n, k) == 1)
    assert all(len(np.unique(table, axis=0)) == k for table in law.draw(3))


@pytest.mark.parametrize(
    ("n", "k"), [(1, 9), (5, 3), (10, 30), (10, 100), (30, 5), (30, 12), (30, 30), (100, 40), (4, 200)]
)
def test_with_nothing_seen_the_entropy_of_the_partition_is_that_of_whole_numbers(n, k):
    """A partition into j classes is met k!/(k-j)! times among k^n colorings."""
    bits = 0.0
    for classes in range(1, min(n, k) + 1):
        names = factorial(k) // factorial(k - classes)
        bits += stirling(n, classes) * names / k**n * (n * log2(k) - log2(names))
    law = posterior(nothing_seen(n), Equivalence(k))
    assert law.bits_left == pytest.approx(bits, abs=CANCELLED)
    np.testing.assert_allclose(law.probability[~np.eye(n, dtype=bool)], 1 / k, atol=ROUNDING)


def test_a_count_that_cancels_is_not_called_exact():
    for n, known_class in ((30, Equivalence(28, "relations")), (60, Equivalence(50))):
        with pytest.raises(InputError, match="Too many relations are possible"):
            posterior(nothing_seen(n), known_class, method="exact")
    with pytest.raises(ConvergenceError, match="Hardly any draw used all 28 classes"):
        posterior(nothing_seen(30), Equivalence(28, "relations"), draws=200)


@pytest.mark.parametrize("prior", ["elements", "relations"])
def test_the_full_table_leaves_nothing_open(prior):
    for relation, known_class in (
        (modulo(9, 4), Equivalence(4, prior)),
        (complete_bipartite(3, 4), CompleteBipartite(prior)),
    ):
        law = posterior(draw_training_set(relation, 1.0), known_class)
        assert (law.accuracy, law.bits_left, law.determined) == (1.0, 0.0, 1.0)
        assert np.isnan(law.unseen_accuracy)
        np.testing.assert_array_equal(law.probability, relation.matrix)
        np.testing.assert_array_equal(law.draw(2), [relation.matrix] * 2)


def test_classes_that_may_not_be_empty_decide_what_is_left():
    # Five elements, {0, 1} and {2, 3} known: with four classes nobody else may join.
    known = TrainingSet(5, [(0, 1), (2, 3)], [1, 1])
    law = posterior(known, Equivalence(3, "relations"))
    np.testing.assert_array_equal(law.probability, equivalence([2, 2, 1]).matrix)
    assert law.bits_left == 0.0
    with pytest.raises(InputError, match="at most 3 classes, too few for 4"):
        posterior(known, Equivalence(4, "relations"))


def test_large_relations_stay_exact_and_certain():
    law = posterior(draw_training_set(modulo(500, 3), 0.02, seed=1), Equivalence(3))
    assert law.method == "exact"
    assert (law.accuracy, law.determined, law.bits_left) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("pairs", "values", "known_class", "said"),
    [
        ([(0, 1), (1, 2), (0, 2)], [1, 1, 0], Equivalence(2), r"\(a, c\) puts the two in different classes"),
        ([(0, 1), (1, 2), (0, 2)], [0, 0, 1], CompleteBipartite(), r"\(a, c\) puts the two in different classes"),
        ([(1, 1)], [0], Equivalence(2), r"\(b, b\) separates b from itself"),
        ([(1, 1)], [1], CompleteBipartite(), r"\(b, b\) separates b from itself"),
        ([(0, 1), (1, 2), (0, 2)], [1, 1, 1], CompleteBipartite(), "with 2 classes agrees .*: a, b, c would need more"),
        ([(0, 1)], [0], Equivalence(1), "with 1 class agrees .*: a, b would need more"),
        (
            [(i, j) for i in range(4) for j in range(i)],
            [0] * 6,
            Equivalence(3),
            "with 3 classes agrees .*: a, b, c, d would need",
        ),
    ],
)
def test_a_contradiction_is_refused_and_names_its_elements(pairs, values, known_class, said):
    with pytest.raises(InputError, match=said):
        posterior(TrainingSet(5, pairs, values, tuple("abcde")), known_class)


@pytest.mark.parametrize("known_class", [Equivalence(4, "relations"), CompleteBipartite("relations")])
def test_classes_that_would_stay_empty_are_refused(known_class):
    with pytest.raises(InputError, match="would leave some empty"):
        posterior(nothing_seen(1), known_class)


def test_components_and_conflicts_are_those_of_the_entries():
    known = TrainingSet(5, [(0, 3), (3, 1), (4, 0), (1, 4)], [1, 1, 0, 0], tuple("abcde"))
    components = known_components(known, known.values)
    of = components.of_element
    assert of[0] == of[1] == of[3]
    assert len(set(of.tolist())) == 3
    assert components.neighbors[of[0]] == {of[4]}
    assert components.neighbors[of[2]] == frozenset()
    assert [components.names[part] for part in (of[0], of[2], of[4])] == ["a", "c", "e"]


def test_classes_are_numbered_from_a_table():
    classes = class_numbers(modulo(7, 3).matrix)
    assert classes.tolist() == [0, 1, 2, 0, 1, 2, 0]
