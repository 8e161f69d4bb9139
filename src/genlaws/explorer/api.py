"""What the page asks: which views there are, what one says for its settings, its tables, and what the papers claim."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from genlaws import __version__
from genlaws.explorer.answer_cache import AnswerCache
from genlaws.explorer.controls import ViewSettings
from genlaws.explorer.query import read_settings
from genlaws.explorer.refusals import RefusedError, shown
from genlaws.explorer.view import Answer, View

JSON, TABLE = "application/json", "text/csv; charset=utf-8"


class Api:
    """The answers of a set of views.

    Parameters
    ----------
    views : sequence of View
    """

    def __init__(self, views: tuple[View, ...]) -> None:
        self.views: Mapping[str, View] = {view.name: view for view in views}
        self.cache = AnswerCache()
        self._described = json.dumps(describe_views(views), ensure_ascii=False).encode()

    async def list_views(self, request: Request) -> Response:
        """Answer which views there are, with the schema of their settings."""
        return Response(self._described, media_type=JSON)

    async def view(self, request: Request) -> Response:
        """Answer one view at its settings."""
        view, settings = self._asked(request)

        def compute() -> bytes:
            """Return the answer as JSON."""
            answer = view.answer(settings).to_json() | {"settings": settings.model_dump(mode="json")}
            return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

        return await self._timed(f"json {_key(view, settings)}", compute, JSON)

    async def table(self, request: Request) -> Response:
        """Answer the numbers behind one picture of a view."""
        view, settings = self._asked(request)
        name = request.path_params["panel"]

        def compute() -> bytes:
            """Return the table as text."""
            answer: Answer = view.answer(settings)
            for panel in answer.panels:
                if panel.name == name:
                    return panel.to_csv().encode()
            known = ", ".join(panel.name for panel in answer.panels)
            raise RefusedError(404, f"There is no picture {shown(name)} of {view.name}; there are {known}.")

        answered = await self._timed(f"table {name} {_key(view, settings)}", compute, TABLE)
        answered.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
        return answered

    async def claims(self, request: Request) -> Response:
        """Answer what the papers claim and what the kept runs found."""
        return JSONResponse(ledger())

    def _asked(self, request: Request) -> tuple[View, ViewSettings]:
        name = request.path_params["name"]
        if name not in self.views:
            raise RefusedError(404, f"There is no view {shown(name)}; there are {', '.join(self.views)}.")
        view = self.views[name]
        return view, read_settings(view, request.url.query)

    async def _timed(self, key: str, compute: Callable[[], bytes], kind: str) -> Response:
        """Return an answer that says how many milliseconds it took to compute; none if it was kept."""
        spent = [0.0]

        def timed() -> bytes:
            """Compute, and note the time."""
            started = time.perf_counter()
            body = compute()
            spent[0] = 1000.0 * (time.perf_counter() - started)
            return body

        body = await self.cache.get(key, timed)
        return Response(body, media_type=kind, headers={"Server-Timing": f"answer;dur={spent[0]:.3f}"})


def describe_views(views: tuple[View, ...]) -> dict[str, Any]:
    """Return the names, words and schemas of the views."""
    described = [
        {
            "name": view.name,
            "title": view.title,
            "question": view.question,
            "about": view.about,
            "schema": view.settings.model_json_schema(),
        }
        for view in views
    ]
    return {"version": __version__, "views": described}


@cache
def ledger() -> dict[str, Any]:
    """Return every claim with the verdict of its kept run, and how many there are of each; nothing is checked now."""
    from genlaws.claims.ledger import all_claims  # noqa: PLC0415 - loads the checks of all papers
    from genlaws.claims.records import kept_records  # noqa: PLC0415
    from genlaws.claims.summary import NOT_RUN, verdict_counts  # noqa: PLC0415

    kept = kept_records()
    rows = []
    for claim in all_claims():
        record = kept.get(claim.id)
        found = (NOT_RUN, "", "") if record is None else (record.verdict, record.sentence, record.date)
        row = {name: getattr(claim, name) for name in ("id", "paper", "kind", "says", "where")}
        rows.append(row | dict(zip(("verdict", "sentence", "date"), found, strict=True)))
    return {"counts": Counter(row["verdict"] for row in rows), "papers": verdict_counts(), "claims": rows}


def _key(view: View, settings: ViewSettings) -> str:
    return f"{view.name} {settings.model_dump_json()}"
