"""Measures of a recorded stream: paths, dimensions, correlations, information, writes."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
