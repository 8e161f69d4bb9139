"""A chooser with known resolution goes through the whole probe and comes back."""

import json
import math

import pytest

from genlaws.probes.plan import plan_probe
from genlaws.probes.probe import compare_templates, run_probe
from genlaws.probes.simulated import SimulatedModel
from genlaws.probes.store import ReplyStore

RESOLUTION, BACKGROUND, LAPSE = 75.0, 0.02, 0.03


def chooser(plan, **planted):
    model = SimulatedModel(
        plan.domain, **{"resolution": RESOLUTION, "background": BACKGROUND, "lapse": LAPSE} | planted
    )
    model.register(plan.trials, plan.prompts())
    return model


@pytest.fixture(scope="module")
def plan():
    return plan_probe("years", [2, 4, 8], 150, seed=1)


@pytest.fixture(scope="module")
def reported(plan):
    return run_probe(chooser(plan), plan, "text", shapes=["exponential"])


def holds(estimate, truth):
    return estimate.low <= truth <= estimate.high


def test_planted_numbers_lie_in_their_intervals(reported):
    fit = reported.resolution
    assert fit.determined
    assert holds(fit.resolution, RESOLUTION)
    assert holds(fit.background, BACKGROUND)
    assert holds(fit.lapse, LAPSE)
    assert fit.resolution.high < 2 * RESOLUTION  # and the interval says something


def test_exact_probabilities_give_the_planted_numbers(plan):
    result = run_probe(chooser(plan), plan, shapes=["exponential"], replicates=20)
    assert result.resolution.resolution.value == pytest.approx(RESOLUTION, rel=0.01)
    assert result.resolution.background.value == pytest.approx(BACKGROUND, abs=0.002)
    assert result.resolution.lapse.value == pytest.approx(LAPSE, abs=0.005)


def test_an_option_that_is_liked_is_not_read_as_blur():
    plan = plan_probe("shapes", [4], 16, shifts=[-60.0, 60.0], seed=2)
    preference = {"circle": 0.0, "square": 0.3, "triangle": 1.2, "star": -0.4}
    result = run_probe(chooser(plan, offsets=preference, lapse=0.0), plan, shapes=["exponential"], replicates=20)
    assert result.resolution.resolution.value == pytest.approx(RESOLUTION, rel=1e-3)
    fitted = {
        name: one.value - result.resolution.offsets["circle"].value for name, one in result.resolution.offsets.items()
    }
    assert fitted == pytest.approx(preference, abs=1e-3)


def test_a_guesser_has_no_resolution_and_a_constant_of_one(plan):
    result = run_probe(chooser(plan, lapse=1.0), plan, "text", shapes=["exponential"])
    assert not result.resolution.determined
    assert holds(result.collapse.constant, 1.0)
    for rate in result.rates.rates:
        assert holds(rate.accuracy, rate.chance) or rate.accuracy.count < 60


def test_kept_answers_give_the_same_result_without_asking(plan, tmp_path):
    few = plan_probe("years", [2, 3], 20, seed=1)
    with ReplyStore(tmp_path / "answers.jsonl") as store:
        first = run_probe(chooser(few), few, "text", store=store, shapes=["exponential"])
    silent = SimulatedModel(few.domain, RESOLUTION, background=BACKGROUND, lapse=LAPSE)  # knows no prompt
    with ReplyStore(tmp_path / "answers.jsonl") as store:
        again = run_probe(silent, few, "text", store=store, shapes=["exponential"])
    assert again.asking.sent == 0
    assert json.dumps(again.to_dict()) == json.dumps(first.to_dict())


def test_the_dictionary_says_what_was_asked_and_found(reported):
    told_all = reported.to_dict()
    assert told_all["task"] == "years"
    assert told_all["template"] == "list"
    assert told_all["resolution"]["unit"] == "years"
    assert told_all["resolution"]["resolution"]["value"] == reported.resolution.resolution.value
    assert {row["kind"] for row in told_all["rates"]} == {"similarity", "identification", "resolution"}
    assert {row["law"] for row in told_all["collapse"]["laws"]} >= {"c/n", "constant"}


def test_examples_show_each_kind_and_replies_that_could_not_be_read(plan):
    result = run_probe(chooser(plan, unparsed_rate=0.2), plan, "text", shapes=["exponential"])
    assert [one.kind for one in result.examples] == ["similarity", "identification", "resolution"]
    assert all(one.right in one.options for one in result.examples)
    assert len(result.unread) == 3
    assert all("cannot tell" in one.answer or " or " in one.answer for one in result.unread)
    assert holds(result.rates.unparsed, 0.2)


def test_templates_are_ordered_by_how_far_they_are_above_chance():
    results = []
    for template, lapse in (("sentences", 0.9), ("list", 0.0)):
        plan = plan_probe("years", [2, 3], 40, template=template, anchors=False)
        results.append(run_probe(chooser(plan, lapse=lapse), plan, shapes=["exponential"], replicates=20))
    above = compare_templates(results)
    assert list(above) == ["list", "sentences"]
    assert above["list"].low > above["sentences"].high


def test_pictures_have_no_curve_between_anchors():
    plan = plan_probe("squares", [4], 8, shifts=[-60.0, 60.0], seed=2)
    result = run_probe(chooser(plan), plan, shapes=["exponential"], replicates=20)
    assert result.curve is None
    assert math.isfinite(result.resolution.excess.value)
