"""The simulated model: Luce's rule, put into words, depending on prompt and seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from genlaws.core.errors import InputError
from genlaws.probes import (
    ProbeModel,
    ProbeTrial,
    Prompt,
    SimulatedModel,
    domain_of,
    draw_trials,
    parse_answer,
    prompt_of,
    rates_of,
    recorded,
    template_of,
)
from genlaws.semanticity import Trials
from genlaws.semanticity.choices.model import ChoiceModel, choice_probabilities

YEARS = domain_of("years")
LIST = template_of(YEARS, "list")
UNLIKELY = 1e-4


def some(count: int = 300, items: int = 3) -> list[ProbeTrial]:
    return draw_trials(YEARS, "similarity", items, count, seed=5)


def test_scores_are_the_choice_probabilities():
    trials = [*some(20, 2), *some(20, 5)]
    model = SimulatedModel(YEARS, 60.0, background=0.1, lapse=0.2, position_effects=(0, 1, 0, 0, 2), unparsed_rate=0.3)
    assert isinstance(model.name, str)
    probe: ProbeModel = model
    exact = choice_probabilities(
        Trials.from_lists([trial.distances for trial in trials]),
        ChoiceModel("exponential", 60.0, 0.1, lapse=0.2, position_effects=(0.0, 1.0, 0.0, 0.0, 2.0)),
    )
    for reply, row, trial in zip(probe.score(model.prompts_of(trials, LIST)), exact, trials, strict=True):
        assert np.exp(reply.log_probabilities) == pytest.approx(0.7 * row[: len(trial.items)], rel=1e-12)


def test_answers_do_not_depend_on_what_was_asked_before():
    trials = [*some(30, 2), *some(30, 6)]
    model = SimulatedModel(YEARS, 60.0, lapse=0.1, unparsed_rate=0.2, seed=3)
    prompts = model.prompts_of(trials, LIST)
    together = [reply.text for reply in model.reply(prompts)]
    alone = [model.reply([prompt])[0].text for prompt in reversed(prompts)]
    assert together == alone[::-1]
    scores = np.concatenate([reply.log_probabilities for reply in model.score(prompts)])
    assert np.array_equal(scores, np.concatenate([model.score([p])[0].log_probabilities for p in prompts]))
    again, other = (SimulatedModel(YEARS, 60.0, lapse=0.1, unparsed_rate=0.2, seed=seed) for seed in (3, 4))
    assert [reply.text for reply in again.reply(again.prompts_of(trials, LIST))] == together
    assert [reply.text for reply in other.reply(other.prompts_of(trials, LIST))] != together
    assert again.name == model.name != other.name


def test_words_follow_the_probabilities():
    trials = some(2000)
    model = SimulatedModel(YEARS, 90.0, background=0.05, unparsed_rate=0.15)
    prompts = model.prompts_of(trials, LIST)
    replies = model.reply(prompts)
    found = rates_of(recorded(trials, replies, "text"))
    expected = rates_of(recorded(trials, model.score(prompts), "probability")).rates[0].probability.value
    parsed = found.rates[0].accuracy_if_parsed
    assert stats.binomtest(round(parsed.value * parsed.count), parsed.count, expected).pvalue > UNLIKELY
    assert stats.binomtest(round(found.unparsed.value * 2000), 2000, 0.15).pvalue > UNLIKELY
    silent = {reply.text for reply in replies if parse_answer(reply.text or "", YEARS.carriers) is None}
    assert any(" or " in text for text in silent if text)
    assert any("cannot tell" in text for text in silent if text)


def test_a_liking_for_answers():
    names = ("circle", "star")
    trials = [ProbeTrial("similarity", names, (0.0, 1.0), 0.4 + 0.0001 * i, 0) for i in range(200)]
    prompts = [Prompt(f"picture {i}", names) for i in range(200)]
    model = SimulatedModel(None, 1e6, offsets={"circle": 0.0, "star": 1.0})
    model.register(trials, prompts)
    ratio = np.diff(model.score(prompts[:1])[0].log_probabilities)
    assert ratio == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(InputError, match="no domain to write places with"):
        model.prompts_of(trials, LIST)


def test_what_it_does_not_know():
    model = SimulatedModel(YEARS, 60.0)
    trials = some(2)
    prompts = [prompt_of(trial, YEARS, LIST) for trial in trials]
    with pytest.raises(InputError, match="needs the trial behind a prompt first"):
        model.reply(prompts)
    with pytest.raises(InputError, match="one for each trial"):
        model.register(trials, prompts[:1])
    with pytest.raises(InputError, match="must not have the same prompt"):
        model.register(trials, [prompts[0], prompts[0]])
    assert model.score([]) == model.reply([]) == []


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"unparsed_rate": 1.5}, "unparsed_rate"),
        ({"lapse": -1}, "lapse"),
        ({"seed": -1}, "seed"),
        ({"shape": "x"}, "shape"),
    ],
)
def test_bad_settings(settings, name):
    with pytest.raises(InputError, match=f"{name} must"):
        SimulatedModel(YEARS, 60.0, **settings)
