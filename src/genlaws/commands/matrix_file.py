"""Read a table from a file, ``.npy`` or ``.csv``, or say in one sentence why not."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.numerics.arguments import Array

SUFFIXES = (".npy", ".csv")


def open_table(name: str, path: Path, *, words: bool = False) -> Any:
    """Return the table of a file; a ``.npy`` file stays on disk until its rows are asked for.

    Parameters
    ----------
    name : str
        What the file holds, as the error calls it.
    path : Path
        A CSV file has no header.
    words : bool
        Whether a CSV file holds words rather than numbers.
    """
    import numpy as np

    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{name} must be a file ending in {' or '.join(SUFFIXES)}; got {str(path)!r}.")
    if not path.is_file():
        raise InputError(f"{name} must name a file; there is none at {str(path)!r}.")
    try:
        if path.suffix.lower() == ".npy":
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        else:
            with warnings.catch_warnings():
                # An empty file is told apart below.
                warnings.simplefilter("ignore", UserWarning)
                kind = str if words else float
                values = np.loadtxt(path, dtype=kind, delimiter=",", ndmin=2, encoding="utf-8", comments=None)
    except (ValueError, EOFError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{name} must be numbers alone; {str(path)!r} could not be read: {reason}.") from None
    if not isinstance(values, np.ndarray) or values.size == 0:
        raise InputError(f"{name} must hold at least one number; {str(path)!r} holds none.")
    return values


def read_matrix(name: str, path: Path) -> Array:
    """Return the numbers of a file as a float array."""
    from genlaws.numerics.arguments import real

    return real(name, open_table(name, path))
