"""The folder that ``genlaws residual-stream analyse`` writes: a page, the numbers, a table for each picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genlaws.residual_stream.analysis_results import Analysis


def write_analysis(
    folder: Path, title: str, analysis: Analysis, *, notes: Sequence[str] = (), pictures: bool = False
) -> list[Path]:
    """Write the page, the numbers, the tables and, if asked for, the pictures; return what was written."""
    from genlaws.report.residual_stream_page import residual_stream_page

    folder.mkdir(parents=True, exist_ok=True)
    page, numbers = folder / "report.html", folder / "analysis.json"
    page.write_text(residual_stream_page(analysis, title, notes=notes), encoding="utf-8")
    document = json.dumps(analysis.to_dict(), indent=2, allow_nan=False)
    numbers.write_text(document + "\n", encoding="utf-8")
    written = [page, numbers]
    for name, table in analysis.tables().items():
        table.to_csv(folder / f"{name}.csv", index=False, float_format="%.8g")
        written.append(folder / f"{name}.csv")
    return written + (_pictures(folder, title, analysis) if pictures else [])


def _pictures(folder: Path, title: str, analysis: Analysis) -> list[Path]:
    """Write every picture that what was measured suffices for."""
    from genlaws.figures.residual_stream import pictures_of
    from genlaws.figures.style import house_style
    from genlaws.figures.writing import save_picture

    written = []
    for one in pictures_of(analysis):
        with house_style():
            picture = one.draw(analysis)
        for kind in ("png", "svg"):
            path = folder / f"{one.name}.{kind}"
            save_picture(picture, path, kind, f"{title}: {one.name.replace('_', ' ')}", one.caption)
            written.append(path)
    return written
