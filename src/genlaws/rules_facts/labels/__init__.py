"""Labeled data of a user: tasks drawn from them, their fact fraction, advice on kernel and regularization."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
