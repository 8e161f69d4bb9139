"""How ``genlaws residual-stream analyse`` says what it found: the verdicts first, then the numbers."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from genlaws.commands.output import aligned

if TYPE_CHECKING:
    from genlaws.numerics.intervals import Estimate
    from genlaws.residual_stream.analysis_results import Analysis, Claim
    from genlaws.residual_stream.curves import Curve

WIDTH = 110


def analysis_text(analysis: Analysis) -> str:
    """Return the verdict on each claim, what it rests on, the main numbers, and what to know about them."""
    table = {"claim": "verdict"} | {claim.name: claim.verdict for claim in analysis.claims}
    parts = [_head(analysis), aligned(table), "\n\n".join(map(_claim, analysis.claims)), aligned(_numbers(analysis))]
    if analysis.messages:
        parts.append("\n".join(["To know:", *(_wrapped("- ", one) for one in analysis.messages)]))
    return "\n\n".join(parts)


def _head(analysis: Analysis) -> str:
    tokens = f", {analysis.row_count} tokens" if analysis.row_count > analysis.text_count else ""
    texts = "1 text" if analysis.text_count == 1 else f"{analysis.text_count} texts"
    return (
        f"{analysis.model}: {texts}{tokens}, {len(analysis.sites)} sites; {analysis.identity} "
        f"(relative error {analysis.identity_error:.1g})"
    )


def _claim(claim: Claim) -> str:
    rows = {"claim": claim.says, "observed": claim.observed, "surrogate": claim.surrogate, "why": claim.why}
    lines = [f"{claim.name}: {claim.verdict}"]
    lines += [_wrapped(f"  {name:<10}", text) for name, text in rows.items() if text]
    return "\n".join(lines)


def _wrapped(before: str, text: str) -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=before, subsequent_indent=" " * len(before), break_on_hyphens=False
    )


def _numbers(analysis: Analysis) -> dict[str, str]:
    """Return the main numbers of what was measured."""
    rows: dict[str, str] = {}
    if analysis.paths is not None:
        paths = analysis.paths
        rows |= {
            "length of the state": _ends(paths.norm),
            "length of a step": _ends(paths.speed),
            "cosine of successive states": _ends(paths.cosine),
            "straightness of the path": str(paths.straightness),
        }
    if analysis.writes is not None:
        for place, one in analysis.writes.by_place.items():
            rows[f"write of {place}, relative"] = str(one.relative_size)
    if analysis.correlations is not None:
        rows["correlation r"] = _ends(analysis.correlations.mean)
    for name, found in analysis.information.items():
        known = [one for one in found.means if not math.isnan(one.value)]
        if known:
            rows[f"information ({name}), nats"] = _first_last(known[0], known[-1])
    return rows | _shape(analysis) | _change(analysis)


def _shape(analysis: Analysis) -> dict[str, str]:
    """Return in how many dimensions the texts differ, and how the mean path turns."""
    rows: dict[str, str] = {}
    if analysis.participation is not None:
        rows["participation ratio"] = _ends(analysis.participation.curve)
    for name, compressed in (
        ("autoencoder, explained", analysis.compression),
        ("the same, normalised", analysis.compression_normalised),
    ):
        if compressed is not None:
            rows[name] = f"{compressed.explained_pooled}; components {compressed.components_explained_pooled}"
    if analysis.rotations is not None:
        turns, winding = analysis.rotations.as_printed, -analysis.rotations.centred_winding
        rows["turns of a unit"] = f"{turns.mean():.2f} ± {turns.std():.2f} over {turns.size} units"
        rows["winding about its mean"] = f"{winding.mean():.2f} ± {winding.std():.2f}"
    if analysis.modes is not None:
        held = analysis.modes.held_out
        rows["linear map, texts left out"] = f"share of the step foretold {held.skill:.3f}, R² {held.r_squared:.4f}"
    return rows


def _change(analysis: Analysis) -> dict[str, str]:
    """Return what becomes of disturbances."""
    rows: dict[str, str] = {}
    found = analysis.perturbation
    if found is not None:
        for number, site in enumerate(found.sites):
            rows[f"disturbed at {site}"] = f"relative distance × {_factor(found.relative[number])} until the end"
    for spectrum in analysis.lyapunov:
        rows[f"exponents {spectrum.site} to {spectrum.to}"] = (
            f"leading {spectrum.exponents[0]}, typical {spectrum.typical[0]} per step"
        )
    return rows


def _factor(curve: Curve) -> str:
    return f"{curve.value[-1] / curve.value[0]:.3g}" if curve.value[0] > 0 else "nothing"


def _ends(curve: Curve) -> str:
    """Return the first and the last value of a curve that has one."""
    known = [point for point, value in enumerate(curve.value) if not math.isnan(value)]
    return _first_last(curve[known[0]], curve[known[-1]]) if known else "no value"


def _first_last(first: Estimate, last: Estimate) -> str:
    counted = f" (n = {last.count})" if last.count else ""
    return f"{str(first).removesuffix(counted)} at first, {last} at last"
