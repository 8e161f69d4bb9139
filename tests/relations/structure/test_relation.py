"""A relation from a matrix, pairs or a graph, and what is refused."""

import igraph
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from genlaws.core.errors import InputError
from genlaws.core.result import recorded
from genlaws.relations.structure.relation import MAX_MATRIX_SIZE, Relation
from genlaws.relations.structure.training_set import TrainingSet

TABLE = np.array([[0, 1, 0], [0, 1, 1], [0, 0, 0]])


@pytest.mark.parametrize("kind", [int, bool, float, np.uint8, sparse.csr_array, sparse.coo_matrix, list])
def test_a_matrix_is_read_and_given_back(kind):
    given = TABLE.tolist() if kind is list else kind(TABLE) if hasattr(kind, "toarray") else TABLE.astype(kind)
    relation = Relation.from_matrix(given)
    np.testing.assert_array_equal(relation.matrix, TABLE.astype(bool))
    np.testing.assert_array_equal(relation.sparse.toarray(), TABLE)
    assert relation.pairs.tolist() == [[0, 1], [1, 1], [1, 2]]
    assert relation.pair_count == 9
    assert relation.density == pytest.approx(1 / 3)
    assert relation.majority_accuracy == pytest.approx(2 / 3)


def test_pairs_are_sorted_and_each_is_kept_once():
    relation = Relation(3, [[2, 0], [0, 1], [2, 0]])
    assert relation.pairs.tolist() == [[0, 1], [2, 0]]
    assert str(relation) == "relation: 3 elements, 2 of 9 pairs hold"
    with pytest.raises(ValueError, match="read-only"):
        relation.pairs[0, 0] = 5


def test_relations_and_training_sets_of_one_size_are_recorded_apart():
    one, same, other = Relation(3, [[0, 1]]), Relation(3, [[0, 1], [0, 1]]), Relation(3, [[1, 0]])
    assert recorded(one) == recorded(same) != recorded(other)
    assert {**recorded(one), "sha256": recorded(other)["sha256"]} == recorded(other)
    assert recorded(one)["name"] == "relation"
    seen, unseen = (TrainingSet(3, [[0, 1]], [value]) for value in (1, 0))
    assert recorded(seen)["entries_known"] == 1
    assert recorded(seen) != recorded(unseen)


def test_values_of_pairs():
    relation = Relation.from_matrix(TABLE)
    assert relation.values([[0, 1], [1, 0], [1, 1]]).tolist() == [True, False, True]
    with pytest.raises(InputError, match="element numbers from 0 to 2; got 3"):
        relation.values([[0, 3]])


def test_pairs_of_names():
    relation = Relation.from_pairs([("b", "a"), ("a", "c")], elements=["a", "lone"])
    assert relation.names == ("a", "lone", "b", "c")
    assert relation.pairs.tolist() == [[0, 3], [2, 0]]


@pytest.mark.parametrize("directed", [False, True])
def test_graphs_of_both_libraries_agree(directed):
    edges = [(0, 1), (1, 2), (3, 3)]
    theirs = nx.DiGraph(edges) if directed else nx.Graph(edges)
    theirs.add_node("lone")
    ours = igraph.Graph(n=5, edges=edges, directed=directed)
    expected = {(0, 1), (1, 2), (3, 3)} | (set() if directed else {(1, 0), (2, 1)})
    for graph in (theirs, ours):
        relation = Relation.from_graph(graph)
        assert set(map(tuple, relation.pairs.tolist())) == expected
        assert relation.element_count == 5


def test_names_of_an_igraph_graph():
    graph = igraph.Graph(n=2, edges=[(0, 1)], directed=True)
    graph.vs["name"] = ["ann", "bob"]
    assert Relation.from_graph(graph).names == ("ann", "bob")
    graph.vs["name"] = ["ann", "ann"]
    with pytest.raises(InputError, match="names of the graph's vertices must differ"):
        Relation.from_graph(graph)


def test_a_large_relation_keeps_its_pairs_alone():
    relation = Relation(10**6, [[0, 999_999]])
    assert relation.sparse.nnz == 1
    with pytest.raises(InputError, match=r"full table of 1,000,000 elements would be too large"):
        _ = relation.matrix
    with pytest.raises(InputError, match="at most"):
        Relation.from_matrix(sparse.csr_array((MAX_MATRIX_SIZE + 1, MAX_MATRIX_SIZE + 1)))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Relation(0, []), "element_count must be a whole number, at least 1 and at most 10000000; got 0"),
        (lambda: Relation.from_matrix(np.zeros((0, 0))), "at least 1 and at most 10000000; got 0"),
        (lambda: Relation.from_matrix([[0, 1, 0], [1, 0, 0]]), r"must be square; got shape \(2, 3\)"),
        (lambda: Relation.from_matrix([[0, 1], [0, 2]]), "0 and 1 only; got 2 in row 2, column 2"),
        (lambda: Relation.from_matrix([[0, np.nan], [0, 1]]), "0 and 1 only; got nan in row 1, column 2"),
        (lambda: Relation.from_matrix([["a", "b"], ["c", "d"]]), "0 and 1 only; got entries of type"),
        (lambda: Relation(2, [[0, 2]]), "from 0 to 1; got 2"),
        (lambda: Relation(2, [[0, -1]]), "from 0 to 1; got -1"),
        (lambda: Relation(2, [[0.0, 1.0]]), "rows of two element numbers"),
        (lambda: Relation(2, [[0, 1], [1]]), "rows have different lengths"),
        (lambda: Relation(2, [], names=("a",)), "one entry for each of the 2 elements; got 1"),
        (lambda: Relation.from_pairs([]), "at least one element"),
        (lambda: Relation.from_pairs([("a", "b", "c")]), "tuples of two elements"),
        (lambda: Relation.from_pairs(["ab"]), "tuples of two elements; got 'ab'"),
        (lambda: Relation.from_graph([[0, 1]]), "networkx or an igraph graph; got list"),
    ],
)
def test_wrong_input_is_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
