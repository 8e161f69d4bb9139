"""A chooser with known resolution goes through the whole probe and comes back."""

import json
import math

import pytest

from genlaws.core.errors import InputError
from genlaws.core.plain import to_plain
from genlaws.probes.plan import plan_probe
from genlaws.probes.probe import ProbeResult, probe_model, run_probe
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
    assert json.dumps(to_plain(again)) == json.dumps(to_plain(first))


def test_one_call_plans_stores_and_compares_templates(tmp_path):
    plans = {name: plan_probe("years", [2, 3], 12, template=name, anchors=False, seed=1) for name in ("list", "chat")}
    model = chooser(plans["list"])
    model.register(plans["chat"].trials, plans["chat"].prompts())
    settings = {"items": [3, 2], "trials": 12, "template": "list,chat", "anchors": False, "seed": 1}
    found = probe_model(model, **settings, store=tmp_path / "answers.jsonl")
    assert [one.template for one in found.templates] == ["list", "chat"]
    for one, plan in zip(found.templates, plans.values(), strict=True):
        assert to_plain(one) == to_plain(run_probe(model, plan))
    silent = SimulatedModel(plans["list"].domain, RESOLUTION, background=BACKGROUND, lapse=LAPSE)  # knows no prompt
    again = probe_model(silent, **settings, store=tmp_path / "answers.jsonl")
    assert [one.asking.sent for one in again.templates] == [0, 0]
    assert again.to_dict() == found.to_dict()
    assert found.call.arguments["model"] == {"name": model.name}
    assert "store" not in found.call.arguments


def test_a_result_from_json_has_its_page_and_tables_but_not_the_trials(plan):
    few = plan_probe("years", [2, 3], 12, seed=1)
    found = probe_model(chooser(few), items=[2, 3], trials=12, mode="text", seed=1)
    again = ProbeResult.from_dict(json.loads(json.dumps(found.to_dict())))
    assert set(found.tables()) - set(again.tables()) == {"trials"}
    assert "Numbers" in again.page()
    assert set(again.pictures()) == {"anchors", "items", "distances"}
    assert found.to_dict()["templates"][0]["resolution"]["unit"] == "years"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"layers": True}, "layers must be left out"),
        ({"picture_folder": "here"}, "picture_folder needs a task with pictures; got years"),
        ({"template": ["list", "list"]}, "template must name different templates; got list, list"),
        ({"price": [1.0]}, "price must be two numbers, READ,WRITTEN"),
        ({"items": []}, "items must"),
        ({"items": [1]}, "items must be a whole number, at least 2"),
        ({"trials": 0}, "trials must be a whole number, at least 1"),
        ({"mode": "embedding"}, "mode must be one of probability, text"),
        ({"task": "year"}, "task must be one of years"),
    ],
)
def test_a_wrong_argument_is_refused_before_a_model_is_loaded(given, sentence, monkeypatch):
    monkeypatch.setattr("genlaws.probes.probe.LocalModel.load", lambda *_: pytest.fail("loaded"))
    model = SimulatedModel(None, 1.0) if "layers" in given else "no/such-model"
    with pytest.raises(InputError, match=sentence):
        probe_model(model, **given)


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
    first, second = ProbeResult("m", "years", "years", "probability", 0, tuple(results)).ordered
    assert (first.template, second.template) == ("list", "sentences")
    assert first.above_chance.low > second.above_chance.high


def test_pictures_have_no_curve_between_anchors():
    plan = plan_probe("squares", [4], 8, shifts=[-60.0, 60.0], seed=2)
    result = run_probe(chooser(plan), plan, shapes=["exponential"], replicates=20)
    assert result.curve is None
    assert math.isfinite(result.resolution.excess.value)
