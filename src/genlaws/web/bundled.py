"""Small tables of runs made beforehand, kept with the page."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


@cache
def kept_rows(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a kept table as text under the names of the columns; the file must not be changed."""
    text = (files("genlaws.web") / "bundled_runs" / name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))
