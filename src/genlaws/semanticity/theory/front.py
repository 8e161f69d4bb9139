"""The front of a space and a similarity: generalization against identification as the resolution changes.

A front belongs to one similarity shape, one background and Luce's rule. It bounds such a system in this space, not
every system.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.core.arguments import (
    Array,
    Elementwise,
    broadcast,
    non_negative,
    positive,
    real,
    whole_number,
    within,
)
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.semanticity.parameters import (
    BALL_MASS,
    RESOLUTION,
    Background,
    BallMass,
    Cut,
    Exponent,
    ItemCount,
    Resolution,
    SimilarityChoice,
    Ties,
)
from genlaws.semanticity.theory.exact import FrontPoint, Items, probabilities
from genlaws.semanticity.theory.finite_sets import MIN_RELATIVE_SIMILARITY
from genlaws.semanticity.theory.fixed_rule import ACCURACY, MAX_ITEMS, collapse_constants, fixed_rule
from genlaws.semanticity.theory.many_items import best_ball_mass
from genlaws.semanticity.theory.similarity import Similarity
from genlaws.semanticity.theory.similarity import similarity as make_similarity
from genlaws.semanticity.theory.spaces import ContinuousSpace, DiscreteSpace, resolution_of_ball
from genlaws.semanticity.theory.stimulus_sets import EvenSet, StimulusSet

FRONT_POINTS, MAX_SHOWN = 41, 200  # points of a front at first; steps of a front that are all among them
MAX_CHORD = 0.02  # in the plane of both probabilities; more points are placed between neighbors farther apart
FULL_PRECISION = 1e-12  # tolerance of the exact integrals
FINEST_RESOLUTION, COARSEST_RESOLUTION = 2e-3, 30.0  # resolutions of a front, in units of the largest distance
FINEST_EXPECTED_ITEMS = 0.05  # items expected inside the finest resolution
JUMP_OFFSET = 1e-8  # relative; resolutions just below and just above a distance of a discrete space
# Nats by which a similarity may fall over the whole space; at finer resolutions its ratios are not accurate.
MAX_SIMILARITY_FALL = math.log(1.0 / MIN_RELATIVE_SIMILARITY) / 4.0
# Steps of a front that are all tried, and the same in numbers, steps times distances.
MAX_TRIED, MAX_TRIED_SIZE = 2_000, 20_000_000
ZOOM_POINTS = 13  # steps tried between the neighbors of the best of fewer
MIN_FRONT_RISE = 1e-13  # a front that rises by less has no peak
NOISE_SHARE = 1e-4  # of the tolerance; neighboring resolutions share their errors, so differences are this accurate
# Resolutions between the neighbors of the highest point, and the degree of the polynomial fitted to their heights.
PEAK_POINTS, PEAK_DEGREE = 9, 5
# Error by which the polynomial may miss them, and the same as a share of the tolerance.
MAX_MISFIT, MISFIT_SHARE = 1e-13, 0.03
MAX_IMAGINARY_PART = 1e-8  # a root with a larger imaginary part is not real
# Relative width of the interval around a peak that no polynomial fits, and the same in units of the tolerance.
PEAK_WIDTH, PEAK_WIDTH_SHARE = 1e-9, 1e3
BEST_TOLERANCE = 1e-6  # a generalization this close to the best counts as the best
ZERO_VARIANCE = 1e-15  # a variance below it is zero
NO_BOUND = "A front belongs to one similarity and to Luce's choice rule; it is no bound on every system."
BEST_COLUMNS = ("resolution", "ball_mass", "generalization")
SWEEP_COLUMNS = ("resolution", "ball_mass", "generalization", "identification")
# Columns of a printed table; to_frame has all.
TABLE_COLUMNS = ("background", "item_count", *SWEEP_COLUMNS, *(f"best_{name}" for name in BEST_COLUMNS))


@dataclass(frozen=True, eq=False, repr=False)
class Front(Result):
    """Points of a front from fine to coarse, its peak, and the point of the similarity itself.

    Attributes
    ----------
    point : FrontPoint
        At the similarity's own resolution.
    points : tuple of FrontPoint
    peak : FrontPoint or None
        Where generalization is largest; none if it keeps growing toward the finest or the coarsest resolution, or is
        the same at all of them.
    marked : tuple of FrontPoint
        At the resolutions to mark.
    message : str
    """

    drawn_by = "genlaws.figures.semanticity.front:front_pictures"

    point: FrontPoint
    points: tuple[FrontPoint, ...]
    peak: FrontPoint | None
    marked: tuple[FrontPoint, ...]
    message: str

    @property
    def resolution(self) -> Array:
        """Resolution of each point."""
        return np.array([point.resolution for point in self.points])

    @property
    def generalization(self) -> Array:
        """Generalization of each point."""
        return np.array([point.generalization for point in self.points])

    @property
    def identification(self) -> Array:
        """Identification of each point."""
        return np.array([point.identification for point in self.points])

    def to_frame(self) -> DataFrame:
        """Return one row per resolution, then the peak and the marked points; ``series`` is front, peak or marked."""
        peak = () if self.peak is None else (self.peak,)
        series = {"front": self.points, "peak": peak, "marked": self.marked}
        return frame_of([{"series": name, **vars(point)} for name, points in series.items() for point in points])

    def summary(self) -> Summary:
        """Return the front as a table, with its peak and the marked points in words."""
        frame = self.to_frame()
        shown = frame.loc[frame["series"] == "front", [*SWEEP_COLUMNS]].dropna(axis="columns", how="all")
        best = (math.nan, math.nan) if self.peak is None else (self.peak.generalization, _place(self.peak))
        marks = [
            f"Marked: generalization {point.generalization:.6f} and identification {point.identification:.6f} at "
            f"{_format_place(point)}. {_format_side(point.generalization, _place(point), *best)}"
            for point in self.marked
        ]
        table = shown.to_string(index=False, float_format="{:.6g}".format)
        return Summary(sentences=[self._format_peak(), *marks], warnings=[NO_BOUND], table=table)

    def _format_peak(self) -> str:
        peak = self.peak
        if peak is None:
            if self.points[0].generalization > self.points[-1].generalization:
                return (
                    "There is no peak: generalization and identification both grow down to the finest resolution here."
                )
            return "There is no peak inside these resolutions."
        crossing = " The front crosses the diagonal there." if abs(peak.diagonal_gap) < BEST_TOLERANCE else ""
        return (
            f"The peak is generalization {peak.generalization:.6f} at {_format_place(peak)}, "
            f"where identification is {peak.identification:.6f}.{crossing}"
        )


@question
def front(
    where: Items,
    *,
    similarity: Similarity,
    item_count: int = 2,
    resolutions: ArrayLike | None = None,
    marked: ArrayLike = (),
    ties: Ties = "split",
    tolerance: float = FULL_PRECISION,
) -> Front:
    r"""Return both probabilities at the similarity's resolution, at all others, and where generalization is largest.

    Parameters
    ----------
    where : Space, StimulusSet or EvenSet
        Items are drawn independently from a space; from a set each stimulus is drawn at most once.
    similarity : Similarity
        Its resolution is that of the result's `point`; the front goes through all resolutions.
    item_count : int, at least 2; in a set of N stimuli at most N - 1
    resolutions : array_like or None
        Those of the result's `points`. If not given, so many that the whole front is shown and neighboring points
        lie close to each other. The similarity's own resolution alone is the fastest.
    marked : array_like
        Resolutions of points to mark on the front.
    ties : {"split", "drop"}
        What to do, where there are finitely many distances, with items equally near to the probe. An error is raised
        if every set of items would be dropped.
    tolerance : float
        Largest error of both probabilities. From 1e-5 on one fixed quadrature is used for all resolutions, which takes
        some 10 ms in a homogeneous space and 100 ms on the segment instead of 0.1 to 50 s; with more than a
        thousand items, and below 1e-5, the integrals are computed to nearly the last digit.

    Notes
    -----
    Where the constant similarity meets a homogeneous space, the peak lies on the diagonal: generalization equals
    identification there, for every number of items and every background; see
    :func:`~genlaws.semanticity.theory.many_items.best_ball_mass`. Other similarities usually have their peak off the
    diagonal: with two items and the linear one, identification exceeds generalization by 0.034 at the peak
    of the two-dimensional torus and by 0.031 on the sphere. Exceptions are the similarities
    :math:`(1 - b(d)/b(\varepsilon))^a` without background, with :math:`b(d)` the mass of a ball of radius d and
    :math:`b(\varepsilon) < 1`; on the circle these are :math:`(1-d/\varepsilon)^a`, the linear one among them.
    """
    n = whole_number("item_count", item_count, at_least=2)
    law = _Law(where, similarity, n, ties, float(non_negative("tolerance", tolerance)))
    marks = law.at(np.ravel(positive("marked", marked))) if np.size(marked) else []
    _check_judged(marks)
    if resolutions is None:
        radii = law.resolutions()
        points, peak = law.follow(radii, _spread(radii), all_steps=law.jumps)
        points = law.fill_gaps(points)
    else:
        radii = np.sort(positive("resolutions", resolutions), axis=None)
        if not radii.size:
            raise InputError("resolutions must name at least one resolution; got none.")
        points, peak = law.follow(radii, radii)
    _check_judged(points)
    if peak is None:
        message = "generalization has no peak inside these resolutions: there is nothing to trade"
    else:
        message = "generalization is largest at the peak; finer resolution identifies better"
    own = [point for point in points if point.resolution == similarity.resolution]
    point = own[0] if own else law.at(np.array([similarity.resolution]))[0]
    return Front(point, tuple(points), peak, tuple(marks), message)


@dataclass(frozen=True, eq=False, repr=False)
class FrontPoints(Result):
    r"""Both tests at some resolutions, and the peak of the front of each, element by element.

    Every attribute is a scalar when all arguments were scalars, and an array of their common shape otherwise.

    Attributes
    ----------
    generalization, identification : float or array
        :math:`p_S^n` and :math:`p_I^n`.
    resolution : float or array
        NaN in an even set, which has no distances.
    ball_mass, ball_mass_variance : float or array
        Mean and variance over probes of the share of the space within the resolution.
    item_count : int or array
    collapse_constant : float or array
        c in :math:`p_I^n \to c/n`.
    best_resolution, best_ball_mass, best_generalization : float or array
        Of the peak; NaN where the front has none.
    """

    generalization: Elementwise
    identification: Elementwise
    resolution: Elementwise
    ball_mass: Elementwise
    ball_mass_variance: Elementwise
    item_count: Elementwise
    collapse_constant: Elementwise
    best_resolution: Elementwise
    best_ball_mass: Elementwise
    best_generalization: Elementwise

    def summary(self) -> Summary:
        """Return both probabilities, the best resolution and what they mean, or a table where there are several."""
        given = {} if self.call is None else self.call.arguments
        place = format_place(given.get("where", {}))
        if np.ndim(self.generalization):
            shown = self.to_frame().reindex(columns=TABLE_COLUMNS).dropna(axis="columns", how="all")
            table = shown.to_string(index=False, float_format="{:.6g}".format)
            meaning = f"The similarity is {given.get('similarity')}; the items are drawn {place}."
            return Summary(sentences=[meaning], warnings=[NO_BOUND], table=table)
        here = _place(self)
        best = self.best_ball_mass if math.isnan(self.best_resolution) else self.best_resolution
        meaning = (
            f"With {self.item_count} items {place}, the one nearest to a new probe is chosen "
            f"{self.generalization:.1%} of the time, the original of a copied probe {self.identification:.1%}."
        )
        side = _format_side(self.generalization, here, self.best_generalization, best)
        return Summary([Row(*row) for row in self._rows() if row[1]], [meaning, side], [NO_BOUND])

    def _rows(self) -> list[tuple[str, str]]:
        mass = f"{self.ball_mass:.6g}"
        if self.ball_mass_variance > ZERO_VARIANCE:
            mass += f" on average, variance over probes {self.ball_mass_variance:.3g}"
        constant = f"{self.collapse_constant:.6g}"
        if self.call is not None and "set_size" not in self.call.arguments["where"]:
            constant += f" (with many items n, identification tends to {constant}/n)"
        best, ball = f"{self.best_resolution:.6g}", f"ball mass {self.best_ball_mass:.6g}"
        height = f"generalization {self.best_generalization:.6f}"
        best = f"{ball}, {height}" if math.isnan(self.best_resolution) else f"{best}, {height} ({ball})"
        return [
            ("generalization", f"{self.generalization:.6f}"),
            ("identification", f"{self.identification:.6f}"),
            ("resolution", "" if math.isnan(self.resolution) else f"{self.resolution:.6g}"),
            ("ball mass", mass),
            ("collapse constant", constant),
            ("best resolution", "none" if math.isnan(self.best_generalization) else best),
        ]


@question
def front_points(
    where: Items,
    *,
    similarity: SimilarityChoice = "constant",
    background: Background = 0.0,
    cut: Cut = None,
    exponent: Exponent = None,
    item_count: ItemCount = 2,
    ball_mass: BallMass = None,
    resolution: Resolution = None,
    ties: Ties = "split",
) -> FrontPoints:
    """Give the chance to pick the nearest item (generalization) and the original of a copy (identification).

    Parameters
    ----------
    where : Space, StimulusSet or EvenSet
        Items are drawn independently from a space; from a set each stimulus is drawn at most once.
    similarity, background, cut, exponent
        As :func:`~genlaws.semanticity.similarity` takes them; several backgrounds are allowed.
    item_count : array_like of int, at least 2; in a set of N stimuli at most N - 1
    ball_mass, resolution : array_like
        One of them. In a space or set of finitely many stimuli the ball mass must be one that it has.
    ties : {"split", "drop"}
        As for :func:`~genlaws.semanticity.front`.
    """
    given: dict[str, Any] = {"background": background, "item_count": item_count}
    floors, counts, radii = broadcast(**given, resolution=resolutions_of(where, ball_mass, resolution))
    shapes = {
        floor: make_similarity(similarity, 1.0, background=floor, cut=cut, exponent=exponent)
        for floor in np.unique(floors)
    }
    places = list(zip(floors.flat, counts.flat, radii.flat, strict=True))
    points = [probabilities(where, shapes[floor].at_resolution(radius), int(n), ties) for floor, n, radius in places]
    _check_judged(points)
    peaks = {
        (floor, n): front(where, similarity=shapes[floor], item_count=int(n), ties=ties).peak
        for floor, n in dict.fromkeys((floor, n) for floor, n, _ in places)
    }
    columns: dict[str, Any] = {name: [getattr(point, name) for point in points] for name in vars(points[0])}
    for name in BEST_COLUMNS:
        columns[f"best_{name}"] = [getattr(peaks[floor, n], name, math.nan) for floor, n, _ in places]
    shaped: dict[str, Any] = {name: np.reshape(values, radii.shape)[()] for name, values in columns.items()}
    return FrontPoints(**shaped)


def resolutions_of(where: Items, ball_mass: ArrayLike | None, resolution: ArrayLike | None) -> Array:
    """Return the resolutions, given as they are or as the ball masses they have."""
    if ball_mass is not None and resolution is not None:
        raise InputError("ball_mass and resolution determine each other; give only one of them.")
    if resolution is not None:
        if isinstance(where, EvenSet):
            raise InputError("resolution needs the distances of the stimuli; give ball_mass.")
        return np.asarray(RESOLUTION.checked("resolution", resolution))
    if ball_mass is None:
        raise InputError("ball_mass or resolution must be given; got none of them.")
    masses = real("ball_mass", ball_mass)
    if isinstance(where, EvenSet | StimulusSet):
        radii = [where.resolution_of(mass) for mass in masses.flat]
    else:
        within("ball_mass", masses, 0.0, 1.0, open_low=True, hint=BALL_MASS.hint)
        radii = [resolution_of_ball(where, mass) for mass in masses.flat]
    return np.array(radii).reshape(masses.shape)


def format_place(where: Mapping[str, Any]) -> str:
    """Return where the items come from, as text, for a place as it is recorded in a call."""
    if "set_size" in where:
        return f"from {where['set_size']} stimuli, none twice"
    name = where.get("space", "matrix")
    return "from the given places" if name == "matrix" else f"on the {name}"


def _check_judged(points: Sequence[FrontPoint]) -> None:
    if any(math.isnan(point.generalization) for point in points):
        raise InputError("ties must be split here: every set has several nearest items, so none would remain.")


def _place(point: FrontPoint | FrontPoints) -> float:
    """Return the resolution of a point, or its ball mass in a set without distances."""
    return float(point.ball_mass if math.isnan(point.resolution) else point.resolution)


def _format_place(point: FrontPoint) -> str:
    mass = f"ball mass {point.ball_mass:.6g}"
    return mass if math.isnan(point.resolution) else f"resolution {point.resolution:.6g} ({mass})"


def _format_side(generalization: float, place: float, best_generalization: float, best_place: float) -> str:
    """Return on which side of the peak a point lies; there is none if its generalization is NaN."""
    if math.isnan(best_generalization):
        return "Generalization has no peak here, so no resolution is best."
    if best_generalization - generalization < BEST_TOLERANCE:
        return "No other resolution generalizes better."
    if place < best_place:
        return "This is finer than the best resolution: a coarser one generalizes better but identifies worse."
    return "This is coarser than the best resolution: a finer one, up to the best, improves both."


@dataclass(frozen=True, eq=False)
class _Law:
    """Both probabilities as functions of the resolution."""

    where: Items
    similarity: Similarity
    item_count: int
    ties: str
    tolerance: float

    @property
    def jumps(self) -> bool:
        """Whether generalization jumps where the resolution passes a distance, since any similarity beats none."""
        return not isinstance(self.where, ContinuousSpace) and bool(np.isfinite(self.similarity.shape.support))

    def at(self, radii: Array) -> list[FrontPoint]:
        """Return the point of each resolution."""
        where, similarity, n = self.where, self.similarity, self.item_count
        untied = self.ties == "split" or isinstance(where, ContinuousSpace)
        fast = self.tolerance >= ACCURACY and n <= MAX_ITEMS and untied
        if fast and isinstance(where, ContinuousSpace | DiscreteSpace):
            s, i = (part[:, 0] for part in fixed_rule(where, similarity, radii, (n,)))
            columns = (radii, *where.ball(radii), s, i, collapse_constants(where, similarity, radii))
            rows = zip(*(column.tolist() for column in columns), strict=True)
            return [FrontPoint(n, *row) for row in rows]
        return [probabilities(where, similarity.at_resolution(one), n, self.ties) for one in radii.tolist()]

    def resolutions(self) -> Array:
        """Return resolutions from fine to coarse.

        All that differ, or even in ball mass and in its logarithm, for the constant similarity; else even in their own
        logarithm, and those just below and above each distance if generalization jumps there.
        """
        where, constant, jumps = self.where, self.similarity.is_constant, np.empty(0)
        if isinstance(where, EvenSet):
            return where.steps
        reach = where.reach or 1.0
        if isinstance(where, ContinuousSpace):
            share = FINEST_EXPECTED_ITEMS / self.item_count
            if constant:
                half = FRONT_POINTS // 2
                masses = [*np.geomspace(share, 1.0, half, endpoint=False), *np.linspace(0.0, 1.0, half + 2)[1:]]
                return np.unique([resolution_of_ball(where, mass) for mass in masses])
            finest = resolution_of_ball(where, share)
        else:
            finest = 0.5 * float(where.steps.min(initial=reach))
            if constant:
                return np.concatenate([[finest], where.steps])
            if self.jumps:
                jumps = np.concatenate([where.steps * (1.0 - JUMP_OFFSET), where.steps * (1.0 + JUMP_OFFSET)])
        finest = min(FINEST_RESOLUTION * reach, finest)
        finest = max(finest, reach / _steepest(self.similarity, reach / finest))
        return np.unique(np.concatenate([jumps, np.geomspace(finest, COARSEST_RESOLUTION * reach, FRONT_POINTS)]))

    def follow(self, radii: Array, shown: Array, all_steps: bool = False) -> tuple[list[FrontPoint], FrontPoint | None]:
        """Return the points of the resolutions shown, and the peak among all of them.

        With `all_steps` the resolutions are both sides of every jump, so that there is nothing between them.
        """
        points = self.at(shown)
        heights = np.array([point.generalization for point in points])
        if np.isnan(heights).all() or np.nanmax(heights) - np.nanmin(heights) < MIN_FRONT_RISE:
            return points, None
        if all_steps or (self.jumps and self.similarity.is_constant):
            return points, self._best_step(radii, points)
        top = _highest(points)
        if top == 0 and self.jumps:
            return points, points[0]  # finer than every distance, nothing changes any more
        if top in {0, shown.size - 1} or heights[top] - heights[0] < NOISE_SHARE * self.tolerance:
            return points, None
        if self.similarity.is_constant and isinstance(self.where, ContinuousSpace) and self.where.homogeneous:
            mass = float(best_ball_mass(self.item_count, self.similarity.background))
            best = min(resolution_of_ball(self.where, mass), self.similarity.cut)
            return points, self.at(np.array([best]))[0]
        return points, self._refine(shown[top - 1], shown[top + 1])

    def fill_gaps(self, points: list[FrontPoint]) -> list[FrontPoint]:
        """Return the points and others between those that lie far apart, except where the front jumps."""
        if self.jumps and self.similarity.is_constant:
            return points
        radii = np.array([point.resolution for point in points])
        both = np.array([(point.generalization, point.identification) for point in points])
        chords = np.hypot(*np.diff(both, axis=0).T)
        smooth = np.diff(np.log(radii)) > 10.0 * JUMP_OFFSET
        counts = np.where(smooth & np.isfinite(chords), np.ceil(chords / MAX_CHORD), 1.0).astype(int)
        pairs = zip(radii[:-1], radii[1:], counts, strict=True)
        between = [np.geomspace(low, high, count + 1)[1:-1] for low, high, count in pairs if count > 1]
        if not between:
            return points
        return sorted([*points, *self.at(np.concatenate(between))], key=lambda point: point.resolution)

    def _best_step(self, radii: Array, points: Sequence[FrontPoint]) -> FrontPoint:
        """Return the best of many steps; `points` are some of them, spread over their order.

        That is the best of all if they are not too many; otherwise the best of a few of them, then of those next to the
        best of these, and so on, as the constant similarity allows, whose front has one peak.
        """
        distances = self.where.distance.size if isinstance(self.where, DiscreteSpace | StimulusSet) else 1
        few = radii.size <= min(MAX_TRIED, MAX_TRIED_SIZE // distances)
        if few and not self.similarity.is_constant and len(points) < radii.size:
            points = self.at(radii)
        places = _spread(np.arange(radii.size))
        while len(points) < radii.size:
            top = _highest(points)
            radii = radii[places[max(top - 1, 0)] : places[min(top + 1, len(points) - 1)] + 1]
            places = np.unique(np.linspace(0, radii.size - 1, ZOOM_POINTS).astype(int))
            points = self.at(radii[places])
        return points[_highest(points)]

    def _refine(self, finest: float, coarsest: float) -> FrontPoint:
        """Return the peak between two resolutions, that of a polynomial fitted where it is accurate enough."""
        low, high = math.log(finest), math.log(coarsest)
        x = np.linspace(-1.0, 1.0, PEAK_POINTS)
        while True:
            middle, half = 0.5 * (low + high), 0.5 * (high - low)
            points = self.at(np.exp(middle + half * x))
            heights = np.array([point.generalization for point in points])
            fitted = np.polynomial.Polynomial.fit(x, heights, PEAK_DEGREE)
            flat = fitted.deriv().roots()
            inside = flat[(np.abs(flat.imag) < MAX_IMAGINARY_PART) & (np.abs(flat.real) < 1.0)].real
            misfit = float(np.abs(fitted(x) - heights).max())
            if inside.size and misfit < max(MAX_MISFIT, MISFIT_SHARE * self.tolerance):
                best = inside[np.argmax(fitted(inside))]
                return self.at(np.exp(np.array([middle + half * best])))[0]
            top = int(np.argmax(heights))
            if high - low < max(PEAK_WIDTH, PEAK_WIDTH_SHARE * self.tolerance):
                return points[top]
            low, high = (middle + half * x[place] for place in (max(top - 1, 0), min(top + 1, PEAK_POINTS - 1)))


def _highest(points: Sequence[FrontPoint]) -> int:
    """Return which point generalizes best; of equally good ones, as complementary balls are, the finest."""
    heights = np.array([point.generalization for point in points])
    return int(np.argmax(heights > np.nanmax(heights) - MIN_FRONT_RISE))


def _spread(radii: NDArray[Any]) -> NDArray[Any]:
    """Return all resolutions if they are not too many, or as many as a front has points, spread over their order."""
    if radii.size <= MAX_SHOWN:
        return radii
    spread: NDArray[Any] = radii[np.unique(np.linspace(0, radii.size - 1, FRONT_POINTS).astype(int))]
    return spread


def _steepest(similarity: Similarity, largest: float) -> float:
    """Return the scaled distance, up to the largest, within which the similarity falls by `MAX_SIMILARITY_FALL`."""
    if np.isfinite(similarity.shape.support):
        return largest
    x = np.geomspace(1e-2, largest, 800)
    with np.errstate(over="ignore", under="ignore"):
        level = similarity.shape.profile(x) + similarity.background
    return float(x[level >= np.exp(-MAX_SIMILARITY_FALL)].max(initial=x[0]))
