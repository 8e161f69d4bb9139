"""How ``genlaws semanticity probe`` says what it will do and what it found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from genlaws.commands.output import aligned

if TYPE_CHECKING:
    from genlaws.semanticity.probes.plan import Plan
    from genlaws.semanticity.probes.probe import ProbeResult
    from genlaws.semanticity.probes.rates import Rates
    from genlaws.semanticity.probes.workload import Workload

KEPT_BY_PATH = ("transformers:", "transformers, with pictures:")  # how such names began before they held a fingerprint
MINUTE, HOUR = 60.0, 3600.0
ASK_AGAIN = "The same command with the same --out asks these again, and only these."
TESTS = {"similarity": "p_S", "identification": "p_I"}


def load_text(load: Workload, price: tuple[float, float] | None) -> str:
    """Return the sentence about how much will be asked."""
    parts = [f"{load.different:,} prompts"]
    if load.found:
        parts.append(f"{load.found:,} answered already")
    about = "" if load.counted else "about "
    parts.append(f"{about}{load.tokens_read:,.0f} tokens to read, at most {load.tokens_written:,.0f} to write")
    if load.pictures:
        parts.append(f"{load.pictures:,} pictures, which are not in the tokens")
    if math.isfinite(load.seconds):
        parts.append(f"about {duration(load.seconds)}")
    if price is not None:
        parts.append(f"about {load.cost(*price):,.2f} at the given price")
    return "; ".join(parts) + "."


def kept_text(counts: Mapping[str, int], name: str, *, at_server: bool) -> list[str]:
    """Return the sentences about answers in a file that are not used, or that may be of another model."""
    mine = counts.get(name, 0)
    by_path = sum(count for kept, count in counts.items() if kept.startswith(KEPT_BY_PATH))
    others = sum(counts.values()) - mine - by_path
    said = []
    if by_path:
        said.append(
            f"{by_path:,} answers were kept by the path of their model, as older versions did. They are not used, "
            "since the weights may have changed."
        )
    if others and not mine:
        said.append(f"{others:,} answers are of another model, other weights or other settings. They are not used.")
    if mine and at_server:
        said.append(
            f"{mine:,} answers are used again by the address of the server and the name of the model. Whether the "
            "model there is still the same cannot be seen from here; if it changed, use another --out or --label."
        )
    return said


def duration(seconds: float) -> str:
    """Return seconds in words, with two figures."""
    if seconds < MINUTE:
        return f"{max(seconds, 1):.0f} s"
    if seconds < HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.1f} h"


def plan_text(
    shown: Sequence[Mapping[str, Any]],
    plans: Sequence[Plan],
    loads: Sequence[Workload],
    price: tuple[float, float] | None,
) -> str:
    """Return a few prompts as they would be asked, and how much there is to ask."""
    lines: list[str] = []
    for one in shown:
        lines += [f"--- {one['template']}, {one['kind']}{' (as a chat)' if one['chat'] else ''}", one["prompt"]]
        lines += [f"    answers: {', '.join(one['options'])}; right: {one['right']}", ""]
    width = max(len(plan.template.name) for plan in plans)
    for plan, load in zip(plans, loads, strict=True):
        lines.append(f"{plan.template.name:<{width}}  {load_text(load, price)}")
    return "\n".join([*lines, "Nothing was asked."])


def result_text(results: Sequence[ProbeResult], layers: Sequence[Any]) -> str:
    """Return the numbers of a probe: first what was asked for, then how sure it is."""
    from genlaws.semanticity.probes.probe import compare_templates

    parts = [_one(one, len(results) > 1) for one in results]
    if len(results) > 1:
        above = compare_templates(results)
        best = next(iter(above))
        parts.append(
            "Above chance on average, all trials together:\n"
            + aligned({name: str(value) for name, value in above.items()})
            + f"\n{best} does best; that it was chosen among {len(results)} is not in its interval."
        )
    parts += [str(one) for one in layers]
    return "\n\n".join(parts)


def _one(result: ProbeResult, several: bool) -> str:
    lines = [f"Template {result.plan.template.name}"] if several else []
    if result.rates.failure:
        lines += [f"Attention: {result.rates.failure} {ASK_AGAIN}", ""]
    lines += [_rates_table(result), ""]
    fit, fall = result.resolution, result.collapse
    rows = {"resolution": f"{fit.resolution} {fit.unit}".rstrip() if fit.determined else "not determined"}
    if fit.determined and fit.fit is not None:
        rows |= {"shape": fit.fit.shape, "background": str(fit.background), "lapse": str(fit.lapse)}
    if fall.laws:
        rows |= {"1/n constant": str(fall.constant), "by the law of n items": str(fall.limit)}
    rows |= {"unread replies": str(result.rates.unparsed)}
    lines.append(aligned(rows))
    lines += [sentence for sentence in (fit.message, fall.message) if sentence]
    lines.append(str(result.asking))
    return "\n".join(lines)


def _rates_table(result: ProbeResult) -> str:
    by_count: dict[int, dict[str, Rates]] = {}
    for one in result.rates.rates:
        if one.kind in TESTS:
            by_count.setdefault(one.item_count, {})[one.kind] = one
    width = 28
    lines = [f"{'items':>5}  {'generalisation p_S':<{width}}{'identification p_I':<{width}}chance"]
    for count, rates in sorted(by_count.items()):
        cells = [_cell(rates.get(kind)) for kind in TESTS]
        lines.append(f"{count:>5}  {cells[0]:<{width}}{cells[1]:<{width}}{1 / count:.3f}")
    return "\n".join(lines)


def _cell(rates: Rates | None) -> str:
    return "" if rates is None else str(rates.best)
