"""Read a table that somebody sent, ``.npy`` or ``.csv``, trusting nothing in it.

What a ``.npy`` file claims about itself is compared with its length before anything is allocated, and nothing in it is
ever unpickled. Sizes are limited before numbers are read.
"""

from __future__ import annotations

import io
import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlaws.numerics.csv_table import CsvTable, read_csv
from genlaws.numerics.errors import InputError

SUFFIXES = (".npy", ".csv")
# The exact measurement of 2,000 items takes about 10 s and 0.75 GB on one core; both grow with their square.
MOST_ITEMS = 2000
MOST_COLUMNS = 100_000
LONGEST_WORD = 100  # characters of a label
MAGIC = b"\x93NUMPY"
HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def suffix_of(name: str, file_name: str) -> str:
    """Return the kind of a file by the end of its name."""
    suffix = next((one for one in SUFFIXES if file_name.lower().endswith(one)), None)
    if suffix is None:
        raise InputError(f"{name} must be a file ending in {' or '.join(SUFFIXES)}; got {file_name[-40:]!r}.")
    return suffix


def read_table(name: str, content: bytes, suffix: str, *, words: bool = False, rows: int | None = None) -> CsvTable:
    """Return the numbers of a table, one row per item, and what around them was read as names.

    Parameters
    ----------
    name : str
        What the file holds, as a sentence calls it.
    content : bytes
    suffix : {".npy", ".csv"}
    words : bool
        Whether a CSV file holds labels, which become whole numbers, the same for the same label.
    rows : int or None
        How many rows are expected, which tells names of columns from a row that looks like them.
    """
    if not content:
        raise InputError(f"{name} must hold at least one number; the file is empty.")
    if suffix == ".npy":
        table = CsvTable(_read_npy(name, content), header=False, index=False)
    else:
        table = read_csv(name, _lines(name, content), words=words, rows=rows)
        _check_shape(name, table.values.shape)
        table = replace(table, values=_numbered(name, table.values)) if words else table
    if table.values.dtype.kind == "f" and not np.isfinite(table.values).all():
        raise InputError(f"{name} must be finite; there are NaN or infinite numbers in the file.")
    return table


def _read_npy(name: str, content: bytes) -> NDArray[Any]:
    if not content.startswith(MAGIC):
        raise InputError(f"{name} must be a .npy file of numpy; this file is something else under that name.")
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        shape, by_columns, kind = HEADER_READERS[version](stream)
    except Exception:  # a header is an expression that anybody can write
        raise InputError(f"{name} must be a .npy file as numpy.save writes it; its header cannot be read.") from None
    if kind.hasobject or kind.kind not in "iuf":
        raise InputError(f"{name} must be real numbers; the file holds {str(kind)[:40]}. Nothing in it was unpickled.")
    _check_shape(name, shape)
    needed, there = math.prod(shape) * kind.itemsize, len(content) - stream.tell()
    if needed != there:
        raise InputError(
            f"{name} must be a whole .npy file; its header speaks of {needed:,} bytes, there are {there:,}."
        )
    table = np.frombuffer(content, kind, offset=stream.tell()).reshape(shape, order="F" if by_columns else "C")
    return table.astype(kind.newbyteorder("=") if kind.itemsize <= 8 else np.float64)


def _numbered(name: str, labels: NDArray[Any]) -> NDArray[Any]:
    if np.char.str_len(labels).max() > LONGEST_WORD:
        raise InputError(f"{name} must be labels of at most {LONGEST_WORD} characters; one is longer.")
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape).astype(np.int64)


def _lines(name: str, content: bytes) -> list[str]:
    """Return the lines of a text that are not empty, after a look at how many rows and columns there are."""
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
    if shape[0] > MOST_ITEMS:
        raise InputError(
            f"{name} must have at most {MOST_ITEMS:,} rows, one per item; the file has {shape[0]:,}. Larger sets are "
            "measured with: genlaws semanticity measure"
        )
    if len(shape) == 2 and shape[1] > MOST_COLUMNS:
        raise InputError(f"{name} must have at most {MOST_COLUMNS:,} columns; the file has {shape[1]:,}.")
