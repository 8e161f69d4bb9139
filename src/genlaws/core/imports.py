"""Names that are imported when they are used (PEP 562), and which libraries are installed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

# Optional libraries, and the extra that installs each.
EXTRAS = {
    "torch": "networks",
    "transformers": "models",
    "accelerate": "models",
    "gguf": "models",
    "httpx": "servers",
    "igraph": "graphs",
    "networkx": "graphs",
    "dask": "cluster",
    "distributed": "cluster",
    "xarray": "export",
    "pyarrow": "export",
    "plotly": "page",
    "starlette": "page",
    "uvicorn": "page",
    "python_multipart": "page",
}


def loaded_on_access(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Its modules are imported on first access, and so are the names that it imports for type checkers only, below ``if
    TYPE_CHECKING:``. One list therefore serves type checkers, documentation and Python.
    """
    named = _places(Path(str(sys.modules[package].__file__)))
    places = {name: module for name, module in named.items() if module != package}  # its own modules are found below

    def modules() -> set[str]:
        return {module.name for module in iter_modules(sys.modules[package].__path__)}

    def load(name: str) -> object:
        if name in places:
            found = getattr(import_module(places[name]), name)
            setattr(sys.modules[package], name, found)  # the next access finds it without this function
            return found
        if not name.startswith("_") and name in modules():
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places, *modules()})

    return load, listed


def _places(path: Path) -> dict[str, str]:
    """Return the module of each name that a file imports below ``if TYPE_CHECKING:``."""
    blocks = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}


def load_named(place: str) -> Any:
    """Return what stands at ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def how_to_install(library: str, extra: str = "") -> str:
    """Return how to install an optional library, by default with the extra that brings it."""
    install = f"pip install 'genlaws[{extra or EXTRAS[library]}]'"
    return f"This needs {library}, which is not installed. Install it with: {install}"


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


def require_installed(*libraries: str) -> None:
    """Raise if an optional library is missing; nothing is imported, so a command can check before any work."""
    for library in libraries:
        if find_spec(library) is None:
            raise ModuleNotFoundError(f"No module named {library!r}", name=library)
