"""A section of the report: what was asked, the law, what this very run found, and what it means for the reader."""

from __future__ import annotations

from dataclasses import dataclass, field

from genlaws.panels import Panel


@dataclass(frozen=True)
class Section:
    """One part of the report.

    Attributes
    ----------
    name : str
        Small letters, digits and hyphens; the place of the section in the page's address.
    title : str
        Few words, for the list of contents.
    question : str
        What it answers; its heading.
    law : str
        HTML with MathML, a constant text of ours; nothing a user gave may stand in it.
    panels : tuple of Panel
    numbers : tuple of (name, value, meaning)
        Plain text.
    findings : tuple of str
        Sentences computed from this run; plain text.
    yours : tuple of str
        What it means for the reader's own model; plain text.
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
    yours: tuple[str, ...] = field(default=())
    python: str = ""
    command: str = ""
