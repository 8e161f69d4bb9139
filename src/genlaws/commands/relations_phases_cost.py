"""What ``genlaws relations phases`` will cost on this machine, from a short timing."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from genlaws.experiments import Sweep
    from genlaws.experiments.grid import Cell

FEW, MANY = 20, 120  # steps; the difference leaves out what happens once
LONG = 2.0  # seconds after which the few steps have said enough


@dataclass(frozen=True)
class Cost:
    """What is left to compute.

    Attributes
    ----------
    networks, networks_done : int
        To train, and kept from before.
    network_steps : int
        Updates of single networks, at most: a network leaves when it generalises.
    seconds_per_step : float
        Of one stack of networks; 0 if nothing is left.
    minutes : float
        At most, with the processes asked for.
    """

    networks: int
    networks_done: int
    network_steps: int
    seconds_per_step: float
    minutes: float


def estimate_cost(sweep: Sweep, folder: Path | None, jobs: int) -> Cost:
    """Return the cost of the cells of a sweep that the folder does not hold yet."""
    missing = _missing(sweep, folder)
    if not missing:
        return Cost(0, sweep.total, 0, 0.0, 0.0)
    together = min(len(missing), sweep.experiment.load().cells_together(sweep.settings))
    steps: int = missing[0].settings.steps  # type: ignore[attr-defined]
    seconds = _seconds_per_step(sweep, missing[:together])
    rounds = math.ceil(math.ceil(len(missing) / together) / jobs)
    return Cost(
        len(missing), sweep.total - len(missing), len(missing) * steps, seconds, rounds * steps * seconds / 60.0
    )


def _missing(sweep: Sweep, folder: Path | None) -> list[Cell]:
    from genlaws.experiments import Store

    cells = list(sweep.cells())
    place = None if folder is None else folder / "cells" / sweep.experiment.name
    if place is None or not (place / "sweep.sqlite").is_file():
        return cells
    with Store(place) as store:
        return [cell for cell in cells if not store.is_done(cell.key)]


def _seconds_per_step(sweep: Sweep, cells: list[Cell]) -> float:
    """Train one stack for a moment and return what a step takes, measurements included."""

    def spent(steps: int) -> float:
        """Return the seconds of a training without an early end."""
        settings = [cell.settings.model_copy(update={"steps": steps, "stop_at": None}) for cell in cells]
        begun = time.perf_counter()
        sweep.experiment.load().compute(settings, [cell.seed for cell in cells])
        return time.perf_counter() - begun

    spent(1)  # loads what is loaded once
    few = spent(FEW)
    if few > LONG:
        return few / FEW
    return max(spent(MANY) - few, 0.0) / (MANY - FEW)
