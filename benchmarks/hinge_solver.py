"""How much faster than the plain method is the hinge solver, and how many points a second does the square loss take?

OMP_NUM_THREADS=1 python benchmarks/hinge_solver.py          # the table and the ratios
OMP_NUM_THREADS=1 python benchmarks/hinge_solver.py --scan   # damping factors of the plain method
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import baseline
import numpy as np
from one_thread import require_one_thread
from scipy.special import erfc

from genlaws import rules_facts

SEED = 20260
POINTS = 2000
SQUARE_POINTS = 1_000_000
REPEATS = 9
# The plain method counts as right when both errors agree to this; its own error is about 1e-6 at worst.
TOLERANCE = 1e-5
RESIDUAL_BOUND = 1e-10
HINGE_TARGET, SQUARE_TARGET = 300, 1e6


def random_points(count, seed=SEED):
    """Return α, ε, θ, λ drawn as in the benchmark's definition."""
    rng = np.random.default_rng(seed)
    return (
        10 ** rng.uniform(-1.0, 2.0, count),
        rng.uniform(0.0, 1.0, count),
        rng.uniform(0.02, np.pi / 2 - 0.02, count),
        10 ** rng.uniform(-6.0, 3.0, count),
    )


def solve(loss, alpha, epsilon, theta, lam):
    kernel = rules_facts.Kernel.from_angle(theta)
    return rules_facts.solve(loss, sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=lam)


def plain_arguments(alpha, epsilon, theta, lam):
    return alpha, epsilon, np.sin(theta), np.cos(theta), lam


def one_by_one(*columns):
    """Run the array form of the plain method on one point per call."""
    parts = [baseline.solve_arrays(*(column[i : i + 1] for column in columns)) for i in range(columns[0].size)]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def seconds(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def agreement(found, exact):
    """Return which points converged, and the larger difference of the two errors."""
    m, q, V, rounds = found
    converged = rounds > 0
    with np.errstate(invalid="ignore"):
        gen = np.arctan2(np.sqrt(q - m * m), m) / np.pi
        mem = 0.5 * erfc(V / np.sqrt(2.0 * q))
    return converged, np.maximum(np.abs(gen - exact.generalization_error), np.abs(mem - exact.memorization_error))


def scan(points):
    exact = solve("hinge", *points)
    baseline.solve_compiled(*(part[:2] for part in plain_arguments(*points)))
    print(f"{'damping':>8} {'µs/point':>10} {'solved':>8} {'rounds, mean':>13} {'rounds, most':>13}")
    for damping in baseline.DAMPING_TRIED:
        elapsed, found = seconds(baseline.solve_compiled, *plain_arguments(*points), damping)
        converged, difference = agreement(found, exact)
        solved = np.mean(converged & (difference <= TOLERANCE))
        per_point, rounds = 1e6 * elapsed / converged.size, found[3][converged]
        print(f"{damping:8.2f} {per_point:10.1f} {solved:8.2%} {rounds.mean():13.1f} {rounds.max():13d}")


def hinge(points):
    count = points[0].size
    plain = plain_arguments(*points)
    methods = {
        "genlaws, one call": lambda: solve("hinge", *points),
        "plain, compiled": lambda: baseline.solve_compiled(*plain),
        "plain, compiled, 400 nodes": lambda: baseline.solve_compiled(*plain, baseline.DAMPING, 400),
        "plain, compiled, damping 0.5": lambda: baseline.solve_compiled(*plain, 0.5),
        "plain, compiled, damping 0.1": lambda: baseline.solve_compiled(*plain, 0.1),
        "plain, arrays": lambda: baseline.solve_arrays(*plain),
    }
    times = {name: [] for name in methods}
    results = {name: method() for name, method in methods.items()}  # the first call compiles and fills caches
    for _ in range(REPEATS):
        for name, method in methods.items():
            elapsed, results[name] = seconds(method)
            times[name].append(elapsed)
    # Once is enough for the slowest: it is a sum over 2,000 calls.
    elapsed, results["plain, one point per call"] = seconds(one_by_one, *plain)
    times["plain, one point per call"] = [elapsed]

    exact = results["genlaws, one call"]
    own = median(times["genlaws, one call"])
    print(f"hinge loss, {count} random points, median of {REPEATS} alternating repeats, one thread")
    print(f"{'method':30} {'µs/point':>9} {'solved':>8} {'largest difference':>19} {'ratio':>7}")
    for name, found in results.items():
        per_point = 1e6 * median(times[name]) / count
        if found is exact:
            print(f"{name:30} {per_point:9.2f} {exact.converged.mean():8.2%} {'':>19} {1:7.1f}")
            continue
        converged, difference = agreement(found, exact)
        solved = np.mean(converged & (difference <= TOLERANCE))
        ratio, largest = median(times[name]) / own, difference[converged].max()
        print(f"{name:30} {per_point:9.2f} {solved:8.2%} {largest:19.1e} {ratio:7.1f}")
    evaluations = exact.iterations.mean()
    rounds = results["plain, compiled"][3]
    print(
        f"evaluations of the state equations per point: genlaws {evaluations:.2f} (most {exact.iterations.max()}), "
        f"plain {rounds[rounds > 0].mean():.1f} (most {rounds.max()})"
    )
    ratio = median(times["plain, compiled"]) / own
    verdict = "reached" if ratio >= HINGE_TARGET else "NOT reached"
    print(f"hinge: {ratio:.1f}x baseline (target {HINGE_TARGET}x: {verdict})")
    print(f"hinge: {median(times['plain, one point per call']) / own:.0f}x the same method uncompiled, point by point")
    return exact


def square():
    points = random_points(SQUARE_POINTS, SEED + 1)
    times = []
    for _ in range(5):
        elapsed, found = seconds(solve, "square", *points)
        times.append(elapsed)
    rate = SQUARE_POINTS / median(times)
    print(f"square: {rate / 1e6:.2f} million points a second (target {SQUARE_TARGET / 1e6:.0f} million)")
    return found


def report_residuals(name, solution):
    bad = int(np.size(solution.converged) - np.count_nonzero(solution.converged))
    print(
        f"{name}: {np.size(solution.converged)} points, {bad} not converged, largest undamped residual "
        f"{solution.residual.max():.1e} (bound {RESIDUAL_BOUND:.0e})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scan", action="store_true", help="compare damping factors of the plain method")
    arguments = parser.parse_args()
    require_one_thread()
    points = random_points(POINTS)
    if arguments.scan:
        scan(points)
        return
    exact = hinge(points)
    found = square()
    report_residuals("hinge", exact)
    report_residuals("square, the same points", solve("square", *points))
    report_residuals("square", found)


if __name__ == "__main__":
    main()
