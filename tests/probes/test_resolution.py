"""A planted resolution goes through the whole probe, into words and back, and is found where it should be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from genlaws.core.errors import InputError
from genlaws.probes import (
    ProbeTrial,
    Prompt,
    RecordedTrials,
    Reply,
    SimulatedModel,
    collapse_of,
    domain_of,
    draw_resolution_trials,
    draw_trials,
    fit_resolution,
    rates_of,
    recorded,
    resolution_curve,
    template_of,
)

YEARS = domain_of("years")
UNLIKELY = 2.5e-4
PLANTED = {"resolution": 75.0, "background": 0.05, "lapse": 0.08}


def requested(
    seed: int, sizes: tuple[int, ...] = (2, 4, 8), each: int = 150, kind: str = "similarity"
) -> list[ProbeTrial]:
    rng = np.random.default_rng(seed)
    trials = [trial for size in sizes for trial in draw_trials(YEARS, kind, size, each, seed=rng)]
    if kind == "similarity":
        trials += draw_resolution_trials(YEARS, [20, 100], [-150, -60, -20, 20, 60, 150], 10, seed=rng)
    return trials


def answered(
    trials: list[ProbeTrial], mode: str = "text", template: str = "list", **settings: object
) -> RecordedTrials:
    """Trials through prompts and a simulated model and back."""
    model = SimulatedModel(YEARS, **{**PLANTED, **settings})  # type: ignore[arg-type]
    prompts = model.prompts_of(trials, template_of(YEARS, template))
    return recorded(trials, model.reply(prompts) if mode == "text" else model.score(prompts), mode)


def covered(fits: int) -> dict[str, int]:
    """How many intervals hold the planted values, after the whole way through words."""
    hits = dict.fromkeys(PLANTED, 0)
    for seed in range(fits):
        given = answered(requested(seed), seed=seed, unparsed_rate=0.05)
        found = fit_resolution(given, shapes="exponential", position_effects=False)
        assert found.determined, found.message
        for name, value in PLANTED.items():
            one = getattr(found, name)
            hits[name] += one.low <= value <= one.high
    return hits


def test_planted_values_lie_in_their_intervals_as_often_as_promised():
    fits = 30
    low, high = stats.binom.ppf([UNLIKELY, 1 - UNLIKELY], fits, 0.95)
    for name, count in covered(fits).items():
        assert low <= count <= high, f"{name}: {count} of {fits} intervals cover"


@pytest.mark.long
def test_planted_values_lie_in_their_intervals_as_often_as_promised_long():
    fits = 500
    low, high = stats.binom.ppf([UNLIKELY, 1 - UNLIKELY], fits, 0.95)
    for name, count in covered(fits).items():
        assert low <= count <= high, f"{name}: {count} of {fits} intervals cover"


def test_planted_likings_for_places_are_found_and_would_mislead():
    effects = (0.0, 0.0, 0.0, 2.0)
    fits, hits = 15, 0
    for seed in range(fits):
        given = answered(requested(seed, (2, 4), 200), seed=seed, position_effects=effects, lapse=0.0)
        found = fit_resolution(given, shapes="exponential", lapse=0.0)
        assert len(found.position_effects) == 3
        hits += sum(one.low <= true <= one.high for one, true in zip(found.position_effects, effects[1:], strict=True))
    low, high = stats.binom.ppf([UNLIKELY, 1 - UNLIKELY], 3 * fits, 0.95)
    assert low <= hits <= high
    rates = rates_of(given).of("similarity")[-1]
    assert rates.item_count == 4
    assert rates.last.low > 0.4  # a quarter of the answers would be right
    blind = fit_resolution(given, shapes="exponential", lapse=0.0, position_effects=False)
    assert blind.fit.aic > found.fit.aic + 50


def test_a_planted_constant_of_the_collapse_is_found():
    """Constant similarity on a segment: p_I^n tends to the mean of N/(K+1) over the places, divided by n."""
    seen = np.abs(YEARS.places[:, None] - YEARS.places) <= 200.0
    planted = float((YEARS.places.size / seen.sum(axis=1)).mean())
    fits, hits = 30, 0
    for seed in range(fits):
        trials = requested(seed, (16, 32, 64), 60, "identification")
        given = answered(trials, seed=seed, resolution=200.0, shape="constant", background=0.0, lapse=0.0)
        found = collapse_of(given)
        assert found.from_items == 16
        hits += found.constant.low <= planted <= found.constant.high
    low, high = stats.binom.ppf([UNLIKELY, 1 - UNLIKELY], fits, 0.95)
    assert low <= hits <= high, hits
    assert "does not describe" not in found.message


@pytest.mark.parametrize("template", ["chat", "sentences", "list", "deutsch"])
def test_exact_probabilities_give_the_planted_values_back(template):
    effects = (0.0, 0.4, -0.3, 0.2)
    given = answered(requested(1, (2, 4)), "probability", template, position_effects=effects, unparsed_rate=0.5)
    found = fit_resolution(given, shapes="exponential", unit="years", replicates=20)
    for name, value in PLANTED.items():
        one = getattr(found, name)
        assert one.value == pytest.approx(value, rel=1e-4)
        assert one.high - one.low < 1e-3 * value
    assert [one.value for one in found.position_effects] == pytest.approx(effects[1:], abs=1e-4)
    first = " ".join(str(found).split("\n")[0].split())
    assert first.startswith("resolution ε 75 years scale of the exponential similarity")
    assert found.to_frame()["parameter"].tolist() == [*PLANTED, "position[2]", "position[3]", "position[4]"]


def test_noisy_probabilities_have_intervals_from_trials_drawn_anew():
    trials, rng = requested(2, (2, 4), 100), np.random.default_rng(3)
    model = SimulatedModel(YEARS, **PLANTED)
    exact = model.score(model.prompts_of(trials, template_of(YEARS, "list")))
    noisy = [
        Reply(log_probabilities=one.log_probabilities + rng.normal(0, 1.0, one.log_probabilities.size)) for one in exact
    ]
    given = recorded(trials, noisy, "probability")
    found = fit_resolution(given, shapes="exponential", lapse=0.0, position_effects=False, replicates=60)
    again = fit_resolution(given, shapes="exponential", lapse=0.0, position_effects=False, replicates=60)
    assert found.determined
    assert found.resolution == again.resolution
    assert 10 < found.resolution.high - found.resolution.low < 120
    assert found.resolution.low < found.resolution.value < found.resolution.high


def test_offsets_of_fixed_answers():
    names = ("circle", "square", "star", "triangle")
    preferences = {"circle": 0.0, "square": 0.5, "star": -0.5, "triangle": 1.5}
    rng = np.random.default_rng(4)
    trials = []
    for _ in range(700):
        places, probe = rng.uniform(0, 100, 4), float(rng.uniform(0, 100))
        trials.append(ProbeTrial("similarity", names, tuple(places), probe, int(np.abs(places - probe).argmin())))
    prompts = [Prompt(f"picture {i}", names) for i in range(700)]
    model = SimulatedModel(None, 15.0, offsets=preferences, seed=5)
    model.register(trials, prompts)
    found = fit_resolution(
        recorded(trials, model.reply(prompts), "text"),
        shapes="exponential",
        offsets=True,
        position_effects=False,
        lapse=0.0,
    )
    assert found.resolution.low <= 15.0 <= found.resolution.high
    for name in names[1:]:
        assert found.offsets[name].low <= preferences[name] <= found.offsets[name].high
    assert found.identification(recorded([], [], "text"), [4]).tolist() == pytest.approx([math.nan], nan_ok=True)


def test_the_shape_is_chosen_by_answers_not_seen():
    given = answered(requested(6, (2, 4, 8), 400), "probability", shape="gaussian", lapse=0.0)
    found = fit_resolution(
        given, shapes=("exponential", "gaussian", "power-law"), lapse=0.0, position_effects=False, replicates=20
    )
    assert found.fit.shape == "gaussian"
    assert found.comparison is not None
    assert set(found.comparison.shapes) == {"exponential", "gaussian", "power-law"}


def test_identification_is_predicted_from_the_other_test():
    trials = [*requested(7, (2, 4), 200), *requested(8, (2, 4, 8), 100, "identification")]
    given = answered(trials, "probability")
    found = fit_resolution(given, shapes="exponential", replicates=20)
    reported = [one.probability.value for one in rates_of(given).of("identification")]
    assert found.identification(given, [2, 4, 8]) == pytest.approx(reported, rel=1e-3)
    assert math.isnan(found.identification(given, [16])[0])
    law = collapse_of(given, predicted=found.identification(given, [2, 4, 8])).laws["similarity"]
    assert law.p_value > 0.99


@pytest.mark.parametrize("settings", [{"lapse": 1.0}, {"resolution": 1e7, "background": 0.0, "lapse": 0.0}])
def test_guessing_determines_no_resolution(settings):
    found = fit_resolution(answered(requested(9), **settings), shapes="exponential", position_effects=False)
    assert not found.determined
    assert "do not follow the distances beyond chance" in found.message
    assert str(found).startswith("resolution ε  not determined\nabove chance  ")
    assert "The answers do not follow the distances beyond chance" in str(found)


def test_a_perfect_model_has_a_resolution_without_lower_limit():
    given = answered(requested(10), resolution=0.05, background=0.0, lapse=0.0)
    found = fit_resolution(given, shapes="exponential", background=0.0, lapse=0.0, position_effects=False)
    assert not found.determined
    assert "no lower limit" in found.message
    assert found.resolution.low == 0.0
    assert found.resolution.high < 5.0


@pytest.mark.parametrize("mode", ["text", "probability"])
@pytest.mark.parametrize("lost", ["failed", "unparsed"])
def test_nothing_to_fit(mode, lost):
    trials = requested(11, (2,), 20)
    nothing = Reply(text="?", log_probabilities=np.full(2, -np.inf))
    found = fit_resolution(
        recorded(trials, [Reply(error="refused") if lost == "failed" else nothing] * len(trials), mode)
    )
    assert not found.determined
    assert found.fit is None
    assert math.isnan(found.resolution.value)
    assert ("got a reply" if lost == "failed" else "with an answer") in found.message
    assert np.isnan(found.upper_probability(10.0, [1.0])).all()
    assert np.isnan(found.identification(recorded([], [], mode), [2, 4])).all()
    assert found.to_frame()["value"].isna().all()


def test_places_are_left_out_where_lists_are_long():
    long_lists = fit_resolution(answered(requested(12, (2, 12))), shapes="exponential")
    assert long_lists.position_effects == ()
    few_trials = fit_resolution(answered(draw_trials(YEARS, "similarity", 8, 60)), shapes="exponential")
    assert few_trials.fit is not None
    assert few_trials.position_effects == ()


def test_the_curve_between_two_anchors():
    trials = draw_resolution_trials(YEARS, [20, 100], [-300, -60, 60, 300], 150, seed=13)
    given = answered(trials, unparsed_rate=0.1, resolution=75.0, background=0.02)
    curve = resolution_curve(given)
    assert curve.half_separations == (20.0, 100.0)
    assert [point.shift for point in curve.at(20.0)] == [-300, -60, 60, 300]
    assert sum(point.unparsed for point in curve.points) == given.unparsed.sum() > 0
    assert all(point.upper.count + point.unparsed == 150 for point in curve.points)
    scored = answered(trials, "probability", resolution=75.0, background=0.02)
    fit = fit_resolution(scored, shapes="exponential", position_effects=False, replicates=20)
    for half in curve.half_separations:
        exact = fit.upper_probability(half, [-300.0, -60.0, 60.0, 300.0])
        assert [point.probability.value for point in resolution_curve(scored).at(half)] == pytest.approx(
            exact, rel=1e-4
        )
        for point, p in zip(curve.at(half), exact, strict=True):
            hits = round(point.upper.value * point.upper.count)
            assert stats.binomtest(hits, point.upper.count, p).pvalue > UNLIKELY
    assert fit.upper_probability(50.0, [0.0]) == pytest.approx([0.5])
    table = curve.to_frame()
    assert len(table) == 8
    assert (table["upper_low"] <= table["upper"]).all()


def test_an_empty_curve_and_lost_replies():
    assert resolution_curve(recorded([], [], "text")).points == ()
    trials = draw_resolution_trials(YEARS, 20, 5, 3)
    (point,) = resolution_curve(recorded(trials, [Reply(error="lost")] * 3, "text")).points
    assert math.isnan(point.upper.value)
    assert point.failed == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shapes": ()}, "shapes must name at least one"),
        ({"shapes": ("round",)}, "shapes must be one of"),
        ({"replicates": 5}, "replicates must be a whole number, at least 20"),
    ],
)
def test_bad_options(options, sentence):
    with pytest.raises(InputError, match=sentence):
        fit_resolution(recorded([], [], "text"), **options)
