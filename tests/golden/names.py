"""The public names of every package of the library, with parameters, defaults, fields and members."""

from __future__ import annotations

import dataclasses
import inspect
import pkgutil
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

import genlaws
from golden.store import Case

OTHER = "…"  # a default that is no plain number, word, truth value or None


def cases() -> Mapping[str, Case]:
    """Return one case for each package and sub-package."""
    return {name: Case("exact", partial(_answer, name)) for name in _packages()}


def _packages() -> list[str]:
    """Return the packages, found without importing them."""
    root = Path(genlaws.__file__).parent
    return sorted(".".join(file.parent.relative_to(root.parent).parts) for file in root.rglob("__init__.py"))


def _answer(name: str) -> dict[str, object]:
    package = import_module(name)
    return {
        "listed": hasattr(package, "__all__"),
        "names": {one: _named(package, one) for one in _public(package)},
        "modules_on_access": _modules_on_access(package),
    }


def _public(package: ModuleType) -> list[str]:
    """Return ``__all__``, or the names made in the package itself."""
    if hasattr(package, "__all__"):
        return sorted(package.__all__)
    return sorted(name for name, value in vars(package).items() if not name.startswith("_") and _is_own(package, value))


def _is_own(package: ModuleType, value: object) -> bool:
    """Return whether a value was made in the package; which modules it has depends on what was imported before."""
    if isinstance(value, ModuleType):
        return False
    return getattr(value, "__module__", None) == package.__name__ or isinstance(value, dict | tuple)


def _modules_on_access(package: ModuleType) -> list[str]:
    """Return the modules that the package imports when they are first asked for."""
    load = getattr(package, "__getattr__", None)
    if load is None:
        return []
    found = []
    for one in pkgutil.iter_modules(package.__path__):
        with suppress(AttributeError):
            load(one.name)
            found.append(one.name)
    return sorted(found)


def _named(package: ModuleType, name: str) -> object:
    value = getattr(package, name)
    if isinstance(value, type):
        return _class(value)
    if callable(value):
        return {"kind": "function", "parameters": _parameters(value)}
    return {"kind": type(value).__name__} | _names_in(value)


def _class(kind: type) -> dict[str, object]:
    found: dict[str, object] = {"kind": "class", "parameters": _parameters(kind)}
    if dataclasses.is_dataclass(kind):
        found["fields"] = [one.name for one in dataclasses.fields(kind)]
    members: dict[str, object] = {}
    for name, value in vars(kind).items():
        if name.startswith("_"):
            continue
        inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if inspect.isfunction(inner):
            members[name] = _parameters(inner)
        elif isinstance(value, property):
            members[name] = "property"
    found["members"] = members
    return found


def _parameters(value: object) -> list[list[str]] | None:
    """Return parameters in order: name, how it is given, and its default if it has one.

    Python's own of an error or a protocol are left out: they are not the same in all its versions.
    """
    if isinstance(value, type) and "__init__" not in vars(value) and _takes_what_python_takes(value):
        return None
    try:
        parameters = inspect.signature(value).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return [[one.name, one.kind.name, *_default(one)] for one in parameters]


def _takes_what_python_takes(kind: type) -> bool:
    return issubclass(kind, BaseException) or bool(getattr(kind, "_is_protocol", False))


def _default(parameter: inspect.Parameter) -> list[str]:
    default = parameter.default
    if default is parameter.empty:
        return []
    plain = default is None or isinstance(default, bool | int | float | str)
    return [repr(default) if plain else OTHER]


def _names_in(value: object) -> dict[str, object]:
    """Return the names that a constant holds."""
    if isinstance(value, Mapping):
        return {"keys": sorted(str(one) for one in value)}
    if isinstance(value, tuple | list | frozenset | set) and all(isinstance(one, str) for one in value):
        return {"entries": sorted(value)}
    if isinstance(value, bool | int | float | str):
        return {"value": value}
    return {}
