r"""Surrogate streams, which share one property with a measured stream and are random otherwise.

Each kind treats all texts alike (the same signs, phases, order or axes for every text; a random walk has a part that
all texts share), so a surrogate of the mean path has the same distribution as the mean path of a surrogate. A statistic
of the mean path can therefore be tested on :func:`genlaws.residual_stream.measures.samples.mean_path` alone, which is
much quicker.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genlaws.core.arguments import Array
from genlaws.models.stream import Stream

SurrogateMaker = Callable[[Stream, np.random.Generator], Stream]


def random_walk(stream: Stream, generator: np.random.Generator) -> Stream:
    r"""Return Gaussian random walks from the measured first states, with the measured velocity at every transition.

    Each step is :math:`\sigma_l\, g + \tau_l\, g'`: a part shared by all texts, whose size :math:`\sigma_l` is the root
    mean square over units of the mean step, and a part of the text's own, whose size :math:`\tau_l` is that of the
    deviations from it. The texts' own parts add to zero.
    """
    steps = stream.steps()
    shared = steps.mean(axis=0, dtype=np.float64)
    sigma = np.sqrt((shared**2).mean(axis=1))
    drawn = (sigma[:, None] * generator.standard_normal(shared.shape))[None]
    texts = stream.text_count
    if texts > 1:
        tau = np.sqrt(((steps - shared) ** 2).mean(axis=(0, 2)))
        own = generator.standard_normal(steps.shape)
        own -= own.mean(axis=0)
        drawn = drawn + np.sqrt(texts / (texts - 1.0)) * tau[:, None] * own
    return _walk_from(stream, drawn)


def step_signs(stream: Stream, generator: np.random.Generator) -> Stream:
    """Return walks that make the measured steps of each unit with random signs, the same for all texts.

    Every unit keeps the size of each of its own steps exactly, and every text its velocity.

    Notes
    -----
    Gaussian steps of the size of a single measured step would not work: they have heavier tails than the steps they
    replace, and rotate less (10.2 times in 64 sites, where the Gaussian walk they imitate rotates 10.9 times).
    """
    steps = stream.steps()
    return _walk_from(stream, steps * generator.choice([-1.0, 1.0], size=steps.shape[1:]))


def phase_randomized(stream: Stream, generator: np.random.Generator) -> Stream:
    """Return states with the power spectrum and mean of every unit along the sites, and random phases.

    Notes
    -----
    The sites are treated as one period of a process that does not grow. A stream whose steps grow is no such process: a
    random walk with the velocities of the paper rotates 10.6 times, its phase-randomized surrogates 11.8 times.
    """
    return Stream(_random_phases(stream.states, generator), stream.sites)


def phase_randomized_steps(stream: Stream, generator: np.random.Generator) -> Stream:
    """Return walks from the measured first states whose steps keep the spectrum of the measured steps of each unit.

    A random walk with Gaussian steps of constant size has the same distribution as this surrogate of it.
    """
    return _walk_from(stream, _random_phases(stream.steps(), generator))


def layer_shuffle(stream: Stream, generator: np.random.Generator) -> Stream:
    """Return the states in a random order of the sites, the same for all units and texts.

    Gradients are those of the new order, so such a path rotates about as often as white noise.
    """
    return Stream(stream.states[:, generator.permutation(len(stream.sites))], stream.sites)


def basis_rotation(stream: Stream, generator: np.random.Generator) -> Stream:
    """Return the states in random orthonormal axes: only what is special about the units changes.

    Notes
    -----
    With fewer states than units the rows are written as a triangle times orthonormal rows, and these are drawn again,
    which is the same as a rotation of all units and far quicker.
    """
    rows = stream.states.reshape(-1, stream.unit_count).astype(np.float64)
    if rows.shape[0] < stream.unit_count:
        rows = np.linalg.qr(rows.T)[1].T
    turned = rows @ random_axes(stream.unit_count, rows.shape[1], generator).T
    return Stream(turned.reshape(stream.states.shape), stream.sites)


def random_axes(units: int, count: int, generator: np.random.Generator) -> Array:
    """Return uniformly drawn orthonormal columns (units, count): the QR of a Gaussian matrix, signs made free."""
    q, r = np.linalg.qr(generator.standard_normal((units, count)))
    return q * np.where(np.diag(r) < 0, -1.0, 1.0)


SURROGATES: dict[str, SurrogateMaker] = {
    "random walk": random_walk,
    "step signs": step_signs,
    "phase-randomized": phase_randomized,
    "phase-randomized steps": phase_randomized_steps,
    "layer shuffle": layer_shuffle,
    "basis rotation": basis_rotation,
}
# These are other streams, of another model or other texts, that the caller has to record.
SUPPLIED_SURROGATES = ("random weights", "shuffled tokens")


def _walk_from(stream: Stream, steps: Array) -> Stream:
    """Return the walks from the first states of a stream with these steps."""
    states = np.empty(stream.states.shape)
    states[:, 0] = stream.states[:, 0]
    for site in range(steps.shape[1]):
        np.add(states[:, site], steps[:, site], out=states[:, site + 1])
    return Stream(states, stream.sites)


def _random_phases(series: Array, generator: np.random.Generator) -> Array:
    """Return series along the second axis with random phases, the same for all texts; the mean is unchanged."""
    length = series.shape[1]
    spectrum = np.fft.rfft(series, axis=1)
    turned = np.exp(2j * np.pi * generator.random(spectrum.shape[1:]))
    turned[0] = 1.0
    if length % 2 == 0:  # the fastest oscillation is real
        turned[-1] = np.where(turned[-1].real < 0, -1.0, 1.0)
    return np.fft.irfft(spectrum * turned, length, axis=1)
