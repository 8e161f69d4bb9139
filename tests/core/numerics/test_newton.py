"""Newton's method for many pairs of equations: known roots, narrow valleys, and elements without a root."""

import numpy as np
import pytest

from genlaws.core.numerics.newton import ACCEPTABLE_RESIDUAL, MAX_EVALUATIONS, TwoEquations, solve_two_equations

# The residuals below are stopped at rounding level; the roots are then as good as the conditioning.
ROOT_TOLERANCE = 1e-12


def test_what_is_accepted_is_what_is_promised():
    assert ACCEPTABLE_RESIDUAL <= 1e-10


def exponentials(a, b):
    """Return the equations eˣ = a, eʸ = b eˣ, one element per entry of a and b."""

    def equations(x, y, index):
        f, g = np.exp(x) / a[index] - 1, np.exp(y - x) / b[index] - 1
        return TwoEquations(f, g, f + 1, np.zeros_like(x), -g - 1, g + 1)

    return equations


def test_many_systems_at_once():
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(-5, 5, (2, 1000)))
    start = rng.uniform(-1, 1, (2, 1000))
    root = solve_two_equations(exponentials(a, b), *start)
    assert root.residual.max() <= ACCEPTABLE_RESIDUAL
    np.testing.assert_allclose(root.x, np.log(a), atol=ROOT_TOLERANCE)
    np.testing.assert_allclose(root.y, np.log(a) + np.log(b), atol=2 * ROOT_TOLERANCE)
    assert root.iterations.dtype == np.int64
    assert (root.iterations >= 1).all()


def test_the_start_is_not_changed_and_an_element_does_not_feel_the_others():
    a, b = np.array([2.0, 1e-2, 300.0]), np.array([5.0, 1.0, 1e-2])
    x, y = np.zeros(3), np.ones(3)
    together = solve_two_equations(exponentials(a, b), x, y)
    assert (x == 0).all()
    assert (y == 1).all()
    for i in range(3):
        alone = solve_two_equations(exponentials(a[i : i + 1], b[i : i + 1]), x[i : i + 1], y[i : i + 1])
        assert alone.x[0] == together.x[i]
        assert alone.iterations[0] == together.iterations[i]


@pytest.mark.parametrize("steepness", [1.0, 1e4, 1e8])
def test_a_narrow_valley_is_followed(steepness):
    """Rosenbrock's valley y = x² as two equations; a test on the size of F itself would creep along it."""

    def equations(x, y, index):
        one = np.ones_like(x)
        return TwoEquations(steepness * (y - x**2), 1 - x, -2 * steepness * x, steepness * one, -one, 0 * one)

    root = solve_two_equations(equations, np.array([-3.0, -1.2, 8.0]), np.array([5.0, 1.0, -3.0]))
    np.testing.assert_allclose(root.x, 1, atol=ROOT_TOLERANCE)
    np.testing.assert_allclose(root.y, 1, atol=ROOT_TOLERANCE)
    # The way from (-3, 5) is some twenty long; steps are at most four, and none depends on the steepness.
    assert root.iterations.max() <= 20


def test_mixing_the_equations_changes_nothing():
    rng = np.random.default_rng(1)
    a, b = np.exp(rng.uniform(-4, 4, (2, 50)))
    mix = np.array([[1.0, 1e3], [1e-3, 2.0]])
    plain = exponentials(a, b)

    def mixed(x, y, index):
        f, g, f_x, f_y, g_x, g_y = plain(x, y, index)
        by_x, by_y = mix @ np.stack([f_x, g_x]), mix @ np.stack([f_y, g_y])
        return TwoEquations(*(mix @ np.stack([f, g])), by_x[0], by_y[0], by_x[1], by_y[1])

    start = np.zeros(50)
    np.testing.assert_allclose(
        solve_two_equations(mixed, start, start).x, solve_two_equations(plain, start, start).x, atol=ROOT_TOLERANCE
    )


def test_an_element_without_a_root_reports_its_residual_and_stops_no_other():
    shift = np.array([-4.0, 1.0, -9.0])

    def equations(x, y, index):
        one = np.ones_like(x)
        return TwoEquations(x**2 + shift[index], y - 2, 2 * x, 0 * one, 0 * one, one)

    root = solve_two_equations(equations, np.full(3, 5.0), np.zeros(3))
    np.testing.assert_allclose(root.x[[0, 2]], [2, 3], atol=ROOT_TOLERANCE)
    np.testing.assert_allclose(root.y[[0, 2]], 2, atol=ROOT_TOLERANCE)
    assert root.residual[[0, 2]].max() <= ACCEPTABLE_RESIDUAL
    # x² + 1 is never below one, and the report is the residual at the reported point.
    assert root.residual[1] >= 1
    assert root.residual[1] == pytest.approx(max(root.x[1] ** 2 + 1, abs(root.y[1] - 2)))
    assert root.iterations[1] <= MAX_EVALUATIONS


def test_an_element_that_is_not_a_number_is_given_up_at_once():
    def equations(x, y, index):
        bad = np.where(index == 1, np.nan, 0.0)
        one = np.ones_like(x)
        return TwoEquations(x - 1 + bad, y - 2, one, 0 * one, 0 * one, one)

    root = solve_two_equations(equations, np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(root.x[[0, 2]], 1)
    assert not root.residual[1] <= ACCEPTABLE_RESIDUAL
    assert root.iterations[1] < 10


def test_a_singular_start_is_reported():
    def equations(x, y, index):
        return TwoEquations(x**2 - 1, y, 2 * x, 0 * x, 0 * x, np.ones_like(x))

    root = solve_two_equations(equations, np.array([0.0, 0.5]), np.array([0.0, 0.0]))
    assert not root.residual[0] <= ACCEPTABLE_RESIDUAL
    assert root.x[1] == pytest.approx(1)


def test_nothing_to_solve():
    root = solve_two_equations(exponentials(np.ones(0), np.ones(0)), np.zeros(0), np.zeros(0))
    assert root.x.shape == root.residual.shape == (0,)


def test_a_first_step_beyond_all_bounds_is_shortened_not_given_up():
    # Newton's first step from zero is e²⁵ long.
    def equations(x, y, index):
        one, nothing = np.ones_like(x), np.zeros_like(x)
        return TwoEquations(np.exp(x - 25.0) - 1.0, y, np.exp(x - 25.0), nothing, nothing, one)

    root = solve_two_equations(equations, np.zeros(1), np.zeros(1))
    assert root.x[0] == pytest.approx(25.0, abs=1e-12)
    assert root.residual[0] <= 1e-14
