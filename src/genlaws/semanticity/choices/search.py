r"""Find the parameters under which recorded choices are likeliest, and their profile-likelihood intervals.

The ascent to a maximum inside a box is Fisher scoring: the expected information stands in for the curvature, a secant
correction learns what is missing, and damping makes each step lead uphill.

A smooth likelihood is climbed from several starting points. A shape with a kink (constant, linear) makes it rough in
the resolution, with a jump or a corner at every recorded distance. There the search first visits the stretches between
neighboring distances, and the climb starts from the best of them.

The profile of a parameter is the largest log-likelihood that the others can reach while it is held. Its interval is
where twice the drop from the maximum, the deviance, stays below the 95 % point of :math:`\chi^2_1`. The root of the
deviance is nearly straight, and its slope is known from the gradient, so a few Newton steps find each end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from genlaws.core.arguments import Array, Mask, Whole
from genlaws.core.estimate import CONFIDENCE
from genlaws.semanticity.choices.model import (
    BACKGROUND,
    EXPONENT,
    LAPSE,
    RESOLUTION,
    SCALARS,
    TEMPERATURE,
    ChoiceLikelihood,
    Evaluation,
)
from genlaws.semanticity.theory.similarity import SHAPES

# The ascent stops when a further step would change the log-likelihood by less than half of this.
ASCENT_TOLERANCE = 1e-13
ROUGH_TOLERANCE = 1e-5  # the same while starting points, stretches or points of a profile are compared
MAX_STEPS = 200
MAX_STANDARD_ERROR = 10.0  # of a coordinate that the data do not determine
RIDGE = 1e-9  # added to the information, scaled to ones on its diagonal, where parameters do nearly the same
MIN_STANDARD_ERROR = 1e-40  # below it a step away from a wall of the box changes nothing
MAX_STEP_SIZE = 2.0  # in any coordinate; most are logarithms or log odds
# Damping at which an ascent gives up. A narrow ridge needs much of it; at the many corners of a rough likelihood no
# damping helps, and waiting there is most of the work.
MAX_DAMPING, MAX_ROUGH_DAMPING = 1e9, 1e3
# A resolution this far below the least or above the largest distance is as good as zero or infinite.
RESOLUTION_MARGIN = 1e3
MAX_EFFECT = 15.0  # of an answer preferred e^15 times as much as another, which is always given
MAX_STARTS = 4  # of the starting points, or of the stretches, that are climbed from
MIN_START_SEPARATION = 0.08  # between starting points, as a share of their range
RENEWAL_RESIDUAL, MAX_RENEWALS = 1e-5, 3  # residual above which an ascent is taken up again, and how often
FIRST_STRETCHES = 33
# Stretches are searched where the log-likelihood nearby comes this close to the best: the ends of the intervals lie
# 1.9 (linear) and 3.7 (constant) below it.
LIKELIHOOD_WINDOW = 6.0
MAX_CLIMBED_STRETCHES = 60  # near the best; those between are only evaluated, with their neighbor's other parameters
DISTANCE_TOLERANCE = 1e-9  # relative; distances closer than this differ by rounding
# Log-likelihood by which a limit may fall short of the maximum and still count as one; less than what makes a point
# better (`MIN_IMPROVEMENT`).
LIMIT_TOLERANCE = 1e-5
LIMIT_HALVINGS = 30  # place the end of a plateau to a billionth of the width of the box
MAX_PROFILE_LOSS = 0.3  # log-likelihood that a step of a profile may lose before other starting points are tried
# A background below the first has no size of its own; below the second its derivative is cut (`MAX_LOG_DEPTH`).
THRESHOLD_BACKGROUND, MIN_BACKGROUND = 1e-12, 1e-60
# Backgrounds tried where a climb may be lost: it finds no way back from one far above every similarity.
START_BACKGROUNDS = (0.0, 1e-24, 1e-12, 1e-6, 1e-3, 0.02, 0.2)
# Eigenvalue of the information, scaled to ones on its diagonal, below which two parameters do the same.
MIN_EIGENVALUE = 1e-7
STRETCH_INSET = 1e-10  # relative; how far inside a stretch its ends are taken
DEVIANCE = float(stats.chi2.ppf(CONFIDENCE, 1))
# A jump that moves with a parameter is no regular problem. The likelihood ratio to either side of the true place is a
# martingale, so it exceeds e^x with probability at most e^-x, and both sides stay below with (1 - e^-x)² = 95 %.
JUMP_DEVIANCE = -2.0 * float(np.log1p(-np.sqrt(CONFIDENCE)))
DEVIANCE_TOLERANCE = 2e-4  # of the root of the deviance; moves the end of an interval by a ten-thousandth of its length
MIN_IMPROVEMENT = 1e-4  # log-likelihood by which a point found on the way must exceed the maximum to replace it
MIN_RIDGE_IMPROVEMENT = 1e-2  # the same where the maximum is on a ridge that rises ever more slowly and has no top
MAX_PROFILE_POINTS = 60
MAX_DROP = 1e6  # stands for minus infinity in the search for a root
MIN_DROP_SHARE = 0.1  # share of the target below which the root of the deviance does not show the distance to go
SHRINK_FACTOR = 0.1
GEOMETRIC_MEAN_RATIO = 4.0  # ratio of two distances above which the next one is their geometric mean
STRETCH_SLACK = 1.0  # log-likelihood that a stretch without an ascent may gain by one


class Optimum(NamedTuple):
    """Where an ascent ended, and how far from flat the likelihood is there.

    The residual is the length of the gradient in units in which the information is one: the distance to the maximum in
    standard errors. Coordinates pressed against a wall of the box do not count. It is infinite if no ascent was made.
    """

    point: Array
    value: float
    residual: float


@dataclass(frozen=True)
class Box:
    """Which coordinates are free, and between which values."""

    free: Whole
    low: Array
    high: Array

    def without(self, number: int) -> Box:
        """Return the box with one coordinate held."""
        return replace(self, free=self.free[self.free != number])

    def between(self, number: int, low: float, high: float) -> Box:
        """Return the box with one coordinate confined further."""
        lows, highs = self.low.copy(), self.high.copy()
        lows[number], highs[number] = low, high
        return replace(self, low=lows, high=highs)


def ascend(
    likelihood: ChoiceLikelihood, start: Array, box: Box, tol: float = ASCENT_TOLERANCE, limit: float = MAX_DAMPING
) -> Optimum:
    """Climb from a starting point until no step inside the box leads higher."""
    free, low, high = box.free, box.low[box.free], box.high[box.free]
    point = start.copy()
    point[free] = np.clip(point[free], low, high)
    now = likelihood.evaluate(point, free)
    missing = np.zeros_like(now.information)  # curvature that the expected information does not have
    damping = 0.0
    for _ in range(MAX_STEPS):
        step, decrement = _newton_step(now, missing, _not_held(now, point[free], low, high), damping)
        if decrement <= tol or damping > limit:
            break
        trial = point.copy()
        trial[free] = np.clip(point[free] + step, low, high)
        there = likelihood.evaluate(trial, free)
        if there.value > now.value:
            missing = _learn(missing, now, there, trial[free] - point[free])
            point, now, damping = trial, there, damping / 8.0 if damping > 1e-3 else 0.0
        else:
            missing, damping = np.zeros_like(missing), max(8.0 * damping, 0.1)
    return Optimum(point, now.value, _residual(now, _not_held(now, point[free], low, high)))


def _residual(now: Evaluation, active: Mask) -> float:
    """Return the length of the gradient in standard errors, none of them longer than the coordinates can reach."""
    some = np.ix_(active, active)
    information = now.information[some] + np.eye(int(active.sum())) / MAX_STANDARD_ERROR**2
    scale = np.sqrt(np.diag(information))
    gradient = now.gradient[active] / scale
    scaled = information / np.outer(scale, scale) + RIDGE * np.eye(len(scale))
    squared = float(gradient @ np.linalg.solve(scaled, gradient))
    return math.sqrt(max(squared, 0.0))


def _not_held(now: Evaluation, place: Array, low: Array, high: Array) -> Mask:
    """Return which coordinates are not pressed against a wall of the box.

    A background of zero stays there where its standard error is too small a number to mean anything.
    """
    pointless = np.diag(now.information) > MIN_STANDARD_ERROR**-2
    return ~(((place <= low) & ((now.gradient <= 0) | pointless)) | ((place >= high) & (now.gradient >= 0)))


def _learn(missing: Array, now: Evaluation, there: Evaluation, moved: Array) -> Array:
    """Correct the curvature so that it explains how the gradient changed over the step (symmetric rank one)."""
    surprise = now.gradient - there.gradient - (there.information + missing) @ moved
    size = surprise @ moved
    if abs(size) <= 1e-8 * np.linalg.norm(surprise) * np.linalg.norm(moved):
        return missing
    return missing + np.outer(surprise, surprise) / size


def _newton_step(now: Evaluation, missing: Array, active: Mask, damping: float) -> tuple[Array, float]:
    """Return the damped step of the active coordinates and the decrement g·F⁻¹g."""
    step = np.zeros_like(now.gradient)
    if not (active.any() and np.isfinite(now.value)):
        return step, 0.0
    some = np.ix_(active, active)
    scale = np.sqrt(np.maximum(np.diag(now.information)[active], 1e-12))
    gradient = now.gradient[active] / scale
    expected = now.information[some] / np.outer(scale, scale)
    ridge = (RIDGE + damping) * np.eye(len(scale))
    curvature = expected + missing[some] / np.outer(scale, scale) + ridge
    try:
        np.linalg.cholesky(curvature)
        solved = np.linalg.solve(curvature, gradient)
    except np.linalg.LinAlgError:  # not positive definite, as the expected information always is
        solved = np.linalg.solve(expected + ridge, gradient)
    step[active] = np.clip(solved / scale, -MAX_STEP_SIZE, MAX_STEP_SIZE)
    return step, float(gradient @ solved) * (1.0 + damping)


def make_box(likelihood: ChoiceLikelihood, free: Whole) -> Box:
    """Return the largest box the search may use."""
    low, high = np.full(likelihood.size, -MAX_EFFECT), np.full(likelihood.size, MAX_EFFECT)
    least, most = _least_and_most(likelihood)
    low[RESOLUTION], high[RESOLUTION] = np.log(least / RESOLUTION_MARGIN), np.log(most * RESOLUTION_MARGIN)
    low[[BACKGROUND, LAPSE]], high[[BACKGROUND, LAPSE]] = 0.0, 1.0
    low[EXPONENT], high[EXPONENT] = np.log(0.02), np.log(200.0)
    low[TEMPERATURE], high[TEMPERATURE] = np.log(0.01), np.log(100.0)
    return Box(free, low, high)


def _least_and_most(likelihood: ChoiceLikelihood) -> tuple[float, float]:
    positive = likelihood.distances[likelihood.distances > 0]
    return (float(positive.min()), float(positive.max())) if positive.size else (1.0, 1.0)


class Search:
    """The maximum of a likelihood over a box, and profiles of it.

    Parameters
    ----------
    likelihood : ChoiceLikelihood
    free : array of int
        Numbers of the coordinates to fit.
    template : array
        A point; its values hold for the coordinates that are not free.

    Attributes
    ----------
    edges : array
        Logarithms of the distances at which the likelihood is rough in the resolution; empty if it is smooth.
    at_limit : list of int
        Numbers of the coordinates whose likeliest value is a limit that they only approach.
    thorough : bool
        Whether a climb may be lost, since parameters are at a limit or cannot be distinguished.
    visited : dict of int to Optimum
        The best point with the resolution in each stretch that was searched. Stretch 0 lies below the first edge.
        Without residual the value is a lower bound.
    """

    def __init__(self, likelihood: ChoiceLikelihood, free: Whole, template: Array) -> None:
        self.likelihood, self.template = likelihood, template
        self.box = make_box(likelihood, free)
        self.edges: Array = np.empty(0)
        self.visited: dict[int, Optimum] = {}
        self.at_limit: list[int] = []
        self.thorough = False
        if SHAPES[likelihood.shape].kinks and RESOLUTION in free:
            edges = np.log(np.unique(likelihood.distances[likelihood.distances > 0]))
            self.edges = edges[np.diff(edges, prepend=-np.inf) > DISTANCE_TOLERANCE]

    def maximize(self) -> Optimum:
        """Return the best point of the box."""
        starts = _best_apart(self._valued(self._starting_points()))
        best = max((self._climb(start.point) for start in starts), key=_value)
        if not self.edges.size:
            return self._search_widely_if_doubtful(self.polish(best))
        spread = np.linspace(0, self.edges.size, FIRST_STRETCHES).round().astype(int)
        self._visit(np.unique(spread).tolist(), best.point)
        best, before = self.polish(self._climb_from_visited()), -np.inf
        while best.value > before + ROUGH_TOLERANCE:  # a likelier place makes more of its neighbors worth a visit
            before = best.value
            self._visit([], best.point)
            best = max(best, self.polish(self._climb_from_visited()), key=_value)
        return best

    def resume(self, found: Optimum) -> Optimum:
        """Return the maximum after a point turned up that is likelier than what was taken for it."""
        best = self.polish(max([self._climb(found.point), *self.visited.values()], key=_value))
        return best if self.edges.size else self._search_widely_if_doubtful(best)

    def _search_widely_if_doubtful(self, best: Optimum) -> Optimum:
        """Return the maximum of a smooth likelihood, searched for widely where a climb can be lost."""
        best = self._leave_limits(best)
        self.thorough = bool(self.at_limit or best.residual > RENEWAL_RESIDUAL or any(self.undetermined(best)))
        if not self.thorough:
            return best
        spread = _best_apart(self._valued(self._spread(best.point)))
        top = max((self._climb(start.point) for start in spread), key=_value)
        best = self._leave_limits(self.polish(top)) if top.value > best.value + LIMIT_TOLERANCE else best
        return self._hold_threshold(best)

    def _hold_threshold(self, best: Optimum) -> Optimum:
        """Hold a background that vanishes together with the resolution, which makes the similarity a threshold.

        The likelihood has a ridge there that rises ever more slowly, and no top that could be reached.
        """
        background = best.point[BACKGROUND]
        both = {RESOLUTION, BACKGROUND} <= set(self.box.free.tolist())
        if not both or self.likelihood.shape == "power-law" or not 0.0 < background < THRESHOLD_BACKGROUND:
            return best
        if self._as_likely(best, RESOLUTION, self.box.high[RESOLUTION]):
            return best  # the trials say nothing about it
        self.at_limit = [RESOLUTION, BACKGROUND]
        point = _with(best.point, BACKGROUND, max(background, MIN_BACKGROUND))
        return self._settle(point, self.box.without(BACKGROUND))

    def _leave_limits(self, best: Optimum) -> Optimum:
        """Return the maximum, or a point as likely where it lies at a limit: a resolution or temperature of zero.

        The choices of a perfect chooser grow likelier all the way to a limit. Out there the similarities are too small
        to differ from zero, and no gradient leads back. So the coordinate is held at the farthest value from the limit
        that is as likely, the others are polished, and `at_limit` names it. Offsets and places that do not matter
        there are reset to zero.
        """
        self.at_limit, box = [], self.box
        if not np.isfinite(best.value):
            return best
        for number, limit, other in (
            (RESOLUTION, box.low, box.high),
            (TEMPERATURE, box.low, box.high),
            (EXPONENT, box.high, box.low),
        ):
            inside, outside = limit[number], other[number]
            if number not in box.free or not self._as_likely(best, number, inside):
                continue
            if self._as_likely(best, number, outside):
                continue  # the trials say nothing about this coordinate
            plain = best.point.copy()
            plain[box.free[box.free >= len(SCALARS)]] = 0.0
            if self._as_likely(best._replace(point=plain), number, inside):
                best, box = best._replace(point=plain), replace(box, free=box.free[box.free < len(SCALARS)])
            for _ in range(LIMIT_HALVINGS):
                middle = 0.5 * (inside + outside)
                inside, outside = (middle, outside) if self._as_likely(best, number, middle) else (inside, middle)
            best, box = best._replace(point=_with(best.point, number, inside)), box.without(number)
            self.at_limit.append(number)
        return self._settle(best.point, box) if self.at_limit else best

    def _as_likely(self, best: Optimum, number: int, value: float) -> bool:
        """Return whether a point is still as likely with one coordinate moved to a value."""
        return self.likelihood.value(_with(best.point, number, value)) >= best.value - LIMIT_TOLERANCE

    def polish(self, found: Optimum) -> Optimum:
        """Climb the last bit from a point that is nearly the maximum; at a corner, on its likelier side."""
        if not self.edges.size:
            return self._settle(found.point, self.box)
        rank = int(np.searchsorted(self.edges, found.point[RESOLUTION]))
        corner = self.likelihood.shape != "constant"
        sides = range(max(rank - 1, 0), min(rank + 1, self.edges.size) + 1) if corner else [rank]
        tops = {side: self._settle(found.point, self.stretch_box(side)) for side in sides}
        side = max(tops, key=lambda side: tops[side].value)
        self.visited[side] = tops[side]
        return tops[side]

    def _settle(self, start: Array, box: Box) -> Optimum:
        """Climb to the top; on a narrow ridge the curvature is learned again a few times."""
        top = ascend(self.likelihood, start, box)
        for _ in range(MAX_RENEWALS):
            if top.residual < RENEWAL_RESIDUAL:
                break
            top = ascend(self.likelihood, top.point, box)
        return top

    def profile(self, number: int, value: float, near: Array) -> Optimum:
        """Return the best point with one coordinate held at a value, starting from a point nearby.

        Where the likelihood is rough, the climb starts from the likeliest of the stretches that came near the maximum.
        """
        starts, along = [near], self._tangent(number, near)
        if self.edges.size and number != RESOLUTION:
            climbed = [found for found in self.visited.values() if np.isfinite(found.residual)]
            top = max(map(_value, climbed))
            starts += [found.point for found in climbed if found.value > top - LIKELIHOOD_WINDOW]
        carried = [np.clip(start + (value - start[number]) * along, self.box.low, self.box.high) for start in starts]
        tried = [_best_apart(self._valued(carried))]
        if len(starts) > 1:  # the other coordinates may have been carried past a corner
            tried.append(_best_apart(self._valued([_with(start, number, value) for start in starts])))
        found = max((self._climb(start.point, number) for some in tried for start in some), key=_value)
        fallen = self.likelihood.value(near) - found.value
        if self.edges.size or fallen < (MAX_PROFILE_LOSS if self.thorough else LIKELIHOOD_WINDOW):
            return found
        spread = _best_apart(self._valued([_with(point, number, value) for point in self._spread(near)]))
        return max(found, *(self._climb(start.point, number) for start in spread[:2]), key=_value)

    def _valued(self, points: list[Array]) -> list[Optimum]:
        return [Optimum(point, self.likelihood.value(point), np.inf) for point in points]

    def _spread(self, near: Array) -> list[Array]:
        """Return points at many resolutions and backgrounds, the others as nearby."""
        grids = {RESOLUTION: self._resolutions(), BACKGROUND: np.array(START_BACKGROUNDS), LAPSE: np.array([0.05])}
        free = {key: np.append(near[key], grid) for key, grid in grids.items() if key in self.box.free}
        points = []
        for values in product(*free.values()):
            point = near.copy()
            point[list(free)] = values
            points.append(point)
        return points

    def _resolutions(self) -> Array:
        least, most = _least_and_most(self.likelihood)
        return np.log(np.geomspace(max(least, most / 300.0), 2.0 * most, 10))

    def _tangent(self, number: int, point: Array) -> Array:
        """Return how the other coordinates follow along the profile of one, as the information sees it."""
        others = self._smooth_box().without(number).free
        along = np.zeros_like(point)
        along[number] = 1.0
        information = self.likelihood.evaluate(point, np.append(others, number)).information
        scale = np.sqrt(np.maximum(np.diag(information), 1e-12))
        scaled = information / np.outer(scale, scale) + 1e-6 * np.eye(len(scale))
        along[others] = -np.linalg.solve(scaled[:-1, :-1], scaled[:-1, -1]) * scale[-1] / scale[:-1]
        return along

    def undetermined(self, best: Optimum) -> tuple[list[int], list[int]]:
        """Return the coordinates that the trials do not determine at a point, and those they cannot distinguish."""
        free = self._smooth_box().free
        information = self.likelihood.evaluate(best.point, free).information
        scale = np.sqrt(np.diag(information))
        known = scale > 0
        silent: list[int] = free[~known].tolist()
        if not known.any():
            return silent, []
        values, vectors = np.linalg.eigh((information[np.ix_(known, known)] / scale[known]).T / scale[known])
        alike: list[int] = free[known][np.abs(vectors[:, 0]) > 0.1].tolist()
        return silent, alike if values[0] < MIN_EIGENVALUE else []

    def at_stretch(self, rank: int) -> Optimum:
        """Return the best point with the resolution inside a stretch, climbing there if none has yet."""
        if np.isinf(self.visited[rank].residual):
            start, box = self.visited[rank].point, self.stretch_box(rank)
            self.visited[rank] = ascend(self.likelihood, start, box, ROUGH_TOLERANCE, MAX_ROUGH_DAMPING)
        return self.visited[rank]

    def stretch_box(self, rank: int) -> Box:
        """Return the box confined to a stretch; between jumps the resolution makes no difference and is held.

        The edges are left out: without background an option that lies on one is outside below and inside above.
        """
        if self.likelihood.shape == "constant":
            return self._smooth_box()
        low = self.edges[rank - 1] + STRETCH_INSET if rank > 0 else self.box.low[RESOLUTION]
        high = self.edges[rank] - STRETCH_INSET if rank < self.edges.size else self.box.high[RESOLUTION]
        return self.box.between(RESOLUTION, float(low), float(high))

    def _smooth_box(self) -> Box:
        """Return the box in which a climb may move; a jump cannot be climbed."""
        return self.box.without(RESOLUTION) if self.edges.size and self.likelihood.shape == "constant" else self.box

    def _climb(self, start: Array, held: int = -1) -> Optimum:
        max_damping = MAX_ROUGH_DAMPING if self.edges.size else MAX_DAMPING
        return ascend(self.likelihood, start, self._smooth_box().without(held), ROUGH_TOLERANCE, max_damping)

    def _starting_points(self) -> list[Array]:
        grids: dict[int, Array] = {
            RESOLUTION: self._resolutions(),
            BACKGROUND: np.array([0.02, 0.2]),
            EXPONENT: np.log([1.0, 3.0]),
            LAPSE: np.array([0.05]),
        }
        wanted = {number: grid for number, grid in grids.items() if number in self.box.free}
        points = []
        for values in product(*wanted.values()):
            point = self.template.copy()
            point[list(wanted)] = values
            points.append(point)
        return points

    def _climb_from_visited(self) -> Optimum:
        return max((self._climb(start.point) for start in _best_apart(list(self.visited.values()))), key=_value)

    def _visit(self, queue: list[int], start: Array) -> None:
        """Climb in the stretches given, then in the gaps next to the good ones, and evaluate what is left there.

        Stretches visited before are climbed again if the other parameters of `start` are likelier there: a likelihood
        with several tops would otherwise pass a low one on from neighbor to neighbor.
        """
        gaps: list[tuple[int, int]] = []
        finest = 0
        again = {rank: self._evaluate_stretch(rank, start) for rank in self.visited}
        queue = queue + [r for r, found in again.items() if found.value > self.visited[r].value + ROUGH_TOLERANCE]
        while queue or not finest:
            for rank in queue:
                self.visited[rank] = self._evaluate_stretch(rank, start)
                self.at_stretch(rank)
            top = max(map(_value, self.visited.values()))
            near = {rank for rank, found in self.visited.items() if found.value > top - LIKELIHOOD_WINDOW}
            gaps = [gap for gap in pairwise(sorted(self.visited)) if near & set(gap)]
            finest = max(1, sum(high - low for low, high in gaps) // MAX_CLIMBED_STRETCHES)
            queue = [(low + high) // 2 for low, high in gaps if high - low > finest]
        for low, high in gaps:
            for rank in range(low + 1, high):
                self.visited[rank] = self._evaluate_stretch(rank, start)

    def _evaluate_stretch(self, rank: int, otherwise: Array) -> Optimum:
        """Evaluate a stretch with the other parameters of its nearest visited neighbor, or others if likelier."""
        low, high = self.edges[max(rank - 1, 0)], self.edges[min(rank, self.edges.size - 1)]
        if rank == self.edges.size:
            middle = high + 0.2
        else:
            middle = np.log(0.5 * np.exp(high) + (0.5 * np.exp(low) if rank > 0 else 0.0))
        nearest = min(self.visited, key=lambda seen: abs(seen - rank), default=None)
        found = []
        for start in [otherwise] if nearest is None else [otherwise, self.visited[nearest].point]:
            found.append(_with(start, RESOLUTION, middle))
        return max(self._valued(found), key=_value)


def _value(found: Optimum) -> float:
    return found.value


def _with(point: Array, number: int, value: float) -> Array:
    """Return a point with one coordinate replaced."""
    other = point.copy()
    other[number] = value
    return other


def _best_apart(starts: list[Optimum]) -> list[Optimum]:
    """Return the likeliest starting points that are not next to a likelier one in resolution."""
    places = [start.point[RESOLUTION] for start in starts]
    apart = (max(places) - min(places)) * MIN_START_SEPARATION
    chosen: list[Optimum] = []
    for start in sorted(starts, key=_value, reverse=True):
        if all(abs(start.point[RESOLUTION] - other.point[RESOLUTION]) >= apart for other in chosen):
            chosen.append(start)
    return chosen[:MAX_STARTS]


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
    growth = 5.0  # squared on the way where an end may be many orders of magnitude away
    far = min(target * _standard_error(search, best, number), room)
    for _ in range(MAX_PROFILE_POINTS):
        if inside >= room:
            return _wall(number, direction)
        found = search.profile(number, start + direction * far, near.point)
        if found.value > best.value + (MIN_RIDGE_IMPROVEMENT if BACKGROUND in search.at_limit else MIN_IMPROVEMENT):
            raise BetterPointError(found)
        root = _root_of_deviance(best, found)
        if abs(root - target) < DEVIANCE_TOLERANCE:
            break
        if root < target:
            inside, near = far, found
        else:
            outside = far
        if outside - inside < DEVIANCE_TOLERANCE * inside:
            found, far = search.profile(number, start + direction * outside, near.point), outside
            root = _root_of_deviance(best, found)
            if root >= target:
                break
            inside, outside, near = far, np.inf, found  # the climb that came from farther off had been lost
        newton = far + (target - root) * _inverse_slope(search, found, number, direction, root)
        if np.isinf(outside):
            reach, growth = min(growth * far, room), growth * growth if search.thorough else growth
            known = np.isfinite(newton) and root > MIN_DROP_SHARE * target
            far = min(max(newton, 1.2 * far), reach) if known else reach
        else:
            far = newton if inside < newton < outside else _between(inside, outside)
    else:
        far = outside  # not found: the end farther out is the safe one
    return _wall(number, direction) if far >= room else start + direction * far


def _between(inside: float, outside: float) -> float:
    """Return a distance between two: an end may be many orders of magnitude nearer than the first one tried."""
    if inside == 0:
        return SHRINK_FACTOR * outside
    return float(np.sqrt(inside * outside)) if outside > GEOMETRIC_MEAN_RATIO * inside else 0.5 * (inside + outside)


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
    if top.value > best.value + MIN_IMPROVEMENT:
        raise BetterPointError(top)
    jump = search.likelihood.shape == "constant"
    lowest = best.value - 0.5 * (JUMP_DEVIANCE if jump else DEVIANCE)
    ranks = sorted(search.visited, reverse=direction > 0)
    near = (r for r in ranks if search.visited[r].value > lowest - STRETCH_SLACK)
    rank = next(r for r in near if search.at_stretch(r).value > lowest)
    if rank == ranks[0]:
        return _wall(RESOLUTION, direction)
    edge, found = float(search.edges[rank - 1 if direction < 0 else rank]), search.visited[rank]

    def excess(place: float) -> float:
        return max(search.profile(RESOLUTION, place, found.point).value - lowest, -MAX_DROP)

    if jump or excess(edge) > 0:
        return edge
    return float(optimize.brentq(excess, edge, float(found.point[RESOLUTION]), xtol=1e-6))
