r"""Which pair to query next, and how much the best queries gain over random ones.

An answer without noise is worth the entropy of its probability, :math:`h(P_{ij})` bits: the average decrease of the
relation's entropy. The best query is therefore the entry whose probability is nearest to one half.

Every answer is taken as certain. The best queries hardly ever overlap, so wrong answers rarely contradict each other:
with 10 % of them wrong an order of 20 elements looks completely known, and about 0.9 of its entries are right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import FLOAT_BYTES, Array, fits_memory, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.core.frames import DataFrame, frame_of, stack_frames
from genlaws.core.plain import parts_of
from genlaws.core.result import Result, Row, Summary, question, text_table
from genlaws.core.running import Running, checked_running
from genlaws.core.seeds import generator_of
from genlaws.relations import parameters
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.bound_curve import MAJORITY_TOLERANCE
from genlaws.relations.inference.hypotheses import Hypotheses, hypotheses_of
from genlaws.relations.inference.posterior import entropy_bits
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import CERTAIN_ANSWERS, TrainingSet

DEFAULT_QUERY_REPEATS = 5
TIE_TOLERANCE_BITS = 1e-9  # entries closer than this are equally good
ALL_KNOWN = f"No query is left: every entry follows from the training set. {CERTAIN_ANSWERS}"
MAX_ROWS_PRINTED = 11  # of a query curve


@dataclass(frozen=True, eq=False, repr=False)
class NextPair(Result):
    """The best entry to query, if all answers are right.

    Attributes
    ----------
    pair : (int, int) or None
        None if every entry is known.
    names : (str, str) or None
    bits : float
        Average information of the answer.
    probability : float
        P(the answer is 1).
    ties : int
        How many entries are equally good.
    bits_left : float
        Entropy of the relation before the answer.
    random_bits : float
        Average information of the answer about a random unknown entry.
    train_fraction : float
        Share of all entries that are known.
    hypotheses : str
        What the learner knows beforehand.
    method : str
        ``exact`` or ``Markov chain``.
    answers_taken_as_certain : bool
        True: one wrong answer among the known entries can make it wrong.
    message : str
        How the result was computed, and that answers are taken as certain.
    """

    pair: tuple[int, int] | None
    names: tuple[str, str] | None
    bits: float
    probability: float
    ties: int
    bits_left: float
    random_bits: float
    train_fraction: float
    hypotheses: str
    method: str
    answers_taken_as_certain: bool
    message: str

    def to_frame(self) -> DataFrame:
        """Return one row."""
        first, second = (None, None) if self.names is None else self.names
        numbers = {name: part for name, part in parts_of(self).items() if name not in {"pair", "names"}}
        return frame_of([{"first": first, "second": second, **numbers}])

    def summary(self) -> Summary:
        """Return the entry and what its answer is worth."""
        if self.names is None:
            return Summary(sentences=[self.message])
        return Summary(
            rows=[
                Row("query", f"({', '.join(self.names)})"),
                Row("worth", f"{self.bits:.4f} bits; an unseen entry at random {self.random_bits:.4f}"),
                Row("chance of a 1", f"{self.probability:.4f}"),
                Row("equally good", f"{self.ties} {'entry' if self.ties == 1 else 'entries'}"),
                Row("bits left", f"{self.bits_left:.3f}"),
            ],
            sentences=[f"The learner knows the class '{self.hypotheses}'.", self.message],
        )


@question
def next_pair(
    training_set: TrainingSet,
    *,
    hypotheses: parameters.GivenClass,
    method: parameters.BoundMethod = "auto",
    seed: parameters.TieSeed = None,
) -> NextPair:
    """Give the entry whose answer is worth most bits, if all answers are right.

    Parameters
    ----------
    training_set : TrainingSet
        Its values are taken as certain; values that contradict each other or the class raise an error.
    hypotheses : Equivalence, CompleteBipartite, TotalOrder or Entrywise
        What the learner knows about the relation.
    method : str
        As for :func:`~genlaws.relations.inference.bayes_bound.posterior`.
    seed : int or numpy Generator, optional
        Choose at random among equally good entries; by default the first of them.
    """
    generator = None if seed is None else generator_of(seed)
    law = posterior(training_set, hypotheses, method=method, seed=0 if generator is None else generator)
    bits = entropy_bits(law.probability)
    unseen = np.ones(bits.shape, dtype=bool)
    unseen[training_set.pairs[:, 0], training_set.pairs[:, 1]] = False
    best = float(bits.max(where=unseen, initial=0.0))
    known = best <= TIE_TOLERANCE_BITS
    candidates = np.argwhere(unseen & (bits >= best - TIE_TOLERANCE_BITS))
    chosen = (0, 0) if known else candidates[0 if generator is None else generator.integers(len(candidates))]
    i, j = int(chosen[0]), int(chosen[1])
    return NextPair(
        pair=None if known else (i, j),
        names=None if known else (training_set.names[i], training_set.names[j]),
        bits=0.0 if known else best,
        probability=np.nan if known else float(law.probability[i, j]),
        ties=0 if known else len(candidates),
        bits_left=law.bits_left,
        random_bits=float(bits[unseen].mean()) if unseen.any() else 0.0,
        train_fraction=training_set.train_fraction,
        hypotheses=str(hypotheses),
        method=law.method,
        answers_taken_as_certain=True,
        message=ALL_KNOWN if known else f"{law.message} {CERTAIN_ANSWERS}",
    )


@dataclass(frozen=True)
class StrategyCurve:
    """Accuracy and entropy against the number of queries that one strategy chose.

    Attributes
    ----------
    strategy : str
        ``best`` or ``random``.
    accuracy, bits_left : arrays, shape (repeats, queries + 1)
        The bound and the entropy after 0, 1, … answers.
    queries_to_certainty : Estimate
        Mean number of queries after which every entry was known; NaN if some runs ended earlier.
    """

    strategy: str
    accuracy: Array
    bits_left: Array
    queries_to_certainty: Estimate

    def to_frame(self) -> DataFrame:
        """Return one row for each number of answers, averaged over the runs."""
        repeats, columns = self.accuracy.shape
        error = self.accuracy.std(axis=0, ddof=1) / np.sqrt(repeats) if repeats > 1 else np.full(columns, np.nan)
        return frame_of(
            {
                "strategy": self.strategy,
                "queries": np.arange(columns),
                "accuracy": self.accuracy.mean(axis=0),
                "accuracy_error": error,
                "bits_left": self.bits_left.mean(axis=0),
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class QueryCurve(Result):
    """How accuracy grows when a learner queries one entry after the other.

    Attributes
    ----------
    relation : str
    hypotheses : str
        What the learner knows beforehand.
    repeats : int
        Runs of each strategy.
    majority_accuracy : float
        Accuracy of always giving the majority answer.
    majority_answer : str
    strategies : tuple of StrategyCurve
    """

    relation: str
    hypotheses: str
    repeats: int
    majority_accuracy: float
    majority_answer: str
    strategies: tuple[StrategyCurve, ...]

    def to_frame(self) -> DataFrame:
        """Return one row for each strategy and number of answers, averaged over the runs."""
        return stack_frames([one.to_frame() for one in self.strategies])

    def summary(self) -> Summary:
        """Return accuracy and bits left for some numbers of queries."""
        last = min(one.accuracy.shape[1] for one in self.strategies) - 1
        header = [text for one in self.strategies for text in (f"{one.strategy}: accuracy", "bits left")]
        rows = [["queries", *header]]
        for count in sorted({round(last * part / (MAX_ROWS_PRINTED - 1)) for part in range(MAX_ROWS_PRINTED)}):
            pairs = [(one.accuracy[:, count].mean(), one.bits_left[:, count].mean()) for one in self.strategies]
            rows.append([str(count), *(text for pair in pairs for text in (f"{pair[0]:.4f}", f"{pair[1]:.2f}"))])
        start = self.strategies[0]
        needed = ", ".join(f"{one.strategy} {one.queries_to_certainty}" for one in self.strategies)
        sentences = [
            f"Queries until all is certain: {needed}. {self.relation}, class '{self.hypotheses}', "
            f"{start.bits_left[0, 0]:.2f} bits at the start: no strategy needs fewer on average over the class."
        ]
        if start.accuracy[0, 0] < self.majority_accuracy - MAJORITY_TOLERANCE:
            sentences.append(
                "The accuracies are averages over the class. "
                f"Always answering {self.majority_answer} is right on {self.majority_accuracy:.6g} of this relation."
            )
        return Summary(table=text_table(rows), sentences=sentences)


@question
def query_curve(
    relation: Relation,
    *,
    strategies: parameters.QueryStrategies = parameters.QUERY_STRATEGIES,
    queries: parameters.Queries = None,
    hypotheses: parameters.KnownClass = None,
    repeats: parameters.QueryRepeats = DEFAULT_QUERY_REPEATS,
    method: parameters.BoundMethod = "auto",
    seed: parameters.Seed = 0,
    running: Running | None = None,
) -> QueryCurve:
    """Give how accuracy grows when a learner queries one entry after the other, by the best choice or at random.

    Parameters
    ----------
    relation : Relation
        It gives the answers, which are all right.
    strategies : list of str
        ``best``: the entry with the most bits, at random among equals. ``random``: a random unknown entry.
    queries : int, optional
        Number of queries; by default until every entry is known in all runs.
    hypotheses : optional
        What the learner knows; by default the smallest known class that contains the relation.
    repeats : int
        Runs of each strategy.
    method : str
        As for :func:`~genlaws.relations.inference.bayes_bound.posterior`.
    seed : int
    running : Running, optional
        Its steps are the queries.
    """
    if not strategies:
        raise InputError(f"strategies must name one of {', '.join(parameters.QUERY_STRATEGIES)} or both; got none.")
    most = relation.pair_count if queries is None else queries
    if queries is not None:
        fits_memory("repeats and queries", 3 * FLOAT_BYTES * repeats * most, "Take fewer of either.")
    known = hypotheses_of(relation) if hypotheses is None else hypotheses
    shown, curves = checked_running(running), []
    for strategy in strategies:
        seeds = np.random.SeedSequence(whole_number("seed", seed)).spawn(repeats)
        shown.start(repeats * most, f"{relation.label}: queries, {strategy}")
        queried = _Queries(relation, known, strategy == "best", most, method, shown)
        runs = [queried.course(np.random.default_rng(one)) for one in seeds]
        width = max(len(run) for run in runs) if queries is None else most + 1
        padded = np.array([run + [run[-1]] * (width - len(run)) for run in runs])
        needed = np.array([len(run) - 1 if run[-1][0] >= 1.0 else np.nan for run in runs], dtype=float)
        error = float(needed.std(ddof=1) / np.sqrt(repeats)) if repeats > 1 else np.nan
        certain = from_standard_error(float(needed.mean()), error, repeats)
        curves.append(StrategyCurve(strategy, padded[:, :, 0], padded[:, :, 1], certain))
    return QueryCurve(
        relation=relation.label,
        hypotheses=str(known),
        repeats=repeats,
        majority_accuracy=relation.majority_accuracy,
        majority_answer=relation.majority_answer,
        strategies=tuple(curves),
    )


@dataclass(frozen=True)
class _Queries:
    """How the entries of a relation are queried; `most` queries at most in each run."""

    relation: Relation
    hypotheses: Hypotheses
    best: bool
    most: int
    method: str
    running: Running

    def course(self, generator: np.random.Generator) -> list[tuple[float, float]]:
        """Return accuracy and bits left after each answer, until every entry is known."""
        n = self.relation.element_count
        known = TrainingSet(n, np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=bool), self.relation.names)
        unseen = generator.permutation(n * n).tolist()
        course = []
        while True:
            law = posterior(known, self.hypotheses, method=self.method, truth=self.relation, seed=generator)
            course.append((law.accuracy, law.bits_left))
            if law.determined == 1.0 or len(course) > self.most:
                self.running.advance(self.most + 1 - len(course))  # queries that were not needed
                return course
            if self.best:
                bits = entropy_bits(law.probability)
                candidates = np.argwhere(bits >= bits.max() - TIE_TOLERANCE_BITS)
                pair = candidates[generator.integers(len(candidates))].tolist()
            else:
                pair = list(divmod(unseen.pop(), n))
            known = known.with_answer((pair[0], pair[1]), bool(self.relation.values([pair])[0]))
            self.running.advance()
