"""Generalization and memorization of a learner, in one call for every loss, width and regularization."""

from __future__ import annotations

from typing import Any

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.core.result import question
from genlaws.rules_facts import parameters
from genlaws.rules_facts.theory.losses import get_loss
from genlaws.rules_facts.theory.optimal import optimal_point
from genlaws.rules_facts.theory.point_solver import FAILED, MESSAGES, NO_RULE, PointSolutions, solve_points
from genlaws.rules_facts.theory.problem import Problem, Solution, in_shape, read_problem


@question
def solve(
    loss: parameters.LossChoice = "square",
    *,
    sample_ratio: parameters.SampleRatio,
    fact_fraction: parameters.FactFraction,
    kernel: parameters.KernelChoice = None,
    regularization: parameters.Regularization = "optimal",
    width_ratio: parameters.WidthRatio = None,
) -> Solution:
    r"""Predict generalization and memorization of a learner on data that is part rule and part fact.

    The learner minimizes :math:`\sum_i \ell(y_i f(x_i)) + \tfrac{\lambda}{2}\|w\|^2` over n samples in d dimensions,
    of which a share ε carries random labels. In the limit of large d the errors are

    .. math:: \varepsilon_{gen} = \frac1\pi\,\mathrm{atan2}(\tau, m), \qquad
              \varepsilon_{mem} = \tfrac12\,\mathrm{erfc}\bigl(sV/\sqrt{2q}\bigr), \qquad q = m^2 + \tau^2,

    where m, q and V solve the state equations and s is the loss's pull at margin zero.

    Parameters
    ----------
    loss : {"square", "hinge", "logistic", "squared_hinge", "huber"} or Loss
        A loss of your own needs only its proximal map.
    sample_ratio : array_like, positive
        α = n/d.
    fact_fraction : array_like in [0, 1]
        ε, the share of random labels.
    kernel : Kernel or str, optional
        ``Kernel(mu_1, mu_star)``, ``Kernel.from_angle(0.7)``, or a name such as ``"relu"`` or ``"gaussian:0.5"``.
        The linear model if not given.
    regularization : array_like, not negative, or "optimal"
        λ. Zero is the exact limit λ → 0⁺, ``inf`` the limit λ → ∞, ``"optimal"`` the λ of least generalization error.
    width_ratio : array_like, positive, optional
        κ = p/d, random features per dimension; a kernel (infinite width) if not given.

    Returns
    -------
    Solution
        All arguments broadcast; every attribute has their common shape.

    Raises
    ------
    InputError
        For an argument out of range.
    ConvergenceError
        When all arguments are scalars and the point cannot be solved; ``last_state`` holds the Solution. In an array
        such a point is NaN, with ``converged`` false and a message.

    References
    ----------
    :cite:t:`farne2026`, Eqs. 21-26 (kernel), 88 (finite width), Appendices B.3 (square) and B.4 (hinge).
    """
    loss = get_loss(loss)
    optimal = isinstance(regularization, str)
    problem = read_problem(
        sample_ratio, fact_fraction, kernel, width_ratio, 0.0 if isinstance(regularization, str) else regularization
    )
    if optimal:
        lam, points = optimal_point(loss, problem)
    else:
        lam = problem.regularization
        if loss.limit == "unknown" and (lam == 0.0).any():
            raise InputError(
                f"regularization must be positive for the loss '{loss.name}'; got 0. "
                "Loss(limit='label' | 'margin' | 'direction') states what it fits as the regularization vanishes."
            )
        points = solve_points(loss, problem.task, problem.learner())
    solution = _as_solution(problem, lam, points)
    if problem.shape == () and not solution.converged:
        raise ConvergenceError(
            f"The state equations were not solved: residual {solution.residual:.2g} after {solution.iterations} "
            "evaluations. The last state is in the error's last_state; a larger regularization is easier.",
            solution,
        )
    return solution


def _as_solution(problem: Problem, regularization: Array, points: PointSolutions) -> Solution:
    with np.errstate(all="ignore"):
        response = np.where(points.status == NO_RULE, problem.mu_star**2 / regularization, points.response)
        self_overlap = points.m**2 + points.tau**2
    failed = points.status == FAILED
    no_rule = (problem.mu_1 == 0.0) & ~failed
    columns = {
        "generalization_error": np.where(no_rule, 0.5, points.generalization_error),
        "memorization_error": points.memorization_error,
        "teacher_overlap": np.where(failed, np.nan, np.where(no_rule, 0.0, points.m)),
        "self_overlap": np.where(failed, np.nan, self_overlap),
        "response": np.where(failed, np.nan, response),
        "regularization": regularization,
        "converged": ~failed,
        "residual": points.residual,
        "iterations": points.iterations,
        "message": np.array(MESSAGES, dtype=object)[points.status],
    }
    shaped: dict[str, Any] = {name: in_shape(column, problem.shape) for name, column in columns.items()}
    return Solution(**shaped)
