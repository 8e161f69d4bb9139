"""HTTP errors of the explorer: each is one JSON object with a sentence."""

from __future__ import annotations

import logging
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genlaws.core.errors import ConvergenceError, InputError

HTTP_UNPROCESSABLE, HTTP_SERVER_ERROR = 422, 500
ERROR_SENTENCES = {404: "There is nothing at this address; /api-docs lists what there is."}
MAX_INPUT_CHARACTERS = 60  # of a user's input, in a message
log = logging.getLogger("genlaws.web")


class HttpError(Exception):
    """A request that fails with an HTTP status and a sentence.

    Parameters
    ----------
    status : int
        HTTP status.
    sentence : str
    setting : str, optional
        The setting that was wrong.
    headers : dict, optional
        Such as Retry-After.
    """

    def __init__(
        self, status: int, sentence: str, setting: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.setting, self.headers = status, sentence, setting, headers


class WrongInputError(HttpError):
    """A request with a wrong setting, file or form."""

    def __init__(self, sentence: str, setting: str | None = None) -> None:
        super().__init__(HTTP_UNPROCESSABLE, sentence, setting)


def quote_input(given: str) -> str:
    """Return a user's input in quotes, shortened if it is long."""
    return repr(given if len(given) <= MAX_INPUT_CHARACTERS else given[: MAX_INPUT_CHARACTERS - 3] + "...")


def error_response(
    status: int, sentence: str, setting: str | None = None, headers: dict[str, str] | None = None
) -> Response:
    """Return an HTTP error as JSON; one for wrong input names the setting, or null."""
    body: dict[str, Any] = {"error": sentence}
    if status == HTTP_UNPROCESSABLE:
        body["setting"] = setting
    return JSONResponse(body, status, headers)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Answer an error raised by the explorer."""
    assert isinstance(error, HttpError)
    return error_response(error.status, error.sentence, error.setting, error.headers)


async def on_wrong_input(request: Request, error: Exception) -> Response:
    """Answer settings that contradict each other, and equations that could not be solved."""
    return error_response(HTTP_UNPROCESSABLE, str(error))


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Answer an address that does not exist or does not support the method."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    sentence = ERROR_SENTENCES.get(error.status_code, f"{error.detail}.")
    if error.status_code == 405:
        sentence = f"This address supports only {headers.get('Allow', 'GET')}; got {request.method}."
    return error_response(error.status_code, sentence, headers=headers)


HANDLERS: dict[Any, Any] = {
    HttpError: on_http_error,
    InputError: on_wrong_input,
    ConvergenceError: on_wrong_input,
    HTTPException: on_http_exception,
}


class UnhandledErrors:
    """ASGI middleware that answers an unexpected error without its details, which go to the log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_on(message: Message) -> None:
            """Send on, note that the answer has begun, and forbid caching unless the answer allows it."""
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await self.app(scope, receive, send_on)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if started:
                raise
            await error_response(HTTP_SERVER_ERROR, "The server failed; see its log.")(scope, receive, send_on)
