r"""Which pair to query next, and how much the best queries gain over random ones.

An answer without noise is worth the entropy of its probability, :math:`h(P_{ij})` bits: the average decrease of the
relation's entropy. The best query is therefore the entry whose probability is nearest to one half.

Every answer is taken as certain. The best queries hardly ever overlap, so wrong answers rarely contradict each other:
with 10 % of them wrong an order of 20 elements looks completely known, and about 0.9 of its entries are right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genlaws.core.arguments import FLOAT_BYTES, Array, fits_memory, one_of, whole_number
from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.core.running import Running, checked_running
from genlaws.core.seeds import generator_of
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.hypotheses import Hypotheses, hypotheses_of
from genlaws.relations.inference.posterior import entropy_bits
from genlaws.relations.parameters import MAX_REPEATS
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import CERTAIN_ANSWERS, TrainingSet

if TYPE_CHECKING:
    import pandas as pd

STRATEGIES = ("best", "random")
MAX_QUERIES = 1_000_000  # of each run
TIE_TOLERANCE_BITS = 1e-9  # entries closer than this are equally good
ALL_KNOWN = f"No query is left: every entry follows from the training set. {CERTAIN_ANSWERS}"


@dataclass(frozen=True)
class NextPair:
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
    method : str
        ``exact`` or ``Markov chain``.
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
    method: str
    message: str


def next_pair(
    training_set: TrainingSet,
    hypotheses: Hypotheses,
    *,
    seed: int | np.random.Generator | None = None,
    method: str = "auto",
) -> NextPair:
    """Return the entry whose answer gives the most bits, if all answers are right.

    Parameters
    ----------
    training_set : TrainingSet
        Its values are taken as certain; values that contradict each other or the class raise an error.
    hypotheses : Equivalence, CompleteBipartite, TotalOrder or Entrywise
        What the learner knows about the relation.
    seed : int or numpy Generator, optional
        Choose at random among equally good entries; by default the first of them.
    method : str
        As for :func:`~genlaws.relations.inference.bayes_bound.posterior`.
    """
    generator = None if seed is None else generator_of(seed)
    law = posterior(training_set, hypotheses, method=method, seed=0 if generator is None else generator)
    bits = entropy_bits(law.probability)
    unseen = np.ones(bits.shape, dtype=bool)
    unseen[training_set.pairs[:, 0], training_set.pairs[:, 1]] = False
    random_bits = float(bits[unseen].mean()) if unseen.any() else 0.0
    best = float(bits.max(where=unseen, initial=0.0))
    if best <= TIE_TOLERANCE_BITS:
        return NextPair(None, None, 0.0, np.nan, 0, law.bits_left, random_bits, law.method, ALL_KNOWN)
    candidates = np.argwhere(unseen & (bits >= best - TIE_TOLERANCE_BITS))
    chosen = candidates[0 if generator is None else generator.integers(len(candidates))]
    i, j = int(chosen[0]), int(chosen[1])
    return NextPair(
        (i, j),
        (training_set.names[i], training_set.names[j]),
        float(bits[i, j]),
        float(law.probability[i, j]),
        len(candidates),
        law.bits_left,
        random_bits,
        law.method,
        f"{law.message} {CERTAIN_ANSWERS}",
    )


@dataclass(frozen=True)
class QueryCurve:
    """Accuracy and entropy against the number of queries.

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

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each number of answers, averaged over the runs."""
        import pandas as pd  # noqa: PLC0415

        repeats, columns = self.accuracy.shape
        error = self.accuracy.std(axis=0, ddof=1) / np.sqrt(repeats) if repeats > 1 else np.full(columns, np.nan)
        return pd.DataFrame(
            {
                "strategy": self.strategy,
                "queries": np.arange(columns),
                "accuracy": self.accuracy.mean(axis=0),
                "accuracy_error": error,
                "bits_left": self.bits_left.mean(axis=0),
            }
        )


def query_curve(
    relation: Relation,
    strategy: str = "best",
    *,
    queries: int | None = None,
    hypotheses: Hypotheses | None = None,
    repeats: int = 5,
    seed: int = 0,
    running: Running | None = None,
) -> QueryCurve:
    """Return how accuracy grows when a learner queries one entry after the other.

    Parameters
    ----------
    relation : Relation
        It gives the answers, which are all right.
    strategy : str
        ``best``: the entry with the most bits, at random among equals. ``random``: a random unknown entry.
    queries : int, optional
        Number of queries; by default until every entry is known in all runs.
    hypotheses : optional
        What the learner knows; by default the smallest known class that contains the relation.
    repeats, seed : int
    running : Running, optional
        Its steps are the queries.
    """
    one_of("strategy", strategy, STRATEGIES)
    whole_number("repeats", repeats, at_least=1, at_most=MAX_REPEATS, hint="Every run is held in memory.")
    most = relation.pair_count
    if queries is not None:
        most = whole_number("queries", queries, at_least=1, at_most=MAX_QUERIES, hint="All answers are held in memory.")
        fits_memory("repeats and queries", 3 * FLOAT_BYTES * repeats * most, "Take fewer of either.")
    known = hypotheses_of(relation) if hypotheses is None else hypotheses
    seeds = np.random.SeedSequence(whole_number("seed", seed)).spawn(repeats)
    shown = checked_running(running)
    shown.start(repeats * most, f"{relation.label}: queries, {strategy}")
    runs = [_run_queries(relation, known, strategy == "best", most, np.random.default_rng(s), shown) for s in seeds]
    width = max(len(run) for run in runs) if queries is None else most + 1
    padded = np.array([run + [run[-1]] * (width - len(run)) for run in runs])
    needed = np.array([_first_certain(run) for run in runs], dtype=float)
    error = float(needed.std(ddof=1) / np.sqrt(repeats)) if repeats > 1 else np.nan
    return QueryCurve(
        strategy, padded[:, :, 0], padded[:, :, 1], from_standard_error(float(needed.mean()), error, repeats)
    )


def _run_queries(  # noqa: PLR0917
    relation: Relation,
    hypotheses: Hypotheses,
    best: bool,
    most: int,
    generator: np.random.Generator,
    running: Running,
) -> list[tuple[float, float]]:
    """Return accuracy and bits left after each answer, until every entry is known."""
    n = relation.element_count
    known = TrainingSet(n, np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=bool), relation.names)
    unseen = generator.permutation(n * n).tolist()
    course = []
    while True:
        law = posterior(known, hypotheses, truth=relation, seed=generator)
        course.append((law.accuracy, law.bits_left))
        if law.determined == 1.0 or len(course) > most:
            running.advance(most + 1 - len(course))  # queries that were not needed
            return course
        if best:
            bits = entropy_bits(law.probability)
            candidates = np.argwhere(bits >= bits.max() - TIE_TOLERANCE_BITS)
            pair = candidates[generator.integers(len(candidates))].tolist()
        else:
            pair = list(divmod(unseen.pop(), n))
        known = known.with_answer((pair[0], pair[1]), bool(relation.values([pair])[0]))
        running.advance()


def _first_certain(run: list[tuple[float, float]]) -> float:
    """Return the number of answers after which the bound is one, or NaN if it never was."""
    return float(len(run) - 1) if run[-1][0] >= 1.0 else np.nan
