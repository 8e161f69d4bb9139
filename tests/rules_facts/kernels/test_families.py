"""Every family of kernels: closed form, function, activation and the parameter for an angle agree."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlaws.core.errors import InputError
from genlaws.rules_facts.kernels.families import ADJUSTABLE, FAMILIES, check_correlation, parameter_for_angle
from genlaws.rules_facts.kernels.kernel import Kernel

# Relative accuracy that the closed forms promise, also where the three-term difference would cancel.
CLOSED_FORM_TOLERANCE = 1e-12
# Slope of an interpolant and a difference of values of k: a few digits are lost.
NUMERICAL_TOLERANCE = 1e-11
# Smallest eigenvalue of a Gram matrix of 60 points may be below zero by rounding, relative to the largest.
EIGENVALUE_ROUNDING = 1e-13
ANGLES = np.linspace(0.05, 1.55, 31)


def example(family):
    return [int(item.example) if item.whole else item.example for item in family.parameters]


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES.keys())
def family(request):
    return request.param


def test_the_closed_form_agrees_with_the_function(family):
    parameters = example(family)
    found = Kernel.from_function(lambda t: family.evaluate(t, *parameters))
    squares = family.squares(*parameters)
    np.testing.assert_allclose([found.mu_1**2, found.mu_star**2], squares, rtol=NUMERICAL_TOLERANCE, atol=0)


def test_the_closed_form_agrees_with_the_activation(family):
    if family.activation is None:
        assert family.name == "geometric"
        return
    parameters = family.check(*example(family))
    found = Kernel.from_activation(lambda z: family.activation(z, *parameters))
    squares = family.squares(*example(family))
    np.testing.assert_allclose([found.mu_1**2, found.mu_star**2], squares, rtol=CLOSED_FORM_TOLERANCE, atol=0)


def test_the_function_is_positive_definite(family):
    inputs = np.random.default_rng(5).normal(size=(60, 8))
    inputs /= np.linalg.norm(inputs, axis=1, keepdims=True)
    gram = family.evaluate(inputs @ inputs.T, *example(family))
    eigenvalues = np.linalg.eigvalsh(gram)
    assert eigenvalues[0] > -EIGENVALUE_ROUNDING * eigenvalues[-1]


def test_the_name_reaches_the_family(family):
    text = ",".join(f"{value:g}" for value in example(family))
    kernel = Kernel.from_name(f"{family.name}:{text}" if text else family.name)
    squares = family.squares(*example(family))
    np.testing.assert_allclose([kernel.mu_1**2, kernel.mu_star**2], squares, rtol=CLOSED_FORM_TOLERANCE)
    assert kernel.name.startswith(family.name)


def test_a_wrong_number_of_parameters_is_refused(family):
    too_many = [1] * (len(family.parameters) + 1)
    with pytest.raises(InputError, match=family.name):
        family.squares(*too_many)
    if family.parameters:
        with pytest.raises(InputError, match=family.parameters[0].name):
            family.squares()


def test_parameters_outside_their_range_are_refused(family):
    for place, parameter in enumerate(family.parameters):
        for bad in (parameter.low - 1, parameter.high + 1, np.nan, "three", None, [1.0, np.nan]):
            parameters = example(family)
            parameters[place] = bad
            with pytest.raises(InputError, match=parameter.name):
                family.squares(*parameters)


def test_every_family_says_what_it_is(family):
    assert family.formula
    assert family.description
    assert all(parameter.description for parameter in family.parameters)


# The difference k(1) − k(0) − k'(0) in 60 digits.
PRECISE = {
    "exponential": lambda g: mpmath.exp(g) - 1 - g,
    "gaussian": lambda g: 1 - mpmath.exp(-g) * (1 + g),
    "geometric": lambda g: 1 / (1 - g) - 1 - g,
}


@pytest.mark.parametrize("name", PRECISE)
def test_small_and_large_parameters_keep_their_digits(name):
    rates = np.array([1e-12, 1e-6, 1e-3, 0.1, 0.9, 0.999])
    if name != "geometric":
        rates = np.append(rates, [1.0, 2.0, 10.0, 100.0, 600.0])
    _, squares = FAMILIES[name].squares(rates)
    with mpmath.workdps(60):
        exact = [PRECISE[name](mpmath.mpf(float(rate))) for rate in rates]
        errors = [float(abs(found / reference - 1)) for found, reference in zip(squares, exact, strict=True)]
    assert max(errors) < CLOSED_FORM_TOLERANCE


@pytest.mark.parametrize("degree", [1, 2, 3, 7, 40])
def test_polynomial_offsets_keep_their_digits(degree):
    offsets = np.array([0.0, 1e-9, 1e-3, 0.5, 1.0, 30.0, 1e5])
    firsts, squares = FAMILIES["polynomial"].squares(degree, offsets)
    with mpmath.workdps(300):
        for offset, first, square in zip(offsets, firsts, squares, strict=True):
            c = mpmath.mpf(float(offset))
            slope = degree * c ** (degree - 1)
            exact = (1 + c) ** degree - c**degree - slope
            assert float(abs(first - slope)) <= CLOSED_FORM_TOLERANCE * float(slope)
            assert float(abs(square - exact)) <= CLOSED_FORM_TOLERANCE * float(exact)


@pytest.mark.parametrize("name", ADJUSTABLE)
@pytest.mark.parametrize("degree", [2, 3, 12])
def test_the_parameter_for_an_angle_gives_the_angle_back(name, degree):
    given_degree = {"degree": degree} if name == "polynomial" else {}
    parameter = parameter_for_angle(name, ANGLES, **given_degree)
    squares = FAMILIES[name].squares(*given_degree.values(), parameter)
    # The geometric ratio tends to one at small angles and holds the angle to 1e-16/θ² only.
    np.testing.assert_allclose(np.arctan2(*np.sqrt(squares)), ANGLES, rtol=CLOSED_FORM_TOLERANCE)


def test_the_parameter_for_an_angle_keeps_the_shape_and_extreme_angles():
    assert np.shape(parameter_for_angle("gaussian", 1.0)) == ()
    assert parameter_for_angle("gaussian", ANGLES[:30].reshape(5, 6)).shape == (5, 6)
    angles = np.array([1e-60, 1e-6, np.pi / 2 - 1e-9, np.nextafter(np.pi / 2, 0)])
    squares = FAMILIES["exponential"].squares(parameter_for_angle("exponential", angles))
    np.testing.assert_allclose(np.arctan2(*np.sqrt(squares)), angles, rtol=CLOSED_FORM_TOLERANCE)


def test_known_parameters_for_an_angle():
    assert parameter_for_angle("geometric", np.pi / 4) == pytest.approx(0.5, abs=1e-15)
    # The polynomial (c + t)² has tan²θ = 2c.
    assert parameter_for_angle("polynomial", np.pi / 4, degree=2) == pytest.approx(0.5, rel=1e-13)
    assert parameter_for_angle("quadratic", np.pi / 2) == np.pi / 2


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ADJUSTABLE])
def test_a_family_without_a_parameter_reaches_no_other_angle(name):
    with pytest.raises(InputError, match="family must have a parameter"):
        parameter_for_angle(name, 1.0)


@pytest.mark.parametrize("name", ADJUSTABLE)
@pytest.mark.parametrize("angle", [0.0, -0.1, 2.0, np.nan, "one"])
def test_an_angle_out_of_reach_is_refused(name, angle):
    given_degree = {"degree": 3} if name == "polynomial" else {}
    with pytest.raises(InputError, match="angle"):
        parameter_for_angle(name, angle, **given_degree)


@pytest.mark.parametrize("name", ["exponential", "gaussian", "geometric"])
def test_the_linear_angle_is_a_limit_only(name):
    with pytest.raises(InputError, match=rf"1\.5708\).*{name} family reaches"):
        parameter_for_angle(name, np.pi / 2)


@pytest.mark.parametrize("degree", [None, 1, 2.5, "two"])
def test_the_polynomial_needs_its_degree(degree):
    with pytest.raises(InputError, match="degree"):
        parameter_for_angle("polynomial", 1.0, degree=degree)


def test_other_families_refuse_a_degree():
    with pytest.raises(InputError, match="degree must be left out"):
        parameter_for_angle("gaussian", 1.0, degree=3)


def test_a_kernel_that_overflows_is_refused():
    with pytest.raises(InputError, match="degree and offset"):
        FAMILIES["polynomial"].squares(1000, 1e9)


@given(st.text(max_size=12).filter(lambda text: text not in FAMILIES))
def test_an_unknown_family_is_refused(name):
    with pytest.raises(InputError, match="family must be one of"):
        parameter_for_angle(name, 1.0)


def test_a_correlation_of_rounding_size_above_one_is_one():
    assert check_correlation(1.0 + 1e-13) == 1.0
    with pytest.raises(InputError, match="correlation"):
        check_correlation([0.0, 1.001])
