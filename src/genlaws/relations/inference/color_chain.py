r"""Sample proper colorings where they cannot be counted: sequential Monte Carlo with gradually hardened constraints.

Each particle, an independent copy of the Markov chain, starts from random colors. A violated edge costs :math:`\beta`,
which grows in small steps (annealing); between steps every vertex is redrawn given its neighbors. The product of the
mean weights is the share of all :math:`q^N` colorings that are proper. At the end, particles with a violated edge are
dropped and the others continue among proper colorings. There single vertices are often locked, so each sweep also swaps
two colors, with probability one half, on every connected piece with these colors (Wang, Swendsen and Kotecký 1989).

If the truth behind the training set is known, other particles start from it. The truth is a draw from the posterior,
so both kinds of particles must agree. If they do not, some colorings cannot be reached from random starts, and the
particles from the truth are used.
"""

from __future__ import annotations

import numpy as np

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.core.errors import ConvergenceError
from genlaws.relations.inference import resampling
from genlaws.relations.structure.symmetry_reduction import Neighbors

MIN_EFFECTIVE_SHARE = 0.8  # of particles that one hardening step must leave
ENOUGH_PROPER_SHARE = 0.3  # of particles without a violated edge, at which the others are dropped
MAX_HARDENING_STEPS = 400
MAX_VIOLATION_COST = 60.0  # of an edge; at this cost new violations do not occur
SWEEPS_PER_STEP = 4
FIRST_SWEEPS = 128
MAX_SWEEPS = 1024


class _Particles:
    """Colors of all vertices of many particles, shape (vertices + 1, particles); the last row stands for no color."""

    def __init__(self, neighbors: Neighbors, colors: int, particles: int, generator: np.random.Generator) -> None:
        count = len(neighbors)
        linked = np.zeros((count, count), dtype=bool)
        for vertex, near in enumerate(neighbors):
            linked[vertex, list(near)] = True
        self.colors, self.generator = colors, generator
        self.groups = resampling.independent_groups(linked)
        self.near = resampling.padded([np.flatnonzero(row) for row in linked], count)
        self.state = np.full((count + 1, particles), -1, dtype=np.int16)  # stands for missing neighbors
        self.state[:count] = generator.integers(0, colors, (count, particles))

    def violated(self) -> Array:
        """Return the number of edges between equal colors, one for each particle."""
        own = self.state[:-1, None]
        return np.asarray(0.5 * (self.state[self.near] == own).sum(axis=(0, 1)))

    def sweep(self, cost: float) -> None:
        """Redraw every vertex given its neighbors; a color costs `cost` for each neighbor with that color."""
        for group in self.groups:
            nearby = self.state[self.near[group]]
            neighbor_counts = np.stack([(nearby == color).sum(axis=1) for color in range(self.colors)])
            extra = neighbor_counts - neighbor_counts.min(axis=0)  # so that no cost is too high for all colors at once
            weights = (extra == 0).astype(np.float64) if np.isinf(cost) else np.exp(-cost * extra)
            cumulative = np.cumsum(weights, axis=0)
            threshold = self.generator.random(cumulative.shape[1:]) * cumulative[-1]
            self.state[group] = (cumulative <= threshold).sum(axis=0)

    def swap(self) -> None:
        """Swap two random colors on each connected piece with these colors, with probability one half per piece."""
        if self.colors == 1:
            return
        one, two = self.generator.choice(self.colors, size=2, replace=False)
        affected = (self.state == one) | (self.state == two)
        # Each vertex draws a number; the last bit of the largest in a piece decides about the piece.
        drawn = self.generator.integers(0, 2**31, self.state.shape, dtype=np.int32) * affected
        while True:
            largest_near = np.maximum(drawn[:-1], drawn[self.near].max(axis=1)) * affected[:-1]
            if (largest_near == drawn[:-1]).all():
                break
            drawn[:-1] = largest_near
        swapped = affected & (drawn % 2 == 1)
        self.state[swapped] = one + two - self.state[swapped]

    def select(self, chosen: Whole) -> None:
        self.state = self.state[:, chosen]

    def step(self) -> None:
        """Sweep among proper colorings."""
        self.sweep(np.inf)
        self.swap()

    def colorings(self) -> Whole:
        """Return the coloring of each particle (row)."""
        return self.state[:-1].T.astype(np.int64)

    def compared(self) -> Array:
        """Return for each particle (row) how many vertices share the color of each vertex."""
        colors = self.state[:-1]
        sizes = np.stack([(colors == color).sum(axis=0) for color in range(self.colors)])
        return np.take_along_axis(sizes, colors.astype(np.int64), axis=0).T.astype(np.float64)


def sample_proper_colorings(
    neighbors: Neighbors, colors: int, draws: int, generator: np.random.Generator, truth: Whole | None = None
) -> resampling.ChainSample:
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
    half = resampling.half_of(draws)
    annealed = _Particles(neighbors, colors, half, generator)
    log2_counts = _harden(annealed)
    if log2_counts is None and truth is None:
        raise ConvergenceError(f"No coloring with {colors} classes was found that agrees with the training set.")
    other = _Particles(neighbors, colors, draws if log2_counts is None else half, generator)
    if truth is not None:
        other.state[:-1] = np.asarray(truth, dtype=np.int16)[:, None]
    elif _harden(other) is None:
        raise ConvergenceError(f"A coloring with {colors} classes was found by one of two runs only.")
    if log2_counts is None:
        for _ in range(MAX_SWEEPS):
            other.step()
        return resampling.ChainSample(other.colorings(), np.nan, np.nan, MAX_SWEEPS, np.inf, False)
    done, largest_z = resampling.sweep_until_equal(annealed, other, FIRST_SWEEPS, MAX_SWEEPS)
    log2_count, error = resampling.mean_of_powers(log2_counts)
    agreed = largest_z < resampling.MAX_CHAIN_Z_SCORE
    trusted = [annealed, other] if agreed or truth is None else [other]
    found = np.vstack([particles.colorings() for particles in trusted])
    return resampling.ChainSample(found, log2_count, error, done, largest_z, agreed)


def _harden(particles: _Particles) -> Array | None:
    """Raise the cost of a violated edge until particles are proper; return log2 of the number of proper colorings.

    There is one estimate for each population. A population without a proper particle counts as zero, so that the mean
    is unbiased, and takes particles of the others. None if there is no proper particle at all.
    """
    count = len(particles.state) - 1
    log2_count = np.full(resampling.POPULATIONS, count * np.log2(particles.colors))
    cost = 0.0
    for _ in range(MAX_HARDENING_STEPS):
        violated = particles.violated().reshape(resampling.POPULATIONS, -1)
        proper = violated == 0
        if proper.mean() >= ENOUGH_PROPER_SHARE or cost > MAX_VIOLATION_COST:
            break
        step = _largest_step(violated)
        least = violated.min()
        weights = np.exp(-step * (violated - least))
        log2_count += np.log2(weights.mean(axis=1)) - step * least / np.log(2.0)
        cost += step
        particles.select(resampling.resample(weights, particles.generator))
        for _ in range(SWEEPS_PER_STEP):
            particles.sweep(cost)
            particles.swap()  # does not change the number of violated edges, so it is allowed at any cost
    if not proper.any():
        return None
    with np.errstate(divide="ignore"):
        log2_count += np.log2(proper.mean(axis=1))
    particles.select(_proper_particles(proper, particles.generator))
    return np.asarray(log2_count)


def _proper_particles(proper: Mask, generator: np.random.Generator) -> Whole:
    """Return which particles continue: each population from its own proper ones, or from all if it has none."""
    weights = proper.astype(np.float64)
    alive = proper.any(axis=1)
    chosen = np.empty(proper.shape, dtype=np.int64)
    chosen[alive] = (
        resampling.resample(weights[alive], generator).reshape(alive.sum(), -1) % proper.shape[1]
        + np.flatnonzero(alive)[:, None] * proper.shape[1]
    )
    chosen[~alive] = generator.choice(np.flatnonzero(proper.ravel()), (int((~alive).sum()), proper.shape[1]))
    return chosen.ravel()


def _largest_step(violated: Array) -> float:
    """Return the largest increase of the cost with an effective share of particles of `MIN_EFFECTIVE_SHARE`."""

    def effective_share(step: float) -> float:
        weights = np.exp(-step * (violated - violated.min()))
        return float(weights.mean() ** 2 / (weights**2).mean())

    low, high = 0.0, 1.0
    while effective_share(high) > MIN_EFFECTIVE_SHARE and high < 64:
        low, high = high, 2.0 * high
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective_share(middle) > MIN_EFFECTIVE_SHARE else (low, middle)
    return low


def used_colors(colors: Whole, color_count: int) -> Mask:
    """Return for each draw (row) which colors occur."""
    return np.stack([(colors == color).any(axis=1) for color in range(color_count)], axis=1)
