"""Blocks of a graph: those of networkx, listed so that each hangs on one vertex of those before."""

import networkx as nx
import numpy as np
import pytest

from genlaws.relations.structure.symmetry_reduction import connected_blocks


def neighbors_of(graph):
    return [frozenset(graph[vertex]) for vertex in range(len(graph))]


@pytest.mark.parametrize("seed", range(60))
def test_blocks_are_those_of_networkx(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    graph = nx.gnp_random_graph(n, rng.uniform(0, 3) / n, seed=seed)
    parts = connected_blocks(neighbors_of(graph))
    expected = sorted(sorted(block) for block in nx.biconnected_components(graph))
    expected += [[vertex] for vertex in nx.isolates(graph)]
    assert sorted(sorted(block) for part in parts for block, _ in part) == sorted(expected)
    assert sorted(sorted({v for block, _ in part for v in block}) for part in parts) == sorted(
        sorted(part) for part in nx.connected_components(graph)
    )
    for part in parts:
        hangs_on_one_vertex(part)


def hangs_on_one_vertex(part):
    (first, hinge), *rest = part
    assert hinge is None
    before = set(first)
    for block, hinge in rest:
        assert before & set(block) == {hinge}
        before |= set(block)


def test_a_long_path_needs_no_recursion():
    graph = nx.path_graph(5000)
    (part,) = connected_blocks(neighbors_of(graph))
    assert len(part) == 4999


def test_no_graph_has_no_blocks():
    assert connected_blocks([]) == []
