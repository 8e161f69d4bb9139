r"""Mutual information from Gaussian kernel densities, as in :cite:p:`fernando2025`, without the sum over all pairs.

The sum of kernels at every text, :math:`S_i = \sum_j e^{-(u_i-u_j)^2/2h^2}`, has :math:`N^2` terms. Within a period
that is longer than the range of the data by :math:`R h`, the kernel is a Fourier series,

.. math:: e^{-u^2/2h^2} = \frac{\sqrt{2\pi}\,h}{P}\sum_{k=-K}^{K} e^{-(2\pi k h/P)^2/2}\, e^{2\pi i k u/P},
    \qquad K = \frac{R P}{2\pi h},

up to :math:`2 e^{-R^2/2}` for the next period and as much for the waves left out. Each wave factors into a part of
:math:`i` and one of :math:`j`, so one dimension costs :math:`N K` operations and two cost :math:`N K^2` in two matrix
products; for 1,000 Gaussian texts :math:`K` is about 30.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from genlaws.numerics.arguments import Array
from genlaws.residual_stream.information_ranks import COPY

STABILITY = 1e-10  # added to the ratio of densities, as the paper adds it inside the logarithm
REACH = 6.5  # kernel widths; exp(-R^2/2) = 7e-10 beside the text's own term, which is 1

_Line = Callable[[Array, float], Array]
_Plane = Callable[[Array, Array, float], Array]


def kernel_points(x: Array, y: Array) -> Array:
    r"""Return the logarithm of the ratio of kernel densities at each text.

    .. math:: i_t = \ln\Big[\frac{\hat p(x_t, y_t)}{\hat p(x_t)\,\hat p(y_t)} + 10^{-10}\Big]

    Each density is a mean of Gaussians around all texts, that text included, with the covariance of the data times
    :math:`h^2` and Scott's rule :math:`h = N^{-1/(d+4)}` in :math:`d` dimensions.

    Parameters
    ----------
    x, y : array of shape (pairs, texts)

    Returns
    -------
    array of shape (pairs, texts)
        Infinite where one variable is a linear function of the other.

    References
    ----------
    :cite:p:`fernando2025`, section on mutual information. The paper gives neither bandwidth nor evaluation points, nor
    where exactly 1e-10 is added. Taken here: Scott's rule, the texts themselves, and the ratio, which has no units.
    """
    return _points(x, y, kernel_sum, plane_kernel_sum)


def kernel_points_direct(x: Array, y: Array) -> Array:
    """Return the same as :func:`kernel_points`, with every kernel summed."""
    return _points(x, y, _direct_sum, _direct_plane_sum)


def _points(x: Array, y: Array, line: _Line, plane: _Plane) -> Array:
    """Whiten each pair, sum its kernels by the two functions given, and return the logarithms of the ratios."""
    count = x.shape[-1]
    h_line, h_plane = count ** (-1.0 / 5.0), count ** (-1.0 / 6.0)
    points = np.full(x.shape, np.inf)
    for row, (u, v) in enumerate(zip(_standardised(x), _standardised(y), strict=True)):
        r = float(u @ v) / (count - 1)
        if 1.0 - r**2 < COPY:
            continue
        left = np.sqrt(1.0 - r**2)
        joint = plane(u, (v - r * u) / left, h_plane) / (2.0 * np.pi * count * h_plane**2 * left)
        alone = line(u, h_line) * line(v, h_line) / (2.0 * np.pi * (count * h_line) ** 2)
        points[row] = np.log(joint / alone + STABILITY)
    return points


def _standardised(values: Array) -> Array:
    """Return each row with mean zero and variance one, the variance with N - 1."""
    centred = values - values.mean(axis=-1, keepdims=True)
    return np.asarray(centred / centred.std(axis=-1, ddof=1, keepdims=True))


def kernel_sum(u: Array, width: float) -> Array:
    """Return the sum of Gaussian kernels of a width around all points, at each point, from their Fourier series."""
    waves, weights = _waves(u, width)
    return np.asarray((weights * waves.sum(axis=1)) @ waves)


def plane_kernel_sum(u: Array, v: Array, width: float) -> Array:
    """Return the sum of round Gaussian kernels of a width around all points of the plane, at each point."""
    waves_u, weights_u = _waves(u, width)
    waves_v, weights_v = _waves(v, width)
    coefficients = (waves_u @ waves_v.T) * weights_u[:, None] * weights_v
    return np.asarray(np.einsum("kt,kt->t", coefficients.T @ waves_u, waves_v))


def _waves(u: Array, width: float) -> tuple[Array, Array]:
    """Return cosines and sines of the Fourier series at the points, (waves, points), and the weight of each."""
    period = np.ptp(u) + REACH * width
    most = int(np.ceil(REACH * period / (2.0 * np.pi * width)))
    turns = _powers(np.exp(2j * np.pi / period * u), most)
    decay = np.exp(-0.5 * (2.0 * np.pi * width / period * np.arange(most + 1)) ** 2)
    weights = np.sqrt(2.0 * np.pi) * width / period * decay * np.where(np.arange(most + 1) > 0, 2.0, 1.0)
    return np.concatenate((turns.real, turns.imag[1:])), np.concatenate((weights, weights[1:]))


def _powers(base: NDArray[np.complex128], most: int) -> NDArray[np.complex128]:
    """Return the powers of the numbers from 0 to `most`, by doubling."""
    powers = np.empty((most + 1, base.size), dtype=np.complex128)
    powers[0] = 1.0
    powers[1] = base
    done = 2
    while done <= most:
        new = min(done, most + 1 - done)
        powers[done : done + new] = powers[:new] * (powers[done - 1] * base)
        done += new
    return powers


def _direct_sum(u: Array, width: float) -> Array:
    return np.asarray(np.exp(-0.5 * ((u[:, None] - u) / width) ** 2).sum(axis=1))


def _direct_plane_sum(u: Array, v: Array, width: float) -> Array:
    squares = (u[:, None] - u) ** 2 + (v[:, None] - v) ** 2
    return np.asarray(np.exp(-0.5 * squares / width**2).sum(axis=1))
