"""``genlaws residual-stream``: measure the stream of a model on texts, or on words that stand on a line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from genlaws import probes, residual_stream
from genlaws.cli.questions import command_of, fills
from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.tables import read_lines
from genlaws.models.stream import POSITION_NAMES
from genlaws.probes.encoders.stimuli import PICTURE_STIMULI, word_stimuli

Model = Annotated[
    str,
    Parameter(help="A Hugging Face id on this machine, a folder, a .gguf file, or smollm2 or minilm (packages)."),
]
Device = Annotated[str, Parameter(help="cpu, cuda, cuda:1 or mps.")]
Precision = Annotated[str, Parameter(help="float32, bfloat16 or float16.")]
Download = Annotated[bool, Parameter(negative="", help="Let a Hugging Face id be downloaded.")]
Texts = Annotated[Path, Parameter(help="One text per line, plain or .gz; blank lines are skipped.")]
Shortest = Annotated[int, Parameter(help="Take lines of more characters than this; the paper's is 100.")]
Longest = Annotated[int | None, Parameter(help="Take lines of fewer characters than this; the paper's is 500.")]
AtMost = Annotated[int, Parameter(help="Texts that are taken, from the first line on.")]
Task = Annotated[
    str, Parameter(help="years, numbers, dates, temperatures, latitudes, letters, or table:FILE (item, value).")
]
Count = Annotated[int, Parameter(help="Stimuli, at most.")]
Phrase = Annotated[str | None, Parameter(help="How a place is written, such as 'the year {place}'.")]
PositionText = Annotated[
    str, Parameter(help="Tokens of each text: last, all, sample (one at random), or a number, such as -2.")
]


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
def texts_in_file(
    texts: Texts, shortest: Shortest = 0, longest: Longest = None, at_most: AtMost = 200
) -> dict[str, Any]:
    """Return lines of a file as texts."""
    lines, message = read_texts(texts, shortest, longest, at_most)
    return {"texts": lines, "note": message}


@fills("position")
def token_position(position: PositionText = "last") -> dict[str, Any]:
    """Return a word, or a whole number."""
    try:
        return {"position": int(position)}
    except ValueError:
        return {"position": one_of("position", position, POSITION_NAMES)}


@fills("model", "tokenizer", "name")
def text_network(
    model: Model, /, *, device: Device = "cpu", dtype: Precision = "float32", download: Download = False
) -> dict[str, Any]:
    """Return a transformer with its tokenizer."""
    network, tokenizer, source, _ = probes.encoders.load.load_text_network(
        model, device=device, dtype=dtype, local_files_only=not download
    )
    return {"model": network, "tokenizer": tokenizer, "name": Path(source).name}


@fills("stimuli")
def words_on_a_line(task: Task = "years", count: Count = 200, phrase: Phrase = None) -> dict[str, Any]:
    """Return stimuli in words."""
    if task in PICTURE_STIMULI:
        raise InputError(f"task must be a task with words, such as years; {task} has pictures.")
    return {"stimuli": word_stimuli(task, phrase=phrase, count=count)}


@fills("model", "tokenizer", "name")
def text_encoder(
    model: Model, /, *, device: Device = "cpu", dtype: Precision = "float32", download: Download = False
) -> dict[str, Any]:
    """Return a transformer without the head of a language model, with its tokenizer."""
    found = probes.encoders.load.load_text_encoder(model, device=device, dtype=dtype, local_files_only=not download)
    return {"model": found.network, "tokenizer": found.tokenizer, "name": Path(found.source).name}


analyze = command_of(residual_stream.analyze, texts_in_file, token_position, text_network)
semanticity = command_of(probes.stream.semanticity.stream_semanticity, words_on_a_line, text_encoder)
