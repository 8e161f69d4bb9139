r"""Which regularisation, and which kernel angle, generalises best?

For ridge regression with a kernel both answers are closed forms. For any other learner the generalisation error is
minimised over :math:`\log\lambda` (:mod:`genlaws.rules_facts.ridge_search`) and over θ.
"""

from __future__ import annotations

import reprlib

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, Whole, broadcast, fraction
from genlaws.numerics.elementwise import find_minima
from genlaws.numerics.errors import ConvergenceError, InputError
from genlaws.rules_facts.kernels import Kernel
from genlaws.rules_facts.losses import Loss, get_loss
from genlaws.rules_facts.point_solver import FAILED, Points, solve_points
from genlaws.rules_facts.problem import SHARE_HINT, in_shape, read_problem, read_sample_ratio
from genlaws.rules_facts.random_features import Learner
from genlaws.rules_facts.ridge_search import search_ridge
from genlaws.rules_facts.square_loss import rule_signal
from genlaws.rules_facts.state_equations import Task

# Angles from which the search for the best angle starts.
ANGLE_GRID = 24
SMALLEST_ANGLE = 0.01


def optimal_regularisation(
    loss: str | Loss = "square",
    *,
    sample_ratio: ArrayLike,
    fact_fraction: ArrayLike,
    kernel: Kernel | str | None = None,
    width_ratio: ArrayLike | None = None,
) -> Array | float:
    r"""Regularisation of least generalisation error.

    For kernel ridge regression :math:`\lambda_{opt} = \max\bigl(0, \mu_1^2(1-\rho^2)/\rho^2 - \mu_*^2\bigr)` with
    :math:`\rho = (1-\varepsilon)\sqrt{2/\pi}`, whatever the sample ratio. For other losses and for finite width it is
    found numerically, to about 1e-7 relative. Where the error hardly depends on it the place is less certain, to some
    1e-3 in the flattest minima, and the error there is the least to 1e-12 all the same.

    Returns
    -------
    float or array
        Zero where fitting every label generalises best, ``inf`` where there is no rule to learn (ε = 1).

    References
    ----------
    :cite:t:`farne2026`, Eq. 40.
    """
    problem = read_problem(sample_ratio, fact_fraction, kernel, width_ratio)
    ridge, points = optimal_ridge(get_loss(loss), problem.task, problem.learner(np.zeros_like(problem.mu_1)))
    if problem.shape == () and points.status[0] == FAILED:
        raise ConvergenceError("The state equations were not solved at the optimal regularisation.", points)
    with np.errstate(all="ignore"):
        lam = np.where(problem.mu_1 > 0.0, ridge * problem.mu_1**2, 0.0)
    return in_shape(lam, problem.shape)


def optimal_angle(
    loss: str | Loss = "square",
    *,
    fact_fraction: ArrayLike,
    sample_ratio: ArrayLike | None = None,
    regularisation: float | str = 0.0,
) -> Array | float:
    r"""Kernel angle of least generalisation error.

    For ridge regression :math:`\theta_{opt} = \arcsin\rho`, whatever the sample ratio, at λ → 0; at the optimal λ every
    angle from there to π/2 is as good, and the smallest of them is returned. For other losses the angle depends on
    the sample ratio and is found numerically, at λ → 0 among the kernels that fit every label (θ < π/2).

    With many samples the hinge loss at its optimal λ does better and better as θ → π/2 with λ in proportion to
    :math:`\cot^2\theta`, but not at π/2 itself: the vanishing non-linear part rounds the corner of the hinge. An angle
    within 1e-3 of π/2 is then returned.

    Parameters
    ----------
    loss : str or Loss
    fact_fraction : array_like in [0, 1]
    sample_ratio : array_like, positive
        Needed for every loss but the square.
    regularisation : 0 or "optimal"
        Whether the labels must be fitted exactly (λ → 0) or λ is chosen for generalisation.

    Returns
    -------
    float or array, radians in (0, π/2]

    References
    ----------
    :cite:t:`farne2026`, Eq. 39.
    """
    loss = get_loss(loss)
    at_optimal = isinstance(regularisation, str) and regularisation == "optimal"
    at_zero = isinstance(regularisation, int | float) and not isinstance(regularisation, bool) and regularisation == 0
    if not (at_optimal or at_zero):
        raise InputError(
            f"regularisation must be 0 or 'optimal' here; got {reprlib.repr(regularisation)}. At any other value the "
            "best angle depends on the size of the kernel, not on its angle alone."
        )
    epsilon = fraction("fact_fraction", fact_fraction, SHARE_HINT)
    if loss.closed_form == "square":
        if sample_ratio is not None:
            epsilon, _ = broadcast(fact_fraction=epsilon, sample_ratio=read_sample_ratio(sample_ratio))
        return in_shape(np.ravel(np.arcsin(rule_signal(epsilon))), epsilon.shape)
    if sample_ratio is None:
        raise InputError(f"sample_ratio must be given for the loss '{loss.name}'; only the square loss is free of it.")
    if loss.limit == "unknown" and at_zero:
        raise InputError(f"The loss '{loss.name}' has no known λ → 0 limit; give Loss(limit=…) to say what it fits.")
    alpha, epsilon = broadcast(sample_ratio=read_sample_ratio(sample_ratio), fact_fraction=epsilon)
    task = Task(np.ravel(alpha), 1.0 - np.ravel(epsilon))
    best = _best_angle(loss, task, at_optimal=at_optimal)
    return in_shape(best, alpha.shape)


def optimal_ridge(loss: Loss, task: Task, learner: Learner) -> tuple[Array, Points]:
    """Return the ridge ℓ = λ/μ1² of least generalisation error for flat arrays, and the solution there."""
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
        """Return the rule error at each angle, at the best regularisation or without any."""
        here, nothing = task.take(index), np.zeros(index.shape)
        share = np.where(angle < np.pi / 2, 1.0 / np.tan(angle) ** 2, 0.0)
        learner = Learner(nothing, share, nothing)
        points = optimal_ridge(loss, here, learner)[1] if at_optimal else solve_points(loss, here, learner)
        return points.generalisation_error

    count = task.sample_ratio.size
    column: Whole = np.arange(count, dtype=np.int64)
    # At λ → 0 the linear model itself is left out: beyond its threshold it no longer fits the labels.
    largest = np.pi / 2 if at_optimal else np.pi / 2 - SMALLEST_ANGLE
    grid = np.broadcast_to(np.linspace(SMALLEST_ANGLE, largest, ANGLE_GRID)[:, None], (ANGLE_GRID, count))
    errors = error(grid.ravel(), np.tile(column, ANGLE_GRID)).reshape(grid.shape)
    inner = np.clip(np.argmin(np.where(np.isnan(errors), np.inf, errors), axis=0), 1, ANGLE_GRID - 2)
    bracket = (grid[inner - 1, column], grid[inner, column], grid[inner + 1, column])
    best, best_error = find_minima(error, bracket)
    return np.where(errors[-1] <= best_error, grid[-1], best)
