"""What comparisons imply: closure and reduction as networkx has them, and circles shown to the user."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.inference.orders import known_order, transitive_closure, transitive_reduction
from genlaws.relations.structure.families import less_than
from genlaws.relations.structure.training_set import TrainingSet, draw_training_set

NAMES = tuple("abcdefgh")


def directed(table):
    return nx.from_numpy_array(np.asarray(table, dtype=int), create_using=nx.DiGraph)


def table_of(graph, n):
    return nx.to_numpy_array(graph, nodelist=range(n)) > 0


@pytest.mark.parametrize("seed", range(20))
def test_known_comparisons_are_the_closure_of_those_given(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    known = draw_training_set(less_than(n), rng.uniform(0, 0.5), rng)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    for (i, j), holds in zip(known.pairs.tolist(), known.values.tolist(), strict=True):
        if i != j:
            graph.add_edge(*((i, j) if holds else (j, i)))
    below = known_order(known, reflexive=False)
    np.testing.assert_array_equal(below, table_of(nx.transitive_closure_dag(graph), n))
    np.testing.assert_array_equal(transitive_reduction(below), table_of(nx.transitive_reduction(directed(below)), n))


@pytest.mark.parametrize("seed", range(10))
def test_the_closure_of_any_relation_is_what_can_be_reached(seed):
    table = np.random.default_rng(seed).random((12, 12)) < 0.12
    expected = table_of(nx.transitive_closure(directed(table), reflexive=False), 12)
    np.testing.assert_array_equal(transitive_closure(table), expected)


def test_both_kinds_of_order_read_entries_the_same_way():
    pairs, values = [(0, 1), (2, 1), (1, 0)], [1, 0, 0]
    strict = known_order(TrainingSet(3, [*pairs, (0, 0)], [*values, 0]), reflexive=False)
    reflexive = known_order(TrainingSet(3, [*pairs, (0, 0)], [*values, 1]), reflexive=True)
    np.testing.assert_array_equal(strict, reflexive)
    assert np.argwhere(strict).tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize("reflexive", [False, True])
def test_a_wrong_diagonal_is_refused_by_name(reflexive):
    with pytest.raises(InputError, match=r"\(c, c\) is " + str(int(not reflexive))):
        known_order(TrainingSet(3, [(0, 0), (2, 2)], [reflexive, not reflexive], ("a", "b", "c")), reflexive)


@pytest.mark.parametrize("length", [2, 3, 5, 8])
def test_a_circle_is_shown_in_the_order_it_runs(length):
    pairs = [(i, (i + 1) % length) for i in range(length)]
    values = [1] * length
    if length > 2:  # in the opposite direction; of two, this would be the same entry twice
        pairs[0], values[0] = (pairs[0][1], pairs[0][0]), 0
    with pytest.raises(InputError, match="contradicts every total order") as refused:
        known_order(TrainingSet(8, pairs, values, NAMES), reflexive=False)
    shown = str(refused.value).split(": ")[1].split(".")[0].split(" < ")
    assert len(shown) == length + 1
    assert shown[0] == shown[-1]
    steps = {(NAMES.index(one), NAMES.index(two)) for one, two in pairwise(shown)}
    assert steps == {(i, (i + 1) % length) for i in range(length)}


def test_the_shortest_circle_through_an_element_is_shown():
    pairs = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 0)]
    with pytest.raises(InputError, match="a < b < c < a"):
        known_order(TrainingSet(8, pairs, [1] * 5, NAMES), reflexive=False)
