"""The fit of recorded choices: the answer put back, planted choosers found, and unidentifiable parameters refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from choice_cases import ANSWERS, DEVIANCE, DEVIANCE_ERROR, OFFSETS, SMOOTH, changed, design, ends, planted
from genlaws.semanticity.choices.fit import fit_choices
from genlaws.semanticity.choices.model import (
    LAPSE,
    ChoiceLikelihood,
    ChoiceModel,
    choice_probabilities,
    log_likelihood,
    simulate_choices,
    to_point,
)
from genlaws.semanticity.choices.search import Optimum, Search, make_box
from genlaws.semanticity.choices.trials import Trials
from genlaws.semanticity.theory.similarity import SHAPES

NEAR_ITS_LIMIT = 1e-6  # a step of 1e-4 of such a value changes the likelihood by less than rounding does


@pytest.mark.parametrize("shape", SMOOTH)
def test_answer_put_back_is_a_flat_top(shape):
    trials, _ = planted(shape)
    fit = fit_choices(trials, shape=shape, intervals="none")
    assert fit.converged
    assert fit.residual < 1e-6
    assert log_likelihood(trials, fit.model) == pytest.approx(fit.log_likelihood, abs=1e-9)
    for name in ("resolution", "background", "lapse"):
        value = getattr(fit.model, name)
        if value < NEAR_ITS_LIMIT:  # the likelihood then falls from the limit on, and has no flat top
            assert log_likelihood(trials, changed(fit.model, name, 1e-4)) < fit.log_likelihood
            continue
        step = 1e-4 * value
        up, down = (log_likelihood(trials, changed(fit.model, name, value + d)) for d in (step, -step))
        # Flat compared with the curvature: the slope would move the maximum by less than a thousandth of the step.
        assert up < fit.log_likelihood
        assert down < fit.log_likelihood
        assert abs(up - down) < 1e-2 * abs(up + down - 2 * fit.log_likelihood)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_other_point_is_likelier(shape):
    trials, model = planted(shape, count=300)
    fit = fit_choices(trials, shape=shape, intervals="none")
    likelihood = ChoiceLikelihood(trials, shape)
    box = make_box(likelihood, np.array([0, 1, 4, 5, 6, 7]))
    rng = np.random.default_rng(3)
    best = -np.inf
    for _ in range(12):
        start = to_point(likelihood, model)
        start[[0, 1, 4]] = rng.uniform(np.log(3), np.log(200)), rng.uniform(0, 0.5), rng.uniform(0, 0.5)

        def loss(part: np.ndarray, start: np.ndarray = start) -> float:
            point = start.copy()
            point[box.free] = part
            return -likelihood.value(point)

        bounds = list(zip(box.low[box.free], box.high[box.free], strict=True))
        method = "Nelder-Mead" if shape in ("constant", "linear") else "L-BFGS-B"
        best = max(best, -optimize.minimize(loss, start[box.free], bounds=bounds, method=method).fun)
    assert best <= fit.log_likelihood + 1e-6
    assert fit.log_likelihood >= log_likelihood(trials, model)


@pytest.mark.parametrize("shape", ["constant", "linear"])
@pytest.mark.parametrize("seed", [1, 2])  # the first has a low top with a background for triangles alone
def test_no_resolution_on_a_fine_grid_is_likelier(shape, seed):
    trials, _ = planted(shape, seed=seed, count=200)
    fit = fit_choices(trials, shape=shape)
    assert fit.converged
    low, high = ends(fit, "resolution")
    if shape == "linear":
        grid, drop = np.geomspace(0.7 * low, 1.4 * high, 70), DEVIANCE / 2
    else:  # for a jump, both sides of the likelihood ratio stay above 1 - √0.95 with 95 %
        steps = np.unique(trials.distances)
        grid, drop = 0.5 * (steps[1:] + steps[:-1]), -np.log(1 - np.sqrt(0.95))
        grid = grid[(grid > 0.8 * low) & (grid < 1.25 * high)]
    profile = [fit_choices(trials, shape=shape, resolution=float(at), intervals="none").log_likelihood for at in grid]
    assert max(profile) <= fit.log_likelihood + 1e-6
    likely = grid[np.array(profile) > fit.log_likelihood - drop]
    assert low <= likely.min() <= low * 1.03
    assert high / 1.03 <= likely.max() <= high


@pytest.mark.parametrize("shape", ["linear", "exponential"])
def test_a_likelier_point_met_on_the_way_becomes_the_maximum(shape, monkeypatch):
    trials, _ = planted(shape)
    expected = fit_choices(trials, shape=shape)
    maximize = Search.maximize

    def stop_short(search: Search) -> Optimum:
        best = maximize(search)
        point = best.point + np.where(np.arange(best.point.size) == LAPSE, 0.05, 0.0)
        return Optimum(point, search.likelihood.value(point), 1.0)

    monkeypatch.setattr(Search, "maximize", stop_short)
    fit = fit_choices(trials, shape=shape)
    assert fit.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-9)
    assert ends(fit, "background") == pytest.approx(ends(expected, "background"), rel=1e-3)
    monkeypatch.setattr("genlaws.semanticity.choices.fit.MAX_RESTARTS", 1)
    lost = fit_choices(trials, shape=shape)
    assert np.isnan(ends(lost, "resolution")).all()
    assert "found a likelier point" in lost.message


def test_a_maximum_on_a_corner_counts_as_found():
    """At these corners the two sides meet, and a point between them is on neither."""
    for seed in (10, 14, 21, 55):
        trials, _ = planted("linear", seed=seed, count=150)
        fit = fit_choices(trials, shape="linear", intervals="none")
        assert fit.converged, fit.message


@pytest.mark.parametrize("shape", SMOOTH)
@pytest.mark.parametrize("name", ["resolution", "background", "lapse", "offset[triangle]"])
def test_the_ends_of_an_interval_have_the_right_deviance(shape, name):
    trials, _ = planted(shape, seed=2, count=1500)
    fit = fit_choices(trials, shape=shape, intervals=(name,))
    assert {name for name in fit.estimates if not np.isnan(ends(fit, name)).any()} == {name}
    for end in ends(fit, name):
        if end in (0.0, np.inf):
            continue
        if name == "offset[triangle]":
            held = _best_with_offset(trials, shape, "triangle", end, fit.model)
        else:
            held = fit_choices(trials, shape=shape, intervals="none", **{name: end}).log_likelihood
        assert 2 * (fit.log_likelihood - held) == pytest.approx(DEVIANCE, abs=DEVIANCE_ERROR)


def _best_with_offset(trials: Trials, shape: str, name: str, offset: float, start: ChoiceModel) -> float:
    likelihood = ChoiceLikelihood(trials, shape)
    point = to_point(likelihood, start)
    number = 5 + ANSWERS[1:].index(name)
    point[number] = offset
    free = [i for i in (0, 1, 4, 5, 6, 7) if i != number]
    box = make_box(likelihood, np.array(free))

    def loss(part: np.ndarray) -> tuple[float, np.ndarray]:
        there = point.copy()
        there[free] = part
        found = likelihood.evaluate(there, np.array(free))
        return -found.value, -found.gradient

    bounds = list(zip(box.low[free], box.high[free], strict=True))
    return -float(optimize.minimize(loss, point[free], jac=True, bounds=bounds, options={"ftol": 1e-14}).fun)


@pytest.mark.parametrize("shape", SMOOTH)
def test_exact_probabilities_give_the_planted_parameters_back(shape):
    model = ChoiceModel(
        shape, 22.0, 0.1, 1.5, 0.8, 0.05, offsets=OFFSETS, position_effects=(0.0, 0.3, -0.2, 0.1, 0.0, 0.4)
    )
    trials = design(5, 800)
    scored = replace(trials, scores=choice_probabilities(trials, model))
    exponent = {"exponent": 1.5} if shape == "power-law" else {}
    fit = fit_choices(scored, shape=shape, **exponent, temperature="fit", position_effects="fit", intervals="none")
    for name in ("resolution", "background", "temperature", "lapse"):
        assert getattr(fit.model, name) == pytest.approx(getattr(model, name), rel=1e-4)
    assert fit.model.offsets == pytest.approx(OFFSETS, abs=1e-4)
    assert fit.model.position_effects == pytest.approx(model.position_effects, abs=1e-4)
    assert "count as one choice each" in fit.message
    if shape == "power-law":
        free = fit_choices(
            scored, shape=shape, exponent="fit", temperature=0.8, position_effects="fit", intervals="none"
        )
        assert free.model.exponent == pytest.approx(1.5, rel=1e-3)


def test_a_choice_is_a_score_of_one():
    trials, _ = planted("exponential")
    scored = replace(trials, scores=trials.answers, chosen=np.full(trials.trial_count, -1))
    chosen, as_scores = fit_choices(trials, shape="exponential"), fit_choices(scored, shape="exponential")
    assert as_scores.log_likelihood == pytest.approx(chosen.log_likelihood, abs=1e-9)
    assert ends(as_scores, "resolution") == pytest.approx(ends(chosen, "resolution"), rel=1e-6)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_biased_but_sharp_chooser_is_not_called_blurred(seed):
    """Six answers in ten are "triangle", one in four should be; the resolution is fine all the same."""
    rng = np.random.default_rng(seed)
    trials = Trials.from_lists(
        rng.uniform(0, 100, (600, 4)), options=[rng.permutation(ANSWERS).tolist() for _ in range(600)]
    )
    model = ChoiceModel("exponential", 8.0, lapse=0.02, offsets={**dict.fromkeys(ANSWERS, 0.0), "triangle": 5.0})
    trials = simulate_choices(trials, model, rng)
    triangles = trials.options[np.arange(600), trials.chosen] == ANSWERS.index("triangle")
    assert 0.5 < triangles.mean() < 0.7
    fit = fit_choices(trials, shape="exponential", intervals=("resolution", "offset[triangle]"))
    low, high = ends(fit, "resolution")
    assert low <= 8.0 <= high
    assert high < 12.0
    assert ends(fit, "offset[triangle]")[0] <= 5.0 <= ends(fit, "offset[triangle]")[1]
    # What the offsets are for: without them the same answers look more than twice as blurred, with confidence.
    blurred = fit_choices(trials, shape="exponential", offsets=None)
    assert ends(blurred, "resolution")[0] > 2 * 8.0
    assert blurred.aic > fit.aic + 100
    assert blurred.offsets == {}


def test_planted_effects_of_the_place_are_found():
    effects = (0.0, -0.3, 0.2, 0.8)
    rng = np.random.default_rng(8)
    trials = Trials.from_lists(
        np.exp(rng.uniform(0, 5, (2000, 4))), places=[(rng.permutation(4) + 1).tolist() for _ in range(2000)]
    )
    trials = simulate_choices(trials, ChoiceModel("gaussian", 22.0, 0.05, position_effects=effects), rng)
    names = tuple(f"position[{i}]" for i in (2, 3, 4))
    fit = fit_choices(trials, shape="gaussian", position_effects="fit", lapse=0.0, intervals=names)
    for name, effect in zip(names, effects[1:], strict=True):
        low, high = ends(fit, name)
        assert low <= effect <= high
        assert high - low < 0.5
    assert fit.model.position_effects[0] == 0.0
    without = fit_choices(trials, shape="gaussian", lapse=0.0, intervals="none")
    assert without.position_effects == ()
    assert fit.log_likelihood > without.log_likelihood + 20


def test_intervals_touch_the_end_of_the_range():
    trials, _ = planted("exponential", background=0.0, lapse=0.0)
    fit = fit_choices(trials, shape="exponential")
    assert ends(fit, "background")[0] == 0.0
    assert ends(fit, "lapse")[0] == 0.0
    assert 0 < ends(fit, "lapse")[1] < 0.2
    guessing = simulate_choices(trials, ChoiceModel("exponential", 22.0, lapse=1.0), 4)
    nothing = fit_choices(guessing, shape="exponential", offsets=None)
    assert ends(nothing, "lapse")[1] == 1.0
    assert ends(nothing, "background")[1] == np.inf
    assert nothing.log_likelihood - nothing.chance_log_likelihood < 8  # three parameters gain 1.5 on average


def test_fixed_values_are_kept_and_not_counted():
    trials, _ = planted("power-law")
    fit = fit_choices(
        trials,
        shape="power-law",
        background=0.07,
        exponent=1.3,
        temperature=0.9,
        lapse=0.0,
        offsets={name: 0.1 * i for i, name in enumerate(ANSWERS)},
        position_effects=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    )
    assert (fit.model.background, fit.model.exponent, fit.model.temperature, fit.model.lapse) == pytest.approx(
        (0.07, 1.3, 0.9, 0.0)
    )
    assert fit.model.offsets == pytest.approx({"circle": 0.0, "square": 0.1, "star": 0.2, "triangle": 0.3})
    assert fit.model.position_effects == pytest.approx((0.0, 0.1, 0.2, 0.3, 0.4, 0.5))
    assert fit.fitted == ("resolution",)
    assert {name for name in fit.estimates if not np.isnan(ends(fit, name)).any()} == {"resolution"}
    assert fit.parameter_count == 1
    assert fit.aic == pytest.approx(2 - 2 * fit.log_likelihood)


def test_scaled_distances_scale_the_resolution_and_nothing_else():
    trials, _ = planted("exponential")
    fit, scaled = (
        fit_choices(trials, shape="exponential"),
        fit_choices(replace(trials, distances=1000 * trials.distances), shape="exponential"),
    )
    assert scaled.model.resolution == pytest.approx(1000 * fit.model.resolution, rel=1e-5)
    assert ends(scaled, "resolution") == pytest.approx([1000 * e for e in ends(fit, "resolution")], rel=1e-3)
    assert scaled.model.background == pytest.approx(fit.model.background, rel=1e-4)
    assert scaled.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-8)


@pytest.mark.parametrize("shape", ["exponential", "constant"])
def test_trials_twice_over_double_the_likelihood_and_narrow_the_interval(shape):
    trials, _ = planted(shape, count=400)
    twice = trials.take(np.r_[0:400, 0:400])
    fit, double = fit_choices(trials, shape=shape), fit_choices(twice, shape=shape)
    assert double.log_likelihood == pytest.approx(2 * fit.log_likelihood, rel=1e-9)
    assert double.model.resolution == pytest.approx(fit.model.resolution, rel=1e-5)
    width, half = (np.ptp(np.log(ends(found, "resolution"))) for found in (fit, double))
    if shape == "exponential":
        assert width / half == pytest.approx(np.sqrt(2), rel=0.1)
    assert half <= width
