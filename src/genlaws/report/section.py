"""A section of the report as data and as HTML: a question, a law, the findings of this run, and what they imply.

The numbers of every picture are also in a table, which needs no script.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec

from genlaws.render import Curve, Panel
from genlaws.render.html import data_table, escaped, folded, number_table

WITHOUT_TORCH = "Not compared with networks: that needs torch, pip install 'genlaws[networks]'."
MAX_LINE_POINTS = 25  # of a line in the table of numbers; the file has all
MAX_NUMBERS_UNFOLDED = 9  # of a section
PANEL_FILES = ("csv", "png", "svg")
POINT_COLUMNS = ("curve", "x", "y", "95 % from", "to")
LINE_KINDS = {"theory", "paper", "chance"}


def has_torch() -> bool:
    """Return whether torch is installed; it is not loaded."""
    return find_spec("torch") is not None


@dataclass(frozen=True)
class Section:
    """One part of the report.

    Attributes
    ----------
    name : str
        Lower-case letters, digits and hyphens; the anchor of the section.
    title : str
        A few words, for the table of contents.
    question : str
        What it answers; its heading.
    law : str
        HTML with MathML, a constant text without user input.
    panels : tuple of Panel
    numbers : tuple of (name, value, meaning)
        Plain text.
    findings : tuple of str
        Sentences computed from this run; plain text.
    implications : tuple of str
        What it means for the user's model; plain text.
    python, command : str
        How to get the same in Python and from the command line; left out if empty.
    """

    name: str
    title: str
    question: str
    law: str
    panels: tuple[Panel, ...] = field(default=())
    numbers: tuple[tuple[str, str, str], ...] = field(default=())
    findings: tuple[str, ...] = field(default=())
    implications: tuple[str, ...] = field(default=())
    python: str = ""
    command: str = ""


def section_html(section: Section) -> str:
    """Return a section: the question, the law, what was found, the pictures, and what it means for the user."""
    name = escaped(section.name)
    parts = [
        f'<section id="{name}" class="part" aria-labelledby="{name}-title">',
        f'<p class="kicker">{escaped(section.title)}</p>',
        f'<h2 id="{name}-title">{escaped(section.question)}</h2>',
        f'<div class="law">{section.law}</div>',
        _listed("What this run found", section.findings),
        f'<div class="panels">{"".join(panel_html(one) for one in section.panels)}</div>' if section.panels else "",
        _all_numbers(section),
        _listed("What it means for your model", section.implications),
        _calls(section),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _listed(heading: str, sentences: Iterable[str]) -> str:
    """Return sentences as a list under a heading, or nothing."""
    items = "".join(f"<li>{escaped(one)}</li>" for one in sentences)
    return f'<h3>{escaped(heading)}</h3><ul class="sentences">{items}</ul>' if items else ""


def _all_numbers(section: Section) -> str:
    """Return the table of numbers; the rest of a long one is folded."""
    first, rest = section.numbers[:MAX_NUMBERS_UNFOLDED], section.numbers[MAX_NUMBERS_UNFOLDED:]
    if not first:
        return ""
    more = folded(f"{len(rest)} more", number_table(rest)) if rest else ""
    return f"<h3>Numbers</h3>{number_table(first)}{more}"


def _calls(section: Section) -> str:
    calls = (("In Python", section.python), ("On the command line", section.command))
    shown = [f'<p class="soft table-caption">{name}</p><pre>{escaped(text)}</pre>' for name, text in calls if text]
    return f"<h3>The same yourself</h3>{''.join(shown)}" if shown else ""


def panel_html(panel: Panel) -> str:
    """Return the place of a picture with its title, caption, files and numbers; a script draws into it."""
    name, caption = escaped(panel.name), escaped(panel.caption or panel.title)
    files = "".join(
        f'<button type="button" data-save="{kind}" data-of="{name}" '
        f'aria-label="Save {escaped(panel.title)} as {kind.upper()}">{kind.upper()}</button>'
        for kind in PANEL_FILES
    )
    return (
        f'<div class="panel" role="figure" aria-labelledby="{name}-title">'
        f'<h3 id="{name}-title">{escaped(panel.title)}</h3>'
        f'<div class="panel-plot" data-panel="{name}" role="img" aria-label="{caption}"></div>'
        f'<p class="caption">{caption}</p><p class="files">{files}</p>'
        f'<div class="panel-numbers">{folded("The numbers", _numbers(panel))}</div></div>'
    )


def _numbers(panel: Panel) -> str:
    """Return the points of a picture as a table; long lines are thinned."""
    rows = [row for curve in panel.curves for row in _rows(curve)]
    thinned = any(curve.kind in LINE_KINDS and len(curve.x) > MAX_LINE_POINTS for curve in panel.curves)
    caption = f"x: {panel.x_label}; y: {panel.y_label}." + (
        f" Lines show {MAX_LINE_POINTS} of their points; the CSV file has all." if thinned else ""
    )
    return data_table(caption, POINT_COLUMNS, rows)


def _rows(curve: Curve) -> list[tuple[str, ...]]:
    """Return a row for each point of a curve, or for some of a long line."""
    count = len(curve.x)
    places = list(range(count))
    if curve.kind in LINE_KINDS and count > MAX_LINE_POINTS:
        step = (count - 1) / (MAX_LINE_POINTS - 1)
        places = [round(step * place) for place in range(MAX_LINE_POINTS)]
    absent = (math.nan,) * count
    low, high = curve.low or absent, curve.high or absent
    return [(curve.name, *(_cell(one[place]) for one in (curve.x, curve.y, low, high))) for place in places]


def _cell(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else ""
