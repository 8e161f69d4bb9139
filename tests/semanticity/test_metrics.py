"""From places to true distances: each metric against its definition."""

import numpy as np
import pytest

from genlaws.numerics.errors import InputError
from genlaws.semanticity.measure import measure
from genlaws.semanticity.metrics import METRICS, check_positions, distances_between, tree_distances

ROUNDING = 1e-14


def between(positions, metric, **options):
    places = check_positions(positions, metric)
    return distances_between(metric, **options)(places, places)


@pytest.mark.parametrize("period", [1.0, 24.0, 2 * np.pi])
def test_the_shorter_way_round_a_circle(period):
    x = period * np.array([0.0, 0.1, 0.45, 0.6, 0.95, 1.1, -0.3])
    expected = [[min(abs(a - b + k * period) for k in range(-3, 4)) for b in x] for a in x]
    found = between(x, "circle", period=period)
    np.testing.assert_allclose(found, expected, atol=period * ROUNDING)
    np.testing.assert_allclose(between(x[:, None], "circle", period=period), found)
    assert found.max() <= period / 2


def test_euclidean_and_cosine_distances():
    p = np.random.default_rng(0).normal(size=(6, 3))
    euclidean = [[np.sqrt(((a - b) ** 2).sum()) for b in p] for a in p]
    cosine = [[1 - a @ b / np.sqrt((a @ a) * (b @ b)) for b in p] for a in p]
    np.testing.assert_allclose(between(p, "euclidean"), euclidean, atol=10 * ROUNDING)
    np.testing.assert_allclose(between(p, "cosine"), cosine, atol=10 * ROUNDING)
    assert between(p, "cosine").min() >= 0
    x = p[:, 0]
    np.testing.assert_allclose(between(x, "euclidean"), np.abs(np.subtract.outer(x, x)), atol=10 * ROUNDING)


LABELS = [["animal", "bird", "owl"], ["animal", "bird", "gull"], ["animal", "fish", "owl"], ["plant", "bird", "owl"]]
STEPS = [[0, 2, 4, 6], [2, 0, 4, 6], [4, 4, 0, 6], [6, 6, 6, 0]]


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        np.array(LABELS),
        np.array(LABELS, dtype=object),
        [[0, 5, 3], [0, 5, 2], [0, 4, 3], [1, 5, 3]],
        np.array([["a", 1, 2.5], ["a", 1, 3.5], ["a", 0, 2.5], ["b", 1, 2.5]], dtype=object),
    ],
)
def test_a_tree_of_labels(labels):
    # Below the first level on which two differ, equal labels no longer count.
    np.testing.assert_array_equal(between(labels, "tree"), STEPS)


def test_labels_and_newick_agree():
    text = "(((owl,gull)bird,(perch)fish)animal,((fern)green)plant);"
    labels = [
        ["animal", "bird", "owl"],
        ["animal", "bird", "gull"],
        ["animal", "fish", "perch"],
        ["plant", "green", "fern"],
    ]
    np.testing.assert_array_equal(tree_distances(text), between(labels, "tree"))


def test_one_column_of_labels_is_one_level():
    np.testing.assert_array_equal(between(["a", "b", "a"], "tree"), [[0, 2, 0], [2, 0, 2], [0, 2, 0]])


@pytest.mark.parametrize(
    ("positions", "metric", "said"),
    [
        (np.zeros((3, 2)), "circle", "one number per stimulus"),
        (np.zeros((3, 2, 2)), "euclidean", "a number or a row per stimulus"),
        (np.zeros(3), "cosine", "rows of several numbers"),
        (np.zeros((3, 2)), "cosine", "none of them all zero"),
        ([0.0, np.nan, 1.0], "circle", "must not contain NaN"),
        ([0.0, np.inf, 1.0], "circle", "must be finite"),
        (["a", "b", "c"], "circle", "positions must be a real number"),
        (np.array([["a", None], ["b", "c"]], dtype=object), "tree", "some are missing"),
        (np.array([["a", np.nan], ["b", "c"]], dtype=object), "tree", "some are missing"),
        ([["a"], ["b", "c"]], "tree", "positions must be"),
    ],
)
def test_places_that_do_not_fit_are_named(positions, metric, said):
    with pytest.raises(InputError) as caught:
        check_positions(positions, metric)
    assert said in str(caught.value)


def test_metrics_are_known_by_name():
    with pytest.raises(InputError, match="metric must be one of circle, euclidean, cosine, tree; got 'precomputed'"):
        distances_between("precomputed")
    with pytest.raises(InputError, match="period must be positive"):
        distances_between("circle", period=-1.0)


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_is_the_same_as_its_distances(metric):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(15, 4))
    positions = {
        "circle": rng.random(15),
        "euclidean": rng.random((15, 2)),
        "cosine": rng.normal(size=(15, 3)),
        "tree": rng.integers(0, 3, (15, 3)),
        "precomputed": between(rng.random(15), "euclidean"),
    }[metric]
    d = positions if metric == "precomputed" else between(positions, metric)
    quick = {"items": (2, 3), "intervals": False, "fronts": False}
    one, other = (
        measure(z, positions=positions, metric=metric, **quick),
        measure(z, distances=d - np.diag(np.diag(d)), **quick),
    )
    np.testing.assert_allclose(one.items.generalisation, other.items.generalisation, atol=1e-12)
    assert (one.tied_fraction > 0) == (metric == "tree")
