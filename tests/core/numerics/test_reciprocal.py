"""One over a sum as a sum of exponentials: against the reciprocal itself, over hundreds of decades."""

import itertools
import math

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.core.numerics.reciprocal import FULL_PRECISION_SPACING, MIN_RANGE_RATIO, TEN_DIGIT_SPACING, reciprocal_rule

# A few hundred terms of size up to one are added.
ROUNDING = 2e-14
# The error of the rule is said to be at most about 50 exp(-π²/spacing).
FACTOR = 60


def reciprocals(sums, rule):
    t, w = rule
    return np.exp(-np.multiply.outer(sums, t)) @ w


@pytest.mark.parametrize(("smallest", "largest"), [(1.0, 1.0), (1.0, 2.0), (0.3, 1e6), (1e-12, 5.0), (1e-290, 1.0)])
def test_every_sum_of_the_range_has_its_reciprocal(smallest, largest):
    sums = np.geomspace(smallest, largest, 300)
    np.testing.assert_allclose(sums * reciprocals(sums, reciprocal_rule(smallest, largest)), 1.0, rtol=ROUNDING)


@pytest.mark.parametrize("unit", [1e-250, 1e-9, 1e250])
def test_the_unit_does_not_matter(unit):
    t, w = reciprocal_rule(0.01, 3.0)
    scaled_t, scaled_w = reciprocal_rule(0.01 * unit, 3.0 * unit)
    np.testing.assert_allclose(scaled_t * unit, t, rtol=ROUNDING)
    np.testing.assert_allclose(scaled_w * unit, w, rtol=ROUNDING)


@pytest.mark.parametrize("spacing", [TEN_DIGIT_SPACING, 0.4, 0.5])
def test_a_coarser_rule_is_shorter_and_as_accurate_as_said(spacing):
    fine, coarse = (reciprocal_rule(1e-6, 10.0, h) for h in (FULL_PRECISION_SPACING, spacing))
    assert len(coarse[0]) <= len(fine[0]) * FULL_PRECISION_SPACING / spacing + 1
    sums = np.geomspace(1e-6, 10.0, 500)
    worst = np.abs(sums * reciprocals(sums, coarse) - 1).max()
    assert 1 < worst / math.exp(-(math.pi**2) / spacing) < FACTOR


@pytest.mark.parametrize(("smallest", "largest"), [(0.5, 4.0), (1e-300, 1.0), (5e-324, 1.0), (1e-300, 1e300)])
def test_below_the_range_the_sum_stays_bounded_and_finite(smallest, largest):
    t, w = reciprocal_rule(smallest, largest)
    assert np.isfinite(t).all()
    assert np.isfinite(w).all()
    assert (w > 0).all()
    lowest = max(smallest, MIN_RANGE_RATIO * largest)
    # At S = 0 the weights add up to about the last rate, 45 and e^{0.25} over the smallest sum.
    assert w.sum() < 1.1 * 45 * math.exp(FULL_PRECISION_SPACING) / lowest


def test_the_mean_of_a_reciprocal_factorizes():
    values = np.array([0.05, 0.4, 1.0])
    t, w = reciprocal_rule(3 * 0.05, 3.0)
    brute = np.mean([1 / sum(offer) for offer in itertools.product(values, repeat=3)])
    assert w @ np.exp(-np.multiply.outer(values, t)).mean(axis=0) ** 3 == pytest.approx(brute, rel=ROUNDING)


@pytest.mark.parametrize(
    ("smallest", "largest"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (1.0, math.inf), (math.nan, 1.0)]
)
def test_an_impossible_range_is_refused(smallest, largest):
    with pytest.raises(InputError, match="smallest and largest must be positive, finite and in this order; got"):
        reciprocal_rule(smallest, largest)
