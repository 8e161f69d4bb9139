"""Reading an answer: one option as a word of its own, and no other."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from genlaws.core.errors import InputError
from genlaws.probes import DOMAINS, parse_answer
from genlaws.probes.domains import PEOPLE

HOSTILE = ("C++", "a.b*", "(x|y)", "$5", "[z]", "Zoë", "Łódź", "北京", "Σωκράτης", "O'Brien", "Jean-Luc", "\\d")
WORDS = st.text(alphabet=st.characters(categories=("Lu", "Ll", "Lo", "Nd")), min_size=1, max_size=8)


@given(st.lists(st.sampled_from(PEOPLE), min_size=2, max_size=8, unique=True), st.data())
def test_a_named_option_is_found_whatever_stands_around_it(options, data):
    place = data.draw(st.integers(0, len(options) - 1))
    before = data.draw(st.sampled_from(["", " ", "**", "\n", "Answer: ", "“", "- "]))
    after = data.draw(st.sampled_from(["", ".", "**", "\n", " it is", "”", "'s"]))
    written = data.draw(st.sampled_from([str, str.upper, str.lower]))(options[place])
    assert parse_answer(f"{before}{written}{after}", options) == place


@given(st.lists(WORDS, min_size=2, max_size=5), st.text(max_size=30))
def test_never_an_option_that_is_not_in_the_reply(options, text):
    plain = [unicodedata.normalize("NFKC", option).casefold() for option in options]
    assume(len({unicodedata.normalize("NFKC", one) for one in plain}) == len(plain))
    found = parse_answer(text, options)
    if found is not None:
        reply = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        assert unicodedata.normalize("NFKC", plain[found]) in reply


@given(st.lists(st.sampled_from(PEOPLE), min_size=2, max_size=5, unique=True), WORDS)
def test_a_name_inside_a_longer_word_does_not_count(options, tail):
    longer = options[0] + tail
    assume(longer.casefold() not in {name.casefold() for name in options})
    assert parse_answer(longer, options) is None


@pytest.mark.parametrize("name", HOSTILE)
def test_names_with_signs_of_regular_expressions_and_other_scripts(name):
    options = [name, "Anna"]
    assert parse_answer(f"{name}.", options) == 0
    assert parse_answer(f"I think {unicodedata.normalize('NFD', name)}!", options) == 0
    assert parse_answer("Anna", options) == 1
    assert parse_answer(f"{name} or Anna", options) is None
    assert parse_answer("5", options) is None


@pytest.mark.parametrize("text", ["", "   ", "nobody", "Anna and Bruno", "Annabel", "Bru no"])
def test_unclear_replies_name_nobody(text):
    assert parse_answer(text, ["Anna", "Bruno"]) is None


def test_the_same_name_twice_is_still_one_name():
    assert parse_answer("Anna. Yes, ANNA!", ["Anna", "Bruno"]) == 0


@pytest.mark.parametrize("options", [[], ["Anna"], ["Anna", "anna"], ["Anna", ""], ["Zoë", "Zoe\u0308"]])
def test_options_must_differ(options):
    with pytest.raises(InputError, match="at least two different names"):
        parse_answer("Anna", options)


def test_no_item_of_a_domain_is_read_as_another():
    for make in DOMAINS.values():
        carriers = make().carriers
        assert [parse_answer(name, carriers) for name in carriers] == list(range(len(carriers)))
