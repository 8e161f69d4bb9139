"""Knowledge graphs: relations from a file of edges with the columns head, relation, tail, or head and tail."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from genlaws.core.arguments import Whole, one_of
from genlaws.core.errors import InputError
from genlaws.core.result import fingerprint
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import edge_rows

PAIR_COLUMNS, TRIPLE_COLUMNS = 2, 3  # columns of an edge list and of a knowledge graph
# A first line of these words is a header.
HEAD_COLUMNS = {"head", "subject", "source", "from", "h", "s", "parent", "first"}
RELATION_COLUMNS = {"relation", "predicate", "label", "type", "r", "p", "rel"}
TAIL_COLUMNS = {"tail", "object", "target", "to", "t", "o", "child", "second"}
MAX_NAMES_LISTED = 40
ENTITY_CHOICES = ("used", "all")  # which of a file are the elements of a relation


@dataclass(frozen=True, eq=False)
class KnowledgeGraph:
    """Facts of the form head, relation, tail.

    Attributes
    ----------
    label : str
        Name of the file.
    entities : tuple of str
        Heads and tails in the order of their first appearance.
    relation_names : tuple of str
        In natural order: term2 before term10.
    facts : array of int, shape (m, 3)
        Numbers of head, relation and tail; sorted by relation, each fact once.
    """

    label: str
    entities: tuple[str, ...] = field(repr=False)
    relation_names: tuple[str, ...]
    facts: Whole = field(repr=False)

    def call_parts(self) -> dict[str, Any]:
        """Return what a recorded call says about this graph."""
        sizes = {"entities": len(self.entities), "relations": len(self.relation_names), "facts": len(self.facts)}
        return {"name": self.label, **sizes, "sha256": fingerprint(self.facts)}

    @property
    def counts(self) -> dict[str, int]:
        """Number of pairs by relation."""
        found = np.bincount(self.facts[:, 1], minlength=len(self.relation_names))
        return dict(zip(self.relation_names, found.tolist(), strict=True))

    def relation(self, name: str | None = None, elements: str = "used") -> Relation:
        """Return one relation of the file.

        Parameters
        ----------
        name : str, optional
            May be left out if the file has a single relation.
        elements : {"used", "all"}
            ``used``, the default, takes the entities that this relation connects as its elements; ``all`` those of the
            whole file. More elements mean more pairs that do not hold, and another description length.
        """
        one_of("elements", elements, ENTITY_CHOICES)
        number = self._number(name)
        low, high = np.searchsorted(self.facts[:, 1], [number, number + 1])
        pairs = self.facts[low:high][:, [0, 2]]
        label = self.relation_names[number] or self.label
        if elements == "all":
            return Relation(len(self.entities), pairs, self.entities, label)
        used, place = np.unique(pairs, return_inverse=True)
        names = tuple(self.entities[entity] for entity in used.tolist())
        return Relation(len(used), place.reshape(-1, PAIR_COLUMNS), names, label)

    def _number(self, name: str | None) -> int:
        if name is None and len(self.relation_names) == 1:
            return 0
        if name in self.relation_names:
            return self.relation_names.index(name)
        shown = ", ".join(self.relation_names[:MAX_NAMES_LISTED])
        more = len(self.relation_names) - MAX_NAMES_LISTED
        shown += f" and {more} more" if more > 0 else ""
        if name is None:
            raise InputError(f"{self.label} has several relations; name one of {shown}.")
        if self.relation_names == ("",):
            raise InputError(f"{self.label} has two columns and no names of relations; got {name!r}. Leave it out.")
        raise InputError(f"There is no relation {name!r} in {self.label}; it has {shown}.")

    def __str__(self) -> str:
        return (
            f"{self.label}: {len(self.entities)} entities, {len(self.relation_names)} relations, "
            f"{len(self.facts)} facts"
        )


def read_knowledge_graph(path: str | os.PathLike[str]) -> KnowledgeGraph:
    """Read a file of facts, plain or compressed (``.gz``), separated by tabs or commas.

    Each line holds head, relation, tail; further columns are ignored. Lines of two columns, head and tail, make a
    graph with one relation without a name. A first line of words such as ``head``, ``relation``, ``tail`` is read as
    the header, blank lines are skipped, and lines with too few columns raise an error with the line number.

    Parameters
    ----------
    path : path
    """
    file = Path(path)
    lines = list(edge_rows(file))
    lines = lines[int(bool(lines) and _is_header(lines[0][1])) :]
    if not lines:
        raise InputError(f"{file.name} must hold at least one line with head, relation and tail; it holds none.")
    width = min(len(lines[0][1]), TRIPLE_COLUMNS)
    _check_widths(file.name, lines, max(width, PAIR_COLUMNS))
    return _numbered(file.name, [row for _, row in lines], width)


def _is_header(row: list[str]) -> bool:
    words = [word.lower() for word in row]
    if len(words) >= TRIPLE_COLUMNS:
        return words[0] in HEAD_COLUMNS and words[1] in RELATION_COLUMNS and words[2] in TAIL_COLUMNS
    return len(words) == PAIR_COLUMNS and words[0] in HEAD_COLUMNS and words[1] in TAIL_COLUMNS


def _check_widths(name: str, lines: list[tuple[int, list[str]]], width: int) -> None:
    """Raise at the first line with an empty or missing column among the required ones."""
    for number, row in lines:
        if len(row) < width or not all(row[:width]):
            wanted = "head, relation and tail" if width == TRIPLE_COLUMNS else "head and tail"
            raise InputError(f"{name}, line {number} must hold {wanted}; got {row}.")


def _numbered(label: str, lines: list[list[str]], width: int) -> KnowledgeGraph:
    entities: dict[str, int] = {}
    names: dict[str, int] = {}
    facts = np.empty((len(lines), TRIPLE_COLUMNS), dtype=np.int64)
    last = width - 1
    for place, row in enumerate(lines):
        name = row[1] if width == TRIPLE_COLUMNS else ""
        facts[place] = (
            entities.setdefault(row[0], len(entities)),
            names.setdefault(name, len(names)),
            entities.setdefault(row[last], len(entities)),
        )
    ordered = sorted(names, key=_natural)
    place_of = np.empty(len(names), dtype=np.int64)
    place_of[[names[name] for name in ordered]] = np.arange(len(names))
    codes = np.unique((place_of[facts[:, 1]] * len(entities) + facts[:, 0]) * len(entities) + facts[:, 2])
    heads, tails = np.divmod(codes, len(entities))
    relations, heads = np.divmod(heads, len(entities))
    return KnowledgeGraph(label, tuple(entities), tuple(ordered), np.column_stack([heads, relations, tails]))


def _natural(name: str) -> list[tuple[str, int]]:
    """Return a key that sorts the numbers inside names by their size."""
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D*)(\d*)", name)]
