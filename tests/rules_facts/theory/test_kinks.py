"""Kinks of a proximal map are found, and a solution that missed some is rejected."""

import numpy as np
import pytest

from genlaws.rules_facts import LOSSES, Kernel, Loss, huber_loss, solve
from genlaws.rules_facts.theory.losses import find_kinks

# (z, pull) of each kink, from the definitions of the losses.
KNOWN = {
    "hinge": [(1.0, 1.0), (1.0, 0.0)],
    "squared_hinge": [(1.0, 0.0)],
    "huber": [(0.5, 0.5), (1.5, -0.5)],
    "logistic": [],
    "square": [],
}
POINTS = {
    "sample_ratio": np.array([0.5, 4.0, 40.0]),
    "fact_fraction": 0.2,
    "kernel": Kernel.from_name("relu"),
    "regularization": np.array([[1e-3], [0.1], [10.0]]),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_bends_of_every_loss_are_found(name):
    found = find_kinks(LOSSES[name]().proximal)
    np.testing.assert_allclose(found, np.reshape(KNOWN[name], (-1, 2)), atol=1e-12)


@pytest.mark.parametrize("width", [0.013, 1.0, 7.3])
def test_bends_at_any_place_are_found(width):
    found = find_kinks(huber_loss(width).proximal)
    np.testing.assert_allclose(found, [(1.0 - width, width), (1.0 + width, -width)], atol=1e-9)


def test_a_curved_piece_beside_a_bend_does_not_blur_it():
    # The loss g²/2 + g³/3 of g = 1 - z below z = 1: the pull is g + g², and the curvature jumps at z = 1 alone.
    def proximal(u, V):
        gap = np.maximum(1.0 - u, 0.0)
        g = 2.0 * gap / (1.0 + V + np.sqrt((1.0 + V) ** 2 + 4.0 * V * gap))
        return np.where(u < 1.0, 1.0 - g, u)

    found = find_kinks(proximal)
    assert found.shape == (1, 2)
    assert found[0] == pytest.approx([1.0, 0.0], abs=1e-8)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "huber"])
def test_a_loss_given_by_its_map_alone_is_as_exact_as_the_built_in_one(name):
    built_in = LOSSES[name]()
    # The name is that of another loss on purpose: what counts is the map.
    own = Loss("square", built_in.proximal)
    assert own.slope == pytest.approx(built_in.slope, rel=1e-12)
    mine, theirs = solve(own, **POINTS), solve(built_in, **POINTS)
    assert mine.converged.all()
    np.testing.assert_allclose(mine.generalization_error, theirs.generalization_error, rtol=1e-11)
    np.testing.assert_allclose(mine.memorization_error, theirs.memorization_error, rtol=1e-9, atol=1e-13)


def test_a_solution_that_a_finer_rule_does_not_confirm_is_not_reported():
    hidden = Loss("hidden", LOSSES["hinge"]().proximal, breakpoints=lambda V: [])
    found, exact = solve(hidden, **POINTS), solve("hinge", **POINTS)
    assert not found.converged.all()
    assert np.isnan(found.generalization_error[~found.converged]).all()
    solved = found.converged
    np.testing.assert_allclose(found.generalization_error[solved], exact.generalization_error[solved], atol=1e-9)
