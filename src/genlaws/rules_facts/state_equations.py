r"""The state equations as two equations in two unknowns, and the Newton method that solves them.

The unknowns are the spread :math:`\tau` and the rigidity :math:`K = \ell + c\hat V`, where c is 1 for a kernel and
:math:`1 + \gamma(1+R)` at finite width. From K the learner side gives
V, D, A, B; from (τ, V) the channel gives :math:`\hat m`, hence :math:`m = D\hat m`; from (m, τ, V) it gives
:math:`\hat q` and :math:`\hat V`. What comes back must be what went in:

.. math:: F_1 = \tfrac12\log(A\hat m^2 + B\hat q) - \log\tau = 0, \qquad
          F_2 = \log(\ell + c\hat V) - \log K = 0 .

Both are logarithms, so :math:`\max(|F_1|, |F_2|)` is the undamped relative residual: how much the unknowns
would change if the equations were applied once more. Where the terms of :math:`F_2` nearly cancel, a small residual
proves nothing; such points are solved again in the form of :mod:`genlaws.rules_facts.balanced_equations`, and its
residual is reported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from genlaws.numerics.arguments import Array, Mask, Whole
from genlaws.numerics.root_finding import ACCEPTABLE, Root, TwoEquations, solve_two_equations
from genlaws.rules_facts.balanced_equations import balanced_residual, remaining_share
from genlaws.rules_facts.channel import Channel
from genlaws.rules_facts.proximal_channel import ProximalChannel
from genlaws.rules_facts.random_features import Learner, learner_side, learner_side_slope

# The usual equations are trusted if their residual, counted as at least ROUNDING, is this small compared with
# the terms that do not cancel.
TRUSTED = 1e-8
ROUNDING = 1e-15


class Task(NamedTuple):
    """Sample ratio α and rule share δ = 1 - ε, as arrays of one length."""

    sample_ratio: Array
    rule_share: Array

    def take(self, index: Mask | Whole) -> Task:
        """Return the tasks at `index`."""
        return Task(self.sample_ratio[index], self.rule_share[index])


class StateSolution(NamedTuple):
    """Order parameters at the solution, with the solver's own report per element."""

    m: Array
    tau: Array
    response: Array
    rigidity: Array
    residual: Array
    iterations: Whole


def solve_state_equations(channel: Channel, task: Task, learner: Learner, tau: Array, rigidity: Array) -> StateSolution:
    """Solve the state equations by Newton's method from the guess (τ, K).

    Parameters
    ----------
    channel : Channel
        The averages of the loss.
    task, learner : Task, Learner
        What is learned and by whom, arrays of one length.
    tau, rigidity : arrays
        Where to start; the ridge solution is a good place.
    """

    def equations(x: Array, y: Array, index: Whole) -> TwoEquations:
        return state_residual(channel, task.take(index), learner.take(index), x, y)

    found = _state(channel, task, learner, solve_two_equations(equations, np.log(tau), np.log(rigidity)))
    with np.errstate(all="ignore"):
        remaining = remaining_share(learner, found.m, found.tau, found.rigidity)
        doubtful = ~(np.maximum(found.residual, ROUNDING) <= TRUSTED * remaining)
    for start in (found.tau.copy(), found.rigidity.copy()), (tau, rigidity):
        if not doubtful.any():
            break
        again = _solve_balanced(channel, task.take(doubtful), learner.take(doubtful), *(x[doubtful] for x in start))
        for old, new in zip(found, again, strict=True):
            old[doubtful] = new
        doubtful &= ~(found.residual <= ACCEPTABLE)
    return found


def _solve_balanced(channel: Channel, task: Task, learner: Learner, tau: Array, rigidity: Array) -> StateSolution:
    """Solve the balanced equations, which keep their digits where the usual ones nearly coincide."""

    def equations(x: Array, y: Array, index: Whole) -> TwoEquations:
        return balanced_residual(channel, task.take(index), learner.take(index), x, y)

    return _state(channel, task, learner, solve_two_equations(equations, np.log(tau), np.log(rigidity)))


def _state(channel: Channel, task: Task, learner: Learner, root: Root) -> StateSolution:
    tau, rigidity = np.exp(root.x), np.exp(root.y)
    side = learner_side(learner, rigidity)
    m = side.rule_gain * task.sample_ratio * channel.pull(tau, side.response, task.rule_share).value
    return StateSolution(m, tau, side.response, rigidity, root.residual, root.iterations)


def check_with_finer_rule(channel: ProximalChannel, task: Task, learner: Learner, found: StateSolution) -> Array:
    """Return the residual of a solution when its averages are taken with twice the nodes."""
    alpha, delta = task
    _, D, A, B = learner_side(learner, found.rigidity)
    pull, square, slope = channel.finer().values(found.m, found.tau, found.response, delta)
    m_hat, q_hat, V_hat = alpha * pull, alpha * square, alpha * slope
    spread = np.abs(0.5 * np.log(A * m_hat**2 + B * q_hat) - np.log(found.tau))
    rigidity = np.abs(np.log(learner.ridge + learner.weight * V_hat) - np.log(found.rigidity))
    overlap = np.abs(D * m_hat - found.m) / np.hypot(found.m, found.tau)
    return np.asarray(np.maximum(np.maximum(spread, rigidity), overlap))


def state_residual(channel: Channel, task: Task, learner: Learner, log_tau: Array, log_rigidity: Array) -> TwoEquations:
    r"""Return :math:`F_1, F_2` and their derivatives by :math:`(\log\tau, \log K)`."""
    alpha, delta = task
    tau, K = np.exp(log_tau), np.exp(log_rigidity)
    V, D, A, B = learner_side(learner, K)
    V_K, D_K, A_K, B_K = learner_side_slope(learner, K)

    pull, _, moments = channel.averages(tau, V, delta, alpha * D)
    m_hat, m_hat_tau, m_hat_K = alpha * pull.value, alpha * tau * pull.by_tau, alpha * V_K * pull.by_response
    m_tau, m_K = D * m_hat_tau, D * m_hat_K + D_K * m_hat
    q_hat, V_hat = alpha * moments.square, alpha * moments.slope
    q_hat_tau = alpha * (moments.square_by_m * m_tau + moments.square_by_tau * tau)
    q_hat_K = alpha * (moments.square_by_m * m_K + moments.square_by_response * V_K)
    V_hat_tau = alpha * (moments.slope_by_m * m_tau + moments.slope_by_tau * tau)
    V_hat_K = alpha * (moments.slope_by_m * m_K + moments.slope_by_response * V_K)

    variance = A * m_hat**2 + B * q_hat
    variance_tau = 2.0 * A * m_hat * m_hat_tau + B * q_hat_tau
    variance_K = A_K * m_hat**2 + 2.0 * A * m_hat * m_hat_K + B_K * q_hat + B * q_hat_K
    weight = learner.weight
    total = learner.ridge + weight * V_hat
    return TwoEquations(
        f=0.5 * np.log(variance) - log_tau,
        g=np.log(total) - log_rigidity,
        f_x=0.5 * variance_tau / variance - 1.0,
        f_y=0.5 * variance_K / variance,
        g_x=weight * V_hat_tau / total,
        g_y=weight * V_hat_K / total - 1.0,
    )
