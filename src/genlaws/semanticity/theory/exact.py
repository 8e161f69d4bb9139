"""Both probabilities at one resolution, exact: of a space, or of a set of stimuli that are drawn at most once each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array, one_of, whole_number
from genlaws.semanticity.theory.finite_sets import TIES
from genlaws.semanticity.theory.luce import (
    mean_similarities,
    probabilities_from_density,
    probabilities_from_masses,
)
from genlaws.semanticity.theory.many_items import generalization_of_many, identification_of_many
from genlaws.semanticity.theory.similarity import Similarity
from genlaws.semanticity.theory.spaces import DiscreteSpace, Space
from genlaws.semanticity.theory.stimulus_sets import EvenSet, StimulusSet, mean_over_probes

MIN_EDGE_DISTANCE = 1e-12  # distance from an edge; closer to it there are too few probes to matter
Items = Space | StimulusSet | EvenSet  # where the items come from


@dataclass(frozen=True)
class FrontPoint:
    r"""Both probabilities at one resolution.

    Attributes
    ----------
    item_count : int
    resolution : float
    ball_mass, ball_mass_variance : float
        Mean and variance over probes of the share of the space within the resolution.
    generalization, identification : float
        :math:`p_S^n` and :math:`p_I^n`.
    collapse_constant : float
        c in :math:`p_I^n \to c/n`: the similarity at no distance over the mean similarity, averaged over probes.
    """

    item_count: int
    resolution: float
    ball_mass: float
    ball_mass_variance: float
    generalization: float
    identification: float
    collapse_constant: float

    @property
    def diagonal_gap(self) -> float:
        """Identification minus generalization; zero where the front crosses the diagonal."""
        return self.identification - self.generalization


def probabilities(where: Items, similarity: Similarity, item_count: int = 2, ties: str = "split") -> FrontPoint:
    """Return both probabilities at the resolution of the similarity.

    Closed form for the constant similarity, otherwise one integral or one sum; nothing is sampled.

    Parameters
    ----------
    where : Space, StimulusSet or EvenSet
        Items are drawn independently from a space; from a set each stimulus is drawn at most once.
    similarity : Similarity
    item_count : int, at least 1; in a set of N stimuli from 2 to N - 1
    ties : {"split", "drop"}
        What to do, where there are finitely many distances, with items equally near to the probe.

    References
    ----------
    :cite:p:`nurisso2026`, Theorems 1 to 3 and Proposition 1, extended to any similarity and space.
    """
    n = whole_number("item_count", item_count, at_least=1)
    one_of("ties", ties, TIES)
    if isinstance(where, StimulusSet | EvenSet):
        generalization, identification = (float(part[0]) for part in where.probabilities(similarity, (n,), ties))
        constant = where.collapse_constant(similarity)
    else:
        generalization, identification = _probabilities_in_space(where, similarity, n, ties)
        constant = _collapse_constant(where, similarity)
    mean, variance = (float(moment) for moment in where.ball(np.array(similarity.resolution)))
    chances = (min(generalization, 1.0), min(identification, 1.0))  # rounding may lift them above 1
    resolution = math.nan if isinstance(where, EvenSet) else similarity.resolution
    return FrontPoint(n, resolution, mean, variance, *chances, constant)


def _probabilities_in_space(where: Space, similarity: Similarity, n: int, ties: str) -> tuple[float, float]:
    discrete = isinstance(where, DiscreteSpace)
    if similarity.is_constant and where.homogeneous and (ties == "split" or not discrete):
        b = where.ball(np.array(similarity.support))[0]
        s, i = (test(b, n, similarity.background) for test in (generalization_of_many, identification_of_many))
        return float(s.squeeze()), float(i.squeeze())
    if isinstance(where, DiscreteSpace):
        both = probabilities_from_masses(where.distance, where.mass, similarity, (n,), ties)
        s, i = (mean_over_probes(part, where.probe_mass)[0] for part in both)
        return float(s), float(i)
    weights, measures = zip(*where.probes(probe_kinks(similarity, n)), strict=True)
    values = [probabilities_from_density(measure, similarity, (n,)) for measure in measures]
    s, i = np.array(weights) @ np.array(values)[..., 0]
    return float(s), float(i)


def probe_kinks(similarity: Similarity, n: int) -> tuple[float, ...]:
    """Return distances from an edge of the space between which the view of a probe changes smoothly.

    It changes at the kinks, over the resolution, where the similarity sinks into its background, and over the distance
    of the nearest item, which is followed down to 0.001; a similarity that goes to zero adds a weak singularity at its
    end.
    """
    finest = max(min(similarity.resolution, max(1.0 / n, 1e-3)), MIN_EDGE_DISTANCE)
    doubling = finest * 2.0 ** np.arange(max(0.0, np.ceil(-np.log2(finest))))
    before_end = similarity.support * (1.0 - 4.0 ** -np.arange(1.0, 4.0))
    sinking = _distances_of(similarity, similarity.background * (1.0 + 10.0 ** np.arange(2.0, -3.0, -1.0)))
    return (*similarity.kinks, *doubling[doubling < similarity.support].tolist(), *before_end.tolist(), *sinking)


def _distances_of(similarity: Similarity, levels: Array) -> list[float]:
    """Return the distances up to 1 at which the similarity sinks through each level, by bisection."""
    low, high = np.zeros(levels.shape), np.ones(levels.shape)
    for _ in range(40):
        middle = 0.5 * (low + high)
        above = similarity(middle) > levels
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return [float(distance) for distance in np.unique(high[(low > 0) & (high < 1)])]


def _collapse_constant(where: Space, similarity: Similarity) -> float:
    if isinstance(where, DiscreteSpace):
        mean = (similarity(where.distance) * where.mass).sum(axis=1)
        weights = where.probe_mass
    else:
        probes = where.probes(probe_kinks(similarity, 1))
        mean = mean_similarities([measure for _, measure in probes], similarity)
        weights = np.array([weight for weight, _ in probes])
    with np.errstate(divide="ignore", over="ignore"):
        return float((float(similarity(0.0)) / mean) @ weights)
