"""The resolution of a model, fitted to its answers, and the two-anchor test.

The two-anchor test shows how the answer changes from the lower to the upper item as the probe moves between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, positive, real, scalar
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, bootstrap_mean, format_estimate, from_replicates, wilson_interval
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.probes.outcomes import DISTANCE_KINDS, RecordedTrials
from genlaws.probes.parameters import Replicates, Seed, Shapes
from genlaws.probes.rates import above_chance
from genlaws.probes.trials import ProbeTrial
from genlaws.semanticity.choices.fit import fit_choices
from genlaws.semanticity.choices.model import choice_probabilities
from genlaws.semanticity.choices.result import ChoiceFit, ShapeComparison
from genlaws.semanticity.choices.trials import Trials

PLACE_DECIMALS = 9  # to which places are rounded before they are compared
MAX_LIST_LENGTH = 8  # in a longer one, each place in it would need a parameter and more trials than there are
TRIALS_PER_PARAMETER = 10
MIN_TRIALS = 20
# An end of an interval this many times beyond the distances that were shown counts as open.
OPEN_END_FACTOR = 100.0
FITTED_SCALARS = ("resolution", "background", "lapse")


@dataclass(frozen=True)
class AnchorPoint:
    """Answers to probes at c + δ with items at c ± D.

    Attributes
    ----------
    half_separation, shift : float
        D and δ, in units of the domain.
    upper : Estimate
        Share of the readable answers that name the item at c + D, with Wilson's interval.
    probability : Estimate
        Mean probability of that item, with its bootstrap interval; NaN in text mode.
    unparsed, failed : int
        Replies that could not be read, and trials without a reply; in neither share.
    """

    half_separation: float
    shift: float
    upper: Estimate
    probability: Estimate
    unparsed: int
    failed: int


@dataclass(frozen=True)
class ResolutionCurve:
    """The answers to the two-anchor test, by half separation and shift, both increasing."""

    points: tuple[AnchorPoint, ...]

    @property
    def half_separations(self) -> tuple[float, ...]:
        """The half separations D, increasing."""
        return tuple(dict.fromkeys(point.half_separation for point in self.points))

    def at(self, half_separation: float) -> tuple[AnchorPoint, ...]:
        """Return the points of one half separation, by shift."""
        return tuple(point for point in self.points if point.half_separation == half_separation)

    def to_frame(self) -> DataFrame:
        """Return one row per half separation and shift."""
        columns = ["half_separation", "shift", "upper", "upper_low", "upper_high", "answered"]
        columns += ["probability", "probability_low", "probability_high", "unparsed", "failed"]
        rows = [
            (
                *(point.half_separation, point.shift),
                *(point.upper.value, point.upper.low, point.upper.high, point.upper.count),
                *(point.probability.value, point.probability.low, point.probability.high),
                *(point.unparsed, point.failed),
            )
            for point in self.points
        ]
        return frame_of(rows, columns=columns)


def resolution_curve(given: RecordedTrials) -> ResolutionCurve:
    """Return the share of answers that name the upper anchor, for each half separation and shift.

    A curve that is a step at shift 0 is sharp; it is flat where both anchors look alike: far from both, or both within
    the resolution.
    """
    chosen = given.of_kinds(("resolution",))
    groups: dict[tuple[float, float], list[int]] = {}
    for number, trial in enumerate(chosen.trials):
        if not isinstance(trial, ProbeTrial) or len(trial.places) != 2:
            raise InputError(f"A resolution trial must show two items at places; trial {number + 1} does not.")
        low, high = min(trial.places), max(trial.places)
        key = round(0.5 * (high - low), PLACE_DECIMALS), round(trial.probe - 0.5 * (high + low), PLACE_DECIMALS)
        groups.setdefault(key, []).append(number)
    return ResolutionCurve(tuple(_point(*key, chosen.take(np.array(groups[key]))) for key in sorted(groups)))


def _point(half: float, shift: float, group: RecordedTrials) -> AnchorPoint:
    upper = np.array([int(np.argmax(trial.places)) for trial in group.trials if isinstance(trial, ProbeTrial)])
    answered = ~(group.failed | group.unparsed)
    named = (group.chosen == upper)[answered]
    probability: Array = np.array(
        [scores[place] for scores, place in zip(group.scores, upper, strict=True) if scores is not None],
        dtype=np.float64,
    )
    return AnchorPoint(
        half,
        shift,
        wilson_interval(int(named.sum()), named.size) if named.size else Estimate(math.nan),
        bootstrap_mean(probability),
        int(group.unparsed.sum()),
        int(group.failed.sum()),
    )


@dataclass(frozen=True, eq=False, repr=False)
class ResolutionFit(Result):
    """Resolution, background, lapses and preferences for places, from tests in which distances decide.

    Attributes
    ----------
    fit : ChoiceFit or None
        None where too few replies could be read.
    comparison : ShapeComparison or None
        How well the shapes predict answers they were not fitted to; None if only one was tried.
    resolution, background, lapse : Estimate
        The resolution in units of the domain.
    position_effects : tuple of Estimate
        Preference for each place in the list against the first, the first being left out; empty if none were fitted.
    offsets : dict of str to Estimate
        Preference for each answer against the first in alphabetical order; empty if none were fitted.
    excess : Estimate
        Mean over trials of the probability of the right answer (in text mode 1 or 0) minus 1/n.
    unit : str
    determined : bool
        Whether the answers follow the distances beyond chance and the interval of the resolution is closed.
    message : str
        What the numbers can and cannot be trusted for.
    """

    fit: ChoiceFit | None
    comparison: ShapeComparison | None
    resolution: Estimate
    background: Estimate
    lapse: Estimate
    position_effects: tuple[Estimate, ...]
    offsets: dict[str, Estimate]
    excess: Estimate
    unit: str
    determined: bool
    message: str

    @property
    def shape(self) -> str:
        """Of the fitted similarity; empty where too few replies could be read."""
        return "" if self.fit is None else self.fit.shape

    def identification(self, given: RecordedTrials, item_counts: Sequence[int]) -> Array:
        """Return the accuracy this fit predicts for the identification trials, for each item count.

        It was fitted to other trials, so nothing is adjusted here. NaN where there are no such trials.
        """
        if self.fit is None:
            return np.full(len(item_counts), np.nan)
        identified = given.of_kinds(("identification",))
        means = []
        for count in item_counts:
            trials = [trial for trial in identified.trials if len(trial.items) == count]
            if not trials:
                means.append(math.nan)
                continue
            shown = Trials.from_lists(
                [trial.distances for trial in trials],
                options=[trial.items for trial in trials] if self.fit.offsets else None,
            )
            # Beyond the longest list of the fit nothing is known about places.
            known = len(self.fit.position_effects) >= count
            model = self.fit.model if known else replace(self.fit.model, position_effects=())
            p = choice_probabilities(shown, model)
            means.append(float(np.mean([row[trial.right] for row, trial in zip(p, trials, strict=True)])))
        return np.array(means)

    def upper_probability(self, half_separation: float, shifts: ArrayLike) -> Array:
        """Return the predicted probability of naming the upper of two anchors, without any preference for a place.

        Parameters
        ----------
        half_separation : float > 0
            D; the anchors are at c ± D.
        shifts : array
            δ; the probe is at c + δ.
        """
        half = float(scalar("half_separation", positive("half_separation", half_separation)))
        away = np.atleast_1d(real("shifts", shifts))
        if self.fit is None:
            return np.full(away.shape, np.nan)
        shown = Trials.from_lists(list(np.abs(np.stack([away + half, away - half], axis=-1))))
        return choice_probabilities(shown, replace(self.fit.model, offsets={}, position_effects=()))[:, 1]

    def to_frame(self) -> DataFrame:
        """Return one row per parameter with the ends of its interval."""
        rows = {name: getattr(self, name) for name in FITTED_SCALARS}
        rows |= {f"offset[{name}]": value for name, value in self.offsets.items()}
        rows |= {f"position[{place}]": value for place, value in enumerate(self.position_effects, start=2)}
        table = [(name, one.value, one.low, one.high) for name, one in rows.items()]
        return frame_of(table, columns=["parameter", "value", "low", "high"])

    def summary(self) -> Summary:
        """Return resolution, shape, background and lapses, or why there are none."""
        rows = [Row("resolution ε", "not determined")]
        if self.determined:
            scale = f"scale of the {self.shape} similarity: closer things are hard to tell apart"
            background, lapse = format_estimate(self.background), format_estimate(self.lapse)
            rows = [
                Row("resolution ε", format_estimate(self.resolution, self.unit), scale),
                Row("background Δ", background, "similarity of distant things; near ones have 1 more"),
                Row("lapses λ", lapse, "share of the answers that are guesses"),
            ]
        meaning = "probability of the right answer in the tests of nearness, minus 1/n; 0 is guessing"
        rows.append(Row("above chance", format_estimate(self.excess), meaning))
        return Summary(rows, (self.message,))


@question
def fit_resolution(
    given: RecordedTrials,
    *,
    shapes: Shapes = ("exponential", "gaussian", "power-law", "linear", "constant"),
    unit: str = "",
    kinds: Sequence[str] = DISTANCE_KINDS,
    offsets: bool = False,
    position_effects: bool | None = None,
    background: float | str = "fit",
    lapse: float | str = "fit",
    folds: int = 5,
    replicates: Replicates = 200,
    seed: Seed = 0,
) -> ResolutionFit:
    """Fit Luce choice to the answers, with the shape that predicts unseen answers best.

    In text mode the intervals are those of the profile likelihood. In probability mode the probabilities themselves are
    fitted, which are not counts; there the trials are resampled with replacement and the fit is repeated.

    Parameters
    ----------
    given : RecordedTrials
    shapes : sequence of str
        Similarities to compare by cross-validation; a single one is used directly.
    unit : str
        Of the distances, such as ``domain.unit``.
    kinds : sequence of str
        Trials to use.
    offsets : bool
        One per answer; for tasks whose trials share a few fixed answers.
    position_effects : bool or None
        One per place in the list; None fits them where lists have at most 8 places and ten trials per parameter.
    background, lapse : float or "fit"
    folds : int
        Of the cross-validation.
    replicates : int, at least 20
        Of the bootstrap in probability mode. About 5 s for 200 with a smooth shape and 1,000 trials, a minute or two
        with a linear or constant one.
    seed : int

    Notes
    -----
    The intervals take the shape as given. They do not account for its choice by the same answers. Where the answers do
    not follow the distances beyond chance there is nothing to resolve: shapes are not compared, and there are no
    intervals.
    """
    names = list(shapes)
    if not names:
        raise InputError("shapes must name at least one shape; got none.")
    excess = above_chance(given.of_kinds(kinds))
    if not (~given.of_kinds(kinds).failed).any():
        return _no_resolution(excess, unit, f"No trial of {' or '.join(kinds)} got a reply.")
    trials = given.to_trials(kinds, named=offsets)
    readable = int(trials.parsed.sum())
    places = _wants_places(trials, offsets) if position_effects is None else position_effects
    needed = max(MIN_TRIALS, 2 * _parameter_count(trials, offsets, places))
    if readable < needed:
        few = f"A resolution needs {needed} trials with an answer; got {readable} of {trials.trial_count}."
        return _no_resolution(excess, unit, few)
    options: dict[str, Any] = {"background": background, "lapse": lapse, "offsets": "fit" if offsets else None}
    options["position_effects"] = "fit" if places else None
    if not excess.low > 0:  # the intervals of a flat likelihood take minutes and mean nothing
        fit = fit_choices(trials, shape=names[0], intervals="none", **options)
        return _to_result(trials, fit, fit.estimates, excess, unit)
    kind = "all" if given.mode == "text" else "none"
    fit = fit_choices(trials, shape=names, folds=folds, seed=seed, intervals=kind, **options)
    estimates = _bootstrap(trials, fit, options, replicates, seed) if given.mode == "probability" else fit.estimates
    return _to_result(trials, fit, estimates, excess, unit)


def _wants_places(trials: Trials, offsets: bool) -> bool:
    enough = int(trials.parsed.sum()) >= TRIALS_PER_PARAMETER * _parameter_count(trials, offsets, places=True)
    return int(trials.option_counts.max()) <= MAX_LIST_LENGTH and enough


def _parameter_count(trials: Trials, offsets: bool, places: bool) -> int:
    preferences = len(trials.option_names) - 1 if offsets else 0
    return len(FITTED_SCALARS) + preferences + (int(trials.option_counts.max()) - 1 if places else 0)


def _bootstrap(
    trials: Trials, fit: ChoiceFit, options: dict[str, Any], replicates: int, seed: int
) -> dict[str, Estimate]:
    """Return the parameters, the fitted ones with percentile intervals from resampled trials."""
    answered = trials.take(trials.parsed)
    generator = np.random.default_rng(seed)
    count = answered.trial_count
    found = []
    for _ in range(replicates):
        drawn = answered.take(generator.integers(0, count, count))
        found.append(fit_choices(drawn, shape=fit.shape, intervals="none", **options).estimates)
    return {
        name: from_replicates(one.value, [other[name].value for other in found], count) if name in fit.fitted else one
        for name, one in fit.estimates.items()
    }


def _to_result(
    trials: Trials, fit: ChoiceFit, estimates: dict[str, Estimate], excess: Estimate, unit: str
) -> ResolutionFit:
    shown = trials.distances[trials.distances > 0]
    least, most = float(shown.min(initial=np.inf)), float(shown.max(initial=0.0))
    resolution = _with_open_ends(estimates["resolution"], least, most)
    doubts = _doubts(fit, resolution, excess)
    return ResolutionFit(
        fit,
        fit.comparison,
        resolution,
        estimates["background"],
        estimates["lapse"],
        tuple(value for name, value in estimates.items() if name.startswith("position[") and name != "position[1]"),
        {name[7:-1]: value for name, value in estimates.items() if name.startswith("offset[")},
        excess,
        unit,
        determined=not doubts,
        message=" ".join([*doubts, fit.message]),
    )


def _with_open_ends(resolution: Estimate, least: float, most: float) -> Estimate:
    """Return the interval with an end far beyond the distances shown replaced by 0 or infinity."""
    low = 0.0 if resolution.low < least / OPEN_END_FACTOR else resolution.low
    return replace(resolution, low=low, high=math.inf if resolution.high > most * OPEN_END_FACTOR else resolution.high)


def _doubts(fit: ChoiceFit, resolution: Estimate, excess: Estimate) -> list[str]:
    """Return why the answers do not determine the resolution; empty if they do."""
    doubts = []
    if not excess.low > 0:
        return [f"The answers do not follow the distances beyond chance (excess {excess})."]
    if not fit.converged:
        doubts.append("The fit did not converge.")
    if resolution.low == 0 or math.isnan(resolution.low):
        doubts.append("The answers set no lower limit to the resolution.")
    if math.isinf(resolution.high) or math.isnan(resolution.high):
        doubts.append("The answers set no upper limit to the resolution.")
    return doubts


def _no_resolution(excess: Estimate, unit: str, message: str) -> ResolutionFit:
    none = Estimate(math.nan)
    return ResolutionFit(None, None, none, none, none, (), {}, excess, unit, determined=False, message=message)
