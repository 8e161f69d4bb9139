"""Words and pictures with true places: what they say and show, and how far apart they are."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.probes.domains import DOMAINS, LATITUDES, domain_of
from genlaws.probes.encoders.stimuli import (
    PICTURE_STIMULI,
    EmbeddingStimuli,
    embedding_stimuli,
    hue_stimuli,
    mark_stimuli,
    word_stimuli,
)
from genlaws.probes.vision.scenes import color_of_hue
from genlaws.semanticity.measurement.metrics import distances_between

PIXEL = 2.0  # of 900, by which the middle of a drawn X may be off its place
HUE_STEP = 1  # of 255, by which shrinking a flat color may change it


def apart(stimuli):
    return distances_between(stimuli.metric, period=stimuli.period)(stimuli.positions, stimuli.positions)


def test_years_are_chosen_evenly_and_written_in_the_phrase():
    stimuli = word_stimuli("years")
    assert len(stimuli) == 200
    assert stimuli.contents[0] == "the year 800"
    assert stimuli.contents[-1] == "the year 1599"
    assert set(np.diff(stimuli.positions)) <= {4.0, 5.0}
    assert [f"the year {place:.0f}" for place in stimuli.positions] == list(stimuli.contents)
    assert apart(stimuli)[0, -1] == 799.0


@pytest.mark.parametrize("name", [*DOMAINS])
def test_every_domain_gives_different_words(name):
    stimuli = embedding_stimuli(name, count=50)
    assert len(set(stimuli.contents)) == len(stimuli) <= 50
    assert (np.diff(stimuli.positions) > 0).all()
    assert stimuli.unit == domain_of(name).unit


def test_items_with_places_of_their_own_are_named():
    stimuli = word_stimuli("latitudes", phrase="{item} lies at {place}")
    reported = dict(zip(stimuli.contents, stimuli.positions, strict=True))
    assert len(reported) == len(LATITUDES)
    assert reported["Berlin lies at 52.5 degrees north"] == 52.5
    assert set(word_stimuli("latitudes").contents) == set(LATITUDES)


def test_a_table_of_the_user_gives_its_items(tmp_path):
    file = tmp_path / "years.csv"  # named as a domain that has another phrase
    file.write_text("animal,weight\nmouse,0.02\ncat,4\ndog,30\nhorse,500\nwhale,90000\n", encoding="utf-8")
    stimuli = embedding_stimuli(f"table:{file}")
    assert stimuli.contents == ("mouse", "cat", "dog", "horse", "whale")
    assert stimuli.positions.tolist() == [0.02, 4.0, 30.0, 500.0, 90000.0]
    left = stimuli.without(["dog"])
    assert left.contents == ("mouse", "cat", "horse", "whale")
    assert left.positions.tolist() == [0.02, 4.0, 500.0, 90000.0]


def test_squares_have_the_hue_of_their_place():
    stimuli = hue_stimuli(36, size=64)
    assert stimuli.period == 360.0
    assert apart(stimuli)[0, 35] == pytest.approx(10.0)
    for picture, hue in zip(stimuli.contents, stimuli.positions, strict=True):
        assert picture.size == (64, 64)
        assert picture.getpixel((1, 1)) == (255, 255, 255)
        assert np.abs(np.array(picture.getpixel((32, 32))) - color_of_hue(hue)).max() <= HUE_STEP


def test_an_x_is_where_its_place_says():
    stimuli = mark_stimuli(5, size=300, seed=3)
    for picture, (x, y) in zip(stimuli.contents, stimuli.positions, strict=True):
        weight = 255.0 - np.asarray(picture, dtype=float)[..., 2]  # white paper, red lines
        columns = (weight.sum(0) @ (np.arange(300) + 0.5)) / weight.sum()
        rows = (weight.sum(1) @ (np.arange(300) + 0.5)) / weight.sum()
        assert (3 * columns, 3 * rows) == pytest.approx((x, y), abs=PIXEL)
    assert np.array_equal(stimuli.positions, mark_stimuli(5, size=16, seed=3).positions)
    assert not np.array_equal(stimuli.positions, mark_stimuli(5, size=16, seed=4).positions)
    assert apart(stimuli)[0, 1] == pytest.approx(np.hypot(*(stimuli.positions[0] - stimuli.positions[1])))


@pytest.mark.parametrize("name", PICTURE_STIMULI)
def test_pictures_have_no_phrase(name):
    assert embedding_stimuli(name, count=4, size=16).kind == "image"
    with pytest.raises(InputError, match="phrase belongs to words"):
        embedding_stimuli(name, phrase="{place}")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: embedding_stimuli("smells"), "stimuli must be one of years, .* or table:FILE; got 'smells'"),
        (lambda: word_stimuli("years", phrase="the year"), "phrase must hold {place}"),
        (lambda: word_stimuli("years", phrase="{item}"), "phrase must hold {place}"),
        (lambda: word_stimuli("years", phrase="{place:d}"), "phrase must hold {place}"),
        (lambda: word_stimuli("years", phrase="{place"), "phrase must hold {place}"),
        (lambda: word_stimuli("latitudes", phrase="{year}"), "phrase must hold {item} or {place}"),
        (lambda: word_stimuli("years", count=3), "count must be a whole number, at least 4"),
        (lambda: hue_stimuli(2000), "count must be a whole number, at least 4 and at most 500"),
        (lambda: mark_stimuli(8, size=2), "size must be a whole number, at least 8"),
        (lambda: embedding_stimuli("table:no.csv"), "There is no file 'no.csv'"),
        (lambda: EmbeddingStimuli("x", "text", ("a", "b"), np.arange(2.0)), "at least four; got 2"),
        (lambda: EmbeddingStimuli("x", "text", ("a",) * 5, np.arange(4.0)), "one true place for each stimulus"),
        (lambda: EmbeddingStimuli("x", "text", tuple("abcd"), np.arange(4.0), "circle"), "must lie within one period"),
        (lambda: EmbeddingStimuli("x", "image", ("a",) * 4, np.arange(4.0)), "all words .* or all PIL images"),
    ],
)
def test_wrong_stimuli_are_refused_in_a_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
