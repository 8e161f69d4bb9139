r"""Follow the solution from strong regularisation, where it is known, down to the wanted one.

At :math:`\lambda\to\infty` every loss pulls with the constant force s, minus the loss's slope at margin zero, and
the state equations are explicit: :math:`K = \ell`, :math:`\hat m = \alpha s\delta\sqrt{2/\pi}`,
:math:`\hat q = \alpha s^2`. From there the ridge is lowered step by step; each solution, extrapolated, is the guess
for the next. Slower than one Newton solve, and used where a direct one has failed.
"""

from __future__ import annotations

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.gaussian import SQRT_2_OVER_PI
from genlaws.numerics.root_finding import ACCEPTABLE
from genlaws.rules_facts.channel import Channel
from genlaws.rules_facts.random_features import Learner, learner_side
from genlaws.rules_facts.state_equations import StateSolution, Task, solve_state_equations

# The strong end, relative to the pull of all samples; there the expansion is good to about 1 %.
STRONG_RIDGE = 100.0
# Where the target is λ = 0 the path ends at this ridge and the last solution is the guess for the limit.
WEAKEST_RIDGE = 1e-10


def strong_ridge_guess(task: Task, learner: Learner, slope: float) -> tuple[Array, Array]:
    """Return (τ, K) to leading order in a strong ridge; `slope` is s, minus the loss's slope at margin zero."""
    alpha, delta = task
    side = learner_side(learner, learner.ridge)
    m_hat, q_hat = alpha * slope * delta * SQRT_2_OVER_PI, alpha * slope**2
    return np.sqrt(side.rule_noise * m_hat**2 + side.noise_gain * q_hat), learner.ridge


def follow_ridge(channel: Channel, task: Task, learner: Learner, slope: float, steps: int) -> StateSolution:
    """Return the solution at the learner's ridge, reached in the given number of equal steps of log ℓ."""
    strong = STRONG_RIDGE * (1.0 + task.sample_ratio) * (1.0 + learner.nonlinear_share)
    goal = np.log(np.maximum(learner.ridge, WEAKEST_RIDGE))
    path = np.linspace(np.maximum(np.log(strong), goal), goal, steps + 1)
    here = learner._replace(ridge=np.exp(path[0]))
    solution = solve_state_equations(channel, task, here, *strong_ridge_guess(task, here, slope))
    before = solution
    for log_ridge in path[1:]:
        here = learner._replace(ridge=np.exp(log_ridge))
        tau, rigidity = _extrapolate(before.tau, solution.tau), _extrapolate(before.rigidity, solution.rigidity)
        before = solution
        solution = solve_state_equations(channel, task, here, tau, np.maximum(rigidity, here.ridge))
        if not (solution.residual <= ACCEPTABLE).any():
            break  # every path is lost; the residual says so
    return solution


def _extrapolate(before: Array, now: Array) -> Array:
    """Continue a positive sequence by one more equal step of its logarithm."""
    with np.errstate(all="ignore"):
        ahead = now * np.clip(now / before, 1e-2, 1e2)
    return np.where(np.isfinite(ahead) & (ahead > 0.0), ahead, now)
