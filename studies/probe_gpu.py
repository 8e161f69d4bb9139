"""SmolLM2 probed about years at full size on a graphics card: the answers and tables that figures are drawn from.

    PYTHONPATH=src python studies/probe_gpu.py --out FOLDER [--device cuda] [--scale 0.01]

Writes ``answers.jsonl``, which ``semanticity.years`` reads with its setting ``answers``, and the table of
``semanticity.layers`` with its settings, to be copied to ``src/genlaws/figures/bundled_tables``.
"""

import argparse
import json
import platform
import time
from datetime import UTC, datetime
from pathlib import Path

import torch

from genlaws.core.running import Running
from genlaws.figures.semanticity.layers import LayersSettings, layers_data
from genlaws.figures.semanticity.years import YearsSettings, load_figure_model
from genlaws.probes import ReplyStore, ask_and_report
from genlaws.probes.plan import plan_probe

YEARS_SETTINGS = {
    "templates": ("list", "sentences", "chat", "deutsch"),
    "item_counts": (2, 4, 8, 16, 32, 64, 98),
    "trials": 400,
    "replicates": 200,
}
LAYERS_SETTINGS = {"templates": ("list", "sentences", "chat"), "item_count": 2, "trials": 2000, "replicates": 500}


def store_answers(settings: YearsSettings) -> None:
    """Send every prompt of the figure to the model and store the answers."""
    model = load_figure_model(settings)
    with ReplyStore(settings.answers) as store:
        for template in settings.templates:
            plan = plan_probe(
                settings.task, settings.item_counts, settings.trials, template=template, seed=settings.seed
            )
            start = time.perf_counter()
            _, report = ask_and_report(model, plan.prompts(), "probability", store=store, batch_size=512)
            print(f"{template}: {report} {time.perf_counter() - start:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scale", type=float, default=1.0, help="part of the trials, to try it out")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    here = {"device": chosen.device, "batch_size": 64}
    start = time.perf_counter()
    many = max(4, round(chosen.scale * LAYERS_SETTINGS["trials"]))
    settings = LayersSettings(**LAYERS_SETTINGS | here | {"trials": many})
    frame = layers_data(settings, Running())
    seconds = time.perf_counter() - start
    frame.to_csv(chosen.out / "semanticity.layers.csv", index=False, float_format="%.5g")
    device = torch.cuda.get_device_name() if chosen.device.startswith("cuda") else f"one core, {platform.machine()}"
    about = {
        "figure": "semanticity.layers",
        "settings": settings.model_dump(exclude={"answers"}),
        "seconds": round(seconds, 1),
        "device": device,
        "torch": torch.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }
    (chosen.out / "semanticity.layers.json").write_text(json.dumps(about, indent=2) + "\n")
    print(f"layers: {len(frame)} rows in {seconds:.0f} s on {device}", flush=True)
    many = max(1, round(chosen.scale * YEARS_SETTINGS["trials"]))
    store_answers(
        YearsSettings(**YEARS_SETTINGS | here | {"trials": many, "answers": str(chosen.out / "answers.jsonl")})
    )


if __name__ == "__main__":
    main()
