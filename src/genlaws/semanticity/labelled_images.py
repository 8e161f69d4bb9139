"""Images with their classes, cut into those to train on and those held out.

Pixels are fractions of the brightest; an axis of channels stands first. Archives are read without pickles.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.numerics.arguments import scalar, whole_number, within
from genlaws.numerics.errors import InputError

SOURCES = (
    "'digits', a file ending in .npz, a folder with a folder of images for each class, or a pair (images, classes)"
)
MOST_CHANNELS = 4
BRIGHTEST_DIGIT = 16.0  # of scikit-learn's digits
IMAGE_FILES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff"}
SPLIT = ("x_train", "y_train", "x_test", "y_test")
WHOLE = (("images", "labels"), ("x_train", "y_train"), ("X", "y"))
# What a damaged or foreign file makes numpy, zipfile and Pillow raise.
UNREADABLE = (OSError, ValueError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class LabelledImages:
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
    ) -> LabelledImages:
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
    source: str | os.PathLike[str] | tuple[ArrayLike, ArrayLike] | LabelledImages,
    *,
    held_out: float = 1 / 3,
    image_size: int = 64,
    seed: int = 0,
) -> LabelledImages:
    """Return the images of a source.

    Parameters
    ----------
    source : str, path, pair of arrays, or LabelledImages
        ``"digits"`` for the handwritten digits that come with scikit-learn (8 by 8); an ``.npz`` file with the arrays
        ``x_train``, ``y_train``, ``x_test`` and ``y_test``, whose split is kept, or with ``images`` and ``labels``,
        and perhaps ``class_names``; a folder that has a folder of images for each class (needs Pillow); or a pair
        (images, classes). Images are arrays of shape (N, height, width), (N, channels, height, width) or (N, height,
        width, channels) with up to four channels; whole numbers count as parts of 255, fractions as they are.
    held_out : float in (0, 1)
        Share of each class that is held out, where the source has no split of its own.
    image_size : int
        Side of the square to which the images of a folder are scaled.
    seed : int
        Of the split.
    """
    share = float(scalar("held_out", within("held_out", held_out, 0.0, 1.0, open_low=True, open_high=True)))
    rng = np.random.default_rng(whole_number("seed", seed))
    side = whole_number("image_size", image_size, at_least=4)
    if isinstance(source, LabelledImages):
        return source
    if isinstance(source, tuple) and len(source) == 2:
        return _split(*source, None, share, rng)
    if isinstance(source, str) and source == "digits":
        return _split(*_digits(), None, share, rng)
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"source must be {SOURCES}; got {type(source).__name__}.")
    path = Path(source).expanduser()
    try:
        if path.is_dir():
            return _split(*_read_folder(path, side), None, share, rng)
        if path.is_file() and path.suffix.lower() == ".npz":
            return _read_archive(path, share, rng)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None
    except UNREADABLE as error:
        raise InputError(f"{path.name} could not be read: {' '.join(str(error).split()).rstrip('.')}.") from None
    raise InputError(f"source must be {SOURCES}; there is no such file or folder {str(path)!r}.")


def _split(
    images: ArrayLike, labels: ArrayLike, names: ArrayLike | None, share: float, rng: np.random.Generator
) -> LabelledImages:
    """Hold out a share of each class, at least one image of it."""
    x = np.asarray(images)
    y = _labels(labels, len(x) if x.ndim else 0)
    out = np.zeros(len(y), dtype=bool)
    for one in np.unique(y):
        own = rng.permutation(np.flatnonzero(y == one))
        if len(own) < 2:
            raise InputError(f"Every class needs an image to train on and one held out; {one!s} has one image.")
        out[own[: min(max(1, round(share * len(own))), len(own) - 1)]] = True
    return LabelledImages.of(x[~out], y[~out], x[out], y[out], names)


def _digits() -> tuple[NDArray[Any], NDArray[Any]]:
    if find_spec("sklearn") is None:
        raise InputError("The digits come with scikit-learn; install it with pip install scikit-learn.")
    from sklearn.datasets import load_digits  # type: ignore[import-untyped] # noqa: PLC0415

    found = load_digits()
    return found.images / BRIGHTEST_DIGIT, found.target


def _read_archive(file: Path, share: float, rng: np.random.Generator) -> LabelledImages:
    with np.load(file, allow_pickle=False) as archive:
        found = set(archive.files)
        names = archive["class_names"] if "class_names" in found else None
        if set(SPLIT) <= found:
            x, y, held_x, held_y = (archive[one] for one in SPLIT)
            return LabelledImages.of(x, y, held_x, held_y, names)
        for images, labels in WHOLE:
            if {images, labels} <= found:
                return _split(archive[images], archive[labels], names, share, rng)
    raise InputError(f"the arrays must be called {', '.join(SPLIT)}, or images and labels; found {', '.join(found)}.")


def _read_folder(folder: Path, side: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the images of class folders in colour, scaled to a square, and the names of their folders."""
    if find_spec("PIL") is None:
        raise InputError("Reading a folder of images needs Pillow; install it with pip install pillow.")
    from PIL import Image  # noqa: PLC0415

    files = [
        (file, inside.name)
        for inside in sorted(folder.iterdir())
        if inside.is_dir()
        for file in sorted(inside.iterdir())
        if file.suffix.lower() in IMAGE_FILES
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
    elif x.shape[1] > MOST_CHANNELS:
        if x.shape[3] > MOST_CHANNELS:
            raise InputError(f"images must have up to {MOST_CHANNELS} channels; got shape {x.shape}.")
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
