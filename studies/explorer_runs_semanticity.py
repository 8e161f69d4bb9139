"""Make the runs that the explorer compares with the theory of semanticity: simulated choices and ReLU networks.

python studies/explorer_runs_semanticity.py

Writes src/genlaws/web/bundled_runs/semanticity.csv in about a minute on one core.
"""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np

from genlaws import semanticity
from genlaws.core.estimate import from_standard_error, wilson_interval
from genlaws.semanticity.networks.relu import train_relu_networks

RUNS_FILE = Path(__file__).parents[1] / "src/genlaws/web/bundled_runs/semanticity.csv"
COLUMNS = (
    *("source", "space", "similarity", "background", "item_count", "share", "step"),
    *("generalization", "generalization_low", "generalization_high"),
    *("identification", "identification_low", "identification_high"),
)
SPACES = ("circle", "sphere", "torus", "segment", "hypercube")
SHAPES = ("constant", "linear", "exponential", "gaussian", "power-law")
BACKGROUNDS, ITEM_COUNTS, SHARES = (0.0, 0.05), (2, 10), (0.05, 0.15, 0.4, 1.0)
HYPERCUBE_DIMENSION = 10  # sphere and torus have two dimensions
TRIALS = 20_000
TABLE_STEPS = (0, 150, 300, 600, 1005, 1995, 4005, 7500)
NETWORKS = 10
SEED = 7


def distances_to_probe(name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw places of a probe and of items, shape (trials, items), and return their distances."""
    shape = (TRIALS, count)
    if name == "hypercube":
        return rng.binomial(HYPERCUBE_DIMENSION, 0.5, shape).astype(float)
    if name == "sphere":
        item, probe = rng.standard_normal((*shape, 3)), rng.standard_normal((TRIALS, 1, 3))
        cosine = (item * probe).sum(-1) / np.linalg.norm(item, axis=-1) / np.linalg.norm(probe, axis=-1)
        return np.arccos(np.clip(cosine, -1.0, 1.0))
    axes = 2 if name == "torus" else 1
    apart = np.abs(rng.random((*shape, axes)) - rng.random((TRIALS, 1, axes)))
    if name != "segment":
        apart = np.minimum(apart, 1.0 - apart)
    return np.linalg.norm(apart, axis=-1)


def count_right(similarities: np.ndarray, right: np.ndarray, rng: np.random.Generator) -> int:
    """Let Luce's rule choose once in every trial and count the right choices."""
    total = similarities.sum(axis=1)
    seen = similarities[np.arange(TRIALS), right]
    chance = np.where(total > 0, seen / np.where(total > 0, total, 1.0), 1.0 / similarities.shape[1])
    return int((rng.random(TRIALS) < chance).sum())


def simulated(setting: tuple[str, str, float, int, float], rng: np.random.Generator) -> dict:
    """Return one row of simulated choices."""
    name, shape, background, count, share = setting
    dimension = {"hypercube": HYPERCUBE_DIMENSION, "sphere": 2, "torus": 2}.get(name)
    reach = semanticity.space(name, dimension=dimension).reach
    g = semanticity.similarity(shape, share * reach, background=background)
    d = distances_to_probe(name, count, rng)
    tie_broken = d + 1e-9 * rng.random(d.shape)
    nearest = wilson_interval(count_right(g(d), tie_broken.argmin(axis=1), rng), TRIALS)
    d = distances_to_probe(name, count, rng)
    d[:, 0] = 0.0
    copied = wilson_interval(count_right(g(d), np.zeros(TRIALS, dtype=int), rng), TRIALS)
    return {
        "source": "choices",
        "space": name,
        "similarity": shape,
        "background": background,
        "item_count": count,
        "share": share,
        "step": "",
        **columns("generalization", nearest),
        **columns("identification", copied),
    }


def columns(name: str, estimate) -> dict:
    """Return an estimate as three columns."""
    values = {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return {column: f"{value:.5g}" for column, value in values.items()}


def networks(name: str) -> list[dict]:
    """Train the networks of the paper on one space and return a row for some steps: means over networks."""
    runs = train_relu_networks(name, seeds=tuple(range(NETWORKS)))
    reach = float(runs.distances.max())
    resolution = runs.resolution() / reach
    rows = []
    for step in TABLE_STEPS:
        at = int(np.flatnonzero(runs.steps == step)[0])
        means = {
            test: from_standard_error(values[:, at].mean(), values[:, at].std(ddof=1) / NETWORKS**0.5, NETWORKS)
            for test, values in (("generalization", runs.generalization), ("identification", runs.identification))
        }
        rows.append(
            {
                "source": "networks",
                "space": name,
                "similarity": "learned",
                "background": "",
                "item_count": 2,
                "share": f"{resolution[:, at].mean():.4g}",
                "step": step,
                **columns("generalization", means["generalization"]),
                **columns("identification", means["identification"]),
            }
        )
    return rows


def main() -> None:
    """Write the table."""
    rng = np.random.default_rng(SEED)
    rows = [simulated(one, rng) for one in product(SPACES, SHAPES, BACKGROUNDS, ITEM_COUNTS, SHARES)]
    rows += [row for name in ("circle", "segment") for row in networks(name)]
    RUNS_FILE.parent.mkdir(exist_ok=True)
    with RUNS_FILE.open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    print(f"{len(rows)} rows, {RUNS_FILE.stat().st_size / 1024:.0f} KB: {RUNS_FILE}")


if __name__ == "__main__":
    main()
