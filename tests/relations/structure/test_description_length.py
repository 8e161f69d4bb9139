"""Description lengths: the anchors of n = 30, brute-force counts of small classes, and large numbers."""

import itertools
from math import e, factorial, lgamma, log, log2

import mpmath
import networkx as nx
import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.structure import description_length, families
from genlaws.relations.structure.automorphisms import count_automorphisms
from genlaws.relations.structure.classes import RelationClass, classify_relation
from genlaws.relations.structure.description_length import (
    COUNTED_CLASSES,
    TABLE_CLASSES,
    description_length_count,
    description_length_exact,
    description_length_table,
)
from genlaws.relations.structure.properties import properties
from genlaws.relations.structure.relation import Relation

# Class, its table value at n = 30 and the exact number's logarithm, to the printed digits.
ANCHORS = [
    ("mod3", 47.55, 44.96, 39.75),
    ("mod5", 69.66, 62.74, 53.34),
    ("less-than", 103.9, 107.71, 107.71),
    ("bipartite-15-15", 30, 29, 26.21),
    ("bipartite-10-20", 30, 29, 24.84),
]


@pytest.mark.parametrize(("name", "table", "count", "exact"), ANCHORS)
def test_anchors_at_thirty_elements(name, table, count, exact):
    relation = families.named_relation(name)
    assert description_length_table(relation) == pytest.approx(table, abs=0.05)
    assert description_length_count(relation) == pytest.approx(count, abs=0.005)
    assert description_length_exact(relation) == pytest.approx(exact, abs=0.005)


@pytest.mark.parametrize(
    ("name", "table", "count"),
    [
        ("generic", 900, 900),
        ("symmetric", 465, 465),
        ("antisymmetric", 435, 719.46),
        ("reflexive", 870, 870),
        ("tournament", None, 435),
        ("tree", None, 137.39),
        ("rooted tree", None, 142.30),
    ],
)
def test_anchors_of_classes(name, table, count):
    assert description_length_count(name, element_count=30) == pytest.approx(count, abs=0.005)
    if table is not None:
        assert description_length_table(name, element_count=30) == table


def all_relations(n: int) -> np.ndarray:
    bits = np.arange(2 ** (n * n))[:, None] >> np.arange(n * n) & 1
    return bits.reshape(-1, n, n).astype(bool)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_counts_agree_with_listing_all_relations(n):
    found = [properties(Relation.from_matrix(table)) for table in all_relations(n)]
    for name, law in {
        "generic": lambda p: True,
        "symmetric": lambda p: p.symmetric,
        "antisymmetric": lambda p: p.antisymmetric,
        "tournament": lambda p: p.asymmetric and p.total,
        "reflexive": lambda p: p.reflexive,
        "transitive": lambda p: p.transitive,
        "partial order": lambda p: p.partial_order,
        "total order": lambda p: p.strict_total_order,
        "tree": lambda p: p.unrooted_tree,
    }.items():
        count = sum(map(law, found))
        assert description_length_count(name, element_count=n) == pytest.approx(log2(count), abs=1e-12), name
    for k in range(1, n + 1):
        count = sum(p.equivalence and len(p.class_sizes) == k for p in found)
        assert description_length_count("equivalence", element_count=n, class_count=k) == pytest.approx(log2(count))
    # Trees whose pairs point away from the root; and the empty relation counts as a split with an empty side.
    downward = sum(p.rooted_tree and p.injective for p in found)
    assert description_length_count("rooted tree", element_count=n) == pytest.approx(log2(downward))
    assert sum(p.complete_bipartite for p in found) + 1 == 2 ** (n - 1)


def test_transitive_relations_of_the_encyclopedia():
    """A006905 follows from A001035, so each list checks the other."""
    known = [2, 13, 171, 3994, 154303, 9415189, 878222530, 122207703623, 24890747921947, 7307450299510288]
    for n, count in enumerate(known, start=1):
        assert description_length_count("transitive", element_count=n) == log2(count)
    last = 64662720846908542794678859718227127212465
    assert description_length_count("transitive", element_count=18) == log2(last)
    with pytest.raises(InputError, match="number of transitive relations is known up to 18 elements; got 19"):
        description_length_count("transitive", element_count=19)


def test_stirling_numbers_add_up_to_all_partitions():
    total = sum(2 ** description_length_count("equivalence", element_count=10, class_count=k) for k in range(1, 11))
    assert total == pytest.approx(115975)  # Bell's number
    assert description_length_count("labeled classes", element_count=30, class_count=3) == pytest.approx(30 * log2(3))


def test_exact_length_counts_the_relabeled_copies():
    rng = np.random.default_rng(2)
    for _ in range(60):
        n = int(rng.integers(1, 6))
        table = rng.random((n, n)) < 0.4
        copies = {table[np.ix_(p, p)].tobytes() for p in map(list, itertools.permutations(range(n)))}
        assert description_length_exact(Relation.from_matrix(table)) == pytest.approx(log2(len(copies)), abs=1e-12)


@pytest.mark.parametrize("n", [100, 5000, 50_000])
def test_large_relations_are_accurate_to_twelve_digits(n):
    mpmath.mp.dps = 40
    path = Relation(n, np.column_stack([np.arange(n - 1), np.arange(1, n)]))
    star = Relation(n, np.column_stack([np.zeros(n - 1, int), np.arange(1, n)]))
    assert description_length_exact(path) == pytest.approx(float(mpmath.loggamma(n + 1) / mpmath.log(2)), rel=1e-12)
    # Here n! and the automorphisms differ by the factor n alone.
    assert description_length_exact(star) == pytest.approx(log2(n), rel=1e-12)


def test_huge_relations_take_the_logarithm(monkeypatch):
    relation = families.named_relation("mod3", 3000)
    exact = description_length_exact(relation)
    monkeypatch.setattr(description_length, "MAX_EXACT_ELEMENTS", 10)
    assert description_length_exact(relation) == pytest.approx(exact, rel=1e-10)
    assert description_length_count("total order", element_count=50) == pytest.approx(lgamma(51) / log(2), rel=1e-13)


def test_a_known_count_is_not_counted_again():
    relation = families.modulo(30, 3)
    counted = count_automorphisms(relation)
    for given in (counted, counted.count):
        assert description_length_exact(relation, automorphisms=given) == description_length_exact(relation)
    with pytest.raises(InputError, match="must divide 30!"):
        description_length_exact(relation, automorphisms=31)
    with pytest.raises(InputError, match="at least 1"):
        description_length_exact(relation, automorphisms=0)


@pytest.mark.parametrize(
    ("relation", "name"),
    [
        (families.complete_bipartite(3, 4), "complete bipartite"),
        (families.modulo(7, 7), "equivalence"),
        (families.less_than(9), "total order"),
        (families.binary_tree(9), "rooted tree"),
        (Relation.from_graph(nx.path_graph(9)), "tree"),
        (families.incomplete_bipartite(8, 8), "incomplete bipartite"),
        (Relation(5, []), "incomplete bipartite"),
        (Relation(1, []), "incomplete bipartite"),
        (Relation(1, [[0, 0]]), "equivalence"),
        (families.divisibility(12), "transitive"),
        (Relation(3, [[0, 1], [1, 2], [2, 0]]), "antisymmetric"),
        (Relation.from_graph(nx.cycle_graph(5)), "symmetric"),
        (Relation(3, [[0, 0], [1, 1], [2, 2], [0, 1], [1, 0], [1, 2]]), "reflexive"),
        (Relation(3, [[0, 0], [0, 1], [1, 0], [1, 2]]), "generic"),
    ],
)
def test_relations_are_put_into_their_class(relation, name):
    found = classify_relation(relation)
    assert found.name == name
    assert np.isfinite(description_length_table(found))
    assert description_length_table(found) == description_length_table(relation)
    assert name in TABLE_CLASSES


def test_mean_depth_and_chain_length():
    assert classify_relation(families.binary_tree(7)).mean_depth == pytest.approx((1 + 2 * 2 + 4 * 3) / 7)
    upward = families.binary_tree(7).pairs[:, ::-1]
    assert classify_relation(Relation(7, upward)).mean_depth == pytest.approx(17 / 7)
    star = Relation.from_graph(nx.star_graph(5))
    assert classify_relation(star).name == "complete bipartite"
    path = Relation.from_graph(nx.path_graph(5))
    assert classify_relation(path).mean_depth == pytest.approx((1 + 2 * 2 + 2 * 3) / 5)
    rng = np.random.default_rng(0)
    for seed in range(20):
        graph = nx.random_labeled_tree(int(rng.integers(4, 30)), seed=seed)
        found = classify_relation(Relation.from_graph(graph))
        distances = [sum(lengths.values()) for _, lengths in nx.all_pairs_shortest_path_length(graph)]
        assert found.name in {"tree", "complete bipartite"}
        if found.name == "tree":
            assert found.mean_depth == pytest.approx(min(distances) / len(graph) + 1)
    # 1-2-4-8 and the like: the longest chains of divisors through 1, 2, …, 6 have 3, 3, 3, 3, 2 and 3 links.
    assert classify_relation(families.divisibility(6)).chain_length == pytest.approx(17 / 6)
    # Two elements below one another count as one link.
    preorder = Relation(3, [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [1, 2]])
    assert classify_relation(preorder).chain_length == 2.0


def test_formulas_of_the_table():
    assert description_length_table("transitive", element_count=10, chain_length=4) == pytest.approx(100 / 6)
    assert description_length_table("transitive", element_count=10, chain_length=500) == 0.0
    assert description_length_table("tree", element_count=8, mean_depth=4) == 16
    assert description_length_table("equivalence", element_count=8, class_count=4) == 16
    assert description_length_table("incomplete bipartite", element_count=8, side_sizes=(5, 3)) == 15
    assert description_length_table("total order", element_count=8) == pytest.approx(8 * log2(8 / e))
    assert description_length_count("total order", element_count=8) == log2(factorial(8))
    assert set(TABLE_CLASSES) < set(COUNTED_CLASSES)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: description_length_table("tournament", element_count=3), "The class must be one of generic"),
        (lambda: description_length_count("round", element_count=3), "The class must be one of generic"),
        (lambda: description_length_count(7), "The class must be one of"),
        (lambda: description_length_table("generic"), "element_count must be given with the name of a class"),
        (lambda: description_length_table("generic", element_count=0), "at least 1 and at most"),
        (lambda: description_length_table("equivalence", element_count=3), "class_count must be given"),
        (lambda: description_length_count("equivalence", element_count=3, class_count=4), "must not be empty"),
        (lambda: description_length_count("equivalence", element_count=9999, class_count=4), "up to 5,000 elements"),
        (lambda: description_length_table("tree", element_count=3), "mean_depth must be given for the class tree"),
        (lambda: description_length_table("tree", element_count=3, mean_depth=0.5), r"must lie in \[1, inf\]"),
        (lambda: description_length_table("incomplete bipartite", element_count=3), "side_sizes must be two numbers"),
        (
            lambda: description_length_table("incomplete bipartite", element_count=3, side_sizes=(1, 1)),
            "must add up to element_count 3",
        ),
        (lambda: description_length_table(Relation(2, []), element_count=2), "has its own numbers"),
        (lambda: description_length_table(RelationClass("generic", 2), class_count=2), "has its own numbers"),
    ],
)
def test_wrong_input_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
