"""From places to true distances: each metric against its definition."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity import from_distances, similarity
from genlaws.semanticity.measurement.measure import measure
from genlaws.semanticity.measurement.metrics import (
    METRICS,
    check_positions,
    distances_between,
    tree_distances,
)
from genlaws.semanticity.networks.image_tests import tree_tests
from genlaws.semanticity.theory.exact import probabilities
from genlaws.semanticity.theory.finite_sets import stimulus_distances
from genlaws.semanticity.theory.stimulus_sets import stimulus_set
from genlaws.semanticity.theory.ties import merge_ties, tie_tolerance

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
    np.testing.assert_allclose(one.to_frame().generalization, other.to_frame().generalization, atol=1e-12)
    assert (one.tied_fraction > 0) == (metric == "tree")


# --- ties -------------------------------------------------------------------------------------------------------------


def dated_tree(written, height, leaves=24, seed=0):
    """Return a random binary tree in Newick format, all leaves equally deep, its branch lengths as they are written."""
    rng = np.random.default_rng(seed)
    tops = [(f"s{leaf}", 0.0) for leaf in range(leaves)]
    for age in height * np.sort(rng.random(leaves - 1)):
        first, second = (tops.pop(rng.integers(len(tops))) for _ in range(2))
        tops.append((f"({','.join(f'{text}:{written % (age - below)}' for text, below in (first, second))})", age))
    return tops[0][0] + ";"


def tied_share(distances, tolerance):
    """Return the share of triples whose two items are equally far from the probe, counted one by one."""
    n = len(distances)
    others = [np.delete(row, place) for place, row in enumerate(distances)]
    return np.mean([(np.abs(np.subtract.outer(row, row)) <= tolerance).sum() - (n - 1) for row in others]) / (
        (n - 1) * (n - 2)
    )


@pytest.mark.parametrize(
    ("written", "height"),
    [("%.4f", 100.0), ("%.4f", 1.0), ("%.2f", 80.0), ("%.6g", 1.0), ("%.10f", 1.0), ("%.17g", 1.0)],
)
def test_a_third_of_the_triples_of_a_dated_tree_is_tied_however_it_is_written(written, height):
    d = tree_distances(dated_tree(written, height))
    if written != "%.17g":
        assert tied_share(d, 1e-12 * d.max()) < 0.3
    copies = [d, d / d.max(), d.astype(np.float32), d.astype(np.float32).astype(np.float64)]
    for one in copies[: 2 if written == "%.10f" else 4]:
        # A probe and two items: one of the three is equally far from the other two.
        assert tied_share(np.asarray(one, dtype=float), tie_tolerance(one)) == pytest.approx(1 / 3, abs=ROUNDING)


def test_every_call_that_compares_distances_finds_the_ties_of_a_dated_tree():
    d, classes = tree_distances(dated_tree("%.4f", 100.0)), np.arange(24)
    g = np.exp(-d / 50)
    measured = measure(g, similarity="precomputed", distances=d, intervals=False, fronts=False)
    assert measured.tied_fraction == tree_tests(classes, d).tied_fraction == pytest.approx(1 / 3, abs=1e-12)
    stimuli = stimulus_distances(d)
    assert tied_share(stimuli, 0.0) == pytest.approx(1 / 3, abs=1e-12)
    np.testing.assert_allclose(stimuli, d, rtol=0, atol=1e-3)
    # Ties left out, what is exactly a dated tree and what is one but for rounding give the same.
    exact = tree_distances(dated_tree("%.17g", 100.0))
    form = similarity("exponential", 50.0)
    sets = [stimulus_set(one).probabilities(form, (2,), "drop")[0][0] for one in (d, exact)]
    spaces = [probabilities(from_distances(one), form, 2, "drop").generalization for one in (d, exact)]
    assert sets[0] == pytest.approx(sets[1], abs=1e-5)
    assert spaces[0] == pytest.approx(spaces[1], abs=1e-5)


def almost_a_tree():
    """Return matrices whose distances differ, although something in each of them looks like a dated tree."""
    rng = np.random.default_rng(0)
    plane = rng.standard_normal((40, 2))
    far = plane.copy()
    far[0] = 1e6
    pairs = np.eye(20).repeat(2, axis=0) * 1000 + 0.1 * rng.standard_normal((40, 20))
    grouped = plane + 1e5 * (np.arange(40) % 2)[:, None]
    for name, places in {"plane": plane, "outlier": far, "two groups": grouped, "pairs": pairs}.items():
        for decimals in (None, 2, 4):
            d = between(places, "euclidean")
            yield f"{name} {decimals}", d if decimals is None else d.round(decimals)
    close = np.triu(1.0 + 1e-3 * rng.random((40, 40)), 1)
    yield "nearly equal", (close + close.T).round(4)
    clock = tree_distances(dated_tree("%.4f", 100.0)) * (1 + 0.01 * rng.random((24, 24)))
    yield "uneven clock", np.minimum(clock, clock.T)
    whole = np.triu(rng.integers(1, 9, (30, 30)), 1).astype(float)
    yield "whole numbers", whole + whole.T


@pytest.mark.parametrize("d", [pytest.param(d, id=name) for name, d in almost_a_tree()])
def test_distances_that_differ_are_not_tied(d):
    assert tie_tolerance(d) <= 1e-11 * d.max()
    np.testing.assert_allclose(merge_ties(d), d, rtol=0, atol=1e-11 * d.max())


def test_splits_further_apart_than_the_rounding_stay_apart():
    d = tree_distances(dated_tree("%.4f", 100.0))
    tolerance = tie_tolerance(d)
    assert 1e-4 < tolerance < 2e-3
    exact = tree_distances(dated_tree("%.17g", 100.0))
    further = np.abs(exact[:, :, None] - exact[:, None, :]) > 3 * tolerance
    merged = merge_ties(d)
    assert ((merged[:, :, None] != merged[:, None, :]) | ~further).all()
