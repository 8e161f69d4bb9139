"""Checks of the Rules-and-Facts claims on the kernel angle and of the best regularization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from genlaws.claims.claim import EXACT_TOLERANCE, Finding, graded, holds_if, number_id
from genlaws.core.arguments import Array
from genlaws.rules_facts import Kernel, bayes_optimal, optimal_angle, optimal_regularization, solve

FACT_FRACTION = 0.2  # of the figures of the paper
MINIMUM_TOLERANCE = 1e-4  # how well the place of a flat minimum can be found from values
# Table below Fig. 3: samples per dimension; Bayes, ridge, hinge at its best, hinge that remembers every fact.
PRINTED_ERRORS = {
    2: (0.2430, 0.2479, 0.2445, 0.2477),
    4: (0.1702, 0.1864, 0.1763, 0.1858),
    10: (0.0853, 0.1208, 0.1009, 0.1196),
    20: (0.0449, 0.0858, 0.0669, 0.0846),
}
LAST_DIGIT = 1e-4


def _rho(epsilon: float) -> float:
    return (1.0 - epsilon) * float(np.sqrt(2.0 / np.pi))


def check_optimal_angle(quick: bool) -> Finding:
    """Search the angle of least generalization error of ridge regression at λ → 0, over samples and facts."""
    apart = []
    for epsilon in (0.1, 0.2, 0.5):
        for alpha in (0.5, 4.0, 50.0):

            def error(theta: float, alpha: float = alpha, epsilon: float = epsilon) -> float:
                """Return the generalization error of one angle."""
                task: dict[str, Any] = {"sample_ratio": alpha, "fact_fraction": epsilon}
                kernel = Kernel.from_angle(theta)
                return float(solve("square", kernel=kernel, regularization=0.0, **task).generalization_error)

            apart.append(_argmin(error, 0.05, 1.5) - np.arcsin(_rho(epsilon)))
    numbers = {
        "cases": len(apart),
        "largest_distance_from_eq_39": np.abs(apart).max(),
        "angle_at_fact_fraction_0_2": np.arcsin(_rho(FACT_FRACTION)),
        "library": optimal_angle("square", fact_fraction=FACT_FRACTION),
    }
    same = abs(numbers["angle_at_fact_fraction_0_2"] - numbers["library"]) < EXACT_TOLERANCE
    return holds_if(
        np.abs(apart).max() < MINIMUM_TOLERANCE and same,
        numbers,
        "The best angle is arcsin ρ at every number of samples.",
    )


def _argmin(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function of one number is least: the best of a grid, then between its neighbors."""
    grid = np.linspace(low, high, 60)
    best = int(np.argmin([function(one) for one in grid]))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(optimize.minimize_scalar(function, bounds=ends, method="bounded", options={"xatol": 1e-8}).x)


def check_optimal_regularization(quick: bool) -> Finding:
    """Search the regularization of least generalization error of ridge regression and compare with Eq. 40."""
    apart = []
    for theta in (0.8, 1.1, 1.5):
        kernel = Kernel.from_angle(theta)
        right = np.sin(theta) ** 2 * (1.0 - _rho(FACT_FRACTION) ** 2) / _rho(FACT_FRACTION) ** 2 - np.cos(theta) ** 2
        for alpha in (1.0, 10.0):

            def error(log_lam: float, alpha: float = alpha, kernel: Kernel = kernel) -> float:
                """Return the generalization error of one regularization."""
                task: dict[str, Any] = {"sample_ratio": alpha, "fact_fraction": FACT_FRACTION, "kernel": kernel}
                return float(solve("square", regularization=float(np.exp(log_lam)), **task).generalization_error)

            mine = optimal_regularization("square", sample_ratio=alpha, fact_fraction=FACT_FRACTION, kernel=kernel)
            found = np.exp(_argmin(error, np.log(right) - 3.0, np.log(right) + 3.0))
            apart.append(max(abs(found / right - 1.0), abs(float(mine) / right - 1.0)))
    return holds_if(
        max(apart) < 1e-3,
        {"cases": len(apart), "largest_relative_distance_from_eq_40": max(apart), "allowed": 1e-3},
        "The best regularization is that of Eq. 40, whatever the samples.",
    )


def check_both_at_once(quick: bool) -> Finding:
    """Follow ridge regression at its best regularization over the angle."""
    best = np.arcsin(_rho(FACT_FRACTION))
    below, above = best - np.array([0.4, 0.2, 0.05]), np.append(best + np.array([0.05, 0.3]), np.pi / 2)
    task: dict[str, Any] = {"sample_ratio": 4.0, "fact_fraction": FACT_FRACTION, "regularization": "optimal"}
    at = solve("square", kernel=Kernel.from_angle(best), **task)
    low, high = (solve("square", kernel=Kernel.from_angle(angle), **task) for angle in (below, above))
    numbers = {
        "generalization_error_at_best_angle": at.generalization_error,
        "memorization_error_there": at.memorization_error,
        "generalization_error_spread_above": np.ptp(high.generalization_error),
        "smallest_memorization_error_above_it": high.memorization_error.min(),
        "smallest_generalization_error_excess_below": (low.generalization_error - at.generalization_error).min(),
        "largest_regularization_below_it": low.regularization.max(),
    }
    flat = np.abs(high.generalization_error - at.generalization_error).max() < EXACT_TOLERANCE
    remembers = low.regularization.max() == 0.0 == low.memorization_error.max()
    forgets = high.regularization.min() > 0.0 and high.memorization_error.min() > 0.0
    worse = (low.generalization_error > at.generalization_error).all()
    return holds_if(
        flat and remembers and forgets and worse and at.memorization_error < 1e-12,
        numbers,
        "Up to the best angle the best λ is 0 and all facts are remembered; above it the generalization error is the "
        "same and facts are lost. At that angle the best generalization error and perfect memory come together.",
    )


def check_table_of_errors(quick: bool) -> Finding:
    """Compute the sixteen numbers below Fig. 3 again."""
    ratios = (2, 10) if quick else tuple(PRINTED_ERRORS)
    differences: dict[str, float] = {}
    for alpha in ratios:
        for name, value, printed in zip(
            ("Bayes", "ridge", "hinge, best", "hinge, λ → 0"), _row_of_errors(alpha), PRINTED_ERRORS[alpha], strict=True
        ):
            differences[f"{name} at {alpha}"] = round(value, 4) - printed
    off = {name: value for name, value in differences.items() if abs(value) > 0.5 * LAST_DIGIT}
    return graded(
        not off,
        len(off) <= 1 and all(abs(value) < 1.5 * LAST_DIGIT for value in off.values()),
        {
            "numbers_compared": len(differences),
            "numbers_that_differ": len(off),
            **{number_id(f"difference_{name}"): value for name, value in off.items()},
        },
        "All numbers agree to the digits in print.",
        "All agree but one, by a unit of its last digit: the least error of the hinge loss at 10 samples per dimension "
        "is 0.1008, approached as θ → π/2 with λ in proportion to cot²θ.",
    )


def _row_of_errors(alpha: float) -> tuple[float, float, float, float]:
    task: dict[str, Any] = {"sample_ratio": alpha, "fact_fraction": FACT_FRACTION}
    angles = {
        "ridge": optimal_angle("square", fact_fraction=FACT_FRACTION),
        "tuned": optimal_angle("hinge", regularization="optimal", **task),
        "hard": optimal_angle("hinge", regularization=0.0, **task),
    }
    kernels = {name: Kernel.from_angle(angle) for name, angle in angles.items()}
    return (
        float(bayes_optimal(**task).generalization_error),
        float(solve("square", kernel=kernels["ridge"], regularization=0.0, **task).generalization_error),
        float(solve("hinge", kernel=kernels["tuned"], regularization="optimal", **task).generalization_error),
        float(solve("hinge", kernel=kernels["hard"], regularization=0.0, **task).generalization_error),
    )


def check_hinge_angle(quick: bool) -> Finding:
    """Compare the best angle of the hinge loss at λ → 0, and its error, with those of ridge regression."""
    alpha = np.array([2.0, 10.0] if quick else [2.0, 4.0, 10.0, 20.0])
    angle = np.asarray(optimal_angle("hinge", sample_ratio=alpha, fact_fraction=FACT_FRACTION))
    best = float(optimal_angle("square", fact_fraction=FACT_FRACTION))
    hinge = _generalization_errors("hinge", alpha, angle, 0.0)
    square = _generalization_errors("square", alpha, np.full_like(angle, best), 0.0)
    apart, gap = np.abs(angle - best), np.abs(hinge - square)
    return holds_if(
        apart.min() > 1e-3 and apart.max() < 0.1 and gap.max() < 0.002,
        {
            "best_angle_of_ridge": best,
            "nearest_angle_of_the_hinge": angle[apart.argmin()],
            "farthest_angle_of_the_hinge": angle[apart.argmax()],
            "largest_difference_of_the_errors": gap.max(),
        },
        "Close but not equal: the hinge's best angle lies 0.01 to 0.05 above arcsin ρ, its error within 0.0012.",
    )


def _generalization_errors(loss: str, alpha: Array, angle: Array, lam: float | str) -> Array:
    found = solve(
        loss, sample_ratio=alpha, fact_fraction=FACT_FRACTION, kernel=Kernel.from_angle(angle), regularization=lam
    )
    return np.asarray(found.generalization_error)


def check_hinge_gives_up_memory(quick: bool) -> Finding:
    """Let the hinge loss choose angle and regularization for the rule, and see what it remembers."""
    task: dict[str, Any] = {"sample_ratio": 4.0, "fact_fraction": FACT_FRACTION}
    free, strict = (float(optimal_angle("hinge", regularization=lam, **task)) for lam in ("optimal", 0.0))
    tuned = solve("hinge", kernel=Kernel.from_angle(free), regularization="optimal", **task)
    hard = solve("hinge", kernel=Kernel.from_angle(strict), regularization=0.0, **task)
    numbers = {
        "generalization_error_free": tuned.generalization_error,
        "memorization_error_free": tuned.memorization_error,
        "generalization_error_with_memory": hard.generalization_error,
        "angle_free": free,
        "angle_with_memory": strict,
    }
    better = hard.generalization_error - tuned.generalization_error > 0.005 and tuned.memorization_error > 0.01
    return holds_if(
        better and abs(free - strict) > 0.05,
        numbers,
        "The hinge loss finds more of the rule when it may forget, and at another angle than when it may not.",
    )


def check_more_facts(quick: bool) -> Finding:
    """Repeat the claims on the angle with twice the facts."""
    epsilon, alpha = 0.4, 4.0
    best = np.arcsin(_rho(epsilon))
    task: dict[str, Any] = {"sample_ratio": alpha, "fact_fraction": epsilon}
    angles = np.array([best - 0.3, best, best + 0.3])
    zero = solve("square", kernel=Kernel.from_angle(angles), regularization=0.0, **task).generalization_error
    tuned = solve("square", kernel=Kernel.from_angle(angles), regularization="optimal", **task)
    hinge = float(optimal_angle("hinge", regularization=0.0, **task))
    numbers = {
        "generalization_errors_unregularized": ", ".join(f"{one:.4f}" for one in zero),
        "generalization_errors_at_best_regularization": ", ".join(f"{one:.4f}" for one in tuned.generalization_error),
        "best_angle_ridge": best,
        "best_angle_hinge": hinge,
    }
    shape = zero[1] < min(zero[0], zero[2]) and abs(tuned.generalization_error[2] - zero[1]) < EXACT_TOLERANCE
    return holds_if(
        shape and tuned.memorization_error[1] < 1e-12 < tuned.memorization_error[2] and abs(hinge - best) < 0.1,
        numbers,
        "With a fact fraction of 0.4 the picture is the same.",
    )
