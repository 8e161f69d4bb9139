r"""Distribution of the largest root of one Wishart matrix against another, exactly.

It is what decides whether a whole class collapses. The joint density of the roots is a product of weights and of all
their differences, so an ordered integral over it is a Pfaffian of double integrals (de Bruijn's formula). With
:math:`x = \sin^2\varphi` every integrand is entire, and Gauss-Legendre quadrature converges faster than any power.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import legendre
from scipy import special

from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError

MOST_ROOTS = 60
MOST_NODES = 1200


def largest_root_probability(odds: float, size: int, first: int, second: int) -> float:
    r"""Return the probability that the largest eigenvalue of :math:`W_1W_2^{-1}` is at most `odds`.

    Parameters
    ----------
    odds : float > 0
    size : int >= 1
        Order of the matrices, :math:`p`.
    first, second : int >= size
        Degrees of freedom of the standard Wishart matrices :math:`W_1` and :math:`W_2`.
    """
    if size > MOST_ROOTS:
        raise InputError(f"The smaller of dimension and class_size - 1 must be at most {MOST_ROOTS}; got {size}.")
    count = 48 + 6 * size + int(np.ceil(8.0 * np.sqrt(first + second - 2 * size)))
    if count > MOST_NODES:
        raise InputError(
            f"dimension, outputs and class_size are too large for the exact law, {MOST_NODES} nodes; got {count}."
        )
    top = np.arctan(np.sqrt(odds))
    nodes, weights, kernel = _quadrature(count)
    angle = 0.5 * top * (nodes + 1.0)
    half = np.sqrt(0.5 * top * weights)
    log_weight = np.log(2.0) + (first - size) * np.log(np.sin(angle)) + (second - size) * np.log(np.cos(angle))
    peak = float(log_weight.max())
    # The roots are measured in units of their largest value, so that no power of them underflows.
    unit = np.sin(top)
    basis, log_norms = _orthogonal((np.sin(angle) / unit) ** 2, half * np.exp(log_weight - peak), size)
    log_pfaffian = _log_pfaffian(basis, half, 0.5 * top * kernel)
    log_value = _log_constant(size, first, second) + size * peak + log_norms + log_pfaffian
    log_value += size * (size - 1) * np.log(unit)
    return float(min(1.0, np.exp(log_value)))


@lru_cache(maxsize=32)
def _quadrature(count: int) -> tuple[Array, Array, Array]:
    """Return nodes and weights on [-1, 1], and the antisymmetric form of the sign of y - x on the weighted nodes."""
    nodes, weights = legendre.leggauss(count)
    values = legendre.legvander(nodes, count)
    steps = np.empty((count, count))
    steps[:, 0] = nodes + 1.0
    steps[:, 1:] = values[:, 2:] - values[:, : count - 1]
    # Row q holds the integrals of the Lagrange polynomials from -1 to node q.
    running = 0.5 * steps @ (values[:, :count] * weights[:, None]).T
    root = np.sqrt(weights)
    scaled = root[:, None] * running / root
    return nodes, weights, scaled.T - scaled


def _orthogonal(x: Array, weight: Array, size: int) -> tuple[Array, float]:
    """Return orthonormal columns, polynomials in `x` times `weight`, and the log of the product of their norms."""
    columns = np.empty((x.size, size))
    log_product, log_norm = 0.0, 0.0
    column = weight
    for degree in range(size):
        for _ in range(2):  # twice is enough
            column = column - columns[:, :degree] @ (columns[:, :degree].T @ column)
        length = float(np.linalg.norm(column))
        log_norm += np.log(length)
        log_product += log_norm
        columns[:, degree] = column / length
        column = x * columns[:, degree]
    return columns, log_product


def _log_pfaffian(basis: Array, half: Array, kernel: Array) -> float:
    """Return the log of the Pfaffian of the form on the basis, bordered with plain integrals if its size is odd."""
    form = basis.T @ kernel @ basis
    if basis.shape[1] % 2:
        border = basis.T @ half
        form = np.block([[form, border[:, None]], [-border[None, :], np.zeros((1, 1))]])
    return 0.5 * float(np.linalg.slogdet(form)[1])


def _log_constant(size: int, first: int, second: int) -> float:
    """Return the log of the constant of the joint density of the ordered roots."""
    log_gamma = [special.multigammaln(0.5 * n, size) for n in (first + second, size, first, second)]
    return float(0.5 * size**2 * np.log(np.pi) + log_gamma[0] - log_gamma[1] - log_gamma[2] - log_gamma[3])
