r"""Reduction of a colored graph that preserves its automorphism count up to known factors, and division into blocks.

Each step of the reduction replaces a graph by a smaller one and records a factor: the number of automorphisms is the
product of the factors times that of the smaller graph. Every step is exact:

- a part connected to the rest by a single edge is folded into the color of the element it is attached to, level by
  level; c equal parts on one element give the factor c!. Forests disappear in this way;
- twins, elements with the same neighbors, are merged; c of them give the factor c!;
- elements are repeatedly colored by the colors of their neighbors. No automorphism mixes the resulting colors, so edges
  between all elements of two colors carry no information and are dropped, and the rest splits into parts.

Blocks are separated by the vertices whose removal disconnects the graph.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from genlaws.core.arguments import Whole
from genlaws.relations.structure.relation import Relation

Neighbors = Sequence[frozenset[int]]
MAX_SHARE_LEFT = 0.95  # of the elements after a round, for another round to be worthwhile
MAX_REFINEMENTS = 100  # rounds of coloring; any number is exact, more of them split the graph further
MAX_DENSITY = 0.5  # denser graphs are replaced by their complement, which has the same automorphisms

OUT, IN, BOTH = 1, 2, 3  # how an element sees an edge
REVERSED = (0, IN, OUT, BOTH)


def connected_blocks(neighbors: Neighbors) -> list[list[tuple[list[int], int | None]]]:
    """Return for each connected part of the graph its blocks, each with the vertex it is attached to.

    A block is a largest set of vertices that stays connected when any one of them is removed; a bridge is a block of
    two. Blocks are listed so that all but the first share exactly one vertex with those before: the returned one. A
    vertex without neighbors is a block of its own.
    """
    seen: set[int] = set()
    parts = []
    for root in range(len(neighbors)):
        if root not in seen:
            found = _blocks_from(root, neighbors)
            seen.update(*found, {root})
            parts.append(_order_from_root(found, root))
    return parts


def _blocks_from(root: int, neighbors: Neighbors) -> list[list[int]]:
    """Return the blocks of one connected part by depth-first search (Hopcroft and Tarjan 1973), without recursion."""
    depth, low, parent = {root: 0}, {root: 0}, {root: root}
    stack, path, blocks = [root], [(root, iter(neighbors[root]))], []
    while path:
        vertex, rest = path[-1]
        child = next(rest, None)
        if child is None:
            path.pop()
            above = parent[vertex]
            if vertex != root:
                low[above] = min(low[above], low[vertex])
                if low[vertex] >= depth[above]:  # nothing below reaches past `above`: a block ends here
                    start = stack.index(vertex)
                    blocks.append([above, *stack[start:]])
                    del stack[start:]
        elif child not in depth:
            depth[child] = low[child] = depth[vertex] + 1
            parent[child] = vertex
            stack.append(child)
            path.append((child, iter(neighbors[child])))
        elif child != parent[vertex]:
            low[vertex] = min(low[vertex], depth[child])
    return blocks


def _order_from_root(found: list[list[int]], root: int) -> list[tuple[list[int], int | None]]:
    """Return the blocks with their attachment vertices; the search finds attached blocks first, so reverse it."""
    if not found:
        return [([root], None)]
    ordered = found[::-1]
    return [(ordered[0], None), *((block, block[0]) for block in ordered[1:])]


@dataclass(frozen=True)
class ColoredGraph:
    """A directed graph without loops, whose elements have colors that an automorphism must preserve.

    Attributes
    ----------
    colors : array of int, shape (n,)
    edges : array of int, shape (m, 2)
        Each ordered pair once.
    """

    colors: Whole
    edges: Whole

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.colors)

    @classmethod
    def of(cls, relation: Relation) -> ColoredGraph:
        """Return a relation as a graph: pairs of an element with itself become its color."""
        n = relation.element_count
        loops = relation.pairs[:, 0] == relation.pairs[:, 1]
        colors = np.zeros(n, dtype=np.int64)
        colors[relation.pairs[loops, 0]] = 1
        edges = relation.pairs[~loops]
        if len(edges) > MAX_DENSITY * n * (n - 1):
            other = ~relation.matrix
            np.fill_diagonal(other, False)
            edges = np.argwhere(other)
        return cls(colors, edges)

    def part(self, selected: Whole) -> ColoredGraph:
        """Return the induced subgraph of the `selected` elements."""
        number = np.full(self.size, -1, dtype=np.int64)
        number[selected] = np.arange(len(selected))
        edges = number[self.edges]
        return ColoredGraph(self.colors[selected], edges[(edges >= 0).all(axis=1)])

    def parts(self) -> list[ColoredGraph]:
        """Return the weakly connected parts."""
        count, label = csgraph.connected_components(_adjacency(self.edges, self.size), directed=False)
        order, edge_order = np.argsort(label, kind="stable"), np.argsort(label[self.edges[:, 0]], kind="stable")
        starts = np.searchsorted(label[order], np.arange(count + 1))
        edge_starts = np.searchsorted(label[self.edges[edge_order, 0]], np.arange(count + 1))
        place = np.empty(self.size, dtype=np.int64)
        place[order] = np.arange(self.size)
        edges = place[self.edges[edge_order]]
        return [
            ColoredGraph(
                self.colors[order[starts[one] : starts[one + 1]]],
                edges[edge_starts[one] : edge_starts[one + 1]] - starts[one],
            )
            for one in range(count)
        ]


def reduce(graph: ColoredGraph) -> tuple[ColoredGraph, list[int]]:
    """Return a smaller graph, and the factors for its number of automorphisms."""
    factors: list[int] = []
    while graph.size:
        before = graph.size
        for step in (fold_hanging_parts, merge_twins, drop_complete_edges, remove_lone_elements):
            graph, found = step(graph)
            factors += found
        if graph.size > MAX_SHARE_LEFT * before:
            break
    return graph, factors


def fold_hanging_parts(graph: ColoredGraph) -> tuple[ColoredGraph, list[int]]:
    """Fold elements with a single neighbor into the color of that neighbor, until none is left.

    Two elements that are only connected to each other become one, with the factor 2 if they can change places.
    """
    folding = _Folding(graph)
    leaves = [element for element, degree in enumerate(folding.degree) if degree == 1]
    if not leaves:
        return graph, []
    while leaves:
        leaves = folding.fold(leaves)
    return folding.result(graph.edges)


class _Folding:
    """Elements with their neighbors as sums that a removal can undo: no lists of neighbors are needed."""

    def __init__(self, graph: ColoredGraph) -> None:
        n = graph.size
        ends = np.sort(graph.edges, axis=1)
        codes, place = np.unique(ends[:, 0] * n + ends[:, 1], return_inverse=True)
        seen = np.where(graph.edges[:, 0] == ends[:, 0], OUT, IN)
        sight = np.bincount(place, weights=seen, minlength=len(codes)).astype(np.int64)
        low, high = np.divmod(codes, n) if n else (codes, codes)
        degree, neighbor, sights = (np.zeros(n, dtype=np.int64) for _ in range(3))
        for end, other, view in ((low, high, sight), (high, low, np.array(REVERSED)[sight])):
            np.add.at(degree, end, 1)
            np.bitwise_xor.at(neighbor, end, other)
            np.bitwise_xor.at(sights, end, view)
        self.degree, self.neighbor, self.sights = degree.tolist(), neighbor.tolist(), sights.tolist()
        self.colors = graph.colors.tolist()
        self.hanging: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.numbers: dict[Hashable, int] = {}
        self.gone: list[int] = []
        self.pairs: dict[int, int] = {}
        self.factors: list[int] = []

    def fold(self, leaves: list[int]) -> list[int]:
        """Fold these elements into their neighbors and return those that have a single neighbor now."""
        touched = []
        facing = {leaf for leaf in leaves if self.degree[self.neighbor[leaf]] == 1}
        for leaf in leaves:
            if leaf in facing:
                self._join(leaf)
                continue
            parent, sight = self.neighbor[leaf], self.sights[leaf]
            self.hanging[parent].append((self._label(leaf), sight))
            self.degree[parent] -= 1
            self.neighbor[parent] ^= leaf
            self.sights[parent] ^= REVERSED[sight]
            self.gone.append(leaf)
            touched.append(parent)
        return [parent for parent in dict.fromkeys(touched) if self.degree[parent] == 1]

    def _label(self, element: int) -> int:
        """Return a number for an element and the parts attached to it, the same for equal parts."""
        parts = self.hanging.pop(element, [])
        self.factors += _repeats(parts)
        key = ("element", self.colors[element], tuple(sorted(parts)))
        return self.numbers.setdefault(key, len(self.numbers))

    def _join(self, leaf: int) -> None:
        """Replace two elements that have only one another by the first of them."""
        other = self.neighbor[leaf]
        if other < leaf:
            return
        sides = sorted([(self._label(leaf), self.sights[leaf]), (self._label(other), self.sights[other])])
        if sides[0] == sides[1]:
            self.factors.append(2)
        self.pairs[leaf] = self.numbers.setdefault(("pair", *sides), len(self.numbers))
        self.gone.append(other)

    def result(self, edges: Whole) -> tuple[ColoredGraph, list[int]]:
        """Return the remaining graph, each element colored by its color and the parts attached to it."""
        n = len(self.colors)
        left = np.ones(n, dtype=bool)
        left[self.gone] = False
        remaining = np.flatnonzero(left)
        colors = np.zeros(n, dtype=np.int64)
        for element in remaining.tolist():
            colors[element] = self.pairs[element] if element in self.pairs else self._label(element)
        return ColoredGraph(colors, edges).part(remaining), self.factors


def merge_twins(graph: ColoredGraph) -> tuple[ColoredGraph, list[int]]:
    """Merge elements of one color that have the same neighbors, whether or not they are neighbors themselves."""
    n = graph.size
    forward = _adjacency(graph.edges, n)
    sizes = np.ones(n, dtype=np.int64)
    kinds = np.zeros(n, dtype=np.int64)
    left = np.ones(n, dtype=bool)
    factors = []
    loops = sparse.eye_array(n, dtype=np.int8, format="csr")
    # An element cannot have both a twin that is a neighbor and one that is not.
    for kind, table in ((1, forward), (2, sparse.csr_array(forward + loops))):
        for twins in _same_rows(graph.colors, table):
            sizes[twins[0]], kinds[twins[0]] = len(twins), kind
            left[twins[1:]] = False
            factors.append(factorial(len(twins)))
    if not factors:
        return graph, []
    return ColoredGraph(_numbered(graph.colors, sizes, kinds), graph.edges).part(np.flatnonzero(left)), factors


def _same_rows(colors: Whole, table: sparse.csr_array) -> list[list[int]]:
    """Return the groups of two or more elements with the same color, row and column of `table`."""
    rows, columns = sparse.csr_array(table), sparse.csr_array(table.T)
    for one in (rows, columns):
        one.sort_indices()
    groups: dict[Hashable, list[int]] = defaultdict(list)
    ends = list(zip(rows.indptr[:-1], rows.indptr[1:], columns.indptr[:-1], columns.indptr[1:], strict=True))
    for element, (color, (first, last, top, bottom)) in enumerate(zip(colors.tolist(), ends, strict=True)):
        key = (color, rows.indices[first:last].tobytes(), columns.indices[top:bottom].tobytes())
        groups[key].append(element)
    return [group for group in groups.values() if len(group) > 1]


def drop_complete_edges(graph: ColoredGraph) -> tuple[ColoredGraph, list[int]]:
    """Refine the colors, then drop the edges that run from all elements of one color to all of another."""
    colors = refined(graph)
    count = int(colors.max(initial=-1)) + 1
    sizes = np.bincount(colors, minlength=count)
    ends = colors[graph.edges]
    codes, place, found = np.unique(ends[:, 0] * count + ends[:, 1], return_inverse=True, return_counts=True)
    first, second = np.divmod(codes, max(count, 1))
    whole = found == sizes[first] * (sizes[second] - (first == second))
    return ColoredGraph(colors, graph.edges[~whole[place]]), []


def refined(graph: ColoredGraph) -> Whole:
    """Return finer colors: elements share one only if the colors around them agree.

    Colors are summed as 64-bit codes. Equal neighborhoods give equal sums, so no automorphism is ever lost; two
    different ones with the same sum would leave the colors coarser, which only costs time.
    """
    colors = _numbered(graph.colors)
    for _ in range(MAX_REFINEMENTS):
        outward, inward = (np.zeros(graph.size, dtype=np.uint64) for _ in range(2))
        np.add.at(outward, graph.edges[:, 0], scrambled(colors[graph.edges[:, 1]]))
        np.add.at(inward, graph.edges[:, 1], scrambled(colors[graph.edges[:, 0]]))
        finer = _numbered(colors, outward, inward)
        if finer.max(initial=0) == colors.max(initial=0):
            break
        colors = finer
    return colors


def remove_lone_elements(graph: ColoredGraph) -> tuple[ColoredGraph, list[int]]:
    """Remove elements without edges; c of one color give the factor c!."""
    lone = np.ones(graph.size, dtype=bool)
    lone[graph.edges] = False
    return graph.part(np.flatnonzero(~lone)), _repeats(graph.colors[lone].tolist())


def _repeats(things: Iterable[Hashable]) -> list[int]:
    """Return in how many ways equal things can be permuted, for each that occurs more than once."""
    return [factorial(count) for count in Counter(things).values() if count > 1]


def _adjacency(edges: Whole, size: int) -> sparse.csr_array:
    ones = np.ones(len(edges), dtype=np.int8)
    return sparse.csr_array((ones, (edges[:, 0], edges[:, 1])), shape=(size, size))


def _numbered(*columns: NDArray[np.int64] | NDArray[np.uint64]) -> Whole:
    """Return numbers from 0 for the different rows of these columns, in the rows' order."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, place = np.unique(column, return_inverse=True)
        _, number = np.unique(number * (int(place.max(initial=0)) + 1) + place, return_inverse=True)
    return number.astype(np.int64)


def scrambled(numbers: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64-bit codes that look random, the same for the same number (the finalizer of splitmix64)."""
    code = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(code ^ (code >> np.uint64(31)), dtype=np.uint64)
