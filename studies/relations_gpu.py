"""Relation networks at full size on a graphics card: the tables that figures are drawn from on machines without one.

    PYTHONPATH=src python studies/relations_gpu.py --out FOLDER [--device cuda] [--scale 0.01] relations.5 …

Each figure's table is written with its settings, the seconds it took and the device. Copied to
``src/genlaws/figures/bundled_tables``, ``genlaws figure relations.5 --bundled`` draws it. Needs neither matplotlib nor
a terminal.
"""

import argparse
import json
import platform
import time
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import numpy as np
import torch

from genlaws.core.running import Running

FULL_SETTINGS = {
    "relations.3": (
        "learning:Curve",
        {
            "train_fractions": (0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7),
            "learning_rate": 1e-3,
            "repeats": 20,
            "bound_repeats": 50,
            "steps": 10_000,
            "architectures": (
                ("concatenate", 3, 50, 2),
                ("concatenate", 1, 50, 2),
                ("difference", 3, 50, 2),
                ("difference", 1, 50, 2),
                ("difference", 0, 1, 2),
                ("squared_difference", 2, 50, 2),
                ("squared_difference", 0, 1, 2),
            ),
        },
    ),
    "relations.5": (
        "phases:Phase",
        {
            "optimizers": ("adam", "sgd"),
            "grid": 10,
            "adam_decoder_rates": (1e-5, 1e-2),
            "adam_encoder_rates": (1e-5, 1e-2),
            "sgd_decoder_rates": (1e-2, 3.0),
            "sgd_encoder_rates": (1e-4, 1e-1),
            "width": 50,
            "repeats": 10,
            "steps": 100_000,
        },
    ),
    "relations.6": (
        "success:Success",
        {
            "ratios": (30.0, 10.0, 5.0, 1.0, 0.46, 0.22, 0.1, 0.046, 0.022, 0.01, 0.0046, 0.001),
            "scales": (1.0, 0.5, 0.25),
            "adam_rate": 1e-3,
            "sgd_rate": 0.3,
            "width": 50,
            "repeats": 50,
            "steps": 20_000,
        },
    ),
    "relations.7": (
        "depth:Depth",
        {"widths": (10, 50), "learning_rate": 1e-3, "repeats": 50, "steps": 10_000},
    ),
    "relations.8": (
        "phases:Decay",
        {
            "decays": (0.0, 0.1, 1.0, 3.0, 10.0),
            "grid": 10,
            "decoder_rates": (1e-5, 1e-2),
            "encoder_rate": 1e-5,
            "width": 50,
            "repeats": 5,
            "steps": 100_000,
        },
    ),
    "relations.sizes": (
        "learning:Size",
        {
            "sizes": (30, 60, 120),
            "entries_per_element": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 17.0, 20.0, 24.0),
            "learning_rate": 1e-3,
            "width": 50,
            "repeats": 20,
            "steps": 10_000,
        },
    ),
    "relations.controls": (
        "success:Control",
        {
            "ratios": (10.0, 3.0, 1.0, 0.3, 0.1, 0.05, 0.03, 0.01, 0.003),
            "adam_rate": 1e-3,
            "sgd_rate": 0.3,
            "width": 50,
            "repeats": 15,
            "steps": 20_000,
        },
    ),
    "relations.noise": (
        "learning:Noise",
        {
            "noises": (0.0, 0.02, 0.05, 0.1, 0.2, 0.3),
            "train_fractions": (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 0.9),
            "learning_rate": 1e-3,
            "width": 50,
            "repeats": 20,
            "steps": 10_000,
        },
    ),
    "relations.graph": (
        "graph:Graph",
        {"train_fractions": (0.05, 0.1, 0.2, 0.3, 0.5, 0.8), "width": 50, "repeats": 5, "steps": 3000},
    ),
}


def compute(figure: str, folder: Path, changes: dict[str, object], scale: float) -> None:
    """Compute one table and write it with its settings."""
    place, full = FULL_SETTINGS[figure]
    module_name, kind = place.split(":")
    module = import_module(f"genlaws.figures.relations.{module_name}")
    settings_type = getattr(module, f"{kind}Settings")
    wanted = {**full, **{name: one for name, one in changes.items() if name in settings_type.model_fields}}
    settings = settings_type(**wanted | {"steps": max(1, round(scale * full["steps"]))})
    start = time.perf_counter()
    frame = getattr(module, f"{kind.lower()}_data")(settings, Running())
    seconds = time.perf_counter() - start
    frame.to_csv(folder / f"{figure}.csv", index=False, float_format="%.6g")
    device = torch.cuda.get_device_name() if settings.device.startswith("cuda") else f"one core, {platform.machine()}"
    about = {
        "figure": figure,
        "settings": settings.model_dump(exclude={"file"}),
        "seconds": round(seconds, 1),
        "device": device,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }
    (folder / f"{figure}.json").write_text(json.dumps(about, indent=2) + "\n")
    print(f"{figure}: {len(frame)} rows in {seconds:.0f} s on {device}", flush=True)
    summarize = getattr(module, f"{kind.lower()}_summary", None)
    if summarize is not None:
        print(summarize(frame, settings).to_string(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", nargs="+", choices=list(FULL_SETTINGS))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=float, default=1.0, help="part of the steps, to try it out")
    parser.add_argument("--file", default="", help="knowledge graph of relations.graph")
    parser.add_argument("--set", default="{}", help="other settings, as JSON")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    changes = {"device": chosen.device, "file": chosen.file, **json.loads(chosen.set)}
    for figure in chosen.figures:
        compute(figure, chosen.out, changes, chosen.scale)


if __name__ == "__main__":
    main()
