"""Tables written by hand and by pandas: names are distinguished from numbers, and errors name the wrong cell."""

import io

import numpy as np
import pandas as pd
import pytest

from genlaws.core.errors import InputError
from genlaws.core.tables import read_csv

TABLE = np.random.default_rng(0).standard_normal((7, 4))


def written(table, **options):
    """Return the lines that pandas writes."""
    stream = io.StringIO()
    table.to_csv(stream, **options)
    return stream.getvalue().splitlines()


def frame(table=TABLE, names=None):
    return pd.DataFrame(table, columns=names)


@pytest.mark.parametrize("columns", [1, 2, 4])
@pytest.mark.parametrize("names", [None, ["size", "0", "b 2", "'weight, kg'"]])
@pytest.mark.parametrize("options", [{}, {"index": False}, {"index": False, "header": False}, {"quoting": 1}])
def test_what_pandas_writes_is_read_without_its_names(columns, names, options, tmp_path):
    table = TABLE[:, :columns]
    lines = written(frame(table, None if names is None else names[:columns]), **options)
    # One column under the name 0 could hold the number 0 in its first row; the number of rows decides.
    rows = len(table) if columns == 1 else None
    found = read_csv("embeddings", lines, rows=rows)
    np.testing.assert_array_equal(found.values, table)
    assert found.header == options.get("header", True)
    assert found.index == options.get("index", True)
    path = tmp_path / "table.csv"
    path.write_text("\ufeff" + "\n".join(lines) + "\n\n", encoding="utf-8")
    np.testing.assert_array_equal(read_csv("embeddings", path, rows=rows).values, table)
    arguments = eval(f"dict(delimiter=','{found.options})")
    again = np.loadtxt(lines, ndmin=2, quotechar='"', **arguments)
    np.testing.assert_array_equal(again, table)


def test_names_that_became_columns():
    for saved in (frame().reset_index(), pd.read_csv(io.StringIO("\n".join(written(frame()))))):
        found = read_csv("embeddings", written(saved, index=False))
        np.testing.assert_array_equal(found.values, TABLE)
        assert found.index
    # An index that does not count is a number like the others.
    named = read_csv("embeddings", ["index,a", "3,0.5", "4,0.25"])
    np.testing.assert_array_equal(named.values, [[3, 0.5], [4, 0.25]])


@pytest.mark.parametrize(
    "numbers",
    [
        np.abs(np.subtract.outer(np.arange(5), np.arange(5))),  # distances on a line start with 0, 1, 2, …
        np.array([[0, 1], [1, 0], [1, 1]]),
        np.arange(6)[:, None],
        np.array([[1, 2, 3], [4, 5, 6]]),
    ],
)
def test_rows_that_look_like_names_are_kept(numbers):
    lines = [",".join(map(str, row)) for row in numbers.tolist()]
    found = read_csv("positions", lines)
    assert not found.header
    np.testing.assert_array_equal(found.values, numbers)
    # With one line more than rows are expected, a line 0, 1, 2, … is names.
    header = [",".join(map(str, range(numbers.shape[1]))), *lines]
    np.testing.assert_array_equal(read_csv("positions", header, rows=len(numbers)).values, numbers)
    np.testing.assert_array_equal(read_csv("positions", lines, rows=len(numbers)).values, numbers)
    assert not read_csv("positions", header, names="none").header


def test_a_table_of_words_is_told_by_its_rows_and_its_first_cell():
    labels = pd.DataFrame({"order": ["owls", "gulls, terns", "owls"], "kind": ["a", "b", "c"]})
    for options in ({}, {"index": False}, {"index": False, "header": False}):
        found = read_csv("positions", written(labels, **options), words=True, rows=3)
        np.testing.assert_array_equal(found.values, labels.to_numpy())
    assert len(read_csv("positions", written(labels, index=False), words=True).values) == 4


def test_names_are_said():
    assert read_csv("x", ["1,2", "3,4"]).names_message("a.csv") == ""
    assert (
        read_csv("x", ["a,b", "3,4"]).names_message("a.csv") == "The first line of a.csv was read as names of columns."
    )
    both = read_csv("x", [",b", "0,4"]).names_message("a.csv")
    assert both == "The first line and the first column of a.csv were read as names."


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0.1,0.2", "0.3,O.4"], "the cell in row 2, column 2 is 'O.4'"),
        (["0.1,x,0.3", "1,2,3"], "the cell in row 1, column 2 is 'x'"),
        (["a,b", "1,2", "3,"], "the cell in row 3, column 2 is empty"),
        ([",a,b", "0,1,2", "1,2,three"], "the cell in row 3, column 3 is 'three'"),
        (["name,a", "ann,1", "bob,2"], "the cell in row 2, column 1 is 'ann'"),
        (["1,2", "3", "4,5"], "row 2 has 1 cells, the first has 2"),
        (["a,b"], "holds only names"),
        ([], "the table is empty"),
        (["", " "], "the table is empty"),
    ],
)
def test_what_is_wrong_with_a_table_is_reported(lines, message):
    with pytest.raises(InputError) as caught:
        read_csv("embeddings", lines)
    assert message in str(caught.value)
    assert str(caught.value).startswith("embeddings must")


def test_words_in_uneven_rows_are_refused():
    with pytest.raises(InputError, match="a label in every column of every row; row 2 has 1 cells"):
        read_csv("positions", ["a,b", "c"], words=True)
