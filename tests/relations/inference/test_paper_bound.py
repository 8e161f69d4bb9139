"""The paper's own estimate: transcribed once more, and shown to lie above what can be reached."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.hypotheses import CompleteBipartite, TotalOrder
from genlaws.relations.inference.paper import paper_bound, paper_bound_classes, paper_bound_order
from genlaws.relations.structure.families import binary_tree, complete_bipartite, equivalence, less_than, modulo
from genlaws.relations.structure.relation import Relation
from genlaws.relations.structure.training_set import TrainingSet, draw_training_set

ROUNDING = 1e-12


def by_the_appendix(known, classes, apart_says):
    """Appendix D in loops; `apart_says` is the value of an entry between different classes."""
    n, count = known.element_count, max(classes) + 1
    same = {(i, i) for i in range(n)}
    apart = set()
    for (i, j), value in zip(known.pairs.tolist(), known.values.tolist(), strict=True):
        (apart if value == apart_says else same).update({(i, j), (j, i)})
    for _ in range(n):
        same |= {(i, k) for i, j in same for j2, k in same if j == j2}
        apart |= {(i, k) for i, j in same for j2, k in apart if j == j2}
        apart |= {(k, i) for i, k in apart}
    options = []
    for i in range(n):
        partners = [j for j in range(n) if j != i and (i, j) in same]
        excluded = {classes[j] for j in range(n) if (i, j) in apart}
        options.append({classes[partners[0]]} if partners else set(range(count)) - excluded)
    total = 0.0
    for i in range(n):
        for j in range(n):
            p = len(options[i] & options[j]) / (len(options[i]) * len(options[j]))
            total += 1.0 if (i, j) in same or (i, j) in apart else max(p, 1 - p)
    return total / n**2


@pytest.mark.parametrize("seed", range(12))
def test_classes_are_treated_as_in_the_appendix(seed):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0, 0.4)
    for relation, classes in ((modulo(8, 3), [0, 1, 2, 0, 1, 2, 0, 1]), (equivalence([5, 2]), [0] * 5 + [1] * 2)):
        known = draw_training_set(relation, p, rng)
        assert paper_bound(relation, known) == pytest.approx(by_the_appendix(known, classes, False), abs=ROUNDING)
    relation = complete_bipartite(3, 5)
    known = draw_training_set(relation, p, rng)
    expected = by_the_appendix(known, [0] * 3 + [1] * 5, True)
    assert paper_bound(relation, known) == pytest.approx(expected, abs=ROUNDING)
    assert paper_bound_classes(known, ["x"] * 3 + ["y"] * 5, bipartite=True) == pytest.approx(expected, abs=ROUNDING)


def test_two_pairs_known_apart_are_taken_as_decided():
    known = TrainingSet(4, [(0, 1), (2, 3)], [1, 1])
    assert posterior(known, CompleteBipartite()).accuracy == 0.75
    sides = Relation.from_matrix(np.array([0, 1, 0, 1])[:, None] != np.array([0, 1, 0, 1]))
    assert paper_bound(sides, known) == 1.0


def test_the_majority_answer_is_scored_on_its_own_draws():
    """With nothing seen P = 1/2 everywhere off the diagonal, and S draws give 1/2 + 1/√(2πS) on average."""
    n, draws = 12, 50
    known = TrainingSet(n, [], [])
    found = np.mean([paper_bound_order(known, draws=draws, seed=seed) for seed in range(40)])
    exact = posterior(known, TotalOrder()).accuracy
    excess = (n - 1) / n / np.sqrt(2 * np.pi * draws)
    assert found - exact == pytest.approx(excess, rel=0.15)


def test_orders_of_both_kinds_and_a_seed():
    for table in (np.triu(np.ones((6, 6)), 1), np.triu(np.ones((6, 6)))):
        relation = Relation.from_matrix(table)
        known = draw_training_set(relation, 0.2, seed=1)
        one, two = (paper_bound(relation, known, seed=3) for _ in range(2))
        assert one == two
        assert 0.5 <= one <= 1.0
    assert paper_bound(less_than(1), TrainingSet(1, [], [])) == 1.0
    assert paper_bound(modulo(1, 1), TrainingSet(1, [], [])) == 1.0


def test_everything_seen_is_everything_known():
    for relation in (modulo(6, 3), complete_bipartite(2, 4), less_than(6)):
        assert paper_bound(relation, draw_training_set(relation, 1.0)) == 1.0


def test_other_relations_and_wrong_numbers_are_refused():
    with pytest.raises(InputError, match="is for equivalences, complete bipartite relations and total orders"):
        paper_bound(binary_tree(7), TrainingSet(7, [], []))
    with pytest.raises(InputError, match="draws must be a whole number"):
        paper_bound_order(TrainingSet(3, [], []), draws=0)
