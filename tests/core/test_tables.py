"""Tables written by hand and by pandas: names are distinguished from numbers, and errors name the wrong cell."""

import builtins
import gzip
import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from genlaws.core import tables
from genlaws.core.errors import InputError
from genlaws.core.tables import read_csv, read_lines, read_table, read_uploaded_table

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
    assert bool(found.columns) == options.get("header", True)
    assert found.rows == (tuple(map(str, range(7))) if options.get("index", True) else ())
    if found.columns:
        assert found.columns == tuple(map(str, names[:columns] if names else range(columns)))
    path = tmp_path / "table.csv"
    path.write_text("\ufeff" + "\n".join(lines) + "\n\n", encoding="utf-8")
    np.testing.assert_array_equal(read_csv("embeddings", path, rows=rows).values, table)


def test_names_that_became_columns():
    for saved in (frame().reset_index(), pd.read_csv(io.StringIO("\n".join(written(frame()))))):
        found = read_csv("embeddings", written(saved, index=False))
        np.testing.assert_array_equal(found.values, TABLE)
        assert found.rows == tuple(map(str, range(7)))
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
    assert not found.columns
    np.testing.assert_array_equal(found.values, numbers)
    # With one line more than rows are expected, a line 0, 1, 2, … is names.
    header = [",".join(map(str, range(numbers.shape[1]))), *lines]
    np.testing.assert_array_equal(read_csv("positions", header, rows=len(numbers)).values, numbers)
    np.testing.assert_array_equal(read_csv("positions", lines, rows=len(numbers)).values, numbers)
    assert not read_csv("positions", header, names="none").columns


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


def test_different_words_in_the_first_column_are_names():
    found = read_csv("x", ["name,a,b", "ann,1,2", "bob,2,3"])
    assert found.rows == ("ann", "bob")
    assert found.columns == ("a", "b")
    assert found.values.tolist() == [[1.0, 2.0], [2.0, 3.0]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0.1,0.2", "0.3,O.4"], "the cell in row 2, column 2 is 'O.4'"),
        (["0.1,x,0.3", "1,2,3"], "the cell in row 1, column 2 is 'x'"),
        (["a,b", "1,2", "3,"], "the cell in row 3, column 2 is empty"),
        ([",a,b", "0,1,2", "1,2,three"], "the cell in row 3, column 3 is 'three'"),
        (["name,a", "ann,1", "ann,2"], "the cell in row 2, column 1 is 'ann'"),
        (["name,a", "ann,1", "3,2"], "the cell in row 2, column 1 is 'ann'"),
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


# Files as other programs write them


def stored(folder, name, content):
    """Return the path of a file with text, bytes or an array."""
    path = folder / name
    if isinstance(content, bytes | str):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    else:
        np.save(path, content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "1,2\r\n3,4.5\r\n\r\n", ""),
        ("a.csv", "\ufeff1,2\n3,4.5", ""),
        ("a.csv", '"1","2"\n"3","4.5"\n', ""),
        ("a.csv", 'x,"size, kg"\n1,2\n3,4.5\n', "The first line of a.csv was read as names of columns."),
        ("a.csv", 'x,"size\nin kg"\n1,2\n3,4.5\n', "The first line of a.csv was read as names of columns."),
        ("a.csv", "x,x\n1,2\n3,4.5\n", "The first line of a.csv was read as names of columns."),
        ("a.csv", ",x,y\nann,1,2\nann,3,4.5\n", "The first line and the first column of a.csv were read as names."),
        ("a.csv", "1;2\n3;4.5\n", "The cells of a.csv are separated by semicolons."),
        ("a.csv", "1\t2\n3\t4.5\n", "The cells of a.csv are separated by tabs."),
        ("a.tsv", "1,2\n3,4.5\n", ""),
        (
            "a.csv",
            "x, m;y\n1;2\n3;4.5\n",
            "The first line of a.csv was read as names of columns. The cells of a.csv are separated by semicolons.",
        ),
        ("a.csv", "x;z,y\n1,2\n3,4.5\n", "The first line of a.csv was read as names of columns."),
        ("A.CSV", " 1 , 2 \n3,4.5e0\n", ""),
    ],
)
def test_ordinary_files_of_text_are_read(tmp_path, name, content, message):
    table = read_table("embeddings", stored(tmp_path, name, content))
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4.5]])
    assert table.names_message(name) == message
    uploaded = read_uploaded_table("embeddings", content.encode(), name[-4:].lower())
    np.testing.assert_array_equal(uploaded.values, table.values)
    assert (uploaded.columns, uploaded.rows, uploaded.separator) == (table.columns, table.rows, table.separator)


def test_one_column_and_one_row(tmp_path):
    assert read_table("x", stored(tmp_path, "a.csv", "size\n1\n2\n")).values.tolist() == [[1], [2]]
    assert read_table("x", stored(tmp_path, "b.csv", "a,b,c\n1,2,3\n")).values.tolist() == [[1, 2, 3]]
    assert read_table("x", stored(tmp_path, "c.csv", "0.5")).values.tolist() == [[0.5]]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a,b\n\n1,2\n\n3,x\n", "the cell in row 5, column 2 is 'x'."),  # as an editor counts its lines
        ("a,kind,b\n1,owl,2\n3,gull,4\n", "the cell in row 2, column 2 is 'owl'."),
        ("a,b\n1,nan\n", "the cell in row 2, column 2 is 'nan', which is not finite."),
        ("a,b\n1,2\n-inf,2\n", "the cell in row 3, column 1 is '-inf', which is not finite."),
        (",a,b\n0,1,\n", "the cell in row 2, column 3 is empty."),
        ("1,2\n3,4\n,\n", "the cell in row 3, column 1 is empty."),
        ("a;b\n1,5;2\n", "the cell in row 2, column 1 is '1,5', with a decimal comma instead of a point."),
        ("1,5;2,5\n3,5;4,5\n", "the cell in row 2, column 1 is '3,5', with a decimal comma instead of a point."),
        ("1;2\n3;4;5\n", "row 2 has 3 cells, the first has 2, separated by semicolons."),
        ("1\t2\n3\n", "row 2 has 1 cells, the first has 2, separated by tabs."),
        ("1.0 2.0\n3.0 4.0\n", "the cell in row 2, column 1 is '3.0 4.0', numbers separated by spaces"),
        (",a,b\n0,1,2\n1,3,4,5\n", "row 3 has 4 cells, the first has 3."),
        ('1,2\n3,"4\n5,6\n', "line 3 is not a row: unexpected end of data."),
        ("1,1_000\n", "the cell in row 1, column 2 is '1_000'."),
        ("größe,b\n1,2\n".encode("latin-1"), "must be text in UTF-8; line 1 of the file is not."),
        (b"1,2\n" * 5000 + "3,4 kg \xb2\n".encode("latin-1"), "must be text in UTF-8; line 5001 of the file is not."),
        ("a,b\n1,2\n".encode("utf-16"), "must be text in UTF-8; line 1 of the file is not."),
        (b"PK\x03\x04\x14\x00\x06", "must be text in UTF-8; line 1 of the file is not."),
        ("", "must hold at least one number; the "),
        ("\n \n", "must hold at least one number; the "),
    ],
)
def test_a_wrong_file_of_text_is_refused_in_one_sentence(tmp_path, content, sentence):
    path = stored(tmp_path, "a.csv", content)
    for read in (
        lambda: read_table("embeddings", path),
        lambda: read_uploaded_table("embeddings", path.read_bytes(), ".csv"),
    ):
        with pytest.raises(InputError) as caught:
            read()
        assert sentence in str(caught.value) or "at most 2,000 rows" in str(caught.value)
        assert str(caught.value).startswith("embeddings must")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.xlsx", "a.json", "a", "csv"])
def test_other_kinds_of_files_are_refused_with_a_list(tmp_path, name):
    with pytest.raises(InputError, match=rf"ending in \.npy, \.npz, \.csv, \.tsv or \.parquet; got '{name}'"):
        read_table("embeddings", stored(tmp_path, name, "1,2\n"))


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="There is no file 'none.csv'"):
        read_table("embeddings", "none.csv")
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(InputError, match="a.csv' is a folder, not a file"):
        read_table("embeddings", tmp_path / "a.csv")


def test_lines_may_be_compressed(tmp_path):
    path = stored(tmp_path, "a.txt.gz", gzip.compress("\ufeffé\nb\n".encode()))
    assert list(read_lines("texts", path)) == ["é\n", "b\n"]
    stored(tmp_path, "a.txt.gz", path.read_bytes()[:-9])
    with pytest.raises(InputError, match="texts must be a whole .gz file"):
        list(read_lines("texts", path))


# Arrays


def archive(**arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def test_the_only_array_of_an_archive_or_the_one_of_the_name_is_read(tmp_path):
    for content in (archive(anything=TABLE), archive(other=TABLE[:2], embeddings=TABLE)):
        path = stored(tmp_path, "a.npz", content)
        np.testing.assert_array_equal(read_table("embeddings", path).values, TABLE)
        np.testing.assert_array_equal(read_uploaded_table("embeddings", content, ".npz").values, TABLE)


@pytest.mark.parametrize(
    ("suffix", "content", "sentence"),
    [
        (".npz", archive(a=TABLE, b=TABLE), "be called 'embeddings'; found a, b."),
        (".npz", archive(), "be called 'embeddings'; found none."),
        (".npz", b"1,2", "not an .npz archive, or it is cut short."),
        (".npz", archive(a=TABLE)[:-30], "not an .npz archive, or it is cut short."),
        (".npz", archive(a=np.array([{}])), "must"),
        (".npy", b"1,2", "this file is something else under that name."),
        (".npy", b"", "the file is empty."),
        (".parquet", b"PAR1 and more PAR1", "could not be read"),
        (".parquet", b"", "could not be read"),
    ],
)
def test_wrong_archives_are_refused(tmp_path, suffix, content, sentence):
    path = stored(tmp_path, f"a{suffix}", content)
    for read in (
        lambda: read_table("embeddings", path),
        lambda: read_uploaded_table("embeddings", content, suffix),
    ):
        with pytest.raises(InputError) as caught:
            read()
        assert sentence in str(caught.value) or not content
        assert str(caught.value).startswith("embeddings must")


def test_an_uploaded_archive_is_unpacked_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(tables, "MAX_UNPACKED_BYTES", 2**20)
    with pytest.raises(InputError, match="embeddings must have at most 1 MiB once unpacked"):
        read_uploaded_table("embeddings", archive(a=np.zeros((2000, 2000))), ".npz")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("a.npy", b"text")
    with pytest.raises(InputError, match="something else under that name"):
        read_uploaded_table("embeddings", stream.getvalue(), ".npz")


@pytest.mark.parametrize("rows", [3, 5000])
def test_a_number_that_is_not_finite_is_named_with_its_place(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(tables, "CHECKED_AT_ONCE", 1000)
    values = np.ones((rows, 4))
    values[rows - 1, 2] = -np.inf
    path = stored(tmp_path, "a.npy", values)
    with pytest.raises(InputError, match=f"the cell in row {rows}, column 3 is '-inf', which is not finite"):
        read_table("embeddings", path)
    stored(tmp_path, "a.npy", values[:, 2])
    with pytest.raises(InputError, match=f"the cell in row {rows}, column 1 is '-inf'"):
        read_table("embeddings", path)


def parquet(table, **options):
    stream = io.BytesIO()
    table.to_parquet(stream, **options)
    return stream.getvalue()


def test_parquet_is_read_with_its_names(tmp_path):
    plain = frame(names=["a", "b", "c", "d"])
    named = plain.set_index(pd.Index([f"item {place}" for place in range(7)]))
    for table, rows in ((plain, ()), (named, tuple(named.index))):
        found = read_table("embeddings", stored(tmp_path, "a.parquet", parquet(table)))
        np.testing.assert_array_equal(found.values, TABLE)
        assert (found.columns, found.rows) == (("a", "b", "c", "d"), rows)
        assert found.names_message("it") == ("The index of it was read as names." if rows else "")
        np.testing.assert_array_equal(read_uploaded_table("x", parquet(table), ".parquet").values, TABLE)
    labels = read_table(
        "positions", stored(tmp_path, "b.parquet", parquet(pd.DataFrame({"k": ["b", "a"]}))), words=True
    )
    assert labels.values.tolist() == [["b"], ["a"]]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "kind": ["x", "y"]}), "column 2, 'kind', holds "),
        (pd.DataFrame({"a": [1.0, None]}), "the cell in row 2, column 1 is 'nan', which is not finite."),
        (pd.DataFrame({"a": []}, dtype=float), "must "),
    ],
)
def test_wrong_parquet_is_refused(tmp_path, table, sentence):
    path = stored(tmp_path, "a.parquet", parquet(table))
    for read in (lambda: read_table("x", path), lambda: read_uploaded_table("x", path.read_bytes(), ".parquet")):
        with pytest.raises(InputError, match=sentence):
            read()


def test_a_large_uploaded_parquet_is_refused_before_it_is_read():
    content = parquet(pd.DataFrame({"a": np.zeros(100_000)}))
    with pytest.raises(InputError, match="at most 2,000 rows, one per item; the file has 100,000"):
        read_uploaded_table("embeddings", content, ".parquet")


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    path = stored(tmp_path, "a.parquet", parquet(frame(names=[*"abcd"])))
    imported = builtins.__import__

    def hidden(name, *others):
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return imported(name, *others)

    monkeypatch.setattr(builtins, "__import__", hidden)
    with pytest.raises(InputError, match=r"install it with pip install 'genlaws\[export\]'"):
        read_table("embeddings", path)
