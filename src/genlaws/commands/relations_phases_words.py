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
    boundaries = {row["criterion"]: _boundary(row) for row in fitted(frame).to_dict("records")}
    answer: dict[str, Any] = {
        "relation": relation.label,
        "element_count": relation.element_count,
        "majority_accuracy": relation.majority_accuracy,
        "target": target,
        "networks": total,
        "shares": {name: _plain(one) for name, one in shares.items()},
        "confused": int(frame["confusion"].sum()),
        "boundaries": boundaries,
        "optimiser": settings.optimisers[0],
        **{name: getattr(settings, name) for name in SAME},
        "decoder_rates": [float(frame["decoder_rate"].min()), float(frame["decoder_rate"].max())],
        "encoder_rates": [float(frame["encoder_rate"].min()), float(frame["encoder_rate"].max())],
        "grid": settings.grid,
        "seeds": settings.repeats,
    }
    return answer | {"advice": _advice(answer)}


def _plain(one: Estimate) -> dict[str, float]:
    return {"share": one.value, "low": one.low, "high": one.high}


def _boundary(row: Mapping[Any, Any]) -> dict[str, Any] | None:
    """Return slope and critical ratio of a boundary with their intervals; none if all networks are on one side."""
    slope = row.get("slope")
    if slope is None or math.isnan(slope):
        return None
    names = ("slope", "critical_ratio")
    found = {part: row[part] for name in names for part in (name, f"{name}_low", f"{name}_high")}
    return found | {"width_decades": row["width_decades"], "agrees_with_slope_1": bool(row["slope_may_be_1"])}


def _advice(answer: dict[str, Any]) -> str:
    """Return one sentence on which rates to take."""
    shares, boundary = answer["shares"], answer["boundaries"]["memorisation"]
    if answer["confused"] == answer["networks"]:
        return "No network fitted what it was shown: train longer, with higher rates or a wider decoder."
    if shares["generalisation"]["share"] + shares["grokking"]["share"] == 0.0:
        return "No network generalised at these rates: show more entries, or raise the encoder rate."
    if boundary is not None:
        return _advice_on(boundary)
    late = answer["boundaries"]["late"]
    if late is not None and late["slope"] > 0.0 and late["critical_ratio_low"] > 0.0:
        return (
            f"No network memorised; for early generalisation keep the decoder rate below "
            f"{late['critical_ratio_low']:.2g} times the encoder rate."
        )
    return "No network that fitted memorised: the ratio of the rates may be anything that was tried."


def _advice_on(boundary: Mapping[str, Any]) -> str:
    """Return the sentence where some networks memorised and others did not."""
    if not boundary["slope"] > 0.0:
        return "Memorising does not go with the ratio of the rates here; take rates from the table."
    if not (boundary["critical_ratio_low"] > 0.0 and math.isfinite(boundary["critical_ratio_high"])):
        return "Networks memorise at some rates, but where is not pinned down: try more networks or more rates."
    return (
        f"Keep the decoder rate below {boundary['critical_ratio_low']:.2g} times the encoder rate; from about "
        f"{boundary['critical_ratio']:.2g} times on, every other network memorises{_but(boundary)}."
    )


def _but(boundary: Mapping[str, Any]) -> str:
    """Say so where the ratio alone does not decide."""
    if boundary["agrees_with_slope_1"]:
        return ""
    return f"; yet the boundary's slope is {boundary['slope']:.2g}, so that the ratio alone does not decide"


def explain(answer: dict[str, Any]) -> str:
    """Return the answer for a person."""
    total, shares = answer["networks"], answer["shares"]
    lines = {
        name: f"{one['share']:.3f} [{one['low']:.3f}, {one['high']:.3f}]  ({round(one['share'] * total)} of {total})"
        for name, one in shares.items()
    }
    for name, found in answer["boundaries"].items():
        what = "memorising" if name == "memorisation" else "being late"
        lines[f"boundary of {what}"] = "not seen: all networks that fitted are on one side"
        if found is not None:
            lines[f"boundary of {what}"] = f"slope {_interval(found, 'slope')}, {_unit(found)}"
            lines[f"critical ratio of {what}"] = f"{_interval(found, 'critical_ratio')}, decoder over encoder rate"
    header = (
        f"{answer['relation']}, {answer['element_count']} elements: {total} networks, {answer['grid']} × "
        f"{answer['grid']} rates, {answer['steps']:,} steps"
    )
    return "\n".join([answer["advice"], "", header, aligned(lines), *_notes(answer)])


def _unit(found: dict[str, Any]) -> str:
    if not found["agrees_with_slope_1"]:
        return "does not agree with 1"
    wide = not found["slope_high"] - found["slope_low"] <= TELLING
    return "too wide to tell whether the ratio decides" if wide else "agrees with 1: the ratio decides"


def _interval(found: dict[str, Any], name: str) -> str:
    return f"{found[name]:.3g} [{found[f'{name}_low']:.3g}, {found[f'{name}_high']:.3g}]"


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
