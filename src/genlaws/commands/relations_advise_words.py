"""Say the advice of ``genlaws relations advise`` in words: the answer, what was measured, and how sure it is."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from genlaws.commands.output import aligned

if TYPE_CHECKING:
    from genlaws.numerics.intervals import Estimate
    from genlaws.relations.learning_advice import LearningAdvice
    from genlaws.relations.learning_pilot import PilotPoint

WIDTH = 100  # characters of a line


def explain(advice: LearningAdvice) -> str:
    """Return the printed answer."""
    tables = [
        _table("share shown", advice.fractions, advice),
        _table("decoder/encoder rate", advice.ratios, advice),
    ]
    return "\n\n".join(["\n".join(_answer(advice)), aligned(_numbers(advice)), *tables, "\n".join(_sure(advice))])


def _answer(advice: LearningAdvice) -> list[str]:
    if not advice.learned:
        longest = f"{advice.pilot.steps:,} steps"
        return [
            f"No network of the pilot learned {advice.relation}: none of {advice.network_count} reached "
            f"{advice.target_accuracy:g} on entries it was not shown within {longest}.",
            "Longer trainings (--steps), a wider decoder (--width) or more dimensions (--dimension) may; or the "
            "relation has no structure that such a network finds.",
        ]
    return [_data_sentence(advice), *_ratio_sentences(advice)]


def _data_sentence(advice: LearningAdvice) -> str:
    share = advice.advised_fraction
    if share is None:
        return (
            f"At no share of the entries tried, up to {advice.fractions[-1].value:.0%}, did three in four networks "
            "generalise: train longer, or try larger shares."
        )
    edge = " It is the smallest share tried: a smaller one may do." if advice.fraction_at_edge else ""
    return (
        f"Show at least {share:.0%} of the entries, {round(share * advice.pair_count):,} of {advice.pair_count:,}: "
        f"at least three in four networks then exceed {advice.target_accuracy:g} on the rest.{edge}"
    )


def _ratio_sentences(advice: LearningAdvice) -> list[str]:
    if advice.suggested_ratio is None:
        return ["No ratio of the learning rates made a network generalise; take equal rates and show more entries."]
    point = next(one for one in advice.ratios if one.value == advice.suggested_ratio)
    said = [
        f"Take a decoder rate of {advice.suggested_ratio:g} times the encoder rate: {sum(point.succeeded)} of "
        f"{len(point.succeeded)} networks generalised, after {point.median_steps:,.0f} steps in the median."
    ]
    if advice.ratio_at_edge:
        edge = "smallest" if point is advice.ratios[0] else "largest"
        said.append(f"It is the {edge} ratio tried: one beyond it may do better.")
    found = advice.critical_ratio
    if found is not None and advice.boundary_seen:
        said.append(f"Beyond a ratio between {found.low:.2g} and {found.high:.2g} every other network fails.")
    elif found is not None:
        said.append("Failures grow with the ratio, but where they begin is not pinned down by so few networks.")
    return said


def _numbers(advice: LearningAdvice) -> dict[str, str]:
    kind = "balanced over entries not shown" if advice.balanced else "whole table"
    best = advice.best_fraction
    rows = {
        "relation": f"{advice.relation}, {advice.element_count} elements, commoner answer "
        f"{advice.majority_accuracy:.3f}",
        "target accuracy": f"{advice.target_accuracy:g} ({kind})",
        "the best learner needs": f"unknown: {advice.no_bound}" if best is None else _entries(best, advice),
        "the network needs": _network(advice),
        "induction gap": _gap(advice),
        "every other generalises at": _half(advice),
        "critical ratio": _critical(advice),
    }
    if advice.suggested_ratio is not None:
        rows["laws at that ratio"] = (
            f"chance to merge {advice.flow_law:.3f} (gradient flow), {advice.sign_law:.3f} (sign updates): upper "
            "guidance, not a bound"
        )
    return rows


def _entries(share: Estimate, advice: LearningAdvice) -> str:
    return f"{share.value * advice.pair_count:,.0f} entries, a share of {_plain(share)}"


def _network(advice: LearningAdvice) -> str:
    found = advice.network_fraction
    if math.isinf(found.value):
        return f"more than a share of {advice.fractions[-1].value:g}, the largest tried"
    if found.value <= advice.fractions[0].value:
        return f"at most a share of {found.value:g}, the smallest tried"
    if math.isinf(found.high):
        return f"{found.value * advice.pair_count:,.0f} entries, a share of {found.value:.3f} or more"
    return _entries(found, advice)


def _gap(advice: LearningAdvice) -> str:
    if advice.gap_ratio is None:
        return "unknown"
    most = "at most " if advice.network_fraction.value <= advice.fractions[0].value else ""
    return f"{most}{_plain(advice.gap_ratio)} times as many"


def _half(advice: LearningAdvice) -> str:
    found = advice.half_fraction
    if found is None:
        return "not seen: they are not more with more entries"
    if advice.half_fraction_seen:
        return _entries(found, advice)
    return f"a share of {_tried_words(found, advice.fractions)}"


def _tried_words(found: Estimate, tried: Sequence[PilotPoint]) -> str:
    """Return an estimate as text that names nothing beyond the smallest and the largest value tried."""
    smallest, largest = tried[0].value, tried[-1].value
    if found.value < smallest:
        return f"less than {smallest:g}, the smallest tried"
    if found.value > largest:
        return f"more than {largest:g}, the largest tried"
    low = f"less than {smallest:g}" if found.low < smallest else f"{found.low:.2g}"
    high = f"more than {largest:g}" if found.high > largest else f"{found.high:.2g}"
    return f"{found.value:.2g} [{low}, {high}]; tried were {smallest:g} to {largest:g}"


def _critical(advice: LearningAdvice) -> str:
    found = advice.critical_ratio
    if found is not None:
        shown = _plain(found) if advice.boundary_seen else _tried_words(found, advice.ratios)
        return f"{shown}, decoder over encoder rate"
    if advice.suggested_ratio is None:
        return "not seen: no network generalised"
    return f"not seen up to {advice.ratios[-1].value:g}, the largest tried"


def _table(name: str, points: Sequence[PilotPoint], advice: LearningAdvice) -> str:
    header = (name, "generalised", "95 % interval", "mean accuracy", "median steps")
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


def _sure(advice: LearningAdvice) -> list[str]:
    """Say what the advice rests on and what was held fixed."""
    pilot = advice.pilot
    said = [
        f"From {advice.network_count} networks. Held fixed: {pilot.depth} hidden layers of {pilot.width}, embeddings "
        f"of {pilot.dimension} numbers, {pilot.optimiser}, decoder rate {pilot.decoder_rate:g}, {pilot.steps:,} steps.",
        f"Shares were tried with equal rates, ratios at a share of {advice.ratio_fraction:g}.",
        "Intervals are 95 % over networks. The suggested ratio is the best of several and so optimistic. A network "
        "that needs longer than the pilot counts as failed.",
    ]
    if advice.balanced:
        said.append(
            f"The commoner answer alone is right on {advice.majority_accuracy:.3f} of the entries, which reaches the "
            "target: the accuracy here is the balanced one."
        )
    return textwrap.wrap(" ".join(said), WIDTH)


def _plain(estimate: Estimate) -> str:
    return str(replace(estimate, count=0))
