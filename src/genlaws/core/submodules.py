"""Modules of a package that are imported on first access (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable
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
