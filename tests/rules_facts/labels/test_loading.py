"""Labeled data from arrays and files, and files that are broken or mean harm."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.rules_facts.labels.data import LabeledData
from genlaws.rules_facts.labels.loading import load_labeled
from genlaws.rules_facts.labels.task import draw_labeled

X = np.arange(24, dtype=np.uint8).reshape(6, 2, 2)
Y = np.array([0, 1, 2, 0, 1, 2])
NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


# Arrays


def test_samples_are_flattened_and_keep_their_type():
    data = load_labeled((X, Y))
    assert data.inputs.shape == (6, 4)
    assert data.inputs.dtype == np.uint8
    assert np.shares_memory(data.inputs, X)
    assert (data.dimension, data.name, data.class_counts) == (4, "data", {0: 2, 1: 2, 2: 2})
    assert load_labeled(data) is data
    assert repr(LabeledData(X, Y, "made")) == "LabeledData(name='made', class_names=None)"


def test_labeled_data_cannot_be_changed_and_leave_the_given_arrays_alone():
    inputs, classes = X.astype(float), Y.copy()
    data = LabeledData(inputs, classes)
    for array in (data.inputs, data.classes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    inputs[0], classes[0] = 1.0, 1


@pytest.mark.parametrize(
    ("classes", "counts"),
    [
        (Y.astype(np.uint8), {0: 2, 1: 2, 2: 2}),
        (Y.astype(float), {0: 2, 1: 2, 2: 2}),
        (Y[:, None], {0: 2, 1: 2, 2: 2}),
        (Y == 1, {0: 4, 1: 2}),
        ([*"abcaab"], {"a": 3, "b": 2, "c": 1}),
        ([b"a", b"b", b"a", b"b", b"a", b"b"], {"a": 3, "b": 3}),
        ([-1, 1, 1, 1, 1, 1], {-1: 1, 1: 5}),
    ],
)
def test_classes_are_whole_numbers_or_text(classes, counts):
    assert LabeledData(X, classes).class_counts == counts


def test_a_class_is_found_by_value_name_or_word():
    data = LabeledData(X, Y, "made", ("cat", "dog", "car"))
    assert [data.class_of(one) for one in (1, np.uint8(1), "dog", "1")] == [1, 1, 1, 1]
    assert data.title(1) == "1 (dog)"
    assert LabeledData(X, [*"121212"]).class_of(1) == "1"
    for wrong in ("horse", 3, 1.0, True, None, [1]):
        with pytest.raises(InputError, match=r"made has no class .*; its classes are 0 \(cat\), 1 \(dog\), 2 \(car\)"):
            data.class_of(wrong)
    with pytest.raises(InputError, match="18, 19 and 30 more"):
        LabeledData(np.ones((50, 1)), np.arange(50)).class_of(99)


def with_gaps():
    inputs = X.astype(float)
    inputs[2, 0, 1] = np.nan
    inputs[5, 1, 0] = np.inf
    return inputs


@pytest.mark.parametrize(
    ("inputs", "classes", "sentence"),
    [
        (with_gaps(), Y, "2 of 6 samples hold NaN or infinite numbers, the first is sample 3"),
        (np.ones((0, 4)), [], r"at least one sample and one feature, a row each; got shape \(0, 4\)"),
        (np.ones((6, 0)), Y, "at least one sample and one feature"),
        (np.ones(6), Y, r"got shape \(6,\)"),
        (X.astype(object), Y, "inputs must be real numbers; got an array of type object"),
        (X.astype(complex), Y, "inputs must be real numbers; got an array of type complex128"),
        (X.astype(str), Y, "inputs must be real numbers; got an array of type <U"),
        ([[1, 2], [3]], Y, "inputs must be a rectangular array"),
        (X, Y[:5], r"one class for each of the 6 inputs; got shape \(5,\)"),
        (X, np.eye(6), r"one class for each of the 6 inputs; got shape \(6, 6\)"),
        (X, Y + 0.5, "classes must be whole numbers or text; got an array of type float64"),
        (X, [0, 1, 2, np.nan, 1, 2], "classes must be whole numbers or text"),
        (X, [0, 1, 2, np.inf, 1, 2], "classes must be whole numbers or text"),
        (X, Y.astype(object), "classes must be whole numbers or text; got an array of type object"),
        (X, Y.astype(complex), "classes must be whole numbers or text"),
        (X, [[1], [1, 2]], "classes must be a rectangular array"),
    ],
)
def test_arrays_that_are_no_labeled_data_are_refused(inputs, classes, sentence):
    with pytest.raises(InputError, match=sentence):
        load_labeled((inputs, classes))


@pytest.mark.parametrize(
    ("classes", "names", "sentence"),
    [
        (Y, ("cat", "dog"), "must name every class; got 2 names for classes from 0 to 2"),
        (Y - 1, ("cat", "dog", "car"), "classes from -1 to 1"),
        ([*"abcabc"], ("a", "b", "c"), "must be left out where the classes are text"),
    ],
)
def test_names_that_do_not_fit_are_refused(classes, names, sentence):
    with pytest.raises(InputError, match=sentence):
        LabeledData(X, classes, "made", names)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ((X,), "must be a pair .inputs, classes.; got a tuple of 1"),
        ([X, Y], "source must be 'digits', an .npz, .csv, .tsv or .parquet file, .*; got list"),
        (None, "got NoneType"),
        ("nowhere.npz", "There is no file or folder 'nowhere.npz'"),
    ],
)
def test_sources_of_another_kind_are_refused(source, sentence):
    with pytest.raises(InputError, match=sentence):
        load_labeled(source)


# Digits


def test_digits_are_there_without_a_file():
    data = load_labeled("digits")
    assert data.inputs.shape == (1797, 64)
    assert list(data.class_counts) == list(range(10))
    draw = draw_labeled(data, (3, 8), fact_fraction=0.25)
    assert (draw.sample_count, draw.fact_fraction, draw.name) == (64, 0.25, "digits, class 3 against class 8")


def test_scikit_learn_is_loaded_for_the_digits_alone():
    code = "import sys; from genlaws.rules_facts.labels import loading, task; print('sklearn' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "False"


def test_missing_scikit_learn_is_named(monkeypatch):
    monkeypatch.setattr("genlaws.rules_facts.labels.loading.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install scikit-learn"):
        load_labeled("digits")


# Archives


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [("x_train", "y_train"), ("inputs", "labels"), ("X", "y"), ("images", "labels"), ("data", "target")],
)
def test_archives_of_all_layouts(tmp_path, inputs, labels):
    np.savez(tmp_path / "small.npz", **{inputs: X, labels: Y, "other": np.ones(3)})
    data = load_labeled(str(tmp_path / "small.npz"))
    assert (data.name, data.inputs.dtype, data.class_names) == ("small", np.uint8, None)
    assert np.array_equal(data.inputs, X.reshape(6, 4))
    assert np.array_equal(data.classes, Y)


def test_training_and_test_parts_are_joined_and_named(tmp_path):
    names = np.array(["cat", "dog", "car"])
    np.savez_compressed(tmp_path / "s.npz", x_train=X, y_train=Y, x_test=X[:2], y_test=Y[:2, None], class_names=names)
    data = load_labeled(tmp_path / "s.npz")
    assert data.inputs.shape == (8, 4)
    assert data.classes.tolist() == [*Y, 0, 1]
    assert data.class_names == ("cat", "dog", "car")


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"pixels": X, "y_train": Y}, "s.npz: the arrays must be called x_train and y_train; inputs and labels; .*"),
        ({"pixels": X, "kinds": Y}, "found pixels, kinds"),
        ({}, "found none"),
        ({"x_train": X, "y_train": Y, "x_test": X}, "x_test and y_test must both be present"),
        (
            {"x_train": X, "y_train": Y, "x_test": X[:, 0], "y_test": Y},
            "must have the same features .*; got 4 features",
        ),
        ({"x_train": X, "y_train": Y, "x_test": X, "y_test": [*"abcabc"]}, "the same kind of classes"),
        ({"X": X, "y": Y[:3]}, "s.npz: classes must be one class for each of the 6 inputs"),
        ({"X": with_gaps(), "y": Y}, "s.npz: inputs must be finite; 2 of 6"),
        ({"X": X.astype(object), "y": Y}, "s.npz could not be read: Object arrays cannot be loaded"),
        ({"X": X, "y": Y.astype(object)}, "s.npz could not be read: Object arrays cannot be loaded"),
    ],
)
def test_archives_that_do_not_fit_are_refused(tmp_path, arrays, sentence):
    np.savez(tmp_path / "s.npz", **arrays)
    with pytest.raises(InputError, match=sentence):
        load_labeled(tmp_path / "s.npz")


def archive_bytes():
    stream = io.BytesIO()
    np.savez_compressed(stream, X=X, y=Y)
    return stream.getvalue()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_archives_cut_short_are_refused(tmp_path, share):
    whole = archive_bytes()
    (tmp_path / "s.npz").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match="not an .npz archive, or it is cut short"):
        load_labeled(tmp_path / "s.npz")


def test_an_archive_with_any_wrong_byte_is_read_or_refused(tmp_path):
    whole = bytearray(archive_bytes())
    refused = 0
    for place in range(0, len(whole), 5):
        changed = whole.copy()
        changed[place] ^= 0xFF
        (tmp_path / "s.npz").write_bytes(changed)
        try:
            load_labeled(tmp_path / "s.npz")
        except InputError:
            refused += 1
    assert refused > 10


def test_what_only_looks_like_an_archive_is_refused(tmp_path):
    np.save(tmp_path / "s.npy", X)
    (tmp_path / "s.npy").rename(tmp_path / "s.npz")
    with pytest.raises(InputError, match="not an .npz archive"):
        load_labeled(tmp_path / "s.npz")
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X", b"text")
        archive.writestr("y", b"text")
    with pytest.raises(InputError, match="t.npz: inputs must be real numbers"):
        load_labeled(tmp_path / "t.npz")
    (tmp_path / "s.pkl").write_bytes(b"")
    with pytest.raises(InputError, match="got the file 's.pkl'"):
        load_labeled(tmp_path / "s.pkl")


@pytest.mark.parametrize("name", ["s.npz", "s.csv"])
def test_files_without_permission_are_refused(tmp_path, monkeypatch, name):
    def locked(*_, **__):
        raise PermissionError(13, "Permission denied")

    (tmp_path / name).write_bytes(archive_bytes())
    monkeypatch.setattr(Path, "open", locked)
    with pytest.raises(InputError, match=f"{name} could not be read: .*Permission denied"):
        load_labeled(tmp_path / name)


# Tables


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("1,2,0\n3,4.5,1\n", [0, 1]),
        ("1,2,0.0\n3,4.5,1.0\n", [0, 1]),
        ("1,2,cat\n3,4.5,dog\n", ["cat", "dog"]),
        ("1,2,cat\n3,4.5,2\n", ["cat", "2"]),
        ("\ufeffa,b,kind\n\n1,2,cat\n\n3,4.5,dog\n", ["cat", "dog"]),
        ("a,Label,b\r\n1,cat,2\r\n3, dog ,4.5\r\n", ["cat", "dog"]),
        ("label,0,1\n7,1,2\n9,3,4.5\n", [7, 9]),
        ('"a, b","c",kind\n"1",2,"cat, or so"\n3,4.5,"#dog"\n', ["cat, or so", "#dog"]),
        ("1,2,9007199254740993\n3,4.5,9007199254740992\n", ["9007199254740993", "9007199254740992"]),
        ("1,2,1e300\n3,4.5,inf", ["1e300", "inf"]),
    ],
)
def test_tables_of_all_kinds(tmp_path, text, classes):
    path = tmp_path / "small.csv"
    path.write_text(text, encoding="utf-8", newline="")
    data = load_labeled(path)
    assert data.name == "small"
    assert data.inputs.tolist() == [[1, 2], [3, 4.5]]
    assert data.classes.tolist() == classes


@pytest.mark.parametrize("last", ["3", "target"])
def test_columns_that_pandas_numbers_are_no_sample(tmp_path, last):
    path = tmp_path / "s.csv"
    path.write_text(f"0,1,2,{last}\n1.5,2.5,3.5,7\n4.5,5.5,6.5,9\n", encoding="utf-8")
    data = load_labeled(path)
    assert data.inputs.tolist() == [[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]]
    assert data.classes.tolist() == [7, 9]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "at least one number and a class, separated by commas"),
        ("1 2 cat\n", "separated by commas, semicolons or tabs"),
        ("a,b,label\n", "found only a header"),
        ("1,2,cat\n1,2\n", "s.csv: the table must hold only numbers; row 2 has 2 cells, the first has 3"),
        ("a,b,label\n1,2,3,4\n", "row 2 has 4 cells, the first has 3"),
        ("a,b,c,label\n1,2,3\n", "row 2 has 3 cells, the first has 4"),
        ("1,2,cat\n1,big,dog\n", "s.csv: the table must hold only numbers; the cell in row 2, column 2 is 'big'"),
        ("1,big,dog\n1,2,cat\n", "the cell in row 1, column 2 is 'big'"),
        ("1,,cat\n", "the cell in row 1, column 2 is empty"),
        ("1,2,cat\n1,2,\n", "every sample must have a class; that of sample 2 is empty"),
        ("1,nan,cat\n2,3,dog\n", "the cell in row 1, column 2 is 'nan', which is not finite"),
        ("1,2\x00,cat\n", "must be text in UTF-8"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path, text, sentence):
    (tmp_path / "s.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        load_labeled(tmp_path / "s.csv")


def test_a_table_in_another_encoding_is_refused(tmp_path):
    (tmp_path / "s.csv").write_bytes("1,2,Käse\n".encode("latin-1"))
    with pytest.raises(InputError, match="s.csv: the table must be text in UTF-8; line 1 of the file is not"):
        load_labeled(tmp_path / "s.csv")
