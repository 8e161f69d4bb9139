"""``genlaws residual-stream analyse``: every measure of a model's residual stream, beside surrogates, with verdicts."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from genlaws.commands.output import DEFAULT_OUTPUT, Output
from genlaws.commands.residual_stream_texts import read_texts
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.residual_stream.analysis_results import Analysis

Model = Annotated[
    str,
    Parameter(help="A Hugging Face id on this machine, a folder, a .gguf file, or smollm2 or minilm (packages)."),
]
Texts = Annotated[Path, Parameter(help="One text per line, plain or .gz; blank lines are skipped.")]
READ, MEASURED, HERE = Group("What is read"), Group("What is measured"), Group("The model")
NONE = "none"


@Parameter(name="*", group=READ)
@dataclass(frozen=True)
class Read:
    """Which texts and tokens are read."""

    shortest: int = 0
    """Take lines of more characters than this; the paper's is 100."""

    longest: int | None = None
    """Take lines of fewer characters than this; the paper's is 500."""

    at_most: int = 200
    """Texts that are taken, from the first line on."""

    position: str = "last"
    """Tokens of each text: last, all, sample (one at random), or a number, such as -2."""

    strip: Annotated[bool, Parameter(help="Leave out white space at the end of each text.")] = True

    max_tokens: int | None = None
    """Most tokens of a text; longer ones are cut at the end."""


@Parameter(name="*", group=MEASURED)
@dataclass(frozen=True)
class Measured:
    """What is measured, and beside which surrogates."""

    measures: Annotated[
        str | None,
        Parameter(
            help="With commas: paths, correlations, information, dimensions, rotations, dynamics, compression, "
            "perturbation; or all. All but compression, which trains networks, if left out."
        ),
    ] = None

    surrogates: Annotated[
        str,
        Parameter(
            help="With commas: random-walk, step-signs, phase-randomised, layer-shuffle, basis-rotation, "
            "random-weights, shuffled-tokens; or all, or none."
        ),
    ] = "all"

    estimators: str = "copula"
    """Of mutual information, with commas: copula, neighbours, binned, kernel (the paper's)."""

    draws: int = 200
    """Surrogates of each kind."""


@Parameter(name="*", group=HERE)
@dataclass(frozen=True)
class Here:
    """How the model is run."""

    device: str = "cpu"
    """cpu, cuda, cuda:1 or mps."""

    dtype: str = "float32"
    """float32, bfloat16 or float16."""

    batch_size: int = 8
    """Texts read together."""

    jobs: int = 1
    """Threads of the mutual information."""

    download: Annotated[bool, Parameter(negative="", help="Let a Hugging Face id be downloaded.")] = False


Pictures = Annotated[
    bool, Parameter(negative="", help="Write each picture as PNG and SVG to --out too; the page has them all.")
]
DEFAULT_READ, DEFAULT_MEASURED, DEFAULT_HERE = Read(), Measured(), Here()


def analyse(
    model: Model,
    /,
    *,
    texts: Texts,
    read: Read = DEFAULT_READ,
    measured: Measured = DEFAULT_MEASURED,
    here: Here = DEFAULT_HERE,
    pictures: Pictures = False,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Measure the residual stream of a model on texts, and judge the claims of "Transformer Dynamics".

    With --out a folder is written: the page with all pictures, the numbers, and a table for each picture.
    """
    asked = _names(measured)
    _check_folder(output.out, pictures)
    lines = read_texts(texts, read.shortest, read.longest, read.at_most)
    network, tokenizer, name = _loaded(model, here)
    if not output.json:
        print(lines.said, file=sys.stderr, flush=True)
    options: dict[str, Any] = {"read": read, "measured": measured, "here": here, "output": output}
    found = _analysed(network, tokenizer, lines.texts, asked, name=name, **options)
    note = f"{lines.said} Tokens read of each: {read.position}."
    written = [] if output.out is None else _write(found, name, note, output.out, pictures)
    _show(found, written, output.json)


def _names(measured: Measured) -> dict[str, tuple[str, ...]]:
    """Return the names that were asked for; an unknown one is said before anything is loaded."""
    from genlaws.numerics.arguments import one_of, whole_number
    from genlaws.residual_stream.analysis import MEASURES, SURROGATE_NAMES, USUAL_MEASURES
    from genlaws.residual_stream.information_estimators import ESTIMATORS

    whole_number("draws", measured.draws, at_least=2)
    written = {name.replace(" ", "-"): name for name in SURROGATE_NAMES}
    surrogates = _listed("surrogates", measured.surrogates, tuple(written)) if measured.surrogates != NONE else ()
    known = USUAL_MEASURES if measured.measures is None else _listed("measures", measured.measures, MEASURES)
    estimators = [one_of("estimators", one.strip(), ESTIMATORS) for one in measured.estimators.split(",")]
    return {
        "measures": known,
        "surrogates": tuple(written[one] for one in surrogates),
        "estimators": tuple(estimators),
    }


def _listed(label: str, text: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in a text with commas, or all of them."""
    from genlaws.numerics.arguments import one_of

    if text.strip() == "all":
        return allowed
    return tuple(one_of(label, one.strip(), allowed, "Put commas between several.") for one in text.split(","))


def _check_folder(folder: Path | None, pictures: bool) -> None:
    if folder is not None and folder.exists() and not folder.is_dir():
        raise InputError(f"out must be a folder; got {str(folder)!r}, which is a file.")
    if folder is None and pictures:
        raise InputError("pictures needs --out, the folder for them.")


def _loaded(model: str, here: Here) -> tuple[Any, Any, str]:
    """Return a network of text with its tokenizer and name: with its head if it has one, otherwise an encoder."""
    from genlaws.semanticity.probes.encoders import load_encoder
    from genlaws.semanticity.probes.model_files import load_language_model
    from genlaws.semanticity.probes.text_encoders import TextEncoder

    local = not here.download
    try:
        network, tokenizer, source = load_language_model(model, here.device, here.dtype, local)
    except InputError:  # no language model: an encoder, or nothing, of which the second sentence is the better
        found = load_encoder(model, kind="text", device=here.device, dtype=here.dtype, local_files_only=local)
        if not isinstance(found, TextEncoder):
            raise InputError(
                f"model must be a transformer of text, which has a residual stream; {model} is none."
            ) from None
        network, tokenizer, source = found.network, found.tokenizer, found.source
    return network, tokenizer, Path(source).name


def _analysed(
    network: Any, tokenizer: Any, texts: list[str], asked: dict[str, tuple[str, ...]], *, name: str, **given: Any
) -> Analysis:
    from genlaws.commands.progress import ProgressBar
    from genlaws.residual_stream.analysis import analyse as measure

    read, measured, here, output = (given[one] for one in ("read", "measured", "here", "output"))
    with ProgressBar(quiet=output.json) as bar:
        return measure(
            network,
            tokenizer,
            texts,
            name=name,
            position=_position(read.position),
            strip=read.strip,
            max_tokens=read.max_tokens,
            batch_size=here.batch_size,
            surrogate_draws=measured.draws,
            jobs=here.jobs,
            seed=output.seed,
            progress=bar,
            **asked,
        )


def _position(text: str) -> str | int:
    """Return a word, or a whole number."""
    try:
        return int(text)
    except ValueError:
        return text


def _write(found: Analysis, name: str, note: str, out: Path, pictures: bool) -> list[Path]:
    from genlaws.commands.residual_stream_files import write_analysis

    return write_analysis(out, name, found, notes=[note], pictures=pictures)


def _show(found: Analysis, written: list[Path], json_wanted: bool) -> None:
    """Print the answer, in words or as JSON."""
    import json

    from genlaws.commands.residual_stream_words import analysis_text

    if json_wanted:
        print(json.dumps(found.to_dict() | {"files": [str(path) for path in written]}, indent=2, allow_nan=False))
        return
    print(analysis_text(found))
    for path in written:
        if path.suffix in {".html", ".json"}:
            print(f"Written to {path}")
    if written:
        others = [path for path in written if path.suffix not in {".html", ".json"}]
        drawn = " and pictures" if any(path.suffix == ".png" for path in others) else ""
        print(f"and {len(others)} tables{drawn} beside them.")
