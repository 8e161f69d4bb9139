r"""The regularization and the kernel angle of least generalization error.

For ridge regression with a kernel both have closed forms. For any other learner the generalization error is minimized
over :math:`\log\ell`, the logarithm of the ridge :math:`\ell = \lambda/\mu_1^2`, and over θ.

The error is not always unimodal in :math:`\log\ell`. The hinge loss has a dip where the response passes one: there the
pull of a sample stops being saturated, over a range of V as narrow as the spread :math:`\sqrt q` of the margins. So the
error is tabulated on a coarse grid from strong to weak regularization, where each solution is the guess for the next,
and on a fine grid around V = 1, spaced by :math:`\sqrt q`. Every local minimum of the two grids together is refined.
The ends λ = 0 and λ = ∞ are compared last.
"""

from __future__ import annotations

import reprlib
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, broadcast
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.core.numerics.elementwise import find_minima
from genlaws.rules_facts.kernels.kernel import Kernel
from genlaws.rules_facts.parameters import FACT_FRACTION, SAMPLE_RATIO
from genlaws.rules_facts.theory.losses import Loss, get_loss
from genlaws.rules_facts.theory.point_solver import FAILED, PointSolutions, solve_points
from genlaws.rules_facts.theory.problem import Problem, in_shape, read_problem
from genlaws.rules_facts.theory.random_features import Learner
from genlaws.rules_facts.theory.square_loss import rule_signal
from genlaws.rules_facts.theory.state_equations import Task

# The coarse grid runs from MAX_RIDGE_FACTOR·(1 + R)(1 + α) down to MIN_RIDGE_FACTOR·min(1, R). Without facts the best
# ridge of a margin loss falls like 1/α², and beyond LARGE_SAMPLE_RATIO the lower end of the grid does the same.
MAX_RIDGE_FACTOR, MIN_RIDGE_FACTOR, COARSE_RIDGE_POINTS = 1e3, 1e-6, 30
LARGE_SAMPLE_RATIO = 1e3
# The fine grid, in units of the spread of the margins around V = 1.
FINE_STEPS = np.linspace(-5.0, 5.0, 20)
MAX_FINE_STEP = 1.0
# Local minima that are refined at most.
MAX_MINIMA = 3
# Errors closer than this are equal.
ERROR_TIE_TOLERANCE = 1e-13
# Angles from which the search for the best angle starts.
ANGLE_GRID_POINTS = 24
MIN_SEARCHED_ANGLE = 0.01


class PathTable(NamedTuple):
    """Errors and solutions on a grid of log ℓ, one row per grid point and one column per learner."""

    log_ridge: Array
    error: Array
    tau: Array
    rigidity: Array
    response: Array
    self_overlap: Array

    def sorted(self) -> PathTable:
        """Return the table with log ℓ rising along each column."""
        order = np.argsort(self.log_ridge, axis=0)
        return PathTable(*(np.take_along_axis(part, order, axis=0) for part in self))


def search_ridge(loss: Loss, task: Task, learner: Learner) -> Array:
    """Return the ridge ℓ = λ/μ1² of least generalization error; infinite where there is no rule to learn."""
    ridge = np.full(task.sample_ratio.shape, np.inf)
    search = (task.rule_share > 0.0) & np.isfinite(learner.nonlinear_share)
    if not search.any():
        return ridge
    with np.errstate(all="ignore"):
        ridge[search] = _search_finite(loss, task.take(search), learner.take(search))
    return ridge


def _search_finite(loss: Loss, task: Task, learner: Learner) -> Array:
    coarse = _tabulate_coarse(loss, task, learner)
    fine = _tabulate_fine(loss, task, learner, coarse)
    table = PathTable(*(np.concatenate(parts) for parts in zip(coarse, fine, strict=True))).sorted()
    best, best_error = _refine(loss, task, learner, table)
    for end in (np.inf,) if loss.limit == "unknown" else (np.inf, 0.0):
        at_end = learner._replace(ridge=np.full_like(best, end))
        error = _scaled_error(task, solve_points(loss, task, at_end))
        # Fitting every label costs nothing, so at equal error λ = 0 is preferred.
        better = (error <= best_error) if end == 0.0 else (error < best_error)
        best, best_error = np.where(better, end, best), np.where(better, error, best_error)
    return best


def _tabulate_coarse(loss: Loss, task: Task, learner: Learner) -> PathTable:
    """Follow the solution from strong to weak regularization."""
    share = learner.nonlinear_share
    high = np.log(MAX_RIDGE_FACTOR * (1.0 + share) * (1.0 + task.sample_ratio))
    low = np.log(MIN_RIDGE_FACTOR * np.where(share > 0.0, np.minimum(share, 1.0), 1.0))
    low -= 2.0 * np.log(np.maximum(task.sample_ratio / LARGE_SAMPLE_RATIO, 1.0))
    rows: list[PathTable] = []
    for log_ridge in np.linspace(high, low, COARSE_RIDGE_POINTS):
        rows.append(_tabulate_row(loss, task, learner, log_ridge, _extrapolate_rows(rows)))
    return PathTable(*(np.stack(parts) for parts in zip(*rows, strict=True)))


def _tabulate_fine(loss: Loss, task: Task, learner: Learner, coarse: PathTable) -> PathTable:
    """Tabulate around the ridge where V passes one; where it never does, around the lowest coarse point."""
    column = np.arange(coarse.error.shape[1])
    lowest = np.argmin(np.where(np.isnan(coarse.error), np.inf, coarse.error), axis=0)
    below = np.sum(coarse.response < 1.0, axis=0)
    crosses = (below > 0) & (below < COARSE_RIDGE_POINTS)
    weak = np.where(crosses, below, np.maximum(lowest, 1))
    strong = weak - 1
    log_v = np.log(coarse.response[strong, column]), np.log(coarse.response[weak, column])
    way = np.where(crosses, log_v[0] / np.where(crosses, log_v[0] - log_v[1], 1.0), 1.0)
    left, right = coarse.log_ridge[strong, column], coarse.log_ridge[weak, column]
    center = left + way * (right - left)
    # Around there V falls like 1/ℓ, so a step of √q in V is one of √q in log ℓ.
    spread = np.sqrt(coarse.self_overlap[weak, column])
    step = np.where(np.isfinite(spread), np.minimum(spread, MAX_FINE_STEP), MAX_FINE_STEP)
    grid = center + FINE_STEPS[:, None] * step
    every = np.tile(column, FINE_STEPS.size)
    guess = coarse.tau[weak, column][every], coarse.rigidity[weak, column][every]
    row = _tabulate_row(loss, task.take(every), learner.take(every), grid.ravel(), guess)
    return PathTable(*(part.reshape(grid.shape) for part in row))


def _tabulate_row(
    loss: Loss, task: Task, learner: Learner, log_ridge: Array, guess: tuple[Array, Array] | None
) -> PathTable:
    points = solve_points(loss, task, learner._replace(ridge=np.exp(log_ridge)), guess)
    self_overlap = points.m**2 + points.tau**2
    return PathTable(log_ridge, _scaled_error(task, points), points.tau, points.rigidity, points.response, self_overlap)


def _scaled_error(task: Task, points: PointSolutions) -> Array:
    """Return the generalization error, scaled so that it stays above rounding at many samples."""
    return points.generalization_error * np.maximum(task.sample_ratio / LARGE_SAMPLE_RATIO, 1.0)


def _extrapolate_rows(rows: list[PathTable]) -> tuple[Array, Array] | None:
    """Continue the last two rows by one more step of their logarithms."""
    if not rows:
        return None
    now, before = rows[-1], rows[-2] if len(rows) > 1 else rows[-1]
    with np.errstate(all="ignore"):
        tau = now.tau * np.clip(now.tau / before.tau, 1e-2, 1e2)
        rigidity = now.rigidity * np.clip(now.rigidity / before.rigidity, 1e-2, 1e2)
    return (tau, rigidity) if np.isfinite(tau).all() and np.isfinite(rigidity).all() else None


def _refine(loss: Loss, task: Task, learner: Learner, table: PathTable) -> tuple[Array, Array]:
    """Return the lowest of the refined local minima of each column, and the error there."""
    error = np.where(np.isnan(table.error), np.inf, table.error)
    column: Whole = np.arange(error.shape[1], dtype=np.int64)
    # On the plateaus toward λ = 0 and ∞ rounding makes minima of its own: a minimum must be below its weaker
    # neighbor by more than that, so that of a plateau only the end nearest to the middle of the table counts.
    minimum = (error[1:-1] < error[:-2] - ERROR_TIE_TOLERANCE) & (error[1:-1] <= error[2:] + ERROR_TIE_TOLERANCE)
    candidates = np.where(minimum, error[1:-1], np.inf)
    lowest = np.argmin(error, axis=0)
    best, best_error = np.exp(table.log_ridge[lowest, column]), error[lowest, column]
    for _ in range(MAX_MINIMA):
        place = np.argmin(candidates, axis=0) + 1
        here = column[np.isfinite(candidates[place - 1, column])]
        if here.size == 0:
            break
        # Two rows to either side: the nearest may be the same ridge again, from the other grid.
        rows = np.clip(place[here] + np.array([[-2], [0], [2]]), 0, error.shape[0] - 1)
        start = table.tau[rows[1], here], table.rigidity[rows[1], here]
        found, found_error = _refine_at(loss, task.take(here), learner.take(here), table.log_ridge[rows, here], start)
        better = found_error < best_error[here]
        best[here] = np.where(better, np.exp(found), best[here])
        best_error[here] = np.where(better, found_error, best_error[here])
        candidates[rows[1] - 1, here] = np.inf
    return best, best_error


def _refine_at(
    loss: Loss, task: Task, learner: Learner, bracket: Array, start: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Refine the minimum inside each bracket of log ℓ, given a solution near it."""

    def error(log_ridge: Array, index: Whole) -> Array:
        here = learner.take(index)._replace(ridge=np.exp(log_ridge))
        some = task.take(index)
        return _scaled_error(some, solve_points(loss, some, here, (start[0][index], start[1][index])))

    return find_minima(error, (bracket[0], bracket[1], bracket[2]))


def optimal_regularization(
    loss: str | Loss = "square",
    *,
    sample_ratio: ArrayLike,
    fact_fraction: ArrayLike,
    kernel: Kernel | str | None = None,
    width_ratio: ArrayLike | None = None,
) -> Array | float:
    r"""Regularization of least generalization error.

    For kernel ridge regression :math:`\lambda_{opt} = \max\bigl(0, \mu_1^2(1-\rho^2)/\rho^2 - \mu_*^2\bigr)` with
    :math:`\rho = (1-\varepsilon)\sqrt{2/\pi}`, whatever the sample ratio. For other losses and for finite width it is
    found numerically, to about 1e-7 relative. In the flattest minima it is known to about 1e-3 only, while the error
    there is the least to 1e-12.

    Parameters
    ----------
    loss, sample_ratio, fact_fraction, kernel, width_ratio
        As for :func:`~genlaws.rules_facts.solve`.

    Returns
    -------
    float or array
        Zero where fitting every label generalizes best, ``inf`` where there is no rule to learn (ε = 1).

    References
    ----------
    :cite:t:`farne2026`, Eq. 40.
    """
    problem = read_problem(sample_ratio, fact_fraction, kernel, width_ratio)
    lam, points = optimal_point(get_loss(loss), problem)
    if problem.shape == () and points.status[0] == FAILED:
        raise ConvergenceError("The state equations were not solved at the optimal regularization.", points)
    return in_shape(lam, problem.shape)


def optimal_point(loss: Loss, problem: Problem) -> tuple[Array, PointSolutions]:
    """Return the regularization of least generalization error, flat, and the solution there."""
    ridge, points = optimal_ridge(loss, problem.task, problem.learner())
    with np.errstate(all="ignore"):
        return np.where(problem.mu_1 > 0.0, ridge * problem.mu_1**2, 0.0), points


def optimal_angle(
    loss: str | Loss = "square",
    *,
    fact_fraction: ArrayLike,
    sample_ratio: ArrayLike | None = None,
    regularization: float | str = 0.0,
) -> Array | float:
    r"""Kernel angle of least generalization error.

    For ridge regression :math:`\theta_{opt} = \arcsin\rho`, whatever the sample ratio, at λ → 0; at the optimal λ every
    angle from there to π/2 is as good, and the smallest of them is returned. For other losses the angle depends on
    the sample ratio and is found numerically, at λ → 0 among the kernels that fit every label (θ < π/2).

    With many samples the hinge loss at its optimal λ does better and better as θ → π/2 with λ in proportion to
    :math:`\cot^2\theta`, but not at π/2 itself: the vanishing non-linear part rounds the corner of the hinge. The
    returned angle is then within 1e-3 of π/2.

    Parameters
    ----------
    loss : str or Loss
    fact_fraction : array_like in [0, 1]
    sample_ratio : array_like, positive
        Needed for every loss but the square.
    regularization : 0 or "optimal"
        Whether the labels must be fitted exactly (λ → 0) or λ is chosen for generalization.

    Returns
    -------
    float or array, radians in (0, π/2]

    References
    ----------
    :cite:t:`farne2026`, Eq. 39.
    """
    loss = get_loss(loss)
    at_optimal = isinstance(regularization, str) and regularization == "optimal"
    at_zero = isinstance(regularization, int | float) and not isinstance(regularization, bool) and regularization == 0
    if not (at_optimal or at_zero):
        raise InputError(
            f"regularization must be 0 or 'optimal' here; got {reprlib.repr(regularization)}. At any other value the "
            "best angle depends on the size of the kernel, not on its angle alone."
        )
    epsilon = FACT_FRACTION.checked("fact_fraction", fact_fraction)
    if loss.closed_form == "square":
        if sample_ratio is not None:
            alpha = SAMPLE_RATIO.checked("sample_ratio", sample_ratio)
            epsilon, _ = broadcast(fact_fraction=epsilon, sample_ratio=alpha)
        return in_shape(np.arcsin(rule_signal(epsilon)), epsilon.shape)
    if sample_ratio is None:
        raise InputError(f"sample_ratio must be given for the loss '{loss.name}'; only the square loss needs none.")
    if loss.limit == "unknown" and at_zero:
        raise InputError(f"The loss '{loss.name}' has no known λ → 0 limit; give it as Loss(limit=…).")
    alpha, epsilon = broadcast(sample_ratio=SAMPLE_RATIO.checked("sample_ratio", sample_ratio), fact_fraction=epsilon)
    task = Task(np.ravel(alpha), 1.0 - np.ravel(epsilon))
    return in_shape(_best_angle(loss, task, at_optimal=at_optimal), alpha.shape)


def optimal_ridge(loss: Loss, task: Task, learner: Learner) -> tuple[Array, PointSolutions]:
    """Return the ridge ℓ = λ/μ1² of least generalization error for flat arrays, and the solution there."""
    if loss.closed_form == "square" and not learner.inverse_width.any():
        rho = rule_signal(1.0 - task.rule_share)
        with np.errstate(divide="ignore", invalid="ignore"):
            ridge = np.maximum(0.0, (1.0 - rho**2) / rho**2 - learner.nonlinear_share)
        ridge = np.where(np.isinf(learner.nonlinear_share) | (rho == 0.0), np.inf, ridge)
    else:
        ridge = search_ridge(loss, task, learner)
    return ridge, solve_points(loss, task, learner._replace(ridge=ridge))


def _best_angle(loss: Loss, task: Task, *, at_optimal: bool) -> Array:
    def error(angle: Array, index: Whole) -> Array:
        """Return the generalization error at each angle, at the best regularization or without any."""
        here, nothing = task.take(index), np.zeros(index.shape)
        share = np.where(angle < np.pi / 2, 1.0 / np.tan(angle) ** 2, 0.0)
        learner = Learner(nothing, share, nothing)
        points = optimal_ridge(loss, here, learner)[1] if at_optimal else solve_points(loss, here, learner)
        return points.generalization_error

    count = task.sample_ratio.size
    column: Whole = np.arange(count, dtype=np.int64)
    # At λ → 0 the linear model itself is left out: beyond its threshold it no longer fits the labels.
    largest = np.pi / 2 if at_optimal else np.pi / 2 - MIN_SEARCHED_ANGLE
    grid = np.broadcast_to(
        np.linspace(MIN_SEARCHED_ANGLE, largest, ANGLE_GRID_POINTS)[:, None], (ANGLE_GRID_POINTS, count)
    )
    errors = error(grid.ravel(), np.tile(column, ANGLE_GRID_POINTS)).reshape(grid.shape)
    inner = np.clip(np.argmin(np.where(np.isnan(errors), np.inf, errors), axis=0), 1, ANGLE_GRID_POINTS - 2)
    bracket = (grid[inner - 1, column], grid[inner, column], grid[inner + 1, column])
    best, best_error = find_minima(error, bracket)
    return np.where(errors[-1] <= best_error, grid[-1], best)
