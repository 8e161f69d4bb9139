"""Can a network with trained features find the rule at the rate 1/α and still memorize the facts? The full-size study.

PYTHONPATH=src python studies/two_layer_gpu.py --device cuda --out FOLDER --seconds 470
PYTHONPATH=src python studies/two_layer_gpu.py --device cuda --out FOLDER --sizes   # in dimensions 50 to 400
PYTHONPATH=src python studies/two_layer_gpu.py --small        # the same program in a minute on one processor

Needs numpy, scipy, scikit-learn and torch, nothing else. After every stack of networks (one dimension, width, loss and
sample ratio) the table ``two_layer.csv`` and the histories of that stack are written, so an interrupted run loses only
the current stack; a stack that would not fit into the time left is skipped and named.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from genlaws.rules_facts import bayes_optimal, fit_decay, solve
from genlaws.rules_facts.networks.runs import MEASURED_COLUMNS, TwoLayerRuns
from genlaws.rules_facts.networks.two_layer import train_two_layer

FACT_FRACTION = 0.2
RATIOS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
READOUT_SCALE = 0.03
# Learning rate, factor on it for the first layer, weight decay.
RECIPES = {
    "fast features": (0.003, 100.0, 0.0),
    "fast features, decay": (0.003, 100.0, 0.03),
    "slow readout, decay": (0.001, 300.0, 0.03),
    "features ten times": (0.01, 10.0, 0.0),
    "equal rates": (0.01, 1.0, 0.0),
    "random features": (0.01, 0.0, 0.0),
}
FAST = ("fast features", "fast features, decay")
DECAY = FAST[1:]
# Many samples take longer to memorize; shares of the requested steps.
STEP_SHARES = {2.0: 0.4, 4.0: 0.4, 8.0: 0.4, 16.0: 0.6}
MOSTLY = 0.1  # largest memorization error at which the facts count as mostly memorized
MOMENTS = ("final", "best", "memorized", "mostly")
COLUMNS = (
    *("dimension", "sample_ratio", "width_ratio", "activation", "loss", "recipe"),
    *("learning_rate", "feature_rate", "weight_decay", "seed", "steps"),
    *(f"{moment}_{what}" for moment in MOMENTS for what in ("step", "generalization_error", "memorization_error")),
    *("final_standard_error", "final_training_loss", "final_alignment", "failed", "device", "dtype", "path", "seconds"),
)


@dataclass(frozen=True)
class Stage:
    """Stacks of one dimension, width and loss, one for each sample ratio; `share` is that of the usual steps."""

    dimension: int
    width_ratio: float
    loss: str = "logistic"
    activation: str = "tanh"
    recipes: tuple[str, ...] = tuple(RECIPES)
    alphas: tuple[float, ...] = RATIOS
    share: float = 1.0


# The most informative first: stages skipped for lack of time are at the end.
STAGES = (
    Stage(100, 4.0),
    Stage(100, 8.0, recipes=FAST),
    Stage(200, 4.0, recipes=DECAY, alphas=RATIOS[:-1]),
    Stage(100, 2.0, recipes=(*FAST, "equal rates")),
    Stage(100, 16.0, recipes=DECAY),
    Stage(100, 4.0, loss="hinge", recipes=FAST),
    Stage(100, 4.0, activation="relu", recipes=FAST),
    Stage(100, 0.5, recipes=FAST),
    Stage(200, 4.0, recipes=DECAY, alphas=RATIOS[-1:]),
)
# The same at several dimensions: do the results at d = 100 hold in larger ones?
SLOW = ("slow readout, decay", "fast features, decay")
SIZE_STAGES = (
    Stage(200, 4.0, recipes=SLOW, alphas=RATIOS[2:]),
    Stage(50, 4.0, recipes=SLOW, alphas=RATIOS[2:]),
    Stage(50, 4.0, loss="hinge", recipes=FAST[:1], alphas=RATIOS[2:], share=0.1),
    Stage(100, 4.0, loss="hinge", recipes=FAST[:1], alphas=RATIOS[2:], share=0.1),
    Stage(200, 4.0, loss="hinge", recipes=FAST[:1], alphas=RATIOS[2:], share=0.1),
    Stage(400, 4.0, recipes=SLOW[:1], alphas=RATIOS[2:4]),
    Stage(400, 4.0, loss="hinge", recipes=FAST[:1], alphas=RATIOS[2:5], share=0.1),
)
SMALL_STAGES = (
    Stage(20, 4.0, recipes=(FAST[0], "random features"), alphas=(2.0, 4.0, 8.0)),
    Stage(20, 2.0, recipes=FAST, alphas=(2.0, 4.0)),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="cuda if there is one; otherwise the small form on a processor")
    parser.add_argument("--out", type=Path, default=Path("out/two_layer"))
    parser.add_argument("--seconds", type=float, default=470.0, help="time for training; stacks beyond are skipped")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=16_000, help="updates at the largest sample ratios")
    parser.add_argument("--tests", type=int, default=20_000, help="fresh inputs for the generalization error")
    parser.add_argument("--path", default="auto", help="auto, eager or graph")
    parser.add_argument("--sizes", action="store_true", help="the best recipes in several dimensions")
    parser.add_argument("--small", action="store_true", help="a few small stacks, to see that everything works")
    options = parser.parse_args()
    if options.device is None:
        options.device = "cuda" if torch.cuda.is_available() else "cpu"
        options.small = options.small or options.device == "cpu"
    if options.small:
        options.steps, options.tests, options.seeds = min(options.steps, 500), min(options.tests, 2000), 3
    options.out.mkdir(parents=True, exist_ok=True)
    rows = run(SMALL_STAGES if options.small else SIZE_STAGES if options.sizes else STAGES, options)
    print_tables(rows)


def run(stages, options):
    """Train all stacks that fit into the time, writing after each; return the rows of the table."""
    rows, start, speed = [], time.perf_counter(), 0.0
    for stage, alpha in [(one, alpha) for one in stages for alpha in one.alphas]:
        work = work_of(stage, alpha, options)
        left = options.seconds - (time.perf_counter() - start)
        name = f"d={stage.dimension} p={stage.width_ratio:g}d alpha={alpha:g} {stage.loss} {stage.activation}"
        if left <= 0 or (speed and work / speed > left):
            print(f"{name}: skipped, {left:.0f} s are left", flush=True)
            continue
        begun = time.perf_counter()
        seeds = [1000 * int(alpha) + number for number in range(options.seeds)]
        runs = train_stack(stage, alpha, seeds, options)
        took = time.perf_counter() - begun
        speed = work / took  # of the latest stack: small ones are slower for their size
        found = list(rows_of(runs, stage, alpha, options, took))
        rows += found
        write(rows, runs, options.out, name.replace(" ", "_").replace("=", ""))
        done = np.mean([row["final_memorization_error"] == 0.0 for row in found])
        print(f"{name}: {took:.1f} s, {len(runs)} networks, {done:.0%} remember every fact [{runs.path}]", flush=True)
    return rows


def work_of(stage, alpha, options):
    """Return what a stack costs, in units that grow like its time."""
    width = stage.width_ratio * stage.dimension
    products = alpha * stage.dimension * stage.dimension * width
    networks = len(stage.recipes) * options.seeds
    return (products + 20.0 * alpha * stage.dimension * width) * networks * steps_of(stage, alpha, options)


def steps_of(stage, alpha, options):
    return max(1, round(stage.share * STEP_SHARES.get(alpha, 1.0) * options.steps))


def train_stack(stage, alpha, seeds, options):
    rates = np.repeat([RECIPES[name] for name in stage.recipes], len(seeds), axis=0)
    steps = steps_of(stage, alpha, options)
    logs = sorted({0, *np.geomspace(1, steps, 48).round().astype(int).tolist()})
    return train_two_layer(
        dimension=stage.dimension,
        sample_ratio=alpha,
        fact_fraction=FACT_FRACTION,
        width=max(1, round(stage.width_ratio * stage.dimension)),
        activation=stage.activation,
        loss=stage.loss,
        seeds=seeds * len(stage.recipes),
        learning_rate=rates[:, 0],
        feature_rate=rates[:, 1],
        weight_decay=rates[:, 2],
        readout_scale=READOUT_SCALE,
        steps=steps,
        log_at=logs,
        test_count=options.tests,
        device=options.device,
        path=options.path,
    )


def rows_of(runs: TwoLayerRuns, stage: Stage, alpha, options, took) -> Iterator[dict]:
    """Yield one row for each network: its errors in the end, at the best time, and when facts are remembered."""
    recipes = np.repeat(stage.recipes, options.seeds)
    mostly = np.logical_and.accumulate((runs.memorization_error <= MOSTLY)[:, ::-1], axis=1)[:, ::-1]
    logs = {
        "final": np.full(len(runs), len(runs.steps) - 1),
        "best": runs.best_log,
        "memorized": runs.memorized_log,
        "mostly": np.where(mostly.any(axis=1), mostly.argmax(axis=1), -1),
    }
    errors = {
        (m, what): runs.at(f"{what}_error", log)
        for m, log in logs.items()
        for what in ("generalization", "memorization")
    }
    for network in range(len(runs)):
        yield {
            "dimension": stage.dimension,
            "sample_ratio": alpha,
            "width_ratio": stage.width_ratio,
            "activation": stage.activation,
            "loss": stage.loss,
            "recipe": recipes[network],
            "learning_rate": runs.learning_rate[network],
            "feature_rate": RECIPES[recipes[network]][1],
            "weight_decay": runs.weight_decay[network],
            "seed": int(runs.seeds[network]),
            "steps": steps_of(stage, alpha, options),
            **{f"{m}_step": int(runs.steps[log[network]]) if log[network] >= 0 else -1 for m, log in logs.items()},
            **{f"{m}_{what}_error": round(float(values[network]), 6) for (m, what), values in errors.items()},
            "final_standard_error": round(float(runs.generalization_error_standard_error[network, -1]), 6),
            "final_training_loss": float(f"{runs.training_loss[network, -1]:.4g}"),
            "final_alignment": round(float(runs.alignment[network, -1]), 4),
            "failed": bool(runs.failed[network]),
            "device": runs.device,
            "dtype": runs.dtype,
            "path": runs.path,
            "seconds": round(took, 2),
        }


def write(rows, runs, folder, name):
    """Write the table so far, whole or not at all, and the histories of the last stack."""
    half = folder / "two_layer.csv.half"
    with half.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    half.replace(folder / "two_layer.csv")
    histories = {key: getattr(runs, key).astype(np.float32) for key in MEASURED_COLUMNS}
    np.savez_compressed(folder / f"{name}.npz", steps=runs.steps, seeds=runs.seeds, **histories)


def print_tables(rows):
    """Print the means over seeds by sample ratio, and the exponents of runs and theory."""
    keys = ("dimension", "width_ratio", "loss", "activation", "recipe")
    for key in dict.fromkeys(tuple(row[name] for name in keys) for row in rows):
        own = [row for row in rows if tuple(row[name] for name in keys) == key]
        ratios = sorted({row["sample_ratio"] for row in own})
        print(f"\nd = {key[0]}, p = {key[1]:g} d, {key[2]} loss, {key[3]}, {key[4]}")
        print("  alpha   Bayes   ridge | final  (facts) | best   (facts) | remembered: all (runs)  mostly (runs)")
        for alpha in ratios:
            print(line_of([row for row in own if row["sample_ratio"] == alpha], alpha))
        for low in sorted({max(low, ratios[0]) for low in (0.0, 4.0, 8.0)}):
            print_exponents(own, [alpha for alpha in ratios if alpha >= low])


def line_of(rows, alpha):
    bayes, ridge = theory([alpha])
    means = {name: np.mean([row[f"{name}_generalization_error"] for row in rows]) for name in ("final", "best")}
    facts = {name: np.mean([row[f"{name}_memorization_error"] for row in rows]) for name in ("final", "best")}
    shown = [f"{means[name]:.4f} ({facts[name]:.3f})" for name in ("final", "best")]
    for name in ("memorized", "mostly"):
        known = [row[f"{name}_generalization_error"] for row in rows if row[f"{name}_step"] >= 0]
        shown.append(f"{np.mean(known):.4f} ({len(known)})" if known else "-")
    return f"  {alpha:5g} {bayes[0]:7.4f} {ridge[0]:7.4f} | " + " | ".join(shown)


def print_exponents(rows, ratios):
    """Print the fitted exponents, over the sample ratios at which no run is missing."""
    if len(ratios) < 2:
        return
    shown = [
        f"{name} {fit_decay(ratios, curve).exponent}"
        for name, curve in zip(("Bayes", "ridge"), theory(ratios), strict=True)
    ]
    for name in MOMENTS:
        table = [
            [row[f"{name}_generalization_error"] for row in rows if row["sample_ratio"] == alpha] for alpha in ratios
        ]
        finite = [alpha for alpha, runs in zip(ratios, table, strict=True) if len(runs) > 1 and np.isfinite(runs).all()]
        if len(finite) < 2:
            continue
        complete = [runs for alpha, runs in zip(ratios, table, strict=True) if alpha in finite]
        fit = fit_decay(finite, complete)
        part = "" if finite == ratios else f" over {finite[0]:g}..{finite[-1]:g}"
        shown.append(f"{name} {fit.exponent}{part}, misfit {fit.misfit:.1f}")
    print(f"  exponents, alpha {ratios[0]:g} to {ratios[-1]:g}: " + "; ".join(shown))


def theory(ratios):
    """Return the generalization errors of the Bayes-optimal learner and of the best ridge regression."""
    task = {"sample_ratio": np.asarray(ratios, dtype=float), "fact_fraction": FACT_FRACTION}
    return bayes_optimal(**task).generalization_error, solve("square", **task).generalization_error


if __name__ == "__main__":
    main()
