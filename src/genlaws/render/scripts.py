"""The scripts and the style sheet that draw panels, as text to embed in a page or to serve."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

STATIC = files("genlaws.render") / "static"
# plotly's script adds a style sheet for maps, which no panel uses. A strict Content-Security-Policy allows it by this
# hash, so that the browser reports no violation.
PLOTLY_STYLE_HASH = "sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o="


@cache
def plotly_script() -> str:
    """Return the script of the plotly package; needs the extra ``page``."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


@cache
def panel_script() -> str:
    """Return the script that draws panels with plotly."""
    return (STATIC / "panels.js").read_text(encoding="utf-8")


@cache
def panel_style() -> str:
    """Return the style sheet of panels."""
    return (STATIC / "panels.css").read_text(encoding="utf-8")


def content_hash(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows a script or a style sheet."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
