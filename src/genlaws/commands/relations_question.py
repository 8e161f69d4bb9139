"""What ``bound``, ``data-needed`` and ``next-pair`` have in common: the relation, the training set, the class."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from genlaws.commands.relations_source import read_relation
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.relations.hypotheses import Hypotheses
    from genlaws.relations.relation import Relation
    from genlaws.relations.training_set import TrainingSet

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


@dataclass(frozen=True)
class Question:
    """A relation or a training set, and what the learner knows beforehand."""

    relation: Relation | None
    training_set: TrainingSet | None
    hypotheses: Hypotheses


def read_question(
    source: str | None,
    train: Path | None,
    names: Path | None,
    *,
    elements: int | None,
    relation: str | None,
    known_class: str | None,
    prior: str,
) -> Question:
    """Return what is asked about, or say in one sentence what is missing."""
    from genlaws.numerics.arguments import one_of
    from genlaws.relations.equivalences import PRIORS
    from genlaws.relations.hypotheses import hypotheses_of, named_hypotheses
    from genlaws.relations.training_file import read_training_set

    one_of("prior", prior, PRIORS)
    if (source is None) == (train is None):
        raise InputError("Give a relation (such as mod3 or a file) or --train with a file of known entries, not both.")
    if train is None:
        if names is not None:
            raise InputError("--names belongs to --train.")
        found = read_relation(str(source), elements, relation)
        chosen = hypotheses_of(found, prior) if known_class is None else named_hypotheses(known_class, prior)
        return Question(found, None, chosen)
    if known_class is None:
        raise InputError("With --train the class must be named, such as --class total-order or --class equivalence-3.")
    known = read_training_set(train, elements=_read_names(names))
    return Question(None, known, named_hypotheses(known_class, prior))


def _read_names(path: Path | None) -> list[str]:
    if path is None:
        return []
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}.")
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
