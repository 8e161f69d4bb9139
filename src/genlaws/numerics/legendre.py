"""Integrals of a polynomial known at the nodes of the Gauss-Legendre rule."""

from __future__ import annotations

import numpy as np

from genlaws.numerics.arguments import Array


def legendre_integrals(count: int) -> tuple[Array, Array, Array, Array]:
    r"""Return nodes and weights on [-1, 1], the matrix to Legendre coefficients and that of integrals from nodes to 1.

    With :math:`\int_x^1 P_k = (P_{k-1}(x) - P_{k+1}(x))/(2k+1)`.

    Parameters
    ----------
    count : int
        Of nodes.
    """
    x, w = np.polynomial.legendre.leggauss(count)
    p = np.polynomial.legendre.legvander(x, count)
    k = np.arange(count)
    to_coefficients = (k[:, None] + 0.5) * p[:, :count].T * w
    integrals = np.empty((count, count))
    integrals[:, 0] = 1.0 - x
    integrals[:, 1:] = (p[:, : count - 1] - p[:, 2:]) / (2.0 * k[1:] + 1.0)
    return x, w, to_coefficients, integrals @ to_coefficients
