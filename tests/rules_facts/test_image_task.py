"""Labelled data from arrays and files, and files that are broken or mean harm."""

import io
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from genlaws.numerics.errors import InputError
from genlaws.rules_facts.image_task import CIFAR_BATCHES, load_labelled
from genlaws.rules_facts.labelled_data import LabelledData
from genlaws.rules_facts.task import draw_labelled

DATA = Path(os.environ.get("GENLAWS_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
X = np.arange(24, dtype=np.uint8).reshape(6, 2, 2)
Y = np.array([0, 1, 2, 0, 1, 2])
NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


# Arrays


def test_samples_are_flattened_and_keep_their_type():
    data = load_labelled((X, Y))
    assert data.inputs.shape == (6, 4)
    assert data.inputs.dtype == np.uint8
    assert np.shares_memory(data.inputs, X)
    assert (data.dimension, data.name, data.class_counts) == (4, "data", {0: 2, 1: 2, 2: 2})
    assert load_labelled(data) is data
    assert repr(LabelledData(X, Y, "made")) == "LabelledData(name='made', class_names=None)"


def test_labelled_data_cannot_be_changed_and_leave_the_given_arrays_alone():
    inputs, classes = X.astype(float), Y.copy()
    data = LabelledData(inputs, classes)
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
def test_classes_are_whole_numbers_or_words(classes, counts):
    assert LabelledData(X, classes).class_counts == counts


def test_a_class_is_found_by_value_name_or_word():
    data = LabelledData(X, Y, "made", ("cat", "dog", "car"))
    assert [data.class_of(one) for one in (1, np.uint8(1), "dog", "1")] == [1, 1, 1, 1]
    assert data.title(1) == "1 (dog)"
    assert LabelledData(X, [*"121212"]).class_of(1) == "1"
    for wrong in ("horse", 3, 1.0, True, None, [1]):
        with pytest.raises(InputError, match=r"made has no class .*; its classes are 0 \(cat\), 1 \(dog\), 2 \(car\)"):
            data.class_of(wrong)
    with pytest.raises(InputError, match="18, 19 and 30 more"):
        LabelledData(np.ones((50, 1)), np.arange(50)).class_of(99)


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
        (X, Y + 0.5, "classes must be whole numbers or words; got an array of type float64"),
        (X, [0, 1, 2, np.nan, 1, 2], "classes must be whole numbers or words"),
        (X, [0, 1, 2, np.inf, 1, 2], "classes must be whole numbers or words"),
        (X, Y.astype(object), "classes must be whole numbers or words; got an array of type object"),
        (X, Y.astype(complex), "classes must be whole numbers or words"),
        (X, [[1], [1, 2]], "classes must be a rectangular array"),
    ],
)
def test_arrays_that_are_no_labelled_data_are_refused(inputs, classes, sentence):
    with pytest.raises(InputError, match=sentence):
        load_labelled((inputs, classes))


@pytest.mark.parametrize(
    ("classes", "names", "sentence"),
    [
        (Y, ("cat", "dog"), "must name every class; got 2 names for classes from 0 to 2"),
        (Y - 1, ("cat", "dog", "car"), "classes from -1 to 1"),
        ([*"abcabc"], ("a", "b", "c"), "must be left out where the classes are words"),
    ],
)
def test_names_that_do_not_fit_are_refused(classes, names, sentence):
    with pytest.raises(InputError, match=sentence):
        LabelledData(X, classes, "made", names)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ((X,), "must be a pair .inputs, classes.; got a tuple of 1"),
        ([X, Y], "source must be 'digits', a file ending in .npz or .csv, .*; got list"),
        (None, "got NoneType"),
        ("nowhere.npz", "There is no file or folder 'nowhere.npz'"),
    ],
)
def test_sources_of_another_kind_are_refused(source, sentence):
    with pytest.raises(InputError, match=sentence):
        load_labelled(source)


# Digits


def test_digits_are_there_without_a_file():
    data = load_labelled("digits")
    assert data.inputs.shape == (1797, 64)
    assert list(data.class_counts) == list(range(10))
    draw = draw_labelled(data, (3, 8), fact_fraction=0.25)
    assert (draw.sample_count, draw.fact_fraction, draw.name) == (64, 0.25, "digits, class 3 against class 8")


def test_scikit_learn_is_loaded_for_the_digits_alone():
    code = "import sys, genlaws.rules_facts.image_task, genlaws.rules_facts.task; print('sklearn' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "False"


def test_missing_scikit_learn_is_named(monkeypatch):
    monkeypatch.setattr("genlaws.rules_facts.image_task.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install scikit-learn"):
        load_labelled("digits")


# Archives


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [("x_train", "y_train"), ("inputs", "labels"), ("X", "y"), ("images", "labels"), ("data", "target")],
)
def test_archives_of_all_layouts(tmp_path, inputs, labels):
    np.savez(tmp_path / "small.npz", **{inputs: X, labels: Y, "other": np.ones(3)})
    data = load_labelled(str(tmp_path / "small.npz"))
    assert (data.name, data.inputs.dtype, data.class_names) == ("small", np.uint8, None)
    assert np.array_equal(data.inputs, X.reshape(6, 4))
    assert np.array_equal(data.classes, Y)


def test_training_and_test_parts_are_joined_and_named(tmp_path):
    names = np.array(["cat", "dog", "car"])
    np.savez_compressed(tmp_path / "s.npz", x_train=X, y_train=Y, x_test=X[:2], y_test=Y[:2, None], class_names=names)
    data = load_labelled(tmp_path / "s.npz")
    assert data.inputs.shape == (8, 4)
    assert data.classes.tolist() == [*Y, 0, 1]
    assert data.class_names == ("cat", "dog", "car")


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"pixels": X, "y_train": Y}, "s.npz: the arrays must be called x_train and y_train; inputs and labels; .*"),
        ({"pixels": X, "kinds": Y}, "found pixels, kinds"),
        ({}, "found none"),
        ({"x_train": X, "y_train": Y, "x_test": X}, "x_test and y_test must be there together"),
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
        load_labelled(tmp_path / "s.npz")


def archive_bytes():
    stream = io.BytesIO()
    np.savez_compressed(stream, X=X, y=Y)
    return stream.getvalue()


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_archives_cut_short_are_refused(tmp_path, kept):
    whole = archive_bytes()
    (tmp_path / "s.npz").write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(InputError, match="not an .npz archive, or it is cut short"):
        load_labelled(tmp_path / "s.npz")


def test_an_archive_with_any_wrong_byte_is_read_or_refused(tmp_path):
    whole = bytearray(archive_bytes())
    refused = 0
    for place in range(0, len(whole), 5):
        changed = whole.copy()
        changed[place] ^= 0xFF
        (tmp_path / "s.npz").write_bytes(changed)
        try:
            load_labelled(tmp_path / "s.npz")
        except InputError:
            refused += 1
    assert refused > 10


def test_what_only_looks_like_an_archive_is_refused(tmp_path):
    np.save(tmp_path / "s.npy", X)
    (tmp_path / "s.npy").rename(tmp_path / "s.npz")
    with pytest.raises(InputError, match="not an .npz archive"):
        load_labelled(tmp_path / "s.npz")
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X", b"text")
        archive.writestr("y", b"text")
    with pytest.raises(InputError, match="t.npz: inputs must be real numbers"):
        load_labelled(tmp_path / "t.npz")
    (tmp_path / "s.pkl").write_bytes(b"")
    with pytest.raises(InputError, match="got the file 's.pkl'"):
        load_labelled(tmp_path / "s.pkl")


@pytest.mark.parametrize("name", ["s.npz", "s.csv"])
def test_files_without_permission_are_refused(tmp_path, monkeypatch, name):
    def locked(*_, **__):
        raise PermissionError(13, "Permission denied")

    (tmp_path / name).write_bytes(archive_bytes())
    monkeypatch.setattr(Path, "open", locked)
    with pytest.raises(InputError, match=f"{name} could not be read: .*Permission denied"):
        load_labelled(tmp_path / name)


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
    data = load_labelled(path)
    assert data.name == "small"
    assert data.inputs.tolist() == [[1, 2], [3, 4.5]]
    assert data.classes.tolist() == classes


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "at least one number and a class, separated by commas"),
        ("1;2;cat\n", "separated by commas"),
        ("a,b,label\n", "found a header alone"),
        ("1,2,cat\n1,2\n", "s.csv could not be read: the number of columns changed from 3 to 2"),
        ("a,b,label\n1,2,3,4\n", "the header has 3 columns, the samples have 4"),
        ("a,b,c,label\n1,2,3\n", "s.csv could not be read"),
        ("1,2,cat\n1,big,dog\n", "s.csv could not be read: could not convert string 'big'"),
        ("1,big,dog\n1,2,cat\n", "could not convert string 'big'"),
        ("1,,cat\n", "s.csv could not be read"),
        ("1,2,cat\n1,2,\n", "every sample must have a class; that of sample 2 is empty"),
        ("1,nan,cat\n2,3,dog\n", "1 of 2 samples hold NaN"),
        ("1,2\x00,cat\n", "s.csv could not be read"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path, text, sentence):
    (tmp_path / "s.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        load_labelled(tmp_path / "s.csv")


def test_a_table_in_another_encoding_is_refused(tmp_path):
    (tmp_path / "s.csv").write_bytes("1,2,Käse\n".encode("latin-1"))
    with pytest.raises(InputError, match="s.csv could not be read: 'utf-8' codec"):
        load_labelled(tmp_path / "s.csv")


# CIFAR-10


def batch_of(number, count=4):
    """Return the pixels and labels of one small batch."""
    rng = np.random.default_rng(number)
    return rng.integers(256, size=(count, 3072), dtype=np.uint8), [(number + k) % 10 for k in range(count)]


def write_cifar(folder, **replaced):
    folder.mkdir(parents=True)
    for number, name in enumerate(CIFAR_BATCHES):
        data, labels = batch_of(number)
        content = pickle.dumps({b"data": data, b"labels": labels, b"batch_label": b"made"}, protocol=2)
        (folder / name).write_bytes(replaced.get(name, content))
    meta = pickle.dumps({b"label_names": [name.encode() for name in NAMES]}, protocol=2)
    (folder / "batches.meta").write_bytes(replaced.get("batches.meta", meta))
    return folder


def python_two_batch(data, labels):
    """Return a batch byte for byte as Python 2 wrote it: byte strings, and numpy as it was then."""

    def word(text):
        return b"U" + bytes([len(text)]) + text

    dtype = (
        b"cnumpy\ndtype\n("
        + word(b"u1")
        + b"K\x00K\x01tR(K\x03"
        + word(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    shape = b"(" + b"".join(b"M" + struct.pack("<H", size) for size in data.shape) + b"t"
    raw = b"T" + struct.pack("<i", data.nbytes) + data.tobytes()
    blank = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + word(b"b") + b"tR"
    array = blank + b"(K\x01" + shape + dtype + b"\x89" + raw + b"tb"
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    return b"\x80\x02}(" + word(b"data") + array + word(b"labels") + numbers + b"u."


@pytest.mark.parametrize("inside", [False, True])
def test_cifar_is_read_from_its_folder_or_the_one_above(tmp_path, inside):
    write_cifar(tmp_path / "cifar-10-batches-py")
    data = load_labelled(tmp_path / "cifar-10-batches-py" if inside else tmp_path)
    pixels, labels = zip(*map(batch_of, range(6)), strict=True)
    assert data.inputs.dtype == np.uint8
    assert np.array_equal(data.inputs, np.concatenate(pixels))
    assert data.classes.tolist() == [label for part in labels for label in part]
    assert (data.name, data.class_names) == ("cifar-10", tuple(NAMES))
    assert data.class_of("dog") == 5


def test_cifar_as_python_two_wrote_it(tmp_path):
    data, labels = batch_of(0)
    folder = write_cifar(tmp_path / "c", data_batch_1=python_two_batch(data, labels))
    assert np.array_equal(load_labelled(folder).inputs[:4], data)


def test_cifar_stored_by_columns_and_without_names(tmp_path):
    data, labels = batch_of(0)
    stored = pickle.dumps({"data": np.asfortranarray(data), "labels": labels}, protocol=4)
    folder = write_cifar(tmp_path / "c", data_batch_1=stored)
    (folder / "batches.meta").unlink()
    found = load_labelled(folder)
    assert np.array_equal(found.inputs[:4], data)
    assert found.class_names is None


class Harm:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("name", ["data_batch_2", "batches.meta"])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_runs_code_is_refused_and_does_not_run(tmp_path, name, protocol):
    for function, argument in (
        (os.mkdir, str(tmp_path / "harm")),
        (eval, f"__import__('os').mkdir({str(tmp_path / 'harm')!r})"),
    ):
        content = pickle.dumps({b"data": Harm(function, argument), b"labels": [1]}, protocol=protocol)
        folder = write_cifar(tmp_path / f"cifar-{function.__name__}", **{name: content})
        with pytest.raises(
            InputError, match=rf"{name} is not a CIFAR-10 batch: it asks for \w+\.\w+, which could run code"
        ):
            load_labelled(folder)
        assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"cbuiltins\ngetattr\n.",
        b"cnumpy\nload\n.",
        b"cnumpy.core.multiarray\nscalar\n.",
        b"\x80\x04\x8c\x0cnumpy.lib.io\x8c\x04load\x93.",
        b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__class__\x93.",
        b"(ios\nsystem\n.",
        b"\x80\x02cnumpy\nndarray\n(K\x05t\x81.",
        b"Psomething\n.",
        b"\x82\x01.",
    ],
)
def test_nothing_else_can_be_reached(tmp_path, content):
    folder = write_cifar(tmp_path / "c", test_batch=content)
    with pytest.raises(InputError, match="test_batch (is not a CIFAR-10 batch|could not be read)"):
        load_labelled(folder)


def harmful_array(kind=b"u1", order=b"|", shape=b"K\x01K\x02t", content=b"U\x02ab"):
    head = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR(K\x01(" + shape
    dtype = b"cnumpy\ndtype\n(U" + bytes([len(kind)]) + kind + b"tR(K\x03U" + bytes([len(order)]) + order + b"tb"
    return b"\x80\x02}(U\x04data" + head + dtype + b"\x89" + content + b"tbU\x06labels](K\x01eu."


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"kind": b"O8"}, "must hold arrays of plain numbers; got the type 'O8'"),
        ({"kind": b"V2"}, "got the type 'V2'"),
        ({"order": b"O,"}, "got the byte order 'O,'"),
        ({"shape": b"K\x01K\x09t"}, "whose 2 bytes do not fill its shape"),
        ({"shape": b"J\xff\xff\xff\xffJ\xfe\xff\xff\xfft"}, "could not be read"),
        ({"content": b"](K\x01K\x02e"}, "must hold arrays of plain numbers"),
    ],
)
def test_arrays_are_built_from_plain_numbers_alone(tmp_path, changes, sentence):
    sound = write_cifar(tmp_path / "sound", data_batch_1=harmful_array())
    with pytest.raises(InputError, match="the same features"):
        load_labelled(sound)
    folder = write_cifar(tmp_path / "c", data_batch_1=harmful_array(**changes))
    with pytest.raises(InputError, match=f"data_batch_1 .*{sentence}"):
        load_labelled(folder)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ([1, 2], "data_batch_3 must hold a dictionary; got list"),
        ({b"data": [1, 2], b"labels": [1, 2]}, "must hold the array 'data' and the list 'labels'; found data, labels"),
        ({b"pixels": batch_of(1)[0]}, "found pixels"),
        ({b"data": batch_of(1)[0], b"labels": [1, 2]}, "data_batch_3: classes must be one class for each of the 4"),
        ({b"data": batch_of(1)[0], b"labels": [1, 2, 3, 10]}, "data_batch_3: class_names must name every class"),
        ({b"data": batch_of(1)[0], b"labels": [[1], [2, 3], 1, 1]}, "data_batch_3: "),
        ({b"data": batch_of(1)[0][:, :9], b"labels": [1, 2, 3, 4]}, "the parts must have the same features"),
    ],
)
def test_batches_that_do_not_fit_are_refused(tmp_path, content, sentence):
    folder = write_cifar(tmp_path / "c", data_batch_3=pickle.dumps(content, protocol=2))
    with pytest.raises(InputError, match=sentence):
        load_labelled(folder)


@pytest.mark.parametrize("kept", [0, 1, 30, 5000, -1])
def test_batches_cut_short_are_refused(tmp_path, kept):
    whole = pickle.dumps(dict(zip((b"data", b"labels"), batch_of(1), strict=True)), protocol=2)
    folder = write_cifar(tmp_path / "c", data_batch_3=whole[:kept])
    with pytest.raises(InputError, match="data_batch_3 could not be read"):
        load_labelled(folder)


def test_a_folder_without_all_batches_is_refused(tmp_path):
    with pytest.raises(InputError, match="A folder must hold CIFAR-10's batches; .* lacks data_batch_1, data_batch_2"):
        load_labelled(tmp_path)
    folder = write_cifar(tmp_path / "c")
    (folder / "data_batch_4").unlink()
    with pytest.raises(InputError, match="lacks data_batch_4"):
        load_labelled(folder)


def test_cats_and_dogs_with_automobiles_as_facts():
    path = DATA / "cifar10_cat_dog_automobile.npz"
    if not path.is_file():
        pytest.skip(f"needs cifar10_cat_dog_automobile.npz in {DATA}, or in the folder GENLAWS_DATA names")
    data = load_labelled(path)
    assert data.inputs.dtype == np.uint8
    assert data.class_counts == {1: 4500, 3: 4500, 5: 4500}
    draw = draw_labelled(data, ("cat", "dog"), fact_fraction=0.2, sample_count=1000, test_count=500)
    assert (draw.dimension, draw.is_fact.sum(), draw.labels[~draw.is_fact].sum()) == (3072, 200, 0)
    assert draw.test_labels.sum() == 0
    one, other = np.triu_indices(1000, 1)
    squares = (draw.inputs**2).sum(axis=1)
    distances = (squares[:, None] + squares - 2 * draw.inputs @ draw.inputs.T)[one, other]
    assert np.median(distances) == pytest.approx(2 * 3072)
