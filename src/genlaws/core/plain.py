"""Values as JSON has them, and back: dataclasses, arrays, and numbers that are not finite.

Infinity and NaN become the texts "inf", "-inf" and "nan". Going back takes the type of the value, because a list may
have been an array or a tuple, and a text a number.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import singledispatch
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

UNWRITTEN = {"written": False}  # metadata of a field that JSON does not hold, such as raw runs
NOT_FINITE = ("inf", "-inf", "nan")


@singledispatch
def to_plain(value: Any) -> Any:
    """Return a value as numbers, texts, lists and dictionaries that JSON can hold."""
    if not is_dataclass(value):
        raise TypeError(f"A {type(value).__name__} cannot be written as JSON.")
    derived = {name: getattr(value, name) for name in getattr(value, "derived", ())}
    return {name: to_plain(part) for name, part in (parts_of(value) | derived).items()}


@to_plain.register(type(None))
@to_plain.register(int)
@to_plain.register(str)
def _as_it_is(value: Any) -> Any:
    return value


@to_plain.register
def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


@to_plain.register
def _numpy_number(value: np.generic) -> Any:
    return to_plain(value.item())


@to_plain.register
def _nested_list(value: np.ndarray) -> Any:
    finite = value.dtype.kind in "biuU" or (value.dtype.kind == "f" and np.isfinite(value).all())
    return value.tolist() if finite else to_plain(value.tolist())


@to_plain.register
def _dictionary(value: Mapping) -> dict[str, Any]:  # type: ignore[type-arg]
    return {str(key): to_plain(part) for key, part in value.items()}


@to_plain.register(list)
@to_plain.register(tuple)
@to_plain.register(range)
def _list(value: Sequence[Any]) -> list[Any]:
    return [to_plain(part) for part in value]


@to_plain.register
def _path(value: Path) -> str:
    return str(value)


def parts_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are written, by name."""
    return {one.name: getattr(value, one.name) for one in fields(value) if one.metadata.get("written", True)}


def from_plain(kind: Any, plain: Any) -> Any:
    """Return the value of a type that `to_plain` wrote as `plain`."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Annotated:
        found = _number_or_array(plain) if np.ndarray in parts[1:] else from_plain(parts[0], plain)
    elif origin in (Union, types.UnionType):
        found = from_plain(_fitting(parts, plain), plain)
    elif origin is Any or origin is Literal or plain is None:
        found = plain
    elif origin is np.ndarray:
        found = _array(plain, *get_args(parts[1]))
    elif isinstance(origin, type) and is_dataclass(origin):
        kinds = types_of(origin)
        names = [one.name for one in fields(origin) if one.name in plain]
        found = origin(**{name: from_plain(kinds[name], plain[name]) for name in names})
    elif issubclass(origin, Mapping):
        found = {from_plain(parts[0], key): from_plain(parts[1], part) for key, part in plain.items()}
    elif origin is tuple and parts[-1] is not ...:
        found = tuple(from_plain(part, one) for part, one in zip(parts, plain, strict=True))
    elif issubclass(origin, Sequence) and origin is not str:
        found = (list if origin is list else tuple)(from_plain(parts[0], one) for one in plain)
    else:
        found = origin(plain)
    return found


def types_of(kind: type) -> Mapping[str, Any]:
    """Return the type of every field of a dataclass."""
    return get_type_hints(kind, include_extras=True)


def _fitting(kinds: tuple[Any, ...], plain: Any) -> Any:
    """Return the first of several types that a plain value can have."""
    return next(kind for kind in kinds if _fits(kind, plain))


def _fits(kind: Any, plain: Any) -> bool:
    base = get_origin(kind) or kind
    if base in (Any, Annotated):
        return True
    if base is float:
        return isinstance(plain, int | float) or plain in NOT_FINITE
    if is_dataclass(base) or issubclass(base, Mapping):
        return isinstance(plain, dict)
    if issubclass(base, np.ndarray) or (issubclass(base, Sequence) and base is not str):
        return isinstance(plain, list)
    return isinstance(plain, base)


def _number_or_array(plain: Any) -> Any:
    """Return what stands for one element or for many; see :data:`~genlaws.core.arguments.Elementwise`."""
    if isinstance(plain, list):
        return _array(plain, None)
    return float(plain) if plain in NOT_FINITE else plain


def _array(plain: list[Any], dtype: type | None) -> np.ndarray[Any, Any]:
    """Return nested lists as an array; without a type, numbers that are not finite are found among the texts."""
    if dtype is not None and dtype is not np.generic and dtype is not object:
        return np.array(plain, dtype=dtype)
    array = np.array(plain, dtype=object)
    kinds = {type(one) for one in array.flat}
    if str in kinds and not all(isinstance(one, int | float) or one in NOT_FINITE for one in array.flat):
        return array
    return np.array(plain, dtype=np.float64 if kinds & {float, str} else None)
