"""Where a fit of choices meets its limits: steps, impossible choices, what trials cannot determine, wrong options."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from choice_cases import ANSWERS, DEVIANCE, changed, ends, planted
from genlaws.core.errors import InputError
from genlaws.semanticity.choices.fit import fit_choices
from genlaws.semanticity.choices.model import ChoiceModel, choice_probabilities, log_likelihood, simulate_choices
from genlaws.semanticity.choices.trials import Trials
from genlaws.semanticity.theory.similarity import SHAPES


def test_the_constant_shape_is_fitted_in_steps():
    trials, _ = planted("constant", count=400)
    fit = fit_choices(trials, shape="constant")
    distances = np.unique(trials.distances[trials.distances > 0])
    above = distances.searchsorted(fit.model.resolution)
    assert fit.model.resolution == pytest.approx(0.5 * (distances[above - 1] + distances[above]), rel=1e-9)
    for at in (distances[above - 1] * (1 + 1e-9), distances[above] * (1 - 1e-9)):
        assert log_likelihood(trials, changed(fit.model, "resolution", float(at))) == pytest.approx(fit.log_likelihood)
    for end in ends(fit, "resolution"):
        assert np.abs(distances / end - 1).min() < 1e-9  # the region ends where a step does
    assert ends(fit, "resolution")[0] <= 22.0 <= ends(fit, "resolution")[1]


@pytest.mark.parametrize("shape", ["constant", "linear"])
def test_without_background_and_lapse_single_choices_decide(shape):
    distances, chosen = [[1.0, 5.0], [2.0, 9.0], [3.0, 4.0], [6.0, 8.0], [1.0, 7.0]], [0, 0, 1, 0, 1]
    trials = Trials.from_lists(distances * 20, chosen * 20)
    fit = fit_choices(trials, shape=shape, background=0.0, lapse=0.0)
    assert np.isfinite(fit.log_likelihood)
    assert fit.model.resolution >= 7.0  # the choice at distance 7 next to one at 1 must lie inside
    assert "single ones decide it" in fit.message
    assert ends(fit, "resolution")[0] >= 6.99


def test_impossible_choices_are_said_to_be_impossible():
    trials = Trials.from_lists([[1.0, 9.0]] * 10, [0] * 9 + [1])
    fit = fit_choices(trials, shape="constant", resolution=5.0, background=0.0, lapse="fit", offsets=None)
    assert np.isfinite(fit.log_likelihood)
    impossible = fit_choices(
        trials, shape="constant", resolution=5.0, background=0.0, lapse=0.0, position_effects="fit"
    )
    assert impossible.log_likelihood == -np.inf
    assert not impossible.converged
    assert "probability zero" in impossible.message
    assert "lapse" in impossible.message


def test_an_answer_never_given_has_no_lower_limit():
    trials, _ = planted("exponential")
    never = trials.options[np.arange(500), trials.chosen] == ANSWERS.index("star")
    fit = fit_choices(trials.take(~never), shape="exponential", intervals=("offset[star]",))
    low, high = ends(fit, "offset[star]")
    assert low == -np.inf
    assert high < 0
    assert "offset[star] ran to the limit" in fit.message


def test_parameters_the_trials_cannot_tell_are_named():
    rng = np.random.default_rng(0)
    pairs = Trials.from_lists(np.exp(rng.uniform(0, 5, (300, 2))))
    pairs = simulate_choices(pairs, ChoiceModel("constant", 20.0, 0.1, lapse=0.1), rng)
    fit = fit_choices(pairs, shape="constant")
    assert "cannot distinguish background, lapse" in fit.message
    alone = fit_choices(pairs, shape="constant", lapse=0.0)
    assert "cannot distinguish" not in alone.message
    assert alone.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-6)


@pytest.mark.parametrize(
    ("shape", "options", "sentence"),
    [
        ("constant", {}, r"only background\^\(1/temperature\) matters"),
        ("exponential", {"background": 0.0}, "only resolution × temperature matters"),
        ("gaussian", {"background": 0.0}, "only resolution × √temperature matters"),
        ("power-law", {"background": 0.0, "exponent": "fit"}, "only exponent / temperature matters"),
    ],
)
def test_a_temperature_that_does_nothing_new_is_refused(shape, options, sentence):
    trials, model = planted(shape)
    with pytest.raises(InputError, match=sentence):
        fit_choices(trials, shape=shape, temperature="fit", **options)
    # What is claimed: the other parameters can do the same.
    background = model.background if shape == "constant" else 0.0
    warm = replace(model, background=background, temperature=1.6)
    same = {
        "constant": {"background": background ** (1 / 1.6)},
        "exponential": {"resolution": 22.0 * 1.6},
        "gaussian": {"resolution": 22.0 * 1.6**0.5},
        "power-law": {"exponent": model.exponent / 1.6},
    }[shape]
    assert log_likelihood(trials, warm) == pytest.approx(log_likelihood(trials, replace(warm, temperature=1.0, **same)))


def test_a_temperature_that_can_be_told_is_fitted():
    trials, _ = planted("gaussian", count=3000, temperature=0.6)
    fit = fit_choices(trials, shape="gaussian", temperature="fit", intervals=("temperature",))
    low, high = ends(fit, "temperature")
    assert low <= 0.6 <= high
    assert high < 1.0
    fixed = fit_choices(
        trials, shape="exponential", temperature="fit", resolution=22.0, background=0.0, intervals="none"
    )
    assert fixed.converged  # with the resolution known, the temperature is no longer its double


def test_answers_and_places_that_go_together_are_refused():
    rng = np.random.default_rng(0)
    trials = Trials.from_lists(rng.uniform(0, 9, (50, 3)), rng.integers(0, 3, 50), options=[["a", "b", "c"]] * 50)
    with pytest.raises(InputError, match="always at the same place"):
        fit_choices(trials, shape="exponential", position_effects="fit")
    assert fit_choices(trials, shape="exponential", position_effects="fit", offsets=None, intervals="none").converged
    moved = replace(trials, places=np.where(np.arange(50)[:, None] == 0, trials.places[:, ::-1], trials.places))
    assert fit_choices(moved, shape="exponential", position_effects="fit", intervals="none").fitted[-1] == "position[3]"


def test_more_parameters_than_trials_are_refused():
    trials, _ = planted("exponential", count=6)
    with pytest.raises(InputError, match="6 of 6 trials with an answer and 6 parameters"):
        fit_choices(trials, shape="exponential")
    unread = replace(trials, chosen=np.full(6, -1))
    with pytest.raises(InputError, match="0 of 6 trials with an answer"):
        fit_choices(unread, shape="exponential")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shape": "cubic"}, "shape must be one of"),
        ({"background": "free"}, "background must be a number or 'fit'; got 'free'"),
        ({"offsets": "yes"}, "offsets must be a Mapping or None or 'fit' or 'none'"),
        ({"lapse": 2.0}, r"lapse must lie in \[0, 1\]"),
        ({"intervals": "some"}, "intervals must be one of resolution, .* Or scalars, all or none"),
        ({"intervals": ("temperature",)}, "intervals must be one of resolution, background"),
        ({"offsets": {"circle": 0.0}}, "square, star, triangle is missing"),
    ],
)
def test_wrong_options_are_refused(options, sentence):
    trials, _ = planted("exponential", count=50)
    with pytest.raises(InputError, match=sentence):
        fit_choices(trials, **{"shape": "exponential", **options})


def test_unread_answers_are_counted_and_change_nothing():
    trials, _ = planted("exponential")
    lost = np.arange(500) % 10 == 3
    some = replace(trials, chosen=np.where(lost, -1, trials.chosen))
    fit, selected = fit_choices(some, shape="exponential"), fit_choices(trials.take(~lost), shape="exponential")
    assert (fit.trial_count, fit.parsed_count, fit.unparsed_count) == (500, 450, 50)
    assert (fit.unparsed_share.low, fit.unparsed_share.high) == pytest.approx(
        stats.binomtest(50, 500).proportion_ci(method="wilson")
    )
    assert fit.log_likelihood == pytest.approx(selected.log_likelihood, abs=1e-9)
    assert ends(fit, "resolution") == pytest.approx(ends(selected, "resolution"))
    assert selected.unparsed_count == 0
    assert "50 more unparsed" in str(fit)


def test_the_result_reads_well():
    trials, _ = planted("exponential")
    fit = fit_choices(trials, shape="exponential", intervals="all")
    low, high = ends(fit, "resolution")
    assert fit.line() == f"resolution {fit.model.resolution:.4g} (95 % interval {low:.4g} to {high:.4g}; 500 trials)"
    table = fit.to_frame().set_index("parameter")
    assert table.loc["resolution", "low"] == low
    assert table.loc["offset[triangle]", "value"] == fit.model.offsets["triangle"]
    assert table.fitted.sum() == fit.parameter_count == np.isfinite(table.low).sum() == 6
    assert fit.log_likelihood_per_trial == pytest.approx(fit.log_likelihood / 500)
    assert fit.chance_log_likelihood == pytest.approx(-np.log(trials.option_counts).sum())
    assert fit.exponent is None
    with pytest.raises(FrozenInstanceError):
        fit.resolution = 1.0  # type: ignore[misc]


def test_predictions_are_those_of_the_model():
    trials, _ = planted("exponential")
    fit = fit_choices(trials, shape="exponential", intervals="none")
    names = [trials.option_names[i] for i in trials.options[0][trials.present[0]]]
    shown = trials.distances[0][trials.present[0]]
    expected = choice_probabilities(trials.take([0]), fit.model)[0, : shown.size]
    assert fit.predict(shown, names) == pytest.approx(expected)
    assert fit.predict([5.0, 50.0]).sum() == pytest.approx(1.0)
    assert fit.predict([5.0, 5.0]) == pytest.approx([0.5, 0.5])
    assert fit.predict([5.0, 5.0], ["triangle", "star"])[0] > 0.5


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["zero", "equal", "whole", "wide"])
def test_strange_records_do_not_break_the_fit(shape, kind):
    rng = np.random.default_rng(12)
    distances = {
        "zero": np.zeros((40, 3)),
        "equal": np.full((40, 3), 3.0),
        "whole": rng.integers(0, 4, (40, 3)).astype(float),
        "wide": np.exp(rng.uniform(-20, 20, (40, 3))),
    }[kind]
    names = [rng.permutation(ANSWERS[:3]).tolist() for _ in range(40)]
    for chosen in (np.zeros(40, dtype=int), distances.argmin(axis=1), rng.integers(0, 3, 40)):
        fit = fit_choices(Trials.from_lists(distances, chosen.tolist(), options=names), shape=shape)
        low, high = ends(fit, "resolution")
        assert fit.log_likelihood >= fit.chance_log_likelihood - 1e-6
        assert not low > fit.model.resolution * (1 + 1e-6)
        assert not high < fit.model.resolution * (1 - 1e-6)
        assert fit.converged or "short" in fit.message


@pytest.mark.parametrize(("shape", "name", "seed"), [("gaussian", "lapse", 7), ("exponential", "background", 4)])
def test_an_interval_ends_where_the_deviance_of_a_grid_does(shape, name, seed):
    """Few options are near, so background and lapses can stand in for each other, and a climb can lose its way."""
    shown = np.random.default_rng(seed).uniform(0.0, 100.0, (400, 3)).round()
    truth = ChoiceModel("linear", 5.0, 0.05, lapse=0.05)
    trials = simulate_choices(Trials.from_lists(shown, [0] * len(shown)), truth, seed)
    fit = fit_choices(trials, shape=shape, intervals=(name,))
    grids = {
        "resolution": np.geomspace(0.1, 20.0, 60),
        "background": np.geomspace(1e-6, 0.5, 40),
        "lapse": np.linspace(0.0, 0.5, 26),
        name: [ends(fit, name)[1]],
    }
    points = (dict(zip(grids, values, strict=True)) for values in product(*grids.values()))
    likeliest = max(log_likelihood(trials, ChoiceModel(shape, **point)) for point in points)
    assert 2.0 * (fit.log_likelihood - likeliest) == pytest.approx(DEVIANCE, abs=0.1)
