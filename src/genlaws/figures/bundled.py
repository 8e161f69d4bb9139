"""Tables that took long to compute, kept with the settings they were computed with, so that anyone can draw them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from genlaws.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

FOLDER = files("genlaws.figures") / "bundled_tables"
# Figures drawn from another's table.
SAME_TABLE = {"relations.delays": "relations.5", "semanticity.anchors": "semanticity.years"}


@dataclass(frozen=True)
class KeptTable:
    """A table computed elsewhere.

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


def kept_ids() -> list[str]:
    """Return the figures whose full-size table is kept."""
    names = {one.name for one in FOLDER.iterdir()} if FOLDER.is_dir() else set()
    found = {name.removesuffix(".json") for name in names if name.endswith(".json")}
    found = {one for one in found if f"{one}.csv" in names}
    return sorted(found | {one for one, other in SAME_TABLE.items() if other in found})


def kept_table(figure_id: str) -> KeptTable:
    """Return the kept table of a figure, or say which figures have one."""
    if figure_id not in kept_ids():
        raise InputError(f"No table of {figure_id} is kept; there is one of {', '.join(kept_ids()) or 'no figure'}.")
    import pandas as pd  # noqa: PLC0415

    name = SAME_TABLE.get(figure_id, figure_id)
    about = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    with (FOLDER / f"{name}.csv").open(encoding="utf-8") as stream:
        frame = pd.read_csv(stream, keep_default_na=False, na_values=[""])
    return KeptTable(frame, about["settings"], {name: one for name, one in about.items() if name != "settings"})
