"""``genlaws semanticity probe``: the resolution of a real model, its p_S and p_I, and how they fall with more items.

The model is on this machine or behind a server. ``--mode embedding`` measures an encoder layer by layer. With ``--out``
the command writes a page, the numbers and tables.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from genlaws import models, probes
from genlaws.cli.numbers import read_item_counts, read_numbers
from genlaws.cli.output import DEFAULT_OUTPUT, Output, ProgressBar, as_json
from genlaws.cli.semanticity.probe_options import (
    DEFAULT_LOCAL,
    DEFAULT_REMOTE_MODEL,
    DEFAULT_SETTINGS,
    LocalModelOptions,
    ProbeOptions,
    ProbeSettings,
    RemoteModel,
    load_text,
    plan_text,
    result_text,
    stored_text,
)
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.models.interface import cache_name
from genlaws.models.server import ServerModel
from genlaws.probes.encoders.stimuli import embedding_stimuli
from genlaws.probes.layers.embeddings import CONTROLS, measure_layers
from genlaws.probes.plan import plan_probe, timed_workload, workload_of
from genlaws.probes.probe import run_probe
from genlaws.probes.simulated import SimulatedModel
from genlaws.probes.store import ReplyStore
from genlaws.probes.vision.pictures import save_pictures
from genlaws.report.measurement import encoder_page
from genlaws.report.probe import probe_page
from genlaws.semanticity.measurement.result import or_none

if TYPE_CHECKING:
    import pandas as pd

    from genlaws.models.interface import ProbeModel, Prompt
    from genlaws.probes.encoders.stimuli import EmbeddingStimuli
    from genlaws.probes.layers.embeddings import LayerMeasurements
    from genlaws.probes.plan import Plan
    from genlaws.probes.probe import ProbeResult

STIMULI_OF_TASKS = {"colors": "hues", "shapes": "marks", "squares": "marks"}  # of each task, for an encoder
Model = Annotated[
    str,
    Parameter(
        help="A Hugging Face id on this machine, a folder, a .gguf file, smollm2 or minilm (packages), or with "
        "--server the name of a model there."
    ),
]
DryRun = Annotated[bool, Parameter(negative="", help="Show three prompts and the workload; send nothing to the model.")]
SavePictures = Annotated[bool, Parameter(negative="", help="Write the pictures of the prompts to --out.")]
REPLIES_FILE = "answers.jsonl"
PROMPTS_PRINTED = 3
REREADING_NOTE = (
    "This model cannot continue from a cached prompt, so the prompt is read again for each answer and each new word: "
    "the same numbers, in more time."
)


def probe_encoder(model: str, call: ProbeOptions) -> None:
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


def _stimuli(call: ProbeOptions) -> EmbeddingStimuli:
    task = call.probe_settings.task
    name = STIMULI_OF_TASKS.get(task, task)
    return embedding_stimuli(
        name, count=call.probe_settings.trials, phrase=call.local_model.phrase, seed=call.output.seed
    )


def _measured(model: str, stimuli: EmbeddingStimuli, call: ProbeOptions) -> LayerMeasurements:
    local_model = call.local_model
    encoder = probes.encoders.load.load_encoder(
        model,
        kind="auto" if Path(model).is_file() else stimuli.kind,
        device=local_model.device,
        dtype=local_model.dtype,
        local_files_only=not local_model.download,
        pooling=local_model.pooling,
        batch_size=local_model.batch_size,
    )
    control = CONTROLS if hasattr(encoder, "with_random_weights") else CONTROLS[:1]
    with ProgressBar(quiet=call.output.json) as running:
        chosen: dict[str, Any] = {"center": local_model.center, "control": control, "seed": call.output.seed}
        return measure_layers(encoder, stimuli, **chosen, running=running)


def _write(found: LayerMeasurements, title: str, answer: object, out: Path | None) -> list[Path]:
    if out is None:
        return []

    out.mkdir(parents=True, exist_ok=True)
    page, numbers, table = out / "report.html", out / "probe.json", out / "layers.csv"
    page.write_text(encoder_page(found, title), encoding="utf-8")
    numbers.write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
    found.to_frame().to_csv(table, index=False)
    return [page, numbers, table]


def _text(found: LayerMeasurements) -> str:
    """Return a table of the layers, and a message about the best of them."""
    width = max(len(layer) for layer in (*found.layers, "layer"))
    unit = f" ({found.unit})" if found.unit else ""
    lines = [f"{'layer':<{width}}  {'generalization p_S':<26}{'identification p_I':<26}resolution{unit}"]
    for layer, one in zip(found.layers, found.measurements, strict=True):
        resolution = or_none(one.fit.resolution.value, str(one.fit.resolution))
        lines.append(f"{layer:<{width}}  {one.generalization!s:<26}{one.identification!s:<26}{resolution}")
    return "\n".join([*lines, "", found.message])


def write_probe(
    folder: Path, title: str, results: Sequence[ProbeResult], layers: Sequence[Any], answer: Mapping[str, Any]
) -> list[Path]:
    """Write the page, the numbers and the tables of a probe, and return what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "report.html"
    page.write_text(probe_page(results, title, layers=layers or None), encoding="utf-8")
    numbers = folder / "probe.json"
    numbers.write_text(json.dumps(answer, indent=2) + "\n", encoding="utf-8")
    written = [page, numbers]
    for name, table in _tables(results, layers).items():
        table.to_csv(folder / f"{name}.csv", index=False)
        written.append(folder / f"{name}.csv")
    return written


def _tables(results: Sequence[ProbeResult], layers: Sequence[Any]) -> dict[str, pd.DataFrame]:
    import pandas as pd

    parts: dict[str, list[pd.DataFrame]] = {}

    def add(name: str, template: str, table: pd.DataFrame) -> None:
        """Add a table under its name, with its template as the first column."""
        table.insert(0, "template", template)
        parts.setdefault(name, []).append(table)

    for one in results:
        template = one.plan.template.name
        add("rates", template, one.rates.to_frame())
        add("resolution", template, one.resolution.to_frame())
        add("collapse", template, one.collapse.to_frame())
        add("distances", template, one.distances.to_frame())
        add("trials", template, one.given.to_frame())
        if one.curve is not None:
            add("anchors", template, one.curve.to_frame())
    for result, found in zip(results, layers, strict=False):
        add("layers", result.plan.template.name, found.to_frame())
        add("layer_curves", result.plan.template.name, found.curves_frame())
    return {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items()}


def load_probe_model(model: str, pictures: bool, call: ProbeOptions) -> ProbeModel:
    """Return the model to probe; a missing key or model raises before any prompt is sent."""
    probe_settings, local_model, remote, seed = call.probe_settings, call.local_model, call.remote, call.output.seed
    if remote.server is not None:
        return ServerModel(
            remote.server,
            model,
            api_key_variable=remote.key_variable or None,
            temperature=probe_settings.temperature,
            seed=seed,
            max_tokens=probe_settings.max_tokens,
            label=remote.label,
            timeout=remote.timeout,
            retries=remote.retries,
            concurrency=remote.concurrency,
        )
    settings: dict[str, Any] = {
        "device": local_model.device,
        "dtype": local_model.dtype,
        "local_files_only": not local_model.download,
        "batch_size": local_model.batch_size,
        "max_new_tokens": probe_settings.max_tokens,
        "temperature": probe_settings.temperature,
        "seed": seed,
    }
    if pictures:
        return models.vision.VisionModel.load(model, **settings)

    return models.language.TransformersModel.load(model, **settings)


def probe(
    model: Model,
    /,
    *,
    probe_settings: ProbeSettings = DEFAULT_SETTINGS,
    local_model: LocalModelOptions = DEFAULT_LOCAL,
    remote: RemoteModel = DEFAULT_REMOTE_MODEL,
    dry_run: DryRun = False,
    save_pictures: SavePictures = False,
    output: Output = DEFAULT_OUTPUT,
) -> None:
    """Probe a language or vision model: which item is nearest, and which one is exactly there.

    With --out a folder is written: the page, the numbers, tables, and every reply; the same command
    continues where it stopped, and no answered prompt is sent twice.
    """
    call = ProbeOptions(probe_settings, local_model, remote, output)
    if call.mode == "embedding":
        probe_encoder(model, call)
        return
    plans = _plans(probe_settings, output.seed)
    if local_model.layers and (remote.server is not None or plans[0].pictures):
        raise InputError("layers are read from a language model on this machine; leave out --layers.")
    if dry_run:
        _show_plan(plans, call)
        return

    probed = load_probe_model(model, plans[0].pictures, call)
    if save_pictures:
        _save_pictures(plans[0], output)
    results = _run_probes(probed, plans, call)
    _report_failures(results, call)
    layers = _layers(probed, plans, call) if local_model.layers else []
    _finish(model, results, layers, output)


def _plans(probe_settings: ProbeSettings, seed: int) -> list[Plan]:
    names = [None] if probe_settings.template is None else [name.strip() for name in probe_settings.template.split(",")]
    plans = [
        plan_probe(
            probe_settings.task,
            None if probe_settings.items is None else read_item_counts(probe_settings.items),
            probe_settings.trials,
            template=name,
            anchors=probe_settings.anchors,
            half_separations=_numbers("half_separations", probe_settings.half_separations),
            shifts=_numbers("shifts", probe_settings.shifts),
            seed=seed,
        )
        for name in names
    ]
    found = [plan.template.name for plan in plans]
    if len(set(found)) < len(found):
        raise InputError(f"template must name different templates; got {', '.join(found)}.")
    return plans


def _numbers(name: str, text: str | None) -> Any:
    return None if text is None else read_numbers(name, text)


def _show_plan(plans: list[Plan], call: ProbeOptions) -> None:
    """Show three prompts and the workload, without a model."""
    import json

    counter = SimulatedModel(None, 1.0)  # counts characters; no prompt is sent
    longest = call.probe_settings.max_tokens
    loads = [workload_of(counter, plan.prompts(drawn=False), call.mode, longest_reply=longest) for plan in plans]
    shown = [
        {"template": plan.template.name, "kind": plan.trials[at].kind, "prompt": prompt.text, "chat": prompt.chat}
        | {"options": list(prompt.options), "right": plan.trials[at].items[plan.trials[at].right]}
        for plan in plans
        for at, prompt in zip(_example_trials(plan), plan.prompts(_example_trials(plan), drawn=False), strict=True)
    ]
    if call.output.json:
        workloads = [{"template": plan.template.name, **vars(load)} for plan, load in zip(plans, loads, strict=True)]
        print(json.dumps(as_json({"prompts": shown, "workload": workloads}), indent=2))
        return
    print(plan_text(shown, plans, loads, call.price))


def _example_trials(plan: Plan) -> list[int]:
    """Return the first trial of each kind, and more of the first kind to make three."""
    kinds = [trial.kind for trial in plan.trials]
    firsts = [kinds.index(kind) for kind in dict.fromkeys(kinds)]
    others = [number for number in range(len(kinds)) if number not in firsts]
    return (firsts + others)[:PROMPTS_PRINTED]


def _run_probes(probed: ProbeModel, plans: list[Plan], call: ProbeOptions) -> list[ProbeResult]:
    from contextlib import ExitStack

    folder = call.output.out
    with ExitStack() as stack:
        store = None if folder is None else stack.enter_context(ReplyStore(folder / REPLIES_FILE))
        prompts = [plan.prompts() for plan in plans]
        if store is not None:
            _print_stored(probed, store, call)
        _print_workload(probed, plans, prompts, call, store)
        running = stack.enter_context(ProgressBar(quiet=call.output.json))
        results = []
        for plan, given in zip(plans, prompts, strict=True):
            results.append(
                run_probe(
                    probed,
                    plan,
                    call.mode,
                    prompts=given,
                    store=store,
                    batch_size=call.local_model.batch_size,
                    running=running,
                )
            )
        return results


def _print_stored(probed: ProbeModel, store: ReplyStore, call: ProbeOptions) -> None:
    """Print on standard error which stored replies are not used, and which cannot be checked."""
    for sentence in stored_text(store.counts, cache_name(probed), at_server=call.remote.server is not None):
        print(f"{REPLIES_FILE}: {sentence}", file=sys.stderr)


def _report_failures(results: list[ProbeResult], call: ProbeOptions) -> None:
    """Raise if no prompt was answered, before anything is written; with JSON, print failures on standard error."""
    if all(one.rates.failed == len(one.plan.trials) for one in results):
        raise ConvergenceError(f"No prompt was answered, so there is no result. {results[0].rates.failure}", results)
    for one in results:
        if one.rates.failure and call.output.json:  # without JSON the printed text begins with it
            print(f"{one.plan.template.name}: {one.rates.failure}", file=sys.stderr)


def _print_workload(
    probed: ProbeModel, plans: list[Plan], prompts: list[list[Prompt]], call: ProbeOptions, store: ReplyStore | None
) -> None:
    """Print on standard error the number of prompts, the expected time and the expected cost."""
    longest = call.probe_settings.max_tokens
    if not getattr(probed, "shared_prefix" if plans[0].pictures else "reads_text_once", True):
        print(REREADING_NOTE, file=sys.stderr)
    for plan, given in zip(plans, prompts, strict=True):
        load = timed_workload(probed, given, call.mode, store=store, longest_reply=longest)
        print(f"{plan.template.name}: {load_text(load, call.price)}", file=sys.stderr)


def _layers(probed: Any, plans: list[Plan], call: ProbeOptions) -> list[Any]:
    """Return the tests in each layer, for every template and two items."""
    found, number = [], call.local_model.layer_trials
    with ProgressBar(quiet=call.output.json) as running:
        for plan in plans:
            found.append(
                probes.layers.tests.layer_tests(
                    probed,
                    plan.task,
                    plan.template,  # type: ignore[arg-type]  # of words, as pictures have no layers
                    trial_count=number,
                    seed=plan.seed,
                    running=running,
                )
            )
    return found


def _save_pictures(plan: Plan, output: Output) -> None:
    if not plan.pictures or output.out is None:
        raise InputError("save_pictures needs a task with pictures and --out, the folder for them.")

    save_pictures(plan.trials, output.out / "pictures")  # type: ignore[arg-type]


def _finish(model: str, results: list[ProbeResult], layers: list[Any], output: Output) -> None:
    import json

    title = f"{Path(model).name}: {results[0].plan.task}"
    answer = {"probes": [one.to_dict() for one in results]}
    if layers:
        answer["layers"] = [one.to_frame().to_dict("records") for one in layers]
    written = [] if output.out is None else write_probe(output.out, title, results, layers, as_json(answer))
    if output.json:
        print(json.dumps(as_json(answer | {"files": [str(path) for path in written]}), indent=2))
        return
    print(result_text(results, layers))
    for path in written:
        print(f"Written to {path}")
