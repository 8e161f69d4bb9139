"""Proper colorings: chromatic polynomials that are known, deletion and contraction, and plain enumeration."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from genlaws.relations.inference.colorings import (
    TooMuchWorkError,
    coloring_law,
    draw_colorings,
    eliminate,
    log_coloring_count,
    uncolorable_part,
)

ROUNDING = 1e-12  # sums of logarithms of counts up to 10^30
SMALLEST_P = 1e-4  # of a chi-square test with a fixed seed


def neighbors_of(graph):
    return [frozenset(graph[vertex]) for vertex in range(len(graph))]


def chromatic(graph, colors):
    """Deletion and contraction, on whole numbers."""
    if not graph.number_of_edges():
        return colors ** len(graph)
    edge = next(iter(graph.edges))
    fewer = graph.copy()
    fewer.remove_edge(*edge)
    return chromatic(fewer, colors) - chromatic(nx.contracted_edge(graph, edge, self_loops=False), colors)


def every_coloring(graph, colors):
    ways = np.array(list(product(range(colors), repeat=len(graph))))
    proper = np.ones(len(ways), dtype=bool)
    for one, two in graph.edges:
        proper &= ways[:, one] != ways[:, two]
    return ways[proper]


KNOWN = {
    "cycle of 7": (nx.cycle_graph(7), lambda q: (q - 1) ** 7 - (q - 1)),
    "cycle of 8": (nx.cycle_graph(8), lambda q: (q - 1) ** 8 + (q - 1)),
    "complete graph of 5": (nx.complete_graph(5), lambda q: q * (q - 1) * (q - 2) * (q - 3) * (q - 4)),
    "tree of 31": (nx.balanced_tree(2, 4), lambda q: q * (q - 1) ** 30),
    "no edges": (nx.empty_graph(6), lambda q: q**6),
    "one vertex": (nx.empty_graph(1), lambda q: q),
    "two triangles": (
        nx.disjoint_union(nx.complete_graph(3), nx.complete_graph(3)),
        lambda q: (q * (q - 1) * (q - 2)) ** 2,
    ),
    "bow tie": (nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]), lambda q: q * ((q - 1) * (q - 2)) ** 2),
}


@pytest.mark.parametrize("colors", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(("graph", "count"), KNOWN.values(), ids=KNOWN.keys())
def test_known_graphs_have_their_chromatic_polynomial(graph, count, colors):
    counts = (
        np.exp(log_coloring_count(neighbors_of(graph), colors)),
        np.exp(coloring_law(neighbors_of(graph), colors).log_count),
    )
    assert counts == pytest.approx((count(colors), count(colors)), rel=ROUNDING)


def test_the_petersen_graph():
    graph = nx.petersen_graph()
    by_definition = [0, 120, 12960]
    assert chromatic(graph, 3) == 120
    assert len(every_coloring(graph, 4)) == 12960
    counted = [np.exp(log_coloring_count(neighbors_of(graph), colors)) for colors in (2, 3, 4)]
    assert counted == pytest.approx(by_definition, rel=ROUNDING)


@pytest.mark.parametrize("colors", [2, 3, 4])
@pytest.mark.parametrize("seed", range(15))
def test_random_graphs_have_the_law_of_all_their_colorings(seed, colors):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    graph = nx.gnp_random_graph(n, rng.uniform(0, 0.7), seed=seed)
    law = coloring_law(neighbors_of(graph), colors)
    ways = every_coloring(graph, colors)
    assert np.exp(law.log_count) == pytest.approx(len(ways), rel=ROUNDING)
    if len(ways):
        same = (ways[:, :, None] == ways[:, None]).mean(axis=0)
        np.testing.assert_allclose(law.same, same, atol=ROUNDING)
        np.testing.assert_array_equal((law.same == 0) | (law.same == 1), (same == 0) | (same == 1))
    else:
        assert np.isnan(law.same).all()


@pytest.mark.parametrize("colors", [2, 3, 5])
def test_agreement_multiplies_along_a_path_and_vanishes_between_parts(colors):
    graph = nx.disjoint_union(nx.path_graph(60), nx.cycle_graph(5))
    law = coloring_law(neighbors_of(graph), colors) if colors > 2 else None
    path = coloring_law(neighbors_of(nx.path_graph(60)), colors)
    theta = (colors * path.same[0] - 1) / (colors - 1)
    np.testing.assert_allclose(theta, (-1 / (colors - 1)) ** np.arange(60), atol=ROUNDING)
    if law is not None:
        np.testing.assert_allclose(law.same[:60, 60:], 1 / colors, atol=ROUNDING)


def test_what_must_agree_agrees_exactly():
    # A strip of 38 triangles with three colors: the whole is decided by its first edge.
    n = 40
    graph = nx.Graph([(i, j) for i in range(n) for j in (i + 1, i + 2) if j < n])
    law = coloring_law(neighbors_of(graph), 3)
    classes = np.arange(n) % 3
    np.testing.assert_array_equal(law.same, classes[:, None] == classes)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_colorings_are_uniform(seed):
    graph = nx.gnp_random_graph(5, 0.5, seed=seed)
    ways = [tuple(row) for row in every_coloring(graph, 3).tolist()]
    if not ways:
        pytest.skip("no coloring")
    found = draw_colorings(neighbors_of(graph), 3, 40 * len(ways), np.random.default_rng(seed))
    found = [tuple(row) for row in found.tolist()]
    assert set(found) <= set(ways)
    assert stats.chisquare([found.count(way) for way in ways]).pvalue > SMALLEST_P


def test_every_draw_is_proper_on_a_larger_graph():
    graph = nx.gnp_random_graph(40, 0.08, seed=2)
    found = draw_colorings(neighbors_of(graph), 4, 300, np.random.default_rng(0))
    assert all((found[:, one] != found[:, two]).all() for one, two in graph.edges)
    assert found.min() == 0
    assert found.max() == 3


def test_too_much_work_is_refused_before_it_is_done():
    graph = neighbors_of(nx.gnp_random_graph(60, 0.3, seed=0))
    with pytest.raises(TooMuchWorkError):
        eliminate(graph, 5)
    assert coloring_law(graph, 5) is None
    assert log_coloring_count(graph, 5) is None
    assert coloring_law(neighbors_of(nx.cycle_graph(30)), 3, most_work=1.0) is None


@pytest.mark.parametrize(
    ("graph", "colors"), [(nx.cycle_graph(7), 2), (nx.complete_graph(5), 4), (nx.wheel_graph(6), 3)]
)
def test_the_part_without_a_coloring_is_found_and_nothing_else(graph, colors):
    critical = len(graph)
    whole = nx.disjoint_union(graph, nx.path_graph(10))
    whole.add_edges_from([(0, critical + 3), (critical, critical + 5)])
    assert uncolorable_part(neighbors_of(whole), colors) == list(range(critical))
