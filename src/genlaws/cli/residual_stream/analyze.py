"""``genlaws residual-stream analyze``: measure a model's residual stream, compare it with surrogates, judge the claims.

The command reads lines of a file as texts, prints the verdicts first and then the numbers, and with ``--out`` writes a
page, the numbers and a table for each picture.
"""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from genlaws import probes
from genlaws.cli.output import DEFAULT_OUTPUT, Output, ProgressBar, aligned
from genlaws.core.arguments import one_of, whole_number
from genlaws.core.errors import InputError
from genlaws.core.files import check_folder
from genlaws.core.tables import read_lines
from genlaws.figures.drawing import save_picture
from genlaws.figures.residual_stream.entries import pictures_of
from genlaws.render.style import house_style
from genlaws.report.residual_stream import residual_stream_page
from genlaws.residual_stream.analysis import DEFAULT_MEASURES, MEASURES, SURROGATE_NAMES
from genlaws.residual_stream.analysis import analyze as measure
from genlaws.residual_stream.measures.estimators import ESTIMATORS

if TYPE_CHECKING:
    from genlaws.core.estimate import Estimate
    from genlaws.residual_stream.measures.curves import SiteCurve
    from genlaws.residual_stream.results import Analysis, StreamClaim

ANALYSIS_LINE_CHARACTERS = 110
Model = Annotated[
    str,
    Parameter(help="A Hugging Face id on this machine, a folder, a .gguf file, or smollm2 or minilm (packages)."),
]
Texts = Annotated[Path, Parameter(help="One text per line, plain or .gz; blank lines are skipped.")]
READ_GROUP, MEASURED_GROUP, MODEL_GROUP = Group("What is read"), Group("What is measured"), Group("The model")
NO_SURROGATES = "none"


def read_texts(path: Path, shortest: int, longest: int | None, at_most: int) -> tuple[list[str], str]:
    """Return the lines of a file that are not blank and of the requested lengths, and a message on how many there are.

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
    message = f"Reading {min(most, len(selected)):,} of {len(selected):,} lines{requested} in {path}."
    return selected[:most], message


def write_analysis(
    folder: Path, title: str, analysis: Analysis, *, notes: Sequence[str] = (), pictures: bool = False
) -> list[Path]:
    """Write the page, the numbers, the tables and, if requested, the pictures; return what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    page, numbers = folder / "report.html", folder / "analysis.json"
    page.write_text(residual_stream_page(analysis, title, notes=notes), encoding="utf-8")
    document = json.dumps(analysis.to_dict(), indent=2, allow_nan=False)
    numbers.write_text(document + "\n", encoding="utf-8")
    written = [page, numbers]
    for name, table in analysis.tables().items():
        table.to_csv(folder / f"{name}.csv", index=False, float_format="%.8g")
        written.append(folder / f"{name}.csv")
    return written + (_pictures(folder, title, analysis) if pictures else [])


def _pictures(folder: Path, title: str, analysis: Analysis) -> list[Path]:
    """Write every picture for which enough was measured."""
    written = []
    for one in pictures_of(analysis):
        with house_style():
            picture = one.draw(analysis)
        for kind in ("png", "svg"):
            path = folder / f"{one.name}.{kind}"
            save_picture(picture, path, kind, f"{title}: {one.name.replace('_', ' ')}", one.caption)
            written.append(path)
    return written


def analysis_text(analysis: Analysis) -> str:
    """Return the verdict on each claim with its evidence, the main numbers, and notes on them."""
    table = {"claim": "verdict"} | {claim.name: claim.verdict for claim in analysis.claims}
    parts = [
        _format_headline(analysis),
        aligned(table),
        "\n\n".join(map(_format_claim, analysis.claims)),
        aligned(_numbers(analysis)),
    ]
    if analysis.messages:
        parts.append("\n".join(["Notes:", *(_wrapped("- ", one) for one in analysis.messages)]))
    return "\n\n".join(parts)


def _format_headline(analysis: Analysis) -> str:
    tokens = f", {analysis.row_count} tokens" if analysis.row_count > analysis.text_count else ""
    texts = "1 text" if analysis.text_count == 1 else f"{analysis.text_count} texts"
    return (
        f"{analysis.model}: {texts}{tokens}, {len(analysis.sites)} sites; {analysis.identity} "
        f"(relative error {analysis.identity_error:.1g})"
    )


def _format_claim(claim: StreamClaim) -> str:
    rows = {"claim": claim.statement, "observed": claim.observed, "surrogate": claim.surrogate, "why": claim.why}
    lines = [f"{claim.name}: {claim.verdict}"]
    lines += [_wrapped(f"  {name:<10}", text) for name, text in rows.items() if text]
    return "\n".join(lines)


def _wrapped(before: str, text: str) -> str:
    return textwrap.fill(
        text,
        ANALYSIS_LINE_CHARACTERS,
        initial_indent=before,
        subsequent_indent=" " * len(before),
        break_on_hyphens=False,
    )


def _numbers(analysis: Analysis) -> dict[str, str]:
    """Return the main numbers of what was measured."""
    rows: dict[str, str] = {}
    if analysis.paths is not None:
        paths = analysis.paths
        rows |= {
            "length of the state": _format_ends(paths.norm),
            "length of a step": _format_ends(paths.speed),
            "cosine of successive states": _format_ends(paths.cosine),
            "straightness of the path": str(paths.straightness),
        }
    if analysis.writes is not None:
        for place, one in analysis.writes.by_place.items():
            rows[f"write of {place}, relative"] = str(one.relative_size)
    if analysis.correlations is not None:
        rows["correlation r"] = _format_ends(analysis.correlations.mean)
    for name, found in analysis.information.items():
        if not all(math.isnan(one.value) for one in found.means):
            rows[f"information ({name}), nats"] = _format_ends(found.means)
    return rows | _shape_rows(analysis) | _disturbance_rows(analysis)


def _shape_rows(analysis: Analysis) -> dict[str, str]:
    """Return in how many dimensions the texts differ, and how the mean path rotates."""
    rows: dict[str, str] = {}
    if analysis.participation is not None:
        rows["participation ratio"] = _format_ends(analysis.participation.curve)
    for name, compressed in (
        ("autoencoder, explained", analysis.compression),
        ("the same, normalized", analysis.compression_normalized),
    ):
        if compressed is not None:
            rows[name] = f"{compressed.explained_pooled}; components {compressed.components_explained_pooled}"
    if analysis.rotations is not None:
        turns, winding = analysis.rotations.as_printed, -analysis.rotations.centered_winding
        rows["rotations of a unit"] = f"{turns.mean():.2f} ± {turns.std():.2f} over {turns.size} units"
        rows["winding about its mean"] = f"{winding.mean():.2f} ± {winding.std():.2f}"
    if analysis.modes is not None:
        held = analysis.modes.held_out
        rows["linear map, texts left out"] = f"share of the step predicted {held.skill:.3f}, R² {held.r_squared:.4f}"
    return rows


def _disturbance_rows(analysis: Analysis) -> dict[str, str]:
    """Return how disturbances grow or shrink."""
    rows: dict[str, str] = {}
    found = analysis.perturbation
    if found is not None:
        for number, site in enumerate(found.sites):
            rows[f"disturbed at {site}"] = f"relative distance × {_format_factor(found.relative[number])} until the end"
    for spectrum in analysis.lyapunov:
        rows[f"exponents {spectrum.site} to {spectrum.to}"] = (
            f"leading {spectrum.exponents[0]}, typical {spectrum.typical[0]} per step"
        )
    return rows


def _format_factor(curve: SiteCurve) -> str:
    return f"{curve.value[-1] / curve.value[0]:.3g}" if curve.value[0] > 0 else "nothing"


def _format_ends(estimates: Iterable[Estimate]) -> str:
    """Return the first and the last number that has a value."""
    known = [one for one in estimates if not math.isnan(one.value)]
    if not known:
        return "no value"
    first, last = known[0], known[-1]
    counted = f" (n = {last.count})" if last.count else ""
    return f"{str(first).removesuffix(counted)} at first, {last} at last"


@Parameter(name="*", group=READ_GROUP)
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


@Parameter(name="*", group=MEASURED_GROUP)
@dataclass(frozen=True)
class Measured:
    """What is measured, and the surrogates to compare with."""

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
            help="With commas: random-walk, step-signs, phase-randomized, layer-shuffle, basis-rotation, "
            "random-weights, shuffled-tokens; or all, or none."
        ),
    ] = "all"

    estimators: str = "copula"
    """Of mutual information, with commas: copula, neighbors, binned, kernel (the paper's)."""

    draws: int = 200
    """Surrogates of each kind."""


@Parameter(name="*", group=MODEL_GROUP)
@dataclass(frozen=True)
class StreamModelOptions:
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
DEFAULT_READ, DEFAULT_MEASURED, DEFAULT_MODEL_OPTIONS = Read(), Measured(), StreamModelOptions()


def analyze(
    model: Model,
    /,
    *,
    texts: Texts,
    read: Read = DEFAULT_READ,
    measured: Measured = DEFAULT_MEASURED,
    local_model: StreamModelOptions = DEFAULT_MODEL_OPTIONS,
    pictures: Pictures = False,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Measure the residual stream of a model on texts, and judge the claims of "Transformer Dynamics".

    With --out a folder is written: the page with all pictures, the numbers, and a table for each picture.
    """
    requested = _names(measured)
    _check_folder(output.out, pictures)
    lines, message = read_texts(texts, read.shortest, read.longest, read.at_most)
    network, tokenizer, source, _ = probes.encoders.load.load_text_network(
        model, device=local_model.device, dtype=local_model.dtype, local_files_only=not local_model.download
    )
    name = Path(source).name
    if not output.json:
        print(message, file=sys.stderr, flush=True)
    with ProgressBar(quiet=output.json) as running:
        found = measure(
            network,
            tokenizer,
            lines,
            name=name,
            position=_position(read.position),
            strip=read.strip,
            max_tokens=read.max_tokens,
            batch_size=local_model.batch_size,
            surrogate_draws=measured.draws,
            jobs=local_model.jobs,
            seed=output.seed,
            running=running,
            **requested,
        )
    note = f"{message} Tokens read of each: {read.position}."
    written = [] if output.out is None else write_analysis(output.out, name, found, notes=[note], pictures=pictures)
    _show(found, written, output.json)


def _names(measured: Measured) -> dict[str, tuple[str, ...]]:
    """Return the requested names; an unknown one raises before anything is loaded."""
    whole_number("draws", measured.draws, at_least=2)
    written = {name.replace(" ", "-"): name for name in SURROGATE_NAMES}
    surrogates = (
        _listed("surrogates", measured.surrogates, tuple(written)) if measured.surrogates != NO_SURROGATES else ()
    )
    known = DEFAULT_MEASURES if measured.measures is None else _listed("measures", measured.measures, MEASURES)
    estimators = [one_of("estimators", one.strip(), ESTIMATORS) for one in measured.estimators.split(",")]
    return {
        "measures": known,
        "surrogates": tuple(written[one] for one in surrogates),
        "estimators": tuple(estimators),
    }


def _listed(label: str, text: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in a text with commas, or all of them."""
    if text.strip() == "all":
        return allowed
    return tuple(one_of(label, one.strip(), allowed, "Put commas between several.") for one in text.split(","))


def _check_folder(folder: Path | None, pictures: bool) -> None:
    check_folder("out", folder)
    if folder is None and pictures:
        raise InputError("pictures needs --out, the folder for them.")


def _position(text: str) -> str | int:
    """Return a word, or a whole number."""
    try:
        return int(text)
    except ValueError:
        return text


def _show(found: Analysis, written: list[Path], json_wanted: bool) -> None:
    """Print the answer as text or as JSON."""
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
        print(f"and {len(others)} tables{drawn} in the same folder.")
