"""What a learner who knows the class of a relation can know about every entry: the result type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from genlaws.numerics.arguments import Array, Mask, fits_memory, whole_number
from genlaws.numerics.seeds import generator_of
from genlaws.relations.training_set import TrainingSet

DrawTables = Callable[[int, np.random.Generator], Mask]


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""The law of a relation given some of its entries, every relation of the class being equally likely before.

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
        False if the chains of a Markov chain disagreed; `message` then says how.
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
        """Share of all entries about which nothing is left open."""
        return float(np.mean((self.probability == 0.0) | (self.probability == 1.0)))

    def draw(self, draws: int, seed: int | np.random.Generator = 0) -> Mask:
        """Return relations drawn independently from the law, as tables of shape (draws, n, n)."""
        if self.draw_tables is None:
            raise TypeError("This posterior carries no sampler.")
        count = whole_number("draws", draws, at_least=1)
        fits_memory("draws of whole tables", count * self.probability.size, "Take fewer draws.")
        return self.draw_tables(count, generator_of(seed))


def bound(probability: Array) -> float:
    """Return the accuracy of the best guess for every entry."""
    return float(np.maximum(probability, 1.0 - probability).mean())


def entropy_bits(probability: Array) -> Array:
    r"""Return :math:`h(P) = -P\log_2 P - (1-P)\log_2(1-P)`, the bits one answer is worth."""
    p = np.asarray(probability, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = -(p * np.log2(p) + (1.0 - p) * np.log1p(-p) / np.log(2.0))
    return np.where((p > 0.0) & (p < 1.0), bits, 0.0)
