"""Write files so that either all of them appear or none changes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from genlaws.core.errors import InputError


def check_folder(name: str, folder: Path | None) -> None:
    """Raise an error with the name of the argument if the folder is a file; nothing is created."""
    if folder is not None and folder.exists() and not folder.is_dir():
        raise InputError(f"{name} must be a folder; got {str(folder)!r}, which is a file.")


def made_folder(name: str, folder: str | os.PathLike[str]) -> Path:
    """Return a folder, created if it does not exist; a file in its place raises an error that names the argument."""
    path = Path(folder)
    check_folder(name, path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def write_together(folder: Path, name: str, write: Callable[[Path], Mapping[str, Path]]) -> dict[str, Path]:
    """Let `write` make files in a hidden folder, then move them into `folder`, each in one step.

    Parameters
    ----------
    folder : Path
        Must exist. Files of the same name are replaced once all have been written.
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


def write_contents(folder: Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Write texts and bytes as files of a folder, which is created if needed; all of them or none."""

    def write(work: Path) -> dict[str, Path]:
        """Write every file into a folder of its own."""
        for name, content in contents.items():
            (work / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return {name: work / name for name in contents}

    return list(write_together(made_folder("out", folder), "result", write).values())
