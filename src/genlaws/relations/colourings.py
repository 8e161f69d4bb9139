r"""The law of a uniform proper colouring: how likely two vertices bear the same colour.

Between vertices a and b of a graph let :math:`\theta_{ab} = (q P(c_a = c_b) - 1)/(q - 1)`, one when they must agree and
:math:`-1/(q-1)` when they must differ. All colours play the same part, so :math:`\theta` multiplies across a vertex
that separates a from b and vanishes between parts that are not connected. Only inside a block, which no single vertex
takes apart, is counting needed: :math:`P(c_a = c_b)` is the share of colourings left when a and b are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from genlaws.numerics.arguments import Array, Whole
from genlaws.relations.blocks import Neighbours, connected_blocks
from genlaws.relations.colour_elimination import TooMuchWorkError, eliminate, sample_colourings

MOST_WORK = 7e8  # entries of tables, about ten seconds
STEP_WORK = 3000  # entries that take as long as summing out one vertex of a small table (measured, 40 µs)
ROUNDING = 1e-13  # a sum of logarithms of counts up to 10^30 is good to a few 1e-14


@dataclass(frozen=True, eq=False)
class ColouringLaw:
    """The uniform law over proper colourings with a given number of colours.

    Attributes
    ----------
    colours : int
    log_count : float
        Natural logarithm of the number of colourings, minus infinity if there is none.
    same : array, shape (n, n)
        P(two vertices have the same colour); NaN if there is no colouring.
    """

    colours: int
    log_count: float
    same: Array


def colouring_law(neighbours: Neighbours, colours: int, most_work: float = MOST_WORK) -> ColouringLaw | None:
    """Return the law over proper colourings, or None if more than `most_work` entries of tables were to be filled."""
    count = len(neighbours)
    theta = np.zeros((count, count))
    log_count = 0.0
    try:
        for blocks in connected_blocks(neighbours):
            reached: list[int] = []
            for block, hinge in blocks:
                log_block, inside, work = _block_law(neighbours, block, colours, most_work)
                most_work -= work
                log_count += log_block - (np.log(colours) if hinge is not None else 0.0)
                if not np.isfinite(log_count):
                    return ColouringLaw(colours, -np.inf, np.full((count, count), np.nan))
                theta[np.ix_(block, block)] = inside
                if hinge is not None:
                    fresh = [vertex for vertex in block if vertex != hinge]
                    beyond = theta[reached, hinge][:, None] * theta[hinge, fresh][None]
                    theta[np.ix_(reached, fresh)], theta[np.ix_(fresh, reached)] = beyond, beyond.T
                reached = list(dict.fromkeys([*reached, *block]))
    except TooMuchWorkError:
        return None
    return ColouringLaw(colours, log_count, _certain((1.0 + (colours - 1) * theta) / colours))


def log_colouring_count(neighbours: Neighbours, colours: int) -> float | None:
    """Return the natural logarithm of the number of proper colourings, or None if a table would be too large."""
    try:
        return eliminate(neighbours, colours).log_count
    except TooMuchWorkError:
        return None


def uncolourable_part(neighbours: Neighbours, colours: int) -> list[int]:
    """Return vertices that cannot be coloured, of which none can be left out; `neighbours` must have no colouring."""
    part = _core(neighbours, range(len(neighbours)), colours)
    for vertex in list(part):
        rest = _core(neighbours, [other for other in part if other != vertex], colours)
        if vertex in part and log_colouring_count(_inside(neighbours, rest), colours) == -np.inf:
            part = rest
    return part


def _core(neighbours: Neighbours, vertices: Iterable[int], colours: int) -> list[int]:
    """Return the vertices without those that can always be coloured last: with fewer neighbours than colours."""
    kept = set(vertices)
    while loose := {vertex for vertex in kept if len(neighbours[vertex] & kept) < colours}:
        kept -= loose
    return sorted(kept)


def _certain(probability: Array) -> Array:
    """Return probabilities with those that differ from 0 or 1 by rounding alone set to it."""
    nearest = np.round(probability)
    return np.where(np.abs(probability - nearest) < ROUNDING, nearest, probability)


def _block_law(neighbours: Neighbours, block: list[int], colours: int, most_work: float) -> tuple[float, Array, float]:
    """Return the logarithm of the number of colourings of one block, θ between its vertices, and the work it took."""
    differ = -1.0 / (colours - 1) if colours > 1 else np.nan
    size = len(block)
    if size == 1:
        return float(np.log(colours)), np.ones((1, 1)), 0.0
    if colours == 1:
        return -np.inf, np.full((size, size), np.nan), 0.0
    if size == 2:
        return float(np.log(colours) + np.log(colours - 1.0)), np.array([[1.0, differ], [differ, 1.0]]), 0.0
    graph = _inside(neighbours, block)
    whole = eliminate(graph, colours)
    theta = np.where(np.eye(size) > 0, 1.0, differ)
    apart = [(a, b) for a in range(size) for b in range(a) if b not in graph[a]]
    if len(apart) * (whole.work + STEP_WORK * float(size)) > most_work:
        raise TooMuchWorkError
    work = 0.0
    if np.isfinite(whole.log_count):
        for a, b in apart:
            merged = eliminate(_merged(graph, a, b), colours)
            work += merged.work + STEP_WORK * size
            if work > most_work:  # merging two vertices can make the tables larger than they were
                raise TooMuchWorkError
            same = np.exp(merged.log_count - whole.log_count)
            theta[a, b] = theta[b, a] = (colours * same - 1.0) / (colours - 1.0)
    return whole.log_count, theta, work


def _inside(neighbours: Neighbours, block: Sequence[int]) -> list[frozenset[int]]:
    """Return the graph of some vertices alone, renumbered."""
    number = {vertex: place for place, vertex in enumerate(block)}
    return [frozenset(number[near] for near in neighbours[vertex] if near in number) for vertex in block]


def _merged(graph: Neighbours, kept: int, gone: int) -> list[frozenset[int]]:
    """Return the graph with two vertices that share no edge made one; the one that is gone is left out."""
    joined = [set(near) for near in graph]
    for near in graph[gone]:
        joined[near] = (joined[near] - {gone}) | {kept}
    joined[kept] |= graph[gone]
    rest = [vertex for vertex in range(len(graph)) if vertex != gone]
    return _inside([frozenset(near) for near in joined], rest)


def draw_colourings(neighbours: Neighbours, colours: int, draws: int, generator: np.random.Generator) -> Whole:
    """Return independent uniform proper colourings, shape (draws, vertices)."""
    elimination = eliminate(neighbours, colours, keep=True)
    return sample_colourings(elimination, len(neighbours), draws, generator)
