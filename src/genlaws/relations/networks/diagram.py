"""The phase diagram of a relation: what networks learn of it at each pair of learning rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from genlaws.core.arguments import Array, non_negative, one_of, positive, scalar, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, wilson_interval
from genlaws.core.running import Running, checked_running
from genlaws.core.seeds import run_key, run_seed
from genlaws.relations import networks
from genlaws.relations.networks.phases import (
    PHASES,
    Boundary,
    boundary_of_counts,
    count_phases,
    network_outcomes,
)
from genlaws.relations.networks.runs import log_every, networks_together
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.relation import Relation, relation_to_text

if TYPE_CHECKING:
    import pandas as pd

ADAM_RATES = {"decoder_rates": (1e-4, 1e-1), "encoder_rates": (1e-4, 1e-1)}
SGD_RATES = {"decoder_rates": (1e-1, 1e1), "encoder_rates": (1e-3, 1.0)}
DEFAULT_RATES = {"adam": ADAM_RATES, "adamw": ADAM_RATES, "sgd": SGD_RATES}
MAX_TRAINED_ELEMENTS = 500  # every network answers for all pairs of them at every measurement
MAX_GRID, MAX_PHASE_REPEATS, MAX_STEPS, MAX_UNITS, MAX_LAYERS = 100, 10_000, 10_000_000, 10_000, 100
TARGET_ACCURACY = 0.9  # the paper's, Table IV
EDGE_TOLERANCE = 1e-6  # relative; a number this close to the smallest or largest one tried lies at it
CRITERIA = ("memorization", "late")
# The seed of a network is a hash of the experiment's name and of all its settings, so that a sweep that stores the
# networks draws the same ones. These settings are the same for all networks of a diagram.
EXPERIMENT, SCHEMA = "relations.network", 1
FIXED_SETTINGS: dict[str, Any] = {
    "elements": None,
    "label_noise": 0.0,
    "dimension": 2,
    "mode": "concatenate",
    "activation": "tanh",
    "encoder_decay": 0.0,
    "decoder_decay": 0.0,
    "decoder_scale": 1.0,
    "keep_course": False,
    "precision": "single",
    "path": "auto",
}
TRAINING_SETTINGS = (
    *("train_fraction", "embedding_scale", "depth", "width", "optimizer", "batch_size", "steps", "device"),
)

RateRange = tuple[float, float]


@dataclass(frozen=True)
class PhasePlan:
    """The networks of a phase diagram, checked; the attributes are the arguments of `phase_diagram`."""

    relation: Relation
    grid: int
    seeds: int
    decoder_rates: RateRange
    encoder_rates: RateRange
    steps: int
    width: int
    depth: int
    train_fraction: float
    embedding_scale: float
    optimizer: str
    batch_size: int | None
    patience: float
    device: str
    seed: int

    @property
    def target(self) -> float:
        """The accuracy to exceed: the paper's, or midway from the majority accuracy to 1 where that reaches it."""
        majority = self.relation.majority_accuracy
        return TARGET_ACCURACY if majority < TARGET_ACCURACY else 0.5 * (1.0 + majority)

    @property
    def shared(self) -> dict[str, Any]:
        """The settings that all networks have in common and that another diagram may have otherwise."""
        return {
            **{name: getattr(self, name) for name in TRAINING_SETTINGS},
            "log_every": log_every(self.steps),
            "grokking_delay": max(1, self.steps // 100),
            "stop_at": self.target,
            "target": self.target,
            "relation": self.relation.label,
            "matrix": relation_to_text(self.relation),
        }

    @property
    def rates(self) -> dict[str, tuple[float, ...]]:
        """The rates tried, evenly spaced in their logarithm; the networks of a decoder rate follow one another."""
        ends = {"encoder_rate": self.encoder_rates, "decoder_rate": self.decoder_rates}
        return {name: tuple(np.geomspace(low, high, self.grid).tolist()) for name, (low, high) in ends.items()}


NetworkOutcome = Mapping[str, Any]
Train = Callable[[PhasePlan, Running], Sequence[NetworkOutcome]]


def train_plan(plan: PhasePlan, running: Running) -> list[NetworkOutcome]:
    """Train the networks of a plan in this process, several at once; the repeats follow one another."""
    shared, rates = plan.shared, plan.rates
    runs: list[dict[str, Any]] = [
        {**dict(zip(rates, pair, strict=True)), "repeat": repeat}
        for pair in product(*rates.values())
        for repeat in range(plan.seeds)
    ]
    found: list[NetworkOutcome] = []
    together = networks_together(plan.device, plan.relation.element_count, plan.width)
    shown = checked_running(running)
    shown.start(plan.steps * math.ceil(len(runs) / together), f"{plan.relation.label}: steps of {len(runs)} networks")
    for start in range(0, len(runs), together):
        stack = runs[start : start + together]
        own: dict[str, Any] = {name: [one[name] for one in stack] for name in rates}
        trained = networks.network.train_networks(
            plan.relation,
            seeds=[_seed_of(plan, shared, **one) for one in stack],
            **own,
            **{name: shared[name] for name in (*TRAINING_SETTINGS, "stop_at")},
            log_at=range(0, plan.steps + 1, shared["log_every"]),
            running=shown.part(),
        )
        found += network_outcomes(trained, plan.target, shared["grokking_delay"])
    return found


def _seed_of(plan: PhasePlan, shared: Mapping[str, Any], *, repeat: int, **rates: float) -> int:
    return run_seed(run_key(EXPERIMENT, SCHEMA, {**FIXED_SETTINGS, **shared, **rates}, repeat), plan.seed)


@dataclass(frozen=True)
class PhasePoint:
    """The networks at one pair of learning rates.

    Attributes
    ----------
    decoder_rate, encoder_rate : float
    generalization, grokking, memorization, confusion : int
        Networks in each phase; :func:`~genlaws.relations.networks.phases.classify_phases` defines them.
    late : int
        Networks that fitted and took more than `patience` times as long to generalize, or never did.
    count : int
    median_train_step, median_delay : float
        Of the networks that fitted, and of those that generalized; NaN if none did.
    mean_test_accuracy : float
    """

    decoder_rate: float
    encoder_rate: float
    generalization: int
    grokking: int
    memorization: int
    confusion: int
    late: int
    count: int
    median_train_step: float = math.nan
    median_delay: float = math.nan
    mean_test_accuracy: float = math.nan


@dataclass(frozen=True)
class PhaseDiagram:
    """Phases of networks on a relation in the plane of the learning rates.

    Attributes
    ----------
    plan : PhasePlan
        The relation and all settings.
    points : tuple of PhasePoint
    shares : dict
        Share of each phase, and of late networks, with Wilson's interval.
    boundaries : dict
        :class:`~genlaws.relations.networks.phases.Boundary` of memorizing and of being late, among the networks that
        fitted; None where no line could be fitted.
    advice : str
        Which ratio of the rates to take; only ratios within those tried are named.
    """

    plan: PhasePlan
    points: tuple[PhasePoint, ...] = field(repr=False)
    shares: dict[str, Estimate]
    boundaries: dict[str, Boundary | None]
    advice: str

    @property
    def network_count(self) -> int:
        """Networks of all points together."""
        return _total(self.points, "count")

    @property
    def confused_count(self) -> int:
        """Networks that did not fit their training set; they count for no boundary."""
        return _total(self.points, "confusion")

    @property
    def ratios_tried(self) -> RateRange:
        """Smallest and largest decoder rate over encoder rate."""
        return _ratios(self.points)

    def why_no_boundary(self, criterion: str) -> str:
        """Return why no line could be fitted; empty if one could."""
        if self.boundaries[one_of("criterion", criterion, CRITERIA)] is not None:
            return ""
        failed, fitted = _total(self.points, criterion), self.network_count - self.confused_count
        if fitted == 0:
            return "no network fitted its training set"
        if failed in (0, fitted):
            return "all networks that fitted are on one side"
        return "too few rates, or the share is the same at all of them"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each pair of rates."""
        import pandas as pd  # noqa: PLC0415

        about = {"relation": self.plan.relation.label, "optimizer": self.plan.optimizer}
        return pd.DataFrame([{**about, **vars(one)} for one in self.points])


def phase_diagram(
    relation: str | Relation,
    *,
    grid: int = 6,
    seeds: int = 3,
    decoder_rates: RateRange | None = None,
    encoder_rates: RateRange | None = None,
    steps: int = 10_000,
    width: int = 20,
    depth: int = 3,
    train_fraction: float = 0.75,
    embedding_scale: float = 1.0,
    optimizer: str = "adam",
    batch_size: int | None = None,
    patience: float = 4.0,
    device: str = "cpu",
    seed: int = 0,
    train: Train = train_plan,
    running: Running | None = None,
) -> PhaseDiagram:
    """Train networks at every pair of learning rates and count which generalize, grok, memorize or stay confused.

    The defaults are a reduced size that takes a few minutes; the paper has 10 × 10 rates, layers of 50 units and
    100,000 steps. ``genlaws relations phases`` computes the same with several processes and stores finished networks.

    Parameters
    ----------
    relation : str or Relation
        A name such as ``mod3`` (30 elements), or any relation of at most 500 elements.
    grid : int in [2, 100]
        Values of each learning rate, evenly spaced in their logarithm.
    seeds : int >= 2
        Networks at each pair of rates.
    decoder_rates, encoder_rates : two floats, the lower one first
        By default what suits the optimizer.
    steps : int
        Updates. Grokking is a delay of a hundredth of them.
    width, depth : int
        Units of each hidden layer of the decoder, and number of these layers.
    train_fraction : float in (0, 1)
        Share of all entries in the training set.
    embedding_scale : float >= 0
        Factor on the initial embeddings.
    optimizer : {"adam", "adamw", "sgd"}
    batch_size : int, optional
        Entries in a step; the whole training set by default.
    patience : float >= 1
        A network is late if it generalizes after more than this many times the steps it took to fit, or never.
    device : str
    seed : int
    train : callable, optional
        Trains the networks of a `PhasePlan` and returns an outcome for each, as `train_plan` does; another
        one may store them.
    running : Running, optional
        Passed to `train`; `train_plan` uses neither jobs nor a folder.

    Returns
    -------
    PhaseDiagram

    Notes
    -----
    A network fits or generalizes when its accuracy on training or test entries exceeds 0.9. Where always giving the
    majority answer is right that often, the target is midway from that accuracy to 1.

    References
    ----------
    :cite:p:`baek2024`, Figure 5 and Table IV.
    """
    known = named_relation(relation) if isinstance(relation, str) else relation
    if known.element_count > MAX_TRAINED_ELEMENTS:
        raise InputError(
            f"Networks are trained on relations of at most {MAX_TRAINED_ELEMENTS} elements here; {known.label} has "
            f"{known.element_count:,}. Take a part of it."
        )
    suited = DEFAULT_RATES[one_of("optimizer", optimizer, DEFAULT_RATES)]
    several = "Shares of phases need several networks."
    plan = PhasePlan(
        relation=known,
        grid=whole_number("grid", grid, at_least=2, at_most=MAX_GRID),
        seeds=whole_number("seeds", seeds, at_least=2, at_most=MAX_PHASE_REPEATS, hint=several),
        decoder_rates=_rates("decoder_rates", suited["decoder_rates"] if decoder_rates is None else decoder_rates),
        encoder_rates=_rates("encoder_rates", suited["encoder_rates"] if encoder_rates is None else encoder_rates),
        steps=whole_number("steps", steps, at_least=1, at_most=MAX_STEPS),
        width=whole_number("width", width, at_least=1, at_most=MAX_UNITS),
        depth=whole_number("depth", depth, at_most=MAX_LAYERS),
        train_fraction=_number(within, "train_fraction", train_fraction, 0.0, 1.0, open_low=True, open_high=True),
        embedding_scale=_number(non_negative, "embedding_scale", embedding_scale),
        optimizer=optimizer,
        batch_size=None if batch_size is None else whole_number("batch_size", batch_size, at_least=1),
        patience=_number(within, "patience", patience, 1.0, math.inf, open_high=True),
        device=device,
        seed=whole_number("seed", seed),
    )
    outcomes, pairs = train(plan, running or Running()), enumerate(product(*plan.rates.values()))
    points = [
        _point(plan, encoder, decoder, outcomes[place * plan.seeds : (place + 1) * plan.seeds])
        for place, (encoder, decoder) in pairs
    ]
    return diagram_of(plan, points)


def _number(check: Callable[..., Array], name: str, value: float, *limits: float, **ends: bool) -> float:
    return float(scalar(name, check(name, value, *limits, **ends)))


def _rates(name: str, given: RateRange) -> RateRange:
    rates = positive(name, given)
    if rates.shape != (2,) or not rates[0] < rates[1]:
        raise InputError(f"{name} must be two positive rates, the lower one first; got {given!r}.")
    return float(rates[0]), float(rates[1])


def _point(plan: PhasePlan, encoder_rate: float, decoder_rate: float, found: Sequence[NetworkOutcome]) -> PhasePoint:
    columns = ([one[name] for one in found] for name in ("train_step", "test_step", "phase", "final_test_accuracy"))
    counts: dict[str, Any] = count_phases(*columns, patience=plan.patience)
    return PhasePoint(decoder_rate, encoder_rate, **counts)


def diagram_of(plan: PhasePlan, points: Sequence[PhasePoint]) -> PhaseDiagram:
    """Return the phase diagram of networks that were counted."""
    count = _total(points, "count")
    shares = {name: wilson_interval(_total(points, name), count) for name in (*PHASES, "late")}
    boundaries = {criterion: _boundary(points, criterion) for criterion in CRITERIA}
    return PhaseDiagram(plan, tuple(points), shares, boundaries, _advice(points, boundaries))


def _total(points: Sequence[PhasePoint], name: str) -> int:
    """Return the sum of a count over all points."""
    return sum(getattr(one, name) for one in points)


def _ratios(points: Sequence[PhasePoint]) -> RateRange:
    """Return the smallest and the largest decoder rate over encoder rate on the grid of the points."""
    decoder, encoder = ([getattr(one, name) for one in points] for name in ("decoder_rate", "encoder_rate"))
    return min(decoder) / max(encoder), max(decoder) / min(encoder)


def _boundary(points: Sequence[PhasePoint], criterion: str) -> Boundary | None:
    decoder, encoder = ([getattr(one, name) for one in points] for name in ("decoder_rate", "encoder_rate"))
    failed = np.array([getattr(one, criterion) for one in points])
    fitted = np.array([one.count - one.confusion for one in points])
    return boundary_of_counts(decoder, encoder, failed, fitted - failed)


def _advice(points: Sequence[PhasePoint], boundaries: Mapping[str, Boundary | None]) -> str:
    """Return one sentence on which rates to take."""
    tried, boundary = _ratios(points), boundaries["memorization"]
    if _total(points, "confusion") == _total(points, "count"):
        return "No network fitted its training set: train longer, with higher rates or a wider decoder."
    if _total(points, "generalization") + _total(points, "grokking") == 0:
        return "No network generalized at these rates: train on more entries, or raise the encoder rate."
    if boundary is not None:
        return _advice_on(boundary, tried)
    if _total(points, "memorization") > 0:
        return "Memorizing does not depend on the rates tried; try more networks or other rates."
    return _advice_on_late(boundaries["late"], tried)


def _advice_on_late(late: Boundary | None, tried: RateRange) -> str:
    """Return the sentence where no network memorized."""
    if late is None or not (late.slope.value > 0.0 and late.critical_ratio.low > 0.0):
        return "No network that fitted memorized: take any ratio of the rates that was tried."
    if side_of(late.critical_ratio.value, tried) < 0:
        return f"No network memorized, but most were late at every ratio tried, even at {_format_smallest(tried)}."
    return f"No network memorized; for early generalization keep the decoder rate {_format_limit(late, tried)}."


def _advice_on(boundary: Boundary, tried: RateRange) -> str:
    """Return the sentence where some networks memorized and others did not; it names no ratio beyond those tried."""
    ratio = boundary.critical_ratio
    any_slope = boundary.slope_message and boundary.agrees_with_unit_slope
    if not any_slope and not boundary.slope.value > 0.0:
        return "Memorizing does not depend on the ratio of the rates here; take rates from the table."
    if any_slope or not (ratio.low > 0.0 and math.isfinite(ratio.high)):
        return "Networks memorize at some rates, but the boundary is not determined: try more networks or more rates."
    if side := side_of(ratio.value, tried):
        if side < 0:
            return (
                f"Most networks memorize at every ratio tried, even at {_format_smallest(tried)}: try smaller ratios."
            )
        return (
            f"Most networks do not memorize at any ratio tried, up to a decoder rate of {tried[1]:.2g} times the "
            "encoder rate: take one of these."
        )
    beyond = f"about {ratio.value:.2g} times on, half of the networks or more memorize{_format_exception(boundary)}."
    if side_of(ratio.low, tried) < 0:
        return f"Keep the decoder rate {_format_limit(boundary, tried)}, and try smaller ones. From {beyond}"
    return f"Keep the decoder rate {_format_limit(boundary, tried)}; from {beyond}"


def _format_limit(boundary: Boundary, tried: RateRange) -> str:
    """Return below which ratio to keep: the lower end of the interval, or the smallest ratio that was tried."""
    low = boundary.critical_ratio.low
    if side_of(low, tried) < 0:
        return f"at {_format_smallest(tried)} (the limit may lie at or below it)"
    return f"below {low:.2g} times the encoder rate"


def _format_smallest(tried: RateRange) -> str:
    return f"{tried[0]:.2g} times the encoder rate, the smallest ratio tried"


def _format_exception(boundary: Boundary) -> str:
    """Return a note where the ratio alone does not decide."""
    if boundary.agrees_with_unit_slope:
        return ""
    if boundary.slope_message:
        return "; but the fitted boundary is vertical, so the decoder rate decides more than the ratio"
    return (
        f"; but the boundary's slope is {format_slope(boundary.slope.value, '.2g')}, so the ratio alone does not decide"
    )


def format_slope(slope: float, form: str) -> str:
    """Return a slope as text; the fit tries directions half a degree apart, so that tiny numbers are zero."""
    return f"{round(slope, 3) + 0.0:{form}}" if math.isfinite(slope) else "no limit"


def side_of(number: float, tried: tuple[float, float]) -> int:
    """Return -1 for a number below the smallest one tried, 1 for one above the largest, else 0."""
    smallest, largest = tried
    return int(number > largest * (1.0 + EDGE_TOLERANCE)) - int(number < smallest * (1.0 - EDGE_TOLERANCE))
