"""Newton's method for many independent systems of two equations at once.

Elements that have converged leave the batch, so only the others cost time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from genlaws.core.arguments import Array, Mask, Whole

TARGET_RESIDUAL = 1e-14  # rounding level: an element stops here
ACCEPTABLE_RESIDUAL = 1e-10  # converged if no further step improves it
MAX_EVALUATIONS = 100
MAX_LOG_STEP = 4.0  # the unknowns are logarithms: one step changes a quantity by a factor of at most e^4
MIN_STEP_FRACTION = 1e-6
STEP_GROWTH = 4.0  # factor on a shortened step after it was accepted


class TwoEquations(NamedTuple):
    """The residuals f, g of two equations in (x, y) and their four derivatives."""

    f: Array
    g: Array
    f_x: Array
    f_y: Array
    g_x: Array
    g_y: Array


Equations = Callable[[Array, Array, Whole], TwoEquations]


class Root(NamedTuple):
    """The solution, the largest absolute residual there, and the number of evaluations it took."""

    x: Array
    y: Array
    residual: Array
    iterations: Whole


def solve_two_equations(equations: Equations, x: Array, y: Array) -> Root:
    r"""Solve f(x, y) = g(x, y) = 0 element by element, by Newton's method with backtracking.

    A step from base to trial is accepted when it brings the trial closer as measured with the Jacobian J of the base,
    :math:`\|J^{-1}F(\text{trial})\| < \|J^{-1}F(\text{base})\|`, and halved until it is. Unlike a test on F itself,
    this test does not depend on the scaling of the equations, so it does not slow down in narrow valleys. An element
    stops when its residual reaches rounding level, or when no step brings it closer.

    Parameters
    ----------
    equations : callable
        ``equations(x, y, index)`` evaluates the elements numbered ``index``.
    x, y : one-dimensional arrays
        Starting point.
    """
    x, y = x.copy(), y.copy()
    residual, iterations = np.full(x.shape, np.inf), np.zeros(x.shape, dtype=np.int64)
    index: Whole = np.arange(x.size, dtype=np.int64)
    with np.errstate(all="ignore"):
        base = equations(x, y, index)
        now = _State(x, y, np.ones_like(x), base, *_newton_step(base, base))
    for evaluation in range(1, MAX_EVALUATIONS + 1):
        done = (now.norm() <= TARGET_RESIDUAL) | np.isnan(now.norm()) | (now.share < MIN_STEP_FRACTION)
        if done.any() or evaluation == MAX_EVALUATIONS:
            x[index], y[index] = now.x, now.y
            residual[index], iterations[index] = now.norm(), evaluation
            keep = ~done
            index, now = index[keep], now.take(keep)
            if index.size == 0:
                break
        with np.errstate(all="ignore"):
            now = _advance(equations, now, index)
    return Root(x, y, residual, iterations)


class _State(NamedTuple):
    """The best point so far, the share of the step to try next, the equations there and the Newton step."""

    x: Array
    y: Array
    share: Array
    base: TwoEquations
    step_x: Array
    step_y: Array

    def norm(self) -> Array:
        return np.maximum(np.abs(self.base.f), np.abs(self.base.g))

    def take(self, keep: Mask) -> _State:
        base = TwoEquations(*(part[keep] for part in self.base))
        return _State(self.x[keep], self.y[keep], self.share[keep], base, self.step_x[keep], self.step_y[keep])


def _advance(equations: Equations, now: _State, index: Whole) -> _State:
    """Try one step; move where it brings the point closer, halve the step elsewhere."""
    length = np.maximum(np.abs(now.step_x), np.abs(now.step_y))
    stride = now.share * np.minimum(1.0, MAX_LOG_STEP / length)
    trial_x, trial_y = now.x + stride * now.step_x, now.y + stride * now.step_y
    trial = equations(trial_x, trial_y, index)
    ahead_x, ahead_y = _newton_step(now.base, trial)
    closer = np.maximum(np.abs(ahead_x), np.abs(ahead_y)) < length
    trial_norm = np.maximum(np.abs(trial.f), np.abs(trial.g))
    # At rounding level the two tests may disagree; an acceptable point moves only if no residual rises.
    accepted = np.where(now.norm() <= ACCEPTABLE_RESIDUAL, trial_norm < now.norm(), closer)
    base = TwoEquations(*(np.where(accepted, new, old) for new, old in zip(trial, now.base, strict=True)))
    step_x, step_y = _newton_step(base, base)
    settled = ~accepted & (now.norm() <= ACCEPTABLE_RESIDUAL)
    return _State(
        np.where(accepted, trial_x, now.x),
        np.where(accepted, trial_y, now.y),
        np.where(accepted, np.minimum(1.0, STEP_GROWTH * now.share), np.where(settled, 0.0, 0.5 * now.share)),
        base,
        step_x,
        step_y,
    )


def _newton_step(at: TwoEquations, values: TwoEquations) -> tuple[Array, Array]:
    """Return -J⁻¹F with the Jacobian of `at` and the residuals of `values`."""
    determinant = at.f_x * at.g_y - at.f_y * at.g_x
    return (
        (at.f_y * values.g - at.g_y * values.f) / determinant,
        (at.g_x * values.f - at.f_x * values.g) / determinant,
    )
