"""Measure an uploaded set: read it within limits, measure it in a separate process that can be stopped, answer."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import signal
import threading
import traceback
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import anyio.to_thread
import numpy as np
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from genlaws.core.arguments import Array, one_of
from genlaws.core.errors import ConvergenceError, InputError
from genlaws.core.tables import read_uploaded_table, suffix_of
from genlaws.semanticity import measure
from genlaws.semanticity.measurement.metrics import METRICS
from genlaws.semanticity.measurement.result import Measurement
from genlaws.semanticity.measurement.stimuli import SIMILARITIES
from genlaws.semanticity.theory.spaces import check_distances
from genlaws.web.http_errors import HttpError, WrongInputError, quote_input
from genlaws.web.measurement import Sent, answer_of

SET_KINDS = ("embeddings", "distances")
SELF_METRICS = ("euclidean", "cosine")  # metrics that work without positions
DEFAULT_SIMILARITY = {"embeddings": "cosine", "distances": "gaussian"}
DEFAULT_METRIC = "euclidean"
MAX_MEASUREMENT_SECONDS = 60.0  # 2,000 items take about 10 s on a quiet core
MIN_ITEMS = 4
# A matrix of 2,000 × 2,000 numbers of eight bytes, and the positions of as many items.
MAX_UPLOAD_BYTES = 32 * 2**20
# A larger body is read and discarded up to this length, so that the browser receives the error.
MAX_DISCARDED_BYTES = 4 * MAX_UPLOAD_BYTES
FORM_TYPE = "multipart/form-data"
TEXT_FIELDS, FILE_FIELDS = ("kind", "metric", "similarity"), ("file", "positions")
MAX_FIELD_BYTES = 100  # of a field that is not a file
MAX_UPLOAD_SECONDS = 60.0  # for the whole body
MAX_CONCURRENT_UPLOADS = 8  # being read, waiting or being measured
RETRY_SECONDS = "10"
HTTP_TIMEOUT, HTTP_TOO_LARGE, HTTP_WRONG_TYPE, HTTP_UNAVAILABLE = 408, 413, 415, 503


@dataclass(frozen=True)
class Upload:
    """An uploaded set.

    Attributes
    ----------
    kind : {"embeddings", "distances"}
    file, positions : bytes
        Content; without positions the set provides its own true distances.
    suffix, positions_suffix : str
        Of the files' names, one of those of :mod:`genlaws.core.tables`.
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


class MeasurementStoppedError(RuntimeError):
    """The measurement did not finish."""


class Measurer:
    """A process that measures one set after another; started when it is first needed, and again after a failure."""

    def __init__(self, longest: float = MAX_MEASUREMENT_SECONDS) -> None:
        self.longest = longest
        self._process: SpawnProcess | None = None
        self._connection_here: Connection | None = None
        self._busy = threading.Lock()

    def measure(self, upload: Upload) -> bytes:
        """Return the answer as JSON; waits for earlier measurements.

        Raises
        ------
        InputError
            If the set is not valid.
        MeasurementStoppedError
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
        if outcome == "invalid":
            raise InputError(content)
        if outcome == "broken":
            raise RuntimeError(content)
        late = f"The measurement took longer than {self.longest:g} s and was stopped"
        reason = late if outcome == "late" else "The measurement was stopped"
        raise MeasurementStoppedError(f"{reason}; try a smaller set.")

    def close(self) -> None:
        """End the process."""
        process, self._process, self._connection_here = self._process, None, None
        if process is not None:
            process.kill()
            process.join()

    def _connection(self) -> Connection:
        if self._connection_here is None or self._process is None or not self._process.is_alive():
            context = multiprocessing.get_context("spawn")
            self._connection_here, connection_there = context.Pipe()
            self._process = context.Process(target=serve_measurements, args=(connection_there,), daemon=True)
            self._process.start()
            connection_there.close()
        return self._connection_here


def serve_measurements(connection: Connection) -> None:
    """Measure uploads until the connection closes; the body of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server receives Ctrl-C and ends this process
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
        return "invalid", str(error)
    except MemoryError:
        return "invalid", "The set needs more memory than this machine has; try a smaller one."
    except Exception:  # reported to the server, which logs it
        return "broken", traceback.format_exc()
    return "answer", json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def measure_upload(upload: Upload) -> dict[str, Any]:
    """Return the measurement of an uploaded set as JSON values."""
    kind = one_of("kind", upload.kind, SET_KINDS)
    metric = one_of("metric", upload.metric or DEFAULT_METRIC, METRICS)
    similarity = one_of("similarity", upload.similarity or DEFAULT_SIMILARITY[kind], SIMILARITIES)
    file = read_uploaded_table(kind, upload.file, upload.suffix)
    table = file.values
    if table.ndim != 2 or len(table) < MIN_ITEMS:
        raise InputError(
            f"{kind} must be a table with a row for each of at least {MIN_ITEMS} items; got shape {table.shape}."
        )
    given, places = None, None
    if upload.positions is not None:
        words = metric == "tree"
        given = read_uploaded_table(
            "positions", upload.positions, upload.positions_suffix, words=words, rows=len(table)
        )
        places = given.values
        if len(places) != len(table):
            raise InputError(
                f"positions must have a row for each of the {len(table)} items of the file; got {len(places)}."
            )
    parts = (file.names_message("the file"), given and given.names_message("the positions"))
    measure_kind = _of_embeddings if kind == "embeddings" else _of_distances
    measured = measure_kind(table, places, metric, similarity, " ".join(part for part in parts if part))
    names = (f"{kind}{upload.suffix}", None if given is None else f"positions{upload.positions_suffix}")
    return answer_of(measured, Sent(kind, *names, metric, similarity)).to_json()


def _of_embeddings(table: Array, places: Array | None, metric: str, similarity: str, note: str) -> Measurement:
    if places is not None:
        return measure(table, positions=places, metric=metric, similarity=similarity, note=note)
    if similarity == "precomputed":
        raise InputError(
            "similarity must not be precomputed without positions, which give the true distances of the items."
        )
    hint = "Without positions the embeddings provide the true distances."
    one_of("metric", metric, SELF_METRICS, hint)
    return measure(table, positions=table, metric=metric, similarity=similarity, note=note)


def _of_distances(table: Array, places: Array | None, metric: str, similarity: str, note: str) -> Measurement:
    """Measure judged distances, converted to similarities by a Gaussian of their median width."""
    one_of("similarity", similarity, ("gaussian",), "A matrix of distances has no angles.")
    distances = check_distances(table)
    middle = float(np.median(distances[np.triu_indices(len(distances), 1)]))
    if middle == 0:
        raise InputError("distances must differ from zero for at least half of the pairs of items.")
    alike = np.exp(-0.5 * (distances / middle) ** 2)
    truth: dict[str, Any] = {"distances": distances} if places is None else {"positions": places, "metric": metric}
    return measure(alike, **truth, similarity="precomputed", note=note)


class InMemory(MultiPartParser):
    """A form parser that never writes to disk."""

    spool_max_size = MAX_UPLOAD_BYTES + 1


class Uploads:
    """The endpoint that measures uploaded sets."""

    def __init__(self, measurer: Measurer | None = None) -> None:
        self.measurer = Measurer() if measurer is None else measurer
        self.at_once = 0

    async def measure(self, request: Request) -> Response:
        """Answer a form with a set."""
        _check_headers(request)
        if self.at_once >= MAX_CONCURRENT_UPLOADS:
            sentence = (
                f"{MAX_CONCURRENT_UPLOADS} sets are being measured or are waiting; try again in {RETRY_SECONDS} s."
            )
            raise HttpError(HTTP_UNAVAILABLE, sentence, headers={"Retry-After": RETRY_SECONDS})
        self.at_once += 1
        try:
            upload = await _read(request)
            body = await anyio.to_thread.run_sync(self.measurer.measure, upload, abandon_on_cancel=True)
        except MeasurementStoppedError as stopped:
            raise HttpError(HTTP_UNAVAILABLE, str(stopped), headers={"Retry-After": RETRY_SECONDS}) from None
        finally:
            self.at_once -= 1
        return Response(body, media_type="application/json")

    def close(self) -> None:
        """End the process that measures."""
        self.measurer.close()


def _check_headers(request: Request) -> None:
    """Check the request headers."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise HttpError(HTTP_WRONG_TYPE, f"A set must be sent as {FORM_TYPE}, as the page sends it.")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > MAX_DISCARDED_BYTES:
        raise _too_large()


async def _read(request: Request) -> Upload:
    """Return the set of a form."""
    try:
        async with asyncio.timeout(MAX_UPLOAD_SECONDS):
            limited = _limited(request)
            parser = InMemory(request.headers, limited, max_files=2, max_fields=5, max_part_size=MAX_FIELD_BYTES)
            form = await parser.parse()
    except TimeoutError:
        raise HttpError(HTTP_TIMEOUT, f"A set must arrive within {MAX_UPLOAD_SECONDS:g} s.") from None
    except MultiPartException:
        known = ", ".join((*TEXT_FIELDS[:1], *FILE_FIELDS, *TEXT_FIELDS[1:]))
        raise WrongInputError(f"A form must hold {known}, each at most once, and be complete.") from None
    except ClientDisconnect:
        raise WrongInputError("The set did not arrive completely.") from None
    try:
        return await _upload(form)
    finally:
        await form.close()


async def _limited(request: Request) -> AsyncGenerator[bytes, None]:
    """Yield the body up to the limit; counts the bytes received, not the announced length."""
    length = 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > MAX_DISCARDED_BYTES:
            break
        if length <= MAX_UPLOAD_BYTES:
            yield chunk
    if length > MAX_UPLOAD_BYTES:
        raise _too_large()


def _too_large() -> HttpError:
    sentence = f"A set must have at most {MAX_UPLOAD_BYTES // 2**20} MiB with its positions; this one is larger. "
    return HttpError(HTTP_TOO_LARGE, sentence + "Larger sets are measured with: genlaws semanticity measure")


async def _upload(form: FormData) -> Upload:
    """Return the upload of a form after checking the names of its parts."""
    names = [name for name, _ in form.multi_items()]
    for name in names:
        if name not in (*TEXT_FIELDS, *FILE_FIELDS) or names.count(name) > 1:
            known = ", ".join((*TEXT_FIELDS, *FILE_FIELDS))
            raise WrongInputError(f"A form holds {known}, each at most once; got {quote_input(name)}.", name)
    metric = _text(form, "metric", METRICS)
    similarity = _text(form, "similarity", SIMILARITIES)
    kind = _text(form, "kind", SET_KINDS)
    file = await _file(form, "file")
    if kind is None or file is None:
        missing = "kind" if kind is None else "file"
        raise WrongInputError(f"{missing} must be part of the form; it is missing.", missing)
    positions = await _file(form, "positions")
    if positions is None:
        return Upload(kind, *file, metric=metric, similarity=similarity)
    return Upload(kind, *file, *positions, metric=metric, similarity=similarity)


def _text(form: FormData, name: str, allowed: tuple[str, ...]) -> str | None:
    """Return a field that must be one of the allowed words, or none if it is missing or empty."""
    given = form.get(name)
    if given is None or given == "":
        return None
    if not isinstance(given, str):
        raise WrongInputError(f"{name} must be a word, not a file.", name)
    return _checked(name, lambda: one_of(name, given, allowed))


async def _file(form: FormData, name: str) -> tuple[bytes, str] | None:
    """Return content and kind of a file, or nothing where none was chosen."""
    given = form.get(name)
    if isinstance(given, UploadFile):
        content = await given.read()
        if not given.filename and not content:
            return None
        file_name = given.filename or ""
        return content, _checked(name, lambda: suffix_of(name, file_name))
    if given is None or given == "":
        return None
    raise WrongInputError(f"{name} must be a file, not text.", name)


def _checked(name: str, check: Callable[[], str]) -> str:
    """Return the result of a check; its error names the field."""
    try:
        return check()
    except ValueError as error:
        raise WrongInputError(str(error), name) from None
