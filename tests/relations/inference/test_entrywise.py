"""Classes in which an entry determines only its mirror image, compared with all tables."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.relations.inference.hypotheses import Entrywise
from genlaws.relations.structure.training_set import TrainingSet

ROUNDING = 1e-12
LARGEST_Z = 5.0  # of at most 9 entries in 12 classes, fixed seeds


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_law_is_that_of_all_tables(entrywise_class, n, brute):
    rng = np.random.default_rng(n)
    for _ in range(15):
        known = brute.training_set(entrywise_class, n, rng)
        law, expected = posterior(known, entrywise_class), brute.law(entrywise_class, known)
        np.testing.assert_allclose(law.probability, expected.probability, atol=ROUNDING)
        assert law.accuracy == pytest.approx(expected.accuracy, abs=ROUNDING)
        assert law.bits_left == pytest.approx(expected.bits_left, abs=ROUNDING)


def test_draws_follow_the_law_and_keep_to_the_rule(entrywise_class, brute):
    rng = np.random.default_rng(0)
    known = brute.training_set(entrywise_class, 3, rng, most=0.3)
    drawn, expected = posterior(known, entrywise_class).draw(3000, seed=1), brute.law(entrywise_class, known)
    allowed = {table.tobytes() for table in expected.tables}
    met = {table.tobytes() for table in drawn}
    assert met <= allowed
    if len(allowed) < 100:
        assert met == allowed
    assert brute.share_z(drawn, expected.probability).max() < LARGEST_Z


@pytest.mark.parametrize(
    ("known_class", "pairs", "values", "said"),
    [
        (Entrywise("symmetric"), [(0, 2), (2, 0)], [1, 0], r"class 'symmetric' at \(a, c\) and \(c, a\)"),
        (Entrywise("antisymmetric"), [(0, 1), (1, 0)], [1, 1], r"at \(a, b\) and \(b, a\)"),
        (Entrywise("tournament", "zeros"), [(0, 1), (1, 0)], [0, 0], r"at \(a, b\) and \(b, a\)"),
        (Entrywise("free", "ones"), [(1, 1)], [0], r"class 'reflexive generic' at \(b, b\)"),
        (Entrywise("free", "zeros"), [(1, 1)], [1], r"class 'irreflexive generic' at \(b, b\)"),
    ],
)
def test_a_contradiction_names_its_entries(known_class, pairs, values, said):
    with pytest.raises(InputError, match=said):
        posterior(TrainingSet(3, pairs, values, ("a", "b", "c")), known_class)


def test_large_tables_can_be_drawn():
    law = posterior(TrainingSet(300, [(0, 1)], [1]), Entrywise("antisymmetric", "zeros"))
    tables = law.draw(3, seed=np.random.default_rng(2))
    assert tables.shape == (3, 300, 300)
    assert not (tables & np.swapaxes(tables, 1, 2)).any()
    assert tables[:, 0, 1].all()
    assert law.bits_left == pytest.approx(np.log2(3) * (300 * 299 / 2 - 1), rel=ROUNDING)
