"""Several processes of this machine, each behind a pipe of its own.

Each worker answers in the order it was asked, so when one dies it is known which task it was at. Tasks that only waited
behind that one are given to others and are under no suspicion.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from types import TracebackType

from genlaws.core.arguments import whole_number
from genlaws.core.errors import InputError
from genlaws.sweeps.tasks import Outcome, SweepStoppedError, Task, compute, failed

AHEAD = 4  # tasks a worker has, computed or waiting, while they are short
SHORT = 0.05  # seconds; longer tasks are given out one by one, so that none waits while a worker is idle
WORKER_DEATHS = 2  # of workers at the same task, before it counts as failed; one may be chance
FAILED_STARTS = 3  # in a row, before it is clear that workers cannot start
LOOK = 1.0  # seconds between two looks whether the driver is still there
STOP = 5.0  # seconds a worker has to end
END = b""
CAN_BLOCK_SIGNALS = hasattr(signal, "pthread_sigmask")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class _Given:
    """A task, its number, and how many workers died over it."""

    number: int
    task: Task
    deaths: int = 0


class Processes:
    """Several processes of this machine, each with one thread.

    Parameters
    ----------
    jobs : int
        Number of processes. A script that uses them needs ``if __name__ == "__main__":`` around what it does.
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop(kill=kind is not None)

    def _stop(self, *, kill: bool) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.ask_to_end(kill=kill)
        for worker in workers:
            worker.bury()

    def results(self, tasks: Iterator[Task]) -> Iterator[tuple[int, list[Outcome]]]:
        """Yield the number of each task, counted from 0, and its outcomes as the workers finish."""
        following = (_Given(number, task) for number, task in enumerate(tasks))
        again: deque[_Given] = deque()
        while True:
            self._give_out(again, following)
            if not again and not any(worker.given for worker in self._workers):
                return
            speaking = wait([worker.connection for worker in self._workers])
            for place, worker in enumerate(self._workers):
                if worker.connection in speaking:
                    yield from self._hear(place, worker, again)

    def _give_out(self, again: deque[_Given], following: Iterator[_Given]) -> None:
        """Give every worker as much as it has room for, the least busy first."""
        for room in range(1, self._room + 1):
            for worker in self._workers:
                if len(worker.given) >= room or worker.broken:
                    continue
                given = again.popleft() if again else next(following, None)
                if given is None:
                    return
                if not worker.give(given):
                    again.append(given)

    def _hear(self, place: int, worker: _Worker, again: deque[_Given]) -> Iterator[tuple[int, list[Outcome]]]:
        try:
            answer = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._replace(place, worker, again)
            return
        self._failed_starts = 0
        if answer is None:
            worker.ready = True
            return
        given = worker.given.popleft()
        outcomes: list[Outcome] = failed(given.task, answer) if isinstance(answer, str) else answer
        self._room = AHEAD if sum(outcome.seconds for outcome in outcomes) < SHORT else 1
        yield given.number, outcomes

    def _replace(self, place: int, dead: _Worker, again: deque[_Given]) -> Iterator[tuple[int, list[Outcome]]]:
        """Start a new worker; give the tasks of the dead one out again, or the one it was at up if it killed before."""
        dead.bury()
        if not dead.ready:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                del self._workers[place]
                raise SweepStoppedError(
                    f"Worker processes end while they start (exit code {dead.exit_code}); what they said is above. "
                    "A script that starts processes needs \"if __name__ == '__main__':\" around what it does."
                )
        self._workers[place] = _Worker()
        if dead.ready and dead.given:
            suspect = dead.given.popleft()
            suspect = replace(suspect, deaths=suspect.deaths + 1)
            if suspect.deaths >= WORKER_DEATHS:
                yield suspect.number, failed(suspect.task, f"WorkerDied: {dead.how_it_ended()}.")
            else:
                again.append(suspect)
        again.extend(dead.given)


class _Worker:
    """One process and the tasks it has, the one it is at first."""

    def __init__(self) -> None:
        context = get_context("spawn")  # a forked worker would inherit threads and locks
        self.connection, theirs = context.Pipe()
        self.given: deque[_Given] = deque()
        self.ready = self.broken = False
        self.exit_code: int | None = None
        self._process = context.Process(target=_serve, args=(theirs, os.getpid()), name="genlaws worker")
        try:
            with _one_thread_in_children(), deaf_to_ctrl_c():
                self._process.start()
        finally:
            theirs.close()

    def give(self, given: _Given) -> bool:
        """Send a task; say whether the worker was there to take it."""
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

    def ask_to_end(self, *, kill: bool) -> None:
        """Tell the process to end after what it has in hand, or end it at once."""
        if kill:
            self._process.terminate()
        else:
            with suppress(OSError):
                self.connection.send_bytes(END)

    def bury(self) -> None:
        """Wait for the process, and end it if it takes too long."""
        self._process.join(STOP)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self.exit_code = self._process.exitcode
        self.connection.close()
        self._process.close()

    def how_it_ended(self) -> str:
        """Return how the process ended, in words."""
        code = self.exit_code or 0
        return (
            f"the worker process was ended by signal {-code}" if code < 0 else f"the worker process exited with {code}"
        )


@contextmanager
def _one_thread_in_children() -> Iterator[None]:
    """Processes started inside use one thread each."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes started inside do not hear Ctrl-C, which the terminal sends to all; here it waits until the end.

    Where signals cannot be blocked, as on Windows, a worker hears it until it has begun to ignore it.
    """
    if not CAN_BLOCK_SIGNALS:
        yield
        return
    resource_tracker.ensure_running()  # it would be started inside otherwise, and leave the signal unblocked
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, driver: int) -> None:
    """Compute what comes through the pipe, one task after the other; the work of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if CAN_BLOCK_SIGNALS:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    messages: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(connection, driver, messages), daemon=True).start()
    with suppress(OSError):  # the driver is gone
        connection.send(None)
        while message := messages.get():
            connection.send(_answer(message))


def _listen(connection: Connection, driver: int, messages: SimpleQueue[bytes]) -> None:
    """Take messages in, so that the driver never waits; end the process when the driver is gone, even if killed."""
    message = None
    while message != END:
        try:
            if connection.poll(LOOK):
                message = connection.recv_bytes()
                messages.put(message)
            elif os.getppid() != driver:
                os._exit(1)
        except (EOFError, OSError):
            os._exit(1)


def _answer(message: bytes) -> list[Outcome] | str:
    """Return the outcomes of a task, or why it could not be read."""
    try:
        task: Task = pickle.loads(message)
    except Exception as error:  # such as a module that this process cannot import
        return f"{type(error).__name__}: {error}"
    return compute(task)
