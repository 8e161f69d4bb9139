"""What does a sweep add to each cell: keys, seeds, commits, and the way to a worker process and back?

python benchmarks/sweep_overhead.py
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from one_thread import require_one_thread

from genlaws.sweeps import Axis, Experiment, InProcess, Procedure, Processes, Settings, make_sweep, run_sweep

CELLS, REPEATS = 10_000, 3
ARRAY_SIZE = 100  # numbers
TARGET_MS = {"here": 1.0, "two processes": 3.0}  # a cell


class Trivial(Settings):
    x: int = 0
    scale: float = 1.0
    label: str = "a"


def number(settings, seed):
    return {"value": settings.x * settings.scale, "seed": seed}


def number_and_array(settings, seed):
    return {
        "value": settings.x * settings.scale,
        "seed": seed,
        "array": np.full(ARRAY_SIZE, settings.x * settings.scale),
    }


FUNCTIONS = {"a number": number, f"a number and {ARRAY_SIZE} in an array": number_and_array}


def trivial_sweep(function):
    # A module that runs as a program has another name in worker processes, so the procedure is sent as it is.
    experiment = Experiment("benchmark.trivial", "", "", "", Procedure(Trivial, function))
    return make_sweep(experiment, {}, [Axis("x", tuple(range(CELLS)))])


def bare_loop(function):
    """Compute the same cells and store nothing."""
    cells = [(Trivial(x=x), x) for x in range(CELLS)]
    start = time.perf_counter()
    for settings, seed in cells:
        function(settings, seed)
    return time.perf_counter() - start


def whole_sweep(function, engine):
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        report = run_sweep(trivial_sweep(function), folder=Path(folder) / "sweep", engine=engine)
        seconds = time.perf_counter() - start
        assert report.computed == CELLS
        start = time.perf_counter()
        assert run_sweep(trivial_sweep(function), folder=Path(folder) / "sweep").reused == CELLS
        return seconds, time.perf_counter() - start


def main():
    require_one_thread()
    engines = {"here": InProcess(), "two processes": Processes(2)}
    print(f"{CELLS:,} trivial cells, medians of {REPEATS} alternating repeats; ms a cell")
    print(f"{'':34}{'bare loop':>10}{'':4}{'engine':16}{'overhead':>9}{'to bare':>9}{'look again':>11}")
    missed = []
    for what, function in FUNCTIONS.items():
        bare, times = [], {name: [] for name in engines}
        for _ in range(REPEATS):
            bare.append(bare_loop(function))
            for name, engine in engines.items():
                times[name].append(whole_sweep(function, engine))
        loop = 1e3 * median(bare) / CELLS
        for name in engines:
            whole, again = (1e3 * median(column) / CELLS for column in zip(*times[name], strict=True))
            print(f"{what:34}{loop:10.4f}{'':4}{name:16}{whole - loop:9.3f}{whole / loop:9.0f}{again:11.3f}")
            missed += [(what, name)] if whole - loop > TARGET_MS[name] else []
    targets = ", ".join(f"{name} {most:g} ms" for name, most in TARGET_MS.items())
    print(f"targets: {targets}: {'NOT reached by ' + str(missed) if missed else 'reached'}")


if __name__ == "__main__":
    main()
