"""Keep states in the order of the texts while they come in the order of their lengths: in memory, or in a file."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import IO

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from genlaws.numerics.arguments import Whole
from genlaws.numerics.errors import InputError

States = NDArray[np.float32]


class KeptInMemory:
    """One array, made when the first states come.

    Attributes
    ----------
    row_count : int
        How many rows there will be.
    """

    def __init__(self, row_count: int) -> None:
        self.row_count = row_count
        self._array: States | None = None

    def __enter__(self) -> KeptInMemory:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Nothing is open."""

    def write(self, rows: Whole, states: States) -> None:
        """Keep states as these rows."""
        if self._array is None:
            self._array = np.empty((self.row_count, *states.shape[1:]), dtype=np.float32)
        self._array[rows] = states

    def states(self) -> States:
        """Return all rows."""
        assert self._array is not None
        return self._array


class KeptInFile:
    """A file of numpy's format, written row by row, so that no more than a batch is ever in memory.

    Attributes
    ----------
    path : path
        Ends in ``.npy`` and must not exist; it is removed again if the block is left by an error.
    row_count : int
        How many rows there will be.
    """

    def __init__(self, path: Path, row_count: int) -> None:
        if path.suffix != ".npy":
            raise InputError(f"to must be the name of a file that ends in .npy; got {str(path)!r}.")
        if path.exists():
            raise InputError(f"to must be a file that does not exist yet; {str(path)!r} does.")
        if not path.resolve().parent.is_dir():
            raise InputError(f"to must lie in a folder that exists; got {str(path)!r}.")
        self.path, self.row_count = path, row_count
        self._file: IO[bytes] | None = None
        self._begin = 0

    def __enter__(self) -> KeptInFile:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
            if kind is not None:
                self.path.unlink()

    def write(self, rows: Whole, states: States) -> None:
        """Write states as these rows; rows that follow one another are written at once."""
        if self._file is None:
            made = open_memmap(self.path, mode="w+", dtype=np.float32, shape=(self.row_count, *states.shape[1:]))
            self._begin = int(made.offset)
            del made
            self._file = self.path.open("r+b")
        size = states[0].nbytes
        breaks = np.flatnonzero(np.diff(rows) != 1) + 1
        for row, run in zip(np.split(rows, breaks), np.split(states, breaks), strict=True):
            self._file.seek(self._begin + int(row[0]) * size)
            self._file.write(np.ascontiguousarray(run).tobytes())

    def states(self) -> States:
        """Return all rows, mapped from the file."""
        mapped: States = np.load(self.path, mmap_mode="r")
        return mapped
