"""What keeps other web sites away from a page on this machine: headers of every answer, and who may ask."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genlaws.render.scripts import PLOTLY_STYLE_HASH

LOOPBACK = ("127.0.0.1", "localhost", "::1")
READING = ("GET", "HEAD", "OPTIONS")
OWN_SITE = ("same-origin", "none")  # what a browser says of a request of this page, or of an address typed by hand
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' '{PLOTLY_STYLE_HASH}'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
WRONG_HOST = 421
OTHER_SITE = 403


@dataclass(frozen=True)
class Hosts:
    """Names under which the server may be asked.

    Attributes
    ----------
    names : frozenset of str
        In small letters, without a port.
    addresses : bool
        Whether any address in digits will do too. A foreign site can point a name of its own at this machine, but no
        address, so that names alone have to be listed.
    """

    names: frozenset[str]
    addresses: bool = False

    def allow(self, header: str) -> bool:
        """Return whether a Host header names this server."""
        name = _name_of(header)
        if name in self.names:
            return True
        return self.addresses and _is_address(name)


def hosts_of(names: Iterable[str] = LOOPBACK, *, addresses: bool = False) -> Hosts:
    """Return the hosts of these names."""
    return Hosts(frozenset(name.lower().strip("[]") for name in names), addresses)


class Guard:
    """ASGI middleware that refuses requests of other sites and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            """Send on, with the headers."""
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        refused = self._refusal(scope)
        if refused is None:
            await self.app(scope, receive, send_guarded)
        else:
            await _refuse(*refused, send_guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and sentence for a request that is not answered."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self.hosts.allow(host):
            return WRONG_HOST, f"The host must be one of {', '.join(sorted(self.hosts.names))}; got {host[:80]!r}."
        if scope["method"] in READING:
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", OWN_SITE[0])
        if site not in OWN_SITE or (origin is not None and _netloc(origin) != host.lower()):
            return OTHER_SITE, "A request from the page of another site is not answered; use the page of this server."
        return None


def _name_of(header: str) -> str:
    """Return the host of a Host header in small letters, without its port; empty if it cannot be read."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


async def _refuse(status: int, sentence: str, send: Send) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
