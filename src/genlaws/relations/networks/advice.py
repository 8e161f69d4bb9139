r"""Advice for training a network on a relation: the training fraction and the ratio of learning rates.

The training fraction of the best learner is exact. That of networks is measured by a pilot: first the training
fraction, with equal rates, then the ratio of decoder to encoder rate, at the advised training fraction. With
:math:`p^*` the training fraction of the best learner and p that of the networks, the induction gap is the ratio
:math:`p/p^*`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from genlaws.core.arguments import scalar, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, interval_columns
from genlaws.core.running import Running, checked_running
from genlaws.relations.inference.bound_curve import BOOTSTRAP_REPLICATES, crossing, estimate_of_draws
from genlaws.relations.inference.data_needed import data_needed
from genlaws.relations.inference.hypotheses import Entrywise, Hypotheses, hypotheses_of
from genlaws.relations.networks.diagram import side_of
from genlaws.relations.networks.phases import fit_threshold
from genlaws.relations.networks.pilot import QUICK_SETTINGS, Goal, Pilot, PilotPoint, PilotTrials
from genlaws.relations.repons.probability import collision_probability, sign_collision_probability
from genlaws.relations.structure.relation import Relation

if TYPE_CHECKING:
    import pandas as pd

MAX_PILOT_ELEMENTS = 500  # a network is measured on all pairs of elements
MAX_BOUND_ELEMENTS = 40  # above, the exact bound takes longer than the pilot
MIN_PAIRS = 4  # of the minority answer
MIN_SUCCESS_SHARE = 0.75  # of networks that must generalize at the advised training fraction


@dataclass(frozen=True)
class LearningAdvice:
    """Advised training fraction and learning rates, with intervals.

    Attributes
    ----------
    relation : str
    element_count, pair_count : int
    majority_accuracy, target_accuracy : float
    balanced : bool
        Whether the accuracy is the balanced one over test entries, because the majority answer alone reaches the
        target on the whole table.
    best_fraction : Estimate or None
        Training fraction from which the best learner reaches the target on the whole table.
    no_bound : str
        Why `best_fraction` is None; otherwise empty.
    network_fraction : Estimate
        Where the networks' mean accuracy reaches the target; infinite if it does not within the fractions tried, and
        the smallest fraction tried if it does there already.
    gap_ratio : Estimate or None
        `network_fraction` over `best_fraction`. Its interval takes both as independent and log-normal.
    half_fraction : Estimate or None
        Training fraction at which half of the networks reach the target on test entries; None if success does not
        become more frequent with the fraction. If `half_fraction_seen` is false, it or its interval lies outside the
        fractions tried.
    advised_fraction : float or None
        The smallest fraction tried from which on at least three in four networks reach the target.
    ratio_fraction : float
        Training fraction at which the ratios were tried: the advised one, or the largest.
    suggested_ratio : float or None
        Decoder over encoder rate: the one with most successes, and among equals with fewest steps; None without
        success.
    critical_ratio : Estimate or None
        At this ratio half of the networks fail; None if failures do not become more frequent above the suggested ratio.
        Ends of the interval may be 0 or infinite; if `boundary_seen` is false, they or the ratio itself lie outside
        the ratios tried.
    flow_law, sign_law : float
        Chance that two representations merge at the suggested ratio, by the laws of gradient flow and of sign updates
        with all widths 1. A guide, not a bound on a network.
    fractions, ratios : tuple of PilotPoint
    pilot : Pilot
    seed : int
    """

    relation: str
    element_count: int
    pair_count: int
    majority_accuracy: float
    target_accuracy: float
    balanced: bool
    best_fraction: Estimate | None
    no_bound: str
    network_fraction: Estimate
    gap_ratio: Estimate | None
    half_fraction: Estimate | None
    advised_fraction: float | None
    ratio_fraction: float
    suggested_ratio: float | None
    critical_ratio: Estimate | None
    flow_law: float
    sign_law: float
    fractions: tuple[PilotPoint, ...] = field(repr=False)
    ratios: tuple[PilotPoint, ...] = field(repr=False)
    pilot: Pilot = field(repr=False)
    seed: int = 0

    @property
    def learned(self) -> bool:
        """Whether any network of the pilot generalized."""
        return any(any(point.succeeded) for point in (*self.fractions, *self.ratios))

    @property
    def boundary_seen(self) -> bool:
        """Whether the critical ratio and its interval lie within the ratios tried."""
        return _inside(self.critical_ratio, self.ratios)

    @property
    def half_fraction_seen(self) -> bool:
        """Whether the fraction at which half of the networks generalize lies, with its interval, within those tried."""
        return _inside(self.half_fraction, self.fractions)

    @property
    def fraction_at_edge(self) -> bool:
        """Whether the advised fraction is the smallest one tried, so that a smaller one may suffice."""
        return self.advised_fraction == self.fractions[0].value

    @property
    def ratio_at_edge(self) -> bool:
        """Whether the suggested ratio is the smallest or largest one tried, so that one outside may be better."""
        return self.suggested_ratio in (self.ratios[0].value, self.ratios[-1].value)

    @property
    def network_count(self) -> int:
        """Networks that were trained and could be measured."""
        return sum(len(point.succeeded) for point in (*self.fractions, *self.ratios))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each training fraction and each ratio tried."""
        import pandas as pd  # noqa: PLC0415

        rows = [
            {
                "tried": tried,
                "value": point.value,
                **interval_columns("success", point.success),
                **interval_columns("accuracy", point.accuracy),
                "median_steps": point.median_steps,
                "networks": len(point.succeeded),
            }
            for tried, points in (("train_fraction", self.fractions), ("ratio", self.ratios))
            for point in points
        ]
        return pd.DataFrame(rows)


def _inside(found: Estimate | None, tried: Sequence[PilotPoint]) -> bool:
    """Return whether an estimate and its interval lie within what was tried."""
    ends = tried[0].value, tried[-1].value
    return found is not None and side_of(found.low, ends) >= 0 >= side_of(found.high, ends)


def quick_pilot(**chosen: object) -> Pilot:
    """Return a pilot of fewer and shorter trainings; `chosen` overrides its fields."""
    return Pilot(**{**QUICK_SETTINGS, **chosen})


def advise_relation(
    relation: Relation,
    *,
    target_accuracy: float = 0.9,
    pilot: Pilot | None = None,
    seed: int = 0,
    running: Running | None = None,
) -> LearningAdvice:
    """Return the training fraction and the ratio of learning rates with which networks learn a relation.

    Parameters
    ----------
    relation : Relation
        Of at most 500 elements.
    target_accuracy : float in (0, 1)
        On the whole table for the comparison with the best learner, and on test entries for success. If the majority
        answer alone reaches it, the balanced accuracy over test entries replaces both.
    pilot : Pilot, optional
    seed : int
    running : Running, optional
        Its steps are the networks of the pilot.

    References
    ----------
    :cite:p:`baek2024`, Sections II and III.
    """
    target = float(scalar("target_accuracy", within("target_accuracy", target_accuracy, 0, 1, open_low=True)))
    if target == 1.0:
        raise InputError("target_accuracy must be below 1: a network succeeds when its accuracy exceeds the target.")
    whole_number("seed", seed)
    _check_size(relation)
    tried, shown = Pilot() if pilot is None else pilot, checked_running(running)
    goal = Goal(target, relation.majority_accuracy >= target)
    best, no_bound = _best_fraction(relation, goal, tried, seed)
    shown.start(tried.network_count, f"{relation.label}: networks of the pilot")
    trials = PilotTrials(relation, goal, tried, seed, shown)
    fractions = trials.fractions()
    if not fractions:
        raise InputError(f"{relation.label} has too few pairs to leave any for a test; the pilot cannot measure it.")
    network = _network_fraction(fractions, target, seed)
    advised = _advised_fraction(fractions)
    at = fractions[-1].value if advised is None else advised
    ratios = trials.ratios(at)
    suggested = _suggested_ratio(ratios)
    flow, sign = _merge_probabilities(suggested)
    return LearningAdvice(
        relation.label,
        relation.element_count,
        relation.pair_count,
        relation.majority_accuracy,
        target,
        goal.balanced,
        best,
        no_bound,
        network,
        _gap_ratio(network, best),
        _threshold(fractions, rising=True),
        advised,
        at,
        suggested,
        _critical_ratio(ratios, suggested),
        flow,
        sign,
        tuple(fractions),
        tuple(ratios),
        tried,
        seed,
    )


def _check_size(relation: Relation) -> None:
    if relation.element_count > MAX_PILOT_ELEMENTS:
        raise InputError(
            f"A pilot takes relations of at most {MAX_PILOT_ELEMENTS} elements; {relation.label} has "
            f"{relation.element_count:,}. Take a part of it."
        )
    rarer = min(len(relation.pairs), relation.pair_count - len(relation.pairs))
    if rarer < MIN_PAIRS:
        raise InputError(
            f"A pilot needs at least {MIN_PAIRS} pairs that hold and {MIN_PAIRS} that do not; {relation.label} has "
            f"only {rarer} of one kind."
        )


def _best_fraction(relation: Relation, goal: Goal, pilot: Pilot, seed: int) -> tuple[Estimate | None, str]:
    """Return the training fraction that the best learner needs, or the reason why it is not known."""
    if goal.balanced:
        return None, "the bound is for the accuracy on the whole table, where the majority answer is enough"
    known: Hypotheses = hypotheses_of(relation)
    if isinstance(known, Entrywise):
        return None, f"the bound is known only for classes with structure; the relation is in none ({known})"
    if relation.element_count > MAX_BOUND_ELEMENTS:
        return (
            None,
            f"it is computed here up to {MAX_BOUND_ELEMENTS} elements; genlaws relations data-needed has no limit",
        )
    found = data_needed(relation, target_accuracy=goal.target, hypotheses=known, repeats=pilot.bound_repeats, seed=seed)
    return found.train_fraction, ""


def _network_fraction(points: Sequence[PilotPoint], target: float, seed: int) -> Estimate:
    """Return where the mean accuracy crosses the target, with the bootstrap interval over networks."""
    shares, rng = np.array([point.value for point in points]), np.random.default_rng(seed)
    runs = [point.accuracies for point in points]
    curves = [[rng.choice(one, one.size).mean() for one in runs] for _ in range(BOOTSTRAP_REPLICATES)]
    found = [crossing(shares, curve, target) for curve in ([one.mean() for one in runs], *curves)]
    return estimate_of_draws(np.array(found), sum(one.size for one in runs))


def _gap_ratio(network: Estimate, best: Estimate | None) -> Estimate | None:
    """Return the first over the second; the logarithms of both intervals add as independent errors."""
    if best is None or not best.low > 0.0 or math.isinf(network.value):
        return None
    value = network.value / best.value
    below = math.hypot(math.log(network.value / network.low), math.log(best.high / best.value))
    above = math.hypot(math.log(network.high / network.value), math.log(best.value / best.low))
    return Estimate(value, value * math.exp(-below), value * math.exp(above), network.count)


def _advised_fraction(points: Sequence[PilotPoint]) -> float | None:
    """Return the smallest training fraction from which on enough networks generalize."""
    found = None
    for point in reversed(points):
        if point.success.value < MIN_SUCCESS_SHARE:
            break
        found = point.value
    return found


def _threshold(points: Sequence[PilotPoint], *, rising: bool) -> Estimate | None:
    """Return where half of the networks succeed; None if successes do not become more (`rising`) or less frequent."""
    truths = np.concatenate([point.succeeded for point in points]).astype(bool)
    values = np.repeat([point.value for point in points], [len(point.succeeded) for point in points])
    if truths.all() or not truths.any():
        return None
    apart = float(np.log(values[truths]).mean() - np.log(values[~truths]).mean())
    if not (apart > 0.0 if rising else apart < 0.0):
        return None
    try:
        return fit_threshold(values, truths)
    except InputError:  # the success rate is the same everywhere
        return None


def _suggested_ratio(points: Sequence[PilotPoint]) -> float | None:
    """Return the ratio with the largest share of successes; among equals, the one with the fewest steps."""
    tried = [point for point in points if any(point.succeeded)]
    return min(tried, key=lambda one: (-one.success.value, one.median_steps)).value if tried else None


def _critical_ratio(points: Sequence[PilotPoint], suggested: float | None) -> Estimate | None:
    """Return the ratio at which half of the networks fail, among those from the suggested one on."""
    above = [point for point in points if suggested is not None and point.value >= suggested]
    return _threshold(above, rising=False) if len(above) > 1 else None


def _merge_probabilities(ratio: float | None) -> tuple[float, float]:
    """Return the chance that two representations merge: by gradient flow and by sign updates."""
    if ratio is None:
        return math.nan, math.nan
    return float(collision_probability(1.0, ratio)), float(sign_collision_probability(1.0, ratio))
