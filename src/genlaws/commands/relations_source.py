"""Turn a word of the command line into a relation: the name of a family, a 0/1 matrix, or a file of edges."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from genlaws.commands.matrix_file import open_table
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.relations.knowledge_graph import KnowledgeGraph
    from genlaws.relations.relation import Relation

MATRIX, EDGES = (".npy", ".csv"), (".tsv", ".csv", ".txt", ".gz")

Source = Annotated[
    str,
    Parameter(
        help="A name such as mod3, less-than, bipartite-15-15, equivalence-10-20, divisibility or binary-tree; a 0/1 "
        "matrix (.npy, .csv); or a file of edges: head, relation, tail, or head, tail (.tsv, .csv, .txt, also .gz)."
    ),
]
Elements = Annotated[int | None, Parameter(help="Elements of a named relation; 30 if left out.")]
RelationName = Annotated[str | None, Parameter(help="Which relation of a knowledge-graph file.")]
Entities = Annotated[
    str, Parameter(help="Elements of a file's relation: the entities it has used, or all of the file.")
]


def read_source(source: str, elements: int | None, relation: str | None, entities: str) -> Relation | KnowledgeGraph:
    """Return the relation that the options name; a file with several relations, none of them named, as a whole."""
    path = Path(source)
    if path.suffix.lower() not in {*MATRIX, *EDGES} and not path.is_file():
        return _named(source, elements, relation)
    if elements is not None:
        raise InputError("elements is for named relations; a file brings its own elements.")
    if path.suffix.lower() == ".npy" or (relation is None and holds_matrix(path)):
        return _matrix(path, relation)
    if path.suffix.lower() not in EDGES:
        raise InputError(f"The file must end in {', '.join(dict.fromkeys((*MATRIX, *EDGES)))}; got {source!r}.")
    from genlaws.relations.knowledge_graph import read_knowledge_graph

    graph = read_knowledge_graph(path)
    if relation is None and len(graph.relation_names) > 1:
        return graph
    return graph.relation(relation, entities)


def read_relation(source: str, elements: int | None, relation: str | None, entities: str = "used") -> Relation:
    """Return the one relation that the options name, or say which relations the file has."""
    from genlaws.relations.knowledge_graph import KnowledgeGraph

    found = read_source(source, elements, relation, entities)
    return found.relation(relation, entities) if isinstance(found, KnowledgeGraph) else found


def _named(name: str, elements: int | None, relation: str | None) -> Relation:
    from genlaws.relations.families import named_relation

    if "/" in name or "\\" in name:
        raise InputError(f"There is no file {name!r}.")
    if relation is not None:
        raise InputError(f"relation chooses from a knowledge-graph file; {name!r} is a relation by itself.")
    return named_relation(name, elements)


def _matrix(path: Path, relation: str | None) -> Relation:
    from genlaws.relations.relation import Relation

    if relation is not None:
        raise InputError(f"relation chooses from a knowledge-graph file; {path.name} is a matrix.")
    return Relation.from_matrix(open_table("relation", path, names="none"), label=path.stem)


def holds_matrix(path: Path) -> bool:
    """Return whether a file without a relation named is read as a matrix; otherwise it holds edges."""
    return path.suffix.lower() == ".npy" or (path.suffix.lower() == ".csv" and _is_matrix(path))


def _is_matrix(path: Path) -> bool:
    """Return whether a CSV file is a table of numbers rather than a list of edges.

    Three columns or more that are numbers are a matrix; two columns are one only if they are two rows of 0 and 1. A
    square table that holds 0 and 1 but for a few cells is refused: read as edges, it would be another relation.
    """
    from genlaws.numerics.csv_table import is_number

    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}.")
    with path.open(encoding="utf-8", errors="replace") as stream:
        rows = (line.strip().split(",") for line in stream if line.strip())
        lines = list(islice(rows, 1))
        if not lines:
            raise InputError(f"{path.name} must hold a matrix or edges; it is empty.")
        width = len(lines[0])
        lines += islice(rows, width)
    if width > 2 and all(is_number(cell) for cell in lines[0]):
        return True
    if len(lines) != width or any(len(line) != width for line in lines):
        return False
    cells = [(row, column, lines[row][column].strip()) for row in range(width) for column in range(width)]
    bad = [one for one in cells if not (is_number(one[2]) and float(one[2]) in {0, 1})]
    if 0 < len(bad) < width:
        row, column, cell = bad[0]
        edge = "head,tail" if width == 2 else "head,relation,tail"
        raise InputError(
            f"A relation's matrix must hold 0 and 1 only; got {cell!r} in row {row + 1}, column {column + 1} of "
            f"{path.name}. If its lines are edges, put the line {edge} above them."
        )
    return not bad
