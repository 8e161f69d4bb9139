"""Samples with classes, as images and tables come: what a rules-and-facts task is drawn from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.numerics.errors import InputError

MOST_LISTED = 20  # classes named in a sentence


@dataclass(frozen=True, eq=False)
class LabelledData:
    """Samples and the class of each.

    Attributes
    ----------
    inputs : array of shape (N, d)
        Real numbers of any type, kept as they are to save memory; each sample of more dimensions is flattened.
    classes : array of shape (N,)
        Whole numbers or words. Numbers such as 3.0, truth values and a column of shape (N, 1) are understood.
    name : str
    class_names : tuple of str or None
        The name of class k at place k, if the classes are whole numbers.
    """

    inputs: NDArray[Any] = field(repr=False)
    classes: NDArray[Any] = field(repr=False)
    name: str = "data"
    class_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        inputs = _read_inputs(self.inputs)
        classes = _read_classes(self.classes, len(inputs))
        for array in (inputs, classes):
            array.flags.writeable = False
        for name, value in (("inputs", inputs), ("classes", classes)):
            object.__setattr__(self, name, value)
        if self.class_names is not None:
            object.__setattr__(self, "class_names", _read_names(self.class_names, classes))

    @property
    def dimension(self) -> int:
        """Features of a sample."""
        return int(self.inputs.shape[1])

    @property
    def class_counts(self) -> dict[int | str, int]:
        """Number of samples of each class, in the order of the classes."""
        values, counts = np.unique(self.classes, return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def class_of(self, value: object) -> int | str:
        """Return the class a person means by its value, its name, or its value written as a word."""
        known = self.class_counts
        words = {str(one): one for one in known}
        words |= {name: number for number, name in enumerate(self.class_names or ()) if number in known}
        wanted = value.item() if isinstance(value, np.generic) else value
        if isinstance(wanted, int | str) and not isinstance(wanted, bool):
            if wanted in known:
                return wanted
            if str(wanted) in words:
                return words[str(wanted)]
        raise InputError(f"{self.name} has no class {value!r}; its classes are {self._list_of(known)}.")

    def title(self, one: int | str) -> str:
        """Return how a class is called in a sentence."""
        return f"{one} ({self.class_names[one]})" if self.class_names and isinstance(one, int) else str(one)

    def _list_of(self, known: dict[int | str, int]) -> str:
        titles = [self.title(one) for one in known]
        more = f" and {len(titles) - MOST_LISTED} more" if len(titles) > MOST_LISTED else ""
        return ", ".join(titles[:MOST_LISTED]) + more


def _read_inputs(values: ArrayLike) -> NDArray[Any]:
    """Return inputs as a view of shape (N, d) in their own type."""
    array = _rectangular("inputs", values)
    if array.dtype.kind not in "biuf":
        raise InputError(f"inputs must be real numbers; got an array of type {array.dtype}.")
    if array.ndim < 2 or array.size == 0:
        raise InputError(f"inputs must hold at least one sample and one feature, a row each; got shape {array.shape}.")
    flat = array.reshape(len(array), -1).view()
    if array.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(flat).all(axis=1))
        if bad.size:
            raise InputError(
                f"inputs must be finite; {bad.size} of {len(flat)} samples hold NaN or infinite numbers, the first is "
                f"sample {bad[0] + 1}. Leave them out or fill them in."
            )
    return flat


def _read_classes(values: ArrayLike, count: int) -> NDArray[Any]:
    """Return classes as whole numbers or words, one for each of `count` inputs."""
    array = _rectangular("classes", values)
    if array.shape not in {(count,), (count, 1)}:
        raise InputError(f"classes must be one class for each of the {count} inputs; got shape {array.shape}.")
    array = array.reshape(count)
    if array.dtype.kind in "ST":
        return np.array([as_text(one) for one in array.tolist()])
    if array.dtype.kind == "U":
        return array.view()
    whole = array.dtype.kind in "biu"
    if whole or (array.dtype.kind == "f" and np.isfinite(array).all() and np.equal(array, np.floor(array)).all()):
        return array.astype(np.int64)
    raise InputError(f"classes must be whole numbers or words; got an array of type {array.dtype}.")


def _read_names(names: Any, classes: NDArray[Any]) -> tuple[str, ...]:
    words = tuple(as_text(name) for name in names)
    if classes.dtype.kind == "U":
        raise InputError("class_names must be left out where the classes are words already.")
    if classes.min() < 0 or classes.max() >= len(words):
        raise InputError(
            f"class_names must name every class; got {len(words)} names for classes from {classes.min()} to "
            f"{classes.max()}."
        )
    return words


def _rectangular(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{name} must be a rectangular array; the rows differ in length.") from None


def as_text(value: Any) -> str:
    """Return a word that may have been stored as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
