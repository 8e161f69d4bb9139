r"""The posterior of a relation given some entries: the result type, and its estimate from draws of a Markov chain.

With S draws the guess ``P > 1/2`` scored on the same draws is too high by about :math:`0.4/\sqrt S` where P = 1/2. To
avoid this bias, each half of the draws guesses for the other half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import special

from genlaws.core.arguments import Array, Mask, Whole, fits_memory, whole_number
from genlaws.core.errors import ConvergenceError
from genlaws.core.seeds import generator_of
from genlaws.relations.inference.color_chain import used_colors
from genlaws.relations.inference.resampling import ChainSample
from genlaws.relations.structure.training_set import TrainingSet

DrawTables = Callable[[int, np.random.Generator], Mask]
MAX_ENTRIES_AT_ONCE = 2_000_000  # of tables in memory
# Factor on the standard error. Where P = 1/2 the halves agree on a guess by chance, and then both score well: the
# variance of their mean grows by 1 + 2/π. Elsewhere the standard error is too large by at most this factor.
ERROR_FACTOR = np.sqrt(1.0 + 2.0 / np.pi)


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""The law of a relation given some of its entries, if every relation of the class was equally likely before.

    Attributes
    ----------
    training_set : TrainingSet
    probability : array, shape (n, n)
        :math:`P_{ij} = P(R_{ij}=1)`.
    accuracy : float
        The Bayes bound :math:`\frac1{n^2}\sum_{ij}\max(P_{ij}, 1-P_{ij})` over all entries, seen and unseen: the best
        mean accuracy over the relations of the class that agree with the training set, not a bound for each of them.
    bits_left : float
        Entropy of the relation in bits; NaN if it was not computed.
    method : str
        ``exact`` or ``Markov chain``.
    accuracy_error, bits_left_error : float
        Standard errors; zero if exact.
    converged : bool
        False if the Markov chains disagreed; `message` then states how.
    message : str
    """

    training_set: TrainingSet
    probability: Array
    accuracy: float
    bits_left: float
    method: str = "exact"
    accuracy_error: float = 0.0
    bits_left_error: float = 0.0
    converged: bool = True
    message: str = "Every entry's probability was computed exactly."
    draw_tables: DrawTables | None = field(default=None, repr=False)

    @property
    def unseen_accuracy(self) -> float:
        """The bound over the entries that are not in the training set; NaN if there is none."""
        seen, total = len(self.training_set.pairs), self.training_set.element_count**2
        return (self.accuracy * total - seen) / (total - seen) if seen < total else np.nan

    @property
    def determined(self) -> float:
        """Share of all entries that are determined."""
        return float(np.mean((self.probability == 0.0) | (self.probability == 1.0)))

    def draw(self, draws: int, seed: int | np.random.Generator = 0) -> Mask:
        """Return relations drawn independently from the law, as tables of shape (draws, n, n)."""
        if self.draw_tables is None:
            raise TypeError("This posterior has no sampler.")
        count = whole_number("draws", draws, at_least=1)
        fits_memory("draws of whole tables", count * self.probability.size, "Take fewer draws.")
        return self.draw_tables(count, generator_of(seed))


def bound(probability: Array) -> float:
    """Return the accuracy of the best guess for every entry."""
    return float(np.maximum(probability, 1.0 - probability).mean())


def entropy_bits(probability: Array) -> Array:
    r"""Return :math:`h(P) = -P\log_2 P - (1-P)\log_2(1-P)`, the information of one answer in bits."""
    p = np.asarray(probability, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = -(p * np.log2(p) + (1.0 - p) * np.log1p(-p) / np.log(2.0))
    return np.where((p > 0.0) & (p < 1.0), bits, 0.0)


def sampled_posterior(training_set: TrainingSet, sample: ChainSample, tables: Callable[[Whole], Mask]) -> Posterior:
    """Return the posterior from independent draws.

    Parameters
    ----------
    training_set : TrainingSet
    sample : ChainSample
        Its count is that of the relations left.
    tables : callable
        ``tables(draws)`` gives the relation's tables of some of the draws.
    """
    halves, draws = (sample.draws[::2], sample.draws[1::2]), len(sample.draws)
    shares = [_mean_table(tables, half, training_set.element_count) for half in halves]
    scores = np.concatenate([_scores(tables, halves[1 - side], shares[side] > 0.5) for side in (0, 1)])
    probability = (shares[0] * len(halves[0]) + shares[1] * len(halves[1])) / draws
    pairs = training_set.pairs
    probability[pairs[:, 0], pairs[:, 1]] = training_set.values
    state = "The two kinds of start agree" if sample.converged else "The chain has not converged"
    note = f"largest z between starts {sample.largest_z:.1f} after {sample.sweeps} sweeps"

    def draw(count: int, generator: np.random.Generator) -> Mask:
        return tables(sample.draws[generator.integers(0, draws, count)])

    return Posterior(
        training_set,
        probability,
        float(scores.mean()),
        sample.log2_count,
        method="Markov chain",
        accuracy_error=float(ERROR_FACTOR * scores.std(ddof=1) / np.sqrt(len(scores))),
        bits_left_error=sample.log2_count_error,
        converged=sample.converged,
        message=f"{state}: {note}, {draws} draws.",
        draw_tables=draw,
    )


def _chunks(draws: Whole, element_count: int) -> list[Whole]:
    return np.array_split(draws, max(1, len(draws) * element_count**2 // MAX_ENTRIES_AT_ONCE))


def _mean_table(tables: Callable[[Whole], Mask], draws: Whole, element_count: int) -> Array:
    total = sum(tables(part).sum(axis=0) for part in _chunks(draws, element_count))
    return np.asarray(total / len(draws))


def _scores(tables: Callable[[Whole], Mask], draws: Whole, guess: Mask) -> Array:
    """Return the accuracy of a guess on each draw."""
    parts = _chunks(draws, len(guess))
    return np.concatenate([(tables(part) == guess).mean(axis=(1, 2)) for part in parts])


def as_partitions(sample: ChainSample, class_count: int, prior: str) -> ChainSample:
    """Return the colorings that count under the prior, with the entropy of their partitions in bits as the count.

    With j colors in use a partition occurs :math:`k!/(k-j)!` times among the colorings.
    """
    used = used_colors(sample.draws, class_count).sum(axis=1)
    log2_factorial = special.gammaln(class_count + 1) / np.log(2.0)
    if prior == "relations":
        full = used == class_count
        if full.sum() < 100:
            raise ConvergenceError(
                f"Hardly any draw used all {class_count} classes; the Markov chain cannot estimate the law."
            )
        share = full.mean()
        bits_left = sample.log2_count + np.log2(share) - log2_factorial
        error = np.sqrt((1.0 - share) / (share * len(used))) / np.log(2.0)
        sample = replace(sample, draws=sample.draws[full])
    else:
        log2_names = log2_factorial - special.gammaln(class_count - used + 1) / np.log(2.0)
        error = log2_names.std(ddof=1) / np.sqrt(len(used))
        bits_left = sample.log2_count - log2_names.mean()
    whole_error = float(np.hypot(sample.log2_count_error, error))
    return replace(sample, log2_count=float(bits_left), log2_count_error=whole_error)
