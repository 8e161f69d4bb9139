"""Relations, training sets and classes from the command line, shared by the commands of ``genlaws relations``.

A relation is the name of a family, a 0/1 matrix, or a file of edges.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from genlaws.cli.questions import Adapter, fills
from genlaws.core.arguments import one_of
from genlaws.core.errors import InputError
from genlaws.core.tables import is_number, read_lines, read_table
from genlaws.relations.inference.equivalences import PRIORS
from genlaws.relations.inference.hypotheses import Hypotheses, hypotheses_of, named_hypotheses
from genlaws.relations.parameters import Entities
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.knowledge_graph import ENTITY_CHOICES, KnowledgeGraph, read_knowledge_graph
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import edge_rows, read_training_set

ARRAY_SUFFIXES, TEXT_SUFFIXES = (".npy", ".npz", ".parquet"), (".csv", ".tsv")
MATRIX_SUFFIXES, EDGE_SUFFIXES = (*ARRAY_SUFFIXES, *TEXT_SUFFIXES), (*TEXT_SUFFIXES, ".txt", ".gz")

Source = Annotated[
    str,
    Parameter(
        help="A name such as mod3, less-than, bipartite-15-15, equivalence-10-20, divisibility or binary-tree; a 0/1 "
        "matrix (.npy, .npz, .csv, .tsv, .parquet); or a file of edges: head, relation, tail, or head, tail (.tsv, "
        ".csv, .txt, also .gz)."
    ),
]
Elements = Annotated[int | None, Parameter(help="Elements of a named relation; 30 if left out.")]
RelationName = Annotated[str | None, Parameter(help="Which relation of a knowledge-graph file.")]
KnownClass = Annotated[
    str | None,
    Parameter(
        name="--class",
        help="What the learner knows: equivalence-K, bipartite, total-order, reflexive-total-order, generic, "
        "symmetric, antisymmetric, reflexive or tournament. If left out, what the relation is.",
    ),
]
Prior = Annotated[
    str,
    Parameter(
        help="With classes: elements (each element's class at random) or relations (every equivalence with exactly k "
        "classes alike)."
    ),
]


def read_source(source: str, elements: int | None, relation: str | None, entities: str) -> Relation | KnowledgeGraph:
    """Return the relation that the options name; a file with several relations is returned whole if none is named."""
    one_of("entities", entities, ENTITY_CHOICES)
    path = Path(source)
    if path.suffix.lower() not in {*MATRIX_SUFFIXES, *EDGE_SUFFIXES} and not path.is_file():
        _refuse_selection(repr(source), "single relation", relation, entities)
        return _named(source, elements)
    if elements is not None:
        raise InputError("elements is for named relations; a file has its own elements.")
    if path.suffix.lower() in ARRAY_SUFFIXES or (relation is None and holds_matrix(path)):
        _refuse_selection(path.name, "matrix", relation, entities)
        return Relation.from_matrix(read_table("relation", path, names="none").values, label=path.stem)
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


def _named(name: str, elements: int | None) -> Relation:
    if "/" in name or "\\" in name:
        raise InputError(f"There is no file {name!r}.")
    return named_relation(name, elements)


def _refuse_selection(source: str, kind: str, relation: str | None, entities: str) -> None:
    """Raise if a part of what is no file of edges is selected."""
    if relation is not None:
        raise InputError(f"relation selects from a knowledge-graph file; {source} is a {kind}.")
    if entities != ENTITY_CHOICES[0]:
        raise InputError(f"entities {entities!r} is for a knowledge-graph file; {source} is a {kind}.")


def holds_matrix(path: Path) -> bool:
    """Return whether a file without a relation named is read as a matrix; otherwise it holds edges."""
    suffix = path.suffix.lower()
    return suffix in ARRAY_SUFFIXES or (suffix in TEXT_SUFFIXES and _is_matrix(path))


def _is_matrix(path: Path) -> bool:
    """Return whether a file is a table of numbers rather than a list of edges.

    Three columns or more that are numbers are a matrix; two columns are one only if they are two rows of 0 and 1, and
    three between tabs, which may be numbers of entities, only if they are three such rows. A square table of 0 and 1
    with a few other cells is refused: read as edges, it would be another relation.
    """
    rows = (row for _, row in edge_rows(path))
    lines = list(islice(rows, 1))
    if not lines:
        raise InputError(f"{path.name} must hold a matrix or edges; it is empty.")
    width = len(lines[0])
    lines += islice(rows, width)
    if width > (2 if path.suffix.lower() == ".csv" else 3) and all(is_number(cell) for cell in lines[0]):
        return True
    if len(lines) != width or any(len(line) != width for line in lines):
        return False
    cells = [(row, column, lines[row][column]) for row in range(width) for column in range(width)]
    bad = [one for one in cells if not (is_number(one[2]) and float(one[2]) in {0, 1})]
    if 0 < len(bad) < width:
        row, column, cell = bad[0]
        edge = "head,tail" if width == 2 else "head,relation,tail"
        raise InputError(
            f"A relation's matrix must hold 0 and 1 only; got {cell!r} in row {row + 1}, column {column + 1} of "
            f"{path.name}. If its lines are edges, put the line {edge} above them."
        )
    return not bad


def _source_options(filled: str, read: Callable[..., Relation | KnowledgeGraph]) -> Adapter:
    """Return the adapter that gives a parameter what is read from the options."""

    @fills(filled)
    def options(
        source: Source, /, *, elements: Elements = None, relation: RelationName = None, entities: Entities = "used"
    ) -> dict[str, Any]:
        return {filled: read(source, elements, relation, entities)}

    return options


one_relation = _source_options("relation", read_relation)
any_source = _source_options("source", read_source)


@fills("relation", "hypotheses")
def known_relation(
    source: Source,
    /,
    *,
    elements: Elements = None,
    relation: RelationName = None,
    known_class: KnownClass = None,
    prior: Prior = "elements",
) -> dict[str, Any]:
    """Return a relation and what the learner knows of it."""
    one_of("prior", prior, PRIORS)
    found = read_relation(source, elements, relation)
    return {"relation": found, "hypotheses": _known_class(found, known_class, prior)}


@fills("source", "hypotheses")
def known_entries(
    source: str | None = None,
    /,
    *,
    train: Path | None = None,
    names: Path | None = None,
    elements: Elements = None,
    relation: RelationName = None,
    known_class: KnownClass = None,
    prior: Prior = "elements",
) -> dict[str, Any]:
    """Return a relation or a file of known entries, and what the learner knows of it.

    Parameters
    ----------
    source : str, optional
        A name such as mod3, less-than or bipartite-15-15; a 0/1 matrix (.npy, .npz, .csv, .tsv, .parquet); or a file
        of edges. Left out with --train.
    train : path, optional
        File with the known entries: first, second, value (0 or 1); instead of a relation.
    names : path, optional
        With --train: file with the name of every element, one a line.
    """
    one_of("prior", prior, PRIORS)
    if (source is None) == (train is None):
        raise InputError("Give a relation (such as mod3 or a file) or --train with a file of known entries, not both.")
    if train is None:
        if names is not None:
            raise InputError("--names belongs to --train.")
        found = read_relation(str(source), elements, relation)
        return {"source": found, "hypotheses": _known_class(found, known_class, prior)}
    if elements is not None or relation is not None:
        raise InputError("--elements and --relation select a relation; --train has the elements of its file.")
    if known_class is None:
        raise InputError("With --train the class must be named, such as --class total-order or --class equivalence-3.")
    known = read_training_set(train, elements=_read_names(names))
    return {"source": known, "hypotheses": named_hypotheses(known_class, prior)}


def _known_class(relation: Relation, name: str | None, prior: str) -> Hypotheses:
    """Return the class of a name, or else the smallest known class that contains the relation."""
    return hypotheses_of(relation, prior) if name is None else named_hypotheses(name, prior)


def _read_names(path: Path | None) -> list[str]:
    if path is None:
        return []
    names = [line.strip() for line in read_lines("names", path) if line.strip()]
    if not names:
        raise InputError(f"names must be a file with the name of every element; {str(path)!r} is empty.")
    return names
