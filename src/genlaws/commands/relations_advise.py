"""``genlaws relations advise``: how much data and which learning rates does a network need for this relation?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.commands.output import DEFAULT_OUTPUT, Output, as_json
from genlaws.commands.progress import ProgressBar
from genlaws.commands.relations_advise_words import explain
from genlaws.commands.relations_source import Elements, RelationName, Source, read_relation
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from genlaws.relations.learning_advice import LearningAdvice

NAME = "advise"

Target = Annotated[float, Parameter(help="Accuracy to reach, above 0 and below 1.")]
Quick = Annotated[bool, Parameter(negative="", help="Fewer and shorter trainings: an answer in seconds, less sure.")]
Width = Annotated[int, Parameter(help="Units of each hidden layer of the decoder.")]
Depth = Annotated[int, Parameter(help="Hidden layers of the decoder.")]
Dimension = Annotated[int, Parameter(help="Numbers in each embedding.")]
Steps = Annotated[int | None, Parameter(help="Updates of each network; 1,500, or 800 with --quick, if left out.")]
Optimiser = Annotated[str, Parameter(help="adam, adamw or sgd.")]
Rate = Annotated[float | None, Parameter(help="Decoder rate, held fixed; 0.01, or 1 with sgd, if left out.")]


def advise(
    source: Source,
    /,
    *,
    target_accuracy: Target = 0.9,
    quick: Quick = False,
    width: Width = 50,
    depth: Depth = 3,
    dimension: Dimension = 2,
    steps: Steps = None,
    optimiser: Optimiser = "adam",
    decoder_rate: Rate = None,
    elements: Elements = None,
    relation: RelationName = None,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Say how many entries and which ratio of learning rates a network needs to learn a relation.

    The best learner's number of entries is exact; the network's is measured by a pilot, and so is the ratio. A minute
    or so for 30 elements; --quick takes seconds.
    """
    import json

    from genlaws.numerics.arguments import positive
    from genlaws.relations.learning_advice import advise_relation, quick_pilot
    from genlaws.relations.learning_pilot import Pilot

    known = read_relation(source, elements, relation)
    if output.out is not None and output.out.exists() and not output.out.is_dir():
        raise InputError(f"out must be a folder; got {str(output.out)!r}, which is a file.")
    chosen: dict[str, Any] = {"width": width, "depth": depth, "dimension": dimension, "optimiser": optimiser}
    chosen |= {} if steps is None else {"steps": steps}
    chosen |= {} if decoder_rate is None else {"decoder_rate": float(positive("decoder_rate", decoder_rate))}
    pilot = quick_pilot(**chosen) if quick else Pilot(**chosen)
    with ProgressBar(quiet=output.json) as progress:
        progress.start(pilot.network_count, f"{known.label}: networks of the pilot")
        advice = advise_relation(
            known, target_accuracy=target_accuracy, pilot=pilot, seed=output.seed, advance=progress.advance
        )
    document = json.dumps(as_json(summary(advice)), indent=2)
    if output.out is not None:
        _write(output.out, advice, document)
    if output.json:
        print(document)
        return
    print(explain(advice))
    if output.out is not None:
        print(f"Written to {output.out / NAME}.json and .csv")


def summary(advice: LearningAdvice) -> dict[str, Any]:
    """Return the advice as plain names and numbers; an estimate has its interval beside it."""
    from dataclasses import fields

    from genlaws.numerics.intervals import Estimate

    answer: dict[str, Any] = {}
    for one in fields(advice):
        value = getattr(advice, one.name)
        if isinstance(value, Estimate):
            answer |= {one.name: value.value, f"{one.name}_interval": [value.low, value.high]}
        elif one.name == "pilot":
            answer["held_fixed"] = {
                name: getattr(value, name)
                for name in ("steps", "width", "depth", "dimension", "optimiser", "decoder_rate")
            }
        elif one.name in ("fractions", "ratios"):
            tried = advice.to_frame()
            rows = tried[tried["tried"] == ("ratio" if one.name == "ratios" else "train_fraction")]
            answer[one.name] = rows.drop(columns="tried").to_dict("records")
        else:
            answer[one.name] = value
    share = advice.advised_fraction
    return answer | {
        "advised_entries": None if share is None else round(share * advice.pair_count),
        "learned": advice.learned,
        "boundary_seen": advice.boundary_seen,
        "half_fraction_seen": advice.half_fraction_seen,
        "fraction_at_edge": advice.fraction_at_edge,
        "ratio_at_edge": advice.ratio_at_edge,
        "network_count": advice.network_count,
    }


def _write(folder: Path, advice: LearningAdvice, document: str) -> None:
    """Write the answer as JSON and what was tried as a table."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{NAME}.json").write_text(document + "\n", encoding="utf-8")
    advice.to_frame().to_csv(folder / f"{NAME}.csv", index=False)
