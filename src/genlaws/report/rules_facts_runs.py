"""Runs of the report on rules and facts: learners trained on Gaussian draws, and kernels tried on pairs of digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genlaws.numerics.arguments import Array
from genlaws.numerics.intervals import Estimate, from_standard_error
from genlaws.rules_facts import Advice, advise, draw_gaussian, draw_labelled, load_labelled, message_passing
from genlaws.rules_facts.finite_size import learn_path

KERNEL = "relu"
REGULARISATION = 0.5
FACTS = 0.2
TEST_COUNT = 4000


@dataclass(frozen=True)
class Learned:
    """A learner at each sample ratio, one row of errors for each run.

    Attributes
    ----------
    name : {"square", "hinge", "Bayes"}
    sample_ratio : array of shape (ratios,)
    generalisation, memorisation : arrays of shape (runs, ratios)
        NaN where a learner has no such error, or a draw no fact.
    dimension : int
    """

    name: str
    sample_ratio: Array
    generalisation: Array
    memorisation: Array
    dimension: int

    def mean(self, error: str) -> list[Estimate]:
        """Return the mean of one error over runs at each sample ratio, with Student's interval."""
        values: Array = getattr(self, error)
        spread = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        return [
            from_standard_error(float(middle), float(wide), len(values))
            for middle, wide in zip(values.mean(axis=0), spread, strict=True)
        ]


def train_learners(
    ratios: tuple[float, ...], dimension: int, runs: int, seed: int, advance: Callable[[int], object]
) -> dict[str, Learned]:
    """Train ridge regression, a support vector machine and message passing, on draws of their own at every ratio."""
    shape = (runs, len(ratios))
    errors = {name: np.full((2, *shape), np.nan) for name in ("square", "hinge", "Bayes")}
    for column, ratio in enumerate(ratios):
        for row in range(runs):
            for number, name in enumerate(errors):
                stream = np.random.default_rng([seed, 2, column, row, number])
                errors[name][:, row, column] = _errors(name, dimension, ratio, stream)
        advance(1)
    at = np.array(ratios)
    return {name: Learned(name, at, found[0], found[1], dimension) for name, found in errors.items()}


def _errors(name: str, dimension: int, ratio: float, stream: np.random.Generator) -> tuple[float, float]:
    """Return the generalisation and the memorisation error of one learner on one draw."""
    draw = draw_gaussian(dimension, ratio, FACTS, test_count=TEST_COUNT, seed=stream)
    if name == "Bayes" and draw.teacher is not None:
        found = message_passing(draw.inputs, draw.labels, FACTS)
        return float(found.rule_error(draw.teacher)), float("nan")
    path = learn_path(draw, name, kernel=KERNEL, regularisation=[REGULARISATION], normalise=True)
    return float(path.generalisation_error[0]), float(path.memorisation_error[0])


@dataclass(frozen=True)
class DigitPair:
    """Kernels tried on two digits with facts among their labels."""

    first: int
    second: int
    advice: Advice


def try_digits(
    pairs: tuple[tuple[int, int], ...], samples: int, share: float, seed: int, advance: Callable[[int], object]
) -> tuple[DigitPair, ...]:
    """Try Gaussian kernels on pairs of digits; a share of the samples are other digits with coin-flip labels."""
    data = load_labelled("digits")
    found = []
    for first, second in pairs:
        draw = draw_labelled(data, (first, second), fact_fraction=share, sample_count=samples, test_count=2, seed=seed)
        found.append(DigitPair(first, second, advise(draw.inputs, draw.labels, is_fact=draw.is_fact, seed=seed)))
        advance(1)
    return tuple(found)
