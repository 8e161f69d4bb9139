"""Serve the explorer on this machine."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable

import uvicorn

from genlaws.core.arguments import whole_number
from genlaws.core.errors import InputError
from genlaws.web.app import make_app
from genlaws.web.security import LOOPBACK, Hosts, hosts_of

LOCAL_HOST = LOOPBACK[0]
SHUTDOWN_SECONDS = 2  # for an unfinished answer after Ctrl-C
MAX_CONNECTIONS = 1000
WILDCARD_HOSTS = ("0.0.0.0", "::", "")


def is_loopback(host: str) -> bool:
    """Return whether a host can be reached only from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def serve(
    host: str = LOCAL_HOST,
    port: int = 0,
    *,
    open_to_others: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until Ctrl-C, which is raised again as KeyboardInterrupt once all is closed.

    Parameters
    ----------
    host : str
        Name or address to listen on.
    port : int
        0 for any free one.
    open_to_others : bool
        Whether a host that others on the network can reach is allowed.
    ready : callable, optional
        Called with the address of the page as soon as it answers.
    """
    if not (is_loopback(host) or open_to_others):
        raise InputError(f"host must be one that only this machine reaches, such as {LOCAL_HOST}; got {host!r}.")
    with listen(host, port) as listening:
        config = uvicorn.Config(
            make_app(_hosts(host)),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        if ready is not None:
            ready(address_of(host, listening.getsockname()[1]))
        uvicorn.Server(config).run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or raise an error that explains why there is none."""
    number = whole_number("port", port, at_most=65535, hint="0 is any free one.")
    name = host.strip("[]")
    try:
        family = socket.getaddrinfo(name or None, number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((name, number), family=family, backlog=256)
    except (socket.gaierror, UnicodeError):  # a part of a name may have 63 letters
        raise InputError(f"host must be a name or an address of this machine; got {host!r}.") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(f"{address_of(host, number)} cannot be opened: {reason}. Try another --port, or 0.") from None


def address_of(host: str, port: int) -> str:
    """Return the address of the page in a browser on this machine."""
    name = LOCAL_HOST if host in WILDCARD_HOSTS else host.strip("[]")
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/"


def _hosts(host: str) -> Hosts:
    """Return the host names of the server; on a network also this machine's name and address."""
    if is_loopback(host):
        return hosts_of((*LOOPBACK, host))
    name = socket.gethostname()
    return hosts_of((*LOOPBACK, host, name, f"{name}.local"), addresses=True)
