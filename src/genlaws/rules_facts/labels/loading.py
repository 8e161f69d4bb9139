"""Read labeled data, images or any table, from which a rules-and-facts task can be drawn.

Files are not trusted: arrays are read without pickles, and the files of CIFAR-10, which are pickles, by a reader that
accepts numbers, text, lists and arrays and nothing that could run code.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.core import tables
from genlaws.core.errors import InputError
from genlaws.rules_facts.labels.data import LabeledData, as_text

SOURCE_HINT = "'digits', an .npz, .csv, .tsv or .parquet file, a folder with CIFAR-10's batches, or a pair of arrays"
# Names under which an archive may hold inputs and classes.
ARRAY_NAMES = (
    ("x_train", "y_train"),
    ("inputs", "labels"),
    ("X", "y"),
    ("images", "labels"),
    ("data", "target"),
)
TEST_ARRAY_NAMES = ("x_test", "y_test")  # next to the first of these
CIFAR_FOLDER = "cifar-10-batches-py"
CIFAR_BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
CLASS_COLUMN = "label"
MAX_EXACT_WHOLE = 2.0**53  # larger whole numbers are distinguished as text only


def load_labeled(source: str | os.PathLike[str] | tuple[ArrayLike, ArrayLike] | LabeledData) -> LabeledData:
    """Return the labeled data of a source; training and test parts of a file are joined.

    Parameters
    ----------
    source : str, path, tuple of two arrays, or LabeledData
        ``"digits"`` for the handwritten digits that come with scikit-learn; an ``.npz`` file with the arrays
        ``x_train`` and ``y_train`` (and ``x_test``, ``y_test``), ``inputs`` and ``labels``, ``X`` and ``y``, ``images``
        and ``labels``, or ``data`` and ``target``, and perhaps ``class_names``; a folder with the batches of the
        Python version of CIFAR-10; a ``.csv``, ``.tsv`` or ``.parquet`` file whose column ``label``, or else the
        last, is the class and all others are numbers; or a pair (inputs, classes).

    Notes
    -----
    A first line of a table is a header if one of its cells is ``label`` or if no cell but the last is a number; a first
    column without a name, as pandas writes it, holds names of the samples and is not read.
    """
    if isinstance(source, LabeledData):
        return source
    if isinstance(source, tuple):
        if len(source) != 2:
            raise InputError(f"A source of arrays must be a pair (inputs, classes); got a tuple of {len(source)}.")
        return LabeledData(*source)  # type: ignore[arg-type]
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"source must be {SOURCE_HINT}; got {type(source).__name__}.")
    if source == "digits":
        return _load_digits()
    path = Path(source).expanduser()
    if path.is_dir():
        return _read_cifar(path)
    if not path.is_file():
        raise InputError(f"There is no file or folder {str(path)!r}; source must be {SOURCE_HINT}.")
    suffix = path.suffix.lower()
    if suffix not in {".npz", ".parquet", *tables.TEXT_SUFFIXES}:
        raise InputError(f"source must be {SOURCE_HINT}; got the file {path.name!r}.")
    try:
        return _read_archive(path) if suffix == ".npz" else _read_table(path)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None
    except tables.DATA_READ_ERRORS as error:
        raise InputError(f"{path.name} could not be read: {_format_reason(error)}.") from None


def _load_digits() -> LabeledData:
    if find_spec("sklearn") is None:
        raise InputError("The digits come with scikit-learn; install it with pip install scikit-learn.")
    from sklearn.datasets import load_digits  # type: ignore[import-untyped] # noqa: PLC0415

    inputs, classes = load_digits(return_X_y=True)
    return LabeledData(inputs, classes, "digits")


def _read_archive(file: Path) -> LabeledData:
    with tables.open_archive("the data", file) as archive:
        found = archive.files
        layout = next((names for names in ARRAY_NAMES if {*names} <= {*found}), None)
        if layout is None:
            wanted = "; ".join(" and ".join(names) for names in ARRAY_NAMES)
            raise InputError(f"the arrays must be called {wanted}; found {', '.join(found) or 'none'}.")
        pairs = [layout]
        if layout == ARRAY_NAMES[0] and {*TEST_ARRAY_NAMES} & {*found}:
            if not {*TEST_ARRAY_NAMES} <= {*found}:
                raise InputError(f"{' and '.join(TEST_ARRAY_NAMES)} must both be present; found {', '.join(found)}.")
            pairs.append(TEST_ARRAY_NAMES)
        names = tuple(np.ravel(archive["class_names"]).tolist()) if "class_names" in found else None
        return _concatenate_parts([LabeledData(archive[x], archive[y], file.stem, names) for x, y in pairs])


def _concatenate_parts(parts: list[LabeledData]) -> LabeledData:
    if len({part.dimension for part in parts}) > 1 or len({part.classes.dtype.kind for part in parts}) > 1:
        shapes = ", ".join(f"{part.dimension} features with classes of type {part.classes.dtype}" for part in parts)
        raise InputError(f"the parts must have the same features and the same kind of classes; got {shapes}.")
    inputs = np.concatenate([part.inputs for part in parts])
    return LabeledData(inputs, np.concatenate([part.classes for part in parts]), parts[0].name, parts[0].class_names)


def _read_table(file: Path) -> LabeledData:
    table = tables.TextTable("the table", file, tables.WORD_SEPARATORS)
    first = table.first
    if len(first) < 2:
        raise InputError("a line must hold at least one number and a class, separated by commas, semicolons or tabs.")
    cells = [cell.lower() for cell in first]
    # pandas writes 0, 1, 2, … above columns without names.
    unnamed = len(first) > 3 and tables.counts_up(first[:-1])
    start = int(table.has_row_names())
    named = table.names_columns or CLASS_COLUMN in cells or unnamed
    header = named or start or not any(tables.is_number(cell) for cell in first[:-1])
    column = cells.index(CLASS_COLUMN) if CLASS_COLUMN in cells else len(first) - 1
    codes: dict[str, int] = {}
    values = table.numbers(
        start, table.header_line if header else 0, {column: lambda cell: codes.setdefault(cell.strip(), len(codes))}
    )
    if values.size == 0:
        raise InputError("there must be at least one sample; found only a header.")
    if "" in codes:
        empty = int(np.flatnonzero(values[:, column - start] == codes[""])[0])
        raise InputError(f"every sample must have a class; that of sample {empty + 1} is empty.")
    classes = _numbers_or_text(list(codes))[values[:, column - start].astype(np.int64)]
    return LabeledData(np.delete(values, column - start, axis=1), classes, file.stem)


def _numbers_or_text(cells: list[str]) -> NDArray[Any]:
    """Return classes written in a table as whole numbers if all of them are, else as text."""
    try:
        numbers = [float(cell) for cell in cells]
        if all(number.is_integer() and abs(number) < MAX_EXACT_WHOLE for number in numbers):
            return np.array(numbers).astype(np.int64)
    except ValueError:
        pass
    return np.array(cells)


def _read_cifar(folder: Path) -> LabeledData:
    """Return CIFAR-10 from its batches; a sample is a row of 1024 red, 1024 green and 1024 blue values."""
    inside = folder / CIFAR_FOLDER
    here = inside if inside.is_dir() else folder
    missing = [name for name in CIFAR_BATCHES if not (here / name).is_file()]
    if missing:
        raise InputError(f"A folder must hold CIFAR-10's batches; {str(here)!r} lacks {', '.join(missing)}.")
    meta = here / "batches.meta"
    names = _read_pickle(meta).get("label_names") if meta.is_file() else None
    class_names = tuple(as_text(name) for name in names) if isinstance(names, list) else None
    parts = []
    for name in CIFAR_BATCHES:
        batch = _read_pickle(here / name)
        data, labels = batch.get("data"), batch.get("labels")
        if not isinstance(data, _StoredArray) or not isinstance(labels, list):
            raise InputError(
                f"{name} must hold the array 'data' and the list 'labels'; found {', '.join([*batch][:6])}."
            )
        try:
            parts.append(LabeledData(data.values, np.array(labels), "cifar-10", class_names))
        except ValueError as error:
            raise InputError(f"{name}: {error}") from None
    return _concatenate_parts(parts)


def _read_pickle(file: Path) -> dict[str, Any]:
    try:
        content = _DataUnpickler(io.BytesIO(file.read_bytes()), encoding="bytes").load()
        if not isinstance(content, dict):
            raise InputError(f"must hold a dictionary; got {type(content).__name__}.")
        return {as_text(key): value for key, value in content.items()}
    except InputError as error:
        raise InputError(f"{file.name} {error}") from None
    except Exception as error:  # a damaged pickle can fail in any way
        raise InputError(f"{file.name} could not be read: {_format_reason(error)}.") from None


class _StoredType:
    """The element type of an array in a pickle: a code such as u1, and its byte order."""

    def __init__(self, code: Any) -> None:
        self.code, self.order = as_text(code), "|"
        if not re.fullmatch(r"[iuf][1248]", self.code):
            raise InputError(f"must hold arrays of plain numbers; got the type {self.code!r}.")

    def __setstate__(self, state: Any) -> None:
        self.order = as_text(state[1])
        if self.order not in {"|", "<", ">", "="}:
            raise InputError(f"must hold arrays of plain numbers; got the byte order {self.order!r}.")


class _StoredArray:
    """An array in a pickle, built from its bytes here rather than by numpy, which would trust the file."""

    def __init__(self) -> None:
        self.values: NDArray[Any] = np.empty((0, 0))

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, by_column, content = state
        if not isinstance(kind, _StoredType) or not isinstance(content, bytes):
            raise InputError("must hold arrays of plain numbers.")
        dtype = np.dtype(kind.order + kind.code)
        if math.prod(shape) * dtype.itemsize != len(content):
            raise InputError(f"holds an array whose {len(content)} bytes do not fill its shape.")
        self.values = np.frombuffer(content, dtype).reshape(shape, order="F" if by_column else "C")


class _DataUnpickler(pickle.Unpickler):
    """Reads numbers, text, lists, dictionaries and arrays; anything else in a pickle is rejected and not called."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a stand-in, new each time so that no pickle can change it for the next."""
        if (module, name) in {("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct")}:
            return lambda *_: _StoredArray()
        if (module, name) == ("numpy", "dtype"):
            return lambda code, *_: _StoredType(code)
        if (module, name) == ("numpy", "ndarray"):
            return "ndarray"  # only an argument of _reconstruct, which ignores it
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes in the old format
            return lambda text, *_: str(text).encode("latin-1")
        raise InputError(f"is not a CIFAR-10 batch: it refers to {module}.{name}, which could run code; not opened.")


def _format_reason(error: Exception) -> str:
    return (" ".join(str(error).split()) or type(error).__name__).rstrip(".")
