"""All views, in the order of the page."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from genlaws.web.view import View

# Each module holds VIEW.
VIEW_MODULES = (
    "genlaws.web.views.semanticity",
    "genlaws.web.views.rules_facts",
    "genlaws.web.views.relations",
    "genlaws.web.views.residual_stream",
)


@cache
def all_views() -> tuple[View, ...]:
    """Return the views, one per system."""
    return tuple(import_module(name).VIEW for name in VIEW_MODULES)
