"""Mutual information from distances to near neighbours, after Kraskov, Stögbauer and Grassberger."""

from __future__ import annotations

import numpy as np
from scipy import spatial
from scipy.special import digamma

from genlaws.numerics.arguments import Array, Whole
from genlaws.residual_stream.information_ranks import normal_scores

JITTER = 1e-10  # of the spread of the scores; separates equal values
LEAF = 8  # points in a leaf of the tree; the fastest of 4 to 64
ROUNDING = 4 * np.finfo(np.float64).eps


def neighbour_points(x: Array, y: Array, neighbours: int) -> Array:
    r"""Return what each text adds to the information estimated from near neighbours.

    .. math:: i_t = \psi(k) + \psi(N) - \psi(n_x(t)+1) - \psi(n_y(t)+1)

    Symbols: :math:`k` is `neighbours`; :math:`n_x(t)` is the number of other texts whose x lies strictly closer to that
    of text :math:`t` than its :math:`k`-th neighbour does in the plane, where the distance is the larger of the two
    differences; :math:`\psi` is the digamma function.

    Parameters
    ----------
    x, y : array of shape (pairs, texts)
    neighbours : int in [1, texts - 1]

    Returns
    -------
    array of shape (pairs, texts)

    Notes
    -----
    First algorithm of Kraskov, Stögbauer and Grassberger (Physical Review E 69, 066138, 2004), with exact neighbours.
    Each variable is replaced by its normal scores first: that leaves the information as it is and takes away the
    influence of units and outliers. To every score Gaussian noise of size 1e-10 is added, always the same and different
    for x and y, so that equal values do not stand at the same point.
    """
    count = x.shape[-1]
    noise = JITTER * np.random.default_rng(0).standard_normal((2, count))
    psi = digamma(np.arange(count + 1, dtype=np.float64))
    points = np.empty(x.shape)
    for row, (u, v) in enumerate(zip(normal_scores(x) + noise[0], normal_scores(y) + noise[1], strict=True)):
        plane = np.column_stack((u, v))
        found, _ = spatial.cKDTree(plane, leafsize=LEAF).query(plane, [neighbours + 1], p=np.inf)
        distance = np.asarray(found)[:, 0]
        points[row] = psi[neighbours] + psi[count] - psi[_closer(u, distance)] - psi[_closer(v, distance)]
    return points


def _closer(values: Array, distance: Array) -> Whole:
    """Return how many values lie strictly within the distance of each, itself included."""
    ordered = np.sort(values)
    inside = np.maximum(distance - ROUNDING * max(-ordered[0], ordered[-1]), 0.0)  # the neighbour itself is not closer
    above = np.searchsorted(ordered, values + inside, side="right")
    return np.asarray(above - np.searchsorted(ordered, values - inside, side="left"))
