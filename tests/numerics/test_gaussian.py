"""The skew-normal density and distribution against many digits, and the Gauss rules."""

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from genlaws.numerics.gaussian import (
    gauss_legendre,
    normal_density,
    skew_density,
    skew_density_slope,
    skew_distribution,
)

# Sums of a few terms of order one, each good to its last digit or two.
ROUNDING = 2e-15
# What is small because the end is near zero must still have its digits: the docstring promises no cancellation.
RELATIVE = 1e-13
DIGITS = 22
ENDS = [-30.0, -6.0, -1.0, -1e-4, 0.0, 1e-8, 1e-3, 0.7, 3.0, 9.0, 40.0]
STEEPNESSES = [0.0, 1e-10, 1e-2, 1.0 - 1e-12, 1.0, 1.0 + 1e-12, 7.0, 1e3, 1e8]


def many_digits(b, a):
    """Integrate 2φ(z)Φ(az) up to b over panels that follow Φ(az)."""
    b, a = mpmath.mpf(b), mpmath.mpf(a)
    turns = [turn / a for turn in (-12, -6, -3, -1, 0, 1, 3, 6, 12)] if a > 0.1 else []
    edges = [-40, -20, -10, -5, -2, 0, 2, 5, 10, 20, *turns]
    edges = [*sorted({mpmath.mpf(edge) for edge in edges if edge < b}), b] if b > -40 else [b - 10, b]

    def density(z):
        return mpmath.npdf(z) * mpmath.erfc(-a * z / mpmath.sqrt(2))

    return mpmath.quad(density, edges, method="gauss-legendre")


@pytest.mark.parametrize("a", STEEPNESSES)
def test_distribution_has_its_digits_at_every_steepness(a):
    with mpmath.workdps(DIGITS):
        wanted = np.array([float(many_digits(b, a)) for b in ENDS])
    found = skew_distribution(np.array(ENDS), np.full(len(ENDS), a))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=ROUNDING)
    small = np.array(ENDS) >= 0
    np.testing.assert_allclose(found[small], wanted[small], rtol=RELATIVE)


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
