r"""Both tests averaged over every tuple of different stimuli of a finite set, for any similarity.

For a probe with others :math:`1 \dots M` sorted by distance and similarities :math:`g_i`, the probability of the
nearest of :math:`n` items averages, over all :math:`\binom Mn` sets, to

.. math:: p_S^n = \binom Mn^{-1} \sum_i g_i \int_0^\infty e^{-t g_i}\, e_{n-1}\big(e^{-t g_{i+1}}, \dots,
    e^{-t g_M}\big)\, dt

with :math:`e_k` the elementary symmetric polynomial. The integral is the sum of exponentials of
:func:`~genlaws.core.numerics.reciprocal.reciprocal_rule`, whose error is known beforehand; adding one item after the
other from the farthest gives all :math:`n` at once. Nothing is sampled. Named sets of stimuli are equally spaced on a
circle or a segment; any other set is given by its distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Mask, Whole, one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.numerics.reciprocal import FULL_PRECISION_SPACING, fading, reciprocal_rule
from genlaws.semanticity.theory.spaces import check_distances
from genlaws.semanticity.theory.ties import COMPUTED_TOLERANCE, merge_ties, round_distances

TIES = ("split", "drop")
# Numbers held by one block of probes: 2 MiB of them stay in a processor's cache.
BLOCK_SIZE = 1 << 18
# Smallest similarity, relative to the largest, whose ratios are accurate: the rule for a reciprocal spans 290 decades,
# of which ten are left to the number of items.
MIN_RELATIVE_SIMILARITY = 1e-280
NAMED_STIMULI = ("circle", "segment")
MIN_STIMULI = 3  # a probe and two items


@dataclass(frozen=True)
class Others:
    """What each probe is compared with: the other stimuli, nearest first.

    Attributes
    ----------
    similarity : array of shape (probes, others)
        In units of the largest of the row, the probe's own similarity included; zero where it is below 1e-280.
    own : array of shape (probes,)
        Similarity of the probe with its own copy, in the same units.
    tied_with_next : mask of shape (probes, others)
        Whether the item is exactly as far as the one after it; the last column is false.
    order : array of shape (probes, others)
        Column of the given matrix that stands at each place.
    """

    similarity: Array
    own: Array
    tied_with_next: Mask
    order: Whole


def sort_others(
    similarity: Array, distance: Array, own: Array, probes: Whole | None = None, tolerance: float = 0.0
) -> Others:
    """Sort each probe's row by distance, without the probe itself.

    Parameters
    ----------
    similarity, distance : arrays of shape (probes, stimuli)
    own : array of shape (probes,)
    probes : array of shape (probes,) or None
        Column of each row's own stimulus, left out; 0, 1, 2, … if not given.
    tolerance : float
        Neighbors in distance that differ by no more are tied.
    """
    rows = np.arange(len(similarity))
    itself = rows if probes is None else probes
    key = np.array(distance, dtype=np.float64)
    key[rows, itself] = -np.inf
    order = np.argsort(key, axis=1)[:, 1:]
    sorted_distance = np.take_along_axis(key, order, axis=1)
    tied = np.zeros(order.shape, dtype=bool)
    tied[:, :-1] = np.diff(sorted_distance, axis=1) <= tolerance
    g = np.take_along_axis(np.asarray(similarity, dtype=np.float64), order, axis=1)
    scale = np.maximum(g.max(axis=1), own)
    scale = np.where(scale > 0, scale, 1.0)
    parts = (g / scale[:, None], own / scale)
    relative, own_relative = (np.where(part < MIN_RELATIVE_SIMILARITY, 0.0, part) for part in parts)
    return Others(relative, own_relative, tied, order.astype(np.int64))


def tuple_probabilities(
    others: Others, item_counts: tuple[int, ...], ties: str = "split", spacing: float = FULL_PRECISION_SPACING
) -> tuple[Array, Array]:
    """Return the generalization and identification of each probe for each item count.

    Parameters
    ----------
    others : Others
    item_counts : tuple of int
        Each from 1 to the number of others.
    ties : {"split", "drop"}
        Among equally near items one is right at random, or sets with such a tie are left out. A probe without any
        untied set gives NaN when they are left out.

    Returns
    -------
    generalization, identification : arrays of shape (probes, len(item_counts))
    """
    g, own = others.similarity, others.own
    one_of("ties", ties, TIES)
    if not item_counts:
        raise InputError("item_counts must name at least one number of items; got none.")
    for n in item_counts:
        whole_number("item_counts", n, at_least=1, at_most=g.shape[1], hint="The probe is none of the items.")
    t, w = _rule(g, own, max(item_counts), spacing)
    step = max(1, BLOCK_SIZE // (t.size * max(item_counts)))
    shape = (len(g), len(item_counts))
    generalization, identification = np.empty(shape), np.empty(shape)
    for start in range(0, len(g), step):
        rows = slice(start, start + step)
        block = Others(g[rows], own[rows], others.tied_with_next[rows], others.order[rows])
        generalization[rows], identification[rows] = _block(block, item_counts, ties, t, w)
    return generalization, identification


def _rule(g: Array, own: Array, most_items: int, spacing: float) -> tuple[Array, Array]:
    """Return the rule for sums between the smallest positive similarity and `most_items` times the largest."""
    positive = min((float(values[values > 0].min()) for values in (g, own) if (values > 0).any()), default=1.0)
    return reciprocal_rule(positive, float(most_items), spacing)


def _block(others: Others, item_counts: tuple[int, ...], ties: str, t: Array, w: Array) -> tuple[Array, Array]:
    g, own, tied = others.similarity, others.own, others.tied_with_next
    if not tied.any():
        generalization, mean = _untied(g, item_counts, t, w)
    elif ties == "drop":
        generalization, mean = _drop_ties(g, tied, item_counts, t, w)
    elif (tied[:, 1:] & tied[:, :-1]).any():
        generalization, mean = _split_ties(g, tied, item_counts, t, w)
    else:
        generalization, mean = _split_tied_pairs(g, tied, item_counts, t, w)
    damped = w * own[:, None] * fading(own, t)
    identification = _sum_over_rates(damped, mean, item_counts)
    for column, n in enumerate(item_counts):
        all_zero = subset_share((g == 0).sum(axis=1), g.shape[1], n - 1)
        identification[:, column] += np.where(own == 0, all_zero / n, 0.0)
    return generalization, identification


def _untied(g: Array, item_counts: tuple[int, ...], t: Array, w: Array) -> tuple[Array, Array]:
    """Go from the farthest item to the nearest; ``mean[k]`` is the mean product over sets of k items passed so far."""
    probes, others = g.shape
    share = _nearest_share(others, max(item_counts))
    mean = _no_items(max(item_counts), probes, t.size)
    summed = _only_zeros(g, item_counts)
    for i in range(others - 1, -1, -1):
        x = fading(g[:, i], t)
        summed += share[i, np.array(item_counts) - 1] * _sum_over_rates(x * (w * g[:, i, None]), mean, item_counts)
        _add_item(mean, x, others - 1 - i)
    return summed, mean


def _drop_ties(g: Array, tied: Mask, item_counts: tuple[int, ...], t: Array, w: Array) -> tuple[Array, Array]:
    """Like `_untied`, but an item is the nearest only of sets that lie strictly beyond it."""
    probes, others = g.shape
    counts = np.array(item_counts)
    share = _nearest_share(others, max(item_counts))
    mean = _no_items(max(item_counts), probes, t.size)
    beyond, last_tied = mean.copy(), np.zeros(probes, dtype=np.int64)
    zeros, zeros_beyond = np.zeros(probes), np.zeros(probes)
    summed, untied_share = np.zeros((probes, counts.size)), np.zeros((probes, counts.size))
    for i in range(others - 1, -1, -1):
        new = ~tied[:, i]
        beyond[:, new], last_tied[new], zeros_beyond[new] = mean[:, new], i, zeros[new]
        x = fading(g[:, i], t)
        portion = share[last_tied][:, counts - 1]
        summed += portion * _sum_over_rates(x * (w * g[:, i, None]), beyond, item_counts)
        for column, n in enumerate(item_counts):
            only_zeros = subset_share(zeros_beyond, others - 1 - last_tied, n - 1) / n
            summed[:, column] += portion[:, column] * np.where(g[:, i] == 0, only_zeros, 0.0)
        untied_share += portion
        _add_item(mean, x, others - 1 - i)
        zeros += g[:, i] == 0
    with np.errstate(invalid="ignore"):
        return summed / untied_share, mean


def _split_tied_pairs(g: Array, tied: Mask, item_counts: tuple[int, ...], t: Array, w: Array) -> tuple[Array, Array]:
    """Average the two orders of each tied pair, where no three are tied: exact, and cheaper than `_split_ties`."""
    swapped = g.copy()
    rows, places = np.nonzero(tied)
    swapped[rows, places], swapped[rows, places + 1] = g[rows, places + 1], g[rows, places]
    one, mean = _untied(g, item_counts, t, w)
    other, _ = _untied(swapped, item_counts, t, w)
    return 0.5 * (one + other), mean


def _split_ties(g: Array, tied: Mask, item_counts: tuple[int, ...], t: Array, w: Array) -> tuple[Array, Array]:
    r"""Like `_untied`, with one of the equally near items of a set right at random.

    With m items of the set equally near, each is right with probability :math:`1/m = \int_0^1 u^{m-1} du`: the other
    tied items enter with a factor u. ``lead[k]`` sums, over the tied items passed and the sets of k others, similarity
    times product. The integrand is a polynomial in u, for which the Gauss-Legendre rule is exact.
    """
    probes, others = g.shape
    most = max(item_counts)
    nodes, weights = np.polynomial.legendre.leggauss((most + 1) // 2)
    share = _nearest_share(others, most)
    mean = _no_items(most, probes, t.size)
    summed = _only_zeros(g, item_counts)
    parts = [
        (0.5 * (node + 1.0), 0.5 * weight, mean.copy(), np.zeros_like(mean))
        for node, weight in zip(nodes, weights, strict=True)
    ]
    for i in range(others - 1, -1, -1):
        new, complete = ~tied[:, i], ~tied[:, i - 1] if i else np.ones(probes, dtype=bool)
        x = fading(g[:, i], t)
        for u, weight, tagged, lead in parts:
            tagged[:, new], lead[:, new] = mean[:, new], 0.0
            for k in range(most - 1, -1, -1):
                lead[k] += (share[i, k] * g[:, i, None]) * x * tagged[k]
                if k:
                    lead[k] += (u * (k + 1) / (others - k)) * x * lead[k - 1]
            _add_item(tagged, u * x, others - 1 - i)
            total = weight * _sum_over_rates(np.broadcast_to(w, x.shape), lead, item_counts)
            summed += np.where(complete[:, None], total, 0.0)
        _add_item(mean, x, others - 1 - i)
    return summed, mean


def _no_items(most: int, probes: int, rates: int) -> Array:
    """Return the mean product over sets of 0, 1, … items before any item is there: 1, 0, …."""
    mean = np.zeros((most, probes, rates))
    mean[0] = 1.0
    return mean


def _add_item(mean: Array, x: Array, passed: int) -> None:
    """Add an item with the factor `x` to the `passed` ones: a set of k holds it with probability k/(passed + 1)."""
    total = passed + 1
    k = np.arange(1.0, min(len(mean) - 1, total) + 1.0)[:, None, None]
    sets = mean[1 : k.size + 1]
    with_item = mean[: k.size] * x
    with_item *= k / total
    sets *= (total - k) / total
    sets += with_item


def _sum_over_rates(damped: Array, mean: Array, item_counts: tuple[int, ...]) -> Array:
    columns = [np.einsum("pq,pq->p", damped, mean[n - 1]) for n in item_counts]
    return np.stack(columns, axis=1)


def _nearest_share(others: int, most: int) -> Array:
    r"""Return :math:`\binom{M-1-i}{k} / \binom{M}{k+1}`, the share of sets of k + 1 with the nearest at place i."""
    beyond = others - 1.0 - np.arange(others)
    share = np.empty((others, most))
    chosen = np.ones(others)
    for k in range(most):
        share[:, k] = chosen * (k + 1) / (others - k)
        chosen = chosen * np.maximum(beyond - k, 0.0) / max(others - k, 1)
    return share


def subset_share(marked: ArrayLike, total: ArrayLike, size: int) -> Array:
    r"""Return :math:`\binom{z}{k} / \binom{M}{k}`, the share of sets of `size` that are all `marked`."""
    z, m = np.broadcast_arrays(np.asarray(marked, dtype=np.float64), np.asarray(total, dtype=np.float64))
    share = np.ones(z.shape)
    for j in range(size):
        share = share * np.maximum(z - j, 0.0) / np.maximum(m - j, 1.0)
    return share


def _only_zeros(g: Array, item_counts: tuple[int, ...]) -> Array:
    """Return what the sets without any similarity contribute: each item is chosen with probability 1/n."""
    zeros = (g == 0).sum(axis=1)
    return np.stack([subset_share(zeros, g.shape[1], n) / n for n in item_counts], axis=1)


def stimulus_distances(stimuli: str | ArrayLike, count: int = 50) -> Array:
    """Return the distances between stimuli, (stimuli, stimuli).

    Parameters
    ----------
    stimuli : {"circle", "segment"} or array_like of shape (stimuli, stimuli)
        A circle of length 1 or the segment [0, 1] with `count` equally spaced stimuli, in the units of
        :mod:`~genlaws.semanticity.theory.spaces`; or distances, in which those that differ by rounding alone become
        equal.
    count : int from 3
    """
    if not isinstance(stimuli, str):
        d = check_distances(stimuli)
        largest = float(d.max())
        if len(d) < MIN_STIMULI or not largest > 0:
            raise InputError("stimuli must be at least three, not all at the same place, for a test to have an answer.")
        return round_distances(merge_ties(0.5 * (d + d.T)), COMPUTED_TOLERANCE * largest)
    one_of("stimuli", stimuli, NAMED_STIMULI)
    number = whole_number("stimulus_count", count, at_least=MIN_STIMULI)
    places = np.arange(number)
    steps: Array = np.abs(places[:, None] - places).astype(np.float64)
    on_circle: Array = np.minimum(steps, number - steps) / number
    on_segment: Array = steps / (number - 1.0)
    return on_circle if stimuli == "circle" else on_segment
