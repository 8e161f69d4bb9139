"""The explorer as a web application: the page, its API, and the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from genlaws.web.api import Api, api_page
from genlaws.web.http_errors import HANDLERS, UnhandledErrors
from genlaws.web.openapi import openapi_document
from genlaws.web.security import LOOPBACK, Guard, Hosts, hosts_of
from genlaws.web.static_files import index, static_file, unknown_page
from genlaws.web.upload import Uploads
from genlaws.web.view import View
from genlaws.web.views import all_views


def make_app(
    hosts: Hosts | Sequence[str] = LOOPBACK,
    views: Sequence[View] | None = None,
    uploads: Uploads | None = None,
) -> Starlette:
    """Return the application.

    Parameters
    ----------
    hosts : Hosts or sequence of str
        Host names the application answers to; the loopback names if not given.
    views : sequence of View, optional
        All views of the registry if not given.
    uploads : Uploads, optional
        The endpoint that measures uploaded sets.
    """
    shown = tuple(all_views() if views is None else views)
    api, measurements = Api(shown), Uploads() if uploads is None else uploads
    described = openapi_document(shown)
    document, page = json.dumps(described, ensure_ascii=False).encode(), api_page(described)

    async def openapi(request: Request) -> Response:
        """Answer with the OpenAPI document."""
        return Response(document, media_type="application/json")

    async def docs(request: Request) -> Response:
        """Answer with the page of the API."""
        return HTMLResponse(page)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        """Stop all computations together with the server."""
        try:
            yield
        finally:
            measurements.close()
            api.cache.close()

    routes = [
        Route("/api/views", api.list_views),
        Route("/api/views/{name}", api.view),
        Route("/api/views/{name}/panels/{panel}.csv", api.table),
        Route("/api/claims", api.claims),
        Route("/api/measure", measurements.measure, methods=["POST"]),
        Route("/openapi.json", openapi),
        Route("/api-docs", docs),
        Route("/static/{file}", static_file),
        *(Route(f"/{name}", index) for name in ("", *(view.name for view in shown))),
        Route("/{page}", unknown_page),
    ]
    guards = [
        Middleware(Guard, hosts=hosts if isinstance(hosts, Hosts) else hosts_of(hosts)),
        Middleware(UnhandledErrors),
    ]
    return Starlette(routes=routes, middleware=guards, exception_handlers=HANDLERS, lifespan=lifespan)
