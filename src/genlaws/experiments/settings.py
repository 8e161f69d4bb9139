"""The numbers a computation is made with, checked once and unchangeable after."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from genlaws.numerics.errors import InputError


class Settings(BaseModel):
    """The numbers a computation is made with; unknown names are refused, and nothing changes after checking."""

    model_config = ConfigDict(frozen=True, extra="forbid")


S = TypeVar("S", bound=Settings)
MOST_SHOWN = 200  # characters of a value that is not accepted


def checked(kind: type[S], given: Mapping[str, Any], owner: str) -> S:
    """Return settings of a kind from plain values, or say in one sentence which is wrong."""
    try:
        return kind(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "the combination"
        allowed = ", ".join(kind.model_fields)
        given_text = repr(first["input"])
        shown = given_text if len(given_text) <= MOST_SHOWN else f"{given_text[:MOST_SHOWN]}…"
        raise InputError(
            f"settings of {owner}: {name} is not accepted: {first['msg'].lower()}; got {shown}. "
            f"The settings are {allowed}."
        ) from None


def writable(text: str) -> str:
    """Return text in characters every file can hold: a lone surrogate as its escape."""
    return text.encode(errors="backslashreplace").decode()


def canonical(value: object) -> str:
    """Return JSON that is the same for the same value: names sorted, no spaces, numbers in full."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
