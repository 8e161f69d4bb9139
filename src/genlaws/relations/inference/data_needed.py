"""How many random entries a learner needs to reach an accuracy, from the exact bound or the majority answer.

The majority answer is the more frequent of yes and no over the whole table. Without any entry it gives the majority
accuracy. In entrywise classes, where known entries determine hardly any others, it is the answer for open entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from genlaws.core.arguments import Array, Whole, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_replicates
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.running import Running, checked_running
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.bound_curve import BOOTSTRAP_REPLICATES, DEFAULT_REPEATS, table_length
from genlaws.relations.inference.hypotheses import (
    Entrywise,
    Hypotheses,
    average_meaning,
    bounds_this_relation,
    hypotheses_of,
)
from genlaws.relations.inference.paper import critical_fraction
from genlaws.relations.inference.posterior import Posterior
from genlaws.relations.parameters import MAX_REPEATS, KnownClass, Repeats, Seed, TargetAccuracy
from genlaws.relations.structure.description_length import description_length_exact
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import draw_order, training_set_of

GRID_POINTS = 9  # of the mean curve between the earliest and the latest crossing


@dataclass(frozen=True, eq=False, repr=False)
class DataNeeded(Result):
    r"""Training fraction at which a target accuracy is reached, on average over training sets.

    Attributes
    ----------
    relation : str
    element_count : int
    hypotheses : str
        What the learner knows.
    target_accuracy : float
    train_fraction : Estimate
        Where the mean over training sets crosses the target, with the bootstrap interval over training sets; 0 if the
        target is at or below the majority accuracy.
    sample_count : Estimate
        The same as a number of entries.
    early_fraction, late_fraction : float
        Training fractions at which 10 % and 90 % of training sets have reached the target.
    fraction_formula : float
        Eq. 4 with the description length of the paper's Table II.
    fraction_formula_exact : float
        Eq. 4 with :math:`\log_2(n!/|Aut|)`.
    exact : bool
        Whether every probability behind it was computed exactly.
    majority_accuracy : float
        Accuracy of always giving the majority answer.
    majority_answer : str
    bounds_this_relation : bool
        Whether it holds for this relation alone, not only on average over its class.
    meaning : str
        Which learner needs this many entries, and whether another can need fewer.
    """

    relation: str
    element_count: int
    hypotheses: str
    target_accuracy: float
    train_fraction: Estimate
    sample_count: Estimate
    early_fraction: float
    late_fraction: float
    fraction_formula: float
    fraction_formula_exact: float
    exact: bool
    majority_accuracy: float
    majority_answer: str
    bounds_this_relation: bool
    meaning: str

    def summary(self) -> Summary:
        """Return the share of entries, the number of them, and Eq. 4."""
        early, late = self.early_fraction, self.late_fraction
        formula, exact_formula = self.fraction_formula, self.fraction_formula_exact
        how = "exactly" if self.exact else "by the Markov chain for some training sets"
        target = f"{self.target_accuracy:g} of all entries of {self.relation}"
        return Summary(
            rows=[
                Row("share of all entries needed", str(self.train_fraction)),
                Row("number of entries", f"{self.sample_count} of {self.element_count**2}"),
                Row("most training sets", f"between {early:.4f} (one in ten has arrived) and {late:.4f} (nine in ten)"),
                Row(
                    "the paper's Eq. 4",
                    f"{formula:.4f} with the paper's description length, {exact_formula:.4f} with the exact one",
                ),
            ],
            sentences=[f"Random entries to be right on {target}, computed {how}.", self.meaning],
        )


@dataclass
class _Paths:
    """The accuracy along growing training sets, each computed once."""

    relation: Relation
    hypotheses: Hypotheses
    orders: list[Whole]
    running: Running
    known: dict[tuple[int, int], float] = field(default_factory=dict)
    exact: bool = True

    def accuracy(self, path: int, count: int) -> float:
        """Return the accuracy after the first `count` entries of one order."""
        if (path, count) not in self.known:
            training_set = training_set_of(self.relation, self.orders[path][:count])
            law = posterior(training_set, self.hypotheses, truth=self.relation, seed=count)
            self.exact &= law.method == "exact"
            self.known[path, count] = max(self._accuracy_of(law), self.relation.majority_accuracy)
        return self.known[path, count]

    def _accuracy_of(self, law: Posterior) -> float:
        """Return the bound; for entrywise classes, whose bound is not informative, the share of right answers.

        Right answers are the entries that the known ones determine, and other entries with the majority answer.
        """
        if not isinstance(self.hypotheses, Entrywise):
            return law.accuracy
        decided = (law.probability == 0.0) | (law.probability == 1.0)
        return float(np.mean(decided | (self.relation.matrix == (self.relation.majority_answer == "yes"))))

    def crossing(self, path: int, target: float) -> int:
        """Return a number of entries at which the accuracy crosses the target: one entry fewer is below it."""
        low, high = (-1, 0) if self.accuracy(path, 0) >= target else (0, len(self.orders[path]))
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.accuracy(path, middle) >= target else (middle, high)
        self.running.advance()
        return high


@question
def data_needed(
    relation: Relation,
    *,
    target_accuracy: TargetAccuracy = 0.9,
    hypotheses: KnownClass = None,
    repeats: Repeats = DEFAULT_REPEATS,
    seed: Seed = 0,
    running: Running | None = None,
) -> DataNeeded:
    """Give the share of random entries from which the best learner reaches an accuracy, and the paper's Eq. 4.

    Along each of several random orders of all entries, the crossing of the target accuracy is found. The mean curve is
    then computed between the earliest and the latest crossing, and its own crossing is returned.

    The accuracy is the bound, or the majority accuracy where that is larger. In entrywise classes the bound is an
    average over very different relations; there the learner knows the entries that the training set determines and
    gives the majority answer elsewhere, and another learner may need fewer entries.

    Parameters
    ----------
    relation : Relation
    target_accuracy : float in (0, 1]
    hypotheses : optional
        What the learner knows; by default the smallest known class that contains the relation.
    repeats : int
        Random orders, at least 2.
    seed : int
    running : Running, optional
        Its steps are the orders.

    References
    ----------
    :cite:p:`baek2024`, Eq. 4, is the approximation this replaces.
    """
    target = float(target_accuracy)
    whole_number("repeats", repeats, at_least=2, at_most=MAX_REPEATS, hint="An interval needs two training sets.")
    known = hypotheses_of(relation) if hypotheses is None else hypotheses
    seeds = np.random.SeedSequence(seed).spawn(repeats)
    orders = [draw_order(relation.element_count, np.random.default_rng(s)) for s in seeds]
    shown = checked_running(running)
    shown.start(repeats, f"{relation.label}: training sets")
    paths = _Paths(relation, known, orders, shown)
    crossings = np.array([paths.crossing(path, target) for path in range(repeats)])
    count = _mean_crossing(paths, crossings, target, np.random.default_rng(seed))
    total = relation.pair_count
    share = Estimate(count.value / total, count.low / total, count.high / total, repeats)
    early, late = np.quantile(crossings, [0.1, 0.9]) / total
    return DataNeeded(
        relation=relation.label,
        element_count=relation.element_count,
        hypotheses=str(known),
        target_accuracy=target,
        train_fraction=share,
        sample_count=count,
        early_fraction=float(early),
        late_fraction=float(late),
        fraction_formula=_eq4(target, relation, table_length(relation.element_count, known)),
        fraction_formula_exact=_eq4(target, relation, description_length_exact(relation)),
        exact=paths.exact,
        majority_accuracy=relation.majority_accuracy,
        majority_answer=relation.majority_answer,
        bounds_this_relation=bounds_this_relation(known),
        meaning=_meaning(relation, known, target),
    )


def _meaning(relation: Relation, hypotheses: Hypotheses, target: float) -> str:
    """Return a sentence on which learner needs this many entries, and whether another can need fewer."""
    answer, majority = relation.majority_answer, relation.majority_accuracy
    if target <= majority:
        return f"Always answering {answer} is right on {majority:.6g} of all entries, so no entry is needed."
    if isinstance(hypotheses, Entrywise):
        return (
            f"This is the training fraction for a learner that answers {answer} wherever the known entries and "
            f"the class '{hypotheses}' leave the answer open. It is not a bound for this relation: a learner that "
            "finds more structure in it may need fewer entries."
        )
    return average_meaning(hypotheses)


def _eq4(target: float, relation: Relation, length: float) -> float:
    """Return Eq. 4, or NaN where it is not defined for the description length."""
    try:
        return float(critical_fraction(target, relation.element_count, length))
    except InputError:
        return float("nan")


def _mean_crossing(paths: _Paths, crossings: Whole, target: float, generator: np.random.Generator) -> Estimate:
    """Return where the mean curve crosses the target, with its bootstrap interval."""
    repeats = len(crossings)
    low, high = max(0, int(crossings.min()) - 1), int(crossings.max())
    grid = np.unique(np.round(np.linspace(low, high, GRID_POINTS)).astype(int))
    accuracy = np.array([[paths.accuracy(path, int(count)) for count in grid] for path in range(repeats)])
    rows = generator.integers(0, repeats, (BOOTSTRAP_REPLICATES, repeats))
    replicates = [_crossing_of(accuracy[chosen].mean(axis=0), grid, target) for chosen in rows]
    return from_replicates(_crossing_of(accuracy.mean(axis=0), grid, target), replicates, repeats)


def _crossing_of(curve: Array, grid: Whole, target: float) -> float:
    """Return where a curve reaches the target, by linear interpolation."""
    reached = np.flatnonzero(curve >= target)
    if len(reached) == 0:
        return float(grid[-1])
    first = int(reached[0])
    if first == 0:
        return float(grid[0])
    rise = curve[first] - curve[first - 1]
    return float(grid[first - 1] + (grid[first] - grid[first - 1]) * (target - curve[first - 1]) / rise)
