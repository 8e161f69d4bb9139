"""Shapes compared by what they predict, and the number of trials that tell two apart, checked by simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from genlaws.core.errors import InputError
from genlaws.semanticity.choices.fit import fit_choices, trials_to_distinguish
from genlaws.semanticity.choices.model import (
    ChoiceModel,
    choice_probabilities,
    log_likelihood,
    simulate_choices,
    trial_log_likelihoods,
)
from genlaws.semanticity.choices.trials import Trials

LONGER = 4.0  # standard errors allowed to a simulated share


def design(seed: int, count: int) -> Trials:
    rng = np.random.default_rng(seed)
    return Trials.from_lists(rng.uniform(0, 100, (count, 4)))


@pytest.mark.parametrize(
    ("truth", "others"),
    [("exponential", ("gaussian", "constant")), ("gaussian", ("exponential", "constant")), ("constant", ("gaussian",))],
)
def test_the_planted_shape_predicts_best(truth, others):
    trials = simulate_choices(design(1, 2500), ChoiceModel(truth, 25.0, 0.02, lapse=0.02), 1)
    comparison = fit_choices(trials, shape=(*others, truth), folds=3, seed=4, intervals="none").comparison
    assert comparison.best == truth
    assert comparison.difference[0] == 0
    assert comparison.standard_error[0] == 0
    assert (comparison.difference[1:] < -2 * comparison.standard_error[1:]).all()


def test_the_score_is_that_of_trials_the_fit_has_not_seen():
    trials = simulate_choices(design(2, 90), ChoiceModel("exponential", 25.0, lapse=0.1), 2)
    trials = replace(trials, chosen=np.where(np.arange(90) % 9 == 0, -1, trials.chosen))
    comparison = fit_choices(trials, shape=("exponential", "gaussian"), folds=4, seed=7, intervals="none").comparison
    answered = trials.take(trials.parsed)
    fold = np.random.default_rng(7).permutation(np.arange(80) % 4)
    scores = {}
    for shape in comparison.shapes:
        scores[shape] = np.empty(80)
        for part in range(4):
            fit = fit_choices(answered.take(fold != part), shape=shape, intervals="none")
            scores[shape][fold == part] = trial_log_likelihoods(answered.take(fold == part), fit.model)
    for shape, value in zip(comparison.shapes, comparison.log_likelihood_per_trial, strict=True):
        assert value == pytest.approx(scores[shape].mean())
    apart = scores[comparison.shapes[1]] - scores[comparison.best]
    assert comparison.difference[1] == pytest.approx(apart.mean())
    assert comparison.standard_error[1] == pytest.approx(stats.sem(apart))
    assert comparison.trial_count == 80
    table = comparison.to_frame()
    assert table["shape"].tolist() == list(comparison.shapes)


def test_dealing_follows_the_seed():
    trials = simulate_choices(design(3, 200), ChoiceModel("exponential", 25.0), 3)
    first, again, other = (
        fit_choices(trials, shape="exponential,gaussian", seed=seed, intervals="none").comparison for seed in (1, 1, 2)
    )
    assert (first.log_likelihood_per_trial == again.log_likelihood_per_trial).all()
    assert (first.log_likelihood_per_trial != other.log_likelihood_per_trial).all()
    assert fit_choices(trials, shape="exponential", intervals="none").comparison is None


def test_a_shape_that_forbids_a_choice_comes_last():
    trials = simulate_choices(design(4, 200), ChoiceModel("exponential", 25.0, 0.1, lapse=0.1), 4)
    comparison = fit_choices(
        trials, shape=("linear", "exponential"), folds=20, background=0.0, lapse=0.0, intervals="none"
    ).comparison
    assert comparison.best == "exponential"
    worst = np.isneginf(comparison.log_likelihood_per_trial[1])
    assert np.isneginf(comparison.difference[1]) == worst
    assert np.isnan(comparison.standard_error[1]) == worst


def test_a_temperature_is_left_out_where_it_does_nothing():
    trials = simulate_choices(design(5, 400), ChoiceModel("constant", 25.0, 0.1), 5)
    shapes = ("constant", "linear")
    with_it = fit_choices(trials, shape=shapes, temperature="fit", folds=2, intervals="none").comparison
    without = fit_choices(trials, shape=shapes, folds=2, intervals="none").comparison
    assert with_it.best == without.best == "constant"
    assert with_it.log_likelihood_per_trial[0] == pytest.approx(without.log_likelihood_per_trial[0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shape": ()}, "at least one shape"),
        ({"shape": ("cubic",)}, "shape must be one of"),
        ({"folds": 1}, "folds must be a whole number, at least 2"),
        ({"folds": 41}, "at most 40"),
    ],
)
def test_wrong_comparisons_are_refused(options, sentence):
    trials = simulate_choices(design(6, 40), ChoiceModel("exponential", 25.0), 6)
    with pytest.raises(InputError, match=sentence):
        fit_choices(trials, **options)


@pytest.fixture(scope="module")
def question() -> tuple[Trials, ChoiceModel]:
    return design(7, 400), ChoiceModel("gaussian", 25.0, 0.03, lapse=0.03)


def test_the_imitation_is_the_closest_one(question):
    trials, truth = question
    found = trials_to_distinguish(trials, truth=truth, alternative="exponential")
    p = choice_probabilities(trials, truth)
    scored = replace(trials, scores=p)

    def divergence(model: ChoiceModel) -> float:
        return (log_likelihood(scored, truth) - log_likelihood(scored, model)) / trials.trial_count

    assert found.difference == pytest.approx(divergence(found.alternative))
    for name in ("resolution", "background", "lapse"):
        value = getattr(found.alternative, name)
        for other in (0.98 * value, 1.02 * value) if value > 0 else (0.001,):
            assert divergence(replace(found.alternative, **{name: other})) > found.difference
    reach = stats.norm.ppf(0.95) + stats.norm.ppf(0.9)
    assert found.trial_count == np.ceil((reach * found.deviation / found.difference) ** 2)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_the_power_is_reached_in_simulation(question, power):
    trials, truth = question
    found = trials_to_distinguish(trials, truth=truth, alternative="exponential", power=power)
    count, repeats = int(found.trial_count), 2000
    rng = np.random.default_rng(9)
    p, q = (choice_probabilities(trials, model) for model in (truth, found.alternative))
    rejected = 0
    for _ in range(repeats):
        shown = rng.integers(0, 400, count)
        chosen = (rng.random((count, 1)) > np.cumsum(p[shown], axis=1)).sum(axis=1)
        ratio = np.log(p[shown, chosen] / q[shown, chosen])
        rejected += ratio.mean() > stats.norm.ppf(0.95) * ratio.std(ddof=1) / np.sqrt(count)
    error = np.sqrt(power * (1 - power) / repeats)
    # The normal limit is off by the skewness of the ratio over √count, here about a hundredth.
    assert abs(rejected / repeats - power) < LONGER * error + 0.02


def test_the_power_holds_when_both_shapes_are_fitted(question):
    trials, truth = question
    found = trials_to_distinguish(trials, truth=truth, alternative="exponential", power=0.8)
    count, repeats = int(found.trial_count), 80
    rng = np.random.default_rng(10)
    rejected = 0
    for _ in range(repeats):
        drawn = simulate_choices(trials.take(rng.integers(0, 400, count)), truth, rng)
        models = (fit_choices(drawn, shape=shape, intervals="none").model for shape in ("gaussian", "exponential"))
        right, wrong = (trial_log_likelihoods(drawn, model) for model in models)
        ratio = right - wrong
        rejected += ratio.mean() > stats.norm.ppf(0.95) * ratio.std(ddof=1) / np.sqrt(count)
    # Fitting moves both likelihoods by order 1 in total, against a ratio of about count · difference.
    assert abs(rejected / repeats - 0.8) < LONGER * np.sqrt(0.16 / repeats) + 1 / (count * found.difference)


def test_a_shape_cannot_be_told_from_itself(question):
    trials, truth = question
    same = trials_to_distinguish(trials, truth=truth, alternative="gaussian")
    assert same.trial_count == np.inf
    assert "No number of trials" in str(same)
    assert same.alternative.resolution == pytest.approx(truth.resolution, rel=1e-3)


def test_a_named_shape_is_fitted_to_the_record_first(question):
    trials, truth = question
    recorded = simulate_choices(trials, truth, 11)
    named = trials_to_distinguish(recorded, truth="gaussian", alternative="linear", lapse=0.0)
    fitted = fit_choices(recorded, shape="gaussian", lapse=0.0, intervals="none").model
    assert named.truth == fitted
    assert named.alternative.lapse == 0
    assert (
        named.trial_count == trials_to_distinguish(recorded, truth=fitted, alternative="linear", lapse=0.0).trial_count
    )
    assert f"{named.trial_count:.0f} trials distinguish gaussian from linear with probability 90" in str(named)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"power": 1.0}, "power must lie in"),
        ({"level": 0.0}, "level must lie in"),
        ({"alternative": "x"}, "alternative"),
    ],
)
def test_wrong_power_questions_are_refused(question, options, sentence):
    trials, truth = question
    with pytest.raises(InputError, match=sentence):
        trials_to_distinguish(trials, truth=truth, **{"alternative": "linear", **options})
