"""Protection from other web sites: security headers on every answer, and checks of host and origin."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genlaws.render.scripts import PLOTLY_STYLE_HASH
from genlaws.web.http_errors import error_response

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SAME_SITE_VALUES = ("same-origin", "none")  # Sec-Fetch-Site of requests by this page, or by hand
CONTENT_SECURITY_POLICY = "; ".join(
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
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
HTTP_WRONG_HOST = 421
HTTP_FORBIDDEN = 403


@dataclass(frozen=True)
class Hosts:
    """Host names the server answers to.

    Attributes
    ----------
    names : frozenset of str
        In lower case, without a port.
    addresses : bool
        Whether any numeric address is allowed too. A foreign site can point its own name at this machine but not its
        own address, so only names have to be listed.
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
    """ASGI middleware that rejects requests of other sites and adds the security headers to every answer."""

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
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
            await send(message)

        error = self._find_error(scope)
        if error is None:
            await self.app(scope, receive, send_guarded)
        else:
            await error_response(*error)(scope, receive, send_guarded)

    def _find_error(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and sentence of the error, or none if the request is allowed."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self.hosts.allow(host):
            return HTTP_WRONG_HOST, f"The host must be one of {', '.join(sorted(self.hosts.names))}; got {host[:80]!r}."
        if scope["method"] in SAFE_METHODS:
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", SAME_SITE_VALUES[0])
        if site not in SAME_SITE_VALUES or (origin is not None and _netloc(origin) != host.lower()):
            return (
                HTTP_FORBIDDEN,
                "A request from a page of another site is not answered; use the page of this server.",
            )
        return None


def _name_of(header: str) -> str:
    """Return the host of a Host header in lower case, without its port; empty if it cannot be read."""
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
