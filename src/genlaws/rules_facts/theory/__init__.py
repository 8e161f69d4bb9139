"""State equations, the Bayes-optimal learner, and limits of the rules-and-facts task."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
