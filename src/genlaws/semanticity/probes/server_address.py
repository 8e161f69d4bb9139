"""The address of a server and the key it needs: what is wrong with them is said before anything is sent."""

from __future__ import annotations

import ipaddress
import os
import re
from urllib.parse import SplitResult, urlsplit

from genlaws.numerics.errors import InputError

USUAL_KEY = "OPENAI_API_KEY"


def checked_address(url: object, key_variable: object) -> str:
    """Return the address of a server without its last slash, ``/v1`` added where it has no path.

    Raises
    ------
    InputError
        If it is not an address, or the key it needs is not in the environment or would travel in the clear.
    """
    try:
        parts = urlsplit(url.strip() if isinstance(url, str) else "")
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not parts.netloc.isascii() or any(mark in parts.netloc + parts.path for mark in " \t\r\n"):
        raise InputError(f"url must be like http://localhost:8000/v1 or https://host/v1; got {_shown(url)}.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError("url must hold no name, password, question mark or hash; a key belongs in the environment.")
    _check_key(parts, key_variable)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/v1'}"


def _check_key(parts: SplitResult, variable: object) -> None:
    if variable is None:
        return
    if not isinstance(variable, str) or not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", variable):
        raise InputError("api_key_variable must be the name of an environment variable, or None; it is not the key.")
    key = key_in(variable)
    named = variable if variable.isupper() else "named by api_key_variable"  # it may be the key, put there by mistake
    if not key and (parts.scheme == "https" or variable != USUAL_KEY):
        raise InputError(
            f"The environment variable {named} holds no key for {parts.hostname}; set it, or give "
            "api_key_variable=None for a server without one."
        )
    if not all("!" <= mark <= "~" for mark in key):
        raise InputError(f"The key in the environment variable {named} holds marks that no key can hold.")
    if key and parts.scheme == "http" and not is_here(parts):
        raise InputError(
            f"The key in {named} would travel unencrypted to {parts.hostname}; use https, or give "
            "api_key_variable=None."
        )


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def key_in(variable: str | None) -> str:
    """Return the key an environment variable holds; empty for none."""
    return os.environ.get(variable, "").strip() if variable else ""


def is_here(parts: SplitResult) -> bool:
    """Return whether an address is on this machine."""
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return parts.hostname == "localhost"
