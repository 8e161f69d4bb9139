"""``genlaws semanticity probe``: the resolution of a real model, its p_S and p_I, and how they fall with more items.

The model is on this machine or behind a server. ``--mode embedding`` measures an encoder layer by layer. With ``--out``
every reply is stored as it comes, and the same command continues where it stopped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from genlaws import probes
from genlaws.cli.numbers import read_item_counts
from genlaws.cli.questions import command_of, fills
from genlaws.core.errors import InputError
from genlaws.core.result import is_page
from genlaws.core.running import Running
from genlaws.models.interface import MODES
from genlaws.models.server import DEFAULT_KEY_VARIABLE, ServerModel
from genlaws.probes import LocalModel, ProbePreview, ProbeResult
from genlaws.probes.encoders.stimuli import embedding_stimuli
from genlaws.probes.layers.embeddings import LayerMeasurements, measure_layers
from genlaws.probes.parameters import (
    EMBEDDING,
    Anchors,
    BatchSize,
    Center,
    CommandMode,
    DryRun,
    HalfSeparations,
    Items,
    Layers,
    LayerTrials,
    MaxTokens,
    Phrase,
    PictureFolder,
    Price,
    RowPooling,
    Seed,
    Shifts,
    Store,
    Task,
    TemplateChoice,
    Trials,
)

LOCAL = Parameter(group=Group("A model on this machine"))
SERVER = Parameter(group=Group("A model behind a server"))
STIMULI_OF_TASKS = {"colors": "hues", "shapes": "marks", "squares": "marks"}  # of each task, for an encoder
REPLIES_FILE = "answers.jsonl"


@fills("items")
def item_options(items: str | None = None) -> dict[str, Any]:
    """Return the numbers of items.

    Parameters
    ----------
    items : str, optional
        Numbers of items, such as 2,4,8,16; if left out, those the task allows.
    """
    return {"items": None if items is None else read_item_counts(items)}


@fills("store", "picture_folder")
def folder_options(*, save_pictures: bool = False, out: Path | None = None) -> dict[str, Any]:
    """Return where replies are stored, and where the pictures of prompts go.

    Parameters
    ----------
    save_pictures : bool
        Write the pictures of the prompts to --out.
    """
    folder = None if out is None or is_page(out) else out
    if save_pictures and folder is None:
        raise InputError("save_pictures needs --out, the folder for the pictures.")
    return {
        "store": None if folder is None else folder / REPLIES_FILE,
        "picture_folder": folder / "pictures" if folder is not None and save_pictures else None,
    }


@fills("model")
def model_options(
    model: str,
    /,
    *,
    temperature: float = 0.0,
    max_tokens: int = 16,
    device: Annotated[str, LOCAL] = "cpu",
    dtype: Annotated[str, LOCAL] = "float32",
    batch_size: int = 16,
    download: Annotated[bool, LOCAL] = False,
    server: Annotated[str | None, SERVER] = None,
    key_variable: Annotated[str, SERVER] = DEFAULT_KEY_VARIABLE,
    concurrency: Annotated[int, SERVER] = 4,
    timeout: Annotated[float, SERVER] = 60.0,
    retries: Annotated[int, SERVER] = 4,
    label: Annotated[str, SERVER] = "",
    seed: int = 0,
) -> dict[str, Any]:
    """Return a model on this machine, loaded later, or one behind a server; a missing key raises.

    Parameters
    ----------
    model : str
        A Hugging Face id on this machine, a folder, a .gguf file, smollm2 or minilm (packages), or with --server the
        name of a model there.
    temperature : float
        Of text replies; 0 is greedy.
    device : str
        cpu, cuda, cuda:1 or mps.
    dtype : str
        float32, bfloat16 or float16.
    download : bool
        Let a Hugging Face id be downloaded.
    server : str, optional
        Address of an OpenAI-compatible server, such as http://localhost:8000/v1; MODEL is its name there.
    key_variable : str
        Environment variable that holds the key; the key itself is never stored.
    concurrency : int
        Number of simultaneous requests.
    timeout : float
        Seconds a server may be silent.
    retries : int
        How often each request is tried again, after a wait that doubles or that the server requests.
    label : str
        Name of the server in stored replies; its address if left out.
    """
    if server is None:
        return {"model": LocalModel(model, device, dtype, batch_size, download, temperature, max_tokens, seed)}
    behind = ServerModel(
        server,
        model,
        api_key_variable=key_variable or None,
        temperature=temperature,
        seed=seed,
        max_tokens=max_tokens,
        label=label,
        timeout=timeout,
        retries=retries,
        concurrency=concurrency,
    )
    return {"model": behind}


def probe_or_measure(
    model: LocalModel | ServerModel,
    *,
    task: Task = "years",
    items: Items = None,
    trials: Trials = 200,
    template: TemplateChoice = None,
    mode: CommandMode = None,
    anchors: Anchors = True,
    half_separations: HalfSeparations = None,
    shifts: Shifts = None,
    layers: Layers = False,
    layer_trials: LayerTrials = 200,
    batch_size: BatchSize = 16,
    max_tokens: MaxTokens = 16,
    price: Price = None,
    pooling: RowPooling = None,
    phrase: Phrase = None,
    center: Center = True,
    dry_run: DryRun = False,
    store: Store = None,
    picture_folder: PictureFolder = None,
    seed: Seed = 0,
    running: Running | None = None,
) -> ProbePreview | ProbeResult | LayerMeasurements:
    """Probe a language or vision model: which item is nearest, and which one is exactly there."""
    prompts: dict[str, Any] = {
        "items": items,
        "template": template,
        "half_separations": half_separations,
        "shifts": shifts,
        "price": price,
        "picture_folder": picture_folder,
    }
    if mode == EMBEDDING:
        _refuse(
            prompts | {"layers": layers or None, "dry_run": dry_run or None}, "mode embedding, which has no prompts"
        )
        if not isinstance(model, LocalModel):
            raise InputError("mode embedding reads the layers of a model on this machine; leave out --server.")
        stimuli = embedding_stimuli(STIMULI_OF_TASKS.get(task, task), count=trials, phrase=phrase, seed=seed)
        encoder = model.encoder("auto" if Path(model.source).is_file() else stimuli.kind, pooling or "mean")
        return measure_layers(encoder, stimuli=stimuli, center=center, seed=seed, running=running)
    _refuse({"pooling": pooling, "phrase": phrase}, "prompts; they belong to mode embedding")
    prompts |= {"task": task, "trials": trials, "anchors": anchors, "max_tokens": max_tokens, "seed": seed}
    if dry_run:
        return probes.preview_probe(mode=mode or MODES[isinstance(model, ServerModel)], **prompts)
    prompts |= {"layers": layers, "layer_trials": layer_trials, "batch_size": batch_size}
    return probes.probe_model(model, mode=mode, store=store, running=running, **prompts)


def _refuse(options: dict[str, Any], where: str) -> None:
    """Raise if an option is given that has no use."""
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{name} must be left out with {where}.")


probe = command_of(
    probe_or_measure,
    item_options,
    folder_options,
    model_options,
    about="With --out a folder is written: the page, the numbers, tables, and every reply; the same command continues "
    "where it stopped, and no answered prompt is sent twice.",
)
