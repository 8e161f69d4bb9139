"""Colors of elements, the plane of a picture, and how far classes are from being points."""

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.relations import Relation, complete_bipartite, divisibility, less_than, modulo
from genlaws.relations.networks.runs import class_spread, element_groups, principal_plane

ROUNDING = 1e-12


def test_equivalences_are_grouped_by_class():
    groups = element_groups(modulo(7, 3))
    assert groups.kind == "class"
    assert groups.separate
    assert groups.value.tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert groups.count == 3


def test_complete_bipartite_relations_are_grouped_by_side():
    groups = element_groups(complete_bipartite(2, 3))
    assert groups.kind == "side"
    assert groups.value.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("relation", [less_than(5), divisibility(6)])
def test_orders_are_grouped_by_how_many_come_before(relation):
    groups = element_groups(relation)
    table = relation.matrix.copy()
    np.fill_diagonal(table, False)
    assert groups.kind == "position"
    assert not groups.separate
    assert groups.value.tolist() == table.sum(axis=0).tolist()


def test_other_relations_are_grouped_by_neighbors():
    relation = Relation.from_pairs([("a", "b"), ("b", "a"), ("b", "c"), ("c", "c"), ("c", "d")])
    groups = element_groups(relation)
    assert groups.kind == "degree"
    # A pair in both directions is one neighbor, and nobody is a neighbor of itself.
    assert groups.value.tolist() == [1, 2, 2, 1]


def test_two_dimensions_stay_and_one_becomes_a_line():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(3, 5, 2))
    assert (principal_plane(flat) == flat).all()
    line = principal_plane(flat[..., :1])
    assert (line[..., 0] == flat[..., 0]).all()
    assert not line[..., 1].any()


def test_more_dimensions_are_seen_along_the_widest_two_of_the_end():
    rng = np.random.default_rng(1)
    given = rng.normal(size=(4, 40, 5)) * np.array([0.1, 3.0, 0.2, 1.0, 0.1])
    seen = principal_plane(given)
    centered = given[-1] - given[-1].mean(axis=0)
    leading = np.sort(np.linalg.eigvalsh(centered.T @ centered))[::-1][:2]
    np.testing.assert_allclose((seen[-1] ** 2).sum(axis=0), leading, rtol=1e-10)
    assert abs(seen[-1, :, 0] @ seen[-1, :, 1]) < 1e-9
    assert np.corrcoef(seen[-1, :, 0], given[-1, :, 1])[0, 1] > 0.99  # and it is not mirrored
    # The same map at other times: it keeps differences of embeddings that lie in the plane.
    moved = principal_plane(np.concatenate([given[-1:] + 1.0, given[-1:]]))
    np.testing.assert_allclose(moved[0] - moved[1], np.broadcast_to(moved[0, 0] - moved[1, 0], (40, 2)), atol=1e-10)


def test_spread_is_inside_over_between():
    classes = np.array([0, 0, 1, 1])
    places = np.array([[-1.0, 0.0], [1.0, 0.0], [9.0, 0.0], [11.0, 0.0]])
    assert class_spread(places, classes) == pytest.approx(0.1, abs=ROUNDING)
    assert class_spread(np.stack([places, 3.0 * places + 7.0]), classes) == pytest.approx([0.1, 0.1], abs=ROUNDING)
    merged = np.array([[0.0], [0.0], [5.0], [5.0], [9.0]])
    assert class_spread(merged, [4, 4, 7, 7, 9]) == 0.0
    assert np.isnan(class_spread(places, [1, 1, 1, 1]))


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: principal_plane(np.ones((3, 2))), "embeddings must have the shape"),
        (lambda: principal_plane(np.full((1, 3, 4), np.nan)), "finite at the last time"),
        (lambda: class_spread(np.ones((3, 2)), [0, 1]), "classes must hold one number for each element"),
    ],
)
def test_wrong_input_is_refused(call, complaint):
    with pytest.raises(InputError, match=complaint):
        call()
