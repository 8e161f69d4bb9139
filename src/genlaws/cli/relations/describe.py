"""``genlaws relations describe``: how many bits describe a relation, and its properties."""

from __future__ import annotations

from typing import Any

from genlaws import relations
from genlaws.cli.questions import command_of, fills
from genlaws.cli.relations.source import Elements, RelationName, Source, read_source
from genlaws.relations import GraphDescription, KnowledgeGraph, Relation, RelationDescription
from genlaws.relations.parameters import CountMethod, Entities


@fills("source")
def described_source(
    source: Source, /, *, elements: Elements = None, relation: RelationName = None, entities: str = "used"
) -> dict[str, Any]:
    """Return the relation, or the file of several."""
    return {"source": read_source(source, elements, relation, entities)}


def describe_source(
    source: Relation | KnowledgeGraph, *, entities: Entities = "used", method: CountMethod = "auto"
) -> RelationDescription | GraphDescription:
    """Give the description length of a relation in bits, its automorphisms and its properties.

    For a knowledge-graph file without --relation the answer is a table of all its relations.
    """
    if isinstance(source, Relation):
        return relations.describe_relation(source, method=method)
    return relations.describe_graph(source, entities=entities, method=method)


describe = command_of(describe_source, described_source)
