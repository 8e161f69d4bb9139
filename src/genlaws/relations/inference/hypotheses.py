"""Classes of relations: what a learner knows before it sees any entry."""

from __future__ import annotations

import re
from dataclasses import dataclass

from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.relations.inference.equivalences import PRIORS
from genlaws.relations.structure.properties import properties
from genlaws.relations.structure.relation import Relation

PAIR_RULES = ("free", "symmetric", "antisymmetric", "tournament")
DIAGONALS = ("free", "ones", "zeros")


@dataclass(frozen=True)
class Equivalence:
    """Equivalences with k classes.

    Attributes
    ----------
    class_count : int
    prior : str
        ``elements``: each element's class is drawn at random from k (the paper's count :math:`k^n`);
        ``relations``: every equivalence with exactly k classes, none empty, is equally likely.
    """

    class_count: int
    prior: str = "elements"

    def __post_init__(self) -> None:
        whole_number("class_count", self.class_count, at_least=1, hint="An equivalence needs a class.")
        one_of("prior", self.prior, PRIORS)

    def __str__(self) -> str:
        return f"equivalence with {self.class_count} {'class' if self.class_count == 1 else 'classes'}"


@dataclass(frozen=True)
class CompleteBipartite:
    """Two sides; the relation holds between elements of different sides. The prior is as for two classes."""

    prior: str = "elements"

    def __post_init__(self) -> None:
        one_of("prior", self.prior, PRIORS)

    def __str__(self) -> str:
        return "complete bipartite"


@dataclass(frozen=True)
class TotalOrder:
    """All n! total orders, strict (<) or reflexive (≤)."""

    reflexive: bool = False

    def __str__(self) -> str:
        return "reflexive total order" if self.reflexive else "total order"


@dataclass(frozen=True)
class Entrywise:
    """Classes in which an entry determines at most its mirror image.

    Attributes
    ----------
    pair_rule : str
        Between :math:`R_{ij}` and :math:`R_{ji}`: ``free``; ``symmetric``, both equal; ``antisymmetric``, not both 1;
        ``tournament``, exactly one of them 1.
    diagonal : str
        ``free``, ``ones`` (reflexive) or ``zeros`` (irreflexive).
    """

    pair_rule: str = "free"
    diagonal: str = "free"

    def __post_init__(self) -> None:
        one_of("pair_rule", self.pair_rule, PAIR_RULES)
        one_of("diagonal", self.diagonal, DIAGONALS)

    def __str__(self) -> str:
        rule = "generic" if self.pair_rule == "free" else self.pair_rule
        return {"free": rule, "ones": f"reflexive {rule}", "zeros": f"irreflexive {rule}"}[self.diagonal]


Hypotheses = Equivalence | CompleteBipartite | TotalOrder | Entrywise


def hypotheses_of(relation: Relation, prior: str = "elements") -> Hypotheses:
    """Return the smallest of the known classes that contains `relation`.

    A total order, an equivalence or a complete bipartite relation is recognized as such. Any other relation gets
    the entrywise class of its symmetry and diagonal, where an entry determines at most its mirror image.
    """
    has = properties(relation)
    if has.strict_total_order or has.total_order:
        return TotalOrder(reflexive=not has.strict_total_order)
    if has.complete_bipartite:
        return CompleteBipartite(prior)
    if has.equivalence:
        return Equivalence(len(has.class_sizes), prior)
    rule = "symmetric" if has.symmetric else "antisymmetric" if has.antisymmetric else "free"
    if has.asymmetric and has.total:
        rule = "tournament"
    return Entrywise(rule, "ones" if has.reflexive else "zeros" if has.irreflexive else "free")


def bounds_this_relation(hypotheses: Hypotheses) -> bool:
    """Return whether an average over a class bounds the average over training sets of each relation in it.

    It does for total orders, which differ only in the names of their elements. Equivalences and bipartite relations of
    one class also differ in the sizes of their classes, and entrywise relations differ arbitrarily.
    """
    return isinstance(hypotheses, TotalOrder)


def average_meaning(hypotheses: Hypotheses) -> str:
    """Return the meaning of an accuracy averaged over a class for a single relation of it."""
    if bounds_this_relation(hypotheses):
        return (
            f"No learner that knows only the class '{hypotheses}' does better on average over random training sets, "
            "on this relation or on any other of the class."
        )
    if isinstance(hypotheses, Entrywise):
        return (
            f"This is an average over all relations of the class '{hypotheses}', each equally likely. It is not a "
            "bound for this relation: a learner does better where one answer is more common or the entries have "
            "structure."
        )
    return (
        f"No learner that knows only the class '{hypotheses}' does better on average over the relations of the class. "
        "On a single one a learner can, for example where its classes differ in size."
    )


def named_hypotheses(name: str, prior: str = "elements") -> Hypotheses:
    """Return the class of a name such as ``equivalence-3``, ``total-order`` or ``symmetric``."""
    if not isinstance(name, str):
        raise InputError(f"The name of a class of relations must be text; got {name!r}.")
    if match := re.fullmatch(r"equivalence-(\d+)", name):
        return Equivalence(int(match[1]), prior)
    known: dict[str, Hypotheses] = {
        "bipartite": CompleteBipartite(prior),
        "total-order": TotalOrder(),
        "reflexive-total-order": TotalOrder(reflexive=True),
        "generic": Entrywise(),
        "symmetric": Entrywise("symmetric"),
        "antisymmetric": Entrywise("antisymmetric"),
        "reflexive": Entrywise(diagonal="ones"),
        "tournament": Entrywise("tournament", "zeros"),
    }
    if name not in known:
        raise InputError(f"There is no class of relations {name!r}; known are equivalence-K, {', '.join(known)}.")
    return known[name]
