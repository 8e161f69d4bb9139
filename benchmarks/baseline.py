r"""The plain method: damped fixed-point iteration of the hinge state equations with Gauss-Legendre quadrature.

One round puts (m, q, V) through the channel and the kernel side,

.. math:: V \leftarrow D + \mu_*^2/\lambda, \quad m \leftarrow D\hat m, \quad q \leftarrow D^2(\hat m^2 + \hat q),
          \quad D = \mu_1^2/(\lambda + \mu_1^2\hat V),

and moves a share of the way there. Each of the three averages of the channel is one integral over the margin with 200
nodes, cut at the kinks of the loss. The code is compiled, scalar per point, and as fast as a plain method can fairly
be: the integrals over the margin share their nodes and their density, the range is cut at ten standard deviations,
and a point that leaves the finite numbers is given up at once. The same method in array form, `solve_arrays`, shows
what it costs without a compiler: all points at once, or one point per call.
"""

# ruff: noqa: PLR0917  (compiled functions take their arguments by position)

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.special import erf

TOLERANCE = 1e-8
MAX_ROUNDS = 5000
# Nodes of one integral: half of them on each side of the kink at 1 - V.
NODES_PER_INTEGRAL = 200
# Share of the way to move in one round: the fastest of those tried that solves every point (`hinge_solver.py --scan`).
DAMPING = 0.9
DAMPING_TRIED = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
CUTOFF = 10.0  # standard deviations
# Points of one block in array form: what fits in the cache.
BLOCK = 64


def solve_compiled(alpha, epsilon, mu_1, mu_star, lam, damping=DAMPING, nodes=NODES_PER_INTEGRAL):
    """Return arrays m, q, V and the number of rounds; rounds is -1 where the iteration failed."""
    x, w = np.polynomial.legendre.leggauss(nodes // 2)
    return _solve(alpha, epsilon, mu_1, mu_star, lam, damping, 0.5 * (x + 1.0), 0.5 * w)


@njit(fastmath=True, error_model="numpy")
def _solve(alpha, epsilon, mu_1, mu_star, lam, damping, nodes, weights):
    count = alpha.size
    m, q, V = np.empty(count), np.empty(count), np.empty(count)
    rounds = np.empty(count, dtype=np.int64)
    for i in range(count):
        m[i], q[i], V[i], rounds[i] = _iterate(
            alpha[i], 1.0 - epsilon[i], mu_1[i] ** 2, mu_star[i] ** 2, lam[i], damping, nodes, weights
        )
    return m, q, V, rounds


@njit(fastmath=True, error_model="numpy")
def _iterate(alpha, delta, linear, nonlinear, lam, damping, nodes, weights):
    # Start where strong regularization would end: every sample pulls with force one.
    D = linear / (lam + linear * alpha)
    m = D * alpha * delta * math.sqrt(2.0 / math.pi)
    q = m * m + D * D * alpha
    V = D + nonlinear / lam
    for k in range(1, MAX_ROUNDS + 1):
        m_hat, q_hat, V_hat = _channel(m, q, V, delta, nodes, weights)
        D = linear / (lam + linear * alpha * V_hat)
        new_m = m + damping * (D * alpha * m_hat - m)
        new_q = q + damping * (D * D * ((alpha * m_hat) ** 2 + alpha * q_hat) - q)
        new_V = V + damping * (D + nonlinear / lam - V)
        change = max(abs(new_m - m) / abs(m), abs(new_q - q) / abs(q), abs(new_V - V) / abs(V))
        m, q, V = new_m, new_q, new_V
        # Written so that NaN fails too; fast arithmetic must not assume it away, hence the bounds.
        if not (1e-300 < q < 1e300 and 1e-300 < V < 1e300 and q > m * m):
            return m, q, V, -1
        if change < TOLERANCE:
            return m, q, V, k
    return m, q, V, -1


@njit(fastmath=True, error_model="numpy")
def _channel(m, q, V, delta, nodes, weights):
    """Return the three averages divided by the sample ratio."""
    root_q, tau = math.sqrt(q), math.sqrt(q - m * m)
    turn = m / (tau * math.sqrt(2.0 * q))
    peak_q, peak_tau = 1.0 / math.sqrt(2.0 * math.pi * q), 1.0 / math.sqrt(2.0 * math.pi * (q - m * m))
    half_q, half_tau = -0.5 / q, -0.5 / (q - m * m)
    saturated = linear_square = linear_mass = 0.0
    start, stop = -CUTOFF * root_q, min(1.0 - V, CUTOFF * root_q)
    if stop > start:
        for j in range(nodes.size):
            u = start + (stop - start) * nodes[j]
            saturated += weights[j] * math.exp(half_q * u * u) * (1.0 + delta * math.erf(turn * u))
        saturated *= (stop - start) * peak_q
    start, stop = max(1.0 - V, -CUTOFF * root_q), min(1.0, CUTOFF * root_q)
    if stop > start:
        for j in range(nodes.size):
            u = start + (stop - start) * nodes[j]
            p = weights[j] * math.exp(half_q * u * u) * (1.0 + delta * math.erf(turn * u))
            linear_mass += p
            linear_square += p * (1.0 - u) ** 2
        linear_mass *= (stop - start) * peak_q
        linear_square *= (stop - start) * peak_q / (V * V)
    field = field_linear = 0.0
    start, stop = -CUTOFF * tau, min(1.0 - V, CUTOFF * tau)
    if stop > start:
        for j in range(nodes.size):
            u = start + (stop - start) * nodes[j]
            field += weights[j] * math.exp(half_tau * u * u)
        field *= stop - start
    start, stop = max(1.0 - V, -CUTOFF * tau), min(1.0, CUTOFF * tau)
    if stop > start:
        for j in range(nodes.size):
            u = start + (stop - start) * nodes[j]
            field_linear += weights[j] * math.exp(half_tau * u * u) * (1.0 - u)
        field_linear *= (stop - start) / V
    m_hat = delta * math.sqrt(2.0 / math.pi) * (field + field_linear) * peak_tau
    return m_hat, saturated + linear_square, linear_mass / V


def solve_arrays(alpha, epsilon, mu_1, mu_star, lam, damping=DAMPING, nodes=NODES_PER_INTEGRAL):
    """Return the same as `solve_compiled`, by arrays over points and nodes; a point leaves when it has converged."""
    x, w = np.polynomial.legendre.leggauss(nodes // 2)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    columns = (alpha, 1.0 - epsilon, mu_1**2, mu_star**2, lam)
    blocks = [
        _solve_block(*(part[i : i + BLOCK] for part in columns), damping, x, w) for i in range(0, alpha.size, BLOCK)
    ]
    return tuple(np.concatenate(parts) for parts in zip(*blocks, strict=True))


def _solve_block(alpha, delta, linear, nonlinear, lam, damping, nodes, weights):
    D = linear / (lam + linear * alpha)
    m = D * alpha * delta * math.sqrt(2.0 / math.pi)
    state = np.array([m, m * m + D * D * alpha, D + nonlinear / lam])
    found, rounds = np.full(state.shape, np.nan), np.full(alpha.size, -1)
    index = np.arange(alpha.size)
    task = np.array([alpha, delta, linear, nonlinear, lam])
    for k in range(1, MAX_ROUNDS + 1):
        alpha, delta, linear, nonlinear, lam = task
        m_hat, q_hat, V_hat = alpha * _channel_arrays(*state, delta, nodes, weights)
        D = linear / (lam + linear * V_hat)
        goal = np.array([D * m_hat, D * D * (m_hat**2 + q_hat), D + nonlinear / lam])
        step = damping * (goal - state)
        done = np.max(np.abs(step) / np.abs(state), axis=0) < TOLERANCE
        state = state + step
        lost = ~(np.isfinite(state).all(axis=0) & (state[1] > state[0] ** 2))
        done &= ~lost
        if done.any() or lost.any():
            found[:, index[done]], rounds[index[done]] = state[:, done], k
            keep = ~(done | lost)
            index, state, task = index[keep], state[:, keep], task[:, keep]
            if index.size == 0:
                break
    return (*found, rounds)


def _channel_arrays(m, q, V, delta, nodes, weights):
    m, q, V, delta = m[:, None], q[:, None], V[:, None], delta[:, None]
    root_q, tau = np.sqrt(q), np.sqrt(q - m * m)

    def margins(start, stop):
        return start + np.maximum(stop - start, 0.0) * nodes, np.maximum(stop - start, 0.0) * weights

    turn, peak = m / (tau * np.sqrt(2.0 * q)), 1.0 / np.sqrt(2.0 * np.pi * q)

    def density(u):
        return peak * np.exp(-0.5 / q * u * u) * (1.0 + delta * erf(turn * u))

    def field_density(u):
        return np.exp(-0.5 * (u / tau) ** 2) / (math.sqrt(2.0 * math.pi) * tau)

    u, w = margins(-CUTOFF * root_q, np.minimum(1.0 - V, CUTOFF * root_q))
    saturated = np.sum(w * density(u), axis=1)
    u, w = margins(np.maximum(1.0 - V, -CUTOFF * root_q), np.minimum(1.0, CUTOFF * root_q))
    p = w * density(u)
    mass, square = np.sum(p, axis=1), np.sum(p * (1.0 - u) ** 2, axis=1)
    u, w = margins(-CUTOFF * tau, np.minimum(1.0 - V, CUTOFF * tau))
    field = np.sum(w * field_density(u), axis=1)
    u, w = margins(np.maximum(1.0 - V, -CUTOFF * tau), np.minimum(1.0, CUTOFF * tau))
    V = V[:, 0]
    field += np.sum(w * field_density(u) * (1.0 - u), axis=1) / V
    return np.array([delta[:, 0] * math.sqrt(2.0 / math.pi) * field, saturated + square / V**2, mass / V])
