"""``genlaws report``: one page with the laws compared with new runs, and the results for your own data.

The kind of a file given with ``--data`` is named by a prefix or recognized from name and content.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from genlaws.cli.questions import command_of, fills
from genlaws.cli.relations.source import holds_matrix, read_relation
from genlaws.cli.residual_stream.commands import read_texts
from genlaws.core.arguments import Array, real
from genlaws.core.errors import InputError
from genlaws.core.tables import KINDS, SUFFIXES, TEXT_SUFFIXES, check_file, is_number, read_table
from genlaws.relations.structure.training_set import edge_rows
from genlaws.report import UserData, whole_report
from genlaws.report.user_data.embeddings import is_distance_matrix
from genlaws.rules_facts import load_labeled

PREFIXES = ("embeddings", "distances", "labeled", "relation", "texts")
# What a file of each suffix can hold.
KINDS_BY_SUFFIX = {
    ".npy": ("embeddings", "distances", "relation"),
    ".npz": ("embeddings", "distances", "labeled", "relation"),
    ".csv": ("embeddings", "distances", "labeled", "relation"),
    ".tsv": ("embeddings", "distances", "labeled", "relation"),
    ".parquet": ("embeddings", "distances", "relation"),
    ".txt": ("relation", "texts"),
}
EDGE_SUFFIXES = (".txt", ".gz")  # of edges alone
KIND_LABELS = {
    "embeddings": "embeddings, one row for each stimulus",
    "distances": "a matrix of distances",
    "labeled": "labeled data",
    "relation": "a relation",
}
MAX_TEXTS = 64  # lines of a file for the model


def kind_and_path(given: str) -> tuple[str | None, Path]:
    """Return the kind that a prefix names, if there is one, and the file."""
    prefix, colon, rest = given.partition(":")
    if colon and prefix in PREFIXES:
        return prefix, Path(rest)
    return None, Path(given)


def is_texts(given: str) -> bool:
    """Return whether a file is read as texts."""
    kind, path = kind_and_path(given)
    return kind == "texts" or (kind is None and path.suffix.lower() == ".txt")


def read_user_data(given: str, positions: Path | None) -> UserData:
    """Return the content of a file, with a sentence about the kind it was recognized as."""
    named, path = kind_and_path(given)
    check_file(path)
    kind, why = (named, "as its prefix states") if named is not None else _kind_of_file(path)
    others = " or ".join(f"{one}:{path.name}" for one in KINDS_BY_SUFFIX.get(path.suffix.lower(), ()) if one != kind)
    otherwise = f" To read it as another kind: --data {others}." if others else ""
    message = f"{path.name} was read as {KIND_LABELS[kind]}, {why}.{otherwise}"
    if kind == "labeled":
        return UserData(path.name, kind, message, load_labeled(path))
    if kind == "relation":
        return UserData(path.name, kind, message, read_relation(str(path), None, None), is_matrix=holds_matrix(path))
    table = read_table(kind, path)
    values = _checked(path, kind, table.values)
    message = " ".join(filter(None, [message, table.names_message(path.name)]))
    data = UserData(path.name, kind, message, values)
    if positions is None:
        return data
    truth = read_table("positions", positions, rows=len(values))
    places = real("positions", truth.values)
    return replace(
        data,
        message=" ".join(filter(None, [message, truth.names_message(positions.name)])),
        positions=places[:, None] if places.ndim == 1 else places,
        positions_name=positions.name,
    )


def _checked(path: Path, kind: str, table: Any) -> Array:
    """Return a table of finite numbers, one row for each stimulus."""
    values = real(kind, table)
    if values.ndim != 2:
        raise InputError(f"{path.name} must be a table of two dimensions; got shape {values.shape}.")
    if kind == "distances" and not is_distance_matrix(values):
        raise InputError(
            f"{path.name} must be square and symmetric with zeros on its diagonal to be distances; got shape "
            f"{values.shape}."
        )
    return values


def _kind_of_file(path: Path) -> tuple[str, str]:
    """Return the kind of a file, and why."""
    suffix = path.suffix.lower()
    if suffix not in {*SUFFIXES, *EDGE_SUFFIXES}:
        raise InputError(f"data must be a file ending in .txt, .gz, {KINDS}; got {path.name!r}.")
    if suffix == ".npz":
        return "labeled", "because it is an archive of arrays"
    if suffix in EDGE_SUFFIXES:
        return "relation", f"because a {suffix} file holds edges"
    first = next(edge_rows(path), (0, []))[1] if suffix in TEXT_SUFFIXES else ["0"]
    if not first:
        raise InputError(f"{path.name} must hold numbers, samples or edges; it is empty.")
    if suffix in TEXT_SUFFIXES and not _all_numbers(path):
        return _kind_of_text_table(3 if suffix == ".tsv" else len(first))
    without_names = _kind_of_number_table(read_table("data", path, names="none").values)  # 0, 1 is a row of a relation
    if without_names[0] == "relation":
        return without_names
    return _kind_of_number_table(read_table("data", path, names="numbers").values)


def _all_numbers(path: Path) -> bool:
    """Return whether all cells are numbers or missing; names of columns other than 0, 1, 2, … may name classes."""
    return all(is_number(cell) or not cell for _, row in edge_rows(path) for cell in row)


def _kind_of_text_table(columns: int) -> tuple[str, str]:
    """Return the kind of a table with words: two or three columns are edges."""
    if columns in {2, 3}:
        return "relation", f"because its {columns} columns hold words, as edges do"
    return "labeled", "because it has words next to its numbers"


def _kind_of_number_table(values: Any) -> tuple[str, str]:
    """Return the kind of a table of numbers."""
    table = np.asarray(values)
    square = table.ndim == 2 and table.shape[0] == table.shape[1]
    if square and np.isin(table, (0, 1)).all():
        return "relation", "because it is square and holds only 0 and 1"
    if is_distance_matrix(table):
        return "distances", "because it is square and symmetric with zeros on its diagonal"
    whole = table.ndim == 2 and np.issubdtype(table.dtype, np.number) and (table >= 0).all() and (table % 1 == 0).all()
    if whole and table.shape[1] == 2:
        return "relation", "because its two columns are whole numbers, as edges are"
    return "embeddings", "because it is a table of numbers"


@fills("data", "texts")
def user_files(
    *,
    data: tuple[str, ...] = (),
    positions: Path | None = None,
    texts: Path | None = None,
    model: str | None = None,
) -> dict[str, Any]:
    """Return the user's files, and the texts for the model among them.

    Parameters
    ----------
    data : str, ...
        Files of yours: embeddings or distances (.npy, .csv, .tsv, .parquet), labeled data (.npz), a relation (matrix
        or edges), texts for --model (.txt). A prefix such as relation:FILE names what a file holds.
    positions : path, optional
        True positions of the stimuli of --data, one row each, or their matrix of distances, in a file.
    texts : path, optional
        Texts for --model, one per line.
    """
    found = [kind_and_path(one)[1] for one in data if is_texts(one)]
    lines = [*([] if texts is None else [texts]), *found]
    if len(lines) > 1:
        raise InputError(f"texts must be one file; got {', '.join(str(one) for one in lines)}.")
    if lines and model is None:
        raise InputError(
            f"{lines[0].name} was read as texts, which need --model; for edges use --data relation:{lines[0]}."
        )
    own = [read_user_data(one, positions) for one in data if not is_texts(one)]
    if positions is not None and sum(one.positions is not None for one in own) != 1:
        raise InputError("positions must come with exactly one file of embeddings or distances in --data.")
    read = read_texts(lines[0], 0, None, MAX_TEXTS)[0] if lines else None
    return {"data": own, "texts": None if read is None else tuple(line.strip() for line in read)}


report = command_of(
    whole_report, user_files, about="Takes a minute or two. Your files and your model get their own sections."
)
