"""The page that plays a training: self-contained, safe with any name, small, and with every frame in it."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations import less_than, modulo
from genlaws.relations.networks.runs import ElementGroups, element_groups
from genlaws.report import embedding_movie
from genlaws.report.movie import PICTURE_HEIGHT, PICTURE_WIDTH

HOSTILE = "</script><img src=x onerror=alert(1)> & \"quotes\" 'too'"
VOID = {"meta", "input", "img", "br"}


class Page(HTMLParser):
    """Collects tags and text, and fails where tags do not close as they opened."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.words = [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.words.setdefault(self.open[-1], []).append(data)

    def named(self, tag):
        return [attrs for one, attrs in self.tags if one == tag]

    @property
    def film(self):
        return json.loads(next(text for text in self.words["script"] if text.startswith("{")))


@pytest.fixture(scope="module")
def course():
    """Thirty elements that drift apart by class over a hundred times."""
    rng = np.random.default_rng(0)
    start, classes = rng.normal(size=(30, 2)), np.arange(30) % 3
    ends = np.array([[3.0, 0.0], [-3.0, 1.0], [0.0, -4.0]])[classes]
    share = np.linspace(0.0, 1.0, 100)[:, None, None]
    return (1.0 - share) * start + share * ends


def page_of(course, **more):
    relation = modulo(30, 3)
    steps = np.arange(len(course)) * 10
    accuracy = np.linspace(0.5, 1.0, len(course))
    given = {"train_accuracy": accuracy, "test_accuracy": accuracy / 2, "names": relation.names, **more}
    return embedding_movie(course, steps.tolist(), element_groups(relation), given.pop("title", "mod3"), **given)


def test_page_needs_nothing_from_elsewhere_and_is_small(course):
    text = page_of(course)
    assert len(text.encode()) < 300_000
    assert re.search(r"(https?:)?//\w", text) is None
    page = Page(text)
    assert not any({"src", "href"} & set(attrs) for _, attrs in page.tags)
    assert page.named("link") == []


def test_every_frame_is_there_on_one_scale(course):
    film = Page(page_of(course)).film
    places = np.array(film["places"]).reshape(100, 30, 2)
    assert film["steps"] == list(range(0, 1000, 10))
    assert ((places >= 0.0) & (places <= [PICTURE_WIDTH, PICTURE_HEIGHT])).all()
    # One scale and no turn: differences in the picture are differences of embeddings, upwards being up.
    across = (places[..., 0] - places[0, 0, 0]) / (places[-1, 0, 0] - places[0, 0, 0])
    truth = (course[..., 0] - course[0, 0, 0]) / (course[-1, 0, 0] - course[0, 0, 0])
    np.testing.assert_allclose(across, truth, atol=2e-3)
    ratio = np.ptp(places[..., 1]) / np.ptp(places[..., 0])
    assert ratio == pytest.approx(np.ptp(course[..., 1]) / np.ptp(course[..., 0]), rel=1e-3)
    assert np.corrcoef(places[..., 1].ravel(), course[..., 1].ravel())[0, 1] == pytest.approx(-1.0, abs=1e-6)
    assert film["train"][-1] == 1.0
    assert film["test"][0] == 0.25
    assert all(re.fullmatch(r"[\d.]+", str(one)) and len(str(one)) <= 6 for one in film["places"][3])


def test_last_frame_stands_without_scripts(course):
    page = Page(page_of(course))
    drawn = [(float(one["cx"]), float(one["cy"])) for one in page.named("circle")]
    np.testing.assert_allclose(drawn, np.array(page.film["places"][-1]).reshape(-1, 2))
    assert page.words["text"] == [str(number) for number in range(30)]
    colors = [one["fill"] for one in page.named("circle")]
    assert len(set(colors)) == 3
    assert colors[0] == colors[3] != colors[1]
    assert page.words["dd"] == ["990", "1.000", "0.500"]


def test_controls_can_be_used_and_are_named(course):
    page = Page(page_of(course))
    slider = next(one for one in page.named("input") if one["type"] == "range")
    assert (slider["min"], slider["max"], slider["value"]) == ("0", "99", "99")
    assert slider["aria-label"]
    assert slider["aria-valuetext"] == "step 990"
    assert page.named("button")[0]["aria-label"] == "Play the training"
    assert page.named("svg")[0]["role"] == "img"
    assert page.named("html")[0]["lang"] == "en"
    assert "width=device-width" in page.named("meta")[1]["content"]
    style = "".join(page.words["style"])
    assert "prefers-color-scheme: dark" in style
    assert "max-width: 40rem" in style


def test_hostile_names_are_only_text(course):
    names = [HOSTILE, *(str(number) for number in range(29))]
    text = page_of(course, names=names, title=HOSTILE)
    page = Page(text)
    assert page.named("img") == []
    assert "onerror" not in "".join(str(attrs) for tag, attrs in page.tags if tag != "svg")
    assert page.words["h1"] == [HOSTILE]
    assert HOSTILE in page.words["title"]
    assert HOSTILE in page.named("svg")[0]["aria-label"]
    assert len(page.film["places"]) == 100
    assert "<img" not in text


def test_more_dimensions_and_an_order():
    rng = np.random.default_rng(3)
    relation = less_than(8)
    text = embedding_movie(rng.normal(size=(5, 8, 6)), range(5), element_groups(relation), "order")
    page = Page(text)
    assert "two leading principal axes of 6 dimensions" in text
    assert "the number of elements before each" in text
    assert len({one["fill"] for one in page.named("circle")}) == 8
    assert page.film["train"] == [None] * 5
    assert page.words["dd"][1:] == ["none", "none"]
    assert "NaN" not in text


def test_times_that_are_not_finite_are_left_out():
    course = np.zeros((4, 3, 2))
    course[:, 1, 0] = 1.0
    course[3] = np.nan
    film = Page(embedding_movie(course, [0, 1, 2, 3], ElementGroups("degree", np.array([1, 2, 1])), "broken")).film
    assert film["steps"] == [0, 1, 2]


def test_names_of_many_elements_start_hidden():
    groups = ElementGroups("class", np.arange(80) % 20)
    page = Page(embedding_movie(np.random.default_rng(0).normal(size=(2, 80, 1)), [0, 1], groups, "many"))
    assert page.named("svg")[0]["class"] == "nameless"
    assert "checked" not in next(one for one in page.named("input") if one["type"] == "checkbox")
    assert len(page.words["li"]) == 2  # twenty classes: only the ends of the scale


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"embeddings": np.ones((2, 3))}, "embeddings must have the shape"),
        ({"steps": [0]}, "one time for each of the 1 steps"),
        ({"steps": [0, -1]}, "steps must be a whole number"),
        ({"names": ["a"]}, "names and groups must have one entry"),
        ({"test_accuracy": [0.5]}, "test_accuracy must hold one number"),
        ({"embeddings": np.full((2, 3, 2), np.nan)}, "finite at one time at least"),
    ],
)
def test_wrong_input_is_refused(change, complaint):
    groups = ElementGroups("class", np.array([0, 1, 0]))
    given = {"embeddings": np.ones((2, 3, 2)), "steps": [0, 1], "groups": groups, "title": "t", **change}
    with pytest.raises(InputError, match=complaint):
        embedding_movie(**given)
