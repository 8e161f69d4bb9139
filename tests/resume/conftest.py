"""Make the experiments for tests importable, and drive the command line as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

TRIALS = Path(__file__).parents[1] / "sweeps"
sys.path.insert(0, str(TRIALS))

LIMIT = 120.0  # seconds a driver may take on a busy machine


@dataclass
class Driver:
    """A running command; what it says is in a file, line by line."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text()

    @property
    def reported(self) -> int:
        """The largest number of cells it has reported as done."""
        return max((int(done) for done in re.findall(r": (\d+)/\d+ cells", self.said)), default=0)

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def wait(self) -> int:
        return self.process.wait(LIMIT)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Return the folder where the experiments of drivers note what they did."""
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@pytest.fixture
def drive(tmp_path: Path, notes: Path):
    """Return a function that starts ``genlaws`` with the experiments for tests."""
    started: list[Driver] = []

    def start(*arguments: str | Path, before: Callable[[], None] | None = None) -> Driver:
        log = tmp_path / f"driver-{len(started)}.log"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SWEEP_TRIALS": str(notes)}
        command = [sys.executable, "-m", "sweep_driver", *map(str, arguments)]
        with log.open("wb") as stream:
            # Between fork and exec `before` calls the system alone, so threads of the test do no harm.
            process = subprocess.Popen(command, stdout=stream, stderr=stream, env=environment, preexec_fn=before)  # noqa: PLW1509
        started.append(Driver(process, log))
        return started[-1]

    yield start
    for driver in started:
        if not driver.ended:
            driver.process.kill()
            driver.process.wait()
