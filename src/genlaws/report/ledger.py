"""The ledger of claims at the top of the report, and the agreement of its runs with the theory from their z-scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from genlaws.claims import list_claims
from genlaws.claims.claim import CORRECTED, FAILS, TITLES, VERDICTS
from genlaws.claims.records import NOT_RUN, bundled_records, verdict_counts
from genlaws.core.errors import InputError
from genlaws.render.html import escaped, folded

NEAR_Z = 1.96  # standard errors that contain 95 % of correct comparisons
MIN_CHANCE = 0.01  # of the largest z; below, theory and runs differ
VERDICT_VERBS = {
    "holds": "hold",
    "holds within limits": "hold within limits",
    "corrected": "are corrected",
    "not reproduced": "are not reproduced",
    "not testable here": "cannot be tested here",
    NOT_RUN: "were not run",
}


@dataclass(frozen=True)
class Agreement:
    """Comparisons of runs with a theory.

    Attributes
    ----------
    count, near : int
        Comparisons, and those within 1.96 standard errors.
    largest : float
        Size of the largest z.
    chance : float
        Probability, if the theory is right, that the largest of this many independent z is at least as large.
    """

    count: int
    near: int
    largest: float
    chance: float

    @property
    def agrees(self) -> bool:
        """Whether chance explains the largest z."""
        return self.chance >= MIN_CHANCE

    def sentence(self, what: str) -> str:
        """Return the finding; `what` names the things compared, in the plural."""
        opening = f"{self.near} of {self.count} {what} lie within 1.96 standard errors of the theory; the largest z is "
        chance = f"{100 * self.chance:.2g} %"
        if self.agrees:
            return f"{opening}{self.largest:.1f}, which chance exceeds in {chance} of reports. They agree."
        return f"{opening}{self.largest:.1f}, which chance exceeds in only {chance} of reports. They differ."


def agreement(z: ArrayLike) -> Agreement:
    """Return how well independent comparisons agree; those that are not finite are left out."""
    given = np.asarray(z, dtype=np.float64).ravel()
    size = np.abs(given[np.isfinite(given)])
    if not size.size:
        raise InputError("z must hold at least one finite number.")
    largest = float(size.max())
    tail = 2.0 * float(special.ndtr(-largest))
    chance = -float(np.expm1(size.size * np.log1p(-min(tail, 1.0 - 1e-16))))
    return Agreement(size.size, int((size <= NEAR_Z).sum()), largest, chance)


def ledger_summary() -> str:
    """Return the HTML of the summary."""
    counts = verdict_counts()
    shown = [verdict for verdict in (*VERDICTS, NOT_RUN) if any(verdict in count for count in counts.values())]
    total = {verdict: sum(count.get(verdict, 0) for count in counts.values()) for verdict in shown}
    dates = sorted({one.date for one in bundled_records().values()})
    when = f", last on {dates[-1]}" if dates else ""
    listed = ", ".join(f"{total[one]} {VERDICT_VERBS.get(one, one)}" for one in shown)
    opening = (
        f"{sum(total.values())} theorems, equations, tables, figures and findings of the four papers were each given a "
        f"check that computes its verdict{when}: {listed}."
    )
    return "".join(
        [
            '<section id="ledger" aria-labelledby="ledger-title">',
            '<h2 id="ledger-title">What the papers claim, and what holds</h2>',
            f"<p>{escaped(opening)} <code>genlaws claims run ID</code> repeats any of them.</p>",
            _bars(counts, shown),
            _table(counts, shown, total),
            folded("Claims that are corrected or not reproduced", _changed()),
            "</section>",
        ]
    )


def _bars(counts: Mapping[str, Mapping[str, int]], shown: Sequence[str]) -> str:
    """Return one bar for each paper, its parts in the order of the verdicts."""
    longest = max(sum(count.values()) for count in counts.values())
    rows = []
    for paper, count in counts.items():
        parts, start = [], 0.0
        for verdict in shown:
            wide = 100.0 * count.get(verdict, 0) / longest
            if wide:
                title = f"<title>{escaped(verdict)}: {count[verdict]}</title>"
                place = f'x="{start:.3f}%" y="0" width="{wide:.3f}%" height="100%"'
                parts.append(f'<rect class="{_kind(verdict)}" {place}>{title}</rect>')
            start += wide
        label = f"{TITLES[paper]}: " + ", ".join(f"{count[one]} {one}" for one in shown if one in count)
        rows.append(
            f'<div class="bar-row"><span>{escaped(TITLES[paper])}</span>'
            f'<svg class="bar" role="img" aria-label="{escaped(label)}">{"".join(parts)}</svg></div>'
        )
    key = "".join(
        f'<li><svg class="dot" aria-hidden="true"><rect class="{_kind(one)}" width="100%" height="100%"/></svg>'
        f"{escaped(one)}</li>"
        for one in shown
    )
    return f'<div class="bars">{"".join(rows)}<ul class="key" aria-label="What the colors mean">{key}</ul></div>'


def _kind(verdict: str) -> str:
    """Return the class of the style that colors a verdict."""
    return f"verdict-{verdict.replace(' ', '-')}"


def _table(counts: Mapping[str, Mapping[str, int]], shown: Sequence[str], total: Mapping[str, int]) -> str:
    """Return a row for each verdict and a column for each paper."""
    columns = [*((TITLES[paper], count) for paper, count in counts.items()), ("all", total)]
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in ("verdict", *(name for name, _ in columns)))
    lines = [(one, [count.get(one, 0) for _, count in columns]) for one in shown]
    lines.append(("all", [sum(count.values()) for _, count in columns]))
    rows = "".join(
        f'<tr><th scope="row">{escaped(name)}</th>{"".join(f"<td>{one}</td>" for one in line)}</tr>'
        for name, line in lines
    )
    return f'<table class="counts"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _changed() -> str:
    """Return the claims that are corrected or not reproduced, with the claim of the paper and what was found."""
    rows = [
        f'<tr><th scope="row"><code>{escaped(one.id)}</code><br>'
        f'<span class="soft">{escaped(f"{one.verdict}, {one.where}")}</span></th>'
        f"<td>{escaped(one.statement)}</td><td>{escaped(one.sentence)}</td></tr>"
        for one in list_claims().claims
        if one.verdict in {CORRECTED, FAILS}
    ]
    head = "".join(f'<th scope="col">{one}</th>' for one in ("id", "claim of the paper", "what was found"))
    return f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
