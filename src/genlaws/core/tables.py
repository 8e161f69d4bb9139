"""Read tables of numbers or labels from ``.npy`` and ``.csv`` files, local or uploaded.

A CSV file may have names of columns and rows. An uploaded file is not trusted: the header of a ``.npy`` file is
compared with the file's length before memory is allocated, nothing is unpickled, and sizes are limited.
"""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlaws.core.arguments import Array, real
from genlaws.core.errors import InputError

INDEX_HEADERS = ("", "unnamed: 0")  # headers of the column of row names, as pandas writes it
MAX_AMBIGUOUS_COLUMNS = 2  # in which a row of whole numbers can be 0, 1 by chance
RESET_INDEX_HEADER = "index"  # header of the row names after reset_index of pandas
SUFFIXES = (".npy", ".csv")
# The exact measurement of 2,000 items takes about 10 s and 0.75 GB on one core; both grow with their square.
MAX_ROWS = 2000
MAX_COLUMNS = 100_000
MAX_LABEL_CHARACTERS = 100
NPY_MAGIC = b"\x93NUMPY"
HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True)
class CsvTable:
    """The cells of a table, and whether names of columns and rows were read.

    Attributes
    ----------
    values : array of shape (rows, columns)
    header, index : bool
        Whether the first line was read as names of columns, the first column as names of rows.
    """

    values: NDArray[Any]
    header: bool
    index: bool

    def names_message(self, name: str) -> str:
        """Return a sentence that states what was read as names; empty if nothing was."""
        if self.index:
            return f"The first line and the first column of {name} were read as names."
        return f"The first line of {name} was read as names of columns." if self.header else ""

    @property
    def options(self) -> str:
        """The arguments, in addition to those for the comma, with which ``numpy.loadtxt`` reads the same cells."""
        columns = f", usecols=range(1, {self.values.shape[1] + 1})" if self.index else ""
        return (", skiprows=1" if self.header else "") + columns


def read_csv(
    name: str,
    source: Path | Sequence[str],
    *,
    words: bool = False,
    rows: int | None = None,
    names: str = "any",
) -> CsvTable:
    """Return the cells of a table as numbers, or as text.

    The first line is read as names of columns if it holds words, unless it also holds numbers other than 0, 1, 2, ….
    The line 0, 1, 2, …, which pandas writes above columns without names, is also read as names, unless the table is a
    square matrix whose first column is the same. Where the number of rows is known, it decides about such a line, and
    about the first line of a table of words. The first column is read as names of rows if it has no name, or if its
    name is index and it counts 0, 1, 2, ….

    Parameters
    ----------
    name : str
        Name of the table in error messages.
    source : Path or sequence of str
        A file in UTF-8, or lines.
    words : bool
        Whether the cells are text.
    rows : int or None
        How many rows are expected.
    names : {"any", "numbers", "none"}
        Which names the table may have: any, only 0, 1, 2, … for columns, or none.
    """
    first = [cell.strip() for cell in next(_rows(source), [])]
    if not first:
        raise InputError(f"{name} must hold at least one number; the table is empty.")
    index = names == "any" and _has_row_names(first, source)
    header = index or (names == "any" and not words and _is_header(first))
    header = header or (names != "none" and _is_ambiguous_header(first, source, rows, words=words))
    columns = range(int(index), len(first))
    try:
        values = _words(source, columns) if words else _numbers(source, int(header), columns if index else None)
    except (ValueError, IndexError):
        what = "a label in every column of every row" if words else "only numbers"
        raise InputError(f"{name} must hold {what}; {_first_problem(source, len(first), columns)}.") from None
    values = values[int(header) :] if words else values
    if not values.size:
        raise InputError(f"{name} must hold at least one number; the table holds only names.")
    return CsvTable(values, header, index)


def counts_up(cells: Iterable[str]) -> bool:
    """Return whether cells are 0, 1, 2, …, the names pandas gives to columns and rows without names."""
    return all(cell.strip() == str(place) for place, cell in enumerate(cells))


def is_number(cell: str) -> bool:
    """Return whether a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _lines(source: Path | Sequence[str]) -> Iterator[str]:
    """Yield the lines that are not empty; a byte order mark at the start is skipped."""
    if isinstance(source, Path):
        with source.open(encoding="utf-8-sig") as stream:
            yield from (line for line in stream if line.strip())
    else:
        yield from (line for line in source if line.strip())


def _rows(source: Path | Sequence[str]) -> Iterator[list[str]]:
    return csv.reader(_lines(source))


def _first_column(source: Path | Sequence[str]) -> list[str]:
    return [line.partition(",")[0] for line in _lines(source)]


def _has_row_names(first: list[str], source: Path | Sequence[str]) -> bool:
    if len(first) < 2:
        return False
    if first[0].lower() == RESET_INDEX_HEADER:
        return counts_up(_first_column(source)[1:])
    return first[0].lower() in INDEX_HEADERS


def _is_header(first: list[str]) -> bool:
    """Return whether a line holds names and is not a line of numbers with a typing error."""
    numbers = [cell for cell in first if is_number(cell)]
    return len(numbers) < len(first) and counts_up(numbers)


def _is_ambiguous_header(first: list[str], source: Path | Sequence[str], rows: int | None, *, words: bool) -> bool:
    """Return whether the first line holds names although it could be a row of cells."""
    if not words and not counts_up(first):
        return False
    if rows is not None or words:
        return rows is not None and sum(1 for _ in _lines(source)) == rows + 1
    column = _first_column(source)
    square = len(column) == len(first) and counts_up(column)
    second = next(islice(_rows(source), 1, 2), first)
    # Whole numbers in two columns may be anything; pandas writes a number with decimals as 0.0.
    return (
        len(first) > 1
        and not square
        and (len(first) > MAX_AMBIGUOUS_COLUMNS or not all(cell.isdecimal() for cell in second))
    )


def _words(source: Path | Sequence[str], columns: range) -> NDArray[np.str_]:
    return np.array([[row[column].strip() for column in columns] for row in _rows(source)])


def _numbers(source: Path | Sequence[str], skipped: int, columns: range | None) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of an empty table, which is refused
        values: NDArray[np.float64] = np.loadtxt(
            _lines(source),
            delimiter=",",
            ndmin=2,
            comments=None,
            quotechar='"',
            skiprows=skipped,
            usecols=columns,
        )
    return values


def _first_problem(source: Path | Sequence[str], width: int, columns: range) -> str:
    """Return the first reason why the rows of a table are not numbers."""
    for number, row in enumerate(_rows(source), start=1):
        if len(row) != width:
            return f"row {number} has {len(row)} cells, the first has {width}"
        bad = [column for column in columns if not is_number(row[column])]
        if bad and (number > 1 or not _is_header([cell.strip() for cell in row])):
            cell = repr(row[bad[0]].strip()[:40]) if row[bad[0]].strip() else "empty"
            return f"the cell in row {number}, column {bad[0] + 1} is {cell}"
    return "it could not be read"


def open_table(name: str, path: Path, *, names: str = "any") -> Any:
    """Return the table of a file; a ``.npy`` file stays on disk until its rows are read.

    Parameters
    ----------
    name : str
        Name of the table in error messages.
    path : Path
    names : {"any", "numbers", "none"}
        Which names of columns and rows a CSV file may have, see :func:`~genlaws.core.tables.read_csv`.
    """
    return read_csv_table(name, path, names=names).values


def read_csv_table(
    name: str, path: Path, *, words: bool = False, rows: int | None = None, names: str = "any"
) -> CsvTable:
    """Return the table of a file, as `open_table` does, and whether names were read.

    Parameters
    ----------
    words : bool
        Whether a CSV file holds words rather than numbers.
    rows : int or None
        How many rows are expected, to distinguish names of columns from a row of cells.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{name} must be a file ending in {' or '.join(SUFFIXES)}; got {str(path)!r}.")
    if not path.is_file():
        raise InputError(f"{name} must name a file; there is none at {str(path)!r}.")
    try:
        if path.suffix.lower() == ".npy":
            table = CsvTable(np.load(path, mmap_mode="r", allow_pickle=False), header=False, index=False)
        else:
            table = read_csv(name, path, words=words, rows=rows, names=names)
    except InputError:
        raise
    except (ValueError, EOFError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{name} must hold only numbers; {str(path)!r} could not be read: {reason}.") from None
    if not isinstance(table.values, np.ndarray) or table.values.size == 0:
        raise InputError(f"{name} must hold at least one number; {str(path)!r} holds none.")
    return table


def read_matrix(name: str, path: Path) -> Array:
    """Return the numbers of a file as a float array."""
    return real(name, open_table(name, path))


def suffix_of(name: str, file_name: str) -> str:
    """Return the suffix of a file name if it is an allowed one."""
    suffix = next((one for one in SUFFIXES if file_name.lower().endswith(one)), None)
    if suffix is None:
        raise InputError(f"{name} must be a file ending in {' or '.join(SUFFIXES)}; got {file_name[-40:]!r}.")
    return suffix


def read_uploaded_table(
    name: str, content: bytes, suffix: str, *, words: bool = False, rows: int | None = None
) -> CsvTable:
    """Return the numbers of an uploaded table, one row per item, and whether names were read.

    Parameters
    ----------
    name : str
        Name of the table in error messages.
    content : bytes
    suffix : {".npy", ".csv"}
    words : bool
        Whether a CSV file holds labels, which become whole numbers, the same for the same label.
    rows : int or None
        How many rows are expected, to distinguish names of columns from a row of cells.
    """
    if not content:
        raise InputError(f"{name} must hold at least one number; the file is empty.")
    if suffix == ".npy":
        table = CsvTable(_read_npy(name, content), header=False, index=False)
    else:
        table = read_csv(name, _uploaded_lines(name, content), words=words, rows=rows)
        _check_shape(name, table.values.shape)
        table = replace(table, values=_numbered(name, table.values)) if words else table
    if table.values.dtype.kind == "f" and not np.isfinite(table.values).all():
        raise InputError(f"{name} must be finite; there are NaN or infinite numbers in the file.")
    return table


def _read_npy(name: str, content: bytes) -> NDArray[Any]:
    if not content.startswith(NPY_MAGIC):
        raise InputError(f"{name} must be a .npy file of numpy; this file is something else under that name.")
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        shape, by_columns, kind = HEADER_READERS[version](stream)
    except Exception:  # a header is an arbitrary expression
        raise InputError(f"{name} must be a .npy file as numpy.save writes it; its header cannot be read.") from None
    if kind.hasobject or kind.kind not in "iuf":
        raise InputError(f"{name} must be real numbers; the file holds {str(kind)[:40]}. Nothing in it was unpickled.")
    _check_shape(name, shape)
    needed, there = math.prod(shape) * kind.itemsize, len(content) - stream.tell()
    if needed != there:
        raise InputError(
            f"{name} must be a whole .npy file; its header announces {needed:,} bytes, and the file has {there:,}."
        )
    table = np.frombuffer(content, kind, offset=stream.tell()).reshape(shape, order="F" if by_columns else "C")
    return table.astype(kind.newbyteorder("=") if kind.itemsize <= 8 else np.float64)


def _numbered(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    if np.char.str_len(labels).max() > MAX_LABEL_CHARACTERS:
        raise InputError(f"{name} must be labels of at most {MAX_LABEL_CHARACTERS} characters; one is longer.")
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape).astype(np.int64)


def _uploaded_lines(name: str, content: bytes) -> list[str]:
    """Return the lines of a text that are not empty, after a check of the numbers of rows and columns."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(
            f"{name} must be text in UTF-8 if its name ends in .csv; this file is something else."
        ) from None
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise InputError(f"{name} must hold at least one number; the file has no rows.")
    without_names = max(1, len(lines) - 1)
    _check_shape(name, (without_names, 1 + max(line.count(",") for line in lines)))
    return lines


def _check_shape(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) not in {1, 2} or not all(shape):
        raise InputError(f"{name} must be a table of rows and columns; the file has shape {str(shape)[:60]}.")
    if shape[0] > MAX_ROWS:
        raise InputError(
            f"{name} must have at most {MAX_ROWS:,} rows, one per item; the file has {shape[0]:,}. Larger sets are "
            "measured with: genlaws semanticity measure"
        )
    if len(shape) == 2 and shape[1] > MAX_COLUMNS:
        raise InputError(f"{name} must have at most {MAX_COLUMNS:,} columns; the file has {shape[1]:,}.")
