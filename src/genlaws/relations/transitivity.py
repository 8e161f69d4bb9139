"""Whether two steps along a relation are always a step of it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from genlaws.numerics.arguments import Whole
from genlaws.relations.relation import LARGEST_MATRIX, Relation

MOST_STEPS = 2_000_000  # pairs of steps looked at in one go
DENSE = 1 / 64  # beyond this density rows of bits are faster than lists


def missing_step(relation: Relation) -> tuple[int, int, int] | None:
    """Return elements x, y, z with R(x, y) and R(y, z) but not R(x, z); none if the relation is transitive."""
    first, second = relation.pairs.T
    out = np.bincount(first, minlength=relation.element_count)
    # In a transitive relation whatever follows y also follows x, so y cannot have more after it.
    more = out[second] > out[first]
    if more.any():
        return _witness(relation, *relation.pairs[np.argmax(more)].tolist())
    dense = relation.density > DENSE and relation.element_count <= LARGEST_MATRIX
    row = _bad_row_of_bits(relation) if dense else _bad_row_of_lists(relation, out)
    if row is None:
        return None
    for middle in _after(relation, row).tolist():
        found = _witness(relation, row, middle)
        if found is not None:
            return found
    raise AssertionError("the row was found to miss a step")


def _bad_row_of_lists(relation: Relation, out: Whole) -> int | None:
    """Return an element from which two steps lead where one does not, by sparse products of some rows at a time."""
    table = relation.sparse
    steps = np.bincount(relation.pairs[:, 0], weights=out[relation.pairs[:, 1]], minlength=relation.element_count)
    rows = np.flatnonzero(steps)
    blocks = np.floor_divide(np.cumsum(steps[rows]), MOST_STEPS)
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


def _bad_row_of_bits(relation: Relation) -> int | None:
    """Return an element from which two steps lead where one does not, with each row as a string of bits."""
    bits = np.packbits(relation.matrix, axis=1)
    starts = np.searchsorted(relation.pairs[:, 0], np.arange(relation.element_count + 1))
    for row in range(relation.element_count):
        after = relation.pairs[starts[row] : starts[row + 1], 1]
        if len(after) and (np.bitwise_or.reduce(bits[after], axis=0) & ~bits[row]).any():
            return row
    return None


def _after(relation: Relation, element: int) -> Whole:
    low, high = np.searchsorted(relation.pairs[:, 0], [element, element + 1])
    return relation.pairs[low:high, 1]


def _witness(relation: Relation, first: int, second: int) -> tuple[int, int, int] | None:
    beyond = np.setdiff1d(_after(relation, second), _after(relation, first))
    return (first, second, int(beyond[0])) if len(beyond) else None
