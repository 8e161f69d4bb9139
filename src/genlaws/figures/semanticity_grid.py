r"""Resolutions at which a front looks smooth: dense around its peak, wherever that lies for n items.

With x evenly spaced between 0 and 1 the odds :math:`x/(1-x)` run from near zero to very large, half of them below 1.
The peak lies where a ball holds one or two items, so the odds are scaled by one over n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ENDS = 0.005  # distance of the first and the last x from 0 and 1
PEAK_RADIUS = 0.6  # rough place of the peak: resolution over reach, times n
PEAK_ITEMS = 2.0  # rough odds of the peak's ball mass, times n


def smooth_resolutions(reach: float, item_count: int, points: int) -> NDArray[np.float64]:
    """Return resolutions from fine to coarse for a similarity that changes smoothly with its resolution.

    Parameters
    ----------
    reach : float
        Largest distance of the space.
    item_count : int
    points : int
    """
    return PEAK_RADIUS * reach / item_count * _odds(points)


def even_ball_masses(item_count: int, points: int) -> NDArray[np.float64]:
    """Return ball masses from near 0 to near 1; for two items they are evenly spaced."""
    scaled = PEAK_ITEMS / item_count * _odds(points)
    return scaled / (1.0 + scaled)


def _odds(points: int) -> NDArray[np.float64]:
    x = np.linspace(ENDS, 1.0 - ENDS, points)
    return x / (1.0 - x)
