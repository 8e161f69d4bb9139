r"""A quadratic programme in a box, by a primal-dual interior-point method.

.. math:: \min_{0 \le a_i \le C} \tfrac12 a^\top Q a - \sum_i a_i

With multipliers l of the lower and h of the upper bounds and :math:`t = C - a`, the optimum solves
:math:`Qa - 1 - l + h = 0`, :math:`a_i l_i = t_i h_i = 0`. A step solves

.. math:: \Bigl(Q + \mathrm{diag}\bigl(\tfrac{l}{a} + \tfrac{h}{t}\bigr)\Bigr)\,\Delta a
          = 1 - Qa + \tfrac{\mu}{a} - \tfrac{\mu}{t} + \text{second-order terms},

with the second-order terms and the target μ of Mehrotra's predictor and corrector. A step costs a Cholesky
factorisation, and a dozen or two suffice whatever the conditioning: this is the method for what first-order methods
leave undone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from genlaws.numerics.arguments import Array

STEP_CAP = 80
# Share of the way to the nearest bound that a step may take.
TO_THE_BOUND = 0.995
# Added to the diagonal, relative to its mean: a singular Q with a free variable would stop the factorisation.
JITTER = 1e-13
# Steps without a smaller gap after which rounding has the last word.
PATIENCE = 15


class _Point(NamedTuple):
    """Where the method stands: β, 1 − β and the two multipliers, all positive.

    1 − β is kept beside β, because near the upper bound the difference has no digits left.
    """

    beta: Array
    rest: Array
    low: Array
    high: Array


def box_programme(quadratic: Array, box: float, tolerance: float, step_cap: int = STEP_CAP) -> tuple[Array, float, int]:
    """Return a in the box, its relative duality gap, and the steps taken.

    Parameters
    ----------
    quadratic : array, (n, n)
        Q, symmetric and positive semi-definite.
    box : float, positive
        C.
    tolerance : float
        Relative duality gap at which to stop.
    step_cap : int
        Steps after which to stop. The method also stops, with the best it has found, where rounding leaves it no
        direction to go.
    """
    # In units of the box: β = a/C, with C·Q in place of Q.
    scaled = box * quadratic
    jitter = JITTER * scaled.trace() / len(scaled)
    n = len(scaled)
    point = _Point(np.full(n, 0.5), np.full(n, 0.5), np.ones(n), np.ones(n))
    best, best_gap, best_step, steps = point.beta, np.inf, 0, 0
    for steps in range(1, step_cap + 1):
        inside = np.minimum(point.beta, 1.0)  # rounding may put it beyond
        image = scaled @ inside
        gap = _gap(inside, image)
        if gap < best_gap:
            best, best_gap, best_step = inside, gap, steps
        if gap <= tolerance or steps - best_step >= PATIENCE:
            break
        try:
            with np.errstate(all="ignore"):
                point = _advance(scaled, jitter, image, point)
        except LinAlgError:
            break
        if not all(np.isfinite(part).all() and (part > 0.0).all() for part in point):
            break
    return box * best, float(best_gap), steps


def _advance(scaled: Array, jitter: float, image: Array, point: _Point) -> _Point:
    """Take one predictor-corrector step."""
    beta, rest, low, high = point
    system = scaled.copy()
    system[np.diag_indices_from(system)] += low / beta + high / rest + jitter
    factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    mu = (beta @ low + rest @ high) / (2 * len(beta))

    def direction(target: float, low_term: Array | float, high_term: Array | float) -> _Point:
        pull_low, pull_high = (target - low_term) / beta, (target - high_term) / rest
        move = cho_solve(factor, 1.0 - image + pull_low - pull_high, check_finite=False)
        return _Point(move, -move, pull_low - low - low / beta * move, pull_high - high + high / rest * move)

    change = direction(0.0, 0.0, 0.0)
    ahead = _moved(point, change, _reach(point, change))
    centring = ((ahead.beta @ ahead.low + ahead.rest @ ahead.high) / (2 * len(beta)) / mu) ** 3
    change = direction(float(centring * mu), change.beta * change.low, change.rest * change.high)
    return _moved(point, change, TO_THE_BOUND * _reach(point, change))


def _moved(point: _Point, change: _Point, reach: float) -> _Point:
    return _Point(*(part + reach * move for part, move in zip(point, change, strict=True)))


def _reach(point: _Point, change: _Point) -> float:
    """Return the longest step, at most one, that keeps every variable positive."""
    variables, changes = np.concatenate(point), np.concatenate(change)
    falling = changes < 0.0
    return float(min(1.0, np.min(-variables[falling] / changes[falling], initial=1.0 / TO_THE_BOUND)))


def _gap(beta: Array, image: Array) -> float:
    """Return (primal − dual)/primal, in units of the box."""
    square = beta @ image
    primal = 0.5 * square + np.maximum(0.0, 1.0 - image).sum()
    return float(max(primal - (beta.sum() - 0.5 * square), 0.0) / primal)
