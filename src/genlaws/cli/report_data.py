"""What a file given to ``genlaws report --data`` holds: recognized by its name and content, or as its prefix says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from genlaws.cli.relations.source import holds_matrix, read_relation
from genlaws.cli.residual_stream.analyze import read_texts
from genlaws.core.arguments import Array, real
from genlaws.core.errors import InputError
from genlaws.core.tables import open_table, read_table
from genlaws.report.user_data.data import OwnData
from genlaws.report.user_data.embeddings import is_distance_matrix
from genlaws.rules_facts import load_labeled

PREFIXES = ("embeddings", "distances", "labeled", "relation", "texts")
SUFFIXES = (".npy", ".csv", ".npz", ".tsv", ".txt", ".gz")
# What a file of each suffix can hold.
HELD = {
    ".npy": ("embeddings", "distances", "relation"),
    ".csv": ("embeddings", "distances", "labeled", "relation"),
    ".txt": ("relation", "texts"),
}
WORDS = {
    "embeddings": "embeddings, one row for each stimulus",
    "distances": "a matrix of distances",
    "labeled": "labeled data",
    "relation": "a relation",
}
MOST_TEXTS = 64  # of a file, for the model


def kind_and_path(given: str) -> tuple[str | None, Path]:
    """Return the kind that a prefix names, if there is one, and the file."""
    prefix, colon, rest = given.partition(":")
    if colon and prefix in PREFIXES:
        return prefix, Path(rest)
    return None, Path(given)


def is_texts(given: str) -> bool:
    """Return whether a file is taken for texts."""
    kind, path = kind_and_path(given)
    return kind == "texts" or (kind is None and path.suffix.lower() == ".txt")


def read_own_data(given: str, positions: Path | None) -> OwnData:
    """Return what a file holds, with the sentence that says what it was taken for."""
    named, path = kind_and_path(given)
    if not path.is_file():
        what = "a folder" if path.is_dir() else "not there"
        raise InputError(f"data must be a file; {str(path)!r} is {what}.")
    kind, why = (named, "as its prefix says") if named is not None else _recognized(path)
    others = " or ".join(f"{one}:{path.name}" for one in HELD.get(path.suffix.lower(), ()) if one != kind)
    otherwise = f" To say otherwise: --data {others}." if others else ""
    said = f"{path.name} was taken for {WORDS[kind]}, {why}.{otherwise}"
    if kind == "labeled":
        return OwnData(path.name, kind, said, load_labeled(path))
    if kind == "relation":
        return OwnData(path.name, kind, said, read_relation(str(path), None, None), is_matrix=holds_matrix(path))
    table = read_table(kind, path)
    values = _checked(path, kind, table.values)
    said = " ".join(filter(None, [said, table.said(path.name)]))
    if positions is None:
        return OwnData(path.name, kind, said, values, options=table.options)
    truth = read_table("positions", positions, rows=len(values))
    return OwnData(
        path.name,
        kind,
        " ".join(filter(None, [said, truth.said(positions.name)])),
        values,
        _positions(truth.values),
        positions.name,
        options=table.options,
        positions_options=truth.options,
    )


def _checked(path: Path, kind: str, table: Any) -> Array:
    """Return a table of finite numbers, one row for each stimulus."""
    import numpy as np

    values = real(kind, table)
    if values.ndim != 2:
        raise InputError(f"{path.name} must be a table of two dimensions; got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError(f"{path.name} must hold finite numbers alone; {int((~np.isfinite(values)).sum())} are not.")
    if kind == "distances" and not is_distance_matrix(values):
        raise InputError(
            f"{path.name} must be square and symmetric with zeros on its diagonal to be distances; got shape "
            f"{values.shape}."
        )
    return values


def _positions(table: Any) -> Array:

    values = real("positions", table)
    return values[:, None] if values.ndim == 1 else values


def _recognized(path: Path) -> tuple[str, str]:
    """Return what a file is taken for, and why."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"data must be a file ending in {', '.join(SUFFIXES)}; got {path.name!r}.")
    if suffix == ".npz":
        return "labeled", "because it is an archive of arrays"
    if suffix in {".tsv", ".gz", ".txt"}:
        return "relation", f"because a {suffix} file holds edges"
    if suffix == ".csv" and not _all_numbers(path):
        return _of_words(path)
    as_it_is = _of_numbers(open_table("data", path, names="none"))  # 0 and 1 are a row of a relation
    return as_it_is if as_it_is[0] == "relation" else _of_numbers(open_table("data", path, names="numbers"))


def _all_numbers(path: Path) -> bool:
    """Return whether a table is numbers, but for a line 0, 1, 2, … above them; names of columns may name classes."""
    try:
        open_table("data", path, names="numbers")
    except InputError:
        return False
    return True


def _of_words(path: Path) -> tuple[str, str]:
    """Return what a table with words in it is taken for: two or three columns are edges."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        first = next((line for line in stream if line.strip()), "")
    columns = first.count(",") + 1
    if not first:
        raise InputError(f"{path.name} must hold numbers, samples or edges; it is empty.")
    if columns in {2, 3}:
        return "relation", f"because its {columns} columns hold words, as edges do"
    return "labeled", "because it has words beside its numbers"


def _of_numbers(values: Any) -> tuple[str, str]:
    """Return what a table of numbers is taken for."""
    import numpy as np

    table = np.asarray(values)
    square = table.ndim == 2 and table.shape[0] == table.shape[1]
    if square and np.isin(table, (0, 1)).all():
        return "relation", "because it is square and holds 0 and 1 alone"
    if is_distance_matrix(table):
        return "distances", "because it is square and symmetric with zeros on its diagonal"
    whole = table.ndim == 2 and np.issubdtype(table.dtype, np.number) and (table >= 0).all() and (table % 1 == 0).all()
    if whole and table.shape[1] == 2:
        return "relation", "because its two columns are whole numbers, as edges are"
    return "embeddings", "because it is a table of numbers"


def read_files(
    given: tuple[str, ...], positions: Path | None, texts: Path | None, model: str | None
) -> tuple[list[OwnData], tuple[str, ...] | None]:
    """Return the reader's files, and the texts for the model among them."""
    found = [kind_and_path(one)[1] for one in given if is_texts(one)]
    lines = [*([] if texts is None else [texts]), *found]
    if len(lines) > 1:
        raise InputError(f"texts must be one file; got {', '.join(str(one) for one in lines)}.")
    if lines and model is None:
        raise InputError(
            f"{lines[0].name} was taken for texts, which need --model; for edges say --data relation:{lines[0]}."
        )
    own = [read_own_data(one, positions) for one in given if not is_texts(one)]
    if positions is not None and sum(one.positions is not None for one in own) != 1:
        raise InputError("positions must come with exactly one file of embeddings or distances in --data.")
    return own, tuple(line.strip() for line in read_texts(lines[0], 0, None, MOST_TEXTS).texts) if lines else None
