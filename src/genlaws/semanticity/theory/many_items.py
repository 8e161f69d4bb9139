r"""Many items at once, constant similarity: the collapse of identification and the best resolution.

With :math:`b` the mass of the ball, each of :math:`n` items is inside it with probability :math:`b`; those inside have
similarity 1, those outside the background :math:`\Delta`. The mean of one over the sum of similarities is

.. math:: E\frac1S = \int_0^\infty \varphi(t)^n\,dt, \qquad \varphi(t) = b\,e^{-t} + (1-b)\,e^{-t\Delta}

which stays accurate for a million items, where the binomial sum does not.

In a finite set no item is drawn twice. A probe with :math:`K` of the :math:`M = N-1` other stimuli inside the
resolution then meets a hypergeometric number of similar items. Averages over probes are left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, broadcast, fraction, real, whole_number
from genlaws.core.errors import InputError
from genlaws.core.numerics.elementwise import find_roots
from genlaws.core.numerics.reciprocal import reciprocal_rule

# Elements times rates held at once.
BLOCK_SIZE = 1 << 20


def item_numbers(name: str, value: ArrayLike, at_least: int = 1) -> Array:
    """Return whole numbers of items as floats."""
    numbers = real(name, value)
    wrong = ~np.isfinite(numbers) | (numbers != np.floor(numbers)) | (numbers < at_least)
    if wrong.any():
        raise InputError(f"{name} must be whole numbers, at least {at_least}; got {numbers[wrong].flat[0]:g}.")
    return numbers


def identification_of_many(ball_mass: ArrayLike, item_count: ArrayLike, background: ArrayLike = 0.0) -> Array:
    r"""Probability of naming which of n items the probe was copied from.

    .. math:: p_I^n = \sum_{k=0}^{n-1} \binom{n-1}{k} \frac{b^k q^{n-1-k}}{1+k+(n-1-k)\Delta}, \qquad
        p_I^n = \frac{1-q^n}{nb} \quad (\Delta = 0), \qquad q = 1-b

    Symbols: :math:`b` is ``ball_mass``, :math:`n` ``item_count``, :math:`\Delta` ``background``.

    Parameters
    ----------
    ball_mass, background : array_like in [0, 1]
    item_count : array_like of whole numbers, at least 1

    References
    ----------
    :cite:p:`nurisso2026`, Theorem 3, and its form with noise.
    """
    b, n, delta = _checked(ball_mass, item_count, background)
    expected = n * np.where(b > 0, b, 1.0)
    with np.errstate(divide="ignore"):
        silent = np.where(b > 0, -np.expm1(n * np.log1p(-b)) / expected, 1.0)
    noisy = _over_rates(_identification_integrand, b, n, delta) if delta.any() else silent
    return np.where(delta > 0, noisy, silent)


def generalization_of_many(ball_mass: ArrayLike, item_count: ArrayLike, background: ArrayLike = 0.0) -> Array:
    r"""Probability of choosing the nearest of n items.

    .. math:: p_S^n = \frac{q^n}{n} + \sum_{k=1}^{n} \binom nk \frac{b^k q^{n-k}}{k+(n-k)\Delta}, \qquad q = 1-b

    Symbols: :math:`b` is ``ball_mass``, :math:`n` ``item_count``, :math:`\Delta` ``background``. With any item inside
    the ball the nearest is inside; with none it is one of n alike.

    Parameters
    ----------
    ball_mass, background : array_like in [0, 1]
    item_count : array_like of whole numbers, at least 1

    References
    ----------
    :cite:p:`nurisso2026`, Theorem 3, and its form with noise.

    Notes
    -----
    Not monotone in n: with b = 0.01 and no background it has a minimum 0.183 at n = 11 and a maximum 0.520 at n = 148.
    """
    b, n, delta = _checked(ball_mass, item_count, background)
    with np.errstate(divide="ignore"):
        none_inside: Array = np.exp(n * np.log1p(-b))
    return _over_rates(_generalization_integrand, b, n, delta) + none_inside / n


def collapse_constant(ball_mass: ArrayLike, background: ArrayLike = 0.0) -> Array:
    r"""Return the constant c of the collapse :math:`p_I^n \to c/n`, one over the mean similarity.

    .. math:: c = \frac{1}{b + (1-b)\Delta}

    Parameters
    ----------
    ball_mass, background : array_like in [0, 1]
        Infinite where both are zero.

    References
    ----------
    :cite:p:`nurisso2026`, Theorem 3.
    """
    b, delta = broadcast(ball_mass=fraction("ball_mass", ball_mass), background=fraction("background", background))
    with np.errstate(divide="ignore"):
        return 1.0 / (b + (1.0 - b) * delta)


def best_ball_mass(item_count: ArrayLike, background: ArrayLike = 0.0) -> Array:
    r"""Return the ball mass at which generalization is largest.

    The peak lies where the front crosses the diagonal, because

    .. math:: (1-b)\,\frac{\partial p_S^n}{\partial b} = n\,(p_I^n - p_S^n)

    for every n and every background. So this is a root, not a search: .5, .377, .252, .137 at n = 2, 3, 5, 10 without
    background, and :math:`n b \to 1.50286`.

    Parameters
    ----------
    item_count : array_like of whole numbers, at least 2
    background : array_like in [0, 1)

    Notes
    -----
    Not in the paper. With :math:`h_k` the mean probability of the right item when k items are inside, and
    :math:`K \sim \mathrm{Bin}(n-1, b)`, the n-th item is inside or not: :math:`p_S^n = b\,E[h_{K+1}] + (1-b)\,E[h_K]`.
    The derivative of a binomial mean is :math:`\partial p_S^n/\partial b = n\,E[h_{K+1} - h_K]`. Together they give
    :math:`(1-b)\,\partial p_S^n/\partial b = n\,(E[h_{K+1}] - p_S^n)`. Identification is :math:`E[i_K]`, with
    :math:`i_k` its value when k of the other n - 1 items are inside, and here
    :math:`i_k = h_{k+1} = 1/(k+1+(n-1-k)\Delta)`.

    For another similarity that ends at the resolution, without background and with the same law inside the ball at
    every b, the identity holds if the nearest of k + 1 items inside wins as often as a copy against k items inside.
    This is so for :math:`g = (1-u)^a` with u uniform inside the ball: the others, given the nearest, are uniform beyond
    it, and ratios of powers do not see the scale. It is not so in general: not for the linear similarity in two
    dimensions.
    """
    n, delta = broadcast(
        item_count=item_numbers("item_count", item_count, 2), background=fraction("background", background)
    )
    if (delta == 1.0).any():
        raise InputError("background must be below 1; at 1 every item looks alike and no resolution is best.")
    low, high = np.full(n.shape, 1e-3) / n, np.full(n.shape, 0.5) + 1e-9
    return find_roots(_scaled_gap, low, high, n, delta)


def best_generalization(item_count: ArrayLike, background: ArrayLike = 0.0) -> Array:
    """Return the largest generalization any ball mass gives; 0.75 for two items, tending to 0.51735 for many.

    Parameters
    ----------
    item_count, background
        As for :func:`best_ball_mass`.
    """
    return generalization_of_many(best_ball_mass(item_count, background), item_count, background)


def _checked(ball_mass: ArrayLike, item_count: ArrayLike, background: ArrayLike) -> tuple[Array, ...]:
    return broadcast(
        ball_mass=fraction("ball_mass", ball_mass, "It is a share of the space, not a radius."),
        item_count=item_numbers("item_count", item_count),
        background=fraction("background", background),
    )


def _over_rates(integrand: Callable[..., Array], b: Array, n: Array, delta: Array) -> Array:
    """Integrate ``integrand(b, n, delta, t)`` over t for each element, by one rule for sums from 1 to the largest n."""
    t, w = reciprocal_rule(1.0, float(n.max(initial=1.0)))
    columns = [values.reshape(-1, 1) for values in (b, n, delta)]
    step = max(1, BLOCK_SIZE // t.size)
    starts = range(0, b.size, step)
    blocks = [integrand(*(values[start : start + step] for values in columns), t) @ w for start in starts]
    return np.concatenate([np.empty(0), *blocks]).reshape(b.shape)


def _identification_integrand(b: Array, n: Array, delta: Array, t: Array) -> Array:
    return np.exp(-t) * _some_power(_log_phi(b, delta, t), n - 1.0)


def _generalization_integrand(b: Array, n: Array, delta: Array, t: Array) -> Array:
    r"""Return :math:`\varphi^n` without the sets that have no item inside, :math:`(q e^{-t\Delta})^n`."""
    return np.exp(n * _log_phi(b, delta, t)) * _some_inside(b, n, delta, t)


def _gap_integrand(b: Array, n: Array, delta: Array, t: Array) -> Array:
    r"""Return the integrand of :math:`E[1/(S_K S_{K+1});\, K \ge 1]`, with :math:`S_k = k + (n-k)\Delta`.

    From :math:`\frac{1}{S(S+\delta)} = \int_0^\infty e^{-tS}\,\frac{1-e^{-t\delta}}{\delta}\,dt`.
    """
    others = np.exp((n - 1.0) * _log_phi(b, delta, t) - t * delta) * _some_inside(b, n - 1.0, delta, t)
    return others * -np.expm1(-t * (1.0 - delta)) / (1.0 - delta)


def _scaled_gap(b: Array, n: Array, delta: Array) -> Array:
    r"""Return :math:`(p_I^n - p_S^n)/[(1-b)(1-\Delta)]` without a difference that vanishes near background 1.

    From :math:`p_I^n - p_S^n = (1-b)\,E[h_{K+1} - h_K]` with :math:`h_0 = 1/n` and :math:`h_k = 1/S_k`.
    """
    none_inside = np.exp((n - 1.0) * np.log1p(-b)) * (n - 1.0) / (n * (1.0 + (n - 1.0) * delta))
    return none_inside - _over_rates(_gap_integrand, b, n, delta)


def _log_phi(b: Array, delta: Array, t: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log1p(b * np.expm1(-t) + (1.0 - b) * np.expm1(-t * delta))


def _some_inside(b: Array, n: Array, delta: Array, t: Array) -> Array:
    r"""Return the share of :math:`\varphi^n` that has an item inside the ball."""
    with np.errstate(divide="ignore", over="ignore"):
        odds = np.log1p(b * np.exp(-t * (1.0 - delta)) / (1.0 - b))
    return -np.expm1(-n * odds)


def _some_power(logarithm: Array, power: Array) -> Array:
    """Return the power of a number from its logarithm, 1 for the power 0 of zero too."""
    with np.errstate(invalid="ignore"):
        return np.where(power > 0, np.exp(power * logarithm), 1.0)


def finite_identification(
    neighbor_count: ArrayLike, set_size: int, item_count: int, background: ArrayLike = 0.0
) -> Array:
    r"""Probability of naming which of n different stimuli the probe was copied from.

    .. math:: p_I^n = \sum_k \frac{H(k;\, N-1, K, n-1)}{1+k+(n-1-k)\Delta}

    Symbols: :math:`H` is the hypergeometric probability of k neighbors among the n − 1 others, :math:`K` is
    ``neighbor_count``, :math:`N` ``set_size``, :math:`\Delta` ``background``. Without background this is
    :math:`\frac{N}{n(K+1)}\big[1 - \binom{N-1-K}{n}/\binom Nn\big]`.

    Parameters
    ----------
    neighbor_count : array_like of whole numbers from 0 to set_size - 1
        Other stimuli within the resolution of the probe.
    set_size : int
    item_count : int from 1 to set_size
    background : array_like in [0, 1]
    """
    size, neighbors, delta = _checked_set(neighbor_count, set_size, background)
    n = whole_number("item_count", item_count, at_least=1, at_most=size)
    k = np.arange(n)
    similar = 1.0 + k + (n - 1 - k) * delta[..., None]
    answer: Array = (_hypergeometric(neighbors, size - 1, n - 1) / similar).sum(axis=-1)
    return answer


def finite_generalization(
    neighbor_count: ArrayLike, set_size: int, item_count: int, background: ArrayLike = 0.0
) -> Array:
    r"""Probability of choosing the nearest of n different stimuli, none of them the probe.

    .. math:: p_S^n = \frac{H(0;\, N-1, K, n)}{n} + \sum_{k\ge1} \frac{H(k;\, N-1, K, n)}{k+(n-k)\Delta}

    For n = 2 and no background this is :math:`\tfrac12 + b(1-b)\frac{N-1}{N-2}` with :math:`b = K/(N-1)`.

    Parameters
    ----------
    neighbor_count : array_like of whole numbers from 0 to set_size - 1
    set_size : int
    item_count : int from 1 to set_size - 1
    background : array_like in [0, 1]
    """
    size, neighbors, delta = _checked_set(neighbor_count, set_size, background)
    n = whole_number("item_count", item_count, at_least=1, at_most=size - 1, hint="The probe is none of the items.")
    k = np.arange(n + 1)
    similar = k + (n - k) * delta[..., None]
    similar[..., 0] = n
    answer: Array = (_hypergeometric(neighbors, size - 1, n) / similar).sum(axis=-1)
    return answer


def _checked_set(neighbor_count: ArrayLike, set_size: int, background: ArrayLike) -> tuple[int, Array, Array]:
    size = whole_number("set_size", set_size, at_least=2)
    neighbors = item_numbers("neighbor_count", neighbor_count, 0)
    if (neighbors > size - 1).any():
        raise InputError(
            f"neighbor_count must be at most set_size - 1 = {size - 1}; got {neighbors.max():g}. "
            "The probe is not its own neighbor."
        )
    neighbors, delta = broadcast(neighbor_count=neighbors, background=fraction("background", background))
    return size, neighbors, delta


def _hypergeometric(marked: Array, total: int, drawn: int) -> Array:
    """Return the probabilities of 0, 1, …, `drawn` marked ones; the last axis is new.

    Neighboring probabilities have a simple ratio, and its logarithms are summed from the most likely number outwards:
    what is likely stays accurate, what is not underflows.
    """
    k = np.arange(drawn + 1)
    z = marked[..., None]
    possible = (k <= z) & (k >= z + drawn - total)
    between = possible[..., 1:] & possible[..., :-1]
    up = np.where(between, (z - k[:-1]) * (drawn - k[:-1]), 1.0)
    down = np.where(between, k[1:] * (total - z - drawn + k[1:]), 1.0)
    step = np.log(up / down)
    rising = np.where(step > 0, step, 0.0)
    falling = np.where(step > 0, 0.0, step)
    none = np.zeros(z.shape)
    level = np.concatenate([none, np.cumsum(falling, axis=-1)], axis=-1)
    level -= np.concatenate([np.cumsum(rising[..., ::-1], axis=-1)[..., ::-1], none], axis=-1)
    weight = np.where(possible, np.exp(level), 0.0)
    share: Array = weight / weight.sum(axis=-1, keepdims=True)
    return share
