"""``genlaws residual-stream``: measure the stream of a model on texts, or on words that stand on a line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from genlaws import probes, residual_stream
from genlaws.cli.questions import Adapter, command_of, fills
from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.tables import read_lines
from genlaws.models.stream import POSITION_NAMES
from genlaws.probes.encoders.stimuli import PICTURE_STIMULI, word_stimuli


def read_texts(path: Path, shortest: int, longest: int | None, at_most: int) -> tuple[list[str], str]:
    """Return the lines of a file that are not blank and of the requested lengths, and a message if some are left out.

    Parameters
    ----------
    path : path
        Plain text in UTF-8, or compressed as .gz.
    shortest, longest : int
        A line has more than `shortest` and fewer than `longest` characters; white space at its ends counts.
    at_most : int
        Maximum number of lines, from the first on.
    """
    least, most = whole_number("shortest", shortest), whole_number("at_most", at_most, at_least=1)
    top = float("inf") if longest is None else whole_number("longest", longest, at_least=least + 2)
    filled = [line for line in read_lines("texts", path) if line.strip()]
    if not filled:
        raise InputError(f"texts: the file {str(path)!r} has no line that is not blank.")
    selected = [line for line in filled if least < len(line) < top]
    if not selected:
        raise InputError(
            f"texts: none of the {len(filled)} lines of {str(path)!r} has more than {least} and fewer than {top:g} "
            f"characters."
        )
    requested = " of the requested lengths" if len(selected) < len(filled) else ""
    read = min(most, len(selected))
    message = f"The first {read:,} of {len(selected):,} lines{requested} in {path} were read."
    return selected[:most], message if read < len(filled) else ""


@fills("texts", "note")
def texts_in_file(texts: Path, shortest: int = 0, longest: int | None = None, at_most: int = 200) -> dict[str, Any]:
    """Return lines of a file as texts.

    Parameters
    ----------
    texts : path
        One text per line, plain or .gz; blank lines are skipped.
    shortest : int
        Take lines of more characters than this; the paper's is 100.
    longest : int, optional
        Take lines of fewer characters than this; the paper's is 500.
    at_most : int
        Texts that are taken, from the first line on.
    """
    lines, message = read_texts(texts, shortest, longest, at_most)
    return {"texts": lines, "note": message}


@fills("position")
def token_position(position: str = "last") -> dict[str, Any]:
    """Return a word, or a whole number.

    Parameters
    ----------
    position : str
        Tokens of each text: last, all, sample (one at random), or a number, such as -2.
    """
    try:
        return {"position": int(position)}
    except ValueError:
        return {"position": one_of("position", position, POSITION_NAMES)}


def model_options(load: Callable[..., tuple[Any, Any, str]]) -> Adapter:
    """Return the adapter for a transformer that `load` gives with its tokenizer and name."""

    @fills("model", "tokenizer", "name")
    def options(
        model: str, /, *, device: str = "cpu", dtype: str = "float32", download: bool = False
    ) -> dict[str, Any]:
        """Return a transformer with its tokenizer.

        Parameters
        ----------
        model : str
            A Hugging Face id on this machine, a folder, a .gguf file, or smollm2 or minilm (packages).
        device : str
            cpu, cuda, cuda:1 or mps.
        dtype : str
            float32, bfloat16 or float16.
        download : bool
            Let a Hugging Face id be downloaded.
        """
        network, tokenizer, source = load(model, device=device, dtype=dtype, local_files_only=not download)
        return {"model": network, "tokenizer": tokenizer, "name": Path(source).name}

    return options


def text_network(source: str, **options: Any) -> tuple[Any, Any, str]:
    """Return a transformer of text, its tokenizer and its name."""
    return probes.encoders.load.load_text_network(source, **options)[:3]


def text_encoder(source: str, **options: Any) -> tuple[Any, Any, str]:
    """Return a transformer without the head of a language model, its tokenizer and its name."""
    found = probes.encoders.load.load_text_encoder(source, **options)
    return found.network, found.tokenizer, found.source


@fills("stimuli")
def words_on_a_line(task: str = "years", count: int = 200, phrase: str | None = None) -> dict[str, Any]:
    """Return stimuli in words.

    Parameters
    ----------
    task : str
        years, numbers, dates, temperatures, latitudes, letters, or table:FILE (item, value).
    count : int
        Stimuli, at most.
    phrase : str, optional
        How a place is written, such as 'the year {place}'.
    """
    if task in PICTURE_STIMULI:
        raise InputError(f"task must be a task with words, such as years; {task} has pictures.")
    return {"stimuli": word_stimuli(task, phrase=phrase, count=count)}


analyze = command_of(residual_stream.analyze, texts_in_file, token_position, model_options(text_network))
semanticity = command_of(probes.stream.semanticity.stream_semanticity, words_on_a_line, model_options(text_encoder))
