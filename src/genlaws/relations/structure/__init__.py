"""What a relation is: its properties, symmetries, description length, and the entries a learner sees."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
