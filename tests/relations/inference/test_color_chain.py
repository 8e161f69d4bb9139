"""The Markov chain over colorings: against exact counts, with errors that hold, and honest where it is locked."""

import numpy as np
import pytest

from genlaws.core.errors import ConvergenceError, InputError
from genlaws.relations.inference import color_chain
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.color_chain import sample_proper_colorings, used_colors
from genlaws.relations.inference.hypotheses import CompleteBipartite, Equivalence
from genlaws.relations.structure.families import complete_bipartite, equivalence, modulo
from genlaws.relations.structure.training_set import TrainingSet, draw_training_set

WALKERS = 1984
LARGEST_Z = 5.0  # over some 900 correlated entries, fixed seeds
UNSEEN = 1e-3  # bits: colorings with an empty class that are too rare to be drawn
LARGEST_SPREAD = 1.4  # of z-scores over 20 sets: one, give or take 0.16

CASES = {
    "mod3": (modulo(30, 3), Equivalence(3), 0.06),
    "mod5": (modulo(30, 5), Equivalence(5), 0.1),
    "mod5, nothing seen": (modulo(30, 5), Equivalence(5), 0.0),
    "sides": (complete_bipartite(15, 15), CompleteBipartite(), 0.02),
    "relations": (modulo(9, 5), Equivalence(5, "relations"), 0.05),
}


@pytest.mark.parametrize(("relation", "known_class", "p"), CASES.values(), ids=CASES.keys())
def test_the_chain_agrees_with_the_exact_law(relation, known_class, p):
    known = draw_training_set(relation, p, seed=2)
    exact = posterior(known, known_class, method="exact")
    chain = posterior(known, known_class, method="chain", truth=relation, seed=7)
    assert chain.method == "Markov chain"
    assert chain.converged
    particles = WALKERS if known_class != CASES["relations"][1] else WALKERS * 0.3  # those that use every class
    error = np.sqrt(exact.probability * (1 - exact.probability) / particles)
    assert (np.abs(chain.probability - exact.probability) <= LARGEST_Z * error).all()
    assert abs(chain.accuracy - exact.accuracy) < 5 * chain.accuracy_error
    assert abs(chain.bits_left - exact.bits_left) < 5 * chain.bits_left_error + UNSEEN


@pytest.mark.parametrize(
    ("relation", "known_class"),
    [
        (complete_bipartite(6, 6), CompleteBipartite()),
        (modulo(7, 5), Equivalence(5, "relations")),
        (modulo(7, 7), Equivalence(7)),
    ],
    ids=["coin flips", "none empty", "some empty"],
)
def test_its_errors_are_neither_too_small_nor_too_large(relation, known_class):
    bits, accuracy = [], []
    for seed in range(20):
        known = draw_training_set(relation, 0.05, seed)
        exact = posterior(known, known_class)
        chain = posterior(known, known_class, method="chain", draws=1500, seed=seed)
        bits.append((chain.bits_left - exact.bits_left) / chain.bits_left_error)
        accuracy.append((chain.accuracy - exact.accuracy) / chain.accuracy_error)
    for z in (bits, accuracy):
        assert 0.5 < np.sqrt(np.mean(np.square(z))) < LARGEST_SPREAD


def test_locked_walkers_are_reported(monkeypatch):
    relation = modulo(30, 3)
    known = draw_training_set(relation, 0.05, seed=3)
    assert posterior(known, Equivalence(3), method="chain", truth=relation).converged
    monkeypatch.setattr(color_chain._Particles, "swap", lambda particles: None)
    law = posterior(known, Equivalence(3), method="chain", truth=relation)
    assert not law.converged
    assert "not converged" in law.message


def test_every_draw_is_proper_and_a_seed_fixes_it():
    relation = modulo(60, 4)
    known = draw_training_set(relation, 0.04, seed=1)
    one, two = (posterior(known, Equivalence(4), method="chain", draws=200, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.probability, two.probability)
    assert (one.accuracy, one.bits_left) == (two.accuracy, two.bits_left)
    tables = one.draw(50, seed=np.random.default_rng(1))
    assert (tables[:, known.pairs[:, 0], known.pairs[:, 1]] == known.values).all()
    assert (tables == np.swapaxes(tables, 1, 2)).all()


def test_more_classes_than_a_byte_can_number():
    graph = [frozenset({1}), frozenset({0}), frozenset()]
    sample = sample_proper_colorings(graph, 200, 320, np.random.default_rng(0), np.array([199, 0, 130]))
    assert sample.draws.min() >= 0
    assert 150 < sample.draws.max() < 200
    assert (sample.draws[:, 0] != sample.draws[:, 1]).all()
    assert sample.log2_count == pytest.approx(np.log2(200 * 199 * 200), abs=5 * sample.log2_count_error + 1e-9)
    assert used_colors(sample.draws, 200).sum(axis=1).max() <= 3


@pytest.mark.parametrize("k", [1, 2, 6])
def test_one_class_two_classes_and_one_for_each_element(k):
    law = posterior(TrainingSet(6, [(0, 1)], [1]), Equivalence(k), method="chain", draws=320)
    assert law.converged
    exact = posterior(TrainingSet(6, [(0, 1)], [1]), Equivalence(k))
    assert abs(law.accuracy - exact.accuracy) <= 5 * law.accuracy_error
    assert (law.determined == 1.0) == (k == 1)


def test_a_truth_that_contradicts_the_training_set_is_refused():
    known = draw_training_set(modulo(30, 3), 0.1)
    for truth, said in ((modulo(30, 5), "agree"), (equivalence([10, 10, 10]), "agree"), (modulo(9, 3), "30 elements")):
        with pytest.raises(InputError, match=said):
            posterior(known, Equivalence(3), method="chain", truth=truth)


def test_no_coloring_is_said_after_a_search_that_found_none(monkeypatch):
    monkeypatch.setattr(color_chain, "MAX_HARDENING_STEPS", 20)
    triangle = TrainingSet(3, [(0, 1), (1, 2), (2, 0)], [1, 1, 1])
    with pytest.raises(ConvergenceError, match="No coloring with 2 classes was found"):
        posterior(triangle, CompleteBipartite(), method="chain", draws=100)


def two_seeds(n, k, p, draws):
    relation = modulo(n, k)
    known = draw_training_set(relation, p, seed=1)
    one, two = (posterior(known, Equivalence(k), truth=relation, draws=draws, seed=seed) for seed in (1, 2))
    assert one.method == two.method == "Markov chain"
    assert one.converged
    assert two.converged
    assert abs(one.accuracy - two.accuracy) < 5 * np.hypot(one.accuracy_error, two.accuracy_error)
    assert abs(one.bits_left - two.bits_left) < 5 * np.hypot(one.bits_left_error, two.bits_left_error)


def test_two_seeds_agree_where_nothing_can_be_counted():
    two_seeds(200, 5, 0.012, 300)


@pytest.mark.long
def test_two_seeds_agree_with_many_walkers():
    two_seeds(200, 5, 0.012, 2000)


def test_a_population_without_a_proper_walker_takes_those_of_the_others():
    proper = np.zeros((4, 6), dtype=bool)
    proper[0, 2] = proper[2, [1, 3]] = proper[3] = True
    chosen = color_chain._proper_particles(proper, np.random.default_rng(0)).reshape(4, 6)
    assert proper.ravel()[chosen].all()
    assert (chosen[0] == 2).all()
    assert set(chosen[2]) == {13, 15}
    assert sorted(chosen[3]) == list(range(18, 24))


def test_colorings_of_which_some_populations_find_none_are_still_counted(monkeypatch):
    """A population that ends without a proper particle counts as zero; the mean over all stays right."""
    crown = [frozenset({(i + 1) % 9, (i - 1) % 9}) for i in range(9)]
    truth = 2.0**9 - 2.0  # colorings of a ring of nine with three colors
    monkeypatch.setattr(color_chain, "SWEEPS_PER_STEP", 0)
    monkeypatch.setattr(color_chain, "ENOUGH_PROPER_SHARE", 0.0)
    estimates = []
    for seed in range(40):
        particles = color_chain._Particles(
            crown, 3, 16 * color_chain.resampling.POPULATIONS, np.random.default_rng(seed)
        )
        found = color_chain._harden(particles)
        if found is not None:
            assert np.isneginf(found).any()
            assert (particles.violated() == 0).all()
            estimates.append(np.exp2(found).mean())
    mean, error = np.mean(estimates), np.std(estimates) / np.sqrt(len(estimates))
    assert abs(mean - truth) < 5 * error
