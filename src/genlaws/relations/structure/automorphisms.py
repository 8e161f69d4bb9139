r"""The exact number of automorphisms of a relation, :math:`|\mathrm{Aut}\,R|`: permutations that leave it unchanged.

Families with a formula are recognized; other relations are first reduced
(:mod:`~genlaws.relations.structure.symmetry_reduction`). The rest is counted by igraph where it is installed, and
otherwise by the library's own search. igraph is licensed under the GPL and therefore optional: ``pip install
'genlaws[graphs]'``.

The search fixes elements one by one. By the orbit-stabilizer theorem the number of automorphisms is the product of the
orbit sizes of the fixed elements under automorphisms that fix all earlier ones:

.. math:: |\mathrm{Aut}\,G| = \prod_i |\mathrm{orbit}_i(v_i)|

Elements are fixed until their neighbors' colors distinguish all elements. A search decides whether an element can be
moved to another place; a permutation counts only after it has been applied to every edge.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import factorial, log10, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import DisjointSet

from genlaws.core.arguments import Whole, one_of
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.relations.structure.properties import (
    class_sizes_of,
    complete_sides_of,
    is_strict_total_order,
    without_loops,
)
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.symmetry_reduction import ColoredGraph, reduce, scrambled

Codes = NDArray[np.uint64]

FIXED_ELEMENT_CODE = 0x6C8E9CF570932BD5  # mixed into the code of a fixed element
OUT_EDGE_CODE, IN_EDGE_CODE = np.uint64(0xA0761D6478BD642F), np.uint64(0xE7037ED1A0B428DB)
MAX_EDGES_VISITED = 400_000_000  # about twenty seconds
MAX_LEVELS = 500  # elements to fix; each takes a step of recursion, and more would take too long
EDGES_PER_ROUND = 2_000  # whose computing time equals the overhead of one round of coloring
COUNT_METHODS = ("auto", "closed form", "igraph", "networkx", "search")
MAX_NETWORKX_ELEMENTS = 40  # of one part; a ring of 30 takes networkx ten seconds, one of 40 over a minute


class SearchTooLong(Exception):  # noqa: N818
    """The search would visit too many edges."""


@dataclass(frozen=True)
class _Level:
    """Codes before an element is fixed, their sums after each round, and elements with one code; the first is fixed."""

    codes: Codes
    sums: list[int]
    rivals: list[int]


@dataclass
class _Search:
    graph: ColoredGraph
    edge_codes: Whole = field(init=False)
    fixed_elements: list[int] = field(default_factory=list)
    work: int = 0

    def __post_init__(self) -> None:
        self.edge_codes = np.sort(self.graph.edges[:, 0] * self.graph.size + self.graph.edges[:, 1])

    def settled(self, codes: Codes, wanted: list[int] | None = None) -> tuple[Codes, list[int]]:
        """Return the codes refined by the codes of neighbors until no more elements are distinguished.

        Also returns the sum of the codes after each round; where they differ from the `wanted` sums no automorphism
        exists, and the refinement stops.
        """
        heads, tails = self.graph.edges.T
        count, sums = len(np.unique(codes)), [int(codes.sum())]
        while wanted is None or sums == wanted[: len(sums)]:
            self.work += len(heads) + EDGES_PER_ROUND
            if self.work > MAX_EDGES_VISITED:
                raise SearchTooLong
            finer = codes * OUT_EDGE_CODE
            np.add.at(finer, heads, scrambled(codes[tails] ^ OUT_EDGE_CODE))
            np.add.at(finer, tails, scrambled(codes[heads] ^ IN_EDGE_CODE))
            finer = scrambled(finer)
            found = len(np.unique(finer))
            if found <= count:
                break
            codes, count = finer, found
            sums.append(int(codes.sum()))
        return codes, sums

    def fixed(self, codes: Codes, element: int, depth: int, wanted: list[int] | None = None) -> tuple[Codes, list[int]]:
        """Return the settled codes after this element got a unique code, which depends on the depth."""
        marked = codes.copy()
        marked[[element]] = scrambled(marked[[element]] ^ scrambled(np.array([FIXED_ELEMENT_CODE + depth])))
        return self.settled(marked, wanted)

    def levels(self) -> list[_Level]:
        """Return the elements to fix, in their order; at the last level all codes differ and there is none."""
        codes, sums = self.settled(scrambled(self.graph.colors))
        found: list[_Level] = []
        while True:
            rivals = _smallest_cell(codes)
            found.append(_Level(codes, sums, rivals))
            if not rivals:
                return found
            if len(found) > MAX_LEVELS:
                raise SearchTooLong
            codes, sums = self.fixed(codes, rivals[0], len(found))

    def is_automorphism(self, image: Whole) -> bool:
        """Return whether a permutation preserves the colors, the elements fixed so far, and every edge."""
        self.work += len(self.graph.edges)
        moved = image[self.graph.edges]
        return (
            np.array_equal(self.graph.colors[image], self.graph.colors)
            and image[self.fixed_elements].tolist() == self.fixed_elements
            and np.array_equal(np.sort(moved[:, 0] * self.graph.size + moved[:, 1]), self.edge_codes)
        )

    def moves(self, levels: list[_Level], depth: int, codes: Codes, place: int) -> Whole | None:
        """Return a permutation that maps the codes of this level to `codes` and its element to `place`.

        An automorphism maps codes to equal codes, so where all differ there is one candidate, and it is checked.
        """
        after = levels[depth + 1]
        there, sums = self.fixed(codes, place, depth + 1, after.sums)
        if sums != after.sums or not np.array_equal(np.sort(there), np.sort(after.codes)):
            return None
        if not after.rivals:
            image = np.empty(self.graph.size, dtype=np.int64)
            image[np.argsort(after.codes)] = np.argsort(there)
            return image if self.is_automorphism(image) else None
        for candidate in np.flatnonzero(there == after.codes[after.rivals[0]]).tolist():
            found = self.moves(levels, depth + 1, there, candidate)
            if found is not None:
                return found
        return None


def search_automorphisms(graph: ColoredGraph) -> int:
    """Return the exact number of automorphisms, or raise :class:`SearchTooLong`."""
    search = _Search(graph)
    levels = search.levels()
    orbits = DisjointSet(range(graph.size))  # elements that the automorphisms found so far move onto one another
    count = 1
    for depth in reversed(range(len(levels) - 1)):
        first, *others = levels[depth].rivals
        search.fixed_elements = [earlier.rivals[0] for earlier in levels[:depth]]
        settled = {orbits[first]}
        for place in others:
            if orbits[place] in settled:
                continue
            found = search.moves(levels, depth, levels[depth].codes, place)
            if found is None:
                settled.add(orbits[place])
                continue
            for element in np.flatnonzero(found != np.arange(graph.size)).tolist():
                orbits.merge(element, int(found[element]))
            settled = {orbits[place] for place in settled}
        count *= orbits.subset_size(first)
    return count


def _smallest_cell(codes: Codes) -> list[int]:
    """Return the elements of the rarest code that more than one element has; none if all codes differ."""
    values, counts = np.unique(codes, return_counts=True)
    shared = counts > 1
    if not shared.any():
        return []
    rarest = values[shared][np.argmin(counts[shared])]
    return np.flatnonzero(codes == rarest).tolist()


@dataclass(frozen=True)
class AutomorphismCount:
    """The number of automorphisms of a relation.

    Attributes
    ----------
    count : int
        Exact for any size.
    method : str
        ``closed form``, ``reduction`` (nothing was left to search), ``igraph``, ``networkx`` or ``search``.
    remaining : int
        Elements left after the reduction, on which the method worked.
    """

    count: int
    method: str
    remaining: int = 0

    def __int__(self) -> int:
        return self.count

    def __str__(self) -> str:
        return f"{short_form(self.count)} automorphisms ({self.method})"


def count_automorphisms(relation: Relation, method: str = "auto") -> AutomorphismCount:
    r"""Return the exact number of permutations π of the elements with :math:`R_{\pi(i)\pi(j)} = R_{ij}` for all i, j.

    Parameters
    ----------
    relation : Relation
    method : {"auto", "closed form", "igraph", "networkx", "search"}
        ``auto`` takes the formula of a recognized family, then the reduction, then igraph if it is installed and the
        library's own search if not. ``closed form`` raises for relations in no such family. The other three count
        the reduced graph; networkx (ISMAGS) is useful up to about 40 elements.

    Raises
    ------
    ConvergenceError
        If the search without igraph would take too long.

    Notes
    -----
    Closed forms: :math:`n!` for the empty and the complete relation, :math:`\prod_s (s!)^{c_s} c_s!` for an
    equivalence with :math:`c_s` classes of size s, 1 for a total order, :math:`a!\,c!` for the complete bipartite
    relation with sides :math:`a \ne c` and :math:`2(a!)^2` for equal sides. The last three may have all loops or none.

    References
    ----------
    :cite:p:`baek2024`, section III, which proposes SAUCY for the same task.
    """
    one_of("method", method, COUNT_METHODS)
    if method in {"auto", "closed form"}:
        known = _closed_form(relation)
        if known is not None:
            return AutomorphismCount(known, "closed form")
        if method == "closed form":
            raise InputError(
                f"{relation.label} is in no family with a closed form (equivalence, total order, complete bipartite, "
                "empty, complete); use method 'auto'."
            )
    back_end = _choose_back_end(method)
    graph, factors = reduce(ColoredGraph.of(relation))
    if graph.size == 0:
        return AutomorphismCount(_product(factors), "reduction")
    counted = _count_parts(graph.parts(), BACK_ENDS[back_end])
    return AutomorphismCount(_product(factors) * counted, back_end, graph.size)


def short_form(count: int) -> str:
    """Return a whole number in full up to 15 digits, and beyond as 1.23e4567."""
    if count < 10**15:
        return str(count)
    cut = max(0, int((count.bit_length() - 1) * log10(2)) - 20)
    text = str(count // 10**cut)
    lead, exponent = round(int(text[:12]) / 1e11, 2), cut + len(text) - 1
    return f"{lead:.2f}e{exponent}" if lead < 10 else f"1.00e{exponent + 1}"


def _product(factors: list[int]) -> int:
    """Return the product, multiplying factors of similar size first, which is far faster for huge products."""
    while len(factors) > 1:
        factors = [prod(factors[place : place + 8]) for place in range(0, len(factors), 8)]
    return prod(factors)


def _closed_form(relation: Relation) -> int | None:
    """Return the count of a family that has a formula; None for other relations."""
    n = relation.element_count
    bare, loops = without_loops(relation)
    if loops not in {0, n}:
        return None
    if len(bare.pairs) in {0, n * (n - 1)}:
        return factorial(n)
    if is_strict_total_order(bare):
        return 1
    sizes = class_sizes_of(bare)
    if sizes is not None:
        return _permutations_of_classes(sizes)
    sides = complete_sides_of(bare)
    return None if sides is None else _permutations_of_classes(sides)


def _permutations_of_classes(sizes: tuple[int, ...]) -> int:
    """Return the number of ways to permute elements inside their classes, and classes of the same size."""
    return prod(factorial(size) ** copies * factorial(copies) for size, copies in Counter(sizes).items())


def _count_parts(parts: list[ColoredGraph], count: Callable[[ColoredGraph], int]) -> int:
    """Return the automorphisms of a graph in parts: those inside each part, times the ways to exchange equal parts."""
    alike: dict[Hashable, list[ColoredGraph]] = defaultdict(list)
    for part in parts:
        ends = part.colors[part.edges]
        ends = ends[np.lexsort(ends.T)]
        alike[part.size, np.sort(part.colors).tobytes(), ends.tobytes()].append(part)
    total = 1
    for candidates in alike.values():
        kinds: list[tuple[ColoredGraph, int, int]] = []  # a part, its automorphisms, how many there are
        for part in candidates:
            for place, (other, inside, copies) in enumerate(kinds):
                if _isomorphic(part, other, inside, count):
                    kinds[place] = (other, inside, copies + 1)
                    break
            else:
                kinds.append((part, count(part), 1))
        total *= prod(inside**copies * factorial(copies) for _, inside, copies in kinds)
    return total


def _isomorphic(first: ColoredGraph, second: ColoredGraph, inside: int, count: Callable[[ColoredGraph], int]) -> bool:
    """Return whether two parts are isomorphic; `inside` is the number of automorphisms of the second."""
    if count is _with_networkx:
        from networkx import vf2pp_is_isomorphic  # noqa: PLC0415

        return bool(vf2pp_is_isomorphic(_networkx_graph(first), _networkx_graph(second), node_label="color"))
    # They can be exchanged if and only if together they have more automorphisms than apart.
    together = ColoredGraph(
        np.concatenate([first.colors, second.colors]), np.concatenate([first.edges, second.edges + first.size])
    )
    return count(together) == 2 * inside**2


def _choose_back_end(method: str) -> str:
    """Return which of igraph, networkx and search to use, or raise if the requested one is not installed."""
    if method == "auto":
        return "igraph" if find_spec("igraph") is not None else "search"
    if method in {"igraph", "networkx"} and find_spec(method) is None:
        raise InputError(
            f"{method} is not installed; install it with pip install 'genlaws[graphs]', or use method 'search'."
        )
    return method


def _with_igraph(graph: ColoredGraph) -> int:
    import igraph  # noqa: PLC0415

    built = igraph.Graph(n=graph.size, edges=graph.edges.tolist(), directed=True)
    with _unlimited_int_digits():
        count = built.count_automorphisms(color=graph.colors.tolist())
    _, sizes = np.unique(graph.colors, return_counts=True)
    # The size of the group divides that of the group of all permutations within colors; a rounded number does not.
    if not isinstance(count, int) or count < 1 or prod(map(factorial, sizes.tolist())) % count:
        return _with_search(graph)
    return count


@contextmanager
def _unlimited_int_digits() -> Iterator[None]:
    """Lift Python's limit on the digits of a number in text for one call: igraph returns its count as text."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


def _with_networkx(graph: ColoredGraph) -> int:
    from networkx.algorithms.isomorphism import ISMAGS, categorical_node_match  # noqa: PLC0415

    if graph.size > MAX_NETWORKX_ELEMENTS:
        raise InputError(
            f"networkx would take too long for a connected part of {graph.size} elements (at most "
            f"{MAX_NETWORKX_ELEMENTS}); use method 'auto', and install igraph with pip install 'genlaws[graphs]'."
        )
    built = _networkx_graph(graph)
    found: Any = ISMAGS(built, built, node_match=categorical_node_match("color", 0)).analyze_subgraph_symmetry()
    cosets = found[1] if isinstance(found, tuple) else found
    return prod(len(coset) for coset in cosets.values())


def _networkx_graph(graph: ColoredGraph) -> Any:
    from networkx import DiGraph  # noqa: PLC0415

    built = DiGraph()
    built.add_nodes_from((element, {"color": color}) for element, color in enumerate(graph.colors.tolist()))
    built.add_edges_from(graph.edges.tolist())
    return built


def _with_search(graph: ColoredGraph) -> int:
    try:
        return search_automorphisms(graph)
    except SearchTooLong:
        raise ConvergenceError(
            f"Counting the automorphisms of a connected part of {graph.size} elements takes too long without igraph; "
            "install it with pip install 'genlaws[graphs]'."
        ) from None


BACK_ENDS: dict[str, Callable[[ColoredGraph], int]] = {
    "igraph": _with_igraph,
    "networkx": _with_networkx,
    "search": _with_search,
}
