"""Checks of the Rules-and-Facts equations: the Bayes curve and the state equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate, optimize, special

from genlaws.claims.claim import Finding, holds_if
from genlaws.claims.rules_facts.kernels import ROOT_2_PI
from genlaws.core.arguments import Array
from genlaws.rules_facts import Kernel, bayes_optimal, solve

QUADRATURE_TOLERANCE = 1e-8  # agreement of two ways to integrate a smooth function
GRID_NODES, GRID_REACH = 20001, 10.0
GRID_ERROR = 1e-4  # relative, of averages on that grid over functions with a kink
NEGATIVE_TOLERANCE = 1e-12
# Of each loss in the margin.
SLOPES: dict[str, Callable[[Array], Array]] = {
    "square": lambda z: z - 1.0,
    "hinge": lambda z: np.where(z < 1.0, -1.0, 0.0),
    "logistic": lambda z: -special.expit(-z),
}


def check_bayes_equations(quick: bool) -> Finding:
    """Solve Eqs. 17 and 18 as printed, by adaptive quadrature and bisection."""
    ratios = (0.5, 4.0, 20.0) if quick else (0.2, 0.5, 1.0, 2.0, 4.0, 10.0, 20.0, 50.0)
    points = [(alpha, epsilon) for alpha in ratios for epsilon in (0.0, 0.2, 0.6)]
    worst = 0.0
    for alpha, epsilon in points:
        overlap = optimize.brentq(_bayes_excess, 1e-9, 1.0 - 1e-9, args=(alpha, epsilon), xtol=1e-14)
        found = bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon).generalization_error
        worst = max(worst, abs(found - np.arccos(np.sqrt(overlap)) / np.pi))
    guess = bayes_optimal(sample_ratio=5.0, fact_fraction=1.0).generalization_error
    return holds_if(
        worst < QUADRATURE_TOLERANCE and guess == 0.5,
        {
            "points": len(points),
            "largest_difference": worst,
            "allowed": QUADRATURE_TOLERANCE,
            "error_with_facts_only": guess,
        },
        "The error of Eqs. 16 to 18, integrated as printed, is that of the library; with facts alone it is one half.",
    )


def _bayes_excess(q: float, alpha: float, epsilon: float) -> float:
    """Return q - q_hat/(1 + q_hat) with the integral of Eq. 18."""
    scale = np.sqrt(1.0 - q)

    def integrand(t: float) -> float:
        """Return the integrand; 1 + erf is written as erfc, which keeps its digits."""
        below = epsilon + (1.0 - epsilon) * special.erfc(-np.sqrt(q) * t / (np.sqrt(2.0) * scale))
        return float(np.exp(-(1.0 + q) * t**2 / (2.0 * scale**2)) / below)

    value = integrate.quad(integrand, -9.0 * scale, 9.0 * scale, epsabs=1e-13, epsrel=1e-12)[0]
    q_hat = 4.0 * (1.0 - epsilon) ** 2 * alpha / ((2.0 * np.pi) ** 1.5 * (1.0 - q)) * value
    return float(q - q_hat / (1.0 + q_hat))


def check_bayes_unique(quick: bool) -> Finding:
    """Count the roots of Eqs. 17 and 18 on a fine grid of overlaps."""
    rng = np.random.default_rng(0)
    count = 40 if quick else 400
    alpha, epsilon = 10.0 ** rng.uniform(-1.0, 3.0, count), rng.uniform(0.0, 0.95, count)
    logit = np.linspace(-18.0, 18.0, 500 if quick else 4000)
    roots = np.array([_sign_changes(logit, a, e) for a, e in zip(alpha, epsilon, strict=True)])
    return holds_if(
        (roots == 1).all(),
        {"tasks": count, "fewest_roots": roots.min(), "most_roots": roots.max()},
        "Every task has exactly one solution on the grid of overlaps.",
    )


def _sign_changes(logit: Array, alpha: float, epsilon: float) -> int:
    q = special.expit(logit)[:, None]
    t = np.linspace(-9.0, 9.0, 401)
    below = epsilon + (1.0 - epsilon) * special.erfc(-np.sqrt(q / 2.0) * t)
    integral = integrate.trapezoid(np.exp(-(1.0 + q) * t**2 / 2.0) / below, t, axis=1)
    q_hat = 4.0 * (1.0 - epsilon) ** 2 * alpha / (2.0 * np.pi) ** 1.5 * integral * np.sqrt(1.0 + np.exp(logit))
    excess = logit - np.log(q_hat)
    return int((np.diff(np.sign(excess)) != 0).sum())


def check_bayes_is_lowest(quick: bool) -> Finding:
    """Compare kernel learners of all kinds with the Bayes curve."""
    rng = np.random.default_rng(1)
    count = 300 if quick else 5000
    alpha, epsilon = 10.0 ** rng.uniform(-1.0, 2.0, count), rng.uniform(0.0, 0.9, count)
    task: dict[str, Any] = {"sample_ratio": alpha, "fact_fraction": epsilon}
    least = bayes_optimal(**task).generalization_error
    learner: dict[str, Any] = {
        "kernel": Kernel.from_angle(rng.uniform(0.05, np.pi / 2 - 0.02, count)),
        "regularization": 10.0 ** rng.uniform(-4.0, 2.0, count),
    }
    excess = {loss: solve(loss, **task, **learner).generalization_error - least for loss in ("square", "hinge")}
    lowest = {f"least_excess_{loss}": np.nanmin(one) for loss, one in excess.items()}
    return holds_if(
        all(value >= -NEGATIVE_TOLERANCE for value in lowest.values()),
        {"learners_of_each_loss": count, **lowest},
        "No learner has a smaller generalization error than the Bayes-optimal one.",
    )


class ConjugateParameters(NamedTuple):
    """The conjugate order parameters of Eq. 25."""

    m_hat: float
    q_hat: float
    v_hat: float


def prox(loss: str, margin: Array, response: float) -> Array:
    """Return the proximal map of Eq. 23 for the label +1, by bisection of its stationarity condition."""
    low = np.minimum(margin, 1.0)
    high = np.maximum(margin, margin - response * SLOPES[loss](low))  # slopes rise, so none beyond is steeper
    for _ in range(70):
        middle = 0.5 * (low + high)
        rising = middle - margin + response * SLOPES[loss](middle) > 0.0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    return np.asarray(0.5 * (low + high))


def channel_averages(loss: str, alpha: float, epsilon: float, state: tuple[float, float, float]) -> ConjugateParameters:
    """Return Eq. 25 on a grid, with the proximal map found numerically."""
    m, q, response = state
    tau = np.sqrt(q - m**2)
    z = np.linspace(-GRID_REACH, GRID_REACH, GRID_NODES)
    density = np.exp(-(z**2) / 2.0) / np.sqrt(2.0 * np.pi)
    u = np.sqrt(q) * z
    leaning = density * (1.0 + (1.0 - epsilon) * special.erf(m / tau * z / np.sqrt(2.0)))
    pull = (prox(loss, u, response) - u) / response
    aligned = (prox(loss, tau * z, response) - tau * z) / response
    middle = 0.5 * (leaning[1:] + leaning[:-1])
    return ConjugateParameters(
        alpha * (1.0 - epsilon) * ROOT_2_PI * float(integrate.trapezoid(density * aligned, z)),
        alpha * float(integrate.trapezoid(leaning * pull**2, z)),
        -alpha * float((middle * np.diff(pull)).sum()) / float(np.sqrt(q)),
    )


def check_state_equations(quick: bool) -> Finding:
    """Put solutions back into Eqs. 24 and 25, the averages done on a grid with a numerical proximal map."""
    tasks = [(3.0, 0.2, "relu", 0.1), (8.0, 0.4, "erf", 0.5)] + ([] if quick else [(0.7, 0.1, "gaussian:1.5", 0.02)])
    worst = {}
    for loss in SLOPES:
        worst[loss] = max(_largest_residual(loss, *task) for task in tasks)
    return holds_if(
        max(worst.values()) < GRID_ERROR,
        {"tasks": len(tasks), "allowed": GRID_ERROR, **{f"residual_{loss}": one for loss, one in worst.items()}},
        "The solutions for three losses are fixed points of Eqs. 24 and 25, averaged without closed forms.",
    )


def _largest_residual(loss: str, alpha: float, epsilon: float, name: str, lam: float) -> float:
    """Return the largest relative change of m, q and V under one application of the equations."""
    kernel = Kernel.from_name(name)
    found = solve(loss, sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=lam)
    state = (found.teacher_overlap, found.self_overlap, found.response)
    hats = channel_averages(loss, alpha, epsilon, state)
    mu_1, mu_star = float(np.square(kernel.mu_1)), float(np.square(kernel.mu_star))
    d = mu_1 / (lam + mu_1 * hats.v_hat)
    again = (d * hats.m_hat, d**2 * (hats.m_hat**2 + hats.q_hat), d + mu_star / lam)
    angle = np.arccos(again[0] / np.sqrt(again[1])) / np.pi
    change = [abs(new - old) / abs(old) for new, old in zip(again, state, strict=True)]
    return float(max(*change, abs(angle - found.generalization_error)))


def check_memory_formula(quick: bool) -> Finding:
    """Compare the closed form of the memorization error with where the proximal map changes sign, Eq. 22."""
    gaps = {}
    for loss in ("square", "hinge", "logistic"):
        found = solve(loss, sample_ratio=4.0, fact_fraction=0.2, kernel="erf", regularization=0.3)
        crossing = optimize.brentq(
            lambda u, loss=loss, v=found.response: float(prox(loss, np.array([u]), v)[0]), -3.0 * found.response, 1.0
        )
        chance = 0.5 * special.erfc(-crossing / np.sqrt(2.0 * found.self_overlap))
        closed = 0.5 * special.erfc(found.response / np.sqrt(2.0 * found.self_overlap))
        gaps[loss] = abs(closed - chance), abs(found.memorization_error - chance)
    same_form = max(gaps[loss][0] for loss in ("square", "hinge"))
    library = max(gap[1] for gap in gaps.values())
    return holds_if(
        same_form < QUADRATURE_TOLERANCE and library < QUADRATURE_TOLERANCE,
        {
            "difference_square_and_hinge": same_form,
            "difference_of_the_same_form_logistic": gaps["logistic"][0],
            "difference_of_the_library_all_three": library,
            "allowed": QUADRATURE_TOLERANCE,
        },
        "For the square and the hinge loss a fact is lost where the proximal map crosses zero, at -V: the form of Eqs. "
        "36 and 160. For other losses V takes a factor, one half for the logistic loss.",
    )


def check_square_loss(quick: bool) -> Finding:
    """Iterate Eqs. 24 and 35 to convergence and compare with the closed form."""
    tasks = [(2.0, 0.2, "relu", 0.1), (5.0, 0.5, "erf", 1.0), (0.8, 0.1, "linear", 0.3)]
    worst = max(_iterated_gap(*task, rounds=2000 if quick else 20000) for task in tasks)
    return holds_if(
        worst < QUADRATURE_TOLERANCE,
        {"tasks": len(tasks), "largest_difference": worst, "allowed": QUADRATURE_TOLERANCE},
        "Plain iteration of Eqs. 24 and 35 converges to the closed form (B.3).",
    )


def _iterated_gap(alpha: float, epsilon: float, name: str, lam: float, rounds: int) -> float:
    kernel = Kernel.from_name(name)
    mu_1, mu_star = float(np.square(kernel.mu_1)), float(np.square(kernel.mu_star))
    rho = (1.0 - epsilon) * ROOT_2_PI
    m, q, v = 0.0, 1.0, 1.0
    for _ in range(rounds):
        d = mu_1 / (lam + mu_1 * alpha / (1.0 + v))
        m_hat, q_hat = alpha * rho / (1.0 + v), alpha * (1.0 + q - 2.0 * rho * m) / (1.0 + v) ** 2
        m, q, v = d * m_hat, d**2 * (m_hat**2 + q_hat), d + mu_star / lam
    found = solve("square", sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=lam)
    memory = 0.5 * special.erfc(v / np.sqrt(2.0 * q))
    rule = np.arccos(m / np.sqrt(q)) / np.pi
    return float(max(abs(found.generalization_error - rule), abs(found.memorization_error - memory)))


def check_invariance(quick: bool) -> Finding:
    """Scale the kernel's numbers by c and the regularization by its square, Eq. 121."""
    change = _largest_change("square"), _largest_change("hinge")
    fixed = solve(sample_ratio=4.0, fact_fraction=0.2, kernel=Kernel([0.5, 1.5], [0.6, 1.8]), regularization=0.1)
    return holds_if(
        max(change) < 1e-9,
        {
            "largest_change_square": change[0],
            "largest_change_hinge": change[1],
            "allowed": 1e-9,
            "change_without_scaled_regularization": abs(np.diff(fixed.generalization_error)[0]),
        },
        "Both errors depend on the angle and on the scaled regularization alone.",
    )


def _largest_change(loss: str) -> float:
    scale = np.array([1.0, 0.1, 3.0, 20.0])
    task: dict[str, Any] = {"sample_ratio": 4.0, "fact_fraction": 0.2}
    changes = []
    for lam in (0.0, 0.1, "optimal"):
        kernel = Kernel(0.5 * scale, 0.6 * scale)
        strength = lam if isinstance(lam, str) else lam * scale**2
        found = solve(loss, kernel=kernel, regularization=strength, **task)
        changes += [np.ptp(found.generalization_error), np.ptp(found.memorization_error)]
    return float(max(changes))
