"""Recorded choices: the model of a chooser, fits, and comparisons of shapes."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
