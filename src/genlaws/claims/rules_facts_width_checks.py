"""Checks of the Rules-and-Facts equations for random features of finite width, and of their limit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from genlaws.claims.claim import Finding
from genlaws.claims.verdict_rules import graded, holds_if
from genlaws.rules_facts import Kernel, solve

ROOT_2_PI = np.sqrt(2.0 / np.pi)
AGREES = 1e-8


def check_finite_width(quick: bool) -> Finding:
    """Iterate the equations of random features as printed, Eq. 88, for the square loss."""
    tasks = [(3.0, 0.2, "erf", 0.05, 2.0), (1.5, 0.3, "relu", 0.2, 0.5)] + (
        [] if quick else [(6, 0.1, "relu", 0.01, 9)]
    )
    worst = max(_width_gap(task) for task in tasks)
    numbers = {"tasks": len(tasks), "largest difference": worst, "allowed": AGREES}
    return holds_if(worst < AGREES, numbers, "Eq. 88, iterated as printed, ends at the library's errors.")


def _width_gap(task: tuple[float, float, str, float, float]) -> float:
    alpha, epsilon, name, lam, kappa = task
    kernel = Kernel.from_name(name)
    mu, star = float(np.asarray(kernel.mu_1)), float(np.asarray(kernel.mu_star))
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
        "square", sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularisation=lam, width_ratio=kappa
    )
    memory, rule = 0.5 * special.erfc(v / np.sqrt(2.0 * q)), np.arccos(m / np.sqrt(q)) / np.pi
    return float(max(abs(found.generalisation_error - rule), abs(found.memorisation_error - memory)))


def check_kernel_limit(quick: bool) -> Finding:
    """Widen random features and see the distance to the kernel fall as one over the width."""
    widths = np.array([10.0, 100.0, 1000.0, 1e6])
    task: dict[str, Any] = {"sample_ratio": 4.0, "fact_fraction": 0.2, "kernel": "relu", "regularisation": 0.1}
    gaps = {}
    for loss in ("square", "hinge"):
        wide = solve(loss, width_ratio=widths, **task).generalisation_error
        gaps[loss] = np.abs(wide - solve(loss, **task).generalisation_error)
    last = max(gap[-1] for gap in gaps.values())
    shrink = min(gap[1] / gap[2] for gap in gaps.values())
    numbers = {"gap at width ratio 1e6": last, "gap at 100 over gap at 1000": shrink}
    return graded(
        last < 1e-5 and shrink > 8.0,
        last < 1e-5,
        numbers,
        "As the width grows the errors become those of the kernel; the difference falls as one over the width.",
        "The errors become those of the kernel, but not as one over the width.",
    )
