"""Small fixed files for the commands: tables, relations, choices, texts and an untrained language model."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr
from pathlib import Path

import numpy as np

STIMULI = 24
FINITE = 8  # stimuli of the matrix of distances
SHAPES = ("circle", "square", "star", "triangle")
MODEL = "model"
TEXTS = (
    "The mill stood by the river for a hundred years.",
    "A ship left the harbor before the storm came in.",
    "Nobody remembers who built the bridge in 1870.",
    "Her letters were found in a box under the stairs.",
    "The train was late, and so were all the others.",
    "Three brothers opened a small shop near the square.",
    "In winter the road over the pass is closed.",
    "He counted the stars until he fell asleep.",
    "The museum keeps a map of the old town.",
    "Rain fell on the fields, and the harvest was saved.",
)


@contextmanager
def working_folder(with_model: bool) -> Iterator[Path]:
    """Give a new folder with all files, made the working folder, and remove it in the end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write_embeddings(folder)
        write_labeled(folder)
        write_choices(folder)
        write_relations(folder)
        write_texts(folder)
        if with_model:
            write_model(folder / MODEL)
        with chdir(folder):
            yield folder


def write_embeddings(folder: Path) -> None:
    """Write stimuli on a circle with their places, distances, weights and groups."""
    rng = np.random.default_rng(5)
    places = np.round(rng.random(STIMULI), 4)
    angle = 2.0 * np.pi * places
    embeddings = np.stack([np.cos(angle), np.sin(angle), np.cos(2.0 * angle), np.full(STIMULI, 0.5)], axis=1)
    embeddings = np.round(embeddings + 0.1 * rng.standard_normal(embeddings.shape), 5)
    np.save(folder / "embeddings.npy", embeddings)
    np.save(folder / "places.npy", places)
    np.savetxt(folder / "embeddings.csv", embeddings, delimiter=",", fmt="%.5f")
    np.savetxt(folder / "places.csv", places, delimiter=",", fmt="%.4f")
    points = rng.random((FINITE, 2))
    distances = np.round(np.sqrt(((points[:, None] - points) ** 2).sum(axis=2)), 4)
    np.save(folder / "distances.npy", distances)
    np.savetxt(folder / "distances.csv", distances, delimiter=",", fmt="%.4f")
    np.savetxt(folder / "weights.csv", 1.0 + np.arange(FINITE) % 3, delimiter=",", fmt="%.1f")
    rows = [f"{'near' if number % 2 else 'far'},{'abcd'[number % 4]}" for number in range(STIMULI)]
    (folder / "groups.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def write_labeled(folder: Path) -> None:
    """Write samples of three classes."""
    rng = np.random.default_rng(6)
    classes = np.repeat(np.arange(3), 30)
    inputs = np.round(rng.standard_normal((90, 6)) + classes[:, None] * np.linspace(-1.0, 1.0, 6), 5)
    np.savez(folder / "labeled.npz", inputs=inputs, labels=classes)
    with (folder / "labeled.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{number}" for number in range(6)), "class"])
        for row, one in zip(inputs.tolist(), classes.tolist(), strict=True):
            writer.writerow([*row, ("north", "south", "west")[one]])


def write_choices(folder: Path) -> None:
    """Write 150 choices of a chooser with planted numbers, wide and long; every fifteenth answer is lost."""
    from genlaws.semanticity.choices.model import ChoiceModel, simulate_choices
    from genlaws.semanticity.choices.trials import Trials

    rng = np.random.default_rng(7)
    distances = np.round(np.exp(rng.uniform(0, 5, (150, 4))), 1)
    names = [rng.permutation(SHAPES).tolist() for _ in range(150)]
    offsets = {**dict.fromkeys(SHAPES, 0.0), "triangle": 1.0}
    chooser = ChoiceModel("exponential", 20.0, 0.02, lapse=0.05, offsets=offsets)
    chosen = simulate_choices(Trials.from_lists(distances, options=names), chooser, 8).chosen
    with (folder / "choices.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"{kind}_{i}" for kind in ("distance", "option") for i in range(1, 5)] + ["chosen", "model"])
        for number, (row, shown, choice) in enumerate(zip(distances.tolist(), names, chosen, strict=True)):
            writer.writerow([*row, *shown, "unparsed" if number % 15 == 0 else shown[choice], "small"])
    with (folder / "choices_long.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["trial", "distance", "chosen", "place"])
        for number, (row, choice) in enumerate(zip(distances.tolist(), chosen, strict=True)):
            for place, distance in enumerate(row):
                writer.writerow([number, distance, int(place == choice), place + 1])
    (folder / "choices_wrong.csv").write_text("trial,distance,chosen\n1,2.0,1\n1,far,0\n", encoding="utf-8")


def write_relations(folder: Path) -> None:
    """Write a matrix, a knowledge graph, known entries of a relation and the names of its elements."""
    matrix = (np.arange(9)[:, None] % 3 == np.arange(9) % 3).astype(int)
    np.save(folder / "matrix.npy", matrix)
    np.savetxt(folder / "matrix.csv", matrix, delimiter=",", fmt="%d")
    edges = ("ann\tknows\tbob", "bob\tknows\tcid", "cid\tknows\tdan", "ann\tlikes\tbob", "bob\tlikes\tann")
    (folder / "graph.tsv").write_text("\n".join(edges) + "\n", encoding="utf-8")
    known = ("first,second,value", "a,b,1", "c,b,0", "a,d,0", "e,c,1")
    (folder / "known.csv").write_text("\n".join(known) + "\n", encoding="utf-8")
    (folder / "names.txt").write_text("a\nb\nc\nd\ne\nf\n", encoding="utf-8")


def write_texts(folder: Path) -> None:
    """Write short texts, one a line, and a table of items with values."""
    (folder / "texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    items = [f"city{number:02d},{3 * number + number % 5}" for number in range(30)]
    (folder / "items.csv").write_text("item,value\n" + "\n".join(items) + "\n", encoding="utf-8")


def write_sweep(folder: Path) -> None:
    """Write the folder of a sweep with a cell that is done and one that failed."""
    from genlaws.sweeps import Axis, get_experiment, make_sweep, run_sweep

    axes = [Axis("relation", ("mod3", "nothing"))]
    run_sweep(make_sweep(get_experiment("relations.bound"), {"elements": 6}, axes), folder=folder / "swept")


def write_model(folder: Path) -> None:
    """Write a language model of two layers with fixed random weights, which reads letter by letter."""
    import tokenizers
    import torch
    import transformers

    letters = {letter: number for number, letter in enumerate(map(chr, [10, *range(32, 127)]))}
    inside = tokenizers.Tokenizer(tokenizers.models.WordLevel(letters, unk_token=" "))
    inside.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inside, eos_token="~", pad_token="~")
    config = transformers.LlamaConfig(
        vocab_size=len(letters),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=letters["~"],
    )
    network = transformers.LlamaForCausalLM(config)
    rng = np.random.default_rng(9)
    fixed = {
        name: torch.ones_like(values)
        if values.ndim == 1
        else torch.from_numpy(0.2 * rng.standard_normal(tuple(values.shape))).to(values.dtype)
        for name, values in sorted(network.state_dict().items())
    }
    network.load_state_dict(fixed)
    with redirect_stderr(io.StringIO()):  # a bar
        network.eval().save_pretrained(folder)
        tokenizer.save_pretrained(folder)
