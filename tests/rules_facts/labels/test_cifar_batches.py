"""CIFAR-10 from its batches, and batches that are broken or mean harm."""

import os
import pickle
import struct

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.rules_facts.labels.loading import CIFAR_BATCHES, load_labeled
from genlaws.rules_facts.labels.task import draw_labeled
from project_paths import DATA

X = np.arange(24, dtype=np.uint8).reshape(6, 2, 2)
Y = np.array([0, 1, 2, 0, 1, 2])
NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


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
    data = load_labeled(tmp_path / "cifar-10-batches-py" if inside else tmp_path)
    pixels, labels = zip(*map(batch_of, range(6)), strict=True)
    assert data.inputs.dtype == np.uint8
    assert np.array_equal(data.inputs, np.concatenate(pixels))
    assert data.classes.tolist() == [label for part in labels for label in part]
    assert (data.name, data.class_names) == ("cifar-10", tuple(NAMES))
    assert data.class_of("dog") == 5


def test_cifar_as_python_two_wrote_it(tmp_path):
    data, labels = batch_of(0)
    folder = write_cifar(tmp_path / "c", data_batch_1=python_two_batch(data, labels))
    assert np.array_equal(load_labeled(folder).inputs[:4], data)


def test_cifar_stored_by_columns_and_without_names(tmp_path):
    data, labels = batch_of(0)
    stored = pickle.dumps({"data": np.asfortranarray(data), "labels": labels}, protocol=4)
    folder = write_cifar(tmp_path / "c", data_batch_1=stored)
    (folder / "batches.meta").unlink()
    found = load_labeled(folder)
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
            InputError, match=rf"{name} is not a CIFAR-10 batch: it refers to \w+\.\w+, which could run code"
        ):
            load_labeled(folder)
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
        load_labeled(folder)


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
        load_labeled(sound)
    folder = write_cifar(tmp_path / "c", data_batch_1=harmful_array(**changes))
    with pytest.raises(InputError, match=f"data_batch_1 .*{sentence}"):
        load_labeled(folder)


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
        load_labeled(folder)


@pytest.mark.parametrize("length", [0, 1, 30, 5000, -1])
def test_batches_cut_short_are_refused(tmp_path, length):
    whole = pickle.dumps(dict(zip((b"data", b"labels"), batch_of(1), strict=True)), protocol=2)
    folder = write_cifar(tmp_path / "c", data_batch_3=whole[:length])
    with pytest.raises(InputError, match="data_batch_3 could not be read"):
        load_labeled(folder)


def test_a_folder_without_all_batches_is_refused(tmp_path):
    with pytest.raises(InputError, match="A folder must hold CIFAR-10's batches; .* lacks data_batch_1, data_batch_2"):
        load_labeled(tmp_path)
    folder = write_cifar(tmp_path / "c")
    (folder / "data_batch_4").unlink()
    with pytest.raises(InputError, match="lacks data_batch_4"):
        load_labeled(folder)


def test_cats_and_dogs_with_automobiles_as_facts():
    path = DATA / "cifar10_cat_dog_automobile.npz"
    if not path.is_file():
        pytest.skip(f"needs cifar10_cat_dog_automobile.npz in {DATA}, or in the folder GENLAWS_DATA names")
    data = load_labeled(path)
    assert data.inputs.dtype == np.uint8
    assert data.class_counts == {1: 4500, 3: 4500, 5: 4500}
    draw = draw_labeled(data, ("cat", "dog"), fact_fraction=0.2, sample_count=1000, test_count=500)
    assert (draw.dimension, draw.is_fact.sum(), draw.labels[~draw.is_fact].sum()) == (3072, 200, 0)
    assert draw.test_labels.sum() == 0
    one, other = np.triu_indices(1000, 1)
    squares = (draw.inputs**2).sum(axis=1)
    distances = (squares[:, None] + squares - 2 * draw.inputs @ draw.inputs.T)[one, other]
    assert np.median(distances) == pytest.approx(2 * 3072)
