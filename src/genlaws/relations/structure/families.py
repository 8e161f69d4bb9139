"""Families of relations: those of the paper and a few more."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import scalar, whole_number, within
from genlaws.core.errors import InputError
from genlaws.relations.structure.relation import MAX_MATRIX_SIZE, Relation

DEFAULT_ELEMENTS = 30  # the paper's n

RELATION_NAMES = (
    "modK (mod3, mod5), less-than, bipartite-A-B (bipartite-15-15), equivalence-A-B-… (equivalence-10-20), "
    "divisibility, binary-tree, incomplete-bipartite-A-B"
)


def _size(name: str, value: object) -> int:
    return whole_number(name, value, at_least=1, at_most=MAX_MATRIX_SIZE)


def modulo(element_count: int, class_count: int) -> Relation:
    r"""Return :math:`R_{ij}=1` if and only if i and j leave the same remainder modulo k (paper's Table I)."""
    n, k = _size("element_count", element_count), _size("class_count", class_count)
    if k > n:
        raise InputError(f"class_count must be at most the {n} elements; got {k}. A class would be empty.")
    remainders = np.arange(n) % k
    return Relation.from_matrix(remainders[:, None] == remainders, label=f"modulo {k}")


def less_than(element_count: int) -> Relation:
    r"""Return :math:`R_{ij}=1` if and only if i < j: the total order the paper calls greater-than."""
    elements = np.arange(_size("element_count", element_count))
    return Relation.from_matrix(elements[:, None] < elements, label="less-than")


def complete_bipartite(first_size: int, second_size: int) -> Relation:
    r"""Return :math:`R_{ij}=1` if and only if exactly one of i, j is among the first `first_size` elements."""
    sides = np.repeat([False, True], [_size("first_size", first_size), _size("second_size", second_size)])
    return Relation.from_matrix(sides[:, None] != sides, label=f"bipartite {first_size}-{second_size}")


def incomplete_bipartite(first_size: int, second_size: int, density: float = 0.5, *, seed: int = 0) -> Relation:
    """Return a random symmetric relation between two sides: each pair across holds with probability `density`."""
    first, second = _size("first_size", first_size), _size("second_size", second_size)
    share = float(scalar("density", within("density", density, 0.0, 1.0)))
    across = np.random.default_rng(whole_number("seed", seed)).random((first, second)) < share
    table = np.zeros((first + second, first + second), dtype=bool)
    table[:first, first:] = across
    return Relation.from_matrix(table | table.T, label=f"incomplete bipartite {first}-{second}")


def equivalence(class_sizes: Sequence[int]) -> Relation:
    """Return the equivalence whose classes have the given sizes, elements in the order of the classes."""
    given = [class_sizes] if isinstance(class_sizes, str) or np.ndim(class_sizes) == 0 else list(class_sizes)
    sizes = [whole_number("class_sizes", size, at_least=1, hint="A class must not be empty.") for size in given]
    if not sizes:
        raise InputError("class_sizes must name at least one class; got none.")
    _size("the sum of class_sizes", sum(sizes))
    classes = np.repeat(np.arange(len(sizes)), sizes)
    return Relation.from_matrix(classes[:, None] == classes, label="equivalence " + "-".join(map(str, sizes)))


def partial_order(element_count: int, covers: ArrayLike, *, reflexive: bool = False) -> Relation:
    """Return the smallest transitive relation that contains the pairs `covers`, or raise if they form a cycle."""
    given = Relation(_size("element_count", element_count), np.asarray(covers))
    n = given.element_count
    above = np.zeros((n, n), dtype=bool)
    starts = np.searchsorted(given.pairs[:, 0], np.arange(n + 1))
    for element in _from_the_top(given):
        next_up = given.pairs[starts[element] : starts[element + 1], 1]
        above[element, next_up] = True
        above[element] |= above[next_up].any(axis=0)
    if reflexive:
        np.fill_diagonal(above, True)
    return Relation.from_matrix(above, label="partial order")


def _from_the_top(covers: Relation) -> list[int]:
    """Return the elements such that all that lie above an element come before it."""
    missing = np.bincount(covers.pairs[:, 0], minlength=covers.element_count)
    below = covers.pairs[np.argsort(covers.pairs[:, 1], kind="stable")]
    starts = np.searchsorted(below[:, 1], np.arange(covers.element_count + 1))
    order = np.flatnonzero(missing == 0).tolist()
    for element in order:
        lower = below[starts[element] : starts[element + 1], 0]
        missing[lower] -= 1
        order += lower[missing[lower] == 0].tolist()
    if len(order) < covers.element_count:
        cycle = int(np.argmax(missing > 0))
        raise InputError(f"covers must not form a cycle; element {cycle} lies in one or below one.")
    return order


def tree(parents: Sequence[int], *, ancestors: bool = False) -> Relation:
    """Return "is the parent of" in the rooted tree where `parents` names each element's parent, -1 for the root.

    With ``ancestors=True`` the relation is "is an ancestor of" instead, which is transitive.
    """
    above = np.asarray(parents)
    if above.ndim != 1 or above.size == 0 or above.dtype.kind not in "iu":
        raise InputError("parents must be a list with the number of each element's parent, -1 for the root.")
    n = _size("the number of parents", len(above))
    if (above == -1).sum() != 1:
        raise InputError(f"parents must contain -1 exactly once, for the root; got it {(above == -1).sum()} times.")
    children = np.flatnonzero(above >= 0)
    edges = np.column_stack([above[children], children])
    if above.min() < -1 or above.max() >= n:
        raise InputError(
            f"parents must be element numbers from 0 to {n - 1}, or -1; got {above.min()} to {above.max()}."
        )
    found, higher = edges, edges
    for _ in range(n):
        # One generation further up; a cycle never ends.
        higher = np.column_stack([above[higher[:, 0]], higher[:, 1]])
        higher = higher[higher[:, 0] >= 0]
        if not len(higher):
            break
        found = np.concatenate([found, higher]) if ancestors else found
    else:
        raise InputError("parents must lead to the root from every element; some form a cycle.")
    return Relation(n, found, label="ancestor in a tree" if ancestors else "tree")


def binary_tree(element_count: int, *, ancestors: bool = False) -> Relation:
    """Return "is the parent of" in the binary tree filled level by level: element i has children 2i+1 and 2i+2."""
    numbers = np.arange(_size("element_count", element_count))
    return tree([-1, *((numbers[1:] - 1) // 2).tolist()], ancestors=ancestors)


def divisibility(element_count: int) -> Relation:
    """Return :math:`R_{ij}=1` if and only if i + 1 divides j + 1: the numbers from 1 to n, a partial order."""
    n = _size("element_count", element_count)
    multiples = [np.arange(number, n + 1, number) for number in range(1, n + 1)]
    divisors = np.repeat(np.arange(n), [len(found) for found in multiples])
    pairs = np.column_stack([divisors, np.concatenate(multiples) - 1])
    return Relation(n, pairs, tuple(str(number) for number in range(1, n + 1)), "divisibility")


def named_relation(name: str, element_count: int | None = None) -> Relation:
    """Return the relation of a name such as ``mod3``, ``less-than`` or ``bipartite-15-15``.

    `element_count` is 30 by default, as in the paper; names with sizes take none.
    """
    if not isinstance(name, str):
        raise InputError(f"A relation's name must be text; got {name!r}.")
    n = DEFAULT_ELEMENTS if element_count is None else element_count
    sizes = [int(size) for size in re.findall(r"(?<=-)\d+", name)]
    if re.fullmatch(r"((incomplete-)?bipartite-\d+-\d+|equivalence(-\d+)+)", name):
        if element_count not in (None, sum(sizes)):
            raise InputError(f"{name} has {sum(sizes)} elements; element_count must agree or be left out.")
        if name.startswith("equivalence"):
            return equivalence(sizes)
        make = complete_bipartite if name.startswith("bipartite") else incomplete_bipartite
        return make(sizes[0], sizes[1])
    if match := re.fullmatch(r"mod(\d+)", name):
        return modulo(n, int(match[1]))
    by_name = {"less-than": less_than, "divisibility": divisibility, "binary-tree": binary_tree}
    if name not in by_name:
        raise InputError(f"There is no relation {name!r}; known are {RELATION_NAMES}.")
    return by_name[name](n)
