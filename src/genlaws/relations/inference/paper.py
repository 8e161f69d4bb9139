r"""The paper's own estimates, as printed, for comparison with exact results.

The number of samples that a relation needs is estimated by balls thrown into buckets: each of m samples reveals one of
the b bits of the description, drawn at random; a bit that was already known reveals nothing.

The upper bound is estimated as follows. For classes, each element i gets a set of classes it may be in: the class of a
partner j ≠ i with :math:`R_{ij}=1` if one is known, otherwise all classes but those of partners with :math:`R_{ij}=0`.
Elements are then treated as independent: :math:`P(R_{ij}=1) = |pos_i\cap pos_j|/(|pos_i||pos_j|)`. The sets use the
*true* classes of the partners, which the learner does not know: two separately known pairs become mutually determined,
and the estimate lies above what can be reached. For orders, random total orders that agree with the training set are
drawn and the majority answer is scored on the same draws, which is too high by about :math:`0.4/\sqrt S` at P = 1/2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, broadcast, fraction, non_negative, whole_number, within
from genlaws.core.errors import InputError
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.equivalences import class_numbers
from genlaws.relations.inference.hypotheses import TotalOrder
from genlaws.relations.inference.orders import transitive_closure
from genlaws.relations.structure.properties import properties
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import TrainingSet

BITS_HINT = "It is a number of bits."
PAPER_DRAWS = 1000
TARGET_ACCURACY = 0.9  # of the example of Eq. 4 and of the networks of Table IV


def inferable_fraction(sample_count: ArrayLike, description_length: ArrayLike) -> Array:
    r"""Share of a relation's pairs that can be inferred from m samples.

    .. math:: f(m) = 1 - \left(1 - \frac1b\right)^m

    Symbols: m is ``sample_count``, b ``description_length`` in bits.

    Parameters
    ----------
    sample_count : array_like, zero or more
        Need not be a whole number: on average p n² samples are a training fraction p.
    description_length : array_like, zero or more, in bits

    Notes
    -----
    The formula needs b > 1. In the limit b → 1 a single bucket is filled by the first sample; this value, 1 for m > 0
    and 0 for m = 0, is also returned for 0 < b < 1, where the formula is not defined. A relation with b = 0 is known
    without a sample: 1.

    References
    ----------
    :cite:p:`baek2024`, Eq. 3.
    """
    m, b = broadcast(
        sample_count=non_negative("sample_count", sample_count),
        description_length=non_negative("description_length", description_length, infinite=True, hint=BITS_HINT),
    )
    many = b > 1.0
    filled = -np.expm1(m * _log_missed(b))
    return np.where(many, filled, np.where(b == 0.0, 1.0, m > 0.0))


def accuracy_formula(
    train_fraction: ArrayLike, element_count: ArrayLike, description_length: ArrayLike, guess_accuracy: ArrayLike
) -> Array:
    r"""The paper's accuracy after training on a share of all pairs: what can be inferred, and guesses for the rest.

    .. math:: f_{UB} = f(pn^2) + \max(p_*, 1-p_*)\,\bigl(1-f(pn^2)\bigr)

    Symbols: p is ``train_fraction``, n ``element_count``, b ``description_length``, :math:`p_*` ``guess_accuracy``.

    Parameters
    ----------
    train_fraction : array_like in [0, 1]
    element_count : array_like, at least 1
    description_length : array_like, zero or more, in bits
    guess_accuracy : array_like in [0, 1]
        Chance that a pair holds if it cannot be inferred. The paper takes 1/k for an equivalence with k classes, 1/2
        for a bipartite relation and 1/3 for less-than.

    Notes
    -----
    The paper calls it an upper bound, which it is not: the exact accuracy of a learner who knows the class of the
    relation lies above it in places and below it in others.

    References
    ----------
    :cite:p:`baek2024`, Eq. 5.
    """
    p, n, b, guess = broadcast(
        train_fraction=fraction("train_fraction", train_fraction, "It is a share of the n² pairs."),
        element_count=within("element_count", element_count, 1.0, np.inf, open_high=True),
        description_length=non_negative("description_length", description_length, infinite=True, hint=BITS_HINT),
        guess_accuracy=fraction("guess_accuracy", guess_accuracy),
    )
    inferred = inferable_fraction(p * n**2, b)
    return inferred + np.maximum(guess, 1.0 - guess) * (1.0 - inferred)


def critical_fraction(target_accuracy: ArrayLike, element_count: ArrayLike, description_length: ArrayLike) -> Array:
    r"""Share of all pairs from which a target share can be inferred.

    .. math:: p_c = \frac1{n^2}\,\frac{\ln(1-\alpha)}{\ln(1-1/b)}

    Symbols: α is ``target_accuracy``, n ``element_count``, b ``description_length``. For large b it is
    :math:`-b\ln(1-\alpha)/n^2`.

    Parameters
    ----------
    target_accuracy : array_like in [0, 1]
    element_count : array_like, at least 1
    description_length : array_like, zero or more, in bits

    Returns
    -------
    array
        0 for α = 0. Infinite for α = 1: in this estimate some bucket may always stay empty. Values above 1 mean that
        the samples would have to be drawn with repetition.

    Notes
    -----
    For b ≤ 1 the value is the limit b → 1, zero: any sample is enough.

    References
    ----------
    :cite:p:`baek2024`, Eq. 4.
    """
    alpha, n, b = broadcast(
        target_accuracy=fraction("target_accuracy", target_accuracy, "It is a share, not a percentage."),
        element_count=within("element_count", element_count, 1.0, np.inf, open_high=True),
        description_length=non_negative("description_length", description_length, infinite=True, hint=BITS_HINT),
    )
    needed = (b > 1.0) & (alpha > 0.0)
    with np.errstate(divide="ignore"):
        missing = np.log1p(-np.where(needed, alpha, 0.5))
        samples = missing / _log_missed(np.where(needed, b, 2.0))
    return np.where(needed, samples / n**2, 0.0)


def _log_missed(description_length: Array) -> Array:
    """Return ln(1 - 1/b), the logarithm of the chance that a ball misses a bucket; for b ≤ 1 any number."""
    return np.log1p(-1.0 / np.where(description_length > 1.0, description_length, 2.0))


def paper_bound(relation: Relation, training_set: TrainingSet, *, seed: int | np.random.Generator = 0) -> float:
    """Return the paper's estimate of the upper bound for an equivalence, a complete bipartite relation or an order.

    Parameters
    ----------
    relation : Relation
    training_set : TrainingSet
    seed : int or Generator

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
        Whether an entry 1 means that two elements are in different classes.
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
    is_same = ~training_set.values if bipartite else training_set.values
    same, apart = np.zeros((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    same[pairs[is_same, 0], pairs[is_same, 1]] = True
    apart[pairs[~is_same, 0], pairs[~is_same, 1]] = True
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
    """Return the paper's estimate for a total order: the majority answer of random orders, scored on them.

    The paper draws 1000 orders (and mentions "10 sequences" a line later) without saying how; here they are drawn
    uniformly, which is the best case.
    """
    whole_number("draws", draws, at_least=1)
    law = posterior(training_set, TotalOrder(reflexive), seed=seed)
    share = law.draw(draws, seed).mean(axis=0)
    return float(np.maximum(share, 1.0 - share).mean())
