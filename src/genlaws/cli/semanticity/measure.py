"""``genlaws semanticity measure`` and ``fit-choices``: how finely a representation, or a chooser, distinguishes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from genlaws import semanticity
from genlaws.cli.numbers import read_item_counts
from genlaws.cli.questions import command_of, fills
from genlaws.core.errors import InputError
from genlaws.core.tables import Table, read_csv, read_lines, read_table
from genlaws.semanticity.measurement.metrics import tree_distances
from genlaws.semanticity.parameters import METRIC

TREE_SUFFIXES = (".nwk", ".newick", ".tree", ".tre")


@fills("representation", "inputs", "distances", "positions", "metric", "name", "note")
def given_files(
    embeddings: Path, /, *, positions: Path, metric: Annotated[str, METRIC], labels: Path | None = None
) -> dict[str, Any]:
    """Return the rows of both files, and what was read as names.

    Parameters
    ----------
    embeddings : path
        One row per stimulus (.npy, .npz, .csv, .tsv or .parquet, also with names of columns and rows), or a matrix of
        similarities.
    positions : path
        True places, one row per stimulus, in a file of the same kinds; a matrix of distances with --metric
        precomputed; with --metric tree a tree in Newick format (.nwk) or columns of group labels, coarse to fine.
    labels : path, optional
        Names of the tree's leaves in the order of the stimuli, one per line.
    """
    table = read_table("embeddings", embeddings)
    truth, names = _truth(positions, metric, labels, len(table.values))
    note = " ".join(one for one in (table.names_message(embeddings.name), names) if one)
    return {"representation": table.values, **truth, "name": embeddings.name, "note": note}


@fills("items")
def item_options(*, items: str | None = None) -> dict[str, Any]:
    """Return the numbers of items.

    Parameters
    ----------
    items : str, optional
        Numbers of items; if left out, those of 2,3,5,10 that the set allows.
    """
    return {"items": None if items is None else read_item_counts(items)}


def _truth(path: Path, metric: str, labels: Path | None, rows: int) -> tuple[dict[str, Any], str]:
    """Return the positions or distances in a file, according to the metric, and what was read as names."""
    if path.suffix.lower() in TREE_SUFFIXES:
        if metric != "tree":
            raise InputError(f"metric must be tree for a tree file; got {metric!r}.")
        leaves, names = (None, "") if labels is None else _leaves(labels, rows)
        return {"distances": tree_distances("".join(read_lines("positions", path)).strip(), leaves)}, names
    if labels is not None:
        raise InputError("labels name the leaves of a tree file; with positions in a table they must be left out.")
    places = read_table("positions", path, words=metric == "tree", rows=rows)
    return {"positions": places.values, "metric": metric}, places.names_message(path.name)


def _leaves(path: Path, rows: int) -> tuple[list[str], str]:
    """Return the names of a file, one in each line, without a line or column of other names, and what these were."""
    lines = "".join(read_lines("labels", path)).strip().splitlines()
    if lines and lines[0].startswith(","):
        table = read_csv("labels", lines, words=True)
    else:  # a name may hold a comma
        header = int(len(lines) == rows + 1)
        names = [line.strip() for line in lines]
        table = Table(np.array(names[header:])[:, None], tuple(names[:header]), separator=",")
    leaves = table.values[:, 0].tolist()
    if len(leaves) != rows:
        raise InputError(f"labels must be one name for each of the {rows} stimuli; got {len(leaves)} in {path.name}.")
    return leaves, table.names_message(path.name)


measure = command_of(
    semanticity.measure,
    given_files,
    item_options,
    about="With --out a page (.html) or a folder is written, which holds the page, the numbers, tables and pictures.",
)


@fills("trials")
def recorded_trials(trials: Path, /, *, metric: str = "absolute", period: float | None = None) -> dict[str, Any]:
    """Return the trials of a file.

    Parameters
    ----------
    trials : path
        CSV file. Long, one row per option: trial, distance (or probe and item), chosen (1 or 0) and, if wanted,
        option (the name of the answer), place (in the list) and score (its probability). Wide, one row per trial:
        distance_1, distance_2, ... (or probe and item_1, ...), chosen (the number from 1, or the name, of an option)
        and, if wanted, option_1, ... and score_1, ...; nothing, or the word unparsed, for an answer that could not be
        read.
    metric : str
        How probe and item become a distance: absolute or circle.
    period : float, optional
        Circumference, for --metric circle; 360 for a hue.
    """
    return {"trials": semanticity.read_trials(trials, metric=metric, period=period)}


fit_choices = command_of(
    semanticity.fit_choices,
    recorded_trials,
    about="A trial without an answer is counted and reported; a row that is not understood is refused with its line.",
)
