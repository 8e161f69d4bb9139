"""Automorphism counts: every small relation by brute force, closed forms, large groups, real data, missing igraph."""

import itertools
import sys
from math import factorial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from genlaws.core.errors import ConvergenceError, InputError
from genlaws.relations.structure import automorphisms as automorphism_search
from genlaws.relations.structure import families
from genlaws.relations.structure.automorphisms import BACK_ENDS, count_automorphisms, short_form
from genlaws.relations.structure.knowledge_graph import read_knowledge_graph
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.symmetry_reduction import ColoredGraph, fold_hanging_parts, merge_twins, reduce
from project_paths import DATA

PERMUTATIONS = {n: np.array(list(itertools.permutations(range(n)))) for n in range(1, 7)}
SMALL = 1500  # relations compared with brute force


def data_file(name: str) -> Path:
    path = DATA / "kg" / name
    if not path.is_file():
        pytest.skip(f"needs kg/{name} in {DATA}, or in the folder GENLAWS_DATA names")
    return path


def brute_force(table: np.ndarray) -> int:
    moved = PERMUTATIONS[len(table)]
    return int((table[moved[:, :, None], moved[:, None, :]] == table).all(axis=(1, 2)).sum())


def stars(count: int, leaves: int) -> Relation:
    """Return `count` elements that each precede `leaves` others."""
    hubs = np.arange(count) * (leaves + 1)
    ends = hubs[:, None] + np.arange(1, leaves + 1)
    return Relation(count * (leaves + 1), np.column_stack([np.repeat(hubs, leaves), ends.ravel()]))


def random_table(rng: np.random.Generator, number: int) -> np.ndarray:
    n = int(rng.integers(1, 7))
    table = rng.random((n, n)) < rng.choice([0.1, 0.25, 0.5, 0.8])
    if number % 3 == 0:
        table = table | table.T
    if number % 4 == 0:
        np.fill_diagonal(table, number % 8 == 0)
    return table


@pytest.mark.parametrize("back_end", ["igraph", "networkx", "search"])
def test_small_relations_agree_with_brute_force(back_end):
    rng = np.random.default_rng(7)
    for number in range(SMALL):
        table = random_table(rng, number)
        relation, expected = Relation.from_matrix(table), brute_force(table)
        assert count_automorphisms(relation, back_end).count == expected, table
        # Without the reduction the back end does all the work itself.
        assert BACK_ENDS[back_end](ColoredGraph.of(relation)) == expected, table
        assert count_automorphisms(relation).count == expected, table


@pytest.mark.parametrize("step", [fold_hanging_parts, merge_twins, reduce])
def test_each_step_of_the_reduction_is_exact(step):
    rng = np.random.default_rng(8)
    count = BACK_ENDS["search"]
    for number in range(400):
        n = int(rng.integers(1, 12))
        table = rng.random((n, n)) < (1.2 / n if number % 2 else 0.3)
        if number % 3 == 0:
            table = table | table.T
        graph = ColoredGraph.of(Relation.from_matrix(table))
        smaller, factors = step(graph)
        assert count(smaller) * int(np.prod(factors, dtype=object)) == count(graph), table


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (families.modulo(30, 3), factorial(10) ** 3 * 6),
        (families.modulo(31, 3), factorial(10) ** 2 * 2 * factorial(11)),
        (families.equivalence([1, 1, 2, 2, 2]), 2 * 2**3 * 6),
        (families.less_than(30), 1),
        (families.complete_bipartite(15, 15), 2 * factorial(15) ** 2),
        (families.complete_bipartite(10, 20), factorial(10) * factorial(20)),
        (Relation(30, []), factorial(30)),
        (Relation.from_matrix(np.ones((30, 30))), factorial(30)),
        (Relation.from_matrix(1 - np.eye(30)), factorial(30)),
        (Relation(1, []), 1),
        (Relation.from_matrix(families.less_than(12).matrix | np.eye(12, dtype=bool)), 1),
        (Relation.from_matrix(families.complete_bipartite(4, 5).matrix | np.eye(9, dtype=bool)), 24 * 120),
    ],
)
def test_closed_forms(relation, expected):
    found = count_automorphisms(relation, "closed form")
    assert (found.count, found.method) == (expected, "closed form")
    assert count_automorphisms(relation, "igraph").count == expected
    assert count_automorphisms(relation, "search").count == expected


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (nx.petersen_graph(), 120),
        (nx.hypercube_graph(6), 2**6 * factorial(6)),
        (nx.cycle_graph(100), 200),
        (nx.cycle_graph(100, create_using=nx.DiGraph), 100),
        (nx.paley_graph(29), 29 * 14),
        (nx.grid_2d_graph(9, 9), 8),
        (nx.line_graph(nx.complete_bipartite_graph(6, 6)), 2 * factorial(6) ** 2),
        (nx.balanced_tree(3, 4), 6 ** (1 + 3 + 9 + 27)),
        (nx.disjoint_union_all([nx.petersen_graph()] * 4 + [nx.cycle_graph(5)] * 3), 120**4 * 24 * 10**3 * 6),
    ],
    ids=["petersen", "cube", "ring", "directed ring", "paley", "grid", "rook", "tree", "copies"],
)
@pytest.mark.parametrize("method", ["igraph", "search"])
def test_known_groups(graph, expected, method):
    assert count_automorphisms(Relation.from_graph(graph), method).count == expected


@pytest.mark.parametrize("seed", range(6))
def test_middle_sized_graphs_agree_between_back_ends(seed):
    rng = np.random.default_rng(seed)
    n = 40
    table = rng.random((n, n)) < 1.5 / n
    relation = Relation.from_matrix(table)
    expected = BACK_ENDS["igraph"](ColoredGraph.of(relation))
    for method in ("igraph", "search", "networkx"):
        assert count_automorphisms(relation, method).count == expected


def test_copies_are_recognized_by_every_back_end():
    """Rings of 12 and two prisms of 6: equal colors everywhere, so only a real comparison distinguishes them."""
    parts = [nx.cycle_graph(12)] * 2 + [nx.circular_ladder_graph(6)] * 2 + [nx.moebius_kantor_graph()]
    relation = Relation.from_graph(nx.disjoint_union_all([nx.DiGraph(part) for part in parts]))
    for method in ("igraph", "networkx", "search"):
        assert count_automorphisms(relation, method).count == (24**2 * 2) * (24**2 * 2) * 96


def test_huge_groups_are_exact():
    """1,000 stars of 100 leaves: 100! to the power 1000, times 1000!, on more than 10⁵ elements."""
    found = count_automorphisms(stars(1000, 100))
    assert found.count == factorial(100) ** 1000 * factorial(1000)
    assert found.method == "reduction"


def test_igraph_is_exact_beyond_the_digits_python_prints():
    limit = sys.get_int_max_str_digits()
    star = stars(1, 1600)
    assert BACK_ENDS["igraph"](ColoredGraph.of(star)) == factorial(1600)
    assert BACK_ENDS["igraph"](ColoredGraph.of(stars(40, 100))) == factorial(100) ** 40 * factorial(40)
    assert sys.get_int_max_str_digits() == limit


def test_a_rounded_count_is_not_believed(monkeypatch):
    igraph = pytest.importorskip("igraph")
    rounded = lambda self, color: float(120) if color[0] else 121  # noqa: E731
    monkeypatch.setattr(igraph.Graph, "count_automorphisms", rounded)
    petersen = ColoredGraph.of(Relation.from_graph(nx.petersen_graph()))
    assert BACK_ENDS["igraph"](petersen) == 120
    assert BACK_ENDS["igraph"](ColoredGraph(petersen.colors + 1, petersen.edges)) == 120


def test_without_igraph_the_own_search_is_used(monkeypatch):
    relation = Relation.from_graph(nx.petersen_graph())
    assert count_automorphisms(relation).method == "igraph"
    monkeypatch.setitem(sys.modules, "igraph", None)
    found = count_automorphisms(relation)
    assert (found.count, found.method, found.remaining) == (120, "search", 10)
    with pytest.raises(InputError, match=r"igraph is not installed; install it with pip install 'genlaws\[graphs\]'"):
        count_automorphisms(relation, "igraph")


def test_a_search_that_takes_too_long_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "igraph", None)
    monkeypatch.setattr(automorphism_search, "MAX_EDGES_VISITED", 10_000)
    with pytest.raises(ConvergenceError, match="takes too long without igraph; install it"):
        count_automorphisms(Relation.from_graph(nx.hypercube_graph(6)))


def test_networkx_refuses_what_would_take_too_long():
    with pytest.raises(InputError, match="networkx would take too long for a connected part of 200 elements"):
        count_automorphisms(Relation.from_graph(nx.cycle_graph(200)), "networkx")


def test_kinships():
    graph = read_knowledge_graph(data_file("kinships.tsv"))
    assert len(graph.relation_names) == 25
    for name in graph.relation_names:
        relation = graph.relation(name)
        expected = BACK_ENDS["igraph"](ColoredGraph.of(relation))
        assert count_automorphisms(relation, "igraph").count == expected
        assert count_automorphisms(relation, "search").count == expected


def test_wordnet_hypernyms():
    """74,401 elements; igraph alone takes 12 s and gives the same 37,883 digits, of which some are stored here."""
    graph = read_knowledge_graph(data_file("wordnet3_noun_relations.tsv.gz"))
    found = count_automorphisms(graph.relation("hypernym"))
    assert str(found) == "5.14e37882 automorphisms (reduction)"
    assert found.count // 10**37853 == 514390144231008069655764995560
    smaller = graph.relation("instance_hypernym")
    assert count_automorphisms(smaller).count == BACK_ENDS["igraph"](ColoredGraph.of(smaller))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1"),
        (10**15 - 1, "999999999999999"),
        (10**15, "1.00e15"),
        (9_999_999 * 10**20, "1.00e27"),
        (123456 * 10**5000, "1.23e5005"),
        (factorial(30), "2.65e32"),
    ],
    ids=["one", "all digits", "first short", "rounded up", "long", "factorial"],
)
def test_short_form(number, text):
    assert short_form(number) == text


def test_bad_input():
    with pytest.raises(InputError, match="method must be one of auto, closed form, igraph, networkx, search; got 'x'"):
        count_automorphisms(Relation(2, []), "x")
    with pytest.raises(InputError, match="tree is in no family with a closed form"):
        count_automorphisms(families.binary_tree(7), "closed form")


def test_the_result_is_a_number():
    found = count_automorphisms(families.modulo(6, 2))
    assert int(found) == found.count == 72
    assert str(found) == "72 automorphisms (closed form)"
