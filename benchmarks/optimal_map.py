"""What does a 200 × 200 map over (α, ε) at optimal regularization cost, in units of one plain solve per point?

OMP_NUM_THREADS=1 python benchmarks/optimal_map.py
"""

from __future__ import annotations

import time
from statistics import median

import numpy as np
from one_thread import require_one_thread

from genlaws import rules_facts
from genlaws.rules_facts.theory import state_equations

SIDE = 200
ANGLE = 0.7
REPEATS = 3
# λ of the plain solve the map is compared with: of the size the optimum has over most of the map.
PLAIN_REGULARIZATION = 0.5
RESIDUAL_BOUND = 1e-10


def solve(regularization):
    alpha = np.logspace(-1.0, 2.0, SIDE)[:, None]
    epsilon = np.linspace(0.0, 1.0, SIDE)[None, :]
    kernel = rules_facts.Kernel.from_angle(ANGLE)
    return rules_facts.solve(
        "hinge", sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=regularization
    )


def seconds(regularization):
    start = time.perf_counter()
    solution = solve(regularization)
    return time.perf_counter() - start, solution


def count_evaluations(regularization):
    """Return how many point evaluations of the state equations one call makes, search included; None if not known."""
    original = getattr(state_equations, "state_residual", None)
    if original is None:
        return None
    counted = 0

    def counting(*arguments):
        nonlocal counted
        counted += np.size(arguments[-1])
        return original(*arguments)

    state_equations.state_residual = counting
    try:
        solve(regularization)
    finally:
        state_equations.state_residual = original
    return counted or None


def main():
    require_one_thread()
    seconds(PLAIN_REGULARIZATION)
    plain, optimal = [], []
    for _ in range(REPEATS):
        elapsed, _ = seconds(PLAIN_REGULARIZATION)
        plain.append(elapsed)
        elapsed, solution = seconds("optimal")
        optimal.append(elapsed)
    count = SIDE * SIDE
    ratio = median(optimal) / median(plain)
    print(f"{SIDE} × {SIDE} map, hinge, kernel angle {ANGLE}, one call each, medians of {REPEATS}, one thread")
    print(f"{'':28} {'seconds':>8} {'µs/point':>9} {'evaluations/point':>18} {'ratio':>7}")
    for name, times, lam in (("one λ", plain, PLAIN_REGULARIZATION), ("optimal λ", optimal, "optimal")):
        evaluations = count_evaluations(lam)
        shown = "unknown" if evaluations is None else f"{evaluations / count:.1f}"
        total = median(times)
        print(f"{name:28} {total:8.3f} {1e6 * total / count:9.2f} {shown:>18} {total / median(plain):7.1f}")
    bad = count - np.count_nonzero(solution.converged)
    print(
        f"optimal map: {bad} of {count} not converged, largest undamped residual {solution.residual.max():.1e} "
        f"(bound {RESIDUAL_BOUND:.0e})"
    )
    print(f"optimal map: {ratio:.1f}x the time of one plain solve per point")


if __name__ == "__main__":
    main()
