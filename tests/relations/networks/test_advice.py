"""Advice on how many entries and which rates: agreed with the exact bound, decided by rules, the same every time."""

from __future__ import annotations

import math
import sys

import numpy as np
import pandas as pd
import pytest

from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.core.estimate import bootstrap_mean, wilson_interval
from genlaws.relations import (
    PilotPoint,
    Relation,
    advise_relation,
    collision_probability,
    data_needed,
    named_relation,
    sign_collision_probability,
)
from genlaws.relations.networks import advice as learning_advice

TINY = {
    "train_fractions": (0.2, 0.8),
    "ratios": (0.3, 3.0),
    "networks": 3,
    "ratio_networks": 2,
    "bound_repeats": 3,
    "steps": 300,
    "width": 12,
    "depth": 1,
}


@pytest.fixture(scope="module")
def sides():
    """Return two sides of eight elements, which a small network learns in moments."""
    return named_relation("bipartite-8-8")


@pytest.fixture(scope="module")
def advice(sides):
    return advise_relation(sides, **TINY, seed=3)


def test_the_data_of_the_best_learner_are_exact(sides, advice):
    exact = data_needed(sides, target_accuracy=0.9, repeats=3, seed=3)
    assert advice.best_fraction == exact.train_fraction
    assert advice.no_bound == ""


def test_the_advice_lies_in_what_was_tried(advice):
    assert advice.learned
    assert advice.suggested_ratio in TINY["ratios"]
    assert advice.advised_fraction in TINY["train_fractions"]
    assert advice.ratio_fraction == advice.advised_fraction
    assert TINY["train_fractions"][0] <= advice.network_fraction.value <= TINY["train_fractions"][-1]
    assert advice.network_fraction.low <= advice.network_fraction.value <= advice.network_fraction.high
    assert advice.network_count == advice.pilot.network_count == 2 * 3 + 2 * 2


def test_the_gap_is_the_ratio_of_both_shares(advice):
    gap, network, best = advice.gap_ratio, advice.network_fraction, advice.best_fraction
    assert gap.value == pytest.approx(network.value / best.value)
    # Wider than either alone, narrower than both at their worst.
    assert network.low / best.high <= gap.low <= network.low / best.value <= gap.value
    assert gap.value <= network.high / best.value <= gap.high <= network.high / best.low


def test_the_laws_are_those_at_the_suggested_ratio(advice):
    assert advice.flow_law == float(collision_probability(1.0, advice.suggested_ratio))
    assert advice.sign_law == float(sign_collision_probability(1.0, advice.suggested_ratio))


def test_the_same_seed_gives_the_same_advice(sides, advice):
    again = advise_relation(sides, **TINY, seed=3)
    pd.testing.assert_frame_equal(again.to_frame(), advice.to_frame(), check_exact=True)
    assert again.network_fraction == advice.network_fraction
    other = advise_relation(sides, **TINY, seed=4)
    assert not other.to_frame().equals(advice.to_frame())


def test_progress_hears_of_every_network(sides):
    steps = CountedSteps()
    advise_relation(sides, **TINY | {"steps": 2}, running=steps.running)
    assert steps.reported == [[3, 3, 2, 2]]
    steps.check_complete()


def test_a_relation_that_is_not_learned_says_so():
    table = np.random.default_rng(0).random((10, 10)) < 0.5
    found = advise_relation(Relation.from_matrix(table), **TINY | {"steps": 60})
    assert not found.learned
    assert (found.suggested_ratio, found.critical_ratio, found.advised_fraction) == (None, None, None)
    assert (found.best_fraction, found.gap_ratio, found.half_fraction) == (None, None, None)
    assert "only for classes with structure" in found.no_bound
    assert math.isinf(found.network_fraction.value)
    assert found.ratio_fraction == 0.8
    assert math.isnan(found.flow_law)


def test_sparse_relations_are_judged_by_the_balanced_accuracy():
    tree = named_relation("binary-tree", 15)
    assert tree.majority_accuracy > 0.9
    found = advise_relation(tree, **TINY | {"steps": 60})
    assert found.balanced
    assert found.best_fraction is None
    assert "majority answer" in found.no_bound
    # Networks that only say no are right on half.
    assert found.fractions[0].accuracy.value < 0.9
    assert not advise_relation(tree, target_accuracy=0.97, **TINY | {"steps": 2}).balanced


def points(values, networks, successes, steps=None):
    """Return points at which a number of networks succeeded, all of them right on 1, the others on 0."""
    found = []
    for place, (value, right) in enumerate(zip(values, successes, strict=True)):
        accuracies = (np.arange(networks) < right).astype(float)
        took = math.nan if right == 0 else 100.0 if steps is None else steps[place]
        success, mean = wilson_interval(right, networks), bootstrap_mean(accuracies)
        found.append(PilotPoint(value, success, mean, took, tuple((accuracies > 0).tolist()), accuracies))
    return found


def decided(monkeypatch, sides, successes, ratio_successes, steps=None):
    """Return the advice on networks that succeed at given rates."""

    class FixedTrials:
        def __init__(self, *given):
            pass

        def fractions(self):
            return points((0.1, 0.2, 0.4, 0.8), 4, successes)

        def ratios(self, train_fraction):
            return points((0.1, 1.0, 10.0, 100.0), 4, ratio_successes, steps)

    monkeypatch.setattr(learning_advice, "PilotTrials", FixedTrials)
    return advise_relation(sides, **TINY)


def test_enough_entries_are_enough_from_there_on(monkeypatch, sides):
    assert decided(monkeypatch, sides, (0, 1, 3, 4), (4, 4, 4, 0)).advised_fraction == 0.4
    assert decided(monkeypatch, sides, (4, 1, 3, 4), (4, 4, 4, 0)).advised_fraction == 0.4
    assert decided(monkeypatch, sides, (4, 4, 4, 4), (4, 4, 4, 0)).advised_fraction == 0.1
    few = decided(monkeypatch, sides, (4, 4, 4, 2), (4, 4, 4, 0))
    assert (few.advised_fraction, few.ratio_fraction) == (None, 0.8)


def test_shares_of_every_other_network(monkeypatch, sides):
    found = decided(monkeypatch, sides, (0, 0, 4, 4), (4, 4, 4, 4))
    assert 0.2 < found.half_fraction.value < 0.4
    # Means of 0 and 1 reach 0.9 at nine tenths of the way.
    assert found.network_fraction.value == pytest.approx(0.38)
    assert decided(monkeypatch, sides, (4, 4, 4, 4), (4, 4, 4, 4)).half_fraction is None


def test_most_successes_then_fewest_steps(monkeypatch, sides):
    enough = (0, 4, 4, 4)
    assert decided(monkeypatch, sides, enough, (3, 3, 4, 0)).suggested_ratio == 10.0
    assert decided(monkeypatch, sides, enough, (4, 4, 4, 0), (90.0, 50.0, 70.0, 1.0)).suggested_ratio == 1.0
    assert decided(monkeypatch, sides, enough, (0, 0, 0, 0)).suggested_ratio is None


def test_the_critical_ratio_lies_beyond_the_suggested_one(monkeypatch, sides):
    enough = (0, 4, 4, 4)
    # Failures at the smallest ratio are of another kind and do not move it.
    found = decided(monkeypatch, sides, enough, (0, 4, 4, 0))
    assert found.suggested_ratio == 1.0
    assert 10.0 < found.critical_ratio.value < 100.0
    assert 9.99 < found.critical_ratio.low <= found.critical_ratio.high < 100.01
    assert found.boundary_seen
    unseen = decided(monkeypatch, sides, enough, (4, 4, 4, 4))
    assert unseen.critical_ratio is None
    assert not unseen.boundary_seen
    # Failures that become no more frequent have no critical ratio.
    assert decided(monkeypatch, sides, enough, (4, 2, 4, 4)).critical_ratio is None
    assert decided(monkeypatch, sides, enough, (0, 0, 0, 4)).critical_ratio is None


def test_advice_names_nothing_beyond_what_was_tried(monkeypatch, sides):
    # Three in four generalize at the smallest share and still at the largest ratio: both thresholds lie beyond.
    found = decided(monkeypatch, sides, (3, 3, 4, 4), (4, 4, 3, 3), (50.0, 90.0, 90.0, 90.0))
    assert found.fraction_at_edge
    assert found.ratio_at_edge
    assert not found.half_fraction_seen
    assert not found.boundary_seen
    text = " ".join(str(found).split())
    assert "It is the smallest fraction tried: a smaller one may suffice." in text
    assert "It is the smallest ratio tried: one beyond it may do better." in text
    assert "half generalize at a fraction of less than 0.1, the smallest tried" in text
    assert "critical ratio more than 100, the largest tried" in text
    inside = decided(monkeypatch, sides, (0, 0, 4, 4), (0, 4, 4, 0))
    assert inside.half_fraction_seen
    assert inside.boundary_seen
    assert not inside.fraction_at_edge
    assert not inside.ratio_at_edge
    assert "tried:" not in str(inside)
    nowhere = decided(monkeypatch, sides, (0, 0, 0, 2), (4, 4, 4, 0))
    assert "At no training fraction tried, up to 80%" in " ".join(str(nowhere).split())


def test_a_quick_pilot_is_smaller_and_what_is_given_counts(sides):
    few = {"ratios": (0.3, 3.0), "networks": 2, "ratio_networks": 2, "width": 4, "depth": 0}
    quick = advise_relation(sides, quick=True, steps=2, **few).pilot
    usual = advise_relation(sides, optimizer="sgd", steps=2, **few).pilot
    assert (quick.steps, quick.ratios, quick.networks) == (2, (0.3, 3.0), 2)
    assert len(quick.train_fractions) < len(usual.train_fractions)
    assert quick.bound_repeats < usual.bound_repeats
    assert usual.decoder_rate > quick.decoder_rate > 0


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"relation": Relation.from_pairs([(0, 1)], elements=range(501))}, "at most 500 elements; pairs has 501"),
        ({"relation": Relation.from_pairs([(0, 1)], elements=range(9))}, "only 1 of one kind"),
        ({"target_accuracy": 1.0}, r"target_accuracy must lie in \(0, 1\); got 1. A network succeeds when"),
        ({"target_accuracy": 90}, "target_accuracy must lie in"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_wrong_questions_are_refused(sides, change, complaint):
    arguments = {"relation": sides, **TINY, **change}
    with pytest.raises(InputError, match=complaint):
        advise_relation(arguments.pop("relation"), **arguments)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"ratios": (3.0, 1.0)}, "ratios must be at least two increasing numbers"),
        ({"ratios": (0.0, 1.0)}, "ratios must be positive"),
        ({"train_fractions": (0.5,)}, "train_fractions must be at least two increasing numbers"),
        ({"networks": 1}, "networks must be a whole number, at least 2"),
        ({"optimizer": "lion"}, "optimizer must be one of"),
        ({"decoder_rate": -1.0}, "decoder_rate must be positive"),
        ({"steps": 0}, "steps must be a whole number"),
    ],
)
def test_wrong_pilots_are_refused(sides, fields, complaint):
    with pytest.raises(InputError, match=complaint):
        advise_relation(sides, **fields)


def test_relations_are_imported_without_torch():
    import subprocess

    code = "import sys, genlaws.relations; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
