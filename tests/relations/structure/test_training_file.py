"""Reading known entries from a file."""

import gzip

import pytest

from genlaws.core.errors import InputError
from genlaws.relations.structure.training_set import read_training_set


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "first,second,value\nMars,Venus,1\nVenus,Earth,0\n",
        "Mars,Venus,yes\nVenus,Earth,no\n",
        "Mars\tVenus\tTRUE\n\nVenus\tEarth\tfalse\n",
        "First, Second, Value\n Mars , Venus , 1\nVenus,Earth, 0\n",
    ],
)
def test_all_ways_of_writing_mean_the_same(tmp_path, text):
    found = read_training_set(write(tmp_path / "known.csv", text))
    assert found.names == ("Mars", "Venus", "Earth")
    assert found.pairs.tolist() == [[0, 1], [1, 2]]
    assert found.values.tolist() == [True, False]


def test_compressed_file(tmp_path):
    path = tmp_path / "known.tsv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.write("a\tb\t1\n")
    assert read_training_set(path).names == ("a", "b")


def test_named_elements_come_first_and_need_not_occur(tmp_path):
    path = write(tmp_path / "known.csv", "b,a,1\n")
    found = read_training_set(path, elements=["c", "a"])
    assert found.names == ("c", "a", "b")
    assert found.pairs.tolist() == [[2, 1]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b,1\na,b,maybe\n", "line 2: the value must be 0 or 1; got 'maybe'"),
        ("a,b,1,2\n", "line 1 must hold first, second and value"),
        ("a,,1\n", "line 1 must hold first, second and value"),
        ("", "needs at least one element"),
        ("a,b,1\na,b,0\n", "is given as 0 and as 1"),
    ],
)
def test_wrong_lines_are_refused_with_their_number(tmp_path, text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_training_set(write(tmp_path / "known.csv", text))


def test_missing_and_unreadable_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        read_training_set(tmp_path / "nowhere.csv")
    path = tmp_path / "known.csv"
    path.write_bytes(b"\xff\xfe\x00a")
    with pytest.raises(InputError, match="must be text in UTF-8"):
        read_training_set(path)
