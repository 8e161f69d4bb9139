"""The front of a user's own set: a planted system lies on it, others on the side they should."""

import numpy as np
import pytest

from genlaws.semanticity import finite_generalization, similarity
from genlaws.semanticity.measurement import empirical_front as module
from genlaws.semanticity.measurement.empirical_front import EmpiricalFront, constant_front, empirical_front
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.measurement.tests import MeasuredSet, two_items
from genlaws.semanticity.theory.similarity import SHAPES
from genlaws.semanticity.theory.stimulus_sets import stimulus_set

# The front is drawn with a rule good to 1e-7, and pieces between its points are straight.
RULE = 2e-7
ON_FRONT = 1e-3
PLANTED = {name: similarity(name, 0.12, background=0.03) for name in SHAPES}


def places(n, seed=0):
    return np.random.default_rng(seed).random(n)


def apart(x):
    return np.abs(np.subtract.outer(x, x))


def ring(x):
    return np.minimum(apart(x), 1 - apart(x))


def front_of(g, d, planted, ties="split", tolerance=0.0):
    return empirical_front(MeasuredSet(g, d, ties, tolerance), planted, np.random.default_rng(0))


@pytest.mark.parametrize("n", [40, 150])
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_system_lies_on_its_front(name, n):
    d = ring(places(n))
    planted = PLANTED[name]
    front = front_of(planted(d), d, planted)
    assert planted.resolution in front.resolution
    assert abs(front.distance()) < RULE
    assert front.probe_count == min(n, module.MAX_PROBES)
    # Without its own resolution among those swept it lies on a piece between two.
    other = front_of(planted(d), d, planted.at_resolution(2.0))
    assert abs(other.distance()) < ON_FRONT


@pytest.mark.parametrize("name", PLANTED)
def test_a_measured_planted_system_lies_on_the_front_of_its_fit(name):
    x = places(80, 1)
    found = measure(PLANTED[name](ring(x)), similarity="precomputed", positions=x, metric="circle", intervals=False)
    assert found.front.shape == name
    assert abs(found.distance_to_front) < ON_FRONT


@pytest.mark.parametrize("n", [30, 90])
@pytest.mark.parametrize("ties", ["split", "drop"])
@pytest.mark.parametrize("planted", [similarity("linear", 0.2), PLANTED["gaussian"]])
def test_each_point_of_a_front_is_the_exact_average(planted, ties, n):
    # Even places have ties; the similarity of half of the pairs is zero for the linear one.
    d = ring(np.arange(n) / n).round(12)
    front = front_of(planted(d), d, planted, ties)
    for place in (0, 10, 20, 30):
        s, i = stimulus_set(d).probabilities(planted.at_resolution(front.resolution[place]), (2,), ties)
        assert front.generalization[place] == pytest.approx(s[0], abs=RULE)
        assert front.identification[place] == pytest.approx(i[0], abs=RULE)


@pytest.mark.parametrize("n", [30, 90])
def test_a_tolerance_counts_on_the_front_too(n):
    d = ring(np.arange(n) / n + 1e-5 * places(n))
    planted = similarity("exponential", 0.1)
    plain, tolerant = (front_of(planted(d), d, planted, tolerance=tolerance) for tolerance in (0.0, 1e-3))
    # Pairs at nearly the same distance have nearly the same similarity, so little changes but something does.
    assert 0 < np.abs(plain.generalization - tolerant.generalization).max() < 1e-2
    everything = front_of(planted(d), d, planted, tolerance=1.0)
    np.testing.assert_allclose(everything.generalization, 0.5, atol=RULE)


def test_the_constant_front_is_exact():
    x = places(40)
    d = ring(x)
    stimuli = MeasuredSet(similarity("linear", 0.3)(d), d, "split", 0.0)
    front = constant_front(stimuli)
    assert front.shape == "constant"
    inside = (d[None] <= front.resolution[:, None, None]).sum(axis=2) - 1
    np.testing.assert_allclose(front.generalization, finite_generalization(inside, 40, 2).mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(front.identification, 1 - inside.mean(axis=1) / 39 / 2, atol=1e-12)
    pair = two_items(stimuli.others(), "split")
    assert front.measured == pytest.approx((pair.generalization, pair.identification), abs=RULE)
    known = constant_front(stimuli, stimuli.others(), (pair.generalization, pair.identification))
    assert known.distance() == pytest.approx(front.distance(), abs=RULE)
    assert front.generalization[front.peak] == front.generalization.max()
    # The linear similarity lies above the constant one on a circle.
    assert front.distance() > 0.01


def test_random_embeddings_lie_far_below():
    rng = np.random.default_rng(0)
    x, z = rng.random(100), np.abs(rng.normal(size=(100, 6)))
    found = measure(z, similarity="gaussian", positions=x, metric="circle")
    assert found.distance_to_constant_front < -0.1
    assert np.isnan(found.fit.resolution.value)
    assert found.front is None
    assert "of 99 random relabelings of the stimuli fit as well" in found.message


def test_noise_pushes_a_planted_system_below_its_front():
    rng = np.random.default_rng(0)
    x = places(100)
    d = ring(x)
    noise = np.exp(rng.normal(size=(100, 100)))
    g = PLANTED["exponential"](d) * noise
    np.fill_diagonal(g, 1.03)
    assert front_of(g, d, PLANTED["exponential"]).distance() < -0.02


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("own", [3.0, 0.6])
def test_a_copy_that_stands_out_lies_on_the_front_of_its_own_amplitude(name, own):
    x = places(80)
    d = ring(x)
    g = PLANTED[name](d)
    nearest = g.max()
    np.fill_diagonal(g, own * nearest)
    # Neighbors as similar as copies are another set than neighbors a third as similar.
    without = front_of(g, d, PLANTED[name])
    assert abs(without.distance()) > 0.02
    assert not without.copies_stand_out
    found = measure(g, similarity="precomputed", positions=x, metric="circle", intervals=False)
    assert found.fit.amplitude == pytest.approx(1 / (own * nearest), rel=5e-2)
    assert abs(found.distance_to_front) < ON_FRONT
    assert found.front.amplitude == found.fit.amplitude
    assert found.front.copies_stand_out
    assert found.constant_front.amplitude == 1.0


def test_the_amplitude_enters_every_point_of_a_front():
    d = ring(places(30))
    planted = PLANTED["gaussian"]
    front = empirical_front(MeasuredSet(planted(d), d, "split", 0.0), planted, np.random.default_rng(0), amplitude=0.4)
    for place in (0, 15, 30):
        g = 0.4 * planted.at_resolution(front.resolution[place])(d)
        np.fill_diagonal(g, 1.0)
        pair = two_items(MeasuredSet(g, d, "split", 0.0).others(), "split")
        assert front.generalization[place] == pytest.approx(pair.generalization, abs=RULE)
        assert front.identification[place] == pytest.approx(pair.identification, abs=RULE)


def test_distance_and_sign_beside_a_straight_front():
    s, i = np.array([0.5, 0.7, 0.5]), np.array([1.0, 0.8, 0.6])
    for measured, expected in (((0.6, 0.8), -0.1 / 2**0.5), ((0.8, 0.8), 0.1), ((0.6, 0.9), 0), ((0.5, 1.0), 0)):
        front = EmpiricalFront("linear", 0.0, np.array([0.1, 0.2, 0.3]), s, i, measured, 10)
        assert front.distance() == pytest.approx(expected, abs=1e-12)
    assert front.peak == 1
    assert front.curve.nearest_piece(*front.measured) == 0


def test_probes_that_see_no_distance(monkeypatch):
    # No metric, but nothing forbids it: two of 120 stimuli are apart, and no distance leads to any other.
    d = np.zeros((120, 120))
    d[0, 1] = d[1, 0] = 1.0
    monkeypatch.setattr(module, "MAX_PROBES", 4)
    front = front_of(PLANTED["exponential"](d), d, PLANTED["exponential"])
    np.testing.assert_allclose(front.generalization, 0.5)
    assert front.probe_count == 4
    assert abs(front.distance()) < RULE
