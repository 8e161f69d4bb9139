"""Put files into a folder together, all of them or none, and save a picture with its caption inside."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genlaws import __version__
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

RESOLUTION = 300  # dots per inch of the PNG, as journals ask


def made_folder(name: str, folder: str | os.PathLike[str]) -> Path:
    """Return a folder, made if it does not exist; a file in its place is refused under the name of the argument."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError(f"{name} must be a folder; got {str(path)!r}, which is a file.")
    path.mkdir(parents=True, exist_ok=True)
    return path


def write_together(folder: Path, name: str, write: Callable[[Path], Mapping[str, Path]]) -> dict[str, Path]:
    """Let `write` make files in a hidden folder, then move them into `folder`, each in one step.

    Parameters
    ----------
    folder : Path
        Must exist. Files of the same name are replaced once all have been made.
    name : str
        Of the hidden folder.
    write : callable
        Gets a folder to write in and returns the path of each file by its kind.

    Returns
    -------
    dict
        Where each file is now.
    """
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as work:
        made = write(Path(work))
        paths = {kind: folder / path.name for kind, path in made.items()}
        for kind, path in made.items():
            os.replace(path, paths[kind])
    return paths


def save_picture(picture: Picture, path: Path, kind: str, title: str, caption: str) -> None:
    """Save a picture as pdf, png or svg. Without a date the same picture gives the same bytes."""
    from genlaws.figures.style import house_style  # noqa: PLC0415

    maker = f"genlaws {__version__}"
    metadata: dict[str, dict[str, Any]] = {
        "pdf": {"Title": title, "Subject": caption, "Creator": maker, "CreationDate": None},
        "png": {"Title": title, "Description": caption, "Software": maker},
        "svg": {"Title": title, "Description": caption, "Creator": maker, "Date": None},
    }
    with house_style():
        picture.savefig(path, format=kind, dpi=RESOLUTION, metadata=metadata[kind])
