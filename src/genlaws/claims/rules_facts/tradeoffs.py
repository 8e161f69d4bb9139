"""Checks of the Rules-and-Facts pictures of remembering against generalizing, and of its maps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from genlaws.claims.claim import Finding, holds_if, number_id
from genlaws.core.arguments import Array
from genlaws.rules_facts import Kernel, bayes_optimal, interpolation_threshold, optimal_angle, solve

TASK: dict[str, Any] = {"sample_ratio": 2.0, "fact_fraction": 0.2}  # between the thresholds of both losses
MAX_MEMORIZATION_ERROR = 0.01  # up to which a learner counts as remembering
TRADEOFF_LOSSES = ("square", "hinge")
ZERO_ERROR_TOLERANCE = 1e-12


class ErrorPath(NamedTuple):
    """Both errors along the regularization, from zero."""

    rule: Array
    memory: Array

    @property
    def price(self) -> float:
        """Cost of remembering: least generalization error with a small memorization error, minus the least of all."""
        remembers = self.memory <= MAX_MEMORIZATION_ERROR
        return float(self.rule[remembers].min() - self.rule.min()) if remembers.any() else np.inf


def follow_path(loss: str, kernel: str | Kernel, quick: bool, **more: Any) -> ErrorPath:
    """Return the errors of a learner on the task of the figures."""
    strengths = np.append(0.0, np.logspace(-8.0, 4.0, 120 if quick else 800))
    found = solve(loss, kernel=kernel, regularization=strengths, **TASK, **more)
    return ErrorPath(found.generalization_error, found.memorization_error)


def check_linear_tradeoff(quick: bool) -> Finding:
    """Follow the perceptron along the regularization."""
    paths = {loss: follow_path(loss, "linear", quick) for loss in TRADEOFF_LOSSES}
    inside = [0 < one.rule.argmin() < len(one.rule) - 1 for one in paths.values()]
    rising = [bool((np.diff(one.memory) >= -ZERO_ERROR_TOLERANCE).all()) for one in paths.values()]
    forgets = [float(one.memory[one.rule.argmin()]) for one in paths.values()]
    numbers = {
        "memorization_error_at_least_generalization_error_square": forgets[0],
        "memorization_error_at_least_generalization_error_hinge": forgets[1],
        "price_of_remembering_hinge": paths["hinge"].price,
        "memorization_error_unregularized_square": paths["square"].memory[0],
        "memorization_error_unregularized_hinge": paths["hinge"].memory[0],
    }
    trade = min(forgets) > 0.1 and min(one.price for one in paths.values()) > 0.03
    return holds_if(
        all(inside) and all(rising) and trade and paths["hinge"].memory[0] == 0.0 < paths["square"].memory[0],
        numbers,
        "Memory only fades as λ grows, the rule is found best in between, and no λ serves both: remembering costs the "
        "hinge loss 0.05 of generalization error, and the square loss cannot remember.",
    )


def check_kernels_serve_both(quick: bool) -> Finding:
    """Compare what remembering costs the linear, erf and ReLU kernels."""
    price = {
        (loss, name): follow_path(loss, name, quick).price
        for loss in TRADEOFF_LOSSES
        for name in ("linear", "erf", "relu")
    }
    numbers = {f"price_of_remembering_{name}_{loss}": one for (loss, name), one in price.items()}
    relu = max(price[loss, "relu"] for loss in TRADEOFF_LOSSES)
    ordered = all(price[loss, "relu"] < 0.4 * price[loss, "erf"] < price[loss, "linear"] for loss in TRADEOFF_LOSSES)
    return holds_if(
        relu < 0.01 and ordered and min(price[loss, "erf"] for loss in TRADEOFF_LOSSES) > 0.01,
        numbers,
        "Remembering costs the ReLU kernel less than 0.01 of generalization error, the erf kernel 0.01 to 0.03, and "
        "the perceptron more.",
    )


def check_width(quick: bool) -> Finding:
    """Widen random features: erf with the square loss, ReLU with the hinge loss."""
    widths = (0.5, 1.0, 3.0, 10.0, 100.0)
    numbers: dict[str, float] = {}
    fine = True
    for loss, name in (("square", "erf"), ("hinge", "relu")):
        paths = [follow_path(loss, name, quick, width_ratio=one) for one in widths]
        kernel = follow_path(loss, name, quick)
        least = np.array([one.rule.min() for one in paths] + [kernel.rule.min()])
        limit = [_threshold(loss, name, one) for one in widths]
        remembers = [bool(one.memory[0] < ZERO_ERROR_TOLERANCE) for one in paths]
        fine &= bool((np.diff(least) < 0.0).all()) and least[-2] - least[-1] < 0.01
        fine &= remembers == [one >= TASK["sample_ratio"] for one in limit] and kernel.memory[0] < ZERO_ERROR_TOLERANCE
        numbers |= {f"{name}_memorization_error_at_0_5": paths[0].memory[0]}
        numbers |= {
            number_id(f"{name}_least_generalization_error_at_{w:g}"): r
            for w, r in zip((0.5, 10.0), least[[0, 3]], strict=True)
        }
        numbers |= {f"{name}_least_generalization_error_of_kernel": least[-1]}
    return holds_if(
        fine,
        numbers,
        "Wider is better at both, toward the kernel; memory is perfect exactly where the width suffices for α.",
    )


def _threshold(loss: str, kernel: str, width: float) -> float:
    share = TASK["fact_fraction"]
    return float(interpolation_threshold(loss, fact_fraction=share, kernel=kernel, width_ratio=width))


def check_best_angle_paths(quick: bool) -> Finding:
    """Follow three angles along the regularization, the best one of each loss in the middle."""
    numbers: dict[str, float] = {}
    fine = True
    for loss in TRADEOFF_LOSSES:
        middle = float(optimal_angle(loss, **({"fact_fraction": 0.2} if loss == "square" else TASK)))
        paths = {angle: follow_path(loss, Kernel.from_angle(angle), quick) for angle in (0.4, middle, 1.4)}
        below, at, above = paths.values()
        numbers |= {f"{loss}_price_at_best_angle": at.price, f"{loss}_price_at_1_4": above.price}
        numbers |= {f"{loss}_generalization_error_excess_at_0_4": below.rule[0] - at.rule[0]}
        fine &= at.price < 0.25 * above.price and below.rule[0] > at.rule[0] < above.rule[0]
    return holds_if(
        fine and numbers["square_price_at_best_angle"] < 1e-6,
        numbers,
        "At the angle that is best with memory, remembering costs nothing more; larger angles pay for it, smaller ones "
        "find less of the rule.",
    )


def check_angle_transition(quick: bool) -> Finding:
    """Sweep the angle: where is the best regularization of ridge regression positive?"""
    best = float(optimal_angle("square", fact_fraction=0.2))
    angles = np.linspace(0.1, 1.55, 60 if quick else 600)
    found = solve("square", kernel=Kernel.from_angle(angles), regularization="optimal", **TASK)
    positive = found.regularization > 0.0
    hinge = [float(optimal_angle("hinge", regularization=lam, **TASK)) for lam in (0.0, "optimal")]
    numbers = {
        "smallest_angle_with_positive_regularization": angles[positive].min(),
        "arcsin_rho": best,
        "hinge_best_angle_unregularized": hinge[0],
        "hinge_best_angle_at_best_regularization": hinge[1],
    }
    step = float(angles[1] - angles[0])
    sharp = bool((np.diff(positive.astype(int)) >= 0).all()) and 0.0 <= angles[positive].min() - best <= step
    return holds_if(
        sharp and abs(hinge[0] - hinge[1]) > 0.05,
        numbers,
        "The best λ becomes positive at arcsin ρ; the hinge loss has two best angles instead of one.",
    )


def check_bayes_map(quick: bool) -> Finding:
    """Look at the Bayes-optimal error over samples and facts."""
    points = 30 if quick else 120
    alpha, epsilon = np.geomspace(0.1, 100.0, points)[:, None], np.linspace(0.0, 1.0, points)
    error = bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon).generalization_error
    numbers = {
        "smallest_step_with_more_facts": np.diff(error, axis=1).min(),
        "largest_step_with_more_samples": np.diff(error[:, :-1], axis=0).max(),
        "error_with_facts_only": error[:, -1].min(),
    }
    return holds_if(
        (np.diff(error, axis=1) > 0.0).all()
        and (np.diff(error[:, :-1], axis=0) < 0.0).all()
        and numbers["error_with_facts_only"] == 0.5,
        numbers,
        "The error grows with the facts, to one half, and falls with the samples.",
    )


def check_linear_map(quick: bool) -> Finding:
    """Look at the linear model at its best regularization over samples and facts."""
    points = 8 if quick else 24
    alpha, epsilon = np.geomspace(0.1, 100.0, points)[:, None], np.linspace(0.05, 0.95, points)
    numbers: dict[str, float] = {}
    fine = True
    for loss in TRADEOFF_LOSSES:
        task: dict[str, Any] = {"sample_ratio": alpha, "fact_fraction": epsilon}
        error = solve(loss, regularization="optimal", **task).generalization_error
        fine &= bool((np.diff(error, axis=1) > 0.0).all() and (np.diff(error, axis=0) < 0.0).all())
        numbers |= {f"{loss}_few_samples_many_facts": error[0, -1], f"{loss}_many_samples_few_facts": error[-1, 0]}
        fine &= error[0, -1] > 0.45 and error[-1, 0] < 0.1
    return holds_if(
        fine,
        numbers,
        "The error is near one half with few samples and many facts, small in the opposite corner, and smooth in "
        "between.",
    )
