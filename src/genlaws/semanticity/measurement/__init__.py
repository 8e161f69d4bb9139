"""Measure a representation: both tests, its profile and its resolution, from embeddings and true distances."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
