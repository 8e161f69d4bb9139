"""The result of a sweep as a pandas table, as an xarray grid, and as a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genlaws.core.errors import InputError
from genlaws.core.result import Result, Row, Summary, question
from genlaws.core.seeds import canonical
from genlaws.sweeps.experiment import writable
from genlaws.sweeps.parameters import FORMATS, File, Folder, Format
from genlaws.sweeps.store import Store

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

LARGEST_EXACT_INTEGER = 2**53  # every smaller whole number is exact as a float


def row_of(settings: Mapping[str, Any], repeat: int, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return one row of a table; a result with the name of a setting gets the prefix ``result_``.

    A lone surrogate in text, which no table can hold, becomes its escape.
    """
    row = {**settings, "repeat": repeat}
    return row | {result_name(name, row): _writable(value) for name, value in numbers.items()}


def result_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return the column name of a result, with a prefix if it is taken."""
    return writable(f"result_{name}" if name in taken else name)


def _writable(value: Any) -> Any:
    return writable(value) if isinstance(value, str) else value


def table_of(rows: Sequence[Mapping[str, Any]], columns: Iterable[str] | None = None) -> pd.DataFrame:
    """Return rows as a table; a column in which floats would change a whole number stays an object column."""
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame(list(rows), columns=None if columns is None else list(columns))
    for name in frame.columns:
        values = [row.get(name) for row in rows]
        if frame[name].dtype.kind == "f" and not _are_floats(values):
            frame[name] = pd.Series(values, dtype=object)
    return frame


def _are_floats(values: Iterable[Any]) -> bool:
    """Return whether every whole number among the values equals a float."""
    try:
        return all(float(value) == value for value in values if isinstance(value, int))
    except OverflowError:
        return False


def frame_of(store: Store, *, provenance: bool = False) -> pd.DataFrame:
    """Return one row for each finished cell, sorted by the axes and the repeat."""
    with store.snapshot():
        fields = store.about()["fields"]
        cells = [(cell.settings, cell.repeat, cell.numbers) for cell in store.cells_without_arrays()]
        rows = [row_of(*cell) for cell in cells]
        if provenance:
            for row, (_, seed, seconds, finished, environment) in zip(rows, store.provenance(), strict=True):
                facts = {"seed": seed, "seconds": seconds, "finished": finished, **_flatten(environment)}
                row |= {f"cell_{name}" if name in row else name: fact for name, fact in facts.items()}
    order = sorted(range(len(rows)), key=lambda n: [_rank(cells[n][0][name]) for name in fields] + [cells[n][1]])
    columns = dict.fromkeys(name for row in rows for name in row) or [*fields, "repeat"]
    return table_of([rows[n] for n in order], columns)


def _rank(value: Any) -> tuple[int, Any]:
    """Return a sort key for values of any kind: None first, then numbers, then text."""
    if value is None:
        return 0, 0
    if isinstance(value, float) and np.isnan(value):
        return 2, 0
    if isinstance(value, bool | int | float):
        return 1, value
    return (3, value) if isinstance(value, str) else (4, canonical(value))


def _flatten(environment: dict[str, Any]) -> dict[str, Any]:
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
        values = _axis_values(store, about["fields"])
        place = {name: {canonical(value): n for n, value in enumerate(met)} for name, met in values.items()}
        grid = tuple(len(met) for met in values.values())
        found: dict[str, _Variable] = {}
        for cell in store.cells():
            chosen = {**cell.settings, "repeat": cell.repeat}
            index = tuple(place[name][canonical(chosen[name])] for name in values)
            for name, value in {**cell.numbers, **cell.arrays}.items():
                if value is not None:
                    found.setdefault(name, _Variable(name, grid)).put(index, np.asarray(_writable(value)))
    coordinates = {name: _coordinate(met) for name, met in values.items()}
    variables = {}
    for name, variable in found.items():
        array = variable.finished()
        inner = [f"{writable(name)}_{axis}" for axis in range(array.ndim - len(grid))]
        variables[result_name(name, coordinates)] = ([*coordinates, *inner], array)
    attributes = {name: about[name] for name in ("experiment", "schema", "seed")}
    fixed = {name: value for name, value in about["settings"].items() if name not in coordinates}
    attributes |= {f"setting_{name}": v for name, v in fixed.items() if isinstance(v, int | float | str)}
    return xr.Dataset(variables, coordinates, attributes)


def _axis_values(store: Store, fields: list[str]) -> dict[str, list[Any]]:
    """Return the sorted values along each axis and the repeats."""
    seen: dict[str, dict[str, Any]] = {name: {} for name in (*fields, "repeat")}
    for cell in store.cells_without_arrays():
        for name in fields:
            seen[name].setdefault(canonical(cell.settings[name]), cell.settings[name])
        seen["repeat"].setdefault(str(cell.repeat), cell.repeat)
    return {name: sorted(values.values(), key=_rank) for name, values in seen.items()}


def _coordinate(values: list[Any]) -> Any:
    """Return values of one kind unchanged, None among numbers as NaN, and other mixtures as JSON text."""
    if all(isinstance(value, bool) for value in values) or all(isinstance(value, str) for value in values):
        return values
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return [float("nan") if value is None else value for value in values]
    return [value if isinstance(value, str) else canonical(value) for value in values]


class _Variable:
    """One result over the whole grid, filled in cell by cell.

    Missing values are NaN, or empty text. Whole numbers and truth values keep their type if none is missing. Whole
    numbers that no numeric array can hold exactly are stored as objects.
    """

    def __init__(self, name: str, grid: tuple[int, ...]) -> None:
        self._name, self._grid = name, grid
        self._values: np.ndarray | None = None
        self._present = np.zeros(grid, dtype=bool)
        self._is_text = False

    def put(self, index: tuple[int, ...], value: np.ndarray) -> None:
        """Write the value of one cell."""
        is_text = value.dtype.kind in "US"
        self._is_text = is_text if self._values is None else self._is_text
        if self._values is None:
            blank = np.full(self._grid + value.shape, "", dtype=object)
            self._values = blank if is_text else np.zeros(self._grid + value.shape, dtype=value.dtype)
        if self._values.shape[len(self._grid) :] != value.shape:
            raise InputError(
                f"The arrays {self._name!r} have different shapes in different cells; read them one by one."
            )
        if is_text != self._is_text:
            raise InputError(f"The result {self._name!r} is text in some cells and a number in others.")
        if not is_text:
            self._values = self._values.astype(_common_type(self._values, value), copy=False)
        self._values[index] = _decode_text(value) if is_text else value if value.ndim else value.item()
        self._present[index] = True

    def finished(self) -> np.ndarray:
        """Return the array over the grid."""
        assert self._values is not None
        if self._is_text or self._present.all():
            return self._values
        kind = _common_type(self._values, np.array(np.nan)) if self._values.dtype.kind in "biu" else self._values.dtype
        filled = self._values.astype(kind)
        filled[~self._present] = np.nan
        return filled


def _common_type(*arrays: np.ndarray) -> np.dtype[Any]:
    """Return the type that holds all values; objects where a float would change a whole number."""
    kind = np.result_type(*arrays)
    whole = [array for array in arrays if array.dtype.kind in "iu" and array.dtype.itemsize == 8]
    if kind.kind not in "fc" or not any(
        (np.abs(array.astype(float)) >= LARGEST_EXACT_INTEGER).any() for array in whole
    ):
        return kind
    return kind if all(_are_floats(array.ravel().tolist()) for array in whole) else np.dtype(object)


def _decode_text(value: np.ndarray) -> Any:
    """Return text, or an array of texts, for an array of objects."""
    decoded = np.char.decode(value, "utf-8", "backslashreplace") if value.dtype.kind == "S" else value
    if not value.ndim:
        return decoded.item()
    texts = np.array([writable(one) for one in decoded.ravel().tolist()], dtype=object)
    return texts.reshape(value.shape)


@dataclass(frozen=True, eq=False, repr=False)
class SweepExport(Result):
    """A file with the finished cells of a sweep.

    Attributes
    ----------
    file : str
    cells : int
        Finished cells whose arrays can be read.
    """

    file: str
    cells: int

    def summary(self) -> Summary:
        """Return what was written where."""
        return Summary([Row("cells", str(self.cells)), Row("file", self.file)])


@question
def export_sweep(folder: Folder, *, to: Format = "csv", file: File = None) -> SweepExport:
    """Write the finished cells of a sweep as a table (csv, parquet) or as a grid with its arrays (netcdf).

    Parameters
    ----------
    folder : path
    to : {"csv", "parquet", "netcdf"}
    file : path, optional
        In the folder of the sweep if left out. It appears, or is replaced, when it is complete.
    """
    path = Path(folder) / f"sweep{FORMATS[to]}" if file is None else Path(file)
    with Store(folder) as store:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(store, to, path)
        return SweepExport(str(path), store.counts().done)


def _write(store: Store, kind: str, path: Path) -> None:
    """Write the file of a format, in one step."""
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


def _to_parquet(frame: pd.DataFrame, path: Path) -> None:
    for name in frame.columns:
        if frame[name].dtype.kind == "O":
            frame[name] = _to_one_type(frame[name])
    try:
        frame.to_parquet(path, engine="pyarrow", index=False)
    except ImportError:
        raise InputError("Parquet needs pyarrow; install it with pip install 'genlaws[export]'.") from None
    except (ValueError, TypeError) as error:
        raise InputError(f"Parquet cannot hold this table ({error}); write csv.") from None


def _to_one_type(column: pd.Series) -> pd.Series:
    """Return numbers of several kinds or sizes in one type without changing them; as text if no type fits."""
    there = column[column.notna()]
    kinds = {type(value) for value in there}
    if not kinds <= {bool, int, float} or kinds == {bool}:
        return column
    if kinds == {int} and there.min() >= -(2**63) and there.max() < 2**63:
        return column.astype("Int64")
    if kinds == {int} and there.min() >= 0 and there.max() < 2**64:
        return column.astype("UInt64")
    if _are_floats(there):
        return column.astype(float)
    return there.map(str).reindex(column.index)


def _to_netcdf(grid: xr.Dataset, path: Path) -> None:
    """Write netCDF 3, which has neither wide integers nor complex numbers: both are converted."""
    for name in list(grid.data_vars):
        variable = grid[name]
        if variable.dtype.kind == "c":
            grid[f"{name}_real"], grid[f"{name}_imag"] = variable.real, variable.imag
            del grid[name]
        else:
            grid[name] = (variable.dims, _to_netcdf_type(variable.values))
    grid = grid.assign_coords({name: _to_netcdf_type(values.values) for name, values in grid.coords.items()})
    attributes = {name: _netcdf_attribute(value) for name, value in grid.attrs.items()}
    try:
        grid.assign_attrs(attributes).to_netcdf(path, engine="scipy")
    except (ValueError, TypeError) as error:
        raise InputError(f"A netCDF file cannot hold this grid ({error}); write csv or parquet.") from None


def _to_netcdf_type(values: np.ndarray) -> np.ndarray:
    """Return values in a type of netCDF 3 without changing them; as text if no numeric type fits."""
    if values.dtype.kind == "f":
        return values.astype(np.float32 if values.dtype.itemsize < 4 else values.dtype)
    plain = values.ravel().tolist()
    if values.dtype.kind not in "iuO" or any(isinstance(one, str) for one in plain):
        return values
    if all(isinstance(one, int) and -(2**31) <= one < 2**31 for one in plain):
        return values.astype(np.int32)
    if _are_floats(plain):
        return values.astype(np.float64)
    texts = np.array(["" if isinstance(one, float) and np.isnan(one) else str(one) for one in plain], dtype=object)
    return texts.reshape(values.shape)


def _netcdf_attribute(value: Any) -> Any:
    """Return an attribute that netCDF 3 can hold: a truth value as 0 or 1, a wide integer as text."""
    if isinstance(value, bool):
        return int(value)
    return str(value) if isinstance(value, int) and abs(value) >= 2**31 else value
