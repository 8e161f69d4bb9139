"""``genlaws relations next-pair``: which entry to query next, and what a good choice is worth."""

from __future__ import annotations

from typing import Annotated

from genlaws import relations
from genlaws.cli.questions import command_of
from genlaws.cli.relations.source import known_entries
from genlaws.core.errors import InputError
from genlaws.core.parameters import Parameter
from genlaws.core.running import Running
from genlaws.relations import NextPair, QueryCurve, Relation, TrainingSet
from genlaws.relations.inference.next_pair import DEFAULT_QUERY_REPEATS
from genlaws.relations.parameters import (
    BoundMethod,
    DrawnFraction,
    GivenClass,
    Queries,
    QueryRepeats,
    Seed,
)

Curve = Annotated[bool, Parameter("Query entries one after another.")]


def next_query(
    source: Relation | TrainingSet,
    *,
    hypotheses: GivenClass,
    train_fraction: DrawnFraction = None,
    curve: Curve = False,
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
