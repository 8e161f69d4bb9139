"""What comes back: shapes, plain numbers for plain numbers, tables, and nothing that can be changed."""

import dataclasses

import numpy as np
import pytest

from genlaws.core.plain import parts_of
from genlaws.rules_facts import (
    LOSSES,
    BayesSolution,
    Errors,
    Kernel,
    Loss,
    Solution,
    bayes_optimal,
    infinite_regularization,
    interpolation_threshold,
    large_sample_bayes_error,
    large_sample_error,
    optimal_angle,
    optimal_regularization,
    parameter_for_angle,
    solve,
)

NAMES = [
    "generalization_error",
    "memorization_error",
    "teacher_overlap",
    "self_overlap",
    "response",
    "regularization",
    "converged",
    "residual",
    "iterations",
    "message",
]
PLAIN = dict.fromkeys(NAMES, float) | {"converged": bool, "iterations": int, "message": str}
REGULARIZATIONS = [0.0, 0.1, np.inf, "optimal"]
ALPHA, EPSILON, ANGLE = np.array([0.5, 3.0])[:, None, None], np.array([0.1, 0.3, 1.0])[:, None], np.array([0.4, 1.2])


@pytest.mark.parametrize("regularization", REGULARIZATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_scalars_in_scalars_out(loss, regularization):
    found = solve(loss, sample_ratio=2, fact_fraction=0.2, kernel="erf", regularization=regularization)
    assert isinstance(found, Solution)
    assert list(parts_of(found)) == NAMES
    for name, kind in PLAIN.items():
        assert type(getattr(found, name)) is kind, name
    assert found.shape == ()
    assert found.converged
    assert found.message
    assert f"{found.generalization_error:.6f}" in str(found)


@pytest.mark.parametrize("regularization", REGULARIZATIONS)
@pytest.mark.parametrize("width", [None, 1.5])
def test_arguments_broadcast(regularization, width):
    found = solve(
        "hinge",
        sample_ratio=ALPHA,
        fact_fraction=EPSILON,
        kernel=Kernel.from_angle(ANGLE),
        regularization=regularization,
        width_ratio=width,
    )
    assert found.shape == (2, 3, 2)
    for name in NAMES:
        assert getattr(found, name).shape == (2, 3, 2), name
    assert found.converged.dtype == bool
    assert np.issubdtype(found.iterations.dtype, np.integer)
    one = solve(
        "hinge",
        sample_ratio=3.0,
        fact_fraction=0.3,
        kernel=Kernel.from_angle(1.2),
        regularization=regularization,
        width_ratio=width,
    )
    # The optimum of one point is searched for as that of many: to the flatness of a minimum.
    assert found.generalization_error[1, 1, 1] == pytest.approx(one.generalization_error, rel=1e-10)
    assert found.memorization_error[1, 1, 1] == pytest.approx(one.memorization_error, rel=1e-5)


@pytest.mark.parametrize("loss", ["square", "hinge", "squared_hinge"])
def test_one_call_with_every_kind_of_regularization(loss):
    lam = np.array([0.0, 1e-6, 0.1, 10.0, np.inf])
    for kernel in (None, "erf", Kernel(0.0, 1.0)):
        for width in (None, 0.8):
            arguments = {"sample_ratio": 3.0, "fact_fraction": 0.2, "kernel": kernel, "width_ratio": width}
            together = solve(loss, regularization=lam, **arguments)
            for i, each in enumerate(lam):
                alone = solve(loss, regularization=each, **arguments)
                for name in ("generalization_error", "memorization_error", "self_overlap", "response"):
                    value, wanted = getattr(together, name)[i], getattr(alone, name)
                    assert value == pytest.approx(wanted, rel=1e-9, nan_ok=True), (name, kernel, width, each)
                assert together.message[i] == alone.message


def test_nothing_asked_nothing_answered():
    for regularization in REGULARIZATIONS:
        found = solve("hinge", sample_ratio=[], fact_fraction=0.2, regularization=regularization)
        assert found.shape == (0,)
        assert len(found.to_frame()) == 0


def test_results_cannot_be_changed():
    found = solve("square", sample_ratio=[1.0, 2.0], fact_fraction=0.2)
    bayes = bayes_optimal(sample_ratio=1.0, fact_fraction=0.2)
    for result in (found, bayes, LOSSES["hinge"]()):
        first = dataclasses.fields(result)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, first, 0.0)
    limit = infinite_regularization(sample_ratio=1.0, fact_fraction=0.2)
    with pytest.raises(AttributeError):
        limit.generalization_error = 0.0


def test_tables_have_a_row_per_element_in_order():
    found = solve("square", sample_ratio=ALPHA, fact_fraction=EPSILON, kernel=Kernel.from_angle(ANGLE))
    frame = found.to_frame()
    inputs = ["sample_ratio", "fact_fraction", "kernel_angle", "mu_1", "mu_star"]
    assert len(frame) == 12
    assert list(frame.columns) == [
        "loss",
        *inputs,
        "regularization",
        *[name for name in NAMES if name != "regularization"],
    ]
    np.testing.assert_array_equal(frame["generalization_error"], found.generalization_error.ravel())
    assert len(solve("square", sample_ratio=1.0, fact_fraction=0.2).to_frame()) == 1
    bayes = bayes_optimal(sample_ratio=ALPHA, fact_fraction=EPSILON)
    assert len(bayes.to_frame()) == 6
    assert list(bayes.to_frame().columns) == ["sample_ratio", "fact_fraction", *parts_of(bayes)]
    assert len(bayes_optimal(sample_ratio=1.0, fact_fraction=0.2).to_frame()) == 1


def test_an_array_says_how_many_failed():
    found = solve("hinge", sample_ratio=[1.0, 2.0], fact_fraction=0.2, regularization=0.1)
    assert "did not converge" not in str(found)
    assert str(found).count("\n") == 2  # a header and a row for each point


FUNCTIONS = {
    "bayes_optimal": (bayes_optimal, ("sample_ratio", "fact_fraction")),
    "infinite_regularization": (infinite_regularization, ("sample_ratio", "fact_fraction")),
    "interpolation_threshold": (interpolation_threshold, ("fact_fraction", "width_ratio")),
    "large_sample_bayes_error": (large_sample_bayes_error, ("sample_ratio", "fact_fraction")),
    "large_sample_error": (large_sample_error, ("sample_ratio", "fact_fraction")),
    "optimal_angle": (optimal_angle, ("fact_fraction", "sample_ratio")),
    "optimal_regularization": (optimal_regularization, ("sample_ratio", "fact_fraction")),
}


def first_value(result):
    if isinstance(result, BayesSolution | Errors):
        return result.generalization_error
    return result


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_broadcasts_and_keeps_scalars(name):
    function, (first, second) = FUNCTIONS[name]
    one = first_value(function(**{first: 0.5, second: 0.25}))
    many = first_value(function(**{first: np.array([[0.5], [0.75]]), second: np.array([0.25, 0.3, 0.4])}))
    assert type(one) is float
    assert many.shape == (2, 3)
    assert many[0, 0] == pytest.approx(one, rel=1e-12)


def test_parameters_for_angles_keep_their_shape():
    assert np.shape(parameter_for_angle("gaussian", 0.7)) == ()
    assert np.shape(parameter_for_angle("gaussian", [[0.7, 0.8]])) == (1, 2)


def test_inputs_are_left_alone():
    alpha, epsilon, lam = np.array([0.5, 3.0]), np.array([0.1, 0.2]), np.array([0.0, 1.0])
    for array in (alpha, epsilon, lam):
        array.flags.writeable = False
    for loss in ("square", "hinge"):
        solve(loss, sample_ratio=alpha, fact_fraction=epsilon, regularization=lam)
        solve(loss, sample_ratio=alpha, fact_fraction=epsilon, regularization=lam, width_ratio=2.0)
        solve(loss, sample_ratio=alpha, fact_fraction=epsilon)
    bayes_optimal(sample_ratio=alpha, fact_fraction=epsilon)
    assert alpha.tolist() == [0.5, 3.0]
    assert lam.tolist() == [0.0, 1.0]


def test_a_loss_of_ones_own_is_a_plain_value():
    mine = Loss("mine", lambda u, V: u + V)
    assert mine.limit == "unknown"
    assert dataclasses.replace(mine, limit="margin").limit == "margin"
