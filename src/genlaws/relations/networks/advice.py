r"""Advice for training a network on a relation: the training fraction and the ratio of learning rates.

The training fraction of the best learner is exact. That of networks is measured by a pilot: first the training
fraction, with equal rates, then the ratio of decoder to encoder rate, at the advised training fraction. With
:math:`p^*` the training fraction of the best learner and p that of the networks, the induction gap is the ratio
:math:`p/p^*`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, interval_columns
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, question, text_table
from genlaws.core.running import Running, checked_running
from genlaws.relations import parameters
from genlaws.relations.inference.bound_curve import BOOTSTRAP_REPLICATES, crossing, estimate_of_draws
from genlaws.relations.inference.data_needed import data_needed
from genlaws.relations.inference.hypotheses import Entrywise, Hypotheses, hypotheses_of
from genlaws.relations.networks.phases import fit_threshold, format_within_tried, side_of
from genlaws.relations.networks.pilot import Goal, Pilot, PilotPoint, PilotTrials
from genlaws.relations.repons.probability import collision_probability, sign_collision_probability
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.relation import Relation

MAX_PILOT_ELEMENTS = 500  # a network is measured on all pairs of elements
MAX_BOUND_ELEMENTS = 40  # above, the exact bound takes longer than the pilot
MIN_PAIRS = 4  # of the minority answer
MIN_SUCCESS_SHARE = 0.75  # of networks that must generalize at the advised training fraction
DEFAULT_RATES = {"adam": 1e-2, "adamw": 1e-2, "sgd": 1.0}  # of the decoder
PILOT_SIZES: dict[bool, dict[str, Any]] = {  # whether it is quick
    False: {
        "train_fractions": (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75),
        "ratios": (0.1, 0.4, 1.5, 5.5, 20.0, 80.0, 300.0),
        "networks": 6,
        "ratio_networks": 8,
        "bound_repeats": 10,
        "steps": 1500,
    },
    True: {
        "train_fractions": (0.1, 0.2, 0.3, 0.45, 0.7),
        "ratios": (0.1, 1.0, 8.0, 50.0, 300.0),
        "networks": 4,
        "ratio_networks": 4,
        "bound_repeats": 5,
        "steps": 800,
    },
}


@dataclass(frozen=True, eq=False, repr=False)
class LearningAdvice(Result):
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
    """

    derived = (
        *("learned", "advised_entries", "boundary_seen", "half_fraction_seen", "fraction_at_edge", "ratio_at_edge"),
        "network_count",
    )

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
    fractions: tuple[PilotPoint, ...]
    ratios: tuple[PilotPoint, ...]
    pilot: Pilot

    @property
    def learned(self) -> bool:
        """Whether any network of the pilot generalized."""
        return any(any(point.succeeded) for point in (*self.fractions, *self.ratios))

    @property
    def advised_entries(self) -> int | None:
        """The advised training fraction as a number of entries."""
        return None if self.advised_fraction is None else round(self.advised_fraction * self.pair_count)

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

    def to_frame(self) -> DataFrame:
        """Return one row for each training fraction and each ratio tried."""
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
        return frame_of(rows)

    def summary(self) -> Summary:
        """Return what to take, the numbers behind it, all that was tried, and what was held fixed."""
        tables = (
            _format_table("training fraction", self.fractions, self.advised_fraction, "advised"),
            _format_table("decoder/encoder rate", self.ratios, self.suggested_ratio, "suggested"),
        )
        return Summary(_rows(self), _caveats(self), table="\n\n".join(tables), headline=_headline(self))


def _inside(found: Estimate | None, tried: Sequence[PilotPoint]) -> bool:
    """Return whether an estimate and its interval lie within what was tried."""
    ends = _ends(tried)
    return found is not None and side_of(found.low, ends) >= 0 >= side_of(found.high, ends)


def _ends(tried: Sequence[PilotPoint]) -> tuple[float, float]:
    return tried[0].value, tried[-1].value


@question
def advise_relation(
    relation: str | Relation,
    *,
    target_accuracy: parameters.ExceededAccuracy = 0.9,
    quick: parameters.Quick = False,
    width: parameters.Width = 50,
    depth: parameters.Depth = 3,
    dimension: parameters.Dimension = 2,
    steps: parameters.PilotSteps = None,
    optimizer: parameters.Optimizer = "adam",
    decoder_rate: parameters.PilotRate = None,
    train_fractions: parameters.TriedFractions = None,
    ratios: parameters.TriedRatios = None,
    networks: parameters.FractionNetworks = None,
    ratio_networks: parameters.RatioNetworks = None,
    bound_repeats: parameters.BoundRepeats = None,
    seed: parameters.Seed = 0,
    running: Running | None = None,
) -> LearningAdvice:
    """Give how many entries and which ratio of learning rates a network needs to learn a relation.

    Parameters
    ----------
    relation : str or Relation
        A name such as ``mod3`` (30 elements), or any relation of at most 500 elements.
    target_accuracy : float in (0, 1)
        On the whole table for the comparison with the best learner, and on test entries for success. If the majority
        answer alone reaches it, the balanced accuracy over test entries replaces both.
    quick : bool
        Fewer and shorter trainings, where the numbers below are left out.
    width, depth, dimension : int
        Units of each hidden layer of the decoder, number of these layers, and dimension of the embeddings.
    steps : int, optional
        Updates of each network; by default 1,500, or 800 if quick.
    optimizer : {"adam", "adamw", "sgd"}
    decoder_rate : float, optional
        Held fixed; by default 0.01, or 1 with SGD.
    train_fractions : increasing floats in (0, 1), optional
        Tried with equal learning rates.
    ratios : increasing positive floats, optional
        Of decoder over encoder rate, tried at the advised training fraction.
    networks, ratio_networks : int >= 2, optional
        At each training fraction, and at each ratio.
    bound_repeats : int >= 2, optional
        Random training sets behind the exact bound.
    seed : int
    running : Running, optional
        Its steps are the networks of the pilot.

    References
    ----------
    :cite:p:`baek2024`, Sections II and III.
    """
    known, shown = named_relation(relation) if isinstance(relation, str) else relation, checked_running(running)
    _check_size(known)
    given = {
        "train_fractions": None if train_fractions is None else tuple(np.asarray(train_fractions).tolist()),
        "ratios": None if ratios is None else tuple(np.asarray(ratios).tolist()),
        "networks": networks,
        "ratio_networks": ratio_networks,
        "bound_repeats": bound_repeats,
        "steps": steps,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    rate = DEFAULT_RATES[optimizer] if decoder_rate is None else decoder_rate
    pilot = Pilot(
        **PILOT_SIZES[quick] | chosen,
        width=width,
        depth=depth,
        dimension=dimension,
        optimizer=optimizer,
        decoder_rate=rate,
    )
    goal = Goal(target_accuracy, known.majority_accuracy >= target_accuracy)
    best, no_bound = _best_fraction(known, goal, pilot, seed)
    shown.start(pilot.network_count, f"{known.label}: networks of the pilot")
    trials = PilotTrials(known, goal, pilot, seed, shown)
    fractions = trials.fractions()
    if not fractions:
        raise InputError(f"{known.label} has too few pairs to leave any for a test; the pilot cannot measure it.")
    network = _network_fraction(fractions, target_accuracy, seed)
    advised = _advised_fraction(fractions)
    at = fractions[-1].value if advised is None else advised
    tried_ratios = trials.ratios(at)
    suggested = _suggested_ratio(tried_ratios)
    flow, sign = _merge_probabilities(suggested)
    return LearningAdvice(
        relation=known.label,
        element_count=known.element_count,
        pair_count=known.pair_count,
        majority_accuracy=known.majority_accuracy,
        target_accuracy=target_accuracy,
        balanced=goal.balanced,
        best_fraction=best,
        no_bound=no_bound,
        network_fraction=network,
        gap_ratio=_gap_ratio(network, best),
        half_fraction=_threshold(fractions, rising=True),
        advised_fraction=advised,
        ratio_fraction=at,
        suggested_ratio=suggested,
        critical_ratio=_critical_ratio(tried_ratios, suggested),
        flow_law=flow,
        sign_law=sign,
        fractions=tuple(fractions),
        ratios=tuple(tried_ratios),
        pilot=pilot,
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


def _headline(advice: LearningAdvice) -> list[str]:
    if not advice.learned:
        longest = f"{advice.pilot.steps:,} steps"
        return [
            f"No network of the pilot learned {advice.relation}: none of {advice.network_count} reached "
            f"{advice.target_accuracy:g} outside its training set within {longest}.",
            "Longer trainings (steps), a wider decoder (width) or more dimensions (dimension) may; or the "
            "relation has no structure that such a network finds.",
        ]
    return [_data_sentence(advice), *_ratio_sentences(advice)]


def _data_sentence(advice: LearningAdvice) -> str:
    share = advice.advised_fraction
    if share is None:
        return (
            f"At no training fraction tried, up to {advice.fractions[-1].value:.0%}, did three in four networks "
            "generalize: train longer, or try larger fractions."
        )
    edge = " It is the smallest fraction tried: a smaller one may suffice." if advice.fraction_at_edge else ""
    return (
        f"Train on at least {share:.0%} of the entries, {advice.advised_entries:,} of {advice.pair_count:,}: "
        f"at least three in four networks then exceed {advice.target_accuracy:g} on the rest.{edge}"
    )


def _ratio_sentences(advice: LearningAdvice) -> list[str]:
    if advice.suggested_ratio is None:
        return ["No ratio of the learning rates made a network generalize; take equal rates and train on more entries."]
    point = next(one for one in advice.ratios if one.value == advice.suggested_ratio)
    sentences = [
        f"Take a decoder rate of {advice.suggested_ratio:g} times the encoder rate: {sum(point.succeeded)} of "
        f"{len(point.succeeded)} networks generalized, after {point.median_steps:,.0f} steps in the median."
    ]
    if advice.ratio_at_edge:
        edge = "smallest" if point is advice.ratios[0] else "largest"
        sentences.append(f"It is the {edge} ratio tried: one beyond it may do better.")
    found = advice.critical_ratio
    if found is not None and advice.boundary_seen:
        sentences.append(f"Beyond a ratio between {found.low:.2g} and {found.high:.2g} half of the networks fail.")
    elif found is not None:
        sentences.append("Failures grow with the ratio, but these few networks do not determine where they begin.")
    return sentences


def _rows(advice: LearningAdvice) -> list[Row]:
    kind = "balanced over entries outside the training set" if advice.balanced else "whole table"
    best = advice.best_fraction
    rows = {
        "relation": f"{advice.relation}, {advice.element_count} elements, majority answer "
        f"{advice.majority_accuracy:.3f}",
        "target accuracy": f"{advice.target_accuracy:g} ({kind})",
        "the best learner needs": f"unknown: {advice.no_bound}" if best is None else _format_entries(best, advice),
        "the network needs": _format_network_share(advice),
        "induction gap": _format_gap(advice),
        "half generalize at": _format_half_share(advice),
        "critical ratio": _format_critical_ratio(advice),
    }
    if advice.suggested_ratio is not None:
        rows["laws at that ratio"] = (
            f"chance to merge {advice.flow_law:.3f} (gradient flow), {advice.sign_law:.3f} (sign updates): a guide, "
            "not a bound"
        )
    return [Row(label, value) for label, value in rows.items()]


def _format_entries(share: Estimate, advice: LearningAdvice) -> str:
    return f"{share.value * advice.pair_count:,.0f} entries, a fraction of {share.brief}"


def _format_network_share(advice: LearningAdvice) -> str:
    found = advice.network_fraction
    if math.isinf(found.value):
        return f"more than a fraction of {advice.fractions[-1].value:g}, the largest tried"
    if found.value <= advice.fractions[0].value:
        return f"at most a fraction of {found.value:g}, the smallest tried"
    if math.isinf(found.high):
        return f"{found.value * advice.pair_count:,.0f} entries, a fraction of {found.value:.3f} or more"
    return _format_entries(found, advice)


def _format_gap(advice: LearningAdvice) -> str:
    if advice.gap_ratio is None:
        return "unknown"
    most = "at most " if advice.network_fraction.value <= advice.fractions[0].value else ""
    return f"{most}{advice.gap_ratio.brief} times as many"


def _format_half_share(advice: LearningAdvice) -> str:
    found = advice.half_fraction
    if found is None:
        return "not seen: their number does not grow with the entries"
    if advice.half_fraction_seen:
        return _format_entries(found, advice)
    return f"a fraction of {format_within_tried(found, _ends(advice.fractions))}"


def _format_critical_ratio(advice: LearningAdvice) -> str:
    found = advice.critical_ratio
    if found is not None:
        shown = found.brief if advice.boundary_seen else format_within_tried(found, _ends(advice.ratios))
        return f"{shown}, decoder over encoder rate"
    if advice.suggested_ratio is None:
        return "not seen: no network generalized"
    return f"not seen up to {advice.ratios[-1].value:g}, the largest tried"


def _format_table(name: str, points: Sequence[PilotPoint], marked: float | None, mark: str) -> str:
    """Return what was tried as a table, with a mark at what is advised."""
    rows: list[Sequence[str]] = [(name, "generalized", "95 % interval", "mean accuracy", "median steps")]
    for one in points:
        steps = "never" if math.isnan(one.median_steps) else f"{one.median_steps:,.0f}"
        counted = f"{sum(one.succeeded)} of {len(one.succeeded)}"
        interval = f"{one.success.low:.2f} to {one.success.high:.2f}"
        shown = f"{steps} <- {mark}" if one.value == marked else steps
        rows.append((f"{one.value:g}", counted, interval, f"{one.accuracy.value:.3f}", shown))
    return text_table(rows)


def _caveats(advice: LearningAdvice) -> list[str]:
    """Return what the advice is based on and what was held fixed."""
    pilot = advice.pilot
    sentences = [
        f"From {advice.network_count} networks. Held fixed: {pilot.depth} hidden layers of {pilot.width}, embeddings "
        f"of {pilot.dimension} numbers, {pilot.optimizer}, decoder rate {pilot.decoder_rate:g}, {pilot.steps:,} steps.",
        f"Fractions were tried with equal rates, ratios at a fraction of {advice.ratio_fraction:g}.",
        "Intervals are 95 % over networks. The suggested ratio is the best of several, so it is optimistic. A network "
        "that needs longer than the pilot counts as failed.",
    ]
    if advice.balanced:
        sentences.append(
            f"The majority answer alone is right on {advice.majority_accuracy:.3f} of the entries, which reaches the "
            "target: the accuracy here is the balanced one."
        )
    return [" ".join(sentences)]
