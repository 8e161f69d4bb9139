"""The quick golden answers hold; ``python tests/golden/compare.py`` compares all of them."""

import pytest

from golden.compare import answer_of, chosen, differences_of
from golden.store import RECORDED, differences

QUICK = [(part, key) for part, cases in chosen([], quick=True).items() for key in cases]


@pytest.mark.parametrize(("part", "key"), QUICK, ids=[f"{part}:{key}" for part, key in QUICK])
def test_answer_is_the_recorded_one(part, key):
    case = chosen([f"{part}:{key}"])[part][key]
    assert differences_of(part, key, case, answer_of(case)) == []


def test_record_is_small():
    assert sum(path.stat().st_size for path in RECORDED.iterdir()) < 3_000_000


@pytest.mark.parametrize(
    ("old", "new", "kind", "count"),
    [
        ({"a": 1.0}, {"a": 1.0 + 1e-9}, "solved", 0),
        ({"a": 1.0}, {"a": 1.0 + 1e-9}, "closed", 1),
        ({"a": 1}, {"b": 1}, "closed", 2),
        ([1, 2], [1, 2, 3], "closed", 1),
        ({"a": None}, {"a": 0.0}, "closed", 1),
        ({"a": "holds"}, {"a": "fails"}, "solved", 1),
        ({"a": True}, {"a": False}, "trained", 1),
    ],
)
def test_differences_are_found(old, new, kind, count):
    assert len(list(differences(old, new, kind))) == count


def test_place_of_an_optimum_is_compared_loosely_and_its_value_strictly():
    places = frozenset({"regularization"})
    near = {"regularization": 1.000001, "error": 0.25}
    assert list(differences({"regularization": 1.0, "error": 0.25}, near, "closed", places)) == []
    assert list(differences({"regularization": 1.0, "error": 0.25 + 1e-9}, near, "closed", places)) != []
