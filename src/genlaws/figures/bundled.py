"""Full-size tables that come with the package, each with the settings it was computed with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from genlaws.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

TABLE_FOLDER = files("genlaws.figures") / "bundled_tables"
# Figures drawn from the table of another figure.
SHARED_TABLES = {"relations.delays": "relations.5", "semanticity.anchors": "semanticity.years"}


@dataclass(frozen=True)
class BundledTable:
    """A table that comes with the package.

    Attributes
    ----------
    frame : DataFrame
    settings : dict
        Of the figure.
    about : dict
        Device, seconds, versions and date.
    """

    frame: pd.DataFrame
    settings: dict[str, Any]
    about: dict[str, Any]


def bundled_ids() -> list[str]:
    """Return the identifiers of the figures that have a bundled table."""
    names = {one.name for one in TABLE_FOLDER.iterdir()} if TABLE_FOLDER.is_dir() else set()
    found = {name.removesuffix(".json") for name in names if name.endswith(".json")}
    found = {one for one in found if f"{one}.csv" in names}
    return sorted(found | {one for one, other in SHARED_TABLES.items() if other in found})


def bundled_table(figure_id: str) -> BundledTable:
    """Return the bundled table of a figure; without one the error lists the figures that have one."""
    if figure_id not in bundled_ids():
        raise InputError(f"{figure_id} has no bundled table; figures with one: {', '.join(bundled_ids()) or 'none'}.")
    import pandas as pd  # noqa: PLC0415

    name = SHARED_TABLES.get(figure_id, figure_id)
    about = json.loads((TABLE_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    with (TABLE_FOLDER / f"{name}.csv").open(encoding="utf-8") as stream:
        frame = pd.read_csv(stream, keep_default_na=False, na_values=[""])
    return BundledTable(frame, about["settings"], {name: one for name, one in about.items() if name != "settings"})
