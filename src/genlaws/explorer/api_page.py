"""A page that a person can read, made from the OpenAPI document; without any script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any
from urllib.parse import urlencode

LARGEST_EXAMPLE = 3  # settings in an address shown as an example


def api_page(document: Mapping[str, Any]) -> str:
    """Return the HTML of the page.

    Parameters
    ----------
    document : mapping
        As `genlaws.explorer.openapi.openapi_document` returns it.
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
        f'<p>Version {escape(info["version"])}. The same for machines: <a href="/openapi.json">openapi.json</a>. '
        '<a href="/">To the page</a>.</p>',
        f"<nav aria-label='Addresses'><ul>{contents}</ul></nav>",
        *(_section(*operation) for operation in operations),
    ]
    return (
        '<!doctype html><html lang="en-GB"><head><meta charset="utf-8">'
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
    """Return which values a schema allows, in words."""
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
    query = [(one["name"], _default(one["schema"])) for one in parameters if one["in"] == "query"][:LARGEST_EXAMPLE]
    return f"{path}?{urlencode(query)}" if query else path


def _anchor(operation: Mapping[str, Any]) -> str:
    return escape(operation["operationId"])
