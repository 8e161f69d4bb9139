"""Where tasks are computed: in this process, in several, or on a dask cluster.

An engine takes tasks from an iterator when it has room and yields outcomes as they finish. It never holds more than a
few tasks per worker, so memory does not grow with the number of cells.

A process computes its tasks in order, so when it dies the task that it was computing is known. Tasks that only waited
behind that one are given to other processes and are not blamed.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any, Protocol, runtime_checkable

from genlaws.core.arguments import whole_number
from genlaws.core.errors import InputError
from genlaws.sweeps.tasks import CellOutcome, CellTask, SweepStoppedError, compute, failed

TASKS_PER_THREAD = 4  # of a cluster, running or waiting
CONNECT_TIMEOUT_SECONDS = 10  # to reach a scheduler
WORKER_COUNT_SECONDS = 1.0  # between two counts of a cluster's workers
TASKS_PER_WORKER = 4  # running or waiting, while tasks are short
SHORT_TASK_SECONDS = 0.05  # longer tasks are given out one by one, so that none waits while a worker is idle
MAX_WORKER_DEATHS = 2  # at the same task, before it counts as failed; a single death may be chance
MAX_FAILED_STARTS = 3  # in a row, before the sweep stops
DRIVER_CHECK_SECONDS = 1.0  # between two checks that the driver is alive
STOP_TIMEOUT_SECONDS = 5.0  # for a worker to end
END_MESSAGE = b""
CAN_BLOCK_SIGNALS = hasattr(signal, "pthread_sigmask")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

DoneTask = tuple[int, list[CellOutcome]]
"""Number of the task, and its outcomes."""


@runtime_checkable
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


@dataclass(frozen=True)
class _Given:
    """A task, its number, and how many workers died while computing it."""

    number: int
    task: CellTask
    deaths: int = 0


class Processes:
    """Several processes of this machine, each with one thread.

    Parameters
    ----------
    jobs : int
        Number of processes. A script that uses them needs the guard ``if __name__ == "__main__":``.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = whole_number("jobs", jobs, at_least=1, at_most=1024)
        self._workers: list[_Worker] = []
        self._failed_starts = 0
        self._room = 1

    def __enter__(self) -> Processes:
        self._failed_starts = 0
        try:
            for _ in range(self.jobs):
                self._workers.append(_Worker())
        except BaseException:
            self._stop(kill=True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stop(kill=kind is not None)

    def _stop(self, *, kill: bool) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.request_end(kill=kill)
        for worker in workers:
            worker.join_or_kill()

    def results(self, tasks: Iterator[CellTask]) -> Iterator[tuple[int, list[CellOutcome]]]:
        """Yield the number of each task, counted from 0, and its outcomes as the workers finish."""
        following = (_Given(number, task) for number, task in enumerate(tasks))
        returned: deque[_Given] = deque()
        while True:
            self._assign(returned, following)
            if not returned and not any(worker.given for worker in self._workers):
                return
            readable = wait([worker.connection for worker in self._workers])
            for place, worker in enumerate(self._workers):
                if worker.connection in readable:
                    yield from self._receive(place, worker, returned)

    def _assign(self, returned: deque[_Given], following: Iterator[_Given]) -> None:
        """Assign tasks to every worker with room, the least busy first."""
        for room in range(1, self._room + 1):
            for worker in self._workers:
                if len(worker.given) >= room or worker.broken:
                    continue
                given = returned.popleft() if returned else next(following, None)
                if given is None:
                    return
                if not worker.give(given):
                    returned.append(given)

    def _receive(self, place: int, worker: _Worker, returned: deque[_Given]) -> Iterator[tuple[int, list[CellOutcome]]]:
        try:
            reply = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._replace(place, worker, returned)
            return
        self._failed_starts = 0
        if reply is None:
            worker.ready = True
            return
        given = worker.given.popleft()
        outcomes: list[CellOutcome] = failed(given.task, reply) if isinstance(reply, str) else reply
        self._room = TASKS_PER_WORKER if sum(outcome.seconds for outcome in outcomes) < SHORT_TASK_SECONDS else 1
        yield given.number, outcomes

    def _replace(self, place: int, dead: _Worker, returned: deque[_Given]) -> Iterator[tuple[int, list[CellOutcome]]]:
        """Start a new worker and return the tasks of the dead one; fail its current task if it killed before."""
        dead.join_or_kill()
        if not dead.ready:
            self._failed_starts += 1
            if self._failed_starts >= MAX_FAILED_STARTS:
                del self._workers[place]
                raise SweepStoppedError(
                    f"Worker processes end while they start (exit code {dead.exit_code}); their messages are above. "
                    "A script that starts processes needs the guard \"if __name__ == '__main__':\"."
                )
        self._workers[place] = _Worker()
        if dead.ready and dead.given:
            suspect = dead.given.popleft()
            suspect = replace(suspect, deaths=suspect.deaths + 1)
            if suspect.deaths >= MAX_WORKER_DEATHS:
                yield suspect.number, failed(suspect.task, f"WorkerDied: {dead.describe_exit()}.")
            else:
                returned.append(suspect)
        returned.extend(dead.given)


class _Worker:
    """One process and its tasks, the one being computed first."""

    def __init__(self) -> None:
        context = get_context("spawn")  # a forked worker would inherit threads and locks
        self.connection, theirs = context.Pipe()
        self.given: deque[_Given] = deque()
        self.ready = self.broken = False
        self.exit_code: int | None = None
        self._process = context.Process(target=_serve, args=(theirs, os.getpid()), name="genlaws worker")
        try:
            with _one_thread_in_children(), block_sigint():
                self._process.start()
        finally:
            theirs.close()

    def give(self, given: _Given) -> bool:
        """Send a task; return whether the worker could take it."""
        try:
            message = pickle.dumps(given.task)
        except Exception as error:
            raise InputError(
                f"The experiment cannot be sent to another process ({type(error).__name__}: {error}); its settings and "
                "functions must be defined at the top of a module."
            ) from None
        try:
            self.connection.send_bytes(message)
        except OSError:
            self.broken = True
            return False
        self.given.append(given)
        return True

    def request_end(self, *, kill: bool) -> None:
        """Request that the process end after its tasks, or terminate it."""
        if kill:
            self._process.terminate()
        else:
            with suppress(OSError):
                self.connection.send_bytes(END_MESSAGE)

    def join_or_kill(self) -> None:
        """Wait for the process, and kill it if it takes too long."""
        self._process.join(STOP_TIMEOUT_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self.exit_code = self._process.exitcode
        self.connection.close()
        self._process.close()

    def describe_exit(self) -> str:
        """Return a text that states how the process ended."""
        code = self.exit_code or 0
        return (
            f"the worker process was ended by signal {-code}" if code < 0 else f"the worker process exited with {code}"
        )


@contextmanager
def _one_thread_in_children() -> Iterator[None]:
    """Processes started inside use one thread each."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def block_sigint() -> Iterator[None]:
    """Block Ctrl-C (SIGINT), which a terminal sends to all processes, in processes started inside; here it is delayed.

    Where signals cannot be blocked, as on Windows, a worker receives it until the worker has begun to ignore it.
    """
    if not CAN_BLOCK_SIGNALS:
        yield
        return
    resource_tracker.ensure_running()  # otherwise it would start inside and unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, driver: int) -> None:
    """Compute the tasks from the pipe one after the other; runs in a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if CAN_BLOCK_SIGNALS:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    messages: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(connection, driver, messages), daemon=True).start()
    with suppress(OSError):  # the driver is gone
        connection.send(None)
        while message := messages.get():
            connection.send(_compute_message(message))


def _listen(connection: Connection, driver: int, messages: SimpleQueue[bytes]) -> None:
    """Receive messages, so that the driver never waits; end the process when the driver has ended or was killed."""
    message = None
    while message != END_MESSAGE:
        try:
            if connection.poll(DRIVER_CHECK_SECONDS):
                message = connection.recv_bytes()
                messages.put(message)
            elif os.getppid() != driver:
                os._exit(1)
        except (EOFError, OSError):
            os._exit(1)


def _compute_message(message: bytes) -> list[CellOutcome] | str:
    """Return the outcomes of a pickled task, or the reason why it could not be read."""
    try:
        task: CellTask = pickle.loads(message)
    except Exception as error:  # such as a module that this process cannot import
        return f"{type(error).__name__}: {error}"
    return compute(task)
