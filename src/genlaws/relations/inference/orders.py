r"""The posterior over total orders given some comparisons: the uniform distribution over linear extensions.

The known entries and what they imply form a partial order. It can be split in two ways. Where its comparability graph
is not connected, the parts lie *side by side*: every shuffle of their extensions is an extension of the whole, so ranks
add like draws without replacement,

.. math:: P(\text{exactly } t \text{ of } B \text{ come before the } r\text{-th of } A)
    = \binom{r-1+t}{t}\binom{a-r+b-t}{b-t}\Big/\binom{a+b}{b},

with a and b the sizes of the parts. Where its incomparability graph is not connected, the parts lie *one after
another* and every comparison between them is known. Parts that cannot be split are counted through their ideals.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse, special

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.core.errors import InputError
from genlaws.relations.inference import ideals
from genlaws.relations.structure.training_set import CONTRADICTION_HINT, TrainingSet

OrderDraw = Callable[[int, np.random.Generator], Whole]

MIN_OPEN_PROBABILITY = 2.0**-53  # of an unknown entry: one minus it is less than one in floating point


def known_order(training_set: TrainingSet, reflexive: bool) -> Mask:
    """Return which elements are known to precede which, implied comparisons included.

    An entry 1 at (i, j) means that i precedes j, an entry 0 that j precedes i. The diagonal of a total order holds
    everywhere if it is reflexive (≤) and nowhere if it is not (<).

    Raises
    ------
    InputError
        If the entries form a cycle or the diagonal is not that of a total order.
    """
    pairs, values, names = training_set.pairs, training_set.values, training_set.names
    own = pairs[:, 0] == pairs[:, 1]
    wrong = np.flatnonzero(own & (values != reflexive))
    if len(wrong):
        name = names[pairs[wrong[0], 0]]
        kind = "reflexive" if reflexive else "strict"
        raise InputError(
            f"The training set contradicts a {kind} total order: ({name}, {name}) is {int(values[wrong[0]])}. "
            f"{CONTRADICTION_HINT}"
        )
    n = training_set.element_count
    direct = np.zeros((n, n), dtype=bool)
    first, second = pairs[~own].T
    forward = values[~own]
    direct[np.where(forward, first, second), np.where(forward, second, first)] = True
    below = transitive_closure(direct)
    cycle = np.flatnonzero(below.diagonal())
    if len(cycle):
        path = " < ".join(names[element] for element in _cycle_through(int(cycle[0]), direct))
        raise InputError(f"The training set contradicts every total order: {path}. {CONTRADICTION_HINT}")
    return below


def transitive_closure(relation: Mask) -> Mask:
    """Return which elements are reached from which by one pair or more (Warshall's algorithm)."""
    closed = relation.copy()
    for middle in range(len(closed)):
        closed |= closed[:, middle, None] & closed[None, middle]
    return closed


def transitive_reduction(below: Mask) -> Mask:
    """Return the pairs of a closed order with nothing in between."""
    steps = below.astype(np.float64)
    return below & ~((steps @ steps) > 0.5)


def _cycle_through(start: int, direct: Mask) -> list[int]:
    """Return the shortest path from an element back to itself."""
    order, came_from = sparse.csgraph.breadth_first_order(direct, start)
    path = [start, int(order[np.argmax(direct[order, start])])]
    while path[-1] != start:
        path.append(int(came_from[path[-1]]))
    return path[::-1]


@dataclass(frozen=True, eq=False)
class OrderPosterior:
    """The uniform law over the linear extensions of a partial order.

    Attributes
    ----------
    elements : array of int, shape (n,)
        Which elements it is about.
    before : array, shape (n, n)
        P(i comes before j), in the order of `elements`.
    rank : array, shape (n, n)
        P(i has rank r), ranks from 0.
    log2_count : float
        Binary logarithm of the number of linear extensions: the bits left.
    draw : callable
        ``draw(draws, generator)`` gives independent uniform extensions, the elements from first to last.
    """

    elements: Whole
    before: Array
    rank: Array
    log2_count: float
    draw: OrderDraw


def order_posterior(below: Mask, most_ideals: int = ideals.MAX_IDEALS) -> OrderPosterior | None:
    """Return the law over all total orders that contain the order `below`, or None if they are too many to count.

    Parameters
    ----------
    below : array of bool, shape (n, n)
        Transitively closed and acyclic: ``below[i, j]`` if i must come before j.
    most_ideals : int
        Give up on a part with more ideals than this.
    """
    try:
        return _solve(below, np.arange(len(below)), most_ideals)
    except RecursionError:  # parts within parts, hundreds deep
        return None


def _solve(below: Mask, elements: Whole, most_ideals: int) -> OrderPosterior | None:
    inside = below[np.ix_(elements, elements)]
    if len(elements) == 1:
        return OrderPosterior(elements, np.zeros((1, 1)), np.ones((1, 1)), 0.0, _always(elements))
    comparable = inside | inside.T
    for linked, join in ((comparable, join_unrelated), (~comparable, one_after_another)):
        count, part = sparse.csgraph.connected_components(linked, directed=False)
        if count > 1:
            groups = [elements[part == number] for number in range(count)]
            if join is one_after_another:
                groups.sort(key=lambda group: int(below[:, group[0]][elements].sum()))
            pieces = [_solve(below, group, most_ideals) for group in groups]
            return None if any(piece is None for piece in pieces) else join(pieces)  # type: ignore[arg-type]
    return _through_ideals(inside, elements, most_ideals)


def _always(elements: Whole) -> OrderDraw:
    return lambda draws, generator: np.repeat(elements[None], draws, axis=0)


def _through_ideals(inside: Mask, elements: Whole, most_ideals: int) -> OrderPosterior | None:
    """Count the ideals; interchangeable elements are put in one order first and averaged afterward."""
    alike = _alike(inside)
    lined_up = inside.copy()
    for group in alike:
        lined_up[np.ix_(group, group)] = np.triu(np.ones((len(group), len(group)), dtype=bool), 1)
    lattice = ideals.find_ideals(lined_up, most_ideals)
    if lattice is None:
        return None
    counts = ideals.count_extensions(lattice)
    before, rank = ideals.order_probabilities(lattice, counts)
    before = before.clip(MIN_OPEN_PROBABILITY, 1.0 - MIN_OPEN_PROBABILITY)
    before[inside], before[inside.T | np.eye(len(inside), dtype=bool)] = 1.0, 0.0
    for group in alike:
        rank[group] = rank[group].mean(axis=0)
        before[group], before[:, group] = before[group].mean(axis=0), before[:, group].mean(axis=1)[:, None]
        before[np.ix_(group, group)] = 0.5 * (1.0 - np.eye(len(group)))
    log2_count = counts.log2_count + sum(float(special.gammaln(len(group) + 1)) for group in alike) / np.log(2.0)

    def draw(draws: int, generator: np.random.Generator) -> Whole:
        """Return random orders of one component."""
        sequence = ideals.sample_extensions(lattice, counts, draws, generator)
        for group in alike:
            shuffled = generator.permuted(np.repeat(group[None], draws, axis=0), axis=1)
            sequence[np.isin(sequence, group)] = shuffled.ravel()
        return elements[sequence]

    return OrderPosterior(elements, before, rank, float(log2_count), draw)


def _alike(inside: Mask) -> list[Whole]:
    """Return groups of elements that lie above and below the same others, and so may be exchanged."""
    groups: dict[bytes, list[int]] = {}
    for element in range(len(inside)):
        groups.setdefault(inside[element].tobytes() + inside[:, element].tobytes(), []).append(element)
    return [np.array(group) for group in groups.values() if len(group) > 1]


def one_after_another(pieces: Sequence[OrderPosterior]) -> OrderPosterior:
    """Return the law where every element of a piece precedes all of the next."""
    elements = np.concatenate([piece.elements for piece in pieces])
    sizes = [len(piece.elements) for piece in pieces]
    before, rank = np.triu(np.ones((len(elements), len(elements))), 1), np.zeros((len(elements), len(elements)))
    for piece, end in zip(pieces, np.cumsum(sizes), strict=True):
        block = slice(int(end) - len(piece.elements), int(end))
        before[block, block], rank[block, block] = piece.before, piece.rank

    def draw(draws: int, generator: np.random.Generator) -> Whole:
        return np.hstack([piece.draw(draws, generator) for piece in pieces])

    return OrderPosterior(elements, before, rank, sum(piece.log2_count for piece in pieces), draw)


def join_unrelated(pieces: Sequence[OrderPosterior]) -> OrderPosterior:
    """Return the law where no comparison between the pieces is known; the two smallest are joined first."""
    waiting = [(len(piece.elements), number, piece) for number, piece in enumerate(pieces)]
    heapq.heapify(waiting)
    number = len(waiting)
    while len(waiting) > 1:
        joined = _join_two(heapq.heappop(waiting)[2], heapq.heappop(waiting)[2])
        heapq.heappush(waiting, (len(joined.elements), number, joined))
        number += 1
    whole = waiting[0][2]
    return OrderPosterior(whole.elements, whole.before, whole.rank, whole.log2_count, _shuffled(pieces))


def _join_two(first: OrderPosterior, second: OrderPosterior) -> OrderPosterior:
    a, b = len(first.elements), len(second.elements)
    passed = overtaken(a, b)
    sooner = np.cumsum(passed, axis=1)[:, :b]  # P(r-th of the first before s-th of the second)
    across = (first.rank @ sooner @ second.rank.T).clip(MIN_OPEN_PROBABILITY, 1.0 - MIN_OPEN_PROBABILITY)
    before = np.block([[first.before, across], [1.0 - across.T, second.before]])
    rank = np.vstack([first.rank @ _shifted(passed), second.rank @ _shifted(overtaken(b, a))])
    log2_shuffles = float(-special.betaln(a + 1, b + 1) - np.log(a + b + 1)) / np.log(2.0)
    log2_count = first.log2_count + second.log2_count + log2_shuffles
    return OrderPosterior(np.append(first.elements, second.elements), before, rank, log2_count, first.draw)


def overtaken(a: int, b: int) -> Array:
    """Return P(exactly t of b elements come before the r-th of a) in a random shuffle, shape (a, b + 1), r from 0."""
    r, t = np.arange(a)[:, None], np.arange(b + 1.0)[None]

    def log_choose(n: Array | float, k: Array | float) -> Array:
        return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))

    chance = np.exp(log_choose(r + t, t) + log_choose(a - 1 - r + b - t, b - t) - log_choose(a + b, b))
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _shifted(passed: Array) -> Array:
    """Return P(rank in the shuffle | rank in the part): rank r becomes r + t."""
    a, width = passed.shape
    shifted = np.zeros((a, a + width - 1))
    rows = np.repeat(np.arange(a), width).reshape(a, width)
    shifted[rows, rows + np.arange(width)] = passed
    return shifted


def _shuffled(pieces: Sequence[OrderPosterior]) -> OrderDraw:
    owner = np.repeat(np.arange(len(pieces)), [len(piece.elements) for piece in pieces])

    def draw(draws: int, generator: np.random.Generator) -> Whole:
        """Return random orders of all elements, with the components shuffled."""
        owners = generator.permuted(np.repeat(owner[None], draws, axis=0), axis=1)
        sequence = np.empty_like(owners)
        for number, piece in enumerate(pieces):
            sequence[owners == number] = piece.draw(draws, generator).ravel()
        return sequence

    return draw
