"""Compute what the relations view of the page cannot compute while a slider is dragged.

OMP_NUM_THREADS=1 python studies/explorer_runs_relations.py

Writes into src/genlaws/web/bundled_runs: relations_bound.csv (the exact Bayes bound averaged over training sets, at
every place of the slider), relations_needed.csv (the data needed for every target of the slider), relations_repons.csv
(simulated representations), relations_sign.csv (the law of sign updates with several outputs) and
relations_networks.csv (means of the trained networks of the figures relations.3 and relations.6). Takes about twenty
minutes on one core.
"""

from __future__ import annotations

import csv
import math
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from genlaws.core.estimate import Estimate, from_standard_error
from genlaws.figures.bundled import bundled_table
from genlaws.relations import (
    MergingCase,
    bound_curve,
    data_needed,
    named_relation,
    sign_collision_probability,
    simulate_repons,
)
from genlaws.relations.inference.bayes_bound import posterior
from genlaws.web.views.relations import RelationSettings

RUNS_FOLDER = Path(__file__).parents[1] / "src" / "genlaws" / "web" / "bundled_runs"
RELATIONS = ("mod2", "mod3", "mod4", "mod5", "less-than", "bipartite", "binary-tree", "divisibility")
ELEMENTS = (10, 15, 20, 25, 30)  # with more, some training sets are out of reach of exact counting
REPEATS = 20
RATIOS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
DRAWS = 500
# Dimension and outputs; one against so many coincident ones, which changes nothing under sign updates.
SHAPES = ((1, 1), (1, 2), (1, 5), (2, 2), (2, 5), (3, 3), (3, 5))
CLUSTERS = (1, 4, 16)
SIGN_OUTPUTS = range(2, 9)
SLOPES = np.geomspace(1e-4, 1e4, 65)


def write(name: str, columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Write one table and print its size."""
    file = RUNS_FOLDER / name
    with file.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(columns)
        table.writerows(rows)
    print(f"{name}: {len(rows)} rows, {file.stat().st_size / 1e3:.0f} kB, {time.process_time():.0f} s", flush=True)


def places(name: str) -> list[float]:
    """Return the places of a slider of the page, as `notches` of controls.js does."""
    schema = RelationSettings.model_json_schema()["properties"][name]
    low, high, control = schema["minimum"], schema["maximum"], schema["control"]
    first, last = (math.log10(low), math.log10(high)) if control["log"] else (low, high)
    inside = [first + at * control["step"] for at in range(1, round((last - first) / control["step"]))]
    values = [float(f"{10**one:.3g}") if control["log"] else float(f"{one:.10g}") for one in inside]
    return sorted({low, high, schema["default"], *(one for one in values if low < one < high)})


def named(name: str, count: int) -> Any:
    """Return a relation of the page."""
    return named_relation(f"bipartite-{count - count // 2}-{count // 2}" if name == "bipartite" else name, count)


def interval_text(one: Estimate) -> tuple[str, ...]:
    """Return a number and its interval as text."""
    return tuple(f"{end:.6g}" for end in (one.value, one.low, one.high))


def bounds() -> list[tuple[object, ...]]:
    """Return the bound of each relation and number of elements, one row per train fraction."""
    rows: list[tuple[object, ...]] = []
    for name in RELATIONS:
        for count in ELEMENTS:
            curve = bound_curve(named(name, count), train_fraction=places("train_fraction"), repeats=REPEATS)
            assert all(point.exact_share == 1.0 for point in curve.points)
            rows += [
                (name, count, f"{point.train_fraction:g}", *interval_text(point.accuracy)) for point in curve.points
            ]
    return rows


def needed() -> list[tuple[object, ...]]:
    """Return the data needed of each relation and number of elements, one row per target.

    The same training sets occur for every target; the posterior of each is computed once.
    """
    rows: list[tuple[object, ...]] = []
    for name in RELATIONS:
        for count in ELEMENTS:
            relation, known = named(name, count), {}

            def cached(training_set: Any, *given: Any, known: dict[Any, Any] = known, **named: Any) -> Any:
                """Return the posterior of a training set, from the cache if it came before."""
                key = training_set.pairs.tobytes()
                if key not in known:
                    known[key] = posterior(training_set, *given, **named)
                return known[key]

            with mock.patch("genlaws.relations.inference.data_needed.posterior", cached):
                for target in places("target_accuracy"):
                    found = data_needed(relation, target_accuracy=target, repeats=REPEATS)
                    assert found.exact
                    rows.append((name, count, f"{target:g}", *interval_text(found.train_fraction)))
    return rows


def repons() -> list[tuple[object, ...]]:
    """Return the share of simulated pairs that merge, half their separation and the decoder drawn with width 1."""
    rows: list[tuple[object, ...]] = []
    for update in ("flow", "sign"):
        for dimension, outputs in SHAPES:
            for cluster in CLUSTERS if update == "flow" and dimension == 1 else (1,):
                for number, ratio in enumerate(RATIOS):
                    system = MergingCase(dimension, outputs, float(cluster), update).system(ratio)
                    seed = np.random.default_rng((dimension, outputs, cluster, number))
                    share = simulate_repons(system, draws=DRAWS, seed=seed, encoder_scale=np.sqrt(2.0)).collision
                    numbers = (f"{share.value:.4f}", f"{share.low:.4f}", f"{share.high:.4f}")
                    rows.append((update, dimension, outputs, cluster, ratio, *numbers))
    return rows


def sign_law() -> list[tuple[object, ...]]:
    """Return the law of sign updates against the ratio of the rates times that of the widths."""
    return [
        (outputs, f"{slope:.6g}", f"{float(sign_collision_probability(slope, 1.0, outputs=outputs)):.6g}")
        for outputs in SIGN_OUTPUTS
        for slope in SLOPES
    ]


def networks() -> list[tuple[object, ...]]:
    """Return means over networks: accuracy on the whole table, and the share that generalized."""
    rows: list[tuple[object, ...]] = []
    learned = bundled_table("relations.3").frame
    learned = learned[learned["mode"] != "bound"]
    names = ["relation", "mode", "depth", "width", "train_fraction"]
    for (relation, mode, depth, width, share), group in learned.groupby(names, sort=False):
        values = group["table_accuracy"].to_numpy()
        one = from_standard_error(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), len(values))
        numbers = (f"{one.value:.4f}", f"{one.low:.4f}", f"{min(1.0, one.high):.4f}")
        rows.append(("accuracy", relation, f"{mode} {depth}x{width}", share, *numbers, one.count))
    for one in bundled_table("relations.6").frame.itertuples():
        numbers = (f"{one.success:.4f}", f"{one.success_low:.4f}", f"{one.success_high:.4f}")
        rows.append(("success", one.optimizer, one.embedding_scale, one.ratio, *numbers, one.networks))
    return rows


def main() -> None:
    """Compute all tables."""
    numbers = ("value", "low", "high")
    write("relations_networks.csv", ("kind", "first", "second", "x", *numbers, "networks"), networks())
    write("relations_sign.csv", ("outputs", "slope", "probability"), sign_law())
    columns = ("update", "dimension", "outputs", "cluster", "ratio")
    write("relations_repons.csv", (*columns, *numbers), repons())
    write("relations_bound.csv", ("relation", "elements", "train_fraction", *numbers), bounds())
    write("relations_needed.csv", ("relation", "elements", "target_accuracy", *numbers), needed())


if __name__ == "__main__":
    main()
