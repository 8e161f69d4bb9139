"""Train ridge and support vector machines of finite size on a coarse grid of settings, for the page's view.

OMP_NUM_THREADS=1 python studies/explorer_runs_rules_facts.py

Writes src/genlaws/web/bundled_runs/rules_facts.csv: one row per setting, with the mean errors over the draws. Takes
about three minutes on one core.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from genlaws.core.estimate import Estimate, from_standard_error, wilson_interval
from genlaws.rules_facts import Kernel, draw_gaussian, optimal_regularization
from genlaws.rules_facts.finite_size import DrawProducts, learn_path

RUNS_FILE = Path(__file__).parents[1] / "src" / "genlaws" / "web" / "bundled_runs" / "rules_facts.csv"
DIMENSION = 200
TEST_COUNT = 2000
LOSSES = ("square", "hinge")
SAMPLE_RATIOS = (0.5, 1.0, 2.0, 4.0, 8.0)
DRAWS = {0.5: 24, 1.0: 24, 2.0: 16, 4.0: 10, 8.0: 5}
FACT_FRACTIONS = (0.05, 0.2, 0.5)
ANGLES = (0.4, 0.7, 1.0, 1.3)
STRENGTHS = (0.01, 0.1, 1.0, 10.0)
# A support vector machine cannot be trained without regularization; this is close to that limit.
MIN_REGULARIZATION = 1e-4
COLUMNS = (
    *("loss", "sample_ratio", "fact_fraction", "kernel_angle", "choice", "regularization", "draws"),
    *(
        "generalization_error",
        "generalization_error_low",
        "generalization_error_high",
        "memorization_error",
        "memorization_error_low",
        "memorization_error_high",
    ),
)


def odd_kernel(angle: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the kernel of an angle without even powers, which are slow to reach their limit in the dimension."""
    linear, rest = np.sin(angle) ** 2, np.cos(angle) ** 2
    return lambda t: linear * t + rest * t**3


def strengths_of(loss: str, ratio: float, share: float, angle: float) -> list[float]:
    """Return the regularizations of one setting; the last is best for generalization."""
    best = optimal_regularization(loss, sample_ratio=ratio, fact_fraction=share, kernel=Kernel.from_angle(angle))
    return [*STRENGTHS, max(float(best), MIN_REGULARIZATION)]


def summarize(rule: np.ndarray, fact: np.ndarray, facts: np.ndarray) -> list[Estimate]:
    """Return both errors at one setting; rows of draws, facts counted in each.

    The interval of the memorization error is the wider of Student's over draws and Wilson's over facts: where no draw
    loses a fact the first has no width.
    """
    count = len(rule)
    first = from_standard_error(float(rule.mean()), float(rule.std(ddof=1) / np.sqrt(count)), count)
    lost, total = float((fact * facts).sum()), int(facts.sum())
    second = wilson_interval(round(lost), total)
    spread = float(np.sqrt(((facts * (fact - lost / total)) ** 2).sum() * count / (count - 1)) / total)
    student = from_standard_error(lost / total, spread, count)
    return [first, Estimate(lost / total, min(second.low, student.low), max(second.high, student.high), count)]


def rows_of(ratio: float, share: float) -> list[tuple[object, ...]]:
    """Return the rows of one sample ratio and fact fraction: all draws, losses and kernels."""
    found: dict[tuple[str, float], list[tuple[np.ndarray, np.ndarray, float]]] = {}
    strengths = {(loss, angle): strengths_of(loss, ratio, share, angle) for loss in LOSSES for angle in ANGLES}
    for seed in range(DRAWS[ratio]):
        draw = draw_gaussian(DIMENSION, ratio, share, test_count=TEST_COUNT, seed=seed)
        products = DrawProducts.of(draw, normalize=True)
        for (loss, angle), here in strengths.items():
            path = learn_path(draw, loss=loss, regularization=here, kernel=odd_kernel(angle), products=products)
            assert path.converged.all()
            one = (path.generalization_error, np.nan_to_num(path.memorization_error), float(draw.is_fact.sum()))
            found.setdefault((loss, angle), []).append(one)
    rows: list[tuple[object, ...]] = []
    for (loss, angle), draws in found.items():
        rule, fact = np.array([one[0] for one in draws]), np.array([one[1] for one in draws])
        facts = np.array([one[2] for one in draws])
        for at, strength in enumerate(strengths[loss, angle]):
            choice = "optimal" if at == len(STRENGTHS) else "fixed"
            numbers = [
                f"{max(0.0, part):.4f}"
                for one in summarize(rule[:, at], fact[:, at], facts)
                for part in (one.value, one.low, one.high)
            ]
            rows.append((loss, ratio, share, angle, choice, f"{strength:.4g}", len(draws), *numbers))
    return rows


def main() -> None:
    """Run every setting and write the table."""
    start = time.process_time()
    rows = []
    for ratio in SAMPLE_RATIOS:
        for share in FACT_FRACTIONS:
            rows += rows_of(ratio, share)
            print(f"α = {ratio:g}, ε = {share:g}: {time.process_time() - start:.0f} s", flush=True)
    with RUNS_FILE.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(rows)
    print(f"{len(rows)} rows, {RUNS_FILE.stat().st_size / 1e3:.0f} kB, {time.process_time() - start:.0f} s")


if __name__ == "__main__":
    main()
