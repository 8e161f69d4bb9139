"""Measure small models and random walks with the same steps, for the page of `genlaws explore`.

Run: python studies/explorer_runs_residual_stream.py [FILE]

Writes src/genlaws/web/bundled_runs/residual_stream.csv, or FILE. smollm2 and minilm come as packages; stories260K is
read as the tests do, from the folder GENLAWS_DATA names, and left out where it is missing. About a minute on one core.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from genlaws.models.capture import capture_texts
from genlaws.models.load import load_language_model
from genlaws.models.texts import example_texts
from genlaws.probes.encoders.load import load_encoder
from genlaws.residual_stream.surrogates.walk_comparison import WalkComparison, compare_with_walk

ROOT = Path(__file__).resolve().parents[1]
RUNS_FILE = ROOT / "src" / "genlaws" / "web" / "bundled_runs" / "residual_stream.csv"
COLUMNS = ("model", "measure", "at", "value", "low", "high")
TEXTS = 120


def networks() -> Iterator[tuple[str, Any, Any]]:
    network, tokenizer, _ = load_language_model("smollm2", "cpu", "float32", True)
    yield "SmolLM2", network, tokenizer
    encoder = load_encoder("minilm", kind="text")
    yield "MiniLM", encoder.network, encoder.tokenizer
    sys.path.insert(0, str(ROOT / "tests"))
    import real_models  # noqa: PLC0415 - of the tests, found only now

    if (real_models.DATA / "models" / "stories260K.bin").is_file():
        yield "stories260K", real_models.stories_network(), real_models.stories_tokenizer()


def rows(name: str, found: WalkComparison) -> Iterator[tuple[str, ...]]:
    walk = found.walk
    alone = {
        "units": found.units,
        "texts": found.text_count,
        "persistence": found.persistence,
        "own_start": walk.own_start,
        "shared_start": walk.shared_start,
    }
    for measure, value in alone.items():
        yield name, measure, "0", f"{value:.6g}", "", ""
    for measure, values in (("own_steps", walk.own_steps), ("shared_steps", walk.shared_steps)):
        for at, value in enumerate(values):
            yield name, measure, str(at), f"{value:.5g}", "", ""
    first = {"shares": 1, "rotations": 1}  # numbers of components, and sites, are counted from here
    for curve, _ in found.curves:
        for at, ends in enumerate(zip(curve.value, curve.low, curve.high, strict=True)):
            yield name, curve.name, str(at + first.get(curve.name, 0)), *(f"{end:.5g}" for end in ends)


def main() -> None:
    torch.set_num_threads(1)
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else RUNS_FILE
    lines = [COLUMNS]
    for name, network, tokenizer in networks():
        read = capture_texts(network, tokenizer, list(example_texts(TEXTS)))
        found = compare_with_walk(read.stream)
        lines += rows(name, found)
        print(f"{name}: {found.text_count} texts, {len(read.sites)} sites, {found.units} units")
        for curve, walk in found.curves:
            print(f"  {curve.name:12} last {curve[-1]}, walk {walk[-1]:.4g}")
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(lines)
    print(f"{len(lines)} rows written to {file}")


if __name__ == "__main__":
    main()
