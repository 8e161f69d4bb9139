"""Take a set that somebody sends, within limits, and answer with its measurement."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import anyio.to_thread
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from genlaws.explorer.measuring import KINDS, Measurer, StoppedError, Upload
from genlaws.explorer.refusals import WRONG_INPUT, RefusedError, shown
from genlaws.explorer.table_file import suffix_of
from genlaws.numerics.arguments import one_of
from genlaws.semanticity.metrics import METRICS
from genlaws.semanticity.stimuli import SIMILARITIES

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
