r"""Both tests with two items, over all triples of different stimuli, and what each stimulus contributes.

The contributions of one stimulus give the value without it, hence the jackknife's standard error, at the price of one
more pass.

For the threshold similarity, items count as alike when their embeddings lie within a threshold. With two items the
probability of the nearer one is then :math:`\frac12 + \frac12(1_i - 1_j)`, with :math:`1_i` whether item i lies within
the threshold of the probe: linear in which items are inside. So each (probe, item) carries one weight, the number of
second items that are truly farther less the number truly nearer, and one sort gives both tests for every threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, Mask
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.numerics.reciprocal import FULL_PRECISION_SPACING, fading, reciprocal_rule
from genlaws.semanticity.theory.finite_sets import BLOCK_SIZE, Others

# One exponential and its sums cost about this many divisions of the plain double loop (measured, see benchmarks).
RATE_COST = 1
MAX_DIRECT_ITEMS = 64  # items up to which all pairs are divided at once


@dataclass(frozen=True)
class PairSums:
    """Sums over the trials of each (probe, item); a trial with two items is counted at both of them.

    Attributes
    ----------
    right : array of shape (probes, others)
        Probability of the nearer item, summed over the second item.
    trials : array of shape (probes, others)
        Number of trials in the sum.
    tied : array of shape (probes, others)
        Number of second items that are exactly as near.
    """

    right: Array
    trials: Array
    tied: Array


def pair_sums(others: Others, ties: str = "split") -> PairSums:
    """Sum the probability of the nearer item over all pairs, probe by probe, by the cheaper of two exact routes."""
    g, tied = others.similarity, others.tied_with_next
    t, w, by_rates = _route(g)
    right = np.empty(g.shape)
    for rows in _blocks(g, t, by_rates):
        right[rows] = _by_rates(g[rows], tied[rows], t, w) if by_rates else _divide(g[rows], tied[rows])
    count = g.shape[1]
    equally_near = group_sizes(tied) - 1.0
    if ties == "split":
        return PairSums(right + 0.5 * equally_near, np.full(g.shape, count - 1.0), equally_near)
    return PairSums(right, count - 1.0 - equally_near, equally_near)


def pair_generalization(others: Others, ties: str = "split", spacing: float = FULL_PRECISION_SPACING) -> Array:
    """Return the probability of the nearer item for each probe: half the work of `pair_sums`, but no sums by item.

    A probe all of whose items are equally near gives NaN if ties are left out.
    """
    g, tied = others.similarity, others.tied_with_next
    t, w, by_rates = _route(g, spacing)
    right = np.empty(len(g))
    for rows in _blocks(g, t, by_rates):
        if by_rates:
            sums = np.zeros(g[rows].shape[::-1])
            _sweep(sums[::-1], np.ascontiguousarray(g[rows].T)[::-1], ~tied[rows].T[::-1], t, w, outward=False)
            right[rows] = sums.sum(axis=0)
        else:
            right[rows] = 0.5 * _divide(g[rows], tied[rows]).sum(axis=1)
    count = g.shape[1]
    tied_pairs = 0.5 * (group_sizes(tied) - 1.0).sum(axis=1)
    pairs = 0.5 * count * (count - 1.0)
    if ties == "split":
        return np.asarray((right + 0.5 * tied_pairs) / pairs)
    judged = pairs > tied_pairs
    return np.where(judged, right / np.where(judged, pairs - tied_pairs, 1.0), np.nan)


def _route(g: Array, spacing: float = FULL_PRECISION_SPACING) -> tuple[Array, Array, bool]:
    """Return rates and weights for these similarities, and whether they are the cheaper route."""
    positive = g[g > 0]
    t, w = reciprocal_rule(float(positive.min()) if positive.size else 1.0, 2.0, spacing)
    return t, w, RATE_COST * t.size < g.shape[1]


def _blocks(g: Array, t: Array, by_rates: bool) -> list[slice]:
    """Return slices of probes whose numbers fit into a processor's cache."""
    count = g.shape[1]
    step = max(1, BLOCK_SIZE // max(t.size if by_rates else (count**2 if count <= MAX_DIRECT_ITEMS else count), 1))
    return [slice(start, start + step) for start in range(0, len(g), step)]


def _divide(g: Array, tied: Mask) -> Array:
    """Divide for every pair that is not tied: all at once for few items, item by item for many."""
    end = group_ends(tied)
    place = np.arange(g.shape[1])
    if g.shape[1] <= MAX_DIRECT_ITEMS:
        beyond = place >= end[:, :, None]
        nearer = np.where(beyond, _share(g[:, :, None], g[:, None, :]), 0.0)
        return np.asarray(nearer.sum(axis=2) + nearer.sum(axis=1))
    right = np.zeros(g.shape)
    for i in range(g.shape[1] - 1):
        nearer = _share(g[:, i, None], g[:, i + 1 :])
        nearer[place[None, i + 1 :] < end[:, i, None]] = 0.0
        right[:, i] += nearer.sum(axis=1)
        right[:, i + 1 :] += nearer
    return right


def _share(one: Array, other: Array) -> Array:
    """Return one over the sum of both; one half where both are zero."""
    both = one + other
    with np.errstate(invalid="ignore"):
        share: Array = one / both
    if not both.all():
        share[both == 0] = 0.5
    return share


def _by_rates(g: Array, tied: Mask, t: Array, w: Array) -> Array:
    r"""Use :math:`g_i/(g_i+g_j) = \sum_q w_q\, g_i e^{-t_q g_i} e^{-t_q g_j}` and sums over either side."""
    right = np.zeros(g.shape[::-1])
    first = np.ones(tied.shape, dtype=bool)
    first[:, 1:] = ~tied[:, :-1]
    by_place = np.ascontiguousarray(g.T)
    _sweep(right[::-1], by_place[::-1], ~tied.T[::-1], t, w, outward=False)
    _sweep(right, by_place, first.T, t, w, outward=True)
    return right.T


def _sweep(right: Array, g: Array, starts_group: Mask, t: Array, w: Array, *, outward: bool) -> None:
    """Add the trials of each item with those strictly before it (outward) or strictly beyond it (inward).

    The first axis is the place in the order of the sweep.
    """
    x, product, passed = np.empty((g.shape[1], t.size)), np.empty((g.shape[1], t.size)), np.zeros((g.shape[1], t.size))
    zeros = np.zeros(g.shape[1])
    untied = bool(starts_group.all())
    apart, zeros_apart = (passed, zeros) if untied else (passed.copy(), zeros.copy())
    for i, own in enumerate(g):
        if not untied:
            new = starts_group[i]
            apart[new], zeros_apart[new] = passed[new], zeros[new]
        fading(own, t, out=x)
        nearer = np.multiply(x, apart, out=product) @ w
        right[i] += (nearer if outward else own * nearer) + 0.5 * np.where(own == 0, zeros_apart, 0.0)
        if outward:
            x *= own[:, None]
        passed += x
        zeros += own == 0


def group_ends(tied: Mask) -> Array:
    """Return, for each place, the first place that is strictly farther."""
    place = np.arange(tied.shape[1])
    ends = np.where(tied, tied.shape[1], place + 1)
    return np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]


def group_sizes(tied: Mask) -> Array:
    """Return the number of equally near items at each place, itself included."""
    first = np.zeros(tied.shape, dtype=np.int64)
    first[:, 1:] = np.where(tied[:, :-1], 0, np.arange(1, tied.shape[1]))
    return (group_ends(tied) - np.maximum.accumulate(first, axis=1)).astype(np.float64)


def tied_fraction(others: Others) -> float:
    """Return the share of triples whose items are equally far from the probe."""
    n, count = others.order.shape
    return float((group_sizes(others.tied_with_next) - 1.0).sum() / (n * count * (count - 1.0)))


@dataclass(frozen=True)
class ThresholdCurve:
    """Both tests with two items against the threshold, exact at every threshold at which anything changes.

    Attributes
    ----------
    threshold : array
        Distance between embeddings, increasing; between two of them nothing changes.
    generalization, identification : arrays
    ball_mass, ball_mass_variance : arrays
        Share of the other stimuli within the threshold of a probe: mean and variance over probes.
    """

    threshold: Array
    generalization: Array
    identification: Array
    ball_mass: Array
    ball_mass_variance: Array

    @property
    def best(self) -> int:
        """Index of the threshold with the largest generalization."""
        return int(np.argmax(self.generalization))

    def at(self, threshold: float) -> int:
        """Return the index that holds at a threshold."""
        return max(int(np.searchsorted(self.threshold, threshold, side="right")) - 1, 0)

    def to_frame(self) -> DataFrame:
        """Return one row per threshold."""
        return frame_of(vars(self))


def threshold_curve(others: Others, apart: Array, ties: str) -> ThresholdCurve:
    """Return both tests for all thresholds.

    Parameters
    ----------
    others : Others
        The truth: each probe's others, nearest first. Their similarities do not matter.
    apart : array of shape (N, N)
        Distances between embeddings.
    ties : {"split", "drop"}
        What to do with items truly equally near.
    """
    n, count = others.order.shape
    inside = np.take_along_axis(apart, others.order, axis=1)
    size, end = group_sizes(others.tied_with_next), group_ends(others.tied_with_next)
    lead = (count - end) - (end - size)
    pairs = 0.5 * (count - size).sum(axis=1) if ties == "drop" else np.full(n, 0.5 * count * (count - 1.0))
    judged = pairs > 0
    weight = np.where(judged[:, None], 0.5 * lead / np.where(judged, pairs, 1.0)[:, None], 0.0) / max(judged.sum(), 1)
    place = np.empty(inside.shape)
    np.put_along_axis(place, np.argsort(inside, axis=1), np.arange(float(count))[None], axis=1)
    order = np.argsort(inside, axis=None)
    threshold = inside.ravel()[order]
    last = np.append(threshold[1:] > threshold[:-1], True)
    mass = np.arange(1.0, threshold.size + 1.0)[last] / (n * float(count))
    square = np.cumsum((2.0 * place.ravel() + 1.0)[order])[last] / (n * float(count) ** 2)
    generalization = 0.5 + np.cumsum(weight.ravel()[order])[last]
    start = [] if threshold[0] == 0 else [0.0]
    b = np.concatenate([start, mass])
    return ThresholdCurve(
        np.concatenate([start, threshold[last]]),
        np.concatenate([[0.5] * len(start), generalization]),
        1.0 - 0.5 * b,
        b,
        np.maximum(np.concatenate([start, square]) - b**2, 0.0),
    )
