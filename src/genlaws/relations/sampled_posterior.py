r"""The Bayes bound from draws of a Markov chain, without the bias of guessing and scoring on the same draws.

With S draws the guess ``P > 1/2`` scored on those same draws is too good by about :math:`0.4/\sqrt S` where P = 1/2.
Here each half of the draws guesses for the other half.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from genlaws.numerics.arguments import Array, Mask, Whole
from genlaws.numerics.errors import ConvergenceError
from genlaws.relations.colour_chain import ColouringSample, used_colours
from genlaws.relations.posterior import Posterior
from genlaws.relations.training_set import TrainingSet

CHUNK = 2_000_000  # entries of the tables held at once
# Where P = 1/2 the halves agree on a guess by chance, and then both score well: the variance of their mean grows by
# 1 + 2/π. Elsewhere the error is too large by this much at most.
SHARED_LUCK = np.sqrt(1.0 + 2.0 / np.pi)


def sampled_posterior(
    training_set: TrainingSet,
    tables: Callable[[Whole], Mask],
    draws: int,
    *,
    bits_left: tuple[float, float],
    converged: bool,
    note: str,
) -> Posterior:
    """Return the posterior from independent draws.

    Parameters
    ----------
    tables : callable
        ``tables(rows)`` gives the relation's tables of the draws with these numbers.
    draws : int
    bits_left : (float, float)
        Entropy and its standard error.
    converged : bool
    note : str
        What the check of convergence found.
    """
    halves = np.arange(0, draws, 2), np.arange(1, draws, 2)
    shares = [_mean_table(tables, rows, training_set.element_count) for rows in halves]
    scores = np.concatenate([_scores(tables, halves[1 - side], shares[side] > 0.5) for side in (0, 1)])
    probability = (shares[0] * len(halves[0]) + shares[1] * len(halves[1])) / draws
    pairs = training_set.pairs
    probability[pairs[:, 0], pairs[:, 1]] = training_set.values
    state = "The two kinds of start agree" if converged else "The chain has not converged"

    def draw(count: int, generator: np.random.Generator) -> Mask:
        return tables(generator.integers(0, draws, count))

    return Posterior(
        training_set,
        probability,
        float(scores.mean()),
        bits_left[0],
        method="Markov chain",
        accuracy_error=float(SHARED_LUCK * scores.std(ddof=1) / np.sqrt(len(scores))),
        bits_left_error=bits_left[1],
        converged=converged,
        message=f"{state}: {note}, {draws} walkers.",
        draw_tables=draw,
    )


def _chunks(rows: Whole, element_count: int) -> list[Whole]:
    return np.array_split(rows, max(1, len(rows) * element_count**2 // CHUNK))


def _mean_table(tables: Callable[[Whole], Mask], rows: Whole, element_count: int) -> Array:
    total = sum(tables(part).sum(axis=0) for part in _chunks(rows, element_count))
    return np.asarray(total / len(rows))


def _scores(tables: Callable[[Whole], Mask], rows: Whole, guess: Mask) -> Array:
    """Return the accuracy of a guess on each draw."""
    parts = _chunks(rows, len(guess))
    return np.concatenate([(tables(part) == guess).mean(axis=(1, 2)) for part in parts])


def partition_bits(sample: ColouringSample, class_count: int, prior: str) -> tuple[Whole, tuple[float, float]]:
    """Return the colourings that count under the prior, and the entropy of their partitions in bits with its error.

    With j colours in use a partition is met :math:`k!/(k-j)!` times among the colourings.
    """
    draws = len(sample.colours)
    used = used_colours(sample.colours, class_count).sum(axis=1)
    log2_factorial = special.gammaln(class_count + 1) / np.log(2.0)
    if prior == "relations":
        full = used == class_count
        if full.sum() < 100:
            raise ConvergenceError(f"Hardly any draw used all {class_count} classes; the Markov chain cannot tell.")
        share = full.mean()
        bits_left = sample.log2_count + np.log2(share) - log2_factorial
        error = np.sqrt((1.0 - share) / (share * draws)) / np.log(2.0)
        return sample.colours[full], (float(bits_left), float(np.hypot(sample.log2_count_error, error)))
    log2_names = log2_factorial - special.gammaln(class_count - used + 1) / np.log(2.0)
    error = log2_names.std(ddof=1) / np.sqrt(draws)
    bits_left = sample.log2_count - log2_names.mean()
    return sample.colours, (float(bits_left), float(np.hypot(sample.log2_count_error, error)))
