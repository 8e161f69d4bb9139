"""True distances between stimuli: from positions and a metric, a tree in Newick format, or a matrix."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from genlaws.core.arguments import Array, one_of, positive, real, scalar
from genlaws.core.errors import InputError
from genlaws.semanticity.theory.ties import COMPUTED_TOLERANCE

_TOKEN = re.compile(r"\s*(?:\[[^\]]*\]\s*)*(\(|\)|,|;|:|'(?:[^']|'')*'|[^\s()\[\]',;:]+)\s*(?:\[[^\]]*\])*")
METRICS = ("circle", "euclidean", "cosine", "tree", "precomputed")

Distances = Callable[[Array, Array], Array]


def leaf_distances(newick: str) -> tuple[list[str], Array]:
    """Return the names of the leaves, and the length of the path between each two of them.

    Branches without a length count 1. Names may be quoted; comments in square brackets are skipped.
    """
    if not isinstance(newick, str):
        raise InputError(f"The tree must be text in Newick format; got {type(newick).__name__}.")
    tree = _read(newick)
    leaves = tree.leaves()
    names = [tree.names[leaf] for leaf in leaves]
    if len(leaves) < 2:
        raise InputError("The tree must have at least two leaves.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"The leaves of the tree must have different names; {twice[0]!r} occurs twice.")
    depth = np.zeros(len(tree.names))
    for node in range(1, len(tree.names)):
        depth[node] = depth[tree.parents[node]] + tree.lengths[node]
    return names, _path_lengths(tree.parents, depth, leaves)


def _path_lengths(parents: list[int], depth: Array, leaves: list[int]) -> Array:
    """Return the path lengths between leaves, met at their last common node by going from the last node to the root."""
    below: list[list[int]] = [[] for _ in parents]
    for place, leaf in enumerate(leaves):
        below[leaf] = [place]
    leaf_depth = depth[leaves]
    lengths = np.zeros((len(leaves), len(leaves)))
    for node in range(len(parents) - 1, 0, -1):
        parent = parents[node]
        rows, columns = np.ix_(below[node], below[parent])
        between = leaf_depth[rows] + leaf_depth[columns] - 2.0 * depth[parent]
        lengths[rows, columns] = between
        lengths[columns.T, rows.T] = between.T
        below[parent] = below[parent] + below[node]
    return lengths


class _Tree:
    """The nodes read so far, in the order of their opening; the root is the first.

    `node` is the one being read and `expects` what may come next: a ``subtree`` or its name, the ``name`` of a closed
    node, the ``colon`` of a named one, the ``length`` after a colon, or nothing but the ``end`` of the node.
    """

    def __init__(self) -> None:
        self.names, self.parents, self.lengths = [""], [-1], [1.0]
        self.node, self.expects = 0, "subtree"

    def leaves(self) -> list[int]:
        inner = set(self.parents)
        return [node for node in range(len(self.names)) if node not in inner]

    def take(self, token: str) -> bool:
        """Take the next token; return whether it may come here."""
        if token == "(":
            return self.expects == "subtree" and self._open(self.node)
        if token in {",", ")"}:
            inside = self.node != 0 and self.expects != "length"
            return inside and (self._open(self.parents[self.node]) if token == "," else self._close())
        if token == ":":
            colon_may_come = self.expects in {"subtree", "name", "colon"}
            self.expects = "length"
            return colon_may_come
        return self._length(token) if self.expects == "length" else self._name(token)

    def _open(self, parent: int) -> bool:
        self.names.append("")
        self.parents.append(parent)
        self.lengths.append(1.0)
        self.node, self.expects = len(self.names) - 1, "subtree"
        return True

    def _close(self) -> bool:
        self.node, self.expects = self.parents[self.node], "name"
        return True

    def _name(self, token: str) -> bool:
        may_come = self.expects in {"subtree", "name"}
        self.names[self.node] = token[1:-1].replace("''", "'") if token.startswith("'") else token
        self.expects = "colon"
        return may_come

    def _length(self, token: str) -> bool:
        try:
            length = float(token)
        except ValueError:
            return False
        if not (np.isfinite(length) and length >= 0):
            raise InputError(f"Branch lengths of the tree must be zero or positive; got {token}.")
        self.lengths[self.node], self.expects = length, "end"
        return True


def _read(newick: str) -> _Tree:
    tree = _Tree()
    for token, place in _tokens(newick):
        if not tree.take(token):
            raise _wrong(newick, place)
    if tree.node != 0:
        raise InputError("The tree has a bracket that is not closed.")
    if tree.expects == "length":
        raise InputError("The tree ends with a colon; a branch length must follow.")
    return tree


def _tokens(newick: str) -> Iterator[tuple[str, int]]:
    """Yield brackets, commas, colons and words with their places, up to the semicolon."""
    place, end = 0, len(newick.rstrip())
    while place < end:
        match = _TOKEN.match(newick, place)
        if match is None:
            raise _wrong(newick, place)
        if match.group(1) == ";":
            return
        yield match.group(1), match.start(1)
        place = match.end()


def _wrong(newick: str, place: int) -> InputError:
    return InputError(
        f"The tree is not in Newick format: character {place + 1} is not expected, near {newick[place : place + 20]!r}."
    )


def distances_between(metric: str, *, period: float = 1.0) -> Distances:
    """Return the function from two arrays of positions to the matrix of distances between them.

    Parameters
    ----------
    metric : {"circle", "euclidean", "cosine", "tree"}
        ``circle``: one number per stimulus, the shorter way round a circle of length `period`. ``tree``: one row of
        group labels per stimulus, from the coarsest group to the finest; the distance of two is twice the number of
        levels on which they differ. ``cosine``: one minus the cosine of the angle.
    period : float > 0
        Of the circle alone.
    """
    one_of("metric", metric, METRICS[:-1], "A matrix of distances is given as distances.")
    length = float(scalar("period", positive("period", period)))
    if metric == "circle":
        return lambda one, other: _around(one, other, length)
    if metric == "tree":
        return _levels_apart
    if metric == "cosine":
        return lambda one, other: np.maximum(cdist(_rows(one), _rows(other), "cosine"), 0.0)
    return lambda one, other: cdist(_rows(one), _rows(other))


def check_positions(positions: ArrayLike, metric: str) -> Array:
    """Return positions that fit the metric, one row or number per stimulus."""
    p = real("positions", _numbered(positions) if metric == "tree" else positions)
    if not np.isfinite(p).all():
        raise InputError("positions must be finite numbers.")
    if metric == "circle":
        if p.ndim == 2 and p.shape[1] == 1:
            p = p[:, 0]
        if p.ndim != 1:
            raise InputError(f"positions on a circle must be one number per stimulus; got shape {p.shape}.")
    elif p.ndim not in {1, 2}:
        raise InputError(f"positions must be a number or a row per stimulus; got shape {p.shape}.")
    if metric == "cosine" and (p.ndim == 1 or not np.linalg.norm(p, axis=1).all()):
        raise InputError("positions for the cosine metric must be rows of several numbers, none of them all zero.")
    return p


def circle_length(positions: Array, period: float | None) -> float:
    """Return the period of places on a circle: 1 if it is not given, which all of them must then fit into."""
    if period is not None:
        return float(scalar("period", positive("period", period)))
    low, high = float(positions.min()), float(positions.max())
    if high - low > 1.0 + COMPUTED_TOLERANCE:
        raise InputError(
            "positions on a circle must lie within one period, which is 1 if it is not given; got places from "
            f"{low:.6g} to {high:.6g}. Give the period (2π for radians, 360 for degrees, 24 for hours), or divide the "
            "positions by it."
        )
    return 1.0


def tree_distances(newick: str, leaves: Sequence[str] | None = None) -> Array:
    """Return the distances between the leaves of a tree in Newick format along its branches.

    `leaves`: names in the wanted order; the tree's own order if not given.
    """
    names, distances = leaf_distances(newick)
    if leaves is None:
        return distances
    place = {name: index for index, name in enumerate(names)}
    missing = [name for name in leaves if name not in place]
    if missing:
        raise InputError(
            f"leaves must be names of the tree; {len(missing)} of {len(leaves)} are not in it, "
            f"the first is {missing[0]!r}. The tree's names look like {names[0]!r}."
        )
    rows = [place[name] for name in leaves]
    return distances[np.ix_(rows, rows)]


def _numbered(labels: ArrayLike) -> ArrayLike:
    """Return group labels as numbers, words as the place in their order."""
    try:
        array = np.asarray(labels)
    except ValueError:
        return labels
    if array.dtype.kind not in "USO":
        return array
    if any(label is None or (isinstance(label, float) and math.isnan(label)) for label in array.ravel().tolist()):
        raise InputError("positions for the tree metric must have a label on every level; some are missing.")
    return np.unique(array.astype(str), return_inverse=True)[1].reshape(array.shape)


def _rows(positions: Array) -> Array:
    return positions[:, None] if positions.ndim == 1 else positions


def _around(one: Array, other: Array, period: float) -> Array:
    apart = np.abs(np.subtract.outer(one.ravel(), other.ravel())) % period
    return np.minimum(apart, period - apart)


def _levels_apart(one: Array, other: Array) -> Array:
    """Return twice the levels below the last common group."""
    first, second = _rows(one), _rows(other)
    same = np.ones((len(first), len(second)), dtype=bool)
    shared = np.zeros(same.shape)
    for level in range(first.shape[1]):
        same = same & np.equal.outer(first[:, level], second[:, level])
        shared += same
    return np.asarray(2.0 * (first.shape[1] - shared))
