"""Requests to a server that may fail in any way: each ends with an answer in JSON, or with a sentence that says why.

What may pass (a broken connection, a busy server) is tried again after a growing wait; what would fail again is not.
The key of the server is read from the environment for each request and is in nothing that is kept or shown.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import IO, Any
from urllib.parse import urlsplit

from genlaws.semanticity.probes.server_address import is_here, key_in

PIECE = 65536  # bytes read at once
FIRST_WAIT = 0.5  # seconds before the first repeat; doubled for each further one
LONGEST_QUOTE = 200  # characters of a server's own words in an error
SHORTEST_SECRET = 8  # a shorter key, such as "none", is a placeholder and is not searched for in what a server says
MAY_PASS = {408, 429}  # with all of 500 and above


class ServerFailure(Exception):  # noqa: N818 - never leaves the probes; it becomes the error of a reply
    """A request failed.

    Attributes
    ----------
    status : int
        What the server answered with; 0 if it did not.
    may_pass : bool
        Whether it is worth trying again.
    wait : float
        Seconds the server asks to wait; 0 if it does not.
    attempts : int
        How often it was tried.
    """

    def __init__(self, sentence: str, *, status: int = 0, may_pass: bool = False, wait: float = 0.0) -> None:
        super().__init__(sentence)
        self.status, self.may_pass, self.wait, self.attempts = status, may_pass, wait, 1


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A key and the prompts go to the server that was named, not where it points."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nothing."""


@dataclass
class Server:
    """An address to which JSON is sent and from which JSON comes back.

    Attributes
    ----------
    url : str
        Where the paths begin, such as ``https://host/v1``.
    key_variable : str or None
        The environment variable that holds the key.
    timeout : float
        Seconds a server may be silent, and after which a reply that is still coming is given up.
    retries : int
        How often each request is tried again.
    longest_wait : float
        Most seconds between two attempts, whatever the server asks for.
    largest_reply : int
        Bytes after which a reply is given up.
    seed : int
        Of the spread of the waits.
    """

    url: str
    key_variable: str | None
    timeout: float
    retries: int
    longest_wait: float
    largest_reply: int
    seed: int

    def __post_init__(self) -> None:
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if is_here(urlsplit(self.url)):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def post(self, path: str, body: Mapping[str, object], stop: threading.Event) -> tuple[Any, int]:
        """Return what the server answers and in how many attempts; `stop` ends the trying again.

        Raises
        ------
        ServerFailure
            If there is no answer after all attempts.
        """
        sent = json.dumps(body).encode()
        attempt = 1
        while True:
            try:
                return self._exchange(path, sent), attempt
            except ServerFailure as failure:
                more = failure.may_pass and attempt <= self.retries and not stop.is_set()
                if not more or stop.wait(self._wait(failure, sent, attempt)):
                    failure.attempts = attempt
                    raise
            attempt += 1

    def without_key(self, text: str) -> str:
        """Return a text of the server with the key blotted out, should it be in there."""
        key = key_in(self.key_variable)
        return text.replace(key, "[key]") if len(key) >= SHORTEST_SECRET else text

    def _wait(self, failure: ServerFailure, sent: bytes, attempt: int) -> float:
        """Return seconds to wait: doubled each time and spread, the same for the same request, or what was asked."""
        digest = hashlib.sha256(f"{self.seed} {attempt} ".encode() + sent).digest()
        spread = 0.5 + 0.5 * int.from_bytes(digest[:4]) / 2**32
        usual: float = FIRST_WAIT * 2 ** (attempt - 1) * spread
        return min(max(usual, failure.wait), self.longest_wait)

    def _exchange(self, path: str, sent: bytes) -> Any:
        """Send once and return the JSON that comes back."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "genlaws"}
        key = key_in(self.key_variable)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url + path, data=sent, headers=headers, method="POST")
        until = time.monotonic() + self.timeout
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                return self._completed(self._content(response, until))
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error, until) from None
        except (OSError, http.client.HTTPException) as error:
            raise _broken(error, self.timeout) from None

    def _content(self, response: IO[bytes], until: float) -> bytes:
        """Read a reply piece by piece, within the time and the size allowed."""
        pieces, size = [], 0
        while piece := response.read1(PIECE):  # type: ignore[attr-defined]
            pieces.append(piece)
            size += len(piece)
            if size > self.largest_reply:
                raise ServerFailure(f"The server's reply is larger than {self.largest_reply} bytes.")
            if time.monotonic() > until:
                raise TimeoutError
        if getattr(response, "length", None):
            raise ServerFailure("The server closed the connection in the middle of its reply.", may_pass=True)
        return b"".join(pieces)

    def _completed(self, content: bytes) -> Any:
        """Return the JSON of a reply; some servers send an error with the status of success."""
        body = _parsed(content)
        if isinstance(body, Mapping) and body.get("error") and "choices" not in body:
            words = self._quoted(content)
            raise ServerFailure(_ended(f"The server answered with an error{words}"), may_pass=True)
        return body

    def _quoted(self, content: bytes) -> str:
        """Return what a server says went wrong, to be put behind a sentence."""
        words = " ".join(self.without_key(_own_words(content)).split())[:LONGEST_QUOTE]
        return f": {words}" if words else ""

    def _refusal(self, error: urllib.error.HTTPError, until: float) -> ServerFailure:
        """Return the failure for an answer with a status other than success."""
        status = error.code
        if 300 <= status < 400:
            target = urlsplit(error.headers.get("Location", "")).hostname or "another address"
            sentence = f"The server redirects to {target}, which is not followed; give the final address as url."
            return ServerFailure(sentence, status=status)
        try:
            words = self._quoted(self._content(error, until))
        except (OSError, http.client.HTTPException, ServerFailure):
            words = ""
        return ServerFailure(
            _ended(f"The server answered {status} ({_meaning(status)}){words}"),
            status=status,
            may_pass=status in MAY_PASS or status >= 500,
            wait=_asked_wait(error.headers.get("Retry-After", "")),
        )


def _parsed(content: bytes) -> Any:
    if not content.strip():
        raise ServerFailure("The server's reply is empty.", may_pass=True)
    try:
        return json.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ServerFailure("The server's reply is not UTF-8.", may_pass=True) from None
    except (ValueError, RecursionError):
        raise ServerFailure("The server's reply is not JSON, or was cut short.", may_pass=True) from None


def _broken(error: OSError | http.client.HTTPException, timeout: float) -> ServerFailure:
    """Return the failure for a connection that broke or was never made."""
    cause = error.reason if isinstance(error, urllib.error.URLError) and isinstance(error.reason, OSError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return ServerFailure("The server's certificate is not trusted.")
    if isinstance(cause, TimeoutError):
        return ServerFailure(f"The server did not answer within {timeout:g} s.", may_pass=True)
    if isinstance(cause, socket.gaierror):
        return ServerFailure("The server's name is unknown.", may_pass=True)
    if isinstance(cause, ConnectionRefusedError):
        return ServerFailure("No server listens at the address.", may_pass=True)
    if isinstance(cause, http.client.HTTPException | ConnectionError):
        return ServerFailure("The server closed the connection in the middle of its reply.", may_pass=True)
    return ServerFailure(f"The connection to the server failed ({type(cause).__name__}).", may_pass=True)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _meaning(status: int) -> str:
    return http.client.responses.get(status, "unknown status").lower()


def _own_words(content: bytes) -> str:
    """Return what a server says went wrong, where it says it in a usual place; nothing otherwise."""
    try:
        said = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        return ""
    for name in ("error", "message", "detail"):
        inner = said.get(name) if isinstance(said, Mapping) else None
        said = inner if isinstance(inner, str | Mapping) else said
    return said if isinstance(said, str) else ""


def _asked_wait(text: str) -> float:
    """Return the seconds of a Retry-After header, which may hold a number or a date."""
    try:
        return max(float(text), 0.0) if text.strip()[:1].isdigit() else _until(text)
    except (ValueError, TypeError):
        return 0.0


def _until(date: str) -> float:
    return max(parsedate_to_datetime(date).timestamp() - time.time(), 0.0)
