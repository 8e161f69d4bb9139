"""The best regularization and the best angle: closed forms, searches, and whether they are minima at all."""

import dataclasses

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.rules_facts import LOSSES, Kernel, Loss, optimal_angle, optimal_regularization, solve

# A minimum is flat: its place is known to the root of the rounding of its value.
PLACE = 1e-5
VALUE = 1e-12
# Neighbors that must be worse lie this far away, relatively; the error there is higher by some 1e-5.
NEIGHBOR = 0.03


def searched_square():
    """Return the square loss under another name, which takes the numerical route."""
    return dataclasses.replace(LOSSES["square"](), name="searched")


def rho(epsilon):
    return (1 - epsilon) * np.sqrt(2 / np.pi)


ANGLES = np.array([0.3, 0.6, 0.75, 1.0, 1.4, np.pi / 2])


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7])
def test_square_closed_form_agrees_with_the_search(epsilon):
    kernel = Kernel.from_angle(ANGLES)
    closed = optimal_regularization("square", sample_ratio=4.0, fact_fraction=epsilon, kernel=kernel)
    wanted = np.maximum(0, kernel.mu_1**2 * (1 - rho(epsilon) ** 2) / rho(epsilon) ** 2 - kernel.mu_star**2)
    np.testing.assert_allclose(closed, wanted, rtol=VALUE, atol=1e-14)
    searched = optimal_regularization(searched_square(), sample_ratio=4.0, fact_fraction=epsilon, kernel=kernel)
    np.testing.assert_allclose(searched, closed, rtol=PLACE, atol=1e-6)
    best, other = (
        solve(loss, sample_ratio=4.0, fact_fraction=epsilon, kernel=kernel).generalization_error
        for loss in ("square", searched_square())
    )
    np.testing.assert_allclose(best, other, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7])
def test_regularization_helps_exactly_beyond_the_optimal_angle(epsilon):
    best = optimal_angle("square", fact_fraction=epsilon)
    assert best == pytest.approx(np.arcsin(rho(epsilon)), rel=VALUE)
    angle = best + np.array([-0.2, -1e-6, 1e-6, 0.2])
    lam = optimal_regularization("square", sample_ratio=3.0, fact_fraction=epsilon, kernel=Kernel.from_angle(angle))
    assert (lam[:2] == 0).all()
    assert (lam[2:] > 0).all()


@pytest.mark.parametrize("alpha", [0.5, 2.0, 30.0])
def test_beyond_the_optimal_angle_every_kernel_is_as_good(alpha):
    epsilon = 0.2
    best = optimal_angle("square", fact_fraction=epsilon)
    beyond = np.linspace(best, np.pi / 2, 9)
    error = solve(
        "square", sample_ratio=alpha, fact_fraction=epsilon, kernel=Kernel.from_angle(beyond)
    ).generalization_error
    np.testing.assert_allclose(error, error[0], rtol=VALUE)
    below = solve(
        "square", sample_ratio=alpha, fact_fraction=epsilon, kernel=Kernel.from_angle([0.3, best - 0.05])
    ).generalization_error
    assert (below > error[0] + 1e-6).all()
    assert below[0] > below[1]
    # At λ → 0 the optimal angle is the best of all.
    ridgeless = solve(
        "square",
        sample_ratio=alpha,
        fact_fraction=epsilon,
        kernel=Kernel.from_angle(best + np.array([-0.05, 0.0, 0.05])),
        regularization=0.0,
    ).generalization_error
    assert ridgeless[1] < min(ridgeless[0], ridgeless[2])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kappa", [None, 1.5])
def test_the_optimum_is_a_minimum(loss, kappa):
    # The logistic loss is the slowest by far; it is looked at in fewer places.
    slow = loss == "logistic"
    alpha, epsilon = np.array([3.0] if slow else [0.5, 3.0, 20.0])[:, None], np.array([0.05, 0.4])
    arguments = {"sample_ratio": alpha, "fact_fraction": epsilon, "kernel": Kernel.from_angle(1.2)}
    arguments["width_ratio"] = kappa
    best = solve(loss, regularization="optimal", **arguments)
    lam = optimal_regularization(loss, **arguments)
    np.testing.assert_allclose(best.regularization, lam)
    assert best.converged.all()
    inside = (lam > 0) & np.isfinite(lam)
    assert inside.any()
    for factor in (1 - NEIGHBOR, 1 + NEIGHBOR):
        near = solve(loss, regularization=lam * factor, **arguments)
        assert (near.generalization_error[inside] > best.generalization_error[inside]).all()
    # And no other place on a wide grid is better.
    grid = np.concatenate([[0.0], np.logspace(-6, 4, 11 if slow else 41), [np.inf]])[:, None, None]
    everywhere = solve(loss, regularization=grid, **arguments).generalization_error
    assert (everywhere >= best.generalization_error - VALUE).all()


def test_a_map_of_hinge_optima_in_one_call():
    alpha, epsilon = np.logspace(-1, 2, 30)[:, None], np.linspace(0, 0.98, 30)
    found = solve("hinge", sample_ratio=alpha, fact_fraction=epsilon, kernel=Kernel.from_angle(0.9))
    assert found.converged.all()
    assert (np.diff(found.generalization_error, axis=0) < 0).all()
    assert (np.diff(found.generalization_error, axis=1) > 0).all()


def test_without_a_rule_there_is_nothing_to_tune():
    for loss in ("square", "hinge"):
        assert optimal_regularization(loss, sample_ratio=2.0, fact_fraction=1.0) == np.inf
        assert solve(loss, sample_ratio=2.0, fact_fraction=1.0).generalization_error == 0.5
        # Neither rule in the labels nor a linear part to learn it with.
        found = solve(loss, sample_ratio=2.0, fact_fraction=[0.2, 1.0], kernel=Kernel(0.0, 1.0))
        assert (found.generalization_error == 0.5).all()
        assert found.converged.all()


@pytest.mark.parametrize("regularization", [0.0, "optimal"])
@pytest.mark.parametrize("alpha", [1.0, 4.0])
def test_hinge_angle_agrees_with_a_dense_scan(alpha, regularization):
    found = optimal_angle("hinge", sample_ratio=alpha, fact_fraction=0.2, regularization=regularization)
    scan = np.linspace(0.05, np.pi / 2 - 1e-3, 400)
    task = {"sample_ratio": alpha, "fact_fraction": 0.2, "regularization": regularization}
    errors, at = (
        solve("hinge", kernel=Kernel.from_angle(angle), **task).generalization_error for angle in (scan, found)
    )
    assert at <= errors.min() + VALUE
    if regularization == 0.0:
        assert found == pytest.approx(scan[np.argmin(errors)], abs=scan[1] - scan[0])


def test_square_angle_agrees_with_the_search():
    found = optimal_angle(searched_square(), sample_ratio=[0.5, 6.0], fact_fraction=0.3)
    np.testing.assert_allclose(found, np.arcsin(rho(0.3)), rtol=PLACE)


def test_shapes():
    assert isinstance(optimal_regularization(sample_ratio=1.0, fact_fraction=0.2), float)
    assert optimal_regularization(sample_ratio=np.ones((2, 1)), fact_fraction=[0.1, 0.2, 0.3]).shape == (2, 3)
    assert optimal_angle("hinge", sample_ratio=np.ones((2, 1)), fact_fraction=[0.1, 0.2]).shape == (2, 2)
    assert isinstance(optimal_angle(fact_fraction=0.2), float)


def test_what_cannot_be_answered_is_said():
    with pytest.raises(InputError, match="sample_ratio must be given"):
        optimal_angle("hinge", fact_fraction=0.2)
    with pytest.raises(InputError, match="regularization must be 0 or 'optimal'"):
        optimal_angle("hinge", sample_ratio=1.0, fact_fraction=0.2, regularization=0.3)
    with pytest.raises(InputError, match="mine"):
        optimal_angle(Loss("mine", LOSSES["hinge"]().proximal), sample_ratio=1.0, fact_fraction=0.2)


@pytest.mark.parametrize("angle", [0.1, 0.3, 0.7, 1.2, 1.5, 1.5707, np.pi / 2])
def test_no_regularization_of_a_dense_scan_does_better(angle):
    """The hinge has narrow dips near V = 1, second minima and plateaus: an optimum must beat every one of them."""
    points = {
        "sample_ratio": np.geomspace(0.1, 100, 14)[:, None],
        "fact_fraction": np.linspace(0, 1, 13)[None, :],
        "kernel": Kernel.from_angle(angle),
    }
    best = solve("hinge", regularization="optimal", **points)
    scan = np.concatenate([[0.0], np.geomspace(1e-9, 1e4, 150), [np.inf]])
    lowest = np.min([solve("hinge", regularization=lam, **points).generalization_error for lam in scan], axis=0)
    assert best.converged.all()
    assert (best.generalization_error <= lowest + 1e-12).all()
