r"""Support vector machines without intercept at every regularization, from one diagonalization of the Gram matrix.

The learner of the theory minimizes :math:`\sum_i \max(0, 1 - y_i f(x_i)) + \tfrac\lambda2\|w\|^2` and has no intercept.
With :math:`Q_{ij} = y_i y_j K_{ij}` and :math:`C = 1/\lambda` its dual is a quadratic program in a box,

.. math:: \min_{0 \le a_i \le C} \tfrac12 a^\top Q a - \sum_i a_i, \qquad f(x) = \sum_i y_i a_i K(x, x_i).

Splitting the two parts (the alternating direction method of multipliers) gives, with a penalty ρ,

.. math::

    a \leftarrow (Q + \rho I)^{-1}\bigl(1 + \rho (z - u)\bigr), \qquad
    z \leftarrow \mathrm{clip}(a + u,\, 0,\, C), \qquad u \leftarrow u + a - z.

Q has the eigenvectors of K, up to signs. So all λ share one diagonalization, each with a ρ of its own that may
change at no cost, and an iteration of all of them is two matrix products. What has not converged after a number of
iterations (a linear learner that cannot fit its labels, at small λ) is finished by a primal-dual interior-point method.
The result lies in the box and comes with its duality gap, a bound on the distance from the optimum.

With multipliers l of the lower and h of the upper bounds and :math:`t = C - a`, the optimum solves
:math:`Qa - 1 - l + h = 0`, :math:`a_i l_i = t_i h_i = 0`. A step of the interior-point method solves

.. math:: \Bigl(Q + \mathrm{diag}\bigl(\tfrac{l}{a} + \tfrac{h}{t}\bigr)\Bigr)\,\Delta a
          = 1 - Qa + \tfrac{\mu}{a} - \tfrac{\mu}{t} + \text{second-order terms},

with the second-order terms and the target μ of Mehrotra's predictor and corrector. A step costs a Cholesky
factorization, and one or two dozen steps suffice whatever the conditioning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from genlaws.core.arguments import Array, Mask, Whole, positive, whole_number
from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size.ridge import Spectrum, read_path

MAX_INTERIOR_STEPS = 80
# Share of the way to the nearest bound that a step may take.
MAX_STEP_SHARE = 0.995
# Added to the diagonal, relative to its mean: a singular Q with a free variable would stop the factorization.
DIAGONAL_JITTER = 1e-13
# After this many steps without a smaller gap, rounding limits the gap.
MAX_STEPS_WITHOUT_PROGRESS = 15
GAP_TOLERANCE = 1e-6
MAX_ITERATIONS = 600
ITERATIONS_PER_CHECK = 10
OVER_RELAXATION = 1.6
# The penalty follows the ratio of the two residuals when that leaves [1/MAX_RESIDUAL_RATIO, MAX_RESIDUAL_RATIO], by
# at most MAX_PENALTY_FACTOR at a time. It is fixed after a number of iterations, because it could cycle.
MAX_RESIDUAL_RATIO = 2.0
LAST_BALANCING_ITERATION = 200
MAX_PENALTY_FACTOR = 5.0
# Relative excess of a margin that must be at least one, so that rounding does not make it shorter.
MARGIN_ROUNDING = 1e-12
# A coefficient below this share of the largest counts as zero: an interior point never touches the bound.
MIN_SUPPORT_SHARE = 1e-6


class _Point(NamedTuple):
    """The current iterate: β, 1 − β and the two multipliers, all positive.

    1 − β is stored, because near the upper bound the difference would lose its digits.
    """

    beta: Array
    rest: Array
    low: Array
    high: Array


def box_program(
    quadratic: Array, box: float, tolerance: float, step_cap: int = MAX_INTERIOR_STEPS
) -> tuple[Array, float, int]:
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
        Steps after which to stop. The method also stops, with the best iterate, where rounding leaves no direction.
    """
    # In units of the box: β = a/C, with C·Q in place of Q.
    scaled = box * quadratic
    jitter = DIAGONAL_JITTER * scaled.trace() / len(scaled)
    n = len(scaled)
    point = _Point(np.full(n, 0.5), np.full(n, 0.5), np.ones(n), np.ones(n))
    best, best_gap, best_step, steps = point.beta, np.inf, 0, 0
    for steps in range(1, step_cap + 1):
        inside = np.minimum(point.beta, 1.0)  # rounding may exceed the bound
        image = scaled @ inside
        gap = float(relative_gap(inside, image))
        if gap < best_gap:
            best, best_gap, best_step = inside, gap, steps
        if gap <= tolerance or steps - best_step >= MAX_STEPS_WITHOUT_PROGRESS:
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
    ahead = _move(point, change, _longest_step(point, change))
    centering = ((ahead.beta @ ahead.low + ahead.rest @ ahead.high) / (2 * len(beta)) / mu) ** 3
    change = direction(float(centering * mu), change.beta * change.low, change.rest * change.high)
    return _move(point, change, MAX_STEP_SHARE * _longest_step(point, change))


def _move(point: _Point, change: _Point, reach: float) -> _Point:
    return _Point(*(part + reach * move for part, move in zip(point, change, strict=True)))


def _longest_step(point: _Point, change: _Point) -> float:
    """Return the longest step, at most one, that keeps every variable positive."""
    variables, changes = np.concatenate(point), np.concatenate(change)
    falling = changes < 0.0
    return float(min(1.0, np.min(-variables[falling] / changes[falling], initial=1.0 / MAX_STEP_SHARE)))


@dataclass(frozen=True)
class HingePath:
    """Support vector machines of one training set at L regularizations.

    Attributes
    ----------
    regularization : array, (L,)
    coefficients : array, (n, L)
        y a of each regularization; f(x) = K(x, inputs) @ coefficients.
    fitted : array, (n, L)
        f on the training inputs.
    support_count : array of int, (L,)
        Samples whose coefficient is not zero.
    duality_gap : array, (L,)
        (primal − dual)/primal objective: a bound on the relative excess over the least possible.
    iterations : array of int, (L,)
        Of the splitting method.
    interior_steps : array of int, (L,)
        Of the interior-point method; zero where it was not needed.
    converged : array of bool, (L,)
        Whether the gap is below the tolerance.
    """

    regularization: Array
    coefficients: Array
    fitted: Array
    support_count: Whole
    duality_gap: Array
    iterations: Whole
    interior_steps: Whole
    converged: Mask


@dataclass
class _State:
    """State of the iteration; the unfinished regularizations are columns."""

    alive: Whole
    box: Array
    penalty: Array
    inside: Array  # z
    pull: Array  # u, in units of a


@dataclass(frozen=True)
class _Quadratic:
    """Q = W diag(s) Wᵀ with W the eigenvectors of K, rows multiplied by the labels."""

    values: Array
    vectors: Array

    def times(self, a: Array) -> Array:
        return np.asarray(self.vectors @ (self.values[:, None] * (self.vectors.T @ a)))

    def solve(self, right: Array, penalty: Array) -> Array:
        return np.asarray(self.vectors @ ((self.vectors.T @ right) / (self.values[:, None] + penalty)))


def hinge_path(
    gram: Array,
    labels: ArrayLike,
    regularization: ArrayLike,
    *,
    tolerance: float = GAP_TOLERANCE,
    iteration_cap: int = MAX_ITERATIONS,
    interior_cap: int = MAX_INTERIOR_STEPS,
    spectrum: Spectrum | None = None,
) -> HingePath:
    """Train support vector machines without intercept at every regularization, from one diagonalization.

    Parameters
    ----------
    gram : array, (n, n)
        Symmetric and positive semi-definite.
    labels : array_like of ±1, (n,)
    regularization : array_like, (L,), positive
        λ; the C of other software is 1/λ.
    tolerance : float
        Relative duality gap at which a regularization is done.
    iteration_cap : int
        Iterations of the splitting method, after which the interior-point method takes over.
    interior_cap : int
        Steps of the interior-point method, each a Cholesky factorization, after which the best iterate is returned
        with its gap; 0 skips the method.
    spectrum : Spectrum, optional
        Spectrum of `gram`, if it is already known.

    Notes
    -----
    Below some λ the solution of a separable training set, the widest margin, no longer depends on λ,
    and a small λ gives the limit λ → 0.
    """
    shifts, y = read_path(gram, labels, regularization)
    if not np.isin(y, (-1.0, 1.0)).all():
        raise InputError("labels must be +1 or -1 for the hinge loss.")
    positive("regularization", shifts, "A small value gives the limit λ → 0.")
    positive("tolerance", tolerance)
    whole_number("iteration_cap", iteration_cap, at_least=1)
    whole_number("interior_cap", interior_cap)
    known = Spectrum.of(gram) if spectrum is None else spectrum
    quadratic = _Quadratic(known.eigenvalues, known.eigenvectors * y[:, None])
    best, gap, iterations = _solve_splitting(quadratic, 1.0 / shifts, tolerance, iteration_cap)
    steps = _finish_interior(gram, y, 1.0 / shifts, best, gap, tolerance=tolerance, cap=interior_cap)
    return HingePath(
        regularization=shifts,
        coefficients=y[:, None] * best,
        fitted=y[:, None] * quadratic.times(best),
        support_count=np.count_nonzero(best > MIN_SUPPORT_SHARE * best.max(axis=0), axis=0),
        duality_gap=gap,
        iterations=iterations,
        interior_steps=steps,
        converged=gap <= tolerance,
    )


def _finish_interior(
    gram: Array, y: Array, box: Array, best: Array, gap: Array, *, tolerance: float, cap: int
) -> Whole:
    """Solve what is left by the interior-point method, in place; return the steps taken."""
    steps = np.zeros(len(box), dtype=np.int64)
    left = np.flatnonzero(gap > tolerance)
    if not cap or not left.size:
        return steps
    quadratic = gram * np.outer(y, y)
    for column in left:
        solution, found, steps[column] = box_program(quadratic, float(box[column]), tolerance, cap)
        if found < gap[column]:
            best[:, column], gap[column] = solution, found
    return steps


def _solve_splitting(quadratic: _Quadratic, box: Array, tolerance: float, cap: int) -> tuple[Array, Array, Whole]:
    """Return z, its gap and the iterations of every box."""
    n = len(quadratic.values)
    mean_value = float(quadratic.values.mean())
    # A matrix of zeros fits nothing: every coefficient then lies at the upper bound, and any penalty will do.
    start = np.minimum(box, 1.0 / (quadratic.values[-1] / n + mean_value)) if mean_value else box
    inside = np.tile(start, (n, 1))
    state = _State(np.arange(len(box)), box, np.full(len(box), mean_value or 1.0), inside, np.zeros_like(inside))
    best, gap = inside.copy(), np.full(len(box), np.inf)
    iterations = np.zeros(len(box), dtype=np.int64)
    for iteration in range(1, cap + 1):
        relaxed = _step(quadratic, state)
        if iteration % ITERATIONS_PER_CHECK and iteration != cap:
            continue
        image = quadratic.times(state.inside)
        for scale in (np.ones(len(state.box)), _widening(state.inside, image, state.box)):
            found = relative_gap(scale * state.inside, scale * image, state.box)
            better = found < gap[state.alive]
            best[:, state.alive[better]] = (scale * state.inside)[:, better]
            gap[state.alive[better]] = found[better]
        iterations[state.alive] = iteration
        if iteration <= LAST_BALANCING_ITERATION:
            _balance_penalty(state, relaxed, image)
        _drop_finished(state, gap[state.alive] <= tolerance)
        if not state.alive.size:
            break
    return best, gap, iterations


def relative_gap(a: Array, image: Array, box: ArrayLike = 1.0) -> Array:
    """Return (primal − dual)/primal of each column of a, with Q a given; zero where rounding makes it negative."""
    square = np.einsum("i...,i...->...", a, image)
    primal = 0.5 * square + box * np.maximum(0.0, 1.0 - image).sum(axis=0)
    dual = a.sum(axis=0) - 0.5 * square
    return np.asarray(np.maximum(primal - dual, 0.0) / primal)


def _widening(a: Array, image: Array, box: Array) -> Array:
    """Return the factor that makes the shortest margin one, where there is such a factor inside the box, else one.

    At small λ the optimum of a separable set has no short margin. One that is short by a millionth has a loss of
    C times that, which hides that the optimum has been found.
    """
    shortest = image.min(axis=0)
    factor = (1.0 + MARGIN_ROUNDING) / np.where(shortest > 0.0, shortest, np.inf)
    return np.where((factor > 1.0) & (factor * a.max(axis=0) <= box), factor, 1.0)


def _step(quadratic: _Quadratic, state: _State) -> tuple[Array, Array]:
    """Advance z and u; return the two residuals, a − z and the change of z."""
    a = quadratic.solve(1.0 + state.penalty * (state.inside - state.pull), state.penalty)
    mixed = OVER_RELAXATION * a + (1.0 - OVER_RELAXATION) * state.inside
    inside = np.clip(mixed + state.pull, 0.0, state.box)
    change = inside - state.inside
    state.pull += mixed - inside
    state.inside = inside
    return a - inside, change


def _balance_penalty(state: _State, residuals: tuple[Array, Array], image: Array) -> None:
    """Move each penalty so that its two residuals, relative to what they compare, become similar."""
    mismatch, change = (np.linalg.norm(part, axis=0) for part in residuals)
    size = np.linalg.norm(state.inside, axis=0) + mismatch
    force = np.maximum(np.linalg.norm(image, axis=0), np.sqrt(len(image)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt((mismatch / size) / (state.penalty * change / force))
    ratio = np.clip(np.nan_to_num(ratio, nan=1.0), 1.0 / MAX_PENALTY_FACTOR, MAX_PENALTY_FACTOR)
    ratio[(ratio < MAX_RESIDUAL_RATIO) & (ratio > 1.0 / MAX_RESIDUAL_RATIO)] = 1.0
    state.penalty = state.penalty * ratio
    state.pull /= ratio


def _drop_finished(state: _State, done: Mask) -> None:
    """Take the finished regularizations out of the iteration."""
    if not done.any():
        return
    stay = ~done
    state.alive, state.box, state.penalty = state.alive[stay], state.box[stay], state.penalty[stay]
    state.inside, state.pull = state.inside[:, stay], state.pull[:, stay]
