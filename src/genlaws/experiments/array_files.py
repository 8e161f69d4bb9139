"""The arrays of one cell in one file, which is either there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy

from genlaws.numerics.errors import InputError

ARRAYS = "arrays"
READ_ERRORS = (OSError, EOFError, BadZipFile, RuntimeError, ValueError)  # what a missing or damaged file raises


def write_arrays(folder: Path, key: str, arrays: Mapping[str, np.ndarray]) -> str | None:
    """Write the arrays of a cell and return the name of the file, or nothing if there are none."""
    if not arrays:
        return None
    name = f"{key[:2]}/{key}.npz"
    path = folder / ARRAYS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{key}.part")  # there is one writer; what a killed one left is written over
    try:
        part.write_bytes(_packed(arrays))
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return name


def read_arrays(folder: Path, file: str | None) -> dict[str, np.ndarray]:
    """Return the arrays of a file by their names."""
    if file is None:
        return {}
    path = folder / ARRAYS / file
    try:
        with ZipFile(path) as archive:
            return {entry.removesuffix(".npy"): _unpacked(archive, entry) for entry in archive.namelist()}
    except READ_ERRORS as error:
        raise InputError(
            f"The arrays of a finished cell cannot be read from {str(path)!r}: {str(error) or type(error).__name__}. "
            "Run the same sweep again to recompute the cell."
        ) from None


def are_readable(folder: Path, file: str | None) -> bool:
    """Return whether the arrays of a cell are there and whole, by their checksums."""
    if file is None:
        return True
    try:
        with ZipFile(folder / ARRAYS / file) as archive:
            return archive.testzip() is None
    except READ_ERRORS:
        return False


def _packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the arrays as the bytes of an npz file; numpy's own writer keeps some names for itself."""
    stream = BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                npy.write_array(entry, array, allow_pickle=False)
    return stream.getvalue()


def _unpacked(archive: ZipFile, entry: str) -> np.ndarray:
    with archive.open(entry) as stream:
        array: np.ndarray = npy.read_array(stream, allow_pickle=False)
        return array
