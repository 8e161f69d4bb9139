"""The Bayes bound averaged over random training sets, beside the paper's formula.

The bound is an average over all relations of a class. Whether it also bounds a learner on one relation of the class
depends on the class; :attr:`BoundCurve.meaning` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, fraction, whole_number
from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import Estimate, from_standard_error
from genlaws.relations.balls_in_buckets import accuracy_formula
from genlaws.relations.bayes_bound import posterior
from genlaws.relations.description_length import description_length_table
from genlaws.relations.hypotheses import (
    CompleteBipartite,
    Entrywise,
    Equivalence,
    Hypotheses,
    TotalOrder,
    average_meaning,
    hypotheses_of,
)
from genlaws.relations.posterior import Posterior
from genlaws.relations.relation import Relation
from genlaws.relations.training_set import draw_order, training_set_of

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_REPEATS = 20  # as in the paper for equivalences
MOST_REPEATS = 100_000  # training sets, which are all kept
MAJORITY_TOLERANCE = 1e-9  # accuracies closer than this are equal: with nothing seen an order has its majority accuracy


@dataclass(frozen=True)
class BoundPoint:
    """The Bayes bound at one train fraction.

    Attributes
    ----------
    train_fraction : float
    accuracy : Estimate
        Mean over training sets of the bound on all entries, which is an average over the relations of the class; the
        interval is that of the mean.
    unseen_accuracy : Estimate
        The same over the entries outside the training set.
    bits_left : Estimate
        Mean entropy of the relation given the training set, in bits.
    determined : Estimate
        Mean share of entries about which nothing is left open.
    accuracy_formula : float
        Eq. 5 with the description length of the paper's Table II.
    exact_share : float
        Share of training sets for which every probability was computed exactly.
    converged : bool
        False if a Markov chain did not converge.
    """

    train_fraction: float
    accuracy: Estimate
    unseen_accuracy: Estimate
    bits_left: Estimate
    determined: Estimate
    accuracy_formula: float
    exact_share: float
    converged: bool


@dataclass(frozen=True)
class BoundCurve:
    """The Bayes bound against the share of entries a learner has seen.

    Attributes
    ----------
    relation : Relation
    hypotheses : Hypotheses
        What the learner knows beforehand.
    repeats : int
        Random training sets behind each point.
    points : tuple of BoundPoint
    """

    relation: Relation
    hypotheses: Hypotheses
    repeats: int
    points: tuple[BoundPoint, ...]

    @property
    def meaning(self) -> str:
        """What the accuracies say about this relation, and which of them the commoner answer alone exceeds."""
        majority, said = self.relation.majority_accuracy, average_meaning(self.hypotheses)
        if min(point.accuracy.value for point in self.points) >= majority - MAJORITY_TOLERANCE:
            return said
        return (
            f"{said} Always answering {self.relation.majority_answer} is right on {majority:.6g} of the entries of "
            f"{self.relation.label}; an accuracy below that is not the best one on it."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each train fraction."""
        import pandas as pd  # noqa: PLC0415

        rows = []
        for point in self.points:
            row: dict[str, object] = {"relation": self.relation.label, "train_fraction": point.train_fraction}
            for name in ("accuracy", "unseen_accuracy", "bits_left", "determined"):
                estimate: Estimate = getattr(point, name)
                row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
            row |= {"accuracy_formula": point.accuracy_formula, "exact_share": point.exact_share}
            row |= {"majority_accuracy": self.relation.majority_accuracy}
            rows.append(row | {"repeats": self.repeats})
        return pd.DataFrame(rows)


def bound_curve(
    relation: Relation,
    train_fractions: ArrayLike,
    *,
    hypotheses: Hypotheses | None = None,
    repeats: int = DEFAULT_REPEATS,
    seed: int = 0,
    method: str = "auto",
    advance: Callable[[int], object] | None = None,
) -> BoundCurve:
    """Return the best accuracy averaged over the relations of a class, for random training sets of one of them.

    It bounds what a learner reaches on this relation only where all relations of the class are alike up to the names
    of their elements (total orders). For entrywise classes it is not a bound: on a sparse relation the commoner answer
    alone is right more often.

    The training sets grow: each repeat draws one random order of all entries and sees the first of them, more with
    every larger fraction. Points of one curve are therefore not independent of one another.

    Parameters
    ----------
    relation : Relation
    train_fractions : array_like in [0, 1]
    hypotheses : optional
        What the learner knows; the smallest known class that contains the relation if left out.
    repeats : int
        Random training sets for each fraction.
    seed : int
    method : str
        As for :func:`~genlaws.relations.bayes_bound.posterior`.
    advance : callable, optional
        Called with 1 after each training set.

    References
    ----------
    :cite:p:`baek2024`, Figure 2.
    """
    fractions = np.atleast_1d(fraction("train_fractions", train_fractions, "Shares, not percentages."))
    if fractions.ndim > 1:
        raise InputError(f"train_fractions must be one number or a list; got {fractions.ndim} dimensions.")
    whole_number("repeats", repeats, at_least=1, at_most=MOST_REPEATS, hint="Every training set is kept.")
    known = hypotheses_of(relation) if hypotheses is None else hypotheses
    formula = paper_accuracy(relation.element_count, known, fractions)
    children = np.random.SeedSequence(whole_number("seed", seed)).spawn(repeats)
    generators = [np.random.default_rng(child) for child in children]
    orders = [draw_order(relation.element_count, generator) for generator in generators]
    points = []
    for share, value in zip(fractions.tolist(), formula.tolist(), strict=True):
        found = []
        for order, generator in zip(orders, generators, strict=True):
            training_set = training_set_of(relation, order[: round(share * relation.pair_count)])
            found.append(posterior(training_set, known, method=method, truth=relation, seed=generator))
            if advance is not None:
                advance(1)
        points.append(_point(share, value, found))
    return BoundCurve(relation, known, repeats, tuple(points))


def _point(share: float, formula: float, found: list[Posterior]) -> BoundPoint:
    def mean(values: list[float], errors: list[float]) -> Estimate:
        return _mean(np.array(values), np.array(errors))

    none = [0.0] * len(found)
    return BoundPoint(
        share,
        mean([law.accuracy for law in found], [law.accuracy_error for law in found]),
        mean([law.unseen_accuracy for law in found], none),
        mean([law.bits_left for law in found], [law.bits_left_error for law in found]),
        mean([law.determined for law in found], none),
        formula,
        float(np.mean([law.method == "exact" for law in found])),
        all(law.converged for law in found),
    )


def _mean(values: Array, errors: Array) -> Estimate:
    """Return the mean with Student's interval; a single training set has the error of its Markov chain alone."""
    if len(values) == 1:
        half = 1.96 * errors[0]
        return Estimate(float(values[0]), values[0] - half, values[0] + half, 1) if half else Estimate(float(values[0]))
    return from_standard_error(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), len(values))


def guess_accuracy(hypotheses: Hypotheses) -> float:
    """Return the paper's chance :math:`p_*` of an unknown entry being 1: 1/k, 1/2 for two sides, 1/3 for an order."""
    if isinstance(hypotheses, Equivalence):
        return 1.0 / hypotheses.class_count
    if isinstance(hypotheses, TotalOrder):
        return 1.0 / 3.0
    antisymmetric = isinstance(hypotheses, Entrywise) and hypotheses.pair_rule == "antisymmetric"
    return 1.0 / 3.0 if antisymmetric else 0.5


def table_length(element_count: int, hypotheses: Hypotheses) -> float:
    """Return the description length of the row of the paper's Table II for what a learner knows, in bits.

    NaN where the row has no meaning: more classes than elements, or so few elements that it is negative.
    """
    n = element_count
    if isinstance(hypotheses, Equivalence) and hypotheses.class_count > n:
        return float("nan")
    if isinstance(hypotheses, Equivalence):
        return description_length_table("equivalence", element_count=n, class_count=hypotheses.class_count)
    if isinstance(hypotheses, CompleteBipartite):
        return description_length_table("complete bipartite", element_count=n)
    if isinstance(hypotheses, TotalOrder):
        length = description_length_table("total order", element_count=n)
        return length if length >= 0.0 else float("nan")
    free = "generic" if hypotheses.diagonal == "free" else "reflexive"
    row = {"free": free, "symmetric": "symmetric"}.get(hypotheses.pair_rule, "antisymmetric")
    return description_length_table(row, element_count=n)


def paper_accuracy(element_count: int, hypotheses: Hypotheses, train_fractions: ArrayLike) -> Array:
    """Return Eq. 5 with the description length of Table II and the paper's :math:`p_*`; NaN where it has no meaning."""
    length = table_length(element_count, hypotheses)
    if np.isnan(length):
        return np.full(np.shape(train_fractions), np.nan)
    return accuracy_formula(train_fractions, element_count, length, guess_accuracy(hypotheses))
