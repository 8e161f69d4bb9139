"""Sets that are measured, and sets that are refused: whatever is in a file, the answer is a sentence."""

import io
import pickle
import re
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copied_lines import printed_by, printed_by_command
from genlaws import semanticity
from genlaws.core.errors import InputError
from genlaws.core.tables import MAX_ROWS, read_uploaded_table
from genlaws.web import upload as door
from genlaws.web.openapi import MeasuredBody
from genlaws.web.upload import MeasurementStoppedError, Measurer, Upload, measure_upload
from toy_explorer import npy

SQUARE = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))


class Trap:
    """Leaves a file behind if it is ever unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def header(text: str, version: int = 1) -> bytes:
    """Return the start of a .npy file with any header."""
    encoded = text.encode("latin1") + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(encoded)) + encoded


def packed() -> bytes:
    """Return a small zip file that holds a very large array."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.npy", bytes(20_000_000))
    return stream.getvalue()


def send(client, file, name="set.npy", kind="embeddings", positions=None, **fields):
    files = {"file": (name, file)}
    if positions is not None:
        files["positions"] = positions
    return client.post("/api/measure", data={"kind": kind, **fields}, files=files)


def number(answer, name):
    return next(one["value"] for one in answer["numbers"] if one["name"] == name)


def test_embeddings_are_measured_as_by_the_library(client, circle):
    z, places = circle
    reply = send(client, npy(z), positions=("p.npy", npy(places)), metric="circle", similarity="cosine")
    assert reply.status_code == 200
    answer = reply.json()
    MeasuredBody.model_validate(answer)
    expected = semanticity.measure(z, positions=places, metric="circle")
    assert number(answer, "generalization p_S") == str(expected.generalization)
    assert number(answer, "identification p_I") == str(expected.identification)
    assert number(answer, "resolution ε") == str(expected.fit.resolution)
    assert "95 % interval" in next(one["meaning"] for one in answer["numbers"] if one["name"] == "items")
    items = answer["panels"][2]["curves"][0]
    assert (items["low"][0], items["high"][0]) == (expected.generalization.low, expected.generalization.high)
    mark = answer["panels"][0]["curves"][-1]
    assert (mark["kind"], mark["x"], mark["y"]) == (
        "mark",
        [expected.identification.value],
        [expected.generalization.value],
    )
    assert [panel["name"] for panel in answer["panels"]] == ["measured-front", "measured-profile", "measured-items"]


def test_names_do_not_count_among_the_most_items():
    lines = [f"{row % 7},{row % 11}.5" for row in range(MAX_ROWS)]
    assert read_uploaded_table("embeddings", "\n".join(["a,b", *lines]).encode(), ".csv").values.shape == (
        MAX_ROWS,
        2,
    )
    with pytest.raises(InputError, match=r"at most 2,000 rows, one per item; the file has 2,001"):
        read_uploaded_table("embeddings", "\n".join([*lines, "1,2"]).encode(), ".csv")


def test_radians_on_a_circle_of_length_one_are_refused(client, circle):
    z, places = circle
    reply = send(client, npy(z), positions=("p.npy", npy(2 * np.pi * places)), metric="circle")
    assert reply.status_code == 422
    assert "divide the positions by it" in reply.text


def test_a_large_mean_is_reported_as_by_the_library(circle):
    z, places = circle
    raised = np.concatenate([z, np.full((len(z), 1), 4.0)], axis=1)
    sent = Upload("embeddings", npy(raised), ".npy", npy(places), ".npy", metric="circle")
    expected = semanticity.measure(raised, positions=places, metric="circle").message
    assert "Without it generalization is" in expected
    assert measure_upload(sent)["sentence"].endswith(expected)


@pytest.mark.parametrize(
    ("file", "kind", "positions", "fields", "names"),
    [
        ("embeddings.csv", "embeddings", None, {}, ()),
        ("embeddings.npy", "embeddings", "positions.csv", {"metric": "circle", "similarity": "threshold"}, ()),
        ("distances.npy", "distances", None, {}, ()),
        ("distances.csv", "distances", "positions.npy", {"metric": "euclidean", "similarity": "gaussian"}, ()),
        ("embeddings.npy", "embeddings", "positions.csv", {"metric": "tree", "similarity": "relu-dot"}, ()),
        ("embeddings.csv", "embeddings", "positions.csv", {"metric": "circle"}, ("header",)),
        ("distances.csv", "distances", None, {}, ("header", "index")),
        ("embeddings.npy", "embeddings", "positions.csv", {"metric": "tree"}, ("header", "index")),
    ],
)
def test_lines_of_an_answer_give_its_numbers(circle, tmp_path, tmp_path_factory, file, kind, positions, fields, names):
    z, places = circle
    labels = np.stack([np.arange(40) // 20, np.arange(40) // 5], axis=1)
    tables = {
        "embeddings": z,
        "distances": np.linalg.norm(z[:, None] - z, axis=2),
        "positions": np.char.add("g", labels.astype(str)) if fields.get("metric") == "tree" else places,
    }
    contents = {}
    for name in (file, positions) if positions else (file,):
        table = np.asarray(tables[name.partition(".")[0]])
        if name.endswith(".npy"):
            contents[name] = npy(table)
        else:
            written = {option: option in names for option in ("header", "index")}
            contents[name] = pd.DataFrame(table.reshape(len(table), -1)).to_csv(**written).encode()
        (tmp_path / name).write_bytes(contents[name])
    (tmp_path / "similarities.npy").write_bytes(b"of the reader")
    sent = Upload(kind, contents[file], file[-4:], **fields)
    if positions:
        sent = Upload(kind, contents[file], file[-4:], contents[positions], positions[-4:], **fields)
    answer = measure_upload(sent)
    assert number(answer, "items") == "40"
    assert ("read as names" in answer["sentence"]) == bool(names)
    printed = printed_by(answer["python"], tmp_path)
    for name in ("generalization p_S", "resolution ε"):
        assert re.search(rf"^{re.escape(name)} +{re.escape(number(answer, name))}  ", printed, re.M)
    reported = printed_by_command(answer["command"], tmp_path, tmp_path_factory.mktemp("new"))
    assert number(answer, "identification p_I") in reported


WRONG = {
    "empty": (b"", {}, "must hold at least one number; the file is empty"),
    "text under another name": (b"1,2\n3,4\n", {}, "something else under that name"),
    "zip bomb under another name": (packed(), {}, "something else under that name"),
    "strings": (npy(np.array([["a", "b"]] * 5)), {}, "must be real numbers; the file holds <U1"),
    "complex numbers": (npy(np.ones((5, 2), dtype=complex)), {}, "must be real numbers"),
    "truth values": (npy(np.ones((5, 2), dtype=bool)), {}, "must be real numbers"),
    "structures": (npy(np.zeros(5, dtype=[("a", "f8"), ("b", "f8")])), {}, "must be real numbers"),
    "huge claim": (
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (1999, 99999)}"),
        {},
        "announces 1,599,184,008 bytes, and the file has 0",
    ),
    "impossible claim": (
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000000000000, 2)}"),
        {},
        "must have at most 2,000 rows",
    ),
    "negative claim": (
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-5, -2)}"),
        {},
        "bytes, and the file has 0",
    ),
    "code in the header": (header("__import__('os').abort()"), {}, "its header cannot be read"),
    "deep header": (header("(" * 5000), {}, "its header cannot be read"),
    "endless header": (header("{" + " " * 60_000), {}, "its header cannot be read"),
    "unknown version": (header("{}", 9), {}, "its header cannot be read"),
    "cut in the header": (npy(np.ones((5, 2)))[:30], {}, "its header cannot be read"),
    "cut in the numbers": (npy(np.ones((5, 2)))[:-8], {}, "announces 80 bytes, and the file has 72"),
    "more than it says": (npy(np.ones((5, 2))) + b"more", {}, "announces 80 bytes, and the file has 84"),
    "NaN": (npy(np.full((5, 2), np.nan)), {}, "the cell in row 1, column 1 is 'nan', which is not finite"),
    "infinity": (npy(np.diag([1, 1, np.inf])), {}, "the cell in row 3, column 3 is 'inf', which is not finite"),
    "one row": (npy(np.ones((1, 2))), {}, "a row for each of at least 4 items; got shape (1, 2)"),
    "one axis": (npy(np.ones(9)), {}, "got shape (9,)"),
    "three axes": (npy(np.ones((5, 2, 2))), {}, "the file has shape (5, 2, 2)"),
    "no columns": (npy(np.ones((5, 0))), {}, "the file has shape (5, 0)"),
    "too many rows": (
        npy(np.ones((2001, 1), dtype=np.int8)),
        {},
        "must have at most 2,000 rows, one per item; the file has",
    ),
    "too many columns": (npy(np.ones((4, 100_001), dtype=np.int8)), {}, "at most 100,000 columns"),
    "zero embeddings": (npy(np.zeros((5, 2))), {}, "All true distances are zero"),
    "another suffix": (b"1", {"name": "set.pkl"}, ".csv, .tsv or .parquet; got 'set.pkl'"),
    "words in a table": (b"a,b\n1,2\n3,x\n", {"name": "set.csv"}, "the cell in row 3, column 2 is 'x'"),
    "names alone": (b"a,b\n", {"name": "set.csv"}, "holds only names"),
    "uneven rows": (b"1,2\n3\n4,5\n6,7\n", {"name": "set.csv"}, "must hold only numbers"),
    "empty table": (b"\n \n", {"name": "set.csv"}, "the file has no rows"),
    "not text": (b"\xff\xfe1\x00", {"name": "set.csv"}, "must be text in UTF-8"),
    "too many rows of text": (b"1,2\n" * 2001, {"name": "set.csv"}, "at most 2,000 rows"),
    "too many columns of text": (b"," * 100_001, {"name": "set.csv"}, "at most 100,000 columns"),
    "NaN in a table": (b"1,nan\n2,3\n4,5\n6,7\n", {"name": "set.csv"}, "row 1, column 2 is 'nan', which is not finite"),
    "distances not square": (npy(SQUARE[:6]), {"kind": "distances"}, "square matrix"),
    "distances not symmetric": (npy(SQUARE + np.eye(12, k=1)), {"kind": "distances"}, "must be symmetric"),
    "negative distances": (npy(-SQUARE), {"kind": "distances"}, "must be zero or positive"),
    "distances of a copy": (npy(SQUARE + np.eye(12)), {"kind": "distances"}, "zero on the diagonal"),
    "no distances": (npy(0 * SQUARE), {"kind": "distances"}, "must differ from zero"),
    "angles of distances": (npy(SQUARE), {"kind": "distances", "similarity": "cosine"}, "must be one of gaussian"),
    "too few positions": (npy(SQUARE), {"positions": ("p.npy", npy(np.arange(11.0)))}, "each of the 12 items"),
    "positions of many columns": (
        npy(SQUARE),
        {"positions": ("p.npy", npy(SQUARE)), "metric": "circle"},
        "positions on a circle must be one number",
    ),
    "long labels": (
        npy(SQUARE),
        {"positions": ("p.csv", b"\n".join([b"a" * 101] * 12)), "metric": "tree"},
        "labels of at most 100 characters",
    ),
    "a circle without positions": (npy(SQUARE), {"metric": "circle"}, "metric must be one of euclidean, cosine"),
    "similarities without positions": (npy(SQUARE), {"similarity": "precomputed"}, "without positions"),
    "unknown metric": (npy(SQUARE), {"metric": "manhattan"}, "metric must be one of circle"),
    "unknown similarity": (npy(SQUARE), {"similarity": "x" * 90}, "similarity must be one of cosine"),
    "unknown kind": (npy(SQUARE), {"kind": "pictures"}, "kind must be one of embeddings, distances"),
    "long word": (npy(SQUARE), {"metric": "x" * 200}, "be complete"),
    "unknown part": (npy(SQUARE), {"color": "red"}, "got 'color'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_set_is_refused_with_a_sentence(client, case):
    file, fields, words = WRONG[case]
    reply = send(client, file, **fields)
    assert reply.status_code == 422
    assert set(reply.json()) == {"error", "setting"}
    assert words in reply.json()["error"]
    assert "Traceback" not in reply.text
    assert "/" not in reply.json()["error"].replace("http://", "")


def test_nothing_is_unpickled(client, tmp_path):
    path = tmp_path / "sprung"
    trap = np.empty((5, 2), dtype=object)
    trap[:] = Trap(path)
    for file in (npy(trap, allow_pickle=True), pickle.dumps(trap)):
        assert send(client, file).status_code == 422
        assert not path.exists()
    pickle.loads(pickle.dumps(Trap(path))).close()
    assert path.exists()  # the trap works


def test_words_that_are_files_and_files_that_are_words_are_refused(client):
    reply = client.post("/api/measure", data={"kind": "embeddings", "file": "words"}, files={"x": ("", b"")})
    assert reply.status_code == 422
    reply = client.post("/api/measure", files={"kind": ("k.npy", b"embeddings"), "file": ("a.npy", npy(SQUARE))})
    assert (reply.status_code, reply.json()["setting"]) == (422, "kind")
    reply = client.post("/api/measure", files={"file": ("a.npy", npy(SQUARE))})
    assert (reply.status_code, reply.json()["setting"]) == (422, "kind")
    reply = client.post("/api/measure", data={"kind": "embeddings"}, files={"positions": ("a.npy", npy(SQUARE))})
    assert (reply.status_code, reply.json()["setting"]) == (422, "file")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Content-Type": "multipart/form-data"}, 422),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 422),
        ({"Content-Type": "multipart/form-data; boundary=" + 300 * "x"}, 422),
    ],
)
def test_a_body_that_is_no_form_is_refused(client, headers, status):
    reply = client.post("/api/measure", content=b"--y\r\nbroken", headers=headers)
    assert reply.status_code == status
    assert reply.json()["error"].endswith(".")


def test_too_many_bytes_are_refused_announced_or_not(client, monkeypatch):
    monkeypatch.setattr(door, "MAX_UPLOAD_BYTES", 2**20)
    monkeypatch.setattr(door, "MAX_DISCARDED_BYTES", 4 * 2**20)
    assert send(client, bytes(2 * 2**20)).status_code == 413
    assert send(client, bytes(6 * 2**20)).status_code == 413
    seen = []

    def endless():
        """Yield a body without an end."""
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.npy"\r\n\r\n'
        for part in range(64):
            seen.append(part)
            yield bytes(2**20)

    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    reply = client.post("/api/measure", content=endless(), headers=kind)
    assert reply.status_code == 413
    assert "at most 1 MiB" in reply.json()["error"]


def test_no_more_sets_at_once_than_there_is_room_for(client, monkeypatch):
    monkeypatch.setattr(door, "MAX_CONCURRENT_UPLOADS", 0)
    reply = send(client, npy(SQUARE))
    assert reply.status_code == 503
    assert reply.headers["retry-after"] == "10"


def test_no_file_is_left_behind(client, circle):
    def files():
        """Return all files of the folder for temporary ones, except those of pytest itself."""
        root = Path(tempfile.gettempdir())
        return {path for path in root.glob("*") if "pytest" not in path.name and path.name.startswith("tmp")}

    before = files()
    z, _ = circle
    big = np.random.default_rng(0).standard_normal((1500, 400))  # larger than what is usually held in memory
    assert send(client, npy(z)).status_code == 200
    assert send(client, npy(big)[:-1]).status_code == 422
    assert files() <= before


def test_a_measurement_without_an_end_is_stopped_and_the_next_one_answered(circle):
    z, _ = circle
    measurer = Measurer(longest=0.0)
    with pytest.raises(MeasurementStoppedError, match=r"longer than 0 s and was stopped; try a smaller set\."):
        measurer.measure(Upload("embeddings", npy(z), ".npy"))
    measurer.longest = 60.0
    assert measurer.measure(Upload("embeddings", npy(z), ".npy")).startswith(b'{"panels"')
    measurer.close()
