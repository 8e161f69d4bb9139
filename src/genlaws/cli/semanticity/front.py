"""``genlaws semanticity front``: both tests at some resolutions, or along a whole front."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from genlaws import semanticity
from genlaws.cli.numbers import read_item_counts
from genlaws.cli.questions import command_of, fills
from genlaws.core.arguments import real
from genlaws.core.errors import InputError
from genlaws.core.result import Result
from genlaws.core.tables import read_table
from genlaws.semanticity.parameters import (
    Background,
    BallMass,
    Cut,
    Exponent,
    ItemCount,
    Resolution,
    SimilarityChoice,
    Ties,
)
from genlaws.semanticity.theory.exact import Items
from genlaws.semanticity.theory.front import resolutions_of

SpaceName = Annotated[
    str | None, Parameter(help="circle (if left out), segment, torus, sphere, hypercube or tree.", show_default=False)
]
Dimension = Annotated[int | None, Parameter(help="Dimension of the torus, sphere or hypercube.")]
Branching = Annotated[int | None, Parameter(help="Children of each node of the tree.")]
Depth = Annotated[int | None, Parameter(help="Levels of the tree.")]
Matrix = Annotated[
    Path | None, Parameter(help="Distance matrix: .npy, .npz, .csv, .tsv or .parquet; not with --space.")
]
Weights = Annotated[Path | None, Parameter(help="One weight for each row of --distances, in a file of the same kinds.")]
SetSize = Annotated[int | None, Parameter(help="Draw the items from this many stimuli, none of them twice.")]
Count = Annotated[str, Parameter(help="Items to choose from; several as 2,10 or 2:1000:9:log, rounded.")]
Sweep = Annotated[bool, Parameter(negative="", help="Give the whole front, from fine to coarse, and draw it.")]


@fills("item_count")
def item_options(items: Count = "2") -> dict[str, Any]:
    """Return one number of items, or several."""
    counts = read_item_counts(items)
    return {"item_count": counts[0] if len(counts) == 1 else np.array(counts)}


@fills("where")
def place_options(
    *,
    space: SpaceName = None,
    dimension: Dimension = None,
    branching: Branching = None,
    depth: Depth = None,
    distances: Matrix = None,
    weights: Weights = None,
    set_size: SetSize = None,
) -> dict[str, Any]:
    """Return a space by name or by its distances, or a set of stimuli."""
    sizes = {"dimension": dimension, "branching": branching, "depth": depth}
    if distances is not None:
        return {"where": _given_items(distances, {"space": space, **sizes}, weights, set_size)}
    if weights is not None:
        raise InputError("weights must come with --distances, one weight for each of its rows; got no --distances.")
    where = semanticity.space(space or "circle", **sizes)
    return {"where": where if set_size is None else semanticity.even_set(where, set_size)}


def _given_items(
    distances: Path, other: dict[str, str | int | None], weights: Path | None, set_size: int | None
) -> Items:
    """Return the space of a distance matrix, or its stimuli as a set; options of another space raise."""
    for option, value in other.items():
        if value is not None:
            raise InputError(f"distances define their own space; leave out --{option} or --distances.")
    matrix = real("distances", read_table("distances", distances).values)
    if not matrix.any():
        raise InputError("distances must not all be zero; all stimuli would be the same.")
    if set_size is None:
        given = None if weights is None else read_table("weights", weights).values.ravel()
        return semanticity.from_distances(matrix, given)
    if weights is not None:
        raise InputError("weights must be left out with --set-size: all stimuli are drawn alike, at most once.")
    if set_size != len(matrix):
        raise InputError(f"set_size must be {len(matrix)}, the number of rows of distances; got {set_size}.")
    return semanticity.stimulus_set(matrix)


def points_or_front(
    where: Items,
    *,
    similarity: SimilarityChoice = "constant",
    background: Background = 0.0,
    cut: Cut = None,
    exponent: Exponent = None,
    item_count: ItemCount = 2,
    ball_mass: BallMass = None,
    resolution: Resolution = None,
    ties: Ties = "split",
    sweep: Sweep = False,
) -> Result:
    """Give the chance to pick the nearest item (generalization) and the original of a copy (identification)."""
    form: dict[str, Any] = {"background": background, "cut": cut, "exponent": exponent}
    if not sweep:
        chosen: dict[str, Any] = {"item_count": item_count, "ball_mass": ball_mass, "resolution": resolution}
        return semanticity.front_points(where, similarity=similarity, **form, **chosen, ties=ties)
    if np.ndim(background) or np.ndim(item_count):
        raise InputError("sweep must have one background and one number of items; got several of them.")
    return semanticity.front(
        where,
        similarity=semanticity.similarity(similarity, 1.0, **form),
        item_count=int(np.asarray(item_count)),
        marked=() if ball_mass is None and resolution is None else resolutions_of(where, ball_mass, resolution),
        ties=ties,
    )


front = command_of(
    points_or_front,
    place_options,
    item_options,
    about="Give either --ball-mass or --resolution; with --sweep they mark points on the front and may be left out.",
)
