"""Decide which samples of labelled data may follow the rule or become facts, and how many there are of each."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

import numpy as np

from genlaws.numerics.arguments import Whole, whole_number
from genlaws.numerics.errors import InputError
from genlaws.rules_facts.labelled_data import LabelledData

# Test samples, unless a number is given: what the training set leaves, up to this many.
LARGEST_TEST = 1000
# The share of the smaller class kept for testing where neither training nor test samples are counted out.
TEST_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Pools:
    """Rows of the first class of the rule, of the second and of the facts, and what each is called in a sentence."""

    rows: tuple[Whole, Whole, Whole]
    titles: tuple[str, str, str]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Number of samples in each."""
        first, second, facts = self.rows
        return len(first), len(second), len(facts)

    def listed(self, numbers: Iterable[int]) -> str:
        """Return one number for each pool as part of a sentence."""
        return ", ".join(f"{number} of {title}" for number, title in zip(numbers, self.titles, strict=True))


def pools_of(
    data: LabelledData, rule_classes: object, fact_classes: int | str | Iterable[int | str] | None, epsilon: float
) -> Pools:
    """Return the samples to draw from, or say which class is missing."""
    if not isinstance(data, LabelledData):
        raise InputError(f"data must be LabelledData, as load_labelled returns it; got {type(data).__name__}.")
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
        others = {data.class_of(one) for one in _several(fact_classes)}
    if others & {first, second}:
        raise InputError(f"fact_classes must leave out the classes of the rule; got {fact_classes!r}.")
    if epsilon > 0.0 and not others:
        raise InputError(
            f"fact_fraction must be 0 where no class is left for the facts; got {epsilon:g}. {data.name} holds "
            f"{len(known)} classes, and two of them are the rule."
        )
    rows = (_rows_of(data, {first}), _rows_of(data, {second}), _rows_of(data, others))
    return Pools(rows, (f"class {data.title(first)}", f"class {data.title(second)}", "the facts"))


def _several(classes: int | str | Iterable[int | str]) -> list[int | str]:
    if isinstance(classes, Iterable) and not isinstance(classes, str):
        return list(classes)
    return [classes]


def _rows_of(data: LabelledData, classes: Set[int | str]) -> Whole:
    return np.flatnonzero(np.isin(data.classes, np.array(list(classes), dtype=data.classes.dtype))).astype(np.int64)


def sizes_of(
    data: LabelledData, pools: Pools, epsilon: float, *, sample_count: int | None, test_count: int | None
) -> tuple[int, int]:
    """Return the numbers of training and test samples, or say how many there are and how many there could be."""
    kept = whole_number("test_count", 2 if test_count is None else test_count, at_least=2)
    if sample_count is None and test_count is None:
        kept = min(LARGEST_TEST, 2 * max(1, int(TEST_SHARE * min(pools.counts[:2]))))
    largest = _largest_sample_count(pools, epsilon, kept)
    if sample_count is None:
        count = max(1, min(data.dimension, largest))
    else:
        count = whole_number("sample_count", sample_count, at_least=1)
    if count > largest:
        needed = [part + test for part, test in zip(parts_of(count, epsilon), parts_of(kept, 0.0), strict=True)]
        raise InputError(
            f"sample_count = {count} at fact_fraction = {epsilon:g} with {kept} test samples takes "
            f"{pools.listed(needed)}; {data.name} has {pools.listed(pools.counts)}. "
            f"The largest sample_count possible is {largest}."
            + (" Fewer test samples leave more for training." if kept > 2 else "")
        )
    if test_count is None:
        left = [held - part for held, part in zip(pools.counts, parts_of(count, epsilon), strict=True)]
        kept = min(LARGEST_TEST, 2 * min(left[:2]))
    return count, kept


def _largest_sample_count(pools: Pools, epsilon: float, test_count: int) -> int:
    """Return how many training samples there can be beside the test samples, found by trying every number."""
    counts = np.arange(1, sum(pools.counts) + 1)
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
