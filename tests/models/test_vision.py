"""Scores and replies of small random vision models, against whole passes of what their processors make of each text."""

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from PIL import Image

from genlaws.core.errors import InputError
from genlaws.models.interface import Prompt
from genlaws.models.language import TransformersModel
from genlaws.models.load import supports_images
from genlaws.models.passes import extended, shortened
from genlaws.models.vision import VisionModel
from genlaws.probes.asking import ask_and_report
from genlaws.probes.outcomes import recorded
from genlaws.probes.rates import rates_of
from genlaws.probes.store import ReplyStore
from genlaws.probes.trials import TRIAL_KINDS
from genlaws.probes.vision.pictures import picture_of, vision_prompt
from genlaws.probes.vision.scenes import TASKS, draw_vision_trials

transformers = pytest.importorskip("transformers", reason="needs the package transformers")
from tiny_vision_models import FAMILIES, made, tokenizer, turns, words_of  # noqa: E402 - needs transformers

EXACT = 1e-4  # of log-probabilities in float32, between ways of batching the same sums
SHARES = {"llava": True, "idefics": True, "qwen": True, "gemma": True, "mllama": False}
COUNTS = {"shapes": 4, "colors": 3, "numbers": 12}


@cache
def pictured(task, seed=1):
    """Return a question about a picture, which is made small first, so that it is opened and resized in no time."""
    (trial,) = draw_vision_trials(task, "similarity", COUNTS[task], 1, seed)
    stream = io.BytesIO()
    picture_of(trial).reduce(10).save(stream, format="PNG")
    return replace(vision_prompt(trial), images=(stream.getvalue(),))


def prompts():
    """Five questions about pictures: two of the same length next to each other, and one with other tokens before it."""
    requested = [pictured("shapes"), pictured("shapes", 2), pictured("colors"), pictured("numbers")]
    return [*requested, replace(pictured("colors"), system="Be brief.", answer_prefix=" ")]


@cache
def model_of(family):
    network, processor = made(family)
    model = VisionModel(network, processor.tokenizer, family, batch_size=3, max_new_tokens=5, processor=processor)
    return replace(model, shared_prefix=model.can_share_prefix())


def opened(prompt):
    return [Image.open(io.BytesIO(image)) for image in prompt.images]


def processed(model, prompt, answer=""):
    """Return what the processor makes of a chat and the beginning of its answer, in the library's own way."""
    requested = [*({"type": "image"} for _ in prompt.images), {"type": "text", "text": prompt.text}]
    reported = [{"role": "system", "content": [{"type": "text", "text": prompt.system}]}] if prompt.system else []
    chat = model.processor.apply_chat_template(
        [*reported, {"role": "user", "content": requested}], tokenize=False, add_generation_prompt=True
    )
    return model.processor(
        text=[chat + answer], images=[opened(prompt)] if prompt.images else None, return_tensors="pt"
    )


def whole_passes(model, prompt):
    """Score every option with a pass over the picture, the question and the option, made into tokens as a whole."""
    alone = processed(model, prompt)["input_ids"][0].tolist()
    made_up = [processed(model, prompt, prompt.answer_prefix + option) for option in prompt.options]
    rows = [given["input_ids"][0].tolist() for given in made_up]
    common = min(sum(np.cumprod([a == b for a, b in zip(alone, row, strict=False)])) for row in rows)
    found = []
    for given, row in zip(made_up, rows, strict=True):
        with torch.inference_mode():
            reported = model.network(**given).logits[0].double().log_softmax(-1)
        found.append(sum(float(reported[place, row[place + 1]]) for place in range(common - 1, len(row) - 1)))
    return np.array(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_equal_one_whole_pass_for_each_option(family):
    model = model_of(family)
    assert model.shared_prefix == SHARES[family]
    for prompt, reply in zip(prompts(), model.score(prompts()), strict=True):
        assert reply.log_probabilities == pytest.approx(whole_passes(model, prompt), abs=EXACT)


@pytest.mark.parametrize("family", FAMILIES)
def test_replies_are_those_of_the_library(family):
    model = model_of(family)
    said = model.reply(prompts())
    for prompt, reply in zip(prompts(), said, strict=True):
        given = processed(model, prompt)
        row = model.network.generate(**given, do_sample=False, max_new_tokens=5, eos_token_id=sorted(model._ends()))[0]
        assert reply.text == model.tokenizer.decode(row[given["input_ids"].shape[1] :], skip_special_tokens=True)
    assert any(reply.text for reply in said)


@pytest.mark.parametrize("family", ["llava", "qwen"])
def test_a_prefix_that_is_read_again_gives_the_same(family):
    model = model_of(family)
    again = replace(model, shared_prefix=False)
    for one, two in zip(model.score(prompts()), again.score(prompts()), strict=True):
        assert two.log_probabilities == pytest.approx(one.log_probabilities, abs=EXACT)
    assert again.reply(prompts()) == model.reply(prompts())


def test_keys_that_say_too_little_are_not_used():
    # The parts of a picture that are empty are not masked when a text is read on from keys and values alone.
    model = replace(model_of("mllama"), shared_prefix=True)
    wrong = model.score(prompts()[:1])[0].log_probabilities
    assert np.abs(wrong - whole_passes(model, prompts()[0])).max() > 0.1


def test_a_network_that_keeps_nothing_is_read_again(monkeypatch):
    model = model_of("llava")
    forward = type(model.network).forward

    def forgetful(self, *given, **named):
        """Return no keys and values."""
        found = forward(self, *given, **named)
        found.past_key_values = None
        return found

    monkeypatch.setattr(type(model.network), "forward", forgetful)
    assert not model.can_share_prefix()
    (reply,) = replace(model, shared_prefix=False).score(prompts()[:1])
    monkeypatch.undo()
    assert reply.log_probabilities == pytest.approx(model.score(prompts()[:1])[0].log_probabilities, abs=EXACT)


@pytest.mark.parametrize("family", FAMILIES)
def test_another_picture_changes_the_scores(family):
    one, other = pictured("shapes"), replace(pictured("shapes"), images=pictured("shapes", 2).images)
    first, same, changed = model_of(family).score([one, one, other])
    assert same.log_probabilities == pytest.approx(first.log_probabilities, abs=EXACT)
    assert np.abs(changed.log_probabilities - first.log_probabilities).max() > 10 * EXACT


@pytest.mark.parametrize("family", ["idefics", "qwen"])
def test_answers_do_not_depend_on_what_is_asked_beside(family):
    model = model_of(family)
    scores, said = model.score(prompts()), model.reply(prompts())
    for size in (1, 16):
        other = replace(model, batch_size=size)
        for one, two in zip(scores, other.score(prompts()[::-1])[::-1], strict=True):
            assert two.log_probabilities == pytest.approx(one.log_probabilities, abs=EXACT)
        assert other.reply(prompts()[::-1])[::-1] == said


def test_draws_follow_the_seed_and_the_picture():
    model = replace(model_of("llava"), temperature=1.0)
    said = model.reply(prompts())
    assert replace(model, batch_size=1).reply(prompts()[::-1])[::-1] == said
    assert replace(model, seed=1).reply(prompts()) != said
    # The same tokens and about the same probabilities: the draws are the pictures' own.
    images = [pictured("shapes", seed).images for seed in range(8)]
    flat = replace(model, temperature=50.0, max_new_tokens=1)
    assert len({one.text for one in flat.reply([replace(pictured("shapes"), images=one) for one in images])}) >= 4


def test_prompts_without_pictures_are_read_as_by_a_language_model():
    plain = Prompt("A star is a", ("shape", "sun"))
    chat = Prompt("Which is it?", ("star", "circle"), system="Be brief.", chat=True, answer_prefix="")
    for family in ("llava", "qwen"):
        model = model_of(family)
        model.score(prompts()[:1])  # of which nothing is left over
        mixed = model.score([plain, prompts()[0], chat])
        words = TransformersModel(model.network, model.tokenizer, "words", max_new_tokens=5)
        assert mixed[0].log_probabilities == pytest.approx(words.score([plain])[0].log_probabilities, abs=EXACT)
        given = [model.processor.apply_chat_template(model._conversation(chat)[1], add_generation_prompt=True)]
        with torch.inference_mode():
            reported = [
                model.network(**model.processor(text=[given[0] + option], return_tensors="pt"))
                .logits[0]
                .log_softmax(-1)
                for option in chat.options
            ]
        tokens = [model.tokenizer.encode(option, add_special_tokens=False) for option in chat.options]
        naive = [
            sum(float(row[len(row) - len(new) - 1 + at, token]) for at, token in enumerate(new))
            for row, new in zip(reported, tokens, strict=True)
        ]
        assert mixed[2].log_probabilities == pytest.approx(naive, abs=EXACT)
        assert mixed[1].log_probabilities == pytest.approx(whole_passes(model, prompts()[0]), abs=EXACT)
        assert [one.text for one in model.reply([chat, prompts()[0]])] == [
            *(one.text for one in model.reply([chat])),
            *(one.text for one in model.reply(prompts()[:1])),
        ]
    assert model.score([]) == model.reply([]) == []


def test_a_merge_across_the_boundary_is_scored_from_the_last_common_token():
    network, processor = made("llava", assistant="?")
    model = VisionModel(network, processor.tokenizer, "llava", processor=processor)
    prompt = pictured("shapes")  # one of the options is star: "?s" is a token
    assert model.tokenizer.convert_ids_to_tokens(list(model.continuations(prompt).endings[0]))[0].startswith("?")
    assert model.score([prompt])[0].log_probabilities == pytest.approx(whole_passes(model, prompt), abs=EXACT)


@pytest.mark.parametrize("family", ["llava", "idefics"])
def test_a_saved_model_is_loaded_from_its_folder(family, tmp_path):
    saved = model_of(family)
    saved.network.save_pretrained(tmp_path)
    saved.processor.save_pretrained(tmp_path)
    written = io.StringIO()
    with redirect_stdout(written), redirect_stderr(written):
        loaded = VisionModel.load(tmp_path, batch_size=2, max_new_tokens=5, seed=7)
    assert not written.getvalue()
    assert supports_images(tmp_path)
    assert loaded.shared_prefix
    settings = f"[weights {loaded.fingerprint}, float32, temperature=0, seed=7, tokens=5, stop=newline]"
    assert loaded.name == f"transformers, with pictures:{tmp_path} {settings}"
    assert loaded.identity == f"transformers, with pictures {settings}"
    changed = VisionModel.load(tmp_path, batch_size=2, max_new_tokens=5, seed=7)
    changed.processor.image_processor.image_mean = [0.1, 0.2, 0.3]
    assert changed.identity != loaded.identity
    for one, two in zip(saved.score(prompts()), loaded.score(prompts()), strict=True):
        assert two.log_probabilities == pytest.approx(one.log_probabilities, abs=EXACT)
    assert loaded.reply(prompts()) == saved.reply(prompts())
    half = VisionModel.load(tmp_path, dtype="bfloat16", max_new_tokens=5)
    assert half.shared_prefix
    close = half.score(prompts()[:1])[0].log_probabilities
    assert close == pytest.approx(saved.score(prompts()[:1])[0].log_probabilities, rel=0.1, abs=1.0)


def test_a_language_model_is_told_from_a_vision_model(tmp_path):
    network = transformers.LlamaForCausalLM(transformers.LlamaConfig(**words_of("llama", num_hidden_layers=1)))
    network.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    assert not supports_images(tmp_path)
    with pytest.raises(InputError, match=r"has no vision support; it is a text-only model\.$"):
        VisionModel.load(tmp_path)
    with pytest.raises(InputError, match="there is no model 'nobody/no-such-model'"):
        supports_images("nobody/no-such-model")
    with pytest.raises(InputError, match="batch_size must be a whole number"):
        VisionModel.load(tmp_path, batch_size=0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"chat": False}, "Pictures need a chat"),
        ({"images": (b"no picture",)}, "images must be PNG files as bytes"),
        ({"options": ()}, "options must be at least one word"),
        ({"text": "What is this <image>?"}, "The processor of llava refused the picture"),
    ],
)
def test_prompts_a_model_cannot_take_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        model_of("llava").score([replace(pictured("shapes"), **changes)])


def test_a_processor_without_a_chat_template_or_with_an_end_of_its_own():
    network, processor = made("llava")
    model = VisionModel(network, processor.tokenizer, "llava", processor=processor)
    processor.chat_template = None
    with pytest.raises(InputError, match="llava has no chat template"):
        model.score([pictured("shapes")])
    processor.tokenizer.chat_template = turns("<image>")  # older processors keep it there
    assert model.score([pictured("shapes")])[0].log_probabilities is not None

    def adding(**given):
        """Put a line's end behind each text."""
        return processor(**{**given, "text": [text + "\n" for text in given["text"]]})

    adding.chat_template, adding.apply_chat_template = turns("<image>"), processor.tokenizer.apply_chat_template
    with pytest.raises(InputError, match="adds to the end of a prompt, where the answer begins"):
        replace(model, processor=adding).score([pictured("shapes")])


def test_a_prompt_that_is_too_long_is_an_error_of_its_reply_alone():
    model = model_of("llava")
    long = replace(pictured("shapes"), text="Which? " * 60)
    for way in (model.score, model.reply):
        fine, bad, last = way([prompts()[0], long, prompts()[2]])
        assert "llava reads at most 400 tokens; a prompt with its answer has " in bad.error
        assert not fine.error
        assert not last.error


def test_values_that_are_no_numbers_are_an_error_of_the_reply():
    network, processor = made("llava")
    network.lm_head.weight.data[:] = float("nan")
    broken = VisionModel(network, processor.tokenizer, "llava", processor=processor)
    for reply in (*broken.score(prompts()[:1]), *broken.reply(prompts()[:1])):
        assert "not numbers" in reply.error


def test_a_row_is_cut_and_continued_with_all_that_runs_along_it():
    row = model_of("qwen").picture_row(pictured("shapes"))
    tokens = row["input_ids"][0].tolist()
    again = extended(shortened(row, 2), tokens[-2:])
    assert (
        set(again) == set(row) == {"input_ids", "attention_mask", "mm_token_type_ids", "pixel_values", "image_grid_thw"}
    )
    for name, values in row.items():
        assert torch.equal(again[name], values)


@pytest.mark.parametrize("task", TASKS)
def test_the_whole_way_from_trials_to_rates(task, tmp_path):
    trials = [trial for kind in TRIAL_KINDS for trial in draw_vision_trials(task, kind, COUNTS[task], 3, 3)]
    requested = [vision_prompt(trial) for trial in trials]
    model = model_of("llava")
    for mode in ("probability", "text"):
        with ReplyStore(tmp_path / mode) as store:
            replies, report = ask_and_report(model, requested, mode, store=store, batch_size=4)
            assert (report.answered, report.failed, len(store)) == (6, 0, 6)
            again, report = ask_and_report(model, requested, mode, store=store)
            assert report.sent == 0
        given = recorded(trials, again, mode)
        found = rates_of(given)
        assert [(one.kind, one.item_count, one.sent) for one in found.rates] == [
            (kind, COUNTS[task], 3) for kind in sorted(TRIAL_KINDS)
        ]
        if mode == "probability":
            likeliest = [int(np.argmax(reply.log_probabilities)) for reply in replies]
            assert given.chosen.tolist() == likeliest
            assert given.correct.sum() == sum(one == trial.right for one, trial in zip(likeliest, trials, strict=True))
            assert all(0 <= rate.probability.value <= 1 for rate in found.rates)
        else:
            assert found.unparsed.count == 6  # letters at random name no shape
