"""The table behind every figure, at the reduced settings of the tests of figures."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from genlaws.figures.registry import FIGURES, get_figure
from golden.compact import compact_column
from golden.store import Case

sys.path.insert(0, str(Path(__file__).parents[1] / "figures"))

from reduced_settings import REDUCED

if TYPE_CHECKING:
    import pandas as pd

# Figures that train networks or read a language model.
TRAINED = {
    "rules-facts.two-layer",
    "semanticity.relu-network",
    "semanticity.relu-profile",
    "semanticity.relu-sizes",
    "semanticity.slots",
    "semanticity.convolutional",
    "semanticity.layers",
    "relations.3",
    "relations.5",
    "relations.delays",
    "relations.6",
    "relations.7",
    "relations.8",
    "relations.controls",
    "relations.sizes",
    "relations.noise",
    "relations.graph",
    "relations.embeddings",
}
CLOSED = {"rules-facts.10", "semanticity.items", "relations.table2", "relations.4"}
# Columns that say where an optimum lies, or what is to first order in that place.
BEST_ANGLES = frozenset({"ridge_best_angle", "hinge_best_angle", "hinge_interpolating_best_angle"})
PLACES = {
    "rules-facts.3": BEST_ANGLES | {"regularization"},
    "rules-facts.9": frozenset({"regularization"}),
    "rules-facts.12": BEST_ANGLES | {"regularization"},
    "rules-facts.16": frozenset({"regularization"}),
    "semanticity.front": frozenset(
        {"resolution", "ball_mass", "ball_mass_variance", "identification", "collapse_constant", "diagonal_gap"}
    ),
    "semanticity.resolution": frozenset({"best_ball_mass", "items_in_ball"}),
}
QUICK = {
    "rules-facts.1",
    "rules-facts.2",
    "rules-facts.4",
    "rules-facts.6",
    "rules-facts.7",
    "rules-facts.8",
    "rules-facts.9",
    "rules-facts.10",
    "rules-facts.11",
    "rules-facts.13",
    "rules-facts.14",
    "rules-facts.16",
    "rules-facts.message-passing",
    "semanticity.items",
    "semanticity.resolution",
    "relations.2",
    "relations.table2",
    "relations.4",
    "relations.queries",
}


def cases() -> Mapping[str, Case]:
    """Return a case for each figure, by its id."""
    return {
        figure_id: Case(
            kind="trained" if figure_id in TRAINED else "closed" if figure_id in CLOSED else "solved",
            answer=partial(tables, figure_id),
            places=PLACES.get(figure_id, frozenset()),
            quick=figure_id in QUICK,
        )
        for figure_id in FIGURES
    }


def tables(figure_id: str) -> dict[str, object]:
    """Return all settings, the table, and the numbers quoted with the figure."""
    figure = get_figure(figure_id)
    with TemporaryDirectory() as folder:
        settings = figure.settings({**REDUCED[figure_id], **given_file(figure_id, Path(folder))})
        frame = figure.data(settings)
        summary = figure.summary(frame, settings)
        used = {name: without_folder(value, folder) for name, value in settings.model_dump(mode="json").items()}
        return {
            "settings": used,
            "table": table(frame, folder),
            "summary": None if summary is None else table(summary, folder),
        }


def table(frame: pd.DataFrame, folder: str) -> dict[str, object]:
    """Return the names of the columns in their order, the number of rows, and each column in compact form."""
    columns = {}
    for name in frame.columns:
        values = frame[name].astype(object).where(frame[name].notna(), None).tolist()
        columns[name] = compact_column([without_folder(value, folder) for value in values])
    return {"columns": list(frame.columns), "rows": len(frame), "values": columns}


def without_folder(value: object, folder: str) -> object:
    """Return a value with the folder of this run replaced."""
    return value.replace(folder, "{tmp}") if isinstance(value, str) else value


def given_file(figure_id: str, folder: Path) -> dict[str, str]:
    """Return the setting of a figure that reads a file of the reader's."""
    if figure_id == "semanticity.layers":
        return {"model": str(small_language_model(folder / "model"))}
    return {"file": str(small_graph(folder / "graph.tsv"))} if figure_id == "relations.graph" else {}


def small_language_model(folder: Path) -> Path:
    """Write a language model of two layers that has learned nothing, which reads letter by letter."""
    import tokenizers
    import torch
    import transformers

    letters = {letter: number for number, letter in enumerate(map(chr, [10, *range(32, 127)]))}
    inside = tokenizers.Tokenizer(tokenizers.models.WordLevel(letters, unk_token=" "))
    inside.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    transformers.PreTrainedTokenizerFast(tokenizer_object=inside, eos_token="~").save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(letters),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
    )
    with torch.random.fork_rng(devices=[]), redirect_stderr(StringIO()):  # without the bar that shows the progress
        torch.manual_seed(0)
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def small_graph(file: Path) -> Path:
    """Write three relations of twelve elements."""
    both = [(i, j) for i in range(12) for j in range(12)]
    held = {
        "below": [(i, j) for i, j in both if i < j],
        "alike": [(i, j) for i, j in both if (i - j) % 3 == 0],
        "next": [(i, j) for i, j in both if (j - i) % 12 == 1],
    }
    lines = [f"e{i}\t{name}\te{j}\n" for name, pairs in held.items() for i, j in pairs]
    file.write_text("".join(lines), encoding="utf-8")
    return file
