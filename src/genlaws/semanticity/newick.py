"""Read a tree in Newick format and measure the way between its leaves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError

_TOKEN = re.compile(r"\s*(?:\[[^\]]*\]\s*)*(\(|\)|,|;|:|'(?:[^']|'')*'|[^\s()\[\]',;:]+)\s*(?:\[[^\]]*\])*")


def leaf_distances(newick: str) -> tuple[list[str], Array]:
    """Return the names of the leaves, and the length of the way between each two of them.

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
    return names, _ways(tree.parents, depth, leaves)


def _ways(parents: list[int], depth: Array, leaves: list[int]) -> Array:
    """Meet leaves at their last common node: nodes are numbered from the root down, so go through them backwards."""
    below: list[list[int]] = [[] for _ in parents]
    for place, leaf in enumerate(leaves):
        below[leaf] = [place]
    leaf_depth = depth[leaves]
    ways = np.zeros((len(leaves), len(leaves)))
    for node in range(len(parents) - 1, 0, -1):
        parent = parents[node]
        rows, columns = np.ix_(below[node], below[parent])
        between = leaf_depth[rows] + leaf_depth[columns] - 2.0 * depth[parent]
        ways[rows, columns] = between
        ways[columns.T, rows.T] = between.T
        below[parent] = below[parent] + below[node]
    return ways


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
        """Take the next token, or say that it may not stand here."""
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
