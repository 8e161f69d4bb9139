"""How far apart classes are: in a tree a person gives, or in one made by clustering the means of their images."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist, squareform

from genlaws.numerics.arguments import Array
from genlaws.numerics.errors import InputError
from genlaws.semanticity.metrics import tree_distances
from genlaws.semanticity.newick import leaf_distances
from genlaws.semanticity.spaces import check_distances

NUMBERED = re.compile(r"^\d+[.\-_ ]+")  # folders such as 001.Black_footed_Albatross


def clustered_distances(images: ArrayLike, classes: ArrayLike) -> Array:
    """Return the distances between classes in the tree that average linkage makes of the means of their images.

    The distance of two classes is the height at which their branches meet (cophenetic distance), so it is an
    ultrametric: a tree whose leaves are equally far from the root.

    Parameters
    ----------
    images : array_like of shape (N, ...)
    classes : whole numbers of shape (N,), from 0 on
    """
    x, y = np.asarray(images), np.asarray(classes)
    if len(x) != len(y) or y.ndim != 1 or y.dtype.kind not in "iu" or not len(y) or y.min() < 0:
        raise InputError(
            f"classes must be one whole number from 0 on for each image; got shape {y.shape} of type {y.dtype} "
            f"for {len(x)} images."
        )
    counts = np.bincount(y)
    if len(counts) < 2 or not counts.all():
        raise InputError("classes must be at least two, each of them with an image.")
    rows = x.reshape(len(x), -1)
    means = np.stack([rows[y == one].mean(axis=0, dtype=np.float64) for one in range(len(counts))])
    heights = cophenet(linkage(pdist(means), "average"))
    distances: Array = squareform(heights)
    return distances


def distances_in_tree(
    tree: str | os.PathLike[str], class_names: Sequence[str], leaf_names: Mapping[str, str] | None = None
) -> Array:
    """Return the distances between classes along the branches of a tree.

    Parameters
    ----------
    tree : str or path
        Text in Newick format, or a file with it. Text without a bracket is the name of a file.
    class_names : sequence of str
        In the order of the rows. A class is looked up under its name, then without a leading number as in
        ``001.Laysan_Albatross``, each also with spaces as underscores.
    leaf_names : mapping from class to leaf, optional
        For classes that have other names in the tree; see :func:`read_leaf_names`.
    """
    newick = _text_of(tree)
    leaves = set(leaf_distances(newick)[0])
    return tree_distances(newick, [_leaf(name, leaves, leaf_names or {}) for name in class_names])


def read_leaf_names(
    file: str | os.PathLike[str], class_column: str = "cub_class", leaf_column: str = "scientific_name"
) -> dict[str, str]:
    """Return the leaf of each class from a table with a header, separated by commas.

    The columns' names are those of the table of the 200 birds.
    """
    path = Path(file).expanduser()
    if not path.is_file():
        raise InputError(f"file must be a table of classes and leaves; there is no file {str(path)!r}.")
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream)
        columns = reader.fieldnames or []
        for column in (class_column, leaf_column):
            if column not in columns:
                raise InputError(f"{path.name} must have a column {column!r}; it has {', '.join(columns) or 'none'}.")
        return {row[class_column]: row[leaf_column] for row in reader}


def class_distances(
    images: NDArray[np.float32],
    classes: NDArray[np.int64],
    class_names: Sequence[str],
    *,
    distances: ArrayLike | None = None,
    tree: str | os.PathLike[str] | None = None,
    leaf_names: Mapping[str, str] | None = None,
) -> Array:
    """Return the distances between classes as they were given, or those of clustering if nothing was."""
    if distances is not None and tree is not None:
        raise InputError("Give the classes' distances once: either distances or a tree.")
    if leaf_names is not None and tree is None:
        raise InputError("leaf_names belong to a tree.")
    if tree is not None:
        found = distances_in_tree(tree, class_names, leaf_names)
    elif distances is not None:
        found = check_distances(distances)
    else:
        found = clustered_distances(images, classes)
    count = len(class_names)
    if found.shape != (count, count):
        raise InputError(f"distances must be a matrix of shape {(count, count)}, a row per class; got {found.shape}.")
    if not found.any():
        raise InputError("distances must not all be zero.")
    return found


def _text_of(tree: str | os.PathLike[str]) -> str:
    if isinstance(tree, str) and "(" in tree:
        return tree
    if not isinstance(tree, str | os.PathLike):
        raise InputError(f"tree must be text in Newick format or a file with it; got {type(tree).__name__}.")
    path = Path(tree).expanduser()
    if not path.is_file():
        raise InputError(f"tree must be text in Newick format or a file with it; there is no file {str(path)!r}.")
    return path.read_text(encoding="utf-8")


def _leaf(name: str, leaves: set[str], renamed: Mapping[str, str]) -> str:
    """Return the leaf of a class; its own name if there is none, so that the tree's complaint shows it."""
    bare = NUMBERED.sub("", name)
    for one in (renamed.get(name), renamed.get(bare), name, bare):
        for spelt in (one, one.replace(" ", "_")) if one else ():
            if spelt in leaves:
                return spelt
    return renamed.get(name) or renamed.get(bare) or name
