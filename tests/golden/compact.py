"""Long lists of numbers and words in a form that is short and still shows any change."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

LONGEST = 20  # a list of this many entries is kept as it is
SAMPLES = 8
NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?")


def compact_column(values: Iterable[object]) -> list[object]:
    """Return a column as numbers or as words, whichever it holds; None stands for what is missing."""
    held = list(values)
    present = [value for value in held if value is not None]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return compact_numbers(held)
    return compact_words(held)


def compact_numbers(values: Sequence[float | None]) -> list[object]:
    """Return few numbers as they are, and many as a summary.

    The summary is how many are finite, how many are not, sum, sum of squares, least, greatest, and evenly spaced
    samples from the first to the last. It is a list, so that the name of the column stays the key of its numbers.
    """
    if len(values) <= LONGEST:
        return list(values)
    finite = [value for value in values if value is not None and math.isfinite(value)]
    if not finite:
        return [0, len(values)]
    total, squares = math.fsum(finite), math.fsum(value * value for value in finite)
    return [len(finite), len(values) - len(finite), total, squares, min(finite), max(finite), *_samples(finite)]


def compact_words(values: Sequence[object]) -> list[object]:
    """Return how often each word occurs, in the order of appearance; of many words, how many they are and samples."""
    counts = Counter(values)
    if len(counts) <= LONGEST:
        return [[word, count] for word, count in counts.items()]
    return [len(counts), *_samples(list(counts))]


def numbers_in(text: str) -> list[float]:
    """Return the numbers that a text shows, such as 0.05 and 0.01 of "0.05 ± 0.01"."""
    return [float(found.replace(",", "").replace("−", "-")) for found in NUMBER.findall(text)]


def _samples(values: Sequence[object]) -> list[object]:
    return [values[place * (len(values) - 1) // (SAMPLES - 1)] for place in range(SAMPLES)]
