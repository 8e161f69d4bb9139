"""Do the intervals hold what they promise? Choosers are drawn, their choices simulated and fitted, the hits counted.

The planted values lie inside their ranges, and the trials are many enough to see them. Where most maxima lie on a wall
(no lapse, no background; 200 trials instead of 1,000) the share of hits is off by up to three per cent.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from choice_cases import ends
from genlaws.semanticity.choices.fit import fit_choices
from genlaws.semanticity.choices.model import ChoiceModel, simulate_choices
from genlaws.semanticity.choices.trials import Trials

PARAMETERS = ("resolution", "background", "lapse")
LEVEL = 0.95
PROMISED = (0.93, 0.97)
# A count of hits outside these quantiles happens once in two thousand times if the intervals are right.
UNLIKELY = 2.5e-4


def draw_chooser(shape: str, rng: np.random.Generator) -> ChoiceModel:
    return ChoiceModel(
        shape,
        resolution=rng.uniform(15.0, 30.0),
        background=rng.uniform(0.05, 0.2),
        lapse=rng.uniform(0.1, 0.3),
        offsets={"a": 0.0, "b": rng.normal(0.0, 0.7), "c": rng.normal(0.0, 0.7)},
    )


def draw_trials(count: int, rng: np.random.Generator) -> Trials:
    """Trials of two to six options: with their number a background grows, a lapse does not."""
    sizes = rng.choice([2, 3, 4, 6], count)
    return Trials.from_lists(
        [np.exp(rng.uniform(0.0, np.log(150.0), n)) for n in sizes],
        options=[rng.choice(["a", "b", "c"], n).tolist() for n in sizes],
    )


def coverage(shape: str, fits: int, trial_count: int, seed: int) -> dict[str, float]:
    hits = dict.fromkeys(PARAMETERS, 0)
    for number in range(fits):
        rng = np.random.default_rng([seed, number])
        trials, chooser = draw_trials(trial_count, rng), draw_chooser(shape, rng)
        fit = fit_choices(simulate_choices(trials, chooser, rng), shape=shape)
        assert fit.converged, fit.message
        for name in PARAMETERS:
            low, high = ends(fit, name)
            hits[name] += low <= getattr(chooser, name) <= high
    shares = {name: count / fits for name, count in hits.items()}
    print(f"{shape}, {fits} fits to {trial_count} trials: intervals cover {shares}")  # shown with pytest -rP
    return shares


def test_intervals_cover_quick():
    fits = 60
    found = coverage("exponential", fits, trial_count=600, seed=20)
    low, high = stats.binom.ppf([UNLIKELY, 1 - UNLIKELY], fits, LEVEL) / fits
    for name, share in found.items():
        assert low <= share <= high, f"{name}: {share:.1%} of {fits} intervals cover, {low:.1%} to {high:.1%} expected"


@pytest.mark.long
@pytest.mark.parametrize(
    ("shape", "fits", "trial_count"),
    [
        ("exponential", 1000, 1500),
        ("gaussian", 1000, 1500),
        ("power-law", 1000, 1500),
        ("linear", 500, 1000),  # its rough likelihood takes ten times as long
    ],
)
def test_intervals_cover(shape, fits, trial_count):
    found = coverage(shape, fits, trial_count, seed=30)
    assert all(PROMISED[0] <= share <= PROMISED[1] for share in found.values()), found


@pytest.mark.long
def test_intervals_of_a_jump_cover():
    """The region of the resolution promises at least 95 %; what is left over comes from the size of the jumps."""
    found = coverage("constant", 500, trial_count=1000, seed=30)
    assert PROMISED[0] <= found["resolution"] <= 0.99
    assert all(PROMISED[0] <= found[name] <= PROMISED[1] for name in ("background", "lapse")), found
