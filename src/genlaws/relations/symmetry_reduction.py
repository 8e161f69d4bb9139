r"""Make a graph smaller without losing count of its automorphisms.

Each step replaces a coloured graph by a smaller one and notes a factor, so that the number of automorphisms is the
product of the factors times the number of the smaller graph. Every step is exact:

- a part that hangs on the rest by a single edge is folded into the colour of the element it hangs on, level by level;
  c equal parts on one element give the factor c!. Forests disappear this way;
- twins, which stand to everything else alike, are merged; c of them give the factor c!;
- elements are coloured by the colours around them, again and again. No automorphism can mix the colours that result, so
  pairs that hold for all of two colours say nothing more and are dropped, and the rest falls into parts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from genlaws.numerics.arguments import Whole
from genlaws.relations.relation import Relation

WORTH_ANOTHER_ROUND = 0.95  # go on as long as a round leaves at most this share of the elements
MOST_REFINEMENTS = 100  # rounds of colouring; any number of them is exact, more of them split the graph further
DENSE = 0.5  # beyond this density the pairs that do not hold are fewer, and have the same automorphisms

OUT, IN, BOTH = 1, 2, 3  # how an element sees an edge
OTHER_WAY = (0, IN, OUT, BOTH)


@dataclass(frozen=True)
class ColouredGraph:
    """A directed graph without loops, whose elements have colours that an automorphism must keep.

    Attributes
    ----------
    colours : array of int, shape (n,)
    edges : array of int, shape (m, 2)
        Each ordered pair once.
    """

    colours: Whole
    edges: Whole

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.colours)

    @classmethod
    def of(cls, relation: Relation) -> ColouredGraph:
        """Return a relation as a graph: pairs of an element with itself become its colour."""
        n = relation.element_count
        loops = relation.pairs[:, 0] == relation.pairs[:, 1]
        colours = np.zeros(n, dtype=np.int64)
        colours[relation.pairs[loops, 0]] = 1
        edges = relation.pairs[~loops]
        if len(edges) > DENSE * n * (n - 1):
            other = ~relation.matrix
            np.fill_diagonal(other, False)
            edges = np.argwhere(other)
        return cls(colours, edges)

    def part(self, kept: Whole) -> ColouredGraph:
        """Return the graph of the `kept` elements and the edges between them."""
        number = np.full(self.size, -1, dtype=np.int64)
        number[kept] = np.arange(len(kept))
        edges = number[self.edges]
        return ColouredGraph(self.colours[kept], edges[(edges >= 0).all(axis=1)])

    def parts(self) -> list[ColouredGraph]:
        """Return the weakly connected parts."""
        count, label = csgraph.connected_components(_adjacency(self.edges, self.size), directed=False)
        order, edge_order = np.argsort(label, kind="stable"), np.argsort(label[self.edges[:, 0]], kind="stable")
        starts = np.searchsorted(label[order], np.arange(count + 1))
        edge_starts = np.searchsorted(label[self.edges[edge_order, 0]], np.arange(count + 1))
        place = np.empty(self.size, dtype=np.int64)
        place[order] = np.arange(self.size)
        edges = place[self.edges[edge_order]]
        return [
            ColouredGraph(
                self.colours[order[starts[one] : starts[one + 1]]],
                edges[edge_starts[one] : edge_starts[one + 1]] - starts[one],
            )
            for one in range(count)
        ]


def reduce(graph: ColouredGraph) -> tuple[ColouredGraph, list[int]]:
    """Return a smaller graph and the factors that its number of automorphisms is to be multiplied with."""
    factors: list[int] = []
    while graph.size:
        before = graph.size
        for step in (fold_hanging_parts, merge_twins, drop_what_colours_say, remove_lone_elements):
            graph, found = step(graph)
            factors += found
        if graph.size > WORTH_ANOTHER_ROUND * before:
            break
    return graph, factors


def fold_hanging_parts(graph: ColouredGraph) -> tuple[ColouredGraph, list[int]]:
    """Fold elements with a single neighbour into the colour of that neighbour, until none is left.

    Two elements that have only one another are replaced by one, with the factor 2 if they can change places.
    """
    folding = _Folding(graph)
    leaves = [element for element, degree in enumerate(folding.degree) if degree == 1]
    if not leaves:
        return graph, []
    while leaves:
        leaves = folding.fold(leaves)
    return folding.result(graph.edges)


class _Folding:
    """Elements with their neighbours as sums that a removal can undo: no lists of neighbours are needed."""

    def __init__(self, graph: ColouredGraph) -> None:
        n = graph.size
        ends = np.sort(graph.edges, axis=1)
        codes, place = np.unique(ends[:, 0] * n + ends[:, 1], return_inverse=True)
        seen = np.where(graph.edges[:, 0] == ends[:, 0], OUT, IN)
        sight = np.bincount(place, weights=seen, minlength=len(codes)).astype(np.int64)
        low, high = np.divmod(codes, n) if n else (codes, codes)
        degree, neighbour, sights = (np.zeros(n, dtype=np.int64) for _ in range(3))
        for end, other, view in ((low, high, sight), (high, low, np.array(OTHER_WAY)[sight])):
            np.add.at(degree, end, 1)
            np.bitwise_xor.at(neighbour, end, other)
            np.bitwise_xor.at(sights, end, view)
        self.degree, self.neighbour, self.sights = degree.tolist(), neighbour.tolist(), sights.tolist()
        self.colours = graph.colours.tolist()
        self.hanging: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.numbers: dict[Hashable, int] = {}
        self.gone: list[int] = []
        self.pairs: dict[int, int] = {}
        self.factors: list[int] = []

    def fold(self, leaves: list[int]) -> list[int]:
        """Fold these elements into their neighbours and return those that have a single neighbour now."""
        touched = []
        facing = {leaf for leaf in leaves if self.degree[self.neighbour[leaf]] == 1}
        for leaf in leaves:
            if leaf in facing:
                self._join(leaf)
                continue
            parent, sight = self.neighbour[leaf], self.sights[leaf]
            self.hanging[parent].append((self._label(leaf), sight))
            self.degree[parent] -= 1
            self.neighbour[parent] ^= leaf
            self.sights[parent] ^= OTHER_WAY[sight]
            self.gone.append(leaf)
            touched.append(parent)
        return [parent for parent in dict.fromkeys(touched) if self.degree[parent] == 1]

    def _label(self, element: int) -> int:
        """Return a number for an element with all that hangs on it, the same number for the same parts."""
        parts = self.hanging.pop(element, [])
        self.factors += _repeats(parts)
        key = ("element", self.colours[element], tuple(sorted(parts)))
        return self.numbers.setdefault(key, len(self.numbers))

    def _join(self, leaf: int) -> None:
        """Replace two elements that have only one another by the first of them."""
        other = self.neighbour[leaf]
        if other < leaf:
            return
        sides = sorted([(self._label(leaf), self.sights[leaf]), (self._label(other), self.sights[other])])
        if sides[0] == sides[1]:
            self.factors.append(2)
        self.pairs[leaf] = self.numbers.setdefault(("pair", *sides), len(self.numbers))
        self.gone.append(other)

    def result(self, edges: Whole) -> tuple[ColouredGraph, list[int]]:
        """Return what is left, each element coloured by its colour and what hung on it."""
        n = len(self.colours)
        left = np.ones(n, dtype=bool)
        left[self.gone] = False
        kept = np.flatnonzero(left)
        colours = np.zeros(n, dtype=np.int64)
        for element in kept.tolist():
            colours[element] = self.pairs[element] if element in self.pairs else self._label(element)
        return ColouredGraph(colours, edges).part(kept), self.factors


def merge_twins(graph: ColouredGraph) -> tuple[ColouredGraph, list[int]]:
    """Merge elements of one colour that have the same neighbours, whether or not they are neighbours themselves."""
    n = graph.size
    forward = _adjacency(graph.edges, n)
    sizes = np.ones(n, dtype=np.int64)
    kinds = np.zeros(n, dtype=np.int64)
    left = np.ones(n, dtype=bool)
    factors = []
    loops = sparse.eye_array(n, dtype=np.int8, format="csr")
    # An element with a twin apart from it has none beside it, so the two kinds never meet.
    for kind, table in ((1, forward), (2, sparse.csr_array(forward + loops))):
        for twins in _same_rows(graph.colours, table):
            sizes[twins[0]], kinds[twins[0]] = len(twins), kind
            left[twins[1:]] = False
            factors.append(factorial(len(twins)))
    if not factors:
        return graph, []
    return ColouredGraph(_numbered(graph.colours, sizes, kinds), graph.edges).part(np.flatnonzero(left)), factors


def _same_rows(colours: Whole, table: sparse.csr_array) -> list[list[int]]:
    """Return the groups of two or more elements with the same colour, row and column of `table`."""
    rows, columns = sparse.csr_array(table), sparse.csr_array(table.T)
    for one in (rows, columns):
        one.sort_indices()
    groups: dict[Hashable, list[int]] = defaultdict(list)
    ends = list(zip(rows.indptr[:-1], rows.indptr[1:], columns.indptr[:-1], columns.indptr[1:], strict=True))
    for element, (colour, (first, last, top, bottom)) in enumerate(zip(colours.tolist(), ends, strict=True)):
        key = (colour, rows.indices[first:last].tobytes(), columns.indices[top:bottom].tobytes())
        groups[key].append(element)
    return [group for group in groups.values() if len(group) > 1]


def drop_what_colours_say(graph: ColouredGraph) -> tuple[ColouredGraph, list[int]]:
    """Refine the colours, then drop the edges that run from all elements of one colour to all of another."""
    colours = refined(graph)
    count = int(colours.max(initial=-1)) + 1
    sizes = np.bincount(colours, minlength=count)
    ends = colours[graph.edges]
    codes, place, found = np.unique(ends[:, 0] * count + ends[:, 1], return_inverse=True, return_counts=True)
    first, second = np.divmod(codes, max(count, 1))
    whole = found == sizes[first] * (sizes[second] - (first == second))
    return ColouredGraph(colours, graph.edges[~whole[place]]), []


def refined(graph: ColouredGraph) -> Whole:
    """Return finer colours: elements share one only if the colours around them agree.

    Colours are summed as 64-bit codes. Equal neighbourhoods give equal sums, so no automorphism is ever lost; two
    different ones that gave the same sum would leave the colours coarser, which costs time and nothing else.
    """
    colours = _numbered(graph.colours)
    for _ in range(MOST_REFINEMENTS):
        outward, inward = (np.zeros(graph.size, dtype=np.uint64) for _ in range(2))
        np.add.at(outward, graph.edges[:, 0], scrambled(colours[graph.edges[:, 1]]))
        np.add.at(inward, graph.edges[:, 1], scrambled(colours[graph.edges[:, 0]]))
        finer = _numbered(colours, outward, inward)
        if finer.max(initial=0) == colours.max(initial=0):
            break
        colours = finer
    return colours


def remove_lone_elements(graph: ColouredGraph) -> tuple[ColouredGraph, list[int]]:
    """Remove elements without edges; c of one colour give the factor c!."""
    lone = np.ones(graph.size, dtype=bool)
    lone[graph.edges] = False
    factors = [factorial(count) for count in Counter(graph.colours[lone].tolist()).values() if count > 1]
    return graph.part(np.flatnonzero(~lone)), factors


def _repeats(things: Iterable[Hashable]) -> list[int]:
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
    """Return 64-bit codes that look random, the same for the same number (the finaliser of splitmix64)."""
    code = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(code ^ (code >> np.uint64(31)), dtype=np.uint64)
