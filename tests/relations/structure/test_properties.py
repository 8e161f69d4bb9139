"""Every property against its definition on small relations; shapes, empty cases and size."""

import itertools
import time
from dataclasses import fields

import networkx as nx
import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.structure import families
from genlaws.relations.structure import properties as transitivity
from genlaws.relations.structure.properties import properties
from genlaws.relations.structure.relation import Relation

A_SECOND = 5.0  # allowance on a busy machine; alone it takes a tenth of that


def by_definition(r: np.ndarray) -> dict[str, bool]:
    n = len(r)
    every = range(n)
    pairs, triples = list(itertools.product(every, repeat=2)), list(itertools.product(every, repeat=3))
    apart = [(x, y) for x, y in pairs if x != y]
    law = {
        "reflexive": all(r[x, x] for x in every),
        "irreflexive": not any(r[x, x] for x in every),
        "symmetric": all(r[y, x] for x, y in pairs if r[x, y]),
        "antisymmetric": not any(r[x, y] and r[y, x] for x, y in apart),
        "transitive": all(r[x, z] for x, y, z in triples if r[x, y] and r[y, z]),
        "total": all(r[x, y] or r[y, x] for x, y in apart),
        "function": all(r[x].sum() == 1 for x in every),
        "injective": all(r[:, y].sum() <= 1 for y in every),
    }
    graph = nx.from_numpy_array(r.astype(int), create_using=nx.DiGraph)
    weak = nx.Graph(graph)
    order = law["antisymmetric"] and law["transitive"]
    sides = [set(side) for size in range(n + 1) for side in itertools.combinations(every, size)]
    rooted = law["irreflexive"] and any(
        max((d for _, d in degree), default=0) <= 1 and nx.is_forest(weak) and graph.size() == weak.size()
        for degree in (graph.in_degree(), graph.out_degree())
    )
    unrooted = law["irreflexive"] and law["symmetric"] and nx.is_forest(weak)
    return law | {
        "asymmetric": law["irreflexive"] and law["antisymmetric"],
        "equivalence": law["reflexive"] and law["symmetric"] and law["transitive"],
        "partial_order": order and law["reflexive"],
        "strict_partial_order": order and law["irreflexive"],
        "total_order": order and law["reflexive"] and law["total"],
        "strict_total_order": order and law["irreflexive"] and law["total"],
        "acyclic": nx.is_directed_acyclic_graph(graph),
        "connected": nx.is_connected(weak),
        "bipartite": nx.is_bipartite(weak),
        "complete_bipartite": any(
            all(r[x, y] == ((x in side) != (y in side)) for x, y in pairs) for side in sides if 0 < len(side) < n
        ),
        "rooted_tree": rooted and nx.is_connected(weak),
        "unrooted_tree": unrooted and nx.is_connected(weak),
        "forest": rooted or unrooted,
    }


def special(rng: np.random.Generator, number: int) -> np.ndarray:
    """Return a random table, most often one that obeys some of the laws."""
    n = int(rng.integers(1, 6))
    table = rng.random((n, n)) < rng.choice([0.15, 0.4, 0.8])
    kind = number % 6
    if kind == 1:
        table = table | table.T
    elif kind == 2:
        table = np.triu(table, 1)
    elif kind == 3:
        label = rng.integers(0, 3, n)
        table = label[:, None] == label
    elif kind == 4:
        side = rng.random(n) < 0.5
        table = side[:, None] != side
    elif kind == 5:
        table = np.linalg.matrix_power(np.eye(n) + np.triu(table, 1), n) > 0
        np.fill_diagonal(table, number % 4 == 1)
    return table[np.ix_(*[rng.permutation(n)] * 2)] if kind in {0, 1} else table


def breaks(r: np.ndarray, law: str, found: tuple[int, ...]) -> bool:
    x, *rest = found
    return {
        "reflexive": lambda: not r[x, x],
        "irreflexive": lambda: r[x, x],
        "symmetric": lambda: r[x, rest[0]] and not r[rest[0], x],
        "antisymmetric": lambda: x != rest[0] and r[x, rest[0]] and r[rest[0], x],
        "transitive": lambda: r[x, rest[0]] and r[rest[0], rest[1]] and not r[x, rest[1]],
        "total": lambda: x != rest[0] and not r[x, rest[0]] and not r[rest[0], x],
        "function": lambda: r[x].sum() != 1,
        "injective": lambda: x != rest[0] and r[x, rest[1]] and r[rest[0], rest[1]],
    }[law]()


@pytest.mark.parametrize("lists", [False, True], ids=["bits", "lists"])
def test_small_relations_agree_with_the_definitions(monkeypatch, lists):
    if lists:
        monkeypatch.setattr(transitivity, "MIN_BITSET_DENSITY", 1.0)
        monkeypatch.setattr(transitivity, "MAX_STEPS_AT_ONCE", 4)
    rng = np.random.default_rng(11)
    for number in range(1200):
        table = special(rng, number)
        found = properties(Relation.from_matrix(table))
        expected = by_definition(table)
        assert {name: getattr(found, name) for name in expected} == expected, table.astype(int)
        for law in ("reflexive", "irreflexive", "symmetric", "antisymmetric", "transitive", "total", "function"):
            example = found.counterexample(law)
            assert (example is None) == expected[law]
            assert example is None or breaks(table, law, tuple(map(int, example))), (table, law, example)


def test_every_property_is_tested_above():
    names = {one.name for one in fields(properties(Relation(1, []))) if one.type == "bool"}
    assert names == set(by_definition(np.zeros((1, 1), dtype=bool)))


def test_counterexamples_have_the_elements_names():
    relation = Relation.from_pairs([("ann", "bob"), ("bob", "cid")])
    found = properties(relation)
    assert found.counterexample("transitive") == ("ann", "bob", "cid")
    assert found.counterexample("equivalence") == ("ann",)
    assert found.counterexample("strict_total_order") == ("ann", "bob", "cid")
    assert found.counterexample("acyclic") is None
    assert found.counterexample("connected") is None
    with pytest.raises(InputError, match="There is no property 'round'; known are reflexive"):
        found.counterexample("round")


def test_sizes_of_classes_and_sides():
    assert properties(families.equivalence([2, 5, 1])).class_sizes == (5, 2, 1)
    assert properties(families.complete_bipartite(3, 9)).side_sizes == (9, 3)
    assert properties(families.less_than(5)).class_sizes == ()
    # Pairs in one direction settle the sides; a lone element joins the larger one.
    assert properties(Relation(6, [[0, 3], [1, 3], [2, 4]])).side_sizes == (4, 2)
    # Two symmetric stars: both hubs on one side, whichever elements come first.
    assert properties(Relation.from_graph(nx.Graph([(0, 1), (0, 2), (4, 3), (4, 5)]))).side_sizes == (4, 2)
    assert properties(Relation.from_graph(nx.cycle_graph(5))).side_sizes == ()


def test_empty_relations():
    nothing, one = properties(Relation(3, [])), properties(Relation(1, []))
    holds = {"irreflexive", "symmetric", "antisymmetric", "asymmetric", "transitive", "strict_partial_order"}
    assert holds | {"acyclic", "injective", "bipartite", "forest"} == set(nothing.true_names())
    assert nothing.side_sizes == (3, 0)
    assert {"total", "strict_total_order", "connected", "rooted_tree", "unrooted_tree"} <= set(one.true_names())
    assert not one.complete_bipartite
    assert properties(Relation(1, [[0, 0]])).total_order


@pytest.mark.parametrize(
    ("relation", "names"),
    [
        (families.modulo(3000, 3), {"equivalence"}),
        (families.less_than(1500), {"strict_total_order", "acyclic"}),
        (families.tree([-1, *(np.arange(1, 20_000) - 1).tolist()]), {"rooted_tree"}),
        (Relation(100_001, np.column_stack([np.arange(100_000), np.full(100_000, 100_000)])), {"transitive", "forest"}),
        (Relation(100_000, np.random.default_rng(0).integers(0, 100_000, (100_000, 2))), set()),
    ],
    ids=["equivalence", "order", "path", "star", "random"],
)
def test_large_relations_take_about_a_second(relation, names):
    start = time.perf_counter()
    found = properties(relation)
    assert time.perf_counter() - start < A_SECOND
    assert names <= set(found.true_names())


def test_a_hub_that_breaks_transitivity_is_found_at_once():
    """Two steps through the hub make 2.5·10⁹ pairs; the first row that lacks them is enough."""
    half = np.arange(50_000)
    pairs = np.concatenate([np.column_stack([half, half * 0 + 50_000]), np.column_stack([half * 0 + 50_000, half])])
    found = properties(Relation(50_001, pairs[pairs[:, 0] != pairs[:, 1]]))
    assert not found.transitive
    assert len(found.counterexample("transitive")) == 3
