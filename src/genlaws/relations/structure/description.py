"""What there is to know about a relation: its description length in bits, its symmetries and the laws it obeys."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of, stack_frames
from genlaws.core.plain import parts_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.relations.inference.paper import TARGET_ACCURACY, critical_fraction
from genlaws.relations.parameters import CountMethod, Entities
from genlaws.relations.structure.automorphisms import count_automorphisms, short_form
from genlaws.relations.structure.classes import RelationClass, classify_relation
from genlaws.relations.structure.description_length import (
    description_length_count,
    description_length_exact,
    description_length_table,
)
from genlaws.relations.structure.knowledge_graph import KnowledgeGraph
from genlaws.relations.structure.properties import RelationProperties, properties
from genlaws.relations.structure.relation import Relation

MAX_SIZES_PRINTED = 12


@dataclass(frozen=True, eq=False, repr=False)
class RelationDescription(Result):
    """The bits, the symmetries and the laws of a relation.

    Attributes
    ----------
    relation : str
    description_length_exact : float
        In bits: the logarithm of the number of its relabeled copies, n!/automorphisms.
    description_length_table : float
        By the paper's Table II.
    description_length_count : float or None
        Logarithm of the number of relations in its class; None where it is not known.
    relation_class : RelationClass
        Its row of Table II.
    automorphisms : str
        Their number, all digits.
    automorphisms_method : str
        How they were counted.
    element_count, pairs_holding : int
    majority_accuracy : float
        Accuracy of always giving the majority answer.
    critical_fraction : float
        Share of all pairs from which the target accuracy can be inferred, by the paper's Eq. 4.
    target_accuracy : float
    properties : RelationProperties
    """

    relation: str
    description_length_exact: float
    description_length_table: float
    description_length_count: float | None
    relation_class: RelationClass
    automorphisms: str
    automorphisms_method: str
    element_count: int
    pairs_holding: int
    majority_accuracy: float
    critical_fraction: float
    target_accuracy: float
    properties: RelationProperties

    def to_frame(self) -> DataFrame:
        """Return one row."""
        held = ", ".join(self.properties.true_names())
        return frame_of([parts_of(self) | {"relation_class": self.relation_class.name, "properties": held}])

    def summary(self) -> Summary:
        """Return the bits, the symmetries and the laws that hold."""
        counted = self.description_length_count
        rows = {
            "description length": f"{_bits(self.description_length_exact)}, exact: log2 of n!/automorphisms",
            "by the paper's table": f"{_bits(self.description_length_table)}, as {_format_class(self.relation_class)}",
            "by counting its class": "unknown for so many elements" if counted is None else _bits(counted),
            "automorphisms": f"{short_form(int(Decimal(self.automorphisms)))} ({self.automorphisms_method})",
            "elements": f"{self.element_count:,}",
            "pairs that hold": f"{self.pairs_holding:,} of {self.element_count**2:,}",
            "majority accuracy": f"{self.majority_accuracy:.6g}",
            "properties": ", ".join(self.properties.true_names()).replace("_", " ") or "none",
            "class sizes": _format_sizes(self.properties.class_sizes),
            "side sizes": _format_sizes(self.properties.side_sizes),
        }
        return Summary([Row(label, value) for label, value in rows.items() if value], self._sentences())

    def _sentences(self) -> list[str]:
        bits = self.description_length_exact
        if bits == 0:
            return [f"{self.relation} is the same for every naming of its elements: only its class has to be learned."]
        answers = f"{bits:.4g}" if bits < 1e4 else f"{bits:,.0f}"
        return [
            f"Someone who knows {self.relation} but not which element is which needs at least {answers} yes-no "
            f"answers; by the paper's Eq. 4, {self.target_accuracy:.0%} can be inferred from "
            f"{self.critical_fraction:.3g} of all pairs.",
            f"The majority answer is right on {self.majority_accuracy:.6g} of them.",
        ]


@dataclass(frozen=True, eq=False, repr=False)
class GraphDescription(Result):
    """The bits, the symmetries and the laws of every relation of a knowledge graph.

    Attributes
    ----------
    graph : str
        Its name and size.
    relations : tuple of RelationDescription
    """

    graph: str
    relations: tuple[RelationDescription, ...]

    def to_frame(self) -> DataFrame:
        """Return one row for each relation."""
        return stack_frames(one.to_frame() for one in self.relations)

    def summary(self) -> Summary:
        """Return a table of the relations."""
        width = max(len("relation"), *(len(one.relation) for one in self.relations))
        lines = [f"{'relation':<{width}}  {'pairs':>8}  {'elements':>8}  {'bits':>14}  {'majority':>9}  class"]
        lines += [
            f"{one.relation:<{width}}  {one.pairs_holding:>8,}  {one.element_count:>8,}  "
            f"{one.description_length_exact:>14,.2f}  {one.majority_accuracy:>9.6f}  {one.relation_class.name}"
            for one in self.relations
        ]
        about = "Bits: log2 of n!/automorphisms. Name one with --relation for all that is known about it."
        return Summary(table="\n".join(lines), sentences=[f"{self.graph}. {about}"])


@question
def describe_relation(relation: Relation, *, method: CountMethod = "auto") -> RelationDescription:
    """Give the description length of a relation in bits, its automorphisms and its properties.

    Parameters
    ----------
    relation : Relation
    method : str
        As for :func:`~genlaws.relations.count_automorphisms`.
    """
    known = properties(relation)
    kind = classify_relation(relation, known)
    automorphisms = count_automorphisms(relation, method)
    bits = description_length_exact(relation, automorphisms=automorphisms)
    return RelationDescription(
        relation=relation.label,
        description_length_exact=bits,
        description_length_table=description_length_table(kind),
        description_length_count=_class_bits(kind),
        relation_class=kind,
        automorphisms=format(Decimal(automorphisms.count), "f"),  # str() refuses more than 4,300 digits
        automorphisms_method=automorphisms.method,
        element_count=relation.element_count,
        pairs_holding=len(relation.pairs),
        majority_accuracy=relation.majority_accuracy,
        critical_fraction=float(critical_fraction(TARGET_ACCURACY, relation.element_count, bits)),
        target_accuracy=TARGET_ACCURACY,
        properties=known,
    )


@question
def describe_graph(
    graph: KnowledgeGraph, *, entities: Entities = "used", method: CountMethod = "auto"
) -> GraphDescription:
    """Describe every relation of a knowledge graph.

    Parameters
    ----------
    graph : KnowledgeGraph
    entities : {"used", "all"}
        Elements of each relation: the entities that it connects, or all of the graph.
    method : str
        As for :func:`~genlaws.relations.describe_relation`.
    """
    found = [describe_relation(graph.relation(name, entities), method=method) for name in graph.relation_names]
    return GraphDescription(str(graph), tuple(found))


def _class_bits(kind: RelationClass) -> float | None:
    """Return the logarithm of the number of relations in a class; none where it is not known."""
    try:
        return description_length_count(kind)
    except InputError:
        return None


def _format_class(kind: RelationClass) -> str:
    texts = [kind.name]
    for name, value in vars(kind).items():
        if name not in ("name", "element_count") and value is not None:
            shown = _format_sizes(value) if isinstance(value, tuple) else f"{value:.4g}"
            texts.append(f"{name.replace('_', ' ')} {shown}")
    return ", ".join(texts)


def _format_sizes(sizes: tuple[int, ...]) -> str:
    rest = len(sizes) - MAX_SIZES_PRINTED
    return ", ".join(map(str, sizes[:MAX_SIZES_PRINTED])) + (f" and {rest} more" if rest > 0 else "")


def _bits(value: float) -> str:
    return f"{value:,.2f} bits"
