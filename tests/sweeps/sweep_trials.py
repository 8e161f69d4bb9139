"""Experiments for tests, in a module that worker processes can import, and helpers around them.

What an experiment must remember between calls lies in the folder named by ``SWEEP_TRIALS``, because calls happen in
several processes.
"""

from __future__ import annotations

import math
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from genlaws.sweeps import Axis, Experiment, Procedure, Settings, Store, Sweep, make_sweep

FOLDER = "SWEEP_TRIALS"
HERE = Path(__file__).parent
LIMIT = 60.0  # seconds a condition may take on a busy machine; a test that passes waits far less


class Trial(Settings):
    """Settings of every kind a sweep may meet, and what the cell shall do."""

    x: float = 0.0
    n: int = 1
    label: str = "a"
    flag: bool = False
    size: int | None = None
    widths: tuple[int, ...] = (1, 2)
    deed: str = "compute"
    pause: float = 0.0


def note_call(settings: Trial, seed: int) -> None:
    if FOLDER in os.environ:
        with (Path(os.environ[FOLDER]) / "calls").open("a") as calls:
            calls.write(f"{settings.x} {settings.n} {settings.label} {settings.deed} {seed}\n")


def calls(folder: Path) -> Counter[str]:
    """Return how often each cell was computed."""
    file = folder / "calls"
    return Counter(file.read_text().splitlines()) if file.exists() else Counter()


def first_time(what: str) -> bool:
    """Return whether this is the first call."""
    try:
        (Path(os.environ[FOLDER]) / what).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def misbehave(settings: Trial, seed: int) -> None:
    deed = settings.deed
    if deed == "raise":
        raise ValueError("this cell cannot be computed")
    if deed == "raise-its-own":
        raise ValueError(f"cell {settings.x} cannot be computed")
    if deed == "raise-once" and first_time(f"raised-{seed}"):
        raise ValueError("this cell fails the first time")
    if deed == "leave":
        sys.exit(3)
    if deed == "wait" and settings.x > 5:
        wait_until((Path(os.environ[FOLDER]) / "go").exists, "the test that lets this cell go on")
    if deed == "die" or (deed == "die-once" and first_time(f"died-{seed}")):
        os._exit(7)
    if deed == "kill" or (deed == "kill-once" and first_time(f"killed-{seed}")):
        os.kill(os.getpid(), signal.SIGKILL)


def compute_cell(settings: Trial, seed: int) -> dict[str, Any]:
    """Return numbers and an array that follow from settings and seed alone, after a pause that does not."""
    note_call(settings, seed)
    misbehave(settings, seed)
    if settings.pause:
        with suppress(KeyboardInterrupt if settings.deed == "catch" else ()):
            time.sleep(settings.pause * random.SystemRandom().random())
    generator = np.random.default_rng(seed)
    draws = generator.standard_normal(5) * settings.x
    with np.errstate(invalid="ignore"):  # x may be infinite
        mean = draws.mean()
    return {
        "mean": mean,
        "count": np.int64(generator.integers(2**60, 2**62)),
        "positive": draws[0] > 0,
        "word": f"{settings.label}{seed % 7}",
        "draws": draws,
        "table": generator.integers(0, 100, (2, 3)),
    }


def compute_batch(settings: Sequence[Trial], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Return results that depend on which cells are in the batch, as sums in another order would."""
    for one, seed in zip(settings, seeds, strict=True):
        note_call(one, seed)
        misbehave(one, seed)
    time.sleep(max(one.pause for one in settings))
    together = float(np.random.default_rng(list(seeds)).random())
    return [{"value": together + one.x, "batch": len(seeds), "seeds": np.array(seeds)} for one in settings]


ODD: dict[str, Callable[[], Any]] = {
    "object array": lambda: {"a": np.array([None, {}], dtype=object)},
    "masked array": lambda: {"a": np.ma.masked_array([1.0, 2.0], [True, False])},
    "list": lambda: {"a": [1, 2]},
    "complex number": lambda: {"a": 1j},
    "bytes": lambda: {"a": b"raw"},
    "date array": lambda: {"a": np.array(["2026-01-01"], dtype="datetime64[D]")},
    "number as name": lambda: {1: 2.0},
    "not a mapping": lambda: 3.0,
    "endless integer": lambda: {"a": 10**5000},
}


def return_odd(settings: Trial, seed: int) -> Any:
    return ODD[settings.label]() if settings.label in ODD else {"a": 1.0}


def return_much(settings: Trial, seed: int) -> dict[str, Any]:
    return {"a": np.zeros(300_000)}


PLAIN = Procedure(Trial, compute_cell)
BATCHED = Procedure(Trial, run_batch=compute_batch, batch_size=4, dtype="float32", device="imagined")
ODDLY = Procedure(Trial, return_odd)

LARGE = Experiment("trial.large", "", "", "", Procedure(Trial, return_much))
TRIAL = Experiment("trial.plain", "A trial", "nobody", "nothing", "sweep_trials:PLAIN")
BATCH = Experiment("trial.batched", "A trial in batches", "nobody", "nothing", "sweep_trials:BATCHED")
ODDITY = Experiment("trial.odd", "A trial with odd results", "nobody", "nothing", "sweep_trials:ODDLY")


def trial_sweep(count: int = 6, repeats: int = 2, experiment: Experiment = TRIAL, **settings: Any) -> Sweep:
    """Return a sweep over `count` values of x."""
    return make_sweep(experiment, settings, [Axis("x", tuple(range(1, count + 1)))], repeats)


def deeds(*done: str, **settings: Any) -> Sweep:
    """Return a sweep in which each cell does something else, by its label."""
    return make_sweep(TRIAL, settings, [Axis("deed", done)])


def contents(folder: Path) -> list[tuple[Any, ...]]:
    """Return all that the finished cells hold, bit for bit: key, settings, repeat, numbers, arrays."""
    with Store(folder) as store:
        return [
            (
                cell.key,
                repr(cell.settings),
                cell.repeat,
                repr(cell.numbers),
                [(name, array.dtype.str, array.shape, array.tobytes()) for name, array in cell.arrays.items()],
            )
            for cell in store.cells()
        ]


def alike(one: Any, other: Any) -> bool:
    """Return whether two values are equal, NaN being equal to itself."""
    both = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return both or bool(one == other)


def wait_until(condition: Callable[[], Any], what: str, limit: float = LIMIT) -> Any:
    """Return what the condition gives as soon as it gives something."""
    until = time.monotonic() + limit
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"waited {limit:.0f} s in vain: {what}")
