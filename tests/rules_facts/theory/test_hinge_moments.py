"""Partial moments of the margin's density, from which the hinge averages are made, against many digits."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from genlaws.core.numerics.gaussian import normal_density, skew_distribution
from genlaws.rules_facts.theory.channels import _FieldEdge, _margin_edge

# Sums of a few terms of order one, each good to its last digit or two.
ROUNDING = 2e-15
# What is small because the end is near zero must still have its digits: the docstring promises no cancellation.
RELATIVE = 1e-13
QUADRATURE = 1e-13
DIGITS = 22
ENDS = [-30.0, -6.0, -1.0, -1e-4, 0.0, 1e-8, 1e-3, 0.7, 3.0, 9.0, 40.0]
STEEPNESSES = [0.0, 1e-10, 1e-2, 1.0 - 1e-12, 1.0, 1.0 + 1e-12, 7.0, 1e3, 1e8]


def skew_partial_moments(b, a, delta=1.0):
    """Return the moments up to b of the density of rules, or of the mixture with a share 1 - δ of facts."""
    cosine = 1 / np.sqrt(1 + a * a)
    c = b / cosine
    return _margin_edge(b, a, np.full_like(b, delta), cosine, _FieldEdge.at(c))[-3:]


def many_digits(b, a):
    """Integrate zᵏ 2φ(z)Φ(az) up to b for k = 0, 1, 2 over panels that follow Φ(az)."""
    b, a = mpmath.mpf(b), mpmath.mpf(a)
    cuts = [cut / a for cut in (-12, -6, -3, -1, 0, 1, 3, 6, 12)] if a > 0.1 else []
    edges = [-40, -20, -10, -5, -2, 0, 2, 5, 10, 20, *cuts]
    edges = [*sorted({mpmath.mpf(edge) for edge in edges if edge < b}), b] if b > -40 else [b - 10, b]

    def density(z):
        return mpmath.npdf(z) * mpmath.erfc(-a * z / mpmath.sqrt(2))

    return [mpmath.quad(lambda z, k=k: z**k * density(z), edges, method="gauss-legendre") for k in range(3)]


@pytest.mark.parametrize("a", STEEPNESSES)
def test_moments_have_their_digits_at_every_steepness(a):
    with mpmath.workdps(DIGITS):
        wanted = np.array([[float(part) for part in many_digits(b, a)] for b in ENDS])
    found = np.stack(skew_partial_moments(np.array(ENDS), np.full(len(ENDS), a)), axis=1)
    # The second moment carries b·density(b), which is of order one at most.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=ROUNDING)
    alone = skew_distribution(np.array(ENDS), np.full(len(ENDS), a))
    np.testing.assert_allclose(alone, wanted[:, 0], rtol=0, atol=ROUNDING)
    positive = np.array(ENDS) >= 0
    np.testing.assert_allclose(alone[positive], wanted[positive, 0], rtol=RELATIVE)


def test_moments_agree_with_adaptive_quadrature():
    rng = np.random.default_rng(0)
    b, a = rng.uniform(-4, 4, 100), 10 ** rng.uniform(-2, 1, 100)
    found = np.stack(skew_partial_moments(b, a))
    for i in range(b.size):
        for k in range(3):

            def integrand(z, k=k, a=a[i]):
                return z**k * 2 * np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * ndtr(a * z)

            pieces = [(-12.0, min(0.0, b[i]))] + ([(0.0, b[i])] if b[i] > 0 else [])
            wanted = sum(quad(integrand, *piece, epsabs=1e-14, epsrel=1e-12)[0] for piece in pieces)
            assert found[k, i] == pytest.approx(wanted, abs=QUADRATURE)


def test_infinite_ends_give_the_whole_moments():
    a = np.array([0.0, 0.5, 3.0, 1e5])
    zeroth, first, second = skew_partial_moments(np.full(4, 40.0), a)
    np.testing.assert_allclose(zeroth, 1.0, atol=ROUNDING)
    np.testing.assert_allclose(first, np.sqrt(2 / np.pi) * a / np.sqrt(1 + a * a), atol=ROUNDING)
    np.testing.assert_allclose(second, 1.0, atol=ROUNDING)


def test_facts_and_rules_mix_linearly():
    b, a = np.array([-2.0, 0.3, 1.7]), np.array([0.2, 5.0, 40.0])
    mixed, rules, facts = (np.stack(skew_partial_moments(b, a, delta)) for delta in (0.3, 1.0, 0.0))
    np.testing.assert_allclose(mixed, 0.3 * rules + 0.7 * facts, atol=ROUNDING)
    np.testing.assert_allclose(facts, [ndtr(b), -normal_density(b), ndtr(b) - b * normal_density(b)], atol=ROUNDING)
