"""Up to how many samples every label can be fitted: by minimization, by divergence and by linear programming."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog, minimize_scalar
from scipy.special import erf, erfc

from genlaws.core.errors import InputError
from genlaws.rules_facts import LOSSES, Kernel, Loss, interpolation_threshold, solve

AGREEMENT = 1e-10
TIGHT = {"epsabs": 1e-14, "epsrel": 1e-13, "limit": 200}
# The share of separable samples falls from one to zero over this range of α/α_c - 1; its middle moves by about 3/d.
GRID = np.linspace(-0.25, 0.25, 21)
FINITE_SIZE = 0.03
# The linear program is solved to 1e-7; a margin below that is none.
SMALLEST_MARGIN = 1e-6


def shortfall(t, epsilon):
    """Return E[(Z - tY)₊²]: Y = |z| for a rule, Y normal for a fact."""

    def normal(y):
        return np.exp(-y * y / 2) / np.sqrt(2 * np.pi)

    def square(shift):
        # E[(Z - s)₊²] = (1 + s²) Φ(-s) - s φ(s)
        return (1 + shift**2) * 0.5 * erfc(shift / np.sqrt(2)) - shift * normal(shift)

    rule = (
        2
        * quad(lambda y: normal(y) * square(t * y), 0, 12, points=[1 / (1 + t), 5 / (1 + t), 12 / (1 + t)], **TIGHT)[0]
    )
    # A normal Y makes Z - tY normal of variance 1 + t².
    return (1 - epsilon) * rule + epsilon * (1 + t * t) / 2


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 1e-3, 0.05, 0.2, 0.5, 0.9, 1.0])
def test_hinge_threshold_is_the_least_shortfall(epsilon):
    best = minimize_scalar(
        shortfall, args=(epsilon,), bounds=(0, 3 * epsilon ** (-1 / 3)), method="bounded", options={"xatol": 1e-9}
    )
    assert interpolation_threshold("hinge", fact_fraction=epsilon) == pytest.approx(1 / best.fun, rel=AGREEMENT)


def test_known_values():
    assert interpolation_threshold("hinge", fact_fraction=1.0) == pytest.approx(2.0, abs=1e-14)
    assert interpolation_threshold("hinge", fact_fraction=0.2) == pytest.approx(2.9923, abs=5e-5)
    assert interpolation_threshold("hinge", fact_fraction=0.0) == np.inf
    assert interpolation_threshold("hinge", fact_fraction=5e-324) == np.inf


def test_few_facts_follow_the_cube_root():
    epsilon = np.array([1e-6, 1e-9, 1e-12])
    scaled = interpolation_threshold("hinge", fact_fraction=epsilon) * epsilon ** (1 / 3)
    # Corrections are of relative order ε^(1/3).
    assert scaled[0] == pytest.approx(scaled[2], rel=3e-2)
    assert scaled[1] == pytest.approx(scaled[2], rel=3e-3)
    # a M0 = δ/π with M0 ≈ ε/2 + 1/(πa): a³ = 2/(3πε), and α_c = πa.
    law = np.pi * (2 / (3 * np.pi)) ** (1 / 3)
    assert scaled[2] == pytest.approx(law, rel=1e-3)
    fewest = np.array([1e-25, 1e-100, 2e-248, 1e-300])
    np.testing.assert_allclose(interpolation_threshold("hinge", fact_fraction=fewest), law / np.cbrt(fewest), rtol=1e-7)


def test_more_facts_lower_the_threshold():
    threshold = interpolation_threshold("hinge", fact_fraction=np.linspace(0, 1, 200))
    assert (np.diff(threshold[1:]) < 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_share_two_thresholds(loss):
    limit = LOSSES[loss]().limit
    found = interpolation_threshold(loss, fact_fraction=[0.1, 0.5])
    if limit == "label":
        assert (found == 1.0).all()
    else:
        np.testing.assert_array_equal(found, interpolation_threshold("hinge", fact_fraction=[0.1, 0.5]))


def test_kernels_have_no_threshold_and_features_their_width():
    kernel = Kernel.from_angle(np.array([0.3, 1.5]))
    for loss in ("square", "hinge"):
        assert np.isinf(interpolation_threshold(loss, fact_fraction=0.3, kernel=kernel)).all()
    width = np.array([0.4, 1.0, 5.0])
    np.testing.assert_allclose(
        interpolation_threshold("square", fact_fraction=0.3, kernel=kernel[0], width_ratio=width), width
    )
    # The linear model gains nothing from more features than dimensions.
    np.testing.assert_allclose(interpolation_threshold("square", fact_fraction=0.3, width_ratio=width), [0.4, 1, 1])
    facts = interpolation_threshold("hinge", fact_fraction=1.0, kernel=kernel[0], width_ratio=width)
    np.testing.assert_allclose(facts, 2 * width, rtol=1e-13)


def test_a_named_kernel_is_a_kernel():
    for width in (None, 2.0):
        named = interpolation_threshold("hinge", fact_fraction=0.3, kernel="relu", width_ratio=width)
        assert named == interpolation_threshold(
            "hinge", fact_fraction=0.3, kernel=Kernel.from_name("relu"), width_ratio=width
        )


def test_an_unknown_limit_has_no_threshold():
    with pytest.raises(InputError, match="mine"):
        interpolation_threshold(Loss("mine", LOSSES["hinge"]().proximal), fact_fraction=0.1)


@pytest.mark.parametrize("kappa", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("angle", [0.4, 1.1])
def test_features_diverge_at_the_margin_threshold(angle, epsilon, kappa):
    arguments = {"fact_fraction": epsilon, "kernel": Kernel.from_angle(angle), "width_ratio": kappa}
    critical = interpolation_threshold("hinge", **arguments)
    gap = np.array([-1e-2, -1e-3, -1e-4, 1e-4, 1e-3, 1e-2])
    found = solve("hinge", sample_ratio=critical * (1 + gap), regularization=0.0, **arguments)
    assert found.converged.all()
    assert (found.memorization_error[:3] == 0).all()
    assert (found.memorization_error[3:] > 0).all()
    assert np.isfinite(found.response[3:]).all()
    # q diverges from both sides, at least like the inverse distance.
    assert (found.self_overlap[1:3] > 5 * found.self_overlap[:2]).all()
    assert (found.self_overlap[3:5] > 5 * found.self_overlap[4:]).all()
    at = solve("hinge", sample_ratio=critical, regularization=0.0, **arguments)
    np.testing.assert_allclose(found.generalization_error[2:4], at.generalization_error, atol=3e-3)


def test_below_the_threshold_small_regularization_fits_and_above_it_does_not():
    arguments = {"fact_fraction": 0.3, "kernel": Kernel.from_angle(0.8), "width_ratio": 1.5}
    critical = interpolation_threshold("hinge", **arguments)
    below, above = (
        solve("hinge", sample_ratio=factor * critical, regularization=1e-8, **arguments) for factor in (0.97, 1.03)
    )
    assert below.response > 1e5
    assert above.response < 1e3


def separable(features, labels):
    """Return whether some w in the unit box has y f·w > 0 on every sample: the largest least margin is positive."""
    count, width = features.shape
    constraints = np.hstack([-labels[:, None] * features, np.ones((count, 1))])
    goal = np.append(np.zeros(width), -1.0)
    program = linprog(goal, constraints, np.zeros(count), bounds=[(-1, 1)] * width + [(None, None)])
    assert program.status == 0
    return -program.fun > SMALLEST_MARGIN


def separable_share(alpha, epsilon, dimension, kappa, trials, seed):
    rng = np.random.default_rng(seed)
    count, width = round(alpha * dimension), round(kappa * dimension)
    successes = 0
    for _ in range(trials):
        inputs = rng.normal(size=(count, dimension))
        labels = np.sign(inputs @ rng.normal(size=dimension))
        facts = rng.uniform(size=count) < epsilon
        labels[facts] = rng.choice([-1.0, 1.0], facts.sum())
        # erf is odd, so the constant part of the features, which the theory leaves out, is zero.
        features = erf(inputs @ rng.normal(size=(dimension, width)) / np.sqrt(dimension))
        successes += separable(features, labels)
    return successes / trials


def separability_crossing(epsilon, kappa, dimension, trials):
    """Return where half of the samples are separable, relative to the theory, and the standard error of that.

    The shares fall from one to zero over the grid, so their sum measures where; no curve has to be fitted.
    """
    critical = interpolation_threshold(
        "hinge", fact_fraction=epsilon, kernel=Kernel.from_name("erf"), width_ratio=kappa
    )
    shares = np.array(
        [separable_share(critical * (1 + x), epsilon, dimension, kappa, trials, seed=i) for i, x in enumerate(GRID)]
    )
    assert shares[0] >= 0.9
    assert shares[-1] <= 0.1
    spacing = GRID[1] - GRID[0]
    crossing = GRID[0] + spacing * (shares.sum() - 0.5)
    return crossing, spacing * np.sqrt(np.sum(shares * (1 - shares)) / trials)


@pytest.mark.parametrize(("epsilon", "kappa"), [(0.6, 0.5), (0.2, 0.7)])
def test_random_features_are_separable_up_to_the_threshold(epsilon, kappa):
    crossing, error = separability_crossing(epsilon, kappa, dimension=100, trials=20)
    assert abs(crossing) < 3 * error + FINITE_SIZE


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "kappa"), [(0.6, 0.5), (0.2, 0.7)])
def test_random_features_are_separable_up_to_the_threshold_at_larger_size(epsilon, kappa):
    crossing, error = separability_crossing(epsilon, kappa, dimension=200, trials=30)
    assert abs(crossing) < 3 * error + FINITE_SIZE / 2
