"""Paths over the front: distances from a curve, resolution and cut of a profile, many items, and the fronts."""

import dataclasses

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity import circle, segment, similarity
from genlaws.semanticity.networks.relu_runs import ReluRuns, linear_front, set_front, space_front
from genlaws.semanticity.theory.exact import probabilities
from genlaws.semanticity.theory.finite_sets import stimulus_distances
from genlaws.semanticity.theory.stimulus_sets import stimulus_set
from genlaws.semanticity.theory.tradeoff import linear_on_circle

CHORD = 1.5e-6  # between a curve and the straight pieces that stand for it
JOINED = 3e-5  # between a front and the smooth curve through some of its points
GRID = 0.012  # between neighboring resolutions that a fit tries, relative


def runs_of(g, d, failed=None):
    """Return runs with one log whose networks have given similarities, (networks, stimuli, stimuli)."""
    values, place = np.unique(np.round(d, 9), return_inverse=True)
    place = place.reshape(d.shape)
    profile = np.stack([g[:, place == one].mean(axis=1) for one in range(len(values))], axis=-1)
    count = len(g)
    return ReluRuns(
        distances=d,
        steps=np.array([0]),
        generalization=np.zeros((count, 1)),
        identification=np.zeros((count, 1)),
        profile_distance=values,
        profile_count=np.bincount(place.ravel()).astype(float),
        profile=profile[:, None],
        similarity=g,
        failed=np.zeros(count, dtype=bool) if failed is None else failed,
        device="cpu",
        dtype="float64",
        path="eager",
    )


@pytest.mark.parametrize("name", ["circle", "segment"])
def test_front_of_a_space_joins_its_points(name):
    where = {"circle": circle, "segment": segment}[name]()
    front = space_front(where)
    exact = [probabilities(where, similarity("linear", one)) for one in (0.07, 0.19, 0.31, 0.37)]
    found = front.distance(*np.array([(one.generalization, one.identification) for one in exact]).T)
    np.testing.assert_allclose(found, 0.0, atol=JOINED)
    if name == "circle":
        b = np.linspace(0.05, 0.85, 100)  # a kink follows where the circle is covered
        np.testing.assert_allclose(front.distance(*linear_on_circle(b)), 0.0, atol=JOINED)


@pytest.mark.parametrize("name", ["circle", "segment"])
def test_front_of_a_set_goes_through_resolutions_between_its_distances(name):
    d = stimulus_distances(name, 20)
    front = set_front(d)
    steps = 20 if name == "circle" else 19
    for k in (1, 3, 5):
        exact = stimulus_set(d).probabilities(similarity("linear", (k + 0.5) / steps), (2,), "drop")
        np.testing.assert_allclose(front.distance(*exact), 0.0, atol=1e-3)  # between the points of the curve
    assert front.identification[0] == pytest.approx(1.0)
    assert front.generalization[0] == pytest.approx(0.5)
    assert (np.diff(front.identification) < 0).all()


def test_front_of_a_large_set_tends_to_that_of_the_space():
    gaps = []
    for count in (25, 50, 100):
        found = set_front(stimulus_distances("circle", count))
        inner = (found.identification > 0.72) & (found.identification < 0.97)
        gaps.append(linear_front().distance(found.generalization[inner], found.identification[inner]).max())
    assert gaps[0] > 1.7 * gaps[1] > 1.7**2 * gaps[2] > 0


def test_front_of_many_different_distances():
    places = np.random.default_rng(2).random((30, 2))
    front = set_front(np.linalg.norm(places[:, None] - places, axis=-1))
    assert 0.7 < front.generalization.max() < 0.9


@pytest.mark.parametrize("name", ["circle", "segment"])
def test_resolution_of_an_exactly_linear_profile(name):
    d = stimulus_distances(name, 50)
    given = np.array([0.05, 0.16, 0.31, 0.45])
    g = 3.0 * np.maximum(0.0, 1.0 - d / given[:, None, None])
    runs = runs_of(g, d)
    np.testing.assert_allclose(runs.resolution()[:, 0], given, rtol=GRID)


def test_flat_profile_has_the_coarsest_resolution_and_no_cut():
    d = stimulus_distances("circle", 20)
    runs = runs_of(np.ones((1, 20, 20)), d)
    assert runs.resolution()[0, 0] == pytest.approx(2.0)
    assert runs.cut()[0, 0] == np.inf


def test_cut_is_the_first_distance_below_the_level():
    d = stimulus_distances("circle", 20)
    g = np.maximum(0.0, 1.0 - d / 0.22)[None] + 0.002
    runs = runs_of(g, d)
    assert runs.cut()[0, 0] == pytest.approx(0.25)
    assert runs.cut(0.3)[0, 0] == pytest.approx(0.2)
    assert runs.cut(1e-3)[0, 0] == np.inf
    for wrong in (0.0, 1.5, [0.1, 0.2]):
        with pytest.raises(InputError, match="level must"):
            runs.cut(wrong)


def test_failed_networks_have_no_numbers():
    d = stimulus_distances("circle", 8)
    g = np.stack([np.maximum(0.0, 1.0 - d / 0.3), np.full_like(d, np.nan)])
    runs = runs_of(g, d, failed=np.array([False, True]))
    assert np.isnan(runs.resolution()[1]).all()
    assert np.isnan(runs.cut()[1]).all()
    many = runs.many_items((2, 3))
    assert np.isfinite(many[0][0]).all()
    assert np.isnan(many[1][1]).all()


def test_many_items_are_those_of_the_finite_set():
    d = stimulus_distances("segment", 14)
    counts = (2, 3, 5, 13)
    shapes = [similarity("linear", one) for one in (0.2, 0.55)]
    runs = runs_of(np.stack([shape(d) for shape in shapes]), d)
    found = runs.many_items(counts)
    for place, shape in enumerate(shapes):
        expected = stimulus_set(d).probabilities(shape, counts, "drop")
        np.testing.assert_allclose(found[0][place], expected[0], rtol=0, atol=1e-10)
        np.testing.assert_allclose(found[1][place], expected[1], rtol=0, atol=1e-10)
    for wrong in ((1,), (14,), (2.5,)):
        with pytest.raises(InputError, match="item_counts must be"):
            runs.many_items(wrong)


def test_reaching_and_peak_are_remembered():
    d = stimulus_distances("circle", 4)
    base = runs_of(np.ones((2, 4, 4)), d)
    course = np.array([[0.5, 0.8, 0.7, 0.75], [0.5, 0.6, 0.7, 0.65]])
    runs = dataclasses.replace(base, steps=np.arange(4), generalization=course, identification=course)
    assert runs.after_reaching(0.79).tolist() == [[False, True, True, True], [False] * 4]
    assert runs.after_peak().tolist() == [[False, True, True, True], [False, False, True, True]]
    table = dataclasses.replace(runs, profile=np.repeat(base.profile, 4, axis=1)).to_frame()
    assert len(table) == 8
    assert table["step"].tolist() == [0, 1, 2, 3] * 2
    assert table["generalization"].tolist() == course.ravel().tolist()
