"""A file of answers of models, which only grows, so that no prompt is paid for twice.

One line of JSON holds one answer: its key, the model, the prompt (pictures by their digest alone), the raw text or
log-probabilities, the time, and the number of attempts. A line cut short by a crash is dropped when the file is opened
again. One process at a time may write.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np

from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.locks import hold
from genlaws.models.interface import MODES, Prompt, Reply

# Of names stored before they contained a fingerprint.
PATH_NAME_PREFIXES = ("transformers:", "transformers, with pictures:")
LINE_START = '{"key": "'  # of every line; a file of something else does not have it


class ReplyStore:
    """Answers of models to prompts, in one file.

    Use it as a context manager, or close it, so that another process can write.

    Parameters
    ----------
    path : path
        The file; made, with its folder, if it is not there.
    read_only : bool
        Whether to read only: nothing is created, repaired or locked.

    Raises
    ------
    InputError
        If another process is writing to the file, or it holds something other than answers.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.read_only = read_only
        self._replies: dict[str, Reply] = {}
        self._counts: Counter[str] = Counter()
        self._file = -1
        try:
            if not read_only:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"{str(self.path)!r} cannot be opened for answers: {error.strerror}.") from None
        try:
            self._take()
            self._read()
        except BaseException:
            self._leave()
            raise
        if read_only:
            self._leave()

    def __len__(self) -> int:
        return len(self._replies)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def counts(self) -> dict[str, int]:
        """Number of answers stored under each name of a model."""
        return dict(self._counts)

    def notes(self, model_name: str, *, at_server: bool) -> list[str]:
        """Return the sentences about answers that are not used, or that may be of another model."""
        mine = self._counts[model_name]
        by_path = sum(count for stored, count in self._counts.items() if stored.startswith(PATH_NAME_PREFIXES))
        others = sum(self._counts.values()) - mine - by_path
        sentences = []
        if by_path:
            sentences.append(
                f"{by_path:,} answers were stored under the path of their model by an older version. They are not "
                "used, since the weights may have changed."
            )
        if others and not mine:
            sentences.append(
                f"{others:,} answers are of another model, other weights or other settings. They are not used."
            )
        if mine and at_server:
            sentences.append(
                f"{mine:,} answers are reused: the address of the server and the name of the model match. Whether the "
                "model there is still the same cannot be checked from here; if it changed, use another --out or "
                "--label."
            )
        return sentences

    def find(self, model_name: str, mode: str, prompt: Prompt) -> Reply | None:
        """Return the answer of a model to a prompt, or none if it has not answered it in this mode."""
        return self._replies.get(key_of(model_name, mode, prompt))

    def add(self, model_name: str, mode: str, prompt: Prompt, reply: Reply, *, attempts: int = 1) -> None:
        """Store an answer; one that is there already stays as it is.

        Parameters
        ----------
        model_name : str
        mode : {"probability", "text"}
        prompt : Prompt
        reply : Reply
            An answer, not a failure.
        attempts : int
            How many attempts the answer took.
        """
        key = key_of(model_name, mode, prompt)
        fault = fault_of(reply, mode, prompt)
        if fault:
            raise InputError(f"Only an answer can be stored; {fault}")
        if self._file < 0 or self.read_only:
            raise InputError(f"{self.path.name} is {'open for reading' if self.read_only else 'closed'}.")
        if key in self._replies:
            return
        record = {
            "key": key,
            "model": model_name,
            "mode": mode,
            "prompt": _written(prompt),
            "text": reply.text,
            "log_probabilities": _numbers_as_written(reply),
            "attempts": whole_number("attempts", attempts, at_least=1),
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
        self._append(json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass") + b"\n")
        self._replies[key] = reply
        self._counts[model_name] += 1

    def sync(self) -> None:
        """Wait until all that was added is on the disk."""
        if self._file >= 0 and not self.read_only:
            os.fsync(self._file)

    def close(self) -> None:
        """Write everything to the disk and let other processes write. A closed store can still be searched."""
        if self._file >= 0:
            self.sync()
            self._leave()

    def _leave(self) -> None:
        os.close(self._file)
        self._file = -1

    def _take(self) -> None:
        """Lock the file for this process until it closes the file or ends, however it ends."""
        if self.read_only:
            return
        if not hold(self._file):
            raise InputError(
                f"Another process is writing answers to {str(self.path)!r}; wait for it, stop it, or use another file."
            )

    def _append(self, line: bytes) -> None:
        """Add a line whole, or leave the file as it was."""
        before = os.lseek(self._file, 0, os.SEEK_END)
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except BaseException:
            os.ftruncate(self._file, before)
            raise

    def _read(self) -> None:
        with open(self._file, "rb", closefd=False) as stream:
            content = stream.read()
        whole, _, cut = content.rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
            found = _answer_in(line)
            if found is None:
                raise InputError(
                    f"Line {number} of {str(self.path)!r} is not a stored answer; correct it or use another file."
                )
            self._take_over(*found)
        cut = cut.rstrip(b"\0")  # blocks a crash left without content
        if not cut.startswith(LINE_START.encode()[: len(cut)]):
            raise InputError(f"{str(self.path)!r} holds something other than answers; use another file.")
        if not self.read_only and not content.endswith(b"\n"):
            os.ftruncate(self._file, len(whole) + 1 if b"\n" in content else 0)
        found = _answer_in(cut)
        if found is not None:
            self._take_over(*found)
            if not self.read_only:
                self._append(cut + b"\n")

    def _take_over(self, key: str, name: str, reply: Reply) -> None:
        self._counts[name] += key not in self._replies
        self._replies[key] = reply


def key_of(model_name: str, mode: str, prompt: Prompt) -> str:
    """Return the key of an answer: SHA-256 over the model's name, the mode, and everything in the prompt."""
    one_of("mode", mode, MODES)
    content = {"model": model_name, "mode": mode, "prompt": _written(prompt)}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def fault_of(reply: Reply, mode: str, prompt: Prompt) -> str:
    """Return in one sentence why a reply is not an answer in this mode; nothing if it is one."""
    if reply.error:
        return reply.error
    if mode == "text":
        return "" if isinstance(reply.text, str) else "The model gave no text."
    if reply.log_probabilities is None:
        return "The model gave no log-probabilities."
    numbers = np.asarray(reply.log_probabilities)
    if numbers.shape != (len(prompt.options),):
        return f"The model gave log-probabilities of shape {numbers.shape} for {len(prompt.options)} options."
    if np.isnan(numbers).any() or (numbers == np.inf).any():
        return "The model gave log-probabilities that are not numbers."
    return ""


def _written(prompt: Prompt) -> dict[str, Any]:
    """Return a prompt as it is stored, with digests in place of pictures."""
    return {
        "text": prompt.text,
        "options": list(prompt.options),
        "system": prompt.system,
        "chat": prompt.chat,
        "answer_prefix": prompt.answer_prefix,
        "images": [hashlib.sha256(image).hexdigest() for image in prompt.images],
    }


def _numbers_as_written(reply: Reply) -> list[float | str] | None:
    """Return log-probabilities for JSON, which has no minus infinity."""
    if reply.log_probabilities is None:
        return None
    numbers = np.asarray(reply.log_probabilities, dtype=float).tolist()
    return [number if math.isfinite(number) else str(number) for number in numbers]


def _answer_in(line: bytes) -> tuple[str, str, Reply] | None:
    """Return the key, the name of the model and the answer of a line; none if the line does not hold them."""
    try:
        record = json.loads(line.decode("utf-8", "surrogatepass"))
        if not isinstance(record, Mapping) or not isinstance(record["key"], str):
            return None
        text, numbers = record["text"], record["log_probabilities"]
        values = None if numbers is None else np.array([float(number) for number in numbers])
    except (ValueError, KeyError, TypeError):
        return None
    return record["key"], str(record.get("model", "")), Reply(text, values)
