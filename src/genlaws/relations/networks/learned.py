"""What networks learn of a relation: their accuracies and phases, compared with the class average."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from genlaws.core.arguments import Whole
from genlaws.core.errors import ConvergenceError
from genlaws.core.estimate import Estimate
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.plain import UNWRITTEN
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.running import Running, checked_running
from genlaws.relations import networks, parameters
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.hypotheses import average_meaning, hypotheses_of
from genlaws.relations.inference.paper import TARGET_ACCURACY
from genlaws.relations.networks.phases import PHASES, classify_phases
from genlaws.relations.networks.runs import ACCURACIES, RelationRuns, element_groups, mean_accuracy, principal_plane
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import training_set_of

MAX_BOUND_ELEMENTS = 100  # beyond, the class average takes longer than the networks
MAX_BOUND_SETS = 20  # training sets behind the class average
EVEN_LOG_COUNT = 200  # measurements evenly spaced, to see when an accuracy is reached
LOG_TIME_LOG_COUNT = 100  # measurements evenly spaced in log time
MAX_STORED_NUMBERS = 50_000_000  # of the embeddings along all trainings; 200 MB
EVERY_NETWORK_FAILED = "none: every network failed"


@dataclass(frozen=True)
class ClassAverage:
    """The best mean accuracy over a class of relations, from the same entries as the networks.

    Attributes
    ----------
    hypotheses : str
        The class.
    accuracy, unseen_accuracy : Estimate
        On the whole table and on the entries outside the training set; means over training sets.
    meaning : str
        What it means for this relation.
    set_count, exact_count : int
        Training sets, and those of which every probability was computed exactly.
    converged : bool
        False if a Markov chain did not converge.
    """

    hypotheses: str
    accuracy: Estimate
    unseen_accuracy: Estimate
    meaning: str
    set_count: int
    exact_count: int
    converged: bool

    @property
    def method(self) -> str:
        """How it was computed."""
        if not self.converged:
            return "A Markov chain behind it has NOT converged: do not trust the number."
        if self.exact_count == self.set_count:
            return "It is exact."
        return f"It is from a Markov chain for {self.set_count - self.exact_count} of {self.set_count} training sets."


@dataclass(frozen=True)
class LearnedNetwork:
    """One network at its last measurement.

    Attributes
    ----------
    seed : int
        Of its entries, noise, initial values and batches.
    train_accuracy, test_accuracy, table_accuracy, balanced_accuracy : float
        On training entries, on test entries, on the whole table, and balanced over both answers on test entries; NaN
        where there are no such entries.
    train_step, test_step : int or None
        Step after which the accuracy exceeded 0.9.
    phase : {"generalization", "grokking", "memorization", "confusion"}
    invariant_drift : float
        Of the matrix that gradient flow conserves, relative to its size.
    failed : bool
        Whether it stopped at numbers that are not finite.
    """

    seed: int
    train_accuracy: float
    test_accuracy: float
    table_accuracy: float
    balanced_accuracy: float
    train_step: int | None
    test_step: int | None
    phase: str
    invariant_drift: float
    failed: bool


@dataclass(frozen=True, eq=False, repr=False)
class LearnedRelation(Result):
    """Networks that learned a relation from some of its entries.

    Attributes
    ----------
    relation : str
    element_count, pair_count, training_count : int
        Elements, entries of the table, and those in each training set.
    majority_accuracy : float
        Of always giving the majority answer.
    train_accuracy, test_accuracy, table_accuracy, balanced_accuracy : Estimate
        Means over networks, as :func:`~genlaws.relations.networks.runs.mean_accuracy` gives them.
    class_average : ClassAverage or None
    no_class_average : str
        Why `class_average` is None; otherwise empty.
    networks : tuple of LearnedNetwork
    optimizer : str
    steps : int
    label_noise : float
    device : str
        Where the networks were trained.
    runs : RelationRuns or None
        The measurements along the training, with the embeddings unless these are more than 50 million numbers; not
        written.
    """

    derived = ("phase_counts", "failed_count")
    drawn_by = "genlaws.figures.relations.learned:learned_pictures"
    page_by = "genlaws.report.movie:learned_page"

    relation: str
    element_count: int
    pair_count: int
    training_count: int
    majority_accuracy: float
    train_accuracy: Estimate
    test_accuracy: Estimate
    table_accuracy: Estimate
    balanced_accuracy: Estimate
    class_average: ClassAverage | None
    no_class_average: str
    networks: tuple[LearnedNetwork, ...]
    optimizer: str
    steps: int
    label_noise: float
    device: str
    runs: RelationRuns | None = field(default=None, metadata=UNWRITTEN)

    @property
    def phase_counts(self) -> dict[str, int]:
        """Number of networks in each phase that occurs."""
        found = [one.phase for one in self.networks]
        return {name: found.count(name) for name in PHASES if name in found}

    @property
    def failed_count(self) -> int:
        """Networks that stopped at numbers that are not finite."""
        return sum(one.failed for one in self.networks)

    @property
    def shown_network(self) -> int | None:
        """Place of the network whose embeddings are drawn: the first that did not fail."""
        return next((place for place, one in enumerate(self.networks) if not one.failed), None)

    def to_frame(self) -> DataFrame:
        """Return one row for each network."""
        return frame_of([vars(one) for one in self.networks], [one.name for one in fields(LearnedNetwork)])

    def tables(self) -> dict[str, DataFrame]:
        """Return the networks, their accuracies along the training, and the final embeddings of one of them."""
        found = {"networks": self.to_frame()}
        if self.runs is not None:
            found["curves"] = self.runs.to_frame()
            if self.shown_network is not None:
                found["embeddings"] = embedding_frame(self.runs, self.shown_network)
        return found

    def summary(self) -> Summary:
        """Return accuracies, steps and phases, and what they mean."""
        total = len(self.networks)
        phases = [name if total == 1 else f"{name} {count} of {total}" for name, count in self.phase_counts.items()]
        rows = [
            Row("accuracy on other entries", self._accuracy("test", "none: every entry is a training entry")),
            Row("balanced over both answers", self._accuracy("balanced", "none: one of the answers is missing there")),
            Row("accuracy on training entries", self._accuracy("train", "none")),
            Row("accuracy on the whole table", self._accuracy("table", "none")),
            Row("majority answer", f"{self.majority_accuracy:.4f} of the table"),
            Row("class average, same entries", _format_class_average(self.class_average)),
            Row("steps to 90 % in training", _format_steps([one.train_step for one in self.networks])),
            Row("steps to 90 % on others", _format_steps([one.test_step for one in self.networks])),
            Row("phase", ", ".join(phases)),
        ]
        drifts = [one.invariant_drift for one in self.networks if math.isfinite(one.invariant_drift)]
        if self.optimizer == "sgd" and drifts:
            rows.append(Row("drift of the invariant", f"{max(drifts):.2e} of its size, at most"))
        return Summary(rows, self._sentences(), self._warnings())

    def _accuracy(self, name: str, otherwise: str) -> str:
        """Return an accuracy with its interval, or a text where it does not exist."""
        found: Estimate = getattr(self, f"{name}_accuracy")
        if found.count == 0:
            return EVERY_NETWORK_FAILED if self.failed_count == len(self.networks) else otherwise
        return f"{found.value:.4f}" if found.count == 1 else str(found)

    def _sentences(self) -> list[str]:
        who = "One network was" if len(self.networks) == 1 else f"{len(self.networks)} networks were"
        noise = f", {self.label_noise:g} of the labels flipped" if self.label_noise else ""
        trained = (
            f"{who} trained on {self.training_count:,} of the {self.pair_count:,} entries of {self.relation}{noise}, "
            f"for {self.steps:,} steps of {self.optimizer}."
        )
        if self.class_average is None:
            return [trained, f"The class average from the same entries is missing. {self.no_class_average}"]
        right = ", with the right labels" if self.label_noise else ""
        average = f"The class average is the best mean accuracy over a class from the same entries{right}."
        return [trained, f"{average} {self.class_average.meaning} {self.class_average.method}"]

    def _warnings(self) -> list[str]:
        which = f"{self.failed_count} of {len(self.networks)}"
        return [f"{which} stopped at numbers that are not finite; try smaller rates."] if self.failed_count else []


def embedding_frame(runs: RelationRuns, network: int) -> DataFrame:
    """Return the final embeddings of a network, with the two coordinates in which they are drawn."""
    groups, final = element_groups(runs.relation), runs.final_embeddings[network]
    x, y = principal_plane(final[None])[0].T
    axes = {f"embedding_{place + 1}": one for place, one in enumerate(final.T)}
    return frame_of({"element": runs.relation.names, groups.kind: groups.value, "x": x, "y": y, **axes})


def _format_class_average(found: ClassAverage | None) -> str:
    if found is None:
        return "none"
    whole, unseen = f"{found.accuracy.value:.4f} of the table", found.unseen_accuracy.value
    return f"{unseen:.4f} of the others, {whole}" if math.isfinite(unseen) else whole


def _format_steps(steps: Sequence[int | None]) -> str:
    """Return when an accuracy was reached: the step, or the middle and the ends of several."""
    reached = [one for one in steps if one is not None]
    if not reached:
        return "never"
    if len(steps) == 1:
        return f"{reached[0]:,}"
    middle = f"{round(float(np.median(reached))):,} [{min(reached):,} to {max(reached):,}]"
    missing = len(steps) - len(reached)
    return f"{middle}, {missing} of {len(steps)} never" if missing else middle


@question
def learn_relation(
    relation: str | Relation,
    *,
    train_fraction: parameters.TrainFraction = 0.75,
    seeds: parameters.Networks = 1,
    dimension: parameters.Dimension = 2,
    depth: parameters.Depth = 3,
    width: parameters.Width = 50,
    mode: parameters.DecoderInput = "concatenate",
    activation: parameters.Activation = "tanh",
    encoder_rate: parameters.EncoderRate = 1e-3,
    decoder_rate: parameters.DecoderRate = 1e-3,
    encoder_decay: parameters.EncoderDecay = 0.0,
    decoder_decay: parameters.DecoderDecay = 0.0,
    embedding_scale: parameters.EmbeddingScale = 1.0,
    decoder_scale: parameters.DecoderScale = 1.0,
    label_noise: parameters.LabelNoise = 0.0,
    optimizer: parameters.Optimizer = "adam",
    batch_size: parameters.BatchSize = None,
    steps: parameters.Steps = 10_000,
    stop_at: parameters.StopAt = None,
    precision: parameters.Precision = "single",
    device: parameters.Device = "cpu",
    seed: parameters.Seed = 0,
    running: Running | None = None,
) -> LearnedRelation:
    """Train networks on random entries of a relation and report whether they generalize, grok or memorize.

    Parameters
    ----------
    relation : str or Relation
        A name such as ``mod3`` (30 elements), or any relation.
    train_fraction, label_noise : float in [0, 1]
        Share of the table in the training set, and share of flipped training labels.
    seeds : int >= 1
        Number of networks. Network i has the seed `seed` + i, for its entries, noise, initial values and batches.
    dimension, depth, width : int
        Dimension of the embeddings; hidden layers of the decoder, which is linear with none; units in each.
    mode : {"concatenate", "difference", "squared_difference"}
        What the decoder sees of two embeddings.
    activation : {"tanh", "relu", "sigmoid", "identity"}
    encoder_rate, decoder_rate, encoder_decay, decoder_decay : float
        Learning rates and weight decays of embeddings and decoder.
    embedding_scale, decoder_scale : float >= 0
        Factors on the initial values: standard normal embeddings, and a decoder initialized as in torch.nn.
    optimizer : {"adam", "adamw", "sgd"}
    batch_size : int, optional
        Entries in a step, each once per epoch; by default the whole training set.
    steps : int
    stop_at : float, optional
        A network stops when both its accuracies, train and test, exceed this.
    precision : {"single", "double"}
    device : str
        Such as ``cpu`` or ``cuda``.
    seed : int
    running : Running, optional
        Its steps are those of the training.

    Notes
    -----
    :func:`~genlaws.relations.networks.network.train_networks` trains networks that differ in more than their seed.

    References
    ----------
    :cite:p:`baek2024`, Section II and Table III, whose defaults are the defaults here. The paper names neither
    optimizer nor batch; full-batch Adam agrees with its figures.
    """
    known = named_relation(relation) if isinstance(relation, str) else relation
    logs = _log_steps(steps)
    runs = networks.network.train_networks(
        known,
        train_fraction=train_fraction,
        seeds=range(seed, seed + seeds),
        dimension=dimension,
        depth=depth,
        width=width,
        mode=mode,
        activation=activation,
        encoder_rate=encoder_rate,
        decoder_rate=decoder_rate,
        encoder_decay=encoder_decay,
        decoder_decay=decoder_decay,
        embedding_scale=embedding_scale,
        decoder_scale=decoder_scale,
        label_noise=label_noise,
        optimizer=optimizer,
        batch_size=batch_size,
        steps=steps,
        log_at=logs,
        stop_at=stop_at,
        keep_embeddings=seeds * len(logs) * known.element_count * dimension <= MAX_STORED_NUMBERS,
        precision=precision,
        device=device,
        running=checked_running(running),
    )
    average, missing = _class_average(known, runs, seed)
    accuracies: dict[str, Any] = {name: mean_accuracy(runs.final(name)) for name in ACCURACIES}
    return LearnedRelation(
        relation=known.label,
        element_count=known.element_count,
        pair_count=known.pair_count,
        training_count=int(runs.training_mask[0].sum()),
        majority_accuracy=runs.majority_accuracy,
        **accuracies,
        class_average=average,
        no_class_average=missing,
        networks=_learned_networks(runs, seed),
        optimizer=optimizer,
        steps=steps,
        label_noise=label_noise,
        device=runs.device,
        runs=runs,
    )


def _log_steps(steps: int) -> list[int]:
    """Return when to measure: evenly spaced, and evenly in log time."""
    evenly = np.linspace(0, steps, EVEN_LOG_COUNT + 1).round().astype(int)
    in_log_time = np.geomspace(1, steps, LOG_TIME_LOG_COUNT).round().astype(int)
    return sorted({*evenly.tolist(), *in_log_time.tolist()})


def _learned_networks(runs: RelationRuns, seed: int) -> tuple[LearnedNetwork, ...]:
    """Return the last numbers of every network, and when it reached the target accuracy."""
    train, test = (runs.steps_to(name, TARGET_ACCURACY) for name in ("train_accuracy", "test_accuracy"))
    columns = {
        "seed": range(seed, seed + len(runs)),
        **{name: runs.final(name).tolist() for name in ACCURACIES},
        "train_step": _reached(train),
        "test_step": _reached(test),
        "phase": [PHASES[place] for place in classify_phases(train, test)],
        "invariant_drift": runs.final("invariant_drift").tolist(),
        "failed": runs.failed.tolist(),
    }
    return tuple(LearnedNetwork(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))


def _reached(steps: Whole) -> list[int | None]:
    return [None if one < 0 else one for one in steps.tolist()]


def _class_average(relation: Relation, runs: RelationRuns, seed: int) -> tuple[ClassAverage | None, str]:
    """Return the class average for the training entries of the networks, or the reason why there is none."""
    if relation.element_count > MAX_BOUND_ELEMENTS:
        return None, f"It is not computed beyond {MAX_BOUND_ELEMENTS} elements."
    hypotheses = hypotheses_of(relation)
    try:
        laws = [
            posterior(training_set_of(relation, np.flatnonzero(shown)), hypotheses, truth=relation, seed=seed)
            for shown in runs.training_mask[:MAX_BOUND_SETS]
        ]
    except ConvergenceError as error:
        return None, f"It could not be computed: {error}"
    average = ClassAverage(
        hypotheses=str(hypotheses),
        accuracy=mean_accuracy([law.accuracy for law in laws]),
        unseen_accuracy=mean_accuracy([law.unseen_accuracy for law in laws]),
        meaning=average_meaning(hypotheses),
        set_count=len(laws),
        exact_count=sum(law.method == "exact" for law in laws),
        converged=all(law.converged for law in laws),
    )
    return average, ""
