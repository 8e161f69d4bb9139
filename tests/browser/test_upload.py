"""A set of the reader's own: measured, or refused with a sentence, whatever the file holds."""

import io
import re

import numpy as np
from reader import Reader

ITEMS = 24
ANSWERED_WITHIN = 60_000  # milliseconds; the process that measures starts with the first set


def _npy(table):
    content = io.BytesIO()
    np.save(content, table, allow_pickle=True)
    return content.getvalue()


def _ring():
    angle = 2 * np.pi * np.arange(ITEMS) / ITEMS
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _distances():
    ring = _ring()
    return np.linalg.norm(ring[:, None] - ring[None], axis=-1)


def _csv(table):
    content = io.StringIO()
    np.savetxt(content, table, delimiter=",", fmt="%.8g")
    return content.getvalue().encode()


GOOD = _npy(_ring())
# Name of the file, its content, what it is said to hold, and a word of the sentence.
BAD = [
    ("empty.npy", b"", "embeddings", "empty"),
    ("words.npy", b"these are words", "embeddings", "npy"),
    ("objects.npy", _npy(np.array([{"a": 1}] * ITEMS, dtype=object)), "embeddings", "unpickled"),
    ("half.npy", GOOD[: len(GOOD) // 2], "embeddings", "whole"),
    ("complex.npy", _npy(_ring() * 1j), "embeddings", "real"),
    ("few.npy", _npy(_ring()[:3]), "embeddings", "at least"),
    ("hole.csv", b"1,2\n3,nan\n5,6\n7,8\n9,1\n", "embeddings", "finite"),
    ("typo.csv", b"x,y\n1,2\n3,four\n5,6\n7,8\n", "embeddings", "row 3, column 2 is 'four'"),
    ("ragged.csv", b"1,2\n3\n4,5\n6,7\n", "embeddings", "numbers"),
    ("picture.png", b"\x89PNG\r\n", "embeddings", "ending in"),
    ("oblong.npy", _npy(_ring()), "distances", "distances"),
    ("lopsided.npy", _npy(np.triu(_distances())), "distances", "distances"),
    ("binary.csv", bytes(range(128, 256)), "embeddings", "UTF-8"),
]


def _file(name, content):
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def _send(reader: Reader):
    with reader.page.expect_response("**/api/measure", timeout=ANSWERED_WITHIN):
        reader.page.get_by_role("button", name="Measure", exact=True).click()
    reader.page.wait_for_selector(".upload button[type=submit]:not([disabled])")


def test_good_sets(open_reader):
    reader = open_reader("/semanticity")
    page = reader.page
    own = page.locator("section.own")
    page.get_by_label("File", exact=True).set_input_files(_file("ring.npy", GOOD))
    _send(reader)
    assert own.locator(".upload > .error").inner_text() == ""
    assert own.locator("figure.panel .main-svg").count() >= 1
    assert re.search(r"\d\.\d+", own.locator(".numbers").inner_text())
    alone = own.locator(".sentence").inner_text()

    places = np.arange(ITEMS) / ITEMS
    page.get_by_label("True places (optional)").set_input_files(_file("places.csv", _csv(places)))
    page.get_by_label("True distances between items").select_option("circle")
    page.get_by_label("Similarity of two embeddings").select_option("gaussian")
    _send(reader)
    assert own.locator(".upload > .error").inner_text() == ""
    assert own.locator(".sentence").inner_text() != alone

    page.get_by_label("True places (optional)").set_input_files([])
    page.get_by_label("It holds").select_option("distances")
    assert not page.get_by_label("Similarity of two embeddings").is_visible()
    page.get_by_label("File", exact=True).set_input_files(_file("distances.csv", _csv(_distances())))
    _send(reader)
    assert own.locator(".upload > .error").inner_text() == ""
    assert reader.refused == []


def test_bad_files_get_a_sentence_each(open_reader):
    reader = open_reader("/semanticity")
    page = reader.page
    error = page.locator(".upload > .error")
    page.get_by_role("button", name="Measure", exact=True).click()
    assert error.inner_text() == "Choose a file first."
    for name, content, kind, word in BAD:
        page.get_by_label("It holds").select_option(kind)
        page.get_by_label("File", exact=True).set_input_files(_file(name, content))
        _send(reader)
        assert word in error.inner_text(), (name, error.inner_text())
        assert error.inner_text().endswith("."), name
    assert len(reader.refused) == len(BAD)
    # The page still works: another set, and the sliders.
    page.get_by_label("It holds").select_option("embeddings")
    page.get_by_label("File", exact=True).set_input_files(_file("ring.npy", GOOD))
    _send(reader)
    assert error.inner_text() == ""
    before = reader.plotted()
    reader.slider().focus()
    page.keyboard.press("End")
    reader.wait_for_other_plot(before)
