"""The class of the paper's Table II that a relation belongs to, and the numbers that its row needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csgraph

from genlaws.core.arguments import Array, Whole, whole_number
from genlaws.relations.structure.properties import RelationProperties, properties, without_loops
from genlaws.relations.structure.relation import Relation


@dataclass(frozen=True)
class RelationClass:
    """A row of Table II with its numbers; numbers that the row does not use are None.

    Attributes
    ----------
    name : str
        One of ``TABLE_CLASSES`` of :mod:`~genlaws.relations.structure.description_length`.
    element_count : int
    class_count : int or None
        Classes of an equivalence.
    side_sizes : tuple of int or None
        Sides of a bipartite relation, larger first.
    chain_length : float or None
        Mean length of a chain of a transitive relation,
        see :func:`~genlaws.relations.structure.classes.mean_chain_length`.
    mean_depth : float or None
        Mean depth of the elements of a tree, see :func:`~genlaws.relations.structure.classes.mean_tree_depth`.
    """

    name: str
    element_count: int
    class_count: int | None = None
    side_sizes: tuple[int, ...] | None = None
    chain_length: float | None = None
    mean_depth: float | None = None

    def __post_init__(self) -> None:
        whole_number("element_count", self.element_count, at_least=1)
        if self.class_count is not None:
            whole_number("class_count", self.class_count)
        for size in self.side_sizes or ():
            whole_number("side_sizes", size)


def classify_relation(relation: Relation, known: RelationProperties | None = None) -> RelationClass:
    """Return the most specific class of Table II that a relation belongs to.

    Parameters
    ----------
    relation : Relation
    known : RelationProperties, optional
        Its properties, if they are already known.

    Notes
    -----
    A relation that is symmetric or antisymmetric as well as reflexive takes the row that needs fewer bits. A
    relation of a single element counts neither as an order nor as a tree.
    """
    found = properties(relation) if known is None else known
    n = relation.element_count
    proper = n > 1
    # From the most specific to the most general; the first that fits is chosen.
    fits = {
        "complete bipartite": found.complete_bipartite,
        "equivalence": found.equivalence,
        "total order": proper and (found.total_order or found.strict_total_order),
        "rooted tree": proper and found.rooted_tree,
        "tree": proper and found.unrooted_tree,
        "incomplete bipartite": found.bipartite,
        "transitive": found.transitive,
        "antisymmetric": found.antisymmetric,
        "symmetric": found.symmetric,
        "reflexive": found.reflexive,
        "generic": True,
    }
    name = next(row for row, fit in fits.items() if fit)
    return RelationClass(
        name,
        n,
        class_count=len(found.class_sizes) if name == "equivalence" else None,
        side_sizes=found.side_sizes if "bipartite" in name else None,
        chain_length=mean_chain_length(relation) if name == "transitive" else None,
        mean_depth=mean_tree_depth(relation, rooted=found.rooted_tree) if "tree" in name else None,
    )


def mean_tree_depth(relation: Relation, *, rooted: bool) -> float:
    """Return the mean depth of the elements of a tree, the root at depth 1.

    A tree without a root is rooted at the element with the smallest mean distance to the others.
    """
    n = relation.element_count
    start = 0
    if rooted:
        # The root is the one element without a parent, whichever way the pairs point.
        out, into = (np.bincount(ends, minlength=n) for ends in relation.pairs.T)
        start = int(np.argmin(into if into.max() <= 1 and (into == 0).sum() == 1 else out))
    order, parent = csgraph.breadth_first_order(relation.sparse, start, directed=False)
    depth, size = np.ones(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    for element in order[1:].tolist():
        depth[element] = depth[parent[element]] + 1
    if rooted:
        return float(depth.mean())
    for element in order[:0:-1].tolist():
        size[parent[element]] += size[element]
    total = np.full(n, depth.sum())
    for element in order[1:].tolist():
        # A root moved one step down gets closer to all elements below it and farther from all others.
        total[element] = total[parent[element]] + n - 2 * size[element]
    return float(total.min() / n)


def mean_chain_length(relation: Relation) -> float:
    """Return the mean over all elements of the longest chain x < y < … through them, for a transitive relation.

    Elements that precede one another both ways count as one link. An element that is related to none is a chain of
    length 1.
    """
    bare, _ = without_loops(relation)
    _, label = csgraph.connected_components(bare.sparse, directed=True, connection="strong")
    _, first = np.unique(label, return_index=True)
    links = np.zeros(bare.element_count, dtype=bool)
    links[first] = True
    pairs = label[bare.pairs[links[bare.pairs].all(axis=1)]].astype(np.int64)
    up, down = (_longest(ends, len(first)) for ends in (pairs, pairs[:, ::-1]))
    return float((up + down - 1.0)[label].mean())


def _longest(pairs: Whole, count: int) -> Array:
    """Return the length of the longest chain that ends at each link of an acyclic transitive relation."""
    into = np.bincount(pairs[:, 1], minlength=count)
    pairs = pairs[np.argsort(pairs[:, 1], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(into)])
    length = np.ones(count)
    # A predecessor of a link has fewer predecessors, so it comes earlier in this order.
    for link in np.argsort(into, kind="stable").tolist():
        before = pairs[starts[link] : starts[link + 1], 0]
        if len(before):
            length[link] = 1.0 + length[before].max()
    return length
