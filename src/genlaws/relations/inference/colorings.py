r"""The uniform distribution over proper colorings of a graph: counts, pair probabilities and samples.

Between vertices a and b of a graph let :math:`\theta_{ab} = (q P(c_a = c_b) - 1)/(q - 1)`, one when they must agree and
:math:`-1/(q-1)` when they must differ. All colors are equivalent, so :math:`\theta` multiplies across a vertex
that separates a from b and vanishes between parts that are not connected. Counting is needed only inside a block, which
no single vertex separates: :math:`P(c_a = c_b)` is the share of colorings left when a and b are merged.

Colorings are counted and sampled by variable elimination. With q colors their number is a sum over all colors of a
product of "differs" factors, one for each edge. Summing out a vertex leaves a table over its remaining neighbors; the
cost is :math:`q^{w+1}` for the widest table. A clique gets fixed colors first, which counts :math:`q!/(q-m)!` equal
terms once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genlaws.core.arguments import Array, Whole
from genlaws.relations.structure.symmetry_reduction import Neighbors, connected_blocks

MAX_TABLE_ENTRIES = 2**24  # 128 MB
MAX_ENTRIES_FILLED = 7e8  # in all tables together; about ten seconds
ENTRIES_PER_STEP = 3000  # whose computing time equals that of one vertex of a small table, 40 µs (measured)
LOG_COUNT_ROUNDING = 1e-13  # a sum of logarithms of counts up to 10^30 is good to a few 1e-14


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
        Vertices whose colors were fixed to 0, 1, ….
    messages : list of Message
        In the order of elimination; empty unless requested.
    log_count : float
        Natural logarithm of the number of proper colorings; minus infinity if there is none.
    work : int
        Entries of all tables together.
    """

    clique: list[int]
    messages: list[Message]
    log_count: float
    work: int


def eliminate(neighbors: Neighbors, colors: int, *, keep: bool = False, widest: int = MAX_TABLE_ENTRIES) -> Elimination:
    """Sum out all vertices of a graph, those with the smallest tables first.

    Raises
    ------
    TooMuchWorkError
        If a table of more than `widest` entries would be needed.
    """
    clique = _large_clique(neighbors)
    if len(clique) > colors:
        return Elimination(clique, [], -np.inf, 0)
    log_count = float(np.log(np.arange(colors - len(clique) + 1, colors + 1)).sum())
    tables = _fixed_colors(neighbors, colors, clique)
    differs = 1.0 - np.eye(colors)
    around = [set(near) - set(clique) for near in neighbors]
    left = set(range(len(neighbors))) - set(clique)
    messages, work = [], 0
    while left:
        vertex = min(left, key=lambda v: _fill_cost(v, around))
        scope = tuple(sorted(around[vertex]))
        if colors ** (len(scope) + 1) > widest:
            raise TooMuchWorkError
        work += colors ** (len(scope) + 1)
        full = _gather(vertex, scope, tables, neighbors, differs)
        table = full.sum(axis=0)
        scale = float(table.max())
        if scale == 0.0:
            return Elimination(clique, [], -np.inf, 0)
        log_count += float(np.log(scale))
        tables = [entry for entry in tables if vertex not in entry[0]]
        if scope:
            tables.append((scope, table / scale))
        if keep:
            messages.append(Message(vertex, scope, full))
        left.discard(vertex)
        _connect(vertex, scope, around)
    return Elimination(clique, messages, log_count, work)


def _large_clique(neighbors: Neighbors) -> list[int]:
    """Return a clique that cannot be enlarged, the best of those grown greedily from each vertex."""
    best: list[int] = []
    for start in range(len(neighbors)):
        if len(neighbors[start]) < len(best):
            continue
        clique, candidates = [start], set(neighbors[start])
        while candidates:
            vertex = max(candidates, key=lambda v: (len(neighbors[v] & candidates), -v))
            clique.append(vertex)
            candidates &= neighbors[vertex]
        best = max(best, clique, key=len)
    return best


Table = tuple[tuple[int, ...], Array]


def _fixed_colors(neighbors: Neighbors, colors: int, clique: list[int]) -> list[Table]:
    """Return the colors that the clique leaves to each of its neighbors."""
    allowed: dict[int, Array] = {}
    for color, fixed in enumerate(clique):
        for vertex in neighbors[fixed]:
            allowed.setdefault(vertex, np.ones(colors))[color] = 0.0
    return [((vertex,), table) for vertex, table in allowed.items() if vertex not in clique]


def _fill_cost(vertex: int, around: list[set[int]]) -> tuple[int, int, int]:
    """Order of elimination: fewest neighbors, then fewest edges to add."""
    near = around[vertex]
    missing = sum(len(near) - 1 - len(around[other] & near) for other in near)
    return len(near), missing, vertex


def _connect(vertex: int, scope: tuple[int, ...], around: list[set[int]]) -> None:
    """Join the neighbors of the vertex that was summed out."""
    for other in scope:
        around[other].update(scope)
        around[other] -= {vertex, other}


def _gather(vertex: int, scope: tuple[int, ...], tables: list[Table], neighbors: Neighbors, differs: Array) -> Array:
    """Return the product of all factors that contain the vertex, axes (vertex, *scope)."""
    axes = {vertex: 0, **{other: axis for axis, other in enumerate(scope, start=1)}}
    colors = len(differs)
    full = np.ones((colors,) * (len(scope) + 1))
    pairs = [((vertex, other), differs) for other in neighbors[vertex] if other in axes]
    for variables, table in [*pairs, *(entry for entry in tables if vertex in entry[0])]:
        order = np.argsort([axes[variable] for variable in variables])
        shape = [1] * full.ndim
        for variable in variables:
            shape[axes[variable]] = colors
        full *= table.transpose(order).reshape(shape)
    return full


def draw_colorings(neighbors: Neighbors, colors: int, draws: int, generator: np.random.Generator) -> Whole:
    """Return independent uniform proper colorings, shape (draws, vertices): the elimination run backwards."""
    elimination = eliminate(neighbors, colors, keep=True)
    chosen = np.zeros((draws, len(neighbors)), dtype=np.int64)
    chosen[:, elimination.clique] = np.arange(len(elimination.clique))
    for message in reversed(elimination.messages):
        index: tuple[Any, ...] = (slice(None), *(chosen[:, other] for other in message.scope))
        weights = message.full[index]
        weights = np.broadcast_to(weights.reshape(colors, -1), (colors, draws))
        cumulative = np.cumsum(weights, axis=0)
        threshold = generator.random(draws) * cumulative[-1]
        chosen[:, message.vertex] = (cumulative <= threshold).sum(axis=0)
    names = generator.permuted(np.repeat(np.arange(colors)[None], draws, axis=0), axis=1)
    return np.take_along_axis(names, chosen, axis=1)


@dataclass(frozen=True, eq=False)
class ColoringLaw:
    """The uniform law over proper colorings with a given number of colors.

    Attributes
    ----------
    colors : int
    log_count : float
        Natural logarithm of the number of colorings, minus infinity if there is none.
    same : array, shape (n, n)
        P(two vertices have the same color); NaN if there is no coloring.
    """

    colors: int
    log_count: float
    same: Array


def coloring_law(neighbors: Neighbors, colors: int, most_work: float = MAX_ENTRIES_FILLED) -> ColoringLaw | None:
    """Return the law over proper colorings, or None if more than `most_work` table entries would be needed."""
    count = len(neighbors)
    theta = np.zeros((count, count))
    log_count = 0.0
    try:
        for blocks in connected_blocks(neighbors):
            reached: list[int] = []
            for block, hinge in blocks:
                log_block, inside, work = _block_law(neighbors, block, colors, most_work)
                most_work -= work
                log_count += log_block - (np.log(colors) if hinge is not None else 0.0)
                if not np.isfinite(log_count):
                    return ColoringLaw(colors, -np.inf, np.full((count, count), np.nan))
                theta[np.ix_(block, block)] = inside
                if hinge is not None:
                    fresh = [vertex for vertex in block if vertex != hinge]
                    beyond = theta[reached, hinge][:, None] * theta[hinge, fresh][None]
                    theta[np.ix_(reached, fresh)], theta[np.ix_(fresh, reached)] = beyond, beyond.T
                reached = list(dict.fromkeys([*reached, *block]))
    except TooMuchWorkError:
        return None
    return ColoringLaw(colors, log_count, _round_certain((1.0 + (colors - 1) * theta) / colors))


def log_coloring_count(neighbors: Neighbors, colors: int) -> float | None:
    """Return the natural logarithm of the number of proper colorings, or None if a table would be too large."""
    try:
        return eliminate(neighbors, colors).log_count
    except TooMuchWorkError:
        return None


def uncolorable_part(neighbors: Neighbors, colors: int) -> list[int]:
    """Return a minimal set of vertices that cannot be colored; `neighbors` must have no coloring."""
    part = _core(neighbors, range(len(neighbors)), colors)
    for vertex in list(part):
        rest = _core(neighbors, [other for other in part if other != vertex], colors)
        if vertex in part and log_coloring_count(_subgraph(neighbors, rest), colors) == -np.inf:
            part = rest
    return part


def _core(neighbors: Neighbors, vertices: Iterable[int], colors: int) -> list[int]:
    """Return the vertices without those that can always be colored last: with fewer neighbors than colors."""
    core = set(vertices)
    while loose := {vertex for vertex in core if len(neighbors[vertex] & core) < colors}:
        core -= loose
    return sorted(core)


def _round_certain(probability: Array) -> Array:
    """Return probabilities, rounded to 0 or 1 where they differ only by rounding errors."""
    nearest = np.round(probability)
    return np.where(np.abs(probability - nearest) < LOG_COUNT_ROUNDING, nearest, probability)


def _block_law(neighbors: Neighbors, block: list[int], colors: int, most_work: float) -> tuple[float, Array, float]:
    """Return the logarithm of the number of colorings of one block, θ between its vertices, and the work it took."""
    differ = -1.0 / (colors - 1) if colors > 1 else np.nan
    size = len(block)
    if size == 1:
        return float(np.log(colors)), np.ones((1, 1)), 0.0
    if colors == 1:
        return -np.inf, np.full((size, size), np.nan), 0.0
    if size == 2:
        return float(np.log(colors) + np.log(colors - 1.0)), np.array([[1.0, differ], [differ, 1.0]]), 0.0
    graph = _subgraph(neighbors, block)
    whole = eliminate(graph, colors)
    theta = np.where(np.eye(size) > 0, 1.0, differ)
    apart = [(a, b) for a in range(size) for b in range(a) if b not in graph[a]]
    if len(apart) * (whole.work + ENTRIES_PER_STEP * float(size)) > most_work:
        raise TooMuchWorkError
    work = 0.0
    if np.isfinite(whole.log_count):
        for a, b in apart:
            merged = eliminate(_merged(graph, a, b), colors)
            work += merged.work + ENTRIES_PER_STEP * size
            if work > most_work:  # merging two vertices can make the tables larger than they were
                raise TooMuchWorkError
            same = np.exp(merged.log_count - whole.log_count)
            theta[a, b] = theta[b, a] = (colors * same - 1.0) / (colors - 1.0)
    return whole.log_count, theta, work


def _subgraph(neighbors: Neighbors, block: Sequence[int]) -> list[frozenset[int]]:
    """Return the induced subgraph of some vertices, renumbered."""
    number = {vertex: place for place, vertex in enumerate(block)}
    return [frozenset(number[near] for near in neighbors[vertex] if near in number) for vertex in block]


def _merged(graph: Neighbors, target: int, merged: int) -> list[frozenset[int]]:
    """Return the graph with two vertices that share no edge merged into `target`."""
    joined = [set(near) for near in graph]
    for near in graph[merged]:
        joined[near] = (joined[near] - {merged}) | {target}
    joined[target] |= graph[merged]
    rest = [vertex for vertex in range(len(graph)) if vertex != merged]
    return _subgraph([frozenset(near) for near in joined], rest)
