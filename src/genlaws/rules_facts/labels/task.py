"""Draw the data of the rules-and-facts task: Gaussian inputs with a teacher, or any labeled data.

Part of the labels follow a rule and part, the facts, are coin flips. A learner sees neither the rule nor which labels
are facts. Labeled data are brought to the scale of Gaussian inputs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlaws.core.arguments import Array, Mask, real, scalar, whole_number
from genlaws.core.errors import InputError
from genlaws.core.seeds import generator_of
from genlaws.rules_facts.labels.data import LabeledData, parts_of, pools_of, sizes_of
from genlaws.rules_facts.parameters import SAMPLE_RATIO
from genlaws.rules_facts.theory.problem import read_fact_fraction

# Up to this many inputs the median distance is that of all pairs, beyond it that of SAMPLED_PAIRS drawn pairs, whose
# rank is within 0.5/√SAMPLED_PAIRS, a tenth of a percent, of the middle.
MAX_ALL_PAIRS_INPUTS = 2000
SAMPLED_PAIRS = 200_000
PAIR_SEED = 2026
BLOCK_ENTRIES = 2**22  # numbers held at once while distances are taken
# Squared distances are differences of products; below this share of the largest square they are rounding.
DISTANCE_ROUNDING = 1e-12


def standardized(chosen: NDArray[Any], fresh: NDArray[Any]) -> tuple[Array, Array]:
    """Return both tables with features of mean 0 and variance 1 over the first; features constant there become 0."""
    inputs, others = chosen.astype(np.float64), fresh.astype(np.float64)
    constant = inputs.max(axis=0) == inputs.min(axis=0)
    if constant.all():
        raise InputError(
            f"At least one feature must vary over the training inputs; all {constant.size} are constant over the "
            f"{len(inputs)} drawn."
        )
    # Each feature is divided by a power of two, so that no square overflows or vanishes.
    exponent = -np.frexp(np.abs(inputs).max(axis=0))[1]
    for table in (inputs, others):
        np.ldexp(table, exponent, out=table)
    mean, deviation = inputs.mean(axis=0), inputs.std(axis=0)
    deviation[constant] = 1.0
    for table in (inputs, others):
        np.subtract(table, mean, out=table)
        np.divide(table, deviation, out=table)
        table[:, constant] = 0.0
    return inputs, others


def median_squared_distance(inputs: Array) -> float:
    """Return the median of (x − x')² over pairs of rows; the same rows give the same number."""
    n, d = inputs.shape
    squares: Array = np.einsum("ij,ij->i", inputs, inputs)
    if n <= MAX_ALL_PAIRS_INPUTS:
        products = inputs @ inputs.T
        one, other = np.triu_indices(n, 1)
        distances = squares[one] + squares[other] - 2.0 * products[one, other]
    else:
        rng = np.random.default_rng(PAIR_SEED)
        one = rng.integers(n, size=SAMPLED_PAIRS)
        other = (one + 1 + rng.integers(n - 1, size=SAMPLED_PAIRS)) % n
        distances = np.empty(SAMPLED_PAIRS)
        step = max(1, BLOCK_ENTRIES // d)
        for start in range(0, SAMPLED_PAIRS, step):
            block = slice(start, start + step)
            apart = inputs[one[block]] - inputs[other[block]]
            np.einsum("ij,ij->i", apart, apart, out=distances[block])
    median = float(np.median(distances))
    if median <= DISTANCE_ROUNDING * squares.max():
        raise InputError("More than half of the pairs of training inputs are equal; there is no distance to scale by.")
    return median


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of the task: training samples, which of them are facts, and test samples of the rule.

    Attributes
    ----------
    inputs : array of shape (n, d)
    labels : array of shape (n,)
        +1 or -1.
    is_fact : array of bool, shape (n,)
        Whether a label was drawn by a coin; the learner does not see it.
    test_inputs : array of shape (m, d)
    test_labels : array of shape (m,)
        The labels of the rule, +1 or -1.
    teacher : array of shape (d,) or None
        :math:`w^*`, where the rule has one.
    name : str
    """

    inputs: Array = field(repr=False)
    labels: Array = field(repr=False)
    is_fact: Mask = field(repr=False)
    test_inputs: Array = field(repr=False)
    test_labels: Array = field(repr=False)
    teacher: Array | None = field(default=None, repr=False)
    name: str = "draw"

    def __post_init__(self) -> None:
        inputs, test_inputs = _read_table("inputs", self.inputs), _read_table("test_inputs", self.test_inputs)
        if inputs.shape[1] != test_inputs.shape[1]:
            raise InputError(
                f"inputs and test_inputs must have the same features; got {inputs.shape[1]} and {test_inputs.shape[1]}."
            )
        is_fact = np.asarray(self.is_fact)
        if is_fact.dtype != np.bool_ or is_fact.shape != (len(inputs),):
            raise InputError(
                f"is_fact must be true or false for each of the {len(inputs)} inputs; got an array of type "
                f"{is_fact.dtype} and shape {is_fact.shape}."
            )
        checked: dict[str, NDArray[Any]] = {
            "inputs": inputs,
            "labels": _read_labels("labels", self.labels, len(inputs)),
            "is_fact": is_fact,
            "test_inputs": test_inputs,
            "test_labels": _read_labels("test_labels", self.test_labels, len(test_inputs)),
        }
        if self.teacher is not None:
            checked["teacher"] = _read_finite("teacher", self.teacher, (inputs.shape[1],))
        for name, array in checked.items():
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @property
    def sample_count(self) -> int:
        """Training samples n."""
        return len(self.inputs)

    @property
    def dimension(self) -> int:
        """Features d of an input."""
        return int(self.inputs.shape[1])

    @property
    def sample_ratio(self) -> float:
        """Training samples per dimension, :math:`n/d`."""
        return self.sample_count / self.dimension

    @property
    def fact_fraction(self) -> float:
        """Measured share of facts among the training samples."""
        return float(self.is_fact.mean())


def draw_gaussian(
    dimension: int,
    sample_ratio: float,
    fact_fraction: float,
    *,
    test_count: int = 1000,
    seed: int | np.random.Generator = 0,
) -> Draw:
    r"""Draw the task of the theory: Gaussian inputs, the rule of a Gaussian teacher, facts by coin flips.

    .. math:: x \sim N(0, I_d), \quad w^* \sim N(0, I_d), \quad
        y = \mathrm{sign}(w^* \cdot x / \sqrt d) \text{ with probability } 1 - \varepsilon,
        \text{ else } y = \pm 1 \text{ by a coin}

    Symbols: :math:`d` is ``dimension``, :math:`\alpha = n/d` ``sample_ratio``, :math:`\varepsilon` ``fact_fraction``.

    Parameters
    ----------
    dimension : int, at least 1
    sample_ratio : float > 0
        The training samples are the nearest whole number to :math:`\alpha d`, at least one.
    fact_fraction : float in [0, 1]
        Probability that a label is a fact, independently for each label; the measured share differs.
    test_count : int, at least 1
    seed : int or Generator

    Notes
    -----
    Teacher, inputs, facts, coins and test inputs each have their own random stream. With the same seed, another
    `test_count` leaves the training set unchanged, a larger `sample_ratio` adds samples to it, and a larger
    `fact_fraction` adds facts.

    References
    ----------
    :cite:p:`farne2026`, the data model.
    """
    d = whole_number("dimension", dimension, at_least=1)
    epsilon = read_fact_fraction(fact_fraction)
    n = _sample_count(sample_ratio, d)
    m = whole_number("test_count", test_count, at_least=1)
    for_teacher, for_inputs, for_facts, for_coins, for_test = _spawn_generators(seed, 5)
    teacher = for_teacher.standard_normal(d)
    inputs, test_inputs = _draw_normal(for_inputs, n, d), _draw_normal(for_test, m, d)
    is_fact = for_facts.random(n) < epsilon
    labels = np.where(is_fact, _random_labels(for_coins, n), _rule_labels(inputs, teacher))
    return Draw(inputs, labels, is_fact, test_inputs, _rule_labels(test_inputs, teacher), teacher, "gaussian")


def draw_labeled(
    data: LabeledData,
    rule_classes: tuple[int | str, int | str],
    *,
    fact_fraction: float,
    sample_count: int | None = None,
    sample_ratio: float | None = None,
    fact_classes: int | str | Iterable[int | str] | None = None,
    test_count: int | None = None,
    scale: bool = True,
    seed: int | np.random.Generator = 0,
) -> Draw:
    r"""Draw the task from labeled data: two classes are the rule, coin flips on samples of other classes the facts.

    Parameters
    ----------
    data : LabeledData
    rule_classes : pair of classes
        The first is labeled +1, the second -1, in equal numbers; the first has one sample more if the number is odd.
        A class is given by its value or its name.
    fact_fraction : float in [0, 1]
        Exactly :math:`\mathrm{round}(\varepsilon n)` of the n training samples are facts (a half is rounded to even).
    sample_count, sample_ratio : int, float or None
        Training samples n, or n/d; at most one of the two. By default as many as the data allow, up to n = d,
        with a fifth of the smaller class (at most 500 samples) and as many of the other held out for testing.
    fact_classes : classes or None
        Classes whose samples become facts; by default every class but the two of the rule.
    test_count : int, at least 2, or None
        Samples of the rule's classes, balanced as above; by default those that the training set leaves, at most 1000.
    scale : bool
        Whether all inputs are multiplied by the factor that makes the median squared distance between training inputs
        2d, as it is for Gaussian ones. The kernel ``gaussian:g``, :math:`e^{-g |x - x'|^2/(2d)}`, then has its
        bandwidth relative to that median.
    seed : int or Generator

    Notes
    -----
    No sample is drawn twice, so training and test samples are different ones (copies in the data stay copies).
    Every feature is shifted and scaled to mean 0 and variance 1 over the training inputs; a feature that is constant
    there is set to 0, in the test inputs too, and still counts in d. With the same seed the training set does not
    depend on `test_count`, nor the choice of test samples on `sample_count`.

    References
    ----------
    :cite:p:`farne2026`, the task made of images.
    """
    epsilon = read_fact_fraction(fact_fraction)
    if sample_count is not None and sample_ratio is not None:
        raise InputError("Give the size of the training set once: either sample_count or sample_ratio.")
    pools = pools_of(data, rule_classes, fact_classes, epsilon)
    requested = sample_count if sample_ratio is None else _sample_count(sample_ratio, data.dimension)
    n, m = sizes_of(data, pools, epsilon, sample_count=requested, test_count=test_count)
    *for_pools, for_coins, for_order = _spawn_generators(seed, 5)
    first, second, others = (rng.permutation(rows) for rng, rows in zip(for_pools, pools.rows, strict=True))
    n_first, n_second, n_facts = parts_of(n, epsilon)
    order = for_order.permutation(n)
    rows = np.concatenate([first[:n_first], second[:n_second], others[:n_facts]])[order]
    labels = np.concatenate([np.ones(n_first), -np.ones(n_second), _random_labels(for_coins, n_facts)])[order]
    # Test samples come from the other end, so that they stay the same ones when the training set grows.
    m_first, m_second, _ = parts_of(m, 0.0)
    test_rows = np.concatenate([first[len(first) - m_first :], second[len(second) - m_second :]])
    test_labels = np.concatenate([np.ones(m_first), -np.ones(m_second)])
    inputs, test_inputs = standardized(data.inputs[rows], data.inputs[test_rows])
    if scale:
        factor = np.sqrt(2.0 * data.dimension / median_squared_distance(inputs))
        inputs *= factor
        test_inputs *= factor
    name = f"{data.name}, {pools.titles[0]} against {pools.titles[1]}"
    return Draw(inputs, labels, order >= n - n_facts, test_inputs, test_labels, None, name)


def _spawn_generators(seed: int | np.random.Generator, count: int) -> list[np.random.Generator]:
    """Return independent generators; a given generator advances, so that the next draw differs."""
    entropy = generator_of(seed).integers(2**32, size=4, dtype=np.uint32).tolist()
    return [np.random.default_rng(child) for child in np.random.SeedSequence(entropy).spawn(count)]


def _draw_normal(rng: np.random.Generator, count: int, dimension: int) -> Array:
    try:
        return rng.standard_normal((count, dimension))
    except (MemoryError, ValueError):
        raise InputError(f"{count} samples of {dimension} features do not fit into memory; take fewer.") from None


def _random_labels(rng: np.random.Generator, count: int) -> Array:
    return np.where(rng.integers(2, size=count) == 1, 1.0, -1.0)


def _rule_labels(inputs: Array, teacher: Array) -> Array:
    return np.where(inputs @ teacher >= 0.0, 1.0, -1.0)


def _sample_count(sample_ratio: float, dimension: int) -> int:
    alpha = float(scalar("sample_ratio", SAMPLE_RATIO.checked("sample_ratio", sample_ratio)))
    count = round(alpha * dimension)
    if count < 1:
        raise InputError(
            f"sample_ratio must give at least one sample; got {alpha:g}, which is {alpha * dimension:g} samples in "
            f"dimension {dimension}."
        )
    return count


def _read_table(name: str, values: ArrayLike) -> Array:
    given = np.asarray(values)
    if given.ndim != 2 or given.size == 0:
        raise InputError(f"{name} must be a table of at least one row and one column; got shape {given.shape}.")
    return _read_finite(name, given, given.shape)


def _read_labels(name: str, values: ArrayLike, count: int) -> Array:
    labels = _read_finite(name, values, (count,))
    wrong = labels[np.abs(labels) != 1.0]
    if wrong.size:
        raise InputError(f"{name} must be +1 or -1; got {wrong[0]:g}.")
    return labels


def _read_finite(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return real and finite numbers of a given shape, without a copy if they already are."""
    given = np.asarray(values)
    array = given if given.dtype == np.float64 else real(name, given)
    if array.shape != shape:
        raise InputError(f"{name} must have the shape {shape}; got {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite; got {int((~np.isfinite(array)).sum())} numbers that are not.")
    return array
