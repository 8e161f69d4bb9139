"""Trees in Newick format: hand-made ones, and what is said about text that is none."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.semanticity.measurement.metrics import leaf_distances, tree_distances
from project_paths import DATA

# The published matrix is in single precision, from a tree with four decimals; ways add up to forty branches.
PUBLISHED = 1e-3

# With the root above: A and B meet after 1 and 2, C hangs 3 below the node above them, D 5 below the root.
HAND = "((A:1,B:2):0.5,C:3,D:5);"
WAYS = [[0, 3, 4.5, 6.5], [3, 0, 5.5, 7.5], [4.5, 5.5, 0, 8], [6.5, 7.5, 8, 0]]


def test_a_tree_worked_by_hand():
    names, ways = leaf_distances(HAND)
    assert names == ["A", "B", "C", "D"]
    np.testing.assert_allclose(ways, WAYS)


@pytest.mark.parametrize(
    "text",
    [
        "((A:1,B:2):.5,C:3,D:5)",
        " ( ( A:1 ,\nB:2 )inner:5e-1 , C:3,D:5 ) root : 7 ;",
        "[a comment]((A[and one]:1,B:2)[&x=1]:0.5,'C':3,D:5)root;",
        "((A:1,B:2)'in ner':0.5,C:3,D:5); what follows is not read (",
        "((A:1,(B:1):1):0.5,C:3,D:5);",
    ],
)
def test_other_ways_to_write_it(text):
    names, ways = leaf_distances(text)
    assert names == ["A", "B", "C", "D"]
    np.testing.assert_allclose(ways, WAYS)


def test_branches_without_length_count_one():
    np.testing.assert_allclose(leaf_distances("((A,B),C);")[1], [[0, 2, 3], [2, 0, 3], [3, 3, 0]])


def test_quoted_names_keep_what_they_hold():
    names, _ = leaf_distances("('it''s (A):1',_B_,'');")
    assert names == ["it's (A):1", "_B_", ""]


def test_a_deep_and_a_broad_tree():
    deep = "(" * 600 + "L0" + "".join(f",L{k})" for k in range(1, 601)) + ";"
    names, ways = leaf_distances(deep)
    assert len(names) == 601
    # From the first leaf up k steps and down one.
    assert ways[0, 1:].tolist() == [k + 1 for k in range(1, 601)]
    broad = "(" + ",".join(f"L{k}:{k}" for k in range(300)) + ");"
    _, ways = leaf_distances(broad)
    k = np.arange(300)
    np.testing.assert_allclose(ways, np.add.outer(k, k) * (1 - np.eye(300)))


def test_leaves_in_a_wanted_order():
    np.testing.assert_allclose(tree_distances(HAND, ["D", "A"]), [[0, 6.5], [6.5, 0]])
    np.testing.assert_allclose(tree_distances(HAND), WAYS)
    with pytest.raises(InputError, match="1 of 2 are not in it, the first is 'E'"):
        tree_distances(HAND, ["A", "E"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least two leaves"),
        ("A;", "at least two leaves"),
        ("(A);", "at least two leaves"),
        ("(A,A);", "'A' occurs twice"),
        ("(A,B", "not closed"),
        ("((A,B);", "not closed"),
        ("(A,B));", "character 6"),
        ("A,B;", "character 2"),
        ("(A B,C);", "character 4"),
        ("(A,B)(C,D);", "character 6"),
        ("(A:1:2,B);", "character 5"),
        ("(A:,B);", "character 4"),
        ("(A:x,B);", "character 4"),
        ("(A,B):", "ends with a colon"),
        ("(A:-1,B);", "must be zero or positive; got -1"),
        ("(A:nan,B);", "must be zero or positive"),
        ("(A:inf,B);", "must be zero or positive"),
        ("(A,'B);", "character 4"),
        ("(A,[B);", "character 4"),
        (b"(A,B);", "must be text"),
        (None, "must be text"),
    ],
)
def test_what_is_wrong_with_a_tree_is_said(text, said):
    with pytest.raises(InputError) as caught:
        leaf_distances(text)
    assert said in str(caught.value)


def test_the_published_distances_of_two_hundred_birds():
    tree, table = DATA / "birds" / "cub200_tree.nwk", DATA / "birds" / "cub200_attributes_phylodist.npz"
    if not (tree.exists() and table.exists()):
        pytest.skip(f"needs birds/cub200_tree.nwk and its distances in {DATA}, or in the folder GENLAWS_DATA names")
    published = np.load(table)
    leaves = [name.replace(" ", "_") for name in published["scientific_name"].tolist()]
    ways = tree_distances(tree.read_text(encoding="utf-8"), leaves)
    assert ways.max() > 100
    np.testing.assert_allclose(ways, published["patristic_myr"], atol=PUBLISHED)
