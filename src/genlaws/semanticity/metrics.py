"""How far apart stimuli truly are: from their positions and a metric, a tree, or a matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from genlaws.numerics.arguments import Array, one_of, positive, real, scalar
from genlaws.numerics.errors import InputError
from genlaws.semanticity.newick import leaf_distances

METRICS = ("circle", "euclidean", "cosine", "tree", "precomputed")

Distances = Callable[[Array, Array], Array]


def distances_between(metric: str, *, period: float = 1.0) -> Distances:
    """Return the function from two arrays of positions to the matrix of distances between them.

    Parameters
    ----------
    metric : {"circle", "euclidean", "cosine", "tree"}
        ``circle``: one number per stimulus, the shorter way round a circle of length `period`. ``tree``: one row of
        group labels per stimulus, from the coarsest group to the finest; the distance of two is twice the number of
        levels on which they differ. ``cosine``: one minus the cosine of the angle.
    period : float > 0
        Of the circle alone.
    """
    one_of("metric", metric, METRICS[:-1], "A matrix of distances is given as distances.")
    length = float(scalar("period", positive("period", period)))
    if metric == "circle":
        return lambda one, other: _around(one, other, length)
    if metric == "tree":
        return _levels_apart
    if metric == "cosine":
        return lambda one, other: np.maximum(cdist(_rows(one), _rows(other), "cosine"), 0.0)
    return lambda one, other: cdist(_rows(one), _rows(other))


def check_positions(positions: ArrayLike, metric: str) -> Array:
    """Return positions that fit the metric, one row or number per stimulus."""
    p = real("positions", _numbered(positions) if metric == "tree" else positions)
    if not np.isfinite(p).all():
        raise InputError("positions must be finite numbers.")
    if metric == "circle":
        if p.ndim == 2 and p.shape[1] == 1:
            p = p[:, 0]
        if p.ndim != 1:
            raise InputError(f"positions on a circle must be one number per stimulus; got shape {p.shape}.")
    elif p.ndim not in {1, 2}:
        raise InputError(f"positions must be a number or a row per stimulus; got shape {p.shape}.")
    if metric == "cosine" and (p.ndim == 1 or not np.linalg.norm(p, axis=1).all()):
        raise InputError("positions for the cosine metric must be rows of several numbers, none of them all zero.")
    return p


def tree_distances(newick: str, leaves: Sequence[str] | None = None) -> Array:
    """Return the distances between the leaves of a tree in Newick format along its branches.

    Parameters
    ----------
    newick : str
    leaves : sequence of str or None
        Names in the wanted order; the tree's own order if not given.
    """
    names, distances = leaf_distances(newick)
    if leaves is None:
        return distances
    place = {name: index for index, name in enumerate(names)}
    missing = [name for name in leaves if name not in place]
    if missing:
        raise InputError(
            f"leaves must be names of the tree; {len(missing)} of {len(leaves)} are not in it, "
            f"the first is {missing[0]!r}. The tree's names look like {names[0]!r}."
        )
    rows = [place[name] for name in leaves]
    return distances[np.ix_(rows, rows)]


def _numbered(labels: ArrayLike) -> ArrayLike:
    """Return group labels as numbers, words as the place in their order."""
    try:
        array = np.asarray(labels)
    except ValueError:
        return labels
    if array.dtype.kind not in "USO":
        return array
    if any(label is None or (isinstance(label, float) and math.isnan(label)) for label in array.ravel().tolist()):
        raise InputError("positions for the tree metric must have a label on every level; some are missing.")
    return np.unique(array.astype(str), return_inverse=True)[1].reshape(array.shape)


def _rows(positions: Array) -> Array:
    return positions[:, None] if positions.ndim == 1 else positions


def _around(one: Array, other: Array, period: float) -> Array:
    apart = np.abs(np.subtract.outer(one.ravel(), other.ravel())) % period
    return np.minimum(apart, period - apart)


def _levels_apart(one: Array, other: Array) -> Array:
    """Return twice the levels below the last common group."""
    first, second = _rows(one), _rows(other)
    same = np.ones((len(first), len(second)), dtype=bool)
    shared = np.zeros(same.shape)
    for level in range(first.shape[1]):
        same = same & np.equal.outer(first[:, level], second[:, level])
        shared += same
    apart: Array = 2.0 * (first.shape[1] - shared)
    return apart
