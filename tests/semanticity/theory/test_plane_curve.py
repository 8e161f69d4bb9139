"""Distances of points from a curve in the plane of both tests."""

import numpy as np
import pytest

from genlaws.semanticity import linear_on_circle
from genlaws.semanticity.networks.relu_runs import linear_front
from genlaws.semanticity.theory.tradeoff import PlaneCurve

CHORD = 1.5e-6  # by which the pieces of the curve leave it


def test_distance_is_the_smallest_along_the_curve():
    front = linear_front()
    rng = np.random.default_rng(0)
    generalization, identification = rng.uniform(0.45, 0.9, (2, 3, 50))
    found = front.distance(generalization, identification)
    assert found.shape == (3, 50)
    fine = np.array(linear_on_circle(np.linspace(0.0, 1.0, 40_001)))
    points = np.stack([generalization, identification], axis=-1)[..., None, :]
    brute = np.linalg.norm(points - fine.T, axis=-1).min(axis=-1)
    np.testing.assert_allclose(np.abs(found), brute, rtol=0, atol=2e-6 + CHORD)


def test_sign_says_on_which_side():
    curve = linear_front()
    generalization, identification = linear_on_circle(np.linspace(0.1, 0.9, 30))
    for shift in (0.01, -0.01):
        found = curve.distance(generalization + shift, identification)
        assert (np.sign(found) == np.sign(shift)).all()
        assert (np.abs(found) <= 0.01 + CHORD).all()
    np.testing.assert_allclose(curve.distance(generalization, identification), 0.0, atol=CHORD)


def test_distance_does_not_depend_on_how_many_points_are_held_at_once(monkeypatch):
    curve, points = linear_front(), np.random.default_rng(1).uniform(0.5, 0.9, (2, 4, 7))
    together = curve.distance(*points)
    monkeypatch.setattr("genlaws.semanticity.theory.tradeoff.BLOCK_SIZE", 1)
    np.testing.assert_array_equal(curve.distance(*points), together)


def test_distance_of_a_number_and_of_what_is_unknown():
    curve = PlaneCurve(np.array([0.6, 0.6]), np.array([1.0, 0.5]))
    assert curve.distance(np.float64(0.7), np.float64(0.6)) == pytest.approx(0.1)
    assert np.isnan(curve.distance(np.array([np.nan]), np.array([0.6]))).all()


def test_generalization_at_an_identification_is_interpolated_in_any_order():
    curve = PlaneCurve(np.array([0.7, 0.5, 0.6]), np.array([0.75, 1.0, 0.5]))
    np.testing.assert_allclose(curve.generalization_at([0.4, 0.5, 0.625, 0.875]), [0.6, 0.6, 0.65, 0.6])


def test_the_nearest_piece_lies_between_two_points():
    curve = PlaneCurve(np.array([0.5, 0.7, 0.6, 0.5]), np.array([1.0, 0.8, 0.6, 0.5]))
    assert [curve.nearest_piece(*point) for point in ((0.55, 0.97), (0.66, 0.7), (0.4, 0.4))] == [0, 1, 2]
