"""The skew-normal density and its special cases, and the Gauss rules."""

import numpy as np
import pytest
from scipy.special import ndtr

from genlaws.core.numerics.gaussian import (
    gauss_legendre,
    normal_density,
    skew_density,
    skew_density_slope,
    skew_distribution,
)

# Sums of a few terms of order one, each good to its last digit or two.
ROUNDING = 2e-15


def test_no_skew_is_the_normal_law():
    z = np.linspace(-8, 8, 41)
    np.testing.assert_allclose(skew_density(z, np.zeros_like(z)), normal_density(z), rtol=1e-15)
    np.testing.assert_allclose(skew_distribution(z, np.zeros_like(z)), ndtr(z), atol=ROUNDING)


def test_slope_is_the_derivative_of_the_density():
    rng = np.random.default_rng(1)
    z, a = rng.uniform(-5, 5, 200), 10 ** rng.uniform(-2, 1, 200)
    step = 1e-5
    difference = (skew_density(z + step, a) - skew_density(z - step, a)) / (2 * step)
    # Truncation step² a²; rounding 1e-16/step.
    np.testing.assert_allclose(skew_density_slope(z, a), difference, atol=1e-7)


@pytest.mark.parametrize("count", [1, 4, 16])
def test_gauss_rule_is_exact_up_to_its_degree(count):
    nodes, weights = gauss_legendre(count)
    for power in range(2 * count):
        assert weights @ nodes**power == pytest.approx(1 / (power + 1), rel=1e-14)
    assert abs(weights @ nodes ** (2 * count) - 1 / (2 * count + 1)) > 1e-20
    assert not nodes.flags.writeable
    assert not weights.flags.writeable
