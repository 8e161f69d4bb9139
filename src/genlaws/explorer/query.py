"""The settings of a view out of the query of an address, or a sentence that says what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from pydantic import ValidationError

from genlaws.explorer.controls import ViewSettings
from genlaws.explorer.refusals import WRONG_INPUT, RefusedError, shown
from genlaws.explorer.view import View

LONGEST = 2000  # characters of a query
MOST = 100  # settings
# What an address writes, as what the settings are given; nothing else means yes or no.
SWITCHED = {"true": True, "false": False}


def read_settings(view: View, query: str) -> ViewSettings:
    """Return the settings that a query names, the others at their default.

    Parameters
    ----------
    view : View
    query : str
        What stands behind the question mark of an address, as it came.
    """
    known = properties_of(view.settings)
    given: dict[str, Any] = {}
    for name, text in _pairs(query):
        if name not in known:
            raise RefusedError(
                WRONG_INPUT, f"There is no setting {shown(name)}; there are {', '.join(known)}.", name[:LONGEST]
            )
        if name in given:
            raise RefusedError(WRONG_INPUT, f"{name} must be given once; it came several times.", name)
        given[name] = _value(name, text, known[name])
    try:
        return view.settings.model_validate(given)
    except ValidationError as error:
        raise _refused(error, known, given) from None


@cache
def properties_of(settings: type[ViewSettings]) -> Mapping[str, Mapping[str, Any]]:
    """Return the schema of each setting, in the order of the page."""
    properties: dict[str, dict[str, Any]] = settings.model_json_schema(mode="validation")["properties"]
    return properties


def allowed(schema: Mapping[str, Any]) -> str:
    """Return in words which values a setting may have."""
    if "enum" in schema or "const" in schema:
        return f"must be one of {', '.join(str(one) for one in schema.get('enum', [schema.get('const')]))}"
    kind = schema.get("type")
    if kind == "boolean":
        return "must be true or false"
    what = "be a whole number in" if kind == "integer" else "lie in"
    if "minimum" in schema and "maximum" in schema:
        return f"must {what} [{schema['minimum']:g}, {schema['maximum']:g}]"
    return "must be a whole number" if kind == "integer" else "must be a number"


def _pairs(query: str) -> list[tuple[str, str]]:
    if len(query) > LONGEST:
        raise RefusedError(WRONG_INPUT, f"A query must have at most {LONGEST:,} characters; got {len(query):,}.")
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=MOST, encoding="utf-8", errors="strict")
    except ValueError:
        raise RefusedError(
            WRONG_INPUT, f"A query must be at most {MOST} settings in the form name=value, in UTF-8."
        ) from None


def _value(name: str, text: str, schema: Mapping[str, Any]) -> Any:
    """Return the text of a setting as the number, word or switch that its schema asks for."""
    kind = schema.get("type")
    if kind == "string" or "enum" in schema or "const" in schema:
        return text
    try:
        value = SWITCHED[text] if kind == "boolean" else json.loads(text)
    except (KeyError, ValueError, RecursionError):
        value = None
    wanted = bool if kind == "boolean" else int | float
    if not isinstance(value, wanted) or isinstance(value, bool) != (kind == "boolean"):
        raise RefusedError(WRONG_INPUT, f"{name} {allowed(schema)}; got {shown(text)}.", name)
    return value


def _refused(error: ValidationError, known: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]) -> RefusedError:
    """Return the first thing wrong in the words of the house."""
    first = error.errors(include_url=False, include_context=False)[0]
    name = str(first["loc"][0]) if first["loc"] else None
    if name is None or name not in known or first["type"] == "value_error":
        sentence = first["msg"].removeprefix("Value error, ").rstrip(".") + "."
        return RefusedError(WRONG_INPUT, sentence, name)
    return RefusedError(WRONG_INPUT, f"{name} {allowed(known[name])}; got {shown(str(given.get(name)))}.", name)
