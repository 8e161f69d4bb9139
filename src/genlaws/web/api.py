"""The API of the explorer: its views, their answers and tables, the ledger of claims, and a readable API page."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from html import escape
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from genlaws import __version__
from genlaws.claims import list_claims
from genlaws.claims.records import verdict_counts
from genlaws.core.plain import parts_of
from genlaws.web.http_errors import HttpError, quote_input
from genlaws.web.view import Answer, View, ViewSettings, read_settings

MAX_CACHE_BYTES = 64 * 2**20
MAX_EXAMPLE_SETTINGS = 3  # in the address of an example
JSON_TYPE, CSV_TYPE = "application/json", "text/csv; charset=utf-8"


def api_page(document: Mapping[str, Any]) -> str:
    """Return the HTML of the page.

    `document`: as `genlaws.web.openapi.openapi_document` returns it.
    """
    info = document["info"]
    operations = [(path, method, one) for path, methods in document["paths"].items() for method, one in methods.items()]
    contents = "".join(
        f'<li><a href="#{_anchor(one)}"><code>{method.upper()} {escape(path)}</code></a> {escape(one["summary"])}</li>'
        for path, method, one in operations
    )
    parts = [
        f"<h1>{escape(info['title'])}: the API</h1>",
        f"<p>{escape(info['description'])}</p>",
        f'<p>Version {escape(info["version"])}. In machine-readable form: <a href="/openapi.json">openapi.json</a>. '
        '<a href="/">Back to the page</a>.</p>',
        f"<nav aria-label='Addresses'><ul>{contents}</ul></nav>",
        *(_section(*operation) for operation in operations),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}: the API</title>"
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="/static/api-docs.css"></head>'
        f"<body><main>{''.join(parts)}</main></body></html>"
    )


def _section(path: str, method: str, operation: Mapping[str, Any]) -> str:
    parts = [f"<h2>{escape(operation['summary'])}</h2>", f"<p><code>{method.upper()} {escape(path)}</code></p>"]
    if operation.get("description"):
        parts.append(f"<p>{escape(operation['description'])}</p>")
    parameters = operation.get("parameters", [])
    if parameters:
        rows = ((one["name"], _range(one["schema"]), _default(one["schema"]), one["description"]) for one in parameters)
        parts.append(_table("Settings", ("name", "values", "default", "meaning"), rows))
    for body in operation.get("requestBody", {}).get("content", {}).values():
        form = body["schema"]
        rows = (
            (name, _range(one), "needed" if name in form["required"] else _default(one), one["description"])
            for name, one in form["properties"].items()
        )
        parts.append(_table("Parts of the form", ("name", "values", "default", "meaning"), rows))
    answers = (
        (status, ", ".join(one["content"]), one["description"]) for status, one in operation["responses"].items()
    )
    parts.append(_table("Answers", ("status", "kind", "meaning"), answers))
    example = _example(path, method, parameters)
    if example:
        parts.append(f'<p>Try <a href="{escape(example)}"><code>{escape(example)}</code></a></p>')
    return f'<section id="{_anchor(operation)}">{"".join(parts)}</section>'


def _table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="table"><table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _range(schema: Mapping[str, Any]) -> str:
    """Return as text which values a schema allows."""
    if "enum" in schema:
        return ", ".join(str(one) for one in schema["enum"])
    if schema.get("type") == "boolean":
        return "true, false"
    if "minimum" in schema and "maximum" in schema:
        whole = "whole, " if schema.get("type") == "integer" else ""
        return f"{whole}{schema['minimum']:g} to {schema['maximum']:g}"
    return "file" if schema.get("format") == "binary" else str(schema.get("type", "any"))


def _default(schema: Mapping[str, Any]) -> str:
    if "default" not in schema:
        return ""
    given = schema["default"]
    return str(given).lower() if isinstance(given, bool) else str(given)


def _example(path: str, method: str, parameters: Iterable[Mapping[str, Any]]) -> str:
    """Return an address that can be tried: the first settings at their defaults."""
    if method != "get":
        return ""
    for one in parameters:
        if one["in"] == "path":
            path = path.replace(f"{{{one['name']}}}", one["schema"]["enum"][0])
    query = [(one["name"], _default(one["schema"])) for one in parameters if one["in"] == "query"][
        :MAX_EXAMPLE_SETTINGS
    ]
    return f"{path}?{urlencode(query)}" if query else path


def _anchor(operation: Mapping[str, Any]) -> str:
    return escape(operation["operationId"])


class AnswerCache:
    """The most recently requested answers, up to a number of bytes.

    An answer takes some milliseconds, nearly all of them with Python's lock held: several threads would only wait for
    each other. One thread computes, and cached answers do not wait for it. All methods belong to the thread of
    the event loop.

    Parameters
    ----------
    max_bytes : int
        Limit beyond which the least recently used answers are dropped.
    """

    def __init__(self, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self.max_bytes = max_bytes
        self.held_bytes = 0
        self._answers: OrderedDict[str, bytes] = OrderedDict()
        self._under_way: dict[str, asyncio.Future[bytes]] = {}
        self._thread: ThreadPoolExecutor | None = None

    async def get(self, key: str, compute: Callable[[], bytes]) -> bytes:
        """Return the cached answer of a key; if there is none, compute it once for all who wait."""
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key]
        if key not in self._under_way:
            self._thread = self._thread or ThreadPoolExecutor(1, "genlaws-answers")
            self._under_way[key] = asyncio.get_running_loop().run_in_executor(self._thread, compute)
        try:
            answer = await asyncio.shield(self._under_way[key])
        finally:
            self._under_way.pop(key, None)
        self._store(key, answer)
        return answer

    def close(self) -> None:
        """End the thread; a later request starts another one."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=False, cancel_futures=True)

    def _store(self, key: str, answer: bytes) -> None:
        if key in self._answers:
            return
        self._answers[key] = answer
        self.held_bytes += len(answer)
        while self.held_bytes > self.max_bytes:
            self.held_bytes -= len(self._answers.popitem(last=False)[1])


class Api:
    """The answers of a set of views."""

    def __init__(self, views: tuple[View, ...]) -> None:
        self.views: Mapping[str, View] = {view.name: view for view in views}
        self.cache = AnswerCache()
        self._described = json.dumps(describe_views(views), ensure_ascii=False).encode()

    async def list_views(self, request: Request) -> Response:
        """Answer with all views and the schema of their settings."""
        return Response(self._described, media_type=JSON_TYPE)

    async def view(self, request: Request) -> Response:
        """Answer with one view at its settings."""
        view, settings = self._requested(request)

        def compute() -> bytes:
            """Return the answer as JSON."""
            answer = view.answer(settings).to_json() | {"settings": settings.model_dump(mode="json")}
            return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

        return await self._timed(f"json {_key(view, settings)}", compute, JSON_TYPE)

    async def table(self, request: Request) -> Response:
        """Answer with the numbers behind one picture of a view."""
        view, settings = self._requested(request)
        name = request.path_params["panel"]

        def compute() -> bytes:
            """Return the table as text."""
            answer: Answer = view.answer(settings)
            for panel in answer.panels:
                if panel.name == name:
                    return panel.to_csv().encode()
            known = ", ".join(panel.name for panel in answer.panels)
            raise HttpError(404, f"There is no picture {quote_input(name)} of {view.name}; there are {known}.")

        answered = await self._timed(f"table {name} {_key(view, settings)}", compute, CSV_TYPE)
        answered.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
        return answered

    async def claims(self, request: Request) -> Response:
        """Answer with the claims of the papers and what the bundled runs found."""
        return JSONResponse(ledger())

    def _requested(self, request: Request) -> tuple[View, ViewSettings]:
        name = request.path_params["name"]
        if name not in self.views:
            raise HttpError(404, f"There is no view {quote_input(name)}; there are {', '.join(self.views)}.")
        view = self.views[name]
        return view, read_settings(view, request.url.query)

    async def _timed(self, key: str, compute: Callable[[], bytes], kind: str) -> Response:
        """Return an answer with the milliseconds it took to compute as a header; 0 if it was cached."""
        spent = [0.0]

        def timed() -> bytes:
            """Compute, and record the time."""
            started = time.perf_counter()
            body = compute()
            spent[0] = 1000.0 * (time.perf_counter() - started)
            return body

        body = await self.cache.get(key, timed)
        return Response(body, media_type=kind, headers={"Server-Timing": f"answer;dur={spent[0]:.3f}"})


def describe_views(views: tuple[View, ...]) -> dict[str, Any]:
    """Return the names, texts and schemas of the views."""
    texts = ("name", "title", "question", "about")
    described = [
        {text: getattr(view, text) for text in texts} | {"schema": view.settings.model_json_schema()} for view in views
    ]
    return {"version": __version__, "views": described}


@cache
def ledger() -> dict[str, Any]:
    """Return every claim with the verdict of its bundled run, and the count of each verdict; nothing is checked now."""
    listed = list_claims().claims
    counts = Counter(one.verdict for one in listed)
    return {"counts": counts, "papers": verdict_counts(), "claims": [parts_of(one) for one in listed]}


def _key(view: View, settings: ViewSettings) -> str:
    return f"{view.name} {settings.model_dump_json()}"
