"""Packages whose modules are imported on first access (PEP 562), and the versions of what is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def loaded_on_access(package: str) -> tuple[Callable[[str], ModuleType], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose modules are imported on first access."""

    def names() -> set[str]:
        return {module.name for module in iter_modules(sys.modules[package].__path__)}

    def load(name: str) -> ModuleType:
        if not name.startswith("_") and name in names():
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names()})

    return load, listed


def installed_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of libraries; those that are not installed are left out."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415  slow at import

    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
