"""What becomes of relation networks at each pair of learning rates, and the line beyond which they memorise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from genlaws.figures.progress import Progress
from genlaws.figures.relations_cells import (
    Fraction,
    NetworkFigureSettings,
    Rate,
    Scale,
    Steps,
    grouped,
    interval_columns,
    log_every,
    networks,
)
from genlaws.numerics.errors import InputError
from genlaws.numerics.intervals import Estimate
from genlaws.relations.phases import PHASES, fit_boundary, fit_threshold

Names = Annotated[tuple[str, ...], Field(min_length=1, max_length=3)]
Range = tuple[Rate, Rate]
PLANE = ["relation", "optimiser", "decoder_rate", "encoder_rate"]
CRITERIA = ("memorisation", "late")
LINE = ["relation", "decoder_decay", "decoder_rate", "encoder_rate"]


class PhaseSettings(NetworkFigureSettings):
    """A grid of learning rates for each relation and optimiser.

    The defaults are a reduced size for a processor. The paper's are 10 × 10 rates from 1e-5 to 1e-2, networks with
    three layers of 50 units, and 100,000 steps; grokking is then a delay of 1,000 steps, a hundredth of them.

    A fixed number of steps favours high rates. Beside the paper's phases the table therefore counts networks that are
    late: those that take more than `patience` times as long to generalise as to fit, or never do.
    """

    relations: Names = ("mod3", "less-than", "bipartite-15-15")
    optimisers: Annotated[tuple[str, ...], Field(min_length=1, max_length=3)] = ("adam",)
    grid: Annotated[int, Field(ge=2, le=100)] = 6
    adam_decoder_rates: Range = (1e-4, 1e-1)
    adam_encoder_rates: Range = (1e-4, 1e-1)
    sgd_decoder_rates: Range = (1e-1, 1e1)
    sgd_encoder_rates: Range = (1e-3, 1.0)
    patience: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 4.0
    train_fraction: Fraction = 0.75
    embedding_scale: Scale = 1.0
    width: Annotated[int, Field(ge=1, le=10_000)] = 20
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 3
    steps: Steps = 10_000


class DecaySettings(NetworkFigureSettings):
    """A grid of decoder weight decays and decoder rates at one encoder rate, with AdamW.

    The defaults are a reduced size for a processor; the paper's encoder rate is 1e-5, with 100,000 steps.
    """

    relations: Names = ("mod3", "less-than", "bipartite-15-15")
    decays: Annotated[tuple[Scale, ...], Field(min_length=1, max_length=30)] = (0.0, 0.1, 1.0, 10.0)
    grid: Annotated[int, Field(ge=2, le=100)] = 6
    decoder_rates: Range = (1e-4, 1e-1)
    encoder_rate: Rate = 1e-4
    patience: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 4.0
    train_fraction: Fraction = 0.75
    width: Annotated[int, Field(ge=1, le=10_000)] = 20
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 3
    steps: Steps = 10_000


def phase_data(settings: PhaseSettings, progress: Progress) -> pd.DataFrame:
    """Return how many networks are in each phase, by relation, optimiser and both rates."""
    tables = []
    for optimiser in settings.optimisers:
        kind = "sgd" if optimiser == "sgd" else "adam"
        ranges: dict[str, Range] = {part: getattr(settings, f"{kind}_{part}_rates") for part in ("encoder", "decoder")}
        axes: dict[str, Sequence[Any]] = {"relation": settings.relations}
        for part, (low, high) in ranges.items():
            axes[f"{part}_rate"] = np.geomspace(low, high, settings.grid).tolist()
        base = {**shared(settings), "optimiser": optimiser, "embedding_scale": settings.embedding_scale}
        tables.append(networks(base, axes, settings.repeats, settings.seed, progress))
    return counted(pd.concat(tables, ignore_index=True), PLANE, settings.patience)


def decay_data(settings: DecaySettings, progress: Progress) -> pd.DataFrame:
    """Return how many networks are in each phase, by relation, weight decay and decoder rate."""
    axes = {
        "relation": settings.relations,
        "decoder_decay": settings.decays,
        "decoder_rate": tuple(np.geomspace(*settings.decoder_rates, settings.grid).tolist()),
    }
    base = {**shared(settings), "optimiser": "adamw", "encoder_rate": settings.encoder_rate}
    return counted(networks(base, axes, settings.repeats, settings.seed, progress), LINE, settings.patience)


def shared(settings: PhaseSettings | DecaySettings) -> dict[str, object]:
    """Return what all networks of a plane have in common, as settings of the experiment."""
    return {
        "train_fraction": settings.train_fraction,
        "depth": settings.depth,
        "width": settings.width,
        "steps": settings.steps,
        "log_every": log_every(settings.steps),
        "grokking_delay": max(1, settings.steps // 100),
        "stop_at": 0.9,
        "device": settings.device,
    }


def counted(table: pd.DataFrame, by: list[str], patience: float) -> pd.DataFrame:
    """Return networks in each phase for each point, with the median times of those that got there."""
    rows = []
    for place, group in grouped(table, by):
        fitted = group["train_step"] >= 0
        late = fitted & ((group["test_step"] < 0) | (group["test_step"] > patience * group["train_step"].clip(lower=1)))
        rows.append(
            {
                **place,
                **{phase: int((group["phase"] == phase).sum()) for phase in PHASES},
                "late": int(late.sum()),
                "count": len(group),
                "median_train_step": group["train_step"].where(fitted).median(),
                "median_delay": group["delay"].median(),
                "mean_test_accuracy": group["test_accuracy"].mean(),
            }
        )
    return pd.DataFrame(rows)


def phase_summary(frame: pd.DataFrame, settings: PhaseSettings) -> pd.DataFrame:
    """Return the boundaries over all rates, and over the lower and the upper half of the decoder's alone.

    A law of gradient flow holds for small steps, if at all.
    """
    lower = frame["decoder_rate"] <= frame.groupby("optimiser")["decoder_rate"].transform(_middle)
    parts = {"all": frame, "lower": frame[lower], "upper": frame[~lower]}
    return pd.concat([boundaries(part).assign(rates=name) for name, part in parts.items()], ignore_index=True)


def _middle(rates: pd.Series) -> float:
    return math.sqrt(rates.min() * rates.max())


def boundaries(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the boundary of each relation and optimiser, of memorised and of late networks."""
    rows = [
        {**place, "criterion": criterion, **_boundary(group, criterion)}
        for place, group in grouped(frame, ["relation", "optimiser"])
        for criterion in CRITERIA
    ]
    return pd.DataFrame(rows)


def _boundary(group: pd.DataFrame, criterion: str) -> dict[str, Any]:
    """Return the fitted line of one criterion as columns; the counts alone if all networks are on one side."""
    told = _expanded(group, criterion)
    row: dict[str, Any] = {"networks": len(told), "confused": int(group["confusion"].sum())}
    try:
        found = fit_boundary(told["decoder_rate"], told["encoder_rate"], told["failed"])
    except InputError:
        return row
    return (
        row
        | interval_columns("slope", found.slope)
        | interval_columns("critical_ratio", found.critical_ratio)
        | dict(zip(("line_decoder_rate", "line_encoder_rate"), found.point, strict=True))
        | {"width_decades": found.width, "slope_may_be_1": found.agrees_with_unit_slope}
    )


def decay_summary(frame: pd.DataFrame, settings: DecaySettings) -> pd.DataFrame:
    """Return the decoder rate beyond which networks memorise, or are late, for each relation and weight decay."""
    rows = []
    for place, group in grouped(frame, ["relation", "decoder_decay"]):
        for criterion in CRITERIA:
            told = _expanded(group, criterion)
            row = {**place, "criterion": criterion, "networks": len(told), "confused": int(group["confusion"].sum())}
            enough = 2 * len(told) >= group["count"].sum()  # where most networks fit nothing, the others tell little
            rows.append(row | (_critical_rate(told) if enough else {}))
    return pd.DataFrame(rows)


def _critical_rate(told: pd.DataFrame) -> dict[str, float]:
    """Return the rate beyond which every other network fails, rising; not a number if it lies outside those tried."""
    nowhere = interval_columns("critical_decoder_rate", Estimate(math.nan))
    rates, failed = told["decoder_rate"].to_numpy(), told["failed"].to_numpy(dtype=bool)
    if failed.all() or not failed.any() or np.log(rates[failed]).mean() <= np.log(rates[~failed]).mean():
        return nowhere
    with suppress(InputError):
        found = fit_threshold(rates, failed)
        if rates.min() / 2 <= found.value <= 2 * rates.max():
            return interval_columns("critical_decoder_rate", found)
    return nowhere


def _expanded(group: pd.DataFrame, criterion: str) -> pd.DataFrame:
    """Return one row for each network that fitted what it was shown, and whether it meets a criterion."""
    failed = group[criterion].to_numpy()
    fitted = (group["count"] - group["confusion"]).to_numpy()
    rates = group[["decoder_rate", "encoder_rate"]]
    told = [
        rates.loc[np.repeat(rates.index.to_numpy(), counts)].assign(failed=truth)
        for counts, truth in ((failed, True), (fitted - failed, False))
    ]
    return pd.concat(told, ignore_index=True)
