r"""Sample proper colorings where they cannot be counted: a Markov chain with slowly hardening constraints.

Walkers start from random colors. Each violated edge costs :math:`\beta`, which grows in steps small enough that the
walkers can follow (annealed sequential Monte Carlo); between steps every vertex is redrawn given its neighbors. The
mean weights multiply to the share of all :math:`q^N` colorings that are proper. In the end walkers with a violated
edge are dropped and the rest goes on among proper colorings. There single vertices are often locked, so each sweep
also takes two colors and swaps them, with probability one half each, on every connected piece that bears them (the
moves of Wang, Swendsen and Kotecký 1989).

If the truth behind the training set is known, other walkers start from it. The truth is itself a fair draw from the
posterior, so both kinds of walkers must agree; where they do not, some colorings are out of the others' reach and the
walkers from the truth are the ones to believe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.core.errors import ConvergenceError
from genlaws.relations.inference.resampling import independent_groups, largest_z_score, mean_of_powers, padded, resample
from genlaws.relations.structure.symmetry_reduction import Neighbors

POPULATIONS = 16  # independent groups of walkers, whose spread is the error
KEPT_SHARE = 0.8  # smallest effective share of walkers that one step of hardening may leave
PROPER_SHARE = 0.3  # of walkers without a violated edge, at which the rest is dropped
MOST_STEPS = 400
HARD = 60.0  # cost of a violated edge at which none is made any more
SWEEPS_PER_STEP = 4
FIRST_SWEEPS = 128
MOST_SWEEPS = 1024
LARGEST_Z = 4.0  # of how many vertices share a vertex's color, the largest over vertices


@dataclass(frozen=True, eq=False)
class ColoringSample:
    """Proper colorings drawn by a Markov chain.

    Attributes
    ----------
    colors : array of int, shape (draws, vertices)
    log2_count, log2_count_error : float
        Estimated binary logarithm of the number of proper colorings, and its standard error.
    sweeps : int
        Sweeps every walker made among proper colorings.
    largest_z : float
        Largest z-score between walkers of different starts.
    converged : bool
    """

    colors: Whole
    log2_count: float
    log2_count_error: float
    sweeps: int
    largest_z: float
    converged: bool


class _Walkers:
    """Colors of all vertices for many walkers at once, shape (vertices + 1, walkers); the last row is no color."""

    def __init__(self, neighbors: Neighbors, colors: int, walkers: int, generator: np.random.Generator) -> None:
        count = len(neighbors)
        linked = np.zeros((count, count), dtype=bool)
        for vertex, near in enumerate(neighbors):
            linked[vertex, list(near)] = True
        self.colors, self.generator = colors, generator
        self.groups = independent_groups(linked)
        self.near = padded([np.flatnonzero(row) for row in linked], count)
        self.state = np.full((count + 1, walkers), -1, dtype=np.int16)  # a neighbor that is not there
        self.state[:count] = generator.integers(0, colors, (count, walkers))

    def violated(self) -> Array:
        """Return the number of edges between equal colors, one for each walker."""
        own = self.state[:-1, None]
        return np.asarray(0.5 * (self.state[self.near] == own).sum(axis=(0, 1)))

    def sweep(self, cost: float) -> None:
        """Redraw every vertex given its neighbors; a color costs `cost` for each neighbor that bears it."""
        for group in self.groups:
            beside = self.state[self.near[group]]
            borne = np.stack([(beside == color).sum(axis=1) for color in range(self.colors)])
            extra = borne - borne.min(axis=0)  # so that no cost is too high for all colors at once
            weights = (extra == 0).astype(np.float64) if np.isinf(cost) else np.exp(-cost * extra)
            cumulative = np.cumsum(weights, axis=0)
            threshold = self.generator.random(cumulative.shape[1:]) * cumulative[-1]
            self.state[group] = (cumulative <= threshold).sum(axis=0)

    def swap(self) -> None:
        """Take two colors at random and swap them on each connected piece that bears them, or not, by a coin."""
        if self.colors == 1:
            return
        one, two = self.generator.choice(self.colors, size=2, replace=False)
        bears = (self.state == one) | (self.state == two)
        # Each vertex throws a number; a piece takes the largest of its own, whose last bit is the coin.
        thrown = self.generator.integers(0, 2**31, self.state.shape, dtype=np.int32) * bears
        while True:
            heard = np.maximum(thrown[:-1], thrown[self.near].max(axis=1)) * bears[:-1]
            if (heard == thrown[:-1]).all():
                break
            thrown[:-1] = heard
        turned = bears & (thrown % 2 == 1)
        self.state[turned] = one + two - self.state[turned]

    def keep(self, chosen: Whole) -> None:
        self.state = self.state[:, chosen]

    def company(self) -> Array:
        """Return for each walker (row) how many vertices share the color of each vertex."""
        colors = self.state[:-1]
        sizes = np.stack([(colors == color).sum(axis=0) for color in range(self.colors)])
        return np.take_along_axis(sizes, colors.astype(np.int64), axis=0).T.astype(np.float64)


def sample_proper_colorings(
    neighbors: Neighbors, colors: int, draws: int, generator: np.random.Generator, truth: Whole | None = None
) -> ColoringSample:
    """Return random proper colorings with a check of convergence.

    Parameters
    ----------
    truth : array of int, shape (vertices,), optional
        The coloring behind the training set, if it is known.

    Raises
    ------
    ConvergenceError
        If no proper coloring was found and the truth is not known.
    """
    half = max(POPULATIONS, draws // 2 // POPULATIONS * POPULATIONS)
    annealed = _Walkers(neighbors, colors, half, generator)
    log2_counts = _harden(annealed)
    if log2_counts is None and truth is None:
        raise ConvergenceError(f"No coloring with {colors} classes was found that agrees with the training set.")
    if log2_counts is None:
        return _from_truth_alone(neighbors, colors, draws, generator, truth)
    other = _Walkers(neighbors, colors, half, generator)
    if truth is not None:
        other.state[:-1] = np.asarray(truth, dtype=np.int16)[:, None]
    elif _harden(other) is None:
        raise ConvergenceError(f"A coloring with {colors} classes was found by one of two runs only.")
    done, largest_z = _sweep_until_alike(annealed, other)
    log2_count, error = mean_of_powers(log2_counts)
    agreed = largest_z < LARGEST_Z
    trusted = [annealed, other] if agreed or truth is None else [other]
    found = np.hstack([walkers.state[:-1] for walkers in trusted]).T.astype(np.int64)
    return ColoringSample(found, log2_count, error, done, largest_z, agreed)


def _sweep_until_alike(first: _Walkers, second: _Walkers) -> tuple[int, float]:
    """Sweep among proper colorings, twice as often each time, until both groups look alike."""
    done, planned = 0, FIRST_SWEEPS
    while True:
        for _ in range(planned - done):
            for walkers in (first, second):
                walkers.sweep(np.inf)
                walkers.swap()
        done = planned
        largest_z = largest_z_score(first.company(), second.company())
        if largest_z < LARGEST_Z or done >= MOST_SWEEPS:
            return done, largest_z
        planned *= 2


def _from_truth_alone(
    neighbors: Neighbors, colors: int, draws: int, generator: np.random.Generator, truth: Whole | None
) -> ColoringSample:
    """Return walkers that started from the truth when no others reached a proper coloring."""
    walkers = _Walkers(neighbors, colors, draws, generator)
    walkers.state[:-1] = np.asarray(truth, dtype=np.int16)[:, None]
    for _ in range(MOST_SWEEPS):
        walkers.sweep(np.inf)
        walkers.swap()
    found = walkers.state[:-1].T.astype(np.int64)
    return ColoringSample(found, np.nan, np.nan, MOST_SWEEPS, np.inf, False)


def _harden(walkers: _Walkers) -> Array | None:
    """Raise the cost of a violated edge until walkers are proper; return log2 of the number of proper colorings.

    There is one estimate for each population. One in which no walker became proper counts as zero, which keeps the mean
    right, and takes walkers of the others. None if there is no proper walker at all.
    """
    count = len(walkers.state) - 1
    log2_count = np.full(POPULATIONS, count * np.log2(walkers.colors))
    cost = 0.0
    for _ in range(MOST_STEPS):
        violated = walkers.violated().reshape(POPULATIONS, -1)
        proper = violated == 0
        if proper.mean() >= PROPER_SHARE or cost > HARD:
            break
        step = _largest_step(violated)
        least = violated.min()
        weights = np.exp(-step * (violated - least))
        log2_count += np.log2(weights.mean(axis=1)) - step * least / np.log(2.0)
        cost += step
        walkers.keep(resample(weights, walkers.generator))
        for _ in range(SWEEPS_PER_STEP):
            walkers.sweep(cost)
            walkers.swap()  # changes the number of violated edges by nothing, so it is allowed at any cost
    if not proper.any():
        return None
    with np.errstate(divide="ignore"):
        log2_count += np.log2(proper.mean(axis=1))
    walkers.keep(_proper_walkers(proper, walkers.generator))
    return np.asarray(log2_count)


def _proper_walkers(proper: Mask, generator: np.random.Generator) -> Whole:
    """Return which walkers go on: each population from its own proper ones, or from all if it has none."""
    weights = proper.astype(np.float64)
    alive = proper.any(axis=1)
    chosen = np.empty(proper.shape, dtype=np.int64)
    chosen[alive] = (
        resample(weights[alive], generator).reshape(alive.sum(), -1) % proper.shape[1]
        + np.flatnonzero(alive)[:, None] * proper.shape[1]
    )
    chosen[~alive] = generator.choice(np.flatnonzero(proper.ravel()), (int((~alive).sum()), proper.shape[1]))
    return chosen.ravel()


def _largest_step(violated: Array) -> float:
    """Return the largest increase of the cost that leaves an effective share `KEPT_SHARE` of the walkers."""

    def kept(step: float) -> float:
        weights = np.exp(-step * (violated - violated.min()))
        return float(weights.mean() ** 2 / (weights**2).mean())

    low, high = 0.0, 1.0
    while kept(high) > KEPT_SHARE and high < 64:
        low, high = high, 2.0 * high
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if kept(middle) > KEPT_SHARE else (low, middle)
    return low


def used_colors(colors: Whole, color_count: int) -> Mask:
    """Return for each draw (row) which colors occur."""
    return np.stack([(colors == color).any(axis=1) for color in range(color_count)], axis=1)
