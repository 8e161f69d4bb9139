"""The result of a sweep as a table, as a grid, and as a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genlaws.experiments.settings import canonical
from genlaws.numerics.arguments import one_of
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from genlaws.experiments.store import Store

FORMATS = {"csv": ".csv", "parquet": ".parquet", "netcdf": ".nc"}


def row_of(settings: Mapping[str, Any], repeat: int, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return one row of a table; a result that is named like a setting is called ``result_`` and its name."""
    row = {**settings, "repeat": repeat}
    return row | {result_name(name, row): value for name, value in numbers.items()}


def result_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return the name of a result beside names that are taken."""
    return f"result_{name}" if name in taken else name


def frame_of(store: Store, *, provenance: bool = False) -> pd.DataFrame:
    """Return one row for each finished cell, sorted by the axes and the repeat."""
    import pandas as pd  # noqa: PLC0415

    with store.snapshot():
        fields = store.about()["fields"]
        cells = [(cell.settings, cell.repeat, cell.numbers) for cell in store.cells_without_arrays()]
        rows = [row_of(*cell) for cell in cells]
        if provenance:
            for row, (_, seed, seconds, finished, environment) in zip(rows, store.provenance(), strict=True):
                facts = {"seed": seed, "seconds": seconds, "finished": finished, **_flat(environment)}
                row |= {f"cell_{name}" if name in row else name: fact for name, fact in facts.items()}
    order = sorted(range(len(rows)), key=lambda n: [_rank(cells[n][0][name]) for name in fields] + [cells[n][1]])
    columns = dict.fromkeys(name for row in rows for name in row) or [*fields, "repeat"]
    return pd.DataFrame([rows[n] for n in order], columns=list(columns))


def _rank(value: Any) -> tuple[int, Any]:
    """Return what sorts values of any kind: nothing first, then numbers, then text."""
    if value is None:
        return 0, 0
    if isinstance(value, float) and np.isnan(value):
        return 2, 0
    if isinstance(value, bool | int | float):
        return 1, value
    return (3, value) if isinstance(value, str) else (4, canonical(value))


def _flat(environment: dict[str, Any]) -> dict[str, Any]:
    versions = {f"version_{name}": value for name, value in environment["versions"].items()}
    return {name: value for name, value in environment.items() if name != "versions"} | versions


def dataset_of(store: Store) -> xr.Dataset:
    """Return numbers and arrays over the axes and the repeats."""
    try:
        import xarray as xr  # noqa: PLC0415
    except ImportError:
        raise InputError("to_xarray needs xarray; install it with pip install 'genlaws[export]'.") from None
    with store.snapshot():
        about = store.about()
        values = _values_met(store, about["fields"])
        place = {name: {canonical(value): n for n, value in enumerate(met)} for name, met in values.items()}
        grid = tuple(len(met) for met in values.values())
        found: dict[str, _Variable] = {}
        for cell in store.cells():
            chosen = {**cell.settings, "repeat": cell.repeat}
            index = tuple(place[name][canonical(chosen[name])] for name in values)
            for name, value in {**cell.numbers, **cell.arrays}.items():
                if value is not None:
                    found.setdefault(name, _Variable(name, grid)).put(index, np.asarray(value))
    coordinates = {name: _coordinate(met) for name, met in values.items()}
    variables = {}
    for name, variable in found.items():
        array = variable.finished()
        inner = [f"{name}_{axis}" for axis in range(array.ndim - len(grid))]
        variables[result_name(name, coordinates)] = ([*coordinates, *inner], array)
    fixed = {name: value for name, value in about["settings"].items() if name not in coordinates}
    attributes = {"experiment": about["experiment"], "schema": about["schema"], "seed": about["seed"]}
    plain = {f"setting_{name}": v for name, v in fixed.items() if isinstance(v, int | float | str)}
    return xr.Dataset(variables, coordinates, {**attributes, **plain})


def _values_met(store: Store, fields: list[str]) -> dict[str, list[Any]]:
    """Return the values met along each axis and the repeats, sorted."""
    seen: dict[str, dict[str, Any]] = {name: {} for name in (*fields, "repeat")}
    for cell in store.cells_without_arrays():
        for name in fields:
            seen[name].setdefault(canonical(cell.settings[name]), cell.settings[name])
        seen["repeat"].setdefault(str(cell.repeat), cell.repeat)
    return {name: sorted(values.values(), key=_rank) for name, values in seen.items()}


def _coordinate(values: list[Any]) -> Any:
    """Return values of one kind as they are; among numbers, nothing is NaN; whatever else there is, as JSON text."""
    if all(isinstance(value, bool) for value in values) or all(isinstance(value, str) for value in values):
        return values
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return [float("nan") if value is None else value for value in values]
    return [value if isinstance(value, str) else canonical(value) for value in values]


class _Variable:
    """One result over the whole grid, filled in cell by cell.

    What is missing is NaN, or empty text. Whole numbers and truth values stay what they are if none is missing.
    """

    def __init__(self, name: str, grid: tuple[int, ...]) -> None:
        self._name, self._grid = name, grid
        self._values: np.ndarray | None = None
        self._there = np.zeros(grid, dtype=bool)

    def put(self, index: tuple[int, ...], value: np.ndarray) -> None:
        """Write the value of one cell."""
        is_text = value.dtype.kind in "US"
        if self._values is None:
            blank = np.full(self._grid + value.shape, "", dtype=object)
            self._values = blank if is_text else np.zeros(self._grid + value.shape, dtype=value.dtype)
        if self._values.shape[len(self._grid) :] != value.shape:
            raise InputError(
                f"The arrays {self._name!r} have different shapes in different cells; read them one by one."
            )
        if is_text != (self._values.dtype.kind == "O"):
            raise InputError(f"The result {self._name!r} is text in some cells and a number in others.")
        if not is_text:
            self._values = self._values.astype(np.result_type(self._values, value.dtype), copy=False)
        self._values[index] = _text(value) if is_text else value
        self._there[index] = True

    def finished(self) -> np.ndarray:
        """Return the array over the grid."""
        assert self._values is not None
        if self._values.dtype.kind == "O" or self._there.all():
            return self._values
        kind = np.float64 if self._values.dtype.kind in "biu" else self._values.dtype
        filled = self._values.astype(kind)
        filled[~self._there] = np.nan
        return filled


def _text(value: np.ndarray) -> Any:
    """Return text, or an array of texts, as an array of objects takes it."""
    decoded = np.char.decode(value) if value.dtype.kind == "S" else value
    return decoded.astype(object) if value.ndim else decoded.item()


def export(store: Store, kind: str, out: str | os.PathLike[str] | None = None) -> Path:
    """Write the table (csv, parquet) or the grid with its arrays (netcdf) beside the store, or to `out`."""
    one_of("to", kind, FORMATS)
    path = Path(out) if out is not None else store.folder / f"sweep{FORMATS[kind]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if kind == "csv":
            frame_of(store, provenance=True).to_csv(part, index=False)
        elif kind == "parquet":
            _to_parquet(frame_of(store, provenance=True), part)
        else:
            _to_netcdf(dataset_of(store), part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _to_parquet(frame: pd.DataFrame, path: Path) -> None:
    try:
        frame.to_parquet(path, engine="pyarrow", index=False)
    except ImportError:
        raise InputError("Parquet needs pyarrow; install it with pip install 'genlaws[export]'.") from None
    except (ValueError, TypeError) as error:
        raise InputError(f"Parquet cannot hold this table ({error}); write csv.") from None


def _to_netcdf(grid: xr.Dataset, path: Path) -> None:
    """Write netCDF 3, which knows neither wide integers nor complex numbers: both are written in another form."""
    for name in list(grid.data_vars):
        variable = grid[name]
        if variable.dtype.kind == "c":
            grid[f"{name}_real"], grid[f"{name}_imag"] = variable.real, variable.imag
            del grid[name]
        else:
            grid[name] = (variable.dims, _narrow(variable.values))
    grid = grid.assign_coords({name: _narrow(values.values) for name, values in grid.coords.items()})
    attributes = {name: _attribute(value) for name, value in grid.attrs.items()}
    try:
        grid.assign_attrs(attributes).to_netcdf(path, engine="scipy")
    except (ValueError, TypeError) as error:
        raise InputError(f"A netCDF file cannot hold this grid ({error}); write csv or parquet.") from None


def _narrow(values: np.ndarray) -> np.ndarray:
    """Return values in a type that netCDF 3 has, equal to those given; as text where no number would be equal."""
    if values.dtype.kind == "f":
        return values.astype(np.float32 if values.dtype.itemsize < 4 else values.dtype)
    if values.dtype.kind not in "iu":
        return values
    for kind in (np.int32, np.float64):
        narrow = values.astype(kind)
        if all(int(a) == int(b) for a, b in zip(values.flat, narrow.flat, strict=True)):
            return narrow
    return values.astype(str).astype(object)


def _attribute(value: Any) -> Any:
    """Return an attribute that netCDF 3 can hold: a truth value as 0 or 1, a wide integer as text."""
    if isinstance(value, bool):
        return int(value)
    return str(value) if isinstance(value, int) and abs(value) >= 2**31 else value
