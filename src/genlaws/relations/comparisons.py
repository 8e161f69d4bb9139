"""What some entries of a total order imply about the others."""

from __future__ import annotations

import numpy as np

from genlaws.numerics.arguments import Mask
from genlaws.numerics.errors import InputError
from genlaws.relations.training_set import CONTRADICTION_HINT, TrainingSet


def known_order(training_set: TrainingSet, reflexive: bool) -> Mask:
    """Return which elements are known to precede which, implied comparisons included.

    An entry 1 at (i, j) says that i precedes j, an entry 0 that j precedes i. The diagonal of a total order holds
    everywhere if it is reflexive (≤) and nowhere if it is not (<).

    Raises
    ------
    InputError
        If the entries run in a circle or the diagonal is not that of a total order.
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
    says = values[~own]
    direct[np.where(says, first, second), np.where(says, second, first)] = True
    below = transitive_closure(direct)
    circle = np.flatnonzero(below.diagonal())
    if len(circle):
        path = " < ".join(names[element] for element in _circle_through(int(circle[0]), direct))
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


def _circle_through(start: int, direct: Mask) -> list[int]:
    """Return the shortest way from an element back to itself."""
    came_from: dict[int, int] = {}
    layer = [start]
    while start not in came_from:
        following = []
        for element in layer:
            for after in np.flatnonzero(direct[element]).tolist():
                if after not in came_from:
                    came_from[after] = element
                    following.append(after)
        layer = following
    path = [start]
    while len(path) == 1 or path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
