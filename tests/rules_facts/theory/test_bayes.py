"""The Bayes-optimal error against many digits, against its limits, and below every learner."""

import mpmath
import numpy as np
import pytest

from genlaws.rules_facts import Kernel, bayes_optimal, large_sample_bayes_error, solve

# Fixed quadrature of the library against adaptive quadrature in many digits.
AGREEMENT = 1e-12
DIGITS = 25
# An error of a learner can touch the Bayes error up to the rounding of either.
ROUNDING = 1e-13


def many_digits(alpha, epsilon):
    """Solve q = q̂/(1 + q̂) with q̂(q) as printed, the integral over t; return (q, ε_gen)."""
    alpha, delta = mpmath.mpf(alpha), 1 - mpmath.mpf(epsilon)

    def q_hat(q):
        unit = mpmath.sqrt(1 - q)

        def integrand(t):
            x = mpmath.sqrt(q) * t / (unit * mpmath.sqrt(2))
            # 1 + δ erf(x), with the digits it has where both terms nearly cancel.
            denominator = (1 - delta) + delta * mpmath.erfc(-x)
            return mpmath.exp(-(1 + q) * t * t / (2 * (1 - q))) / denominator

        edges = [unit * edge for edge in (-16, -8, -4, -2, 0, 2, 4, 8, 16)]
        integral = mpmath.quad(integrand, edges, method="gauss-legendre")
        return 4 * delta**2 * alpha / ((2 * mpmath.pi) ** 1.5 * (1 - q)) * integral

    def gap(logit):
        q = 1 / (1 + mpmath.exp(-logit))
        return logit - mpmath.log(q_hat(q))

    # q/(1-q) = q̂ grows at most like α² and at least like α.
    logit = mpmath.findroot(
        gap, (mpmath.log(alpha) - 4, 2 * mpmath.log(alpha + 2) + 3), solver="illinois", tol=mpmath.mpf(10) ** -34
    )
    q = 1 / (1 + mpmath.exp(-logit))
    return q, mpmath.atan2(1, mpmath.exp(logit / 2)) / mpmath.pi


@pytest.mark.parametrize(
    ("alpha", "epsilon"),
    [(0.01, 0.3), (1.0, 0.0), (2.0, 0.2), (10.0, 0.9), (50.0, 0.0), (50.0, 1e-6), (1e4, 0.0), (1e4, 0.2)],
)
def test_agrees_with_many_digits(alpha, epsilon):
    with mpmath.workdps(DIGITS):
        q, error = many_digits(alpha, epsilon)
    found = bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon)
    assert found.converged
    assert found.teacher_overlap == pytest.approx(float(q), rel=AGREEMENT)
    assert found.generalization_error == pytest.approx(float(error), rel=AGREEMENT)


def learners(loss, seed, count):
    rng = np.random.default_rng(seed)
    alpha, epsilon = 10 ** rng.uniform(-1, 2, count), rng.uniform(0, 1, count)
    kernel = Kernel.from_angle(rng.uniform(0.02, np.pi / 2, count))
    lam = np.where(rng.uniform(size=count) < 0.1, 0.0, 10 ** rng.uniform(-6, 3, count))
    return alpha, epsilon, solve(loss, sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=lam)


@pytest.mark.parametrize(("loss", "count"), [("square", 10_000), ("hinge", 10_000), ("squared_hinge", 1000)])
def test_no_learner_does_better(loss, count):
    alpha, epsilon, found = learners(loss, 0, count)
    bound = bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon)
    assert bound.converged.all()
    assert found.converged.all()
    assert (found.generalization_error >= bound.generalization_error - ROUNDING).all()


def test_no_learner_of_finite_width_does_better():
    rng = np.random.default_rng(1)
    alpha, epsilon, width = 10 ** rng.uniform(-1, 2, 2000), rng.uniform(0, 1, 2000), 10 ** rng.uniform(-1, 2, 2000)
    found = solve(
        "hinge",
        sample_ratio=alpha,
        fact_fraction=epsilon,
        kernel=Kernel.from_angle(rng.uniform(0.1, 1.5, 2000)),
        regularization=10 ** rng.uniform(-4, 2, 2000),
        width_ratio=width,
    )
    bound = bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon).generalization_error
    assert (found.generalization_error >= bound - ROUNDING).all()


def test_large_sample_constant():
    # Without facts the error is 0.4417/α; the correction is of order 1/α.
    error = bayes_optimal(sample_ratio=[1e4, 1e5, 1e6], fact_fraction=0.0).generalization_error
    scaled = error * [1e4, 1e5, 1e6]
    assert scaled[-1] == pytest.approx(0.4417, abs=5e-5)
    leading = large_sample_bayes_error(sample_ratio=1.0, fact_fraction=0.0)
    assert (np.abs(scaled / leading - 1) < [1e-3, 1e-4, 1e-5]).all()


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.9])
def test_large_sample_law(epsilon):
    alpha = np.array([1e5, 1e6])
    exact = bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon).generalization_error
    ratio = exact / large_sample_bayes_error(sample_ratio=alpha, fact_fraction=epsilon)
    assert abs(ratio[1] - 1) < 1e-3
    assert abs(ratio[1] - 1) < 0.2 * abs(ratio[0] - 1)


def test_facts_alone_teach_nothing():
    found = bayes_optimal(sample_ratio=[1e-3, 1.0, 1e6], fact_fraction=1.0)
    assert (found.generalization_error == 0.5).all()
    assert (found.teacher_overlap == 0.0).all()
    assert found.converged.all()


def test_more_samples_and_fewer_facts_always_help():
    alpha, epsilon = np.logspace(-3, 5, 60)[:, None], np.linspace(0, 1, 60)
    error = bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon).generalization_error
    assert error.shape == (60, 60)
    assert (np.diff(error[:, :-1], axis=0) < 0).all()
    assert (np.diff(error, axis=1) > 0).all()
    assert error.max() == 0.5


def test_few_samples():
    # To first order in α Hebb's rule is optimal: q = ρ²α.
    alpha, epsilon = 1e-6, 0.3
    overlap = bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon).teacher_overlap
    assert overlap == pytest.approx((0.7**2) * 2 / np.pi * alpha, rel=1e-5)
