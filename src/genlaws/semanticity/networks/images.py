"""Images with their classes, split into training and held-out images, and distances between the classes.

Pixels are fractions of the brightest; the axis of channels comes first. Archives are read without pickles. Distances
between classes come from a given tree, or from clustering the means of their images.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist, squareform

from genlaws.core.arguments import Array, scalar, whole_number, within
from genlaws.core.errors import InputError
from genlaws.core.tables import DATA_READ_ERRORS, WORD_SEPARATORS, TextTable, read_lines
from genlaws.semanticity.measurement.metrics import leaf_distances, tree_distances
from genlaws.semanticity.theory.spaces import check_distances

IMAGE_SOURCES = (
    "'digits', a file ending in .npz, a folder with a folder of images for each class, or a pair (images, classes)"
)
MAX_CHANNELS = 4
MAX_DIGIT_PIXEL = 16.0  # of scikit-learn's digits
IMAGE_SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff"}
SPLIT_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
UNSPLIT_ARRAYS = (("images", "labels"), ("x_train", "y_train"), ("X", "y"))
LEADING_NUMBER = re.compile(r"^\d+[.\-_ ]+")  # folders such as 001.Black_footed_Albatross


@dataclass(frozen=True)
class LabeledImages:
    """Images to train on and images held out; made by :func:`load_images` or :meth:`of`.

    Attributes
    ----------
    images, held_out_images : float32 arrays of shape (N, channels, height, width)
    classes, held_out_classes : whole numbers of shape (N,)
        Places in `class_names`.
    class_names : tuple of str
    """

    images: NDArray[np.float32]
    classes: NDArray[np.int64]
    held_out_images: NDArray[np.float32]
    held_out_classes: NDArray[np.int64]
    class_names: tuple[str, ...]

    @classmethod
    def of(
        cls,
        images: ArrayLike,
        labels: ArrayLike,
        held_out_images: ArrayLike,
        held_out_labels: ArrayLike,
        class_names: ArrayLike | None = None,
    ) -> LabeledImages:
        """Return images with a split of one's own; see :func:`load_images` for what arrays may look like."""
        x, held_x = _channels_first(images), _channels_first(held_out_images)
        if x.shape[1:] != held_x.shape[1:]:
            raise InputError(f"All images must have one shape; got {x.shape[1:]} and, held out, {held_x.shape[1:]}.")
        values, y = np.unique(_labels(labels, len(x)), return_inverse=True)
        held = _labels(held_out_labels, len(held_x))
        unknown = sorted(set(held.tolist()) - set(values.tolist()))
        if unknown:
            raise InputError(f"Every class held out must be trained on; {unknown[0]!r} is not.")
        if len(values) < 2 or len(held) < 3:
            raise InputError(
                f"There must be at least two classes and three images held out; got {len(values)} and {len(held)}."
            )
        return cls(x, y.astype(np.int64), held_x, np.searchsorted(values, held), _names(values, class_names))


def load_images(
    data: str | os.PathLike[str] | tuple[ArrayLike, ArrayLike] | LabeledImages,
    *,
    held_out: float = 1 / 3,
    image_size: int = 64,
    seed: int = 0,
) -> LabeledImages:
    """Return images from data that come in many forms.

    Parameters
    ----------
    data : str, path, pair of arrays, or LabeledImages
        ``"digits"`` for the handwritten digits that come with scikit-learn (8 by 8); an ``.npz`` file with the arrays
        ``x_train``, ``y_train``, ``x_test`` and ``y_test``, whose split is used, or with ``images`` and ``labels``,
        and perhaps ``class_names``; a folder that has a folder of images for each class (needs Pillow); or a pair
        (images, classes). Images are arrays of shape (N, height, width), (N, channels, height, width) or (N, height,
        width, channels) with up to four channels; whole numbers count as parts of 255, fractions as they are.
    held_out : float in (0, 1)
        Share of each class that is held out, where the data have no split of their own.
    image_size : int
        Side of the square to which the images of a folder are scaled.
    seed : int
        Of the split.
    """
    share = float(scalar("held_out", within("held_out", held_out, 0.0, 1.0, open_low=True, open_high=True)))
    rng = np.random.default_rng(whole_number("seed", seed))
    side = whole_number("image_size", image_size, at_least=4)
    if isinstance(data, LabeledImages):
        return data
    if isinstance(data, tuple) and len(data) == 2:
        return _split(*data, None, share, rng)
    if isinstance(data, str) and data == "digits":
        return _split(*_digits(), None, share, rng)
    if not isinstance(data, str | os.PathLike):
        raise InputError(f"data must be {IMAGE_SOURCES}; got {type(data).__name__}.")
    path = Path(data).expanduser()
    try:
        if path.is_dir():
            return _split(*_read_folder(path, side), None, share, rng)
        if path.is_file() and path.suffix.lower() == ".npz":
            return _read_archive(path, share, rng)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None
    except DATA_READ_ERRORS as error:
        raise InputError(f"{path.name} could not be read: {' '.join(str(error).split()).rstrip('.')}.") from None
    raise InputError(f"data must be {IMAGE_SOURCES}; there is no such file or folder {str(path)!r}.")


def _split(
    images: ArrayLike, labels: ArrayLike, names: ArrayLike | None, share: float, rng: np.random.Generator
) -> LabeledImages:
    """Hold out a share of each class, at least one image of it."""
    x = np.asarray(images)
    y = _labels(labels, len(x) if x.ndim else 0)
    out = np.zeros(len(y), dtype=bool)
    for one in np.unique(y):
        own = rng.permutation(np.flatnonzero(y == one))
        if len(own) < 2:
            raise InputError(f"Every class needs an image to train on and one held out; {one!s} has one image.")
        out[own[: min(max(1, round(share * len(own))), len(own) - 1)]] = True
    return LabeledImages.of(x[~out], y[~out], x[out], y[out], names)


def _digits() -> tuple[NDArray[Any], NDArray[Any]]:
    if find_spec("sklearn") is None:
        raise InputError("The digits come with scikit-learn; install it with pip install scikit-learn.")
    from sklearn.datasets import load_digits  # type: ignore[import-untyped] # noqa: PLC0415

    found = load_digits()
    return found.images / MAX_DIGIT_PIXEL, found.target


def _read_archive(file: Path, share: float, rng: np.random.Generator) -> LabeledImages:
    with np.load(file, allow_pickle=False) as archive:
        found = set(archive.files)
        names = archive["class_names"] if "class_names" in found else None
        if set(SPLIT_ARRAYS) <= found:
            x, y, held_x, held_y = (archive[one] for one in SPLIT_ARRAYS)
            return LabeledImages.of(x, y, held_x, held_y, names)
        for images, labels in UNSPLIT_ARRAYS:
            if {images, labels} <= found:
                return _split(archive[images], archive[labels], names, share, rng)
    named = ", ".join(SPLIT_ARRAYS)
    raise InputError(f"the arrays must be called {named}, or images and labels; found {', '.join(found)}.")


def _read_folder(folder: Path, side: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the images of class folders in color, scaled to a square, and the names of their folders."""
    if find_spec("PIL") is None:
        raise InputError("Reading a folder of images needs Pillow; install it with pip install pillow.")
    from PIL import Image  # noqa: PLC0415

    files = [
        (file, inside.name)
        for inside in sorted(folder.iterdir())
        if inside.is_dir()
        for file in sorted(inside.iterdir())
        if file.suffix.lower() in IMAGE_SUFFIXES
    ]
    if not files:
        raise InputError("there must be a folder of images for each class; found no image.")
    pixels = np.empty((len(files), side, side, 3), dtype=np.uint8)
    for place, (file, _) in enumerate(files):
        with Image.open(file) as image:
            pixels[place] = np.asarray(image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR))
    return pixels, np.array([name for _, name in files])


def _channels_first(images: ArrayLike) -> NDArray[np.float32]:
    try:
        x = np.asarray(images)
    except ValueError:
        raise InputError("images must have one shape; got images of several.") from None
    if x.ndim not in {3, 4} or not x.size or x.dtype.kind not in "iuf":
        raise InputError(
            "images must be numbers of shape (N, height, width), (N, channels, height, width) or (N, height, width, "
            f"channels); got shape {x.shape} of type {x.dtype}."
        )
    if x.ndim == 3:
        x = x[:, None]
    elif x.shape[1] > MAX_CHANNELS:
        if x.shape[3] > MAX_CHANNELS:
            raise InputError(f"images must have up to {MAX_CHANNELS} channels; got shape {x.shape}.")
        x = np.moveaxis(x, 3, 1)
    pixels = x.astype(np.float32) / np.float32(255.0) if x.dtype.kind in "iu" else x.astype(np.float32)
    if not np.isfinite(pixels).all():
        raise InputError("images must be finite; there are NaN or infinite pixels.")
    return np.ascontiguousarray(pixels)


def _labels(labels: ArrayLike, count: int) -> NDArray[Any]:
    y = np.asarray(labels)
    if y.shape != (count,) or y.dtype.kind not in "iuU":
        raise InputError(
            f"labels must be one whole number or word for each of {count} images; got shape {y.shape} "
            f"of type {y.dtype}."
        )
    return y


def _names(values: NDArray[Any], class_names: ArrayLike | None) -> tuple[str, ...]:
    """Return the name of each class: its place in `class_names`, or else what its label is."""
    if class_names is None:
        return tuple(str(one) for one in values.tolist())
    names = [str(one) for one in np.ravel(np.asarray(class_names)).tolist()]
    if values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= len(names):
        raise InputError(f"class_names must name every class by its number; got {len(names)} names.")
    chosen = tuple(names[one] for one in values.tolist())
    if len(set(chosen)) < len(chosen):
        raise InputError("class_names must differ from each other.")
    return chosen


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
    return squareform(heights)


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
    table = TextTable(path.name, path, WORD_SEPARATORS)
    for column in (class_column, leaf_column):
        if column not in table.first:
            raise InputError(f"{path.name} must have a column {column!r}; it has {', '.join(table.first) or 'none'}.")
    places = [table.first.index(class_column), table.first.index(leaf_column)]
    table.check("a class and a leaf in every row", places, table.header_line, bool)
    return {row[places[0]]: row[places[1]] for _, row in islice(table.rows(), 1, None)}


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
    return "".join(read_lines("tree", path))


def _leaf(name: str, leaves: set[str], renamed: Mapping[str, str]) -> str:
    """Return the leaf of a class; its own name if there is none, so that the error of the tree shows it."""
    bare = LEADING_NUMBER.sub("", name)
    for one in (renamed.get(name), renamed.get(bare), name, bare):
        for spelled in (one, one.replace(" ", "_")) if one else ():
            if spelled in leaves:
                return spelled
    return renamed.get(name) or renamed.get(bare) or name
