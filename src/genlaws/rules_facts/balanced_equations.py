r"""The state equations in a form that keeps its digits when the overlap is far larger than the spread.

With few facts and very many samples :math:`a = m/\tau` is large, and both sides of the second state equation,
:math:`\hat V` from the channel and :math:`\hat V` from the rigidity K, agree to about :math:`1/a^2` whatever the
solution is. What decides is the small rest, and in double precision it drowns: from :math:`a \approx 10^5` on the usual
equations "converge" to wrong answers. The rest can be written down. Gaussian integration by parts over the margin's
density gives

.. math:: \alpha\,E_u[u f] = m\hat m - q\hat V ,

and with :math:`m = D\hat m` and :math:`1/D = \hat V + 1/G` (1/G is the ridge :math:`\ell` for a kernel) the leading
terms cancel by hand:

.. math:: \frac{m^2}{G} = \alpha\,E_u[u f] + \tau^2\hat V .

For the linear model it says that the penalty balances the pulls, :math:`\lambda\|w\|^2 = \sum_i f_i z_i` with
:math:`z_i` the margin of sample i after training. The balanced second equation compares the terms of one sign with
those of the other, where :math:`E_u[uf] = W_+ - W_-` is split at u = 0:

.. math:: F_2 = \log\bigl(m^2/G + \alpha W_-\bigr) - \log\bigl(\tau^2\hat V + \alpha W_+\bigr) = 0 .

It is the usual equation divided by :func:`remaining_share`, the part of its terms that does not cancel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.gaussian import SQRT_2_OVER_PI, normal_density, skew_density
from genlaws.numerics.root_finding import TwoEquations
from genlaws.rules_facts.channel import Channel
from genlaws.rules_facts.proximal_channel import STEP, in_blocks, margin_panels, mean_force, sum_by_row
from genlaws.rules_facts.random_features import Learner, inverse_nonlinear_gain, learner_side, stiffness

if TYPE_CHECKING:
    from genlaws.rules_facts.state_equations import Task


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
        return _values(channel, task, learner, x, y)

    f, g = values(log_tau, log_rigidity)
    f_x, g_x = values(log_tau + STEP, log_rigidity)
    f_y, g_y = values(log_tau, log_rigidity + STEP)
    return TwoEquations(f, g, (f_x - f) / STEP, (f_y - f) / STEP, (g_x - g) / STEP, (g_y - g) / STEP)


def _values(channel: Channel, task: Task, learner: Learner, log_tau: Array, log_rigidity: Array) -> tuple[Array, Array]:
    alpha, delta = task
    tau, K = np.exp(log_tau), np.exp(log_rigidity)
    V, D, A, B = learner_side(learner, K)
    m_hat = alpha * delta * SQRT_2_OVER_PI * mean_force(channel, tau, V)
    m = D * m_hat

    def averages(m: Array, tau: Array, V: Array, delta: Array) -> tuple[Array, Array, Array]:
        """Return the mean of f², of u f over the margins above zero, and of -u f over those below."""
        row, z, weight = margin_panels(channel, m, tau, V)
        share, u = delta[row, None], np.hypot(m, tau)[row, None] * z
        density = (1.0 - share) * normal_density(z) + share * skew_density(z, (m / tau)[row, None])
        force = channel.force(u, V[row, None])
        parts = (force, np.maximum(u, 0.0), np.maximum(-u, 0.0))
        square, above, below = (sum_by_row(row, weight * density * force * part, m.size) for part in parts)
        return square, above, below

    square, above, below = in_blocks(averages, m, tau, V, delta)
    f = 0.5 * np.log(A * m_hat**2 + B * alpha * square) - log_tau
    inverse_G, V_hat = inverse_nonlinear_gain(learner, K), stiffness(learner, K)
    g = np.log(m**2 * inverse_G + alpha * below) - np.log(tau**2 * V_hat + alpha * above)
    return f, g
