r"""When does a whole class of representations collapse to one point, and how likely is that?

With the bias always at its best value, a class collapses exactly if :math:`A^TA/\eta_A - S/\eta_x` has no negative
eigenvalue, where :math:`S = \sum_i (x_i-\bar x)(x_i-\bar x)^T` is its scatter. For :math:`m` repons drawn at random
that is a Wishart matrix with :math:`m-1` degrees of freedom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import MAX_COUNT, Array, real, whole_number
from genlaws.core.errors import InputError
from genlaws.relations.repons import matrix
from genlaws.relations.repons.probability import beta_law, largest_root_probability, rates_and_scales


def class_invariant(decoder: ArrayLike, positions: ArrayLike, *, encoder_rate: float, decoder_rate: float) -> Array:
    r"""Return the conserved matrix of a class of several repons whose bias is always at its best value.

    .. math:: M = \frac{A^TA}{\eta_A} - \frac{1}{\eta_x}\sum_i (x_i-\bar x)(x_i-\bar x)^T

    The class collapses to one point exactly if it has no negative eigenvalue. For two repons it is :math:`\kappa = 2`
    times that of :func:`~genlaws.relations.matrix_invariant`.

    Parameters
    ----------
    decoder : array_like, shape (..., outputs, dimension)
    positions : array_like, shape (..., repons, dimension)
        :math:`x_i`.
    encoder_rate, decoder_rate : float > 0
    """
    gram, spread, eta_x, eta_a = _class_parts(decoder, positions, encoder_rate, decoder_rate)
    return np.asarray(gram / eta_a - spread / eta_x)


def class_limit(decoder: ArrayLike, positions: ArrayLike, *, encoder_rate: float, decoder_rate: float) -> Array:
    r"""Return the scatter a class ends with; its rank is the number of directions that stay memorized.

    .. math:: \lim_{t\to\infty}\sum_i (x_i-\bar x)(x_i-\bar x)^T = \eta_x\, M_-

    Symbols: :math:`M_-` is the negative part of :func:`class_invariant`, with its eigenvalues made positive.

    Parameters
    ----------
    decoder, positions, encoder_rate, decoder_rate
        As in :func:`class_invariant`.
    """
    gram, spread, eta_x, eta_a = _class_parts(decoder, positions, encoder_rate, decoder_rate)
    size = matrix.largest_entry(gram) / eta_a + matrix.largest_entry(spread) / eta_x
    values, vectors = matrix.eigen_up_to_rounding(gram / eta_a - spread / eta_x, size)
    return np.asarray((vectors * (eta_x * np.maximum(0.0, -values))[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def class_collision_probability(
    encoder_rate: ArrayLike,
    decoder_rate: ArrayLike,
    encoder_scale: ArrayLike = 1.0,
    decoder_scale: ArrayLike = 1.0,
    *,
    class_size: int,
    dimension: int = 1,
    outputs: int = 1,
) -> Array:
    r"""Probability that all repons of a class merge under gradient flow.

    .. math::
        p = P\!\left(\lambda_{\max}(W_1W_2^{-1}) \le \rho\right), \qquad
        \rho = \frac{s_a^2}{s_x^2}\,\frac{\eta_x}{\eta_A}, \qquad W_1\sim W_d(m-1),\ W_2\sim W_d(k)

    with standard Wishart matrices: Roy's largest root. One dimension gives :math:`I_{\rho/(1+\rho)}(\tfrac{m-1}2,
    \tfrac k2)`, two repons the law of a pair; with fewer outputs than dimensions the class never collapses.

    Symbols: :math:`m` is ``class_size``, :math:`d` is ``dimension``, :math:`k` is ``outputs``.

    Parameters
    ----------
    encoder_rate, decoder_rate : array_like > 0
        :math:`\eta_x` and :math:`\eta_A`.
    encoder_scale : array_like > 0
        :math:`s_x`, the width of *each repon*, not of a half separation.
    decoder_scale : array_like > 0
        :math:`s_a`.
    class_size, dimension, outputs : int >= 1

    Notes
    -----
    Exact for every size: where :math:`m-1<d` the non-zero roots are those of matrices of order :math:`m-1` with
    :math:`d` and :math:`k+m-1-d` degrees of freedom. The bias is at its best value throughout.

    References
    ----------
    Ours; the flow is Eq. 8 of :cite:p:`baek2024` for more than two repons.
    """
    m = whole_number("class_size", class_size, at_least=1, at_most=MAX_COUNT)
    d = whole_number("dimension", dimension, at_least=1, at_most=MAX_COUNT)
    k = whole_number("outputs", outputs, at_least=1, at_most=MAX_COUNT)
    eta_x, eta_a, s_x, s_a = rates_and_scales(encoder_rate, decoder_rate, encoder_scale, decoder_scale)
    with np.errstate(over="ignore", under="ignore"):
        odds = (s_a / s_x) ** 2 * (eta_x / eta_a)
    if m == 1:
        return np.ones_like(odds)
    if k < d:
        return np.zeros_like(odds)
    size, first, second = (d, m - 1, k) if m - 1 >= d else (m - 1, d, k + m - 1 - d)
    if size == 1:
        return beta_law(0.5 * first, 0.5 * second, odds)
    found = [_probability_at(float(value), size, first, second) for value in odds.ravel()]
    return np.array(found).reshape(odds.shape)


def _probability_at(odds: float, size: int, first: int, second: int) -> float:
    if odds == 0.0:
        return 0.0
    return 1.0 if np.isinf(odds) else largest_root_probability(odds, size, first, second)


def _class_parts(
    decoder: ArrayLike, positions: ArrayLike, encoder_rate: float, decoder_rate: float
) -> tuple[Array, Array, float, float]:
    x = real("positions", positions)
    if x.ndim < 2 or x.shape[-2] < 1:
        raise InputError(f"positions must have one row per repon, at least one; got shape {x.shape}.")
    a = matrix.checked_decoder(decoder, x.shape[-1], "positions")
    eta_x, eta_a = matrix.checked_rates(encoder_rate, decoder_rate)
    matrix.common_stack(decoder=a.shape[:-2], positions=x.shape[:-2])
    offsets = x - x.mean(axis=-2, keepdims=True)
    gram, spread = np.swapaxes(a, -1, -2) @ a, np.swapaxes(offsets, -1, -2) @ offsets
    matrix.check_finite(gram, spread)
    return gram, spread, eta_x, eta_a
