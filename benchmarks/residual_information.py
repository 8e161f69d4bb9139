"""How long do the four estimates of mutual information take for each pair, and for a whole model of 576 units?

python benchmarks/residual_information.py

The kernel estimate is compared with the direct sum over all pairs of texts and with scipy's ``gaussian_kde``.
"""

from __future__ import annotations

import time
import warnings
from statistics import median

import numpy as np
from one_thread import require_one_thread
from scipy.stats import gaussian_kde

from genlaws.models.stream import Stream
from genlaws.residual_stream.measures.estimators import (
    binned_information,
    gaussian_copula_information,
    kernel_information,
    neighbor_information,
)
from genlaws.residual_stream.measures.information import mutual_information

TEXTS, TRANSITIONS, UNITS = 1000, 61, 576  # SmolLM2-135M
SHUFFLES = 4  # the default of mutual_information
PAIRS, SLOW_PAIRS = 96, 12
REPEATS = 3
TARGET_MINUTES = 10  # all four estimates with their baselines on two cores
TOLERANCE = 1e-6
JOBS = 2


def scipy_information(x, y):
    """The kernel estimate by scipy, one pair after the other."""
    found = []
    for one, two in zip(x.T, y.T, strict=True):
        both = np.stack((one, two))
        ratio = gaussian_kde(both)(both) / (gaussian_kde(one)(one) * gaussian_kde(two)(two))
        found.append(np.log(ratio + 1e-10).mean())
    return np.array(found)


def direct_information(x, y):
    """The kernel estimate with every kernel summed, one pair after the other."""
    found = []
    for both in np.stack((x.T, y.T), axis=1):
        joint, one, other = (_density(points) for points in (both, both[:1], both[1:]))
        found.append(np.log(joint / (one * other) + 1e-10).mean())
    return np.array(found)


def _density(points):
    """Return the mean of Gaussians around all points, by Scott's rule, at each point of (dimensions, points)."""
    dimensions, count = points.shape
    covariance = np.atleast_2d(np.cov(points)) * count ** (-2.0 / (dimensions + 4))
    apart = points[:, :, None] - points[:, None]
    squares = np.einsum("iab,ij,jab->ab", apart, np.linalg.inv(covariance), apart)
    return np.exp(-0.5 * squares).mean(axis=1) / np.sqrt(np.linalg.det(2.0 * np.pi * covariance))


def some_stream(sites, units, seed=0):
    """A random walk with growing steps; every fourth unit has tails of Student's t with three degrees of freedom."""
    generator = np.random.default_rng(seed)
    steps = generator.standard_normal((TEXTS, sites, units))
    steps[:, :, ::4] = generator.standard_t(3, steps[:, :, ::4].shape)
    return Stream.from_states(np.cumsum(steps * 1.1 ** np.arange(sites)[None, :, None], axis=1))


def timed(methods):
    """Return the median seconds of each method over alternating repeats, and what each returned last."""
    times, results = {name: [] for name in methods}, {}
    for _ in range(REPEATS):
        for name, method in methods.items():
            start = time.perf_counter()
            results[name] = method()
            times[name].append(time.perf_counter() - start)
    return {name: median(values) for name, values in times.items()}, results


def estimates():
    """Time the four estimates on the same pairs; return the minutes of a whole model with its baselines."""
    states = some_stream(24, PAIRS).states
    x, y = states[:, -2], states[:, -1]
    methods = {
        "copula": gaussian_copula_information,
        "neighbors": neighbor_information,
        "binned": binned_information,
        "kernel": kernel_information,
    }
    calls = {name: (lambda method=method: method(x, y)) for name, method in methods.items()}
    seconds, results = timed(calls)
    whole = TRANSITIONS * UNITS
    print(f"{'':12}{'ms/pair':>9}{'minutes':>9}{'with baseline':>15}{'nats':>8}")
    for name, value in seconds.items():
        alone = value / PAIRS * whole / 60
        row = f"{name:12}{value / PAIRS * 1e3:9.3f}{alone:9.2f}{alone * (1 + SHUFFLES):15.2f}"
        print(f"{row}{results[name].mean():8.3f}")
    return sum(seconds.values()) / PAIRS * whole * (1 + SHUFFLES) / 60


def kernels():
    """Compare the kernel estimate with the direct sums."""
    states = some_stream(24, SLOW_PAIRS, seed=1).states
    x, y = states[:, -2], states[:, -1]
    seconds, results = timed(
        {
            "fast": lambda: kernel_information(x, y),
            "direct": lambda: direct_information(x, y),
            "scipy": lambda: scipy_information(x, y),
        }
    )
    apart = max(float(np.abs(results["fast"] - results[name]).max()) for name in ("direct", "scipy"))
    fast, direct, theirs = (value / SLOW_PAIRS * 1e3 for value in seconds.values())
    print(f"kernel: fast {fast:.2f} ms/pair, direct {direct:.1f} ({direct / fast:.0f}x), scipy {theirs:.1f}", end=" ")
    print(f"({theirs / fast:.0f}x); largest difference {apart:.1e} nats")
    assert apart < TOLERANCE


def threads():
    """Return how much faster two threads are, over all four estimates; bounded by what else the machine does."""
    stream = some_stream(4, PAIRS, seed=2)

    def everything(jobs):
        return [
            mutual_information(stream, estimator=name, shuffles=1, jobs=jobs)
            for name in ("copula", "neighbors", "binned", "kernel")
        ]

    seconds, results = timed({jobs: lambda jobs=jobs: everything(jobs) for jobs in (1, JOBS)})
    for one, two in zip(results[1], results[JOBS], strict=True):
        assert np.array_equal(one.values, two.values)
    print(f"{JOBS} threads / 1 thread: {seconds[1] / seconds[JOBS]:.2f}x")
    return seconds[1] / seconds[JOBS]


def main():
    require_one_thread()
    warnings.simplefilter("error")
    print(f"{TEXTS} texts; median of {REPEATS} alternating repeats on {PAIRS} pairs, one thread")
    print(f"minutes: {TRANSITIONS} transitions of {UNITS} units; with baseline: and {SHUFFLES} shuffles")
    alone = estimates()
    kernels()
    both = alone / threads()
    verdict = "reached" if both <= TARGET_MINUTES else "NOT reached"
    print(f"all four: {alone / (1 + SHUFFLES):.1f} minutes on one thread; with baselines {alone:.1f},", end=" ")
    print(f"and {both:.1f} on {JOBS} threads", end=" ")
    print(f"(target {TARGET_MINUTES}: {verdict})")


if __name__ == "__main__":
    main()
