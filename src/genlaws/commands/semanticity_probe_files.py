"""The folder that ``genlaws semanticity probe`` writes: a page, the numbers, and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from genlaws.semanticity.probes.probe import ProbeResult


def write_probe(
    folder: Path, title: str, results: Sequence[ProbeResult], layers: Sequence[Any], answer: Mapping[str, Any]
) -> list[Path]:
    """Write the page, the numbers and the tables of a probe, and return what was written."""
    from genlaws.report.probe_page import probe_page

    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "report.html"
    page.write_text(probe_page(results, title, layers=layers or None), encoding="utf-8")
    numbers = folder / "probe.json"
    numbers.write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
    written = [page, numbers]
    for name, table in _tables(results, layers).items():
        table.to_csv(folder / f"{name}.csv", index=False)
        written.append(folder / f"{name}.csv")
    return written


def _tables(results: Sequence[ProbeResult], layers: Sequence[Any]) -> dict[str, pd.DataFrame]:
    import pandas as pd

    parts: dict[str, list[pd.DataFrame]] = {}

    def add(name: str, template: str, table: pd.DataFrame) -> None:
        """Put a table under its name, with the template it belongs to in front."""
        table.insert(0, "template", template)
        parts.setdefault(name, []).append(table)

    for one in results:
        template = one.plan.template.name
        add("rates", template, one.rates.to_frame())
        add("resolution", template, one.resolution.to_frame())
        add("collapse", template, one.collapse.to_frame())
        add("distances", template, one.distances.to_frame())
        add("trials", template, one.given.to_frame())
        if one.curve is not None:
            add("anchors", template, one.curve.to_frame())
    for result, found in zip(results, layers, strict=False):
        add("layers", result.plan.template.name, found.to_frame())
        add("layer_curves", result.plan.template.name, found.curves_frame())
    return {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items()}
