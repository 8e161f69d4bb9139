"""The phase diagram of a relation: what networks learn of it at each pair of learning rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Whole
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, wilson_interval
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.running import Running, checked_running
from genlaws.relations import networks, parameters
from genlaws.relations.networks import phases
from genlaws.relations.networks.runs import log_every, networks_together
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.relation import Relation, relation_to_text

ADAM_RATES = {"decoder_rates": (1e-4, 1e-1), "encoder_rates": (1e-4, 1e-1)}
SGD_RATES = {"decoder_rates": (1e-1, 1e1), "encoder_rates": (1e-3, 1.0)}
DEFAULT_RATES = {"adam": ADAM_RATES, "adamw": ADAM_RATES, "sgd": SGD_RATES}
MAX_TRAINED_ELEMENTS = 500  # every network answers for all pairs of them at every measurement
TARGET_ACCURACY = 0.9  # the paper's, Table IV
MAX_SLOPE_INTERVAL = 1.0  # widest interval that shows whether a slope is 1
CRITERIA = {"memorization": "memorizing", "late": "being late"}
EXPERIMENT = "relations.network"
COLUMNS = (
    *("decoder_rate", "encoder_rate", *phases.PHASES, "late", "count"),
    *("median_train_step", "median_delay", "mean_test_accuracy"),
)
OUTCOMES = ("train_step", "test_step", "phase", "final_test_accuracy")


@dataclass(frozen=True, eq=False, repr=False)
class PhaseDiagram(Result):
    """Phases of networks on a relation in the plane of the learning rates.

    Attributes
    ----------
    relation : str
        Its label.
    element_count : int
    majority_accuracy : float
        Of always giving the majority answer.
    target_accuracy : float
        To exceed; the paper's 0.9, or midway from the majority accuracy to 1 where that reaches it.
    optimizer : str
    steps : int
    patience : float
    decoder_rate, encoder_rate : arrays of shape (points,)
        Each pair of the rates tried.
    generalization, grokking, memorization, confusion : int arrays of shape (points,)
        Networks in each phase; :func:`~genlaws.relations.networks.phases.classify_phases` defines them.
    late : int array of shape (points,)
        Networks that fitted and took more than `patience` times as long to generalize, or never did.
    count : int array of shape (points,)
        Networks at each pair of rates.
    median_train_step, median_delay : arrays of shape (points,)
        Of the networks that fitted, and of those that generalized; NaN if none did.
    mean_test_accuracy : array of shape (points,)
    fractions : dict of Estimate
        Share of each phase, and of late networks, among all networks, with Wilson's interval.
    boundaries : dict
        :class:`~genlaws.relations.networks.phases.Boundary` of memorizing and of being late, among the networks that
        fitted; None where no line could be fitted.
    """

    derived = ("network_count", "confused_count", "ratios_tried", "missing_boundaries", "advice")
    drawn_by = "genlaws.figures.relations.phases:phase_pictures"

    relation: str
    element_count: int
    majority_accuracy: float
    target_accuracy: float
    optimizer: str
    steps: int
    patience: float
    decoder_rate: Array
    encoder_rate: Array
    generalization: Whole
    grokking: Whole
    memorization: Whole
    confusion: Whole
    late: Whole
    count: Whole
    median_train_step: Array
    median_delay: Array
    mean_test_accuracy: Array
    fractions: dict[str, Estimate]
    boundaries: dict[str, phases.Boundary | None]

    @property
    def network_count(self) -> int:
        """Networks of all points together."""
        return int(self.count.sum())

    @property
    def confused_count(self) -> int:
        """Networks that did not fit their training set; they count for no boundary."""
        return int(self.confusion.sum())

    @property
    def ratios_tried(self) -> tuple[float, float]:
        """Smallest and largest decoder rate over encoder rate."""
        decoder, encoder = self.decoder_rate, self.encoder_rate
        return float(decoder.min() / encoder.max()), float(decoder.max() / encoder.min())

    @property
    def missing_boundaries(self) -> dict[str, str]:
        """Why no line could be fitted, for each criterion without one."""
        return {name: self._reason(name) for name, found in self.boundaries.items() if found is None}

    def _reason(self, criterion: str) -> str:
        failed, fitted = int(getattr(self, criterion).sum()), self.network_count - self.confused_count
        if fitted == 0:
            return "no network fitted its training set"
        if failed in (0, fitted):
            return "all networks that fitted are on one side"
        return "too few rates, or the share is the same at all of them"

    @property
    def advice(self) -> str:
        """Which ratio of the rates to take, in one sentence; only ratios within those tried are named."""
        boundary = self.boundaries["memorization"]
        if self.confused_count == self.network_count:
            return "No network fitted its training set: train longer, with higher rates or a wider decoder."
        if not (self.generalization.any() or self.grokking.any()):
            return "No network generalized at these rates: train on more entries, or raise the encoder rate."
        if boundary is not None:
            return _advice_on(boundary, self.ratios_tried)
        if self.memorization.any():
            return "Memorizing does not depend on the rates tried; try more networks or other rates."
        return _advice_on_late(self.boundaries["late"], self.ratios_tried)

    def to_frame(self) -> DataFrame:
        """Return one row for each pair of rates."""
        about = {"relation": self.relation, "optimizer": self.optimizer}
        return frame_of(about | {name: getattr(self, name) for name in COLUMNS})

    def tables(self) -> dict[str, DataFrame]:
        """Return the networks at each pair of rates, and the boundaries."""
        missing = self.missing_boundaries
        rows = [
            {"criterion": name, **({"missing": missing[name]} if found is None else found.columns())}
            for name, found in self.boundaries.items()
        ]
        return {"phases": self.to_frame(), "boundaries": frame_of(rows)}

    def summary(self) -> Summary:
        """Return the advice, the share of each phase, and the boundaries."""
        rows = [Row(name, str(one)) for name, one in self.fractions.items()]
        for name, found in self.boundaries.items():
            what = CRITERIA[name]
            if found is None:
                rows.append(Row(f"boundary of {what}", f"not seen: {self._reason(name)}"))
                continue
            rows.append(Row(f"boundary of {what}", _format_boundary(found)))
            rows.append(Row(f"critical ratio of {what}", _format_ratio(found.critical_ratio, self.ratios_tried)))
        return Summary(headline=[self.advice], rows=rows, sentences=self._notes())

    def _notes(self) -> list[str]:
        """Return sentences that explain the numbers."""
        pairs = f"{len(set(self.decoder_rate.tolist()))} × {len(set(self.encoder_rate.tolist()))} rates"
        notes = [
            f"{self.relation}, {self.element_count} elements: {self.network_count} networks, {pairs}, "
            f"{self.steps:,} steps.",
            f"Confused: {self.confused_count} of {self.network_count} fitted nothing and count for no boundary.",
            f"Late: generalized after more than {self.patience:g} times the steps it took to fit, or never.",
        ]
        if self.target_accuracy > TARGET_ACCURACY:
            notes.append(
                f"The majority answer alone is right on {self.majority_accuracy:.3f} of the entries, so fitting and "
                f"generalizing mean an accuracy above {self.target_accuracy:.3f} instead of {TARGET_ACCURACY:g}."
            )
        return notes


@question
def phase_diagram(
    relation: str | Relation,
    *,
    grid: parameters.Grid = 6,
    seeds: parameters.SeedsAtRates = 3,
    decoder_rates: parameters.RateRange = None,
    encoder_rates: parameters.RateRange = None,
    steps: parameters.Steps = 10_000,
    width: parameters.Width = 20,
    depth: parameters.Depth = 3,
    train_fraction: parameters.TestedTrainFraction = 0.75,
    embedding_scale: parameters.EmbeddingScale = 1.0,
    optimizer: parameters.Optimizer = "adam",
    batch_size: parameters.BatchSize = None,
    patience: parameters.Patience = 4.0,
    device: parameters.Device = "cpu",
    seed: parameters.Seed = 0,
    running: Running | None = None,
) -> PhaseDiagram:
    """Train networks at every pair of learning rates and count which generalize, grok, memorize or stay confused.

    The defaults are a reduced size that takes a few minutes; the paper has 10 × 10 rates, layers of 50 units and
    100,000 steps.

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
    running : Running, optional
        Its steps are the networks. It may have jobs, and a folder in which finished networks are stored.

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
    suited = DEFAULT_RATES[optimizer]
    ends = {
        "encoder_rate": suited["encoder_rates"] if encoder_rates is None else encoder_rates,
        "decoder_rate": suited["decoder_rates"] if decoder_rates is None else decoder_rates,
    }
    rates = {name: np.geomspace(*end, grid).tolist() for name, end in ends.items()}
    training: dict[str, Any] = {
        "train_fraction": train_fraction,
        "embedding_scale": embedding_scale,
        "depth": depth,
        "width": width,
        "optimizer": optimizer,
        "batch_size": batch_size,
    }
    shown = checked_running(running, "jobs", "folder")
    together = min(seeds * grid**2, networks_together(device, known.element_count, width))
    # One step shows whether these networks can be trained here, before anything is stored.
    networks.network.train_networks(known, seeds=range(together), steps=1, device=device, **training)
    target = _target_of(known)
    cells = shown.cells(
        EXPERIMENT,
        # All that another diagram may have otherwise is on an axis, so that one folder can store several.
        {name: (value,) for name, value in (training | _measured(known, steps, target)).items()} | rates,
        settings={"device": device},
        repeats=seeds,
        seed=seed,
        label=f"{known.label}: networks",
    )
    groups = (cells[start : start + seeds] for start in range(0, len(cells), seeds))
    outcomes = ([[one.result[name] for one in group] for name in OUTCOMES] for group in groups)
    counted = [phases.count_phases(*columns, patience=patience) for columns in outcomes]
    encoder, decoder = np.array(list(product(*rates.values()))).T
    table = {name: np.array([one[name] for one in counted]) for name in counted[0]}
    return diagram_of(
        {"decoder_rate": decoder, "encoder_rate": encoder, **table},
        relation=known.label,
        element_count=known.element_count,
        majority_accuracy=known.majority_accuracy,
        target_accuracy=target,
        optimizer=optimizer,
        steps=steps,
        patience=patience,
    )


def _target_of(relation: Relation) -> float:
    """Return the accuracy to exceed: the paper's, or midway from the majority accuracy to 1 where that reaches it."""
    majority = relation.majority_accuracy
    return TARGET_ACCURACY if majority < TARGET_ACCURACY else 0.5 * (1.0 + majority)


def _measured(relation: Relation, steps: int, target: float) -> dict[str, Any]:
    """Return the settings of the experiment on the relation, how long to train, and what to measure."""
    return {
        "relation": relation.label,
        "matrix": relation_to_text(relation),
        "steps": steps,
        "log_every": log_every(steps),
        "grokking_delay": max(1, steps // 100),
        "stop_at": target,
        "target": target,
    }


def diagram_of(table: Mapping[str, ArrayLike], **about: Any) -> PhaseDiagram:
    """Return the phase diagram of networks that were counted at each pair of rates.

    Parameters
    ----------
    table : mapping
        The arrays of the diagram by name.
    about :
        Its single values by name.
    """
    columns: dict[str, Any] = {name: np.asarray(column) for name, column in table.items()}
    count = int(columns["count"].sum())
    fractions = {name: wilson_interval(int(columns[name].sum()), count) for name in (*phases.PHASES, "late")}
    boundaries = {criterion: phases.boundary_of(columns, criterion) for criterion in CRITERIA}
    return PhaseDiagram(**about, **columns, fractions=fractions, boundaries=boundaries)


def _format_boundary(found: phases.Boundary) -> str:
    """Return the slope with its interval, or why it could not be determined."""
    if found.slope_message:
        return f"slope could not be determined: {found.slope_message}"
    slope, low, high = map(phases.format_slope, (found.slope.value, found.slope.low, found.slope.high))
    if found.agrees_with_unit_slope:
        wide = not found.slope.high - found.slope.low <= MAX_SLOPE_INTERVAL
        verdict = "too wide to tell whether the ratio decides" if wide else "agrees with 1: the ratio decides"
    else:
        falling = found.slope.low <= 1.0 <= found.slope.high
        verdict = "but it falls with the ratio of the rates" if falling else "does not agree with 1"
    return f"slope {slope} [{low}, {high}], {verdict}"


def _format_ratio(ratio: Estimate, tried: tuple[float, float]) -> str:
    """Return the critical ratio with its interval, and whether they lie beyond the ratios tried."""
    if ratio.value == 0.0 or not math.isfinite(ratio.value):
        return "could not be determined: it does not become more frequent with the ratio"
    return f"{phases.format_within_tried(ratio, tried)}, decoder over encoder rate"


def _advice_on_late(late: phases.Boundary | None, tried: tuple[float, float]) -> str:
    """Return the sentence where no network memorized."""
    if late is None or not (late.slope.value > 0.0 and late.critical_ratio.low > 0.0):
        return "No network that fitted memorized: take any ratio of the rates that was tried."
    if phases.side_of(late.critical_ratio.value, tried) < 0:
        return f"No network memorized, but most were late at every ratio tried, even at {_format_smallest(tried)}."
    return f"No network memorized; for early generalization keep the decoder rate {_format_limit(late, tried)}."


def _advice_on(boundary: phases.Boundary, tried: tuple[float, float]) -> str:
    """Return the sentence where some networks memorized and others did not; it names no ratio beyond those tried."""
    ratio = boundary.critical_ratio
    any_slope = boundary.slope_message and boundary.agrees_with_unit_slope
    if not any_slope and not boundary.slope.value > 0.0:
        return "Memorizing does not depend on the ratio of the rates here; take rates from the table."
    if any_slope or not (ratio.low > 0.0 and math.isfinite(ratio.high)):
        return "Networks memorize at some rates, but the boundary is not determined: try more networks or more rates."
    if side := phases.side_of(ratio.value, tried):
        if side < 0:
            return (
                f"Most networks memorize at every ratio tried, even at {_format_smallest(tried)}: try smaller ratios."
            )
        return (
            f"Most networks do not memorize at any ratio tried, up to a decoder rate of {tried[1]:.2g} times the "
            "encoder rate: take one of these."
        )
    beyond = f"about {ratio.value:.2g} times on, half of the networks or more memorize{_format_exception(boundary)}."
    if phases.side_of(ratio.low, tried) < 0:
        return f"Keep the decoder rate {_format_limit(boundary, tried)}, and try smaller ones. From {beyond}"
    return f"Keep the decoder rate {_format_limit(boundary, tried)}; from {beyond}"


def _format_limit(boundary: phases.Boundary, tried: tuple[float, float]) -> str:
    """Return below which ratio to keep: the lower end of the interval, or the smallest ratio that was tried."""
    low = boundary.critical_ratio.low
    if phases.side_of(low, tried) < 0:
        return f"at {_format_smallest(tried)} (the limit may lie at or below it)"
    return f"below {low:.2g} times the encoder rate"


def _format_smallest(tried: tuple[float, float]) -> str:
    return f"{tried[0]:.2g} times the encoder rate, the smallest ratio tried"


def _format_exception(boundary: phases.Boundary) -> str:
    """Return a note where the ratio alone does not decide."""
    if boundary.agrees_with_unit_slope:
        return ""
    if boundary.slope_message:
        return "; but the fitted boundary is vertical, so the decoder rate decides more than the ratio"
    return (
        f"; but the boundary's slope is {phases.format_slope(boundary.slope.value)}, so the ratio alone does not decide"
    )
