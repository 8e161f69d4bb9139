"""Word vectors from a file: word2vec, GloVe or fastText in text form, plain or gzipped, or an .npz archive.

A text file may hold millions of words; it is read line by line, and only the lines of the wanted words are parsed.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from genlaws.core.errors import InputError
from genlaws.probes.encoders.stimuli import EmbeddingStimuli

VECTOR_SUFFIXES = (".txt", ".vec", ".gz", ".npz")
VECTOR_FORMATS = "a file of word vectors (.txt, .vec, .gz, or .npz with words and vectors)"
MAX_LISTED = 5  # missing words that are named

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class WordVectors:
    """A file of word vectors as an encoder with one layer.

    A phrase that is an entry of the file, as written, with underscores for spaces, or in lower case, gets its vector;
    any other phrase gets the mean of the vectors of its words.

    Attributes
    ----------
    file : Path
    """

    file: Path

    def __post_init__(self) -> None:
        if not self.file.is_file():
            raise InputError(f"source: there is no file {str(self.file)!r}.")
        if self.file.suffix.lower() not in VECTOR_SUFFIXES:
            raise InputError(f"source must be {VECTOR_FORMATS}; got {str(self.file)!r}.")

    @property
    def name(self) -> str:
        """The file."""
        return f"vectors:{self.file}"

    @property
    def layers(self) -> tuple[str, ...]:
        """The one layer."""
        return ("vectors",)

    @cached_property
    def width(self) -> int:
        """How many numbers a vector has."""
        return len(self._archive[1][0]) if self._archived else self._layout[0]

    def embed(self, stimuli: EmbeddingStimuli | Sequence[str]) -> dict[str, Rows]:
        """Return the vectors of words or phrases, one row each; a word that is not there is an error."""
        texts = self._texts(stimuli)
        rows = self._found(texts)
        gone = _missing(texts, rows)
        if gone:
            named = ", ".join(map(repr, gone[:MAX_LISTED])) + (" and others" if len(gone) > MAX_LISTED else "")
            raise InputError(
                f"{self.file.name} has no vectors for {len(gone)} of {len(texts)} stimuli: {named}; leave them out "
                "with stimuli.without(encoder.missing(stimuli)) or change the phrase."
            )
        table = np.stack([_row(text, rows) for text in texts]).astype(np.float32)
        return {self.layers[0]: table}

    def missing(self, stimuli: EmbeddingStimuli | Sequence[str]) -> tuple[str, ...]:
        """Return the phrases that are not in the file and hold a word that is not in it either."""
        texts = self._texts(stimuli)
        return _missing(texts, self._found(texts))

    def _texts(self, stimuli: EmbeddingStimuli | Sequence[str]) -> list[str]:
        given = stimuli.contents if isinstance(stimuli, EmbeddingStimuli) else stimuli
        if isinstance(given, str) or not all(isinstance(one, str) and one.strip() for one in given):
            raise InputError(f"stimuli must be words for {self.file.name}, which is not an image encoder.")
        return [str(one) for one in given]

    def _found(self, texts: Sequence[str]) -> dict[str, Rows]:
        """Return the rows of every entry that could be of use."""
        wanted = {
            form for text in texts for form in [*_forms(text), *(f for word in text.split() for f in _forms(word))]
        }
        if not self._archived:
            return self._read(wanted)
        words, vectors = self._archive
        return {word: vectors[place] for place, word in enumerate(words) if word in wanted}

    def _read(self, wanted: set[str]) -> dict[str, Rows]:
        width, header = self._layout
        entries = {form.encode(): form for form in wanted}
        first_words = {entry.split()[0] for entry in entries}
        rows: dict[str, Rows] = {}
        for number, line in self._lines():
            start = line.split(None, 1)
            if (header and number == 1) or not start or start[0] not in first_words:
                continue
            parts = line.rstrip().rsplit(None, width)
            if len(parts) != width + 1:
                raise InputError(f"{self.file.name}, line {number}: there must be a word and {width} numbers.")
            form = entries.get(parts[0].strip())
            if form is not None and form not in rows:
                rows[form] = self._numbers(parts[1:], number)
        return rows

    def _numbers(self, parts: list[bytes], line: int) -> Rows:
        try:
            row = np.array([float(part) for part in parts], dtype=np.float32)
        except ValueError:
            row = np.array([np.nan], dtype=np.float32)
        if not np.isfinite(row).all():
            raise InputError(f"{self.file.name}, line {line}: a word must be followed by finite numbers.")
        return row

    @property
    def _archived(self) -> bool:
        return self.file.suffix.lower() == ".npz"

    @cached_property
    def _archive(self) -> tuple[list[str], Rows]:
        try:
            with np.load(self.file, allow_pickle=False) as archive:
                words, vectors = archive["words"], archive["vectors"]
        except (OSError, ValueError, EOFError, KeyError):
            words, vectors = np.empty(0), np.empty(0)
        fits = words.ndim == 1 and vectors.ndim == 2 and len(words) == len(vectors) > 0 and vectors.dtype.kind in "iuf"
        if not fits or words.dtype.kind != "U":
            raise InputError(
                f"{self.file.name} must hold words, an array of text, and vectors, an array of numbers with a row for "
                "each word."
            )
        return [str(word) for word in words.tolist()], vectors

    @cached_property
    def _layout(self) -> tuple[int, bool]:
        """Return the width of the vectors and whether the first line is a header: how many words, how many numbers."""
        lines = [line.split() for _, (_, line) in zip(range(2), self._lines(), strict=False)]
        first, second = [*lines, [], []][:2]
        header = len(first) == 2 and all(part.isdigit() for part in first) and len(second) > int(first[1])
        width = int(first[1]) if header else len(first) - 1
        try:
            [float(part) for part in (second if header else first)[-width:]]
        except ValueError:
            width = 0
        if width < 1:
            raise InputError(f"{self.file.name} must have a word and its numbers in each line, separated by spaces.")
        return width, header

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield lines with their numbers; bytes, because words may hold any character but a space."""
        packed = self.file.suffix.lower() == ".gz"
        try:
            with cast("BinaryIO", gzip.open(self.file) if packed else self.file.open("rb")) as stream:
                yield from enumerate(stream, start=1)
        except (OSError, EOFError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise InputError(f"{self.file.name} could not be read: {reason}.") from None


def holds_word_vectors(source: str | os.PathLike[str]) -> bool:
    """Return whether a source looks like a file of word vectors; an .npz archive is opened to check."""
    file = Path(source).expanduser()
    if file.suffix.lower() not in VECTOR_SUFFIXES or not file.is_file():
        return False
    if file.suffix.lower() != ".npz":
        return True
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {"words", "vectors"} <= set(archive.files)
    except (OSError, ValueError, EOFError):
        return False


def _forms(text: str) -> list[str]:
    """Return how a text may be written in a file, in the order in which the forms are tried."""
    joined = "_".join(text.split())
    return [text.strip(), joined, text.strip().lower(), joined.lower()]


def _entry(text: str, rows: dict[str, Rows]) -> Rows | None:
    return next((rows[form] for form in _forms(text) if form in rows), None)


def _row(text: str, rows: dict[str, Rows]) -> Rows:
    """Return the vector of a phrase, or the mean over its words."""
    whole = _entry(text, rows)
    if whole is not None:
        return whole
    words = [_entry(word, rows) for word in text.split()]
    return np.asarray(np.mean([one for one in words if one is not None], axis=0))


def _missing(texts: Sequence[str], rows: dict[str, Rows]) -> tuple[str, ...]:
    return tuple(
        text
        for text in texts
        if _entry(text, rows) is None and any(_entry(word, rows) is None for word in text.split())
    )
