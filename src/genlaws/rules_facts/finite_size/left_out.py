"""Outputs for training samples that were left out of the training, at every regularization.

Ridge regression has them in closed form, each sample left out in turn. Other losses leave out one fold at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole, one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.seeds import generator_of
from genlaws.rules_facts.finite_size.hinge import GAP_TOLERANCE, hinge_path
from genlaws.rules_facts.finite_size.ridge import read_path, ridge_path
from genlaws.rules_facts.parameters import TRAINABLE_LOSSES


def left_out_outputs(
    gram: Array,
    labels: Array,
    loss: str,
    regularization: ArrayLike,
    *,
    folds: int = 5,
    tolerance: float = GAP_TOLERANCE,
    seed: int | np.random.Generator = 0,
) -> Array:
    """Return f at each training input, from a learner that was trained without it, (n, L).

    Parameters
    ----------
    gram : array, (n, n)
    labels : array of ±1, (n,)
    loss : {"square", "hinge"}
        The square loss leaves out one sample at a time, exactly; the hinge loss one of `folds` parts at a time.
    regularization : array_like, (L,)
    folds : int
    tolerance : float
        Relative duality gap of the hinge loss.
    seed : int or Generator
        Assigns the samples to folds, each class evenly.
    """
    one_of("loss", loss, TRAINABLE_LOSSES)
    if loss == "square":
        found = ridge_path(gram, labels, regularization, leave_one_out=True).leave_one_out
        assert found is not None
        return found
    lam, y = read_path(gram, labels, regularization)
    if not np.isin(y, (-1.0, 1.0)).all():
        raise InputError("labels must be +1 or -1 for the hinge loss.")
    part = _assign_folds(y, folds, seed)
    out = np.empty((len(y), len(lam)))
    for fold in range(folds):
        seen, unseen = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
        path = hinge_path(gram[np.ix_(seen, seen)], y[seen], lam, tolerance=tolerance)
        out[unseen] = gram[np.ix_(unseen, seen)] @ path.coefficients
    return out


def _assign_folds(labels: Array, folds: int, seed: int | np.random.Generator) -> Whole:
    """Return the fold of each sample, with each class spread evenly."""
    whole_number("folds", folds, at_least=2)
    smallest = int(min(np.count_nonzero(labels > 0), np.count_nonzero(labels < 0)))
    if smallest < folds:
        raise InputError(
            f"folds must not exceed the number of samples of either label; got {folds}, and one label occurs "
            f"{smallest} times."
        )
    generator = generator_of(seed)
    part = np.empty(len(labels), dtype=np.int64)
    for sign in (1.0, -1.0):
        rows = generator.permutation(np.flatnonzero(labels == sign))
        part[rows] = np.arange(len(rows)) % folds
    return part
