"""``genlaws relations bound``: the best accuracy from some entries, averaged over the relations of a class."""

from __future__ import annotations

from genlaws import relations
from genlaws.cli.questions import command_of
from genlaws.cli.relations.source import known_entries
from genlaws.core.errors import InputError
from genlaws.core.running import Running
from genlaws.relations import BoundCurve, Relation, TrainingSet, TrainingSetBound
from genlaws.relations.inference.bound_curve import DEFAULT_REPEATS
from genlaws.relations.parameters import BoundMethod, GivenClass, MaybeTrainFractions, Repeats, Seed


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
