"""The limit of infinite dimension: exact where the form is, with an error that covers its distance from the truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size.extrapolation import extrapolate

# Digits lost in a well-conditioned system of two or three unknowns.
ROUNDING = 1e-9
# Standard deviation and mean of 4000 normal numbers lie within this of 1 and 0 (five standard errors).
SPREAD, MIDDLE = 0.06, 0.08


@given(
    limit=st.floats(-1.0, 1.0),
    slope=st.floats(-50.0, 50.0),
    sizes=st.lists(st.integers(10, 5000), min_size=2, max_size=6, unique=True),
)
def test_means_of_the_form_give_it_back(limit, slope, sizes):
    d = np.array(sizes, dtype=float)
    errors = 0.1 / np.sqrt(d)
    found = extrapolate(d, limit + slope / d, errors)
    # Dimensions close together leave the limit uncertain, and rounding is magnified in proportion.
    assert abs(found.value - limit) <= ROUNDING * (1.0 + found.error / errors.min()) * (1.0 + abs(slope))
    assert abs(found.correction - slope) <= ROUNDING * (1.0 + found.correction_error / errors.min()) * (
        1.0 + abs(slope)
    )
    assert found.freedom == len(sizes) - 2


def test_two_dimensions_are_a_straight_line():
    found = extrapolate([100, 200], [0.30, 0.28], [0.01, 0.01])
    assert found.value == pytest.approx(2 * 0.28 - 0.30)
    assert found.error == pytest.approx(np.sqrt(4 + 1) * 0.01)
    assert found.correction == pytest.approx(100 * 2 * (0.30 - 0.28))
    assert found.correction_error == pytest.approx(200 * np.sqrt(2) * 0.01)
    assert found.chi_square == pytest.approx(0.0, abs=ROUNDING)
    assert found.freedom == 0


def test_weighted_least_squares_by_the_normal_equations():
    d, y, s = np.array([50.0, 100.0, 400.0, 900.0]), np.array([0.4, 0.33, 0.31, 0.29]), np.array([3, 2, 1, 4]) * 1e-2
    design = np.stack([np.ones(4), 1.0 / d], axis=1)
    normal = design.T @ (design / s[:, None] ** 2)
    expected = np.linalg.solve(normal, design.T @ (y / s**2))
    found = extrapolate(d, y, s)
    assert [found.value, found.correction] == pytest.approx(expected.tolist())
    errors = np.sqrt(np.diag(np.linalg.inv(normal)))
    assert [found.error, found.correction_error] == pytest.approx(errors.tolist())
    assert found.chi_square == pytest.approx((((y - design @ expected) / s) ** 2).sum())


def test_z_scores_of_noisy_means_are_normal():
    rng = np.random.default_rng(3)
    d, errors = np.array([80.0, 160.0, 320.0]), np.array([0.02, 0.015, 0.01])
    fits = [extrapolate(d, 0.25 + 2.0 / d + errors * rng.standard_normal(3), errors) for _ in range(4000)]
    scores = np.array([fit.z_score(0.25) for fit in fits])
    assert abs(scores.mean()) < MIDDLE
    assert abs(scores.std() - 1.0) < SPREAD
    assert np.mean([fit.chi_square for fit in fits]) == pytest.approx(1.0, abs=0.12)


def test_a_second_order_removes_a_second_correction():
    d = np.array([50.0, 100.0, 200.0, 400.0])
    means, errors = 0.2 + 1.0 / d + 30.0 / d**2, np.full(4, 1e-3)
    first, second = extrapolate(d, means, errors), extrapolate(d, means, errors, order=2)
    assert abs(first.value - 0.2) > 1e-4
    assert second.value == pytest.approx(0.2, abs=ROUNDING)
    assert second.correction == pytest.approx(1.0, abs=1e-6)
    assert second.error > 1.5 * first.error


def test_it_prints_value_and_correction():
    found = extrapolate([100, 200], [0.30, 0.28], [0.01, 0.01])
    assert str(found).startswith("limit       0.260 ± 0.044 (95 %)\ncorrection  (4.0 ± 5.5)/d\nχ² ")
    assert found.limit.low == pytest.approx(0.26 - 1.959964 * found.error)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (([100, 200], [0.3, 0.2], [0.1, 0.0]), "standard_errors must be positive.*take more runs"),
        (([100, 100], [0.3, 0.2], [0.1, 0.1]), "at least 2 different values for order 1; got 1"),
        (([100, 200], [0.3, 0.2], [0.1, 0.1], 2), "at least 3 different values for order 2; got 2"),
        (([100, 200], [0.3, 0.2, 0.1], [0.1, 0.1]), "lists of equal length"),
        (([100, 200], [0.3, np.inf], [0.1, 0.1]), "means must be finite"),
        (([0, 200], [0.3, 0.2], [0.1, 0.1]), "dimensions must be positive"),
        (([100, 200], [0.3, 0.2], [0.1, 0.1], 0), "order must be a whole number, at least 1"),
        ((100, 0.3, 0.1), "lists of equal length"),
    ],
)
def test_wrong_input_is_refused(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        extrapolate(*arguments[:3], **({"order": arguments[3]} if len(arguments) > 3 else {}))
