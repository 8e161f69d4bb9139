r"""Count the proper colourings of a graph, and draw from them, one vertex at a time.

With q colours the number of colourings is a sum over all colours of a product of "differs" factors, one for each edge.
Summing out a vertex leaves a table over its remaining neighbours; the cost is :math:`q^{w+1}` for the widest table. A
clique is given fixed colours first, which counts :math:`q!/(q-m)!` equal terms once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from genlaws.numerics.arguments import Array, Whole
from genlaws.relations.blocks import Neighbours

WIDEST_TABLE = 2**24  # entries; 128 MB


class TooMuchWorkError(Exception):
    """The tables would not fit, or filling them would take too long."""


@dataclass(frozen=True, eq=False)
class Message:
    """The table over `scope` that was left when `vertex` was summed out of `full`, whose first axis is the vertex."""

    vertex: int
    scope: tuple[int, ...]
    full: Array


@dataclass(frozen=True, eq=False)
class Elimination:
    """A graph with every vertex summed out.

    Attributes
    ----------
    clique : list of int
        Vertices whose colours were fixed to 0, 1, ….
    messages : list of Message
        In the order of elimination; empty unless they were kept.
    log_count : float
        Natural logarithm of the number of proper colourings; minus infinity if there is none.
    work : int
        Entries of all tables together.
    """

    colours: int
    clique: list[int]
    messages: list[Message]
    log_count: float
    work: int


def eliminate(neighbours: Neighbours, colours: int, *, keep: bool = False, widest: int = WIDEST_TABLE) -> Elimination:
    """Sum out all vertices of a graph, those with the smallest tables first.

    Raises
    ------
    TooMuchWorkError
        If a table of more than `widest` entries would be needed.
    """
    clique = _large_clique(neighbours)
    if len(clique) > colours:
        return Elimination(colours, clique, [], -np.inf, 0)
    log_count = float(np.log(np.arange(colours - len(clique) + 1, colours + 1)).sum())
    tables = _fixed_colours(neighbours, colours, clique)
    differs = 1.0 - np.eye(colours)
    around = [set(near) - set(clique) for near in neighbours]
    left = set(range(len(neighbours))) - set(clique)
    messages, work = [], 0
    while left:
        vertex = min(left, key=lambda v: _fill_cost(v, around))
        scope = tuple(sorted(around[vertex]))
        if colours ** (len(scope) + 1) > widest:
            raise TooMuchWorkError
        work += colours ** (len(scope) + 1)
        full = _gather(vertex, scope, tables, neighbours, differs)
        table = full.sum(axis=0)
        scale = float(table.max())
        if scale == 0.0:
            return Elimination(colours, clique, [], -np.inf, 0)
        log_count += float(np.log(scale))
        tables = [entry for entry in tables if vertex not in entry[0]]
        if scope:
            tables.append((scope, table / scale))
        if keep:
            messages.append(Message(vertex, scope, full))
        left.discard(vertex)
        _connect(vertex, scope, around)
    return Elimination(colours, clique, messages, log_count, work)


def _large_clique(neighbours: Neighbours) -> list[int]:
    """Return a clique that cannot be enlarged, the best of those grown greedily from each vertex."""
    best: list[int] = []
    for start in range(len(neighbours)):
        if len(neighbours[start]) < len(best):
            continue
        clique, candidates = [start], set(neighbours[start])
        while candidates:
            vertex = max(candidates, key=lambda v: (len(neighbours[v] & candidates), -v))
            clique.append(vertex)
            candidates &= neighbours[vertex]
        best = max(best, clique, key=len)
    return best


Table = tuple[tuple[int, ...], Array]


def _fixed_colours(neighbours: Neighbours, colours: int, clique: list[int]) -> list[Table]:
    """Return for each vertex beside the clique which colours it leaves."""
    allowed: dict[int, Array] = {}
    for colour, fixed in enumerate(clique):
        for vertex in neighbours[fixed]:
            allowed.setdefault(vertex, np.ones(colours))[colour] = 0.0
    return [((vertex,), table) for vertex, table in allowed.items() if vertex not in clique]


def _fill_cost(vertex: int, around: list[set[int]]) -> tuple[int, int, int]:
    """Order of elimination: fewest neighbours, then fewest edges to add."""
    near = around[vertex]
    missing = sum(len(near) - 1 - len(around[other] & near) for other in near)
    return len(near), missing, vertex


def _connect(vertex: int, scope: tuple[int, ...], around: list[set[int]]) -> None:
    """Join the neighbours of the vertex that was summed out."""
    for other in scope:
        around[other].update(scope)
        around[other] -= {vertex, other}


def _gather(vertex: int, scope: tuple[int, ...], tables: list[Table], neighbours: Neighbours, differs: Array) -> Array:
    """Return the product of all factors that contain the vertex, axes (vertex, *scope)."""
    axes = {vertex: 0, **{other: axis for axis, other in enumerate(scope, start=1)}}
    colours = len(differs)
    full = np.ones((colours,) * (len(scope) + 1))
    still_there = set(scope)
    pairs = [((vertex, other), differs) for other in neighbours[vertex] if other in still_there]
    for variables, table in [*pairs, *(entry for entry in tables if vertex in entry[0])]:
        order = np.argsort([axes[variable] for variable in variables])
        shape = [1] * full.ndim
        for variable in variables:
            shape[axes[variable]] = colours
        full *= table.transpose(order).reshape(shape)
    return full


def sample_colourings(elimination: Elimination, vertex_count: int, draws: int, generator: np.random.Generator) -> Whole:
    """Return independent uniform proper colourings, shape (draws, vertices): the elimination run backwards."""
    colours = elimination.colours
    chosen = np.zeros((draws, vertex_count), dtype=np.int64)
    chosen[:, elimination.clique] = np.arange(len(elimination.clique))
    for message in reversed(elimination.messages):
        index: tuple[Any, ...] = (slice(None), *(chosen[:, other] for other in message.scope))
        weights = message.full[index]
        weights = np.broadcast_to(weights.reshape(colours, -1), (colours, draws))
        cumulative = np.cumsum(weights, axis=0)
        threshold = generator.random(draws) * cumulative[-1]
        chosen[:, message.vertex] = (cumulative <= threshold).sum(axis=0)
    names = generator.permuted(np.repeat(np.arange(colours)[None], draws, axis=0), axis=1)
    return np.take_along_axis(names, chosen, axis=1)
