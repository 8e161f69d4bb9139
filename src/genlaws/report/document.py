"""The whole report as one HTML file: the ledger, the four laws compared with new runs, and the user's data."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, ClassVar

from genlaws import __version__
from genlaws.claims.records import verdict_counts
from genlaws.core.arguments import whole_number
from genlaws.core.errors import InputError
from genlaws.core.frames import DataFrame, frame_of
from genlaws.core.imports import require_installed
from genlaws.core.panel import CSV_COLUMNS, Panel
from genlaws.core.parameters import Parameter
from genlaws.core.plain import UNWRITTEN
from genlaws.core.result import Result, Summary, called_separately, question
from genlaws.core.running import Running, checked_running
from genlaws.relations import Relation
from genlaws.render.html import escaped, number_table, static_text
from genlaws.render.scripts import PLOTLY_STYLE_HASH, content_hash, panel_script, panel_style, plotly_script
from genlaws.report.ledger import ledger_summary
from genlaws.report.section import Section, section_html
from genlaws.report.sections.relations import relations_section
from genlaws.report.sections.residual_stream import residual_stream_section
from genlaws.report.sections.rules_facts import rules_facts_section
from genlaws.report.sections.semanticity import semanticity_section
from genlaws.report.user_data.data import UserData
from genlaws.report.user_data.embeddings import embeddings_section
from genlaws.report.user_data.labeled import labeled_section
from genlaws.report.user_data.model import user_model_section
from genlaws.report.user_data.relation import relation_section
from genlaws.rules_facts.labels.data import LabeledData

TITLE = "Generalizing and remembering: the laws compared with new runs"
INTRODUCTION = (
    "Four theories predict when a learner generalizes, when it remembers, and what one costs the other.",
    "This report compares each law with runs made for it, with intervals computed from these runs.",
    "Each section ends with what the law means for a model of your own and the call that measures it.",
)
LISTED_LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "transformers", "plotly")
JSON_DIGITS = 6  # significant digits in the data of the page
NUMBER_COLUMNS = ("section", "name", "value", "meaning")
SAME_RUNS = "the same seed gives the same runs"

Make = Callable[[Running], Section]
LAWS = ("semanticity", "rules-facts", "relations", "residual-stream")
Sections = Annotated[str | Sequence[str], Parameter("Laws to compare with new runs.", choices=LAWS, listed=True)]
Model = Annotated[str | None, Parameter("A language model of yours: a Hugging Face id on this machine, or a folder.")]
Quick = Annotated[bool, Parameter("Much smaller runs, for a quick check.")]
Seed = Annotated[int, Parameter("Seed of all runs.", check=whole_number)]


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """A finished report.

    Attributes
    ----------
    sections : tuple of Section
    ledger : dict
        Claims by paper and verdict.
    seconds : tuple of float
        That each section took.
    """

    page_by: ClassVar[str] = "genlaws.report.document:report_page"
    default_out: ClassVar[str] = "out/report.html"
    sections: tuple[Section, ...]
    ledger: dict[str, dict[str, int]]
    seconds: tuple[float, ...] = field(default=(), metadata=UNWRITTEN)

    def to_frame(self) -> DataFrame:
        """Return one row for each number."""
        return frame_of([(one.name, *row) for one in self.sections for row in one.numbers], list(NUMBER_COLUMNS))

    def tables(self) -> dict[str, DataFrame]:
        """Return the numbers, and the points of each picture."""
        panels = [panel for one in self.sections for panel in one.panels]
        return super().tables() | {panel.name: _points(panel) for panel in panels}

    def summary(self) -> Summary:
        """Return what each section found."""
        lines = [line for one in self.sections for line in (one.question, *(f"  {found}" for found in one.findings))]
        return Summary(sentences=lines)


def _points(panel: Panel) -> DataFrame:
    """Return the points of a picture."""
    rows = []
    for curve in panel.curves:
        absent = [None] * len(curve.x)
        points = zip(curve.x, curve.y, curve.low or absent, curve.high or absent, strict=True)
        rows += [(curve.name, curve.kind, *point) for point in points]
    return frame_of(rows, list(CSV_COLUMNS))


@question
def whole_report(
    *,
    data: Sequence[UserData] = (),
    model: Model = None,
    texts: tuple[str, ...] | None = None,
    sections: Sections = LAWS,
    quick: Quick = False,
    seed: Seed = 0,
    running: Running | None = None,
) -> Report:
    """Write one page that needs no network: the claims of the papers, and the laws compared with new runs.

    Needs the extra ``page``.

    Parameters
    ----------
    data : sequence of UserData
        Files of the user, already recognized.
    model : str, optional
        A model of the user, by name or folder.
    texts : tuple of str, optional
        For the model.
    sections : str or sequence of str
        Of the laws: ``semanticity``, ``rules-facts``, ``relations``, ``residual-stream``, all or none.
    quick : bool
        Much smaller runs, for a quick check.
    seed : int
        Of all runs.
    running : Running, optional
        Shows the steps of each section and can stop them.
    """
    require_installed("plotly", *(() if model is None else ("torch", "transformers")))
    if not (data or model or sections):
        raise InputError("sections must not be none without data or a model of yours: the report would be empty.")
    shown = checked_running(running)
    made, seconds = [], []
    for make in _makers(data, model, texts, sections, quick=quick, seed=seed):
        started = time.perf_counter()
        made.append(called_separately(make, shown))
        seconds.append(time.perf_counter() - started)
    return Report(tuple(made), verdict_counts(), tuple(seconds))


def _makers(
    data: Sequence[UserData],
    model: str | None,
    texts: tuple[str, ...] | None,
    sections: Sequence[str],
    *,
    quick: bool,
    seed: int,
) -> Iterable[Make]:
    """Yield the function of each section: the user's data first."""
    for place, one in enumerate(data):
        yield lambda running, one=one, place=place: user_data_section(one, running, seed, place)  # type: ignore[misc]
    if model is not None:
        yield lambda running: user_model_section(model, texts, running, seed)
    laws = {
        "semanticity": semanticity_section,
        "rules-facts": rules_facts_section,
        "relations": relations_section,
        "residual-stream": residual_stream_section,
    }
    for name in LAWS:
        if name in sections:
            yield lambda running, make=laws[name]: make(running, seed, quick=quick)  # type: ignore[misc]


def user_data_section(data: UserData, running: Running, seed: int, place: int = 0) -> Section:
    """Return the section on a file of the user.

    `place`: among the files of the report, from 0; makes the names in the page differ.
    """
    name = f"own-{place + 1}"
    running.start(1, data.name)
    if isinstance(data.content, LabeledData):
        section = labeled_section(data, data.content, name, seed)
    elif isinstance(data.content, Relation):
        section = relation_section(data, data.content, name, seed)
    else:
        section = embeddings_section(data, data.content, name, seed)
    running.advance()
    return section


def report_page(found: Report) -> str:
    """Return the page of a report; its policy allows exactly the scripts and styles it contains."""
    sections = found.sections
    scripts = (plotly_script(), panel_script(), static_text("report.js", "genlaws.report"))
    styles = (f"\n{static_text('document.css')}{static_text('report.css', 'genlaws.report')}", panel_style())
    body = [
        f"<h1>{escaped(TITLE)}</h1>",
        f"<p>{' '.join(escaped(one) for one in INTRODUCTION)}</p>",
        f'<p class="soft">{_format_origin(found)}</p>',
        "<noscript><p><strong>Pictures are drawn by a script, which is switched off here; their numbers are below "
        "each.</strong></p></noscript>",
        _contents(sections),
        ledger_summary(),
        *(section_html(one) for one in sections),
        _format_method(found),
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


def _format_origin(found: Report) -> str:
    today = datetime.now(UTC).date().isoformat()
    took = f", {sum(found.seconds):.0f} seconds" if found.seconds else ""
    small = " These are quick runs, much smaller than usual: intervals are wide." if _inputs(found)["quick"] else ""
    return f"genlaws {escaped(__version__)}, {today}{took}.{small}"


def _inputs(found: Report) -> dict[str, Any]:
    return {"seed": 0, "quick": False} | ({} if found.call is None else found.call.arguments)


def _format_method(found: Report) -> str:
    """Return what is needed to make the same report again."""
    inputs = _inputs(found)
    pairs = zip(found.sections, found.seconds, strict=True) if found.seconds else ()
    spent = [(one.title, f"{time:.1f} s", "time its runs took") for one, time in pairs]
    rows = [
        ("command", f"genlaws report --seed {inputs['seed']}{' --quick' if inputs['quick'] else ''}", SAME_RUNS),
        ("Python", platform.python_version(), ""),
        ("genlaws", __version__, ""),
        *((name, _version(name), "") for name in LISTED_LIBRARIES),
        *spent,
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
