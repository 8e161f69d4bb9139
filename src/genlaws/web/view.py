"""A view of the explorer: a question, settings with controls, and an answer in pictures, numbers and sentences.

Each setting is a field whose schema names its control: a slider, a list or a check box. `read_settings` parses the
settings from the query of an address and raises an HTTP error with a sentence where they are wrong.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from genlaws.render import Panel
from genlaws.web.http_errors import HttpError, WrongInputError, quote_input

SLIDER_DIGITS = 4
MAX_QUERY_CHARACTERS = 2000
MAX_QUERY_SETTINGS = 100
# The only texts that a query may use for a boolean.
BOOLEAN_TEXTS = {"true": True, "false": False}


class ViewSettings(BaseModel):
    """The numbers behind a view. Unknown names are refused; checked values cannot change."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def slider(
    default: float,
    low: float,
    high: float,
    label: str,
    *,
    step: float | None = None,
    log: bool = False,
    about: str = "",
    when: Mapping[str, str] | None = None,
) -> Any:
    """Return a number between two ends, changed with a slider.

    Parameters
    ----------
    default, low, high : float
        Both ends are included.
    label : str
        A description followed by the symbol.
    step : float, optional
        In the units of the number, or in decades for a logarithmic slider; a hundredth of the range if left out.
    log : bool
        Whether the slider moves in decades.
    about : str
        One sentence for a reader who does not know the word.
    when : mapping, optional
        Values of other settings for which this one matters; the page hides it otherwise.
    """
    control = {"kind": "slider", "step": step, "log": log}
    return _setting(default, label, about, control, when, ge=low, le=high, allow_inf_nan=False)


log_slider = partial(slider, step=0.02, log=True)  # fiftieths of a decade


def choice(default: str, label: str, *, about: str = "", when: Mapping[str, str] | None = None) -> Any:
    """Return one of the values that the annotation names, changed with a list."""
    return _setting(default, label, about, {"kind": "choice"}, when)


def switch(default: bool, label: str, *, about: str = "", when: Mapping[str, str] | None = None) -> Any:
    """Return yes or no, changed with a check box."""
    return _setting(default, label, about, {"kind": "switch"}, when)


def _setting(
    default: Any, label: str, about: str, control: dict[str, Any], when: Mapping[str, str] | None, **limits: Any
) -> Any:
    """Return a field whose schema names its control."""
    extra: dict[str, Any] = {"control": {**control, "when": dict(when or {})}}
    return Field(default=default, title=label, description=about or label, json_schema_extra=extra, **limits)


def rounded(value: float) -> float:
    """Return a setting rounded to the steps of the sliders."""
    return float(f"{value:.{SLIDER_DIGITS}g}")


@dataclass(frozen=True)
class Number:
    """One number of an answer: what it is, its value as text, and what it means."""

    name: str
    value: str
    meaning: str = ""


@dataclass(frozen=True)
class Answer:
    """What a view shows for one choice of its settings.

    Attributes
    ----------
    panels : tuple of Panel
        The same names in the same order whatever the settings.
    numbers : tuple of Number
        At the settings of the sliders.
    sentence : str
        What it means, in one or two sentences.
    python : str
        Lines that compute the main numbers with the library; they run unchanged.
    command : str
        A command line that gives the same.
    """

    panels: tuple[Panel, ...]
    numbers: tuple[Number, ...]
    sentence: str
    python: str
    command: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        panels, numbers = [one.to_json() for one in self.panels], [vars(one) for one in self.numbers]
        return vars(self) | {"panels": panels, "numbers": numbers}


@dataclass(frozen=True)
class View:
    """One page of the explorer.

    Attributes
    ----------
    name : str
        In the address of the page, such as ``rules-facts``.
    title, question : str
    about : str
        Two or three sentences: the law, and what the reader can learn from it.
    settings : type
        A kind of `ViewSettings`; each field made with `slider`, `choice` or `switch`.
    answer : callable
        Takes the settings; some 30 ms for theory, up to 100 ms where the library has to search. Raises `InputError`
        where settings contradict each other.
    """

    name: str
    title: str
    question: str
    about: str
    settings: type[ViewSettings]
    answer: Callable[[Any], Answer]


def read_settings(view: View, query: str) -> ViewSettings:
    """Return the settings that a query names, the others at their default.

    `query`: the part of an address after the question mark, unparsed.
    """
    known = properties_of(view.settings)
    given: dict[str, Any] = {}
    for name, text in _pairs(query):
        if name not in known:
            raise WrongInputError(
                f"There is no setting {quote_input(name)}; there are {', '.join(known)}.", name[:MAX_QUERY_CHARACTERS]
            )
        if name in given:
            raise WrongInputError(f"{name} must be given once; it was given several times.", name)
        given[name] = _value(name, text, known[name])
    try:
        return view.settings.model_validate(given)
    except ValidationError as error:
        raise _validation_error(error, known, given) from None


@cache
def properties_of(settings: type[ViewSettings]) -> Mapping[str, Mapping[str, Any]]:
    """Return the schema of each setting, in the order of the page."""
    properties: dict[str, dict[str, Any]] = settings.model_json_schema(mode="validation")["properties"]
    return properties


def allowed_values(schema: Mapping[str, Any]) -> str:
    """Return as text which values a setting may have."""
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
    if len(query) > MAX_QUERY_CHARACTERS:
        raise WrongInputError(f"A query must have at most {MAX_QUERY_CHARACTERS:,} characters; got {len(query):,}.")
    try:
        return parse_qsl(
            query, keep_blank_values=True, max_num_fields=MAX_QUERY_SETTINGS, encoding="utf-8", errors="strict"
        )
    except ValueError:
        raise WrongInputError(
            f"A query must be at most {MAX_QUERY_SETTINGS} settings in the form name=value, in UTF-8."
        ) from None


def _value(name: str, text: str, schema: Mapping[str, Any]) -> Any:
    """Return the text of a setting as the number, word or switch that its schema requires."""
    kind = schema.get("type")
    if kind == "string" or "enum" in schema or "const" in schema:
        return text
    try:
        value = BOOLEAN_TEXTS[text] if kind == "boolean" else json.loads(text)
    except (KeyError, ValueError, RecursionError):
        value = None
    wanted = bool if kind == "boolean" else int | float
    if not isinstance(value, wanted) or isinstance(value, bool) != (kind == "boolean"):
        raise WrongInputError(f"{name} {allowed_values(schema)}; got {quote_input(text)}.", name)
    return value


def _validation_error(
    error: ValidationError, known: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]
) -> HttpError:
    """Return the first validation error as an HTTP error."""
    first = error.errors(include_url=False, include_context=False)[0]
    name = str(first["loc"][0]) if first["loc"] else None
    if name is None or name not in known or first["type"] == "value_error":
        sentence = first["msg"].removeprefix("Value error, ").rstrip(".") + "."
        return WrongInputError(sentence, name)
    return WrongInputError(f"{name} {allowed_values(known[name])}; got {quote_input(str(given.get(name)))}.", name)


@cache
def bundled_rows(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a bundled table of runs, as text by column; callers must not change them."""
    text = (files("genlaws.web") / "bundled_runs" / name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))
