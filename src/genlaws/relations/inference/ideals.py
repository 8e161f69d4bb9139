r"""Count the linear extensions of a partial order through its ideals.

An ideal (down-set) D is a set that contains everything below each of its elements. A linear extension is a path up
through the ideals, one element at a time. With :math:`e(D)` ways from the bottom to D and :math:`e'(D)` ways from D
to the top

.. math:: P(i \text{ before } j) = \frac{1}{e'(\emptyset)}
    \sum_{D:\; i \text{ addable},\; j\notin D} e(D)\, e'(D\cup\{i\}),\qquad
    P(i \text{ has rank } |D|) = \frac{1}{e'(\emptyset)} \sum_{D:\; i \text{ addable}} e(D)\, e'(D\cup\{i\}).

Ideals are held level by level as 64-bit masks. With the elements in a fixed linear extension, every ideal of r elements
agrees outside a window of positions. Only the window is stored, so orders of hundreds of elements fit if their window
does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from genlaws.core.arguments import Array, Mask, Whole

MASK_BITS = 63  # positions of one mask
MAX_IDEALS = 4_000_000  # about 1 GB and two seconds

Masks = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class LevelStep:
    """From the ideals of one level to the next by adding the element at one position."""

    position: int
    source: NDArray[np.int64]
    target: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class IdealLattice:
    """All ideals of a partial order.

    Attributes
    ----------
    order : array of int
        The elements in one linear extension; positions below refer to it.
    starts : array of int
        First position of the window of each level.
    masks : list of arrays
        Which positions of the window are inside, for each ideal of each level.
    steps : list of lists of LevelStep
        Level r holds the steps from ideals of r elements to those of r + 1.
    """

    order: Whole
    starts: Whole
    masks: list[Masks]
    steps: list[list[LevelStep]]

    @property
    def size(self) -> int:
        """Number of ideals."""
        return sum(len(level) for level in self.masks)


@dataclass(frozen=True, eq=False)
class ExtensionCounts:
    """Ways up from the bottom and up to the top for every ideal, each level scaled to a largest value of one.

    Attributes
    ----------
    up, to_top : list of arrays
    log2_count : float
        Binary logarithm of the number of linear extensions.
    """

    up: list[Array]
    to_top: list[Array]
    log2_count: float


def find_ideals(below: Mask, most: int = MAX_IDEALS) -> IdealLattice | None:
    """Return every ideal of the order, or None if there are more than `most` or a window is too wide.

    Parameters
    ----------
    below : array of bool, shape (n, n)
        Transitively closed: ``below[i, j]`` if i must come before j.
    """
    count = len(below)
    first, last = below.sum(axis=0), count - 1 - below.sum(axis=1)  # earliest and latest rank of each element
    order = np.lexsort((np.arange(count), last, first + last))
    starts = _window_starts(first[order], last[order])
    if starts is None:
        return None
    predecessors = below[np.ix_(order, order)].T
    masks, steps, total = [np.zeros(1, dtype=np.uint64)], [], 1
    for level in range(count):
        addable = np.flatnonzero((first[order] <= level) & (level <= last[order]))
        children, sources, firsts = _children(masks[level], int(starts[level]), addable, predecessors)
        shift = np.uint64(starts[level + 1] - starts[level])
        children = [child >> shift for child in children]
        unique = np.concatenate([child[:fresh] for child, fresh in zip(children, firsts, strict=True)])
        total += len(unique)
        if total > most:
            return None
        masks.append(unique)
        steps.append(
            [
                LevelStep(int(position), source, np.searchsorted(unique, child))
                for position, source, child in zip(addable, sources, children, strict=True)
            ]
        )
    return IdealLattice(order, starts, masks, steps)


def _window_starts(first: Whole, last: Whole) -> Whole | None:
    """Return the first undecided position of each level, or None if the undecided ones span too many positions."""
    count = len(first)
    levels = np.arange(count + 1)
    reached = first[None] < levels[:, None]  # an element of first rank f can be inside from level f + 1 on
    outside_some = levels[:, None] <= last[None]
    starts = np.where(outside_some.any(axis=1), np.argmax(outside_some, axis=1), count)
    ends = np.where(reached.any(axis=1), count - np.argmax(reached[:, ::-1], axis=1), 0)
    starts = np.maximum.accumulate(np.minimum(starts, count))
    widest = (ends[1:] - starts[:-1]).max()  # the ideals of the next level are made inside the window of this one
    return None if widest > MASK_BITS else starts


def _children(
    masks: Masks, start: int, addable: Whole, predecessors: Mask
) -> tuple[list[Masks], list[NDArray[np.int64]], list[int]]:
    """Return for each addable position the enlarged ideals, the rows they come from, and how many are first seen.

    An ideal is first seen where its highest position was added last. As the masks are sorted those come first, and
    put together in the order of the positions they are sorted again, each ideal once: no sorting is needed.
    """
    children, sources, firsts = [], [], []
    for position in addable:
        needed = np.flatnonzero(predecessors[position, start:])  # those before the window are inside
        bit = np.uint64(1) << np.uint64(position - start)
        must = np.bitwise_or.reduce(np.uint64(1) << needed.astype(np.uint64), initial=np.uint64(0))
        rows = np.flatnonzero((masks & (must | bit)) == must)
        parents = masks[rows]
        children.append(parents | bit)
        sources.append(rows)
        firsts.append(int(np.searchsorted(parents, bit)))
    return children, sources, firsts


def count_extensions(lattice: IdealLattice) -> ExtensionCounts:
    """Return the number of ways to and from every ideal."""
    up, log2_count = [np.ones(1)], 0.0
    for level, steps in enumerate(lattice.steps):
        ways = np.zeros(len(lattice.masks[level + 1]))
        for step in steps:
            ways[step.target] += up[level][step.source]  # each target once within one step
        scale = ways.max()
        log2_count += float(np.log2(scale))
        up.append(ways / scale)
    to_top = [np.ones(1)]
    for level in range(len(lattice.steps) - 1, -1, -1):
        ways = np.zeros(len(lattice.masks[level]))
        for step in lattice.steps[level]:
            ways[step.source] += to_top[0][step.target]
        to_top.insert(0, ways / ways.max())
    return ExtensionCounts(up, to_top, log2_count)


def order_probabilities(lattice: IdealLattice, counts: ExtensionCounts) -> tuple[Array, Array]:
    """Return P(i before j) and P(i has rank r), each of shape (n, n), in the elements' own numbers."""
    n = len(lattice.order)
    before, rank = np.zeros((n, n)), np.zeros((n, n))
    for level, steps in enumerate(lattice.steps):
        start, masks = int(lattice.starts[level]), lattice.masks[level]
        weights = np.zeros((len(steps), len(masks)))
        for row, step in zip(weights, steps, strict=True):
            row[step.source] = counts.up[level][step.source] * counts.to_top[level + 1][step.target]
        positions = np.array([step.position for step in steps])
        total = weights.sum()
        chosen = weights.sum(axis=1) / total
        rank[positions, level] = chosen
        width = min(MASK_BITS, n - start)
        bits = masks.astype("<u8").view(np.uint8).reshape(-1, 8)
        inside = np.unpackbits(bits, axis=1, count=width, bitorder="little").astype(np.float64)
        outside = chosen[:, None] - weights @ inside / total
        before[np.ix_(positions, np.arange(start, start + width))] += outside
        before[np.ix_(positions, np.arange(start + width, n))] += chosen[:, None]
    np.fill_diagonal(before, 0.0)
    back = np.argsort(lattice.order)
    return before[np.ix_(back, back)], rank[back]


def sample_extensions(
    lattice: IdealLattice, counts: ExtensionCounts, draws: int, generator: np.random.Generator
) -> Whole:
    r"""Return independent uniform linear extensions, shape (draws, n): the elements from first to last.

    From ideal D the element i is added with probability :math:`e'(D\cup\{i\})/e'(D)`.
    """
    at = np.zeros(draws, dtype=np.int64)
    sequence = np.empty((draws, len(lattice.order)), dtype=np.int64)
    for level, steps in enumerate(lattice.steps):
        size = len(lattice.masks[level])
        goes = np.full((size, len(steps)), -1, dtype=np.int64)
        weights = np.zeros((size, len(steps)))
        for column, step in enumerate(steps):
            goes[step.source, column] = step.target
            weights[step.source, column] = counts.to_top[level + 1][step.target]
        cumulative = np.cumsum(weights, axis=1)
        threshold = generator.random(draws) * cumulative[at, -1]
        column = (cumulative[at] <= threshold[:, None]).sum(axis=1)
        sequence[:, level] = lattice.order[np.array([step.position for step in steps])][column]
        at = goes[at, column]
    return sequence
