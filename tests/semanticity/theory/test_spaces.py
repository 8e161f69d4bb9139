"""Balls and densities of each space: closed forms, slices, enumeration and sampling."""

import itertools

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

from genlaws.core.errors import InputError
from genlaws.semanticity.theory.similarity import similarity
from genlaws.semanticity.theory.spaces import (
    SPACES,
    ContinuousSpace,
    DiscreteSpace,
    check_distances,
    circle,
    from_distances,
    hypercube,
    resolution_of_ball,
    segment,
    space,
    sphere,
    torus,
    tree,
)

# A closed form evaluated in double precision.
CLOSED = 1e-13
# The reference is a quadrature of its own.
QUADRATURE = 1e-11
# Standard errors allowed to a sampled share.
SIGMAS = 5.0

HOMOGENEOUS = {
    "circle": circle(),
    "torus-2": torus(2),
    "torus-3": torus(3),
    "sphere-1": sphere(1),
    "sphere-2": sphere(2),
    "sphere-3": sphere(3),
    "sphere-50": sphere(50),
}


def masses(where, radii):
    return where.ball(np.asarray(radii, dtype=float))[0]


@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_a_ball_is_the_integral_of_its_density(name):
    where = HOMOGENEOUS[name]
    ((weight, measure),) = where.probes(())
    assert weight == 1.0
    assert measure.reach == where.reach
    for share in (1e-3, 0.2, 0.5, 0.6, 0.75, 0.9, 0.97, 1.0):
        radius = share * where.reach
        pieces = [0.0, *(kink for kink in measure.kinks if kink < radius), radius]
        integral = sum(
            quad(lambda d: measure.density(np.array(d)), low, high, epsabs=1e-14, epsrel=1e-13, limit=300)[0]
            for low, high in itertools.pairwise(pieces)
        )
        assert masses(where, radius) == pytest.approx(integral, abs=QUADRATURE, rel=QUADRATURE)


@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_a_ball_grows_from_nothing_to_everything(name):
    where = HOMOGENEOUS[name]
    b, variance = where.ball(np.linspace(0, 1.2 * where.reach, 400))
    assert b[0] == 0.0
    assert masses(where, where.reach) == pytest.approx(1.0, abs=CLOSED)
    assert b.max() <= 1.0
    assert (np.diff(b) >= -CLOSED).all()
    assert (variance == 0).all()


def test_known_balls():
    theta = np.linspace(0, np.pi, 50)
    np.testing.assert_allclose(masses(sphere(1), theta), theta / np.pi, atol=CLOSED)
    np.testing.assert_allclose(masses(sphere(2), theta), 0.5 * (1 - np.cos(theta)), atol=CLOSED)
    np.testing.assert_allclose(masses(sphere(3), theta), (theta - np.sin(theta) * np.cos(theta)) / np.pi, atol=CLOSED)
    r = np.linspace(0, 0.5, 50)
    np.testing.assert_allclose(masses(circle(), r), 2 * r, atol=CLOSED)
    np.testing.assert_allclose(masses(torus(2), r), np.pi * r**2, rtol=CLOSED)
    np.testing.assert_allclose(masses(torus(3), r), 4 / 3 * np.pi * r**3, rtol=CLOSED)
    assert torus(1).name == "circle"


@pytest.mark.parametrize(
    ("where", "law"), [(torus(2), lambda r: np.pi * r**2), (torus(3), lambda r: 4 / 3 * np.pi * r**3)]
)
def test_tiny_balls_keep_their_digits(where, law):
    r = np.array([1e-9, 1e-5, 1e-3])
    np.testing.assert_allclose(masses(where, r), law(r), rtol=CLOSED)


@pytest.mark.parametrize("radius", [0.3, 0.5, 0.6, 0.7071, 0.75, 0.85, 0.866])
def test_a_ball_of_the_torus_is_the_sum_of_its_slices(radius):
    # A slice at height z of the ball in three dimensions is a ball in two, and so on down.
    def line(r):
        return min(2 * r, 1.0)

    def sliced(lower, r):
        height = min(r, 0.5)
        kinks = [np.sqrt(r**2 - k) for k in (0.25, 0.5) if 0 < r**2 - k < height**2]
        pieces = [0.0, *sorted(kinks), height]
        return 2 * sum(
            quad(lambda z: lower(np.sqrt(max(r**2 - z**2, 0.0))), low, high, epsabs=1e-13, limit=300)[0]
            for low, high in itertools.pairwise(pieces)
        )

    assert masses(torus(2), radius) == pytest.approx(sliced(line, radius), abs=QUADRATURE)
    disc = lambda r: float(masses(torus(2), r))  # noqa: E731
    assert masses(torus(3), radius) == pytest.approx(sliced(disc, radius), abs=1e-10)


@pytest.mark.parametrize("dimension", [50, 1000])
def test_the_sphere_of_many_dimensions_has_its_mass_at_the_equator(dimension):
    def cap(theta):
        nodes = np.linspace(0, theta, 41).tolist()
        return mpmath.quad(lambda t: mpmath.sin(t) ** (dimension - 1), nodes)

    with mpmath.workdps(30):
        for theta in (1.2, 1.5, np.pi / 2, 1.7):
            expected = float(cap(theta) / cap(np.pi))
            assert masses(sphere(dimension), theta) == pytest.approx(expected, rel=QUADRATURE)


def sampled_distances(name, count, rng):
    if name == "circle":
        gap = np.abs(rng.random(count) - rng.random(count))
        return np.minimum(gap, 1 - gap)
    if name.startswith("torus"):
        gap = np.abs(rng.random((count, int(name[-1]))) - rng.random((count, int(name[-1]))))
        return np.linalg.norm(np.minimum(gap, 1 - gap), axis=1)
    points = rng.normal(size=(2, count, int(name[7:]) + 1))
    points /= np.linalg.norm(points, axis=-1, keepdims=True)
    return np.arccos(np.clip((points[0] * points[1]).sum(axis=-1), -1, 1))


@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_sampled_points_fill_the_balls(name):
    where, count = HOMOGENEOUS[name], 40_000
    d = sampled_distances(name, count, np.random.default_rng(7))
    radii = where.reach * np.linspace(0.05, 0.99, 25)
    expected = masses(where, radii)
    share = (d[:, None] <= radii).mean(axis=0)
    error = np.sqrt(expected * (1 - expected) / count) + 1 / count
    assert (np.abs(share - expected) < SIGMAS * error).all()


@pytest.mark.parametrize("radius", [1e-6, 0.1, 0.3, 0.49, 0.5, 0.51, 0.8, 0.999, 1.0, 1.7])
def test_the_segment_has_balls_cut_at_its_ends(radius):
    r = mpmath.mpf(min(radius, 1.0))

    def ball(p):
        return min(p + r, mpmath.mpf(1)) - max(p - r, mpmath.mpf(0))

    pieces = sorted({mpmath.mpf(0), r, 1 - r, mpmath.mpf(1)})
    with mpmath.workdps(30):
        mean, square = (mpmath.quad(lambda p, k=k: ball(p) ** k, pieces) for k in (1, 2))
        spread = square - mean**2
    found, variance = segment().ball(np.array(radius))
    assert found == pytest.approx(float(mean), rel=CLOSED)
    assert variance == pytest.approx(float(spread), rel=1e-9, abs=1e-15)


def test_probes_of_the_segment_see_all_of_it():
    for kinks in ((), (0.3,), (0.7, 0.05)):
        weights, measures = zip(*segment().probes(kinks), strict=True)
        assert sum(weights) == pytest.approx(1.0, abs=CLOSED)
        for measure in measures:
            (place,) = measure.kinks
            assert measure.reach == pytest.approx(1 - place)
            assert 2 * place + (measure.reach - place) == pytest.approx(1.0)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_the_hypercube_counts_its_corners(dimension):
    corners = np.array(list(itertools.product([0, 1], repeat=dimension)))
    counted = np.bincount(corners.sum(axis=1), minlength=dimension + 1) / 2**dimension
    where = hypercube(dimension)
    np.testing.assert_allclose(where.mass[0], counted, rtol=CLOSED)
    np.testing.assert_array_equal(where.distance[0], np.arange(dimension + 1))


@pytest.mark.parametrize("dimension", [10, 57, 333, 1000])
def test_the_whole_hypercube_weighs_no_more_than_one(dimension):
    whole = masses(hypercube(dimension), dimension)
    assert whole <= 1.0
    assert whole == pytest.approx(1.0, abs=CLOSED)


@pytest.mark.parametrize(("branching", "depth"), [(2, 1), (3, 3), (2, 5)])
def test_the_tree_counts_its_leaves(branching, depth):
    leaves = np.array(list(itertools.product(range(branching), repeat=depth)))
    shared = np.cumprod(leaves == leaves[0], axis=1).sum(axis=1)
    distance = 2 * (depth - shared)
    where = tree(branching, depth)
    for value, mass in zip(where.distance[0], where.mass[0], strict=True):
        assert mass == pytest.approx((distance == value).mean(), rel=CLOSED)


def test_a_deep_tree_keeps_its_small_masses():
    where = tree(3, 30)
    np.testing.assert_allclose(where.mass[0, :3], np.array([1.0, 2.0, 6.0]) / 3.0**30, rtol=CLOSED)
    assert where.mass.sum() == pytest.approx(1.0, abs=CLOSED)


def matrix(count=6, seed=3):
    points = np.random.default_rng(seed).random((count, 2))
    return np.linalg.norm(points[:, None] - points, axis=-1)


def test_a_matrix_is_a_space_with_weights():
    d, w = matrix(), np.array([1.0, 2.0, 0.5, 3.0, 1.0, 0.25])
    where = from_distances(d, w)
    radii = np.array([0.0, 0.2, 0.5, 2.0])
    share = (d[:, :, None] <= radii).transpose(0, 2, 1) @ (w / w.sum())
    mean = (w / w.sum()) @ share
    variance = (w / w.sum()) @ (share - mean) ** 2
    found = where.ball(radii)
    np.testing.assert_allclose(found[0], mean, rtol=CLOSED)
    np.testing.assert_allclose(found[1], variance, atol=CLOSED)
    assert not where.homogeneous


def test_rounding_does_not_lift_a_ball_above_one():
    # Twelve and many other numbers of equal shares add up to a little more than 1.
    spaces = [from_distances(matrix(count)) for count in range(2, 60)]
    assert max(where.ball_masses(np.array(2.0)).max() for where in spaces) <= 1.0
    assert max(masses(where, 2.0) for where in spaces) <= 1.0
    assert max(np.cumsum(where.mass, axis=1).max() for where in spaces) > 1.0


def test_points_without_weight_are_left_out():
    d = matrix()
    there = np.array([True, False, True, True, False, True])
    weighted, small = from_distances(d, there.astype(float)), from_distances(d[np.ix_(there, there)])
    np.testing.assert_array_equal(weighted.distance, small.distance)
    np.testing.assert_array_equal(weighted.mass, small.mass)


def test_huge_weights_do_not_overflow():
    where = from_distances(matrix(3), [1e308, 1e308, 1e308])
    np.testing.assert_allclose(where.probe_mass, 1 / 3, rtol=CLOSED)


@pytest.mark.parametrize("name", [*HOMOGENEOUS, "segment"])
def test_a_ball_mass_has_its_resolution(name):
    where = HOMOGENEOUS.get(name, segment())
    for b in (1e-9, 1e-3, 0.3, 0.5, 0.9, 1.0):
        assert masses(where, resolution_of_ball(where, b)) == pytest.approx(b, rel=1e-12)
    assert 0 < resolution_of_ball(where, 0.0) < 1e-3 * where.reach or name == "sphere-50"


def test_a_discrete_space_has_some_ball_masses_only():
    cube = hypercube(3)
    assert resolution_of_ball(cube, 0.125) == 0.5
    assert resolution_of_ball(cube, 0.5) == 1.0
    assert resolution_of_ball(cube, 1.0) == 3.0
    with pytest.raises(InputError, match="one that the hypercube has; got 0.3. Next to it there are 0.125 and 0.5"):
        resolution_of_ball(cube, 0.3)
    with pytest.raises(InputError, match="got 0. Next to it there are 0.125"):
        resolution_of_ball(cube, 0.0)
    alone = from_distances(np.zeros((2, 2)))
    assert resolution_of_ball(alone, 1.0) == 1.0


@pytest.mark.parametrize("name", SPACES)
def test_spaces_have_names(name):
    where = space(name)
    assert where.name == name
    assert isinstance(where, DiscreteSpace if name in ("hypercube", "tree") else ContinuousSpace)
    assert similarity("linear", 0.3)(where.reach) >= 0


def test_names_take_their_parameters():
    assert space("torus", dimension=3).reach == pytest.approx(0.75**0.5)
    assert space("hypercube", dimension=4).reach == 4
    assert space("tree", branching=3, depth=2).reach == 4


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: space("donut"), "space must be one of circle, segment"),
        (lambda: space("circle", dimension=2), "dimension is no parameter of the circle"),
        (lambda: space("torus", depth=2), "depth is no parameter of the torus"),
        (lambda: torus(0), "dimension must be a whole number, at least 1 and at most 3; got 0"),
        (lambda: torus(4), "dimension must be a whole number, at least 1 and at most 3; got 4"),
        (lambda: sphere(0), "dimension must be a whole number, at least 1; got 0"),
        (lambda: sphere(2.5), "dimension must be a whole number"),
        (lambda: hypercube(0), "dimension must be a whole number"),
        (lambda: hypercube(1001), "at most 1000; got 1001"),
        (lambda: tree(1, 3), "branching must be a whole number, at least 2"),
        (lambda: tree(2, 0), "depth must be a whole number, at least 1"),
        (lambda: resolution_of_ball(circle(), 1.5), "ball_mass must lie in .0, 1.; got 1.5. It is a share"),
        (lambda: resolution_of_ball(circle(), [0.1, 0.2]), "ball_mass must be a single number"),
        (lambda: from_distances(matrix(3), [1.0, 2.0]), "weights must be 3 numbers, one for each row"),
        (lambda: from_distances(matrix(3), [0.0, 0.0, 0.0]), "not all zero"),
        (lambda: from_distances(matrix(3), [1.0, -1.0, 0.0]), "weights must be zero or positive"),
        (
            lambda: check_distances(np.zeros((2, 3))),
            r"must be a square matrix of at least two rows; got shape \(2, 3\)",
        ),
        (lambda: check_distances([[0.0]]), "at least two rows"),
        (lambda: check_distances([0.0, 1.0]), "must be a square matrix"),
        (lambda: check_distances([[0.0, 1.0], [2.0, 0.0]]), "from row 0 to column 1 it is 1, back it is 2"),
        (lambda: check_distances([[0.0, np.nan], [np.nan, 0.0]]), "distances must not contain NaN"),
        (lambda: check_distances([[0.0, -1.0], [-1.0, 0.0]]), "distances must be zero or positive"),
        (lambda: check_distances([[0.0, np.inf], [np.inf, 0.0]]), "and finite"),
        (lambda: check_distances([[0.1, 1.0], [1.0, 0.0]]), "zero on the diagonal"),
    ],
)
def test_wrong_spaces_are_refused(call, complaint):
    with pytest.raises(InputError, match=complaint):
        call()
