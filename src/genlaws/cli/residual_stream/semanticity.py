"""``genlaws residual-stream semanticity``: what each write of a transformer does to p_S and p_I."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws import probes
from genlaws.cli.output import DEFAULT_OUTPUT, Output, ProgressBar, as_json
from genlaws.cli.residual_stream.analyze import Model
from genlaws.core.errors import InputError
from genlaws.core.files import made_folder, write_together
from genlaws.figures.drawing import save_picture
from genlaws.figures.residual_stream.semanticity import draw_stream_semanticity
from genlaws.probes.encoders.stimuli import PICTURE_STIMULI, word_stimuli
from genlaws.render.style import house_style

if TYPE_CHECKING:
    from genlaws.probes.stream.result import StreamSemanticity

STREAM_FILE_STEM = "stream_semanticity"
STREAM_CAPTION = (
    "p_S and p_I with two items at every site of the residual stream, 95 % bands over stimuli; wide lines are writes "
    "whose change is significant after Holm's procedure."
)
Task = Annotated[
    str,
    Parameter(help="years, numbers, dates, temperatures, latitudes, letters, or table:FILE (item, value)."),
]
Controls = Annotated[str, Parameter(help="permuted and random-weights, with a comma between; or none.")]
Download = Annotated[bool, Parameter(negative="", help="Let a Hugging Face id be downloaded.")]


def semanticity(
    model: Model,
    /,
    *,
    task: Task = "years",
    count: Annotated[int, Parameter(help="Stimuli, at most.")] = 200,
    phrase: Annotated[str | None, Parameter(help="How a place is written, such as 'the year {place}'.")] = None,
    position: Annotated[str, Parameter(help="State of the last token, or mean over the tokens.")] = "last",
    similarity: Annotated[str, Parameter(help="cosine, relu-dot, dot, gaussian or threshold.")] = "cosine",
    center: Annotated[bool, Parameter(help="Subtract the mean over stimuli at each site.")] = True,
    controls: Controls = "permuted,random-weights",
    device: Annotated[str, Parameter(help="cpu, cuda, cuda:1 or mps.")] = "cpu",
    dtype: Annotated[str, Parameter(help="float32, bfloat16 or float16.")] = "float32",
    batch_size: Annotated[int, Parameter(help="Texts read together, at most.")] = 16,
    download: Download = False,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Measure a set of stimuli at every site of a model's residual stream, and what each write changes.

    With --out a folder is written: tables of sites, writes and kinds of write, the picture (PNG, SVG) and the numbers.
    """
    if task in PICTURE_STIMULI:
        raise InputError(f"task must be a task with words, such as years; {task} has pictures.")
    wanted = _controls(controls)
    stimuli = word_stimuli(task, phrase=phrase, count=count)
    encoder = probes.encoders.load.load_text_encoder(model, device=device, dtype=dtype, local_files_only=not download)
    with ProgressBar(quiet=output.json) as running:
        found = probes.stream.semanticity.stream_semanticity(
            encoder.network,
            encoder.tokenizer,
            stimuli,
            position=position,
            similarity=similarity,
            center=center,
            controls=wanted,
            seed=output.seed,
            batch_size=batch_size,
            name=Path(encoder.source).name,
            running=running,
        )
    _show(found, output)


def _controls(text: str) -> tuple[str, ...]:
    """Return the controls that a text names."""
    if text.strip() == "none":
        return ()
    return tuple(one.strip().replace("-", " ") for one in text.split(","))


def _show(found: StreamSemanticity, output: Output) -> None:
    """Write the folder and print the answer."""
    answer = as_json(summary(found) | {"seed": output.seed})
    written = [] if output.out is None else _write(found, answer, output.out)
    if output.json:
        print(json.dumps(answer | {"files": [str(path) for path in written]}, indent=2))
        return
    print(found)
    for path in written:
        print(f"Written to {path}")


def summary(found: StreamSemanticity) -> dict[str, Any]:
    """Return the result as plain names and numbers."""
    names = ("model", "stimuli", "unit", "position", "similarity", "center", "identity", "identity_error", "messages")
    return {name: getattr(found, name) for name in names} | {
        "stimulus_count": found.measurements[0].stimulus_count,
        "test_count": 2 * len(found.writes),
        "sites": found.to_frame().to_dict("records"),
        "writes": found.writes_frame().to_dict("records"),
        "totals": found.totals_frame().to_dict("records"),
    }


def _write(found: StreamSemanticity, answer: dict[str, Any], folder: Path) -> list[Path]:
    """Write tables, picture and numbers together."""
    tables = {"sites": found.to_frame(), "writes": found.writes_frame(), "totals": found.totals_frame()}
    title = f"{found.model}: {found.stimuli}"

    def write(place: Path) -> dict[str, Path]:
        """Make all files in one place."""
        paths = {name: place / f"{STREAM_FILE_STEM}_{name}.csv" for name in tables}
        for name, table in tables.items():
            table.to_csv(paths[name], index=False)
        with house_style():
            picture = draw_stream_semanticity(found)
        for kind in ("png", "svg"):
            paths[kind] = place / f"{STREAM_FILE_STEM}.{kind}"
            save_picture(picture, paths[kind], kind, title, STREAM_CAPTION)
        paths["json"] = place / f"{STREAM_FILE_STEM}.json"
        paths["json"].write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
        return paths

    return list(write_together(made_folder("out", folder), STREAM_FILE_STEM, write).values())
