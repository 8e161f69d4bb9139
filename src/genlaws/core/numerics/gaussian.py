r"""The normal and the skew-normal density, and Gauss-Legendre rules.

The density :math:`2\varphi(z)\Phi(az)`, with :math:`\varphi` and :math:`\Phi` the standard normal density and
distribution, is that of a Gaussian field multiplied by the sign of a correlated one. Its partial moments are closed
forms in Owen's function T :cite:p:`owen1956`; the hinge loss needs them. The Gauss-Legendre rules also integrate a
polynomial that is known at their nodes.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import erf, ndtr, owens_t

from genlaws.core.arguments import Array

SQRT_2 = float(np.sqrt(2.0))
SQRT_2_OVER_PI = float(np.sqrt(2.0 / np.pi))
_NORMAL_PEAK = float(1.0 / np.sqrt(2.0 * np.pi))


def normal_density(z: Array) -> Array:
    r"""Return :math:`\varphi(z) = e^{-z^2/2}/\sqrt{2\pi}`."""
    return _NORMAL_PEAK * np.exp(-0.5 * z * z)


def skew_density(z: Array, a: Array) -> Array:
    r"""Return the skew-normal density :math:`2\varphi(z)\Phi(az)`."""
    return 2.0 * normal_density(z) * ndtr(a * z)


def skew_density_slope(z: Array, a: Array) -> Array:
    r"""Return the derivative of the skew-normal density, :math:`-2z\varphi(z)\Phi(az) + 2a\varphi(z)\varphi(az)`."""
    return 2.0 * normal_density(z) * (a * normal_density(a * z) - z * ndtr(a * z))


def skew_distribution(b: Array, a: Array, below: Array | None = None, tilt: Array | None = None) -> Array:
    r"""Return :math:`\int_{-\infty}^b 2\varphi(z)\Phi(az)\,dz = \Phi(b) - 2T(b, a)` for a ≥ 0.

    Where a > 1 the difference would cancel; the reflection of Owen's function turns it into
    :math:`[2\Phi(b) - 1]\,\Phi(ab) + 2T(ab, 1/a)`, whose terms are both positive for b ≥ 0.

    Parameters
    ----------
    b : array
        Upper end.
    a : array, not negative
        Steepness of the skew.
    below, tilt : arrays, optional
        :math:`\Phi(b)` and :math:`\Phi(ab)`, if the caller already has them.
    """
    below = ndtr(b) if below is None else below
    tilt = ndtr(a * b) if tilt is None else tilt
    steep = a > 1.0
    inverse = 1.0 / np.where(steep, a, 1.0)
    owen = 2.0 * owens_t(np.where(steep, a * b, b), np.where(steep, inverse, a))
    return np.where(steep, erf(b / SQRT_2) * tilt + owen, below - owen)


@lru_cache(maxsize=16)
def gauss_legendre(count: int) -> tuple[Array, Array]:
    """Return the nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


def legendre_integrals(count: int) -> tuple[Array, Array, Array, Array]:
    r"""Return nodes and weights on [-1, 1], and matrices from values at nodes to Legendre coefficients and integrals.

    The integrals run from each node to 1, with :math:`\int_x^1 P_k = (P_{k-1}(x) - P_{k+1}(x))/(2k+1)`.

    `count`: number of nodes.
    """
    x, w = np.polynomial.legendre.leggauss(count)
    p = np.polynomial.legendre.legvander(x, count)
    k = np.arange(count)
    to_coefficients = (k[:, None] + 0.5) * p[:, :count].T * w
    integrals = np.empty((count, count))
    integrals[:, 0] = 1.0 - x
    integrals[:, 1:] = (p[:, : count - 1] - p[:, 2:]) / (2.0 * k[1:] + 1.0)
    return x, w, to_coefficients, integrals @ to_coefficients
