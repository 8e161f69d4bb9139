"""Choosers who never err, or hardly: the likelihood rises to a limit, and the fit says what the trials still tell."""

from __future__ import annotations

import numpy as np
import pytest

from choice_cases import DEVIANCE, ends
from genlaws.semanticity.choices.fit import fit_choices, trials_to_distinguish
from genlaws.semanticity.choices.model import ChoiceModel, log_likelihood
from genlaws.semanticity.choices.trials import Trials
from genlaws.semanticity.theory.similarity import SHAPES

SHARP = ("exponential", "gaussian")  # a power law with a fixed exponent cannot be arbitrarily sharp
COUNT = 20


def distances(options: int = 3, count: int = COUNT, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(1.0, 100.0, (count, options)).round(1)


def identification(count: int = COUNT) -> np.ndarray:
    """Two options, one of which is a copy of the probe."""
    shown = distances(2, count)
    shown[np.arange(count), np.arange(count) % 2] = 0.0
    return shown


def nearest(shown: np.ndarray, **extra: object) -> Trials:
    return Trials.from_lists(shown, shown.argmin(axis=1).tolist(), **extra)  # type: ignore[arg-type]


def most_lapses(options: int, errorless: int) -> float:
    """Upper end of the interval of the lapse rate of a chooser who is otherwise certain: N log P = -deviance / 2."""
    return (1.0 - np.exp(-0.5 * DEVIANCE / errorless)) * options / (options - 1)


@pytest.mark.parametrize(("shape", "options"), [("exponential", 2), ("gaussian", 3)])
def test_a_chooser_who_is_always_right_gets_an_upper_limit(shape, options):
    trials = nearest(distances(options))
    fit = fit_choices(trials, shape=shape)
    low, high = ends(fit, "resolution")
    assert fit.converged
    assert fit.at_limit == ("resolution",)
    assert fit.log_likelihood == pytest.approx(0.0, abs=1e-4)
    assert low == 0.0
    # Without background and lapses, which only make a sure chooser less sure, the limit is where the deviance is.
    assert -2.0 * log_likelihood(trials, ChoiceModel(shape, high)) == pytest.approx(DEVIANCE, abs=0.01)
    assert ends(fit, "lapse") == pytest.approx((0.0, most_lapses(options, COUNT)), rel=1e-3)
    assert fit.line() == f"resolution below {high:.4g} (95 % interval; {COUNT} trials)"
    assert "There is no best resolution, only an upper limit" in fit.message
    assert "maximum was found" not in fit.message


@pytest.mark.parametrize("shape", SHARP)
def test_the_background_of_a_chooser_who_is_always_right_ends_where_its_profile_does(shape):
    trials = nearest(distances(count=5))
    low, high = ends(fit_choices(trials, shape=shape, intervals=("background",)), "background")
    inside, outside = (
        max(log_likelihood(trials, ChoiceModel(shape, resolution, end)) for resolution in np.geomspace(1.0, 100.0, 300))
        for end in (0.98 * high, 1.02 * high)
    )
    assert low == 0.0
    assert -2.0 * inside < DEVIANCE < -2.0 * outside


@pytest.mark.parametrize("shape", [*SHARP, "constant"])
def test_a_chooser_who_always_knows_the_copy(shape):
    fit = fit_choices(nearest(identification()), shape=shape)
    share = np.exp(0.5 * DEVIANCE / COUNT) - 1.0  # at resolution 0 the copy is chosen with probability 1 / (1 + share)
    assert fit.converged
    assert ends(fit, "resolution")[0] == 0.0
    assert np.isfinite(ends(fit, "resolution")[1])
    expected = share if shape == "constant" else share / (1.0 - share)
    assert ends(fit, "background") == pytest.approx((0.0, expected), rel=5e-3)
    assert ends(fit, "lapse") == pytest.approx((0.0, most_lapses(2, COUNT)), rel=1e-3)


@pytest.mark.parametrize("shape", SHARP)
def test_a_chooser_who_knows_the_copy_and_guesses_otherwise_has_a_threshold(shape):
    rng = np.random.default_rng(4)
    known, new = identification(15), distances(2, 15, seed=4)
    chosen = [*known.argmin(axis=1).tolist(), *rng.integers(0, 2, 15).tolist()]
    fit = fit_choices(Trials.from_lists(np.concatenate([known, new]), chosen), shape=shape)
    assert fit.converged
    assert fit.at_limit == ("resolution", "background")
    assert (ends(fit, "resolution")[0], ends(fit, "background")[0]) == (0.0, 0.0)
    assert np.isfinite(ends(fit, "resolution")[1])
    assert "The constant shape is this limit." in fit.message
    assert str(fit).startswith("resolution below ")


@pytest.mark.parametrize("shape", SHARP)
def test_a_chooser_who_is_right_but_for_one_lapse(shape):
    shown = distances(count=80, seed=4)
    chosen = shown.argmin(axis=1)
    chosen[7] = shown[7].argmax()
    fit = fit_choices(Trials.from_lists(shown, chosen.tolist()), shape=shape, intervals=("lapse",))
    assert fit.converged
    assert fit.at_limit == ("resolution",)
    assert fit.model.lapse == pytest.approx(1.5 / 80, rel=1e-3)  # a lapse is right by chance one time in three
    for end in ends(fit, "lapse"):
        deviance = -2.0 * (79 * np.log1p(-2.0 * end / 3.0) + np.log(end / 3.0) - fit.log_likelihood)
        assert deviance == pytest.approx(DEVIANCE, rel=0.01)


def test_likings_that_do_not_matter_are_zero_and_open():
    rng = np.random.default_rng(3)
    names = [rng.permutation(["a", "b", "c"]).tolist() for _ in range(COUNT)]
    fit = fit_choices(nearest(distances(), options=names), shape="exponential", intervals=("offset[b]",))
    assert fit.converged
    assert fit.model.offsets == {"a": 0.0, "b": 0.0, "c": 0.0}
    assert ends(fit, "offset[b]") == (-np.inf, np.inf)
    assert "never, or always" not in fit.message


def test_an_exponent_and_a_temperature_have_limits_too():
    steep = fit_choices(nearest(distances()), shape="power-law", exponent="fit", intervals="none")
    assert steep.converged
    assert "no best exponent, only a lower limit" in steep.message
    cold = fit_choices(nearest(distances()), shape="gaussian", temperature="fit", intervals="none")
    assert cold.converged
    assert "temperature" in cold.at_limit


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["wrong", "one kind", "five", "scores"])
def test_every_sure_chooser_gets_an_answer(shape, kind):
    shown = distances(count=5 if kind == "five" else 12)
    trials = {
        "wrong": Trials.from_lists(shown, shown.argmax(axis=1).tolist()),
        "one kind": Trials.from_lists([[1.0, 10.0]] * 12, [0] * 12),
        "five": nearest(shown),
        "scores": Trials.from_lists(shown, scores=np.eye(3)[shown.argmin(axis=1)].tolist()),
    }[kind]
    fit = fit_choices(trials, shape=shape, intervals=("resolution",))
    low, high = ends(fit, "resolution")
    assert fit.converged
    assert low <= fit.model.resolution <= high
    if kind == "wrong":  # nothing is likelier than guessing, so the trials rule no resolution out
        assert fit.log_likelihood == pytest.approx(fit.chance_log_likelihood, abs=1e-3)
        assert (low, high) == (0.0, np.inf)


def test_the_first_place_alone_is_a_place_and_no_resolution():
    fit = fit_choices(Trials.from_lists(distances(), [0] * COUNT), shape="exponential", position_effects="fit")
    assert fit.converged
    assert fit.model.position_effects[1:] == (-15.0, -15.0)
    assert "position[2], position[3] ran to the limit" in fit.message


def test_two_shapes_that_are_both_certain_are_hardly_told_apart():
    assert trials_to_distinguish(nearest(distances()), truth="exponential", alternative="gaussian").trial_count > 1e6
