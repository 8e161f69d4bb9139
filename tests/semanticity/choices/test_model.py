"""The likelihood of recorded choices: against a plain loop, numerical derivatives, and what must not change it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity.choices.model import (
    BACKGROUND,
    LAPSE,
    RESOLUTION,
    TEMPERATURE,
    ChoiceLikelihood,
    ChoiceModel,
    choice_probabilities,
    log_likelihood,
    log_profile,
    simulate_choices,
    to_model,
    to_point,
    trial_log_likelihoods,
)
from genlaws.semanticity.choices.trials import Trials
from genlaws.semanticity.theory.similarity import SHAPES, power_law

OFFSETS = {"a": 0.3, "b": -0.4, "c": 1.1}
EFFECTS = (0.2, -0.1, 0.5, 0.05, -0.6)
STEP = 1e-5  # of central differences; their error is about STEP² times a third derivative of order 1 per trial
DERIVATIVE_ERROR = 1e-7  # per trial


def full_model(shape: str, **changes: object) -> ChoiceModel:
    values = {"background": 0.15, "exponent": 1.7, "temperature": 0.8, "lapse": 0.07}
    return ChoiceModel(shape, 21.3, **{**values, "offsets": OFFSETS, "position_effects": EFFECTS, **changes})  # type: ignore[arg-type]


def mixed_trials(seed: int = 0, count: int = 60) -> Trials:
    """Trials of two to five options, with names and places; some have scores, some no answer."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, count)
    return Trials.from_lists(
        [rng.uniform(0, 60, n) for n in sizes],
        [None if rng.random() < 0.1 else int(rng.integers(n)) for n in sizes],
        options=[rng.choice(list(OFFSETS), n).tolist() for n in sizes],
        places=[(rng.permutation(n) + 1).tolist() for n in sizes],
        scores=[(rng.random(n) / n).tolist() if rng.random() < 0.2 else None for n in sizes],
    )


def plain_probabilities(trials: Trials, model: ChoiceModel, t: int) -> list[float]:
    """Luce choice written out for one trial."""
    g = model.similarity
    weights = []
    count = int(trials.present[t].sum())
    for k in range(count):
        preference = model.offsets[trials.option_names[trials.options[t, k]]]
        preference += model.position_effects[trials.places[t, k] - 1]
        weights.append(float(g(trials.distances[t, k])) ** (1 / model.temperature) * math.exp(preference))
    return [(1 - model.lapse) * w / sum(weights) + model.lapse / count for w in weights]


@pytest.mark.parametrize("shape", SHAPES)
def test_probabilities_and_likelihood_equal_a_plain_loop(shape):
    trials, model = mixed_trials(), full_model(shape)
    expected = 0.0
    found = choice_probabilities(trials, model)
    for t in range(trials.trial_count):
        p = plain_probabilities(trials, model, t)
        assert found[t, : len(p)] == pytest.approx(p, rel=1e-12)
        assert (found[t, len(p) :] == 0).all()
        if trials.scores[t].any():
            expected += sum(s * math.log(q) for s, q in zip(trials.scores[t], p, strict=False))
        elif trials.chosen[t] >= 0:
            expected += math.log(p[trials.chosen[t]])
    assert 0 < trials.unparsed_count < 20
    assert log_likelihood(trials, model) == pytest.approx(expected, rel=1e-12)
    assert trial_log_likelihoods(trials, model).size == trials.trial_count - trials.unparsed_count


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("changes", [{}, {"lapse": 0.0}, {"background": 0.0}, {"temperature": 1.0}])
def test_gradient_equals_numerical_derivative(shape, changes):
    if shape in ("constant", "linear") and changes == {"background": 0.0}:
        changes = {"background": 0.02}  # at 0 some choices would be impossible
    trials = mixed_trials()
    likelihood = ChoiceLikelihood(trials, shape)
    point = to_point(likelihood, full_model(shape, **changes))
    free = np.arange(point.size)
    gradient = likelihood.evaluate(point, free).gradient
    for number in free:
        there, back = point.copy(), point.copy()
        there[number] += STEP
        back[number] -= STEP
        if point[number] == 0 and number in (BACKGROUND, LAPSE):  # the parameter ends here: one-sided, second order
            further = point.copy()
            further[number] += 2 * STEP
            values = [likelihood.value(where) for where in (point, there, further)]
            numerical = (-3 * values[0] + 4 * values[1] - values[2]) / (2 * STEP)
            allowed = 1e-3 * abs(numerical)
        else:
            numerical = (likelihood.value(there) - likelihood.value(back)) / (2 * STEP)
            allowed = 1e-6 * abs(numerical)
        assert gradient[number] == pytest.approx(numerical, abs=allowed + DERIVATIVE_ERROR * trials.trial_count)
    if shape != "constant":
        assert abs(gradient[RESOLUTION]) > 0.01  # the comparison is not between zeros


@pytest.mark.parametrize("shape", ["constant", "linear"])
def test_gradient_by_the_background_is_right_where_similarity_vanishes(shape):
    trials = Trials.from_lists([[1.0, 9.0, 20.0], [30.0, 40.0, 50.0], [2.0, 3.0, 4.0]], [1, 0, 2])
    likelihood = ChoiceLikelihood(trials, shape)
    point = to_point(likelihood, ChoiceModel(shape, 5.0, lapse=0.1))
    slope = likelihood.evaluate(point, np.array([BACKGROUND])).gradient[0]
    there = point.copy()
    there[BACKGROUND] = 1e-8
    assert slope > 0.5
    assert slope == pytest.approx((likelihood.value(there) - likelihood.value(point)) / 1e-8, rel=1e-5)


@pytest.mark.parametrize("shape", ["linear", "exponential", "gaussian", "power-law"])
def test_information_is_the_expected_square_of_the_score(shape):
    trials, model = mixed_trials(), full_model(shape)
    answered = trials.take(trials.parsed)
    likelihood = ChoiceLikelihood(trials, shape)
    point, free = to_point(likelihood, model), np.arange(likelihood.size)
    p = np.exp(likelihood.log_probabilities(point))
    expected = np.zeros((free.size, free.size))
    for t in range(answered.trial_count):
        for k in range(int(answered.option_counts[t])):
            one = replace(answered.take([t]), chosen=np.array([k]), scores=np.zeros((1, 5)))
            score = ChoiceLikelihood(one, shape).evaluate(point, free).gradient
            expected += p[t, k] * np.outer(score, score)
    assert likelihood.evaluate(point, free).information == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_logarithm_of_the_profile_and_its_elasticity(shape):
    x = np.linspace(0.01, 0.99, 50) if shape == "linear" else np.linspace(0.01, 8, 50)
    profile = power_law(2.0).profile if shape == "power-law" else SHAPES[shape].profile
    log_s, elasticity = log_profile(shape, x, 2.0)
    assert np.exp(log_s) == pytest.approx(profile(x), rel=1e-12)
    if shape != "constant":
        slope = (log_profile(shape, x + 1e-6, 2.0)[0] - log_profile(shape, x - 1e-6, 2.0)[0]) / 2e-6
        assert elasticity == pytest.approx(-x * slope, rel=1e-6)


@pytest.mark.parametrize("shape", ["constant", "linear"])
def test_without_similarity_the_choice_is_left_to_the_likings(shape):
    far = Trials.from_lists([[10.0, 20.0, 30.0, 10.0]], [2], options=[["a", "b", "c", "a"]])
    assert choice_probabilities(far, ChoiceModel(shape, 5.0))[0] == pytest.approx([0.25] * 4)
    liked = choice_probabilities(far, ChoiceModel(shape, 5.0, offsets=OFFSETS))[0]
    weights = np.exp([OFFSETS[name] for name in "abca"])
    assert liked == pytest.approx(weights / weights.sum())
    nearly = choice_probabilities(far, ChoiceModel(shape, 5.0, background=1e-9, offsets=OFFSETS))[0]
    assert nearly == pytest.approx(liked)  # no jump as the background vanishes


@pytest.mark.parametrize("shape", ["constant", "linear"])
def test_a_choice_at_zero_similarity_is_impossible_unless_background_or_lapse_allow_it(shape):
    trials = Trials.from_lists([[1.0, 20.0]], [1])
    assert log_likelihood(trials, ChoiceModel(shape, 5.0)) == -np.inf
    assert log_likelihood(trials, ChoiceModel(shape, 5.0, background=0.1)) > -np.inf
    assert log_likelihood(trials, ChoiceModel(shape, 5.0, lapse=0.1)) == pytest.approx(math.log(0.05))


@pytest.mark.parametrize("distance", [3.0, 0.1, 50.0, 1e-5, 123.456, 1e7])
def test_a_distance_equal_to_the_resolution_lies_inside(distance):
    trials = Trials.from_lists([[distance, 2 * distance]], [0])
    assert choice_probabilities(trials, ChoiceModel("constant", distance))[0] == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("shape", ["exponential", "gaussian", "power-law"])
def test_extreme_distances_give_finite_numbers(shape):
    trials = Trials.from_lists([[0.0, 1e6], [1e6, 2e6], [1e-9, 1e6]], [1, 0, 1])
    likelihood = ChoiceLikelihood(trials, shape)
    for model in (ChoiceModel(shape, 1.0), ChoiceModel(shape, 1.0, background=0.1, lapse=0.1)):
        found = likelihood.evaluate(to_point(likelihood, model), np.array([RESOLUTION, BACKGROUND, TEMPERATURE, LAPSE]))
        assert np.isfinite(found.value)
        assert np.isfinite(found.gradient).all()
        assert np.isfinite(found.information).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_order_of_options_does_not_matter(shape):
    trials, model = mixed_trials(), full_model(shape)
    turned = replace(
        trials,
        chosen=np.where(trials.chosen >= 0, trials.distances.shape[1] - 1 - trials.chosen, -1),
        **{name: getattr(trials, name)[:, ::-1] for name in ("distances", "present", "options", "places", "scores")},
    )
    assert log_likelihood(turned, model) == pytest.approx(log_likelihood(trials, model), rel=1e-12)


def test_trials_twice_over_double_the_log_likelihood():
    trials, model = mixed_trials(), full_model("exponential")
    twice = trials.take(np.r_[0 : trials.trial_count, 0 : trials.trial_count])
    assert log_likelihood(twice, model) == pytest.approx(2 * log_likelihood(trials, model), rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_unit_of_distance_does_not_matter(shape):
    trials, model = mixed_trials(), full_model(shape)
    scaled = log_likelihood(replace(trials, distances=7 * trials.distances), replace(model, resolution=7 * 21.3))
    assert scaled == pytest.approx(log_likelihood(trials, model), rel=1e-12)
    assert scaled != pytest.approx(log_likelihood(replace(trials, distances=7 * trials.distances), model), rel=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_survives_the_coordinates(shape):
    likelihood, model = ChoiceLikelihood(mixed_trials(), shape), full_model(shape)
    back = to_model(likelihood, to_point(likelihood, model))
    for name in ("resolution", "background", "exponent", "temperature", "lapse"):
        assert getattr(back, name) == pytest.approx(getattr(model, name), rel=1e-12)
    assert back.offsets == pytest.approx({name: value - OFFSETS["a"] for name, value in OFFSETS.items()})
    assert back.position_effects == pytest.approx([effect - EFFECTS[0] for effect in EFFECTS])


def test_simulated_choices_follow_the_probabilities():
    count = 40_000
    one = mixed_trials().take([3])
    trials, model = one.take(np.zeros(count, dtype=int)), full_model("exponential")
    simulated = simulate_choices(trials, model, 5)
    p = choice_probabilities(one, model)[0]
    frequency = np.bincount(simulated.chosen, minlength=p.size) / count
    z = (frequency - p) / np.sqrt(np.maximum(p * (1 - p), 1e-12) / count)
    assert np.abs(z[p > 0]).max() < 4
    assert (frequency[p == 0] == 0).all()
    assert (simulated.chosen == simulate_choices(trials, model, 5).chosen).all()
    assert (simulated.chosen != simulate_choices(trials, model, 6).chosen).any()
    assert not simulated.scores.any()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"shape": "cubic"}, "shape must be one of constant"),
        ({"resolution": 0.0}, "resolution must be positive"),
        ({"background": -0.1}, "background must be zero"),
        ({"shape": "constant", "background": 1.5}, r"background must lie in \[0, 1\]"),
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"lapse": 1.2}, r"lapse must lie in \[0, 1\]"),
        ({"exponent": -1.0}, "exponent must be positive"),
    ],
)
def test_impossible_models_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        ChoiceModel(**{"shape": "linear", "resolution": 1.0, **changes})


def test_a_model_must_know_the_answers_and_places_it_meets():
    trials = mixed_trials()
    with pytest.raises(InputError, match="c is missing"):
        log_likelihood(trials, ChoiceModel("linear", 5.0, offsets={"a": 0.0, "b": 1.0}))
    with pytest.raises(InputError, match="for each of the 5 places"):
        log_likelihood(trials, ChoiceModel("linear", 5.0, position_effects=(0.0, 1.0)))
