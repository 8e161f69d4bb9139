r"""Representations of one class in any dimension: the conserved matrix, and the exact motion it gives.

A linear decoder :math:`A` (``outputs`` rows, ``dimension`` columns) and half the separation :math:`r` of two repons
move by gradient flow with the bias always at its best value,

.. math:: \dot A = -\kappa\eta_A A\, r r^T, \qquad \dot r = -\eta_x A^T A\, r .

The whole symmetric matrix :math:`M = A^TA/(\kappa\eta_A) - rr^T/\eta_x` is conserved, so :math:`\dot r = -(\kappa\eta_A
\eta_x M + \kappa\eta_A |r|^2)\, r`, which has a closed solution. All functions accept stacks of starts: leading axes.

The decoder itself has no closed form in general: :math:`A(t) = O(t)\,P(t)` with :math:`A^TA` known, but the rotation
:math:`O` of the outputs is a path-ordered product unless there is one output, one dimension, or :math:`r_0` is an
eigenvector of :math:`A_0^TA_0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Mask, non_negative, positive, real, scalar
from genlaws.core.errors import InputError
from genlaws.relations.repons.pair import decaying_integral, decoder_pull, product_with_zero

ROUNDING_UNITS = 16.0  # of the largest term, per dimension; smaller eigenvalues are zero


class SeparationPath(NamedTuple):
    """Half the separation of a pair, and the decoder's Gram matrix.

    Attributes
    ----------
    time : array, shape (times,)
    half_separation : array, shape (..., times, dimension)
    decoder_gram : array, shape (..., times, dimension, dimension)
        :math:`A^TA`.
    invariant : array, shape (..., dimension, dimension)
    merges : array of bool, shape (...)
    """

    time: Array
    half_separation: Array
    decoder_gram: Array
    invariant: Array
    merges: Mask


def matrix_invariant(
    decoder: ArrayLike,
    half_separation: ArrayLike,
    *,
    encoder_rate: float,
    decoder_rate: float,
    cluster: float = 1,
) -> Array:
    r"""Return the conserved matrix of a pair.

    .. math:: M = \frac{A^TA}{\kappa\,\eta_A} - \frac{r r^T}{\eta_x}

    Parameters
    ----------
    decoder : array_like, shape (..., outputs, dimension)
        :math:`A`.
    half_separation : array_like, shape (..., dimension)
        :math:`r`.
    encoder_rate, decoder_rate : float > 0
    cluster : float >= 1
        Number of coincident repons on the other side; :math:`\kappa` is their pull.

    References
    ----------
    The flow is Eq. 8 of :cite:p:`baek2024`; the matrix, of which its Eq. 11 is the one-dimensional case, is ours.
    """
    return _Pair.of(decoder, half_separation, encoder_rate, decoder_rate, cluster).invariant


def separation_merges(
    decoder: ArrayLike,
    half_separation: ArrayLike,
    *,
    encoder_rate: float,
    decoder_rate: float,
    cluster: float = 1,
) -> Mask:
    r"""Return whether a pair merges: exactly if :math:`M` has no negative eigenvalue.

    If :math:`A_0^TA_0` is invertible this is :math:`r_0^T(A_0^TA_0)^{-1}r_0 \le \eta_x/(\kappa\eta_A)`.

    Parameters
    ----------
    decoder, half_separation, encoder_rate, decoder_rate, cluster
        As in :func:`matrix_invariant`.
    """
    pair = _Pair.of(decoder, half_separation, encoder_rate, decoder_rate, cluster)
    return np.asarray(eigen_up_to_rounding(pair.invariant, pair.size)[0][..., 0] >= 0.0)


def separation_path(
    decoder: ArrayLike,
    half_separation: ArrayLike,
    time: ArrayLike,
    *,
    encoder_rate: float,
    decoder_rate: float,
    cluster: float = 1,
) -> SeparationPath:
    r"""Return the separation vector, with its sign, and the decoder's Gram matrix at any time, exactly.

    .. math::
        r(t) = \frac{e^{-kMt}\, r_0}{\sqrt{1 + 2\kappa\eta_A\; r_0^T\!\left(\int_0^t e^{-2kMs}ds\right) r_0}}, \qquad
        A^TA = \kappa\eta_A\left(M + \frac{rr^T}{\eta_x}\right), \qquad k = \kappa\,\eta_A\eta_x

    Parameters
    ----------
    decoder, half_separation, encoder_rate, decoder_rate, cluster
        As in :func:`matrix_invariant`, at time zero; the decoder may have any rank.
    time : array_like >= 0, one axis at most, may be infinite

    Notes
    -----
    Numerator and denominator are divided by the growing exponential of the negative eigenvalue, if there is one, so
    nothing overflows. Eigenvalues that are zero up to rounding count as zero.
    """
    pair = _Pair.of(decoder, half_separation, encoder_rate, decoder_rate, cluster)
    t = np.atleast_1d(non_negative("time", time, infinite=True, hint="The flow cannot be run backwards."))
    if t.ndim > 1:
        raise InputError(f"time must be a number or a list of numbers; got an array of shape {t.shape}.")
    values, vectors = eigen_up_to_rounding(pair.invariant, pair.size)
    along = np.einsum("...ij,...i->...j", vectors, pair.separation)[..., None, :]
    decay = pair.decoder_rate * pair.encoder_rate * values[..., None, :]
    weights, denominator = _scaled_flow(decay, along, t[:, None], pair.decoder_rate)
    moved = along * weights / np.sqrt(denominator)[..., None]
    separation = np.einsum("...ij,...tj->...ti", vectors, moved)
    outer = separation[..., :, None] * separation[..., None, :]
    gram = pair.decoder_rate * (pair.invariant[..., None, :, :] + outer / pair.encoder_rate)
    return SeparationPath(t, separation, gram, pair.invariant, np.asarray(values[..., 0] >= 0.0))


def separation_limit(
    decoder: ArrayLike,
    half_separation: ArrayLike,
    *,
    encoder_rate: float,
    decoder_rate: float,
    cluster: float = 1,
) -> Array:
    r"""Return the half separation a pair ends with: zero if it merges, else along one eigenvector.

    .. math:: r_\infty = \pm\sqrt{-\eta_x\,\mu}\; v, \qquad M v = \mu v,\ \mu<0

    The sign is that of :math:`v\cdot r_0`; there is at most one negative eigenvalue.

    Parameters
    ----------
    decoder, half_separation, encoder_rate, decoder_rate, cluster
        As in :func:`matrix_invariant`.
    """
    pair = _Pair.of(decoder, half_separation, encoder_rate, decoder_rate, cluster)
    values, vectors = eigen_up_to_rounding(pair.invariant, pair.size)
    last = vectors[..., :, 0]
    sign = np.sign(np.einsum("...i,...i->...", last, pair.separation))
    length = np.sqrt(pair.encoder_rate * np.maximum(0.0, -values[..., 0]))
    return np.asarray((sign * length)[..., None] * last)


@dataclass(frozen=True)
class _Pair:
    """Checked arguments; `decoder_rate` is κ η_A, `size` the largest entry of the two terms of the invariant."""

    separation: Array
    invariant: Array
    encoder_rate: float
    decoder_rate: float
    size: Array

    @classmethod
    def of(
        cls, decoder: ArrayLike, half_separation: ArrayLike, encoder_rate: float, decoder_rate: float, cluster: float
    ) -> _Pair:
        """Return the pair, checked."""
        r = real("half_separation", half_separation)
        if r.ndim < 1:
            raise InputError("half_separation must be a vector, or a stack of them; got a single number.")
        a = checked_decoder(decoder, r.shape[-1], "half_separation")
        eta_x, eta_a = checked_rates(encoder_rate, decoder_rate)
        eta_a *= float(scalar("cluster", decoder_pull(cluster)))
        stack = common_stack(decoder=a.shape[:-2], half_separation=r.shape[:-1])
        r = np.broadcast_to(r, (*stack, r.shape[-1]))
        gram = np.swapaxes(a, -1, -2) @ a / eta_a
        outer = r[..., :, None] * r[..., None, :] / eta_x
        check_finite(gram, outer)
        return cls(r, np.asarray(gram - outer), eta_x, eta_a, largest_entry(gram) + largest_entry(outer))


def _scaled_flow(decay: Array, along: Array, time: Array, decoder_rate: float) -> tuple[Array, Array]:
    """Return the factor of each component and the square of their common divisor.

    Both carry a factor that bounds them: with the lowest eigenvalue μ < 0, e^{kμt} and e^{2kμt}.
    """
    lowest = np.minimum(decay[..., :1], 0.0)
    weights = np.exp(-product_with_zero(decay - lowest, time))
    # The integral of e^{-2ks} up to t, times the common factor; for a negative k it is taken from the upper end.
    offset = np.exp(-2.0 * product_with_zero(np.minimum(decay, 0.0) - lowest, time))
    integral = decaying_integral(*np.broadcast_arrays(2.0 * np.abs(decay), time))
    with np.errstate(invalid="ignore", over="ignore"):
        terms = np.where(along == 0.0, 0.0, along**2 * integral)
        terms = np.where(offset == 0.0, 0.0, terms * offset)
    shared = np.exp(2.0 * product_with_zero(lowest, time))[..., 0]
    return weights, shared + 2.0 * decoder_rate * terms.sum(axis=-1)


def eigen_up_to_rounding(matrix: Array, size: Array) -> tuple[Array, Array]:
    """Return eigenvalues in rising order and eigenvectors; what is zero up to rounding is set to zero."""
    values, vectors = np.linalg.eigh(matrix)
    noise = ROUNDING_UNITS * np.finfo(float).eps * matrix.shape[-1] * size[..., None]
    return np.where(np.abs(values) <= noise, 0.0, values), vectors


def checked_decoder(decoder: ArrayLike, dimension: int, other: str) -> Array:
    """Return a decoder, or a stack of them, with one column per dimension."""
    a = real("decoder", decoder)
    if a.ndim < 2 or a.shape[-1] != dimension:
        raise InputError(
            f"decoder must have one row per output and one column per dimension of {other}, here {dimension}; "
            f"got shape {a.shape}."
        )
    return a


def checked_rates(encoder_rate: float, decoder_rate: float) -> tuple[float, float]:
    """Return both rates as numbers."""
    eta_x = scalar("encoder_rate", positive("encoder_rate", encoder_rate))
    return float(eta_x), float(scalar("decoder_rate", positive("decoder_rate", decoder_rate)))


def common_stack(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which leading axes broadcast."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        named = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"The leading axes must broadcast together; got {named}.") from None


def check_finite(*arrays: Array) -> None:
    """Raise if an array is infinite or has overflowed."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise InputError("decoder and separations must be finite, and so must their squares.")


def largest_entry(matrix: Array) -> Array:
    """Return the largest absolute entry of each matrix of a stack."""
    return np.asarray(np.abs(matrix).max(axis=(-2, -1)))
