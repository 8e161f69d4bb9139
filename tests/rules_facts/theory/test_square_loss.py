"""The square loss: closed form against plain iteration and many digits, λ → 0, finite width."""

import mpmath
import numpy as np
import pytest

from genlaws.rules_facts import Kernel, solve

# The closed form must equal the iterated equations and the many-digit root to this.
AGREEMENT = 1e-10
# Against many digits only rounding is left.
ROUNDING = 1e-12
# The iteration stops when nothing moves by more than this; its own error is a few times larger.
ITERATION_STOP = 1e-14
DAMPING = 0.5
DIGITS = 60
# Small enough that O(λ) is below rounding, and exact in so many digits.
NO_RIDGE = mpmath.mpf(10) ** -40


def errors(m, q, V):
    """Return (ε_gen, ε_mem) with mpmath."""
    return (
        mpmath.acos(m / mpmath.sqrt(q)) / mpmath.pi,
        mpmath.erfc(V / mpmath.sqrt(2 * q)) / 2,
    )


def iterate(alpha, epsilon, mu_1, mu_star, lam, kappa=None, features_side=None):
    """Iterate the state equations of the square loss with damping, from m = 0, q = V = 1."""
    rho = (1 - epsilon) * np.sqrt(2 / np.pi)
    ratio = alpha if kappa is None else alpha / kappa
    m, q, V = 0.0, 1.0, 1.0
    for _ in range(200_000):
        m_hat, V_hat = ratio * rho / (1 + V), ratio / (1 + V)
        q_hat = ratio * (1 + q - 2 * rho * m) / (1 + V) ** 2
        if kappa is None:
            D = mu_1**2 / (lam + mu_1**2 * V_hat)
            new = D * m_hat, D**2 * (m_hat**2 + q_hat), D + mu_star**2 / lam
        else:
            m_new, tau, V_new = (float(part) for part in features_side(mu_1, mu_star, lam, kappa, m_hat, q_hat, V_hat))
            new = m_new, m_new**2 + tau**2, V_new
        change = max(abs(a / b - 1) for a, b in zip((m, q, V), new, strict=True))
        m, q, V = (DAMPING * old + (1 - DAMPING) * each for old, each in zip((m, q, V), new, strict=True))
        if change < ITERATION_STOP:
            return m, q, V
    raise AssertionError("the plain iteration did not settle")


def many_digits(alpha, epsilon, mu_1, mu_star, lam):
    """Return (m, q, V) from the quadratic for U = 1 + V, in many digits."""
    alpha, epsilon, mu_1, mu_star, lam = (mpmath.mpf(number) for number in (alpha, epsilon, mu_1, mu_star, lam))
    rho = (1 - epsilon) * mpmath.sqrt(2 / mpmath.pi)
    r, s = mu_1**2 / lam, mu_star**2 / lam
    b = r * alpha - 1 - s - r
    U = (-b + mpmath.sqrt(b * b + 4 * (1 + s) * r * alpha)) / 2
    V = U - 1
    D, m_hat = V - s, alpha * rho / U
    m, c = D * m_hat, D**2 * alpha / U**2
    return m, (D**2 * m_hat**2 + c * (1 - 2 * rho * m)) / (1 - c), V


@pytest.mark.parametrize("lam", [0.03, 0.7, 20.0])
@pytest.mark.parametrize("angle", [0.3, 0.8, 1.4])
@pytest.mark.parametrize(("alpha", "epsilon"), [(0.4, 0.2), (3.0, 0.0), (12.0, 0.7)])
def test_closed_form_is_the_fixed_point(alpha, epsilon, angle, lam):
    kernel = Kernel.from_angle(angle)
    found = solve("square", sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=lam)
    wanted = iterate(alpha, epsilon, kernel.mu_1, kernel.mu_star, lam)
    assert (found.teacher_overlap, found.self_overlap, found.response) == pytest.approx(wanted, rel=AGREEMENT)
    gen, mem = errors(*(mpmath.mpf(part) for part in wanted))
    assert found.generalization_error == pytest.approx(float(gen), abs=AGREEMENT)
    assert found.memorization_error == pytest.approx(float(mem), abs=AGREEMENT)


def test_closed_form_keeps_its_digits_everywhere():
    rng = np.random.default_rng(0)
    count = 300
    alpha, lam = 10 ** rng.uniform(-3, 5, count), 10 ** rng.uniform(-9, 6, count)
    epsilon = rng.choice([0.0, 1e-6, 0.2, 0.9, 1 - 1e-6], count)
    angle = np.where(rng.uniform(size=count) < 0.3, np.pi / 2, 10 ** rng.uniform(-6, 0.19, count))
    kernel = Kernel.from_angle(angle)
    found = solve("square", sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=lam)
    assert found.converged.all()
    with mpmath.workdps(DIGITS):
        for i in range(count):
            m, q, V = many_digits(alpha[i], epsilon[i], kernel.mu_1[i], kernel.mu_star[i], lam[i])
            gen, mem = errors(m, q, V)
            assert found.teacher_overlap[i] == pytest.approx(float(m), rel=ROUNDING)
            assert found.self_overlap[i] == pytest.approx(float(q), rel=ROUNDING)
            assert found.response[i] == pytest.approx(float(V), rel=ROUNDING)
            assert found.generalization_error[i] == pytest.approx(float(gen), rel=ROUNDING)
            # erfc magnifies a relative error of its argument by twice the argument squared, below 1e-300 by 700.
            assert found.memorization_error[i] == pytest.approx(float(mem), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("angle", [1e-3, 0.5, 1.2, np.pi / 2])
@pytest.mark.parametrize("alpha", [1e-3, 0.5, 0.999, 1.001, 4.0, 1e4])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_zero_is_the_limit_of_small_regularization(epsilon, alpha, angle):
    kernel = Kernel.from_angle(angle)
    found = solve("square", sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=0.0)
    with mpmath.workdps(2 * DIGITS):
        m, q, V = many_digits(alpha, epsilon, kernel.mu_1, kernel.mu_star, NO_RIDGE)
        gen, mem = errors(m, q, V)
    assert found.teacher_overlap == pytest.approx(float(m), rel=ROUNDING)
    assert found.self_overlap == pytest.approx(float(q), rel=ROUNDING)
    assert found.generalization_error == pytest.approx(float(gen), rel=ROUNDING)
    assert found.memorization_error == pytest.approx(float(mem), rel=1e-9, abs=1e-300)
    if angle == np.pi / 2 and alpha > 1:
        assert found.response == pytest.approx(float(V), rel=ROUNDING)
    else:
        assert found.response == np.inf
        assert found.memorization_error == 0.0


@pytest.mark.parametrize("angle", [0.5, np.pi / 2])
@pytest.mark.parametrize("alpha", [0.5, 4.0])
def test_tiny_regularization_joins_zero(alpha, angle):
    # The effective ridge is (λ + μ*²)/μ1²: the difference is λ times a slope of order one.
    arguments = {"sample_ratio": alpha, "fact_fraction": 0.2, "kernel": Kernel.from_angle(angle)}
    limit = solve("square", regularization=0.0, **arguments).generalization_error
    change = [solve("square", regularization=lam, **arguments).generalization_error - limit for lam in (1e-9, 1e-5)]
    assert abs(change[0]) < 1e-8
    assert change[1] / 1e-5 == pytest.approx(change[0] / 1e-9, rel=1e-3)


def test_a_zero_does_not_change_its_neighbors():
    # The linear model beyond its threshold, where λ = 0 is an ordinary point, next to points with λ > 0.
    lam = np.array([0.0, 1e-3, 1.0, np.inf])
    for loss in ("square", "hinge"):
        together = solve(loss, sample_ratio=5.0, fact_fraction=0.2, regularization=lam)
        for i, each in enumerate(lam):
            alone = solve(loss, sample_ratio=5.0, fact_fraction=0.2, regularization=each)
            assert together.generalization_error[i] == pytest.approx(alone.generalization_error, rel=ROUNDING)
            assert together.memorization_error[i] == pytest.approx(alone.memorization_error, rel=ROUNDING)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_the_two_regimes_of_the_ridgeless_linear_model(epsilon):
    # Least squares: below one sample per dimension the pseudo-inverse, with variance α/(1-α) times the unexplained
    # part; above, the classical 1/(α-1).
    rho = (1 - epsilon) * np.sqrt(2 / np.pi)
    below, above = np.array([0.01, 0.3, 0.9]), np.array([1.1, 2.0, 50.0])
    few = solve("square", sample_ratio=below, fact_fraction=epsilon, regularization=0.0)
    spread = below / (1 - below) * (1 - rho**2 + rho**2 * (1 - below) ** 2)
    np.testing.assert_allclose(few.teacher_overlap, rho * below, rtol=ROUNDING)
    np.testing.assert_allclose(few.self_overlap, (rho * below) ** 2 + spread, rtol=ROUNDING)
    assert (few.memorization_error == 0).all()
    many = solve("square", sample_ratio=above, fact_fraction=epsilon, regularization=0.0)
    np.testing.assert_allclose(many.teacher_overlap, rho, rtol=ROUNDING)
    np.testing.assert_allclose(many.self_overlap, rho**2 + (1 - rho**2) / (above - 1), rtol=ROUNDING)
    np.testing.assert_allclose(many.response, 1 / (above - 1), rtol=ROUNDING)
    assert (np.diff(many.memorization_error) > 0).all()


FINITE = [(0.5, 0.2, 0.8, 0.5, 0.3), (3.0, 0.2, 0.9, 2.0, 0.05), (2.0, 0.0, 0.4, 1.0, 0.5), (6.0, 0.6, 1.3, 20.0, 3.0)]


@pytest.mark.parametrize(("alpha", "epsilon", "angle", "kappa", "lam"), FINITE)
def test_finite_width_is_the_fixed_point_of_the_published_equations(alpha, epsilon, angle, kappa, lam, paper):
    kernel = Kernel.from_angle(angle)
    arguments = {"sample_ratio": alpha, "fact_fraction": epsilon, "kernel": kernel, "regularization": lam}
    found = solve("square", **arguments, width_ratio=kappa)
    wanted = iterate(alpha, epsilon, kernel.mu_1, kernel.mu_star, lam, kappa, paper.features_side)
    assert (found.teacher_overlap, found.self_overlap, found.response) == pytest.approx(wanted, rel=AGREEMENT)


def test_finite_width_solves_the_published_equations(paper):
    rng = np.random.default_rng(1)
    count = 150
    alpha, lam, kappa = (10 ** rng.uniform(*span, count) for span in ((-1, 2), (-6, 3), (-2, 3)))
    epsilon, kernel = rng.uniform(0, 1, count), Kernel.from_angle(rng.uniform(0.02, np.pi / 2 - 0.02, count))
    found = solve(
        "square", sample_ratio=alpha, fact_fraction=epsilon, kernel=kernel, regularization=lam, width_ratio=kappa
    )
    for i in range(count):
        state = paper.state(found, i)
        again = paper.one_round(
            "square", alpha[i], epsilon[i], kernel.mu_1[i], kernel.mu_star[i], lam[i], state, kappa[i]
        )
        assert again == pytest.approx(state, rel=AGREEMENT)


@pytest.mark.parametrize("loss", ["square", "hinge", "squared_hinge"])
def test_a_very_wide_layer_is_the_kernel(loss):
    # The first correction is of order (1 + μ*²/μ1²)²/κ, below 5e-5 at these angles.
    rng = np.random.default_rng(2)
    arguments = {
        "sample_ratio": 10 ** rng.uniform(-1, 1, 60),
        "fact_fraction": rng.uniform(0, 1, 60),
        "kernel": Kernel.from_angle(rng.uniform(0.4, np.pi / 2, 60)),
        "regularization": 10 ** rng.uniform(-3, 2, 60),
    }
    wide, kernel = solve(loss, **arguments, width_ratio=1e6), solve(loss, **arguments)
    np.testing.assert_allclose(wide.generalization_error, kernel.generalization_error, atol=1e-4, rtol=0)
    np.testing.assert_allclose(wide.memorization_error, kernel.memorization_error, atol=1e-4, rtol=0)
    wider = solve(loss, **arguments, width_ratio=1e8)
    gap, smaller = (np.abs(each.self_overlap - kernel.self_overlap).max() for each in (wide, wider))
    assert smaller < 0.02 * gap


def test_ridgeless_features_beyond_their_width():
    # λ = 0 with more samples than features is the limit of λ → 0, and no label is fitted exactly.
    arguments = {"sample_ratio": 3.0, "fact_fraction": 0.2, "kernel": Kernel.from_angle(0.8), "width_ratio": 2.0}
    limit, small = (solve("square", regularization=lam, **arguments) for lam in (0.0, 1e-9))
    assert limit.memorization_error > 0.01
    assert small.generalization_error == pytest.approx(limit.generalization_error, abs=1e-8)
    assert small.memorization_error == pytest.approx(limit.memorization_error, abs=1e-8)


def test_features_without_a_linear_part_still_forget():
    # At finite width even a pure memorizer has only κ directions: α = 3 samples do not fit into κ = 2 of them.
    arguments = {"sample_ratio": 3.0, "fact_fraction": 0.2, "regularization": 0.05, "width_ratio": 2.0}
    for loss in ("square", "hinge"):
        none, little = (solve(loss, kernel=Kernel(mu_1, 1.0), **arguments) for mu_1 in (0.0, 1e-6))
        assert none.generalization_error == pytest.approx(0.5, abs=1e-5)
        assert none.memorization_error == pytest.approx(little.memorization_error, abs=1e-9)
        assert none.self_overlap == pytest.approx(little.self_overlap, rel=1e-6)
        assert none.response == pytest.approx(little.response, rel=1e-6)
