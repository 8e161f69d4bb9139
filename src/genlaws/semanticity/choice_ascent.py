"""Climb to the nearest maximum of a likelihood inside a box.

The ascent is Fisher scoring: the expected information stands in for the curvature, a secant correction learns what is
missing, and damping keeps each step uphill.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from genlaws.numerics.arguments import Array, Mask, Whole
from genlaws.semanticity.choice_model import ChoiceLikelihood, Evaluation

# The ascent stops when a further step would change the log-likelihood by less than half of this.
SETTLED = 1e-13
ROUGH = 1e-5  # the same while starting points, stretches or points of a profile are compared
MOST_STEPS = 200
FARTHEST = 10.0  # a coordinate about which the data say nothing still ends after about this far
RIDGE = 1e-9  # added to the information, scaled to ones on its diagonal, where parameters do nearly the same
FINEST = 1e-40  # standard error below which a step away from a wall is beside the point
LONGEST_STEP = 2.0  # in any coordinate; most are logarithms or log odds
# Damping at which an ascent gives up. A narrow ridge needs much of it; at the many corners of a rough likelihood no
# damping helps, and waiting there is most of the work.
PATIENT, HASTY = 1e9, 1e3


class Optimum(NamedTuple):
    """Where an ascent ended, and how far from flat the likelihood is there.

    The residual is the length of the gradient in units in which the information is one: the distance to the maximum in
    standard errors. Coordinates pressed against a wall of the box do not count. It is infinite if no ascent was made.
    """

    point: Array
    value: float
    residual: float


@dataclass(frozen=True)
class Box:
    """Which coordinates are free, and between which values."""

    free: Whole
    low: Array
    high: Array

    def without(self, number: int) -> Box:
        """Return the box with one coordinate held."""
        return replace(self, free=self.free[self.free != number])

    def between(self, number: int, low: float, high: float) -> Box:
        """Return the box with one coordinate confined further."""
        lows, highs = self.low.copy(), self.high.copy()
        lows[number], highs[number] = low, high
        return replace(self, low=lows, high=highs)


def ascend(
    likelihood: ChoiceLikelihood, start: Array, box: Box, settled: float = SETTLED, most_damped: float = PATIENT
) -> Optimum:
    """Climb from a starting point until no step inside the box leads higher."""
    free, low, high = box.free, box.low[box.free], box.high[box.free]
    point = start.copy()
    point[free] = np.clip(point[free], low, high)
    now = likelihood.evaluate(point, free)
    missing = np.zeros_like(now.information)  # curvature that the expected information does not have
    damping = 0.0
    for _ in range(MOST_STEPS):
        step, decrement = _newton_step(now, missing, _not_held(now, point[free], low, high), damping)
        if decrement <= settled or damping > most_damped:
            break
        trial = point.copy()
        trial[free] = np.clip(point[free] + step, low, high)
        there = likelihood.evaluate(trial, free)
        if there.value > now.value:
            missing = _learn(missing, now, there, trial[free] - point[free])
            point, now, damping = trial, there, damping / 8.0 if damping > 1e-3 else 0.0
        else:
            missing, damping = np.zeros_like(missing), max(8.0 * damping, 0.1)
    return Optimum(point, now.value, _residual(now, _not_held(now, point[free], low, high)))


def _residual(now: Evaluation, active: Mask) -> float:
    """Return the length of the gradient in standard errors, none of them longer than the coordinates can reach."""
    some = np.ix_(active, active)
    information = now.information[some] + np.eye(int(active.sum())) / FARTHEST**2
    scale = np.sqrt(np.diag(information))
    gradient = now.gradient[active] / scale
    scaled = information / np.outer(scale, scale) + RIDGE * np.eye(len(scale))
    squared = float(gradient @ np.linalg.solve(scaled, gradient))
    return math.sqrt(max(squared, 0.0))


def _not_held(now: Evaluation, place: Array, low: Array, high: Array) -> Mask:
    """Return which coordinates are not pressed against a wall of the box.

    A background of zero stays there where its standard error is too small a number to mean anything.
    """
    pointless = np.diag(now.information) > FINEST**-2
    return ~(((place <= low) & ((now.gradient <= 0) | pointless)) | ((place >= high) & (now.gradient >= 0)))


def _learn(missing: Array, now: Evaluation, there: Evaluation, moved: Array) -> Array:
    """Correct the curvature so that it explains how the gradient changed over the step (symmetric rank one)."""
    surprise = now.gradient - there.gradient - (there.information + missing) @ moved
    size = surprise @ moved
    if abs(size) <= 1e-8 * np.linalg.norm(surprise) * np.linalg.norm(moved):
        return missing
    return missing + np.outer(surprise, surprise) / size


def _newton_step(now: Evaluation, missing: Array, active: Mask, damping: float) -> tuple[Array, float]:
    """Return the damped step of the active coordinates and the decrement g·F⁻¹g."""
    step = np.zeros_like(now.gradient)
    if not (active.any() and np.isfinite(now.value)):
        return step, 0.0
    some = np.ix_(active, active)
    scale = np.sqrt(np.maximum(np.diag(now.information)[active], 1e-12))
    gradient = now.gradient[active] / scale
    expected = now.information[some] / np.outer(scale, scale)
    ridge = (RIDGE + damping) * np.eye(len(scale))
    curvature = expected + missing[some] / np.outer(scale, scale) + ridge
    try:
        np.linalg.cholesky(curvature)
        solved = np.linalg.solve(curvature, gradient)
    except np.linalg.LinAlgError:  # not a hill top; the expected information always is one
        solved = np.linalg.solve(expected + ridge, gradient)
    step[active] = np.clip(solved / scale, -LONGEST_STEP, LONGEST_STEP)
    return step, float(gradient @ solved) * (1.0 + damping)
