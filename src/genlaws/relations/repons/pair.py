r"""Two representations of one class on a line: the exact motion of their separation and of the decoder's gain.

A *repon* is one representation seen as a particle. Two of one class, a linear decoder and gradient flow leave two
numbers: the decoder's gain :math:`a` along the separation and half the separation :math:`c`,

.. math:: \dot a = -\kappa\,\eta_A\, c^2 a, \qquad \dot c = -\eta_x\, a^2 c .

Symbols: :math:`\eta_A` is ``decoder_rate``, :math:`\eta_x` is ``encoder_rate``, and :math:`\kappa` is 2 for a pair and
:math:`4/(1+1/N)` for one repon against ``cluster`` = :math:`N` coincident ones (:func:`decoder_pull`). Either the
separation vanishes (the two merge: generalization) or the gain does (they stay apart: memorization).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Mask, broadcast, non_negative, positive, real, within
from genlaws.core.errors import InputError

MIN_SQUARABLE_FACTOR = 1e-100  # below it, the inverse square may overflow


class PairState(NamedTuple):
    r"""A pair at one or many times; all arrays have the same shape.

    Attributes
    ----------
    time, decoder_gain, half_separation : array
        Signs of gain and separation are those of the start: neither ever changes.
    invariant : array
        The conserved number :math:`C`; the pair merges where it is not negative.
    rate : array
        :math:`\lambda = 2\kappa\eta_A\eta_x C`. What vanishes, the separation if positive and the gain if negative,
        does so as :math:`e^{-|\lambda|t/2}`; at zero both vanish as :math:`t^{-1/2}`.
    merges : array of bool
        Whether the separation tends to zero.
    """

    time: Array
    decoder_gain: Array
    half_separation: Array
    invariant: Array
    rate: Array
    merges: Mask


def decoder_pull(cluster: ArrayLike = 1) -> Array:
    r"""Return how strongly the decoder gives way: 2 for a pair, up to 4 for one repon against very many.

    .. math:: \kappa = \frac{4}{1 + 1/N}

    Parameters
    ----------
    cluster : array_like >= 1, may be infinite
        Number :math:`N` of coincident repons on the other side.

    References
    ----------
    :cite:p:`baek2024`, Eq. 13.
    """
    return 4.0 / (1.0 + 1.0 / within("cluster", cluster, 1.0, np.inf, hint="It counts coincident repons."))


def pair_invariant(
    decoder_gain: ArrayLike,
    half_separation: ArrayLike,
    *,
    encoder_rate: ArrayLike,
    decoder_rate: ArrayLike,
    cluster: ArrayLike = 1,
) -> Array:
    r"""Return the conserved number, whose sign decides whether a pair merges.

    .. math:: C = \frac{a^2}{\kappa\,\eta_A} - \frac{c^2}{\eta_x}

    Parameters
    ----------
    decoder_gain, half_separation : array_like
        :math:`a` and :math:`c`.
    encoder_rate, decoder_rate : array_like > 0
    cluster : array_like >= 1

    References
    ----------
    :cite:p:`baek2024`, Eq. 11, there for a pair.
    """
    start = _start(decoder_gain, half_separation, encoder_rate, decoder_rate, cluster)
    return start.difference / (2.0 * start.decoder_rate * start.encoder_rate)


def pair_path(
    decoder_gain: ArrayLike,
    half_separation: ArrayLike,
    time: ArrayLike,
    *,
    encoder_rate: ArrayLike,
    decoder_rate: ArrayLike,
    cluster: ArrayLike = 1,
) -> PairState:
    r"""Return gain and separation at any time, exactly.

    .. math::
        a(t) = \frac{a_0}{\sqrt{D}}, \qquad c(t) = \frac{c_0\,e^{-\lambda t/2}}{\sqrt D}, \qquad
        D = 1 + 2\kappa\eta_A c_0^2\, \frac{1-e^{-\lambda t}}{\lambda}, \qquad
        \lambda = 2\eta_x a_0^2 - 2\kappa\eta_A c_0^2

    Parameters
    ----------
    decoder_gain, half_separation : array_like
        Values at time zero, of any sign.
    time : array_like >= 0, may be infinite
    encoder_rate, decoder_rate : array_like > 0
    cluster : array_like >= 1

    Notes
    -----
    For :math:`\lambda < 0` the same solution is written with the roles of gain and separation exchanged, so that only
    decaying exponentials and sums of positive terms appear. The limit :math:`\lambda\to0` is smooth: a power law.

    References
    ----------
    :cite:p:`baek2024`, Eq. 10, of which the paper gives the fixed points only.
    """
    start = _start(decoder_gain, half_separation, encoder_rate, decoder_rate, cluster)
    t = non_negative("time", time, infinite=True, hint="The flow cannot be run backwards.")
    t, rate = broadcast(time=t, start=start.difference)
    merging = rate >= 0.0
    # Relative square of the quantity that does not vanish: only positive terms, for either outcome.
    strength = np.where(merging, start.decoder_pull, start.encoder_pull)
    shared = 1.0 / np.sqrt(1.0 + product_with_zero(strength, decaying_integral(np.abs(rate), t)))
    shrunk = np.exp(-0.5 * product_with_zero(np.abs(rate), t)) * shared
    gain = start.gain * np.where(merging, shared, shrunk)
    separation = start.separation * np.where(merging, shrunk, shared)
    invariant = np.broadcast_to(start.difference / (2.0 * start.decoder_rate * start.encoder_rate), t.shape)
    return PairState(t, gain, separation, invariant, rate, merging)


def pair_limit(
    decoder_gain: ArrayLike,
    half_separation: ArrayLike,
    *,
    encoder_rate: ArrayLike,
    decoder_rate: ArrayLike,
    cluster: ArrayLike = 1,
) -> PairState:
    r"""Return where gain and separation end.

    .. math:: C \ge 0:\ c\to0,\ a\to\pm\sqrt{\kappa\,\eta_A C}; \qquad C<0:\ a\to0,\ c\to\pm\sqrt{-\eta_x C}

    Parameters
    ----------
    decoder_gain, half_separation, encoder_rate, decoder_rate, cluster : array_like
        As in :func:`pair_path`.

    References
    ----------
    :cite:p:`baek2024`, after Eq. 11.
    """
    return pair_path(
        decoder_gain,
        half_separation,
        np.inf,
        encoder_rate=encoder_rate,
        decoder_rate=decoder_rate,
        cluster=cluster,
    )


def separation_shrink_time(
    decoder_gain: ArrayLike,
    half_separation: ArrayLike,
    factor: ArrayLike,
    *,
    encoder_rate: ArrayLike,
    decoder_rate: ArrayLike,
    cluster: ArrayLike = 1,
) -> Array:
    r"""Return when the separation has shrunk to `factor` times its start; infinite where it never does.

    .. math:: t = \frac1\lambda \ln\!\left(1 + \lambda\,\frac{f^{-2}-1}{2\eta_x a_0^2}\right)

    Parameters
    ----------
    decoder_gain, half_separation, encoder_rate, decoder_rate, cluster : array_like
        As in :func:`pair_path`.
    factor : array_like in [0, 1]
        :math:`f`; zero is reached at infinity.
    """
    start = _start(decoder_gain, half_separation, encoder_rate, decoder_rate, cluster)
    return _shrink_time(factor, start.encoder_pull, start.difference, start.separation)


def gain_shrink_time(
    decoder_gain: ArrayLike,
    half_separation: ArrayLike,
    factor: ArrayLike,
    *,
    encoder_rate: ArrayLike,
    decoder_rate: ArrayLike,
    cluster: ArrayLike = 1,
) -> Array:
    r"""Return when the decoder's gain has shrunk to `factor` times its start; infinite where it never does.

    .. math:: t = -\frac1\lambda \ln\!\left(1 - \lambda\,\frac{f^{-2}-1}{2\kappa\eta_A c_0^2}\right)

    Parameters
    ----------
    decoder_gain, half_separation, encoder_rate, decoder_rate, cluster : array_like
        As in :func:`pair_path`.
    factor : array_like in [0, 1]
        :math:`f`; zero is reached at infinity.
    """
    start = _start(decoder_gain, half_separation, encoder_rate, decoder_rate, cluster)
    return _shrink_time(factor, start.decoder_pull, -start.difference, start.gain)


def decaying_integral(rate: Array, time: Array) -> Array:
    r"""Return :math:`\int_0^t e^{-\lambda s}\,ds` for :math:`\lambda\ge0`, smooth through zero, also at infinity."""
    exponent = product_with_zero(rate, time)
    small = exponent < 1e-300
    whole = -np.expm1(-exponent) / np.where(rate > 0.0, rate, 1.0)
    return np.where(small, time, whole)


@dataclass(frozen=True)
class _Start:
    """Checked arguments; the pulls are 2 η_x a² and 2 κ η_A c², `difference` is the first minus the second."""

    gain: Array
    separation: Array
    encoder_rate: Array
    decoder_rate: Array  # with the pull of the cluster: κ η_A
    encoder_pull: Array
    decoder_pull: Array
    difference: Array


def _start(
    decoder_gain: ArrayLike,
    half_separation: ArrayLike,
    encoder_rate: ArrayLike,
    decoder_rate: ArrayLike,
    cluster: ArrayLike,
) -> _Start:
    a, c, eta_x, eta_a, kappa = broadcast(
        decoder_gain=real("decoder_gain", decoder_gain),
        half_separation=real("half_separation", half_separation),
        encoder_rate=positive("encoder_rate", encoder_rate),
        decoder_rate=positive("decoder_rate", decoder_rate),
        cluster=decoder_pull(cluster),
    )
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        pull_a, pull_c = 2.0 * eta_x * a**2, 2.0 * kappa * eta_a * c**2
        difference = pull_a - pull_c
    if not np.isfinite(difference).all():
        raise InputError("decoder_gain and half_separation must be finite, and so must their squares times the rates.")
    return _Start(a, c, eta_x, kappa * eta_a, pull_a, pull_c, difference)


def product_with_zero(left: Array, right: Array) -> Array:
    """Return the product, with zero times infinity zero and a product too large infinite."""
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return np.where((left == 0.0) | (right == 0.0), 0.0, left * right)


def _shrink_time(factor: ArrayLike, pull: Array, rate: Array, start: Array) -> Array:
    """Return when what is pulled has shrunk to `factor`; `rate` is positive where it vanishes in the end."""
    f = within("factor", factor, 0.0, 1.0, hint="It is the share that is left.")
    f, pull, rate, start = broadcast(factor=f, pull=pull, rate=rate, start=start)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        integral = np.where(f == 1.0, 0.0, (1.0 - f) * (1.0 + f) / f / f / pull)
        exponent = product_with_zero(rate, integral)
        slowed = np.where(np.abs(exponent) < 1e-300, 1.0, np.log1p(exponent) / exponent)
        time = np.where(np.isinf(integral), np.inf, product_with_zero(integral, slowed))
        # Where the square of the factor is lost, only its logarithm counts.
        tiny = (f > 0.0) & (f < MIN_SQUARABLE_FACTOR) & (rate > 0.0)
        time = np.where(tiny, np.logaddexp(0.0, np.log(rate / pull) - 2.0 * np.log(f)) / rate, time)
    never = exponent <= -1.0
    return np.where((start == 0.0) | (f == 1.0), 0.0, np.where(never, np.inf, time))
