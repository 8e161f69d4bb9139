r"""Four estimates of the mutual information of two variables, for many pairs at once, in nats.

Rows are pairs of variables and columns texts. The estimates are from Gaussian kernel densities, as in
:cite:p:`fernando2025`; from distances to near neighbors, after Kraskov, Stögbauer and Grassberger; from the Gaussian
copula; and from bins of equal mass. The last two see a variable through its ranks alone, so neither changes when a
variable is replaced by an increasing function of it.

Kernel densities need no sum over all pairs. The sum of kernels at every text,
:math:`S_i = \sum_j e^{-(u_i-u_j)^2/2h^2}`, has :math:`N^2` terms. Within a period that is longer than the range of the
data by :math:`R h`, the kernel is a Fourier series,

.. math:: e^{-u^2/2h^2} = \frac{\sqrt{2\pi}\,h}{P}\sum_{k=-K}^{K} e^{-(2\pi k h/P)^2/2}\, e^{2\pi i k u/P},
    \qquad K = \frac{R P}{2\pi h},

up to :math:`2 e^{-R^2/2}` for the next period and as much for the omitted waves. Each wave factors into a part of
:math:`i` and one of :math:`j`, so one dimension costs :math:`N K` operations and two cost :math:`N K^2` in two matrix
products; for 1,000 Gaussian texts :math:`K` is about 30.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import spatial
from scipy.special import digamma, ndtri
from scipy.stats import rankdata

from genlaws.core.arguments import Array, Mask, Whole, real, whole_number
from genlaws.core.errors import InputError

DENSITY_RATIO_OFFSET = 1e-10  # added to the ratio of densities, as the paper adds it inside the logarithm
MAX_KERNEL_WIDTHS = 6.5  # exp(-R^2/2) = 7e-10, small against the text's own term, which is 1
RELATIVE_JITTER = 1e-10  # of the spread of the scores; separates equal values
LEAF_POINTS = 8  # points in a leaf of the tree; the fastest of 4 to 64
DISTANCE_ROUNDING = 4 * np.finfo(np.float64).eps
TEXTS_PER_CELL = 5  # expected in each cell of independent variables; fewer leave cells empty by chance
FUNCTION_TOLERANCE = 1e-12  # of 1 - r^2; what is left of a variable that is a function of the other


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
    where exactly 1e-10 is added. This function uses Scott's rule, the texts themselves, and the ratio, which has no
    units.
    """
    count = x.shape[-1]
    h_line, h_plane = count ** (-1.0 / 5.0), count ** (-1.0 / 6.0)
    points = np.full(x.shape, np.inf)
    for row, (u, v) in enumerate(zip(_standardized(x), _standardized(y), strict=True)):
        r = float(u @ v) / (count - 1)
        if 1.0 - r**2 < FUNCTION_TOLERANCE:
            continue
        left = np.sqrt(1.0 - r**2)
        joint = plane_kernel_sum(u, (v - r * u) / left, h_plane) / (2.0 * np.pi * count * h_plane**2 * left)
        alone = kernel_sum(u, h_line) * kernel_sum(v, h_line) / (2.0 * np.pi * (count * h_line) ** 2)
        points[row] = np.log(joint / alone + DENSITY_RATIO_OFFSET)
    return points


def _standardized(values: Array) -> Array:
    """Return each row with mean zero and variance one, the variance with N - 1."""
    centered = values - values.mean(axis=-1, keepdims=True)
    return np.asarray(centered / centered.std(axis=-1, ddof=1, keepdims=True))


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
    period = np.ptp(u) + MAX_KERNEL_WIDTHS * width
    most = int(np.ceil(MAX_KERNEL_WIDTHS * period / (2.0 * np.pi * width)))
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


def neighbor_points(x: Array, y: Array, neighbors: int) -> Array:
    r"""Return what each text adds to the information estimated from near neighbors.

    .. math:: i_t = \psi(k) + \psi(N) - \psi(n_x(t)+1) - \psi(n_y(t)+1)

    Symbols: :math:`k` is `neighbors`; :math:`n_x(t)` is the number of other texts whose x lies strictly closer to that
    of text :math:`t` than its :math:`k`-th neighbor does in the plane, where the distance is the larger of the two
    differences; :math:`\psi` is the digamma function.

    Parameters
    ----------
    x, y : array of shape (pairs, texts)
    neighbors : int in [1, texts - 1]

    Returns
    -------
    array of shape (pairs, texts)

    Notes
    -----
    First algorithm of Kraskov, Stögbauer and Grassberger (Physical Review E 69, 066138, 2004), with exact neighbors.
    Each variable is first replaced by its normal scores, which does not change the information and removes the
    influence of units and outliers. Gaussian noise of size 1e-10 is added to every score, always the same and different
    for x and y, so that equal values do not share a point.
    """
    count = x.shape[-1]
    noise = RELATIVE_JITTER * np.random.default_rng(0).standard_normal((2, count))
    psi = digamma(np.arange(count + 1, dtype=np.float64))
    points = np.empty(x.shape)
    for row, (u, v) in enumerate(zip(normal_scores(x) + noise[0], normal_scores(y) + noise[1], strict=True)):
        plane = np.column_stack((u, v))
        found, _ = spatial.cKDTree(plane, leafsize=LEAF_POINTS).query(plane, [neighbors + 1], p=np.inf)
        distance = np.asarray(found)[:, 0]
        points[row] = psi[neighbors] + psi[count] - psi[_count_closer(u, distance)] - psi[_count_closer(v, distance)]
    return points


def _count_closer(values: Array, distance: Array) -> Whole:
    """Return how many values lie strictly within the distance of each, itself included."""
    ordered = np.sort(values)
    rounding = DISTANCE_ROUNDING * max(-ordered[0], ordered[-1])
    inside = np.maximum(distance - rounding, 0.0)  # the neighbor itself is not closer
    above = np.searchsorted(ordered, values + inside, side="right")
    return np.asarray(above - np.searchsorted(ordered, values - inside, side="left"))


def normal_scores(values: Array) -> Array:
    r"""Replace each row by Gaussian quantiles of its ranks, :math:`\Phi^{-1}(\mathrm{rank}/(N+1))`; ties share one."""
    return np.asarray(ndtri(rankdata(values, axis=-1) / (values.shape[-1] + 1)))


def copula_points(x: Array, y: Array) -> Array:
    r"""Return what each text adds to the information of a Gaussian with the correlation of the normal scores.

    .. math::

        I = -\tfrac12\ln(1-r^2) - \tfrac12\Big[\psi\big(\tfrac{N-1}2\big) - \psi\big(\tfrac{N-2}2\big)\Big], \qquad
        i_t = I + \frac{r}{1-r^2}\Big[u_t v_t - \tfrac r2(u_t^2+v_t^2)\Big]

    Symbols: :math:`u, v` are normal scores scaled to mean square one, :math:`r` their correlation. The mean of
    :math:`i_t` over texts is :math:`I`; :math:`i_t` is the logarithm of the copula's density, less the bias.

    Parameters
    ----------
    x, y : array of shape (pairs, texts)

    Returns
    -------
    array of shape (pairs, texts)
        Infinite where all texts have the same order in both variables, or the opposite one: ranks then set no limit.
        This happens for an increasing function and for a strong dependence of few texts (:func:`least_information`).

    Notes
    -----
    The subtracted bias is exact for independent variables. A strong dependence is still underestimated, because ranks
    ignore how far apart neighbors are: :func:`copula_shortfall` returns by how much. Dependence that the correlation of
    scores does not show is not counted: the estimate is a lower bound for variables with any other copula.
    """
    count = x.shape[-1]
    u, v = (_unit_square(normal_scores(values)) for values in (x, y))
    r = np.mean(u * v, axis=-1, keepdims=True)
    left = 1.0 - r**2
    bias = _bias_of_independence(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        points = -0.5 * np.log(left) - bias + r / left * (u * v - 0.5 * r * (u**2 + v**2))
    return np.where(left < FUNCTION_TOLERANCE, np.inf, points)


def copula_shortfall(information: Array, count: int) -> Array:
    r"""Return about how much the copula's estimate lies below the truth, in nats.

    .. math:: \ln\frac{\sqrt{s}}{w}, \qquad w^2 + (1-s)\,k\,w = s, \qquad
        k = \sqrt{\tfrac8\pi}\;\Phi^{-1}\Big(\frac{N}{N+1}\Big)\Big/N

    Symbols: :math:`s` is :math:`1-r^2` of the scores, :math:`w^2` that of the variables. The ranks of a text in the two
    variables differ by the number of other texts that it passes between them, which fluctuates; divided by the density
    and averaged over all texts, this adds :math:`k w` to the squared difference of the scores.

    Parameters
    ----------
    information : array
        Estimates of :func:`copula_points`, finite.
    count : int
        Number of texts.

    Notes
    -----
    For a Gaussian copula. Accurate to 0.1 nats from 20 texts on, as long as the texts seldom all have the same order.
    With 20 texts the shortfall is 0.11 at r = 0.9 and 0.35 at 0.99; with 1,000 texts 0.005 and 0.02.
    """
    s = np.exp(-2.0 * (information + _bias_of_independence(count)))
    half = 0.5 * np.maximum(1.0 - s, 0.0) * math.sqrt(8.0 / math.pi) * ndtri(count / (count + 1.0)) / count
    return np.asarray(np.log(np.sqrt(s) / (np.sqrt(half**2 + s) - half)))


def least_information(count: int) -> float:
    r"""Return the least information, in nats, with which all texts have the same order in one of 20 draws.

    .. math:: -\ln\sin\frac{\pi\ln 20}{N(N-1)/2}

    Pairs of texts whose order differs have the probability :math:`\arccos(r)/\pi` each under a Gaussian copula, and
    their number is nearly Poisson where it is small.
    """
    return -math.log(math.sin(math.pi * math.log(20.0) / (0.5 * count * (count - 1))))


def _bias_of_independence(count: int) -> float:
    """Return the mean of the estimate for independent Gaussians."""
    return float(0.5 * (digamma(0.5 * (count - 1)) - digamma(0.5 * (count - 2))))


def _unit_square(scores: Array) -> Array:
    """Center each row, which is not constant, and scale it to mean square one."""
    centered = scores - scores.mean(axis=-1, keepdims=True)
    size = np.sqrt(np.mean(centered**2, axis=-1, keepdims=True))
    return np.asarray(centered / size)


def usual_bins(text_count: int) -> int:
    """Return how many bins leave five texts in each cell of two independent variables; at least two."""
    return max(2, round(math.sqrt(text_count / TEXTS_PER_CELL)))


def binned_points(x: Array, y: Array, bins: int) -> Array:
    r"""Return what each text adds to the information between bins of equal mass, corrected after Miller and Madow.

    .. math:: I = \frac1N\sum_t \ln\frac{N\,n_{xy}(t)}{n_x(t)\,n_y(t)} + \frac{m_x + m_y - m_{xy} - 1}{2N}

    Symbols: :math:`n(t)` is the number of texts in the bin or cell of text :math:`t`, :math:`m` the number of occupied
    bins or cells.

    Parameters
    ----------
    x, y : array of shape (pairs, texts)
    bins : int >= 2
        Bins of each variable. Equal values share one, so a variable with few values has fewer.

    Returns
    -------
    array of shape (pairs, texts)

    Notes
    -----
    Cannot exceed the logarithm of `bins` by more than the correction.
    """
    count = x.shape[-1]
    a, b = (_bin_numbers(values, bins) for values in (x, y))
    n_x, m_x = _occupation(a, bins)
    n_y, m_y = _occupation(b, bins)
    n_xy, m_xy = _occupation(a * bins + b, bins**2)
    correction = (m_x + m_y - m_xy - 1) / (2.0 * count)
    return np.asarray(np.log(count * n_xy / (n_x * n_y)) + correction[:, None])


def _bin_numbers(values: Array, bins: int) -> Whole:
    """Return the bin of each value: where the middle of its rank lies among equal parts of all ranks."""
    middle = (rankdata(values, axis=-1) - 0.5) / values.shape[-1]
    return np.asarray(middle * bins, dtype=np.int64)


def _occupation(cells: Whole, cell_count: int) -> tuple[Whole, Whole]:
    """Return how many texts share the cell of each text, and the number of occupied cells of each row."""
    rows = len(cells)
    flat = cells + cell_count * np.arange(rows)[:, None]
    counts = np.bincount(flat.ravel(), minlength=rows * cell_count)
    return counts[flat], np.count_nonzero(counts.reshape(rows, cell_count), axis=1)


MIN_INFORMATION_TEXTS = 10
NEIGHBOR_COUNT = 3
MAX_CONSTANT_RANGE_ULPS = 8  # a range below this many units in the last place of the largest value is a constant

PointEstimator = Callable[[Array, Array], Array]

# What each text adds, (pairs, texts); the mean over texts is the estimate. None of the pairs has a constant variable.
ESTIMATORS: dict[str, PointEstimator] = {
    "copula": copula_points,
    "neighbors": lambda x, y: neighbor_points(x, y, NEIGHBOR_COUNT),
    "binned": lambda x, y: binned_points(x, y, usual_bins(x.shape[-1])),
    "kernel": kernel_points,
}


def gaussian_copula_information(x: ArrayLike, y: ArrayLike) -> Array:
    r"""Estimate mutual information as that of a Gaussian with the correlation of the normal scores.

    .. math:: I = -\tfrac12 \ln(1 - r^2) - \text{bias}

    See :func:`~genlaws.residual_stream.measures.estimators.copula_points`, which gives the bias. A lower bound unless
    the copula is Gaussian; unchanged by increasing functions of x or y. A strong dependence is underestimated, by 0.35
    nats at r = 0.99 with 20 texts and 0.02 with 1,000;
    :func:`~genlaws.residual_stream.measures.estimators.copula_shortfall` gives it.

    `x`, `y` (array_like of shape (texts,) or (texts, pairs)): at least 10 texts.

    Returns
    -------
    array of shape () or (pairs,)
        NaN where a variable is constant; infinite where all texts have the same or the opposite order in both, as with
        a monotone function, or with a dependence too strong for so few texts.
    """
    return _estimate(copula_points, x, y)


def neighbor_information(x: ArrayLike, y: ArrayLike, *, neighbors: int = NEIGHBOR_COUNT) -> Array:
    r"""Estimate mutual information from near neighbors (Kraskov, Stögbauer, Grassberger, first algorithm).

    .. math:: I = \psi(k) + \psi(N) - \langle \psi(n_x+1) + \psi(n_y+1) \rangle

    See :func:`~genlaws.residual_stream.measures.estimators.neighbor_points` for the symbols and for what is done
    with equal values. Sees any dependence, but saturates near :math:`\psi(N) - \psi(k)`.

    Parameters
    ----------
    x, y : array_like of shape (texts,) or (texts, pairs)
        At least 10 texts.
    neighbors : int in [1, texts - 1]
        More neighbors: less variance, more bias.

    Returns
    -------
    array of shape () or (pairs,)
        NaN where a variable is constant.
    """
    count = enough_texts(len(np.atleast_1d(x)))
    k = whole_number("neighbors", neighbors, at_least=1, at_most=count - 1)
    return _estimate(lambda a, b: neighbor_points(a, b, k), x, y)


def binned_information(x: ArrayLike, y: ArrayLike, *, bins: int | None = None) -> Array:
    r"""Estimate mutual information between bins of equal mass, corrected for bias after Miller and Madow.

    .. math:: I = H(x) + H(y) - H(x, y) + \frac{m_x + m_y - m_{xy} - 1}{2N}

    See :func:`~genlaws.residual_stream.measures.estimators.binned_points`. Cannot exceed the logarithm of the number of
    bins; unchanged by increasing functions of x or y.

    Parameters
    ----------
    x, y : array_like of shape (texts,) or (texts, pairs)
        At least 10 texts.
    bins : int >= 2, optional
        Number for each variable; if not given, as many as leave five texts in each cell of independent variables.

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

    See :func:`~genlaws.residual_stream.measures.estimators.kernel_points`. Accurate to a few hundredths for Gaussians;
    for nearly discrete variables it exceeds even the entropy of the variable, because one bandwidth lowers the
    densities on the line more than the density in the plane.

    `x`, `y` (array_like of shape (texts,) or (texts, pairs)): at least 10 texts.

    Returns
    -------
    array of shape () or (pairs,)
        NaN where a variable is constant; infinite where one is a linear function of the other.

    References
    ----------
    :cite:p:`fernando2025`, Figures 1G and 1H.
    """
    return _estimate(kernel_points, x, y)


def varies(values: Array) -> Mask:
    """Return which rows of (pairs, texts) are not constant up to rounding in their own precision."""
    rounding = MAX_CONSTANT_RANGE_ULPS * np.finfo(values.dtype).eps
    return np.asarray(np.ptp(values, axis=-1) > rounding * np.abs(values).max(axis=-1))


def points_of(estimator: PointEstimator, x: Array, y: Array) -> Array:
    """Return what each text adds to each pair, (pairs, texts); NaN in the rows in which a variable is constant."""
    points = np.full(x.shape, np.nan)
    usable = varies(x) & varies(y)
    if usable.any():
        points[usable] = estimator(x[usable].astype(np.float64), y[usable].astype(np.float64))
    return points


def enough_texts(count: int) -> int:
    """Return the number of texts, or refuse fewer than ten."""
    if count < MIN_INFORMATION_TEXTS:
        texts = "1 text" if count == 1 else f"{count} texts"
        raise InputError(
            f"mutual information needs at least {MIN_INFORMATION_TEXTS} texts; got {texts}. Hundreds make it worth "
            "reading."
        )
    return count


def _estimate(estimator: PointEstimator, x: ArrayLike, y: ArrayLike) -> Array:
    a, b = real("x", x), real("y", y)
    if a.shape != b.shape or a.ndim not in (1, 2):
        raise InputError(f"x and y must have one shape, (texts,) or (texts, pairs); got {a.shape} and {b.shape}.")
    enough_texts(a.shape[0])
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("x and y must be finite; got an infinite value.")
    rows_x, rows_y = (np.ascontiguousarray(one.reshape(len(one), -1).T) for one in (a, b))
    return np.asarray(points_of(estimator, rows_x, rows_y).mean(axis=-1).reshape(a.shape[1:]))
