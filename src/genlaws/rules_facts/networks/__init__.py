"""Two-layer networks that learn their features from rules and facts."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
