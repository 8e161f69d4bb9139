"""Fronts and their peaks: where the peak lies on the diagonal and where not, published numbers, wrong input."""

import mpmath
import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity import (
    Similarity,
    best_ball_mass,
    circle,
    even_set,
    exponential_on_circle,
    from_distances,
    front,
    generalization_of_many,
    homogeneous_front,
    hypercube,
    identification_of_many,
    linear_on_circle,
    segment,
    similarity,
    sphere,
    stimulus_set,
    torus,
    tree,
    user_shape,
)
from genlaws.semanticity.theory.exact import probabilities

# Both sides are good to twelve digits.
CLOSED = 1e-12
# A maximum is found to the square root of the rounding of what is maximized.
AT_PEAK = 3e-8
# A difference quotient over twice this step loses about 1e-16/STEP to rounding and STEP² to curvature.
STEP = 1e-4
SLOPE = 1e-6
HOMOGENEOUS = {"circle": circle(), "torus-2": torus(2), "torus-3": torus(3), "sphere": sphere(2), "sphere-7": sphere(7)}


def power(a):
    """Return the shape (1 - x)^a."""
    return user_shape(lambda x: np.clip(1 - x, 0, None) ** a, (1.0,))


def power_of_area(a):
    """Return the shape (1 - x²)^a, a power of what lies beyond in a flat space of two dimensions."""
    return user_shape(lambda x: np.clip(1 - x**2, 0, None) ** a, (1.0,))


def slope_and_gap(where, shape, resolution, n, background=0.0):
    """Return (1 - b) dp_S/db and n (p_I - p_S) at a resolution."""

    def at(r):
        return probabilities(where, similarity(shape, r, background=background), n)

    here = at(resolution)
    steps = resolution * STEP * np.array([-2, -1, 1, 2])
    s, b = np.array([(at(resolution + h).generalization, at(resolution + h).ball_mass) for h in steps]).T
    # Fourth-order difference quotients in the resolution.
    ds, db = (values @ np.array([1, -8, 8, -1]) for values in (s, b))
    return (1 - here.ball_mass) * ds / db, n * here.diagonal_gap


def test_closed_forms_of_two_items_on_the_circle():
    for b in (0.1, 0.6, 1.0):
        found = probabilities(circle(), similarity("linear", b / 2))
        np.testing.assert_allclose((found.generalization, found.identification), linear_on_circle(b), rtol=CLOSED)
        assert found.collapse_constant == pytest.approx(2 / b, rel=CLOSED)
    for resolution in (0.01, 0.3, 5.0):
        found = probabilities(circle(), similarity("exponential", resolution))
        expected = exponential_on_circle(resolution)
        np.testing.assert_allclose((found.generalization, found.identification), expected, rtol=CLOSED)
        mean = 2 * resolution * (1 - np.exp(-0.5 / resolution))
        assert found.collapse_constant == pytest.approx(1 / mean, rel=CLOSED)


# --- the peak and the diagonal ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("background", [0.0, 0.05])
@pytest.mark.parametrize("n", [2, 10**6])
@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_the_constant_similarity_has_its_peak_on_the_diagonal(name, n, background):
    where = HOMOGENEOUS[name]
    peak = front(where, similarity=similarity("constant", 1.0, background=background), item_count=n).peak
    assert peak.ball_mass == pytest.approx(float(best_ball_mass(n, background)), rel=1e-10)
    assert peak.diagonal_gap == pytest.approx(0.0, abs=1e-11)


@pytest.mark.parametrize("n", [2, 3, 7, 50])
@pytest.mark.parametrize("a", [0.3, 1.0, 3.0])
def test_powers_of_the_linear_similarity_obey_the_identity_on_the_circle(a, n):
    for b in (0.1 / n, 1.5 / n, 0.8):
        slope, gap = slope_and_gap(circle(), power(a), b / 2, n)
        assert slope == pytest.approx(gap, rel=SLOPE, abs=SLOPE)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("a", [1.0, 3.0])
def test_powers_of_the_area_beyond_obey_the_identity_on_the_torus(a, n):
    # Up to half the side a ball of the torus is flat: the mass within d is π d², a power of which is left beyond.
    for resolution in (0.1, 0.3, 0.49):
        slope, gap = slope_and_gap(torus(2), power_of_area(a), resolution, n)
        assert slope == pytest.approx(gap, rel=SLOPE, abs=SLOPE)


@pytest.mark.parametrize(
    ("where", "shape", "background"),
    [
        (torus(2), "linear", 0.0),
        (sphere(2), "linear", 0.0),
        (circle(), power_of_area(1.0), 0.0),
        (circle(), "linear", 0.05),
        (segment(), "constant", 0.0),
    ],
    ids=[
        "linear on the torus",
        "linear on the sphere",
        "parabola",
        "linear with background",
        "constant on the segment",
    ],
)
def test_other_similarities_do_not(where, shape, background):
    slope, gap = slope_and_gap(where, shape, 0.3 * where.reach, 2, background)
    assert abs(slope - gap) > 0.005


def test_why_the_linear_similarity_fails_in_two_dimensions():
    # Inside the ball the squared scaled distance u is uniform. The identity at n = 2 needs E[1/(1+G)] = E[max G/ΣG].
    with mpmath.workdps(20):
        for profile, holds in ((lambda u: 1 - mpmath.sqrt(u), False), (lambda u: (1 - u) ** 2, True)):
            copy = mpmath.quad(lambda u, g=profile: 1 / (1 + g(u)), [0, 1])
            nearer = 2 * mpmath.quad(
                lambda u, g=profile: mpmath.quad(lambda v: g(u) / (g(u) + g(v)), [u, 1]) if u < 1 else mpmath.mpf(0),
                [0, 1],
            )
            assert (abs(copy - nearer) < 1e-12) == holds
            if not holds:
                assert copy - nearer > 0.03


@pytest.mark.parametrize(
    ("where", "gap", "tolerance"), [(torus(2), 0.0339, 1e-4), (sphere(2), 0.0310, 1e-4), (circle(), 0.0, AT_PEAK)]
)
def test_the_linear_similarity_has_its_peak_beside_the_diagonal_but_on_the_circle(where, gap, tolerance):
    peak = front(where, similarity=similarity("linear", 1.0)).peak
    assert peak.diagonal_gap == pytest.approx(gap, abs=tolerance)


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("a", [0.5, 3.0])
def test_powers_of_the_linear_similarity_have_their_peak_on_the_diagonal(a, n):
    given = np.geomspace(0.05, 0.49, 12)
    peak = front(circle(), similarity=similarity(power(a), 1.0), item_count=n, resolutions=given).peak
    assert peak.diagonal_gap == pytest.approx(0.0, abs=AT_PEAK)


# --- published numbers ------------------------------------------------------------------------------------------------


def test_the_linear_front_of_the_circle():
    found = front(circle(), similarity=similarity("linear", 1.0))
    assert found.peak.generalization == pytest.approx(0.80985, abs=5e-6)
    assert found.peak.ball_mass == pytest.approx(0.61969, abs=5e-6)
    inside = np.array([point.ball_mass < 0.897 for point in found.points])
    assert (found.generalization > homogeneous_front(found.identification))[inside].all()


@pytest.mark.parametrize(
    ("background", "generalization", "resolution", "near"),
    [(0.01, 0.77400, 0.07537, (0.772, 0.083)), (0.05, 0.70601, 0.09582, (0.706, 0.100)), (0.2, 0.62969, 0.12064, None)],
)
def test_a_floor_gives_the_exponential_circle_a_peak(background, generalization, resolution, near):
    shape = similarity("exponential", 1.0, background=background)
    peak = front(circle(), similarity=shape).peak
    assert peak.generalization == pytest.approx(generalization, abs=5e-6)
    assert peak.resolution == pytest.approx(resolution, abs=2e-5)
    if near:
        # The rounded values that circulate lie close by, a little off the peak.
        assert probabilities(circle(), shape.at_resolution(near[1])).generalization == pytest.approx(near[0], abs=6e-4)


@pytest.mark.parametrize("shape", ["exponential", "gaussian"])
def test_without_a_floor_there_is_nothing_to_trade(shape):
    found = front(circle(), similarity=similarity(shape, 1.0))
    assert found.peak is None
    assert "nothing to trade" in found.message
    assert found.generalization[0] > 0.98
    assert found.identification[0] > 0.95


def test_the_segment_lies_below_the_circle():
    given = np.linspace(0.05, 0.5, 6)
    line, ring = (
        front(where, similarity=similarity("linear", 1.0), item_count=2, resolutions=given)
        for where in (segment(), circle())
    )
    heights = np.interp(line.identification, ring.identification[::-1], ring.generalization[::-1])
    assert (line.generalization < heights).all()


# --- what a front holds -----------------------------------------------------------------------------------------------


def test_points_run_from_fine_to_coarse():
    found = front(sphere(2), similarity=similarity("linear", 1.0), item_count=3)
    resolutions = np.array([point.resolution for point in found.points])
    assert (np.diff(resolutions) > 0).all()
    assert (np.diff(found.identification) <= CLOSED).all()
    assert found.peak.generalization >= found.generalization.max()
    assert {point.item_count for point in found.points} == {3}
    frame = found.to_frame().query("series == 'front'")
    assert list(frame["generalization"]) == list(found.generalization)
    assert len(frame) == len(found.points)


@pytest.mark.parametrize("n", [2, 100, 10**6])
def test_the_constant_front_reaches_its_peak_for_any_number_of_items(n):
    found = front(circle(), similarity=similarity("constant", 1.0), item_count=n)
    assert found.generalization.max() > 0.9 * found.peak.generalization
    assert found.points[0].ball_mass < found.peak.ball_mass < found.points[-1].ball_mass
    assert found.points[-1].ball_mass == pytest.approx(1.0, abs=CLOSED)


def test_the_linear_front_finds_the_peak_of_a_million_items():
    peak = front(torus(2), similarity=similarity("linear", 1.0), item_count=10**6).peak
    nearby = [peak.resolution * factor for factor in (0.9, 0.99, 1.01, 1.1)]
    others = [probabilities(torus(2), similarity("linear", r), 10**6).generalization for r in nearby]
    assert peak.generalization > max(others)


def test_given_resolutions_are_used_and_sorted():
    found = front(circle(), similarity=similarity("constant", 9.9), item_count=2, resolutions=[0.4, 0.1, 0.3])
    assert [point.resolution for point in found.points] == [0.1, 0.3, 0.4]
    assert found.peak.ball_mass == pytest.approx(0.5, rel=1e-10)
    assert front(circle(), similarity=similarity("linear", 1.0), item_count=2, resolutions=[0.01, 0.02]).peak is None
    assert front(circle(), similarity=similarity("linear", 1.0), item_count=2, resolutions=0.3).peak is None


def test_the_own_point_is_that_of_the_similarity():
    shape = similarity("linear", 0.2, background=0.01)
    expected = probabilities(circle(), shape, 3)
    assert front(circle(), similarity=shape, item_count=3).point == expected
    alone = front(circle(), similarity=shape, item_count=3, resolutions=0.2)
    assert alone.point is alone.points[0]
    assert alone.point == expected
    assert front(circle(), similarity=shape, item_count=3, resolutions=[0.1, 0.3]).point == expected


@pytest.mark.parametrize(("where", "shape"), [(sphere(2), "gaussian"), (circle(), "linear"), (tree(2, 5), "linear")])
def test_neighboring_points_of_a_front_lie_close_together(where, shape):
    found = front(where, similarity=similarity(shape, 1.0, background=0.02), item_count=5)
    chords = np.hypot(np.diff(found.generalization), np.diff(found.identification))
    jumps = np.diff(np.log(found.resolution)) < 1e-7
    assert chords[~jumps].max() < 0.05
    assert jumps.any() == (where.name == "tree")


def test_an_even_set_is_a_ring_of_places():
    apart = np.abs(np.subtract.outer(np.arange(21), np.arange(21)))
    ring = stimulus_set(np.minimum(apart, 21 - apart) / 21.0)
    for background in (0.0, 0.1):
        shape = similarity("constant", 1.0, background=background)
        even, given = (front(where, similarity=shape, item_count=4) for where in (even_set(circle(), 21), ring))
        assert even.peak.generalization == pytest.approx(given.peak.generalization, rel=CLOSED)
        # On a ring places come in pairs, so that its steps are every other one of the even set.
        np.testing.assert_allclose(even.generalization[::2], given.generalization, rtol=CLOSED)
        np.testing.assert_allclose(even.identification[::2], given.identification, rtol=CLOSED)


@pytest.mark.parametrize(
    ("where", "n"), [(hypercube(40), 2), (hypercube(300), 3), (tree(2, 12), 7), (hypercube(4), 10**6)]
)
def test_the_best_step_of_a_discrete_space(where, n):
    shape = similarity("constant", 1.0, background=0.01)
    peak = front(where, similarity=shape, item_count=n).peak
    masses = where.ball(np.unique(where.distance))[0]
    assert peak.generalization == pytest.approx(generalization_of_many(masses, n, 0.01).max(), rel=CLOSED)
    assert peak.identification == pytest.approx(float(identification_of_many(peak.ball_mass, n, 0.01)), rel=CLOSED)


def test_the_best_step_among_many_distances():
    points = np.random.default_rng(4).random((25, 2))
    where = from_distances(np.linalg.norm(points[:, None] - points, axis=-1))
    peak = front(where, similarity=similarity("constant", 1.0)).peak
    radii = np.unique(where.distance)[1:]
    mean, variance = where.ball(radii)
    assert peak.generalization == pytest.approx((0.5 + mean - mean**2 - variance).max(), rel=CLOSED)


def test_the_finest_resolution_may_be_the_best_of_a_discrete_space():
    peak = front(hypercube(10), similarity=similarity("linear", 1.0), item_count=10**6).peak
    assert peak.resolution < 1
    assert peak.generalization == pytest.approx(float(generalization_of_many(2.0**-10, 10**6)), rel=1e-10)


def test_a_cut_holds_the_peak_back():
    peak = front(circle(), similarity=similarity("constant", 1.0, cut=0.1)).peak
    assert peak.generalization == pytest.approx(float(generalization_of_many(0.2, 2)), rel=CLOSED)
    assert peak.resolution == 0.1
    free = front(circle(), similarity=similarity("constant", 1.0, cut=0.4)).peak
    assert free.generalization == pytest.approx(0.75, rel=CLOSED)


@pytest.mark.parametrize("where", [circle(), hypercube(5), from_distances(np.zeros((3, 3)))])
def test_where_all_looks_alike_there_is_no_peak(where):
    found = front(where, similarity=similarity("constant", 1.0, background=1.0), item_count=3)
    assert found.peak is None
    np.testing.assert_allclose(found.generalization, 1 / 3, rtol=CLOSED)


def test_a_users_fast_decay_gets_a_front():
    found = front(circle(), similarity=similarity(lambda x: np.exp(-(x**2)), 1.0))
    assert found.peak is None
    assert found.generalization[0] > 0.95


@pytest.mark.parametrize("ties", ["split", "drop"])
def test_ties_of_a_discrete_space_are_dealt_with_as_asked(ties):
    points = probabilities(hypercube(3), similarity("linear", 2.5), 2, ties)
    m, s = hypercube(3).mass[0], similarity("linear", 2.5)(np.arange(4.0))
    total = np.add.outer(s, s)
    chance = np.where(total > 0, np.maximum.outer(s, s) / np.where(total > 0, total, 1), 0.5)
    selected = np.outer(m, m) * (1 - np.eye(4)) if ties == "drop" else np.outer(m, m)
    assert points.generalization == pytest.approx((selected * chance).sum() / selected.sum(), rel=CLOSED)


def test_continuous_spaces_have_no_ties():
    for shape in ("constant", "linear"):
        split, drop = (probabilities(circle(), similarity(shape, 0.2), 4, ties) for ties in ("split", "drop"))
        assert split == drop


@pytest.mark.parametrize("count", [0, -1, 2.5, True, "two", None])
def test_item_counts_are_whole_numbers(count):
    for call in (probabilities, front):
        with pytest.raises(InputError, match="item_count must be a whole number"):
            call(circle(), similarity=similarity("linear", 0.1), item_count=count)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (
            lambda: front(circle(), similarity=similarity("linear", 0.1), item_count=1),
            "item_count must be a whole number, at least 2; got 1",
        ),
        (
            lambda: front(circle(), similarity=similarity("linear", 0.1), item_count=2, resolutions=[0.1, -0.1]),
            "resolutions must be positive and finite",
        ),
        (
            lambda: front(circle(), similarity=similarity("linear", 0.1), item_count=2, resolutions=[]),
            "resolutions must name at least one",
        ),
        (
            lambda: front(circle(), similarity=similarity("linear", 0.1), item_count=2, ties="keep"),
            "ties must be one of split, drop",
        ),
        (lambda: probabilities(circle(), similarity("linear", 0.1), 2, "keep"), "ties must be one of split, drop"),
        (
            lambda: front(circle(), similarity=similarity("exponential", 1.0), item_count=2, resolutions=[1e-5, 0.1]),
            "resolution must be coarser than 1e-05 for the exponential similarity",
        ),
        (
            lambda: front(circle(), similarity=Similarity(similarity("linear", 1.0).shape, -1.0)),
            "resolution must be positive",
        ),
    ],
)
def test_wrong_arguments_are_named(call, complaint):
    with pytest.raises(InputError, match=complaint):
        call()
