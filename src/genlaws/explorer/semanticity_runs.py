"""Runs shown beside the theory of semanticity: simulated choices, ReLU networks, and a language model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from genlaws.explorer.kept_rows import kept_rows
from genlaws.explorer.semanticity_theory import Asked
from genlaws.figures.kept import kept_table

TESTS = ("generalisation", "identification")
SIZES = {"sphere": (2,), "torus": (2,), "hypercube": (10,)}  # of the spaces in which choices were simulated
EXPONENT = 2.0
TEMPLATE = "list"  # the words in which the model does best


@dataclass(frozen=True)
class Run:
    """One measured pair: each test with its interval, the resolution as a share of the largest distance, and a note."""

    share: float
    generalisation: tuple[float, float, float]
    identification: tuple[float, float, float]
    note: str


def simulated_choices(asked: Asked) -> list[Run]:
    """Return simulated choices with the same space, similarity, background and number of items, if there are any."""
    if asked.sizes != SIZES.get(asked.space, ()) or asked.exponent not in {None, EXPONENT}:
        return []
    same = (asked.space, asked.similarity, asked.background, asked.item_count)
    return [
        _run(row, "20,000 simulated choices of each kind")
        for row in kept_rows("semanticity.csv")
        if row["source"] == "choices"
        and (row["space"], row["similarity"], float(row["background"]), int(row["item_count"])) == same
    ]


def relu_networks(asked: Asked) -> list[Run]:
    """Return the paper's networks along their training, if they learned this space and there are two items."""
    if asked.item_count != 2:
        return []
    rows = (row for row in kept_rows("semanticity.csv") if row["source"] == "networks" and row["space"] == asked.space)
    return [_run(row, f"mean of 10 networks after {int(row['step']):,} steps") for row in rows]


def _run(row: dict[str, str], note: str) -> Run:
    generalisation, identification = (
        (float(row[test]), float(row[f"{test}_low"]), float(row[f"{test}_high"])) for test in TESTS
    )
    return Run(float(row["share"]), generalisation, identification, note)


@cache
def language_model(test: str) -> tuple[tuple[int, float, float, float], ...]:
    """Return number of items, rate and interval of SmolLM2, asked about years, for generalisation or identification."""
    kind = "similarity" if test == "generalisation" else test
    frame = kept_table("semanticity.years").frame
    rows = frame[(frame["template"] == TEMPLATE) & (frame["what"] == kind)]
    columns = (rows[name].tolist() for name in ("item_count", "value", "low", "high"))
    return tuple((int(n), float(value), float(low), float(high)) for n, value, low, high in zip(*columns, strict=True))
