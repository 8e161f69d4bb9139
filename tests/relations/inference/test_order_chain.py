"""The Markov chain over orders: against exact counts, with errors that hold, and honest where it does not mix."""

import numpy as np
import pytest

from genlaws.relations.inference import order_chain
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.hypotheses import TotalOrder
from genlaws.relations.inference.order_chain import sample_orders
from genlaws.relations.inference.orders import known_order
from genlaws.relations.structure.families import less_than
from genlaws.relations.structure.training_set import TrainingSet, draw_training_set

LARGEST_Z = 5.0  # over some 900 correlated entries, fixed seeds
LARGEST_SPREAD = 1.5  # of z-scores over 20 sets: one, give or take 0.16, and Student's tails of 16 populations


@pytest.fixture(scope="module", params=[0.0, 0.05, 0.2])
def both(request):
    known = draw_training_set(less_than(30), request.param, seed=2)
    return posterior(known, TotalOrder(), method="exact"), posterior(known, TotalOrder(), method="chain", seed=7)


def test_the_chain_agrees_with_the_exact_law(both, brute):
    exact, chain = both
    assert chain.method == "Markov chain"
    assert chain.converged
    assert "agree" in chain.message
    z = brute.share_z(chain.draw(1), exact.probability)  # one draw is consistent with all that is certain
    assert np.isfinite(z).all()
    particles = 1984
    error = np.sqrt(exact.probability * (1 - exact.probability) / particles)
    gap = np.abs(chain.probability - exact.probability)
    assert (gap <= LARGEST_Z * error).all()
    assert abs(chain.accuracy - exact.accuracy) < 5 * chain.accuracy_error
    assert abs(chain.bits_left - exact.bits_left) <= max(5 * chain.bits_left_error, 1e-9)


def test_its_errors_are_neither_too_small_nor_too_large():
    bits, accuracy = [], []
    for seed in range(20):
        known = draw_training_set(less_than(10), 0.1, seed)
        exact = posterior(known, TotalOrder())
        chain = posterior(known, TotalOrder(), method="chain", draws=500, seed=seed)
        bits.append((chain.bits_left - exact.bits_left) / chain.bits_left_error)
        accuracy.append((chain.accuracy - exact.accuracy) / chain.accuracy_error)
    for z in (bits, accuracy):
        spread = np.sqrt(np.mean(np.square(z)))
        assert 0.4 < spread < LARGEST_SPREAD


def test_every_draw_extends_what_is_known_and_a_seed_fixes_it():
    below = known_order(draw_training_set(less_than(40), 0.03, seed=1), reflexive=False)
    one, two = (sample_orders(below, 200, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one.draws, two.draws)
    assert one.log2_count == two.log2_count
    first, second = np.nonzero(below)
    assert (one.draws[:, first] < one.draws[:, second]).all()
    np.testing.assert_array_equal(np.sort(one.draws, axis=1), np.tile(np.arange(40), (len(one.draws), 1)))


def test_walkers_that_did_not_move_are_reported(monkeypatch):
    monkeypatch.setattr(order_chain, "FIRST_SWEEPS", 0)
    monkeypatch.setattr(order_chain, "MAX_SWEEPS", 0)
    law = posterior(draw_training_set(less_than(30), 0.02), TotalOrder(), method="chain", draws=400)
    assert not law.converged
    assert "not converged" in law.message


def test_one_element_and_a_full_chain_need_no_luck():
    assert posterior(TrainingSet(1, [], []), TotalOrder(), method="chain").accuracy == 1.0
    law = posterior(draw_training_set(less_than(12), 1.0), TotalOrder(), method="chain", draws=100)
    assert (law.accuracy, law.accuracy_error, law.determined) == (1.0, 0.0, 1.0)
    assert law.bits_left == pytest.approx(0.0, abs=5 * law.bits_left_error)


def test_a_reflexive_order_holds_on_the_diagonal():
    law = posterior(TrainingSet(6, [(0, 1)], [1]), TotalOrder(reflexive=True), method="chain", draws=100)
    assert (law.probability.diagonal() == 1.0).all()


def two_seeds(n, p, draws):
    known = draw_training_set(less_than(n), p, seed=1)
    return [posterior(known, TotalOrder(), draws=draws, seed=seed) for seed in (1, 2)]


def agree(one, two):
    assert one.method == two.method == "Markov chain"
    assert one.converged
    assert two.converged
    assert abs(one.accuracy - two.accuracy) < 5 * np.hypot(one.accuracy_error, two.accuracy_error)
    assert abs(one.bits_left - two.bits_left) < 5 * np.hypot(one.bits_left_error, two.bits_left_error)


def test_two_seeds_agree_where_nothing_can_be_counted():
    agree(*two_seeds(200, 0.02, 300))


@pytest.mark.long
def test_two_seeds_agree_with_many_walkers():
    agree(*two_seeds(200, 0.02, 2000))
