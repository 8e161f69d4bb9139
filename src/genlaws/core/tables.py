"""Read tables of numbers or labels from ``.npy``, ``.npz``, ``.csv``, ``.tsv`` and ``.parquet``, local or uploaded.

Every command, page and report reads its tables here, so that a file is read, or refused, in the same way everywhere. A
table of text may have names of columns and rows; commas, semicolons or tabs separate its cells. An uploaded file is
not trusted: the announced size of an array is compared with the file before memory is allocated, nothing is unpickled,
and sizes are limited.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from genlaws.core.arguments import Array
from genlaws.core.errors import InputError

INDEX_HEADERS = ("", "unnamed: 0")  # headers of the column of row names, as pandas writes it
MAX_AMBIGUOUS_COLUMNS = 2  # in which a row of whole numbers can be 0, 1 by chance
RESET_INDEX_HEADER = "index"  # header of the row names after reset_index of pandas
TEXT_SUFFIXES = (".csv", ".tsv")
SUFFIXES = (".npy", ".npz", *TEXT_SUFFIXES, ".parquet")
KINDS = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
NUMBER_SEPARATORS, WORD_SEPARATORS = "\t;,", ",;\t"  # a number may have a decimal comma, a label a semicolon
# The exact measurement of 2,000 items takes about 10 s and 0.75 GB on one core; both grow with their square.
MAX_ROWS = 2000
MAX_COLUMNS = 100_000
MAX_LABEL_CHARACTERS = 100
MAX_UNPACKED_BYTES = 32 * 2**20  # of an uploaded array once unpacked: 2,000 × 2,000 numbers of eight bytes
EVERY_LABEL = "a label in every column of every row"
MAX_SHOWN_CHARACTERS = 40  # of a cell or a name in an error message
MAX_ARRAYS_LISTED = 20
CHECKED_AT_ONCE = 2**20  # numbers looked at for NaN in one step, so that a file stays on disk
NPY_MAGIC = b"\x93NUMPY"
HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# Errors that numpy, zipfile, pyarrow and csv raise on a damaged or foreign file.
DATA_READ_ERRORS = (OSError, ValueError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error, csv.Error)


@dataclass(frozen=True)
class Table:
    """The cells of a table, and what was read as names.

    Attributes
    ----------
    values : array of shape (rows, columns)
    columns, rows : tuple of str
        Names of columns and rows; empty if the file has none.
    separator : str
        Between the cells of a table of text; empty for other files, which say themselves what is a name.
    """

    values: NDArray[Any]
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    separator: str = ""

    def names_message(self, name: str) -> str:
        """Return what was read as names, and the separator if it is not the comma; empty if there is neither."""
        read = f"The first line of {name} was read as names of columns." if self.columns and self.separator else ""
        if self.rows:
            where = "The first line and the first column" if self.separator else "The index"
            read = f"{where} of {name} {'were' if self.separator else 'was'} read as names."
        if self.separator in {"", ","}:
            return read
        return f"{read} The cells of {name} are separated by {SEPARATORS[self.separator]}.".strip()


class TextTable:
    """The cells of a text, read anew each time they are needed, and the errors that name a wrong cell.

    Of several separators in the first line, the first counts that gives every row the same number of cells.

    Parameters
    ----------
    name : str
        Name of the table in error messages.
    source : Path, bytes or sequence of str
        A file in UTF-8, perhaps compressed as ``.gz``, its content, or lines; or a ``.parquet`` file, whose first line
        is the names of its columns.
    separators : str
        What may separate cells; in a table of words the comma comes first.
    """

    def __init__(self, name: str, source: Path | bytes | Sequence[str], separators: str = NUMBER_SEPARATORS) -> None:
        self.names_columns = isinstance(source, Path) and source.suffix.lower() == ".parquet"
        if isinstance(source, Path) and self.names_columns:
            source, separators = _parquet_lines(name, source), ","
        self.name, self.source, self.separator = name, source, ","
        first = next((line for line in read_lines(name, source) if line.strip()), "")
        found = [one for one in separators if one in first]
        if len(found) > 1:
            found = [one for one in found if len({len(row) for _, row in self.rows(one)}) == 1] or found
        self.separator = next(iter(found), ",")
        self.header_line, self.first = next(self.rows(), (0, []))

    def rows(self, separator: str = "") -> Iterator[tuple[int, list[str]]]:
        """Yield number and cells of each line that is not blank; the first line of the text is line 1."""
        reader = csv.reader(read_lines(self.name, self.source), delimiter=separator or self.separator, strict=True)
        try:
            for row in reader:
                if len(row) > 1 or any(cell.strip() for cell in row):
                    yield reader.line_num, [cell.strip() for cell in row]
        except csv.Error as error:
            raise InputError(f"{self.name} must be a table; line {reader.line_num} is not a row: {error}.") from None

    def has_row_names(self) -> bool:
        """Return whether the first column holds names of rows."""
        if len(self.first) < 2:
            return False
        if self.first[0].lower() == RESET_INDEX_HEADER:
            return counts_up(row[0] for _, row in islice(self.rows(), 1, None))
        return self.first[0].lower() in INDEX_HEADERS

    def has_words_first(self) -> bool:
        """Return whether each line starts with a word, all of them different."""
        words = [row[0] for _, row in self.rows()]
        different = len(self.first) > 1 and len(set(words)) == len(words)
        return different and all(any(map(str.isalpha, one)) and not is_number(one) for one in words)

    def has_header(self) -> bool:
        """Return whether the first line holds names and is not a line of numbers with a typing error."""
        if self.names_columns:
            return True
        numbers = [cell for cell in self.first if is_number(cell)]
        return len(numbers) < len(self.first) and counts_up(numbers)

    def has_ambiguous_header(self, rows: int | None, *, words: bool) -> bool:
        """Return whether the first line holds names although it could be a row of cells."""
        if not words and not counts_up(self.first):
            return False
        if rows is not None or words:
            return rows is not None and sum(1 for _ in self.rows()) == rows + 1
        start = [row for _, row in islice(self.rows(), len(self.first) + 1)]
        square = len(start) == len(self.first) and counts_up(row[0] for row in start)
        # Whole numbers in two columns may be anything; pandas writes a number with decimals as 0.0.
        decimals = not all(cell.isdecimal() for cell in start[min(1, len(start) - 1)])
        return len(self.first) > 1 and not square and (len(self.first) > MAX_AMBIGUOUS_COLUMNS or decimals)

    def numbers(
        self, start: int, skipped: int, coded: Mapping[int | str, Callable[[str], float]] | None = None
    ) -> Array:
        """Return the numbers below `skipped` lines, from column `start` on; `coded` gives numbers for other cells."""
        lines = enumerate(read_lines(self.name, self.source), start=1)
        width = len(self.first)
        columns = range(start, width)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of an empty table, which is refused
                values: Array = np.loadtxt(
                    (text for number, text in lines if number > skipped and text.strip()),
                    delimiter=self.separator,
                    ndmin=2,
                    comments=None,
                    quotechar='"',
                    usecols=columns if start else None,
                    converters=dict(coded or {}),
                )
            uneven = values.shape[1] != len(columns) or (start and any(len(row) != width for _, row in self.rows()))
            wrong = values.size > 0 and (uneven or not np.isfinite(values).all())
        except InputError:
            raise
        except (ValueError, IndexError):
            wrong = True
        if wrong:
            plain = [column for column in columns if column not in (coded or {})]
            self.check("only numbers", plain, skipped, is_finite)
            raise InputError(f"{self.name} must hold only numbers; it could not be read.")
        return values

    def words(self, start: int, skipped: int) -> NDArray[np.str_]:
        """Return the cells below `skipped` lines, from column `start` on, none of them empty."""
        self.check(EVERY_LABEL, range(start, len(self.first)), skipped, bool)
        return np.array([row[start:] for number, row in self.rows() if number > skipped])

    def check(self, what: str, columns: Sequence[int], skipped: int, is_cell: Callable[[str], bool]) -> None:
        """Raise at the first row of another length than the first, or the first wrong cell below `skipped` lines."""
        for number, row in self.rows():
            if len(row) != len(self.first):
                found = "" if self.separator == "," else f", separated by {SEPARATORS[self.separator]}"
                problem = f"row {number} has {len(row)} cells, the first has {len(self.first)}{found}"
                raise InputError(f"{self.name} must hold {what}; {problem}.")
            for column in columns if number > skipped else ():
                if not is_cell(row[column]):
                    raise wrong_cell(self.name, number, column + 1, row[column], what)


def wrong_cell(name: str, row: int, column: int, cell: str, what: str = "only numbers") -> InputError:
    """Return the error for a cell; rows and columns are counted from 1."""
    given, hint = repr(cell[:MAX_SHOWN_CHARACTERS]) if cell else "empty", ""
    if is_number(cell):
        hint = ", which is not finite"
    elif is_number(cell.replace(",", ".")):
        hint = ", with a decimal comma instead of a point"
    elif len(cell.split()) > 1 and all(map(is_number, cell.split())):
        hint = ", numbers separated by spaces instead of commas"
    return InputError(f"{name} must hold {what}; the cell in row {row}, column {column} is {given}{hint}.")


def is_number(cell: str) -> bool:
    """Return whether a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def is_finite(cell: str) -> bool:
    """Return whether a cell is a finite number."""
    return is_number(cell) and math.isfinite(float(cell))


def counts_up(cells: Iterable[str]) -> bool:
    """Return whether cells are 0, 1, 2, …, the names pandas gives to columns and rows without names."""
    return all(cell.strip() == str(place) for place, cell in enumerate(cells))


def read_lines(name: str, source: Path | bytes | Sequence[str]) -> Iterator[str]:
    """Yield the lines of a text in UTF-8, or raise at the first line that is not; a byte order mark is skipped."""
    if isinstance(source, Path):
        check_file(source)
    elif not isinstance(source, bytes):
        yield from source
        return
    packed = isinstance(source, Path) and source.suffix.lower() == ".gz"
    with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as stream:
        unpacked: Any = gzip.GzipFile(fileobj=stream) if packed else stream
        with io.TextIOWrapper(unpacked, "utf-8-sig", "surrogateescape") as text:
            try:
                for number, line in enumerate(text, start=1):
                    # Bytes that are not UTF-8 are read as surrogates.
                    if "\0" in line or not (line.isascii() or all(not "\ud800" <= one <= "\udfff" for one in line)):
                        raise InputError(f"{name} must be text in UTF-8; line {number} of the file is not.")
                    yield line
            except (gzip.BadGzipFile, EOFError, zlib.error):
                raise InputError(f"{name} must be a whole .gz file; it cannot be unpacked.") from None


def check_file(path: Path) -> None:
    """Raise if there is no file at a path."""
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder, not a file.")
    if not path.is_file():
        raise InputError(f"There is no file {str(path)!r}.")


def suffix_of(name: str, file_name: str) -> str:
    """Return the suffix of a file name if it is an allowed one."""
    suffix = next((one for one in SUFFIXES if file_name.lower().endswith(one)), None)
    if suffix is None:
        raise InputError(f"{name} must be a file ending in {KINDS}; got {file_name[-MAX_SHOWN_CHARACTERS:]!r}.")
    return suffix


def read_table(
    name: str, file: str | os.PathLike[str], *, words: bool = False, rows: int | None = None, names: str = "any"
) -> Table:
    """Return the table of a file; a ``.npy`` file stays on disk until its rows are read.

    Parameters
    ----------
    name : str
        Name of the table in error messages, and of its array if an ``.npz`` file holds several.
    file : str or path
    words, rows, names
        See :func:`~genlaws.core.tables.read_csv`.
    """
    path = Path(file)
    suffix = suffix_of(name, path.name)
    check_file(path)
    if suffix in TEXT_SUFFIXES:
        return read_csv(name, path, words=words, rows=rows, names=names)
    if suffix == ".parquet":
        return _read_parquet(name, path, words=words)
    if suffix == ".npz":
        values = _read_npz(name, path)
    else:
        with path.open("rb") as stream:
            _check_magic(name, stream.read(len(NPY_MAGIC)))
        try:
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise _unreadable(name, error) from None
    if not values.ndim or not values.size:
        raise InputError(f"{name} must hold at least one number; {str(path)!r} holds none.")
    _check_finite(name, values)
    return Table(values)


def read_csv(
    name: str,
    source: Path | bytes | Sequence[str],
    *,
    words: bool = False,
    rows: int | None = None,
    names: str = "any",
) -> Table:
    """Return the cells of a table as numbers, or as text.

    The first line is read as names of columns if it holds words, unless it also holds numbers other than 0, 1, 2, ….
    The line 0, 1, 2, …, which pandas writes above columns without names, is also read as names, unless the table is a
    square matrix whose first column is the same. Where the number of rows is known, it decides about such a line, and
    about the first line of a table of words. The first column is read as names of rows if it has no name, if its
    name is index and it counts 0, 1, 2, …, or if the table is of numbers and it holds different words.

    Parameters
    ----------
    name : str
        Name of the table in error messages.
    source : Path, bytes or sequence of str
        A file in UTF-8, its content, or lines.
    words : bool
        Whether the cells are text.
    rows : int or None
        How many rows are expected.
    names : {"any", "numbers", "none"}
        Which names the table may have: any, only 0, 1, 2, … for columns, or none.
    """
    text = TextTable(name, source, WORD_SEPARATORS if words else NUMBER_SEPARATORS)
    if not text.first:
        raise InputError(f"{name} must hold at least one number; the table is empty.")
    index = names == "any" and (text.has_row_names() or (not words and text.has_header() and text.has_words_first()))
    header = index or (names == "any" and not words and text.has_header())
    header = header or (names != "none" and text.has_ambiguous_header(rows, words=words))
    skipped = text.header_line if header else 0
    values: NDArray[Any] = text.words(int(index), skipped) if words else text.numbers(int(index), skipped)
    if not values.size:
        raise InputError(f"{name} must hold at least one number; the table holds only names.")
    labels = tuple(row[0] for _, row in islice(text.rows(), 1, None)) if index else ()
    return Table(values, tuple(text.first[int(index) :]) if header else (), labels, text.separator)


def read_uploaded_table(
    name: str, content: bytes, suffix: str, *, words: bool = False, rows: int | None = None
) -> Table:
    """Return the numbers of an uploaded table, one row per item, and what was read as names.

    Parameters
    ----------
    name : str
        Name of the table in error messages, and of its array if an ``.npz`` file holds several.
    content : bytes
    suffix : str
        One of ``SUFFIXES``.
    words : bool
        Whether a table of text holds labels, which become whole numbers, the same for the same label.
    rows : int or None
        How many rows are expected, to distinguish names of columns from a row of cells.
    """
    if suffix in TEXT_SUFFIXES:
        lines = [line for line in read_lines(name, content) if line.strip()]
        if not lines:
            raise InputError(f"{name} must hold at least one number; the file has no rows.")
        most_cells = 1 + max(max(map(line.count, SEPARATORS)) for line in lines)
        _check_shape(name, (max(1, len(lines) - 1), most_cells))
        table = read_csv(name, content, words=words, rows=rows)
        _check_shape(name, table.values.shape)
        return replace(table, values=_numbered(name, table.values)) if words else table
    _check_magic(name, content, NPY_MAGIC if suffix == ".npy" else b"")
    if suffix == ".parquet":
        return _read_parquet(name, content)
    values = _read_npz(name, content) if suffix == ".npz" else _read_npy(name, content)
    _check_finite(name, values)
    return Table(values)


def _check_magic(name: str, start: bytes, magic: bytes = NPY_MAGIC) -> None:
    if not start:
        raise InputError(f"{name} must hold at least one number; the file is empty.")
    if not start.startswith(magic):
        raise InputError(f"{name} must be a .npy file of numpy; this file is something else under that name.")


def _check_finite(name: str, values: NDArray[Any]) -> None:
    """Raise at the first NaN or infinite number of an array."""
    step = max(1, CHECKED_AT_ONCE * len(values) // values.size)
    for start in range(0, len(values) if values.dtype.kind == "f" else 0, step):
        block = values[start : start + step]
        if not np.isfinite(block).all():
            row, *others = np.argwhere(~np.isfinite(block))[0].tolist()
            raise wrong_cell(name, start + row + 1, [*others, 0][0] + 1, str(block[row, *others]))


def _unreadable(name: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return InputError(f"{name} must hold only numbers; the file could not be read: {reason}.")


@contextmanager
def open_archive(name: str, source: Path | bytes) -> Iterator[NpzFile]:
    """Open an archive of arrays, as ``numpy.savez`` writes it, for the time of a ``with`` statement."""
    with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as stream:
        if not zipfile.is_zipfile(stream):
            raise InputError(f"{name} must be an .npz archive; this is not an .npz archive, or it is cut short.")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            yield archive


def _read_npz(name: str, source: Path | bytes) -> NDArray[Any]:
    """Return the only array of an archive, or the one called `name`; an uploaded one is unpacked up to a limit."""
    try:
        with open_archive(name, source) as archive:
            found = archive.files
            wanted = found[0] if len(found) == 1 else name
            if wanted not in found:
                listed = ", ".join(found[:MAX_ARRAYS_LISTED]) or "none"
                raise InputError(f"{name} must be the only array in its file, or be called {name!r}; found {listed}.")
            if isinstance(source, Path):
                return np.asarray(archive[wanted])
            with zipfile.ZipFile(io.BytesIO(source)).open(f"{wanted}.npy") as stream:
                content = stream.read(MAX_UNPACKED_BYTES + 1)
    except InputError:
        raise
    except (*DATA_READ_ERRORS, KeyError) as error:
        raise _unreadable(name, error) from None
    if len(content) > MAX_UNPACKED_BYTES:
        raise InputError(f"{name} must have at most {MAX_UNPACKED_BYTES // 2**20} MiB once unpacked; it has more.")
    return _read_npy(name, content)


def _read_parquet(name: str, source: Path | bytes, *, words: bool = False) -> Table:
    """Return the numbers of a Parquet file; the index that pandas stores in it gives names of rows."""
    table = _parquet_cells(name, source, words=words)
    if not words:
        _check_finite(name, table.values)
        return table
    for row, column in np.argwhere(table.values == "").tolist():
        raise wrong_cell(name, row + 1, column + 1, "", EVERY_LABEL)
    return replace(table, values=table.values.astype(str))


def _parquet_lines(name: str, path: Path) -> list[str]:
    """Return a Parquet file as lines of text, the first with the names of its columns; its index is left out."""
    check_file(path)
    table = _parquet_cells(name, path, words=True)
    text = io.StringIO()
    csv.writer(text).writerows([table.columns, *table.values.tolist()])
    return text.getvalue().splitlines(keepends=True)


def _parquet_cells(name: str, source: Path | bytes, *, words: bool) -> Table:
    """Return the cells of a Parquet file: numbers, or with words what each cell holds, an empty text if nothing."""
    try:
        from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped] # noqa: PLC0415
        from pyarrow.types import is_floating, is_integer  # type: ignore[import-untyped] # noqa: PLC0415
    except ImportError:
        raise InputError("Parquet needs pyarrow; install it with pip install 'genlaws[export]'.") from None
    try:
        file = ParquetFile(source if isinstance(source, Path) else io.BytesIO(source))
        schema = file.schema_arrow
        index = [one for one in (schema.pandas_metadata or {}).get("index_columns", ()) if isinstance(one, str)]
        columns = [one for one in schema.names if one not in index]
        if isinstance(source, bytes):
            rows = sum(file.metadata.row_group(number).num_rows for number in range(file.num_row_groups))
            _check_shape(name, (rows, len(columns)))
        for number, column in enumerate(columns, start=1):
            kind = schema.field(column).type
            if not (words or is_floating(kind) or is_integer(kind)):
                raise InputError(f"{name} must hold only numbers; column {number}, {column!r}, holds {str(kind)[:40]}.")
        frame = file.read(columns).to_pandas()
        values = (frame.astype(object).where(frame.notna(), "") if words else frame).to_numpy()
        labels = map(str, file.read(index[:1]).column(0).to_pylist()) if index else ()
    except InputError:
        raise
    except (*DATA_READ_ERRORS, KeyError, TypeError) as error:
        raise _unreadable(name, error) from None
    if not values.size:
        raise InputError(f"{name} must hold at least one number; the file has none.")
    return Table(values, tuple(columns), tuple(labels))


def _read_npy(name: str, content: bytes) -> NDArray[Any]:
    _check_magic(name, content)
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
