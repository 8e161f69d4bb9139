"""Classes of relations: names, recognition, texts, and errors."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.inference.hypotheses import (
    CompleteBipartite,
    Entrywise,
    Equivalence,
    TotalOrder,
    hypotheses_of,
    named_hypotheses,
)
from genlaws.relations.structure.families import (
    binary_tree,
    complete_bipartite,
    divisibility,
    equivalence,
    incomplete_bipartite,
    less_than,
    modulo,
)
from genlaws.relations.structure.relation import Relation

ROCK_PAPER_SCISSORS = Relation.from_matrix([[0, 1, 0], [0, 0, 1], [1, 0, 0]])

RECOGNIZED = [
    (modulo(30, 3), Equivalence(3)),
    (equivalence([4, 1]), Equivalence(2)),
    (equivalence([5]), Equivalence(1)),
    (modulo(4, 4), Equivalence(4)),
    (less_than(30), TotalOrder()),
    (Relation.from_matrix(np.triu(np.ones((4, 4)))), TotalOrder(reflexive=True)),
    (complete_bipartite(15, 15), CompleteBipartite()),
    (complete_bipartite(1, 1), CompleteBipartite()),
    (incomplete_bipartite(4, 5, seed=1), Entrywise("symmetric", "zeros")),
    (binary_tree(7), Entrywise("antisymmetric", "zeros")),
    (divisibility(6), Entrywise("antisymmetric", "ones")),
    (ROCK_PAPER_SCISSORS, Entrywise("tournament", "zeros")),
    (Relation.from_matrix([[1, 1, 0], [1, 0, 0], [1, 1, 0]]), Entrywise("free", "free")),
]


@pytest.mark.parametrize(("relation", "known_class"), RECOGNIZED, ids=str)
def test_a_relation_is_put_in_the_smallest_known_class(relation, known_class):
    assert hypotheses_of(relation) == known_class


def test_the_prior_is_passed_on():
    assert hypotheses_of(modulo(6, 3), "relations") == Equivalence(3, "relations")
    assert hypotheses_of(complete_bipartite(2, 3), "relations") == CompleteBipartite("relations")
    assert named_hypotheses("equivalence-4", "relations") == Equivalence(4, "relations")


@pytest.mark.parametrize(
    ("name", "known_class", "words"),
    [
        ("equivalence-3", Equivalence(3), "equivalence with 3 classes"),
        ("equivalence-1", Equivalence(1), "equivalence with 1 class"),
        ("bipartite", CompleteBipartite(), "complete bipartite"),
        ("total-order", TotalOrder(), "total order"),
        ("reflexive-total-order", TotalOrder(True), "reflexive total order"),
        ("generic", Entrywise(), "generic"),
        ("symmetric", Entrywise("symmetric"), "symmetric"),
        ("antisymmetric", Entrywise("antisymmetric"), "antisymmetric"),
        ("reflexive", Entrywise("free", "ones"), "reflexive generic"),
        ("tournament", Entrywise("tournament", "zeros"), "irreflexive tournament"),
    ],
)
def test_every_name_has_a_class_and_every_class_its_words(name, known_class, words):
    assert named_hypotheses(name) == known_class
    assert str(known_class) == words


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: named_hypotheses("partial-order"), "no class of relations 'partial-order'; known are equivalence-K"),
        (lambda: named_hypotheses(3), "must be text; got 3"),
        (lambda: named_hypotheses("equivalence-0"), "class_count must be a whole number, at least 1"),
        (lambda: named_hypotheses("equivalence-2", "uniform"), "prior must be one of elements, relations"),
        (lambda: Equivalence(2.5), "class_count must be a whole number"),
        (lambda: Equivalence(0), "An equivalence needs a class"),
        (lambda: Equivalence(2, "none"), "prior must be one of"),
        (lambda: CompleteBipartite("none"), "prior must be one of"),
        (lambda: Entrywise("sometimes"), "pair_rule must be one of"),
        (lambda: Entrywise("free", "twos"), "diagonal must be one of"),
    ],
)
def test_unknown_names_and_numbers_are_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()
