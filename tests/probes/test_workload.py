"""The work left is counted before any prompt is sent, and timed prompts are not sent again."""

import math

import pytest

from genlaws.probes.domains import domain_of
from genlaws.probes.plan import TIMED_PROMPTS, plan_probe, timed_workload, workload_of
from genlaws.probes.simulated import SimulatedModel
from genlaws.probes.store import ReplyStore


class Counting(SimulatedModel):
    """A simulated model that knows its tokens and remembers its prompts."""

    def __init__(self, plan):
        super().__init__(domain_of("years"), 80.0)
        self.register(plan.trials, plan.prompts())
        self.requested = []

    def prompt_tokens(self, prompt):
        return [0] * 10

    def score(self, prompts):
        self.requested += prompts
        return super().score(prompts)


@pytest.fixture
def plan():
    return plan_probe("years", [2, 4], 10, anchors=False)


def test_nothing_is_asked_and_equal_prompts_count_once(plan):
    model = Counting(plan)
    load = workload_of(model, [*plan.prompts(), *plan.prompts()], "probability")
    assert not model.requested
    assert (load.different, load.found, load.left) == (40, 0, 40)
    assert load.counted
    assert load.tokens_read == 400
    assert math.isnan(load.seconds)


def test_answers_in_words_are_at_most_as_long_as_they_may_be(plan):
    load = workload_of(Counting(plan), plan.prompts(), "text", longest_reply=7, price=(2.0, 10.0))
    assert load.tokens_written == 7 * 40
    assert load.cost == pytest.approx((400 * 2 + 280 * 10) / 1e6)


def test_without_a_tokenizer_four_letters_are_a_token(plan):
    model = SimulatedModel(domain_of("years"), 80.0)
    prompt = plan.prompts([0])[0]
    load = workload_of(model, [prompt], "probability")
    assert not load.counted
    assert load.tokens_read == pytest.approx(len(prompt.text) / 4)
    assert load.tokens_written == round(sum(map(len, prompt.options)) / 4)


def test_the_prompts_that_are_timed_are_kept(plan, tmp_path):
    model = Counting(plan)
    with ReplyStore(tmp_path / "answers.jsonl") as store:
        load = timed_workload(model, plan.prompts(), "probability", store=store)
        assert len(model.requested) == TIMED_PROMPTS == len(store)
    assert (load.different, load.found, load.tokens_read) == (40, TIMED_PROMPTS, 360)
    assert load.seconds > 0
    with ReplyStore(tmp_path / "answers.jsonl") as store:
        again = timed_workload(model, plan.prompts()[:4], "probability", store=store)
        assert math.isnan(again.seconds)  # too few to learn from
    assert len(model.requested) == TIMED_PROMPTS


def test_pictures_are_counted_apart():
    plan = plan_probe("shapes", [2], 2, anchors=False)
    model = SimulatedModel(None, 80.0)
    assert workload_of(model, plan.prompts(), "text").pictures == 4
