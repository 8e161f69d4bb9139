r"""The paper's own estimate of the upper bound, as it stands, for comparison with the exact one.

For classes, each element i gets a set of classes it may be in: the class of a partner j ≠ i with :math:`R_{ij}=1` if
one is known, otherwise all classes but those of partners with :math:`R_{ij}=0`. Elements are then treated as
independent, so that :math:`P(R_{ij}=1) = |pos_i\cap pos_j|/(|pos_i||pos_j|)`. The sets use the *true* classes of the
partners, which the learner does not know: two pairs known apart from each other become mutually decided, and the
estimate lies above what can be reached. For orders, random total orders that agree with the training set are drawn and
the commoner answer is scored on those same draws, which is too high by about :math:`0.4/\sqrt S` at P = 1/2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import whole_number
from genlaws.numerics.errors import InputError
from genlaws.relations.bayes_bound import posterior
from genlaws.relations.comparisons import transitive_closure
from genlaws.relations.equivalences import class_numbers
from genlaws.relations.hypotheses import TotalOrder
from genlaws.relations.properties import properties
from genlaws.relations.relation import Relation
from genlaws.relations.training_set import TrainingSet

PAPER_DRAWS = 1000


def paper_bound(relation: Relation, training_set: TrainingSet, *, seed: int | np.random.Generator = 0) -> float:
    """Return the paper's estimate of the upper bound for an equivalence, a complete bipartite relation or an order.

    References
    ----------
    :cite:p:`baek2024`, Appendix D.
    """
    has = properties(relation)
    if has.strict_total_order or has.total_order:
        return paper_bound_order(training_set, reflexive=not has.strict_total_order, seed=seed)
    if has.complete_bipartite or has.equivalence:
        table = ~relation.matrix if has.complete_bipartite else relation.matrix
        return paper_bound_classes(training_set, class_numbers(table), bipartite=not has.equivalence)
    raise InputError("The paper's procedure is for equivalences, complete bipartite relations and total orders.")


def paper_bound_classes(training_set: TrainingSet, classes: ArrayLike, *, bipartite: bool = False) -> float:
    """Return the paper's estimate for classes, from sets of possible classes taken as independent.

    Parameters
    ----------
    training_set : TrainingSet
    classes : array of int, shape (n,)
        The true class of each element.
    bipartite : bool
        Whether an entry 1 says that two elements are in different classes.
    """
    true = np.unique(np.asarray(classes), return_inverse=True)[1]
    n, count = training_set.element_count, int(true.max()) + 1
    same, apart = _closed(training_set, bipartite)
    possible = np.ones((n, count), dtype=bool)
    for element in range(n):
        partners = np.flatnonzero(same[element])
        if len(partners):
            possible[element] = np.arange(count) == true[partners[0]]
        else:
            possible[element, true[np.flatnonzero(apart[element])]] = False
    sizes = possible.sum(axis=1)
    shared = possible.astype(float) @ possible.T / (sizes[:, None] * sizes)
    chance = np.where(same | np.eye(n, dtype=bool) | apart, 1.0, np.maximum(shared, 1.0 - shared))
    return float(chance.mean())


def _closed(training_set: TrainingSet, bipartite: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return which elements are known to be in one class and which to be apart, implied pairs included."""
    n, pairs = training_set.element_count, training_set.pairs
    says_same = ~training_set.values if bipartite else training_set.values
    same, apart = np.zeros((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    same[pairs[says_same, 0], pairs[says_same, 1]] = True
    apart[pairs[~says_same, 0], pairs[~says_same, 1]] = True
    linked = transitive_closure(same | same.T) | np.eye(n, dtype=bool)
    reach = linked.astype(float)
    apart = (reach @ (apart | apart.T) @ reach) > 0.5
    return linked & ~np.eye(n, dtype=bool), apart


def paper_bound_order(
    training_set: TrainingSet,
    *,
    reflexive: bool = False,
    draws: int = PAPER_DRAWS,
    seed: int | np.random.Generator = 0,
) -> float:
    """Return the paper's estimate for a total order: the commoner answer among random orders, scored on them.

    The paper draws 1000 orders (and speaks of "10 sequences" a line later) without saying how; here they are drawn
    uniformly, which is the best case.
    """
    whole_number("draws", draws, at_least=1)
    law = posterior(training_set, TotalOrder(reflexive), seed=seed)
    share = law.draw(draws, seed).mean(axis=0)
    return float(np.maximum(share, 1.0 - share).mean())
