"""``genlaws relations describe``: how many bits describe a relation, and its properties."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.cli.output import DEFAULT_OUTPUT, Output, aligned, show
from genlaws.cli.relations.source import Elements, Entities, RelationName, Source, read_source
from genlaws.core.errors import InputError
from genlaws.relations.inference.paper import TARGET_ACCURACY, critical_fraction
from genlaws.relations.structure.automorphisms import count_automorphisms, short_form
from genlaws.relations.structure.classes import classify_relation
from genlaws.relations.structure.description_length import (
    description_length_count,
    description_length_exact,
    description_length_table,
)
from genlaws.relations.structure.properties import properties
from genlaws.relations.structure.relation import Relation

if TYPE_CHECKING:
    from genlaws.relations.structure.classes import RelationClass
    from genlaws.relations.structure.knowledge_graph import KnowledgeGraph

MAX_SIZES_PRINTED = 12

Method = Annotated[str, Parameter(help="How automorphisms are counted: auto, closed-form, igraph, networkx or search.")]


def describe(
    source: Source,
    /,
    *,
    elements: Elements = None,
    relation: RelationName = None,
    entities: Entities = "used",
    method: Method = "auto",
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Give the description length of a relation in bits, its automorphisms and its properties.

    For a knowledge-graph file without --relation the answer is a table of all its relations.
    """
    found = read_source(source, elements, relation, entities)
    way = method.replace("-", " ")
    if isinstance(found, Relation):
        answer = described(found, way)
        show("describe", {**answer, "seed": output.seed}, _text(found, answer), output)
        return
    rows = [described(found.relation(name, entities), way) for name in found.relation_names]
    table = {name: [row[name] for row in rows] for name in SUMMARY_COLUMNS}
    show("describe", {"file": found.label, **table, "seed": output.seed}, _summary(found, table), output)


SUMMARY_COLUMNS = (
    "relation",
    "pairs_holding",
    "element_count",
    "description_length_exact",
    "majority_accuracy",
    "class",
    "description_length_table",
    "automorphisms",
)


def described(relation: Relation, method: str = "auto") -> dict[str, Any]:
    """Return the description of a relation as plain names and numbers."""
    known = properties(relation)
    kind = classify_relation(relation, known)
    automorphisms = count_automorphisms(relation, method)
    bits = description_length_exact(relation, automorphisms=automorphisms)
    numbers = {name: value for name, value in vars(kind).items() if name != "name" and value is not None}
    return {
        "relation": relation.label,
        "description_length_exact": bits,
        "description_length_table": description_length_table(kind),
        "description_length_count": _class_bits(kind),
        "class": kind.name,
        "class_numbers": numbers,
        "automorphisms": decimal_text(automorphisms.count),
        "automorphisms_method": automorphisms.method,
        "element_count": relation.element_count,
        "pairs_holding": len(relation.pairs),
        "majority_accuracy": relation.majority_accuracy,
        "critical_fraction": float(critical_fraction(TARGET_ACCURACY, relation.element_count, bits)),
        "target_accuracy": TARGET_ACCURACY,
        "properties": {name: value for name, value in vars(known).items() if not name.startswith("_")},
    }


def decimal_text(number: int) -> str:
    """Return all digits of a whole number; Python's own conversion refuses more than 4,300 of them."""
    return format(Decimal(number), "f")


def _class_bits(kind: RelationClass) -> float | None:
    """Return the logarithm of the number of relations in a class; none where it is not known."""
    try:
        return description_length_count(kind)
    except InputError:
        return None


def _text(relation: Relation, answer: dict[str, Any]) -> str:
    counted = answer["description_length_count"]
    rows = {
        "description length": f"{_bits(answer['description_length_exact'])}, exact: log2 of n!/automorphisms",
        "by the paper's table": f"{_bits(answer['description_length_table'])}, as {_kind(answer)}",
        "by counting its class": "unknown for so many elements" if counted is None else _bits(counted),
        "automorphisms": f"{_short(answer['automorphisms'])} ({answer['automorphisms_method']})",
        "elements": f"{answer['element_count']:,}",
        "pairs that hold": f"{answer['pairs_holding']:,} of {relation.pair_count:,}",
        "majority accuracy": f"{answer['majority_accuracy']:.6g}",
        "properties": ", ".join(name.replace("_", " ") for name, value in answer["properties"].items() if value is True)
        or "none",
    }
    for name in ("class_sizes", "side_sizes"):
        if answer["properties"][name]:
            rows[name.replace("_", " ")] = _sizes(answer["properties"][name])
    return aligned(rows) + "\n" + _meaning(relation, answer)


def _meaning(relation: Relation, answer: dict[str, Any]) -> str:
    bits = answer["description_length_exact"]
    if bits == 0:
        return f"{relation.label} is the same for every naming of its elements: only its class has to be learned."
    return (
        f"Someone who knows {relation.label} but not which element is which needs at least {_count(bits)} yes-no "
        f"answers; by the paper's Eq. 4,\n{TARGET_ACCURACY:.0%} can be inferred from {answer['critical_fraction']:.3g} "
        f"of all pairs. The majority answer is right on {answer['majority_accuracy']:.6g} of them."
    )


def _kind(answer: dict[str, Any]) -> str:
    numbers = {name: value for name, value in answer["class_numbers"].items() if name != "element_count"}
    shown = {name: _sizes(one) if isinstance(one, tuple) else f"{one:.4g}" for name, one in numbers.items()}
    return ", ".join([answer["class"], *(f"{name.replace('_', ' ')} {text}" for name, text in shown.items())])


def _sizes(sizes: tuple[int, ...]) -> str:
    rest = len(sizes) - MAX_SIZES_PRINTED
    return ", ".join(map(str, sizes[:MAX_SIZES_PRINTED])) + (f" and {rest} more" if rest > 0 else "")


def _bits(value: float) -> str:
    return f"{value:,.2f} bits"


def _count(bits: float) -> str:
    return f"{bits:.4g}" if bits < 1e4 else f"{bits:,.0f}"


def _short(digits: str) -> str:
    """Return a whole number, given by its digits, in a few characters."""
    return short_form(int(Decimal(digits)))


def _summary(graph: KnowledgeGraph, table: dict[str, list[Any]]) -> str:
    width = max(len("relation"), *(len(name) for name in table["relation"]))
    lines = [f"{'relation':<{width}}  {'pairs':>8}  {'elements':>8}  {'bits':>14}  {'majority':>9}  class"]
    columns = (table[name] for name in SUMMARY_COLUMNS[:6])
    for name, pairs, elements, bits, majority, kind in zip(*columns, strict=True):
        lines.append(f"{name:<{width}}  {pairs:>8,}  {elements:>8,}  {bits:>14,.2f}  {majority:>9.6f}  {kind}")
    lines.append(f"{graph}. Bits: log2 of n!/automorphisms. Name one with --relation for all that is known about it.")
    return "\n".join(lines)
