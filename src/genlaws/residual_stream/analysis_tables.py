"""An analysis as tables, one for each picture, and as what JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from genlaws.residual_stream.analysis_results import Analysis
from genlaws.residual_stream.information import Information
from genlaws.residual_stream.stream import Site
from genlaws.residual_stream.surrogates import SurrogateTest
from genlaws.residual_stream.unit_sums import unit_table

if TYPE_CHECKING:
    import pandas as pd

OWN = "model"
SINGLE = (
    *("means", "paths", "writes", "correlations", "correlation_test", "projected", "path_test", "portraits"),
    *("rotations", "rotation_test", "modes", "rotation_fit", "dynamics_test", "perturbation"),
)

LARGE = {"means", "correlations", "correlation_histogram", "portraits"}  # a row for each unit: of the model alone


def tables_of(analysis: Analysis) -> dict[str, pd.DataFrame]:
    """Return tables by name; rows of references stand below those of the model, told apart by ``stream``."""
    streams = {OWN: analysis, **analysis.references}
    parts: dict[str, list[pd.DataFrame]] = {}
    for name, one in streams.items():
        for kind, table in _of_one(one).items():
            if name != OWN and kind in LARGE:
                continue
            parts.setdefault(kind, []).append(_led(table, "stream", name))
    found = {"claims": to_frame(analysis.claims)} if analysis.claims else {}
    return found | {kind: _joined(tables) for kind, tables in parts.items()}


def to_frame(rows: Sequence[Any]) -> pd.DataFrame:
    """Return a table of dataclasses, or all rows of several tables."""
    import pandas as pd  # noqa: PLC0415

    if rows and isinstance(rows[0], pd.DataFrame):
        tables: list[pd.DataFrame] = list(rows)
        return pd.concat(tables, ignore_index=True)
    return pd.DataFrame([vars(row) if is_dataclass(row) else row for row in rows])


def _joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return tables[0] if len(tables) == 1 else to_frame(tables)


def _led(table: pd.DataFrame, column: str, value: str | bool) -> pd.DataFrame:
    """Put a column with one value in front of a table."""
    table.insert(0, column, value)
    return table


def _of_one(one: Analysis) -> dict[str, pd.DataFrame]:
    """Return the tables of one stream."""
    found = {name: getattr(one, name).to_frame() for name in SINGLE if getattr(one, name) is not None}
    if one.correlations is not None:
        found["correlation_histogram"] = one.correlations.histogram(low=0.0).to_frame()
        found["correlation_means"] = one.correlations.mean.to_frame()
    for kind, made in {
        "participation": (one.participation, one.participation_normalised),
        "compression": (one.compression, one.compression_normalised),
        "explained": (one.explained_pooled, one.explained_normalised, one.explained_site),
    }.items():
        tables = [
            _led(part.to_frame(), "normalised", number == 1) for number, part in enumerate(made) if part is not None
        ]
        if tables:
            found[kind] = _joined(tables)
    for name, measured in one.information.items():
        found[f"information_{name}"] = measured.to_frame()
        found[f"information_{name}_units"] = _unit_frame(measured)
    spectra = [_led(_led(part.to_frame(), "to", part.to), "from", part.site) for part in one.lyapunov]
    jumps = [_led(_led(part.to_frame(), "kept", part.keep_rest), "from", part.site) for part in one.teleports]
    return found | {kind: _joined(made) for kind, made in (("lyapunov", spectra), ("teleports", jumps)) if made}


def _unit_frame(measured: Information) -> pd.DataFrame:
    """Return the information of each unit and step."""
    columns = unit_table(measured.sites[:-1], {"information": measured.values, "error": measured.errors})
    columns["unit"] = np.tile(measured.units, len(measured.sites) - 1)
    return to_frame([]).assign(**columns)


def as_dict(analysis: Analysis) -> dict[str, Any]:
    """Return an analysis as plain values; a number that is not finite is nothing, arrays of several axes are left out.

    A test against surrogates is that of the mean over its entries.
    """
    found: dict[str, Any] = plain(analysis)
    return found


def plain(value: Any) -> Any:
    """Return what JSON can hold of a value."""
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _fields(value: Any) -> Any:
    """Return what JSON can hold of a dataclass: its fields, or less of those that are written in short."""
    if isinstance(value, SurrogateTest):
        return _test(value)
    if isinstance(value, Site):
        return value.name
    named = {one.name: getattr(value, one.name) for one in fields(value)}
    return {name: plain(part) for name, part in named.items() if not _large(part)}


def _large(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 1


def _test(test: SurrogateTest) -> dict[str, Any]:
    """Return the test of the mean over entries."""
    whole = test if test.observed.size == 1 else test.of_mean()
    names = ("mean", "standard_deviation", "z_score", "p_value")
    against = {
        kind: {name: plain(float(getattr(one, name).ravel()[0])) for name in names} | {"draws": len(one.draws)}
        for kind, one in whole.against.items()
    }
    return {"observed": plain(float(whole.observed.ravel()[0])), "against": against}
