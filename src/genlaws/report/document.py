"""The whole report as one HTML file: the ledger, the four laws compared with new runs, and the user's data."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from genlaws import __version__
from genlaws.claims.records import verdict_counts
from genlaws.core.running import Running, checked_running
from genlaws.render.html import escaped, number_table, static_text
from genlaws.render.scripts import PLOTLY_STYLE_HASH, content_hash, panel_script, panel_style, plotly_script
from genlaws.report.ledger import ledger_summary
from genlaws.report.section import Section, section_html
from genlaws.report.sections.relations import relations_section
from genlaws.report.sections.residual_stream import residual_stream_section
from genlaws.report.sections.rules_facts import rules_facts_section
from genlaws.report.sections.semanticity import semanticity_section
from genlaws.report.user_data.model import user_model_section
from genlaws.report.user_data.section import UserData, user_data_section

TITLE = "Generalizing and remembering: the laws compared with new runs"
INTRODUCTION = (
    "Four theories predict when a learner generalizes, when it remembers, and what one costs the other.",
    "This report compares each law with runs made for it, with intervals computed from these runs.",
    "Each section ends with what the law means for a model of your own and the call that measures it.",
)
LISTED_LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "transformers", "plotly")
JSON_DIGITS = 6  # significant digits in the data of the page

Make = Callable[[Running], Section]


@dataclass(frozen=True)
class Report:
    """A finished report.

    Attributes
    ----------
    html : str
        One file that needs no network.
    sections : tuple of Section
    seconds : tuple of float
        That each section took.
    ledger : dict
        Claims by paper and verdict.
    """

    html: str
    sections: tuple[Section, ...]
    seconds: tuple[float, ...]
    ledger: dict[str, dict[str, int]]


def whole_report(
    *,
    running: Running | None = None,
    seed: int = 0,
    quick: bool = False,
    data: Sequence[UserData] = (),
    model: str | None = None,
    texts: tuple[str, ...] | None = None,
) -> Report:
    """Run everything and return the report; needs the extra ``page``.

    Parameters
    ----------
    running : Running, optional
        Shows the steps of each section and can stop them.
    seed : int
        Of all runs.
    quick : bool
        Much smaller runs, for a quick check.
    data : sequence of UserData
        Files of the user, already recognized.
    model : str, optional
        A model of the user, by name or folder.
    texts : tuple of str, optional
        For the model.
    """
    plotly_script()  # raises at once if plotly is missing
    shown = checked_running(running)
    sections, seconds = [], []
    for make in _makers(seed, quick, data, model, texts):
        started = time.perf_counter()
        sections.append(make(shown))
        seconds.append(time.perf_counter() - started)
    return Report(_page(sections, seconds, seed, quick), tuple(sections), tuple(seconds), verdict_counts())


def _makers(
    seed: int, quick: bool, data: Sequence[UserData], model: str | None, texts: tuple[str, ...] | None
) -> Iterable[Make]:
    """Yield the function of each section: the user's data first."""
    for place, one in enumerate(data):
        yield lambda running, one=one, place=place: user_data_section(one, running, seed, place)  # type: ignore[misc]
    if model is not None:
        yield lambda running: user_model_section(model, texts, running, seed)
    yield lambda running: semanticity_section(running, seed, quick=quick)
    yield lambda running: rules_facts_section(running, seed, quick=quick)
    yield lambda running: relations_section(running, seed, quick=quick)
    yield lambda running: residual_stream_section(running, seed, quick=quick)


def _page(sections: Sequence[Section], seconds: Sequence[float], seed: int, quick: bool) -> str:
    """Return the page; its policy allows exactly the scripts and styles it contains."""
    scripts = (plotly_script(), panel_script(), static_text("report.js", "genlaws.report"))
    styles = (f"\n{static_text('document.css')}{static_text('report.css', 'genlaws.report')}", panel_style())
    body = [
        f"<h1>{escaped(TITLE)}</h1>",
        f"<p>{' '.join(escaped(one) for one in INTRODUCTION)}</p>",
        f'<p class="soft">{_format_origin(sum(seconds), quick)}</p>',
        "<noscript><p><strong>Pictures are drawn by a script, which is switched off here; their numbers are below "
        "each.</strong></p></noscript>",
        _contents(sections),
        ledger_summary(),
        *(section_html(one) for one in sections),
        _format_method(sections, seconds, seed, quick),
    ]
    head = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escaped(TITLE)}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts, styles)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<style>{styles[0]}</style>",
        # The name and class keep plotly's script from adding a style of its own.
        f'<style id="plotly.js-style-global" class="no-inline-styles">{styles[1]}</style></head><body><main>',
    ]
    tail = [
        "</main>",
        f'<script type="application/json" id="panels">{_data(sections)}</script>',
        *(f"<script>{one}</script>" for one in scripts),
        "</body></html>",
    ]
    return "\n".join([*head, *body, *tail]) + "\n"


def _policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """Return what the page may do: use its own scripts and styles, and fetch nothing."""
    allowed = " ".join(f"'{content_hash(one)}'" for one in scripts)
    looks = " ".join(f"'{one}'" for one in (*(content_hash(style) for style in styles), PLOTLY_STYLE_HASH))
    rest = "img-src data: blob:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; style-src {looks}; {rest}"


def _data(sections: Iterable[Section]) -> str:
    """Return the panels as JSON that cannot end the script element it is in."""
    panels = [_rounded(panel.to_json()) for one in sections for panel in one.panels]
    text = json.dumps(panels, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _rounded(value: object) -> object:
    """Return JSON values with numbers rounded to their first digits."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.{JSON_DIGITS}g}") if isinstance(value, float) else value


def _contents(sections: Iterable[Section]) -> str:
    links = [("ledger", "What holds"), *((one.name, one.title) for one in sections), ("made", "How it was made")]
    items = "".join(f'<li><a href="#{escaped(name)}">{escaped(title)}</a></li>' for name, title in links)
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


def _format_origin(seconds: float, quick: bool) -> str:
    today = datetime.now(UTC).date().isoformat()
    small = " These are quick runs, much smaller than usual: intervals are wide." if quick else ""
    return f"genlaws {escaped(__version__)}, {today}, {seconds:.0f} seconds.{small}"


def _format_method(sections: Sequence[Section], seconds: Sequence[float], seed: int, quick: bool) -> str:
    """Return what is needed to make the same report again."""
    rows = [
        ("command", f"genlaws report --seed {seed}{' --quick' if quick else ''}", "the same seed gives the same runs"),
        ("Python", platform.python_version(), ""),
        ("genlaws", __version__, ""),
        *((name, _version(name), "") for name in LISTED_LIBRARIES),
        *((one.title, f"{spent:.1f} s", "time its runs took") for one, spent in zip(sections, seconds, strict=True)),
    ]
    return (
        '<section id="made" class="part" aria-labelledby="made-title"><h2 id="made-title">How it was made</h2>'
        "<p>Theory is computed, never fitted to the runs. Runs are drawn and trained with the seed below. Intervals "
        "are 95 %; z is the distance of a run from the theory in standard errors. The findings are sentences computed "
        f"from the numbers: another seed gives other sentences.</p>{number_table(rows)}</section>"
    )


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
