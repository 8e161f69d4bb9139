"""Where places stand in prompts of every domain and template, also as a chat with a real tokenizer."""

import pytest

from genlaws.core.errors import InputError
from genlaws.models.language import TransformersModel
from genlaws.probes.domains import DOMAINS, domain_of
from genlaws.probes.layers.states import PlaceSpans, place_spans, tokens_of
from genlaws.probes.templates import TEMPLATES, Template, prompt_of
from genlaws.probes.trials import TRIAL_KINDS, ProbeTrial, draw_trials

EVERY = [(domain, name) for domain in DOMAINS for name in TEMPLATES[domain]]


def written(trial, domain):
    return [domain.write(place) for place in (*trial.places, trial.probe)]


@pytest.mark.parametrize(("name", "template"), EVERY)
@pytest.mark.parametrize("kind", TRIAL_KINDS)
def test_the_text_is_that_of_the_prompt_and_holds_the_places(name, template, kind):
    domain, words = domain_of(name), TEMPLATES[name][template]
    for trial in draw_trials(domain, kind, 4, 5, seed=1):
        found = place_spans(trial, domain, words)
        assert found.text == prompt_of(trial, domain, words).text
        assert [found.text[first:end] for first, end in found.spans] == written(trial, domain)
        ends = [0, *(end for _, end in found.spans)]
        assert all(before <= first for before, (first, _) in zip(ends, found.spans, strict=False))


def test_a_place_that_stands_elsewhere_too_is_not_mistaken():
    domain = domain_of("numbers")
    trial = ProbeTrial("similarity", ("Unit 7", "Unit 77"), (77.0, 7.0), 7.0, 1)
    words = Template("own", "{{7}} {item}: 7 or 77 or {place}.", "7? {place}!", "{place}")
    found = place_spans(trial, domain, words)
    assert found.text == "{7} Unit 7: 7 or 77 or 77.\n{7} Unit 77: 7 or 77 or 7.\n7? 7!"
    assert found.items == ((23, 25), (51, 52))
    assert found.probe == (57, 58)


def test_the_last_of_two_places_in_a_line_counts():
    domain = domain_of("numbers")
    trial = ProbeTrial("similarity", ("a", "b"), (1.0, 2.0), 3.0, 1)
    words = Template("own", "{place}, {item}, {place}", "{place} and {place}", "{place}")
    found = place_spans(trial, domain, words)
    assert found.items == ((6, 7), (14, 15))
    assert found.probe == (22, 23)


def test_places_are_found_in_a_chat_that_strips_and_repeats():
    given = PlaceSpans("  at 5, at 6  ", ((5, 6),), (11, 12))
    found = given.inside("<system>at 5, at 6<user>at 5, at 6<assistant>")
    assert [found.text[first:end] for first, end in found.spans] == ["5", "6"]
    assert found.probe[0] > found.text.index("<user>")
    assert given.inside(given.text) == given
    with pytest.raises(InputError, match="changes the text"):
        given.inside("<user>AT 5, AT 6")


def test_tokens_that_hold_a_character_are_found():
    offsets = [(0, 0), (0, 4), (4, 6), (6, 8), (8, 8), (8, 10)]
    assert tokens_of((5, 8), offsets) == [2, 3]
    assert tokens_of((0, 1), offsets) == [1]
    assert tokens_of((9, 10), offsets) == [5]
    with pytest.raises(InputError, match="no token for the characters 10 to 12"):
        tokens_of((10, 12), offsets)


@pytest.fixture(scope="module")
def smollm_words(smollm2_folder):
    """SmolLM2's tokenizer without its network."""
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    return TransformersModel(None, transformers.AutoTokenizer.from_pretrained(smollm2_folder), "SmolLM2")


def test_a_real_tokenizer_gives_the_tokens_of_places_in_every_template(smollm_words):
    tokenizer = smollm_words.tokenizer
    for name, template in EVERY:
        domain, words = domain_of(name), TEMPLATES[name][template]
        for kind in TRIAL_KINDS:
            trial = draw_trials(domain, kind, 3, 1, seed=2)[0]
            prompt = prompt_of(trial, domain, words)
            found = place_spans(trial, domain, words).inside(smollm_words.prompt_text(prompt))
            read = tokenizer(found.text, add_special_tokens=not prompt.chat, return_offsets_mapping=True)
            assert read["input_ids"] == smollm_words.prompt_tokens(prompt)
            for span, place in zip(found.spans, written(trial, domain), strict=True):
                tokens = [read["input_ids"][token] for token in tokens_of(span, read["offset_mapping"])]
                assert tokenizer.decode(tokens).strip() == place
