"""Which entries a learner was shown: each once, none contradicted, drawn without preference."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations.structure.families import less_than, modulo
from genlaws.relations.structure.training_set import TrainingSet, draw_order, draw_training_set, training_set_of

LARGEST_Z = 5.0  # over 36 entries, fixed seed


def test_each_entry_is_kept_once_in_order():
    known = TrainingSet(3, [(2, 1), (0, 1), (2, 1), (0, 1)], [1, 0, 1, 0])
    assert known.pairs.tolist() == [[0, 1], [2, 1]]
    assert known.values.tolist() == [False, True]
    assert known.train_fraction == 2 / 9


def test_a_training_set_cannot_be_changed():
    pairs, values = np.array([(0, 1), (1, 2)]), np.array([True, False])
    known = TrainingSet(3, pairs, values)
    pairs[:], values[:] = 0, False
    assert known.pairs.tolist() == [[0, 1], [1, 2]]
    assert known.values.tolist() == [True, False]
    for array in (known.pairs, known.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_an_entry_given_as_0_and_as_1_is_refused_by_name():
    with pytest.raises(InputError, match=r"\(b, a\) is given as 0 and as 1"):
        TrainingSet(2, [(0, 1), (1, 0), (1, 0)], [1, 0, 1], ("a", "b"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, [], []), "element_count must be a whole number, at least 1"),
        ((2.0, [], []), "element_count must be a whole number"),
        ((3, [(0, 3)], [1]), "from 0 to 2"),
        ((3, [(-1, 0)], [1]), "from 0 to 2"),
        ((3, [(0.5, 1.2)], [1]), "rows of two element numbers"),
        ((3, [("a", "b")], [1]), "rows of two element numbers"),
        ((3, [(0, 1), (1,)], [1, 0]), "different lengths"),
        ((3, [0, 1], [1]), "rows of two element numbers"),
        ((3, [(0, 1)], [2]), "values must be 0 or 1"),
        ((3, [(0, 1)], [0.5]), "values must be 0 or 1"),
        ((3, [(0, 1)], [np.nan]), "values must be 0 or 1"),
        ((3, [(0, 1)], ["1"]), "values must be 0 or 1"),
        ((3, [(0, 1)], [1, 0]), "one 0 or 1 for each of the 1 pairs"),
        ((3, [(0, 1)], [1], ("a", "b")), "one entry for each of the 3 elements"),
    ],
)
def test_wrong_entries_are_refused_in_a_sentence(arguments, said):
    with pytest.raises(InputError, match=said):
        TrainingSet(*arguments)


def test_an_answer_is_added_and_the_old_set_stays():
    old = TrainingSet(3, [(0, 1)], [1], ("a", "b", "c"))
    new = old.with_answer((2, 0), np.False_)
    assert new.pairs.tolist() == [[0, 1], [2, 0]]
    assert new.values.tolist() == [True, False]
    assert new.names == old.names
    assert len(old.pairs) == 1
    assert len(TrainingSet(3, [], []).with_answer((1, 1), True).pairs) == 1


@pytest.mark.parametrize(
    ("pair", "value", "said"),
    [
        ((0, 3), True, "from 0 to 2"),
        ((0, 1, 2), True, "pair must be two element numbers"),
        ((0, 1), False, r"\(0, 1\) is given as 0 and as 1"),
        ((0, 2), 5, "values must be 0 or 1"),
    ],
)
def test_an_impossible_answer_is_refused(pair, value, said):
    with pytest.raises(InputError, match=said):
        TrainingSet(3, [(0, 1)], [1]).with_answer(pair, value)


def test_elements_are_numbered_by_name():
    known = TrainingSet.from_names([("b", "c", 1), ("c", "a", 0)], elements=("a", "b"))
    assert known.names == ("a", "b", "c")
    assert known.pairs.tolist() == [[1, 2], [2, 0]]
    assert known.values.tolist() == [True, False]
    assert TrainingSet.from_names([], elements=("only",)).element_count == 1


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "at least one element"),
        ([("a", "b", 1), ("a", "b", "yes")], "got 'yes' in row 2"),
        ([("a", "b", 0.5)], "got 0.5 in row 1"),
        ([("a", "b")], r"must be \(first, second, value\); got \('a', 'b'\) in row 1"),
        ([("a", "b", 1), ("a", "b", 0)], r"\(a, b\) is given as 0 and as 1"),
    ],
)
def test_wrong_rows_are_refused_with_their_number(rows, said):
    with pytest.raises(InputError, match=said):
        TrainingSet.from_names(rows)


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (0.1, 4), (0.5, 18), (1.0, 36)])
def test_a_share_of_all_entries_is_drawn_without_replacement(share, count):
    relation = modulo(6, 3)
    known = draw_training_set(relation, share, seed=3)
    assert len(known.pairs) == count
    assert len({tuple(pair) for pair in known.pairs.tolist()}) == count
    np.testing.assert_array_equal(known.values, relation.matrix[known.pairs[:, 0], known.pairs[:, 1]])


def test_every_entry_is_drawn_equally_often():
    draws, share = 2000, 0.25
    rng = np.random.default_rng(0)
    seen = np.zeros((6, 6))
    for _ in range(draws):
        pairs = draw_training_set(less_than(6), share, rng).pairs
        seen[pairs[:, 0], pairs[:, 1]] += 1
    z = (seen - draws * share) / np.sqrt(draws * share * (1 - share))
    assert np.abs(z).max() < LARGEST_Z


def test_a_seed_gives_the_same_set_and_a_generator_moves_on():
    relation = less_than(8)
    one, two = (draw_training_set(relation, 0.3, seed=5).pairs.tolist() for _ in range(2))
    assert one == two
    rng = np.random.default_rng(5)
    first, second = (draw_training_set(relation, 0.3, rng).pairs.tolist() for _ in range(2))
    assert first == one
    assert second != first


def test_entries_by_number_are_rows_and_columns():
    codes = draw_order(4, seed=1)
    assert sorted(codes.tolist()) == list(range(16))
    known = training_set_of(less_than(4), codes[:5])
    assert sorted((known.pairs[:, 0] * 4 + known.pairs[:, 1]).tolist()) == sorted(codes[:5].tolist())


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan, "half", [0.1, 0.2]])
def test_a_share_outside_0_to_1_is_refused(share):
    with pytest.raises(InputError, match="train_fraction"):
        draw_training_set(less_than(4), share)
