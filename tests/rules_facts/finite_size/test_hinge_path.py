"""Support vector machines along a path: against two other solvers and the conditions of optimality.

The exact optimum of a few samples comes from trying every choice of which coefficients lie at which bound; that of more
samples from scipy's bounded minimizer and, where symmetric data make its offset vanish, from scikit-learn.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import SVC

from genlaws.core.errors import InputError
from genlaws.rules_facts.finite_size.gram import gram_matrix
from genlaws.rules_facts.finite_size.hinge import MAX_STEPS_WITHOUT_PROGRESS, box_program, hinge_path
from genlaws.rules_facts.finite_size.ridge import Spectrum

# A relative gap of g leaves outputs √g away from the optimum; tests of outputs ask for this gap and that distance.
TIGHT, OUTPUT = 1e-10, 1e-4
# Rounding of objectives that are sums of at most a few hundred terms.
ROUNDING = 1e-12
MAX_RESTARTS = 100
# Violation of a bound that counts as none in the search through all choices.
FEASIBLE = 1e-9
PATH = np.geomspace(1e-3, 1e2, 11)


def problem(count, dimension, kernel="linear", seed=0, rule=0.0):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(count, dimension))
    labels = np.where(inputs[:, 0] + (1 - rule) * rng.normal(size=count) * 3 > 0, 1.0, -1.0)
    return gram_matrix(kernel, inputs), labels


def objectives(gram, labels, coefficients, lam):
    """Return the primal objective in units of λ, C Σ max(0, 1 − y f) + |w|²/2, and the dual one."""
    fitted = gram @ coefficients
    norm = 0.5 * coefficients @ fitted
    return np.maximum(0, 1 - labels * fitted).sum() / lam + norm, labels @ coefficients - norm


def every_choice(gram, labels, lam):
    """Return the least primal objective: each coefficient at zero, at the bound, or free to make its margin one."""
    quadratic, box = gram * np.outer(labels, labels), 1 / lam
    best = 0.0
    for choice in product((0, 1, 2), repeat=len(labels)):
        a = np.where(np.array(choice) == 1, box, 0.0)
        free = np.array(choice) == 2
        if free.any():
            a[free] = np.linalg.lstsq(quadratic[np.ix_(free, free)], 1 - quadratic[free] @ a, rcond=1e-10)[0]
        if (a >= -FEASIBLE * box).all() and (a <= box * (1 + FEASIBLE)).all():
            best = max(best, a.sum() - 0.5 * a @ quadratic @ a)
    return best


@given(
    count=st.integers(1, 5),
    dimension=st.integers(1, 6),
    kernel=st.sampled_from(["linear", "relu", "gaussian:1.0"]),
    log_lam=st.floats(-4, 2),
    seed=st.integers(0, 10_000),
)
def test_a_few_samples_reach_the_exact_optimum(count, dimension, kernel, log_lam, seed):
    gram, labels = problem(count, dimension, kernel, seed)
    lam = 10.0**log_lam
    optimum = every_choice(gram, labels, lam)
    path = hinge_path(gram, labels, [lam], tolerance=1e-8)
    primal, dual = objectives(gram, labels, path.coefficients[:, 0], lam)
    assert path.converged[0]
    assert primal == pytest.approx(optimum, rel=1e-7)
    assert dual == pytest.approx(optimum, rel=1e-7)


@pytest.mark.parametrize(("dimension", "kernel"), [(100, "linear"), (8, "linear"), (8, "relu"), (8, "gaussian:1.0")])
def test_a_bounded_minimizer_does_no_better(dimension, kernel):
    gram, labels = problem(60, dimension, kernel)
    quadratic = gram * np.outer(labels, labels)
    path = hinge_path(gram, labels, PATH, tolerance=1e-7)
    assert path.converged.all()
    for lam, coefficients in zip(PATH, path.coefficients.T, strict=True):
        theirs = largest_dual(quadratic, 1 / lam)
        primal, _ = objectives(gram, labels, coefficients, lam)
        # The dual objective of any point is a lower bound of the primal one.
        assert theirs <= primal * (1 + ROUNDING)
        assert primal <= theirs * (1 + 2e-6)


def largest_dual(quadratic: np.ndarray, bound: float) -> float:
    """Return the maximum of the dual by L-BFGS-B, started again where a failed line search ended it too early."""
    point, value = np.zeros(len(quadratic)), np.inf
    for _ in range(MAX_RESTARTS):
        found = minimize(
            lambda a: (0.5 * a @ quadratic @ a - a.sum(), quadratic @ a - 1),
            point,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, bound)] * len(quadratic),
            options={"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-9},
        )
        if found.fun >= value - 1e-12 * abs(value):
            break
        point, value = found.x, found.fun
    return -value


@pytest.mark.parametrize("dimension", [5, 60])
def test_symmetric_data_have_no_offset_and_give_the_usual_machine(dimension):
    rng = np.random.default_rng(8)
    half, signs = rng.normal(size=(40, dimension)), rng.choice([-1.0, 1.0], 40)
    inputs, labels = np.concatenate([half, -half]), np.concatenate([signs, -signs])
    gram, lam = gram_matrix("linear", inputs), np.geomspace(0.05, 20, 5)
    path = hinge_path(gram, labels, lam, tolerance=TIGHT)
    for one, fitted in zip(lam, path.fitted.T, strict=True):
        machine = SVC(kernel="precomputed", C=1 / one, tol=1e-8).fit(gram, labels)
        assert machine.intercept_[0] == pytest.approx(0, abs=OUTPUT)
        np.testing.assert_allclose(fitted, machine.decision_function(gram), rtol=0, atol=OUTPUT)


@pytest.mark.parametrize(("dimension", "kernel"), [(100, "linear"), (8, "linear"), (8, "relu")])
def test_the_conditions_of_optimality_hold(dimension, kernel):
    gram, labels = problem(80, dimension, kernel)
    path = hinge_path(gram, labels, PATH, tolerance=TIGHT)
    assert path.converged.all()
    np.testing.assert_allclose(path.fitted, gram @ path.coefficients, rtol=0, atol=1e-8)
    for lam, coefficients, fitted in zip(PATH, path.coefficients.T, path.fitted.T, strict=True):
        a, margins = labels * coefficients * lam, labels * fitted
        assert a.min() >= 0
        assert a.max() <= 1 + ROUNDING
        assert margins[a < 1e-6].min(initial=np.inf) >= 1 - OUTPUT
        assert margins[a > 1 - 1e-6].max(initial=-np.inf) <= 1 + OUTPUT
        inside = (a > 1e-3) & (a < 1 - 1e-3)
        np.testing.assert_allclose(margins[inside], 1, rtol=0, atol=OUTPUT)


@pytest.mark.parametrize(("dimension", "kernel"), [(100, "linear"), (8, "linear"), (8, "relu")])
@pytest.mark.parametrize("tolerance", [0.5, 0.1, 1e-3])
def test_the_gap_is_what_it_says_and_bounds_the_excess(dimension, kernel, tolerance):
    gram, labels = problem(60, dimension, kernel)
    rough = hinge_path(gram, labels, PATH, tolerance=tolerance)
    fine = hinge_path(gram, labels, PATH, tolerance=1e-9)
    for column, lam in enumerate(PATH):
        primal, dual = objectives(gram, labels, rough.coefficients[:, column], lam)
        optimum, _ = objectives(gram, labels, fine.coefficients[:, column], lam)
        assert rough.duality_gap[column] == pytest.approx((primal - dual) / primal, abs=1e-9)
        assert rough.duality_gap[column] <= tolerance
        assert optimum * (1 - 1e-9) <= primal <= optimum + rough.duality_gap[column] * primal * (1 + ROUNDING)


def test_caps_are_kept_and_reported():
    gram, labels = problem(80, 8)
    lam = np.array([1e-4, 1e-2])
    stopped = hinge_path(gram, labels, lam, iteration_cap=3, interior_cap=0, tolerance=1e-8)
    assert stopped.iterations.tolist() == [3, 3]
    assert not stopped.interior_steps.any()
    assert not stopped.converged.any()
    assert (stopped.duality_gap > 1e-8).all()
    for column, one in enumerate(lam):
        a = labels * stopped.coefficients[:, column]
        assert a.min() >= 0
        assert a.max() <= 1 / one
        primal, dual = objectives(gram, labels, stopped.coefficients[:, column], one)
        assert stopped.duality_gap[column] == pytest.approx((primal - dual) / primal, rel=1e-9)
    further = hinge_path(gram, labels, lam, iteration_cap=3, interior_cap=4, tolerance=1e-8)
    assert (further.interior_steps <= 4).all()
    assert (further.duality_gap <= stopped.duality_gap).all()


def test_an_interior_point_finishes_what_a_low_rank_cannot_fit():
    gram, labels = problem(150, 10)
    path = hinge_path(gram, labels, [1e-8, 1e-6, 1e-4, 1.0], tolerance=1e-6)
    assert path.converged.all()
    assert (path.interior_steps[:3] > 0).all()
    assert path.interior_steps[3] == 0
    wrong = (labels[:, None] * path.fitted < 0).mean(axis=0)
    assert (wrong > 0).all()
    # The loss at small λ hardly depends on λ: it is the least possible one.
    losses = np.maximum(0, 1 - labels[:, None] * path.fitted).sum(axis=0)
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[3] > losses[0]


@pytest.mark.parametrize(("dimension", "kernel"), [(90, "linear"), (8, "relu"), (8, "gaussian:2.0")])
def test_separable_data_have_one_solution_below_some_regularization(dimension, kernel):
    gram, labels = problem(60, dimension, kernel)
    path = hinge_path(gram, labels, [1e-200, 1e-30, 1e-12, 1e-9, 1e-6], tolerance=1e-8)
    assert path.converged.all()
    assert not path.interior_steps.any()
    np.testing.assert_allclose(path.fitted, path.fitted[:, [-1]] * np.ones(5), rtol=0, atol=1e-6)
    margins = labels[:, None] * path.fitted
    assert margins.min() >= 1 - ROUNDING
    # The widest margin: no direction has a shorter |w| at margin one.
    norm = path.coefficients[:, 0] @ gram @ path.coefficients[:, 0]
    assert norm == pytest.approx(np.abs(path.coefficients[:, 0]).sum(), rel=1e-6)


def test_strong_regularization_is_the_mean_of_the_samples():
    gram, labels = problem(30, 5)
    lam = 2 * np.abs(gram).sum(axis=1).max()
    path = hinge_path(gram, labels, [lam, 1e6 * lam])
    np.testing.assert_allclose(path.coefficients, labels[:, None] / path.regularization, rtol=1e-12)
    assert path.support_count.tolist() == [30, 30]


@pytest.mark.parametrize("kernel_value", [0.2, 1.0, 7.0])
@pytest.mark.parametrize("lam", [1e-3, 1.0, 5.0])
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_sample(kernel_value, lam, label):
    path = hinge_path([[kernel_value]] * np.ones((1, 1)), [label], [lam], tolerance=1e-12)
    assert path.coefficients[0, 0] == pytest.approx(label * min(1 / kernel_value, 1 / lam), rel=1e-6)


def test_labels_of_one_class_are_all_fitted():
    gram, _ = problem(20, 5, "gaussian:0.5")
    path = hinge_path(gram, np.ones(20), [1e-3, 1.0])
    assert path.converged.all()
    assert (path.fitted > 0).all()


def test_contradictory_copies_cancel():
    gram = np.ones((4, 4))
    path = hinge_path(gram, [1.0, -1.0, 1.0, -1.0], [0.01, 1.0, 10.0])
    assert path.converged.all()
    np.testing.assert_allclose(path.fitted, 0, atol=1e-6)


def test_a_matrix_of_zeros_fits_nothing():
    path = hinge_path(np.zeros((3, 3)), [1.0, -1.0, 1.0], [0.1, 2.0])
    assert path.converged.all()
    assert not path.fitted.any()
    np.testing.assert_allclose(np.abs(path.coefficients), 1 / path.regularization * np.ones((3, 1)))


@given(st.floats(1e-3, 1e3), st.integers(0, 1000))
def test_units_order_and_company_do_not_matter(unit, seed):
    gram, labels = problem(25, 40, seed=seed)
    path = hinge_path(gram, labels, [0.05, 1.0, 30.0], tolerance=TIGHT)
    scaled = hinge_path(unit * gram, labels, unit * path.regularization, tolerance=TIGHT)
    alone = hinge_path(gram, labels, 1.0, tolerance=TIGHT, spectrum=Spectrum.of(gram))
    order = np.random.default_rng(seed).permutation(25)
    shuffled = hinge_path(gram[np.ix_(order, order)], labels[order], [30.0, 1.0, 0.05], tolerance=TIGHT)
    np.testing.assert_allclose(scaled.fitted, path.fitted, rtol=0, atol=OUTPUT)
    np.testing.assert_allclose(alone.fitted[:, 0], path.fitted[:, 1], rtol=0, atol=OUTPUT)
    np.testing.assert_allclose(shuffled.fitted[:, ::-1], path.fitted[order], rtol=0, atol=OUTPUT)
    flipped = hinge_path(gram, -labels, path.regularization, tolerance=TIGHT)
    np.testing.assert_allclose(flipped.fitted, -path.fitted, rtol=0, atol=OUTPUT)


# The interior-point method by itself


@given(count=st.integers(1, 5), rank=st.integers(1, 5), log_box=st.floats(-2, 6), seed=st.integers(0, 10_000))
def test_the_interior_point_reaches_the_exact_optimum(count, rank, log_box, seed):
    gram, labels = problem(count, rank, seed=seed)
    box = 10.0**log_box
    a, gap, steps = box_program(gram * np.outer(labels, labels), box, 1e-7)
    primal, _ = objectives(gram, labels, labels * a, 1 / box)
    assert gap <= 1e-7
    assert 1 <= steps <= 40
    assert a.min() >= 0
    assert a.max() <= box
    assert primal == pytest.approx(every_choice(gram, labels, 1 / box), rel=1e-6)


@pytest.mark.parametrize("box", [1.0, 1e4, 1e8, 1e12, 1e30, 1e100])
@pytest.mark.parametrize(("count", "dimension"), [(60, 10), (60, 80)])
def test_a_gap_out_of_reach_ends_early_and_is_reported_as_it_is(box, count, dimension):
    gram, labels = problem(count, dimension)
    a, gap, steps = box_program(gram * np.outer(labels, labels), box, 1e-30, step_cap=200)
    assert steps < 200
    assert np.isfinite(a).all()
    assert a.min() >= 0
    assert a.max() <= box
    if box <= 1e8:  # beyond, coefficients times their rounding reach the size of a margin
        primal, dual = objectives(gram, labels, labels * a, 1 / box)
        assert gap == pytest.approx(max(primal - dual, 0) / primal, abs=1e-15 * box)
        assert gap <= 1e-14 * box


def test_the_interior_point_keeps_its_cap():
    gram, labels = problem(40, 5)
    quadratic = gram * np.outer(labels, labels)
    assert box_program(quadratic, 1e4, 1e-12, step_cap=2)[2] == 2
    assert MAX_STEPS_WITHOUT_PROGRESS > 2


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"regularization": [1.0, 0.0]}, "regularization must be positive and finite; got 0. A small value gives"),
        ({"regularization": -1.0}, "regularization must be zero or positive"),
        ({"regularization": np.nan}, "regularization must not contain NaN"),
        ({"labels": [0.0, 1.0]}, r"labels must be \+1 or -1"),
        ({"labels": [1.0, 2.0]}, r"labels must be \+1 or -1"),
        ({"labels": [1.0, -1.0, 1.0]}, "labels must be 2 numbers"),
        ({"labels": [1.0, np.nan]}, "must be finite"),
        ({"gram": np.array([[1.0, np.nan], [np.nan, 1.0]])}, "must be finite"),
        ({"gram": np.diag([1.0, -1.0])}, "positive semi-definite"),
        ({"gram": np.array([[1.0, 0.5], [-0.5, 1.0]])}, "symmetric"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"iteration_cap": 0}, "iteration_cap must be a whole number, at least 1"),
        ({"interior_cap": -1}, "interior_cap must be a whole number, at least 0"),
    ],
)
def test_bad_input_is_refused(changes, sentence):
    arguments = {"gram": np.eye(2), "labels": [1.0, -1.0], "regularization": 1.0} | changes
    with pytest.raises(InputError, match=sentence):
        hinge_path(**arguments)
