"""How likely the representations of one class merge from random starts, by the laws and by simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genlaws.core.arguments import Array, Elementwise, whole_number
from genlaws.core.errors import InputError
from genlaws.core.estimate import Estimate, interval_columns
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.running import Running, checked_running
from genlaws.relations import parameters
from genlaws.relations.repons.ensemble import simulate_repons
from genlaws.relations.repons.forces import ReponSystem
from genlaws.relations.repons.pair import decoder_pull
from genlaws.relations.repons.probability import collision_probability, rates_and_scales, sign_collision_probability
from genlaws.relations.repons.whole_class import class_collision_probability

MAX_NUMBERS = 20_000_000  # held at once by a simulation, a few copies of 160 MB
MAX_COMBINATIONS = 10_000
RATES_AND_SCALES = ("encoder_rate", "decoder_rate", "encoder_scale", "decoder_scale")
NO_LAW = "There is no law for sign updates in more than one dimension"


@dataclass(frozen=True)
class MergingCase:
    """What may merge and how it learns.

    Attributes
    ----------
    dimension, outputs : int
        Of the representations, and of the decoder.
    cluster : float
        Coincident representations opposite the single one of a pair.
    update : {"flow", "sign"}
    class_size : int or None
        Representations of a class; None for a pair.
    encoder_scale_of : {"half-separation", "repon"}
        What the encoder's scale is the width of.
    """

    dimension: int = 1
    outputs: int = 1
    cluster: float = 1.0
    update: str = "flow"
    class_size: int | None = None
    encoder_scale_of: str = "repon"

    @property
    def has_law(self) -> bool:
        """Whether the probability is known exactly."""
        return self.update == "flow" or self.dimension == 1

    @property
    def on_a_line(self) -> bool:
        """Whether it is a pair on a line with one output."""
        return self.class_size is None and self.dimension == self.outputs == 1

    @property
    def group(self) -> str:
        """What merges, as text."""
        if self.class_size is not None:
            return f"all {self.class_size} representations of a class"
        if self.cluster > 1:
            many = "infinitely many" if math.isinf(self.cluster) else f"{self.cluster:g}"
            return f"a representation and {many} coincident ones of its class"
        return "two representations of one class"

    @property
    def repon_width(self) -> float:
        """Width of each representation where the encoder's scale is 1."""
        return math.sqrt(2.0) if self.encoder_scale_of == "half-separation" else 1.0

    def probability(
        self,
        encoder_rate: ArrayLike,
        decoder_rate: ArrayLike = 1.0,
        encoder_scale: ArrayLike = 1.0,
        decoder_scale: ArrayLike = 1.0,
    ) -> Array:
        """Return the law at these rates and scales."""
        numbers, scale_of = (encoder_rate, decoder_rate, encoder_scale, decoder_scale), self.encoder_scale_of
        if self.update == "sign":
            size = self.class_size or 2
            return sign_collision_probability(
                *numbers, encoder_scale_of=scale_of, outputs=self.outputs, class_size=size
            )
        if self.class_size is None:
            return collision_probability(
                *numbers,
                encoder_scale_of=scale_of,
                dimension=self.dimension,
                outputs=self.outputs,
                cluster=self.cluster,
            )
        return class_collision_probability(
            encoder_rate,
            decoder_rate,
            self.repon_width * np.asarray(encoder_scale),
            decoder_scale,
            class_size=self.class_size,
            dimension=self.dimension,
            outputs=self.outputs,
        )

    def system(self, encoder_rate: float, decoder_rate: float = 1.0) -> ReponSystem:
        """Return the system to simulate; only the ratio of the rates matters, and the faster is made 1."""
        fastest = max(encoder_rate, decoder_rate)
        return ReponSystem(
            encoder_rate=encoder_rate / fastest,
            decoder_rate=decoder_rate / fastest,
            dimension=self.dimension,
            outputs=self.outputs,
            class_sizes=(self.class_size or 2,),
            weights=1.0 if self.class_size else (1.0, self.cluster),
            update=self.update,
        )


@dataclass(frozen=True, eq=False, repr=False)
class MergingProbability(Result):
    """How likely representations of one class merge; rates, scales and what depends on them have one shape.

    Attributes
    ----------
    case : MergingCase
    encoder_rate, decoder_rate, encoder_scale, decoder_scale : float or array
    collision_probability : float or array
        By the law; the simulated share where there is no law.
    simulated : Estimate, tuple of Estimate, or None
        Share of simulated starts that merged.
    unsettled_draws : int, array or None
        Simulated starts that were still moving; their last state counts.
    """

    derived = ("rate_ratio", "boundary_slope", "law", "conserved", "condition")
    drawn_by = "genlaws.figures.relations.repons:merging_pictures"

    case: MergingCase
    encoder_rate: Elementwise
    decoder_rate: Elementwise
    encoder_scale: Elementwise
    decoder_scale: Elementwise
    collision_probability: Elementwise
    simulated: Estimate | tuple[Estimate, ...] | None
    unsettled_draws: Elementwise

    @property
    def rate_ratio(self) -> Elementwise:
        """Encoder rate over decoder rate."""
        return self.encoder_rate / self.decoder_rate

    @property
    def boundary_slope(self) -> Elementwise:
        """Half the separation over the decoder's gain below which a pair on a line merges; None for any other case."""
        if not self.case.on_a_line:
            return None
        ratio = self.rate_ratio
        return ratio if self.case.update == "sign" else (ratio / float(decoder_pull(self.case.cluster))) ** 0.5

    @property
    def law(self) -> str:
        """Which law it is."""
        case = self.case
        if case.update == "sign":
            return "sign updates, one dimension" if case.has_law else "none: simulated"
        if case.class_size is not None:
            return "class: largest root of two Wishart matrices"
        name = "Eq. 12" if case.cluster == 1 else "Eq. 13"
        return f"pair, {name}" if case.on_a_line else f"pair, {name} in any dimension"

    @property
    def conserved(self) -> str | None:
        """The matrix that gradient flow conserves, as a formula."""
        if self.case.update == "sign":
            return None
        if self.case.class_size is not None:
            return "A^T A / decoder_rate - sum_i (x_i - mean)(x_i - mean)^T / encoder_rate"
        pull = float(decoder_pull(self.case.cluster))
        return f"A^T A / ({pull:.6g} decoder_rate) - r r^T / encoder_rate, r half the separation"

    @property
    def condition(self) -> str:
        """What decides, in a sentence."""
        case, slope = self.case, self.boundary_slope
        if not case.has_law:
            return f"{NO_LAW}: the probability is the simulated share."
        if case.update == "flow" and case.outputs < case.dimension:
            return "With fewer outputs than dimensions the decoder is blind to a direction, so none ever merge."
        if slope is not None:
            shown = "boundary_slope" if np.ndim(slope) else f"{slope:.6g}"
            return f"They merge if half their separation starts below {shown} times the decoder's gain."
        if case.update == "flow":
            return "They merge if the conserved matrix has no negative eigenvalue."
        return (
            "They merge if half the range of the class, at the encoder's rate, vanishes before the largest gain of the "
            "decoder, at the decoder's rate."
        )

    def columns(self) -> dict[str, Any]:
        """Return the case, the rates and scales, and the probabilities as columns."""
        slope = {} if self.boundary_slope is None else {"boundary_slope": self.boundary_slope}
        numbers = {name: getattr(self, name) for name in (*RATES_AND_SCALES, "rate_ratio")} | slope
        columns = {name: np.ravel(value) for name, value in numbers.items()}
        columns["collision_probability"] = np.ravel(self.collision_probability)
        if self.simulated is not None:
            every = (self.simulated,) if isinstance(self.simulated, Estimate) else self.simulated
            rows = [interval_columns("simulated", one) | {"draws": one.count} for one in every]
            columns |= {name: np.array([row[name] for row in rows]) for name in rows[0]}
            columns["unsettled_draws"] = np.ravel(self.unsettled_draws)
        return {name: [value] * len(columns["encoder_rate"]) for name, value in vars(self.case).items()} | columns

    def summary(self) -> Summary:
        """Return the probability and what decides, or a table of several."""
        scale = "half the separation" if self.case.encoder_scale_of == "half-separation" else "each representation"
        if np.ndim(self.collision_probability):
            about = f"Each row is the chance that {self.case.group} merge, from random starts; encoder_scale is the "
            sentences = [f"{about}width of {scale}.", self.condition]
            return Summary(table=self.table(*vars(self.case), "rate_ratio"), sentences=sentences)
        rows = [
            Row("collision probability", f"{self.collision_probability:.6f}"),
            Row("law", self.law),
            Row("encoder over decoder rate", f"{self.rate_ratio:.6g}"),
            Row("encoder scale", f"{self.encoder_scale:.6g} (of {scale})"),
            Row("decoder scale", f"{self.decoder_scale:.6g}"),
        ]
        rows += [] if self.simulated is None else [Row("simulated", str(self.simulated))]
        rows += [] if self.conserved is None else [Row("conserved", self.conserved)]
        chance = f"{self.collision_probability:.1%}"
        sentences = [f"From random starts {self.case.group} merge {chance} of the time; otherwise they stay apart."]
        sentences.append(self.condition)
        if isinstance(self.simulated, Estimate) and self.unsettled_draws:
            moving = f"{self.unsettled_draws} of {self.simulated.count} draws"
            sentences.append(f"{moving} were still moving; their last state counts.")
        if self.case.has_law:
            sentences.append("Exact for a linear decoder whose bias is at its best value; it is no bound on a network.")
        return Summary(rows, sentences)


@question
def merging_probability(
    *,
    encoder_rate: parameters.EncoderRates,
    decoder_rate: parameters.DecoderRates,
    encoder_scale: parameters.EncoderScales = 1.0,
    decoder_scale: parameters.DecoderScales = 1.0,
    encoder_scale_of: parameters.EncoderScaleOf = None,
    dimension: parameters.ReponDimension = 1,
    outputs: parameters.Outputs = 1,
    cluster: parameters.ClusterSize = 1.0,
    update: parameters.ReponUpdate = "flow",
    class_size: parameters.ClassSize = None,
    simulate: parameters.SimulatedDraws = None,
    seed: parameters.Seed = 0,
    running: Running | None = None,
) -> MergingProbability:
    """Give the chance that representations of one class merge (generalization) rather than stay apart.

    Parameters
    ----------
    encoder_rate, decoder_rate : array_like > 0
        Learning rates of the representations and of the decoder; only their ratio matters.
    encoder_scale, decoder_scale : array_like > 0
        Widths at the start.
    encoder_scale_of : {"half-separation", "repon"}, optional
        What the encoder's scale is the width of: by default half the separation of a pair, as in the paper, and each
        representation of a class.
    dimension, outputs : int >= 1
    cluster : float >= 1, may be infinite
        Coincident representations opposite the single one of a pair.
    update : {"flow", "sign"}
        Gradient flow, or sign updates as of Adam with small steps.
    class_size : int >= 2, optional
        Size of a class whose representations all merge, instead of a pair.
    simulate : int, optional
        Also follow this many random starts. Sign updates in more than one dimension have no law and need them.
    seed : int
    running : Running, optional
        Its steps are the rates and scales that are simulated.

    References
    ----------
    :cite:p:`baek2024`, Eqs. 12 and 13, for a pair on a line.
    """
    if class_size is not None and cluster > 1:
        raise InputError("cluster belongs to a pair and class_size to a class; give only one of them.")
    usual = "half-separation" if class_size is None else "repon"
    case = MergingCase(dimension, outputs, cluster, update, class_size, encoder_scale_of or usual)
    given = rates_and_scales(encoder_rate, decoder_rate, encoder_scale, decoder_scale)
    shape = given[0].shape
    _check_simulation(case, given[0].size, simulate)
    entropy, shown = whole_number("seed", seed), checked_running(running)
    law = case.probability(*given) if case.has_law else None
    runs = []
    if simulate is not None:
        shown.start(given[0].size, "random starts")
        for place, row in enumerate(np.stack(given, axis=-1).reshape(-1, len(given)).tolist()):
            rng, width = np.random.default_rng((entropy, place)), row[2] * case.repon_width
            system = case.system(*row[:2])
            runs.append(simulate_repons(system, draws=simulate, seed=rng, encoder_scale=width, decoder_scale=row[3]))
            shown.advance()
    shares, unsettled = tuple(run.collision for run in runs), np.array([run.unsettled_draws for run in runs])
    if law is None:
        law = np.array([share.value for share in shares]).reshape(shape)
    single = shape == ()
    numbers: dict[str, Any] = {
        name: value.item() if single else value for name, value in zip(RATES_AND_SCALES, given, strict=True)
    }
    return MergingProbability(
        case=case,
        **numbers,
        collision_probability=law.item() if single else law,
        simulated=None if simulate is None else shares[0] if single else shares,
        unsettled_draws=None if simulate is None else unsettled.item() if single else unsettled.reshape(shape),
    )


def _check_simulation(case: MergingCase, combinations: int, draws: int | None) -> None:
    """Raise if the simulation is missing, impossible or too large."""
    if combinations > MAX_COMBINATIONS:
        raise InputError(
            f"The rates and scales must make at most {MAX_COMBINATIONS:,} combinations; got {combinations:,}."
        )
    if draws is None:
        if not case.has_law:
            raise InputError(f"{NO_LAW}: simulate must be given, such as 2000 random starts, or dimension must be 1.")
        return
    if math.isinf(case.cluster):
        raise InputError("cluster must be finite to be simulated; only the law allows inf.")
    numbers = draws * case.dimension * (case.outputs + (case.class_size or 2))
    if numbers > MAX_NUMBERS:
        raise InputError(
            f"simulate times the variables must be at most {MAX_NUMBERS:,}; got {numbers:,}. Use fewer draws."
        )
