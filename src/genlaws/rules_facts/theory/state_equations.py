r"""The state equations as two equations in two unknowns, solved by Newton's method.

The unknowns are the spread :math:`\tau` and the rigidity :math:`K = \ell + c\hat V`, where c is 1 for a kernel and
:math:`1 + \gamma(1+R)` at finite width. From K the learner side gives
V, D, A, B; from (τ, V) the channel gives :math:`\hat m`, hence :math:`m = D\hat m`; from (m, τ, V) it gives
:math:`\hat q` and :math:`\hat V`. At the solution these reproduce the unknowns:

.. math:: F_1 = \tfrac12\log(A\hat m^2 + B\hat q) - \log\tau = 0, \qquad
          F_2 = \log(\ell + c\hat V) - \log K = 0 .

Both are logarithms, so :math:`\max(|F_1|, |F_2|)` is the undamped relative residual: how much the unknowns
would change if the equations were applied once more. Where the terms of :math:`F_2` nearly cancel, a small residual
proves nothing; such points are solved again in the balanced form below, and the residual of that form is reported.

With few facts and very many samples :math:`a = m/\tau` is large, and both sides of the second state equation,
:math:`\hat V` from the channel and :math:`\hat V` from the rigidity K, agree to about :math:`1/a^2` whatever the
solution is. The small remainder decides, and double precision loses it: from :math:`a \approx 10^5` on the usual
equations "converge" to wrong solutions. The remainder has a formula. Gaussian integration by parts over the margin's
density gives

.. math:: \alpha\,E_u[u f] = m\hat m - q\hat V ,

and with :math:`m = D\hat m` and :math:`1/D = \hat V + 1/G` (1/G is the ridge :math:`\ell` for a kernel) the leading
terms cancel analytically:

.. math:: \frac{m^2}{G} = \alpha\,E_u[u f] + \tau^2\hat V .

For the linear model it states that the penalty balances the pulls, :math:`\lambda\|w\|^2 = \sum_i f_i z_i` with
:math:`z_i` the margin of sample i after training. The balanced second equation compares the terms of one sign with
those of the other, where :math:`E_u[uf] = W_+ - W_-` is split at u = 0:

.. math:: F_2 = \log\bigl(m^2/G + \alpha W_-\bigr) - \log\bigl(\tau^2\hat V + \alpha W_+\bigr) = 0 .

It is the usual equation divided by :func:`remaining_share`, the part of its terms that does not cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.core.numerics.gaussian import SQRT_2_OVER_PI, normal_density, skew_density
from genlaws.core.numerics.newton import ACCEPTABLE_RESIDUAL, TwoEquations, solve_two_equations
from genlaws.rules_facts.theory import proximal
from genlaws.rules_facts.theory.channels import Channel
from genlaws.rules_facts.theory.random_features import (
    Learner,
    inverse_nonlinear_gain,
    learner_side,
    learner_side_slope,
    stiffness,
)

# The usual equations are trusted if their residual, counted as at least MIN_RESIDUAL, is this small compared with
# the terms that do not cancel.
MAX_TRUSTED_RESIDUAL = 1e-8
MIN_RESIDUAL = 1e-15


class Task(NamedTuple):
    """Sample ratio α and rule share δ = 1 - ε, as arrays of one length."""

    sample_ratio: Array
    rule_share: Array

    def take(self, index: Mask | Whole) -> Task:
        """Return the tasks at `index`."""
        return Task(self.sample_ratio[index], self.rule_share[index])


Residual = Callable[[Channel, Task, Learner, Array, Array], TwoEquations]


class StateSolution(NamedTuple):
    """Order parameters at the solution, with residual and iterations per element."""

    m: Array
    tau: Array
    response: Array
    rigidity: Array
    residual: Array
    iterations: Whole

    def put(self, where: Mask, other: StateSolution) -> None:
        """Write another solution at the elements `where`."""
        for old, new in zip(self, other, strict=True):
            old[where] = new


def solve_state_equations(channel: Channel, task: Task, learner: Learner, tau: Array, rigidity: Array) -> StateSolution:
    """Solve the state equations by Newton's method from the guess (τ, K).

    Parameters
    ----------
    channel : Channel
        The averages of the loss.
    task, learner : Task, Learner
        Arrays of one length.
    tau, rigidity : arrays
        Initial guess, for example the ridge solution.
    """
    found = _solve(state_residual, channel, task, learner, (tau, rigidity))
    with np.errstate(all="ignore"):
        remaining = remaining_share(learner, found.m, found.tau, found.rigidity)
        doubtful = ~(np.maximum(found.residual, MIN_RESIDUAL) <= MAX_TRUSTED_RESIDUAL * remaining)
    for start in (found.tau.copy(), found.rigidity.copy()), (tau, rigidity):
        if not doubtful.any():
            break
        near = start[0][doubtful], start[1][doubtful]
        found.put(doubtful, _solve(balanced_residual, channel, task.take(doubtful), learner.take(doubtful), near))
        doubtful &= ~(found.residual <= ACCEPTABLE_RESIDUAL)
    return found


def _solve(
    residual: Residual, channel: Channel, task: Task, learner: Learner, start: tuple[Array, Array]
) -> StateSolution:
    """Solve the usual equations, or the balanced ones, which stay precise where the terms of the former cancel."""

    def equations(x: Array, y: Array, index: Whole) -> TwoEquations:
        return residual(channel, task.take(index), learner.take(index), x, y)

    root = solve_two_equations(equations, np.log(start[0]), np.log(start[1]))
    tau, rigidity = np.exp(root.x), np.exp(root.y)
    side = learner_side(learner, rigidity)
    m = side.rule_gain * task.sample_ratio * channel.pull(tau, side.response, task.rule_share).value
    return StateSolution(m, tau, side.response, rigidity, root.residual, root.iterations)


def check_with_finer_rule(
    channel: proximal.ProximalChannel, task: Task, learner: Learner, found: StateSolution
) -> Array:
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
    r"""Return :math:`F_1, F_2` and their derivatives with respect to :math:`(\log\tau, \log K)`."""
    alpha, delta = task
    tau, K = np.exp(log_tau), np.exp(log_rigidity)
    V, D, A, B = learner_side(learner, K)
    V_K, D_K, A_K, B_K = learner_side_slope(learner, K)

    pull, moments = channel.averages(tau, V, delta, alpha * D)
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


def remaining_share(learner: Learner, m: Array, tau: Array, rigidity: Array) -> Array:
    r"""Return how much of the second equation's terms is left when the leading ones cancel.

    .. math:: \frac{m^2/G + \tau^2\hat V}{(m^2 + \tau^2)(1/G + \hat V)} \in (0, 1]

    The usual equations lose this factor in precision. It is small exactly where both τ ≪ m and 1/G ≪ V̂.
    """
    V_hat, inverse_G = stiffness(learner, rigidity), inverse_nonlinear_gain(learner, rigidity)
    tau_share, ridge_share = tau**2 / (m**2 + tau**2), inverse_G / (inverse_G + V_hat)
    return (1.0 - tau_share) * ridge_share + tau_share * (1.0 - ridge_share)


def balanced_residual(
    channel: Channel, task: Task, learner: Learner, log_tau: Array, log_rigidity: Array
) -> TwoEquations:
    r"""Return :math:`F_1` and the balanced :math:`F_2`, with derivatives by forward differences."""

    def values(x: Array, y: Array) -> tuple[Array, Array]:
        return _balanced_values(channel, task, learner, x, y)

    f, g = values(log_tau, log_rigidity)
    f_x, g_x = values(log_tau + proximal.DIFFERENCE_STEP, log_rigidity)
    f_y, g_y = values(log_tau, log_rigidity + proximal.DIFFERENCE_STEP)
    return TwoEquations(
        f,
        g,
        (f_x - f) / proximal.DIFFERENCE_STEP,
        (f_y - f) / proximal.DIFFERENCE_STEP,
        (g_x - g) / proximal.DIFFERENCE_STEP,
        (g_y - g) / proximal.DIFFERENCE_STEP,
    )


def _balanced_values(
    channel: Channel, task: Task, learner: Learner, log_tau: Array, log_rigidity: Array
) -> tuple[Array, Array]:
    alpha, delta = task
    tau, K = np.exp(log_tau), np.exp(log_rigidity)
    V, D, A, B = learner_side(learner, K)
    m_hat = alpha * delta * SQRT_2_OVER_PI * proximal.mean_force(channel, tau, V)
    m = D * m_hat

    def averages(m: Array, tau: Array, V: Array, delta: Array) -> tuple[Array, Array, Array]:
        """Return the mean of f², of u f over the margins above zero, and of -u f over those below."""
        row, z, weight = proximal.margin_panels(channel, m, tau, V)
        share, u = delta[row, None], np.hypot(m, tau)[row, None] * z
        density = (1.0 - share) * normal_density(z) + share * skew_density(z, (m / tau)[row, None])
        force = channel.force(u, V[row, None])
        parts = (force, np.maximum(u, 0.0), np.maximum(-u, 0.0))
        square, above, below = (proximal.sum_by_row(row, weight * density * force * part, m.size) for part in parts)
        return square, above, below

    square, above, below = proximal.in_blocks(averages, m, tau, V, delta)
    f = 0.5 * np.log(A * m_hat**2 + B * alpha * square) - log_tau
    inverse_G, V_hat = inverse_nonlinear_gain(learner, K), stiffness(learner, K)
    g = np.log(m**2 * inverse_G + alpha * below) - np.log(tau**2 * V_hat + alpha * above)
    return f, g
