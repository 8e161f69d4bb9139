"""Four estimates of the mutual information of two variables, for many pairs at once, in nats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, Mask, real, whole_number
from genlaws.numerics.errors import InputError
from genlaws.residual_stream.information_kernel import kernel_points, kernel_points_direct
from genlaws.residual_stream.information_neighbours import neighbour_points
from genlaws.residual_stream.information_ranks import binned_points, copula_points, usual_bins

FEWEST_TEXTS = 10
NEIGHBOURS = 3
ROUNDINGS = 8  # a range below this many units in the last place of the largest value is a constant

Points = Callable[[Array, Array], Array]

# What each text adds, (pairs, texts); the mean over texts is the estimate. None of the pairs has a constant variable.
ESTIMATORS: dict[str, Points] = {
    "copula": copula_points,
    "neighbours": lambda x, y: neighbour_points(x, y, NEIGHBOURS),
    "binned": lambda x, y: binned_points(x, y, usual_bins(x.shape[-1])),
    "kernel": kernel_points,
}


def gaussian_copula_information(x: ArrayLike, y: ArrayLike) -> Array:
    r"""Estimate mutual information as that of a Gaussian with the correlation of the normal scores.

    .. math:: I = -\tfrac12 \ln(1 - r^2) - \text{bias}

    See :func:`~genlaws.residual_stream.information_ranks.copula_points`, which gives the bias. A lower bound unless
    the copula is Gaussian; unchanged by increasing functions of x or y. A strong dependence is underestimated, by 0.35
    nats at r = 0.99 with 20 texts and 0.02 with 1,000;
    :func:`~genlaws.residual_stream.information_ranks.copula_shortfall` gives it.

    Parameters
    ----------
    x, y : array_like of shape (texts,) or (texts, pairs)
        At least 10 texts.

    Returns
    -------
    array of shape () or (pairs,)
        NaN where a variable is constant; infinite where all texts have the same or the opposite order in both, as with
        a monotone function, or with a dependence too strong for so few texts.
    """
    return _estimate(copula_points, x, y)


def neighbour_information(x: ArrayLike, y: ArrayLike, *, neighbours: int = NEIGHBOURS) -> Array:
    r"""Estimate mutual information from near neighbours (Kraskov, Stögbauer, Grassberger, first algorithm).

    .. math:: I = \psi(k) + \psi(N) - \langle \psi(n_x+1) + \psi(n_y+1) \rangle

    See :func:`~genlaws.residual_stream.information_neighbours.neighbour_points` for the symbols and for what is done
    with equal values. Sees any dependence, but saturates near :math:`\psi(N) - \psi(k)`.

    Parameters
    ----------
    x, y : array_like of shape (texts,) or (texts, pairs)
        At least 10 texts.
    neighbours : int in [1, texts - 1]
        More neighbours: less variance, more bias.

    Returns
    -------
    array of shape () or (pairs,)
        NaN where a variable is constant.
    """
    count = enough_texts(len(np.atleast_1d(x)))
    k = whole_number("neighbours", neighbours, at_least=1, at_most=count - 1)
    return _estimate(lambda a, b: neighbour_points(a, b, k), x, y)


def binned_information(x: ArrayLike, y: ArrayLike, *, bins: int | None = None) -> Array:
    r"""Estimate mutual information between bins of equal mass, corrected for bias after Miller and Madow.

    .. math:: I = H(x) + H(y) - H(x, y) + \frac{m_x + m_y - m_{xy} - 1}{2N}

    See :func:`~genlaws.residual_stream.information_ranks.binned_points`. Cannot exceed the logarithm of the number of
    bins; unchanged by increasing functions of x or y.

    Parameters
    ----------
    x, y : array_like of shape (texts,) or (texts, pairs)
        At least 10 texts.
    bins : int >= 2, optional
        Of each variable; as many as leave five texts in each cell of independent variables if not given.

    Returns
    -------
    array of shape () or (pairs,)
        NaN where a variable is constant.
    """
    given = usual_bins(len(np.atleast_1d(x))) if bins is None else whole_number("bins", bins, at_least=2)
    return _estimate(lambda a, b: binned_points(a, b, given), x, y)


def kernel_information(x: ArrayLike, y: ArrayLike) -> Array:
    r"""Estimate mutual information from Gaussian kernel densities at the texts, as the paper does.

    .. math:: I = \Big\langle \ln \frac{\hat p(x, y)}{\hat p(x)\,\hat p(y)} \Big\rangle

    See :func:`~genlaws.residual_stream.information_kernel.kernel_points`. Right within some hundredths for Gaussians;
    for nearly discrete variables it exceeds even the entropy of the variable, since one bandwidth smooths the line more
    than the plane loses.

    Parameters
    ----------
    x, y : array_like of shape (texts,) or (texts, pairs)
        At least 10 texts.

    Returns
    -------
    array of shape () or (pairs,)
        NaN where a variable is constant; infinite where one is a linear function of the other.

    References
    ----------
    :cite:p:`fernando2025`, Figures 1G and 1H.
    """
    return _estimate(kernel_points, x, y)


def kernel_information_direct(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the same as :func:`kernel_information` with every kernel summed: slower, and what the other is tested by.

    Parameters
    ----------
    x, y : array_like of shape (texts,) or (texts, pairs)
        At least 10 texts.

    Returns
    -------
    array of shape () or (pairs,)
    """
    return _estimate(kernel_points_direct, x, y)


def varies(values: Array) -> Mask:
    """Return which rows of (pairs, texts) are not constant up to rounding in their own precision."""
    rounding = ROUNDINGS * np.finfo(values.dtype).eps
    return np.asarray(np.ptp(values, axis=-1) > rounding * np.abs(values).max(axis=-1))


def points_of(estimator: Points, x: Array, y: Array) -> Array:
    """Return what each text adds to each pair, (pairs, texts); NaN in the rows in which a variable is constant."""
    points = np.full(x.shape, np.nan)
    usable = varies(x) & varies(y)
    if usable.any():
        points[usable] = estimator(x[usable].astype(np.float64), y[usable].astype(np.float64))
    return points


def enough_texts(count: int) -> int:
    """Return the number of texts, or refuse fewer than ten."""
    if count < FEWEST_TEXTS:
        texts = "1 text" if count == 1 else f"{count} texts"
        raise InputError(
            f"mutual information needs at least {FEWEST_TEXTS} texts; got {texts}. Hundreds make it worth reading."
        )
    return count


def _estimate(estimator: Points, x: ArrayLike, y: ArrayLike) -> Array:
    a, b = real("x", x), real("y", y)
    if a.shape != b.shape or a.ndim not in (1, 2):
        raise InputError(f"x and y must have one shape, (texts,) or (texts, pairs); got {a.shape} and {b.shape}.")
    enough_texts(a.shape[0])
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("x and y must be finite; got an infinite value.")
    rows_x, rows_y = (np.ascontiguousarray(one.reshape(len(one), -1).T) for one in (a, b))
    return np.asarray(points_of(estimator, rows_x, rows_y).mean(axis=-1).reshape(a.shape[1:]))
