"""A file of the user, of a known kind."""

from __future__ import annotations

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
    """

    name: str
    kind: str
    message: str
    content: Array | LabeledData | Relation
    positions: Array | None = None
    positions_name: str = ""
    is_matrix: bool = False
