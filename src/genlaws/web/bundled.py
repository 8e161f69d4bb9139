"""Small tables of runs that come with the explorer."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


@cache
def bundled_rows(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a bundled table as text, by column name; callers must not change them."""
    text = (files("genlaws.web") / "bundled_runs" / name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))
