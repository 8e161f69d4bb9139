r"""Both tests for any similarity, space and number of items, by one integral instead of sampling.

With :math:`\varphi_{>r}(t) = E\big[e^{-t g(d)};\, d > r\big]` over items at a random distance from the probe,

.. math:: p_I^n = \int_0^\infty g(0)\,e^{-t g(0)}\,\varphi_{>0}(t)^{n-1}\,dt, \qquad
    p_S^n = \int_0^\infty\! dt \int n\, g(r)\, e^{-t g(r)}\, \varphi_{>r}(t)^{n-1}\, dF(r) + \frac{P(g = 0)^n}{n}.

The last term is Luce's rule when nothing is similar: every item is equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError
from genlaws.core.numerics.reciprocal import reciprocal_rule
from genlaws.semanticity.theory.finite_sets import MIN_RELATIVE_SIMILARITY
from genlaws.semanticity.theory.radial import RadialDensity, RadialNodes, radial_nodes
from genlaws.semanticity.theory.similarity import Similarity

BLOCK_SIZE = 1 << 20  # numbers held at once
# So close (relative) to the end of a similarity a density holds too little mass to matter.
END_MARGIN = 1e-11
CERTAIN_ITEM_COUNT = 80.0  # expected items; that none of them is there has probability exp(-80)
NEGLIGIBLE_WEIGHT = 1e-18  # a weight that changes no probability
# Largest accepted probability that the nearest two items are both too faint to be distinguished.
MAX_INDISTINCT_PROBABILITY = 1e-10


def probabilities_from_density(
    measure: RadialDensity, similarity: Similarity, item_counts: tuple[int, ...]
) -> tuple[Array, Array]:
    """Return generalization and identification for each item count, where the distance has a density.

    Parameters
    ----------
    measure : RadialDensity
        Of the distance from the probe.
    similarity : Similarity
    item_counts : tuple of int, at least 1
    """
    at_zero = float(similarity(0.0))
    faint = _faint(measure, similarity, item_counts)
    nodes = radial_nodes(measure, similarity, item_counts, faint)
    flat = distinct_similarities(similarity, nodes.distance.ravel(), nodes.mass.ravel(), item_counts, faint)
    g = flat.reshape(nodes.distance.shape)
    t, w = reciprocal_rule(float(g[g > 0].min(initial=at_zero)), max(item_counts) * at_zero)
    similar = np.where(g > 0, nodes.mass, 0.0).sum()
    generalization = np.array([float(_power_of_rest(similar, n)) / n for n in item_counts])
    identification = np.zeros(len(item_counts))
    step = max(1, BLOCK_SIZE // g.size)
    for start in range(0, t.size, step):
        rates = slice(start, start + step)
        right, named = _density_block(nodes, g, at_zero, item_counts, t[rates])
        generalization += right @ w[rates]
        identification += named @ w[rates]
    return generalization, identification


def _faint(measure: RadialDensity, similarity: Similarity, item_counts: tuple[int, ...]) -> float:
    """Return a similarity below which items need not be distinguished, or zero if none is that small.

    Below it lies a negligible part of the space, or what is too small for a computer, or what is too far: some items
    are certain to be nearer, each more similar than all the far ones together.
    """
    at_zero, at_reach = float(similarity(0.0)), float(similarity(measure.reach))
    if at_reach >= MIN_RELATIVE_SIMILARITY * at_zero:
        return 0.0
    at_end = float(similarity((1.0 - END_MARGIN) * min(similarity.support, measure.reach)))
    nodes = radial_nodes(measure, similarity, item_counts, at_zero)
    far = min(item_counts) * nodes.head().ravel() > CERTAIN_ITEM_COUNT
    too_far = float(similarity(nodes.distance.ravel()[far]).max(initial=0.0)) * NEGLIGIBLE_WEIGHT / max(item_counts)
    return max(at_end, too_far, MIN_RELATIVE_SIMILARITY * at_zero)


def _density_block(
    nodes: RadialNodes, g: Array, at_zero: float, item_counts: tuple[int, ...], t: Array
) -> tuple[Array, Array]:
    """Return both integrands, one row for each item count, at the rates `t`."""
    exponent = -t[:, None, None] * g
    fading = -np.expm1(exponent)
    nearest = np.exp(exponent) * (g * nodes.mass)
    gone = nodes.head() + nodes.tail(fading)
    faded = np.tensordot(fading, nodes.mass, axes=2)
    right = [n * (nearest * _power_of_rest(gone, n - 1)).sum(axis=(1, 2)) for n in item_counts]
    named = [at_zero * np.exp(-t * at_zero) * _power_of_rest(faded, n - 1) for n in item_counts]
    return np.array(right), np.array(named)


def _power_of_rest(share: Array, power: int) -> Array:
    """Return ``(1 - share) ** power``, accurate for small shares and large powers; a share above 1 is rounding."""
    part = np.minimum(share, 1.0)
    if power <= 1:
        return 1.0 - power * part
    with np.errstate(divide="ignore"):
        logarithm: Array = np.log1p(-part)
    return np.exp(power * logarithm)


def distinct_similarities(
    similarity: Similarity, distance: Array, mass: Array, item_counts: tuple[int, ...], faint: float = 0.0
) -> Array:
    """Return the similarity at each distance, none of them too small for ratios; refuse where that matters.

    Inside the support what lies below `faint` is raised to it, so that it still wins against nothing at all; outside, a
    background that is too small counts as zero. The last axis of `mass` adds up to 1 or less.
    """
    g = similarity(distance)
    lowest = max(faint, MIN_RELATIVE_SIMILARITY * float(similarity(0.0)))
    inside = distance < similarity.support
    raised = inside & (g < lowest)
    m, nearer = (np.where(part, mass, 0.0).sum(axis=-1).reshape(-1, 1) for part in (raised, inside & ~raised))
    n = np.maximum(np.array(item_counts, dtype=np.float64), 2.0)
    both_faint = 0.5 * (n * m) ** 2 * np.maximum(1.0 - nearer, 0.0) ** (n - 2.0)
    if both_faint.max(initial=0.0) > MAX_INDISTINCT_PROBABILITY:
        raise InputError(
            f"resolution must be coarser than {similarity.resolution:g} for the {similarity.shape.name} similarity: "
            "where the nearest items may lie it is too small for a computer. Or give a background or a cut."
        )
    return np.where(raised, lowest, np.where(g >= lowest, g, 0.0))


def mean_similarities(measures: list[RadialDensity], similarity: Similarity) -> Array:
    """Return the mean similarity seen from each probe."""
    nodes = [radial_nodes(measure, similarity, (1,), float(similarity(0.0))) for measure in measures]
    return np.array([(part.mass * similarity(part.distance)).sum() for part in nodes])


@dataclass(frozen=True)
class _Offers:
    """Distances, masses and similarities seen by some probes, arrays of shape (probes, values), nearest first."""

    distance: Array
    mass: Array
    similarity: Array

    def part(self, rows: slice) -> _Offers:
        return _Offers(self.distance[rows], self.mass[rows], self.similarity[rows])


def probabilities_from_masses(
    distance: Array, mass: Array, similarity: Similarity, item_counts: tuple[int, ...], ties: str = "split"
) -> tuple[Array, Array]:
    r"""Return both tests for each probe, where distances take a few values, drawn with replacement.

    .. math:: p_S^n = \sum_i g_i \int_0^\infty \left[\varphi_{\ge i}(t)^n - \varphi_{>i}(t)^n\right] dt

    for items sorted by distance, which splits ties; items at the same distance have the same similarity, so that their
    terms add up to that of one item with their mass.

    Parameters
    ----------
    distance, mass : arrays of shape (probes, values)
        Each row sorted by distance, the masses of a row adding up to 1.
    similarity : Similarity
    item_counts : tuple of int, at least 1
    ties : {"split", "drop"}

    Returns
    -------
    generalization, identification : arrays of shape (probes, len(item_counts))
        With ties left out, a probe without any untied set of items gives NaN.
    """
    at_zero = float(similarity(0.0))
    g = distinct_similarities(similarity, distance, mass, item_counts)
    rule = reciprocal_rule(float(g[g > 0].min(initial=at_zero)), max(item_counts) * at_zero)
    offers = _Offers(distance, mass, g)
    generalization, identification = np.empty((2, len(g), len(item_counts)))
    step = max(1, BLOCK_SIZE // (g.shape[1] * rule[0].size))
    for start in range(0, len(g), step):
        rows = slice(start, start + step)
        generalization[rows], identification[rows] = _mass_block(offers.part(rows), at_zero, item_counts, ties, rule)
    return generalization, identification


def _mass_block(
    offers: _Offers, at_zero: float, item_counts: tuple[int, ...], ties: str, rule: tuple[Array, Array]
) -> tuple[Array, Array]:
    t, w = rule
    g, mass = offers.similarity, offers.mass
    exponent = -t[:, None] * g[:, None, :]
    x = mass[:, None, :] * np.exp(exponent)
    log_here = _log_tail(x, -mass[:, None, :] * np.expm1(exponent))
    similar = np.where(g > 0, mass, 0.0).sum(axis=1)
    generalization, identification = np.empty((2, len(g), len(item_counts)))
    for column, n in enumerate(item_counts):
        named = np.exp((n - 1.0) * log_here[..., 0] - t * at_zero)
        identification[:, column] = at_zero * named @ w
        if ties == "split":
            nearest = _difference_of_powers(log_here, x, n)
            generalization[:, column] = np.einsum("q,pqi,pi->p", w, nearest, g) + _power_of_rest(similar, n) / n
        else:
            generalization[:, column] = _untied(offers, x, log_here, n, w)
    return generalization, identification


def _log_tail(remaining: Array, lost: Array) -> Array:
    """Return the logarithm of the sum of `remaining` from each place to the end; `remaining` and `lost` add up to 1.

    Near 1 it is computed from what is missing, so that it stays accurate when it is multiplied by a million items.
    """
    tail = _sum_from(remaining)
    mass = remaining + lost
    missing = _sum_from(lost) + (np.cumsum(mass, axis=-1) - mass)
    with np.errstate(divide="ignore"):
        return np.where(tail < 0.5, np.log(tail), np.log1p(-np.minimum(missing, 1.0)))


def _sum_from(values: Array) -> Array:
    return np.cumsum(values[..., ::-1], axis=-1)[..., ::-1]


def _difference_of_powers(log_here: Array, x: Array, n: int) -> Array:
    r"""Return :math:`a^n - (a-x)^n` as :math:`a^n[1 - (1-x/a)^n]`, which is zero where x is, whatever the rounding."""
    tail = np.exp(log_here)
    share = np.minimum(np.divide(x, tail, out=np.zeros(tail.shape), where=tail > 0), 1.0)
    with np.errstate(divide="ignore"):
        missed: Array = np.expm1(n * np.log1p(-share))
    return -np.exp(n * log_here) * missed


def _untied(offers: _Offers, x: Array, log_here: Array, n: int, w: Array) -> Array:
    """Count sets whose nearest item is not tied; items farther than one without similarity have none either."""
    g, mass = offers.similarity, offers.mass
    farther = np.array([np.searchsorted(row, row, side="right") for row in offers.distance])

    def log_beyond(log_tail: Array) -> Array:
        ended = np.concatenate([log_tail, np.full((*log_tail.shape[:-1], 1), -np.inf)], axis=-1)
        return np.take_along_axis(ended, farther[:, None, :], axis=-1)

    if n == 1:
        return np.ones(len(g))
    untied = mass * np.exp((n - 1.0) * log_beyond(_log_tail(mass, np.zeros(mass.shape))[:, None])[:, 0])
    chosen = np.einsum("q,pqi,pi->p", w, x * np.exp((n - 1.0) * log_beyond(log_here)), g)
    all_alike = np.where(g == 0, untied, 0.0).sum(axis=1) / n
    with np.errstate(invalid="ignore"):
        answer: Array = (chosen + all_alike) / untied.sum(axis=1)
    return answer
