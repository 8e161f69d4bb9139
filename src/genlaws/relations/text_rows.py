"""Read a text file of columns, plain or compressed."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

from genlaws.numerics.errors import InputError


def read_rows(file: Path) -> list[list[str]]:
    """Return the columns of each line of a file, plain or ``.gz``; tabs, commas or spaces as in its first line."""
    if not file.is_file():
        raise InputError(f"There is no file {str(file)!r}.")
    try:
        return list(_rows(file))
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, csv.Error) as error:
        raise InputError(f"{file.name} could not be read as text with tabs or commas: {error}.") from None


def _rows(file: Path) -> Iterator[list[str]]:
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8", newline="") as stream:
        first = stream.readline()
        stream.seek(0)
        if "\t" in first:
            yield from (line.rstrip("\r\n").split("\t") for line in stream)
        elif "," in first:
            yield from csv.reader(stream)
        else:
            yield from (line.split() for line in stream)
