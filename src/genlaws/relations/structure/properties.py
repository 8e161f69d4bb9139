"""Properties of a relation (laws such as symmetry and transitivity), tested on its pairs, with counterexamples."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from genlaws.core.arguments import Whole
from genlaws.core.errors import InputError
from genlaws.relations.structure.relation import MAX_MATRIX_SIZE, Relation

MAX_STEPS_AT_ONCE = 2_000_000  # two-step paths per block
MIN_BITSET_DENSITY = 1 / 64  # of pairs; denser relations are tested faster with rows of bits than with lists
SIDE_COUNT = 2


def missing_step(relation: Relation) -> tuple[int, int, int] | None:
    """Return elements x, y, z with R(x, y) and R(y, z) but not R(x, z); None if the relation is transitive."""
    first, second = relation.pairs.T
    out = np.bincount(first, minlength=relation.element_count)
    # In a transitive relation the successors of y also follow x, so y cannot have more of them.
    more = out[second] > out[first]
    if more.any():
        return _witness(relation, *relation.pairs[np.argmax(more)].tolist())
    dense = relation.density > MIN_BITSET_DENSITY and relation.element_count <= MAX_MATRIX_SIZE
    row = _row_missing_step_bits(relation) if dense else _row_missing_step(relation, out)
    if row is None:
        return None
    for middle in _successors(relation, row).tolist():
        found = _witness(relation, row, middle)
        if found is not None:
            return found
    raise AssertionError("the row misses a step")


def _row_missing_step(relation: Relation, out: Whole) -> int | None:
    """Return an element from which two steps lead where one does not, by sparse products of some rows at a time."""
    table = relation.sparse
    steps = np.bincount(relation.pairs[:, 0], weights=out[relation.pairs[:, 1]], minlength=relation.element_count)
    rows = np.flatnonzero(steps)
    blocks = np.floor_divide(np.cumsum(steps[rows]), MAX_STEPS_AT_ONCE)
    for block in np.split(rows, np.flatnonzero(np.diff(blocks)) + 1):
        if not len(block):
            continue
        once = table[block]
        twice = sparse.csr_array((once @ table).astype(bool).astype(np.int8))
        # Entries that are in the product and not in the relation.
        missing = twice - twice.multiply(once)
        bad = np.flatnonzero(np.asarray(missing.sum(axis=1)))
        if len(bad):
            return int(block[bad[0]])
    return None


def _row_missing_step_bits(relation: Relation) -> int | None:
    """Return an element from which two steps lead where one does not, with each row as a string of bits."""
    bits = np.packbits(relation.matrix, axis=1)
    starts = np.searchsorted(relation.pairs[:, 0], np.arange(relation.element_count + 1))
    for row in range(relation.element_count):
        after = relation.pairs[starts[row] : starts[row + 1], 1]
        if len(after) and (np.bitwise_or.reduce(bits[after], axis=0) & ~bits[row]).any():
            return row
    return None


def _successors(relation: Relation, element: int) -> Whole:
    low, high = np.searchsorted(relation.pairs[:, 0], [element, element + 1])
    return relation.pairs[low:high, 1]


def _witness(relation: Relation, first: int, second: int) -> tuple[int, int, int] | None:
    beyond = np.setdiff1d(_successors(relation, second), _successors(relation, first))
    return (first, second, int(beyond[0])) if len(beyond) else None


@dataclass(frozen=True)
class RelationProperties:
    """Properties of a relation; x, y and z stand for any elements.

    Laws about "all pairs" hold where there are none: the empty relation is symmetric, antisymmetric and
    transitive, and the only element of an empty relation is a tree and a strict total order. A bipartite relation
    may have an empty side, a *complete* bipartite one may not.

    Attributes
    ----------
    reflexive, irreflexive : bool
        R(x, x) for every x; for no x.
    symmetric : bool
        R(y, x) wherever R(x, y).
    antisymmetric, asymmetric : bool
        Never both R(x, y) and R(y, x) for x ≠ y; asymmetric if irreflexive as well.
    transitive : bool
        R(x, z) wherever R(x, y) and R(y, z).
    total : bool
        R(x, y) or R(y, x) for any x ≠ y.
    equivalence, partial_order, strict_partial_order, total_order, strict_total_order : bool
        An order is reflexive, antisymmetric and transitive; a strict one irreflexive and transitive.
    acyclic : bool
        No path along pairs leads from an element back to itself.
    connected : bool
        Any element can be reached from any other along pairs taken in either direction.
    function, injective : bool
        Every x has exactly one y with R(x, y); no y has two x.
    bipartite, complete_bipartite : bool
        The elements fall into two sides with pairs only across; complete if all of those hold, in both directions.
    rooted_tree, unrooted_tree : bool
        One pair from parent to child (or all from child to parent) for every element but the root, and no cycle; a
        symmetric relation that is connected and has no cycle.
    forest : bool
        Every connected part is a rooted tree, all pairs pointing the same way, or every one is an unrooted tree.
    class_sizes : tuple of int
        Sizes of the classes of an equivalence, largest first; empty otherwise.
    side_sizes : tuple of int
        Sizes of the two sides of a bipartite relation, larger first, empty otherwise. Where parts can be placed
        either way, the larger half of each is counted on the same side.
    counterexamples : dict
        For each failing law about single pairs, and for transitivity, the names of the first elements that break it.
    """

    reflexive: bool
    irreflexive: bool
    symmetric: bool
    antisymmetric: bool
    asymmetric: bool
    transitive: bool
    total: bool
    equivalence: bool
    partial_order: bool
    strict_partial_order: bool
    total_order: bool
    strict_total_order: bool
    acyclic: bool
    connected: bool
    function: bool
    injective: bool
    bipartite: bool
    complete_bipartite: bool
    rooted_tree: bool
    unrooted_tree: bool
    forest: bool
    class_sizes: tuple[int, ...] = ()
    side_sizes: tuple[int, ...] = ()
    counterexamples: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def true_names(self) -> tuple[str, ...]:
        """Return the names of the laws that hold."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) is True)

    def counterexample(self, name: str) -> tuple[str, ...] | None:
        """Return elements that break a law, by name; None if it holds.

        Known for reflexive and irreflexive (one element), symmetric, antisymmetric, asymmetric and total (two),
        transitive (three), function (one) and injective (three: two elements and what both are related to). For the
        other properties it is that of the first failing law among those that define it, if any.
        """
        if name not in _names():
            raise InputError(f"There is no property {name!r}; known are {', '.join(_names())}.")
        if getattr(self, name):
            return None
        for law in (name, *DEFINING_LAWS.get(name, ())):
            if law in self.counterexamples and not getattr(self, law):
                return self.counterexamples[law]
        return None


DEFINING_LAWS = {
    "asymmetric": ("irreflexive", "antisymmetric"),
    "equivalence": ("reflexive", "symmetric", "transitive"),
    "partial_order": ("reflexive", "antisymmetric", "transitive"),
    "strict_partial_order": ("irreflexive", "transitive"),
    "total_order": ("reflexive", "antisymmetric", "transitive", "total"),
    "strict_total_order": ("irreflexive", "antisymmetric", "transitive", "total"),
    "complete_bipartite": ("irreflexive", "symmetric"),
    "unrooted_tree": ("irreflexive", "symmetric"),
    "rooted_tree": ("irreflexive",),
}
# These hold if all their defining laws do; the other entries of `DEFINING_LAWS` need more than that.
COMBINED_LAWS = (
    *("asymmetric", "equivalence", "partial_order", "strict_partial_order", "total_order", "strict_total_order"),
)


def _names() -> list[str]:
    return [one.name for one in fields(RelationProperties) if one.type == "bool"]


def properties(relation: Relation) -> RelationProperties:
    """Test the laws of a relation on its pairs; 10⁵ elements and pairs take about a second.

    Parameters
    ----------
    relation : Relation
    """
    failing: dict[str, tuple[int, ...] | None] = {**_laws_of_pairs(relation), "transitive": missing_step(relation)}
    holds = {name: elements is None for name, elements in failing.items()}
    bare, loops = without_loops(relation)
    parts, _ = _weak_parts(bare)
    sides = sides_of(bare) if loops == 0 else None
    rooted = _rooted_forest(bare, parts) and loops == 0
    unrooted = holds["symmetric"] and loops == 0 and len(bare.pairs) == 2 * (relation.element_count - parts)
    combined = {name: all(holds[law] for law in DEFINING_LAWS[name]) for name in COMBINED_LAWS}
    complete = complete_sides_of(bare) if loops == 0 else None
    names = {
        law: tuple(relation.names[element] for element in elements)
        for law, elements in failing.items()
        if elements is not None
    }
    return RelationProperties(
        **holds,
        **combined,
        acyclic=loops == 0 and _count_strong_parts(bare) == relation.element_count,
        connected=parts == 1,
        bipartite=sides is not None,
        complete_bipartite=complete is not None,
        rooted_tree=rooted and parts == 1,
        unrooted_tree=unrooted and parts == 1,
        forest=rooted or unrooted,
        class_sizes=class_sizes_of(bare) or () if combined["equivalence"] else (),
        side_sizes=complete or sides or (),
        counterexamples=names,
    )


def _laws_of_pairs(relation: Relation) -> dict[str, tuple[int, ...] | None]:
    """Return for each law about single pairs the first elements that break it; None if it holds."""
    n, (first, second) = relation.element_count, relation.pairs.T
    codes = first * n + second
    loop = np.zeros(n, dtype=bool)
    loop[first[first == second]] = True
    returned = np.isin(second * n + first, codes, assume_unique=True)
    both = returned & (first != second)
    out, into = (np.bincount(ends, minlength=n) for ends in (first, second))
    return {
        "reflexive": _first(~loop),
        "irreflexive": _first(loop),
        "symmetric": _first_pair(relation.pairs, ~returned),
        "antisymmetric": _first_pair(relation.pairs, both),
        "total": _unrelated_elements(relation, both),
        "function": _first(out != 1),
        "injective": _two_with_one_image(relation, into),
    }


def _first(where: np.ndarray) -> tuple[int, ...] | None:
    return (int(np.argmax(where)),) if where.any() else None


def _first_pair(pairs: Whole, where: np.ndarray) -> tuple[int, ...] | None:
    return tuple(pairs[np.argmax(where)].tolist()) if where.any() else None


def _unrelated_elements(relation: Relation, both: np.ndarray) -> tuple[int, ...] | None:
    """Return two different elements without a pair between them in either direction."""
    n, apart = relation.element_count, relation.pairs[:, 0] != relation.pairs[:, 1]
    if int(apart.sum()) - int(both.sum()) // 2 == n * (n - 1) // 2:
        return None
    pairs = relation.pairs[apart]
    known = np.bincount(pairs.ravel(), minlength=n) - np.bincount(relation.pairs[both, 0], minlength=n)
    element = int(np.argmax(known < n - 1))
    met = np.zeros(n, dtype=bool)
    met[element] = True
    met[pairs[pairs[:, 0] == element, 1]] = True
    met[pairs[pairs[:, 1] == element, 0]] = True
    return element, int(np.argmin(met))


def _two_with_one_image(relation: Relation, into: Whole) -> tuple[int, ...] | None:
    if not (into > 1).any():
        return None
    image = int(np.argmax(into > 1))
    one, other = relation.pairs[relation.pairs[:, 1] == image, 0][:2].tolist()
    return one, other, image


def without_loops(relation: Relation) -> tuple[Relation, int]:
    """Return the relation between different elements, and how many elements were related to themselves."""
    loops = relation.pairs[:, 0] == relation.pairs[:, 1]
    if not loops.any():
        return relation, 0
    bare = Relation(relation.element_count, relation.pairs[~loops], relation.names, relation.label)
    return bare, int(loops.sum())


def class_sizes_of(bare: Relation) -> tuple[int, ...] | None:
    """Return the class sizes, largest first, if a relation without loops is an equivalence except for the loops."""
    _, label = _weak_parts(bare)
    sizes = np.bincount(label)
    # Inside their parts all pairs must hold, and there are none between parts.
    if len(bare.pairs) != int((sizes * (sizes - 1)).sum()):
        return None
    return tuple(np.sort(sizes)[::-1].tolist())


def is_strict_total_order(bare: Relation) -> bool:
    """Return whether a relation without loops is a strict total order: the j-th element has n - j successors."""
    n = bare.element_count
    if len(bare.pairs) != n * (n - 1) // 2:
        return False
    out, into = (np.bincount(ends, minlength=n) for ends in bare.pairs.T)
    # Different numbers of successors force each element, from the last, to precede exactly those with fewer.
    return bool((np.sort(out) == np.arange(n)).all() and (out + into == n - 1).all())


def complete_sides_of(bare: Relation) -> tuple[int, int] | None:
    """Return the sizes of the sides, larger first, if a relation holds for exactly the pairs across two sides."""
    n = bare.element_count
    if n < SIDE_COUNT or len(bare.pairs) == 0:
        return None
    first = bare.pairs[bare.pairs[:, 0] == 0, 1]
    side = np.zeros(n, dtype=bool)
    side[first] = True
    across = side[bare.pairs[:, 0]] != side[bare.pairs[:, 1]]
    size = int(side.sum())
    if not across.all() or len(bare.pairs) != SIDE_COUNT * size * (n - size):
        return None
    return max(size, n - size), min(size, n - size)


def sides_of(bare: Relation) -> tuple[int, int] | None:
    """Return the sizes of two sides with pairs only across, larger first; None if there are no such sides.

    Pairs that all point from one side to the other (from places to countries, say) determine the sides, and elements
    without pairs go to the larger one. Otherwise each part is placed with its larger half on the first side.
    """
    n = bare.element_count
    out, into = (np.bincount(ends, minlength=n) > 0 for ends in bare.pairs.T)
    if len(bare.pairs) and not (out & into).any():
        smaller = min(int(out.sum()), int(into.sum()))
        return n - smaller, smaller
    # Every element once on each side, and a pair always leads across: without an odd cycle each part splits into two.
    first, second = bare.pairs.T
    rows, columns = np.concatenate([first, first + n]), np.concatenate([second + n, second])
    table = sparse.csr_array(
        (np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(SIDE_COUNT * n, SIDE_COUNT * n)
    )
    _, label = csgraph.connected_components(table, directed=False)
    if (label[:n] == label[n:]).any():
        return None
    parts, part = _weak_parts(bare)
    one = np.minimum(label[:n], label[n:]) == label[:n]
    halves = np.stack([np.bincount(part[one], minlength=parts), np.bincount(part[~one], minlength=parts)])
    larger = int(halves.max(axis=0).sum())
    return larger, n - larger


def _weak_parts(relation: Relation) -> tuple[int, Whole]:
    count, label = csgraph.connected_components(relation.sparse, directed=False)
    return int(count), label.astype(np.int64)


def _count_strong_parts(relation: Relation) -> int:
    count, _ = csgraph.connected_components(relation.sparse, directed=True, connection="strong")
    return int(count)


def _rooted_forest(bare: Relation, parts: int) -> bool:
    """Return whether each element has at most one parent and there is no cycle, for so many connected parts."""
    n = bare.element_count
    out, into = (np.bincount(ends, minlength=n) for ends in bare.pairs.T)
    if min(int(out.max(initial=0)), int(into.max(initial=0))) > 1:
        return False
    return len(bare.pairs) == n - parts
