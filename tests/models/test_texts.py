"""Texts to tokens, the places in them, and shuffled tokens."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.models.stream import TokenSample, places_of
from genlaws.models.texts import Tokens, shuffled_tokens, tokenize
from small_tokenizer import CLOSING, OPENING, small_tokenizer

TEXTS = ["w3 w4 w5", "w6 w7 w8 w9 w10"]


@pytest.fixture(scope="module")
def opening():
    return small_tokenizer("[B] $A")


@pytest.fixture(scope="module")
def both():
    return small_tokenizer("[B] $A [E]")


def lists(tokens):
    return [ids.tolist() for ids in tokens.ids]


def test_marks_are_told_from_the_text(opening, both):
    plain = small_tokenizer("$A")
    for tokenizer, head, tail in ((plain, 0, 0), (opening, 1, 0), (both, 1, 1)):
        tokens = tokenize(tokenizer, TEXTS)
        marks = ([OPENING] * head, [CLOSING] * tail)
        assert lists(tokens) == [[*marks[0], 3, 4, 5, *marks[1]], [*marks[0], 6, 7, 8, 9, 10, *marks[1]]]
        assert (tokens.heads, tokens.tails) == ((head, head), (tail, tail))
        assert tokens.ends == (3 + head, 5 + head)


def test_the_mark_at_the_beginning_can_be_added_or_dropped(opening):
    plain = small_tokenizer("$A")
    assert lists(tokenize(plain, TEXTS, bos="add"))[0] == [OPENING, 3, 4, 5]
    assert lists(tokenize(opening, TEXTS, bos="add"))[0] == [OPENING, 3, 4, 5]  # not twice
    assert lists(tokenize(opening, TEXTS, bos="drop"))[0] == [3, 4, 5]
    plain.bos_token = None
    with pytest.raises(InputError, match="no token for the beginning"):
        tokenize(plain, TEXTS, bos="add")


def test_long_texts_are_cut_where_it_is_said_and_counted(both):
    tokens = tokenize(both, TEXTS, max_tokens=5, context=100)
    assert lists(tokens) == [[OPENING, 3, 4, 5, CLOSING], [OPENING, 6, 7, 8, CLOSING]]
    assert tokens.messages == ("1 of 2 texts had more than 5 tokens and were cut at the end.",)
    tokens = tokenize(both, TEXTS, context=5, too_long="cut_start")
    assert lists(tokens)[1] == [OPENING, 8, 9, 10, CLOSING]
    assert "cut at the beginning" in tokens.messages[0]
    assert tokenize(both, TEXTS, max_tokens=7).messages == ()
    with pytest.raises(InputError, match="Text 1 has 7 tokens and at most 5 can be read"):
        tokenize(both, TEXTS, max_tokens=5, too_long="refuse")
    with pytest.raises(InputError, match="room for a token and 2 marks; got 2"):
        tokenize(both, TEXTS, max_tokens=2)


@pytest.mark.parametrize(
    ("texts", "options", "complaint"),
    [
        ("w3", {}, "list of at least one text"),
        ([], {}, "list of at least one text"),
        (["w3", 4], {}, "list of at least one text"),
        (["w3", ""], {}, "text 1, counted from 0, has no tokens"),
        (["w3", " \n"], {"strip": True}, "text 1, counted from 0, has no tokens"),
        (["w3"], {"max_tokens": 0}, "max_tokens must be a whole number, at least 1"),
        (["w3"], {"bos": "maybe"}, "bos must be one of tokenizer, add, drop"),
        (["w3"], {"too_long": "ignore"}, "too_long must be one of"),
    ],
)
def test_wrong_texts_are_refused(opening, texts, options, complaint):
    with pytest.raises(InputError, match=complaint):
        tokenize(opening, texts, **options)


def test_shuffled_tokens_keep_the_marks_and_the_words():
    ids = np.arange(40)
    shuffled = shuffled_tokens(ids, 3)
    assert shuffled[0] == 0
    assert sorted(shuffled) == ids.tolist()
    assert not np.array_equal(shuffled, ids)
    assert np.array_equal(shuffled, shuffled_tokens(ids, 3))
    assert not np.array_equal(shuffled, shuffled_tokens(ids, 4))
    assert np.array_equal(ids, np.arange(40))
    ends = shuffled_tokens(ids, 3, first=2, last=3)
    assert ends[[0, 1, 37, 38, 39]].tolist() == [0, 1, 37, 38, 39]
    assert set(shuffled_tokens(ids, 3, first=0)[:5]) != set(range(5))
    for wrong in (np.zeros((2, 3), dtype=int), [0.5, 1.0]):
        with pytest.raises(InputError, match="whole numbers of one text"):
            shuffled_tokens(wrong, 0)


def test_tokens_of_texts_are_shuffled_each_in_its_own_way():
    tokens = Tokens((np.arange(30), np.arange(30)), (1, 1), (0, 1))
    one, two = tokens.shuffled(0).ids
    assert one[0] == two[0] == 0
    assert two[-1] == 29
    assert not np.array_equal(one[:20], two[:20])


def test_every_place_is_sampled_and_marks_are_not():
    sample = TokenSample(2, seed=1)
    drawn = [sample.draw(number, 1, 6) for number in range(200)]
    assert all(len(set(one)) == 2 and one[0] < one[1] for one in drawn)
    counts = np.bincount(np.concatenate(drawn), minlength=6)
    assert counts[0] == 0
    assert (np.abs(counts[1:] - 80) < 4 * np.sqrt(200 * 0.4 * 0.6)).all()
    assert places_of(sample, [6], [1])[0].tolist() == drawn[0].tolist()
    assert places_of(TokenSample(9), [4], [1])[0].tolist() == [1, 2, 3]
    with pytest.raises(InputError, match="count must be a whole number, at least 1"):
        TokenSample(0)


def test_places_by_word_and_number():
    lengths, firsts = [4, 6], [1, 1]
    for positions, expected in (
        ("last", [[3], [5]]),
        ("all", [[1, 2, 3], [1, 2, 3, 4, 5]]),
        (0, [[0], [0]]),
        (-2, [[2], [4]]),
        ((1, -1), [[1, 3], [1, 5]]),
        (np.array([2]), [[2], [2]]),
        ([[0], [1, 2]], [[0], [1, 2]]),
    ):
        assert [one.tolist() for one in places_of(positions, lengths, firsts)] == expected
    for wrong in ([[0]], [1.5], True, None, ["a", "b"]):
        with pytest.raises(InputError, match="position must be"):
            places_of(wrong, lengths)
    with pytest.raises(InputError, match="got -5 for text 0, which has 4 tokens"):
        places_of(-5, lengths)
