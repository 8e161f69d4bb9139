"""Relations between elements, as lists of ordered pairs.

A relation can be written as a short text and read back, so that it can be part of the settings of a computation.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from genlaws.core.arguments import Mask, Whole, whole_number
from genlaws.core.errors import InputError
from genlaws.core.result import fingerprint

MAX_ELEMENTS = 10_000_000  # the name of each is stored
MAX_MATRIX_SIZE = 20_000  # elements of a dense table of booleans; 400 MB
MAX_TEXT_ELEMENTS = 4096  # of a relation as text; its table is 2 MB before compression
ELEMENT_COUNT_PATTERN = re.compile("[1-9][0-9]{0,3}")


@dataclass(frozen=True, eq=False)
class Relation:
    """A 0/1 relation R between `element_count` elements; :math:`R_{ij}=1` for the listed `pairs`.

    The functions of :mod:`genlaws.relations.structure.families` make the relations of the paper; the class methods read
    a matrix, a list of pairs or a graph. Only the pairs are stored, so that a sparse relation of 10⁵ elements is small.

    Attributes
    ----------
    element_count : int
    pairs : array of int, shape (m, 2)
        The ordered pairs (i, j) with :math:`R_{ij}=1`, sorted, each once.
    names : tuple of str
        One name for each element; by default their numbers.
    label : str
        Name of the relation in tables and figures.
    """

    element_count: int
    pairs: Whole
    names: tuple[str, ...] = field(default=(), repr=False)
    label: str = "relation"

    def __post_init__(self) -> None:
        count = whole_number(
            "element_count",
            self.element_count,
            at_least=1,
            at_most=MAX_ELEMENTS,
            hint="A relation needs an element, and a name for each.",
        )
        pairs = _sorted_pairs(self.pairs, count)
        pairs.setflags(write=False)
        object.__setattr__(self, "element_count", count)
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "names", element_names(self.names, count))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike, *, names: Sequence[str] = (), label: str = "matrix") -> Relation:
        """Return the relation of a square table of 0 and 1 (or of false and true), full or a sparse array of scipy."""
        if sparse.issparse(matrix):
            matrix = _to_dense(matrix)
        table = np.asarray(matrix)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise InputError(f"A relation's matrix must be square; got shape {table.shape}.")
        if table.dtype.kind not in "biuf":
            raise InputError(f"A relation's matrix must hold 0 and 1 only; got entries of type {table.dtype}.")
        wrong = (table != 0) & (table != 1)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise InputError(
                f"A relation's matrix must hold 0 and 1 only; got {table[row, column]} in row {row + 1}, "
                f"column {column + 1}."
            )
        return cls(table.shape[0], np.argwhere(table != 0), tuple(names), label)

    @classmethod
    def from_pairs(
        cls, pairs: Iterable[tuple[Hashable, Hashable]], *, elements: Iterable[Hashable] = (), label: str = "pairs"
    ) -> Relation:
        """Return the relation that holds for the given ordered pairs of anything that can be named.

        `elements` are listed first, in their order; those that occur in `pairs` alone follow in order of appearance.
        """
        listed = [_two_ends(pair) for pair in pairs]
        named = [*elements, *(end for pair in listed for end in pair)]
        number = {element: place for place, element in enumerate(dict.fromkeys(named))}
        if not number:
            raise InputError("A relation needs at least one element; got no pairs and no elements.")
        rows = np.array([(number[first], number[second]) for first, second in listed], dtype=np.int64)
        return cls(len(number), rows.reshape(-1, 2), tuple(str(element) for element in number), label)

    @classmethod
    def from_graph(cls, graph: Any, *, label: str = "graph") -> Relation:
        """Return the relation of a networkx or igraph graph; an undirected edge holds in both directions."""
        if hasattr(graph, "get_edgelist") and hasattr(graph, "vcount"):
            edges, directed = graph.get_edgelist(), graph.is_directed()
            elements = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
            elements = list(elements)
            if len(set(elements)) < len(elements):
                raise InputError("The names of the graph's vertices must differ from one another.")
            edges = [(elements[first], elements[second]) for first, second in edges]
        elif hasattr(graph, "edges") and hasattr(graph, "nodes"):
            edges, directed, elements = [edge[:2] for edge in graph.edges()], graph.is_directed(), list(graph.nodes())
        else:
            raise InputError(f"graph must be a networkx or an igraph graph; got {type(graph).__name__}.")
        if not directed:
            edges = edges + [(second, first) for first, second in edges]
        return cls.from_pairs(edges, elements=elements, label=label)

    @cached_property
    def matrix(self) -> Mask:
        """The table R as booleans, shape (n, n); an error for more than 20,000 elements."""
        if self.element_count > MAX_MATRIX_SIZE:
            raise InputError(
                f"A full table of {self.element_count:,} elements would be too large (at most {MAX_MATRIX_SIZE:,}); "
                "use pairs or sparse."
            )
        table = np.zeros((self.element_count, self.element_count), dtype=bool)
        table[self.pairs[:, 0], self.pairs[:, 1]] = True
        table.setflags(write=False)
        return table

    @cached_property
    def sparse(self) -> sparse.csr_array:
        """The table R as a sparse array of 0 and 1."""
        ones = np.ones(len(self.pairs), dtype=np.int64)
        shape = (self.element_count, self.element_count)
        return sparse.csr_array((ones, (self.pairs[:, 0], self.pairs[:, 1])), shape=shape)

    def call_parts(self) -> dict[str, Any]:
        """Return what a recorded call says about this relation."""
        sizes = {"element_count": self.element_count, "pairs_holding": len(self.pairs)}
        return {"name": self.label, **sizes, "sha256": fingerprint(self.pairs)}

    @property
    def pair_count(self) -> int:
        """Number of ordered pairs, the diagonal included: n²."""
        return self.element_count**2

    @property
    def density(self) -> float:
        """Share of all ordered pairs, the diagonal included, for which the relation holds."""
        return len(self.pairs) / self.pair_count

    @property
    def majority_accuracy(self) -> float:
        r"""Accuracy of always giving the majority answer: :math:`\max(\bar R, 1-\bar R)` over all n² entries."""
        return max(self.density, 1.0 - self.density)

    @property
    def majority_answer(self) -> str:
        """The more frequent answer over all n² entries, ``yes`` or ``no``; ``no`` if both are equally frequent."""
        return "yes" if self.density > 0.5 else "no"

    def values(self, pairs: ArrayLike) -> Mask:
        """Return :math:`R_{ij}` for each row (i, j) of `pairs`."""
        queried = checked_pairs(pairs, self.element_count)
        codes = self.pairs[:, 0] * self.element_count + self.pairs[:, 1]
        return np.isin(queried[:, 0] * self.element_count + queried[:, 1], codes)

    def __str__(self) -> str:
        return f"{self.label}: {self.element_count} elements, {len(self.pairs)} of {self.pair_count} pairs hold"


def element_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    """Return one name for each element, by default their numbers."""
    found = tuple(names) or tuple(str(number) for number in range(count))
    if len(found) != count:
        raise InputError(f"names must have one entry for each of the {count} elements; got {len(found)}.")
    return found


def _sorted_pairs(pairs: ArrayLike, element_count: int) -> Whole:
    """Return the pairs as sorted rows without repetition."""
    rows = checked_pairs(pairs, element_count)
    codes = rows[:, 0] * element_count + rows[:, 1]
    if (codes[1:] <= codes[:-1]).any():
        codes = np.sort(codes)
        codes = codes[np.concatenate([[True], codes[1:] > codes[:-1]])]
    return np.column_stack(np.divmod(codes, element_count))


def checked_pairs(pairs: ArrayLike, element_count: int) -> Whole:
    """Return the pairs as rows of two numbers, or raise an error that names a missing element."""
    try:
        given = np.asarray(pairs)
    except ValueError:
        raise InputError("pairs must be rows of two element numbers; the rows have different lengths.") from None
    if given.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise InputError(f"pairs must be rows of two element numbers; got shape {given.shape}, type {given.dtype}.")
    rows = given.astype(np.int64)
    outside = (rows < 0) | (rows >= element_count)
    if outside.any():
        raise InputError(f"pairs must hold element numbers from 0 to {element_count - 1}; got {rows[outside].flat[0]}.")
    return rows


def _two_ends(pair: Any) -> tuple[Hashable, Hashable]:
    """Return the two ends of a pair, or raise if it is not a pair."""
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise InputError(f"pairs must be tuples of two elements; got {pair!r}.")
    first, second = pair
    return first, second


def _to_dense(matrix: Any) -> Mask:
    """Return a sparse array of scipy as a dense one, if it is small."""
    if max(matrix.shape) > MAX_MATRIX_SIZE:
        raise InputError(f"A sparse matrix may have at most {MAX_MATRIX_SIZE:,} rows here; use pairs for more.")
    full: Mask = matrix.toarray()
    return full


def relation_to_text(relation: Relation) -> str:
    """Return the number of elements and the compressed table, as ``30:eJz…``."""
    if relation.element_count > MAX_TEXT_ELEMENTS:
        raise InputError(f"A relation as text has at most {MAX_TEXT_ELEMENTS} elements; got {relation.element_count}.")
    packed = zlib.compress(np.packbits(relation.matrix).tobytes(), level=9)
    return f"{relation.element_count}:{base64.b64encode(packed).decode('ascii')}"


def relation_from_text(text: str, label: str = "relation") -> Relation:
    """Return the relation that :func:`relation_to_text` wrote; its elements are numbered."""
    count, colon, packed = text.partition(":")
    if not colon or not ELEMENT_COUNT_PATTERN.fullmatch(count) or int(count) > MAX_TEXT_ELEMENTS:
        raise InputError(
            f"A relation as text must begin with its number of elements, at most {MAX_TEXT_ELEMENTS}, and a colon; "
            f"got {text[:20]!r}."
        )
    size = int(count) ** 2
    table = _unpacked(packed, size)
    return Relation.from_matrix(table.reshape(int(count), int(count)), label=label)


def _unpacked(packed: str, size: int) -> Mask:
    """Return the bits of a text; at most the expected number of bytes is unpacked, whatever the text claims."""
    expected = -(-size // 8)
    try:
        inflate = zlib.decompressobj()
        data = inflate.decompress(base64.b64decode(packed, validate=True), max_length=expected + 1)
    except (binascii.Error, zlib.error, ValueError):
        raise InputError("A relation as text must hold a table as relation_to_text writes it.") from None
    if len(data) != expected:
        got = f"{len(data)}" if len(data) < expected else "more"
        raise InputError(f"A relation as text must hold {expected} bytes for its table; got {got}.")
    table = np.unpackbits(np.frombuffer(data, dtype=np.uint8)).astype(bool)
    if not inflate.eof or inflate.unused_data or table[size:].any():
        raise InputError("A relation as text must end with its table; it was truncated or extended.")
    return table[:size]
