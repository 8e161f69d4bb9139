"""Both tests on a set of stimuli with measured similarities: two items with their error, and the curve over items."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, Whole
from genlaws.core.estimate import Estimate, from_standard_error, jackknife_error
from genlaws.core.numerics.reciprocal import FULL_PRECISION_SPACING, TEN_DIGIT_SPACING, reciprocal_rule
from genlaws.semanticity.measurement.pairs import pair_generalization, pair_sums, tied_fraction
from genlaws.semanticity.theory.finite_sets import Others, sort_others, tuple_probabilities

# Multiplications spent on a curve over items before only a part of the probes is used: a few seconds.
OPERATION_BUDGET = 1.5e9
MIN_PROBES = 8
SUBSAMPLES, MIN_SUBSAMPLES = 40, 10
SUBSAMPLE_SIZE = 60


@dataclass(frozen=True)
class MeasuredSet:
    """Similarities and true distances of a set of stimuli, and how equal distances are dealt with.

    Attributes
    ----------
    similarity, distance : arrays of shape (N, N)
    ties : {"split", "drop"}
    tolerance : float
        Distances from a probe that differ by no more are equal.
    """

    similarity: Array
    distance: Array
    ties: str
    tolerance: float

    def others(self, probes: Whole | None = None) -> Others:
        """Return the others of each probe, nearest first."""
        if probes is None:
            return sort_others(self.similarity, self.distance, self.own, None, self.tolerance)
        return sort_others(self.similarity[probes], self.distance[probes], self.own[probes], probes, self.tolerance)

    def part(self, chosen: Whole) -> MeasuredSet:
        """Return the set of the chosen stimuli alone."""
        square = np.ix_(chosen, chosen)
        return MeasuredSet(self.similarity[square], self.distance[square], self.ties, self.tolerance)

    @property
    def own(self) -> Array:
        """Similarity of each stimulus with its copy."""
        return np.diagonal(self.similarity).copy()


@dataclass(frozen=True)
class TwoItems:
    """Both tests with two items over all triples.

    Attributes
    ----------
    generalization, identification : float
    generalization_error, identification_error : float
        Standard errors of the jackknife over stimuli; NaN if they were not requested.
    tied_fraction : float
        Share of triples in which both items are equally near to the probe.
    """

    generalization: float
    generalization_error: float
    identification: float
    identification_error: float
    tied_fraction: float


@dataclass(frozen=True)
class ItemCurve:
    r"""Both tests against the number of items.

    Attributes
    ----------
    item_count : array
    generalization, identification : tuple of Estimate
        One for each number of items. With more than two the intervals are found by subsampling; there is none where the
        set is too small, the subsamples would take too long or intervals were not requested.
    probe_count : int
        Probes averaged over; all of them unless the exact sum would have taken too long.
    collapse_constant : float
        c of :math:`p_I^n \to c/n`, from the mean similarity seen by each probe; infinite if one sees none but its own.
    fitted_constant : float
        The same from the measured curve, the limit of :math:`n\,p_I^n` along :math:`1/n`; NaN if it has one point.
    """

    item_count: Whole
    generalization: tuple[Estimate, ...]
    identification: tuple[Estimate, ...]
    probe_count: int
    collapse_constant: float
    fitted_constant: float


def two_items(others: Others, ties: str, *, errors: bool = True) -> TwoItems:
    """Average over all triples of different stimuli, and without each stimulus in turn if errors are wanted."""
    tied = tied_fraction(others)
    if not errors:
        named = identification_of_two(others)
        return TwoItems(_mean(pair_generalization(others, ties)), math.nan, float(named.mean()), math.nan, tied)
    (generalization, identification), without = left_out_tests(others, ties)
    return TwoItems(generalization, jackknife_error(without[0]), identification, jackknife_error(without[1]), tied)


def left_out_tests(others: Others, ties: str) -> tuple[tuple[float, float], Array]:
    """Return generalization and identification over all triples, and both without each stimulus in turn, (2, N).

    NaN where the others have no trial that counts.
    """
    sums, named = pair_sums(others, ties), identification_of_two(others)
    right, trials = _unsorted(sums.right, others.order), _unsorted(sums.trials, others.order)
    total, count = right.sum(axis=1), trials.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        per_probe = total / count
        # A trial with two items is counted at both of them, so the trials of an item are counted twice in the sums.
        without = (total[:, None] - 2.0 * right) / (count[:, None] - 2.0 * trials)
    left = (named.sum(axis=1)[:, None] - _unsorted(named, others.order)) / (len(named) - 2.0)
    values = _mean(per_probe), float(named.mean())
    return values, np.stack([_mean_without_own(without), _mean_without_own(left)])


def identification_of_two(others: Others) -> Array:
    """Return the probability of naming the copied one of two items, for each probe and second item."""
    own = others.own[:, None]
    both = own + others.similarity
    return np.asarray(np.divide(own, both, out=np.full(both.shape, 0.5), where=both > 0))


def item_curve(
    stimuli: MeasuredSet,
    others: Others,
    pair: TwoItems,
    item_counts: tuple[int, ...],
    rng: np.random.Generator,
    *,
    errors: bool = True,
) -> ItemCurve:
    """Return both tests for each number of items, with intervals from subsamples; those of two are known already."""
    n = len(stimuli.similarity)
    counts = np.array(item_counts, dtype=np.int64)
    more = tuple(count for count in item_counts if count > 2)
    values = np.full((4, counts.size), np.nan)
    values[:, counts == 2] = np.array(
        [[pair.generalization], [pair.identification], [pair.generalization_error], [pair.identification_error]]
    )
    probe_count = n
    if more:
        probe_count = min(n, max(MIN_PROBES, int(OPERATION_BUDGET / _cost(others, stimuli.ties, max(more), n - 1))))
        probes = None if probe_count == n else np.sort(rng.choice(n, probe_count, replace=False))
        s, i = tuple_probabilities(others if probes is None else stimuli.others(probes), more, stimuli.ties)
        values[0, counts > 2] = [_mean(column) for column in s.T]
        values[1, counts > 2] = i.mean(axis=0)
    if more and errors:
        values[2:, counts > 2] = _subsample_errors(stimuli, others, pair, more, rng)
    s, i, s_error, i_error = values
    return ItemCurve(
        counts,
        tuple(from_standard_error(value, error, n) for value, error in zip(s.tolist(), s_error.tolist(), strict=True)),
        tuple(from_standard_error(value, error, n) for value, error in zip(i.tolist(), i_error.tolist(), strict=True)),
        probe_count,
        _collapse_constant(stimuli),
        _fitted_constant(counts, i),
    )


def _cost(others: Others, ties: str, most: int, other_count: int, spacing: float = FULL_PRECISION_SPACING) -> float:
    """Return the multiplications that one probe with so many others and up to `most` items costs."""
    smallest = min(float(np.min(values, where=values > 0, initial=1.0)) for values in (others.similarity, others.own))
    rates = reciprocal_rule(smallest, float(most), spacing)[0].size
    tied = others.tied_with_next
    split = 1
    if ties == "split" and tied.any():
        split = 3 * ((most + 1) // 2) if (tied[:, 1:] & tied[:, :-1]).any() else 2
    return float(other_count) * rates * most * split


def _collapse_constant(stimuli: MeasuredSet) -> float:
    """Return the mean of own over mean similarity; a probe without any similarity guesses, and has constant 1."""
    own = stimuli.own
    mean = (stimuli.similarity.sum(axis=1) - own) / (len(own) - 1.0)
    with np.errstate(divide="ignore", over="ignore"):
        ratio = np.divide(own, mean, out=np.ones(own.shape), where=(own > 0) | (mean > 0))
    return float(ratio.mean())


def _subsample_errors(
    stimuli: MeasuredSet, others: Others, pair: TwoItems, item_counts: tuple[int, ...], rng: np.random.Generator
) -> Array:
    r"""Return standard errors over stimuli of both tests, from the spread between random subsets.

    A subset of :math:`m` out of :math:`N` varies around the whole with variance :math:`(1/m - 1/N)\sigma^2`, the whole
    around the population with :math:`\sigma^2/N`; so the error is the spread times :math:`\sqrt{m/(N-m)}`. What varies
    with pairs of stimuli, not with single ones, makes small subsets spread more than that; it does so for any number of
    items, so the errors are scaled to the jackknife's with two.
    """
    n, most = len(stimuli.similarity), max(item_counts)
    size = min(n // 2, max(SUBSAMPLE_SIZE, 3 * most))
    count = min(SUBSAMPLES, int(OPERATION_BUDGET / (size * _cost(others, stimuli.ties, most, size, TEN_DIGIT_SPACING))))
    if size <= most or count < MIN_SUBSAMPLES:
        return np.full((2, len(item_counts)), np.nan)
    parts = [stimuli.part(rng.choice(n, size, replace=False)).others() for _ in range(count)]
    stacked = Others(*(np.concatenate([getattr(part, name) for part in parts]) for name in _FIELDS))
    known = pair.generalization_error, pair.identification_error
    errors = []
    for values, error in zip(
        tuple_probabilities(stacked, (2, *item_counts), stimuli.ties, TEN_DIGIT_SPACING), known, strict=True
    ):
        per_subset = np.stack([[_mean(column) for column in part.T] for part in np.split(values, count)])
        spread = np.std(per_subset, axis=0, ddof=1)
        errors.append(spread[1:] * (error / spread[0] if spread[0] > 0 else np.sqrt(size / (n - size))))
    return np.stack(errors)


_FIELDS = ("similarity", "own", "tied_with_next", "order")


def _fitted_constant(item_count: Whole, identification: Array) -> float:
    r"""Return the intercept of :math:`n\,p_I^n` against :math:`1/n` over the larger half of the counts."""
    large = item_count >= np.median(item_count)
    if large.sum() < 2:
        return float("nan")
    n = item_count[large].astype(np.float64)
    return float(np.polynomial.polynomial.polyfit(1.0 / n, n * identification[large], 1)[0])


def _unsorted(values: Array, order: Whole) -> Array:
    """Put values back to the columns they came from; the probe's own column is zero."""
    back = np.zeros((len(values), len(values)))
    np.put_along_axis(back, order, values, axis=1)
    return back


def _mean(values: Array) -> float:
    """Return the mean over the probes that have a value, NaN if none has."""
    there = np.isfinite(values)
    return float(values[there].mean()) if there.any() else float("nan")


def _mean_without_own(values: Array) -> Array:
    """Return the mean of each column over the other rows, NaN where none has a value."""
    there = np.isfinite(values)
    np.fill_diagonal(there, False)
    count = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))
