"""``genlaws relations repons``: how likely the representations of one class merge, and what decides it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter

from genlaws.cli.numbers import read_numbers
from genlaws.cli.output import DEFAULT_OUTPUT, Output, aligned, show
from genlaws.core.arguments import one_of, positive, whole_number
from genlaws.core.errors import InputError
from genlaws.core.files import write_contents
from genlaws.figures import draw_figures
from genlaws.relations.repons.ensemble import simulate_repons
from genlaws.relations.repons.forces import ReponSystem
from genlaws.relations.repons.pair import decoder_pull
from genlaws.relations.repons.probability import SCALES, collision_probability, sign_collision_probability
from genlaws.relations.repons.whole_class import class_collision_probability

if TYPE_CHECKING:
    from genlaws.relations.repons.ensemble import ReponRun

# Columns of a printed table; the JSON output has all.
TABLE_COLUMNS = (
    "encoder_rate",
    "decoder_rate",
    "encoder_scale",
    "decoder_scale",
    "collision_probability",
    "simulation",
    "unsettled_draws",
)
MAX_SIMULATED_DRAWS = 1_000_000
MAX_NUMBERS = 20_000_000  # held at once by a simulation, a few copies of 160 MB
MAX_COMBINATIONS = 10_000
FIGURE_ID = "relations.4"

EncoderRate = Annotated[str, Parameter(help="Learning rate of the representations; several as 1e-3,1e-2 or a range.")]
DecoderRate = Annotated[str, Parameter(help="Learning rate of the decoder; several as 1e-3,1e-2 or a range.")]
EncoderScale = Annotated[str, Parameter(help="Width of the representations at the start; see --scale-of.")]
DecoderScale = Annotated[str, Parameter(help="Width of the decoder's entries at the start.")]
ScaleOf = Annotated[
    str | None,
    Parameter(
        help="What --encoder-scale is the width of: half-separation (of a pair, as in the paper; if left out) or "
        "repon (each representation; if left out with --class-size).",
        show_default=False,
    ),
]
Dimension = Annotated[int, Parameter(help="Dimension of the representations.")]
Outputs = Annotated[int, Parameter(help="Outputs of the decoder.")]
Cluster = Annotated[float, Parameter(help="Coincident representations opposite the single one; inf is allowed.")]
Update = Annotated[str, Parameter(help="flow (gradient flow) or sign (sign updates, as of Adam with small steps).")]
ClassSize = Annotated[int | None, Parameter(help="Size of a class whose representations all merge, instead of a pair.")]
Simulate = Annotated[int | None, Parameter(help="Also follow this many random starts.")]


@dataclass(frozen=True)
class ReponOptions:
    """The options, apart from the numbers that may vary."""

    dimension: int
    outputs: int
    cluster: float
    update: str
    class_size: int | None
    encoder_scale_of: str

    @property
    def has_law(self) -> bool:
        """Whether the probability is known exactly."""
        return self.update == "flow" or self.dimension == 1

    @property
    def is_plane(self) -> bool:
        """Whether the plane of figure 4 shows this case."""
        return self.update == "flow" and self.class_size is None and self.dimension == self.outputs == 1

    @property
    def who(self) -> str:
        """What merges, as text."""
        if self.class_size is not None:
            return f"all {self.class_size} representations of a class"
        if self.cluster > 1:
            many = "infinitely many" if math.isinf(self.cluster) else f"{self.cluster:g}"
            return f"a representation and {many} coincident ones of its class"
        return "two representations of one class"

    def boundary_slope(self, rate_ratio: float) -> float | None:
        """Half the separation over the decoder's gain below which a pair on a line merges."""
        if self.dimension > 1 or self.outputs > 1 or self.class_size is not None:
            return None
        return rate_ratio if self.update == "sign" else math.sqrt(rate_ratio / decoder_pull(self.cluster))


def explanation(options: ReponOptions) -> dict[str, Any]:
    """Return what decides, as text and formulas."""
    if options.update == "sign":
        decides = (
            "half the range of the class, at the encoder's rate, vanishes before the largest gain of the decoder, at "
            "the decoder's rate"
        )
        return {
            "law": "sign updates, one dimension" if options.has_law else "none: simulated",
            "merges_if": decides if options.has_law else "not known in closed form",
            "conserved": None,
        }
    if options.class_size is not None:
        return {
            "law": "class: largest root of two Wishart matrices",
            "merges_if": "the conserved matrix has no negative eigenvalue",
            "conserved": "A^T A / decoder_rate - sum_i (x_i - mean)(x_i - mean)^T / encoder_rate",
        }
    name = "Eq. 12" if options.cluster == 1 else "Eq. 13"
    pull = float(decoder_pull(options.cluster))
    return {
        "law": f"pair, {name}" if options.dimension == options.outputs == 1 else f"pair, {name} in any dimension",
        "merges_if": "the conserved matrix has no negative eigenvalue",
        "conserved": f"A^T A / ({pull:.6g} decoder_rate) - r r^T / encoder_rate, r half the separation",
    }


def explain_one(options: ReponOptions, answer: dict[str, Any], draws: int | None) -> str:
    """Return one answer: the number, what it means, and how certain it is."""
    explained = explanation(options)
    rows = {
        "collision probability": f"{answer['collision_probability']:.6f}",
        "law": explained["law"],
        "encoder over decoder rate": f"{answer['rate_ratio']:.6g}",
        "encoder scale": f"{answer['encoder_scale']:.6g} (of {_format_scale(options)})",
        "decoder scale": f"{answer['decoder_scale']:.6g}",
    }
    if draws is not None:
        rows["simulated"] = answer["simulation"]
    if explained["conserved"]:
        rows["conserved"] = explained["conserved"]
    return "\n".join([aligned(rows), *_sentences(options, answer, draws)])


def _sentences(options: ReponOptions, answer: dict[str, Any], draws: int | None) -> list[str]:
    explained = explanation(options)
    chance = answer["collision_probability"]
    lines = [f"From random starts {options.who} merge {chance:.1%} of the time; otherwise they stay apart."]
    if options.update == "flow" and options.outputs < options.dimension:
        lines.append("With fewer outputs than dimensions the decoder is blind to a direction, so none ever merge.")
    elif answer["boundary_slope"] is not None:
        slope = f"{answer['boundary_slope']:.6g}"
        lines.append(f"They merge if half their separation starts below {slope} times the decoder's gain.")
    elif options.has_law:
        lines.append(f"They merge if {explained['merges_if']}.")
    else:
        lines.append("There is no law for sign updates in more than one dimension: this is the simulated share.")
    if draws is not None and answer["unsettled_draws"]:
        lines.append(f"{answer['unsettled_draws']} of {draws} draws were still moving; their last state counts.")
    lines.append("Exact for a linear decoder whose bias is at its best value; it is no bound on a network.")
    return lines if options.has_law else lines[:-1]


def explain_table(options: ReponOptions, answers: list[dict[str, Any]]) -> str:
    """Return several answers as an aligned table."""
    import pandas as pd

    table = pd.DataFrame(answers)
    table = table[[name for name in TABLE_COLUMNS if name in table]]
    lines = [
        str(table.to_string(index=False, float_format=lambda x: f"{x:.6g}")),
        f"Each row is the chance that {options.who} merge, from random starts; "
        f"encoder_scale is the width of {_format_scale(options)}.",
    ]
    if not options.has_law:
        lines.append("There is no law for sign updates in more than one dimension: these are simulated shares.")
    return "\n".join(lines)


def _format_scale(options: ReponOptions) -> str:
    return "half the separation" if options.encoder_scale_of == "half-separation" else "each representation"


def repons(
    *,
    encoder_rate: EncoderRate,
    decoder_rate: DecoderRate,
    encoder_scale: EncoderScale = "1",
    decoder_scale: DecoderScale = "1",
    scale_of: ScaleOf = None,
    dimension: Dimension = 1,
    outputs: Outputs = 1,
    cluster: Cluster = 1.0,
    update: Update = "flow",
    class_size: ClassSize = None,
    simulate: Simulate = None,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Give the chance that representations of one class merge (generalization) rather than stay apart.

    Where several numbers are given the answer is a table over all combinations. With --out, a pair in one dimension
    also gets the picture of its plane.
    """
    options = _checked_options(
        scale_of, dimension=dimension, outputs=outputs, cluster=cluster, update=update, size=class_size
    )
    rows = _rows(encoder_rate, decoder_rate, encoder_scale, decoder_scale)
    _check_simulation(options, simulate, output.seed)
    answers = [_collision_row(options, row, simulate, (output.seed, number)) for number, row in enumerate(rows)]
    one = len(answers) == 1
    answer = answers[0] if one else {name: [row[name] for row in answers] for name in answers[0]}
    fixed = {**vars(options), **explanation(options), "seed": output.seed}
    if output.out is not None and one and options.is_plane:
        fixed["picture"] = _draw(options, rows[0], output)
    text = explain_one(options, answers[0], simulate) if one else explain_table(options, answers)
    show("repons", {**answer, **fixed}, text, output)


def _checked_options(
    scale_of: str | None, *, dimension: int, outputs: int, cluster: float, update: str, size: int | None
) -> ReponOptions:
    whole_number("dimension", dimension, at_least=1)
    whole_number("outputs", outputs, at_least=1)
    decoder_pull(cluster)
    one_of("update", update, ("flow", "sign"))
    if size is not None:
        whole_number("class_size", size, at_least=2)
        if cluster > 1:
            raise InputError("cluster belongs to a pair and class_size to a class; give only one of them.")
    usual = "half-separation" if size is None else "repon"
    scale_of = usual if scale_of is None else one_of("scale_of", scale_of, SCALES)
    return ReponOptions(dimension, outputs, cluster, update, size, scale_of)


def _rows(*texts: str) -> list[dict[str, float]]:
    """Return all combinations of the rates and scales, under their names."""
    names = ("encoder_rate", "decoder_rate", "encoder_scale", "decoder_scale")
    lists = [
        np.atleast_1d(positive(name, read_numbers(name, text))).tolist()
        for name, text in zip(names, texts, strict=True)
    ]
    count = int(np.prod([len(values) for values in lists]))
    if count > MAX_COMBINATIONS:
        raise InputError(f"The rates and scales must make at most {MAX_COMBINATIONS:,} combinations; got {count:,}.")
    return [dict(zip(names, values, strict=True)) for values in product(*lists)]


def _check_simulation(options: ReponOptions, draws: int | None, seed: int) -> None:
    whole_number("seed", seed)
    if draws is None:
        if not options.has_law:
            raise InputError(
                "There is no law for sign updates in more than one dimension; add --simulate 2000 to follow that many "
                "random starts, or use --dimension 1."
            )
        return
    whole_number("simulate", draws, at_least=1, at_most=MAX_SIMULATED_DRAWS)
    if options.cluster == float("inf"):
        raise InputError("cluster must be finite to be simulated; only the law allows inf.")
    numbers = draws * options.dimension * (options.outputs + (options.class_size or 2))
    if numbers > MAX_NUMBERS:
        raise InputError(
            f"simulate times the variables must be at most {MAX_NUMBERS:,}; got {numbers:,}. Use fewer draws."
        )


def _collision_row(
    options: ReponOptions, row: dict[str, float], draws: int | None, seed: tuple[int, int]
) -> dict[str, Any]:
    """Return the probability of one combination, with what was simulated."""
    law = _law(options, row) if options.has_law else None
    found: dict[str, Any] = {"collision_probability": law, **row}
    found["rate_ratio"] = row["encoder_rate"] / row["decoder_rate"]
    found["boundary_slope"] = options.boundary_slope(found["rate_ratio"])
    if draws is not None:
        run = _simulated(options, row, draws, seed)
        share = run.collision
        found |= {
            "simulated_probability": share.value,
            "simulated_low": share.low,
            "simulated_high": share.high,
            "simulated_draws": share.count,
            "unsettled_draws": int((~run.settled).sum()),
            "simulation": str(share),
        }
        if law is None:
            found["collision_probability"] = share.value
    return found


def _law(options: ReponOptions, row: dict[str, float]) -> float:
    size = options.class_size
    scale_of, outputs = options.encoder_scale_of, options.outputs
    if options.update == "sign":
        found = sign_collision_probability(
            **row, encoder_scale_of=scale_of, outputs=outputs, class_size=2 if size is None else size
        )
    elif size is None:
        found = collision_probability(
            **row,
            encoder_scale_of=scale_of,
            dimension=options.dimension,
            outputs=outputs,
            cluster=options.cluster,
        )
    else:
        widened = row["encoder_scale"] * (math.sqrt(2.0) if scale_of == "half-separation" else 1.0)
        found = class_collision_probability(
            **{**row, "encoder_scale": widened}, class_size=size, dimension=options.dimension, outputs=outputs
        )
    return float(found)


def _simulated(options: ReponOptions, row: dict[str, float], draws: int, seed: tuple[int, int]) -> ReponRun:
    # Only the ratio of the rates matters; the faster is made 1, so that the time steps suit any two rates.
    fastest = max(row["encoder_rate"], row["decoder_rate"])
    system = ReponSystem(
        encoder_rate=row["encoder_rate"] / fastest,
        decoder_rate=row["decoder_rate"] / fastest,
        dimension=options.dimension,
        outputs=options.outputs,
        class_sizes=(options.class_size or 2,),
        weights=1.0 if options.class_size else (1.0, options.cluster),
        update=options.update,
    )
    width = row["encoder_scale"] * (math.sqrt(2.0) if options.encoder_scale_of == "half-separation" else 1.0)
    rng = np.random.default_rng(seed)
    return simulate_repons(system, draws, rng, encoder_scale=width, decoder_scale=row["decoder_scale"])


def _draw(options: ReponOptions, row: dict[str, float], output: Output) -> str:
    """Write the plane of the pair into the folder, and return where its picture is."""
    assert output.out is not None
    narrowed = row["encoder_scale"] / (1.0 if options.encoder_scale_of == "half-separation" else math.sqrt(2.0))
    settings = {**row, "encoder_scale": narrowed, "cluster": options.cluster}
    files = draw_figures(FIGURE_ID, settings=settings).files()
    write_contents(output.out, {name: content for name, content in files.items() if name.startswith(FIGURE_ID)})
    return str(output.out / f"{FIGURE_ID}.png")
