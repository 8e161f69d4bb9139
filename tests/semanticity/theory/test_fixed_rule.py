"""Many resolutions by one fixed quadrature: as accurate as declared, against the exact functions; wrong input."""

import time

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity import (
    best_ball_mass,
    circle,
    exponential_on_circle,
    from_distances,
    front,
    hypercube,
    linear_on_circle,
    power_law,
    segment,
    similarity,
    sphere,
    torus,
    tree,
    user_shape,
)
from genlaws.semanticity.theory.exact import probabilities, probe_kinks
from genlaws.semanticity.theory.fixed_rule import ACCURACY, fixed_rule
from genlaws.semanticity.theory.luce import probabilities_from_density

EXACT = 1e-12  # in a discrete space, and for the constant similarity in a homogeneous one
# Where generalization is flat, a resolution is found less well than its height.
AT_PEAK = 3e-4
QUIET = 0.1  # seconds of process time for a front; some 5 ms on a quiet core
COUNTS = (2, 3, 10, 100)
SHAPES = ("constant", "linear", "exponential", "gaussian", "power-law", power_law(0.5))
HOMOGENEOUS = {
    "circle": circle(),
    "torus-2": torus(2),
    "torus-3": torus(3),
    "sphere": sphere(2),
    "sphere-1": sphere(1),
    "sphere-10": sphere(10),
}


def exact(where, shape, item_counts):
    """Return both tests to nearly the last digit, (2, counts), by the adaptive integrals of `probabilities`."""
    weights, measures = zip(*where.probes(probe_kinks(shape, max(item_counts))), strict=True)
    values = [probabilities_from_density(measure, shape, item_counts) for measure in measures]
    return np.tensordot(np.array(weights), np.array(values), axes=1)


def check(where, shape, background, shares, counts=COUNTS, cut=None):
    """Compare every resolution and number of items with the exact function."""
    form = similarity(shape, 1.0, background=background, cut=cut)
    radii = np.array(shares) * where.reach
    alone = [fixed_rule(where, form, radii, (n,)) for n in counts]
    together = fixed_rule(where, form, radii, counts)
    for row, radius in enumerate(radii.tolist()):
        expected = exact(where, form.at_resolution(radius), counts)
        for column in range(len(counts)):
            for both, place in ((alone[column], 0), (together, column)):
                found = [test[row, place] for test in both]
                np.testing.assert_allclose(found, expected[:, column], atol=ACCURACY, rtol=0)


@pytest.mark.parametrize("background", [0.0, 0.003, 0.2])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda one: one if isinstance(one, str) else "slow-power")
@pytest.mark.parametrize("space", HOMOGENEOUS)
def test_homogeneous_spaces_are_as_accurate_as_declared(space, shape, background):
    check(HOMOGENEOUS[space], shape, background, (0.071, 0.6))


@pytest.mark.parametrize(("shape", "background"), [("linear", 0.01), ("gaussian", 0.01), ("power-law", 0.0)])
def test_segment_is_as_accurate_as_declared(shape, background):
    check(segment(), shape, background, (0.15, 0.6))


@pytest.mark.long
@pytest.mark.parametrize("background", [0.0, 0.003, 0.2])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda one: one if isinstance(one, str) else "slow-power")
def test_segment_is_as_accurate_as_declared_everywhere(shape, background):
    check(segment(), shape, background, (0.05, 0.15, 0.3, 0.47, 0.6, 1.2, 3.0))


def test_constant_similarity_on_the_segment():
    for background in (0.0, 0.1):
        form = similarity("constant", 1.0, background=background)
        found = fixed_rule(segment(), form, [0.02, 0.3, 0.7], (2,))
        expected = [probabilities(segment(), form.at_resolution(radius)) for radius in (0.02, 0.3, 0.7)]
        np.testing.assert_allclose(found[0][:, 0], [one.generalization for one in expected], atol=ACCURACY)
        np.testing.assert_allclose(found[1][:, 0], [one.identification for one in expected], atol=ACCURACY)


def test_closed_forms_on_the_circle_from_fine_to_coarse():
    b = np.geomspace(1e-3, 1.0, 40)
    found = fixed_rule(circle(), similarity("linear", 1.0), b / 2)
    expected = linear_on_circle(b)
    np.testing.assert_allclose(found[0][:, 0], expected[0], atol=ACCURACY)
    np.testing.assert_allclose(found[1][:, 0], expected[1], atol=ACCURACY)
    radii = np.geomspace(2e-3, 20.0, 40)
    found = fixed_rule(circle(), similarity("exponential", 1.0), radii)
    expected = exponential_on_circle(radii)
    np.testing.assert_allclose(found[0][:, 0], expected[0], atol=ACCURACY)
    np.testing.assert_allclose(found[1][:, 0], expected[1], atol=ACCURACY)


def test_a_cut_and_a_shape_of_the_user():
    check(circle(), "exponential", 0.01, (0.2, 0.9), (2, 7), cut=0.2)
    check(sphere(2), user_shape(lambda x: np.clip(1 - x, 0, None) ** 3, (1.0,)), 0.0, (0.3, 1.4), (2, 7))
    check(sphere(2), user_shape(lambda x: np.exp(-(x**4))), 0.01, (0.3, 1.4), (2, 7))


@pytest.mark.parametrize("where", [hypercube(6), tree(3, 4)], ids=lambda one: one.name)
def test_discrete_spaces_are_exact(where):
    radii = np.array([0.3, 1.0, 2.5, 40.0])
    for shape, background, cut in (("linear", 0.0, None), ("exponential", 0.02, None), ("gaussian", 0.1, 3.0)):
        form = similarity(shape, 1.0, background=background, cut=cut)
        found = fixed_rule(where, form, radii, (2, 9))
        for row, radius in enumerate(radii.tolist()):
            for column, n in enumerate((2, 9)):
                expected = probabilities(where, form.at_resolution(radius), n)
                assert found[0][row, column] == pytest.approx(expected.generalization, abs=EXACT)
                assert found[1][row, column] == pytest.approx(expected.identification, abs=EXACT)


def test_several_probes_with_masses():
    rng = np.random.default_rng(3)
    places = rng.random((12, 2))
    where = from_distances(np.linalg.norm(places[:, None] - places, axis=-1), rng.random(12))
    form = similarity("exponential", 1.0, background=0.01)
    found = fixed_rule(where, form, [0.1, 0.5])
    for row, radius in enumerate((0.1, 0.5)):
        assert found[0][row, 0] == pytest.approx(
            probabilities(where, form.at_resolution(radius)).generalization, abs=EXACT
        )


def test_a_point_has_the_same_ball_mass_and_collapse_constant():
    cases = [
        (circle(), similarity("gaussian", 0.1, background=0.01)),
        (torus(3), similarity("linear", 0.3)),
        (segment(), similarity("exponential", 0.2)),
        (segment(), similarity("constant", 0.2, background=0.1)),
        (hypercube(8), similarity("power-law", 2.0, exponent=3.0)),
    ]
    for where, form in cases:
        found = front(where, similarity=form, item_count=5, resolutions=form.resolution, tolerance=ACCURACY).points[0]
        expected = probabilities(where, form, 5)
        for name, value in vars(expected).items():
            assert getattr(found, name) == pytest.approx(value, rel=2 * ACCURACY, abs=ACCURACY), (where.name, name)


@pytest.mark.parametrize("space", ["circle", "sphere"])
def test_the_peak_is_that_of_the_exact_front(space):
    where = HOMOGENEOUS[space]
    for shape, background, n in (("linear", 0.0, 2), ("gaussian", 0.05, 10)):
        form = similarity(shape, 1.0, background=background)
        found, expected = (
            front(where, similarity=form, item_count=n, tolerance=ACCURACY).peak,
            front(where, similarity=form, item_count=n).peak,
        )
        assert found.resolution == pytest.approx(expected.resolution, rel=AT_PEAK)
        assert found.generalization == pytest.approx(expected.generalization, abs=ACCURACY)
    assert front(where, similarity=similarity("exponential", 1.0), tolerance=ACCURACY).peak is None
    constant = front(
        where, similarity=similarity("constant", 1.0, background=0.02), item_count=7, tolerance=ACCURACY
    ).peak
    assert constant.ball_mass == pytest.approx(float(best_ball_mass(7, 0.02)), rel=1e-9)


def test_the_peak_of_a_segment_is_a_peak():
    form = similarity("linear", 1.0)
    best = front(segment(), similarity=form, tolerance=ACCURACY).peak
    nearby = [probabilities(segment(), form.at_resolution(best.resolution * step)) for step in (0.97, 1.0, 1.03)]
    heights = [one.generalization for one in nearby]
    assert heights[1] > max(heights[0], heights[2])
    assert best.generalization == pytest.approx(heights[1], abs=ACCURACY)


def test_the_peak_where_distances_come_into_sight():
    # Just beyond a distance any similarity beats none, so that generalization jumps.
    best = front(hypercube(3), similarity=similarity("linear", 1.0), tolerance=ACCURACY).peak
    assert best.resolution == pytest.approx(2.0, rel=1e-7)
    assert best.generalization == pytest.approx(13 / 16, abs=1e-6)
    assert front(hypercube(3), similarity=similarity("linear", 1.0)).peak.resolution == best.resolution


def test_of_equally_high_peaks_the_finest_is_taken():
    # Balls of radius 3 and 4 in eight dimensions are complements: 93 and 163 of 256 corners, so both peaks are equal.
    form = similarity("constant", 1.0)
    heights = [probabilities(hypercube(8), form.at_resolution(radius)).generalization for radius in (3.0, 4.0)]
    assert heights[0] == pytest.approx(heights[1], abs=1e-14)
    assert front(hypercube(8), similarity=form).peak.resolution == 3.0
    assert front(hypercube(8), similarity=form, tolerance=ACCURACY).peak.resolution == 3.0


def test_a_whole_front_is_sorted_and_holds_its_peak():
    found = front(circle(), similarity=similarity("linear", 1.0), item_count=5, tolerance=ACCURACY)
    assert (np.diff(found.resolution) > 0).all()
    assert found.peak.generalization >= found.generalization.max() - ACCURACY
    series = found.to_frame()["series"]
    assert (series == "front").sum() == found.resolution.size
    assert front(circle(), similarity=similarity("constant", 1.0, background=1.0), tolerance=ACCURACY).peak is None


def test_a_whole_front_is_as_accurate_as_its_tolerance():
    for where, shape in ((circle(), "exponential"), (sphere(2), "linear"), (tree(2, 4), "gaussian")):
        form = similarity(shape, 1.0, background=0.02)
        fast = front(where, similarity=form, item_count=3, tolerance=ACCURACY)
        full = front(where, similarity=form, item_count=3, resolutions=fast.resolution)
        for name in ("generalization", "identification"):
            np.testing.assert_allclose(getattr(fast, name), getattr(full, name), atol=ACCURACY, rtol=0)
        assert fast.peak.generalization == pytest.approx(
            front(where, similarity=form, item_count=3).peak.generalization, abs=ACCURACY
        )


def test_more_items_than_the_rule_serves_are_computed_exactly():
    form = similarity("linear", 0.001)
    found = front(circle(), similarity=form, item_count=5000, resolutions=0.001, tolerance=ACCURACY).points[0]
    assert found == probabilities(circle(), form, 5000)


def test_forty_resolutions_take_milliseconds():
    form, radii = similarity("linear", 1.0, background=0.01), np.geomspace(0.005, 10.0, 40)
    fixed_rule(sphere(2), form, radii, (10,))
    start = time.process_time()
    fixed_rule(sphere(2), form, radii, (10,))
    assert time.process_time() - start < QUIET


def test_wrong_input_is_refused():
    form = similarity("gaussian", 1.0)
    with pytest.raises(InputError, match="too small for a computer"):
        fixed_rule(circle(), form, [0.001])
    with pytest.raises(InputError, match="at least one"):
        fixed_rule(circle(), form, [])
    with pytest.raises(InputError, match="item_counts"):
        fixed_rule(circle(), form, [0.1], (1001,))
    with pytest.raises(InputError, match="item_count"):
        front(circle(), similarity=form, item_count=1, tolerance=ACCURACY)
