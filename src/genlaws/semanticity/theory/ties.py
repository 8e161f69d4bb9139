"""When two distances are the same: equal but for rounding, in a matrix, a dated tree or computed numbers.

`tie_tolerance` says how far apart two neighbors in order may be; `merge_ties` and `round_distances` make equal ones
equal, by that tolerance in a matrix and on a grid where distances are grouped by value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from genlaws.core.arguments import Array

COMPUTED_TOLERANCE = 1e-12  # of the largest distance; 0.3 - 0.1 and 0.2 are the same distance
STORED_ULPS = 8.0  # units in the last place by which a distance may be off
# What makes a matrix a dated tree but for rounding. Its distances are sums of branch lengths, each rounded to a decimal
# or to six digits as %g writes them, and the sums may be off by this many such units.
ROUNDED_TERMS, SIX_DIGITS = 16.0, 1e-6
MAX_OFF_SHARE = 0.05  # the most they may be off, of the range of heights and of the short distances
MIN_PAIRS = 10  # those of five leaves; fewer are too often close to a dated tree by chance
GRID_STEP = 1e-9  # of the largest distance; distances that are grouped by value are rounded to multiples of it


def tie_tolerance(distances: NDArray[Any]) -> float:
    r"""Return by how much two distances of a matrix may differ that are equal but for rounding.

    Equal distances that were computed in different ways differ by a few units in the last place. These are units of 32
    bits if all numbers fit into 32 bits, whatever the type of the array. In a dated tree, two leaves on one side of a
    split are equally far from a leaf on the other side. If branch lengths were rounded to a few decimals, the sums over
    branches differ slightly. So if the matrix is a dated tree but for rounding, the tolerance is the smallest one that
    makes it exactly a dated tree: the largest :math:`d_{ij} - u_{ij}`, where :math:`u_{ij}` is the height at which
    single linkage joins i and j (the largest ultrametric below the distances).

    `distances` (array of shape (N, N)): symmetric, with zeros on the diagonal.

    Notes
    -----
    A matrix of at least five leaves counts as a dated tree but for rounding if every :math:`d_{ij} - u_{ij}` is at most
    16 times the smallest step between two distances, or 16 millionths of :math:`d_{ij}`, and the largest of them is at
    most 5 % of the range of the heights and of the tenth percentile of the distances. Whole numbers count as exact.

    What this guarantees: in any other matrix neighboring distances are tied only if they differ by at most
    :math:`10^{-12}` of the largest distance (:math:`10^{-6}` for numbers of 32 bits). In a dated tree, distances that
    the tree makes equal are always tied, and neighboring distances that differ by more than these do are not.
    """
    d = np.asarray(distances, dtype=np.float64)
    largest = float(d.max())
    stored = STORED_ULPS * unit_in_last_place(distances) * largest
    return max(COMPUTED_TOLERANCE * largest, stored, _rounding_of_tree(squareform(d, checks=False)))


def merge_ties(distances: Array) -> Array:
    """Return a matrix in which distances of a row that are equal but for rounding are equal, the smallest of them."""
    order = np.argsort(distances, axis=1, kind="stable")
    ordered = np.take_along_axis(distances, order, axis=1)
    starts = np.diff(ordered, prepend=-np.inf, axis=1) > tie_tolerance(distances)
    merged = np.empty_like(ordered)
    np.put_along_axis(merged, order, np.maximum.accumulate(np.where(starts, ordered, -np.inf), axis=1), axis=1)
    return merged


def round_distances(distances: Array, step: float) -> Array:
    """Return distances as multiples of a step, so that those that differ by rounding alone become equal; 0 leaves them.

    `step`: such as `GRID_STEP` times the largest distance.
    """
    return np.round(distances / step) * step if step > 0 else distances


def unit_in_last_place(array: NDArray[Any]) -> float:
    """Return the relative spacing of the numbers of an array, of 32 bits if all fit into them; whole ones are exact."""
    if array.dtype.kind != "f" or not (array % 1.0).any():
        return 0.0
    with np.errstate(over="ignore"):
        short = array.dtype == np.float64 and bool((array == array.astype(np.float32)).all())
    return float(np.finfo(np.float32 if short else array.dtype).eps)


def _rounding_of_tree(pairs: Array) -> float:
    """Return the largest difference between distances that a dated tree makes equal; zero if they are no such tree."""
    if pairs.size < MIN_PAIRS or not (pairs % 1.0).any():
        return 0.0
    heights = cophenet(linkage(pairs, "single"))
    excess = pairs - heights
    largest = float(excess.max())
    if largest > MAX_OFF_SHARE * min(float(np.ptp(heights)), float(np.quantile(pairs[pairs > 0], 0.1))):
        return 0.0
    steps = np.diff(np.unique(pairs))
    unit = steps[steps > COMPUTED_TOLERANCE * pairs.max()].min(initial=np.inf)
    rounded = excess <= ROUNDED_TERMS * np.maximum(unit, SIX_DIGITS * pairs)
    return largest if rounded.all() else 0.0
