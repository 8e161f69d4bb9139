"""``genlaws relations repons``: how likely the representations of one class merge."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.commands.numbers import read_numbers
from genlaws.commands.output import DEFAULT_OUTPUT, Output, show
from genlaws.commands.relations_repons_words import Question, explain_one, explain_table, explanation
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.relations.repon_ensemble import ReponRun

MOST_DRAWS = 1_000_000
MOST_NUMBERS = 20_000_000  # held at once by a simulation, a few copies of 160 MB
MOST_ROWS = 10_000
FIGURE = "relations.4"

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
Cluster = Annotated[float, Parameter(help="Coincident representations that the one stands against; inf is allowed.")]
Update = Annotated[str, Parameter(help="flow (gradient flow) or sign (sign updates, as of Adam with small steps).")]
ClassSize = Annotated[int | None, Parameter(help="Ask whether a class of this many all merge, instead of a pair.")]
Simulate = Annotated[int | None, Parameter(help="Also follow this many random starts.")]


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
    """Give the chance that representations of one class merge (generalisation) rather than stay apart.

    Where several numbers are given the answer is a table over all combinations. With --out, a pair in one dimension
    also gets the picture of its plane.
    """
    question = _question(
        scale_of, dimension=dimension, outputs=outputs, cluster=cluster, update=update, size=class_size
    )
    rows = _rows(encoder_rate, decoder_rate, encoder_scale, decoder_scale)
    _check_simulation(question, simulate, output.seed)
    answers = [_answer(question, row, simulate, (output.seed, number)) for number, row in enumerate(rows)]
    one = len(answers) == 1
    answer = answers[0] if one else {name: [row[name] for row in answers] for name in answers[0]}
    fixed = {**vars(question), **explanation(question), "seed": output.seed}
    if output.out is not None and one and question.is_plane:
        fixed["picture"] = _draw(question, rows[0], output)
    text = explain_one(question, answers[0], simulate) if one else explain_table(question, answers)
    show("repons", {**answer, **fixed}, text, output)


def _question(
    scale_of: str | None, *, dimension: int, outputs: int, cluster: float, update: str, size: int | None
) -> Question:
    from genlaws.numerics.arguments import one_of, whole_number
    from genlaws.relations.repon_pair import decoder_pull
    from genlaws.relations.repon_probability import SCALES

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
    return Question(dimension, outputs, cluster, update, size, scale_of)


def _rows(*texts: str) -> list[dict[str, float]]:
    """Return all combinations of the rates and scales, under their names."""
    import numpy as np

    from genlaws.numerics.arguments import positive

    names = ("encoder_rate", "decoder_rate", "encoder_scale", "decoder_scale")
    lists = [
        np.atleast_1d(positive(name, read_numbers(name, text))).tolist()
        for name, text in zip(names, texts, strict=True)
    ]
    count = int(np.prod([len(values) for values in lists]))
    if count > MOST_ROWS:
        raise InputError(f"The rates and scales must make at most {MOST_ROWS:,} combinations; got {count:,}.")
    return [dict(zip(names, values, strict=True)) for values in product(*lists)]


def _check_simulation(question: Question, draws: int | None, seed: int) -> None:
    from genlaws.numerics.arguments import whole_number

    whole_number("seed", seed)
    if draws is None:
        if not question.has_law:
            raise InputError(
                "There is no law for sign updates in more than one dimension; add --simulate 2000 to follow that many "
                "random starts, or ask for --dimension 1."
            )
        return
    whole_number("simulate", draws, at_least=1, at_most=MOST_DRAWS)
    if question.cluster == float("inf"):
        raise InputError("cluster must be finite to be simulated; the law alone allows inf.")
    numbers = draws * question.dimension * (question.outputs + (question.class_size or 2))
    if numbers > MOST_NUMBERS:
        raise InputError(
            f"simulate must keep draws times variables at or below {MOST_NUMBERS:,}; got {numbers:,}. Take fewer draws."
        )


def _answer(question: Question, row: dict[str, float], draws: int | None, seed: tuple[int, int]) -> dict[str, Any]:
    """Return the probability of one combination, with what was simulated."""
    law = _law(question, row) if question.has_law else None
    found: dict[str, Any] = {"collision_probability": law, **row}
    found["rate_ratio"] = row["encoder_rate"] / row["decoder_rate"]
    found["boundary_slope"] = question.boundary_slope(found["rate_ratio"])
    if draws is not None:
        run = _simulated(question, row, draws, seed)
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


def _law(question: Question, row: dict[str, float]) -> float:
    import math

    from genlaws.relations.repon_class import class_collision_probability
    from genlaws.relations.repon_probability import collision_probability, sign_collision_probability

    size = question.class_size
    scale_of, outputs = question.encoder_scale_of, question.outputs
    if question.update == "sign":
        found = sign_collision_probability(
            **row, encoder_scale_of=scale_of, outputs=outputs, class_size=2 if size is None else size
        )
    elif size is None:
        found = collision_probability(
            **row,
            encoder_scale_of=scale_of,
            dimension=question.dimension,
            outputs=outputs,
            cluster=question.cluster,
        )
    else:
        widened = row["encoder_scale"] * (math.sqrt(2.0) if scale_of == "half-separation" else 1.0)
        found = class_collision_probability(
            **{**row, "encoder_scale": widened}, class_size=size, dimension=question.dimension, outputs=outputs
        )
    return float(found)


def _simulated(question: Question, row: dict[str, float], draws: int, seed: tuple[int, int]) -> ReponRun:
    import math

    import numpy as np

    from genlaws.relations.repon_ensemble import simulate_repons
    from genlaws.relations.repon_forces import ReponSystem

    # Only the ratio of the rates matters; the faster is made 1, so that any two are followed alike.
    fastest = max(row["encoder_rate"], row["decoder_rate"])
    system = ReponSystem(
        encoder_rate=row["encoder_rate"] / fastest,
        decoder_rate=row["decoder_rate"] / fastest,
        dimension=question.dimension,
        outputs=question.outputs,
        class_sizes=(question.class_size or 2,),
        weights=1.0 if question.class_size else (1.0, question.cluster),
        update=question.update,
    )
    width = row["encoder_scale"] * (math.sqrt(2.0) if question.encoder_scale_of == "half-separation" else 1.0)
    rng = np.random.default_rng(seed)
    return simulate_repons(system, draws, rng, encoder_scale=width, decoder_scale=row["decoder_scale"])


def _draw(question: Question, row: dict[str, float], output: Output) -> str:
    """Write the plane of the pair into the folder, and return where its picture is."""
    import math

    from genlaws.figures import draw_figure

    assert output.out is not None
    narrowed = row["encoder_scale"] / (1.0 if question.encoder_scale_of == "half-separation" else math.sqrt(2.0))
    settings = {**row, "encoder_scale": narrowed, "cluster": question.cluster}
    return str(draw_figure(FIGURE, output.out, settings).paths["png"])
