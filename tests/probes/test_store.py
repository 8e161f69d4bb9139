"""Answers are stored, found again, and never lost to a crash or to a second writer."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from genlaws.core.errors import InputError
from genlaws.models.interface import Prompt, Reply
from genlaws.probes.store import ReplyStore, key_of

PROMPT = Prompt("Born in 1200:", ("Anna", "Boris"))
PICTURE = b"\x89PNG not to be kept in the clear"
WORDS = Reply(text=" Anna\u2028\nBörís \ud83d\ude00 \ud800")  # separators, letters beyond ASCII, half a pair


@pytest.fixture
def file(tmp_path):
    return tmp_path / "folder" / "answers.jsonl"


def test_an_answer_is_found_again_as_it_was(file):
    numbers = Reply(log_probabilities=np.array([-0.1 - 1e-16, -np.inf]))
    with ReplyStore(file) as store:
        store.add("m", "text", PROMPT, WORDS, attempts=3)
        store.add("m", "probability", PROMPT, numbers)
        assert len(store) == 2
    for read_only in (True, False):
        with ReplyStore(file, read_only=read_only) as store:
            assert len(store) == 2
            assert store.find("m", "text", PROMPT) == WORDS
            selected = store.find("m", "probability", PROMPT)
            assert selected.log_probabilities.tolist() == numbers.log_probabilities.tolist()
            assert selected.text is None


def test_answers_are_counted_by_what_they_are_kept_under(file):
    with ReplyStore(file) as store:
        for name, prompt in (("m", PROMPT), ("n", PROMPT), ("n", Prompt("other", ("a", "b"))), ("n", PROMPT)):
            store.add(name, "text", prompt, Reply(text="x"))
        assert store.counts == {"m": 1, "n": 2}
    assert ReplyStore(file, read_only=True).counts == {"m": 1, "n": 2}


def test_a_line_holds_all_that_was_asked_and_the_raw_answer(file):
    with ReplyStore(file) as store:
        store.add("m", "text", Prompt("a", ("b", "c"), "d", True, "e", (PICTURE,)), Reply(text=" f"), attempts=3)
    content = file.read_bytes()
    assert content.count(b"\n") == 1
    assert b"PNG" not in content
    line = json.loads(content)
    assert line["prompt"] | {"images": 1} == {
        "text": "a", "options": ["b", "c"], "system": "d", "chat": True, "answer_prefix": "e", "images": 1,
    }  # fmt: skip
    assert (line["model"], line["mode"], line["text"], line["attempts"]) == ("m", "text", " f", 3)
    assert line["time"].endswith("+00:00")


def test_the_key_depends_on_everything_that_may_change_an_answer():
    ways = [
        ("m", "text", PROMPT),
        ("n", "text", PROMPT),
        ("m", "probability", PROMPT),
        *(
            ("m", "text", Prompt(**{"text": "Born in 1200:", "options": ("Anna", "Boris"), **changed}))
            for changed in (
                {"text": "Born in 1201:"},
                {"options": ("Boris", "Anna")},
                {"system": "s"},
                {"chat": True},
                {"answer_prefix": ""},
                {"images": (b"1",)},
                {"images": (b"2",)},
                {"images": (b"1", b"2")},
            )
        ),
    ]
    keys = [key_of(*way) for way in ways]
    assert len(set(keys)) == len(ways)
    assert keys == [key_of(*way) for way in ways]


def test_the_first_answer_stays(file):
    with ReplyStore(file) as store:
        store.add("m", "text", PROMPT, Reply(text="first"))
        store.add("m", "text", PROMPT, Reply(text="second"))
        assert store.find("m", "text", PROMPT).text == "first"
    assert file.read_bytes().count(b"\n") == 1


def fill(file, count):
    with ReplyStore(file) as store:
        for number in range(count):
            store.add("m", "text", Prompt(str(number), ("a", "b")), Reply(text=f"answer {number}"))


def test_a_cut_last_line_is_dropped_wherever_it_was_cut(file):
    fill(file, 3)
    whole = file.read_bytes()
    start = whole[:-1].rindex(b"\n") + 1
    for length in range(start, len(whole)):
        file.write_bytes(whole[:length])
        with ReplyStore(file, read_only=True) as store:
            seen = len(store)
        assert file.read_bytes() == whole[:length]  # looking changes nothing
        with ReplyStore(file) as store:
            assert len(store) == seen == (3 if length == len(whole) - 1 else 2)
            store.add("m", "text", Prompt("new", ("a", "b")), Reply(text="new"))
        lines = file.read_bytes().split(b"\n")
        assert lines[-1] == b""
        assert [json.loads(line)["text"] for line in lines[:-1]][-1] == "new"
        assert len(lines) - 1 == seen + 1


def test_blocks_that_were_never_written_are_dropped(file):
    fill(file, 3)
    whole = file.read_bytes()
    for cut in (whole + b"\0" * 100, whole[:-20] + b"\0" * 100):
        file.write_bytes(cut)
        with ReplyStore(file) as store:
            assert len(store) == (3 if cut.startswith(whole) else 2)
        assert b"\0" not in file.read_bytes()


@pytest.mark.parametrize(
    "content", [b"# Notes\nmine\n", b"notes", b"[1, 2]\n", b'{"key": 1}\n', b'{"key": "a"}\n', b"\xff\n"]
)
def test_a_file_of_something_else_is_left_alone(file, content):
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(InputError, match="not a stored answer|something other than answers"):
        ReplyStore(file)
    assert file.read_bytes() == content


def test_a_bad_line_between_good_ones_is_named(file):
    fill(file, 3)
    lines = file.read_bytes().split(b"\n")
    lines[1] = lines[1][:-5]
    file.write_bytes(b"\n".join(lines))
    with pytest.raises(InputError, match="Line 2 of .* is not a stored answer"):
        ReplyStore(file)


def test_two_processes_do_not_write_at_once(file):
    program = f"from genlaws.probes.store import ReplyStore\nReplyStore({str(file)!r})"
    with ReplyStore(file):
        second = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert "Another process is writing answers to" in second.stderr
        with pytest.raises(InputError, match="Another process"):
            ReplyStore(file)
        assert len(ReplyStore(file, read_only=True)) == 0
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_write_that_fails_leaves_no_half_line(file, monkeypatch):
    fill(file, 2)
    before = file.read_bytes()
    with ReplyStore(file) as store:
        monkeypatch.setattr("os.write", _Full(os.write, after=30))
        with pytest.raises(OSError, match="No space"):
            store.add("m", "text", Prompt("x", ("a", "b")), Reply(text="x"))
        monkeypatch.undo()
        assert file.read_bytes() == before
        assert store.find("m", "text", Prompt("x", ("a", "b"))) is None
        store.add("m", "text", Prompt("x", ("a", "b")), Reply(text="x"))
    assert len(ReplyStore(file, read_only=True)) == 3


class _Full:
    """A disk that takes a few bytes more."""

    def __init__(self, real, after):
        self.real, self.left = real, after

    def __call__(self, descriptor, content):
        if not self.left:
            raise OSError(28, "No space left on device")
        taken, self.left = self.left, 0
        return self.real(descriptor, content[:taken])


@pytest.mark.parametrize(
    ("mode", "reply", "why"),
    [
        ("text", Reply(error="The server slept."), "The server slept."),
        ("text", Reply(), "no text"),
        ("probability", Reply(text="Anna"), "no log-probabilities"),
        ("probability", Reply(log_probabilities=np.zeros(3)), r"shape \(3,\) for 2 options"),
        ("probability", Reply(log_probabilities=np.array([0.0, np.nan])), "not numbers"),
    ],
)
def test_only_answers_are_kept(file, mode, reply, why):
    with ReplyStore(file) as store:
        with pytest.raises(InputError, match=why):
            store.add("m", mode, PROMPT, reply)
        assert len(store) == 0
    assert file.read_bytes() == b""


def test_wrong_use_is_said(file, tmp_path):
    with pytest.raises(InputError, match="cannot be opened for answers: Is a directory"):
        ReplyStore(tmp_path)
    with pytest.raises(InputError, match="cannot be opened for answers: No such file"):
        ReplyStore(tmp_path / "none", read_only=True)
    fill(file, 1)
    reader = ReplyStore(file, read_only=True)
    with pytest.raises(InputError, match="open for reading"):
        reader.add("m", "text", PROMPT, WORDS)
    reader.close()
    store = ReplyStore(file)
    store.close()
    store.close()
    assert store.find("m", "text", Prompt("0", ("a", "b"))).text == "answer 0"
    with pytest.raises(InputError, match="closed"):
        store.add("m", "text", PROMPT, WORDS)
    with pytest.raises(InputError, match="mode must be one of probability, text"):
        store.find("m", "words", PROMPT)
