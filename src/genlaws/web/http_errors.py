"""Every way in which a request is refused, as one JSON object with a sentence."""

from __future__ import annotations

import logging
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genlaws.core.errors import ConvergenceError, InputError

WRONG_INPUT, BROKEN = 422, 500
SENTENCES = {404: "There is nothing at this address; /api-docs lists what there is."}
SHOWN = 60  # characters of what a reader gave
log = logging.getLogger("genlaws.web")


class RefusedError(Exception):
    """A request that is answered with a sentence.

    Parameters
    ----------
    status : int
        Of HTTP.
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


def shown(given: str) -> str:
    """Return what a reader gave in quotes, cut where it is long."""
    return repr(given if len(given) <= SHOWN else given[: SHOWN - 3] + "...")


def refusal(status: int, sentence: str, setting: str | None = None, headers: dict[str, str] | None = None) -> Response:
    """Return the answer to a request that is refused; one with wrong input names the setting, or null."""
    body: dict[str, Any] = {"error": sentence}
    if status == WRONG_INPUT:
        body["setting"] = setting
    return JSONResponse(body, status, headers)


async def on_refused(request: Request, error: Exception) -> Response:
    """Answer what was refused on purpose."""
    assert isinstance(error, RefusedError)
    return refusal(error.status, error.sentence, error.setting, error.headers)


async def on_wrong_input(request: Request, error: Exception) -> Response:
    """Answer settings that do not go together, and equations that could not be solved."""
    return refusal(WRONG_INPUT, str(error))


async def on_http(request: Request, error: Exception) -> Response:
    """Answer an address that does not exist or is asked in a way it does not know."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    sentence = SENTENCES.get(error.status_code, f"{error.detail}.")
    if error.status_code == 405:
        sentence = f"This address answers {headers.get('Allow', 'GET')} alone; got {request.method}."
    return refusal(error.status_code, sentence, headers=headers)


HANDLERS: dict[Any, Any] = {
    RefusedError: on_refused,
    InputError: on_wrong_input,
    ConvergenceError: on_wrong_input,
    HTTPException: on_http,
}


class Unbroken:
    """ASGI middleware that answers an error nobody foresaw without its inside, which goes to the log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_on(message: Message) -> None:
            """Send on, and remember that the answer has begun; none is kept without asking again."""
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
            await refusal(BROKEN, "The server made a mistake; its log says which.")(scope, receive, send_on)
