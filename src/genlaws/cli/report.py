"""``genlaws report``: one page with the laws compared with new runs, and the results for your own data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws.cli import require_installed
from genlaws.cli.output import Json, ProgressBar, print_json
from genlaws.core.arguments import whole_number
from genlaws.core.errors import InputError

if TYPE_CHECKING:
    from genlaws.report.document import Report

DEFAULT_OUT = Path("out/report.html")
HTML_SUFFIXES = (".html", ".htm")

Out = Annotated[Path, Parameter(help="The page to write, or a folder for report.html.")]
Model = Annotated[
    str | None, Parameter(help="A language model of yours: a Hugging Face id on this machine, or a folder.")
]
Data = Annotated[
    tuple[str, ...],
    Parameter(
        help="Files of yours: embeddings or distances (.npy, .csv, .tsv, .parquet), labeled data (.npz), a relation "
        "(matrix or edges), texts for --model (.txt). A prefix such as relation:FILE names what a file holds.",
        consume_multiple=True,
        negative="",
        show_default=False,
    ),
]
Positions = Annotated[
    Path | None,
    Parameter(help="True positions of the stimuli of --data, one row each, or their matrix of distances, in a file."),
]
Texts = Annotated[Path | None, Parameter(help="Texts for --model, one per line.")]
Quick = Annotated[bool, Parameter(negative="", help="Much smaller runs, for a quick check.")]
Seed = Annotated[int, Parameter(help="Of all runs.")]


def report(
    *,
    out: Out = DEFAULT_OUT,
    model: Model = None,
    data: Data = (),
    positions: Positions = None,
    texts: Texts = None,
    quick: Quick = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write one page that needs no network: the claims of the papers, and the laws compared with new runs.

    Takes a minute or two. Your files and your model get their own sections.
    """
    require_installed("plotly", *(() if model is None else ("torch", "transformers")))
    from genlaws.cli.report_data import read_files
    from genlaws.report.document import whole_report

    whole_number("seed", seed)
    page = _page_path(out)
    own, lines = read_files(data, positions, texts, model)
    with ProgressBar(quiet=json) as running:
        made = whole_report(running=running, seed=seed, quick=quick, data=own, model=model, texts=lines)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(made.html, encoding="utf-8")
    if json:
        print_json(summary(made) | {"seed": seed, "quick": quick, "file": str(page)})
        return
    for section in made.sections:
        print(section.question)
        for sentence in section.findings:
            print(f"  {sentence}")
    print(f"Written to {page}")


def summary(made: Report) -> dict[str, Any]:
    """Return the report as plain names and numbers."""
    sections = [
        {
            "name": one.name,
            "title": one.title,
            "seconds": round(spent, 2),
            "numbers": [{"name": name, "value": value, "meaning": meaning} for name, value, meaning in one.numbers],
            "findings": one.findings,
            "panels": [panel.name for panel in one.panels],
        }
        for one, spent in zip(made.sections, made.seconds, strict=True)
    ]
    return {"ledger": made.ledger, "sections": sections}


def _page_path(out: Path) -> Path:
    """Return the file to write, or raise if it cannot be written."""
    page = out if out.suffix.lower() in HTML_SUFFIXES else out / "report.html"
    if page.is_dir() or (page.parent.exists() and not page.parent.is_dir()):
        raise InputError(f"out must be a page ending in .html or a folder; {str(out)!r} is in the way.")
    return page
