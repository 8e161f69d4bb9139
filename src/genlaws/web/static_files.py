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

PAGE_FOLDER, PANEL_FOLDER = files("genlaws.web") / "static", files("genlaws.render") / "static"
PLOTLY = "plotly.min.js"
HTML_TYPE = "text/html; charset=utf-8"
MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
INDEX = "index.html"
# plotly's script is large and changes only with its release; the browser revalidates the others each time.
CACHE_ONE_WEEK, REVALIDATE = "public, max-age=604800", "no-cache"
GZIP_LEVEL = 6


@dataclass(frozen=True)
class StaticFile:
    """A file as it is sent: plain, compressed, and the tag of its content."""

    plain: bytes
    compressed: bytes
    tag: str


@cache
def served_files() -> Mapping[str, Traversable]:
    """Return all served files by name: scripts, styles and drawings of the page, and plotly's script."""
    own = (
        path for folder in (PAGE_FOLDER, PANEL_FOLDER) for path in folder.iterdir() if _suffix(path.name) in MEDIA_TYPES
    )
    return {path.name: path for path in own} | {PLOTLY: files("plotly") / "package_data" / PLOTLY}


async def static_file(request: Request) -> Response:
    """Answer with one file of the list."""
    name = request.path_params["file"]
    if name not in served_files():
        raise HTTPException(404)
    content = _plotly() if name == PLOTLY else served_files()[name].read_bytes()
    return _send(request, content, MEDIA_TYPES[_suffix(name)], CACHE_ONE_WEEK if name == PLOTLY else REVALIDATE)


async def index(request: Request) -> Response:
    """Answer with the page, which then queries the API for what its address names."""
    return _send(request, (PAGE_FOLDER / INDEX).read_bytes(), HTML_TYPE, REVALIDATE)


async def unknown_page(request: Request) -> Response:
    """Answer an address that names no view: a browser gets a page, a program JSON."""
    if "text/html" not in request.headers.get("accept", ""):
        raise HTTPException(404)
    answered = Response((PAGE_FOLDER / INDEX).read_bytes(), 404, media_type=HTML_TYPE)
    answered.headers["Cache-Control"] = REVALIDATE
    return answered


def _send(request: Request, content: bytes, kind: str, cache_control: str) -> Response:
    file = _prepared(content)
    headers = {"ETag": file.tag, "Cache-Control": cache_control, "Vary": "Accept-Encoding"}
    if file.tag in {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}:
        return Response(status_code=304, headers=headers)
    if _takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(file.compressed, headers=headers | {"Content-Encoding": "gzip"}, media_type=kind)
    return Response(file.plain, headers=headers, media_type=kind)


def _takes_gzip(accepted: str) -> bool:
    """Return whether a browser takes gzip; with a weight of 0 it does not."""
    for one in accepted.lower().split(","):
        coding, _, weight = one.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


@cache
def _plotly() -> bytes:
    return served_files()[PLOTLY].read_bytes()


@lru_cache(maxsize=32)
def _prepared(content: bytes) -> StaticFile:
    compressed = gzip.compress(content, GZIP_LEVEL, mtime=0)
    return StaticFile(content, compressed, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]
