"""``genlaws relations advise``: how much data and which learning rates a network needs to learn a relation."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.cli.output import DEFAULT_OUTPUT, Output, ProgressBar, aligned, show
from genlaws.cli.relations.source import Depth, Elements, Optimizer, RelationName, Source, read_relation
from genlaws.core.arguments import positive
from genlaws.core.estimate import Estimate
from genlaws.core.files import check_folder
from genlaws.relations.networks.advice import advise_relation, quick_pilot
from genlaws.relations.networks.pilot import Pilot

if TYPE_CHECKING:
    from genlaws.relations.networks.advice import LearningAdvice
    from genlaws.relations.networks.pilot import PilotPoint

ADVICE_LINE_CHARACTERS = 100  # of a printed line

Target = Annotated[float, Parameter(help="Accuracy to reach, above 0 and below 1.")]
Quick = Annotated[bool, Parameter(negative="", help="Fewer and shorter trainings: an answer in seconds, less certain.")]
Width = Annotated[int, Parameter(help="Units of each hidden layer of the decoder.")]
Dimension = Annotated[int, Parameter(help="Numbers in each embedding.")]
Steps = Annotated[int | None, Parameter(help="Updates of each network; 1,500, or 800 with --quick, if left out.")]
Rate = Annotated[float | None, Parameter(help="Decoder rate, held fixed; 0.01, or 1 with sgd, if left out.")]


def explain(advice: LearningAdvice) -> str:
    """Return the printed answer."""
    tables = [
        _format_table("training fraction", advice.fractions, advice),
        _format_table("decoder/encoder rate", advice.ratios, advice),
    ]
    return "\n\n".join(
        ["\n".join(_format_headline(advice)), aligned(_numbers(advice)), *tables, "\n".join(_format_caveats(advice))]
    )


def _format_headline(advice: LearningAdvice) -> list[str]:
    if not advice.learned:
        longest = f"{advice.pilot.steps:,} steps"
        return [
            f"No network of the pilot learned {advice.relation}: none of {advice.network_count} reached "
            f"{advice.target_accuracy:g} outside its training set within {longest}.",
            "Longer trainings (--steps), a wider decoder (--width) or more dimensions (--dimension) may; or the "
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
        f"Train on at least {share:.0%} of the entries, {round(share * advice.pair_count):,} of {advice.pair_count:,}: "
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


def _numbers(advice: LearningAdvice) -> dict[str, str]:
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
    return rows


def _format_entries(share: Estimate, advice: LearningAdvice) -> str:
    return f"{share.value * advice.pair_count:,.0f} entries, a fraction of {_format_interval(share)}"


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
    return f"{most}{_format_interval(advice.gap_ratio)} times as many"


def _format_half_share(advice: LearningAdvice) -> str:
    found = advice.half_fraction
    if found is None:
        return "not seen: their number does not grow with the entries"
    if advice.half_fraction_seen:
        return _format_entries(found, advice)
    return f"a fraction of {_format_within_tried(found, advice.fractions)}"


def _format_within_tried(found: Estimate, tried: Sequence[PilotPoint]) -> str:
    """Return an estimate as text, limited to the range of values tried."""
    smallest, largest = tried[0].value, tried[-1].value
    if found.value < smallest:
        return f"less than {smallest:g}, the smallest tried"
    if found.value > largest:
        return f"more than {largest:g}, the largest tried"
    low = f"less than {smallest:g}" if found.low < smallest else f"{found.low:.2g}"
    high = f"more than {largest:g}" if found.high > largest else f"{found.high:.2g}"
    return f"{found.value:.2g} [{low}, {high}]; tried were {smallest:g} to {largest:g}"


def _format_critical_ratio(advice: LearningAdvice) -> str:
    found = advice.critical_ratio
    if found is not None:
        shown = _format_interval(found) if advice.boundary_seen else _format_within_tried(found, advice.ratios)
        return f"{shown}, decoder over encoder rate"
    if advice.suggested_ratio is None:
        return "not seen: no network generalized"
    return f"not seen up to {advice.ratios[-1].value:g}, the largest tried"


def _format_table(name: str, points: Sequence[PilotPoint], advice: LearningAdvice) -> str:
    header = (name, "generalized", "95 % interval", "mean accuracy", "median steps")
    rows: list[Sequence[str]] = [header]
    for one in points:
        steps = "never" if math.isnan(one.median_steps) else f"{one.median_steps:,.0f}"
        mark = " <- suggested" if points is advice.ratios and one.value == advice.suggested_ratio else ""
        mark = " <- advised" if points is advice.fractions and one.value == advice.advised_fraction else mark
        counted = f"{sum(one.succeeded)} of {len(one.succeeded)}"
        interval = f"{one.success.low:.2f} to {one.success.high:.2f}"
        rows.append((f"{one.value:g}", counted, interval, f"{one.accuracy.value:.3f}", steps + mark))
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _format_caveats(advice: LearningAdvice) -> list[str]:
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
    return textwrap.wrap(" ".join(sentences), ADVICE_LINE_CHARACTERS)


def _format_interval(estimate: Estimate) -> str:
    return str(replace(estimate, count=0))


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
    optimizer: Optimizer = "adam",
    decoder_rate: Rate = None,
    elements: Elements = None,
    relation: RelationName = None,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Give how many entries and which ratio of learning rates a network needs to learn a relation.

    The number of entries for the best learner is exact; the number for the network and the ratio are measured by a
    pilot. It takes about a minute for 30 elements, seconds with --quick.
    """
    known = read_relation(source, elements, relation)
    check_folder("out", output.out)
    chosen: dict[str, Any] = {"width": width, "depth": depth, "dimension": dimension, "optimizer": optimizer}
    chosen |= {} if steps is None else {"steps": steps}
    chosen |= {} if decoder_rate is None else {"decoder_rate": float(positive("decoder_rate", decoder_rate))}
    pilot = quick_pilot(**chosen) if quick else Pilot(**chosen)
    with ProgressBar(quiet=output.json) as running:
        advice = advise_relation(known, target_accuracy=target_accuracy, pilot=pilot, seed=output.seed, running=running)
    show("advise", summary(advice), explain(advice), output, advice.to_frame())


def summary(advice: LearningAdvice) -> dict[str, Any]:
    """Return the advice as plain names and numbers; an estimate is followed by its interval."""
    answer: dict[str, Any] = {}
    for name, value in vars(advice).items():
        if isinstance(value, Estimate):
            answer |= {name: value.value, f"{name}_interval": [value.low, value.high]}
        elif name == "pilot":
            answer["held_fixed"] = {
                one: getattr(value, one)
                for one in ("steps", "width", "depth", "dimension", "optimizer", "decoder_rate")
            }
        elif name in ("fractions", "ratios"):
            tried = advice.to_frame()
            rows = tried[tried["tried"] == ("ratio" if name == "ratios" else "train_fraction")]
            answer[name] = rows.drop(columns="tried").to_dict("records")
        else:
            answer[name] = value
    share = advice.advised_fraction
    answer["advised_entries"] = None if share is None else round(share * advice.pair_count)
    derived = ("learned", "boundary_seen", "half_fraction_seen", "fraction_at_edge", "ratio_at_edge", "network_count")
    return answer | {name: getattr(advice, name) for name in derived}
