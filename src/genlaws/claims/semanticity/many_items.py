"""Checks of the theory of many items: Theorem 3, the collapse with 1/n, and the best resolution."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy import optimize, special

from genlaws.claims.claim import MAX_Z_SCORE, Finding, graded, holds_if
from genlaws.claims.semanticity.trials import ball_moments, constant, play, trial_count
from genlaws.claims.semanticity.two_items import (
    Formula,
    by_counting,
    generalization_in_fractions,
    identification_in_fractions,
)
from genlaws.semanticity.theory.many_items import best_ball_mass, generalization_of_many, identification_of_many

LIMIT_TOLERANCE = 0.02  # of one, for a law that is only reached in the limit


def check_theorem_3_identification(
    quick: bool, closed: Callable[[Fraction, int], Fraction] = lambda b, n: (1 - (1 - b) ** n) / (n * b)
) -> Finding:
    """Compare with exact fractions, and with the test played on the circle."""
    numbers = (2, 3, 5, 12) if quick else tuple(range(2, 61))
    masses = [Fraction(1, 100), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)]
    unequal = sum(closed(b, n) != identification_in_fractions(b, n) for b in masses for n in numbers)
    largest = _largest_departure(quick, lambda b, n: float(closed(Fraction(b), n)), "identification")
    return holds_if(
        unequal == 0 and largest <= MAX_Z_SCORE,
        {"unequal_fractions": unequal, "largest_departure_in_standard_errors": largest, "bound": MAX_Z_SCORE},
        f"(1 - q^n)/(n b) equals the sum over the items inside the ball as a fraction, at "
        f"{len(masses) * len(numbers)} points, and the test played on the circle with up to 20 items.",
    )


def check_theorem_3_generalization(quick: bool, formula: Formula = generalization_of_many) -> Finding:
    """The same for generalization."""
    numbers = (2, 3, 5, 12) if quick else (2, 3, 5, 12, 40, 100)
    apart = max(
        abs(float(np.asarray(formula(float(b), n))) - float(generalization_in_fractions(b, n)))
        for b in (Fraction(1, 100), Fraction(1, 3), Fraction(9, 10))
        for n in numbers
    )
    largest = _largest_departure(quick, formula, "generalization")
    return holds_if(
        apart < 1e-10 and largest <= MAX_Z_SCORE,
        {"largest_difference_from_fractions": apart, "largest_departure_in_standard_errors": largest},
        "The sum over the items inside the ball agrees with exact fractions and with the test played on the circle "
        "with up to 20 items.",
    )


def _largest_departure(quick: bool, formula: Formula, test: str) -> float:
    """Return the largest departure of a formula from the test played on the circle, in standard errors."""
    largest = 0.0
    for seed, (b, n) in enumerate(((0.05, 20), (0.2, 5), (0.5, 3))):
        played = play("circle", constant(b / 2), n, trials=trial_count(quick) // 4, seed=seed)
        error = max(getattr(played, f"{test}_error"), 1e-12)
        largest = max(largest, abs(getattr(played, test) - float(np.asarray(formula(b, n)))) / error)
    return largest


def check_theorem_3_noise(
    quick: bool, generalization: Formula = generalization_of_many, identification: Formula = identification_of_many
) -> Finding:
    """Play both tests with background and several items."""
    largest = 0.0
    for seed, (b, n, background) in enumerate(((0.2, 4, 0.1), (0.1, 12, 0.02), (0.5, 8, 0.3))):
        played = play("circle", constant(b / 2, background), n, trials=trial_count(quick) // 2, seed=seed)
        values = (one(b, n, background) for one in (generalization, identification))
        largest = max(largest, played.departure(*values))
    return holds_if(
        largest <= MAX_Z_SCORE,
        {"largest_departure_in_standard_errors": largest, "bound": MAX_Z_SCORE},
        "With background and 4, 8 and 12 items both forms of Theorem 3 agree with the tests played on the circle: the "
        f"farthest is {largest:.1f} standard errors away.",
    )


def check_collapse(quick: bool, constant_of: Callable[[float], float] = lambda b: 1.0 / b) -> Finding:
    """Multiply identification with the number of items, by counting."""
    masses = np.array([0.05, 0.2, 0.5])
    ratios = []
    for b in masses:
        n = int((5 if quick else 50) / b)
        ratios.append(n * float(by_counting(np.array(b), n)[1]) / constant_of(float(b)))
    apart = float(np.abs(np.array(ratios) - 1.0).max())
    best = [float(by_counting(np.array(0.5), n)[1]) for n in (4, 10)]
    return holds_if(
        apart < LIMIT_TOLERANCE,
        {
            "largest_relative_error": apart,
            "bound": LIMIT_TOLERANCE,
            "identification_of_4_items_at_half": best[0],
            "identification_of_10_items_at_half": best[1],
        },
        f"n p_I tends to 1/b: with n b = {5 if quick else 50} it is {100 * apart:.2g} % off at most, exactly (1-b)^n. "
        f"At the resolution that is best for two items, one of ten is identified with {best[1]:.2f}.",
    )


def check_collapse_elsewhere(quick: bool) -> Finding:
    """Check whether n p_I settles with a background and on a segment, and where."""
    b, background, n = 0.2, 0.1, 400
    pair = [m * float(by_counting(np.array(b), m, background)[1]) for m in (n, 2 * n)]
    due = 1.0 / (b + (1.0 - b) * background)
    probes = (np.arange(4000) + 0.5) / 4000
    ball = np.minimum(1.0, probes + b / 2) - np.maximum(0.0, probes - b / 2)
    on_segment = [float(np.mean((1.0 - (1.0 - ball) ** m) / ball)) for m in (n, 2 * n)]
    mean = ball_moments("segment", b / 2)[0]
    settled = max(abs(one[1] / one[0] - 1.0) for one in (pair, on_segment))
    same = max(abs(pair[1] * b - 1.0), abs(on_segment[1] * mean - 1.0))
    return graded(
        settled <= LIMIT_TOLERANCE and same < LIMIT_TOLERANCE,
        settled <= LIMIT_TOLERANCE,
        {
            "with_background_n_times_identification": pair[1],
            "with_background_general_form": due,
            "with_background_inverse_ball_mass": 1.0 / b,
            "segment_n_times_identification": on_segment[1],
            "segment_inverse_mean_ball_mass": 1.0 / mean,
        },
        "The law 1/n, with the constant 1/b, holds with a background and in an uneven space.",
        "The law 1/n holds with a background and in an uneven space, but its constant is not 1/b: it is one over the "
        f"mean similarity seen by a probe, averaged over probes ({pair[1]:.3f} instead of {1 / b:.3f} with a "
        f"background of {background}; {on_segment[1]:.3f} instead of {1 / mean:.3f} on a segment).",
    )


def check_not_monotone(quick: bool, ball_mass: float = 0.01) -> Finding:
    """Count for one ball mass and many numbers of items, and look for the turning points."""
    numbers = np.arange(2, 400)
    p_s = np.array([float(by_counting(np.array(ball_mass), int(n))[0]) for n in numbers])
    low = int(np.argmin(p_s[: len(p_s) // 2]))
    high = low + int(np.argmax(p_s[low:]))
    return holds_if(
        0 < low < high < len(p_s) - 1 and p_s[0] > p_s[low] < p_s[high] > p_s[-1],
        {
            "item_count_with_fewest_right": numbers[low],
            "least_generalization": p_s[low],
            "item_count_with_most_right": numbers[high],
            "largest_generalization_at_item_count": p_s[high],
        },
        f"With ball mass {ball_mass} generalization falls to {p_s[low]:.3f} at {numbers[low]} items, rises to "
        f"{p_s[high]:.3f} at {numbers[high]} and falls again.",
        f"With ball mass {ball_mass} generalization has no minimum followed by a maximum.",
    )


def check_finer_for_more(quick: bool) -> Finding:
    """Maximize the counted generalization for each number of items, and its Poisson limit."""
    numbers = (2, 3, 5, 10, 30) if quick else (2, 3, 5, 10, 30, 100, 300)
    best = {}
    for n in numbers:
        found = optimize.minimize_scalar(
            lambda b, n=n: -float(by_counting(np.array(b), n)[0]),
            bounds=(0.5 / n, 0.6),
            method="bounded",
            options={"xatol": 1e-7},
        )
        best[n] = float(found.x)
    limit = optimize.minimize_scalar(
        lambda x: -np.exp(-x) * (special.expi(x) - np.euler_gamma - np.log(x)),
        bounds=(0.5, 4.0),
        method="bounded",
        options={"xatol": 1e-9},
    )
    library = np.asarray(best_ball_mass(np.array(numbers)))
    apart = float(np.abs(library - np.array(list(best.values()))).max())
    return holds_if(
        all(np.diff(list(best.values())) < 0) and apart < 1e-4,
        {
            **{f"best_ball_mass_for_{n}_items": b for n, b in best.items()},
            "limit_of_n_times_the_best_ball_mass": limit.x,
            "limit_of_the_best_generalization": -limit.fun,
            "largest_difference_from_library": apart,
        },
        f"More items call for a finer resolution: the best ball mass is {', '.join(f'{b:.3f}' for b in best.values())} "
        f"for {', '.join(map(str, best))} items, and n b tends to {limit.x:.4f} with generalization {-limit.fun:.5f}.",
    )


def check_peak_identity(quick: bool, factor: Callable[[int], float] = float) -> Finding:
    """Differentiate the counted generalization and compare with n (p_I - p_S)."""
    masses = np.linspace(0.05, 0.95, 10 if quick else 91)
    largest, h = 0.0, 1e-5
    for n in (2, 3, 7, 25):
        for background in (0.0, 0.02, 0.4):
            p_s, p_i = by_counting(masses, n, background)
            ahead, behind = (by_counting(masses + step, n, background)[0] for step in (h, -h))
            left = (1.0 - masses) * (ahead - behind) / (2.0 * h)
            largest = max(largest, float(np.abs(left - factor(n) * (p_i - p_s)).max()))
    return holds_if(
        largest < 1e-5,
        {"largest_difference": largest, "bound": 1e-5},
        "(1-b) dp_S/db equals n (p_I - p_S) for 2, 3, 7 and 25 items and three backgrounds, so that a front of "
        "constant similarity has its peak where it crosses the diagonal.",
    )
