r"""Many items from a finite set, none of them twice, constant similarity.

A probe with :math:`K` of its :math:`M = N-1` fellow stimuli inside the resolution draws a hypergeometric number of
similar items, where a whole space gives a binomial one. Averages over probes are left to the caller.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from genlaws.numerics.arguments import Array, broadcast, fraction, whole_number
from genlaws.numerics.errors import InputError
from genlaws.semanticity.many_items import item_numbers


def finite_identification(
    neighbour_count: ArrayLike, set_size: int, item_count: int, background: ArrayLike = 0.0
) -> Array:
    r"""Probability of naming which of n different stimuli the probe was copied from.

    .. math:: p_I^n = \sum_k \frac{H(k;\, N-1, K, n-1)}{1+k+(n-1-k)\Delta}

    Symbols: :math:`H` is the hypergeometric probability of k neighbours among the n − 1 others, :math:`K` is
    ``neighbour_count``, :math:`N` ``set_size``, :math:`\Delta` ``background``. Without background this is
    :math:`\frac{N}{n(K+1)}\big[1 - \binom{N-1-K}{n}/\binom Nn\big]`.

    Parameters
    ----------
    neighbour_count : array_like of whole numbers from 0 to set_size - 1
        Other stimuli within the resolution of the probe.
    set_size : int
    item_count : int from 1 to set_size
    background : array_like in [0, 1]
    """
    size, neighbours, delta = _checked(neighbour_count, set_size, background)
    n = whole_number("item_count", item_count, at_least=1, at_most=size)
    k = np.arange(n)
    similar = 1.0 + k + (n - 1 - k) * delta[..., None]
    answer: Array = (_hypergeometric(neighbours, size - 1, n - 1) / similar).sum(axis=-1)
    return answer


def finite_generalisation(
    neighbour_count: ArrayLike, set_size: int, item_count: int, background: ArrayLike = 0.0
) -> Array:
    r"""Probability of choosing the nearest of n different stimuli, none of them the probe.

    .. math:: p_S^n = \frac{H(0;\, N-1, K, n)}{n} + \sum_{k\ge1} \frac{H(k;\, N-1, K, n)}{k+(n-k)\Delta}

    For n = 2 and no background this is :math:`\tfrac12 + b(1-b)\frac{N-1}{N-2}` with :math:`b = K/(N-1)`.

    Parameters
    ----------
    neighbour_count : array_like of whole numbers from 0 to set_size - 1
    set_size : int
    item_count : int from 1 to set_size - 1
    background : array_like in [0, 1]
    """
    size, neighbours, delta = _checked(neighbour_count, set_size, background)
    n = whole_number("item_count", item_count, at_least=1, at_most=size - 1, hint="The probe is none of the items.")
    k = np.arange(n + 1)
    similar = k + (n - k) * delta[..., None]
    similar[..., 0] = n
    answer: Array = (_hypergeometric(neighbours, size - 1, n) / similar).sum(axis=-1)
    return answer


def _checked(neighbour_count: ArrayLike, set_size: int, background: ArrayLike) -> tuple[int, Array, Array]:
    size = whole_number("set_size", set_size, at_least=2)
    neighbours = item_numbers("neighbour_count", neighbour_count, 0)
    if (neighbours > size - 1).any():
        raise InputError(
            f"neighbour_count must be at most set_size - 1 = {size - 1}; got {neighbours.max():g}. "
            "The probe is not its own neighbour."
        )
    neighbours, delta = broadcast(neighbour_count=neighbours, background=fraction("background", background))
    return size, neighbours, delta


def _hypergeometric(marked: Array, total: int, drawn: int) -> Array:
    """Return the probabilities of 0, 1, …, `drawn` marked ones; the last axis is new.

    Neighbouring probabilities have a simple ratio, and its logarithms are summed from the most likely number outwards:
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
