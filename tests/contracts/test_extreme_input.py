"""What is allowed but extreme is solved, refused or reported as unsolved; it is never a wrong number or a warning."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genlaws.core.errors import ConvergenceError, InputError
from genlaws.rules_facts import Kernel, Solution, bayes_optimal, solve

# The linear model without facts, next to the limit of no regularization: no start is close enough.
UNSOLVABLE = {"sample_ratio": 2000.0, "fact_fraction": 0.0, "regularization": 1e-25}
UNSOLVABLE_ANGLE = math.pi / 2


def assert_names(error, names):
    assert any(name in str(error) for name in names), str(error)


def test_a_point_that_cannot_be_solved_raises_with_its_last_state():
    with pytest.raises(ConvergenceError) as error:
        solve("hinge", kernel=Kernel.from_angle(UNSOLVABLE_ANGLE), **UNSOLVABLE)
    state = error.value.last_state
    assert isinstance(state, Solution)
    assert state.converged is False
    assert math.isnan(state.generalization_error)
    assert state.residual > 1e-10
    assert state.message.startswith("not solved")
    assert f"{state.residual:.2g}" in str(error.value)


def test_in_an_array_it_is_not_a_number_and_stops_no_other():
    kernel = Kernel.from_angle([0.7, UNSOLVABLE_ANGLE])
    found = solve("hinge", kernel=kernel, **UNSOLVABLE)
    assert found.converged.tolist() == [True, False]
    for name in ("generalization_error", "memorization_error", "teacher_overlap", "self_overlap", "response"):
        assert np.isnan(getattr(found, name)[1]), name
    assert np.isfinite(found.generalization_error[0])
    assert found.message[1].startswith("not solved")
    assert "1 of 2 points did not converge." in str(found)


@settings(max_examples=150)
@given(
    loss=st.sampled_from(["square", "hinge"]),
    alpha=st.floats(-3, 5).map(lambda x: 10**x),
    epsilon=st.floats(0, 1),
    angle=st.floats(1e-6, math.pi / 2),
    lam=st.floats(-9, 9).map(lambda x: 10**x) | st.sampled_from([0.0, math.inf]),
    width=st.none() | st.floats(-2, 3).map(lambda x: 10**x),
)
def test_allowed_input_gives_errors_between_nothing_and_a_half(loss, alpha, epsilon, angle, lam, width):
    arguments = {"sample_ratio": alpha, "fact_fraction": epsilon, "regularization": lam, "width_ratio": width}
    try:
        found = solve(loss, kernel=Kernel.from_angle(angle), **arguments)
    except ConvergenceError as error:
        assert error.last_state.converged is False
        return
    assert found.residual <= 1e-10
    assert 0 <= found.generalization_error <= 0.5 + 1e-12
    assert 0 <= found.memorization_error <= 0.5 + 1e-12
    assert found.self_overlap >= found.teacher_overlap**2 * (1 - 1e-12)


EXTREMES = [5e-324, 1e-300, 1e-100, 1e-12, 1.0, 1e12, 1e100, 1e300, sys.float_info.max]


@settings(max_examples=150)
@given(
    alpha=st.sampled_from(EXTREMES),
    epsilon=st.sampled_from([0.0, 5e-324, 1e-17, 0.5, 1 - 2**-53, 1.0]),
    mu_1=st.sampled_from([0.0, *EXTREMES]),
    mu_star=st.sampled_from([0.0, *EXTREMES]),
    lam=st.sampled_from([0.0, *EXTREMES, math.inf]),
    width=st.sampled_from([None, *EXTREMES]),
)
def test_absurd_input_is_solved_or_refused_but_never_warned_about(alpha, epsilon, mu_1, mu_star, lam, width):
    """Warnings are errors here, so a warning from inside the arithmetic would show as another exception."""
    try:
        found = solve(
            "square",
            sample_ratio=alpha,
            fact_fraction=epsilon,
            kernel=Kernel(mu_1, mu_star),
            regularization=lam,
            width_ratio=width,
        )
    except InputError as error:
        assert_names(error, ["sample_ratio", "width_ratio", "mu_1", "mu_star", "kernel", "regularization"])
    except ConvergenceError as error:
        assert error.last_state.converged is False
    else:
        assert 0 <= found.generalization_error <= 0.5 + 1e-12
        assert 0 <= found.memorization_error <= 0.5 + 1e-12


@settings(max_examples=50)
@given(alpha=st.sampled_from(EXTREMES), epsilon=st.sampled_from([0.0, 5e-324, 1e-17, 0.5, 1 - 2**-53, 1.0]))
def test_absurd_input_to_the_bayes_learner(alpha, epsilon):
    try:
        found = bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon)
    except InputError as error:
        assert_names(error, ["sample_ratio"])
    except ConvergenceError as error:
        assert error.last_state is not None
    else:
        assert found.converged
        assert 0 <= found.generalization_error <= 0.5
