"""Checks of the theory of two items with constant similarity: Theorems 1 and 2 and what follows from them.

Both tests for constant similarity by counting how many items fall inside the ball: sums of a binomial law.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.interpolate import CubicSpline

from genlaws.claims.claim import MAX_Z_SCORE, Finding, holds_if
from genlaws.claims.semanticity.trials import ball_moments, constant, linear, play, trial_count
from genlaws.core.arguments import Array
from genlaws.semanticity.theory.front import front
from genlaws.semanticity.theory.similarity import similarity
from genlaws.semanticity.theory.spaces import circle, segment
from genlaws.semanticity.theory.tradeoff import (
    generalization_probability,
    homogeneous_front,
    identification_probability,
)

Formula = Callable[..., ArrayLike]
CASES = (
    ("circle", 0.1),
    ("circle", 0.25),
    ("torus", 0.3),
    ("sphere", 1.0),
    ("segment", 0.1),
    ("segment", 0.3),
    ("segment", 0.7),
    ("uneven", 0.05),
    ("uneven", 0.2),
)
UNEVEN = (("segment", 0.4), ("segment", 0.5), ("uneven", 0.1), ("uneven", 0.2))
EVEN = (("circle", 0.1), ("circle", 0.35), ("torus", 0.3), ("sphere", 1.0), ("hypercube", 2.5), ("hypercube", 4.5))
BACKGROUNDS = (0.05, 0.3)


def by_counting(ball_mass: Array, item_count: int, background: float = 0.0) -> tuple[Array, Array]:
    r"""Return generalization and identification of n items, for each ball mass.

    With k of the items inside the ball, each of those is chosen with :math:`1/(k+(n-k)\Delta)`; with none inside all
    are equally likely.
    """
    n, b = item_count, np.asarray(ball_mass, dtype=np.float64)[..., None]
    k = np.arange(n + 1)
    with np.errstate(divide="ignore"):
        chance = np.where(k > 0, 1.0 / (k + (n - k) * background), 1.0 / n)
    others = np.arange(n)
    named = 1.0 / (1.0 + others + (n - 1 - others) * background)
    p_s: Array = (stats.binom.pmf(k, n, b) * chance).sum(axis=-1)
    p_i: Array = (stats.binom.pmf(others, n - 1, b) * named).sum(axis=-1)
    return p_s, p_i


def identification_in_fractions(ball_mass: Fraction, item_count: int) -> Fraction:
    """Return the identification of n items without background as an exact fraction."""
    b, q, m = ball_mass, 1 - ball_mass, item_count - 1
    return sum((Fraction(comb(m, k), k + 1) * b**k * q ** (m - k) for k in range(m + 1)), Fraction(0))


def generalization_in_fractions(ball_mass: Fraction, item_count: int) -> Fraction:
    """Return the generalization of n items without background as an exact fraction."""
    b, q, n = ball_mass, 1 - ball_mass, item_count
    some = (Fraction(comb(n, k), k) * b**k * q ** (n - k) for k in range(1, n + 1))
    return q**n / n + sum(some, Fraction(0))


def check_theorem_1(
    quick: bool,
    generalization: Formula = generalization_probability,
    identification: Formula = identification_probability,
) -> Finding:
    """Play both tests in five spaces and compare with the closed forms."""
    return _against_simulation(quick, (0.0,), generalization, identification, "Theorem 1")


def check_theorem_2(
    quick: bool,
    generalization: Formula = generalization_probability,
    identification: Formula = identification_probability,
) -> Finding:
    """The same with a background."""
    return _against_simulation(quick, BACKGROUNDS, generalization, identification, "Theorem 2")


def _against_simulation(
    quick: bool, backgrounds: tuple[float, ...], generalization: Formula, identification: Formula, name: str
) -> Finding:
    largest, trials = 0.0, trial_count(quick)
    for seed, (place, resolution) in enumerate(CASES):
        mean, variance = ball_moments(place, resolution)
        for background in backgrounds:
            played = play(place, constant(resolution, background), trials=trials, seed=seed)
            values = generalization(mean, variance, background), identification(mean, background)
            largest = max(largest, played.departure(*values))
    return holds_if(
        largest <= MAX_Z_SCORE,
        {"largest_departure_in_standard_errors": largest, "bound": MAX_Z_SCORE, "trials_of_each_case": trials},
        f"{name} agrees with the two tests played out on the circle, the torus, the sphere, the segment and an uneven "
        f"segment: the farthest of {2 * len(CASES) * len(backgrounds)} probabilities is {largest:.1f} standard errors "
        "away.",
    )


def check_heterogeneity(quick: bool, variance_term: Callable[[float], float] = lambda variance: variance) -> Finding:
    """Compare uneven spaces with a homogeneous one of the same mean ball mass."""
    losses, errors, due = [], [], []
    for seed, (place, resolution) in enumerate(UNEVEN):
        mean, variance = ball_moments(place, resolution)
        played = play(place, constant(resolution), trials=trial_count(quick), seed=seed)
        losses.append(0.5 + mean - mean**2 - played.generalization)
        errors.append(played.generalization_error)
        due.append(variance_term(variance))
    loss, error, expected = np.array(losses), np.array(errors), np.array(due)
    departure = float(np.max(np.abs(loss - expected) / error))
    return holds_if(
        departure <= MAX_Z_SCORE and loss.sum() > MAX_Z_SCORE * np.linalg.norm(error),
        {
            "smallest_loss": loss.min(),
            "largest_loss": loss.max(),
            "largest_departure_from_variance_in_standard_errors": departure,
            "bound": MAX_Z_SCORE,
        },
        f"Against a homogeneous space of the same mean ball mass, uneven ones lose {loss.min():.3f} to "
        f"{loss.max():.3f} of generalization, which is the variance of the ball mass within error.",
    )


def check_homogeneous_front(quick: bool, curve: Formula = homogeneous_front) -> Finding:
    """Play both tests in homogeneous spaces and see whether all points lie on one curve."""
    largest = 0.0
    for seed, (place, resolution) in enumerate(EVEN):
        played = play(place, constant(resolution), trials=trial_count(quick), seed=seed)
        at = np.array([played.identification, played.identification + 1e-4])
        height, ahead = np.asarray(curve(at), dtype=np.float64)
        slope = abs(ahead - height) / 1e-4
        error = np.hypot(played.generalization_error, slope * played.identification_error)
        largest = max(largest, abs(played.generalization - float(height)) / float(error))
    return holds_if(
        largest <= MAX_Z_SCORE,
        {"largest_departure_in_standard_errors": largest, "bound": MAX_Z_SCORE, "points": len(EVEN)},
        "With constant similarity, no background and two items, points of the circle, the torus, the sphere and the "
        "hypercube lie on one curve p_S = 1/2 + 2 (1 - p_I)(2 p_I - 1) within error.",
    )


def check_peak(quick: bool, height: float = 0.75, place: float = 0.5) -> Finding:
    """Find the best ball mass by counting the items inside the ball."""
    masses = np.linspace(0.0, 1.0, 1001 if quick else 100_001)
    p_s, p_i = by_counting(masses, 2)
    best = int(np.argmax(p_s))
    return holds_if(
        abs(p_s[best] - height) < 1e-6 and abs(masses[best] - place) < 1e-6,
        {"best_ball_mass": masses[best], "generalization": p_s[best], "identification": p_i[best]},
        f"Generalization is largest, {p_s[best]:.4f}, at ball mass {masses[best]:.4f}, where identification equals it.",
    )


def check_regimes(quick: bool) -> Finding:
    """Look at both ends and between, by counting, and at three resolutions by simulation."""
    masses = np.linspace(0.0, 1.0, 201)
    p_s, p_i = by_counting(masses, 2)
    half = len(masses) // 2
    fine, coarse = (play("circle", constant(e), trials=trial_count(quick)) for e in (0.002, 0.5))
    orderly = np.all(np.diff(p_i) < 0) and np.all(np.diff(p_s[: half + 1]) > 0) and np.all(np.diff(p_s[half:]) < 0)
    ends = fine.departure(0.5 + 0.004 - 0.004**2, 0.998) <= MAX_Z_SCORE and coarse.departure(0.5, 0.5) <= MAX_Z_SCORE
    return holds_if(
        orderly and ends,
        {
            "fine_generalization": fine.generalization,
            "fine_identification": fine.identification,
            "coarse_generalization": coarse.generalization,
            "coarse_identification": coarse.identification,
        },
        "A fine resolution identifies and guesses in generalization, a coarse one guesses in both, and between them "
        "identification falls steadily while generalization rises and falls.",
    )


def check_noise_lowers_both(quick: bool) -> Finding:
    """Count with growing background and look for any rise."""
    masses = np.linspace(0.02, 0.98, 13 if quick else 97)
    backgrounds = np.linspace(0.0, 1.0, 21 if quick else 201)
    steepest = -np.inf
    for n in (2, 3, 10, 40):
        values = np.array([by_counting(masses, n, float(one)) for one in backgrounds])
        steepest = max(steepest, float(np.diff(values, axis=0).max()))
    return holds_if(
        steepest < 0,
        {"largest_change_between_backgrounds": steepest},
        "Both probabilities fall with every step of the background, at every ball mass strictly between 0 and 1, for "
        "2, 3, 10 and 40 items.",
    )


def check_segment_moments(quick: bool, variance: Callable[[Array], Array] | None = None) -> Finding:
    """Compare the closed moments of the ball mass on the segment with a sum over probes, and with the library's."""
    resolutions = np.array([0.05, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0])
    points = 4_000 if quick else 200_000
    summed = np.array([ball_moments("segment", float(one), points) for one in resolutions])
    mean = 2.0 * resolutions - resolutions**2
    library = np.stack([np.asarray(part) for part in segment().ball(resolutions)], axis=1)
    apart = max(
        float(np.abs(summed[:, 0] - mean).max()),
        float(np.abs(summed[:, 1] - (variance or _segment_variance)(resolutions)).max()),
    )
    apart = max(apart, float(np.abs(library - summed).max()))
    bound = 2.0 / points
    return holds_if(
        apart < bound,
        {"largest_difference": apart, "bound": bound},
        f"Mean and variance of the ball mass on the segment agree with a sum over {points} probes at seven resolutions "
        "up to the whole segment.",
    )


def _segment_variance(e: Array) -> Array:
    mean = 2.0 * e - e**2
    fine = 2.0 / 3.0 * e**3 - e**4
    return np.where(e <= 0.5, fine, (2.0 * e - 1.0) + 2.0 / 3.0 * (1.0 - e**3) - mean**2)


def check_segment_below_circle(quick: bool) -> Finding:
    """Compare both fronts at equal identification, for two shapes, and one point of each by simulation."""
    at = np.linspace(0.77, 0.93, 9)
    resolutions = np.geomspace(0.05, 0.45, 12 if quick else 100)
    gaps = []
    for shape in ("constant", "linear"):
        heights = []
        for where in (circle(), segment()):
            curve = front(where, similarity=similarity(shape, 1.0), resolutions=resolutions)
            heights.append(CubicSpline(curve.identification[::-1], curve.generalization[::-1])(at))
        gaps.append(heights[0] - heights[1])
    played = [play(place, linear(0.3), trials=trial_count(quick)) for place in ("circle", "segment")]
    smallest = float(np.min(gaps))
    return holds_if(
        smallest > 0,
        {
            "smallest_gap_between_the_fronts": smallest,
            "largest_gap_between_the_fronts": np.max(gaps),
            "circle_linear_decay": played[0].generalization,
            "segment_linear_decay": played[1].generalization,
        },
        f"At equal identification between 0.77 and 0.93 the segment lies {smallest:.4f} to {np.max(gaps):.4f} below "
        "the circle, for the constant and the linear similarity.",
    )
