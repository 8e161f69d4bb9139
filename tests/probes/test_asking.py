"""Only open prompts are sent, every answer is stored at once, and the report adds up."""

import signal
from collections import Counter

import numpy as np
import pytest

from counted_steps import CountedSteps
from genlaws.core.errors import InputError, StoppedError
from genlaws.models.interface import Prompt, Reply
from genlaws.probes.asking import AskingReport, ask, ask_and_report
from genlaws.probes.store import ReplyStore


def prompts_of(*texts):
    return [Prompt(text, ("Anna", "Boris")) for text in texts]


class Model:
    """Answers with the prompt in capitals, fails where its script fails, and counts."""

    def __init__(self, name="loud", failing=()):
        self.name, self.failing = name, set(failing)
        self.requested, self.batches = Counter(), []

    def reply(self, prompts):
        return self._all(prompts, lambda prompt: Reply(text=prompt.text.upper()))

    def score(self, prompts):
        return self._all(prompts, lambda prompt: Reply(log_probabilities=np.array([-len(prompt.text), -1.0])))

    def _all(self, prompts, answer):
        self.batches.append(len(prompts))
        self.requested.update(prompt.text for prompt in prompts)
        return [
            Reply(error=f"{prompt.text} is too hard.") if prompt.text in self.failing else answer(prompt)
            for prompt in prompts
        ]


@pytest.fixture
def store(tmp_path):
    with ReplyStore(tmp_path / "answers.jsonl") as opened:
        yield opened


def test_replies_come_in_order_in_batches_and_equal_prompts_are_asked_once():
    model, steps = Model(), CountedSteps()
    replies = ask(model, prompts_of("a", "b", "a", "c", "d", "e", "a"), "text", batch_size=2, running=steps.running)
    assert [reply.text for reply in replies] == list("ABACDEA")
    assert model.batches == [2, 2, 1]
    assert set(model.requested.values()) == {1}
    assert steps.totals == [steps.done] == [7]


def test_a_second_call_asks_only_what_is_open(store):
    model, steps = Model(failing={"c"}), CountedSteps()
    ask(model, prompts_of("a", "b", "c"), "text", store=store)
    model.failing = set()
    replies, report = ask_and_report(
        model, prompts_of("d", "c", "b", "a", "a"), "text", store=store, running=steps.running
    )
    assert [reply.text for reply in replies] == ["D", "C", "B", "A", "A"]
    assert model.requested == {"a": 1, "b": 1, "c": 2, "d": 1}
    assert steps.totals == [steps.done] == [5]
    assert report == AskingReport(5, 4, 2, 2, 2, 2, ())
    assert str(report) == "4 different prompts: 2 found in the store, 2 answered now, none failed."


def test_nothing_is_asked_when_all_is_answered(store):
    first = Model()
    ask(first, prompts_of("a", "b"), "text", store=store)
    again = Model()
    assert [reply.text for reply in ask(again, prompts_of("b", "a"), "text", store=store)] == ["B", "A"]
    assert again.batches == []
    assert ask(again, [], "text") == []


def test_modes_and_models_are_kept_apart(store):
    model = Model()
    ask(model, prompts_of("a"), "text", store=store)
    (scored,) = ask(model, prompts_of("a"), "probability", store=store)
    assert scored.log_probabilities.tolist() == [-1.0, -1.0]
    ask(Model("other"), prompts_of("a"), "text", store=store)
    assert model.requested["a"] == 2
    assert len(store) == 3


def test_failures_are_reported_and_not_kept(store):
    model = Model(failing={"b", "c"})
    replies, report = ask_and_report(model, prompts_of("a", "b", "b", "c"), "text", store=store)
    assert [reply.error for reply in replies] == ["", "b is too hard.", "b is too hard.", "c is too hard."]
    assert len(store) == 1
    assert (report.sent, report.answered, report.failed) == (3, 1, 2)
    assert dict(report.failures) == {"b is too hard.": 1, "c is too hard.": 1}
    assert str(report).splitlines() == [
        "3 different prompts: 0 found in the store, 1 answered now, 2 failed:",
        "  1 × b is too hard.",
        "  1 × c is too hard.",
    ]


@pytest.mark.parametrize(
    ("mode", "given", "why"),
    [
        ("text", Reply(), "The model gave no text."),
        ("probability", Reply(text="Anna"), "The model gave no log-probabilities."),
        ("probability", Reply(log_probabilities=np.array([np.nan, 0])), "log-probabilities that are not numbers"),
        ("probability", Reply(log_probabilities=np.zeros(1)), "shape (1,) for 2 options"),
    ],
)
def test_what_is_no_answer_is_a_failure(store, mode, given, why):
    model = Model()
    model._all = lambda prompts, _: [given] * len(prompts)
    (reply,) = ask(model, prompts_of("a"), mode, store=store)
    assert why in reply.error
    assert len(store) == 0


def test_an_interrupt_between_batches_keeps_the_batches_before(store):
    class Interrupted(Model):
        def reply(self, prompts):
            if len(self.batches) == 2:
                raise KeyboardInterrupt
            return super().reply(prompts)

    with pytest.raises(KeyboardInterrupt):
        ask(Interrupted(), prompts_of(*"abcdef"), "text", store=store, batch_size=2)
    assert len(store) == 4


@pytest.mark.parametrize(
    ("stop", "error"),
    [
        (lambda _: signal.raise_signal(signal.SIGINT), KeyboardInterrupt),
        (lambda steps: steps.running.cancel(), StoppedError),
    ],
)
def test_an_interrupt_while_a_batch_is_taken_over_keeps_all_of_it(stop, error, store):
    class Stopping(CountedSteps):
        def advance(self, n=1):
            stop(self)

    with pytest.raises(error):
        ask(Model(), prompts_of(*"abcdef"), "text", store=store, batch_size=4, running=Stopping().running)
    assert len(store) == 4
    resumed = Model()
    ask(resumed, prompts_of(*"abcdef"), "text", store=store)
    assert set(resumed.requested) == {"e", "f"}


def test_a_model_with_too_few_replies_is_refused():
    model = Model()
    model.reply = lambda prompts: []
    with pytest.raises(InputError, match="loud gave 0 replies to 2 prompts"):
        ask(model, prompts_of("a", "b"), "text")


def test_a_streaming_model_hands_over_in_any_order(store):
    class Backwards(Model):
        def stream(self, prompts, mode, keep):
            for place in reversed(range(len(prompts))):
                keep(place, self.reply([prompts[place]])[0], 3)

    model = Backwards()
    replies, report = ask_and_report(model, prompts_of(*"abc"), "text", store=store)
    assert [reply.text for reply in replies] == ["A", "B", "C"]
    assert report.attempts == 9
    assert [reply.text for reply in ask(Model(), prompts_of(*"abc"), "text", store=store)] == ["A", "B", "C"]


def test_a_reply_that_is_handed_over_twice_counts_once(store):
    class Twice(Model):
        def stream(self, prompts, mode, keep):
            for words in ("first", "second"):
                keep(0, Reply(text=words), 2)

    steps = CountedSteps()
    replies, report = ask_and_report(Twice(), prompts_of("a"), "text", store=store, running=steps.running)
    assert [reply.text for reply in replies] == ["first"]
    assert (report.attempts, steps.reported) == (2, [[1]])


def test_a_streaming_model_that_forgets_a_prompt_is_refused(store):
    class Forgetful(Model):
        def stream(self, prompts, mode, keep):
            keep(0, Reply(text="A"), 1)

    with pytest.raises(InputError, match="loud gave 1 replies to 2 prompts"):
        ask(Forgetful(), prompts_of("a", "b"), "text", store=store)
    assert len(store) == 1


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"mode": "words"}, "mode must be one of probability, text"),
        ({"batch_size": 0}, "batch_size must be a whole number, at least 1"),
    ],
)
def test_wrong_arguments_are_said(changed, why):
    with pytest.raises(InputError, match=why):
        ask(Model(), prompts_of("a"), changed.pop("mode", "text"), **changed)
