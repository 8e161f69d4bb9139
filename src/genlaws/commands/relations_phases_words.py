"""What ``genlaws relations phases`` answers: shares, boundaries and one sentence of advice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genlaws.commands.output import aligned

if TYPE_CHECKING:
    import pandas as pd

    from genlaws.commands.relations_phases_cost import Cost
    from genlaws.figures.relations_phases import PhaseSettings
    from genlaws.numerics.intervals import Estimate
    from genlaws.relations.relation import Relation

SAME = ("depth", "width", "steps", "train_fraction", "embedding_scale", "patience", "device")
PARTS = ("decoder", "encoder")
ENDS = ("", "_low", "_high")
EDGE_TOLERANCE = 1e-6  # relative; a ratio this close to the smallest or largest one tried lies at it
TELLING = 1.0  # widest interval of a slope from which it can be told to be 1


def told_cost(cost: Cost, folder: Path | None) -> str:
    """Return the sentence before the computation."""
    done = f", {cost.networks_done:,} done before" if cost.networks_done else ""
    where = "nothing is kept without --out" if folder is None else f"kept in {folder / 'cells'}"
    if not cost.networks:
        return f"Nothing left to train: {cost.networks_done:,} networks done before."
    return (
        f"{cost.networks:,} networks to train{done}: at most {cost.network_steps:.3g} network-steps, "
        f"{_minutes(cost.minutes)} on this machine; less where networks generalise early; {where}."
    )


def _minutes(minutes: float) -> str:
    return f"{60 * minutes:.0f} seconds" if minutes < 2 else f"{minutes:.0f} minutes"


def summarised(relation: Relation, frame: pd.DataFrame, settings: PhaseSettings, target: float) -> dict[str, Any]:
    """Return the answer as plain names and numbers."""
    from genlaws.figures.relations_phases import boundaries as fitted
    from genlaws.numerics.intervals import wilson_interval
    from genlaws.relations.phases import PHASES

    total = int(frame["count"].sum())
    shares = {name: wilson_interval(int(frame[name].sum()), total) for name in (*PHASES, "late")}
    decoder, encoder = ([float(frame[f"{part}_rate"].agg(end)) for end in ("min", "max")] for part in PARTS)
    ratios = decoder[0] / encoder[1], decoder[1] / encoder[0]
    boundaries = {row["criterion"]: _boundary(row, ratios) for row in fitted(frame).to_dict("records")}
    confused = int(frame["confusion"].sum())
    answer: dict[str, Any] = {
        "relation": relation.label,
        "element_count": relation.element_count,
        "majority_accuracy": relation.majority_accuracy,
        "target": target,
        "networks": total,
        "shares": {name: _plain(one) for name, one in shares.items()},
        "confused": confused,
        "boundaries": boundaries,
        "boundaries_not_seen": {
            name: _not_seen(int(frame[name].sum()), total - confused) for name, one in boundaries.items() if one is None
        },
        "optimiser": settings.optimisers[0],
        **{name: getattr(settings, name) for name in SAME},
        "decoder_rates": decoder,
        "encoder_rates": encoder,
        "ratios_tried": list(ratios),
        "grid": settings.grid,
        "seeds": settings.repeats,
    }
    return answer | {"advice": _advice(answer)}


def _plain(one: Estimate) -> dict[str, float]:
    return {"share": one.value, "low": one.low, "high": one.high}


def _boundary(row: Mapping[Any, Any], tried: tuple[float, float]) -> dict[str, Any] | None:
    """Return slope and critical ratio of a boundary with their intervals; none if no line could be fitted."""
    from genlaws.relations.phases import slope_message

    slope = row.get("slope")
    if slope is None or math.isnan(slope):
        return None
    names = ("slope", "critical_ratio")
    found = {part: row[part] for name in names for part in (name, f"{name}_low", f"{name}_high")}
    return found | {
        "slope_message": slope_message(*(found[f"slope{end}"] for end in ENDS)),
        "critical_ratio_within_tried": all(_side(found[f"critical_ratio{end}"], tried) == 0 for end in ENDS),
        "width_decades": row["width_decades"],
        "agrees_with_slope_1": bool(row["slope_may_be_1"]),
    }


def _not_seen(failed: int, fitted: int) -> str:
    """Return why no line could be fitted."""
    if fitted == 0:
        return "no network fitted what it was shown"
    if failed in (0, fitted):
        return "all networks that fitted are on one side"
    return "too few rates, or the share is the same at all of them"


def _side(ratio: float, tried: tuple[float, float]) -> int:
    """Return -1 for a ratio below those tried, 1 for one above them, else 0."""
    smallest, largest = tried
    return int(ratio > largest * (1.0 + EDGE_TOLERANCE)) - int(ratio < smallest * (1.0 - EDGE_TOLERANCE))


def _advice(answer: dict[str, Any]) -> str:
    """Return one sentence on which rates to take."""
    shares, boundary = answer["shares"], answer["boundaries"]["memorisation"]
    if answer["confused"] == answer["networks"]:
        return "No network fitted what it was shown: train longer, with higher rates or a wider decoder."
    if shares["generalisation"]["share"] + shares["grokking"]["share"] == 0.0:
        return "No network generalised at these rates: show more entries, or raise the encoder rate."
    tried: tuple[float, float] = tuple(answer["ratios_tried"])
    if boundary is not None:
        return _advice_on(boundary, tried)
    if shares["memorisation"]["share"] > 0.0:
        return "Memorising does not go with the rates tried; try more networks or other rates."
    return _advice_on_late(answer["boundaries"]["late"], tried)


def _advice_on_late(late: Mapping[str, Any] | None, tried: tuple[float, float]) -> str:
    """Return the sentence where no network memorised."""
    if late is None or not (late["slope"] > 0.0 and late["critical_ratio_low"] > 0.0):
        return "No network that fitted memorised: the ratio of the rates may be anything that was tried."
    if _side(late["critical_ratio"], tried) < 0:
        return f"No network memorised, but most were late at every ratio tried, also at {_smallest(tried)}."
    return f"No network memorised; for early generalisation keep the decoder rate {_limit(late, tried)}."


def _advice_on(boundary: Mapping[str, Any], tried: tuple[float, float]) -> str:
    """Return the sentence where some networks memorised and others did not; it names no ratio beyond those tried."""
    any_slope = boundary["slope_message"] and boundary["agrees_with_slope_1"]
    if not any_slope and not boundary["slope"] > 0.0:
        return "Memorising does not go with the ratio of the rates here; take rates from the table."
    if any_slope or not (boundary["critical_ratio_low"] > 0.0 and math.isfinite(boundary["critical_ratio_high"])):
        return "Networks memorise at some rates, but where is not pinned down: try more networks or more rates."
    if side := _side(boundary["critical_ratio"], tried):
        if side < 0:
            return f"Most networks memorise at every ratio tried, also at {_smallest(tried)}: try smaller ratios."
        return (
            f"Most networks do not memorise at any ratio tried, up to a decoder rate of {tried[1]:.2g} times the "
            "encoder rate: take one of these."
        )
    beyond = f"about {boundary['critical_ratio']:.2g} times on, every other network memorises{_but(boundary)}."
    if _side(boundary["critical_ratio_low"], tried) < 0:
        return f"Keep the decoder rate {_limit(boundary, tried)}, and try smaller ones. From {beyond}"
    return f"Keep the decoder rate {_limit(boundary, tried)}; from {beyond}"


def _limit(boundary: Mapping[str, Any], tried: tuple[float, float]) -> str:
    """Return below which ratio to keep: the lower end of the interval, or the smallest ratio that was tried."""
    low = boundary["critical_ratio_low"]
    if _side(low, tried) < 0:
        return f"at {_smallest(tried)} (the limit may lie at or below it)"
    return f"below {low:.2g} times the encoder rate"


def _smallest(tried: tuple[float, float]) -> str:
    return f"{tried[0]:.2g} times the encoder rate, the smallest ratio tried"


def _but(boundary: Mapping[str, Any]) -> str:
    """Say so where the ratio alone does not decide."""
    if boundary["agrees_with_slope_1"]:
        return ""
    if boundary["slope_message"]:
        return "; yet the fitted boundary is upright, so that the decoder rate decides more than the ratio"
    slope = _slope_number(boundary["slope"], ".2g")
    return f"; yet the boundary's slope is {slope}, so that the ratio alone does not decide"


def _slope_number(slope: float, form: str) -> str:
    """Return a slope as text; the fit tries directions half a degree apart, so that tiny numbers are zero."""
    return f"{round(slope, 3) + 0.0:{form}}" if math.isfinite(slope) else "no limit"


def explain(answer: dict[str, Any]) -> str:
    """Return the answer for a person."""
    total, shares = answer["networks"], answer["shares"]
    lines = {
        name: f"{one['share']:.3f} [{one['low']:.3f}, {one['high']:.3f}]  ({round(one['share'] * total)} of {total})"
        for name, one in shares.items()
    }
    for name, found in answer["boundaries"].items():
        what = "memorising" if name == "memorisation" else "being late"
        if found is None:
            lines[f"boundary of {what}"] = f"not seen: {answer['boundaries_not_seen'][name]}"
            continue
        lines[f"boundary of {what}"] = _slope_words(found)
        lines[f"critical ratio of {what}"] = _ratio_words(found, tuple(answer["ratios_tried"]))
    header = (
        f"{answer['relation']}, {answer['element_count']} elements: {total} networks, {answer['grid']} × "
        f"{answer['grid']} rates, {answer['steps']:,} steps"
    )
    return "\n".join([answer["advice"], "", header, aligned(lines), *_notes(answer)])


def _unit(found: dict[str, Any]) -> str:
    if not found["agrees_with_slope_1"]:
        falling = found["slope_low"] <= 1.0 <= found["slope_high"]
        return "but it falls with the ratio of the rates" if falling else "does not agree with 1"
    wide = not found["slope_high"] - found["slope_low"] <= TELLING
    return "too wide to tell whether the ratio decides" if wide else "agrees with 1: the ratio decides"


def _slope_words(found: dict[str, Any]) -> str:
    """Return the slope with its interval, or why it could not be determined."""
    if found["slope_message"]:
        return f"slope could not be determined: {found['slope_message']}"
    slope, low, high = (_slope_number(found[f"slope{end}"], ".3g") for end in ENDS)
    return f"slope {slope} [{low}, {high}], {_unit(found)}"


def _ratio_words(found: dict[str, Any], tried: tuple[float, float]) -> str:
    """Return the critical ratio with its interval; where these lie beyond the ratios tried, that they do."""
    value = found["critical_ratio"]
    if value == 0.0 or not math.isfinite(value):
        return "could not be determined: it does not become more frequent with the ratio"
    if side := _side(value, tried):
        name = "smallest" if side < 0 else "largest"
        return f"{_tried_words(value, tried)}, the {name} decoder over encoder rate tried"
    low, high = (_tried_words(found[f"critical_ratio{end}"], tried) for end in ENDS[1:])
    beyond = "" if found["critical_ratio_within_tried"] else f"; tried were {tried[0]:.3g} to {tried[1]:.3g}"
    return f"{value:.3g} [{low}, {high}], decoder over encoder rate{beyond}"


def _tried_words(ratio: float, tried: tuple[float, float]) -> str:
    """Return a ratio as text, or that it lies beyond the smallest or largest one tried."""
    side = _side(ratio, tried)
    return {-1: f"below {tried[0]:.3g}", 0: f"{ratio:.3g}", 1: f"above {tried[1]:.3g}"}[side]


def _notes(answer: dict[str, Any]) -> list[str]:
    """Return what a reader must know beside the numbers."""
    notes = [
        f"Confused: {answer['confused']} of {answer['networks']} fitted nothing and count for no boundary.",
        f"Late: generalised after more than {answer['patience']:g} times the steps it took to fit, or never.",
    ]
    if answer["majority_accuracy"] >= 0.9:
        notes.append(
            f"The commoner answer alone is right on {answer['majority_accuracy']:.3f} of the entries, so fitting and "
            f"generalising mean an accuracy above {answer['target']:.3f} instead of 0.9."
        )
    return notes
