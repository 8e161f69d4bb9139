"""Checks of the Rules-and-Facts limits: thresholds, vanishing and infinite regularization, many samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate, optimize, special, stats

from genlaws.claims.claim import Finding, holds_if, number_id
from genlaws.core.arguments import Array
from genlaws.rules_facts import (
    Kernel,
    bayes_optimal,
    draw_gaussian,
    infinite_regularization,
    interpolation_threshold,
    large_sample_bayes_error,
    large_sample_error,
    solve,
)

ROOT_2_PI = np.sqrt(2.0 / np.pi)
NUMERICAL_TOLERANCE = 1e-8  # of numbers that two routes should give alike
RANDOM_LABEL_CAPACITY = 2.0  # of a perceptron with random labels
THRESHOLD_EXPONENT = 1.0 / 3.0  # of the threshold as facts vanish
BAYES_CONSTANT = 0.44  # of the paper at no facts, to two digits
DECAY_EXPONENTS = {"bayes": 1.0, "square": 0.5, "hinge": 0.5}  # exponents of the decay with samples
EXPONENT_TOLERANCE = 0.01
LIMIT_KERNELS = ("linear", "erf", "relu", "gaussian:1.5")


def check_hinge_threshold(quick: bool) -> Finding:
    """Compare the threshold with the least mean of a squared positive part, found numerically."""
    shares = (0.05, 0.2, 0.5, 1.0) if quick else (0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0)
    worst = 0.0
    for epsilon in shares:
        least = optimize.minimize_scalar(_mean_square, bounds=(0.0, 50.0), args=(epsilon,), method="bounded")
        threshold = float(interpolation_threshold("hinge", fact_fraction=epsilon))
        worst = max(worst, abs(threshold * float(least.fun) - 1.0))
    few = np.array([1e-9, 1e-10])
    slope = -np.diff(np.log(np.asarray(interpolation_threshold("hinge", fact_fraction=few)))) / np.diff(np.log(few))
    capacity = float(interpolation_threshold("hinge", fact_fraction=1.0))
    return holds_if(
        worst < NUMERICAL_TOLERANCE
        and abs(capacity - RANDOM_LABEL_CAPACITY) < NUMERICAL_TOLERANCE
        and abs(slope[0] - THRESHOLD_EXPONENT) < 2e-3,
        {
            "threshold_at_fact_fraction_0_2": float(interpolation_threshold("hinge", fact_fraction=0.2)),
            "largest_relative_difference": worst,
            "threshold_with_facts_only": capacity,
            "exponent_as_facts_vanish": slope[0],
        },
        "The threshold solves the variational form; it is 2 with facts only and diverges as the cube root of 1/facts.",
    )


def _mean_square(t: float, epsilon: float) -> float:
    """Return the mean of the squared positive part of Z - tY, Y normal for a fact and its absolute value otherwise."""

    def inner(y: float) -> float:
        """Return the mean over Z at a value of Y, times the density of Y."""
        a = t * y
        value = (1.0 + a * a) * special.ndtr(-a) - a * np.exp(-a * a / 2.0) / np.sqrt(2.0 * np.pi)
        weight = (2.0 - epsilon) if y > 0 else epsilon
        return float(weight * value * np.exp(-y * y / 2.0) / np.sqrt(2.0 * np.pi))

    breaks = [0.0, 1.0 / max(t, 1.0)]  # where the density jumps, and where the mean over Z has fallen
    return float(integrate.quad(inner, -12.0, 12.0, points=breaks, epsabs=1e-13, epsrel=1e-12, limit=200)[0])


def check_threshold_runs(quick: bool) -> Finding:
    """Test by a linear program whether a hyperplane separates draws below and above the threshold."""
    dimension, draws = (40, 10) if quick else (150, 40)
    shares = {}
    for epsilon in (0.2, 1.0):
        threshold = float(interpolation_threshold("hinge", fact_fraction=epsilon))
        for factor in (0.75, 1.3):
            found = [_separable(dimension, factor * threshold, epsilon, seed) for seed in range(draws)]
            shares[number_id(f"separable_facts_{epsilon:g}_threshold_{factor:g}")] = float(np.mean(found))
    below, above = list(shares.values())[::2], list(shares.values())[1::2]
    return holds_if(
        min(below) >= 0.8 and max(above) <= 0.2,
        {"dimension": dimension, "draws": draws, **shares},
        "Below the threshold nearly every draw can be separated by a hyperplane, above it nearly none.",
    )


def _separable(dimension: int, sample_ratio: float, epsilon: float, seed: int) -> bool:
    draw = draw_gaussian(dimension, sample_ratio, epsilon, test_count=1, seed=seed)
    signed = -draw.labels[:, None] * draw.inputs
    found = optimize.linprog(np.zeros(dimension), A_ub=signed, b_ub=-np.ones(len(signed)), bounds=(None, None))
    return bool(found.status == 0)


def check_ridgeless_linear(quick: bool) -> Finding:
    """Compare the perceptron with the closed forms of Eqs. 165 to 169 on both sides of one sample per dimension."""
    alpha = np.array([0.1, 0.5, 0.9, 1.2, 2.0, 5.0, 100.0])
    worst, thresholds, rising = 0.0, [], True
    for epsilon in (0.1, 0.5, 0.9):
        found = solve("square", sample_ratio=alpha, fact_fraction=epsilon, regularization=0.0)
        rule, memory = _ridgeless_errors(alpha, epsilon)
        worst = max(worst, *np.abs(found.generalization_error - rule), *np.abs(found.memorization_error - memory))
        thresholds.append(float(interpolation_threshold("square", fact_fraction=epsilon)))
        rising &= bool((np.diff(found.memorization_error[alpha > 1.0]) > 0.0).all())
    return holds_if(
        worst < NUMERICAL_TOLERANCE and set(thresholds) == {1.0} and rising,
        {"largest_difference": worst, "thresholds": ", ".join(f"{one:g}" for one in thresholds)},
        "Every label is fitted below one sample per dimension, whatever the facts; beyond, memory fades to chance.",
    )


def _ridgeless_errors(alpha: Array, epsilon: float) -> tuple[Array, Array]:
    rho = (1.0 - epsilon) * ROOT_2_PI
    few = alpha < 1.0
    m = np.where(few, alpha * rho, rho)
    apart = np.abs(alpha - 1.0)
    q = np.where(few, alpha * (1.0 - alpha * rho**2), alpha * rho**2 + 1.0 - 2.0 * rho**2) / apart
    memory = np.where(few, 0.0, 0.5 * special.erfc(1.0 / (apart * np.sqrt(2.0 * q))))
    return np.arccos(m / np.sqrt(q)) / np.pi, memory


def check_perceptron_figure(quick: bool) -> Finding:
    """Follow the perceptron at vanishing regularization over the samples, for both losses."""
    epsilon = 0.2
    limit = float(interpolation_threshold("hinge", fact_fraction=epsilon))
    task: dict[str, Any] = {"fact_fraction": epsilon, "regularization": 0.0}
    hinge = solve("hinge", sample_ratio=limit * np.array([0.5, 0.98, 1.02, 2.0]), **task).memorization_error
    square = solve("square", sample_ratio=[0.5, 0.999, 1.2, 3.0], **task)
    forgets, wrong = square.memorization_error, square.generalization_error
    numbers = {
        "hinge_memorization_error_below_threshold": hinge[1],
        "hinge_memorization_error_above_threshold": hinge[2],
        "square_memorization_error_below_1": forgets[1],
        "square_memorization_error_at_1_2": forgets[2],
        "square_generalization_error_below_1": wrong[1],
        "square_generalization_error_at_0_5_and_3": f"{wrong[0]:.3f}, {wrong[3]:.3f}",
    }
    sharp = all(bool((one[:2] == 0.0).all() and (np.diff(one[1:]) > 0.0).all()) for one in (hinge, forgets))
    return holds_if(
        sharp and wrong[1] > max(wrong[0], wrong[3]),
        numbers,
        "Memory is perfect up to the threshold of each loss and not beyond; the square loss peaks in generalization "
        "error there.",
    )


def check_kernels_remember(quick: bool) -> Finding:
    """Let the regularization vanish for kernels with a non-linear part."""
    alpha, angle = np.array([0.5, 5.0, 50.0])[:, None], np.array([0.2, 0.8, 1.5])
    task: dict[str, Any] = {"sample_ratio": alpha, "fact_fraction": 0.3, "kernel": Kernel.from_angle(angle)}
    numbers: dict[str, float] = {}
    falling = True
    for loss in ("square", "hinge", "logistic"):
        path = [np.max(solve(loss, regularization=lam, **task).memorization_error) for lam in (1.0, 1e-2, 1e-4, 0.0)]
        numbers |= {
            f"{loss}_largest_memorization_error_at_0_01": path[1],
            f"{loss}_largest_memorization_error_at_0": path[-1],
        }
        falling &= bool((np.diff(path) <= 0.0).all()) and path[-1] < 1e-12
    return holds_if(falling, numbers, "Every kernel with a non-linear part remembers all facts as λ → 0, at any α.")


def check_infinite_regularization(quick: bool) -> Finding:
    """Compare Eqs. 191 and 192 with the state equations at very strong regularization, for several losses."""
    alpha, epsilon = np.array([0.5, 2.0, 20.0]), 0.2
    rho, worst = (1.0 - epsilon) * ROOT_2_PI, 0.0
    for name in LIMIT_KERNELS:
        kernel = Kernel.from_name(name)
        ratio = float(np.square(kernel.mu_star)) / float(np.square(kernel.mu_1))
        rule = np.arccos(rho * np.sqrt(alpha) / np.sqrt(1.0 + rho**2 * alpha)) / np.pi
        memory = 0.5 * special.erfc((1.0 + ratio) / np.sqrt(2.0 * (alpha + rho**2 * alpha**2)))
        closed = infinite_regularization(sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel)
        strong: dict[str, Any] = {
            loss: solve(loss, sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=1e7)
            for loss in ("square", "hinge", "logistic")
        }
        found: Any
        for found in (closed, *strong.values()):
            gaps = np.abs(found.generalization_error - rule), np.abs(found.memorization_error - memory)
            worst = max(worst, *(gap.max() for gap in gaps))
    return holds_if(
        worst < 1e-4,
        {"largest_difference_at_1e7": worst, "allowed": 1e-4},
        "At strong regularization all losses give the errors of Eqs. 191 and 192.",
    )


def check_ridge_decay(quick: bool) -> Finding:
    """Compare ridge regression with Eq. 42 at many samples, for all kernels and several regularizations."""
    alpha, ratios = 1e6, []
    for epsilon in (0.0, 0.2, 0.6):
        rho = (1.0 - epsilon) * ROOT_2_PI
        law = np.sqrt((1.0 - rho**2) / rho**2) / (np.pi * np.sqrt(alpha))
        for name in LIMIT_KERNELS:
            task: dict[str, Any] = {"sample_ratio": alpha, "fact_fraction": epsilon, "kernel": name}
            found = solve("square", regularization=[0.0, 0.1, 10.0], **task).generalization_error
            ratios += list(found / law)
        ratios.append(float(large_sample_error(sample_ratio=alpha, fact_fraction=epsilon)) / law)
    apart = np.abs(np.array(ratios) - 1.0).max()
    return holds_if(
        apart < 1e-3,
        {"cases": len(ratios), "largest_relative_distance_at_1e6_samples": apart},
        "The coefficient is that of Eq. 42 for every kernel and regularization.",
    )


def check_bayes_decay(quick: bool) -> Finding:
    """Compare the Bayes curve at many samples with Eq. 201, its constant integrated here."""
    alpha, worst = 1e6, 0.0
    constants = {}
    for epsilon in (0.0, 0.2, 0.6):
        integral = integrate.quad(
            lambda s, e=epsilon: np.exp(-(s**2)) / (e + (1.0 - e) * special.erfc(-s / np.sqrt(2.0))), -8.0, 9.0
        )[0]
        constants[epsilon] = (2.0 * np.pi) ** 1.5 / (4.0 * np.pi * (1.0 - epsilon) ** 2 * integral)
        found = bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon).generalization_error
        law = float(large_sample_bayes_error(sample_ratio=alpha, fact_fraction=epsilon))
        worst = max(worst, *(abs(one * alpha / constants[epsilon] - 1.0) for one in (found, law)))
    return holds_if(
        worst < 1e-3 and round(constants[0.0], 2) == BAYES_CONSTANT,
        {
            "constant_without_facts": constants[0.0],
            "constant_at_fact_fraction_0_2": constants[0.2],
            "largest_relative_distance_at_1e6": worst,
        },
        "The Bayes-optimal error falls as one over the samples at every fact fraction, 0.44/α without facts.",
    )


def _decay_exponent(learner: str, alpha: Array, **task: Any) -> float:
    """Return the exponent of the decay between the last two sample ratios."""
    if learner == "bayes":
        errors = bayes_optimal(sample_ratio=alpha, fact_fraction=task["fact_fraction"]).generalization_error
    else:
        errors = solve(learner, sample_ratio=alpha, **task).generalization_error
    return float(-np.diff(np.log(errors))[-1] / np.diff(np.log(alpha))[-1])


def check_decay_figure(quick: bool) -> Finding:
    """Measure the three exponents of Fig. 6 at its fact fraction."""
    alpha = np.array([1e4, 1e5])
    found = {
        name: _decay_exponent(name, alpha, fact_fraction=0.2, kernel="relu", regularization="optimal")
        for name in DECAY_EXPONENTS
    }
    apart = max(abs(found[name] - rate) for name, rate in DECAY_EXPONENTS.items())
    return holds_if(
        apart < EXPONENT_TOLERANCE,
        {**{f"exponent_{name}": one for name, one in found.items()}, "allowed_distance": EXPONENT_TOLERANCE},
        "Bayes falls as 1/α, ridge and support vector machine as 1/√α.",
    )


def check_hinge_conjecture(quick: bool) -> Finding:
    """Measure the exponent of the hinge loss over kernels, regularizations and fact fractions."""
    alpha = np.array([1e5, 1e6])
    shares, strengths = ((0.2,), (0.0, "optimal")) if quick else ((0.05, 0.2, 0.6), (0.0, 1e-3, 1.0, "optimal"))
    found = [
        _decay_exponent("hinge", alpha, fact_fraction=epsilon, kernel=name, regularization=lam)
        for epsilon in shares
        for name in LIMIT_KERNELS
        for lam in strengths
    ]
    return holds_if(
        max(abs(one - DECAY_EXPONENTS["hinge"]) for one in found) < EXPONENT_TOLERANCE,
        {"cases": len(found), "smallest_exponent": min(found), "largest_exponent": max(found)},
        "With facts the support vector machine falls as 1/√α for every kernel and regularization tried.",
    )


def check_hinge_without_facts(quick: bool) -> Finding:
    """Measure the exponent of the hinge loss and a linear learner where every label follows the rule."""
    found = _decay_exponent("hinge", np.array([1e4, 1e5]), fact_fraction=0.0, regularization=0.0)
    with_facts = _decay_exponent("hinge", np.array([1e4, 1e5]), fact_fraction=0.01, regularization=0.0)
    return holds_if(
        abs(found - DECAY_EXPONENTS["bayes"]) < EXPONENT_TOLERANCE and with_facts < 0.9,
        {"exponent_without_facts": found, "exponent_with_one_fact_in_a_hundred": with_facts},
        "Without facts a linear support vector machine falls as 1/α; one fact in a hundred ends that.",
    )


def check_kernels_are_too_slow(quick: bool) -> Finding:
    """Compare the best kernel learner that remembers every fact with the Bayes curve at growing samples."""
    alpha = np.array([10.0, 1e2, 1e3, 1e4])
    angle = np.linspace(0.1, np.pi / 2 - 0.01, 40 if quick else 200)
    task: dict[str, Any] = {"sample_ratio": alpha[:, None], "fact_fraction": 0.2, "kernel": Kernel.from_angle(angle)}
    keeps = np.minimum(
        *(solve(loss, regularization=0.0, **task).generalization_error.min(axis=1) for loss in ("square", "hinge"))
    )
    lag = keeps / bayes_optimal(sample_ratio=alpha, fact_fraction=0.2).generalization_error
    growth = stats.linregress(np.log(alpha[1:]), np.log(lag[1:])).slope
    return holds_if(
        (np.diff(lag) > 0.0).all() and abs(growth - 0.5) < 0.05,
        {"lag_at_10": lag[0], "lag_at_1e4": lag[-1], "exponent_of_the_lag": growth},
        "The best kernel that remembers every fact falls behind the Bayes curve as √α, so kernels are not enough.",
    )
