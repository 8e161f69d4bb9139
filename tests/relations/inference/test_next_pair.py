"""What to ask next: worth exactly what the entropy falls, and enough to sort with hardly a question too many."""

from functools import partial

import numpy as np
import pytest

from counted_steps import CountedSteps
from genlaws.core.errors import InputError
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.hypotheses import CompleteBipartite, Entrywise, Equivalence, TotalOrder
from genlaws.relations.inference.next_pair import next_pair, query_curve
from genlaws.relations.structure.families import complete_bipartite, less_than, modulo
from genlaws.relations.structure.training_set import TrainingSet, draw_training_set

ROUNDING = 1e-12
LOG2_30_FACTORIAL = 107.709
# Questions beyond the entropy: measured 0.6 on average; single runs differ by one or two.
WASTED = 2.5


def nothing_seen(n):
    return TrainingSet(n, [], [])


def best_curve(relation, **named):
    return query_curve(relation, strategies=["best"], **named).strategies[0]


@pytest.mark.parametrize("n", [2, 5, 30])
def test_the_first_comparison_of_an_order_is_worth_one_bit(n):
    best = next_pair(nothing_seen(n), hypotheses=TotalOrder())
    assert best.bits == pytest.approx(1.0, abs=ROUNDING)
    assert best.probability == pytest.approx(0.5, abs=ROUNDING)
    assert best.ties == n * (n - 1)
    assert best.pair == (0, 1)
    assert best.names == ("0", "1")
    assert best.random_bits == pytest.approx((n - 1) / n, abs=ROUNDING)
    assert best.method == "exact"


def test_the_best_answer_is_worth_the_fall_of_the_entropy(entangled_class, brute):
    n = 5
    if getattr(entangled_class, "prior", "") == "relations" and getattr(entangled_class, "class_count", 2) == 5:
        n = 6
    rng = np.random.default_rng(4)
    for _ in range(5):
        known = brute.training_set(entangled_class, n, rng, most=0.3)
        best = next_pair(known, hypotheses=entangled_class)
        expected = brute.law(entangled_class, known)
        assert best.bits_left == pytest.approx(expected.bits_left, abs=1e-10)
        if best.pair is None:
            assert expected.bits_left == pytest.approx(0.0, abs=ROUNDING)
            continue
        p = expected.probability[best.pair]
        left = [brute.law(entangled_class, known.with_answer(best.pair, value)).bits_left for value in (False, True)]
        assert expected.bits_left - (1 - p) * left[0] - p * left[1] == pytest.approx(best.bits, abs=1e-10)
        nearest = np.abs(expected.probability - 0.5).min()
        assert abs(p - 0.5) == pytest.approx(nearest, abs=1e-9)
        assert best.random_bits <= best.bits


def test_wrong_answers_that_do_not_contradict_each_other_are_taken_as_certain():
    order, rng, known = less_than(12), np.random.default_rng(0), nothing_seen(12)
    while (best := next_pair(known, hypotheses=TotalOrder(), seed=rng)).pair is not None:
        right = bool(order.values([best.pair])[0])
        known = known.with_answer(best.pair, right != (rng.random() < 0.1))
        assert "taken as certain" in best.message
    law = posterior(known, TotalOrder())
    assert law.accuracy == 1.0  # of what the answers say
    assert ((law.probability > 0.5) == order.matrix).mean() < 0.95  # of the truth
    assert "taken as certain" in best.message


def test_nothing_is_left_to_ask():
    for relation, known_class in (
        (less_than(6), TotalOrder()),
        (modulo(6, 3), Equivalence(3)),
        (modulo(6, 3), Equivalence(3, "relations")),
        (complete_bipartite(2, 3), CompleteBipartite()),
        (less_than(1), TotalOrder()),
        (less_than(3), Entrywise()),
    ):
        best = next_pair(draw_training_set(relation, 1.0), hypotheses=known_class)
        assert best.pair is None
        assert best.names is None
        assert (best.bits, best.ties, best.random_bits) == (0.0, 0, 0.0)
        assert "No query is left" in best.message


def test_chance_among_equals_follows_the_seed():
    known = TrainingSet(6, [(0, 1)], [1], tuple("abcdef"))
    pairs = {next_pair(known, hypotheses=TotalOrder(), seed=seed).pair for seed in range(30)}
    assert len(pairs) > 10
    ask = partial(next_pair, known, hypotheses=TotalOrder())
    assert ask(seed=3).pair == ask(seed=3).pair
    rng = np.random.default_rng(0)
    assert ask(seed=rng).pair != ask(seed=rng).pair
    first = ask()
    assert first.names == ("abcdef"[first.pair[0]], "abcdef"[first.pair[1]])


def test_a_known_entry_is_never_asked():
    known = draw_training_set(less_than(8), 0.3, seed=2)
    seen = {tuple(pair) for pair in known.pairs.tolist()}
    assert next_pair(known, hypotheses=TotalOrder(), method="chain").pair not in seen
    assert next_pair(known, hypotheses=TotalOrder()).pair not in seen


@pytest.mark.parametrize("prior", ["elements", "relations"])
def test_two_sides_take_one_question_less_than_elements(prior):
    curve = best_curve(complete_bipartite(15, 15), hypotheses=CompleteBipartite(prior), repeats=2)
    needed = curve.queries_to_certainty
    assert needed.value == 29 if prior == "elements" else 28 <= needed.value <= 29
    if prior == "elements":
        np.testing.assert_allclose(curve.bits_left, [np.arange(29, -1, -1)] * 2, atol=ROUNDING)


def test_an_order_is_sorted_with_hardly_a_question_too_many():
    curve = best_curve(less_than(30), repeats=2, seed=1)
    needed = curve.queries_to_certainty.value
    assert LOG2_30_FACTORIAL - WASTED < needed < LOG2_30_FACTORIAL + WASTED
    assert curve.bits_left[:, 0] == pytest.approx([LOG2_30_FACTORIAL] * 2, abs=1e-3)
    assert curve.bits_left[0, -1] == pytest.approx(0.0, abs=1e-9)
    assert (np.diff(curve.bits_left, axis=1) < 1e-9).all()


@pytest.mark.parametrize("known_class", [Equivalence(3), Equivalence(3, "relations")])
def test_asking_well_is_better_than_asking_at_random(known_class):
    best, random = query_curve(modulo(12, 3), hypotheses=known_class, repeats=6).strategies
    assert best.queries_to_certainty.high < random.queries_to_certainty.value
    assert best.accuracy[:, -1].tolist() == random.accuracy[:, -1].tolist() == [1.0] * 6
    frame = best.to_frame()
    assert len(frame) == best.accuracy.shape[1]
    assert frame["accuracy"].iloc[-1] == 1.0


def test_classes_that_follow_from_their_number_need_no_question():
    curve = best_curve(modulo(4, 4), hypotheses=Equivalence(4, "relations"), repeats=2)
    assert curve.queries_to_certainty.value == 0.0
    assert best_curve(less_than(1), repeats=2).queries_to_certainty.value == 0.0


def test_a_given_number_of_questions_ends_where_it_says():
    steps = CountedSteps()
    curve = best_curve(less_than(6), queries=4, repeats=3, running=steps.running)
    assert curve.accuracy.shape == curve.bits_left.shape == (3, 5)
    assert steps.reported == [[1, 1, 1, 1, 0] * 3]
    assert np.isnan(curve.queries_to_certainty.value)
    one = best_curve(less_than(6), queries=40, repeats=1)
    assert one.accuracy.shape == (1, 41)
    assert one.to_frame()["accuracy_error"].isna().all()


def test_the_same_seed_asks_the_same_questions():
    one, two = (best_curve(modulo(8, 2), seed=3, repeats=2) for _ in range(2))
    np.testing.assert_array_equal(one.bits_left, two.bits_left)


def test_after_random_questions_the_law_is_that_of_their_answers():
    (curve,) = query_curve(less_than(5), strategies="random", repeats=2).strategies
    assert curve.accuracy[0, 0] == pytest.approx(posterior(nothing_seen(5), TotalOrder()).accuracy)
    assert curve.accuracy.shape[1] <= 26


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"strategies": "worst"}, "strategies must be one of best, random"),
        ({"strategies": []}, "strategies must name one of best, random or both"),
        ({"repeats": 0}, "repeats must be a whole number, at least 1"),
        ({"queries": 0}, "queries must be a whole number, at least 1"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_wrong_arguments_are_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        query_curve(less_than(4), **arguments)


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError, match="method must be one of"):
        next_pair(nothing_seen(3), hypotheses=TotalOrder(), method="ask")
