r"""How far a parameter can move before the recorded choices become too unlikely.

The profile of a parameter is the largest log-likelihood that the others can reach while it is held. Its interval is
where twice the drop from the maximum, the deviance, stays below the 95 % point of :math:`\chi^2_1`. The root of the
deviance is nearly straight, and its slope is known from the gradient, so a few Newton steps find each end.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, stats

from genlaws.semanticity.choice_ascent import Optimum
from genlaws.semanticity.choice_model import BACKGROUND, EXPONENT, LAPSE, RESOLUTION
from genlaws.semanticity.choice_search import Search

LEVEL = 0.95
DEVIANCE = float(stats.chi2.ppf(LEVEL, 1))
# A jump that moves with a parameter is no regular problem. The likelihood ratio to either side of the true place is a
# martingale, so it exceeds e^x with probability at most e^-x, and both sides stay below with (1 - e^-x)² = 95 %.
JUMP_DEVIANCE = -2.0 * float(np.log1p(-np.sqrt(LEVEL)))
ON_TARGET = 2e-4  # of the root of the deviance; moves the end of an interval by a ten-thousandth of its length
BETTER = 1e-4  # log-likelihood by which a point found on the way must exceed the maximum to replace it
RIDGE_RISE = 1e-2  # the same where the maximum is a place on a ridge that rises ever more slowly and has no top
MOST_PROBES = 60
FAR_BELOW = 1e6  # stands for minus infinity where a root is looked for
NO_DROP = 0.1  # share of the target below which the root of the deviance does not tell the distance to go
NEARER = 0.1
WIDE = 4.0  # ratio of two distances above which the next one is their geometric mean
SLACK = 1.0  # log-likelihood that a stretch without an ascent may gain by one


class BetterPointError(Exception):
    """On the way along a profile a point was found that is likelier than the maximum."""

    def __init__(self, optimum: Optimum) -> None:
        super().__init__("a likelier point was found")
        self.optimum = optimum


def interval_ends(search: Search, best: Optimum, number: int) -> tuple[float, float]:
    """Return the two ends of the interval of a coordinate.

    Where the wall of the box is reached the end is that of the parameter: 0 or 1 for background and lapse, infinite for
    the others.

    Raises
    ------
    BetterPointError
        If the profile passes a point that is likelier than `best`.
    """
    if number == RESOLUTION and search.edges.size:
        ends = [_rough_end(search, best, direction) for direction in (-1, 1)]
    else:
        ends = [_end(search, best, number, direction) for direction in (-1, 1)]
    return ends[0], ends[1]


def _wall(number: int, direction: int) -> float:
    if number in (BACKGROUND, LAPSE):
        return 0.0 if direction < 0 else 1.0
    return direction * np.inf


def _end(search: Search, best: Optimum, number: int, direction: int) -> float:
    """Follow the profile away from the maximum until the root of the deviance reaches its target."""
    if number in search.at_limit and direction == (1 if number == EXPONENT else -1):
        return _wall(number, direction)
    start = float(best.point[number])
    room = abs(float((search.box.low if direction < 0 else search.box.high)[number]) - start)
    target = float(np.sqrt(DEVIANCE))
    inside, outside, near = 0.0, np.inf, best
    growth = 5.0  # squared in the course where an end may be many orders of magnitude away
    far = min(target * _standard_error(search, best, number), room)
    for _ in range(MOST_PROBES):
        if inside >= room:
            return _wall(number, direction)
        found = search.profile(number, start + direction * far, near.point)
        if found.value > best.value + (RIDGE_RISE if BACKGROUND in search.at_limit else BETTER):
            raise BetterPointError(found)
        root = _root_of_deviance(best, found)
        if abs(root - target) < ON_TARGET:
            break
        if root < target:
            inside, near = far, found
        else:
            outside = far
        if outside - inside < ON_TARGET * inside:
            found, far = search.profile(number, start + direction * outside, near.point), outside
            root = _root_of_deviance(best, found)
            if root >= target:
                break
            inside, outside, near = far, np.inf, found  # the climb that came from farther off had been lost
        newton = far + (target - root) * _inverse_slope(search, found, number, direction, root)
        if np.isinf(outside):
            reach, growth = min(growth * far, room), growth * growth if search.thorough else growth
            far = min(max(newton, 1.2 * far), reach) if np.isfinite(newton) and root > NO_DROP * target else reach
        else:
            far = newton if inside < newton < outside else _between(inside, outside)
    else:
        far = outside  # not found: the end farther out is the safe one
    return _wall(number, direction) if far >= room else start + direction * far


def _between(inside: float, outside: float) -> float:
    """Return a distance between two: an end may be many orders of magnitude nearer than the first one tried."""
    if inside == 0:
        return NEARER * outside
    return float(np.sqrt(inside * outside)) if outside > WIDE * inside else 0.5 * (inside + outside)


def _root_of_deviance(best: Optimum, found: Optimum) -> float:
    return float(np.sqrt(max(2.0 * (best.value - found.value), 0.0)))


def _inverse_slope(search: Search, found: Optimum, number: int, direction: int, root: float) -> float:
    """Return how far to go for one unit of the root of the deviance; infinite where it does not grow."""
    if not np.isfinite(found.value):
        return np.inf
    downhill = -direction * float(search.likelihood.evaluate(found.point, np.array([number])).gradient[0])
    return root / downhill if downhill > 0 else np.inf


def _standard_error(search: Search, best: Optimum, number: int) -> float:
    """Return the expected standard error of a coordinate with all others free."""
    free = search.box.free
    if search.edges.size and search.likelihood.shape == "constant":
        free = free[free != RESOLUTION]
    information = search.likelihood.evaluate(best.point, free).information
    scale = np.sqrt(np.maximum(np.diag(information), 1e-12))
    scaled = information / np.outer(scale, scale) + 1e-9 * np.eye(len(free))
    variance = np.diag(np.linalg.inv(scaled)) / scale**2
    return float(np.sqrt(variance[free == number][0]))


def _rough_end(search: Search, best: Optimum, direction: int) -> float:
    """Return the end of the outermost stretch of the resolution that is likely enough."""
    top = max(search.visited.values(), key=lambda found: found.value)
    if top.value > best.value + BETTER:
        raise BetterPointError(top)
    jump = search.likelihood.shape == "constant"
    lowest = best.value - 0.5 * (JUMP_DEVIANCE if jump else DEVIANCE)
    ranks = sorted(search.visited, reverse=direction > 0)
    likely = (r for r in ranks if search.visited[r].value > lowest - SLACK and search.at_stretch(r).value > lowest)
    rank = next(likely)
    if rank == ranks[0]:
        return _wall(RESOLUTION, direction)
    edge, found = float(search.edges[rank - 1 if direction < 0 else rank]), search.visited[rank]

    def excess(place: float) -> float:
        return max(search.profile(RESOLUTION, place, found.point).value - lowest, -FAR_BELOW)

    if jump or excess(edge) > 0:
        return edge
    return float(optimize.brentq(excess, edge, float(found.point[RESOLUTION]), xtol=1e-6))
