"""All views, in the order of the page."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from genlaws.explorer.view import View

# Each module holds VIEW.
MODULES = (
    "genlaws.explorer.semanticity",
    "genlaws.explorer.rules_facts",
    "genlaws.explorer.relations",
    "genlaws.explorer.residual_stream",
)


@cache
def all_views() -> tuple[View, ...]:
    """Return the views, one per system."""
    return tuple(import_module(name).VIEW for name in MODULES)
