"""Where tasks are computed: in this process, in several, or on a dask cluster.

An engine takes tasks from an iterator when it has room and yields outcomes as they finish. It never holds more than a
few tasks per worker, so memory does not grow with the number of cells.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

from genlaws.core.arguments import whole_number
from genlaws.core.errors import InputError
from genlaws.sweeps.processes import block_sigint
from genlaws.sweeps.tasks import CellOutcome, CellTask, SweepStoppedError, compute, failed

TASKS_PER_THREAD = 4  # of a cluster, running or waiting
CONNECT_TIMEOUT_SECONDS = 10  # to reach a scheduler
WORKER_COUNT_SECONDS = 1.0  # between two counts of a cluster's workers

DoneTask = tuple[int, list[CellOutcome]]
"""Number of the task, and its outcomes."""


class Engine(Protocol):
    """Computes tasks; a context manager."""

    def results(self, tasks: Iterator[CellTask]) -> Iterator[DoneTask]:
        """Yield the number of each task, counted from 0 as they are taken, and its outcomes, in any order."""

    def __enter__(self) -> Engine:
        """Start the workers."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop the workers."""


class InProcess:
    """One task after the other in this process."""

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, *error: object) -> None:
        return

    def results(self, tasks: Iterator[CellTask]) -> Iterator[DoneTask]:
        """Yield the outcomes of one task after the other."""
        for number, task in enumerate(tasks):
            yield number, compute(task)


class DaskCluster:
    """A dask cluster: a running one, by the address of its scheduler, or one started on this machine.

    Parameters
    ----------
    address : str, optional
        Such as ``tcp://10.0.0.1:8786``. Workers need the same version of genlaws.
    jobs : int
        Workers of a cluster on this machine, if no address is given.
    """

    def __init__(self, address: str | None = None, jobs: int = 2) -> None:
        self.address = address
        self.jobs = whole_number("jobs", jobs, at_least=1, at_most=1024)
        self._client: Any = None  # dask has no type hints
        self._cluster: Any = None
        self._room, self._counted_at = 0, float("-inf")

    def __enter__(self) -> DaskCluster:
        try:
            distributed: Any = import_module("distributed")  # it has no type hints
        except ImportError:
            raise InputError(
                "A dask cluster needs dask.distributed; install it with pip install 'genlaws[cluster]'."
            ) from None
        try:
            if self.address is None:
                with block_sigint():
                    self._cluster = distributed.LocalCluster(
                        n_workers=self.jobs, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1"
                    )
            self._client = distributed.Client(
                self._cluster or self.address, timeout=CONNECT_TIMEOUT_SECONDS, set_as_default=False
            )
        except (OSError, ValueError, TypeError) as error:
            self.__exit__()
            raise InputError(f"There is no dask scheduler at {self.address!r}: {error}") from None
        return self

    def __exit__(self, *error: object) -> None:
        client, cluster, self._client, self._cluster = self._client, self._cluster, None, None
        if client is not None:
            client.close()
        if cluster is not None:
            cluster.close()

    def results(self, tasks: Iterator[CellTask]) -> Iterator[DoneTask]:
        """Yield outcomes as the workers finish; the scheduler reassigns tasks of lost workers.

        Dask blames every task of a lost worker, including those that only waited. So a task that dask gives up is tried
        once more when nothing else runs, and fails only if workers are lost again.
        """
        suspects: list[tuple[int, CellTask]] = []
        for number, task, outcomes in self._computed(enumerate(tasks)):
            if outcomes is None:
                suspects.append((number, task))
            else:
                yield number, outcomes
        for suspect in suspects:
            for number, task, outcomes in self._computed(iter([suspect])):
                yield number, outcomes or failed(task, "WorkerDied: dask lost several workers over this task.")

    def _computed(
        self, numbered: Iterator[tuple[int, CellTask]]
    ) -> Iterator[tuple[int, CellTask, list[CellOutcome] | None]]:
        """Yield number, task and outcomes; None for the outcomes if workers died."""
        distributed: Any = import_module("distributed")
        waiting: dict[Any, tuple[int, CellTask]] = {}
        completed = distributed.as_completed(loop=self._client.loop)
        while True:
            while len(waiting) < self._room_now():
                following = next(numbered, None)
                if following is None:
                    break
                future = self._client.submit(compute, following[1], pure=False)
                waiting[future] = following
                completed.add(future)
            if not waiting:
                return
            future = next(completed)
            number, task = waiting.pop(future)
            outcomes = self._outcomes(distributed, future, task)
            future.release()
            yield number, task, outcomes

    def _outcomes(self, distributed: Any, future: Any, task: CellTask) -> list[CellOutcome] | None:
        try:
            outcomes: list[CellOutcome] = future.result()
        except distributed.KilledWorker:
            return None
        except Exception as error:
            if future.status == "error":  # raised by the task, such as on a worker without the experiment's code
                return failed(task, f"{type(error).__name__}: {error}")
            raise SweepStoppedError(
                f"The connection to the dask scheduler at {self._client.scheduler.address!r} was lost. Finished "
                "cells are stored; run the same command again when the cluster is back."
            ) from error
        return outcomes

    def _room_now(self) -> int:
        """Return how many tasks the cluster should hold; its number of workers may have changed."""
        if time.monotonic() - self._counted_at > WORKER_COUNT_SECONDS:
            workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
            self._room = TASKS_PER_THREAD * max(1, sum(worker["nthreads"] for worker in workers))
            self._counted_at = time.monotonic()
        return self._room
