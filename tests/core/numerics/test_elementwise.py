"""Roots and minima of many functions at once."""

import numpy as np
import pytest

from genlaws.core.numerics.elementwise import find_minima, find_roots


def test_roots_are_found_to_rounding():
    target = np.array([0.1, 1.0, 7.0])
    found = find_roots(lambda x, c: np.exp(x) - c, np.full(3, -10.0), np.full(3, 10.0), target)
    np.testing.assert_allclose(found, np.log(target), atol=4e-15)


def minimize(function, left, middle, right):
    x, value = find_minima(lambda x, index: function(x), tuple(np.array([part]) for part in (left, middle, right)))
    return x[0], value[0]


def test_a_smooth_minimum_is_found_beyond_the_grid():
    x, value = minimize(lambda x: (x - 0.3) ** 2 + (x - 0.3) ** 3, -0.4, 0.1, 1.0)
    assert x == pytest.approx(0.3, abs=1e-6)
    assert value == pytest.approx(0.0, abs=1e-12)


def test_the_middle_need_not_be_the_lowest():
    assert minimize(lambda x: x, 0.0, 1.0, 2.0)[0] == pytest.approx(0.0, abs=1e-3)
    assert minimize(lambda x: -x, 0.0, 1.0, 2.0)[0] == pytest.approx(2.0, abs=1e-3)


def test_a_dip_beside_a_plateau_is_not_lost_in_rounding():
    rng = np.random.default_rng(0)

    def dip(x):
        return np.where(x < 1.0, (x - 1.0) ** 2 * ((x - 0.7) ** 2 - 0.05), 0.0)

    # The middle of the bracket lies on a plateau whose height is known to rounding only.
    x, value = minimize(lambda x: 0.4 + dip(x) + 1e-16 * rng.standard_normal(x.shape), 0.0, 1.5, 9.0)
    fine = np.linspace(0.0, 1.0, 100_001)
    assert x == pytest.approx(fine[np.argmin(dip(fine))], abs=1e-4)
    assert value == pytest.approx(0.4 + dip(fine).min(), abs=1e-9)


def test_nan_is_never_the_lowest():
    x, value = minimize(lambda x: np.where(x < 0.0, np.nan, (x - 0.5) ** 2), -1.0, 0.2, 1.0)
    assert x == pytest.approx(0.5, abs=1e-6)
    assert value == pytest.approx(0.0, abs=1e-12)


def test_elements_are_independent():
    centers = np.array([-0.7, 0.0, 0.4])
    bracket = tuple(np.full(3, part) for part in (-1.0, 0.1, 1.0))
    together, _ = find_minima(lambda x, index: np.cosh(x - centers[index]), bracket)
    np.testing.assert_allclose(together, centers, atol=1e-6)
