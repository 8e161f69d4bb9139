r"""Sample linear extensions where their number cannot be counted: a Markov chain in the order polytope.

Give each element a height in [0, 1] that respects the order; for uniform heights the sequence of the elements is a
uniform linear extension, and :math:`e(P) = n!\,\mathrm{Vol}`. One move redraws the height of an element uniformly
between the highest of its lower neighbors and the lowest of its upper ones; elements that are not neighbors
move together. A second move redraws all heights, sorted uniform numbers, without changing the sequence, which removes
the slow drift of densities. Both leave the uniform distribution unchanged.

The elements are inserted one by one, each above all earlier ones (sequential Monte Carlo): the mean room
:math:`\langle 1 - \max_\text{below} x\rangle` is the ratio of two volumes, so their product counts the extensions.
Particles (independent copies of the chain) started in this way must agree with particles started from two extreme
sequences.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.relations.inference import resampling
from genlaws.relations.inference.orders import transitive_reduction

SWEEPS_PER_ELEMENT = 4
FIRST_SWEEPS = 64
MAX_SWEEPS = 4096


class _Particles:
    """Heights of all elements for many particles at once, shape (n + 2, particles); the last two rows are 0 and 1."""

    def __init__(self, covers: Mask, particles: int, generator: np.random.Generator) -> None:
        self.count = len(covers)
        self.generator = generator
        self.heights = np.ones((self.count + 2, particles))
        self.heights[self.count] = 0.0
        self.groups = resampling.independent_groups(covers)
        self.lower = resampling.padded([np.flatnonzero(covers[:, v]) for v in range(self.count)], self.count)
        self.upper = resampling.padded([np.flatnonzero(covers[v]) for v in range(self.count)], self.count + 1)

    def room(self, elements: Whole) -> tuple[Array, Array]:
        """Return the lowest and the highest height these elements may take."""
        low = self.heights[self.lower[elements]].max(axis=1)
        return low, self.heights[self.upper[elements]].min(axis=1)

    def sweep(self, present: Mask) -> None:
        """Redraw every present element once, then all heights given the sequence."""
        for group in self.groups:
            elements = group[present[group]]
            if len(elements):
                low, high = self.room(elements)
                self.heights[elements] = low + self.generator.random(low.shape) * (high - low)
        inside = np.flatnonzero(present)
        order = np.argsort(self.heights[inside], axis=0)
        fresh = np.sort(self.generator.random(order.shape), axis=0)
        spread = np.empty_like(fresh)
        np.put_along_axis(spread, order, fresh, axis=0)
        self.heights[inside] = spread

    def start_at(self, sequence: Whole, particles: slice) -> None:
        """Give some particles evenly spaced heights in a sequence."""
        self.heights[sequence, particles] = ((np.arange(self.count) + 0.5) / self.count)[:, None]

    def step(self) -> None:
        """Sweep all elements."""
        self.sweep(np.ones(self.count, dtype=bool))

    def ranks(self) -> Whole:
        """Return the rank of each element, one row for each particle."""
        return np.argsort(np.argsort(self.heights[: self.count], axis=0), axis=0).T

    compared = ranks


def sample_orders(below: Mask, draws: int, generator: np.random.Generator) -> resampling.ChainSample:
    """Return random linear extensions of the order `below` with a check of convergence.

    Half of the particles insert the elements one by one; the others start from two extreme sequences. Sweeps are
    doubled until the mean ranks of both halves agree or `MAX_SWEEPS` is reached.
    """
    covers = transitive_reduction(below)
    half = resampling.half_of(draws)
    grown = _Particles(covers, half, generator)
    log2_counts = _insert_elements(grown, np.argsort(below.sum(axis=0), kind="stable"))
    extreme = _Particles(covers, 2 * (half // 2), generator)
    # Two extensions far apart: by one order of preference and, for every second particle, by its reverse.
    extreme.start_at(_greedy(below, np.arange(len(below))), slice(None))
    extreme.start_at(_greedy(below, -np.arange(len(below))), slice(None, None, 2))
    done, largest_z = resampling.sweep_until_equal(grown, extreme, FIRST_SWEEPS, MAX_SWEEPS)
    log2_count, error = resampling.mean_of_powers(log2_counts)
    ranks = np.vstack([grown.ranks(), extreme.ranks()])
    return resampling.ChainSample(ranks, log2_count, error, done, largest_z, largest_z < resampling.MAX_CHAIN_Z_SCORE)


def _insert_elements(particles: _Particles, sequence: Whole) -> Array:
    """Insert the elements one by one and return log2 of the number of extensions, one estimate for each population."""
    particle_count = particles.heights.shape[1]
    present = np.zeros(particles.count, dtype=bool)
    log2_volume = np.zeros(resampling.POPULATIONS)
    for element in sequence:
        low = particles.heights[particles.lower[element]].max(axis=0)
        room = (1.0 - low).reshape(resampling.POPULATIONS, -1)
        mean_room = room.mean(axis=1)
        log2_volume += np.log2(mean_room)
        chosen = resampling.resample(room / mean_room[:, None], particles.generator)
        particles.heights = particles.heights[:, chosen]
        low = low[chosen]
        particles.heights[element] = low + particles.generator.random(particle_count) * (1.0 - low)
        present[element] = True
        for _ in range(SWEEPS_PER_ELEMENT):
            particles.sweep(present)
    return np.asarray(log2_volume + special.gammaln(particles.count + 1) / np.log(2.0))


def _greedy(below: Mask, preference: Whole) -> Whole:
    """Return the linear extension that always takes the preferred one of the elements that may come next."""
    waiting, sequence = below.sum(axis=0), []
    left = np.ones(len(below), dtype=bool)
    for _ in range(len(below)):
        free = np.flatnonzero(left & (waiting == 0))
        element = free[np.argmin(preference[free])]
        sequence.append(element)
        left[element] = False
        waiting = waiting - below[element]
    return np.array(sequence)
