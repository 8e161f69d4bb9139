"""The page of a measurement is one file, well-formed, with the numbers it was given."""

import re

import numpy as np
import pytest

from genlaws import semanticity
from genlaws.core.estimate import INTERVAL_MEANING
from genlaws.figures.semanticity import measurement as pictures
from genlaws.report import measurement_page
from genlaws.web.measurement import Sent, answer_of

NAME = "a <b> & c.npy"


@pytest.fixture(scope="module")
def measured():
    rng = np.random.default_rng(3)
    places = rng.random(30)
    embeddings = np.stack([np.cos(2 * np.pi * places), np.sin(2 * np.pi * places)], axis=1)
    return semanticity.measure(
        embeddings, positions=places, metric="circle", similarity="threshold", items=(2, 3, 5), name=NAME
    )


def test_page_is_whole_and_needs_nothing(measured, read_page):
    page = read_page(measurement_page(measured))
    assert page.fetched == []
    assert page.tags.count("svg") == 4
    text = page.said
    assert "Semanticity of a <b> & c.npy" in text
    assert str(measured.generalization) in text
    assert str(measured.fit.resolution) in text
    for n, one in zip(measured.items.item_count, measured.items.identification, strict=True):
        assert str(n) in text
        assert str(one).partition(" (")[0] in text


def test_one_meaning_of_plus_and_minus(measured, read_page):
    page = measurement_page(measured)
    said = read_page(page).said
    assert "standard error" not in said
    assert INTERVAL_MEANING in said
    for test in ("generalization", "identification"):
        with_two = getattr(measured.items, test)[0]
        assert with_two == getattr(measured, test)
        assert said.count(str(with_two).partition(" (")[0]) == 1


def test_a_set_without_intervals_is_drawn_and_reported_too(read_page):
    places = np.arange(12) / 12
    embeddings = np.stack([np.cos(2 * np.pi * places), np.sin(2 * np.pi * places)], axis=1)
    plain = semanticity.measure(embeddings, positions=places, metric="circle", items=(2, 3), intervals=False)
    assert "±" not in read_page(measurement_page(plain)).said.replace(INTERVAL_MEANING, "")


def test_pictures_show_the_measured_numbers(measured):
    front = pictures.draw_empirical_front(measured).axes[0]
    points = [line.get_xydata() for line in front.get_lines()]
    here = [measured.identification.value, measured.generalization.value]
    assert any(len(one) == 1 and np.allclose(one[0], here) for one in points)
    items = pictures.draw_items(measured).axes[0]
    drawn = [line.get_ydata() for line in items.get_lines()]
    assert any(np.array_equal(y, measured.to_frame().generalization) for y in drawn)
    assert any(np.array_equal(y, measured.to_frame().identification) for y in drawn)
    profile = pictures.draw_profile(measured).axes[0]
    assert any(np.array_equal(line.get_ydata(), measured.profile.similarity) for line in profile.get_lines())


def test_the_fitted_front_differs_from_the_constant_one_by_its_amplitude():
    # Both have the constant shape and no background, but neighbors are half as similar as copies.
    places = np.arange(20.0)
    g = 0.5 * (np.abs(np.subtract.outer(places, places)) < 5) + 0.5 * np.eye(20)
    found = semanticity.measure(g, similarity="precomputed", positions=places, metric="euclidean", intervals=False)
    assert (found.fit.shape, found.fit.background.value) == ("constant", 0.0)
    assert abs(found.distance_to_front) < 1e-6
    assert len(pictures.draw_empirical_front(found).axes[0].get_lines()) == 4  # diagonal, two fronts, the point
    curves = answer_of(found, Sent("embeddings", "e.npy", "p.npy", "euclidean", "precomputed")).panels[0].curves
    assert [one.name for one in curves] == ["chance", "constant front", "constant front, A = 0.5", "your set"]


def test_a_profile_without_a_shape_is_drawn_too():
    rng = np.random.default_rng(0)
    flat = semanticity.measure(
        np.ones((8, 8)), similarity="precomputed", positions=rng.random(8), metric="euclidean", items=(2,)
    )
    assert np.isnan(flat.fit.resolution.value)
    page = measurement_page(flat)
    assert "similarity is the same at every distance" in page
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.S)
    shown = {one.name: one for one in answer_of(flat, Sent("embeddings", "e.npy", "p.npy", "euclidean", "dot")).numbers}
    assert (shown["resolution ε"].value, shown["resolution ε"].meaning) == ("none", flat.fit.why_none)
    assert shown["explained by the shape"].value == shown["ball mass ⟨b⟩"].value == "none"
