"""The mean bound over training sets: exact means on small relations, Eq. 5, and errors."""

from itertools import combinations

import numpy as np
import pytest

from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.bound_curve import bound_curve, guess_accuracy, paper_accuracy, table_length
from genlaws.relations.inference.hypotheses import CompleteBipartite, Entrywise, Equivalence, TotalOrder
from genlaws.relations.structure.families import complete_bipartite, equivalence, less_than, modulo
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import training_set_of

ROUNDING = 1e-12
LARGEST_T = 4.5  # of means over 200 training sets, fixed seeds


@pytest.mark.parametrize(
    ("relation", "known_class"),
    [(less_than(3), TotalOrder()), (modulo(3, 2), Equivalence(2)), (modulo(3, 3), Equivalence(3))],
)
@pytest.mark.parametrize("count", [1, 3, 6])
def test_the_mean_is_that_over_all_training_sets(relation, known_class, count, brute):
    """All subsets of the 9 entries, against 200 drawn ones."""
    every = [
        brute.law(known_class, training_set_of(relation, np.array(codes))) for codes in combinations(range(9), count)
    ]
    (point,) = bound_curve(relation, train_fraction=[count / 9], hypotheses=known_class, repeats=200, seed=2).points
    for found, values in (
        (point.accuracy, [law.accuracy for law in every]),
        (point.bits_left, [law.bits_left for law in every]),
        (point.determined, [np.isin(law.probability, (0, 1)).mean() for law in every]),
        (point.unseen_accuracy, [(9 * law.accuracy - count) / (9 - count) for law in every]),
    ):
        assert found.count == 200
        assert abs(found.value - np.mean(values)) <= LARGEST_T * np.std(values) / np.sqrt(200) + ROUNDING


def test_the_frame_has_one_row_for_each_fraction():
    curve = bound_curve(
        modulo(6, 2), train_fraction=[0.0, 0.5, 1.0], repeats=3, running=(steps := CountedSteps()).running
    )
    frame = curve.to_frame()
    assert steps.reported == [[1] * 9]
    assert frame["train_fraction"].tolist() == [0.0, 0.5, 1.0]
    assert frame["accuracy"].iloc[-1] == 1.0
    assert frame["bits_left"].iloc[0] == 5.0
    assert frame["repeats"].tolist() == [3] * 3
    assert (frame["exact_share"] == 1.0).all()
    assert np.isnan(frame["unseen_accuracy"].iloc[-1])
    assert (frame["accuracy_low"] <= frame["accuracy"]).all()
    assert curve.hypotheses == str(Equivalence(2))
    assert all(point.converged for point in curve.points)


def test_a_curve_says_what_it_bounds():
    sparse = Relation(8, [(0, 1), (2, 5)])
    curve = bound_curve(sparse, train_fraction=[0.5, 1.0], repeats=2)
    assert "not a bound for this relation" in curve.meaning
    assert "Always answering no is right on 0.96875" in curve.meaning
    assert (curve.to_frame()["majority_accuracy"] == sparse.majority_accuracy).all()
    assert "Always" not in bound_curve(sparse, train_fraction=1.0, repeats=2).meaning
    assert "any other of the class" in bound_curve(less_than(8), train_fraction=[0.0, 0.5], repeats=2).meaning
    assert "Always" not in bound_curve(less_than(8), train_fraction=[0.0, 0.5], repeats=2).meaning
    unequal = bound_curve(equivalence([1, 7]), train_fraction=0.0, repeats=2)
    assert "on average over the relations of the class" in unequal.meaning
    assert "Always answering yes" in unequal.meaning


def test_a_seed_fixes_the_curve_and_one_repeat_has_no_interval():
    one, two = (bound_curve(less_than(8), train_fraction=0.1, repeats=4, seed=9).points[0] for _ in range(2))
    assert one == two
    assert one != bound_curve(less_than(8), train_fraction=0.1, repeats=4, seed=10).points[0]
    alone = bound_curve(less_than(8), train_fraction=0.1, repeats=1).points[0].accuracy
    assert np.isnan(alone.low)


def test_a_markov_chain_alone_has_its_own_error():
    (point,) = bound_curve(less_than(8), train_fraction=0.1, repeats=1, method="chain").points
    assert point.exact_share == 0.0
    assert point.accuracy.low < point.accuracy.value < point.accuracy.high
    assert point.bits_left.low < point.bits_left.value < point.bits_left.high


@pytest.mark.parametrize("relation", [less_than(1), modulo(1, 1), less_than(2), complete_bipartite(1, 1)])
def test_the_smallest_relations_have_a_curve(relation):
    curve = bound_curve(relation, train_fraction=[0.0, 1.0], repeats=2)
    assert curve.points[-1].accuracy.value == 1.0


def test_more_classes_than_elements_have_a_curve_but_no_formula():
    curve = bound_curve(modulo(3, 3), train_fraction=[0.0, 1.0], hypotheses=Equivalence(5), repeats=2)
    assert curve.points[0].accuracy.value == pytest.approx((3 + 6 * 0.8) / 9, abs=ROUNDING)
    assert np.isnan(curve.points[0].accuracy_formula)
    assert np.isnan(table_length(2, TotalOrder()))
    assert np.isnan(paper_accuracy(1, TotalOrder(), [0.0, 0.5])).tolist() == [True, True]


def test_the_papers_guesses_and_lengths():
    assert guess_accuracy(Equivalence(5)) == 0.2
    assert guess_accuracy(CompleteBipartite()) == 0.5
    assert guess_accuracy(TotalOrder()) == 1 / 3
    assert guess_accuracy(Entrywise("antisymmetric")) == 1 / 3
    assert guess_accuracy(Entrywise("tournament")) == 0.5
    n = 30
    lengths = {
        Equivalence(3): n * np.log2(3),
        CompleteBipartite(): n,
        TotalOrder(): n * np.log2(n / np.e),
        Entrywise(): n**2,
        Entrywise("free", "ones"): n * (n - 1),
        Entrywise("symmetric"): n * (n + 1) / 2,
        Entrywise("antisymmetric"): n * (n - 1) / 2,
    }
    for known_class, bits in lengths.items():
        assert table_length(n, known_class) == pytest.approx(bits, rel=ROUNDING)


def test_eq_5_by_hand():
    b, p = 30 * np.log2(3), 0.06
    inferred = 1 - (1 - 1 / b) ** (900 * p)
    expected = inferred + 2 / 3 * (1 - inferred)
    assert paper_accuracy(30, Equivalence(3), p) == pytest.approx(expected, rel=ROUNDING)


def test_the_mean_never_falls_although_single_paths_do():
    curve = bound_curve(less_than(7), train_fraction=np.linspace(0, 1, 6), repeats=60)
    values = [point.accuracy.value for point in curve.points]
    assert values == sorted(values)
    assert values[-1] == posterior(training_set_of(less_than(7), np.arange(49)), TotalOrder()).accuracy == 1.0


@pytest.mark.parametrize(
    ("fractions", "arguments", "said"),
    [
        ([0.1, 1.2], {}, "train_fraction must lie in"),
        ([-0.1], {}, "train_fraction must lie in"),
        ([[0.1]], {}, "must be one number or a list"),
        ([0.1], {"repeats": 0}, "repeats must be a whole number, at least 1"),
        ([0.1], {"seed": -1}, "seed must be a whole number"),
        ([0.1], {"method": "best"}, "method must be one of"),
    ],
)
def test_wrong_arguments_are_refused(fractions, arguments, said):
    with pytest.raises(InputError, match=said):
        bound_curve(less_than(4), train_fraction=fractions, **arguments)
