"""Shapes, backgrounds and cuts: values, areas, kinks, and what is refused."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.integrate import quad

from genlaws.core.errors import InputError
from genlaws.semanticity.theory.similarity import CONSTANT, SHAPES, Shape, Similarity, power_law, similarity, user_shape

# The quadrature's own error estimate.
QUADRATURE = 1e-12
EXACT = 1e-15
X = np.concatenate([np.linspace(0, 3, 61), np.geomspace(3.1, 1e6, 20)])
FORMULAS = {
    "constant": lambda x: 1.0 * (x <= 1),
    "linear": lambda x: np.where(x < 1, 1 - x, 0),
    "exponential": lambda x: np.exp(-x),
    "gaussian": lambda x: np.exp(-(x**2) / 2),
    "power-law": lambda x: 1 / (1 + x) ** 2,
}
ALL_SHAPES = [*SHAPES.values(), *(power_law(a) for a in (0.01, 1.0, 1 + 1e-9, 50.0))]


def step(x):
    return np.where(x < 0.5, 1.0, np.where(x < 2.0, 0.4, 0.0))


def test_every_shape_has_a_formula():
    assert FORMULAS.keys() == SHAPES.keys()


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_their_formulas(name):
    np.testing.assert_allclose(SHAPES[name].profile(X), FORMULAS[name](X), rtol=1e-13, atol=0)
    assert SHAPES[name].profile(np.zeros(1))[0] == 1.0


@pytest.mark.parametrize("shape", ALL_SHAPES, ids=lambda shape: shape.name)
def test_shapes_start_at_one_and_never_rise(shape):
    heights = shape.profile(X)
    assert heights[0] == 1.0
    assert (np.diff(heights) <= 0).all()
    assert (shape.profile(X[shape.support < X]) == 0).all()


@pytest.mark.parametrize("shape", ALL_SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("x", [1e-9, 0.3, 0.999999, 1.0, 1.000001, 2.5, 40.0])
def test_area_is_the_integral_of_the_shape(shape, x):
    pieces = [0.0, *(kink for kink in shape.kinks if kink < x), x]
    integral = sum(
        quad(lambda u: shape.profile(np.array(u)), low, high, epsabs=0, epsrel=1e-13, limit=200)[0]
        for low, high in itertools.pairwise(pieces)
    )
    assert shape.area(np.array([x]))[0] == pytest.approx(integral, rel=QUADRATURE)


def test_the_exponent_one_is_the_limit_of_its_neighbors():
    nearby = [power_law(1 + step).area(X) for step in (-1e-9, 1e-9)]
    np.testing.assert_allclose(power_law(1.0).area(X), 0.5 * (nearby[0] + nearby[1]), rtol=1e-14)
    np.testing.assert_allclose(power_law(1.0).area(X), np.log1p(X), rtol=EXACT)


@pytest.mark.parametrize("name", SHAPES)
def test_resolution_and_background_enter_as_written(name):
    d = np.array([0.0, 0.1, 0.5, 0.50001, 2.0])
    plain = similarity(name, 0.5)
    np.testing.assert_array_equal(plain(d), SHAPES[name].profile(d / 0.5))
    lifted = similarity(name, 0.5, background=0.2)(d)
    expected = np.where(d <= 0.5, 1.0, 0.2) if name == "constant" else plain(d) + 0.2
    np.testing.assert_array_equal(lifted, expected)


def test_a_cut_leaves_the_background_alone():
    d = np.array([0.0, 0.3, 0.30001, 1.0])
    np.testing.assert_allclose(
        similarity("exponential", 1.0, background=0.1, cut=0.3)(d), [1.1, np.exp(-0.3) + 0.1, 0.1, 0.1], rtol=EXACT
    )
    np.testing.assert_array_equal(similarity("constant", 1.0, background=0.1, cut=0.3)(d), [1, 1, 0.1, 0.1])


@pytest.mark.parametrize(
    ("shape", "cut", "kinks", "support"),
    [
        ("linear", None, (0.2,), 0.2),
        ("linear", 0.1, (0.1,), 0.1),
        ("linear", 0.2, (0.2,), 0.2),
        ("linear", 0.3, (0.2, 0.3), 0.2),
        ("constant", 0.05, (0.05,), 0.05),
        ("exponential", None, (), np.inf),
        ("exponential", 0.7, (0.7,), 0.7),
        (user_shape(step, (0.5, 2.0)), None, (0.1, 0.4), 0.4),
        (user_shape(step, (0.5, 2.0)), 0.25, (0.1, 0.25), 0.25),
    ],
)
def test_bends_and_support_end_at_the_cut(shape, cut, kinks, support):
    form = similarity(shape, 0.2, cut=cut)
    assert form.kinks == pytest.approx(kinks, rel=EXACT)
    assert form.support == pytest.approx(support, rel=EXACT)
    if np.isfinite(support):
        assert form(support * (1 - 1e-9)) > 0
        assert form(support * (1 + 1e-9)) == 0


def test_another_resolution_keeps_the_rest():
    form = similarity("gaussian", 0.2, background=0.1, cut=0.7).at_resolution(0.5)
    assert (form.resolution, form.background, form.cut, form.shape.name) == (0.5, 0.1, 0.7, "gaussian")
    with pytest.raises(InputError, match="resolution must be positive and finite; got -1"):
        form.at_resolution(-1.0)


@pytest.mark.parametrize(
    ("profile", "support"),
    [
        (lambda x: np.clip(1 - x, 0, None) ** 3, 1.0),
        (lambda x: 1.0 * (x < 0.12345), 0.12345),
        (lambda x: np.maximum(0, 5 - x), 5.0),
        (lambda x: 1 / (1 + x), np.inf),
    ],
)
def test_the_end_of_a_users_shape_is_found(profile, support):
    assert user_shape(profile).support == pytest.approx(support, rel=1e-5)


def test_a_users_shape_is_scaled_to_one():
    form = similarity(lambda x: 7 / (1 + x**2), 2.0, background=0.5)
    np.testing.assert_allclose(form([0.0, 2.0]), [1.5, 1.0], rtol=EXACT)
    assert form.shape.area is None


def test_a_users_shape_may_overflow_far_away():
    form = similarity(lambda x: 2 / (1 + np.exp(x)), 1e-4)
    np.testing.assert_allclose(form([0.0, 1.0]), [1.0, 0.0], atol=EXACT)


@pytest.mark.parametrize("resolution", [5e-324, 1e-300, 1e300])
@pytest.mark.parametrize("name", SHAPES)
def test_extreme_resolutions_give_numbers(name, resolution):
    heights = similarity(name, resolution)([0.0, 0.5, 1e10])
    assert heights[0] == 1.0
    assert ((heights >= 0) & (heights <= 1)).all()


@pytest.mark.parametrize("shape", ALL_SHAPES, ids=lambda shape: shape.name)
def test_built_in_shapes_survive_pickling(shape):
    form = pickle.loads(pickle.dumps(similarity(shape, 0.3, background=0.01)))
    np.testing.assert_array_equal(form(X), similarity(shape, 0.3, background=0.01)(X))
    assert form.is_constant == (shape is CONSTANT)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"resolution": -0.1}, "resolution must be positive and finite; got -0.1"),
        ({"resolution": 0.0}, "resolution must be positive"),
        ({"resolution": np.nan}, "resolution must not contain NaN"),
        ({"resolution": [0.1, 0.2]}, "resolution must be a single number"),
        ({"resolution": "wide"}, "resolution must be a real number"),
        ({"background": -0.1}, "background must be zero or positive"),
        ({"background": 2}, "background of the constant similarity must lie in .0, 1.; got 2"),
        ({"cut": 0.0}, "cut must be positive"),
        ({"cut": "far"}, "cut must be a real number"),
        ({"exponent": 2.0}, "exponent belongs to the power-law similarity alone; got it with the constant one"),
        ({"shape": "cosine"}, "similarity must be one of constant, linear"),
        ({"shape": "power-law", "exponent": -1.0}, "exponent must be positive"),
    ],
)
def test_wrong_arguments_are_named(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        similarity(**{"shape": "constant", "resolution": 0.1, **arguments})


def test_the_class_checks_what_the_function_checks():
    with pytest.raises(InputError, match="resolution must be positive"):
        Similarity(CONSTANT, -1.0)
    with pytest.raises(InputError, match="distance must be zero, positive or infinite; got -1"):
        similarity("linear", 0.1)([0.1, -1.0])


@pytest.mark.parametrize(
    ("profile", "kinks", "complaint"),
    [
        (lambda x: x, (), "positive one at distance 0"),
        (lambda x: 1 + 0.1 * np.sin(x), (), "must not increase with distance; it rises near"),
        (lambda x: np.where(x == 1.5, 0.9, np.where(x < 1.5, 0.5, 0.1)), (1.5,), "rises near 1.5 resolutions"),
        (lambda x: 1 - x, (), "zero or positive"),
        (lambda x: 1.0, (), "one finite number"),
        (lambda x: np.where(x > 3, np.nan, 1.0), (), "one finite number"),
        (lambda x: 1 / (1 + x), (-1.0,), "kinks must be positive"),
    ],
)
def test_a_users_shape_must_be_a_similarity(profile, kinks, complaint):
    with pytest.raises(InputError, match=complaint):
        user_shape(profile, kinks)


def test_a_users_shape_cannot_take_a_built_in_name():
    with pytest.raises(InputError, match="must not be that of a built-in one; got 'constant'"):
        user_shape(lambda x: np.exp(-x), name="constant")
    imitation = Shape("constant", FORMULAS["exponential"])
    assert not Similarity(imitation, 0.1).is_constant
