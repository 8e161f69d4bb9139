"""Exact posterior where an entry tells of its mirror image alone."""

from __future__ import annotations

import numpy as np

from genlaws.numerics.arguments import Mask, Whole
from genlaws.numerics.errors import InputError
from genlaws.relations.hypotheses import Entrywise
from genlaws.relations.posterior import Posterior, bound
from genlaws.relations.training_set import CONTRADICTION_HINT, TrainingSet

# The pairs (R_ij, R_ji) each rule allows; all are equally likely before anything is seen.
ALLOWED: dict[str, list[tuple[int, int]]] = {
    "free": [(0, 0), (0, 1), (1, 0), (1, 1)],
    "symmetric": [(0, 0), (1, 1)],
    "antisymmetric": [(0, 0), (0, 1), (1, 0)],
    "tournament": [(0, 1), (1, 0)],
}
DIAGONAL = {"free": [0, 1], "ones": [1], "zeros": [0]}


def entrywise_posterior(training_set: TrainingSet, hypotheses: Entrywise) -> Posterior:
    """Return the law when all relations that keep to the rule for mirror images and diagonal are equally likely."""
    n = training_set.element_count
    known = np.full((n, n), -1)
    known[training_set.pairs[:, 0], training_set.pairs[:, 1]] = training_set.values
    options = np.array(ALLOWED[hypotheses.pair_rule])
    fits = ((known[..., None] < 0) | (known[..., None] == options[:, 0])) & (
        (known.T[..., None] < 0) | (known.T[..., None] == options[:, 1])
    )
    alone = np.array(DIAGONAL[hypotheses.diagonal])
    fits_alone = (known.diagonal()[:, None] < 0) | (known.diagonal()[:, None] == alone)
    count, count_alone = fits.sum(axis=2), fits_alone.sum(axis=1)
    np.fill_diagonal(count, count_alone)
    if (count == 0).any():
        i, j = np.argwhere(count == 0)[0]
        first, second = training_set.names[i], training_set.names[j]
        entries = f"({first}, {second})" if i == j else f"({first}, {second}) and ({second}, {first})"
        raise InputError(f"The training set contradicts the class '{hypotheses}' at {entries}. {CONTRADICTION_HINT}")
    probability = (fits * options[:, 0]).sum(axis=2) / count
    np.fill_diagonal(probability, (fits_alone * alone).sum(axis=1) / count_alone)
    bits_left = float(np.log2(count[np.triu_indices(n)]).sum())

    def draw(draws: int, generator: np.random.Generator) -> Mask:
        """Return so many tables that agree with the known entries."""
        chosen = _pick(fits, draws, generator)
        tables = np.triu(options[chosen, 0], 1) + np.swapaxes(np.triu(options[chosen, 1], 1), 1, 2)
        own = alone[_pick(fits_alone, draws, generator)]
        tables[:, np.arange(n), np.arange(n)] = own
        return np.asarray(tables == 1)

    return Posterior(training_set, probability, bound(probability), bits_left, draw_tables=draw)


def _pick(fits: Mask, draws: int, generator: np.random.Generator) -> Whole:
    """Return for each draw one of the options (last axis) that fit, each with the same chance."""
    fitting_first = np.argsort(~fits, axis=-1, kind="stable")
    number = generator.integers(0, np.maximum(fits.sum(axis=-1), 1), (draws, *fits.shape[:-1]))
    return np.take_along_axis(fitting_first[None], number[..., None], axis=-1)[..., 0]
