"""Training sets: the known entries of a relation, drawn at random or read from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Mask, Whole, fraction, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.result import fingerprint
from genlaws.core.seeds import generator_of
from genlaws.core.tables import TextTable, read_lines
from genlaws.relations.structure.relation import MAX_ELEMENTS, Relation, checked_pairs, element_names

CERTAIN_ANSWERS = (
    "Every answer is taken as certain: a wrong one makes others wrong, which is noticed only if answers contradict "
    "each other."
)
CONTRADICTION_HINT = "Every answer is taken as certain: check these entries, or choose another class."
FILE_HEADER = ("first", "second", "value")
VALUES_BY_TEXT = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Known entries of a relation: `values` at the ordered `pairs` of `element_count` elements, taken as certain.

    Attributes
    ----------
    element_count : int
    pairs : array of int, shape (m, 2)
        Each ordered pair (i, j) once; repetitions that agree are dropped, those that disagree raise an error.
    values : array of bool, shape (m,)
        :math:`R_{ij}`.
    names : tuple of str
        One name for each element; by default their numbers.
    """

    element_count: int
    pairs: Whole
    values: Mask
    names: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        count = whole_number("element_count", self.element_count, at_least=1, at_most=MAX_ELEMENTS)
        names = element_names(self.names, count)
        pairs, values = _checked(self.pairs, self.values, count, names)
        for name, value in (("element_count", count), ("pairs", pairs), ("values", values), ("names", names)):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return f"{len(self.pairs)} of {self.element_count**2} entries of {self.element_count} elements"

    def call_parts(self) -> dict[str, Any]:
        """Return what a recorded call says about this training set."""
        sizes = {"element_count": self.element_count, "entries_known": len(self.pairs)}
        return {**sizes, "sha256": fingerprint(self.pairs, self.values)}

    @property
    def train_fraction(self) -> float:
        """Share of all n² entries that are known."""
        return len(self.pairs) / self.element_count**2

    def with_answer(self, pair: tuple[int, int], value: bool) -> TrainingSet:
        """Return the training set with one more known entry."""
        if np.shape(pair) != (2,):
            raise InputError(f"pair must be two element numbers; got {pair!r}.")
        pairs, values = np.vstack([self.pairs, np.asarray(pair)]), np.append(self.values, value)
        return TrainingSet(self.element_count, pairs, values, self.names)

    @classmethod
    def from_names(cls, rows: Sequence[tuple[str, str, object]], *, elements: Sequence[str] = ()) -> TrainingSet:
        """Return the training set of rows (first, second, value) with elements by name.

        `elements` lists known elements; others that occur in rows follow.
        """
        for row, given in enumerate(rows):
            if len(given) != 3:
                raise InputError(f"A training row must be (first, second, value); got {given!r} in row {row + 1}.")
        named = [*elements, *(end for row in rows for end in row[:2])]
        number = {name: place for place, name in enumerate(dict.fromkeys(map(str, named)))}
        if not number:
            raise InputError("A training set needs at least one element; got no rows and no elements.")
        for row, (_, _, value) in enumerate(rows):
            if value not in (0, 1):
                raise InputError(f"The value of a training row must be 0 or 1; got {value!r} in row {row + 1}.")
        pairs = np.array([(number[str(a)], number[str(b)]) for a, b, _ in rows], dtype=np.int64).reshape(-1, 2)
        values = np.array([value == 1 for _, _, value in rows], dtype=bool)
        return cls(len(number), pairs, values, tuple(number))


def draw_training_set(relation: Relation, train_fraction: float, seed: int | np.random.Generator = 0) -> TrainingSet:
    """Return a random share of the n² entries of `relation`, the diagonal included, without replacement.

    The number of entries is :math:`p n^2` rounded; each subset of that size is equally likely (paper's Section II).
    """
    share = float(scalar("train_fraction", fraction("train_fraction", train_fraction, "A share, not a percentage.")))
    codes = draw_order(relation.element_count, seed)[: round(share * relation.pair_count)]
    return training_set_of(relation, codes)


def draw_order(element_count: int, seed: int | np.random.Generator = 0) -> Whole:
    """Return all n² entries, as numbers i·n + j, in random order."""
    return generator_of(seed).permutation(element_count**2)


def training_set_of(relation: Relation, codes: ArrayLike) -> TrainingSet:
    """Return the training set of the entries with numbers i·n + j."""
    pairs = np.column_stack(np.divmod(np.asarray(codes, dtype=np.int64), relation.element_count))
    return TrainingSet(relation.element_count, pairs, relation.values(pairs), relation.names)


def _checked(pairs: ArrayLike, values: ArrayLike, count: int, names: tuple[str, ...]) -> tuple[Whole, Mask]:
    """Return pairs and values sorted, each entry once, or raise an error that names a wrong or contradictory entry."""
    rows = checked_pairs(pairs, count)
    try:
        known = np.asarray(values)
    except ValueError:
        raise InputError("values must be a list of 0 and 1; its entries have different lengths.") from None
    if known.shape != (len(rows),):
        raise InputError(f"values must hold one 0 or 1 for each of the {len(rows)} pairs; got shape {known.shape}.")
    if known.size and (known.dtype.kind not in "biuf" or ((known != 0) & (known != 1)).any()):
        raise InputError("values must be 0 or 1.")
    codes, first, inverse = np.unique(rows[:, 0] * count + rows[:, 1], return_index=True, return_inverse=True)
    truth = known.astype(bool)
    clash = np.flatnonzero(truth != truth[first][inverse])
    if len(clash):
        i, j = rows[clash[0]]
        raise InputError(
            f"The training set contradicts itself: ({names[i]}, {names[j]}) is given as 0 and as 1. Every answer is "
            "taken as certain: leave out the wrong one."
        )
    unique = np.column_stack(np.divmod(codes, count))
    settled = truth[first]
    for array in (unique, settled):
        array.setflags(write=False)
    return unique, settled


def edge_rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of each line that is not blank; tabs, commas or spaces as in the first.

    A file may be compressed as ``.gz``. Between tabs or spaces, quotation marks belong to the names. Of a ``.parquet``
    file the names of the columns are left out.
    """
    if file.suffix.lower() == ".parquet":
        yield from islice(TextTable(file.name, file).rows(), 1, None)
        return
    first = next((line for line in read_lines(file.name, file) if line.strip()), "")
    if "\t" not in first and ("," in first or (";" in first and file.suffix.lower() == ".csv")):
        yield from TextTable(file.name, file, "," if "," in first else ";").rows()
        return
    for number, line in enumerate(read_lines(file.name, file), start=1):
        if line.strip():
            yield number, [cell.strip() for cell in line.split("\t" if "\t" in first else None)]


def read_training_set(path: str | os.PathLike[str], *, elements: Sequence[str] = ()) -> TrainingSet:
    """Return the training set of a file with the columns first, second, value, separated by tabs or commas.

    A value is 1 if the relation holds from the first element to the second and 0 if it does not; yes, no, true and
    false are understood. The header ``first,second,value`` is optional.

    Parameters
    ----------
    path : path
    elements : sequence of str
        Known elements, including those in no line; others in the file follow.
    """
    file = Path(path)
    rows: list[tuple[str, str, int]] = []
    for place, (number, cells) in enumerate(edge_rows(file)):
        if not any(cells) or (place == 0 and tuple(cell.lower() for cell in cells) == FILE_HEADER):
            continue
        if len(cells) != 3 or not all(cells):
            raise InputError(f"{file.name}, line {number} must hold first, second and value; got {cells}.")
        if cells[2].lower() not in VALUES_BY_TEXT:
            raise InputError(f"{file.name}, line {number}: the value must be 0 or 1; got {cells[2]!r}.")
        rows.append((cells[0], cells[1], VALUES_BY_TEXT[cells[2].lower()]))
    return TrainingSet.from_names(rows, elements=elements)
