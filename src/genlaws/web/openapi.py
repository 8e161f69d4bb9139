"""The OpenAPI document of the explorer, made from its views and from models of every response body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from genlaws import __version__
from genlaws.claims import ListedClaim
from genlaws.core.tables import KINDS, MAX_ROWS
from genlaws.semanticity.measurement.metrics import METRICS
from genlaws.semanticity.measurement.stimuli import SIMILARITIES
from genlaws.web.upload import FORM_TYPE, MAX_CONCURRENT_UPLOADS, MAX_UPLOAD_BYTES, MAX_UPLOAD_SECONDS, SET_KINDS
from genlaws.web.view import Answer, View, properties_of


class Body(BaseModel):
    """An object with these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class ErrorBody(Body):
    """Why a request failed."""

    error: str = Field(description="What was wrong, what is allowed, what was given.")


class WrongInput(ErrorBody):
    """What was wrong with a setting or a file."""

    setting: str | None = Field(description="The wrong setting; null if there is none or several are involved.")


class AxisBody(Body):
    """An axis of a picture."""

    label: str
    log: bool
    range: list[float] | None = Field(description="In the units of the axis; fitted to the curves if null.")


class CurveBody(Body):
    """A curve or a set of points; a null is a gap."""

    name: str
    kind: Literal["theory", "run", "chance", "paper", "mark"]
    color: str
    x: list[float | None]
    y: list[float | None]
    low: list[float | None] | None
    high: list[float | None] | None
    notes: list[str] | None


class PanelBody(Body):
    """A picture as numbers."""

    name: str
    title: str
    x: AxisBody
    y: AxisBody
    caption: str
    curves: list[CurveBody]


class NumberBody(Body):
    """A number as text, and what it means."""

    name: str
    value: str
    meaning: str


class MeasuredBody(Body):
    """The result of measuring a set."""

    panels: list[PanelBody]
    numbers: list[NumberBody]
    sentence: str
    python: str = Field(description="Lines that compute the same with the library.")
    command: str = Field(description="A command line that gives the same.")


class AnswerBody(MeasuredBody):
    """The answer of a view for its settings."""

    settings: dict[str, Any] = Field(description="All settings as they were used.")


class ViewBody(Body):
    """A description of a view, with the schema of its settings."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)

    name: str
    title: str
    question: str
    about: str
    settings: dict[str, Any] = Field(alias="schema", description="JSON schema; each setting names its control.")


class ViewsBody(Body):
    """All views."""

    version: str
    views: list[ViewBody]


class ClaimsBody(Body):
    """All claims, and how many have each verdict."""

    counts: dict[str, int]
    papers: dict[str, dict[str, int]]
    claims: list[ListedClaim]


BODIES = (ViewsBody, AnswerBody, MeasuredBody, ClaimsBody, ErrorBody, WrongInput)


JSON_TYPE = "application/json"
HTTP_ERRORS: Mapping[int, tuple[str, type[BaseModel]]] = {
    403: ("The request comes from a page of another site.", ErrorBody),
    404: ("There is nothing of this name.", ErrorBody),
    405: ("The address does not support this method.", ErrorBody),
    408: (f"The set did not arrive within {MAX_UPLOAD_SECONDS:g} s.", ErrorBody),
    413: (f"The set is larger than {MAX_UPLOAD_BYTES // 2**20} MiB.", ErrorBody),
    415: (f"The set was not sent as {FORM_TYPE}.", ErrorBody),
    421: ("The host name is not one of this server.", ErrorBody),
    422: ("A setting or a file is wrong; the sentence explains it.", WrongInput),
    500: ("The server failed; its log has the error.", ErrorBody),
    503: (f"More than {MAX_CONCURRENT_UPLOADS} sets arrived at once, or a measurement was stopped.", ErrorBody),
}
COMMON_ERRORS = (405, 421)
API_DESCRIPTION = (
    "Views of the theory at settings of your choice, the numbers behind every picture, the ledger of claims, and the "
    "measurement of a set of your own. Every answer is computed on this machine; nothing is sent elsewhere or stored."
)


def openapi_document(views: tuple[View, ...]) -> dict[str, Any]:
    """Return the document: every address with its parameters, their ranges and defaults, and every answer."""
    paths: dict[str, Any] = {"/api/views": {"get": _operation("All views", "list_views", _json(ViewsBody))}}
    for view in views:
        paths[f"/api/views/{view.name}"] = {"get": _view_operation(view)}
        paths[f"/api/views/{view.name}/panels/{{panel}}.csv"] = {"get": _table_operation(view)}
    paths["/api/claims"] = {"get": _operation("What the papers claim", "claims", _json(ClaimsBody))}
    paths["/api/measure"] = {"post": _measure_operation()}
    paths["/openapi.json"] = {"get": _operation("This document", "document", _content(JSON_TYPE, {"type": "object"}))}
    schemas = models_json_schema(
        [(body, "serialization") for body in BODIES], ref_template="#/components/schemas/{model}"
    )[1]["$defs"]
    return {
        "openapi": "3.1.0",
        "info": {"title": "genlaws explore", "version": __version__, "description": API_DESCRIPTION},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _operation(summary: str, name: str, answer: Mapping[str, Any], *errors: int, **more: Any) -> dict[str, Any]:
    """Return one operation; `answer` is its response on success."""
    responses: dict[str, Any] = {"200": {"description": "The answer.", **answer}}
    for status in sorted({*COMMON_ERRORS, *errors}):
        sentence, body = HTTP_ERRORS[status]
        responses[str(status)] = {"description": sentence, **_json(body)}
    return {"summary": summary, "operationId": name, **more, "responses": responses}


def _view_operation(view: View) -> dict[str, Any]:
    return _operation(
        view.title,
        f"view_{_identifier(view)}",
        _json(AnswerBody),
        422,
        description=f"{view.question} {view.about}",
        parameters=_parameters(view),
    )


def _table_operation(view: View) -> dict[str, Any]:
    answer: Answer = view.answer(view.settings())
    panel = {
        "name": "panel",
        "in": "path",
        "required": True,
        "description": "Name of the picture.",
        "schema": {"type": "string", "enum": [one.name for one in answer.panels]},
    }
    return _operation(
        f"{view.title}: the numbers of a picture",
        f"table_{_identifier(view)}",
        _content("text/csv", {"type": "string"}),
        404,
        422,
        parameters=[panel, *_parameters(view)],
    )


def _parameters(view: View) -> list[dict[str, Any]]:
    """Return the settings of a view as parameters of a query."""
    found = []
    for name, schema in properties_of(view.settings).items():
        plain = {key: value for key, value in schema.items() if key not in {"control", "title", "description"}}
        about = f"{schema.get('title', name)}. {schema.get('description', '')}".strip()
        found.append({"name": name, "in": "query", "required": False, "description": about, "schema": plain})
    return found


def _measure_operation() -> dict[str, Any]:
    file = {"type": "string", "format": "binary"}
    fields = {
        "kind": {"type": "string", "enum": list(SET_KINDS), "description": "What the file holds."},
        "file": {
            **file,
            "description": f"A {KINDS} file with a row for each of at most {MAX_ROWS:,} items: embeddings, or "
            "a square matrix of judged distances between items.",
        },
        "positions": {
            **file,
            "description": f"A {KINDS} file with the true place of each item; if it is left out, the distances "
            "between the items of the file count as true distances.",
        },
        "metric": {
            "type": "string",
            "enum": list(METRICS),
            "default": "euclidean",
            "description": "How positions become true distances. The circle has length 1; precomputed positions are a "
            "matrix of distances; those of a tree are columns of labels, coarse to fine.",
        },
        "similarity": {
            "type": "string",
            "enum": list(SIMILARITIES),
            "description": "How alike two embeddings are, cosine if left out; only gaussian for distances, with their "
            "median as width.",
        },
    }
    form = {"type": "object", "properties": fields, "required": ["kind", "file"], "additionalProperties": False}
    return _operation(
        "Measure a set of your own",
        "measure",
        _json(MeasuredBody),
        *(403, 408, 413, 415, 422, 503),
        description=f"At most {MAX_ROWS:,} items and {MAX_UPLOAD_BYTES // 2**20} MiB. Files are read in memory, "
        "measured in a separate process and then deleted.",
        requestBody={"required": True, "content": {FORM_TYPE: {"schema": form}}},
    )


def _json(body: type[BaseModel]) -> dict[str, Any]:
    return _content(JSON_TYPE, {"$ref": f"#/components/schemas/{body.__name__}"})


def _content(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": {kind: {"schema": dict(schema)}}}


def _identifier(view: View) -> str:
    return view.name.replace("-", "_")
