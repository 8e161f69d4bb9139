"""How much data: the crossing of the mean curve itself, its interval, and the ends of the scale."""

import numpy as np
import pytest

from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.data_needed import data_needed
from genlaws.relations.inference.hypotheses import CompleteBipartite, Entrywise, Equivalence, TotalOrder
from genlaws.relations.structure.families import complete_bipartite, equivalence, less_than, modulo
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import draw_training_set

# A grid of nine points and a straight line between them, on curves that bend.
INTERPOLATION = 0.02
COVERED = 16  # of 20 intervals at 95 %: 19 expected, fewer than 16 once in 400 times


def mean_bound(relation, known_class, p, sets, seed=0):
    rng = np.random.default_rng(seed)
    return np.mean([posterior(draw_training_set(relation, p, rng), known_class).accuracy for _ in range(sets)])


@pytest.mark.parametrize(
    ("relation", "known_class", "target"),
    [
        (less_than(15), TotalOrder(), 0.9),
        (modulo(15, 3), Equivalence(3), 0.9),
        (complete_bipartite(8, 8), CompleteBipartite(), 0.8),
    ],
    ids=["order", "classes", "sides"],
)
def test_at_the_answer_the_mean_bound_is_the_target(relation, known_class, target):
    needed = data_needed(relation, target_accuracy=target, repeats=60, seed=3)
    assert needed.exact
    assert needed.sample_count.value == pytest.approx(needed.train_fraction.value * relation.pair_count)
    assert needed.train_fraction.low <= needed.train_fraction.value <= needed.train_fraction.high
    assert mean_bound(relation, known_class, needed.train_fraction.value, 150) == pytest.approx(
        target, abs=INTERPOLATION
    )
    assert needed.early_fraction <= needed.train_fraction.value <= needed.late_fraction


def test_the_interval_covers_under_other_seeds():
    relation = complete_bipartite(10, 10)
    shares = np.arange(0, 0.3, 1 / 200)
    curve = np.array([mean_bound(relation, CompleteBipartite(), p, 150, seed=int(400 * p)) for p in shares])
    truth = np.interp(0.85, np.maximum.accumulate(curve), shares)
    found = [data_needed(relation, target_accuracy=0.85, seed=seed).train_fraction for seed in range(20)]
    assert sum(one.low <= truth <= one.high for one in found) >= COVERED
    assert np.mean([one.value for one in found]) == pytest.approx(truth, rel=0.05)


def test_more_is_needed_for_more():
    targets = (0.6, 0.75, 0.9, 0.99, 1.0)
    found = [data_needed(less_than(10), target_accuracy=target, repeats=10) for target in targets]
    answers = [one.train_fraction.value for one in found]
    assert answers == sorted(answers)
    assert answers[-1] <= 1.0


@pytest.mark.parametrize("relation", [less_than(9), modulo(9, 3), complete_bipartite(4, 5), modulo(6, 6)])
def test_certainty_needs_what_the_slowest_path_needed(relation):
    needed = data_needed(relation, target_accuracy=1.0, repeats=8)
    assert 0 < needed.train_fraction.value <= 1
    assert np.isinf(needed.fraction_formula)
    assert needed.late_fraction <= needed.train_fraction.value


@pytest.mark.parametrize(("relation", "known_class"), [(less_than(9), TotalOrder()), (modulo(10, 5), Equivalence(5))])
def test_a_target_below_blind_guessing_needs_nothing(relation, known_class):
    blind = posterior(draw_training_set(relation, 0.0), known_class).accuracy
    for target in (0.01, blind - 1e-9):
        needed = data_needed(relation, target_accuracy=target, repeats=5)
        assert needed.train_fraction.value == 0.0
        assert needed.early_fraction == needed.late_fraction == 0.0
    assert data_needed(relation, target_accuracy=blind + 1e-3, repeats=5).train_fraction.value > 0


@pytest.mark.parametrize(
    "relation",
    [Relation(12, [(0, 1), (3, 3), (4, 5), (5, 4), (7, 2)]), equivalence([2, 18]), less_than(9)],
    ids=["entrywise", "unequal classes", "order"],
)
def test_the_majority_answer_needs_nothing(relation):
    majority = relation.majority_accuracy
    for target in (0.6 * majority, majority):
        needed = data_needed(relation, target_accuracy=target, repeats=4)
        assert needed.train_fraction.value == needed.sample_count.value == 0.0
        assert f"Always answering {relation.majority_answer}" in needed.meaning
    assert needed.majority_accuracy == majority
    assert data_needed(relation, target_accuracy=0.5 + 0.5 * majority, repeats=4).train_fraction.value > 0.0


def test_an_entrywise_relation_needs_what_seen_entries_and_the_majority_answer_give():
    """Of R's 30 ones those are missed that were not seen; of a symmetric one those seen from neither side."""
    rng = np.random.default_rng(0)
    off_diagonal = rng.permutation([(i, j) for i in range(20) for j in range(i)])[:30]
    generic = Relation(20, off_diagonal)
    symmetric = Relation(20, np.concatenate([off_diagonal, off_diagonal[:, ::-1]]))
    for relation, missed in ((generic, 1), (symmetric, 2)):
        ones = relation.density
        needed = data_needed(relation, target_accuracy=1.0 - 0.5 * ones, hypotheses=None, repeats=60)
        expected = 1.0 - 0.5 ** (1.0 / missed)
        assert needed.train_fraction.value == pytest.approx(expected, abs=INTERPOLATION)
        assert "not a bound for this relation" in needed.meaning
    # A dense relation of an antisymmetric class is not right on 2/3 of its pairs with nothing seen.
    dense = data_needed(less_than(9), target_accuracy=0.6, hypotheses=Entrywise("antisymmetric"), repeats=4)
    assert dense.train_fraction.value > 0.0


def test_one_element_needs_nothing():
    for relation in (less_than(1), modulo(1, 1)):
        assert data_needed(relation, target_accuracy=1.0, repeats=2).sample_count.value == 0.0


def test_eq_4_stands_beside_it():
    needed = data_needed(modulo(30, 3), target_accuracy=0.9, repeats=2)
    # Page section 2: .120 with Table II, .100 with the orbit.
    assert needed.fraction_formula == pytest.approx(0.120, abs=0.5e-3)
    assert needed.fraction_formula_exact == pytest.approx(0.100, abs=0.5e-3)
    assert np.isnan(
        data_needed(modulo(3, 3), target_accuracy=0.99, hypotheses=Equivalence(4), repeats=2).fraction_formula
    )


def test_a_seed_fixes_the_answer_and_progress_is_told():
    steps = CountedSteps()
    asked = {"target_accuracy": 0.8, "repeats": 4}
    one = data_needed(less_than(8), **asked, seed=5, running=steps.running)
    assert steps.reported == [[1] * 4]
    assert one.to_dict() == data_needed(less_than(8), **asked, seed=5).to_dict()
    assert one.train_fraction != data_needed(less_than(8), **asked, seed=6).train_fraction


@pytest.mark.parametrize(
    ("target", "arguments", "said"),
    [
        (0.0, {}, "target_accuracy must lie in"),
        (1.1, {}, "target_accuracy must lie in"),
        ([0.5, 0.6], {}, "target_accuracy must be a single number"),
        (0.9, {"repeats": 1}, "An interval needs two training sets"),
        (0.9, {"seed": -3}, "seed must be a whole number"),
    ],
)
def test_wrong_arguments_are_refused(target, arguments, said):
    with pytest.raises(InputError, match=said):
        data_needed(less_than(4), target_accuracy=target, **arguments)
