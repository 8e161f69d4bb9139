"""Ridge regression along a path: every λ against a direct solve, the limit λ → 0, and samples really left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg
from sklearn.kernel_ridge import KernelRidge

from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size.gram import gram_matrix
from genlaws.rules_facts.finite_size.ridge import Spectrum, ridge_path, ridge_solution, ridge_weights

# Backward stable solves of condition up to 1e6 keep ten digits.
CLOSE = 1e-9
# At λ = 1e-9 of the largest eigenvalue a singular matrix has six digits (NEGLIGIBLE_SHIFT_SHARE); below, more again.
LOST = 1e-5
PATH = np.geomspace(1e-4, 1e3, 15)
KERNELS = {"linear, full rank": ("linear", 30, 50), "linear, low rank": ("linear", 30, 7), "relu": ("relu", 30, 7)}


def problem(name, seed=0, count=None):
    kernel, n, d = KERNELS[name]
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(count or n, d))
    return gram_matrix(kernel, inputs), rng.choice([-1.0, 1.0], count or n)


def left_out(gram, labels, lam):
    """Predict each sample by the learner trained on the others; the pseudo-inverse is the limit λ → 0."""
    out = np.empty(len(labels))
    for i in range(len(labels)):
        rest = np.delete(np.arange(len(labels)), i)
        matrix = gram[np.ix_(rest, rest)] + lam * np.eye(len(rest))
        out[i] = gram[i, rest] @ np.linalg.pinv(matrix, rcond=1e-11, hermitian=True) @ labels[rest]
    return out


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("count", [1, 2, 3, 30])
@pytest.mark.parametrize("leave_one_out", [False, True])
def test_every_regularization_is_a_direct_solve(name, count, leave_one_out):
    gram, labels = problem(name, count=count)
    path = ridge_path(gram, labels, PATH, leave_one_out=leave_one_out)
    for lam, a, fitted in zip(PATH, path.coefficients.T, path.fitted.T, strict=True):
        np.testing.assert_allclose(
            a, linalg.solve(gram + lam * np.eye(count), labels, assume_a="pos"), rtol=0, atol=CLOSE / lam
        )
        theirs = KernelRidge(alpha=lam, kernel="precomputed").fit(gram, labels)
        np.testing.assert_allclose(a, theirs.dual_coef_, rtol=0, atol=CLOSE / lam)
        np.testing.assert_allclose(fitted, theirs.predict(gram), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("name", KERNELS)
def test_the_effective_dimension_is_a_trace(name):
    gram, labels = problem(name)
    path = ridge_path(gram, labels, PATH)
    for lam, found in zip(PATH, path.effective_dimension, strict=True):
        assert found == pytest.approx(np.trace(gram @ linalg.inv(gram + lam * np.eye(len(gram)))), abs=1e-8)
    np.testing.assert_allclose(
        path.eigenvalues, np.maximum(np.linalg.eigvalsh(gram), 0), rtol=0, atol=1e-12 * len(gram)
    )


@pytest.mark.parametrize("leave_one_out", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_no_regularization_is_the_limit(name, leave_one_out):
    gram, labels = problem(name)
    path = ridge_path(gram, labels, [0.0, 1e-6], leave_one_out=leave_one_out)
    inverse = np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
    scale = np.abs(inverse).max()
    np.testing.assert_allclose(path.coefficients[:, 0], inverse @ labels, rtol=0, atol=CLOSE * scale)
    np.testing.assert_allclose(path.fitted[:, 0], gram @ inverse @ labels, rtol=0, atol=CLOSE)
    # At a small λ it is off by λ times the square of the inverse, in either quantity.
    np.testing.assert_allclose(path.fitted[:, 1], path.fitted[:, 0], rtol=0, atol=1e-6 * scale * len(gram))
    rank = np.linalg.matrix_rank(gram)
    assert path.effective_dimension[0] == pytest.approx(rank)
    if rank == len(gram):
        np.testing.assert_allclose(path.fitted[:, 0], labels, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("lam", [1e-300, 1e-30, 1e-15, 1e-13, 1e-11, 1e-9, 1e-8])
def test_a_singular_matrix_is_not_fitted_beyond_its_range_by_a_tiny_regularization(lam):
    rng = np.random.default_rng(2)
    inputs, fresh = rng.normal(size=(40, 6)), rng.normal(size=(20, 6))
    labels = rng.choice([-1.0, 1.0], 40)
    weights = np.linalg.solve(inputs.T @ inputs / 6 + lam * np.eye(6), inputs.T @ labels / 6)
    path = ridge_path(gram_matrix("linear", inputs), labels, [lam])
    np.testing.assert_allclose(path.fitted[:, 0], inputs @ weights, rtol=0, atol=LOST)
    np.testing.assert_allclose(
        gram_matrix("linear", fresh, inputs) @ path.coefficients[:, 0], fresh @ weights, rtol=0, atol=LOST
    )


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("lam", [0.0, 1e-13, 1e-3, 0.5, 100.0])
def test_leaving_one_out_is_training_without_it(name, lam):
    gram, labels = problem(name)
    found = ridge_path(gram, labels, [lam], leave_one_out=True).leave_one_out[:, 0]
    np.testing.assert_allclose(found, left_out(gram, labels, lam), rtol=0, atol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_leaving_one_out_of_very_few(count, lam):
    gram, labels = problem("linear, full rank", count=count)
    found = ridge_path(gram, labels, [lam], leave_one_out=True).leave_one_out[:, 0]
    np.testing.assert_allclose(found, left_out(gram, labels, lam), rtol=0, atol=CLOSE)


def test_leaving_out_the_only_sample_of_a_direction():
    # The last sample alone points along the third axis: without it nothing is known there.
    inputs = np.array([[1.0, 0.2, 0.0], [0.3, -1.0, 0.0], [-0.5, 0.4, 0.0], [0.8, 0.9, 0.0], [0.0, 0.0, 2.0]])
    labels = np.array([1.0, -1.0, -1.0, 1.0, -1.0])
    gram = gram_matrix("linear", inputs)
    found = ridge_path(gram, labels, [0.0, 0.1], leave_one_out=True).leave_one_out
    for column, lam in zip(found.T, (0.0, 0.1), strict=True):
        np.testing.assert_allclose(column, left_out(gram, labels, lam), rtol=0, atol=CLOSE)
    np.testing.assert_allclose(found[-1], 0.0, rtol=0, atol=CLOSE)


def test_a_matrix_of_zeros_predicts_nothing():
    path = ridge_path(np.zeros((4, 4)), np.ones(4), [0.0, 2.0], leave_one_out=True)
    assert not path.fitted.any()
    assert not path.leave_one_out.any()
    assert not path.effective_dimension.any()
    np.testing.assert_array_equal(path.coefficients, [[0.0, 0.5]] * 4)


@given(st.sampled_from(sorted(KERNELS)), st.floats(1e-3, 1e3), st.floats(-3, 3), st.integers(0, 1000))
def test_units_of_the_kernel_and_order_of_the_samples_do_not_matter(name, unit, log_lam, seed):
    gram, labels = problem(name, seed)
    lam = np.array([10.0**log_lam, 0.1])
    path, scaled = ridge_path(gram, labels, lam), ridge_path(unit * gram, labels, unit * lam)
    np.testing.assert_allclose(scaled.fitted, path.fitted, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(scaled.coefficients * unit, path.coefficients, rtol=0, atol=CLOSE / lam.min())
    order = np.random.default_rng(seed).permutation(len(gram))
    shuffled = ridge_path(gram[np.ix_(order, order)], labels[order], lam)
    np.testing.assert_allclose(shuffled.fitted, path.fitted[order], rtol=0, atol=CLOSE)


@pytest.mark.parametrize("name", KERNELS)
def test_a_known_spectrum_gives_the_same(name):
    gram, labels = problem(name)
    lam = [0.0, 1e-3, 1.0]
    known = ridge_path(gram, labels, lam, spectrum=Spectrum.of(gram))
    plain = ridge_path(gram, labels, lam)
    np.testing.assert_allclose(known.fitted, plain.fitted, rtol=0, atol=CLOSE)
    assert known.leave_one_out is None


def test_labels_may_be_any_numbers_also_of_one_sign_and_the_matrix_is_left_alone():
    gram, _ = problem("relu")
    before = gram.copy()
    targets = np.linspace(3.0, 4.0, len(gram))
    gram.flags.writeable = False
    path = ridge_path(gram, targets.tolist(), 0.5, leave_one_out=True)
    assert path.coefficients.shape == (30, 1)
    np.testing.assert_allclose(path.fitted[:, 0], gram @ np.linalg.solve(gram + 0.5 * np.eye(30), targets), atol=CLOSE)
    np.testing.assert_array_equal(gram, before)


@pytest.mark.parametrize("lam", [0.0, 1e-14, 1e-5, 1.0])
@pytest.mark.parametrize("width", [4, 12])
def test_one_solution_and_weights_of_features_agree_with_the_path(lam, width):
    rng = np.random.default_rng(4)
    features, labels = rng.normal(size=(25, width)), rng.choice([-1.0, 1.0], 25)
    features[:, -1] = features[:, 0]  # a singular matrix on either side
    path = ridge_path(features @ features.T, labels, [lam])
    single = ridge_solution(features @ features.T, labels, lam)
    np.testing.assert_allclose(features @ (features.T @ single), path.fitted[:, 0], rtol=0, atol=LOST)
    blocks = ((features[rows], labels[rows]) for rows in (slice(0, 9), slice(9, 10), slice(10, 25)))
    np.testing.assert_allclose(features @ ridge_weights(blocks, width, lam), path.fitted[:, 0], rtol=0, atol=LOST)


def test_one_solution_of_a_matrix_that_is_no_kernel_is_refused():
    with pytest.raises(InputError, match="positive semi-definite"):
        ridge_solution(np.diag([1.0, -0.5]), np.ones(2), 0.1)


@pytest.mark.parametrize(
    ("gram", "labels", "lam", "sentence"),
    [
        (np.ones((2, 3)), [1, 1], 1.0, r"gram must be a square matrix; got shape \(2, 3\)"),
        (np.ones(4), [1] * 4, 1.0, "gram must be a square matrix"),
        (np.ones((0, 0)), [], 1.0, "gram must be a square matrix"),
        (np.eye(2), [1.0], 1.0, r"labels must be 2 numbers, .*; got shape \(1,\)"),
        (np.eye(2), [[1.0], [1.0]], 1.0, "labels must be 2 numbers"),
        (np.eye(2), [1.0, np.nan], 1.0, "gram and labels must be finite"),
        (np.array([[1.0, np.inf], [np.inf, 1.0]]), [1, 1], 1.0, "gram and labels must be finite"),
        (np.eye(2), [1, 1], -1.0, "regularization must be zero or positive, and finite; got -1"),
        (np.eye(2), [1, 1], [1.0, np.nan], "regularization must not contain NaN"),
        (np.eye(2), [1, 1], np.inf, "regularization must be zero or positive, and finite"),
        (np.eye(2), [1, 1], [], "regularization must be"),
        (np.eye(2), [1, 1], [[1.0]], "regularization must be a list"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), [1, 1], 1.0, "gram must be symmetric"),
        (np.diag([1.0, -0.1]), [1, 1], 1.0, "gram must be positive semi-definite, .* between -0.1 and 1"),
        (-np.eye(3), [1, 1, 1], 0.0, "gram must be positive semi-definite"),
    ],
)
@pytest.mark.parametrize("leave_one_out", [False, True])
def test_bad_input_is_refused(gram, labels, lam, sentence, leave_one_out):
    with pytest.raises(InputError, match=sentence):
        ridge_path(gram, labels, lam, leave_one_out=leave_one_out)


def test_symmetry_is_looked_for_in_every_block():
    gram = np.eye(300)
    gram[299, 3] = 0.1
    with pytest.raises(InputError, match="gram must be symmetric"):
        ridge_path(gram, np.ones(300), 1.0)
