"""Theory and runs behind the rules-and-facts view: the exact answer at the sliders, curves around it, and bundled runs.

The numbers and marks of the page are those of `solve`. A call of the solver costs more than the points in it, so all
points of the curves are put into one call: errors against the sample ratio, along the regularization and against the
kernel angle. Where the best regularization has to be searched for, `solve` would take 80 to 180 ms at all these points;
the curves use a coarser search of 10 to 40 ms, and their captions state its accuracy.

The bundled runs are ridge regression and support vector machines on Gaussian draws in 200 dimensions, on a coarse grid
of settings (``studies/explorer_runs_rules_facts.py``). Only the angle of a kernel and the regularization in units of
its size matter, so runs with one kernel apply to every other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from genlaws.core.arguments import Array
from genlaws.rules_facts import Kernel, bayes_optimal, optimal_regularization, solve
from genlaws.web.view import bundled_rows

SAMPLE_RATIOS = (0.1, 100.0)
KERNEL_ANGLE_RANGE = (0.05, 1.57)
# Regularizations of a path, in units of the kernel, and of 1 + α at the strong end.
MIN_REGULARIZATION, MAX_REGULARIZATION = 1e-4, 30.0
# Points along each axis, sample ratio and angle: fewer where the best regularization is searched for; and along a path.
CLOSED_FORM_POINTS, SEARCHED_POINTS, SEARCHED_FEATURE_POINTS = (49, 41), (15, 13), (11, 9)
REGULARIZATION_PATH_POINTS = 61
# Regularizations tried for each point, and again between the neighbors of the best. The hinge loss of a kernel has
# narrow minima and takes more tries than random features.
SEARCH_TRIES, SEARCH_TRIES_FEATURES = (32, 33), (16, 9)
ERROR_TIE_TOLERANCE = 1e-9  # errors closer than this are the same; then no regularization is preferred
RUN_DIMENSION = 200
# Runs further than this from the sliders are not shown.
MAX_RUN_DISTANCE = {
    "sample_ratio": math.log(1.5),
    "fact_fraction": 0.11,
    "kernel_angle": 0.16,
    "regularization": math.log(3.5),
}


@dataclass(frozen=True)
class LearnerOnTask:
    """A learner and its task, in numbers rounded to the steps of the sliders.

    Attributes
    ----------
    loss : str
    sample_ratio, fact_fraction : float
    mu_1, mu_star : float
        Of the kernel.
    regularization : float or None
        None for the one with the smallest generalization error.
    width_ratio : float or None
        None for a kernel.
    """

    loss: str
    sample_ratio: float
    fact_fraction: float
    mu_1: float
    mu_star: float
    regularization: float | None = None
    width_ratio: float | None = None

    @property
    def angle(self) -> float:
        """Kernel angle."""
        return float(np.arctan2(self.mu_1, self.mu_star))

    def points(self, count: int) -> _Points:
        """Return this learner several times."""
        return _Points(*(np.full(count, one) for one in (self.sample_ratio, self.mu_1, self.mu_star)))

    @property
    def size(self) -> float:
        """Unit of the regularization: the kernel of an input with itself, without its constant."""
        return self.mu_1**2 + self.mu_star**2

    @property
    def weakest(self) -> float:
        """Weakest regularization tried: 0, except for the hinge loss of random features, which is slow near it."""
        return MIN_REGULARIZATION * self.size if self.loss == "hinge" and self.width_ratio is not None else 0.0

    @property
    def searched(self) -> bool:
        """Whether the best regularization is not known in closed form; without a rule it is infinite."""
        closed = self.fact_fraction == 1.0 or (self.loss == "square" and self.width_ratio is None)
        return self.regularization is None and not closed


@dataclass(frozen=True)
class ErrorCurves:
    """Both errors along an axis, and the regularization at each point."""

    axis: Array
    generalization: Array
    memorization: Array
    regularization: Array

    @property
    def columns(self) -> tuple[Array, ...]:
        """Everything but the axis."""
        return self.generalization, self.memorization, self.regularization

    def part(self, first: int, last: int, axis: Array) -> ErrorCurves:
        """Return the points from `first` up to `last`, along an axis of their own."""
        return ErrorCurves(axis, *(values[first:last] for values in self.columns))

    def through(self, here: ErrorCurves, place: float) -> ErrorCurves:
        """Return the same with the one point of `here` at its place on the axis, so that a mark lies on its line."""
        other = self.axis != place
        at = int(np.searchsorted(self.axis[other], place))
        pairs = zip((self.axis, *self.columns), (np.array([place]), *here.columns), strict=True)
        return ErrorCurves(*(np.insert(values[other], at, one) for values, one in pairs))


@dataclass(frozen=True)
class Curves:
    """All curves of one answer."""

    by_samples: ErrorCurves
    by_angle: ErrorCurves
    by_regularization: ErrorCurves


@dataclass(frozen=True)
class _Points:
    """Sample ratios and kernels, one of each per point."""

    sample_ratio: Array
    mu_1: Array
    mu_star: Array


@lru_cache(maxsize=512)
def solved_here(learner: LearnerOnTask) -> ErrorCurves:
    """Return the one point of the sliders as `solve` gives it; NaN where the equations were not solved."""
    return _solved(learner, learner.points(1), "optimal" if learner.regularization is None else learner.regularization)


@lru_cache(maxsize=512)
def curves(learner: LearnerOnTask) -> Curves:
    """Return the curves around a learner, each with the other settings fixed."""
    searched = SEARCHED_POINTS if learner.width_ratio is None else SEARCHED_FEATURE_POINTS
    many = searched if learner.searched else CLOSED_FORM_POINTS
    samples, angles = np.geomspace(*SAMPLE_RATIOS, many[0]), np.linspace(*KERNEL_ANGLE_RANGE, many[1])
    root = np.sqrt(learner.size)
    points = _Points(
        np.concatenate([samples, np.full(many[1], learner.sample_ratio)]),
        np.concatenate([np.full(many[0], learner.mu_1), root * np.sin(angles)]),
        np.concatenate([np.full(many[0], learner.mu_star), root * np.cos(angles)]),
    )
    found, path = _searched_errors(learner, points) if learner.searched else _fixed_errors(learner, points)
    return Curves(
        found.part(0, len(samples), samples), found.part(len(samples), len(samples) + len(angles), angles), path
    )


@lru_cache(maxsize=512)
def bayes_curve(fact_fraction: float) -> tuple[Array, Array]:
    """Return sample ratios and the smallest generalization error that any learner can reach."""
    samples = np.geomspace(*SAMPLE_RATIOS, CLOSED_FORM_POINTS[0])
    return samples, bayes_optimal(sample_ratio=samples, fact_fraction=fact_fraction).generalization_error


@lru_cache(maxsize=2048)
def bayes_error(sample_ratio: float, fact_fraction: float) -> float:
    """Return the smallest generalization error that any learner can reach at one place."""
    return float(bayes_optimal(sample_ratio=sample_ratio, fact_fraction=fact_fraction).generalization_error)


def _path(learner: LearnerOnTask) -> tuple[_Points, Array]:
    """Return the learner at regularizations from none to infinite."""
    here = learner.points(REGULARIZATION_PATH_POINTS)
    strong = MAX_REGULARIZATION * learner.size * (1.0 + learner.sample_ratio)
    inside = np.geomspace(_weakest_tried(learner, here)[0], strong, REGULARIZATION_PATH_POINTS - 2)
    return here, np.concatenate([[learner.weakest], inside, [np.inf]])


def _solved(learner: LearnerOnTask, points: _Points, strengths: Array | float | str) -> ErrorCurves:
    """Solve points with one regularization each, or with the best; the axis is the sample ratio."""
    found = solve(
        learner.loss,
        sample_ratio=points.sample_ratio,
        fact_fraction=learner.fact_fraction,
        kernel=Kernel(points.mu_1, points.mu_star),
        regularization=strengths,
        width_ratio=learner.width_ratio,
    )
    return ErrorCurves(points.sample_ratio, found.generalization_error, found.memorization_error, found.regularization)


def _solved_with_path(learner: LearnerOnTask, points: _Points, strengths: Array) -> tuple[ErrorCurves, ErrorCurves]:
    """Solve points and the path along the regularization in one call."""
    path, along = _path(learner)
    joined = _Points(*(np.concatenate([getattr(points, name), getattr(path, name)]) for name in vars(path)))
    both, count = _solved(learner, joined, np.concatenate([strengths, along])), len(strengths)
    return both.part(0, count, strengths), both.part(count, count + len(along), along)


def _fixed_errors(learner: LearnerOnTask, points: _Points) -> tuple[ErrorCurves, ErrorCurves]:
    """Return the errors at a given regularization, or at the best of ridge regression, which is a closed form."""
    if learner.regularization is not None:
        return _solved_with_path(learner, points, np.full(len(points.mu_1), learner.regularization))
    best = optimal_regularization(
        sample_ratio=points.sample_ratio,
        fact_fraction=learner.fact_fraction,
        kernel=Kernel(points.mu_1, points.mu_star),
    )
    return _solved_with_path(learner, points, np.asarray(best))


def _searched_errors(learner: LearnerOnTask, points: _Points) -> tuple[ErrorCurves, ErrorCurves]:
    """Return the errors at the regularization best for generalization, searched for at every point; and the path.

    A row of tries per point; then tries between the two neighbors of the best; then the vertex of the parabola through
    the best three. The library's own search (`solve` with ``"optimal"``) is finer and slower.
    """
    size, rows = points.mu_1**2 + points.mu_star**2, np.arange(len(points.mu_1))
    low, high = np.log(_weakest_tried(learner, points)), np.log(MAX_REGULARIZATION * size * (1.0 + points.sample_ratio))
    first_tries, next_tries = SEARCH_TRIES if learner.width_ratio is None else SEARCH_TRIES_FEATURES
    grid = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, first_tries)
    ends = np.log(learner.weakest) if learner.weakest else -np.inf, np.inf
    tries = np.column_stack([grid, *(np.full_like(low, end) for end in ends)])
    flat, path = _solved_with_path(learner, _spread(points, tries.shape[1]), np.exp(tries).ravel())
    first = _in_rows(flat, tries)
    best = grid[rows, np.nanargmin(first.generalization[:, :first_tries], axis=1)]
    step = (high - low) / (first_tries - 1)
    grid = best[:, None] + step[:, None] * np.linspace(-1.0, 1.0, next_tries)
    second = _in_rows(_solved(learner, _spread(points, next_tries), np.exp(grid).ravel()), grid)
    return _or_ends(first, _solved(learner, points, np.exp(_vertex(second)))), path


def _weakest_tried(learner: LearnerOnTask, points: _Points) -> Array:
    """Return where the tries begin: the hinge loss of a nearly linear kernel may be best near λ = cot²θ."""
    weakest = MIN_REGULARIZATION * (points.mu_1**2 + points.mu_star**2)
    if learner.loss == "hinge" and learner.width_ratio is None:
        weakest = weakest * np.clip((points.mu_star / points.mu_1) ** 2, MIN_REGULARIZATION, 1.0)
    return np.asarray(weakest)


def _spread(points: _Points, tries: int) -> _Points:
    return _Points(*(np.repeat(getattr(points, name), tries) for name in vars(points)))


def _in_rows(flat: ErrorCurves, tries: Array) -> ErrorCurves:
    return ErrorCurves(tries, *(part.reshape(tries.shape) for part in flat.columns))


def _vertex(tried: ErrorCurves) -> Array:
    """Return where the parabola through the lowest try and its neighbors has its vertex."""
    row = np.arange(len(tried.generalization))
    middle = np.clip(np.nanargmin(tried.generalization, axis=1), 1, tried.generalization.shape[1] - 2)
    left, center, right = (tried.generalization[row, middle + way] for way in (-1, 0, 1))
    curvature = left - 2.0 * center + right
    way = np.clip(
        np.where(curvature > 0.0, 0.5 * (left - right) / np.where(curvature > 0.0, curvature, 1.0), 0.0), -1.0, 1.0
    )
    step = tried.axis[row, middle + 1] - tried.axis[row, middle]
    return np.asarray(tried.axis[row, middle] + way * step)


def _or_ends(first: ErrorCurves, inside: ErrorCurves) -> ErrorCurves:
    """Return what was found inside the range, or no or infinite regularization where that is better."""
    found = inside.columns
    for column, allowed in ((-1, -ERROR_TIE_TOLERANCE), (-2, ERROR_TIE_TOLERANCE)):
        better = first.generalization[:, column] <= found[0] + allowed
        found = tuple(np.where(better, end[:, column], one) for end, one in zip(first.columns, found, strict=True))
    return ErrorCurves(found[2], *found)


@dataclass(frozen=True)
class LearnerRuns:
    """The mean errors of one learner over its draws, with intervals."""

    loss: str
    sample_ratio: float
    fact_fraction: float
    kernel_angle: float
    regularization: float | None  # none where it was the best for generalization
    draws: int
    generalization: tuple[float, float, float]
    memorization: tuple[float, float, float]


@dataclass(frozen=True)
class NearRuns:
    """Runs along one setting; `learner` has the others, the bundled values nearest to the sliders'."""

    learner: LearnerOnTask
    runs: tuple[LearnerRuns, ...]
    exact: bool
    name: str


@cache
def all_runs() -> tuple[LearnerRuns, ...]:
    """Return every bundled run."""
    return tuple(_read(row) for row in bundled_rows("rules_facts.csv"))


def runs_by_samples(learner: LearnerOnTask) -> NearRuns | None:
    """Return the runs along the sample ratio, or nothing where none is near."""
    return _near(learner, ("fact_fraction", "kernel_angle", "regularization"), lambda run: run.sample_ratio)


def runs_by_angle(learner: LearnerOnTask) -> NearRuns | None:
    """Return the runs along the kernel angle, or nothing where none is near."""
    return _near(learner, ("sample_ratio", "fact_fraction", "regularization"), lambda run: run.kernel_angle)


def runs_by_regularization(learner: LearnerOnTask) -> NearRuns | None:
    """Return the runs along the regularization, or nothing where none is near."""
    fixed = replace(learner, regularization=1.0)
    return _near(
        fixed, ("sample_ratio", "fact_fraction", "kernel_angle"), lambda run: run.regularization or 0.0, free=True
    )


def _read(row: dict[str, str]) -> LearnerRuns:
    def triple(name: str) -> tuple[float, float, float]:
        """Return a value and the ends of its interval."""
        return float(row[name]), float(row[f"{name}_low"]), float(row[f"{name}_high"])

    return LearnerRuns(
        loss=row["loss"],
        sample_ratio=float(row["sample_ratio"]),
        fact_fraction=float(row["fact_fraction"]),
        kernel_angle=float(row["kernel_angle"]),
        regularization=None if row["choice"] == "optimal" else float(row["regularization"]),
        draws=int(row["draws"]),
        generalization=triple("generalization_error"),
        memorization=triple("memorization_error"),
    )


def _near(
    learner: LearnerOnTask, held: tuple[str, ...], axis: Callable[[LearnerRuns], float], *, free: bool = False
) -> NearRuns | None:
    """Return the runs at the bundled values nearest to the sliders' for the fixed settings."""
    if learner.width_ratio is not None:
        return None
    optimal = learner.regularization is None
    found = [
        run for run in all_runs() if run.loss == learner.loss and (run.regularization is None) == (optimal and not free)
    ]
    exact, labels = True, []
    for name in held:
        if name == "regularization" and optimal:
            labels.append("λ best")
            continue
        wanted = _scaled(name, _setting(learner, name))
        nearest = min(
            sorted({float(getattr(run, name)) for run in found}), key=lambda v: abs(_scaled(name, v) - wanted)
        )
        if abs(_scaled(name, nearest) - wanted) > MAX_RUN_DISTANCE[name]:
            return None
        exact &= abs(_scaled(name, nearest) - wanted) < 1e-3
        found = [run for run in found if getattr(run, name) == nearest]
        labels.append(f"{_SYMBOLS[name]} = {nearest:g}")
    found.sort(key=axis)
    return NearRuns(_learner(found[0]), tuple(found), exact, ", ".join(labels))


_SYMBOLS = {"sample_ratio": "α", "fact_fraction": "ε", "kernel_angle": "θ", "regularization": "λ"}


def _setting(learner: LearnerOnTask, name: str) -> float:
    relative = (learner.regularization or 0.0) / learner.size
    return float({**vars(learner), "kernel_angle": learner.angle, "regularization": relative}[name])


def _scaled(name: str, value: float) -> float:
    """Return a setting on the scale on which nearness is judged."""
    return math.log(max(value, 1e-300)) if name in {"sample_ratio", "regularization"} else value


def _learner(run: LearnerRuns) -> LearnerOnTask:
    """Return the learner of a run; the curve along a setting does not depend on that setting of it."""
    sine, cosine = float(np.sin(run.kernel_angle)), float(np.cos(run.kernel_angle))
    return LearnerOnTask(run.loss, run.sample_ratio, run.fact_fraction, sine, cosine, run.regularization)
