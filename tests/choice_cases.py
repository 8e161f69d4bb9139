"""Designs of choices with planted numbers, for the tests of fitting them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import stats

from genlaws.semanticity.choices.model import ChoiceModel, simulate_choices
from genlaws.semanticity.choices.result import ChoiceFit
from genlaws.semanticity.choices.trials import Trials

SMOOTH = ("exponential", "gaussian", "power-law")
ANSWERS = ("circle", "square", "star", "triangle")
OFFSETS = {"circle": 0.0, "square": 0.5, "star": -0.4, "triangle": 0.9}
DEVIANCE = stats.chi2.ppf(0.95, 1)
# The ends of an interval are found to 2e-4 of the root of the deviance, which is 2 at the target.
DEVIANCE_ERROR = 2e-3


def design(seed: int, count: int, sizes: tuple[int, ...] = (2, 3, 4, 6)) -> Trials:
    """Trials of several sizes, at distances from 1 to 150, with names drawn at random."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice(sizes, count)
    return Trials.from_lists(
        [np.exp(rng.uniform(0.0, np.log(150.0), n)) for n in drawn],
        options=[rng.choice(ANSWERS, n).tolist() for n in drawn],
    )


def planted(shape: str, seed: int = 1, count: int = 500, **changes: object) -> tuple[Trials, ChoiceModel]:
    values = {"background": 0.1, "lapse": 0.12, "offsets": OFFSETS, **changes}
    model = ChoiceModel(shape, 22.0, **values)  # type: ignore[arg-type]
    return simulate_choices(design(seed, count), model, seed), model


def changed(model: ChoiceModel, name: str, value: float) -> ChoiceModel:
    return replace(model, **{name: value})


def ends(fit: ChoiceFit, name: str) -> tuple[float, float]:
    """Return the ends of the interval of a parameter."""
    found = fit.estimates[name]
    return found.low, found.high
