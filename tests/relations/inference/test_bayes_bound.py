"""The Bayes bound against every relation of the class written out, for all classes at once."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from genlaws.core.errors import InputError
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.hypotheses import CompleteBipartite, Entrywise, Equivalence, TotalOrder
from genlaws.relations.inference.posterior import Posterior, entropy_bits, sampled_posterior
from genlaws.relations.inference.resampling import ChainSample
from genlaws.relations.structure.families import less_than, modulo
from genlaws.relations.structure.training_set import TrainingSet, draw_training_set

ROUNDING = 1e-12  # of sums over at most 78125 relations
LARGEST_Z = 5.0  # of at most 36 entries in 14 classes, fixed seeds
SMALLEST_P = 1e-4  # of a chi-square test with a fixed seed
SETS = {1: 3, 2: 10, 3: 20, 4: 30, 5: 30, 6: 30, 7: 10}  # random training sets for each number of elements


def possible(known_class, n):
    """Whether a class has a relation of n elements at all."""
    if getattr(known_class, "prior", "elements") == "elements":
        return True
    return n >= getattr(known_class, "class_count", 2)


@pytest.mark.parametrize("n", SETS)
def test_the_law_is_that_of_all_relations(entangled_class, n, brute):
    if not possible(entangled_class, n):
        return
    rng = np.random.default_rng(n)
    for number in range(SETS[n]):
        known = brute.training_set(entangled_class, n, rng, most=(0.15, 0.4, 1.0)[number % 3])
        law, expected = posterior(known, entangled_class, method="exact"), brute.law(entangled_class, known)
        np.testing.assert_allclose(law.probability, expected.probability, atol=ROUNDING)
        assert law.accuracy == pytest.approx(expected.accuracy, abs=ROUNDING)
        assert law.bits_left == pytest.approx(expected.bits_left, abs=ROUNDING)
        certain = (expected.probability == 0) | (expected.probability == 1)
        np.testing.assert_array_equal((law.probability == 0) | (law.probability == 1), certain)
        assert law.determined == certain.mean()
        assert law.probability.min() >= 0
        assert law.probability.max() <= 1


@pytest.mark.parametrize("seed", range(3))
def test_draws_follow_the_law_and_agree_with_the_training_set(entangled_class, seed, brute):
    known = brute.training_set(entangled_class, 6, np.random.default_rng(seed), most=0.3)
    law, expected = posterior(known, entangled_class), brute.law(entangled_class, known)
    drawn = law.draw(2000, seed)
    assert (drawn[:, known.pairs[:, 0], known.pairs[:, 1]] == known.values).all()
    assert {table.tobytes() for table in drawn} <= {table.tobytes() for table in expected.tables}
    assert brute.share_z(drawn, expected.probability).max() < LARGEST_Z


def test_every_relation_is_drawn_as_often_as_it_should(entangled_class, brute):
    n = 5 if possible(entangled_class, 4) else 6
    n = n if isinstance(entangled_class, Equivalence) else 4
    known = TrainingSet(n, [(0, 1)], [not isinstance(entangled_class, Equivalence)])
    if entangled_class in (Equivalence(1), Equivalence(1, "relations")):
        known = TrainingSet(n, [], [])
    expected = brute.law(entangled_class, known)
    numbers, share = np.unique(expected.relation, return_counts=True)
    code = {table.tobytes(): number for table, number in zip(expected.tables, expected.relation, strict=True)}
    drawn = [code[table.tobytes()] for table in posterior(known, entangled_class).draw(6000, seed=2)]
    found = [drawn.count(number) for number in numbers]
    if len(numbers) > 1:
        assert stats.chisquare(found, 6000 * share / share.sum()).pvalue > SMALLEST_P


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 9), place=st.integers(0, 6), share=st.floats(0, 0.6))
def test_names_of_elements_do_not_matter(seed, n, place, share):
    known_class = (
        TotalOrder(),
        TotalOrder(reflexive=True),
        Equivalence(3),
        Equivalence(2, "relations"),
        CompleteBipartite(),
        Entrywise("antisymmetric", "zeros"),
        Equivalence(4, "relations"),
    )[place]
    assume(possible(known_class, n))
    rng = np.random.default_rng(seed)
    rank = rng.permutation(n)
    table = rank[:, None] < rank if place in (0, 5) else rank[:, None] <= rank
    if place in (2, 3, 4, 6):
        k = getattr(known_class, "class_count", 2)
        table = (rank % k)[:, None] == rank % k
        table = ~table if place == 4 else table
    pairs = np.argwhere(rng.random((n, n)) < share)
    known = TrainingSet(n, pairs, table[pairs[:, 0], pairs[:, 1]])
    shuffle = rng.permutation(n)
    law = posterior(known, known_class)
    other = posterior(TrainingSet(n, shuffle[known.pairs], known.values), known_class)
    np.testing.assert_allclose(other.probability[np.ix_(shuffle, shuffle)], law.probability, atol=ROUNDING)
    assert other.accuracy == pytest.approx(law.accuracy, abs=ROUNDING)
    assert other.bits_left == pytest.approx(law.bits_left, abs=1e-10)
    assert other.determined == law.determined


def test_an_answer_is_worth_the_entropy_of_its_probability(entangled_class, brute):
    """Σ_v P(v) bits(v) = bits - h(P), exactly: an answer without noise gives the entropy of its probability."""
    n = 5 if possible(entangled_class, 5) else 6
    rng = np.random.default_rng(8)
    for _ in range(6):
        known = brute.training_set(entangled_class, n, rng, most=0.3)
        law = posterior(known, entangled_class)
        for i, j in np.argwhere((law.probability > 0) & (law.probability < 1))[::3].tolist():
            p = law.probability[i, j]
            left = [posterior(known.with_answer((i, j), v), entangled_class).bits_left for v in (False, True)]
            expected = law.bits_left - float(entropy_bits(np.array(p)))
            assert (1 - p) * left[0] + p * left[1] == pytest.approx(expected, abs=1e-10)


def test_an_entrywise_answer_is_worth_the_entropy_of_its_probability(entrywise_class, brute):
    rng = np.random.default_rng(8)
    known = brute.training_set(entrywise_class, 3, rng, most=0.4)
    law = posterior(known, entrywise_class)
    for i, j in np.argwhere((law.probability > 0) & (law.probability < 1)).tolist():
        p = law.probability[i, j]
        left = [posterior(known.with_answer((i, j), v), entrywise_class).bits_left for v in (False, True)]
        expected = law.bits_left - float(entropy_bits(np.array(p)))
        assert (1 - p) * left[0] + p * left[1] == pytest.approx(expected, abs=ROUNDING)


def test_nothing_and_everything_seen_and_one_element(entangled_class, brute):
    for n in (1, 5):
        if not possible(entangled_class, n):
            continue
        tables, _ = brute.all_tables(entangled_class, n)
        empty = posterior(TrainingSet(n, [], []), entangled_class)
        assert empty.accuracy == pytest.approx(brute.law(entangled_class, empty.training_set).accuracy, abs=ROUNDING)
        assert empty.unseen_accuracy == empty.accuracy
        pairs = np.argwhere(np.ones((n, n)))
        full = posterior(TrainingSet(n, pairs, tables[-1].ravel()), entangled_class)
        np.testing.assert_array_equal(full.probability, tables[-1])
        assert (full.accuracy, full.determined) == (1.0, 1.0)
        assert full.bits_left == pytest.approx(0.0, abs=ROUNDING)
        assert np.isnan(full.unseen_accuracy)


def test_the_unseen_share_of_the_bound():
    known = draw_training_set(less_than(12), 0.2, seed=1)
    law = posterior(known, TotalOrder())
    best = np.maximum(law.probability, 1 - law.probability)
    unseen = np.ones((12, 12), dtype=bool)
    unseen[known.pairs[:, 0], known.pairs[:, 1]] = False
    assert law.unseen_accuracy == pytest.approx(best[unseen].mean(), abs=ROUNDING)


def test_the_same_seed_gives_the_same_numbers():
    known = draw_training_set(less_than(20), 0.05)
    for method in ("exact", "chain"):
        one, two = (posterior(known, TotalOrder(), method=method, seed=4, draws=200) for _ in range(2))
        np.testing.assert_array_equal(one.probability, two.probability)
        np.testing.assert_array_equal(one.draw(5, 1), two.draw(5, 1))
    rng = np.random.default_rng(4)
    again = posterior(known, TotalOrder(), method="chain", seed=rng, draws=200)
    np.testing.assert_array_equal(again.probability, two.probability)


def test_exact_is_refused_where_it_is_out_of_reach():
    known = draw_training_set(less_than(150), 0.01)
    with pytest.raises(InputError, match="use method 'auto' or 'chain'"):
        posterior(known, TotalOrder(), method="exact")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"method": "guess"}, "method must be one of auto, exact, chain"),
        ({"draws": 99}, "draws must be a whole number, at least 100"),
        ({"draws": 1000.0}, "draws must be a whole number"),
        ({"hypotheses": "total-order"}, "hypotheses must be a class of relations; got str"),
    ],
)
def test_wrong_arguments_are_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        posterior(TrainingSet(3, [], []), **({"hypotheses": TotalOrder()} | arguments))


@pytest.mark.parametrize("draws", [0, -1, 1.5])
def test_a_number_of_draws_must_be_a_number(draws):
    for known_class in (TotalOrder(), Equivalence(2, "relations"), Entrywise()):
        with pytest.raises(InputError, match="draws must be a whole number, at least 1"):
            posterior(TrainingSet(3, [], []), known_class).draw(draws)


def test_a_posterior_without_a_sampler_says_so():
    law = Posterior(TrainingSet(1, [], []), np.ones((1, 1)), 1.0, 0.0)
    with pytest.raises(TypeError, match="no sampler"):
        law.draw(1)


def test_the_error_of_a_sampled_bound_is_its_spread_over_repetitions():
    """Coin flips are the worst case: the halves of the draws agree on a guess by chance, and both are lucky then."""
    rng = np.random.default_rng(0)
    found, errors = [], []
    for _ in range(400):
        tables = rng.random((200, 3, 3)) < 0.5
        sample = ChainSample(tables, 9.0, 0.0, sweeps=1, largest_z=0.0, converged=True)
        law = sampled_posterior(TrainingSet(3, [], []), sample, lambda draws: draws)
        found.append(law.accuracy)
        errors.append(law.accuracy_error)
    assert np.mean(found) == pytest.approx(0.5, abs=4 * np.std(found) / 20)  # no bias from guessing
    assert np.std(found) / np.mean(errors) == pytest.approx(1.0, abs=0.12)  # the spread of 400 is known to 4 %


def test_the_entropy_of_an_answer():
    p = np.array([0.0, 1e-300, 0.25, 0.5, 1 - 1e-15, 1.0])
    bits = entropy_bits(p)
    assert bits[[0, 5]].tolist() == [0.0, 0.0]
    assert bits[3] == 1.0
    assert bits[2] == pytest.approx(0.8112781244591328, abs=ROUNDING)
    assert 0 < bits[1] < 1e-296
    assert 0 < bits[4] < 1e-13
    assert entropy_bits(0.5) == 1.0


def test_large_problems_stay_inside_0_and_1():
    for relation, known_class, p in ((less_than(300), TotalOrder(), 0.0002), (modulo(200, 5), Equivalence(5), 0.004)):
        law = posterior(draw_training_set(relation, p, seed=3), known_class)
        assert law.method == "exact"
        assert law.probability.min() >= 0
        assert law.probability.max() <= 1
        assert np.isfinite(law.bits_left)
        assert law.draw(2).shape == (2, relation.element_count, relation.element_count)
