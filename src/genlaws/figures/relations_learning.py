"""Learning curves of relation networks: beside the exact bound, at several sizes, and with wrong labels."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from genlaws.figures.progress import Progress
from genlaws.figures.relations_cells import (
    Fraction,
    NetworkFigureSettings,
    Rate,
    Steps,
    grouped,
    interval_columns,
    mean_columns,
    networks,
    share_columns,
    threshold_columns,
)
from genlaws.numerics.intervals import Estimate
from genlaws.relations.bayes_bound import posterior
from genlaws.relations.description_length import description_length_exact
from genlaws.relations.families import named_relation
from genlaws.relations.hypotheses import hypotheses_of
from genlaws.relations.induction_gap import induction_gap
from genlaws.relations.training_set import draw_order, training_set_of

# Mode, hidden layers, units, dimension of the embeddings.
Architecture = tuple[str, Annotated[int, Field(ge=0, le=100)], Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
Shares = Annotated[tuple[Fraction, ...], Field(min_length=2, max_length=60)]
BOUND = "bound"
NORMAL = 1.959963984540054  # standard deviations from the middle of a normal law to the ends of its 95 %
ARCHITECTURE = ["mode", "depth", "width", "dimension"]


class CurveSettings(NetworkFigureSettings):
    """Architectures against train fractions; the defaults are a reduced size for a processor."""

    relations: Annotated[tuple[str, ...], Field(min_length=1, max_length=3)] = ("mod3", "less-than")
    architectures: Annotated[tuple[Architecture, ...], Field(min_length=1, max_length=8)] = (
        ("concatenate", 3, 50, 2),
        ("concatenate", 1, 50, 2),
        ("difference", 2, 50, 2),
        ("difference", 0, 1, 2),
        ("squared_difference", 2, 50, 2),
        ("squared_difference", 0, 1, 2),
    )
    train_fractions: Shares = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
    learning_rate: Rate = 1e-2
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 5
    bound_repeats: Annotated[int, Field(ge=2, le=1000)] = 20
    target: Fraction = 0.9
    steps: Steps = 2000


class SizeSettings(NetworkFigureSettings):
    """Relations of several sizes, each shown the same numbers of entries for each element."""

    relation: str = "mod3"
    sizes: Annotated[tuple[Annotated[int, Field(ge=4, le=1000)], ...], Field(min_length=2, max_length=6)] = (30, 60)
    entries_per_element: Annotated[tuple[Rate, ...], Field(min_length=2, max_length=40)] = (2.0, 4.0, 6.0, 8.0, 12.0)
    learning_rate: Rate = 1e-2
    target: Fraction = 0.9
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 5
    width: Annotated[int, Field(ge=1, le=10_000)] = 20
    steps: Steps = 2000


class NoiseSettings(NetworkFigureSettings):
    """A share of the shown labels turned round."""

    relation: str = "mod3"
    noises: Annotated[tuple[Annotated[float, Field(ge=0, le=0.5)], ...], Field(min_length=1, max_length=8)] = (
        *(0.0, 0.05, 0.1, 0.2),
    )
    train_fractions: Shares = (0.1, 0.2, 0.3, 0.5, 0.75)
    learning_rate: Rate = 1e-2
    target: Fraction = 0.9
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 5
    width: Annotated[int, Field(ge=1, le=10_000)] = 20
    steps: Steps = 2000


def curve_data(settings: CurveSettings, progress: Progress) -> pd.DataFrame:
    """Return one row for each network and for each training set of the bound: its accuracy on the whole table."""
    tables = []
    for mode, depth, width, dimension in settings.architectures:
        base = _shared(settings) | {"mode": mode, "depth": depth, "width": width, "dimension": dimension}
        axes = {"relation": settings.relations, "train_fraction": settings.train_fractions}
        table = networks(base, axes, settings.repeats, settings.seed, progress)
        tables.append(table[["relation", *ARCHITECTURE, "train_fraction", "table_accuracy", "test_accuracy"]])
    for name in settings.relations:
        tables.append(_bound(name, settings))
    found = pd.concat(tables, ignore_index=True)
    return found.assign(run=found.groupby(["relation", *ARCHITECTURE, "train_fraction"], sort=False).cumcount())


def _bound(name: str, settings: CurveSettings) -> pd.DataFrame:
    """Return the best accuracy along growing random training sets."""
    relation = named_relation(name)
    rows = []
    for repeat in range(settings.bound_repeats):
        generator = np.random.default_rng([settings.seed, repeat])
        order = draw_order(relation.element_count, generator)
        for share in settings.train_fractions:
            seen = training_set_of(relation, order[: round(share * relation.pair_count)])
            law = posterior(seen, hypotheses_of(relation), truth=relation, seed=generator)
            numbers = {"table_accuracy": law.accuracy, "test_accuracy": law.unseen_accuracy}
            rows.append({"relation": name, "mode": BOUND, "train_fraction": share, **numbers})
    return pd.DataFrame(rows).assign(depth=0, width=0, dimension=0)


def curve_summary(frame: pd.DataFrame, settings: CurveSettings) -> pd.DataFrame:
    """Return the induction gap of each architecture: area, and how many more entries it needs for the target."""
    rows = []
    for place, all_of_it in grouped(frame, ["relation"]):
        best = _matrix(all_of_it[all_of_it["mode"] == BOUND])
        learners = all_of_it[all_of_it["mode"] != BOUND]
        for architecture, group in grouped(learners, ARCHITECTURE):
            gap = induction_gap(
                sorted(set(group["train_fraction"])),
                _matrix(group),
                best,
                target_accuracy=settings.target,
                seed=settings.seed,
            )
            row: dict[str, Any] = {**place, **architecture}
            for part in ("area", "network_fraction", "bound_fraction", "shift", "ratio"):
                row |= interval_columns(part, getattr(gap, part))
            rows.append(row | {"target_accuracy": gap.target_accuracy, "networks": gap.network_count})
    return pd.DataFrame(rows)


def _matrix(table: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return accuracies with a row for each run and a column for each train fraction."""
    return table.pivot_table(index="run", columns="train_fraction", values="table_accuracy").to_numpy()


def size_data(settings: SizeSettings, progress: Progress) -> pd.DataFrame:
    """Return accuracies and the share of networks that generalise by size and entries for each element."""
    rows = []
    for size in settings.sizes:
        shares = {one / size: one for one in settings.entries_per_element if one < 0.95 * size}
        base = _shared(settings) | {"relation": settings.relation, "depth": settings.depth, "width": settings.width}
        axes = {"elements": (size,), "train_fraction": tuple(shares)}
        table = networks(base, axes, settings.repeats, settings.seed, progress)
        for place, group in grouped(table, ["elements", "train_fraction"]):
            rows.append(
                {
                    **place,
                    "entries_per_element": shares[place["train_fraction"]],
                    **mean_columns("table_accuracy", group["table_accuracy"]),
                    **mean_columns("test_accuracy", group["test_accuracy"]),
                    **share_columns("success", group["test_accuracy"] > settings.target),
                    "networks": len(group),
                }
            )
    return pd.DataFrame(rows)


def size_summary(frame: pd.DataFrame, settings: SizeSettings) -> pd.DataFrame:
    """Return the critical number of entries, at which every other network generalises, for each size.

    Beside it are the bits that describe the relation for each entry of its table, and the exponent of the critical
    share in the number of elements; -1 is as many entries for each element at every size.
    """
    rows = []
    for place, group in grouped(frame, ["elements"]):
        entries = threshold_columns("critical_entries_per_element", group, "entries_per_element")
        shares = threshold_columns("critical_fraction", group, "train_fraction")
        relation = named_relation(settings.relation, int(place["elements"]))
        bits = description_length_exact(relation)
        about = {"description_length": bits, "bits_per_entry": bits / relation.pair_count}
        rows.append(place | entries | shares | about | {"networks": int(group["networks"].sum())})
    table = pd.DataFrame(rows)
    return table.assign(**interval_columns("exponent", size_exponent(table)))


def size_exponent(table: pd.DataFrame) -> Estimate:
    """Return the exponent of the critical share in the number of elements, by weighted least squares of logarithms.

    A size weighs as the width of its interval says, a normal one in the logarithm; sizes without a finite interval are
    left out, and fewer than two make no exponent.
    """
    low, high = (np.log(table[f"critical_fraction{end}"].to_numpy()) for end in ("_low", "_high"))
    error = (high - low) / (2.0 * NORMAL)
    known = np.isfinite(error) & (error > 0)
    if known.sum() < 2:
        return Estimate(math.nan, count=int(known.sum()))
    x, y = np.log(table["elements"].to_numpy()[known]), np.log(table["critical_fraction"].to_numpy()[known])
    weight = error[known] ** -2.0
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    spread = float((weight * x**2).sum())
    slope, half = float((weight * x * y).sum()) / spread, NORMAL * spread**-0.5
    return Estimate(slope, slope - half, slope + half, int(known.sum()))


def noise_data(settings: NoiseSettings, progress: Progress) -> pd.DataFrame:
    """Return accuracies by noise and train fraction; on what was shown they count the relation, not the noise."""
    base = _shared(settings) | {"relation": settings.relation, "depth": settings.depth, "width": settings.width}
    axes = {"label_noise": settings.noises, "train_fraction": settings.train_fractions}
    table = networks(base, axes, settings.repeats, settings.seed, progress)
    rows = []
    for place, group in grouped(table, ["label_noise", "train_fraction"]):
        rows.append(
            {
                **place,
                **mean_columns("train_accuracy", group["train_accuracy"]),
                **mean_columns("test_accuracy", group["test_accuracy"]),
                **share_columns("success", group["test_accuracy"] > settings.target),
                "majority_accuracy": group["majority_accuracy"].iloc[0],
                "networks": len(group),
            }
        )
    return pd.DataFrame(rows)


def _shared(settings: CurveSettings | SizeSettings | NoiseSettings) -> dict[str, Any]:
    return {
        "encoder_rate": settings.learning_rate,
        "decoder_rate": settings.learning_rate,
        "target": settings.target,
        "steps": settings.steps,
        "log_every": settings.steps,
        "device": settings.device,
    }
