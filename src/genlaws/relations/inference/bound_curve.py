r"""The Bayes bound averaged over random training sets, compared with the paper's formula and with trained networks.

The bound is an average over all relations of a class. ``BoundCurve.meaning`` states whether it also bounds a
learner on one relation of the class.

The *induction gap* measures how far a learner is below the bound. Both curves give the mean accuracy on the whole table
against the training fraction p. With the exact bound :math:`f^*(p)` and a network's curve :math:`f(p)`, the area is
:math:`\int (f^*-f)\,dp`, and the shift at an accuracy a is :math:`p(a) - p^*(a)`: the additional share of the table
that the network needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import integrate

from genlaws.core.arguments import Array, fraction, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_standard_error, interval_columns
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.running import Running, checked_running
from genlaws.relations import parameters
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.hypotheses import (
    CompleteBipartite,
    Entrywise,
    Equivalence,
    Hypotheses,
    TotalOrder,
    average_meaning,
    bounds_this_relation,
    hypotheses_of,
)
from genlaws.relations.inference.paper import accuracy_formula
from genlaws.relations.inference.posterior import Posterior
from genlaws.relations.structure.description_length import description_length_table
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import CERTAIN_ANSWERS, TrainingSet, draw_order, training_set_of

DEFAULT_REPEATS = 20  # as in the paper for equivalences
# Closer accuracies are equal: with no entries seen, the bound of an order is its majority accuracy.
MAJORITY_TOLERANCE = 1e-9
BOOTSTRAP_REPLICATES = 1000
INTERVAL_QUANTILES = (0.025, 0.975)
CURVES_AT_ONCE = 1000  # in the isotonic regression
ACCURACY_TOLERANCE = 1e-12  # rounding of a mean
AVERAGED = ("accuracy", "unseen_accuracy", "bits_left", "determined")  # over training sets


@dataclass(frozen=True)
class BoundPoint:
    """The Bayes bound at one training fraction.

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
        Mean share of entries that are determined.
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


@dataclass(frozen=True, eq=False, repr=False)
class BoundCurve(Result):
    """The Bayes bound against the training fraction.

    Attributes
    ----------
    relation : str
    element_count : int
    hypotheses : str
        What the learner knows beforehand.
    entrywise : bool
        Whether an entry of this class determines at most its mirror image; the accuracies are then no bound.
    repeats : int
        Random training sets behind each point.
    majority_accuracy : float
        Accuracy of always giving the majority answer.
    majority_answer : str
    bounds_this_relation : bool
        Whether the accuracies bound a learner on this relation, not only on average over its class.
    meaning : str
        What the accuracies mean for this relation, and whether the majority answer exceeds some of them.
    points : tuple of BoundPoint
    """

    relation: str
    element_count: int
    hypotheses: str
    entrywise: bool
    repeats: int
    majority_accuracy: float
    majority_answer: str
    bounds_this_relation: bool
    meaning: str
    points: tuple[BoundPoint, ...]

    def to_frame(self) -> DataFrame:
        """Return one row for each train fraction."""
        rows = []
        for point in self.points:
            row: dict[str, object] = {"relation": self.relation, "train_fraction": point.train_fraction}
            for name in AVERAGED:
                row |= interval_columns(name, getattr(point, name))
            row |= {"accuracy_formula": point.accuracy_formula, "exact_share": point.exact_share}
            rows.append(row | {"majority_accuracy": self.majority_accuracy, "repeats": self.repeats})
        return frame_of(rows)

    def summary(self) -> Summary:
        """Return the accuracy, or a table where there are several fractions."""
        sets = f"{self.repeats} random training sets" if self.repeats > 1 else "one random training set"
        if len(self.points) > 1:
            worst = min(self.points, key=lambda point: (point.converged, point.exact_share))
            how = f"{self.relation}, class '{self.hypotheses}', {sets} a row. {_format_method(worst)}"
            return Summary(table=self._table(), sentences=[how, self.meaning])
        (point,), total = self.points, self.element_count**2
        known = f"training on {round(point.train_fraction * total)} of {total} entries of {self.relation}"
        return Summary(
            rows=[
                Row(_accuracy_label(self.entrywise), str(point.accuracy)),
                Row("on unseen entries", str(point.unseen_accuracy)),
                Row("the paper's Eq. 5", f"{point.accuracy_formula:.6f}"),
                Row("bits left", str(point.bits_left)),
                Row("entries decided", str(point.determined)),
                Row("majority accuracy", f"{self.majority_accuracy:.6f}"),
            ],
            sentences=[self.meaning, f"Mean over {sets}; {known}.", _format_method(point)],
        )

    def _table(self) -> str:
        label = _accuracy_label(self.entrywise)
        lines = [f"{'train fraction':>14}  {label:>20}  {'Eq. 5':>8}  {'bits left':>16}  {'decided':>8}"]
        for point in self.points:
            accuracy, bits = (str(value).partition(" (")[0] for value in (point.accuracy, point.bits_left))
            lines.append(
                f"{point.train_fraction:>14.4g}  {accuracy:>20}  {point.accuracy_formula:>8.4f}  {bits:>16}  "
                f"{point.determined.value:>8.4f}"
            )
        return "\n".join(lines)


def _accuracy_label(entrywise: bool) -> str:
    return "class average" if entrywise else "best accuracy"


def _format_method(point: BoundPoint) -> str:
    if point.exact_share == 1.0:
        return "Every probability was computed exactly."
    state = "whose starts agreed" if point.converged else "which has NOT converged for some: do not trust the number"
    return f"{1 - point.exact_share:.0%} of the training sets needed the Markov chain, {state}."


@question
def bound_curve(
    relation: Relation,
    *,
    train_fraction: parameters.TrainFractions,
    hypotheses: parameters.KnownClass = None,
    repeats: parameters.Repeats = DEFAULT_REPEATS,
    method: parameters.BoundMethod = "auto",
    seed: parameters.Seed = 0,
    running: Running | None = None,
) -> BoundCurve:
    """Return the best accuracy averaged over the relations of a class, for random training sets of one of them.

    It bounds what a learner reaches on this relation only where all relations of the class are alike up to the names
    of their elements (total orders). For entrywise classes it is not a bound: on a sparse relation the majority answer
    is right more often.

    The training sets are nested: each repeat draws one random order of all entries, and a larger fraction takes more of
    them. The points of one curve are therefore not independent.

    Parameters
    ----------
    relation : Relation
    train_fraction : array_like in [0, 1]
    hypotheses : optional
        What the learner knows; by default the smallest known class that contains the relation.
    repeats : int
        Random training sets for each fraction.
    method : str
        As for :func:`~genlaws.relations.inference.bayes_bound.posterior`.
    seed : int
    running : Running, optional
        Its steps are the training sets.

    References
    ----------
    :cite:p:`baek2024`, Figure 2.
    """
    fractions = parameters.TRAIN_FRACTIONS.checked("train_fraction", train_fraction)
    whole_number(
        "repeats", repeats, at_least=1, at_most=parameters.MAX_REPEATS, hint="All training sets are held in memory."
    )
    known = hypotheses_of(relation) if hypotheses is None else hypotheses
    formula = paper_accuracy(relation.element_count, known, fractions)
    children = np.random.SeedSequence(whole_number("seed", seed)).spawn(repeats)
    generators = [np.random.default_rng(child) for child in children]
    orders = [draw_order(relation.element_count, generator) for generator in generators]
    shown, points = checked_running(running), []
    shown.start(len(fractions) * repeats, f"{relation.label}: training sets")
    for share, value in zip(fractions.tolist(), formula.tolist(), strict=True):
        found = []
        for order, generator in zip(orders, generators, strict=True):
            training_set = training_set_of(relation, order[: round(share * relation.pair_count)])
            found.append(posterior(training_set, known, method=method, truth=relation, seed=generator))
            shown.advance()
        points.append(_point(share, value, found))
    return BoundCurve(
        relation=relation.label,
        element_count=relation.element_count,
        hypotheses=str(known),
        entrywise=isinstance(known, Entrywise),
        repeats=repeats,
        majority_accuracy=relation.majority_accuracy,
        majority_answer=relation.majority_answer,
        bounds_this_relation=bounds_this_relation(known),
        meaning=_curve_meaning(relation, known, points),
        points=tuple(points),
    )


def _curve_meaning(relation: Relation, hypotheses: Hypotheses, points: list[BoundPoint]) -> str:
    majority, meaning = relation.majority_accuracy, average_meaning(hypotheses)
    if min(point.accuracy.value for point in points) >= majority - MAJORITY_TOLERANCE:
        return meaning
    return (
        f"{meaning} Always answering {relation.majority_answer} is right on {majority:.6g} of the entries of "
        f"{relation.label}; lower accuracies are not the best for it."
    )


def _point(share: float, formula: float, found: list[Posterior]) -> BoundPoint:
    return BoundPoint(
        train_fraction=share,
        **{name: _mean(name, found) for name in AVERAGED},
        accuracy_formula=formula,
        exact_share=float(np.mean([law.method == "exact" for law in found])),
        converged=all(law.converged for law in found),
    )


def _mean(name: str, found: list[Posterior]) -> Estimate:
    """Return the mean with Student's interval; a single training set has the error of its Markov chain alone."""
    values = np.array([getattr(law, name) for law in found])
    if len(values) == 1:
        half = 1.96 * getattr(found[0], f"{name}_error", 0.0)
        return Estimate(float(values[0]), values[0] - half, values[0] + half, 1) if half else Estimate(float(values[0]))
    return from_standard_error(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), len(values))


@dataclass(frozen=True, eq=False, repr=False)
class TrainingSetBound(Result):
    """The Bayes bound for known entries, if the relation behind them is not known.

    Attributes
    ----------
    accuracy : Estimate
        The bound on all entries; its interval is that of the Markov chain.
    unseen_accuracy : float
        The same over the entries outside the training set.
    accuracy_formula : float
        Eq. 5 with the description length of the paper's Table II.
    bits_left : Estimate
        Entropy of the relation in bits.
    determined : float
        Share of all entries that are determined.
    train_fraction : float
    element_count : int
    hypotheses : str
        What the learner knows beforehand.
    entrywise : bool
        Whether an entry of this class determines at most its mirror image; the accuracy is then no bound.
    meaning : str
        What the accuracy means.
    method : str
        ``exact`` or ``Markov chain``.
    converged : bool
        False if the Markov chain did not converge.
    answers_taken_as_certain : bool
        True: one wrong answer among the known entries can make it wrong.
    message : str
        How the result was computed, and that answers are taken as certain.
    """

    accuracy: Estimate
    unseen_accuracy: float
    accuracy_formula: float
    bits_left: Estimate
    determined: float
    train_fraction: float
    element_count: int
    hypotheses: str
    entrywise: bool
    meaning: str
    method: str
    converged: bool
    answers_taken_as_certain: bool
    message: str

    def summary(self) -> Summary:
        """Return the accuracy and what it means."""
        return Summary(
            rows=[
                Row(_accuracy_label(self.entrywise), _format_with_error(self.accuracy, 6)),
                Row("on unseen entries", f"{self.unseen_accuracy:.6f}"),
                Row("the paper's Eq. 5", f"{self.accuracy_formula:.6f}"),
                Row("bits left", _format_with_error(self.bits_left, 3)),
                Row("entries decided", f"{self.determined:.6f}"),
            ],
            sentences=[self.meaning, self.message],
        )


def _format_with_error(found: Estimate, digits: int) -> str:
    half = 0.5 * (found.high - found.low)
    return f"{found.value:.{digits}f}" + (f" ± {half:.{digits}f}" if half else "")


@question
def training_set_bound(
    training_set: TrainingSet,
    *,
    hypotheses: parameters.GivenClass,
    method: parameters.BoundMethod = "auto",
    seed: parameters.Seed = 0,
) -> TrainingSetBound:
    """Return the best accuracy from known entries, averaged over all relations of a class that agree with them.

    Parameters
    ----------
    training_set, hypotheses, method, seed
        As for :func:`~genlaws.relations.posterior`, which also gives the probability of each entry.
    """
    law = posterior(training_set, hypotheses, method=method, seed=seed)
    count, known = training_set.element_count, len(training_set.pairs)
    entrywise = isinstance(hypotheses, Entrywise)
    meaning = (
        f"No learner that knows the class '{hypotheses}' and these {known} of {count**2} entries does better on "
        "average over the relations of the class that agree with them."
    )
    return TrainingSetBound(
        accuracy=_with_standard_error(law.accuracy, law.accuracy_error),
        unseen_accuracy=law.unseen_accuracy,
        accuracy_formula=float(paper_accuracy(count, hypotheses, training_set.train_fraction)),
        bits_left=_with_standard_error(law.bits_left, law.bits_left_error),
        determined=law.determined,
        train_fraction=training_set.train_fraction,
        element_count=count,
        hypotheses=str(hypotheses),
        entrywise=entrywise,
        meaning=average_meaning(hypotheses) if entrywise else meaning,
        method=law.method,
        converged=law.converged,
        answers_taken_as_certain=True,
        message=f"{law.message} {CERTAIN_ANSWERS}",
    )


def _with_standard_error(value: float, error: float) -> Estimate:
    return Estimate(value, value - 1.96 * error, value + 1.96 * error)


def guess_accuracy(hypotheses: Hypotheses) -> float:
    """Return the paper's chance :math:`p_*` of an unknown entry being 1: 1/k, 1/2 for two sides, 1/3 for an order."""
    if isinstance(hypotheses, Equivalence):
        return 1.0 / hypotheses.class_count
    antisymmetric = isinstance(hypotheses, Entrywise) and hypotheses.pair_rule == "antisymmetric"
    return 1.0 / 3.0 if antisymmetric or isinstance(hypotheses, TotalOrder) else 0.5


def table_length(element_count: int, hypotheses: Hypotheses) -> float:
    """Return the description length in bits of a class, by its row in the paper's Table II.

    NaN where the row has no meaning: more classes than elements, or a negative length for very few elements.
    """
    n = element_count
    if isinstance(hypotheses, Equivalence):
        if hypotheses.class_count > n:
            return float("nan")
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


@dataclass(frozen=True, eq=False, repr=False)
class InductionGap(Result):
    """A learner compared with the best one; bootstrap intervals over networks and over training sets of the bound.

    Attributes
    ----------
    area : Estimate
        Between the two curves, over the given training fractions.
    network_fraction, bound_fraction : Estimate
        Training fraction at which each mean curve reaches the target; infinite if it does not within the range, and
        the first training fraction if it starts above.
    shift, ratio : Estimate
        The first minus the second, and the first divided by the second.
    target_accuracy : float
    network_count : int
        At each training fraction.
    """

    area: Estimate
    network_fraction: Estimate
    bound_fraction: Estimate
    shift: Estimate
    ratio: Estimate
    target_accuracy: float
    network_count: int

    def to_frame(self) -> DataFrame:
        """Return one row."""
        row: dict[str, float] = {}
        for name in ("area", "network_fraction", "bound_fraction", "shift", "ratio"):
            row |= interval_columns(name, getattr(self, name))
        return frame_of([row | {"target_accuracy": self.target_accuracy, "network_count": self.network_count}])

    def summary(self) -> Summary:
        """Return the area, and how many more entries the networks need."""
        target = f"{self.target_accuracy:g}"
        return Summary(
            rows=[
                Row("area between the curves", str(self.area)),
                Row(f"networks reach {target} at", str(self.network_fraction)),
                Row(f"the best learner reaches {target} at", str(self.bound_fraction)),
                Row("additional share of the entries", str(self.shift)),
                Row("times as many entries", str(self.ratio)),
            ],
            sentences=[f"Means over {self.network_count} networks, compared with the exact bound."],
        )


@question
def induction_gap(
    train_fractions: parameters.TrainFractions,
    *,
    accuracies: parameters.NetworkAccuracies,
    bound: parameters.BestAccuracies,
    target_accuracy: parameters.TargetAccuracy = 0.9,
    replicates: parameters.Replicates = BOOTSTRAP_REPLICATES,
    seed: parameters.Seed = 0,
) -> InductionGap:
    """Give how far the learning curve of networks is below the exact bound, and how many more entries they need.

    Parameters
    ----------
    train_fractions : array of shape (points,)
        Increasing.
    accuracies : array of shape (networks, points)
        On the whole table, as the bound is.
    bound : array of shape (training sets, points)
        The best accuracy for each of several random training sets.
    target_accuracy : float in (0, 1]
        Of the shift.
    replicates, seed : int
        Of the bootstrap.

    Notes
    -----
    Whole rows are resampled, so the points of a row may be dependent. As with any bootstrap, intervals from few rows
    are too narrow: in simulations they contained the true value in 90 % of cases with 5 networks, 93 % with 20.
    """
    shares = _increasing(train_fractions)
    runs, best = _curves("accuracies", accuracies, len(shares)), _curves("bound", bound, len(shares))
    target = float(target_accuracy)
    rng = np.random.default_rng(whole_number("seed", seed))
    network, optimum = (_mean_curves(one, replicates, rng) for one in (runs, best))
    area = integrate.trapezoid(optimum - network, shares, axis=1)
    network_fraction, bound_fraction = (_crossings(shares, one, target) for one in (network, optimum))
    shift, ratio = _shift_and_ratio(network_fraction, bound_fraction)
    return InductionGap(
        area=estimate_of_draws(area, len(runs)),
        network_fraction=estimate_of_draws(network_fraction, len(runs)),
        bound_fraction=estimate_of_draws(bound_fraction, len(best)),
        shift=estimate_of_draws(shift, len(runs)),
        ratio=estimate_of_draws(ratio, len(runs)),
        target_accuracy=target,
        network_count=len(runs),
    )


def _shift_and_ratio(network: Array, bound: Array) -> tuple[Array, Array]:
    """Return difference and ratio of two crossings; NaN where the bound does not reach the target either."""
    reached = np.isfinite(bound)
    finite = np.where(reached, bound, 1.0)
    ratio = np.divide(network, finite, out=np.full_like(finite, np.inf), where=finite > 0)
    return np.where(reached, network - finite, np.nan), np.where(reached, ratio, np.nan)


def crossing(train_fractions: ArrayLike, accuracy: ArrayLike, target: float) -> float:
    """Return where a learning curve reaches a target: infinity if it does not, the first point if it starts above.

    The curve is first replaced by the nearest increasing one (isotonic regression), so that noise makes no second
    crossing.
    """
    shares = _increasing(train_fractions)
    curve = _curves("accuracy", np.atleast_2d(np.asarray(accuracy)), len(shares))
    return float(_crossings(shares, curve, float(scalar("target", fraction("target", target))))[0])


def _crossings(shares: Array, curves: Array, target: float) -> Array:
    """Return where each curve, after isotonic regression, reaches the target; linear between its points."""
    blocks = [_isotonic(curves[start : start + CURVES_AT_ONCE]) for start in range(0, len(curves), CURVES_AT_ONCE)]
    rising = np.concatenate(blocks)
    reached = rising >= target - ACCURACY_TOLERANCE
    after = np.maximum(np.argmax(reached, axis=1), 1)
    before = after - 1
    low, high = (np.take_along_axis(rising, one[:, None], axis=1)[:, 0] for one in (before, after))
    part = np.clip((target - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    where = shares[before] + part * (shares[after] - shares[before])
    return np.where(reached.any(axis=1), np.where(reached[:, 0], shares[0], where), np.inf)


def _isotonic(curves: Array) -> Array:
    r"""Return the isotonic regression of curves: :math:`\max_{j\le i}\min_{k\ge i}` of the means from j to k."""
    total = np.concatenate([np.zeros((len(curves), 1)), np.cumsum(curves, axis=1)], axis=1)
    places = np.arange(curves.shape[1])
    length = places - places[:, None] + 1
    mean = (total[:, None, 1:] - total[:, :-1, None]) / np.maximum(length, 1)
    least = np.minimum.accumulate(np.where(length > 0, mean, np.inf)[..., ::-1], axis=2)[..., ::-1]
    rising: Array = np.where(length > 0, least, -np.inf).max(axis=1)
    return rising


def _mean_curves(curves: Array, replicates: int, rng: np.random.Generator) -> Array:
    """Return the mean curve, followed by those of bootstrap resamples of the rows."""
    size = len(curves)
    draws = [np.bincount(rng.integers(size, size=size), minlength=size) for _ in range(replicates)]
    return np.array([curves.mean(axis=0), *(one @ curves / size for one in draws)])


def _increasing(train_fractions: ArrayLike) -> Array:
    shares = fraction("train_fractions", train_fractions)
    if shares.ndim != 1 or len(shares) < 2 or (np.diff(shares) <= 0).any():
        raise InputError(f"train_fractions must be at least two increasing numbers; got {shares.tolist()}.")
    return shares


def _curves(name: str, values: ArrayLike, points: int) -> Array:
    found = fraction(name, values)
    if found.ndim != 2 or found.shape[1] != points or not len(found):
        raise InputError(f"{name} must have a row for each run and a column for each of {points} training fractions.")
    return found


def estimate_of_draws(draws: Array, count: int) -> Estimate:
    """Return the first number with the percentile interval of the others, which may be infinite."""
    value, replicates = float(draws[0]), draws[1:]
    if np.isnan(draws).any():
        return Estimate(value, math.nan, math.nan, count)
    low, high = (float(one) for one in np.quantile(replicates, INTERVAL_QUANTILES, method="nearest"))
    return Estimate(value, min(low, value), max(high, value), count)
