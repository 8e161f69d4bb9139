"""Read a table from a file, ``.npy`` or ``.csv``, or say in one sentence why not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.numerics.arguments import Array
    from genlaws.numerics.csv_table import CsvTable

SUFFIXES = (".npy", ".csv")


def open_table(name: str, path: Path, *, names: str = "any") -> Any:
    """Return the table of a file; a ``.npy`` file stays on disk until its rows are asked for.

    Parameters
    ----------
    name : str
        What the file holds, as the error calls it.
    path : Path
    names : {"any", "numbers", "none"}
        Which names of columns and rows a CSV file may have, see :func:`~genlaws.numerics.csv_table.read_csv`.
    """
    return read_table(name, path, names=names).values


def read_table(name: str, path: Path, *, words: bool = False, rows: int | None = None, names: str = "any") -> CsvTable:
    """Return the table of a file as `open_table` does, with what was read as names.

    Parameters
    ----------
    words : bool
        Whether a CSV file holds words rather than numbers.
    rows : int or None
        How many rows are expected, which tells names of columns from a row that looks like them.
    """
    import numpy as np

    from genlaws.numerics.csv_table import CsvTable, read_csv

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
        raise InputError(f"{name} must be numbers alone; {str(path)!r} could not be read: {reason}.") from None
    if not isinstance(table.values, np.ndarray) or table.values.size == 0:
        raise InputError(f"{name} must hold at least one number; {str(path)!r} holds none.")
    return table


def read_matrix(name: str, path: Path) -> Array:
    """Return the numbers of a file as a float array."""
    from genlaws.numerics.arguments import real

    return real(name, open_table(name, path))
