"""Two real language models: SmolLM2-135M-Instruct from its GGUF file, and stories260K from a llama2.c checkpoint."""

import numpy as np
import pytest
import torch

from genlaws.models.interface import Prompt
from genlaws.models.language import TransformersModel
from genlaws.models.passes import Continuations, score_continuations
from genlaws.probes.domains import domain_of
from genlaws.probes.outcomes import parse_answer
from genlaws.probes.templates import prompt_of, template_of
from genlaws.probes.trials import draw_trials

pytest.importorskip("transformers", reason="needs the package transformers")

EXACT = 1e-4  # of log-probabilities in float32, between ways of batching the same sums
COARSE = 0.5  # of a log-probability of about -5 in bfloat16, after 30 layers


def years(template, kind="identification", item_count=4, trial_count=3, seed=0):
    domain = domain_of("years")
    trials = draw_trials(domain, kind, item_count, trial_count, seed=seed)
    return trials, [prompt_of(trial, domain, template_of(domain, template)) for trial in trials]


def separate_passes(network, requested):
    """Score every ending with a full pass of its own."""
    found = []
    for ending in requested.endings:
        tokens = torch.tensor([[*requested.shared, *ending]])
        with torch.inference_mode():
            reported = network(input_ids=tokens).logits[0].double().log_softmax(-1)
        places = range(len(requested.shared) - 1, tokens.shape[1] - 1)
        found.append(sum(float(reported[place, tokens[0, place + 1]]) for place in places))
    return np.array(found)


@pytest.fixture(scope="module")
def smollm(smollm2_folder):
    return TransformersModel.load(smollm2_folder, batch_size=4)


@pytest.mark.parametrize("template", ["list", "sentences", "chat"])
def test_smollm_scores_equal_one_full_pass_for_each_option(smollm, template):
    _, prompts = years(template, item_count=3, trial_count=2)
    for prompt, reply in zip(prompts, smollm.score(prompts), strict=True):
        naive = separate_passes(smollm.network, smollm.continuations(prompt))
        assert reply.log_probabilities == pytest.approx(naive, abs=EXACT)
        assert np.exp(reply.log_probabilities).sum() <= 1


def test_smollm_scores_do_not_depend_on_what_is_asked_beside(smollm):
    prompts = [*years("list", item_count=2)[1], *years("list", item_count=6)[1]]
    together = smollm.score(prompts)
    for prompt, reply in zip(prompts[1:5], together[1:5], strict=True):
        assert smollm.score([prompt])[0].log_probabilities == pytest.approx(reply.log_probabilities, abs=EXACT)


def test_smollm_says_the_option_whose_first_token_is_likeliest(smollm):
    _, prompts = years("list", item_count=2, trial_count=6)
    requested = [smollm.continuations(prompt) for prompt in prompts]
    first = [Continuations(one.shared, tuple(ending[:1] for ending in one.endings)) for one in requested]
    scores = score_continuations(smollm.network, first)
    named = 0
    for prompt, score, reply in zip(prompts, scores, smollm.reply(prompts), strict=True):
        place = parse_answer(reply.text, prompt.options)
        if place is not None:
            named += 1
            assert score[place] == score.max()
    assert named


def test_smollm_identifies_above_chance_from_a_plain_list(smollm):
    trials, prompts = years("list", item_count=2, trial_count=24, seed=5)
    right = sum(
        int(np.argmax(reply.log_probabilities)) == trial.right
        for trial, reply in zip(trials, smollm.score(prompts), strict=True)
    )
    assert right >= 14  # 16 to 18 expected; 14 or more has a probability of 0.27 by chance, 0.92 at a rate of 0.7


def test_smollm_answers_as_a_chat_and_ends_its_turn(smollm):
    reply = smollm.reply([Prompt("What is the capital of France? Answer with the name only.", ("Paris",), chat=True)])
    assert parse_answer(reply[0].text, ("Paris", "London")) == 0
    assert "im_end" not in reply[0].text


def test_smollm_in_half_the_bits_is_close(smollm):
    _, prompts = years("list", item_count=2, trial_count=2)
    exact = smollm.score(prompts)
    smollm.network.to(torch.bfloat16)
    try:
        coarse = smollm.score(prompts)
        assert "bfloat16" in smollm.name
    finally:
        smollm.network.to(torch.float32)
    for one, two in zip(exact, coarse, strict=True):
        assert two.log_probabilities == pytest.approx(one.log_probabilities, abs=COARSE)


@pytest.fixture(scope="module")
def stories(stories):
    return TransformersModel(*stories, "stories260K", max_new_tokens=24)


def test_stories_tells_a_story(stories):
    # A wrong order of weights, of rotations or of merges gives letters, not words.
    text = stories.reply([Prompt("Once upon a time, there was a little", ("girl",))])[0].text
    assert "girl" in text
    likely = stories.score([Prompt("Once upon a", ("time", "tree", "xylophone"))])[0].log_probabilities
    assert likely[0] > -0.5
    assert likely[0] > likely[1] > likely[2]


def test_stories_scores_equal_one_full_pass_for_each_option(stories):
    prompts = [
        Prompt("Once upon a time, there was a little", ("girl", "boy", "dog named Max", "cat")),
        Prompt("Lily was sad. Tom was", ("happy", "sad", "very sad", "red")),
        Prompt("The sun", ("was", "is", "shines", "set and it was dark")),
    ]
    for prompt, reply in zip(prompts, stories.score(prompts), strict=True):
        naive = separate_passes(stories.network, stories.continuations(prompt))
        assert reply.log_probabilities == pytest.approx(naive, abs=EXACT)


def test_stories_has_no_chat(stories):
    with pytest.raises(ValueError, match="stories260K has no chat template"):
        stories.score([Prompt("Who?", ("a", "b"), chat=True)])
