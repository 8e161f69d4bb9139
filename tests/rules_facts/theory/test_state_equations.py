"""Very many samples and few facts, where the two usual state equations nearly coincide: solved or reported unsolved."""

import mpmath
import numpy as np
import pytest

from genlaws.rules_facts import Kernel, solve
from genlaws.rules_facts.theory.channels import HingeChannel
from genlaws.rules_facts.theory.losses import get_loss, squared_hinge_loss
from genlaws.rules_facts.theory.point_solver import FAILED, solve_points
from genlaws.rules_facts.theory.proximal import ProximalChannel
from genlaws.rules_facts.theory.random_features import Learner
from genlaws.rules_facts.theory.state_equations import Task, _solve, balanced_residual, remaining_share

# The usual equations solved by `reference` below with 50 digits, so that nothing that cancels matters:
# sample ratio, fact fraction, non-linear share, ridge, generalization error, memorization error.
REFERENCES = [
    (1e6, 0.0, 0.0, 1e-13, 5.004889317765111e-07, 0.49999504663182026),
    (1e6, 0.0, 0.0, 1e-12, 4.887373115998271e-07, 0.4999991198535669),
    (1e5, 1e-9, 0.0, 1e-10, 6.22855632909351e-06, 0.499994480883294),
    (1e7, 0.0, 1e-9, 1e-10, 1.9756118049612575e-07, 0.49996321469579363),
    (1e9, 0.2, 0.0, 1.0, 1.0404524327108589e-05, 0.499999999375),
]
DIGITS = 50
# What Newton's method on the balanced equations reaches; the usual ones are off by up to a factor of twelve here.
REACHED = 1e-12
# Two routes to the same solution, where the usual equations have lost at most eight digits.
TWO_ROUTES = 1e-6


def reference(alpha, epsilon, share, ridge, tau, rigidity):
    """Return both errors of a kernel with hinge loss, from the plain equations by quadrature with 50 digits."""
    normal, below = mpmath.npdf, mpmath.ncdf
    alpha, share, ridge = mpmath.mpf(alpha), mpmath.mpf(share), mpmath.mpf(ridge)
    # The library stores 1 - ε, so this is the share it solves for.
    epsilon = mpmath.mpf(1.0 - (1.0 - epsilon))

    def averages(tau, K):
        V = 1 / K + share / ridge
        c1, c2 = (1 - V) / tau, 1 / tau
        linear = (below(c2) - below(c1) + tau * (normal(c2) - normal(c1))) / V
        m = alpha / K * (1 - epsilon) * mpmath.sqrt(2 / mpmath.pi) * (below(c1) + linear)
        root_q, a = mpmath.sqrt(m**2 + tau**2), m / tau

        def density(b):
            return normal(b) * (epsilon + 2 * (1 - epsilon) * below(a * b))

        def integral(function, low, high):
            cuts = [turn / a for turn in (-12, -6, -2, 0, 2, 6, 12)] + [-6, -2, 2, 6]
            return mpmath.quad(function, sorted([low, high, *(cut for cut in cuts if low < cut < high)]))

        b1, b2, far = (1 - V) / root_q, 1 / root_q, mpmath.mpf(-16)
        saturated = integral(density, far, b1) if b1 > far else 0
        start = max(b1, far)
        slope = integral(density, start, b2) / V
        square = saturated + integral(lambda b: (b2 - b) ** 2 * density(b), start, b2) * (root_q / V) ** 2
        return V, m, square, slope

    def equations(x, y):
        tau, K = mpmath.exp(x), mpmath.exp(y)
        _, _, square, slope = averages(tau, K)
        return mpmath.log(alpha * square / K**2) / 2 - x, mpmath.log((ridge + alpha * slope) / K)

    with mpmath.workdps(DIGITS):
        start = mpmath.log(tau), mpmath.log(rigidity)
        x, y = mpmath.findroot(equations, start, tol=mpmath.mpf(10) ** (8 - DIGITS), verify=False, maxsteps=30)
        tau = mpmath.exp(x)
        V, m, _, _ = averages(tau, mpmath.exp(y))
        errors = mpmath.atan2(tau, m) / mpmath.pi, mpmath.erfc(V / mpmath.sqrt(2 * (m**2 + tau**2))) / 2
    return tuple(float(error) for error in errors)


def solve_hinge(alpha, epsilon, share, ridge):
    alpha, epsilon, share, ridge = (np.atleast_1d(np.asarray(x, float)) for x in (alpha, epsilon, share, ridge))
    return solve_points(get_loss("hinge"), Task(alpha, 1.0 - epsilon), Learner(ridge, share, np.zeros_like(share)))


@pytest.mark.parametrize("case", REFERENCES)
def test_no_digits_are_lost_where_the_usual_equations_coincide(case):
    *setting, generalization, memorization = case
    found = solve_hinge(*setting)
    assert found.status[0] != FAILED
    assert found.generalization_error[0] == pytest.approx(generalization, rel=REACHED)
    assert found.memorization_error[0] == pytest.approx(memorization, rel=REACHED)


@pytest.mark.long
@pytest.mark.parametrize("case", REFERENCES)
def test_the_references_are_solutions(case):
    *setting, generalization, memorization = case
    found = solve_hinge(*setting)
    again = reference(*setting, found.tau[0], found.rigidity[0])
    assert again == pytest.approx((generalization, memorization), rel=1e-14)


def test_without_facts_the_error_depends_on_regularization_times_samples_squared():
    # The corrections are of order 1/α²; a point gets the same answer alone and in an array.
    scaled = np.array([0.01, 0.1, 1.0, 10.0])
    law = 1e4 * solve("hinge", sample_ratio=1e4, fact_fraction=0.0, regularization=scaled / 1e8).generalization_error
    for alpha in 10.0 ** np.arange(5, 10):
        arguments = {"sample_ratio": alpha, "fact_fraction": 0.0}
        many = solve("hinge", regularization=scaled / alpha**2, **arguments)
        np.testing.assert_allclose(alpha * many.generalization_error, law, rtol=3e-8)
        alone = [solve("hinge", regularization=lam / alpha**2, **arguments) for lam in scaled]
        np.testing.assert_allclose([each.generalization_error for each in alone], many.generalization_error, rtol=1e-11)


def test_the_best_regularization_without_facts_falls_like_one_over_samples_squared():
    alpha = 10.0 ** np.arange(3, 9)
    found = solve("hinge", sample_ratio=alpha, fact_fraction=0.0, regularization="optimal")
    assert found.converged.all()
    np.testing.assert_allclose(alpha**2 * found.regularization, 0.78207, rtol=1e-4)
    np.testing.assert_allclose(alpha * found.generalization_error, 0.4876871, rtol=3e-6)
    for factor in (0.97, 1.03):
        near = solve("hinge", sample_ratio=alpha, fact_fraction=0.0, regularization=factor * found.regularization)
        assert (near.generalization_error > found.generalization_error).all()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("width", [False, True])
def test_both_forms_of_the_equations_have_the_same_solution(loss, width):
    rng = np.random.default_rng(3)
    count = 300 if loss == "hinge" else 40
    alpha, ridge, share = (10 ** rng.uniform(low, high, count) for low, high in ((-1, 3), (-6, 3), (-4, 1)))
    epsilon = np.where(rng.random(count) < 0.3, 0.0, rng.random(count))
    gamma = np.where(rng.random(count) < 0.5, 10 ** rng.uniform(-2, 1, count), 0.0) * width
    task, learner = Task(alpha, 1.0 - epsilon), Learner(ridge, share, gamma)
    channel = HingeChannel() if loss == "hinge" else ProximalChannel(squared_hinge_loss())
    usual = solve_points(get_loss(loss), task, learner)
    balanced = _solve(balanced_residual, channel, task, learner, (1.1 * usual.tau, 1.1 * usual.rigidity))
    solved = balanced.residual <= 1e-10
    # A strong ridge is what the balanced form is not made for: there K - ℓ cancels.
    assert solved.mean() > 0.85
    error = np.arctan2(balanced.tau, balanced.m) / np.pi
    np.testing.assert_allclose(error[solved], usual.generalization_error[solved], rtol=TWO_ROUTES)
    np.testing.assert_allclose(balanced.response[solved], usual.response[solved], rtol=TWO_ROUTES)


def test_no_extreme_point_is_called_solved_and_wrong():
    # Solved again from another start: a number that depends on the start was none.
    rng = np.random.default_rng(4)
    count = 400
    alpha, ridge = 10 ** rng.uniform(2, 11, count), 10 ** rng.uniform(-20, 2, count)
    epsilon = np.where(rng.random(count) < 0.6, 0.0, 10 ** rng.uniform(-10, 0, count))
    share = np.where(rng.random(count) < 0.5, 0.0, 10 ** rng.uniform(-12, 0, count))
    found = solve_hinge(alpha, epsilon, share, ridge)
    task, learner = Task(alpha, 1.0 - epsilon), Learner(ridge, share, np.zeros(count))
    solved = found.status != FAILED
    assert solved.mean() > 0.98
    lost = remaining_share(learner, found.m, found.tau, found.rigidity) < 1e-7
    assert lost[solved].sum() > 100, "these settings are meant to be the hard ones"
    again = _solve(balanced_residual, HingeChannel(), task, learner, (0.9 * found.tau, 1.2 * found.rigidity))
    both = solved & (again.residual <= 1e-10)
    assert both.mean() > 0.9
    error = np.arctan2(again.tau, again.m)[both] / np.pi
    np.testing.assert_allclose(error, found.generalization_error[both], rtol=TWO_ROUTES)


def test_the_almost_linear_kernel_without_facts_or_regularization_is_solved():
    # Next to the linear model the margin constraint joins a weak regularization.
    angle = np.pi / 2 - np.array([1e-7, 1e-5, 5e-6, 1e-4])
    kernel = Kernel.from_angle(angle)
    arguments = {"sample_ratio": [1e5, 1e6, 47056.66, 3e4], "fact_fraction": 0.0, "kernel": kernel}
    limit, small = (solve("hinge", regularization=lam, **arguments) for lam in (0.0, 1e-9 * kernel.mu_star**2))
    assert limit.converged.all()
    np.testing.assert_allclose(limit.generalization_error, small.generalization_error, rtol=1e-7)
