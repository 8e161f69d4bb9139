"""``genlaws relations describe``, ``bound``, ``data-needed``, ``next-pair`` and ``repons``: the theory."""

from __future__ import annotations

from typing import Annotated

from genlaws import relations
from genlaws.cli.questions import command_of
from genlaws.cli.relations.source import any_source, known_entries, known_relation
from genlaws.core.errors import InputError
from genlaws.core.parameters import Parameter
from genlaws.core.running import Running
from genlaws.relations import (
    BoundCurve,
    GraphDescription,
    KnowledgeGraph,
    NextPair,
    QueryCurve,
    Relation,
    RelationDescription,
    TrainingSet,
    TrainingSetBound,
)
from genlaws.relations.inference.bound_curve import DEFAULT_REPEATS
from genlaws.relations.inference.next_pair import DEFAULT_QUERY_REPEATS
from genlaws.relations.parameters import (
    BoundMethod,
    CountMethod,
    DrawnFraction,
    Entities,
    GivenClass,
    MaybeTrainFractions,
    Queries,
    QueryRepeats,
    Repeats,
    Seed,
)


def describe_source(
    source: Relation | KnowledgeGraph, *, entities: Entities = "used", method: CountMethod = "auto"
) -> RelationDescription | GraphDescription:
    """Give the description length of a relation in bits, its automorphisms and its properties.

    For a knowledge-graph file without --relation the answer is a table of all its relations.
    """
    if isinstance(source, Relation):
        return relations.describe_relation(source, method=method)
    return relations.describe_graph(source, entities=entities, method=method)


describe = command_of(describe_source, any_source)


def bound_of_entries(
    source: Relation | TrainingSet,
    *,
    hypotheses: GivenClass,
    train_fraction: MaybeTrainFractions = None,
    repeats: Repeats = DEFAULT_REPEATS,
    method: BoundMethod = "auto",
    seed: Seed = 0,
    running: Running | None = None,
) -> BoundCurve | TrainingSetBound:
    """Give the best accuracy from some entries of a relation, averaged over all relations of its class.

    The entries are random training sets of a relation (--train-fraction) or the known entries of a file (--train).
    """
    if isinstance(source, TrainingSet):
        if train_fraction is not None:
            raise InputError("--train-fraction draws training sets of a relation; --train has its own.")
        return relations.training_set_bound(source, hypotheses=hypotheses, method=method, seed=seed)
    if train_fraction is None:
        raise InputError("Give --train-fraction, the share of all entries that are known, such as 0.1.")
    return relations.bound_curve(
        source,
        train_fraction=train_fraction,
        hypotheses=hypotheses,
        repeats=repeats,
        method=method,
        seed=seed,
        running=running,
    )


bound = command_of(
    bound_of_entries,
    known_entries,
    about="Whether it bounds a learner on this relation depends on the class, as the answer states.",
)


def next_query(
    source: Relation | TrainingSet,
    *,
    hypotheses: GivenClass,
    train_fraction: DrawnFraction = None,
    curve: Annotated[bool, Parameter("Query entries one after another.")] = False,
    queries: Queries = None,
    repeats: QueryRepeats = DEFAULT_QUERY_REPEATS,
    method: BoundMethod = "auto",
    seed: Seed = 0,
    running: Running | None = None,
) -> NextPair | QueryCurve:
    """Give the entry whose answer is worth most bits, for the known entries of a file or of a relation."""
    if curve:
        if isinstance(source, TrainingSet):
            raise InputError("--curve needs a relation that gives the answers; --train has only some of them.")
        if train_fraction is not None:
            raise InputError("--train-fraction belongs to a single query; with --curve nothing is known at the start.")
        return relations.query_curve(
            source,
            queries=queries,
            hypotheses=hypotheses,
            repeats=repeats,
            method=method,
            seed=seed,
            running=running,
        )
    if (queries, repeats) != (None, DEFAULT_QUERY_REPEATS):
        raise InputError("--queries and --repeats belong to --curve.")
    if isinstance(source, Relation):
        if train_fraction is None:
            raise InputError("Give --train-fraction, the share of entries that are known; 0 for none.")
        source = relations.draw_training_set(source, train_fraction, seed)
    elif train_fraction is not None:
        raise InputError("--train-fraction draws training sets of a relation; --train has its own.")
    return relations.next_pair(source, hypotheses=hypotheses, method=method)


next_pair = command_of(
    next_query,
    known_entries,
    about="Every answer is taken as certain; answers that contradict each other or the class are refused. With --curve "
    "a relation answers one query after another, and the best choice is compared with a random one.",
)

data_needed = command_of(relations.data_needed, known_relation)
repons = command_of(relations.merging_probability)
