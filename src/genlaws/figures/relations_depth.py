"""Networks of different depth on few entries: where between too shallow and too deep they generalise."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from genlaws.figures.progress import Progress
from genlaws.figures.relations_cells import (
    Depth,
    Fraction,
    NetworkFigureSettings,
    Rate,
    Steps,
    Width,
    grouped,
    log_every,
    mean_columns,
    networks,
    share_columns,
)

# Read from the paper's Figure 7: hidden layers, train and test accuracy of what looks like one network each.
PAPER_POINTS = (
    *((0, 0.76, 0.465), (2, 0.97, 0.84), (3, 1.0, 0.985), (5, 1.0, 0.855)),
    *((8, 1.0, 1.0), (10, 1.0, 0.955), (15, 1.0, 0.71), (20, 0.985, 0.555)),
)
PAPER_WIDTH = 10
PAPER_BAND = (3, 10)  # hidden layers shaded in the figure


class DepthSettings(NetworkFigureSettings):
    """Hidden layers, and a few widths; the paper has one network of width 10 at each depth, on 30 % of the entries."""

    relation: str = "mod3"
    depths: Annotated[tuple[Depth, ...], Field(min_length=1, max_length=30)] = (0, 1, 2, 3, 5, 8, 10, 15, 20)
    widths: Annotated[tuple[Width, ...], Field(min_length=1, max_length=4)] = (10,)
    train_fraction: Fraction = 0.3
    learning_rate: Rate = 3e-3
    repeats: Annotated[int, Field(ge=2, le=10_000)] = 20
    target: Fraction = 0.9
    steps: Steps = 3000


def depth_data(settings: DepthSettings, progress: Progress) -> pd.DataFrame:
    """Return mean accuracies and the share of networks that generalise, by width and depth."""
    base = {
        "relation": settings.relation,
        "train_fraction": settings.train_fraction,
        "encoder_rate": settings.learning_rate,
        "decoder_rate": settings.learning_rate,
        "steps": settings.steps,
        "log_every": log_every(settings.steps),
        "target": settings.target,
        "device": settings.device,
    }
    axes = {"width": settings.widths, "depth": settings.depths}
    table = networks(base, axes, settings.repeats, settings.seed, progress)
    rows = []
    for place, group in grouped(table, ["width", "depth"]):
        rows.append(
            {
                **place,
                **mean_columns("train_accuracy", group["train_accuracy"]),
                **mean_columns("test_accuracy", group["test_accuracy"]),
                "test_accuracy_worst": group["test_accuracy"].min(),
                "test_accuracy_best": group["test_accuracy"].max(),
                **share_columns("success", group["test_accuracy"] > settings.target),
                **share_columns("fitted", group["train_accuracy"] > settings.target),
                "majority_accuracy": group["majority_accuracy"].iloc[0],
                "networks": len(group),
            }
        )
    return pd.DataFrame(rows)


def depth_summary(frame: pd.DataFrame, settings: DepthSettings) -> pd.DataFrame:
    """Return for each width the depths at which more than half of the networks generalise.

    A depth is inside the band if the whole Wilson interval of its share lies above one half, outside if all of it lies
    below, and open otherwise. ``band_low`` and ``band_high`` are the ends of the longest run of measured depths
    that are all inside (the shallower of two equal runs; not a number if no depth is inside), and ``inside``,
    ``open`` and ``outside`` count the depths, so that a hole in the band is seen. The paper's band is
    ``"contained"`` if every measured depth of it is in ours, ``"contradicted"`` if one of them is outside, and
    ``"open"`` if too few networks were trained to tell.
    """
    rows = []
    for place, group in grouped(frame, ["width"]):
        table = group.sort_values("depth")
        depth = table["depth"].to_numpy()
        inside, outside = table["success_low"].to_numpy() > 0.5, table["success_high"].to_numpy() < 0.5
        low, high = _longest_run(depth, inside)
        of_paper = (depth >= PAPER_BAND[0]) & (depth <= PAPER_BAND[1])
        contained = bool(of_paper.any() and ((depth >= low) & (depth <= high))[of_paper].all())
        contradicted = bool(outside[of_paper].any())
        rows.append(
            place
            | {"band_low": low, "band_high": high}
            | {"inside": int(inside.sum()), "open": int((~inside & ~outside).sum()), "outside": int(outside.sum())}
            | {"paper_band": "contained" if contained else "contradicted" if contradicted else "open"}
            | {"best_depth": int(depth[table["success"].to_numpy().argmax()]), "success": table["success"].max()}
        )
    return pd.DataFrame(rows)


def _longest_run(depth: NDArray[np.int64], inside: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the first and last depth of the longest run of neighbours that are inside."""
    runs = [list(run) for is_inside, run in groupby(range(len(depth)), key=lambda place: inside[place]) if is_inside]
    if not runs:
        return float("nan"), float("nan")
    longest = max(runs, key=len)
    return float(depth[longest[0]]), float(depth[longest[-1]])
