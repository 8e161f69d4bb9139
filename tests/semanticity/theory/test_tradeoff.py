"""Two items: Theorems 1 and 2, Proposition 1 and the exponential circle, against mpmath and simulation."""

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from genlaws.core.errors import InputError
from genlaws.semanticity import (
    circle,
    exponential_on_circle,
    from_distances,
    generalization_probability,
    homogeneous_front,
    identification_probability,
    linear_on_circle,
    segment,
    similarity,
)
from genlaws.semanticity.theory.exact import probabilities

# Rounding of a closed form.
CLOSED = 1e-12
# Standard errors allowed to a simulation.
SIGMAS = 5.0
MASSES = [0.0, 1e-12, 0.1, 0.37, 0.5, 0.9, 1.0]
BACKGROUNDS = [0.0, 1e-9, 0.3, 1.0]


@pytest.fixture(autouse=True)
def _thirty_digits():
    with mpmath.workdps(30):
        yield


@pytest.mark.parametrize("delta", BACKGROUNDS)
@pytest.mark.parametrize("b", MASSES)
def test_theorems_follow_from_the_four_cases(b, delta):
    b, delta = mpmath.mpf(b), mpmath.mpf(delta)
    # Both items alike: a coin. One inside, one outside: the one inside, which is nearer, with probability 1/(1+Δ).
    generalization = (b**2 + (1 - b) ** 2) / 2 + 2 * b * (1 - b) / (1 + delta)
    identification = b / 2 + (1 - b) / (1 + delta)
    found = generalization_probability(float(b), 0.0, float(delta))
    assert found == pytest.approx(float(generalization), rel=CLOSED)
    assert identification_probability(float(b), float(delta)) == pytest.approx(float(identification), rel=CLOSED)


@pytest.mark.parametrize("delta", BACKGROUNDS)
def test_the_variance_enters_once(delta):
    # A space in which half of the probes have b = 0.2 and half b = 0.6.
    seen = np.array([0.2, 0.6])
    mixed = generalization_probability(seen, 0.0, delta).mean()
    assert generalization_probability(0.4, 0.04, delta) == pytest.approx(mixed, rel=CLOSED)
    assert identification_probability(0.4, delta) == pytest.approx(
        identification_probability(seen, delta).mean(), rel=CLOSED
    )


@pytest.mark.parametrize("delta", [0.0, 0.05, 0.4])
@pytest.mark.parametrize("radius", [0.05, 0.4, 0.5, 0.75, 1.0])
def test_the_segment_follows_theorem_2(radius, delta):
    mean, variance = segment().ball(np.array(radius))
    found = probabilities(segment(), similarity("constant", radius, background=delta))
    assert found.generalization == pytest.approx(generalization_probability(mean, variance, delta), rel=CLOSED)
    assert found.identification == pytest.approx(identification_probability(mean, delta), rel=CLOSED)


@pytest.mark.parametrize("radius", [0.2, 0.7])
def test_the_segment_is_what_a_simulation_finds(radius):
    rng = np.random.default_rng(11)
    items, probe = rng.random((200_000, 2)), rng.random((200_000, 1))
    d = np.sort(np.abs(items - probe), axis=1)
    g = (d <= radius) + 0.1 * (d > radius)
    right = g[:, 0] / g.sum(axis=1)
    other = np.abs(items[:, 0] - items[:, 1]) <= radius
    named = 1 / (1 + np.where(other, 1.0, 0.1))
    mean, variance = segment().ball(np.array(radius))
    for sample, law in (
        (right, generalization_probability(mean, variance, 0.1)),
        (named, identification_probability(mean, 0.1)),
    ):
        assert abs(sample.mean() - law) < SIGMAS * sample.std() / np.sqrt(sample.size)


def test_equal_distances_are_covered_if_ties_are_split():
    d = np.array([[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]], dtype=float)
    where = from_distances(d, [1.0, 2.0, 3.0, 4.0])
    found = probabilities(where, similarity("constant", 1.0, background=0.2))
    mean, variance = where.ball(np.array(1.0))
    assert found.generalization == pytest.approx(generalization_probability(mean, variance, 0.2), rel=CLOSED)
    assert found.identification == pytest.approx(identification_probability(mean, 0.2), rel=CLOSED)


def test_the_homogeneous_front_joins_both_theorems():
    b = np.linspace(0, 1, 101)
    found = homogeneous_front(identification_probability(b))
    np.testing.assert_allclose(found, generalization_probability(b), atol=CLOSED)
    assert homogeneous_front(0.75) == 0.75
    assert found.max() == homogeneous_front(0.75)


@pytest.mark.parametrize("b", [0.05, 0.61969, 1.0])
def test_proposition_1_is_the_double_integral(b):
    # Inside the ball the scaled distance z is uniform. One inside wins surely against one outside.
    g1, g2 = (lambda z: 1 - z), (lambda z: 1 - z)
    inside = mpmath.quad(
        lambda z: mpmath.quad(lambda y: g1(z) / (g1(z) + g2(y)), [z, 1]) if z < 1 else mpmath.mpf(0), [0, 1]
    )
    b = mpmath.mpf(b)
    generalization = 2 * inside * b**2 + 2 * b * (1 - b) + (1 - b) ** 2 / 2
    identification = 1 - b + b * mpmath.quad(lambda z: 1 / (2 - z), [0, 1])
    s, i = linear_on_circle(float(b))
    assert s == pytest.approx(float(generalization), rel=CLOSED)
    assert i == pytest.approx(float(identification), rel=CLOSED)
    assert 2 * inside == pytest.approx(float(mpmath.log(2)), rel=CLOSED)


def test_the_linear_peak_is_the_published_one():
    best = minimize_scalar(lambda b: -linear_on_circle(b)[0], bounds=(0.1, 0.9), method="bounded")
    assert best.x == pytest.approx(0.61969, abs=5e-6)
    assert -best.fun == pytest.approx(0.80985, abs=5e-6)
    # It lies where the front crosses the diagonal.
    exact = 1 / (3 - 2 * np.log(2))
    s, i = linear_on_circle(exact)
    assert s == pytest.approx(i, abs=CLOSED)
    assert best.x == pytest.approx(exact, abs=1e-6)


def test_the_linear_similarity_lies_above_the_constant_front_until_it_gets_coarse():
    # Equal where (2 ln2 - 1) = b (3/2 - ln2 - 4 (1 - ln2)²): b = 0.89790, identification 0.72448.
    crossing = (2 * np.log(2) - 1) / (1.5 - np.log(2) - 4 * (1 - np.log(2)) ** 2)
    b = np.linspace(0.01, 1, 100)
    s, i = linear_on_circle(b)
    np.testing.assert_array_equal(s > homogeneous_front(i), b < crossing)
    assert crossing == pytest.approx(0.89790, abs=5e-6)
    assert (s > generalization_probability(b)).all()


def exponential_closed_form(resolution):
    with mpmath.workdps(60):
        a = 1 / (2 * mpmath.mpf(resolution))
        if a < 1e-6:  # sixty digits are not enough for the closed form; the first terms of the series are
            return float(mpmath.mpf(1) / 2 + a / 12), float(mpmath.mpf(1) / 2 + a / 8)
        li2 = -(mpmath.pi**2) / 6 - a**2 / 2 - mpmath.polylog(2, -mpmath.exp(-a))
        s = -2 * mpmath.log(2) / a - 2 / a**2 * (li2 + mpmath.pi**2 / 12)
        i = (a + mpmath.log1p(mpmath.exp(-a)) - mpmath.log(2)) / a
        return float(s), float(i)


@pytest.mark.parametrize("resolution", [1e-9, 1e-3, 0.05, 0.3, 2.0, 4.9, 4.99999, 5.0, 5.00001, 5.1, 20.0, 1e3, 1e9])
def test_the_exponential_circle_is_its_closed_form(resolution):
    s, i = exponential_on_circle(resolution)
    expected = exponential_closed_form(resolution)
    assert s == pytest.approx(expected[0], rel=CLOSED)
    assert i == pytest.approx(expected[1], rel=CLOSED)


def test_the_series_of_the_exponential_circle_is_good_to_the_last_digits():
    resolution = np.array([5.000001, 5.5, 7.0, 20.0])
    expected = np.array([exponential_closed_form(epsilon) for epsilon in resolution.tolist()]).T
    np.testing.assert_allclose(exponential_on_circle(resolution), expected, rtol=1e-14)


@pytest.mark.parametrize("resolution", [0.1, 0.7, 6.0])
def test_the_exponential_closed_form_is_the_double_integral(resolution):
    a = 1 / (2 * mpmath.mpf(resolution))
    # Scaled distances are uniform on [0, a]; the logistic function has the logarithm as its integral.
    logistic = lambda gap: 1 / (1 + mpmath.exp(-gap))  # noqa: E731
    generalization = mpmath.quad(lambda gap: 2 * (a - gap) / a**2 * logistic(gap), [0, a])
    identification = mpmath.quad(lambda x: logistic(x) / a, [0, a])
    s, i = exponential_on_circle(resolution)
    assert s == pytest.approx(float(generalization), rel=CLOSED)
    assert i == pytest.approx(float(identification), rel=CLOSED)


def test_without_a_background_the_exponential_circle_has_no_tradeoff():
    s, i = exponential_on_circle(np.geomspace(1e-12, 10, 60))
    assert (np.diff(s) <= 0).all()
    assert (np.diff(i) <= 0).all()
    assert s[0] == pytest.approx(1.0, abs=1e-11)
    assert i[0] == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("resolution", [5e-324, 1e-200, 1e200])
def test_extreme_resolutions_give_the_limits(resolution):
    s, i = exponential_on_circle(resolution)
    limit = 1.0 if resolution < 1 else 0.5
    assert s == limit
    assert i == limit


def test_laws_take_arrays_of_any_shape():
    assert generalization_probability(np.zeros((2, 3)), 0.0, 0.5).shape == (2, 3)
    assert identification_probability(np.zeros(0)).shape == (0,)
    s, i = linear_on_circle(np.full((2, 2), 0.5))
    assert s.shape == i.shape == (2, 2)
    assert probabilities(circle(), similarity("linear", 0.25)).generalization == pytest.approx(s[0, 0], rel=CLOSED)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: generalization_probability(1.5), "ball_mass must lie in .0, 1.; got 1.5. It is a share"),
        (lambda: generalization_probability(0.5, -0.1), "ball_mass_variance must be zero or positive"),
        (lambda: generalization_probability([0.5, 0.1], [0.1, 0.2]), "got 0.2. It is a variance"),
        (lambda: generalization_probability(0.5, 0.0, 1.5), "background must lie in"),
        (lambda: generalization_probability([0.1, 0.2], [0.0, 0.0, 0.0]), "shapes that broadcast"),
        (lambda: identification_probability(-0.1), "ball_mass must lie in"),
        (lambda: identification_probability(np.nan), "ball_mass must not contain NaN"),
        (lambda: homogeneous_front(0.4), "identification of two items must lie in .0.5, 1.; got 0.4"),
        (lambda: linear_on_circle(1.1), "ball_mass must lie in"),
        (lambda: exponential_on_circle(0.0), "resolution must be positive"),
        (lambda: exponential_on_circle("wide"), "resolution must be a real number"),
    ],
)
def test_wrong_arguments_are_named(call, complaint):
    with pytest.raises(InputError, match=complaint):
        call()
