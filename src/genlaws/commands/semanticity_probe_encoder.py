"""``genlaws semanticity probe --mode embedding``: an encoder measured layer by layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from genlaws.commands.output import as_json
from genlaws.numerics.errors import InputError

if TYPE_CHECKING:
    from genlaws.commands.semanticity_probe_options import Call
    from genlaws.semanticity.probes.embedding_stimuli import EmbeddingStimuli
    from genlaws.semanticity.probes.layer_measurements import LayerMeasurements

PICTURED = {"colours": "hues", "shapes": "marks", "squares": "marks"}  # what an encoder is shown for a task
BOTH = ("permuted", "random weights")


def probe_encoder(model: str, call: Call) -> None:
    """Embed the stimuli of a task, measure every layer, and show or write what was found."""
    if call.remote.server is not None:
        raise InputError("mode embedding reads the layers of a model on this machine; leave out --server.")
    stimuli = _stimuli(call)
    found = _measured(model, stimuli, call)
    answer = as_json({"encoder": found.encoder, "stimuli": found.stimuli, "message": found.message})
    answer["layers"] = as_json(found.to_frame().to_dict("records"))
    written = _write(found, f"{Path(model).name}: {found.stimuli}", answer, call.output.out)
    if call.output.json:
        print(json.dumps(answer | {"files": [str(path) for path in written]}, indent=2))
        return
    print(_text(found))
    for path in written:
        print(f"Written to {path}")


def _stimuli(call: Call) -> EmbeddingStimuli:
    from genlaws.semanticity.probes.embedding_stimuli import embedding_stimuli

    task = call.questions.task
    name = PICTURED.get(task, task)
    return embedding_stimuli(name, count=call.questions.trials, phrase=call.here.phrase, seed=call.output.seed)


def _measured(model: str, stimuli: EmbeddingStimuli, call: Call) -> LayerMeasurements:
    from genlaws.commands.progress import ProgressBar
    from genlaws.semanticity.probes.encoders import load_encoder
    from genlaws.semanticity.probes.layer_measurements import measure_layers

    here = call.here
    encoder = load_encoder(
        model,
        kind="auto" if Path(model).is_file() else stimuli.kind,
        device=here.device,
        dtype=here.dtype,
        local_files_only=not here.download,
        pooling=here.pooling,
        batch_size=here.batch_size,
    )
    control = BOTH if hasattr(encoder, "with_random_weights") else BOTH[:1]
    with ProgressBar(quiet=call.output.json) as bar:
        bar.start(None, f"{len(encoder.layers)} layers, {len(stimuli)} stimuli")
        return measure_layers(encoder, stimuli, centre=here.centre, control=control, seed=call.output.seed)


def _write(found: LayerMeasurements, title: str, answer: object, out: Path | None) -> list[Path]:
    if out is None:
        return []
    from genlaws.report.encoder_page import encoder_page

    out.mkdir(parents=True, exist_ok=True)
    page, numbers, table = out / "report.html", out / "probe.json", out / "layers.csv"
    page.write_text(encoder_page(found, title), encoding="utf-8")
    numbers.write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
    found.to_frame().to_csv(table, index=False)
    return [page, numbers, table]


def _text(found: LayerMeasurements) -> str:
    """Return a table of the layers, and what is to be known about the best of them."""
    from genlaws.semanticity.measurement import or_none

    width = max(len(layer) for layer in (*found.layers, "layer"))
    unit = f" ({found.unit})" if found.unit else ""
    lines = [f"{'layer':<{width}}  {'generalisation p_S':<26}{'identification p_I':<26}resolution{unit}"]
    for layer, one in zip(found.layers, found.measurements, strict=True):
        resolution = or_none(one.fit.resolution.value, str(one.fit.resolution))
        lines.append(f"{layer:<{width}}  {one.generalisation!s:<26}{one.identification!s:<26}{resolution}")
    return "\n".join([*lines, "", found.message])
