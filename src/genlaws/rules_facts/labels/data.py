"""Labeled data, and which of its samples can follow the rule or become facts."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.core.arguments import Whole, whole_number
from genlaws.core.errors import InputError

MAX_LISTED_CLASSES = 20  # classes named in a message
# Default number of test samples: those that the training set leaves, up to this many.
MAX_TEST_SAMPLES = 1000
# Share of the smaller class held out for testing if neither training nor test samples are given.
TEST_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class LabeledData:
    """Samples and the class of each.

    Attributes
    ----------
    inputs : array of shape (N, d)
        Real numbers of any type, which is preserved to save memory; each sample of more dimensions is flattened.
    classes : array of shape (N,)
        Whole numbers or text. Numbers such as 3.0, booleans and a column of shape (N, 1) are accepted.
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
        """Return the class given by its value, its name, or its value as text."""
        known = self.class_counts
        by_text = {str(one): one for one in known}
        by_text |= {name: number for number, name in enumerate(self.class_names or ()) if number in known}
        wanted = value.item() if isinstance(value, np.generic) else value
        if isinstance(wanted, int | str) and not isinstance(wanted, bool):
            if wanted in known:
                return wanted
            if str(wanted) in by_text:
                return by_text[str(wanted)]
        raise InputError(f"{self.name} has no class {value!r}; its classes are {self._list_of(known)}.")

    def title(self, one: int | str) -> str:
        """Return the name of a class for use in a message."""
        return f"{one} ({self.class_names[one]})" if self.class_names and isinstance(one, int) else str(one)

    def _list_of(self, known: dict[int | str, int]) -> str:
        titles = [self.title(one) for one in known]
        more = f" and {len(titles) - MAX_LISTED_CLASSES} more" if len(titles) > MAX_LISTED_CLASSES else ""
        return ", ".join(titles[:MAX_LISTED_CLASSES]) + more


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
    """Return classes as whole numbers or text, one for each of `count` inputs."""
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
    raise InputError(f"classes must be whole numbers or text; got an array of type {array.dtype}.")


def _read_names(names: Any, classes: NDArray[Any]) -> tuple[str, ...]:
    texts = tuple(as_text(name) for name in names)
    if classes.dtype.kind == "U":
        raise InputError("class_names must be left out where the classes are text already.")
    if classes.min() < 0 or classes.max() >= len(texts):
        raise InputError(
            f"class_names must name every class; got {len(texts)} names for classes from {classes.min()} to "
            f"{classes.max()}."
        )
    return texts


def _rectangular(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{name} must be a rectangular array; the rows differ in length.") from None


def as_text(value: Any) -> str:
    """Return text that may have been stored as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True, eq=False)
class Pools:
    """Rows of the first class of the rule, of the second and of the facts, and their names in messages."""

    rows: tuple[Whole, Whole, Whole]
    titles: tuple[str, str, str]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Number of samples in each."""
        first, second, facts = self.rows
        return len(first), len(second), len(facts)

    def listed(self, numbers: Iterable[int]) -> str:
        """Return one number for each pool as part of a message."""
        return ", ".join(f"{number} of {title}" for number, title in zip(numbers, self.titles, strict=True))


def pools_of(
    data: LabeledData, rule_classes: object, fact_classes: int | str | Iterable[int | str] | None, epsilon: float
) -> Pools:
    """Return the samples to draw from; raise an error if a class is missing."""
    if not isinstance(data, LabeledData):
        raise InputError(f"data must be LabeledData, as load_labeled returns it; got {type(data).__name__}.")
    if not isinstance(rule_classes, tuple | list) or len(rule_classes) != 2:
        raise InputError(f"rule_classes must be a pair of classes; got {rule_classes!r}.")
    known = data.class_counts
    if len(known) < 2:
        raise InputError(f"The rule needs two classes; {data.name} holds only class {data.title(next(iter(known)))}.")
    first, second = (data.class_of(one) for one in rule_classes)
    if first == second:
        raise InputError(f"rule_classes must be two different classes; got {rule_classes!r}.")
    others = known.keys() - {first, second}
    if fact_classes is not None:
        others = {data.class_of(one) for one in _as_list(fact_classes)}
    if others & {first, second}:
        raise InputError(f"fact_classes must leave out the classes of the rule; got {fact_classes!r}.")
    if epsilon > 0.0 and not others:
        raise InputError(
            f"fact_fraction must be 0 where no class is left for the facts; got {epsilon:g}. {data.name} holds "
            f"{len(known)} classes, and two of them are the rule."
        )
    rows = (_rows_of(data, {first}), _rows_of(data, {second}), _rows_of(data, others))
    return Pools(rows, (f"class {data.title(first)}", f"class {data.title(second)}", "the facts"))


def _as_list(classes: int | str | Iterable[int | str]) -> list[int | str]:
    if isinstance(classes, Iterable) and not isinstance(classes, str):
        return list(classes)
    return [classes]


def _rows_of(data: LabeledData, classes: Set[int | str]) -> Whole:
    return np.flatnonzero(np.isin(data.classes, np.array(list(classes), dtype=data.classes.dtype))).astype(np.int64)


def sizes_of(
    data: LabeledData, pools: Pools, epsilon: float, *, sample_count: int | None, test_count: int | None
) -> tuple[int, int]:
    """Return the numbers of training and test samples; raise an error with the largest possible number."""
    tested = whole_number("test_count", 2 if test_count is None else test_count, at_least=2)
    if sample_count is None and test_count is None:
        tested = min(MAX_TEST_SAMPLES, 2 * max(1, int(TEST_SHARE * min(pools.counts[:2]))))
    largest = largest_sample_count(pools, epsilon, tested)
    if sample_count is None:
        count = max(1, min(data.dimension, largest))
    else:
        count = whole_number("sample_count", sample_count, at_least=1)
    if count > largest:
        needed = [part + test for part, test in zip(parts_of(count, epsilon), parts_of(tested, 0.0), strict=True)]
        raise InputError(
            f"sample_count = {count} at fact_fraction = {epsilon:g} with {tested} test samples needs "
            f"{pools.listed(needed)}; {data.name} has {pools.listed(pools.counts)}. "
            f"The largest sample_count possible is {largest}."
            + (" Fewer test samples leave more for training." if tested > 2 else "")
        )
    if test_count is None:
        left = [held - part for held, part in zip(pools.counts, parts_of(count, epsilon), strict=True)]
        tested = min(MAX_TEST_SAMPLES, 2 * min(left[:2]))
    return count, tested


def largest_sample_count(pools: Pools, epsilon: float, test_count: int, at_most: int | None = None) -> int:
    """Return the largest possible number of training samples beyond the test samples, found by trying every number."""
    total = sum(pools.counts)
    counts = np.arange(1, (total if at_most is None else min(total, at_most)) + 1)
    needed = zip(_split(counts, epsilon), parts_of(test_count, 0.0), pools.counts, strict=True)
    fits = np.logical_and.reduce([part + test <= held for part, test, held in needed])
    return int(counts[fits].max(initial=0))


def parts_of(count: int, epsilon: float) -> tuple[int, int, int]:
    """Return how many of `count` samples belong to the first class, to the second and to the facts."""
    first, second, facts = _split(np.array([count]), epsilon)
    return int(first[0]), int(second[0]), int(facts[0])


def _split(counts: Whole, epsilon: float) -> tuple[Whole, Whole, Whole]:
    facts = np.rint(epsilon * counts).astype(np.int64)
    second = (counts - facts) // 2
    return counts - facts - second, second, facts
