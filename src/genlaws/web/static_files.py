"""The files of the page: a fixed list, each compressed once and named by its content."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

OWN, PANELS = files("genlaws.web") / "static", files("genlaws.render") / "static"
PLOTLY = "plotly.min.js"
PAGE = "text/html; charset=utf-8"
KINDS = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
INDEX = "index.html"
# plotly's script is large and changes with its release alone; the browser asks again for the others each time.
LONG, ASK_AGAIN = "public, max-age=604800", "no-cache"
LEVEL = 6


@dataclass(frozen=True)
class StaticFile:
    """A file as it is sent: plain, compressed, and the tag of its content."""

    plain: bytes
    compressed: bytes
    tag: str


@cache
def listed() -> Mapping[str, Traversable]:
    """Return all that is served, by name: scripts, styles and drawings of the page, and plotly's script."""
    own = (path for folder in (OWN, PANELS) for path in folder.iterdir() if _suffix(path.name) in KINDS)
    return {path.name: path for path in own} | {PLOTLY: files("plotly") / "package_data" / PLOTLY}


async def static_file(request: Request) -> Response:
    """Answer one file of the list."""
    name = request.path_params["file"]
    if name not in listed():
        raise HTTPException(404)
    content = _plotly() if name == PLOTLY else listed()[name].read_bytes()
    return _send(request, content, KINDS[_suffix(name)], LONG if name == PLOTLY else ASK_AGAIN)


async def index(request: Request) -> Response:
    """Answer the page, which asks the API itself for what its address names."""
    return _send(request, (OWN / INDEX).read_bytes(), PAGE, ASK_AGAIN)


async def mistyped(request: Request) -> Response:
    """Answer an address that names no view: the page says so to a person, JSON to a program."""
    if "text/html" not in request.headers.get("accept", ""):
        raise HTTPException(404)
    answered = Response((OWN / INDEX).read_bytes(), 404, media_type=PAGE)
    answered.headers["Cache-Control"] = ASK_AGAIN
    return answered


def _send(request: Request, content: bytes, kind: str, keeping: str) -> Response:
    file = _prepared(content)
    headers = {"ETag": file.tag, "Cache-Control": keeping, "Vary": "Accept-Encoding"}
    if file.tag in {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}:
        return Response(status_code=304, headers=headers)
    if _takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(file.compressed, headers=headers | {"Content-Encoding": "gzip"}, media_type=kind)
    return Response(file.plain, headers=headers, media_type=kind)


def _takes_gzip(accepted: str) -> bool:
    """Return whether a browser takes gzip; with a weight of nothing it does not."""
    for one in accepted.lower().split(","):
        coding, _, weight = one.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


@cache
def _plotly() -> bytes:
    return listed()[PLOTLY].read_bytes()


@lru_cache(maxsize=32)
def _prepared(content: bytes) -> StaticFile:
    compressed = gzip.compress(content, LEVEL, mtime=0)
    return StaticFile(content, compressed, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]
