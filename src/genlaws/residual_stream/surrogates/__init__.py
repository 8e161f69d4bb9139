"""Surrogate streams and random walks, and how a measure compares with them."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
