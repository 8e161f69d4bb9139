"""Both tests on images against counting every trial one by one."""

from itertools import permutations

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity.networks.image_tests import image_tests, no_tests, tree_tests

DISTANCES = np.array([[0, 1.0, 3.0], [1.0, 0, 3.0], [3.0, 3.0, 0]])
CLASSES = np.array([0, 0, 1, 1, 2, 2, 0])


def counted(apart, classes, threshold):
    """Return both tests by going through all trials, and the share of trials left out."""
    n = len(classes)
    per_probe, named, left_out, total = {}, [], 0, 0
    for probe, i, j in permutations(range(n), 3):
        near, far = DISTANCES[classes[probe], classes[i]], DISTANCES[classes[probe], classes[j]]
        total += 1
        left_out += near == far
        if near < far:
            inside = apart[probe, [i, j]] <= threshold
            per_probe.setdefault(probe, []).append(0.5 + 0.5 * (float(inside[0]) - float(inside[1])))
    for probe, other in permutations(range(n), 2):
        named.append(0.5 if apart[probe, other] <= threshold else 1.0)
    return np.mean([np.mean(one) for one in per_probe.values()]), np.mean(named), left_out / total


@pytest.fixture(scope="module")
def features():
    return np.random.default_rng(2).normal(size=(7, 2)) + 1.5 * CLASSES[:, None]


def test_every_trial_counts_once_and_ties_are_left_out(features):
    found = image_tests(features, CLASSES, DISTANCES)
    apart = np.linalg.norm(features[:, None] - features, axis=2)
    assert len(found.curve.threshold) == 1 + 7 * 6 // 2
    best = []
    for threshold, p_s, p_i in zip(
        found.curve.threshold, found.curve.generalization, found.curve.identification, strict=True
    ):
        expected = counted(apart, CLASSES, threshold + 1e-9)
        assert (p_s, p_i, found.tied_fraction) == pytest.approx(expected, abs=1e-12)
        best.append(p_s)
    assert found.peak_generalization == pytest.approx(max(best))
    place = int(np.argmax(best))
    assert found.peak_identification == found.curve.identification[place]
    assert found.peak_threshold == found.curve.threshold[place]


def test_means_over_thresholds_are_those_of_a_fine_grid(features):
    found = image_tests(features, CLASSES, DISTANCES)
    apart = np.linalg.norm(features[:, None] - features, axis=2)
    middle = (np.arange(4000) + 0.5) / 4000 * apart.max()
    place = np.searchsorted(found.curve.threshold, middle, side="right") - 1
    assert found.mean_generalization == pytest.approx(found.curve.generalization[place].mean(), abs=1e-3)
    assert found.mean_identification == pytest.approx(found.curve.identification[place].mean(), abs=1e-3)
    # Half of what lies between two images on average stays apart.
    others = apart[~np.eye(7, dtype=bool)]
    assert found.mean_identification == pytest.approx(0.5 + 0.5 * others.mean() / apart.max(), abs=1e-12)


def test_the_unit_of_the_features_does_not_matter(features):
    one, other = image_tests(features, CLASSES, DISTANCES), image_tests(7.0 * features, CLASSES, 0.3 * DISTANCES)
    np.testing.assert_allclose(one.curve.generalization, other.curve.generalization, atol=1e-12)
    assert one.mean_identification == pytest.approx(other.mean_identification)
    assert other.peak_threshold == pytest.approx(7.0 * one.peak_threshold)


def test_features_that_match_the_tree_generalize_best_of_all(features):
    best = tree_tests(CLASSES, DISTANCES)
    expected = counted(DISTANCES[np.ix_(CLASSES, CLASSES)], CLASSES, 1.0)
    assert best.peak_generalization == pytest.approx(expected[0])
    assert best.peak_generalization > image_tests(features, CLASSES, DISTANCES).peak_generalization
    assert best.curve.threshold.tolist() == [0.0, 1.0, 3.0]
    # Images of one class cannot be distinguished by their place in the tree.
    assert np.isnan(best.generalization_at(0.99))
    assert best.generalization_at(best.curve.identification[0]) == pytest.approx(best.curve.generalization[0])


def test_a_long_curve_is_thinned_to_exact_values():
    rng = np.random.default_rng(0)
    z, c = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    whole, thin = image_tests(z, c, DISTANCES, points=100_000), image_tests(z, c, DISTANCES, points=11)
    assert len(thin.curve.threshold) == 11
    place = np.searchsorted(whole.curve.threshold, thin.curve.threshold)
    assert whole.curve.generalization[place].tolist() == thin.curve.generalization.tolist()
    np.testing.assert_allclose(thin.curve.identification, np.linspace(1.0, 0.5, 11), atol=1e-3)
    assert thin.peak_generalization == whole.peak_generalization
    at = whole.generalization_at([1.0, 0.8, 0.5])
    assert at[[0, 2]] == pytest.approx(0.5)
    first = np.flatnonzero(whole.curve.identification >= 0.8)[-1]
    assert at[1] == whole.curve.generalization[first]


def test_equal_features_are_at_chance():
    found = image_tests(np.ones((7, 2)), CLASSES, DISTANCES)
    assert found.peak_generalization == pytest.approx(0.5)
    assert found.peak_identification == pytest.approx(0.5)
    assert np.isnan(found.mean_identification)


def test_a_broken_network_has_no_numbers():
    broken = no_tests(9)
    assert broken.stimulus_count == 9
    assert np.isnan(broken.peak_generalization)
    assert np.isnan(broken.generalization_at(0.9))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"features": np.ones((2, 2)), "classes": [0, 1]}, "features must be a table"),
        ({"features": np.full((7, 2), np.inf)}, "features must be a table"),
        ({"features": np.ones(7)}, "features must be a table"),
        ({"classes": CLASSES[:5]}, "classes must be one row of distances"),
        ({"classes": CLASSES + 1}, "from 0 to 2"),
        ({"classes": CLASSES - 1}, "from 0 to 2"),
        ({"classes": 0.5 * CLASSES}, "classes must be"),
        ({"classes": np.zeros(7, dtype=int)}, "classes must leave a trial"),
        ({"distances": DISTANCES[:2]}, "distances"),
        ({"points": 1}, "points must be"),
    ],
)
def test_wrong_input_is_refused(features, given, said):
    with pytest.raises(InputError) as caught:
        image_tests(**{"features": features, "classes": CLASSES, "distances": DISTANCES, **given})
    assert said in str(caught.value)
