"""Checks of the kernels of the Rules-and-Facts paper: their two numbers, and what the numbers decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate, special

from genlaws.claims.claim import Finding
from genlaws.claims.verdict_rules import holds_if
from genlaws.numerics.arguments import Array
from genlaws.rules_facts import Kernel, parameter_for_angle, solve

FACTS = 0.2
STEP = 1e-20  # of the complex step, which has no rounding error
AGREES = 1e-9
# Eq. 33 and Table 1: the kernel, and the two squares beside it.
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


def check_table_of_kernels(quick: bool) -> Finding:
    """Take slope and diagonal of each kernel and compare with Table 1 and the library."""
    worst = 0.0
    for name, (k, first, rest) in TABLE_1.items():
        slope = float(np.imag(k(1j * STEP)) / STEP)
        diagonal = float(np.real(k(1.0) - k(0.0))) - slope
        kernel = Kernel.from_name(name)
        mine = float(np.square(kernel.mu_1)), float(np.square(kernel.mu_star))
        worst = max(worst, *(abs(a - b) for a, b in zip((slope, diagonal) * 2, (first, rest, *mine), strict=True)))
    numbers = {"kernels": len(TABLE_1), "largest difference": worst, "allowed": AGREES}
    return holds_if(worst < AGREES, numbers, "Every row of the table is slope and diagonal of its kernel.")


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
        slope = float(np.imag(k(1j * STEP)) / STEP)
        diagonal = float(k(1.0) - k(0.0)) - slope
        worst = max(worst, abs(first**2 - slope), abs(square - mean**2 - first**2 - diagonal))
    numbers = {"activations": len(activations), "largest difference": worst, "allowed": 1e-8}
    return holds_if(
        worst < 1e-8, numbers, "First Hermite coefficient and the rest are slope and diagonal of the kernel."
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
    """Put the parameters that realise the best angle into Eqs. 213 to 217."""
    theta = float(np.arcsin((1.0 - FACTS) * np.sqrt(2.0 / np.pi)))
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
    numbers = {"largest relative difference": worst, "gaussian γ": g_rbf, "geometric γ": g_geo, "offset c": c}
    return holds_if(
        worst < 1e-8 and explicit < 1e-12,
        numbers,
        "Each family reaches the best angle at the parameter of its equation.",
    )


def check_bandwidth_theory(quick: bool) -> Finding:
    """Search the best bandwidth of the Gaussian kernel in the theory, with and without regularisation."""
    rates = np.geomspace(0.05, 50.0, 120 if quick else 600)
    kernel = _gaussians(rates)
    task: dict[str, Any] = {"sample_ratio": 4.0, "fact_fraction": FACTS, "kernel": kernel}
    errors = {
        (loss, name): solve(loss, regularisation=lam, **task).generalisation_error
        for loss in ("square", "hinge")
        for name, lam in (("zero", 0.0), ("best", "optimal"))
    }
    best = {key: float(rates[one.argmin()]) for key, one in errors.items()}
    matched = float(parameter_for_angle("gaussian", np.arcsin((1.0 - FACTS) * np.sqrt(2.0 / np.pi))))
    narrow = errors["square", "best"][rates < matched]
    numbers = {
        "square, best γ at λ → 0": best["square", "zero"],
        "γ of the best angle": matched,
        "square, spread of the error at the best λ below it": np.ptp(narrow),
        "hinge, best γ at λ → 0": best["hinge", "zero"],
        "hinge, best γ at the best λ": best["hinge", "best"],
    }
    step = rates[1] / rates[0]
    same = 1.0 / step < best["square", "zero"] / matched < step
    return holds_if(
        bool(same and np.ptp(narrow) < AGREES and best["hinge", "zero"] > step * best["hinge", "best"]),
        numbers,
        "Ridge regression at λ → 0 is best at the γ of the best angle, and at the best λ all smaller γ are as good; "
        "the hinge loss is best at a larger γ without regularisation than with it.",
    )


def _gaussians(rates: Array) -> Kernel:
    """Return the Gaussian kernels of many rates as one."""
    squares = rates * np.exp(-rates), special.gammainc(2.0, rates)
    return Kernel(np.sqrt(squares[0]), np.sqrt(squares[1]))
