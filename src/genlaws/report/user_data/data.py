"""A file of the user, of a known kind."""

from __future__ import annotations

import json
from dataclasses import dataclass

from genlaws.core.arguments import Array
from genlaws.relations import Relation
from genlaws.rules_facts.labels.data import LabeledData


@dataclass(frozen=True, eq=False)
class UserData:
    """What a file holds.

    Attributes
    ----------
    name : str
        Of the file.
    kind : {"embeddings", "distances", "labeled", "relation"}
    message : str
        The kind it was read as and why, and how to choose another.
    content : array, LabeledData or Relation
    positions : array, optional
        True positions of embeddings, one row each, or their matrix of distances.
    positions_name : str
        Of their file.
    is_matrix : bool
        Whether the file of a relation is a matrix; otherwise it holds edges.
    options, positions_options : str
        Options with which ``numpy.loadtxt`` skips names of columns and rows in either file.
    """

    name: str
    kind: str
    message: str
    content: Array | LabeledData | Relation
    positions: Array | None = None
    positions_name: str = ""
    is_matrix: bool = False
    options: str = ""
    positions_options: str = ""


def loading_code(name: str, options: str = "") -> str:
    """Return Python that reads a table of numbers from a file; `options` leave out its names of columns and rows."""
    if name.lower().endswith(".npy"):
        return f"np.load({json.dumps(name)})"
    return f'np.loadtxt({json.dumps(name)}, delimiter=",", ndmin=2{options})'
