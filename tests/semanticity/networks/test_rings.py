"""Rings of features: distances, sets of stimuli, and the fronts of one radial similarity on them."""

import itertools

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity import circle, linear_on_circle, similarity
from genlaws.semanticity.measurement.empirical_front import constant_front, empirical_front
from genlaws.semanticity.measurement.tests import MeasuredSet
from genlaws.semanticity.networks.rings import (
    circle_generalization,
    distance_of_steps,
    draw_stimuli,
    level_pairs,
    steps_apart,
)
from genlaws.semanticity.theory.exact import probabilities
from genlaws.semanticity.theory.stimulus_sets import stimulus_set

ROUNDING = 1e-12
INTERPOLATED = 2e-4  # between the resolutions of a tabulated front


@pytest.mark.parametrize(("truth", "steps"), [("mean", 1 + 2 + 0), ("min", 0)])
def test_steps_go_the_short_way_around(truth, steps):
    assert steps_apart([0, 1, 4], [4, 3, 4], 5, truth) == steps
    assert distance_of_steps(steps, 3, 5, truth) == pytest.approx(0.2 if truth == "mean" else 0.0)


def test_few_stimuli_are_all_there_are_and_many_are_drawn_without_repeats():
    every = draw_stimuli(3, 4, 64, seed=7)
    assert every.tolist() == [list(one) for one in itertools.product(range(4), repeat=3)]
    drawn = draw_stimuli(3, 4, 63, seed=7)
    assert np.unique(drawn, axis=0).shape == (63, 3)
    assert draw_stimuli(3, 4, 63, seed=7).tolist() == drawn.tolist()
    assert draw_stimuli(3, 4, 63, seed=8).tolist() != drawn.tolist()
    assert draw_stimuli(10, 50, 20, seed=0).shape == (20, 10)


@pytest.fixture(scope="module", params=["mean", "min"])
def drawn_set(request):
    stimuli = draw_stimuli(3, 6, 40, seed=3)
    steps = steps_apart(stimuli[:, None], stimuli[None], 6, request.param)
    return level_pairs(stimuli, 6, request.param), distance_of_steps(steps, 3, 6, request.param)


@pytest.mark.parametrize(("shape", "resolution"), [("constant", 0.17), ("linear", 0.3), ("exponential", 0.1)])
def test_levels_give_both_tests_of_a_radial_similarity(drawn_set, shape, resolution):
    pairs, distance = drawn_set
    g = similarity(shape, resolution)
    nearer, named = stimulus_set(distance).probabilities(g, ties="drop")
    found = pairs.probabilities(g(pairs.distance))
    assert found == pytest.approx((nearer[0], named[0]), abs=ROUNDING)


def test_shares_add_up(drawn_set):
    pairs, _ = drawn_set
    assert pairs.one.sum() == pytest.approx(1.0)
    assert pairs.two.sum() == pytest.approx(1.0)
    assert not np.tril(pairs.two).any()


def test_fronts_are_those_of_the_set(drawn_set):
    pairs, distance = drawn_set
    stimuli = MeasuredSet(np.exp(-distance), distance, "drop", ROUNDING)
    exact = constant_front(stimuli)
    own = pairs.front("constant")
    for nearer, named in zip(exact.generalization, exact.identification, strict=True):
        assert np.hypot(own.generalization - nearer, own.identification - named).min() < 1e-9
    # The front of the linear similarity jumps at each level; what lies below a jump is not the best.
    linear = empirical_front(stimuli, similarity("linear", 0.2), np.random.default_rng(0))
    best = pairs.best_generalization(np.clip(linear.identification, 0, 1))
    apart = best - linear.generalization
    assert apart.min() > -INTERPOLATED
    own = pairs.front("linear")
    nearest = [
        np.hypot(own.generalization - nearer, own.identification - named).min()
        for nearer, named in zip(linear.generalization, linear.identification, strict=True)
    ]
    assert max(nearest) < 0.02


def test_front_ends_at_guessing_and_at_certainty():
    pairs = level_pairs(draw_stimuli(2, 9, 81, seed=0), 9)
    assert pairs.best_generalization([0.5, 1.0]) == pytest.approx([0.5, 0.5], abs=2e-3)
    assert pairs.best_generalization(0.8) > 0.75


def test_circle_front_is_the_closed_form_and_goes_on_below_it():
    nearer, named = linear_on_circle(np.linspace(0, 1, 11))
    np.testing.assert_allclose(circle_generalization(named), nearer, rtol=0, atol=ROUNDING)
    for resolution in (0.55, 0.9, 3.1):
        point = probabilities(circle(), similarity("linear", resolution))
        assert circle_generalization(point.identification) == pytest.approx(point.generalization, abs=INTERPOLATED)
    assert circle_generalization(0.5) == pytest.approx(0.5, abs=1e-9)
    assert circle_generalization(0.3) == circle_generalization(0.5)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: steps_apart([0], [1], 1), "ring_size must be"),
        (lambda: steps_apart([0], [1], 5, "max"), "truth must be one of mean, min"),
        (lambda: draw_stimuli(0, 5, 10, 0), "slots must be"),
        (lambda: draw_stimuli(2, 1, 10, 0), "ring_size must be"),
        (lambda: draw_stimuli(2, 5, 0, 0), "count must be"),
        (lambda: draw_stimuli(2, 5, 10, -1), "seed must be"),
        (lambda: level_pairs([0, 1, 2], 5), "stimuli must have the shape"),
        (lambda: level_pairs([[0], [1], [2]], 3), "equally far from every probe"),
        (lambda: circle_generalization(1.2), "identification must lie in"),
    ],
)
def test_wrong_arguments_are_named(call, complaint):
    with pytest.raises(InputError, match=complaint):
        call()
