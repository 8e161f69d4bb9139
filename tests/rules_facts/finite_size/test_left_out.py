"""Outputs for samples not trained on: retrained one by one, against another solver, and dealt evenly."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from genlaws.core.errors import InputError
from genlaws.rules_facts import draw_gaussian
from genlaws.rules_facts.finite_size import left_out_outputs
from genlaws.rules_facts.finite_size.left_out import _assign_folds

EXACT = 1e-9
# The gap of both solvers bounds the objective; outputs follow with its square root.
SOLVED = 5e-3


@pytest.fixture(scope="module")
def small():
    draw = draw_gaussian(6, 4.0, 0.3, test_count=1, seed=3)
    return draw.inputs, draw.labels


def test_each_sample_is_left_out_of_ridge_regression(small):
    inputs, labels = small
    gram = np.exp(inputs @ inputs.T / 6)
    lam = np.array([1e-3, 0.1, 10.0])
    found = left_out_outputs(gram, labels, "square", lam)
    for i in range(len(labels)):
        rest = np.arange(len(labels)) != i
        for column, shift in enumerate(lam):
            weights = np.linalg.solve(gram[np.ix_(rest, rest)] + shift * np.eye(rest.sum()), labels[rest])
            assert found[i, column] == pytest.approx(gram[i, rest] @ weights, rel=EXACT, abs=EXACT)


def test_each_fold_is_left_out_of_the_support_vector_machine(small):
    inputs, labels = small
    lam = np.array([0.05, 1.0])
    found = left_out_outputs(inputs @ inputs.T, labels, "hinge", lam, folds=4, tolerance=1e-9, seed=5)
    part = _assign_folds(labels, 4, 5)
    for fold in range(4):
        seen = part != fold
        for column, shift in enumerate(lam):
            machine = LinearSVC(loss="hinge", C=1 / shift, fit_intercept=False, tol=1e-10, max_iter=500_000)
            machine.fit(inputs[seen], labels[seen])
            assert found[~seen, column] == pytest.approx(machine.decision_function(inputs[~seen]), abs=SOLVED)


@pytest.mark.parametrize("folds", [2, 5, 7])
def test_every_label_is_assign_folds_evenly(folds):
    labels = np.where(np.arange(61) % 3 == 0, 1.0, -1.0)
    part = _assign_folds(labels, folds, 0)
    for sign in (1.0, -1.0):
        counts = np.bincount(part[labels == sign], minlength=folds)
        assert counts.max() - counts.min() <= 1
    assert (part == _assign_folds(labels, folds, 0)).all()
    assert (part != _assign_folds(labels, folds, 1)).any()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"loss": "logistic"}, "loss must be one of square, hinge"),
        ({"folds": 1}, "folds must be a whole number, at least 2"),
        ({"folds": 20}, "folds must not exceed the number of samples of either label; got 20"),
        ({"labels": np.zeros(24)}, r"labels must be \+1 or -1"),
        ({"labels": np.ones(3)}, "labels must be 24 numbers"),
        ({"gram": np.ones((24, 3))}, "gram must be a square matrix"),
        ({"regularization": [-1.0]}, "regularization must be zero or positive"),
        ({"regularization": [0.0]}, "regularization must be positive"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_bad_input_is_refused(small, change, sentence):
    inputs, labels = small
    valid = {"gram": inputs @ inputs.T, "labels": labels, "loss": "hinge", "regularization": [1.0]}
    with pytest.raises(InputError, match=sentence):
        left_out_outputs(**valid | change)
