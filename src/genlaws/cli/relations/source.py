"""Relations, training sets and classes from the command line, shared by the commands of ``genlaws relations``.

A relation is the name of a family, a 0/1 matrix, or a file of edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from genlaws.core.arguments import one_of
from genlaws.core.errors import InputError
from genlaws.core.tables import is_number, open_table
from genlaws.relations.inference.equivalences import PRIORS
from genlaws.relations.inference.hypotheses import hypotheses_of, named_hypotheses
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.knowledge_graph import KnowledgeGraph, read_knowledge_graph
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import read_training_set

if TYPE_CHECKING:
    from genlaws.relations.inference.hypotheses import Hypotheses
    from genlaws.relations.structure.training_set import TrainingSet

MATRIX_SUFFIXES, EDGE_SUFFIXES = (".npy", ".csv"), (".tsv", ".csv", ".txt", ".gz")

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
OptionalSource = Annotated[
    str | None,
    Parameter(
        help="A name such as mod3, less-than or bipartite-15-15; a 0/1 matrix (.npy, .csv); or a file of edges. "
        "Left out with --train.",
        show_default=False,
    ),
]
KnownClass = Annotated[
    str | None,
    Parameter(
        name="--class",
        help="What the learner knows: equivalence-K, bipartite, total-order, reflexive-total-order, generic, "
        "symmetric, antisymmetric, reflexive or tournament. If left out, what the relation is.",
        show_default=False,
    ),
]
Prior = Annotated[
    str,
    Parameter(
        help="With classes: elements (each element's class at random) or relations (every equivalence with exactly k "
        "classes alike)."
    ),
]
Train = Annotated[
    Path | None, Parameter(help="File with the known entries: first, second, value (0 or 1); instead of a relation.")
]
Names = Annotated[Path | None, Parameter(help="With --train: file with the name of every element, one a line.")]
Method = Annotated[str, Parameter(help="auto, exact, or chain (the Markov chain).")]
Depth = Annotated[int, Parameter(help="Hidden layers of the decoder.")]
Optimizer = Annotated[str, Parameter(help="adam, adamw or sgd.")]
BatchSize = Annotated[int | None, Parameter(help="Entries in a step; the whole training set if left out.")]


def read_source(source: str, elements: int | None, relation: str | None, entities: str) -> Relation | KnowledgeGraph:
    """Return the relation that the options name; a file with several relations is returned whole if none is named."""
    path = Path(source)
    if path.suffix.lower() not in {*MATRIX_SUFFIXES, *EDGE_SUFFIXES} and not path.is_file():
        return _named(source, elements, relation)
    if elements is not None:
        raise InputError("elements is for named relations; a file has its own elements.")
    if path.suffix.lower() == ".npy" or (relation is None and holds_matrix(path)):
        return _matrix(path, relation)
    if path.suffix.lower() not in EDGE_SUFFIXES:
        raise InputError(
            f"The file must end in {', '.join(dict.fromkeys((*MATRIX_SUFFIXES, *EDGE_SUFFIXES)))}; got {source!r}."
        )

    graph = read_knowledge_graph(path)
    if relation is None and len(graph.relation_names) > 1:
        return graph
    return graph.relation(relation, entities)


def read_relation(source: str, elements: int | None, relation: str | None, entities: str = "used") -> Relation:
    """Return the one relation that the options name, or raise with the relations of the file."""
    found = read_source(source, elements, relation, entities)
    return found.relation(relation, entities) if isinstance(found, KnowledgeGraph) else found


def _named(name: str, elements: int | None, relation: str | None) -> Relation:
    if "/" in name or "\\" in name:
        raise InputError(f"There is no file {name!r}.")
    if relation is not None:
        raise InputError(f"relation selects from a knowledge-graph file; {name!r} is a single relation.")
    return named_relation(name, elements)


def _matrix(path: Path, relation: str | None) -> Relation:
    if relation is not None:
        raise InputError(f"relation selects from a knowledge-graph file; {path.name} is a matrix.")
    return Relation.from_matrix(open_table("relation", path, names="none"), label=path.stem)


def holds_matrix(path: Path) -> bool:
    """Return whether a file without a relation named is read as a matrix; otherwise it holds edges."""
    return path.suffix.lower() == ".npy" or (path.suffix.lower() == ".csv" and _is_matrix(path))


def _is_matrix(path: Path) -> bool:
    """Return whether a CSV file is a table of numbers rather than a list of edges.

    Three columns or more that are numbers are a matrix; two columns are one only if they are two rows of 0 and 1. A
    square table of 0 and 1 with a few other cells is refused: read as edges, it would be another relation.
    """
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


@Parameter(name="*")
@dataclass(frozen=True)
class QueryOptions:
    """The known entries, of a relation or of a file, and the known class."""

    train: Train = None
    names: Names = None
    elements: Elements = None
    relation: RelationName = None
    known_class: KnownClass = None
    prior: Prior = "elements"
    method: Method = "auto"


DEFAULT_QUERY = QueryOptions()


@dataclass(frozen=True)
class Query:
    """A relation or a training set, and what the learner knows in advance."""

    relation: Relation | None
    training_set: TrainingSet | None
    hypotheses: Hypotheses


def read_query(source: str | None, options: QueryOptions) -> Query:
    """Return the query that the options describe, or raise if something is missing."""
    prior, known_class = one_of("prior", options.prior, PRIORS), options.known_class
    if (source is None) == (options.train is None):
        raise InputError("Give a relation (such as mod3 or a file) or --train with a file of known entries, not both.")
    if options.train is None:
        if options.names is not None:
            raise InputError("--names belongs to --train.")
        found = read_relation(str(source), options.elements, options.relation)
        chosen = hypotheses_of(found, prior) if known_class is None else named_hypotheses(known_class, prior)
        return Query(found, None, chosen)
    if known_class is None:
        raise InputError("With --train the class must be named, such as --class total-order or --class equivalence-3.")
    known = read_training_set(options.train, elements=_read_names(options.names))
    return Query(None, known, named_hypotheses(known_class, prior))


def _read_names(path: Path | None) -> list[str]:
    if path is None:
        return []
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}.")
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
