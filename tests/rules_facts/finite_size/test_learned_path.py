"""Errors of a learner along a path: counted once more by hand, and on the curves of the theory."""

import numpy as np
import pytest
from sklearn.svm import SVC

from genlaws.core.errors import InputError
from genlaws.rules_facts import solve
from genlaws.rules_facts.finite_size import (
    DrawProducts,
    FeatureLayer,
    gram_matrix,
    hinge_path,
    learn_path,
    path_errors,
    ridge_path,
)
from genlaws.rules_facts.finite_size.learned_path import sign_error
from genlaws.rules_facts.labels.task import Draw, draw_gaussian

PATH = np.array([0.01, 0.3, 2.0, 50.0])
# Standard errors a mean over draws may be away from the theory, and the finite-size terms of ε_gen and ε_mem in units
# of 1/d: the same as for learners that are trained without this library.
DEVIATIONS = 4.0
FINITE_SIZE = np.array([1.5, 2.5])
DIMENSION, RUNS = 150, 20
# The widest a bound may become; the errors themselves lie between 0.06 and 0.3.
COARSEST = 0.05


@pytest.fixture(scope="module")
def draw():
    return draw_gaussian(30, 3.0, 0.4, test_count=200, seed=3)


def wrong(outputs, labels):
    return np.mean(np.sign(outputs) != labels)


def assert_errors(path, column, draw, trained, fresh):
    assert path.generalization_error[column] == wrong(fresh, draw.test_labels)
    assert path.memorization_error[column] == wrong(trained[draw.is_fact], draw.labels[draw.is_fact])
    assert path.training_error[column] == wrong(trained, draw.labels)


@pytest.mark.parametrize(("kernel", "normalize"), [(None, False), ("erf", False), ("gaussian:1.0", True)])
def test_ridge_errors_are_those_of_a_direct_solve(draw, kernel, normalize):
    path = learn_path(draw, regularization=PATH, kernel=kernel, normalize=normalize, leave_one_out=True)
    train = gram_matrix(kernel, draw.inputs, normalize=normalize)
    test = gram_matrix(kernel, draw.test_inputs, draw.inputs, normalize=normalize)
    for column, lam in enumerate(PATH):
        a = np.linalg.solve(train + lam * np.eye(len(train)), draw.labels)
        assert_errors(path, column, draw, train @ a, test @ a)
        left_out = draw.labels - a / np.diagonal(np.linalg.inv(train + lam * np.eye(len(train))))
        assert path.leave_one_out_error[column] == wrong(left_out, draw.labels)
    assert path.converged.all()
    assert not path.duality_gap.any()
    assert (np.diff(path.effective_dimension) < 0).all()


def test_hinge_errors_are_those_of_the_usual_machine():
    # Symmetric data, so that the offset of the usual machine vanishes.
    half = draw_gaussian(20, 2.0, 0.4, test_count=300, seed=1)
    twice = Draw(
        np.concatenate([half.inputs, -half.inputs]),
        np.concatenate([half.labels, -half.labels]),
        np.concatenate([half.is_fact, half.is_fact]),
        half.test_inputs,
        half.test_labels,
    )
    path = learn_path(twice, loss="hinge", regularization=PATH, tolerance=1e-9)
    train, test = gram_matrix("linear", twice.inputs), gram_matrix("linear", twice.test_inputs, twice.inputs)
    for column, lam in enumerate(PATH):
        machine = SVC(kernel="precomputed", C=1 / lam, tol=1e-8).fit(train, twice.labels)
        assert_errors(path, column, twice, machine.decision_function(train), machine.decision_function(test))
    assert (path.duality_gap <= 1e-9).all()
    assert np.isnan(path.leave_one_out_error).all()


@pytest.mark.parametrize("loss", ["square", "hinge"])
def test_random_features_are_the_layer_of_the_same_seed(draw, loss):
    path = learn_path(draw, loss=loss, regularization=PATH, activation="relu", width=70, seed=5)
    layer = FeatureLayer.draw("relu", 70, draw.dimension, 5)
    train, test = layer(draw.inputs), layer(draw.test_inputs)
    for column, lam in enumerate(PATH):
        if loss == "square":
            weights = np.linalg.solve(train.T @ train + lam * np.eye(70), train.T @ draw.labels)
        else:
            weights = train.T @ hinge_path(train @ train.T, draw.labels, lam).coefficients[:, 0]
        assert_errors(path, column, draw, train @ weights, test @ weights)


CASES = {
    "ridge, erf": ("square", {"kernel": "erf", "regularization": 0.3}, 2.0),
    "machine, gaussian": ("hinge", {"kernel": "gaussian:1.5", "regularization": 0.5}, 2.0),
    "machine, linear": ("hinge", {"regularization": 0.05}, 4.0),
    "ridge, features": ("square", {"activation": "erf", "regularization": 0.05, "width": 2 * DIMENSION}, 3.0),
}


@pytest.mark.parametrize("name", CASES)
def test_learners_follow_the_theory(name):
    loss, arguments, alpha = CASES[name]
    found = []
    for seed in range(RUNS):
        draw = draw_gaussian(DIMENSION, alpha, 0.3, test_count=3000, seed=seed)
        path = learn_path(draw, loss=loss, normalize=True, seed=seed, **arguments)
        assert path.converged.all()
        found.append([path.generalization_error[0], path.memorization_error[0]])
    kernel = arguments.get("kernel", arguments.get("activation"))
    theory = solve(
        loss,
        sample_ratio=alpha,
        fact_fraction=0.3,
        kernel=kernel,
        regularization=arguments["regularization"],
        **({"width_ratio": 2.0} if "width" in arguments else {}),
    )
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(RUNS)
    bound = DEVIATIONS * error + FINITE_SIZE / DIMENSION
    assert (np.abs(mean - [theory.generalization_error, theory.memorization_error]) <= bound).all(), (mean, error)
    assert (bound < COARSEST).all()


def test_products_are_shared(draw):
    shared = DrawProducts.of(draw, normalize=True)
    for kernel in ("relu", "gaussian:0.5"):
        one = learn_path(draw, regularization=PATH, kernel=kernel, products=shared)
        other = learn_path(draw, regularization=PATH, kernel=kernel, normalize=True)
        assert one.to_frame().equals(other.to_frame())


def test_a_matrix_of_ones_own_is_taken(draw):
    train = gram_matrix("relu", draw.inputs)
    test = gram_matrix("relu", draw.test_inputs, draw.inputs)
    frame = path_errors(draw, train=train, test=test, loss="square", regularization=PATH).to_frame()
    assert frame.equals(learn_path(draw, regularization=PATH, kernel="relu").to_frame())
    assert list(frame["regularization"]) == list(PATH)
    assert frame.columns.tolist()[1:4] == ["generalization_error", "memorization_error", "training_error"]


def test_no_regularization_is_allowed_for_the_square_loss(draw):
    path = learn_path(draw, regularization=0.0, kernel="relu")
    assert path.training_error[0] == 0
    assert path.memorization_error[0] == 0
    with pytest.raises(InputError, match="regularization must be positive"):
        learn_path(draw, loss="hinge", regularization=0.0, kernel="relu")


def test_without_facts_nothing_can_be_remembered():
    draw = draw_gaussian(10, 2.0, 0.0, seed=0)
    path = learn_path(draw, regularization=PATH)
    assert np.isnan(path.memorization_error).all()
    assert np.isfinite(path.generalization_error).all()


def test_an_output_of_zero_is_half_an_error():
    outputs = np.array([[1.0, 0.0], [-2.0, 0.0], [0.5, 3.0], [0.0, -1.0]])
    assert sign_error(outputs, np.array([1.0, 1.0, 1.0, -1.0])).tolist() == [0.375, 0.25]
    assert np.isnan(sign_error(np.empty((0, 2)), np.empty(0))).all()


def test_labels_of_one_class_are_learned(draw):
    same = Draw(draw.inputs, np.ones(draw.sample_count), draw.is_fact, draw.test_inputs, draw.test_labels)
    for loss in ("square", "hinge"):
        path = learn_path(same, loss=loss, regularization=0.01, kernel="gaussian:1.0")
        assert path.training_error[0] == 0
    single = Draw(draw.inputs[:1], [1.0], [True], draw.test_inputs, draw.test_labels)
    assert learn_path(single, regularization=PATH, kernel="relu").memorization_error.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"loss": "logistic"}, "loss must be one of square, hinge; got 'logistic'"),
        ({"activation": "relu"}, "Give either a kernel, or an activation and a width"),
        ({"width": 10}, "Give either a kernel, or an activation and a width"),
        ({"activation": "relu", "width": 10, "kernel": "erf"}, "Give either a kernel, or an activation and a width"),
        ({"loss": "hinge", "leave_one_out": True}, "leave_one_out must be false for the hinge loss"),
        ({"regularization": -1.0}, "regularization must be zero or positive"),
        ({"kernel": "geometric:0.5"}, "use normalize=True"),
    ],
)
def test_bad_arguments_are_refused(draw, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        learn_path(draw, **({"regularization": 1.0} | arguments))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"loss": "Hinge"}, "loss must be one of square, hinge"),
        ({"test": np.ones((200, 3))}, r"test must have a row per test input .*\(200, 90\); got \(200, 3\)"),
        ({"train": np.eye(5)}, "labels must be 5 numbers"),
    ],
)
def test_matrices_that_do_not_belong_to_the_draw_are_refused(draw, changes, sentence):
    arguments = {"train": np.eye(90), "test": np.ones((200, 90)), "loss": "square", "regularization": 1.0} | changes
    with pytest.raises(InputError, match=sentence):
        path_errors(draw, **arguments)


def test_the_path_is_that_of_the_solver(draw):
    train = gram_matrix("erf", draw.inputs)
    solver = ridge_path(train, draw.labels, PATH)
    np.testing.assert_array_equal(
        learn_path(draw, regularization=PATH, kernel="erf").effective_dimension, solver.effective_dimension
    )
