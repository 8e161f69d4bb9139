"""Templates: every prompt holds what it must, and a bad template is an error of one sentence."""

from __future__ import annotations

import json

import pytest

from genlaws.core.errors import InputError
from genlaws.probes import DOMAINS, TEMPLATES, Template, domain_of, draw_trials, prompt_of, template_of

PARTS = {"fact": "{item}: {place}", "similarity": "Near {place}:", "identification": "At {place}:"}


@pytest.mark.parametrize("name", sorted(DOMAINS))
@pytest.mark.parametrize("template", ["chat", "sentences", "list"])
@pytest.mark.parametrize("kind", ["similarity", "identification"])
def test_a_trial_in_words_holds_its_items_places_and_question(name, template, kind):
    domain = domain_of(name)
    assert name in TEMPLATES  # words of its own
    (trial,) = draw_trials(domain, kind, 4, 1, seed=2)
    prompt = prompt_of(trial, domain, template_of(domain, template))
    lines = prompt.text.split("\n")
    assert len(lines) == 5
    for line, item, place in zip(lines, trial.items, trial.places, strict=False):
        assert item in line
        assert domain.write(place) in line
    assert domain.write(trial.probe) in lines[-1]
    assert not any(item in lines[-1] for item in trial.items)
    assert ("closest" in lines[-1].lower()) == (kind == "similarity")
    assert prompt.options == trial.items
    assert prompt.chat == (template == "chat")
    assert prompt.text == prompt.text.strip()
    if template != "chat":
        assert prompt.answer_prefix == " "  # so that the answer is a word after the text


def test_other_languages_and_separators():
    domain = domain_of("years")
    (trial,) = draw_trials(domain, "similarity", 2, 1)
    assert "geboren" in prompt_of(trial, domain, template_of(domain, "deutsch")).text
    own = Template("own", **PARTS, between="; ", system="Be brief.", chat=True)
    prompt = prompt_of(trial, domain, template_of(domain, own))
    assert prompt.text.count("; ") == 2
    assert prompt.system == "Be brief."


def test_a_domain_without_words_of_its_own_has_general_ones(tmp_path):
    path = tmp_path / "hills.csv"
    path.write_text("hill,height\nAlpha,1\nBeta,2\nGamma,4\n", encoding="utf-8")
    domain = domain_of(f"table:{path}")
    assert template_of(domain, "list") is TEMPLATES[""]["list"]


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("fact", "{item} alone"),
        ("fact", "{item} at {place} by {who}"),
        ("fact", "{item at {place}"),
        ("fact", "{item} at {place} }"),
        ("similarity", "nothing"),
        ("similarity", "{place} of {item}"),
        ("similarity", "{}"),
        ("identification", "{place.__class__}"),
        ("identification", "{place:d}"),
        ("identification", "{place!r}"),
    ],
)
def test_fields_that_are_missing_or_too_many(part, text):
    with pytest.raises(InputError, match=f"{part} of the template bad must hold .*{{place}}"):
        Template("bad", **{**PARTS, part: text})


@pytest.mark.parametrize(("part", "value", "kind"), [("fact", 3, "text"), ("chat", "yes", "true or false")])
def test_fields_of_the_wrong_kind(part, value, kind):
    with pytest.raises(InputError, match=f"{part} of a template must be {kind}"):
        Template("bad", **{**PARTS, part: value})


def test_a_template_from_a_file(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({**PARTS, "between": " / "}), encoding="utf-8")
    assert template_of(domain_of("years"), path) == Template("mine", **PARTS, between=" / ")
    path.write_text(json.dumps({**PARTS, "name": "called"}), encoding="utf-8")
    assert template_of(domain_of("years"), str(path)).name == "called"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "bad.json must be JSON"),
        (b"\xff\xfe\x00", "bad.json must be JSON"),
        (b"[]", "bad.json must hold fact, similarity and identification"),
        (b"{}", "bad.json must hold fact, similarity and identification"),
        (json.dumps({**PARTS, "color": "red"}).encode(), "may hold the rest"),
        (json.dumps({**PARTS, "fact": "no braces"}).encode(), "must hold {item} and {place}"),
        (json.dumps({**PARTS, "between": 1}).encode(), "between of a template must be text"),
    ],
)
def test_bad_files(tmp_path, content, sentence):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        template_of(domain_of("years"), path)


def test_an_unknown_name():
    with pytest.raises(InputError, match="template must be one of chat, sentences, list, deutsch, or a JSON file"):
        template_of(domain_of("years"), "haiku")
