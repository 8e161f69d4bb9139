"""The scikit-learn classifiers: scikit-learn's own contract, other implementations, memory, and bad input."""

import subprocess
import sys
import tracemalloc
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size import FeatureLayer, estimators, gram_matrix, hinge_path
from genlaws.rules_facts.finite_size.estimators import (
    KernelRidgeClassifier,
    KernelSvmClassifier,
    RandomFeaturesClassifier,
)
from genlaws.rules_facts.kernels.kernel import Kernel

CLOSE = 1e-8  # two direct solves of the same well-conditioned system
# A relative gap of 1e-10 leaves outputs about its root away from the optimum.
TIGHT, OUTPUT = 1e-10, 1e-4

EACH = [
    KernelRidgeClassifier(),
    KernelRidgeClassifier(kernel="linear", regularization=0.0),
    KernelRidgeClassifier(kernel="relu", normalize=False),
    KernelSvmClassifier(),
    KernelSvmClassifier(kernel="linear", regularization=0.1),
    RandomFeaturesClassifier(),
    RandomFeaturesClassifier(activation="erf", width=15, regularization=0.01),
    RandomFeaturesClassifier(loss="hinge", width=60),
]


@parametrize_with_checks(EACH)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(6)
    inputs = rng.normal(size=(60, 8))
    signs = np.where(inputs[:, 0] + 0.7 * rng.normal(size=60) > 0, 1, -1)
    return inputs, signs, rng.normal(size=(40, 8))


# Against other implementations


@pytest.mark.parametrize("kernel", ["gaussian:1.0", "relu", "linear", None, Kernel(0.5, 1.0), "polynomial:2"])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("count", [5, 60])
def test_kernel_ridge_is_that_of_scikit_learn(data, kernel, normalize, count):
    inputs, signs, fresh = data[0][:count], data[1][:count], data[2]
    ours = KernelRidgeClassifier(kernel, 0.3, normalize).fit(inputs, signs)
    theirs = KernelRidge(alpha=0.3, kernel="precomputed").fit(gram_matrix(kernel, inputs, normalize=normalize), signs)
    expected = theirs.predict(gram_matrix(kernel, fresh, inputs, normalize=normalize))
    np.testing.assert_allclose(ours.decision_function(fresh), expected, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("width", [20, 60, 200])
@pytest.mark.parametrize("regularization", [0.01, 1.0])
def test_random_features_are_ridge_regression_on_the_layer(data, width, regularization):
    inputs, signs, fresh = data
    ours = RandomFeaturesClassifier("erf", width, "square", regularization, random_state=3).fit(inputs, signs)
    layer = FeatureLayer(ours.random_weights_, *estimators.read_activation("erf"))
    theirs = Ridge(alpha=regularization, fit_intercept=False).fit(layer(inputs), signs)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(ours.decision_function(fresh), theirs.predict(layer(fresh)), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("normalize", [False, True])
def test_machines_are_those_of_scikit_learn_where_the_offset_vanishes(data, normalize):
    inputs, signs, fresh = np.concatenate([data[0], -data[0]]), np.concatenate([data[1], -data[1]]), data[2]
    ours = KernelSvmClassifier("linear", 0.2, normalize, tolerance=TIGHT).fit(inputs, signs)
    theirs = SVC(kernel="precomputed", C=5.0, tol=1e-8)
    theirs.fit(gram_matrix("linear", inputs, normalize=normalize), signs)
    expected = theirs.decision_function(gram_matrix("linear", fresh, inputs, normalize=normalize))
    np.testing.assert_allclose(ours.decision_function(fresh), expected, rtol=0, atol=OUTPUT)


@pytest.mark.parametrize("kernel", ["relu", "linear"])
def test_a_machine_is_one_point_of_the_path(data, kernel):
    inputs, signs, fresh = data
    ours = KernelSvmClassifier(kernel, 0.05).fit(inputs, signs)
    path = hinge_path(gram_matrix(kernel, inputs), signs, 0.05)
    expected = gram_matrix(kernel, fresh, inputs) @ path.coefficients[:, 0]
    np.testing.assert_allclose(ours.decision_function(fresh), expected, rtol=0, atol=CLOSE)
    assert ours.duality_gap_ == path.duality_gap[0] <= ours.tolerance
    assert ours.n_iter_ == path.iterations[0] <= ours.iteration_cap
    np.testing.assert_array_equal(ours.support_, np.flatnonzero(path.coefficients[:, 0]))
    assert 0 < len(ours.support_) < 60


def test_a_machine_on_features_is_the_machine_of_their_gram_matrix(data):
    inputs, signs, fresh = data
    ours = RandomFeaturesClassifier("relu", 30, "hinge", 0.1, random_state=0).fit(inputs, signs)
    layer = FeatureLayer(ours.random_weights_, *estimators.read_activation("relu"))
    path = hinge_path(layer(inputs) @ layer(inputs).T, signs, 0.1)
    expected = layer(fresh) @ layer(inputs).T @ path.coefficients[:, 0]
    np.testing.assert_allclose(ours.decision_function(fresh), expected, rtol=0, atol=CLOSE)
    assert ours.duality_gap_ <= 1e-5


@pytest.mark.parametrize("regularization", [0.0, 1e-14])
@pytest.mark.parametrize("count", [4, 60])
def test_no_regularization_is_the_smallest_weight_that_fits_best(data, regularization, count):
    inputs, signs, fresh = data[0][:count], data[1][:count], data[2]
    weights = np.linalg.lstsq(inputs, signs, rcond=None)[0]
    ours = KernelRidgeClassifier("linear", regularization).fit(inputs, signs)
    np.testing.assert_allclose(ours.coef_, weights, rtol=0, atol=CLOSE)
    wide = KernelRidgeClassifier("relu", regularization).fit(inputs, signs)
    np.testing.assert_allclose(wide.decision_function(inputs), signs, rtol=0, atol=1e-6)
    narrow = RandomFeaturesClassifier("linear", 5, "square", regularization, random_state=1).fit(inputs, signs)
    features = inputs @ narrow.random_weights_.T / np.sqrt(8 * 5)
    expected = (fresh @ narrow.random_weights_.T / np.sqrt(40)) @ np.linalg.lstsq(features, signs, rcond=None)[0]
    np.testing.assert_allclose(narrow.decision_function(fresh), expected, rtol=0, atol=1e-6)


# Classes


@pytest.mark.parametrize("classes", [("cat", "dog"), (False, True), (3, 7), (-1.0, 1.0), (0, 1)])
@pytest.mark.parametrize(
    "estimator", [KernelRidgeClassifier(), KernelSvmClassifier(), RandomFeaturesClassifier(random_state=0)]
)
def test_any_two_classes_are_told_apart(data, classes, estimator):
    inputs, signs, fresh = data
    named = np.array(classes)[(signs > 0).astype(int)]
    fitted, plain = clone(estimator).fit(inputs, named), clone(estimator).fit(inputs, signs)
    assert fitted.classes_.tolist() == list(classes)
    np.testing.assert_array_equal(fitted.decision_function(fresh), plain.decision_function(fresh))
    expected = np.array(classes)[(plain.predict(fresh) > 0).astype(int)]
    assert fitted.predict(fresh).tolist() == expected.tolist()
    assert {*fitted.predict(fresh).tolist()} == {*classes}
    assert fitted.n_features_in_ == 8


@pytest.mark.parametrize("estimator", EACH)
@pytest.mark.parametrize(
    ("inputs", "classes", "sentence"),
    [
        (np.eye(3), [1, 1, 1], "Only binary classification is supported. y must have two classes; got 1 class"),
        (np.eye(3), [1, 2, 3], "Only binary classification is supported. y must have two classes; got 3 classes"),
        (np.ones((1, 3)), [1], "got 1 class"),
        (np.eye(3), [0.5, 0.1, 0.2], "Unknown label type"),
        (np.eye(3), [1, -1], "inconsistent numbers of samples"),
        ([[1.0, np.nan], [1.0, 2.0]], [1, -1], "contains NaN"),
    ],
)
def test_a_training_set_without_two_classes_is_refused(estimator, inputs, classes, sentence):
    with pytest.raises(ValueError, match=sentence):
        clone(estimator).fit(inputs, classes)


@pytest.mark.parametrize(
    ("estimator", "sentence"),
    [
        (KernelRidgeClassifier(regularization=-1.0), "regularization must be zero or positive"),
        (KernelRidgeClassifier(regularization=[1.0, 2.0]), "regularization must be a single number"),
        (KernelRidgeClassifier(regularization="strong"), "regularization must be a real number"),
        (KernelRidgeClassifier(kernel="geometric:0.5"), "use normalize=True"),
        (KernelRidgeClassifier(kernel="rbf"), "kernel must be one of"),
        (KernelRidgeClassifier(kernel=lambda t: -t, normalize=True), "positive semi-definite"),
        (KernelSvmClassifier(regularization=0.0), "regularization must be positive"),
        (KernelSvmClassifier(tolerance=-1.0), "tolerance must be positive"),
        (KernelSvmClassifier(iteration_cap=0), "iteration_cap must be a whole number"),
        (RandomFeaturesClassifier(width=0), "width must be a whole number, at least 1"),
        (RandomFeaturesClassifier(activation="step"), "activation must be a function or one of"),
        (RandomFeaturesClassifier(loss="log"), "loss must be one of square, hinge"),
        (RandomFeaturesClassifier(loss="hinge", regularization=0.0), "regularization must be positive"),
    ],
)
def test_bad_parameters_are_refused_when_fitting(data, estimator, sentence):
    with pytest.raises(InputError, match=sentence):
        estimator.fit(data[0], data[1])


@pytest.mark.parametrize("estimator", [KernelRidgeClassifier(normalize=True), KernelSvmClassifier(normalize=True)])
@pytest.mark.parametrize("kernel", ["relu", "linear"])
def test_a_row_of_zeros_cannot_be_normalized(data, estimator, kernel):
    estimator = clone(estimator).set_params(kernel=kernel).fit(data[0], data[1])
    with pytest.raises(InputError, match="X must have a direction; 1 rows are zero"):
        estimator.predict(np.vstack([data[2], np.zeros(8)]))
    with pytest.raises(InputError, match="X must have a direction"):
        estimator.fit(np.vstack([data[0][:-1], np.zeros(8)]), data[1])


# Training and predicting in blocks


@pytest.mark.parametrize("estimator", EACH)
def test_outputs_do_not_depend_on_the_blocks(data, estimator, monkeypatch):
    inputs, signs, fresh = data
    fitted = clone(estimator).set_params(**{"random_state": 0} if hasattr(estimator, "random_state") else {})
    whole = fitted.fit(inputs, signs).decision_function(fresh)
    monkeypatch.setattr(estimators, "BLOCK_ENTRIES", 130)
    np.testing.assert_allclose(fitted.decision_function(fresh), whole, rtol=0, atol=1e-11)
    np.testing.assert_allclose(fitted.fit(inputs, signs).decision_function(fresh), whole, rtol=0, atol=CLOSE)


def peak_memory(action):
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("estimator", [KernelRidgeClassifier("linear"), RandomFeaturesClassifier(width=20)])
def test_few_features_are_never_compared_sample_by_sample(estimator):
    rng = np.random.default_rng(0)
    inputs, signs = rng.normal(size=(20_000, 5)), rng.choice([-1, 1], 20_000)
    # A matrix of samples by samples would take 3.2 GB.
    assert peak_memory(lambda: estimator.fit(inputs, signs)) < 50e6


@pytest.mark.parametrize("estimator", EACH)
def test_predictions_are_streamed(data, estimator, monkeypatch):
    fitted = clone(estimator).fit(data[0], data[1])
    fresh = np.random.default_rng(1).normal(size=(30_000, 8))
    monkeypatch.setattr(estimators, "BLOCK_ENTRIES", 2**14)
    # All of them at once would take 7 MB for fifteen features, 14 MB for sixty samples and more for the others.
    assert peak_memory(lambda: fitted.decision_function(fresh)) < 3.2e6


# Behavior among scikit-learn's tools


def test_regularization_and_kernel_can_be_searched(data):
    pipeline = make_pipeline(StandardScaler(), KernelRidgeClassifier())
    grid = {
        "kernelridgeclassifier__regularization": [0.1, 1.0],
        "kernelridgeclassifier__kernel": ["linear", "relu", Kernel(1.0, 0.5)],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(data[0], data[1])
    assert search.best_score_ > 0.6
    assert set(search.predict(data[2])) == {-1, 1}


def test_the_random_state_settles_the_layer(data):
    inputs, signs, _ = data
    first, again, other = (
        RandomFeaturesClassifier(width=9, random_state=seed).fit(inputs, signs).random_weights_ for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    moving = RandomFeaturesClassifier(width=9, random_state=np.random.RandomState(1))
    np.testing.assert_array_equal(moving.fit(inputs, signs).random_weights_, first)
    assert not np.array_equal(moving.fit(inputs, signs).random_weights_, first)


def test_fitting_again_with_another_kernel_forgets_the_first(data):
    inputs, signs, fresh = data
    estimator = KernelRidgeClassifier("relu").fit(inputs, signs)
    estimator.set_params(kernel="linear").fit(inputs, signs)
    expected = KernelRidgeClassifier("linear").fit(inputs, signs).decision_function(fresh)
    np.testing.assert_array_equal(estimator.decision_function(fresh), expected)


@pytest.mark.parametrize(
    "estimator", [KernelSvmClassifier("linear", 1e-5), RandomFeaturesClassifier("linear", 8, "hinge", 1e-5)]
)
def test_a_machine_that_is_not_finished_warns(data, estimator, monkeypatch):
    monkeypatch.setattr(estimators, "hinge_path", partial(hinge_path, interior_cap=0))
    noise = np.random.default_rng(0).choice([-1, 1], 60)
    with pytest.warns(ConvergenceWarning, match="relative duality gap is .*, above the tolerance"):
        estimator.fit(data[0], noise)
    assert estimator.duality_gap_ > 1e-5
    assert estimator.interior_steps_ == 0


def in_a_new_process(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_the_rest_of_the_library_does_without_scikit_learn():
    done = in_a_new_process("import sys, genlaws.rules_facts.finite_size; assert 'sklearn' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_a_missing_scikit_learn_is_named():
    hide = "import sys; sys.modules['sklearn'] = None\n"
    done = in_a_new_process(hide + "import genlaws.rules_facts.finite_size.estimators")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == (
        "ImportError: The classifiers need scikit-learn 1.6 or newer; install it with pip install 'scikit-learn>=1.6'."
    )
