"""The limits of many samples and of strong regularization, as printed and as the solver approaches them."""

import numpy as np
import pytest
from scipy.special import erfc

from genlaws.rules_facts import (
    LOSSES,
    Kernel,
    bayes_optimal,
    infinite_regularization,
    large_sample_bayes_error,
    large_sample_error,
    solve,
)

ROUNDING = 1e-12
# At λ = 1e8 the corrections are of order (1 + α)/λ.
STRONG, STRONG_TOLERANCE = 1e8, 1e-6
# At α = 1e6 the corrections to the large-sample law are of order 1/α relative, times the effective ridge.
MANY, MANY_TOLERANCE = 1e6, 1e-4

ALPHA = np.array([0.1, 1.0, 20.0])[:, None]
EPSILON = np.array([0.0, 0.3, 1.0])


@pytest.mark.parametrize("angle", [0.2, 1.0, np.pi / 2])
def test_infinite_regularization_is_the_printed_closed_form(angle):
    kernel = Kernel.from_angle(angle)
    found = infinite_regularization(sample_ratio=ALPHA, fact_fraction=EPSILON, kernel=kernel)
    rho = (1 - EPSILON) * np.sqrt(2 / np.pi)
    gen = np.arccos(rho * np.sqrt(ALPHA) / np.sqrt(1 + rho**2 * ALPHA)) / np.pi
    share = (kernel.mu_1**2 + kernel.mu_star**2) / kernel.mu_1**2
    mem = 0.5 * erfc(share / np.sqrt(2 * (ALPHA + rho**2 * ALPHA**2)))
    np.testing.assert_allclose(found.generalization_error, gen, rtol=ROUNDING)
    np.testing.assert_allclose(found.memorization_error, mem, rtol=1e-10)


@pytest.mark.parametrize("kappa", [None, 0.7, 5.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_strong_regularization_approaches_it(loss, kappa):
    arguments = {"sample_ratio": ALPHA, "fact_fraction": EPSILON, "kernel": Kernel(0.8, 0.5), "width_ratio": kappa}
    limit = infinite_regularization(**arguments)
    strong, exact = (solve(loss, regularization=lam, **arguments) for lam in (STRONG, np.inf))
    np.testing.assert_allclose(strong.generalization_error, limit.generalization_error, atol=STRONG_TOLERANCE)
    np.testing.assert_allclose(strong.memorization_error, limit.memorization_error, atol=STRONG_TOLERANCE)
    np.testing.assert_allclose(exact.generalization_error, limit.generalization_error, rtol=ROUNDING)
    np.testing.assert_allclose(exact.memorization_error, limit.memorization_error, rtol=ROUNDING)


def test_a_wide_layer_reaches_the_kernel():
    arguments = {"sample_ratio": ALPHA, "fact_fraction": EPSILON, "kernel": Kernel(0.8, 0.5)}
    wide, kernel = infinite_regularization(**arguments, width_ratio=1e7), infinite_regularization(**arguments)
    np.testing.assert_allclose(wide.generalization_error, kernel.generalization_error, atol=1e-5)
    np.testing.assert_allclose(wide.memorization_error, kernel.memorization_error, atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.8])
@pytest.mark.parametrize("angle", [0.5, np.pi / 2])
@pytest.mark.parametrize("lam", [0.0, 0.1, 10.0])
def test_many_samples_follow_the_square_root_law(epsilon, angle, lam):
    alpha = np.array([1e4, MANY])
    exact = solve(
        "square", sample_ratio=alpha, fact_fraction=epsilon, kernel=Kernel.from_angle(angle), regularization=lam
    ).generalization_error
    ratio = exact / large_sample_error(sample_ratio=alpha, fact_fraction=epsilon)
    assert abs(ratio[1] - 1) < MANY_TOLERANCE
    assert abs(ratio[1] - 1) < 0.1 * abs(ratio[0] - 1)


def test_printed_constants():
    rho = 0.8 * np.sqrt(2 / np.pi)
    found = large_sample_error(sample_ratio=100.0, fact_fraction=0.2)
    assert found == pytest.approx(np.sqrt((1 - rho**2) / rho**2) / (10 * np.pi), rel=ROUNDING)
    assert large_sample_bayes_error(sample_ratio=1.0, fact_fraction=0.0) == pytest.approx(0.4417, abs=5e-5)


def test_bayes_decays_faster_than_any_ridge():
    ratio = large_sample_bayes_error(sample_ratio=1e4, fact_fraction=0.2) / large_sample_error(
        sample_ratio=1e4, fact_fraction=0.2
    )
    exact = bayes_optimal(sample_ratio=1e4, fact_fraction=0.2).generalization_error
    ridge = solve("square", sample_ratio=1e4, fact_fraction=0.2).generalization_error
    assert exact / ridge == pytest.approx(ratio, rel=1e-2)
    assert ratio < 0.03


def test_facts_alone():
    assert large_sample_error(sample_ratio=2.0, fact_fraction=1.0) == np.inf
    assert large_sample_bayes_error(sample_ratio=2.0, fact_fraction=1.0) == np.inf
    assert infinite_regularization(sample_ratio=2.0, fact_fraction=1.0).generalization_error == 0.5


def test_shapes():
    for function in (large_sample_error, large_sample_bayes_error):
        assert isinstance(function(sample_ratio=2.0, fact_fraction=0.1), float)
        assert function(sample_ratio=ALPHA, fact_fraction=EPSILON).shape == (3, 3)
    one = infinite_regularization(sample_ratio=2.0, fact_fraction=0.1)
    assert isinstance(one.generalization_error, float)
    assert isinstance(one.memorization_error, float)
