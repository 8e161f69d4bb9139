r"""How much each write to a residual stream changes generalization and identification, paired over stimuli.

Both sites see the same stimuli, so the change of either test has an interval of its own: it is computed without each
stimulus in turn, at both sites, and the spread of the differences gives the jackknife's standard error

.. math:: \mathrm{se}^2 = \frac{N-1}{N} \sum_i \big(D_{-i} - \bar D\big)^2, \qquad
    D_{-i} = p^{\text{after}}_{-i} - p^{\text{before}}_{-i}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from genlaws.core.arguments import Array
from genlaws.core.estimate import Estimate, from_standard_error, jackknife_error
from genlaws.models.stream import Site
from genlaws.semanticity.measurement.tests import MeasuredSet, left_out_tests

HOLM_LEVEL = 0.05  # of Holm's procedure over all writes and both tests
PROBABILITY_TOLERANCE = 1e-12  # of averages of probabilities; a smaller change or error counts as zero
TESTS = ("generalization", "identification")


@dataclass(frozen=True)
class BothTests:
    """Generalization and identification with two items, and the same without each stimulus.

    Attributes
    ----------
    values : array of shape (2,)
        Generalization, then identification.
    without : array of shape (2, N)
        The same over the other N - 1 stimuli; NaN where they have no trial that counts.
    """

    values: Array
    without: Array


@dataclass(frozen=True)
class Change:
    """By how much one test changes.

    Attributes
    ----------
    estimate : Estimate
        The change with its paired 95 % interval.
    p_value : float
        Of a change of zero, two-sided, from Student's t with N - 1 degrees of freedom; NaN if there is no error.
    adjusted : float
        The same after Holm's procedure over all changes that were tested together.
    """

    estimate: Estimate
    p_value: float
    adjusted: float

    @property
    def direction(self) -> str:
        """``up`` or ``down`` where the change is significant after Holm's procedure at 5 %, otherwise ``unclear``."""
        if not self.adjusted <= HOLM_LEVEL:
            return "unclear"
        return "up" if self.estimate.value > 0 else "down"


@dataclass(frozen=True)
class WriteChange:
    """What one write does to both tests.

    Attributes
    ----------
    site : Site
        Where the stream is read before the write; its place is what writes: attention, mlp or block.
    after : Site
        The next one.
    generalization, identification : Change
    """

    site: Site
    after: Site
    generalization: Change
    identification: Change


@dataclass(frozen=True)
class TotalChange:
    """What all writes of one kind do together: the sum of their changes.

    Attributes
    ----------
    kind : {"attention", "mlp", "block"}
    write_count : int
    generalization, identification : Change
        Tested together with the other kinds, not with the single writes.
    """

    kind: str
    write_count: int
    generalization: Change
    identification: Change


def both_tests(stimuli: MeasuredSet) -> BothTests:
    """Return both tests over all triples of different stimuli, and over those without each stimulus in turn."""
    values, without = left_out_tests(stimuli.others(), stimuli.ties)
    return BothTests(np.array(values), without)


def write_changes(sites: Sequence[Site], tests: Sequence[BothTests], steps: Sequence[int]) -> tuple[WriteChange, ...]:
    """Return the changes from each site to the next.

    Parameters
    ----------
    sites : sequence of Site
        In the order of the network.
    tests : sequence of BothTests
        On the same stimuli at every site.
    steps : sequence of int
        The places in `sites` from which one write leads to the next.
    """
    found = [
        _change(tests[at + 1].values - tests[at].values, tests[at + 1].without - tests[at].without) for at in steps
    ]
    return tuple(WriteChange(sites[at], sites[at + 1], *pair) for at, pair in zip(steps, _adjusted(found), strict=True))


def total_changes(sites: Sequence[Site], tests: Sequence[BothTests], steps: Sequence[int]) -> tuple[TotalChange, ...]:
    """Return the sums of the changes over the writes of each kind; parameters as in `write_changes`."""
    kinds = tuple(dict.fromkeys(sites[at].place for at in steps))
    groups = [[at for at in steps if sites[at].place == kind] for kind in kinds]
    found = [
        _change(
            np.sum([tests[at + 1].values - tests[at].values for at in group], axis=0),
            np.sum([tests[at + 1].without - tests[at].without for at in group], axis=0),
        )
        for group in groups
    ]
    return tuple(
        TotalChange(kind, len(group), *pair) for kind, group, pair in zip(kinds, groups, _adjusted(found), strict=True)
    )


def _change(values: Array, without: Array) -> list[tuple[Estimate, float]]:
    """Return the change of either test with its interval and p-value."""
    n = without.shape[1]
    found = []
    for value, left in zip(values.tolist(), without, strict=True):
        error = jackknife_error(left)
        found.append((from_standard_error(value, error, n), _p_value(value, error, n - 1)))
    return found


def _p_value(value: float, error: float, freedom: int) -> float:
    """Return the two-sided p-value of Student's t; without any error a change is certain, or there is none."""
    if not math.isfinite(value + error):
        return math.nan
    if abs(value) <= PROBABILITY_TOLERANCE:
        return 1.0
    if error <= PROBABILITY_TOLERANCE:
        return 0.0
    return float(2.0 * special.stdtr(freedom, -abs(value) / error))


def _adjusted(found: Sequence[list[tuple[Estimate, float]]]) -> list[list[Change]]:
    """Return the changes of both tests with p-values adjusted over all of them."""
    raw = np.array([[p for _, p in pair] for pair in found]).reshape(len(found), len(TESTS))
    adjusted = holm(raw.ravel()).reshape(raw.shape)
    return [
        [Change(estimate, p, float(after)) for (estimate, p), after in zip(pair, row, strict=True)]
        for pair, row in zip(found, adjusted, strict=True)
    ]


def holm(p_values: ArrayLike) -> Array:
    r"""Return p-values adjusted by Holm's procedure, which bounds the chance of rejecting any true null hypothesis.

    .. math:: \tilde p_{(k)} = \max_{j \le k} \min\big(1, (m - j + 1)\, p_{(j)}\big)

    Valid however the tests depend on each other. Values that are NaN stay so and do not count among the :math:`m`.

    Parameters
    ----------
    p_values : array_like of shape (m,)
    """
    given = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(given))
    order = known[np.argsort(given[known], kind="stable")]
    adjusted = np.full(given.shape, np.nan)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(given[order] * (known.size - np.arange(known.size))))
    return adjusted
