"""Parts shared by the Markov chains: groups that move together, resampling, and the comparison of two starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Mask, Whole

POPULATIONS = 16  # independent groups of particles; their spread gives the standard error
MAX_CHAIN_Z_SCORE = 4.0  # between particles of different starts, for a chain that counts as converged


def independent_groups(linked: Mask) -> list[Whole]:
    """Return groups of elements without a link inside, found greedily; `linked` is read in both directions."""
    both = linked | linked.T
    color = np.full(len(both), -1)
    for element in np.argsort(-both.sum(axis=0), kind="stable"):
        taken = set(color[both[element]].tolist())
        color[element] = next(number for number in range(len(both)) if number not in taken)
    return [np.flatnonzero(color == number) for number in range(color.max() + 1)]


def padded(lists: Sequence[ArrayLike], filler: int) -> Whole:
    """Return lists of different lengths as one table, padded with a number."""
    width = max(1, *(len(np.asarray(entries)) for entries in lists))
    table = np.full((len(lists), width), filler)
    for row, entries in enumerate(lists):
        table[row, : len(np.asarray(entries))] = entries
    return table


def half_of(draws: int) -> int:
    """Return how many particles make about half of the draws: equally many in each population, at least one."""
    return max(POPULATIONS, draws // 2 // POPULATIONS * POPULATIONS)


def resample(weights: Array, generator: np.random.Generator) -> Whole:
    """Return the particles chosen in proportion to their weights, within each population (row).

    Systematic resampling: one random number for each population.
    """
    populations, size = weights.shape
    ends = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True) * size
    teeth = generator.random((populations, 1)) + np.arange(size)
    chosen = [np.minimum(np.searchsorted(end, tooth), size - 1) for end, tooth in zip(ends, teeth, strict=True)]
    return np.concatenate([row + number * size for number, row in enumerate(chosen)])


@dataclass(frozen=True, eq=False)
class ChainSample:
    """What a Markov chain drew.

    Attributes
    ----------
    draws : array of int, shape (draws, elements)
        The color of each vertex, or the rank of each element; the draws are independent.
    log2_count, log2_count_error : float
        Estimated binary logarithm of the number of colorings, partitions or orders, and its standard error.
    sweeps : int
        Sweeps that every particle made among proper colorings or orders.
    largest_z : float
        Largest z-score between particles of different starts.
    converged : bool
    """

    draws: Whole
    log2_count: float
    log2_count_error: float
    sweeps: int
    largest_z: float
    converged: bool


class Particles(Protocol):
    """Particles of one kind of start."""

    def step(self) -> None:
        """Make one sweep."""

    def compared(self) -> Array | Whole:
        """Return the numbers whose means are compared between starts, one row for each particle."""


def sweep_until_equal(one: Particles, other: Particles, first: int, most: int) -> tuple[int, float]:
    """Sweep both groups of particles, doubling the number, until they agree; return the sweeps and the last z-score."""
    done, planned = 0, first
    while True:
        for _ in range(planned - done):
            one.step()
            other.step()
        done = planned
        largest_z = largest_z_score(one.compared(), other.compared())
        if largest_z < MAX_CHAIN_Z_SCORE or done >= most:
            return done, largest_z
        planned *= 2


def largest_z_score(one: Array | Whole, other: Array | Whole) -> float:
    """Return the largest z-score between the means of two sets of independent particles (rows) over all columns."""
    gap = np.abs(one.mean(axis=0) - other.mean(axis=0))
    error = np.sqrt(one.var(axis=0, ddof=1) / len(one) + other.var(axis=0, ddof=1) / len(other))
    z = np.divide(gap, error, out=np.where(gap > 0, np.inf, 0.0), where=error > 0)
    return float(z.max())


def mean_of_powers(log2_values: Array) -> tuple[float, float]:
    r"""Return :math:`\log_2` of the mean of :math:`2^x`, and its standard error to first order."""
    largest = log2_values.max()
    powers = np.exp2(log2_values - largest)
    error = np.std(powers, ddof=1) / np.sqrt(len(powers)) / powers.mean() / np.log(2.0)
    return float(largest + np.log2(powers.mean())), float(error)
