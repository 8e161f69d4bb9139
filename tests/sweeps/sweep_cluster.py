"""A dask cluster of separate processes on this machine: a scheduler and workers that outlive whoever uses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sweep_trials import FOLDER, HERE, wait_until


@dataclass
class Cluster:
    folder: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.dask_{kind}",
            "--dashboard-address",
            "127.0.0.1:0",
            *arguments,
        ]
        quick = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}  # a result on a killed worker is given up sooner
        environment = {
            **os.environ,
            **quick,
            FOLDER: str(self.folder),
            "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
        }
        with (self.folder / f"{kind}.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.folder)

    def start_scheduler(self) -> None:
        known = self.folder / "scheduler.json"
        known.unlink(missing_ok=True)
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(known))
        self.address = wait_until(lambda: known.exists() and address_in(known), "the scheduler")

    def start_worker(self, *, nanny: bool = False) -> subprocess.Popen[bytes]:
        options = ["--nanny" if nanny else "--no-nanny", "--local-directory", str(self.folder)]
        worker = self.start("worker", self.address, "--nthreads", "1", "--host", "127.0.0.1", *options)
        self.workers.append(worker)
        return worker

    def close(self) -> None:
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            process.kill()
            process.wait()


def address_in(file: Path) -> str:
    try:
        return str(json.loads(file.read_text())["address"])
    except json.JSONDecodeError:  # still being written
        return ""


@contextmanager
def cluster_of(folder: Path, workers: int, *, nanny: bool = False) -> Iterator[Cluster]:
    """Start a scheduler and workers; inside, the cluster is ready to take connections."""
    cluster = Cluster(folder)
    try:
        cluster.start_scheduler()
        for _ in range(workers):
            cluster.start_worker(nanny=nanny)
        yield cluster
    finally:
        cluster.close()
