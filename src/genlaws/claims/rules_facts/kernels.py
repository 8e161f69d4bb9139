"""Checks of the kernels of the Rules-and-Facts paper: their two numbers, random features, and the limit of width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate, special

from genlaws.claims.claim import EXACT_TOLERANCE, Finding, graded, holds_if
from genlaws.claims.rules_facts.angles import FACT_FRACTION
from genlaws.core.arguments import Array
from genlaws.rules_facts import Kernel, parameter_for_angle, solve

COMPLEX_STEP = 1e-20  # of the complex step, which has no rounding error
# Eq. 33 and Table 1: the kernel and its two squares.
KernelFunction = Callable[[Any], Any]
TABLE_1: dict[str, tuple[KernelFunction, float, float]] = {
    "linear": (lambda t: t, 1.0, 0.0),
    "sign": (lambda t: 2 / np.pi * np.arcsin(t), 2 / np.pi, 1 - 2 / np.pi),
    "erf": (
        lambda t: 2 / np.pi * np.arcsin(2 * t / 3),
        4 / (3 * np.pi),
        2 / np.pi * np.arcsin(2 / 3) - 4 / (3 * np.pi),
    ),
    "relu": (lambda t: (np.sqrt(1 - t * t) + t * (np.pi - np.arccos(t))) / (2 * np.pi), 0.25, 0.25 - 1 / (2 * np.pi)),
    "polynomial:3,0.5": (lambda t: (0.5 + t) ** 3, 3 * 0.5**2, 1.5**3 - 0.5**3 - 3 * 0.5**2),
    "exponential:0.8": (lambda t: np.exp(0.8 * t), 0.8, np.exp(0.8) - 1.8),
    "gaussian:1.5": (lambda t: np.exp(-1.5 * (1 - t)), 1.5 * np.exp(-1.5), 1 - 2.5 * np.exp(-1.5)),
    "geometric:0.4": (lambda t: 1 / (1 - 0.4 * t), 0.4, 0.4**2 / 0.6),
}
ROOT_2_PI = np.sqrt(2.0 / np.pi)
WIDTH_TOLERANCE = 1e-8


def check_table_of_kernels(quick: bool) -> Finding:
    """Take slope and diagonal of each kernel and compare with Table 1 and the library."""
    worst = 0.0
    for name, (k, first, rest) in TABLE_1.items():
        slope = float(np.imag(k(1j * COMPLEX_STEP)) / COMPLEX_STEP)
        diagonal = float(np.real(k(1.0) - k(0.0))) - slope
        kernel = Kernel.from_name(name)
        mine = float(np.square(kernel.mu_1)), float(np.square(kernel.mu_star))
        worst = max(worst, *(abs(a - b) for a, b in zip((slope, diagonal) * 2, (first, rest, *mine), strict=True)))
    return holds_if(
        worst < EXACT_TOLERANCE,
        {"kernels": len(TABLE_1), "largest_difference": worst, "allowed": EXACT_TOLERANCE},
        "Every row of the table is slope and diagonal of its kernel.",
    )


def check_kernel_numbers(quick: bool) -> Finding:
    """Compare Hermite coefficients of activations with slope and diagonal of the kernels they make, Eq. 30."""
    activations: dict[str, Callable[[float], float]] = {
        "sign": lambda z: float(np.sign(z)),
        "erf": lambda z: float(special.erf(z)),
        "relu": lambda z: max(z, 0.0),
    }
    worst = 0.0
    for name, sigma in activations.items():
        mean, first, square = (_normal_mean(power, sigma) for power in ("mean", "slope", "square"))
        k = TABLE_1[name][0]
        slope = float(np.imag(k(1j * COMPLEX_STEP)) / COMPLEX_STEP)
        diagonal = float(k(1.0) - k(0.0)) - slope
        worst = max(worst, abs(first**2 - slope), abs(square - mean**2 - first**2 - diagonal))
    return holds_if(
        worst < 1e-8,
        {"activations": len(activations), "largest_difference": worst, "allowed": 1e-8},
        "First Hermite coefficient and the rest are slope and diagonal of the kernel.",
    )


def _normal_mean(what: str, sigma: Callable[[float], float]) -> float:
    factor: dict[str, Callable[[float], float]] = {
        "mean": sigma,
        "slope": lambda z: z * sigma(z),
        "square": lambda z: sigma(z) ** 2,
    }
    value = integrate.quad(lambda z: factor[what](z) * np.exp(-z * z / 2), -12, 12, points=[0.0], epsabs=1e-12)[0]
    return float(value / np.sqrt(2 * np.pi))


def check_parameters_of_families(quick: bool) -> Finding:
    """Put the parameters that realize the best angle into Eqs. 213 to 217."""
    theta = float(np.arcsin((1.0 - FACT_FRACTION) * np.sqrt(2.0 / np.pi)))
    want = np.tan(theta) ** 2
    c = float(parameter_for_angle("polynomial", theta, degree=3))
    g_exp, g_rbf, g_geo = (float(parameter_for_angle(name, theta)) for name in ("exponential", "gaussian", "geometric"))
    left = {
        "polynomial of degree 3": 3 * c**2 / ((1 + c) ** 3 - c**3 - 3 * c**2),
        "exponential": g_exp / (np.exp(g_exp) - 1 - g_exp),
        "gaussian": g_rbf / (np.exp(g_rbf) - 1 - g_rbf),
        "geometric": (1 - g_geo) / g_geo,
    }
    worst = max(abs(value / want - 1.0) for value in left.values())
    explicit = abs(g_geo - 1.0 / (1.0 + want))
    return holds_if(
        worst < 1e-8 and explicit < 1e-12,
        {"largest_relative_difference": worst, "gaussian_gamma": g_rbf, "geometric_gamma": g_geo, "offset_c": c},
        "Each family reaches the best angle at the parameter of its equation.",
    )


def check_bandwidth_theory(quick: bool) -> Finding:
    """Search the best bandwidth of the Gaussian kernel in the theory, with and without regularization."""
    rates = np.geomspace(0.05, 50.0, 120 if quick else 600)
    kernel = _gaussian_kernels(rates)
    task: dict[str, Any] = {"sample_ratio": 4.0, "fact_fraction": FACT_FRACTION, "kernel": kernel}
    errors = {
        (loss, name): solve(loss, regularization=lam, **task).generalization_error
        for loss in ("square", "hinge")
        for name, lam in (("zero", 0.0), ("best", "optimal"))
    }
    best = {key: float(rates[one.argmin()]) for key, one in errors.items()}
    matched = float(parameter_for_angle("gaussian", np.arcsin((1.0 - FACT_FRACTION) * np.sqrt(2.0 / np.pi))))
    narrow = errors["square", "best"][rates < matched]
    numbers = {
        "square_best_gamma_unregularized": best["square", "zero"],
        "gamma_of_best_angle": matched,
        "square_error_spread_below": np.ptp(narrow),
        "hinge_best_gamma_unregularized": best["hinge", "zero"],
        "hinge_best_gamma_at_best_regularization": best["hinge", "best"],
    }
    step = rates[1] / rates[0]
    same = 1.0 / step < best["square", "zero"] / matched < step
    return holds_if(
        same and np.ptp(narrow) < EXACT_TOLERANCE and best["hinge", "zero"] > step * best["hinge", "best"],
        numbers,
        "Ridge regression at λ → 0 is best at the γ of the best angle, and at the best λ all smaller γ are as good; "
        "the hinge loss is best at a larger γ without regularization than with it.",
    )


def _gaussian_kernels(rates: Array) -> Kernel:
    """Return the Gaussian kernels of many rates as one."""
    squares = rates * np.exp(-rates), special.gammainc(2.0, rates)
    return Kernel(np.sqrt(squares[0]), np.sqrt(squares[1]))


def check_finite_width(quick: bool) -> Finding:
    """Iterate the equations of random features as printed, Eq. 88, for the square loss."""
    tasks = [(3.0, 0.2, "erf", 0.05, 2.0), (1.5, 0.3, "relu", 0.2, 0.5)] + (
        [] if quick else [(6, 0.1, "relu", 0.01, 9)]
    )
    worst = max(_width_gap(task) for task in tasks)
    return holds_if(
        worst < WIDTH_TOLERANCE,
        {"tasks": len(tasks), "largest_difference": worst, "allowed": WIDTH_TOLERANCE},
        "Eq. 88, iterated as printed, converges to the library's errors.",
    )


def _width_gap(task: tuple[float, float, str, float, float]) -> float:
    alpha, epsilon, name, lam, kappa = task
    kernel = Kernel.from_name(name)
    mu, star = float(kernel.mu_1), float(kernel.mu_star)
    rho, gamma, share = (1.0 - epsilon) * ROOT_2_PI, 1.0 / kappa, alpha / kappa
    m, q, v = 0.1, 1.0, 1.0
    for _ in range(4000):
        m_hat, v_hat = share * rho / (1.0 + v), share / (1.0 + v)
        q_hat = share * (1.0 + q - 2.0 * rho * m) / (1.0 + v) ** 2
        ms, qs, vs = kappa * mu * m_hat, kappa * mu**2 * q_hat, kappa * mu**2 * v_hat
        qw, vw = star**2 * q_hat, lam + star**2 * v_hat
        z = vw / vs
        root = np.sqrt((1.0 + gamma + z) ** 2 - 4.0 * gamma)
        cross = z * root - z**2 - (gamma + 1.0) * z
        first = (2.0 * z + gamma + 1.0) * root - 2.0 * z**2 - 3.0 * (gamma + 1.0) * z - (gamma - 1.0) ** 2
        v_s = (z + 1.0 + gamma - root) / (2.0 * gamma * vs)
        v_w = (1.0 - gamma - z + root) / (2.0 * vw)
        q_s = (ms**2 + qs) * first / (2.0 * gamma * vs**2 * root) - qw * cross / (2.0 * gamma * vs * vw * root)
        last = (1.0 - gamma) * root + (gamma + 1.0) * z + (gamma - 1.0) ** 2
        q_w = qw * last / (2.0 * vw**2 * root) - (ms**2 + qs) * cross / (2.0 * vs * vw * root)
        m, q, v = mu * ms * v_s, mu**2 * q_s + star**2 * q_w, mu**2 * v_s + star**2 * v_w
    found = solve(
        "square", sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=lam, width_ratio=kappa
    )
    memory, rule = 0.5 * special.erfc(v / np.sqrt(2.0 * q)), np.arccos(m / np.sqrt(q)) / np.pi
    return float(max(abs(found.generalization_error - rule), abs(found.memorization_error - memory)))


def check_kernel_limit(quick: bool) -> Finding:
    """Widen random features and see the distance to the kernel fall as one over the width."""
    widths = np.array([10.0, 100.0, 1000.0, 1e6])
    task: dict[str, Any] = {"sample_ratio": 4.0, "fact_fraction": 0.2, "kernel": "relu", "regularization": 0.1}
    gaps = {}
    for loss in ("square", "hinge"):
        wide = solve(loss, width_ratio=widths, **task).generalization_error
        gaps[loss] = np.abs(wide - solve(loss, **task).generalization_error)
    last = max(gap[-1] for gap in gaps.values())
    shrink = min(gap[1] / gap[2] for gap in gaps.values())
    return graded(
        last < 1e-5 and shrink > 8.0,
        last < 1e-5,
        {"gap_at_width_ratio_1e6": last, "gap_at_100_over_gap_at_1000": shrink},
        "As the width grows the errors become those of the kernel; the difference falls as one over the width.",
        "The errors become those of the kernel, but not as one over the width.",
    )
