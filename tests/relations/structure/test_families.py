"""The relations made by a rule are what the rule says."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.structure import families
from genlaws.relations.structure.properties import properties


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("mod3", lambda i, j: i % 3 == j % 3),
        ("mod5", lambda i, j: i % 5 == j % 5),
        ("less-than", lambda i, j: i < j),
        ("bipartite-10-20", lambda i, j: (i < 10) != (j < 10)),
        ("equivalence-10-20", lambda i, j: (i < 10) == (j < 10)),
        ("divisibility", lambda i, j: (j + 1) % (i + 1) == 0),
        ("binary-tree", lambda i, j: j in {2 * i + 1, 2 * i + 2}),
    ],
)
def test_named_relations_follow_their_rule(name, rule):
    relation = families.named_relation(name)
    expected = [[rule(i, j) for j in range(30)] for i in range(30)]
    np.testing.assert_array_equal(relation.matrix, expected)


def test_majority_accuracies_of_the_paper():
    names = ("mod3", "mod5", "less-than", "bipartite-15-15", "bipartite-10-20")
    found = [families.named_relation(name).majority_accuracy for name in names]
    np.testing.assert_allclose(found, [600 / 900, 720 / 900, 465 / 900, 0.5, 500 / 900])


def test_the_closure_of_covers_is_transitive():
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = int(rng.integers(1, 25))
        order = rng.permutation(n)
        covers = np.argwhere(np.triu(rng.random((n, n)) < 0.15, 1))
        relation = families.partial_order(n, order[covers].reshape(-1, 2))
        step = np.zeros((n, n))
        step[tuple(order[covers].reshape(-1, 2).T)] = 1
        reached = np.linalg.matrix_power(np.eye(n) + step, n) - np.eye(n) > 0
        np.testing.assert_array_equal(relation.matrix, reached)
    assert properties(families.partial_order(4, [[0, 1], [1, 2]], reflexive=True)).partial_order


def test_trees_and_ancestors():
    parents = [-1, 0, 0, 1, 3]
    assert families.tree(parents).pairs.tolist() == [[0, 1], [0, 2], [1, 3], [3, 4]]
    ancestors = families.tree(parents, ancestors=True)
    assert ancestors.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [0, 4], [1, 3], [1, 4], [3, 4]]
    assert properties(ancestors).strict_partial_order
    assert families.binary_tree(1).element_count == 1


def test_incomplete_bipartite_is_random_between_the_sides_alone():
    relation = families.incomplete_bipartite(40, 50, 0.3, seed=5)
    table = relation.matrix
    assert not table[:40, :40].any()
    assert not table[40:, 40:].any()
    np.testing.assert_array_equal(table, table.T)
    assert abs(table[:40, 40:].mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 2000)
    np.testing.assert_array_equal(families.incomplete_bipartite(40, 50, 0.3, seed=5).pairs, relation.pairs)
    assert families.named_relation("incomplete-bipartite-3-4").element_count == 7


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: families.modulo(3, 5), "class_count must be at most the 3 elements; got 5. A class would be empty"),
        (lambda: families.modulo(0, 1), "element_count must be a whole number, at least 1"),
        (lambda: families.named_relation("mod0"), "class_count must be a whole number, at least 1"),
        (lambda: families.less_than(2.5), "element_count must be a whole number"),
        (lambda: families.less_than(10**6), "at most 20000; got 1000000"),
        (lambda: families.equivalence([]), "at least one class"),
        (lambda: families.equivalence([3, 0]), "A class must not be empty"),
        (lambda: families.equivalence(5.0), "class_sizes must be a whole number"),
        (lambda: families.named_relation("equivalence-0-3"), "A class must not be empty"),
        (lambda: families.partial_order(2, [[0, 1], [1, 0]]), "must not form a cycle"),
        (lambda: families.partial_order(2, [[0, 0]]), "must not form a cycle"),
        (lambda: families.partial_order(2, [[0.5, 1]]), "rows of two element numbers"),
        (lambda: families.tree([0, 1]), "exactly once, for the root; got it 0 times"),
        (lambda: families.tree([-1, 2, 1]), "some form a cycle"),
        (lambda: families.tree([-1, 7]), "element numbers from 0 to 1"),
        (lambda: families.tree([]), "parents must be a list"),
        (lambda: families.incomplete_bipartite(2, 2, 1.5), r"density must lie in \[0, 1\]"),
        (lambda: families.named_relation("mod3x"), "There is no relation 'mod3x'; known are modK"),
        (lambda: families.named_relation(3), "must be text"),
        (lambda: families.named_relation("bipartite-2-3", 6), "has 5 elements"),
    ],
)
def test_wrong_input_is_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
