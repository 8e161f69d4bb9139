r"""How many permutations of the elements leave a relation as it is: :math:`|\mathrm{Aut}\,R|`, exactly.

Families with a formula are recognised; everything else is first made smaller without changing the count
(:mod:`~genlaws.relations.symmetry_reduction`). What is left is counted by igraph where it is installed, and otherwise
by the library's own search. igraph is licensed under the GPL and therefore optional: ``pip install 'genlaws[graphs]'``.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from math import factorial, log10, prod
from typing import Any

import numpy as np

from genlaws.numerics.arguments import one_of
from genlaws.numerics.errors import ConvergenceError, InputError
from genlaws.relations.automorphism_search import SearchTooLong, search_automorphisms
from genlaws.relations.properties import class_sizes_of, complete_sides_of, is_strict_total_order, without_loops
from genlaws.relations.relation import Relation
from genlaws.relations.symmetry_reduction import ColouredGraph, reduce

METHODS = ("auto", "closed form", "igraph", "networkx", "search")
LARGEST_FOR_NETWORKX = 40  # elements of one part; a ring of 30 takes networkx ten seconds, one of 40 over a minute


@dataclass(frozen=True)
class AutomorphismCount:
    """The number of automorphisms of a relation.

    Attributes
    ----------
    count : int
        Exact, whatever its size.
    method : str
        ``closed form``, ``reduction`` (nothing was left to search), ``igraph``, ``networkx`` or ``search``.
    remaining : int
        Elements that were left after the reduction, for the method to work on.
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
        ``auto`` takes the formula of a recognised family, then the reduction, then igraph if it is installed and the
        library's own search if not. ``closed form`` refuses what is in no such family. The other three are asked for
        what the reduction leaves; networkx (ISMAGS) is of use up to some 40 elements.

    Returns
    -------
    AutomorphismCount

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
    one_of("method", method, METHODS)
    if method in {"auto", "closed form"}:
        known = _closed_form(relation)
        if known is not None:
            return AutomorphismCount(known, "closed form")
        if method == "closed form":
            raise InputError(
                f"{relation.label} is in no family with a closed form (equivalence, total order, complete bipartite, "
                "empty, complete); use method 'auto'."
            )
    back_end = _back_end(method)
    graph, factors = reduce(ColouredGraph.of(relation))
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
    """Return the product, factors of like size multiplied first: far faster than one by one where it is huge."""
    while len(factors) > 1:
        factors = [prod(factors[place : place + 8]) for place in range(0, len(factors), 8)]
    return prod(factors)


def _closed_form(relation: Relation) -> int | None:
    """Return the count of a family that has a formula; none for other relations."""
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
    """Return in how many ways elements move inside their classes and classes of one size change places."""
    return prod(factorial(size) ** copies * factorial(copies) for size, copies in Counter(sizes).items())


def _count_parts(parts: list[ColouredGraph], count: Callable[[ColouredGraph], int]) -> int:
    """Return the automorphisms of a graph in parts: those inside each part, times the ways to exchange equal parts."""
    alike: dict[Hashable, list[ColouredGraph]] = defaultdict(list)
    for part in parts:
        ends = part.colours[part.edges]
        ends = ends[np.lexsort(ends.T)]
        alike[part.size, np.sort(part.colours).tobytes(), ends.tobytes()].append(part)
    total = 1
    for candidates in alike.values():
        kinds: list[tuple[ColouredGraph, int, int]] = []  # a part, its automorphisms, how many there are
        for part in candidates:
            for place, (other, inside, copies) in enumerate(kinds):
                if _same(part, other, inside, count):
                    kinds[place] = (other, inside, copies + 1)
                    break
            else:
                kinds.append((part, count(part), 1))
        total *= prod(inside**copies * factorial(copies) for _, inside, copies in kinds)
    return total


def _same(first: ColouredGraph, second: ColouredGraph, inside: int, count: Callable[[ColouredGraph], int]) -> bool:
    """Return whether two parts are copies of one another; `inside` is the number of automorphisms of the second."""
    if count is _with_networkx:
        from networkx import vf2pp_is_isomorphic  # noqa: PLC0415

        return bool(vf2pp_is_isomorphic(_networkx_graph(first), _networkx_graph(second), node_label="colour"))
    # They can be exchanged if and only if together they have more automorphisms than apart.
    together = ColouredGraph(
        np.concatenate([first.colours, second.colours]), np.concatenate([first.edges, second.edges + first.size])
    )
    return count(together) == 2 * inside**2


def _back_end(method: str) -> str:
    """Return which of igraph, networkx and search is to be used, or say how to install the one asked for."""
    if method == "auto":
        return "igraph" if find_spec("igraph") is not None else "search"
    if method in {"igraph", "networkx"} and find_spec(method) is None:
        raise InputError(
            f"{method} is not installed; install it with pip install 'genlaws[graphs]', or use method 'search'."
        )
    return method


def _with_igraph(graph: ColouredGraph) -> int:
    import igraph  # noqa: PLC0415

    built = igraph.Graph(n=graph.size, edges=graph.edges.tolist(), directed=True)
    with _numbers_of_any_length():
        count = built.count_automorphisms(color=graph.colours.tolist())
    _, sizes = np.unique(graph.colours, return_counts=True)
    # A group of permutations that keep the colours divides the group of all of them; a rounded number does not.
    if not isinstance(count, int) or count < 1 or prod(map(factorial, sizes.tolist())) % count:
        return _with_search(graph)
    return count


@contextmanager
def _numbers_of_any_length() -> Iterator[None]:
    """Lift Python's limit on the digits of a number in text for one call: igraph hands its count over as text."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


def _with_networkx(graph: ColouredGraph) -> int:
    from networkx.algorithms.isomorphism import ISMAGS  # noqa: PLC0415

    if graph.size > LARGEST_FOR_NETWORKX:
        raise InputError(
            f"networkx would take too long for a connected part of {graph.size} elements (at most "
            f"{LARGEST_FOR_NETWORKX}); use method 'auto', and install igraph with pip install 'genlaws[graphs]'."
        )
    built = _networkx_graph(graph)
    found: Any = ISMAGS(built, built, node_match=_same_colour).analyze_subgraph_symmetry()
    cosets = found[1] if isinstance(found, tuple) else found
    return prod(len(coset) for coset in cosets.values())


def _networkx_graph(graph: ColouredGraph) -> Any:
    from networkx import DiGraph  # noqa: PLC0415

    built = DiGraph()
    built.add_nodes_from((element, {"colour": colour}) for element, colour in enumerate(graph.colours.tolist()))
    built.add_edges_from(graph.edges.tolist())
    return built


def _same_colour(first: dict[str, int], second: dict[str, int]) -> bool:
    return first["colour"] == second["colour"]


def _with_search(graph: ColouredGraph) -> int:
    try:
        return search_automorphisms(graph)
    except SearchTooLong:
        raise ConvergenceError(
            f"Counting the automorphisms of a connected part of {graph.size} elements takes too long without igraph; "
            "install it with pip install 'genlaws[graphs]'."
        ) from None


BACK_ENDS: dict[str, Callable[[ColouredGraph], int]] = {
    "igraph": _with_igraph,
    "networkx": _with_networkx,
    "search": _with_search,
}
