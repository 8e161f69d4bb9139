"""Take a set that somebody sends, within limits, and answer with its measurement.

Measure a set that somebody sent, in a process of its own that can be stopped.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import signal
import threading
import traceback
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
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
from genlaws.web.http_errors import WRONG_INPUT, RefusedError, shown
from genlaws.web.measurement import Sent, answer_of

KINDS = ("embeddings", "distances")
OWN_METRICS = ("euclidean", "cosine")  # with which embeddings can be their own truth
DEFAULT_SIMILARITY = {"embeddings": "cosine", "distances": "gaussian"}
DEFAULT_METRIC = "euclidean"
LONGEST = 60.0  # seconds of one measurement; 2,000 items take about 10 on a quiet core
FEWEST_ITEMS = 4
# A matrix of 2,000 × 2,000 numbers of eight bytes, and the positions of as many items.
MOST_BYTES = 32 * 2**20
# A body that is too large is read on to this length and thrown away, so that the browser comes to see the answer.
READ_ON = 4 * MOST_BYTES
FORM = "multipart/form-data"
TEXTS, FILES = ("kind", "metric", "similarity"), ("file", "positions")
LONGEST_TEXT = 100  # bytes of a field that is no file
SLOWEST = 60.0  # seconds for the whole body
MOST_AT_ONCE = 8  # requests that are read, wait or are measured
RETRY = "10"
TOO_SLOW, TOO_LARGE, WRONG_KIND, BUSY = 408, 413, 415, 503


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
    file = read_uploaded_table(kind, upload.file, upload.suffix)
    table = file.values
    if table.ndim != 2 or len(table) < FEWEST_ITEMS:
        raise InputError(
            f"{kind} must be a table with a row for each of at least {FEWEST_ITEMS} items; got shape {table.shape}."
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


class InMemory(MultiPartParser):
    """Parts of a form that are never written to a disk."""

    spool_max_size = MOST_BYTES + 1


class Uploads:
    """The door for sets to be measured.

    Parameters
    ----------
    measurer : Measurer, optional
    """

    def __init__(self, measurer: Measurer | None = None) -> None:
        self.measurer = Measurer() if measurer is None else measurer
        self.at_once = 0

    async def measure(self, request: Request) -> Response:
        """Answer a form with a set."""
        _check_head(request)
        if self.at_once >= MOST_AT_ONCE:
            sentence = f"{MOST_AT_ONCE} sets are being measured or wait for it; try again in {RETRY} s."
            raise RefusedError(BUSY, sentence, headers={"Retry-After": RETRY})
        self.at_once += 1
        try:
            upload = await _read(request)
            body = await anyio.to_thread.run_sync(self.measurer.measure, upload, abandon_on_cancel=True)
        except StoppedError as stopped:
            raise RefusedError(BUSY, str(stopped), headers={"Retry-After": RETRY}) from None
        finally:
            self.at_once -= 1
        return Response(body, media_type="application/json")

    def close(self) -> None:
        """End the process that measures."""
        self.measurer.close()


def _check_head(request: Request) -> None:
    """Refuse by what stands before the body."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise RefusedError(WRONG_KIND, f"A set must be sent as {FORM}, as the page does it.")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > READ_ON:
        raise _too_large()


async def _read(request: Request) -> Upload:
    """Return the set of a form."""
    try:
        async with asyncio.timeout(SLOWEST):
            limited = _limited(request)
            parser = InMemory(request.headers, limited, max_files=2, max_fields=5, max_part_size=LONGEST_TEXT)
            form = await parser.parse()
    except TimeoutError:
        raise RefusedError(TOO_SLOW, f"A set must arrive within {SLOWEST:g} s.") from None
    except MultiPartException:
        sentence = f"A form must hold {', '.join((*TEXTS[:1], *FILES, *TEXTS[1:]))} once each at most, and be whole."
        raise RefusedError(WRONG_INPUT, sentence) from None
    except ClientDisconnect:
        raise RefusedError(WRONG_INPUT, "The set did not arrive as a whole.") from None
    try:
        return await _upload(form)
    finally:
        await form.close()


async def _limited(request: Request) -> AsyncGenerator[bytes, None]:
    """Yield the body up to the limit; count what really comes, whatever was announced."""
    length = 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > READ_ON:
            break
        if length <= MOST_BYTES:
            yield chunk
    if length > MOST_BYTES:
        raise _too_large()


def _too_large() -> RefusedError:
    sentence = f"A set must have at most {MOST_BYTES // 2**20} MiB with its positions; this one is larger. "
    return RefusedError(TOO_LARGE, sentence + "Larger sets are measured with: genlaws semanticity measure")


async def _upload(form: FormData) -> Upload:
    """Return the parts of a form, checked as far as their names go."""
    names = [name for name, _ in form.multi_items()]
    for name in names:
        if name not in (*TEXTS, *FILES) or names.count(name) > 1:
            known = ", ".join((*TEXTS, *FILES))
            raise RefusedError(WRONG_INPUT, f"A form holds {known}, each once at most; got {shown(name)}.", name)
    metric = _text(form, "metric", METRICS)
    similarity = _text(form, "similarity", SIMILARITIES)
    kind = _text(form, "kind", KINDS)
    file = await _file(form, "file")
    if kind is None or file is None:
        missing = "kind" if kind is None else "file"
        raise RefusedError(WRONG_INPUT, f"{missing} must be part of the form; it is missing.", missing)
    positions = await _file(form, "positions")
    if positions is None:
        return Upload(kind, *file, metric=metric, similarity=similarity)
    return Upload(kind, *file, *positions, metric=metric, similarity=similarity)


def _text(form: FormData, name: str, allowed: tuple[str, ...]) -> str | None:
    """Return a field that is one of some words, or nothing where it is missing or empty."""
    given = form.get(name)
    if given is None or given == "":
        return None
    if not isinstance(given, str):
        raise RefusedError(WRONG_INPUT, f"{name} must be a word, not a file.", name)
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
    raise RefusedError(WRONG_INPUT, f"{name} must be a file, not text.", name)


def _checked(name: str, check: Callable[[], str]) -> str:
    """Return what a check gives; its sentence is about the field of this name."""
    try:
        return check()
    except ValueError as error:
        raise RefusedError(WRONG_INPUT, str(error), name) from None
