"""Every figure of the registry has a caption for the gallery of the pages, and the gallery a way to draw it."""

import re
import tomllib

import pytest
from reduced_settings import REDUCED

from genlaws.figures import figure_ids, get_figure
from genlaws.figures.bundled import bundled_ids
from project_paths import ROOT

CAPTION_FILE = ROOT / "docs" / "captions.toml"
CAPTIONS = tomllib.loads(CAPTION_FILE.read_text(encoding="utf-8"))
MAX_SENTENCES, MIN_CHARACTERS = 3, 80


def sentences(text):
    """Return how many sentences a caption has; those of abbreviations do not count."""
    return len(re.findall(r"[.?!](?= |$)", re.sub(r"\b(Eq|Fig)\. ", r"\1 ", text)))


def test_every_figure_has_a_caption():
    assert sorted(CAPTIONS) == sorted(figure_ids())


@pytest.mark.parametrize("figure_id", CAPTIONS)
def test_a_caption_is_one_to_three_sentences_of_its_own(figure_id):
    text = CAPTIONS[figure_id]["text"]
    assert text.endswith(".")
    assert 1 <= sentences(text) <= MAX_SENTENCES
    assert len(text) >= MIN_CHARACTERS
    assert text != get_figure(figure_id).caption


def test_a_sentence_too_many_is_found():
    assert sentences("One. Two? By Eq. 5 three.") == 3


def test_bundled_tables_need_no_settings_and_full_size_none():
    both = [one for one, entry in CAPTIONS.items() if entry.get("full") and "settings" in entry]
    bundled = [one for one in bundled_ids() if {"full", "settings"} & CAPTIONS[one].keys()]
    assert both == bundled == []


@pytest.mark.parametrize("figure_id", [one for one in CAPTIONS if "settings" in CAPTIONS[one]])
def test_changed_settings_are_those_of_the_figure(figure_id):
    figure = get_figure(figure_id)
    assert figure.settings(CAPTIONS[figure_id]["settings"]) != figure.settings()


def test_every_other_figure_can_be_drawn_reduced():
    left = set(figure_ids()) - set(bundled_ids()) - {one for one, entry in CAPTIONS.items() if len(entry) > 1}
    assert left <= set(REDUCED)
