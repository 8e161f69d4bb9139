"""Read the words of a template from a JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from genlaws.numerics.errors import InputError

Words = TypeVar("Words")


def template_named(template: str | os.PathLike[str], known: Mapping[str, Words], kind: type[Words]) -> Words:
    """Return a template by its name, or read one from a JSON file.

    Parameters
    ----------
    template : str or path
        A name, or a file; its name without the ending is the template's, unless the file says otherwise.
    known : mapping of str to templates
        Those that have a name.
    kind : type
        A dataclass with a field ``name`` and fields of words; the file holds those without a default and may hold the
        rest.
    """
    name = os.fspath(template)
    if name in known:
        return known[name]
    if not Path(name).is_file():
        raise InputError(f"template must be one of {', '.join(known)}, or a JSON file; got {name!r}.")
    return _read(Path(name), kind)


def _read(path: Path, kind: type[Words]) -> Words:
    try:
        given: Any = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} must be JSON: {error}.") from None
    parts: Any = kind
    names = [field.name for field in fields(parts)]
    needed = [field.name for field in fields(parts) if field.default is MISSING and field.name != "name"]
    if not isinstance(given, dict) or not set(needed) <= set(given) <= set(names):
        must = f"{', '.join(needed[:-1])} and {needed[-1]}"
        raise InputError(f"{path.name} must hold {must}, and may hold the rest of {sorted(names)}.")
    return kind(**{"name": path.stem, **given})


def check_kinds(template: object) -> None:
    """Refuse a template with a field that is not text, or true or false where that is the default."""
    parts: Any = template
    for field in fields(parts):
        wanted = bool if isinstance(field.default, bool) else str
        value = getattr(template, field.name)
        if not isinstance(value, wanted):
            kind = "true or false" if wanted is bool else "text"
            raise InputError(f"{field.name} of a template must be {kind}; got {value!r}.")
