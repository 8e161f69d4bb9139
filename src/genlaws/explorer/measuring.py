"""Measure a set that somebody sent, in a process of its own that can be stopped."""

from __future__ import annotations

import json
import multiprocessing
import signal
import threading
import traceback
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np

from genlaws.explorer.measurement_answer import Sent, answer_of
from genlaws.explorer.table_file import read_table
from genlaws.numerics.arguments import Array, one_of
from genlaws.numerics.errors import ConvergenceError, InputError
from genlaws.semanticity import measure
from genlaws.semanticity.measurement import Measurement
from genlaws.semanticity.metrics import METRICS
from genlaws.semanticity.spaces import check_distances
from genlaws.semanticity.stimuli import SIMILARITIES

KINDS = ("embeddings", "distances")
OWN_METRICS = ("euclidean", "cosine")  # with which embeddings can be their own truth
DEFAULT_SIMILARITY = {"embeddings": "cosine", "distances": "gaussian"}
DEFAULT_METRIC = "euclidean"
LONGEST = 60.0  # seconds of one measurement; 2,000 items take about 10 on a quiet core
FEWEST_ITEMS = 4


@dataclass(frozen=True)
class Upload:
    """A set as it was sent.

    Attributes
    ----------
    kind : {"embeddings", "distances"}
    file, positions : bytes
        Content; no positions if the set is its own truth.
    suffix, positions_suffix : {".npy", ".csv"}
    metric, similarity : str or None
        Defaults if not given.
    """

    kind: str
    file: bytes
    suffix: str
    positions: bytes | None = None
    positions_suffix: str = ".npy"
    metric: str | None = None
    similarity: str | None = None


class StoppedError(RuntimeError):
    """The measurement did not come to an end."""


class Measurer:
    """A process that measures one set after another; started when it is first needed, and again after a failure."""

    def __init__(self, longest: float = LONGEST) -> None:
        self.longest = longest
        self._process: SpawnProcess | None = None
        self._ours: Connection | None = None
        self._busy = threading.Lock()

    def measure(self, upload: Upload) -> bytes:
        """Return the answer as JSON; waits for measurements asked for before.

        Raises
        ------
        InputError
            If the set is refused.
        StoppedError
            If it took too long or the process died.
        """
        with self._busy:
            connection = self._connection()
            try:
                connection.send(upload)
                outcome, content = connection.recv() if connection.poll(self.longest) else ("late", "")
            except (EOFError, OSError):
                outcome, content = "died", ""
            if outcome in {"late", "died"}:
                self.close()
        if outcome == "answer":
            return content  # type: ignore[return-value]
        if outcome == "refused":
            raise InputError(content)
        if outcome == "broken":
            raise RuntimeError(content)
        late = f"The measurement took longer than {self.longest:g} s and was stopped"
        raise StoppedError(f"{late if outcome == 'late' else 'The measurement was stopped'}; try a smaller set.")

    def close(self) -> None:
        """End the process."""
        process, self._process, self._ours = self._process, None, None
        if process is not None:
            process.kill()
            process.join()

    def _connection(self) -> Connection:
        if self._ours is None or self._process is None or not self._process.is_alive():
            context = multiprocessing.get_context("spawn")
            self._ours, theirs = context.Pipe()
            self._process = context.Process(target=serve_measurements, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        return self._ours


def serve_measurements(connection: Connection) -> None:
    """Measure what comes until nothing comes any more; this is what the process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    while True:
        try:
            upload = connection.recv()
        except EOFError:
            return
        connection.send(_outcome(upload))


def _outcome(upload: Upload) -> tuple[str, bytes | str]:
    try:
        answer = measure_upload(upload)
    except (InputError, ConvergenceError) as error:
        return "refused", str(error)
    except MemoryError:
        return "refused", "The set needs more memory than there is; try a smaller one."
    except Exception:  # told to the server, which logs it
        return "broken", traceback.format_exc()
    return "answer", json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def measure_upload(upload: Upload) -> dict[str, Any]:
    """Return the answer to a set that was sent, as JSON values."""
    kind = one_of("kind", upload.kind, KINDS)
    metric = one_of("metric", upload.metric or DEFAULT_METRIC, METRICS)
    similarity = one_of("similarity", upload.similarity or DEFAULT_SIMILARITY[kind], SIMILARITIES)
    file = read_table(kind, upload.file, upload.suffix)
    table = file.values
    if table.ndim != 2 or len(table) < FEWEST_ITEMS:
        raise InputError(
            f"{kind} must be a table with a row for each of at least {FEWEST_ITEMS} items; got shape {table.shape}."
        )
    given, places = None, None
    if upload.positions is not None:
        words = metric == "tree"
        given = read_table("positions", upload.positions, upload.positions_suffix, words=words, rows=len(table))
        places = given.values
        if len(places) != len(table):
            raise InputError(
                f"positions must have a row for each of the {len(table)} items of the file; got {len(places)}."
            )
    measured = (
        _of_embeddings(table, places, metric, similarity)
        if kind == "embeddings"
        else (_of_distances(table, places, metric, similarity))
    )
    names = (f"{kind}{upload.suffix}", None if given is None else f"positions{upload.positions_suffix}")
    said = [file.said("the file"), "" if given is None else given.said("the positions"), measured.message]
    measured = replace(measured, message=" ".join(one for one in said if one))
    options = (file.options, "" if given is None else given.options)
    return answer_of(measured, Sent(kind, *names, metric, similarity, *options)).to_json()


def _of_embeddings(table: Array, places: Array | None, metric: str, similarity: str) -> Measurement:
    if places is not None:
        return measure(table, positions=places, metric=metric, similarity=similarity)
    if similarity == "precomputed":
        raise InputError(
            "similarity must not be precomputed without positions, which say how far apart items truly are."
        )
    hint = "Without positions the embeddings are their own truth."
    return measure(table, positions=table, metric=one_of("metric", metric, OWN_METRICS, hint), similarity=similarity)


def _of_distances(table: Array, places: Array | None, metric: str, similarity: str) -> Measurement:
    """Measure distances as somebody judges them, turned into similarities by a Gaussian of their median."""
    one_of("similarity", similarity, ("gaussian",), "A matrix of distances has no angles.")
    distances = check_distances(table)
    middle = float(np.median(distances[np.triu_indices(len(distances), 1)]))
    if middle == 0:
        raise InputError("distances must differ from zero for at least half of the pairs of items.")
    alike = np.exp(-0.5 * (distances / middle) ** 2)
    truth: dict[str, Any] = {"distances": distances} if places is None else {"positions": places, "metric": metric}
    return measure(alike, **truth, similarity="precomputed")
