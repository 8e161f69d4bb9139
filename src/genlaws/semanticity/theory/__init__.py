"""The theory of semanticity: similarities, spaces, both tests, fronts and many items."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
