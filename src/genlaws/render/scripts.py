"""The scripts and the style that draw panels, as text to put into a page or to serve."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

STATIC = files("genlaws.render") / "static"
# plotly's script adds one style sheet of its own, for maps, which no panel has. A page that allows no style but its own
# names it here, so that the browser does not complain.
PLOTLY_STYLE_HASH = "sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o="


@cache
def plotly_script() -> str:
    """Return plotly's script, which the plotly package carries; needs the extra ``page``."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


@cache
def panel_script() -> str:
    """Return our script, which draws panels with plotly's."""
    return (STATIC / "panels.js").read_text(encoding="utf-8")


@cache
def panel_style() -> str:
    """Return the style of panels."""
    return (STATIC / "panels.css").read_text(encoding="utf-8")


def content_hash(text: str) -> str:
    """Return what a Content-Security-Policy calls a script or a style by its content."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
