"""Integrate thousands of small systems at once, each with its own step.

Dormand and Prince's pair of orders 5 and 4. The draws lie along the last axis, so that every operation is one pass over
contiguous memory; a draw that has settled is taken out, and the rest go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genlaws.numerics.arguments import Array, Mask, Whole

Velocity = Callable[[Array], Array]
Settled = Callable[[Whole, Array], Mask]

# Rows of the tableau below the first, which is zero; the last row gives the step of order 5.
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# The step of order 5 less that of order 4.
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
SAFETY, SMALLEST_CHANGE, LARGEST_CHANGE = 0.9, 0.2, 5.0
SHARE_OF_STEP = 0.02


@dataclass(frozen=True)
class Integrated:
    """Where the draws ended.

    Attributes
    ----------
    state : array, shape (variables, draws)
    time : array, shape (draws,)
    settled : array of bool, shape (draws,)
        False where the number of steps ran out.
    steps : array of int, shape (draws,)
        Steps tried.
    """

    state: Array
    time: Array
    settled: Mask
    steps: Whole


def integrate_until_settled(
    velocity: Velocity, start: Array, settled: Settled, *, tolerance: float, most_steps: int
) -> Integrated:
    """Follow every draw until it has settled.

    Parameters
    ----------
    velocity : callable
        Rate of change of a state of shape (variables, draws).
    start : array, shape (variables, draws)
    settled : callable
        ``settled(draws, velocity)`` says of the draws of these numbers whether they have come to rest.
    tolerance : float
        Largest error of one step, relative to the largest variable of the draw at the start.
    most_steps : int
    """
    draws = start.shape[1]
    final, time = start.copy(), np.zeros(draws)
    done, tried = np.zeros(draws, dtype=bool), np.zeros(draws, dtype=np.int64)
    active = np.arange(draws)
    state, speed = start, velocity(start)
    scale = np.maximum(np.abs(start).max(axis=0), np.finfo(float).tiny)
    step = _first_step(scale, speed, tolerance)
    for _ in range(most_steps):
        rest = settled(active, speed)
        if rest.any():
            final[:, active[rest]] = state[:, rest]
            done[active[rest]] = True
            going = ~rest
            active, state, speed = active[going], state[:, going], speed[:, going]
            scale, step = scale[going], step[going]
        if not active.size:
            break
        moved, end_speed, error = _try_step(velocity, state, speed, step)
        # Not more than a share of the step itself: otherwise a draw at rest would tremble at the tolerance.
        allowed = np.minimum(tolerance * scale, SHARE_OF_STEP * step * np.abs(speed).max(axis=0))
        error = np.abs(error).max(axis=0) / np.maximum(allowed, np.finfo(float).tiny)
        good = error <= 1.0  # false where the step was so long that the state overflowed
        time[active] += np.where(good, step, 0.0)
        tried[active] += 1
        state, speed = np.where(good, moved, state), np.where(good, end_speed, speed)
        step = step * _change(error, good)
    final[:, active] = state
    return Integrated(final, time, done, tried)


def _try_step(velocity: Velocity, state: Array, speed: Array, step: Array) -> tuple[Array, Array, Array]:
    """Return the state after one step, the velocity there, and the estimated error."""
    with np.errstate(over="ignore", invalid="ignore"):
        slopes, moved = [speed], state
        for row in STAGES:
            moved = state + step * _combined(row, slopes)
            slopes.append(velocity(moved))
        return moved, slopes[-1], step * _combined(ERROR, slopes)


def _combined(weights: tuple[float, ...], slopes: list[Array]) -> Array:
    total = weights[0] * slopes[0]
    for weight, slope in zip(weights[1:], slopes[1:], strict=True):
        if weight:
            total = total + weight * slope
    return total


def _change(error: Array, good: Mask) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.clip(SAFETY * error**-0.2, SMALLEST_CHANGE, LARGEST_CHANGE)
    change = np.where(np.isnan(change), SMALLEST_CHANGE, change)
    return np.where(good, change, np.minimum(change, 1.0))


def _first_step(scale: Array, speed: Array, tolerance: float) -> Array:
    """Return a first step, careful where the draw moves fast."""
    fastest = np.abs(speed).max(axis=0)
    return np.asarray(tolerance**0.2 * scale / np.maximum(fastest, np.finfo(float).tiny * 1e10))
