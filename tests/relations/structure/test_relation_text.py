"""Relations as text: what is written is read again, and nothing else is."""

import base64
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genlaws.core.errors import InputError
from genlaws.relations import Relation
from genlaws.relations.structure.families import named_relation
from genlaws.relations.structure.relation import MAX_TEXT_ELEMENTS, relation_from_text, relation_to_text

MEGABYTE = 1_000_000


def random_relation(size, density=0.4, seed=0):
    return Relation.from_matrix(np.random.default_rng(seed).random((size, size)) < density)


def packed(data):
    """Return bytes as the text of a relation holds them."""
    return base64.b64encode(zlib.compress(data)).decode()


@settings(max_examples=80, deadline=None)
@given(size=st.integers(1, 40), density=st.sampled_from([0.0, 0.1, 0.5, 1.0]), seed=st.integers(0, 10**6))
def test_what_is_written_is_read_again(size, density, seed):
    relation = random_relation(size, density, seed)
    text = relation_to_text(relation)
    assert text.isascii()
    found = relation_from_text(text)
    assert found.element_count == size
    np.testing.assert_array_equal(found.matrix, relation.matrix)
    assert relation_to_text(found) == text


@pytest.mark.parametrize("table", [[[0]], [[1]]])
def test_one_element(table):
    assert relation_from_text(relation_to_text(Relation.from_matrix(table))).matrix.tolist() == [[bool(table[0][0])]]


def test_a_label_is_given_when_reading():
    text = relation_to_text(named_relation("mod3"))
    assert text == relation_to_text(Relation.from_matrix(named_relation("mod3").matrix, label="another"))
    assert relation_from_text(text).label == "relation"
    assert relation_from_text(text, "friends").label == "friends"


def test_text_is_short_for_a_relation_with_a_law():
    assert len(relation_to_text(named_relation("mod3", 300))) < 1000


def test_the_largest_relation_goes_through_and_a_larger_one_does_not():
    largest = Relation(MAX_TEXT_ELEMENTS, np.array([[0, 1], [MAX_TEXT_ELEMENTS - 1, 7]]))
    found = relation_from_text(relation_to_text(largest))
    np.testing.assert_array_equal(found.pairs, largest.pairs)
    with pytest.raises(InputError, match=f"at most {MAX_TEXT_ELEMENTS} elements; got {MAX_TEXT_ELEMENTS + 1}"):
        relation_to_text(Relation(MAX_TEXT_ELEMENTS + 1, np.array([[0, 1]])))


GOOD = relation_to_text(random_relation(5))
BODY = GOOD.partition(":")[2]


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "5",
        BODY,
        f":{BODY}",
        f"0:{BODY}",
        f"-5:{BODY}",
        f"+5:{BODY}",
        f"05:{BODY}",
        f" 5:{BODY}",
        f"5.0:{BODY}",
        f"5_0:{BODY}",
        f"٥:{BODY}",
        f"⁵:{BODY}",
        f"{MAX_TEXT_ELEMENTS + 1}:{BODY}",
        f"{'9' * 5000}:{BODY}",  # python itself refuses to read that many digits
        "\x00" * 10,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_text_without_its_number_of_elements_is_refused(text):
    with pytest.raises(InputError, match="must begin with its number of elements, at most 4096, and a colon") as caught:
        relation_from_text(text)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("5:", "as relation_to_text writes it|must hold 4 bytes"),
        ("5:not base64!", "as relation_to_text writes it"),
        (f"5: {BODY}", "as relation_to_text writes it"),
        (f"5:{BODY}\n", "as relation_to_text writes it"),
        (f"5:{BODY}é", "as relation_to_text writes it"),
        (f"5:{BODY[:-4]}", "must hold 4 bytes|must end with its table"),
        (f"5:{base64.b64encode(bytes(4)).decode()}", "as relation_to_text writes it"),
        (f"5:{packed(b'')}", "must hold 4 bytes for its table; got 0"),
        (f"5:{packed(bytes(3))}", "must hold 4 bytes for its table; got 3"),
        (f"5:{packed(bytes(5))}", "must hold 4 bytes for its table; got more"),
        (f"6:{BODY}", "must hold 5 bytes for its table; got 4"),
        (f"4:{BODY}", "must hold 2 bytes for its table; got more"),
        (f"5:{packed(bytes([0, 0, 0, 1]))}", "must end with its table"),  # a bit beyond the 25
        (f"5:{base64.b64encode(zlib.compress(bytes(4)) + b'more').decode()}", "must end with its table"),
        (f"5:{base64.b64encode(zlib.compress(bytes(4))[:-2]).decode()}", "must end with its table"),
    ],
)
def test_text_without_its_table_is_refused(text, complaint):
    with pytest.raises(InputError, match=complaint):
        relation_from_text(text)


def test_a_text_that_would_unpack_to_much_more_is_not_unpacked():
    bomb = f"30:{packed(bytes(200 * MEGABYTE))}"
    tracemalloc.start()
    with pytest.raises(InputError, match="must hold 113 bytes for its table; got more"):
        relation_from_text(bomb)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 5 * MEGABYTE


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_any_other_text_is_refused_in_a_sentence(text):
    with pytest.raises(InputError):
        relation_from_text(text)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, len(GOOD) - 1), st.sampled_from("Aa0+/=:é"))
def test_a_changed_letter_is_noticed(place, letter):
    changed = GOOD[:place] + letter + GOOD[place + 1 :]
    if changed == GOOD:
        return
    with pytest.raises(InputError):
        relation_from_text(changed)
